"""What the published method says and what holds up, point by point."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analysis.present.format import level, number, plural, prob
from analysis.present.prose import listed
from analysis.present.table import Table
from analysis.sections import disputed_points
from analysis.stats import (
    certification_power,
    noise_floor,
    over_budget_count,
    peeking_probability,
    sample_floor,
    strongly_unsupported,
    two_point_two_sigma,
)

from . import published as paper
from .tables import Audit
from .units import SUPPORTED, at_chance

Row = tuple[str, str, str, str]
PEEKED_TO = (200, 500)
SIZES = (3, 5, 10, 22, 59)
RATES = (0.01, 0.02, 0.05)


def what_holds_up(audit: Audit) -> Table:
    """Every disputed point with the number that settles it, at the parameters of this report."""
    return disputed_points((point(audit) for point in POINTS), "method")


def _over_budget(audit: Audit) -> Row:
    params = audit.params
    exact = over_budget_count(paper.RERUNS, budget=params.failure_budget)
    asked = params.over_budget_count
    return (
        "Over budget",
        f"β̂ > ε is glossed as k ≥ {paper.OVER_BUDGET_COUNT} of {paper.RERUNS}",
        f"at ε = {level(params.failure_budget)} the first count over budget is {exact} of {paper.RERUNS}",
        f"k ≥ {asked} as asked for" if asked else "the exact count, by fractions",
    )


def _transfers(_: Audit) -> Row:
    return (
        "Transfer table",
        f"{paper.TRANSFERS_CLAIMED} recipes",
        f"{paper.TRANSFERS_PRINTED} are printed, {paper.TRANSFERS_REFUSED} of them refused on the target",
        "every pair in the data is shown",
    )


def _chance(audit: Audit) -> Row:
    params = audit.params
    low = [level(bar) for bar in dict.fromkeys((params.tau, *params.bars)) if at_chance(bar, params)]
    here = "chance_rate is not given: this cannot be checked"
    if params.chance_rate is not None:
        margin = level(params.chance_rate + params.chance_margin)
        here = f"bars up to {margin} (chance rate and margin): {listed(low, most=12)}"
    return (
        "Bars at chance",
        f"release-supported at τ = {level(paper.CHANCE)}",
        f"a constant predictor scores {level(paper.CHANCE)} on a balanced binary task; an r there says nothing about collapse",
        here,
    )


def _floors(audit: Audit) -> Row:
    params = audit.params
    floors = [sample_floor(budget=params.failure_budget, delta=params.delta, failures=k) for k in range(5)]
    return (
        "Sample floor",
        f"N ≥ {floors[0]} is enforced",
        "that is the floor without a failure; with 1, 2, 3, 4 failures it is "
        f"{listed([str(floor) for floor in floors[1:]], most=4)}",
        "the floor without a failure decides not certifiable; still needed counts the failures seen",
    )


def _held_out(audit: Audit) -> Row:
    params, sizes = audit.params, audit.held_out.held_out_sizes
    held = sizes[0] if sizes else paper.RERUNS - 30
    noise = prob(noise_floor(params.failure_budget / 2, held, budget=params.failure_budget))
    return (
        "Held-out failures",
        f"the mean rule violates the budget with probability {prob(paper.MEAN_RULE_SHARE)}",
        f"this is conditional on shipping and measured on a noisy held-out rate: a cell at β = ε/2 shows over budget on {held} "
        f"held-out reruns with probability {noise}",
        "pooled and per-cell shares, with the noise of the held-out rate in the notes",
    )


def _audit_sizes(audit: Audit) -> Row:
    params = audit.params
    small, large = sample_floor(budget=0.10, delta=0.05), sample_floor(budget=0.05, delta=0.05)
    enough = sample_floor(budget=paper.BUDGET, delta=paper.DELTA)
    floor = sample_floor(budget=params.failure_budget, delta=params.delta)
    return (
        "Audit sizes",
        f"N = {paper.RERUNS} and {paper.TARGET_RERUNS}, ε = δ = {level(paper.BUDGET)}",
        f"{large} and {small} are the zero-failure sizes for (ε, δ) = (.05, .05) and (.10, .05); at ε = δ = "
        f"{level(paper.BUDGET)} {enough} suffice",
        f"floor {floor} at ε = {level(params.failure_budget)}, δ = {level(params.delta)}",
    )


def _grid(audit: Audit) -> Row:
    return (
        "Grid",
        f"{paper.CELLS} cells over {paper.MODELS} models",
        f"{paper.CELLS}/{paper.MODELS} is not whole: the grid is not full and not published",
        plural(len(audit.calibration), "calibration cell"),
    )


def _peeking(audit: Audit) -> Row:
    params = audit.params
    eps, delta = paper.BUDGET, paper.DELTA
    first = sample_floor(budget=eps, delta=delta)
    ends = (paper.RERUNS, *PEEKED_TO)
    chances = [prob(peeking_probability(eps, first=first, last=last, budget=eps, delta=delta)) for last in ends]
    return (
        "Looking after every rerun",
        "N is fixed",
        f"at ε = δ = {level(eps)}, checking the bound after each rerun from {first} certifies a recipe at β = ε with "
        f"probability {listed(chances)} by {listed([str(end) for end in ends])} reruns, not {level(delta)}",
        "the fixed-N bound, the e-value beside it"
        if params.looks == "fixed"
        else "the e-value, valid at any number of reruns",
    )


def _family(audit: Audit) -> Row:
    params = audit.params
    m = max(len(audit.judged), 1)
    expected = number(paper.CELLS * paper.DELTA)
    floor = sample_floor(budget=paper.BUDGET, delta=paper.DELTA / paper.CELLS)
    own = sample_floor(budget=params.failure_budget, delta=params.delta / m)
    published = sum(unit.status_paper == SUPPORTED for unit in audit.judged)
    corrected = sum(unit.status_corrected == SUPPORTED for unit in audit.judged)
    return (
        "Many cells",
        f"each of {paper.CELLS} cells at δ = {level(paper.DELTA)}",
        f"up to {expected} false cards are expected; Bonferroni needs {floor} reruns without a failure",
        f"{plural(m, 'required cell')} (Bonferroni floor {own}): {published} supported as published, {corrected} by the "
        "corrected method",
    )


def _bound(audit: Audit) -> Row:
    supported = [unit.posterior for unit in audit.judged if unit.status == SUPPORTED and unit.posterior is not None]
    here = "no cell is supported"
    if supported:
        here = f"largest Pr(β > ε) of a supported cell under a uniform prior: {prob(max(supported))}"
    return (
        "What the bound says",
        "Pr[over budget | ship]",
        "the bound keeps Pr(ship and β > ε) ≤ δ, never Pr(β > ε | ship), which needs a prior",
        here,
    )


def _power(audit: Audit) -> Row:
    params = audit.params
    n = max((unit.n for unit in audit.judged if unit.n), default=paper.RERUNS)
    power = certification_power(RATES, n, budget=params.failure_budget, delta=params.delta)
    return (
        "Power",
        "not reported",
        f"a card of N = {n} ships with probability {listed([prob(float(p)) for p in power])} at β = "
        f"{listed([level(rate) for rate in RATES])}",
        "the operating table, and on every card",
    )


def _two_sigma(_: Audit) -> Row:
    high, low = paper.COLLAPSE
    rate = paper.COLLAPSED / paper.RERUNS
    ships = [prob(two_point_two_sigma(rate, n, high=high, low=low, tau=paper.TAU)) for n in SIZES]
    return (
        "b̄ − 2σ",
        "conservative",
        f"more evidence makes it refuse more: with {paper.COLLAPSED} in {paper.RERUNS} collapsed ({level(high)} or {level(low)}, "
        f"τ = {level(paper.TAU)}) it ships with probability {listed(ships, most=5)} at n = {listed([str(n) for n in SIZES], most=5)}",
        "shown beside the other rules",
    )


def _severity(_: Audit) -> Row:
    return (
        "Severity",
        "only the count below τ",
        "two recipes with the same k may fail by little or collapse",
        "mean shortfall with a finite-sample upper bound beside every rate",
    )


def _strong(audit: Audit) -> Row:
    params = audit.params
    counts = np.arange(paper.RERUNS + 1)
    strong = strongly_unsupported(counts, paper.RERUNS, budget=params.failure_budget, delta=params.delta)
    first = f"from k = {int(counts[strong][0])}" if strong.any() else "at no count"
    return (
        "strong-unsupported",
        "named, never defined",
        "the one-sided lower bound at δ exceeds ε",
        f"of {paper.RERUNS} reruns {first}",
    )


def _exchangeable(audit: Audit) -> Row:
    known = [cell.batches for cell in audit.cells if cell.batches is not None]
    here = "no batch column is given: this cannot be checked"
    if known:
        here = f"between {min(known)} and {max(known)} batches a cell; the bound does not widen for them"
    return (
        "Exchangeable reruns",
        "assumed",
        "reruns that share data, code or hardware are not independent draws of the recipe",
        here,
    )


def _shift(_: Audit) -> Row:
    return (
        "Shift",
        "refusal under task or domain shift",
        "this is a second audit; from the first alone only β_Q ≤ β_P + total variation distance follows",
        "a claim without a target audit is refused",
    )


POINTS: tuple[Callable[[Audit], Row], ...] = (
    _over_budget,
    _transfers,
    _chance,
    _floors,
    _held_out,
    _audit_sizes,
    _grid,
    _peeking,
    _family,
    _bound,
    _power,
    _two_sigma,
    _severity,
    _strong,
    _exchangeable,
    _shift,
)
