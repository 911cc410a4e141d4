"""How many reruns a question needs."""

from __future__ import annotations

from analysis.present.format import level, plural, prob
from analysis.present.prose import Sentence
from analysis.present.table import Table, TableColumn
from analysis.stats import (
    anytime_floor,
    certification_power,
    clopper_pearson_upper,
    reruns_for_power,
    sample_floor,
)

from .parameters import SizeParams


def size(params: SizeParams) -> tuple[Sentence, Table]:
    """The answer in a sentence, and a table of reruns by failures seen."""
    budget, delta = params.budget, params.delta
    floor = sample_floor(budget=budget, delta=delta, failures=params.failures)
    text = (
        f"{plural(floor, 'rerun')} with {plural(params.failures, 'failure')} certify a failure rate of at most {level(budget)} at "
        f"δ = {level(delta)}, when the number is fixed beforehand."
    )
    if params.rate is not None and params.power is not None:
        needed = reruns_for_power(rate=params.rate, power=params.power, budget=budget, delta=delta)
        text += (
            f" At a true failure rate of {level(params.rate)} a card ships with probability {level(params.power)} from "
            f"{plural(needed.first, 'rerun')} on"
            + (
                f" (from {needed.lasting} whatever the number, because the curve saw-tooths)."
                if needed.lasting > needed.first
                else "."
            )
        )
    rows = []
    for failures in range(max(params.failures, 4) + 1):
        n = sample_floor(budget=budget, delta=delta, failures=failures)
        power = None if params.rate is None else certification_power(params.rate, n, budget=budget, delta=delta)
        rows.append(
            (
                failures,
                n,
                clopper_pearson_upper(failures, n, delta=delta),
                anytime_floor(budget=budget, delta=delta, failures=failures),
                power,
            )
        )
    columns = (
        TableColumn(key="failures", label="failures", kind="count"),
        TableColumn(key="reruns", label="reruns, fixed", kind="count"),
        TableColumn(key="upper", label="upper bound", kind="prob"),
        TableColumn(key="anytime", label="reruns, any time", kind="count"),
        TableColumn(key="power", label=f"Pr[ships] at β = {prob(params.rate)}", kind="prob"),
    )
    planned = params.rate is not None
    return Sentence(text), Table(
        id="size",
        title="Reruns that certify, by failures seen.",
        columns=columns if planned else columns[:-1],
        rows=tuple(rows if planned else (row[:-1] for row in rows)),
    )
