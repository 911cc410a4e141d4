"""How many exceedances and prompts a question about tails needs."""

from __future__ import annotations

from analysis.present.format import level, prob
from analysis.present.prose import Sentence
from analysis.present.table import Table, TableColumn
from analysis.stats import effect_detectable, exceedances_needed, prompts_needed, verdict_power

from .parameters import MIN_DISTINCT, SizeParams

SIZES = (100, 300, 500, 1000, 1500, 3000, 10000)


def size(params: SizeParams) -> tuple[Sentence, Table]:
    """The answer in a sentence, and what other numbers of exceedances could tell."""
    alpha = params.alpha / params.pairs
    needed = max(exceedances_needed(params.effect, xi=params.xi, alpha=alpha, power=params.power), MIN_DISTINCT)
    prompts = prompts_needed(needed, quantile=params.quantile)
    text = (
        f"{needed:,} exceedances of each model, {prompts:,} prompts at the {level(params.quantile)} quantile, tell a difference of "
        f"{level(params.effect)} in ξ with power {level(params.power)} (two-sided {level(params.alpha)}"
        + (f" over {params.pairs} pairs" if params.pairs > 1 else "")
        + f", at ξ = {level(params.xi)}). The published P1 and P2 together would find it with probability "
        f"{prob(float(verdict_power(params.effect, needed, xi=params.xi, alpha=params.alpha)))}."
    )
    return Sentence(text), Table(
        id="size",
        title="What a number of exceedances can tell.",
        columns=(
            TableColumn(key="n_exc", label="exceedances", kind="count"),
            TableColumn(key="prompts", label="prompts", kind="count"),
            TableColumn(key="effect", label="difference told", kind="score"),
        ),
        rows=tuple(
            (
                n,
                prompts_needed(n, quantile=params.quantile),
                effect_detectable(n, xi=params.xi, alpha=alpha, power=params.power),
            )
            for n in SIZES
        ),
    )
