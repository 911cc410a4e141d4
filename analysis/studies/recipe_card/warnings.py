"""What a reader must know before believing the cards: the warnings that these data give."""

from __future__ import annotations

import re
from collections.abc import Iterator

from analysis.inputs import Input
from analysis.present.format import level, plural, prob
from analysis.present.prose import listed
from analysis.present.table import Table
from analysis.sections import warnings_table
from analysis.stats import largest_passing, sample_floor

from .cells import cell_name, folded
from .tables import Audit
from .units import SUPPORTED, at_chance

Row = tuple[str, str, str]
SELECTED = frozenset({"best", "max", "val", "valid", "validation", "dev"})


def warnings(audit: Audit, runs: Input) -> Table:
    """One row a warning."""
    rows = [
        *_selected(runs),
        *_chance(audit),
        *_without_score(audit),
        *_near_bar(audit),
        *_batches(audit),
        *_identical(audit),
        *_alike(audit),
        *_targets(audit),
        *_too_few(audit),
    ]
    return warnings_table(rows)


def _selected(runs: Input) -> Iterator[Row]:
    names = {runs.sources.get("score", "score")}
    names |= set(runs.frame["metric"].unique()) if "metric" in runs.frame else set()
    for name in sorted(names):
        if SELECTED & set(re.split(r"[^a-z0-9]+", name.lower())):
            yield (
                "selected score",
                name,
                "the name says best, max or validation: a score that was chosen among checkpoints or on data used for choosing "
                "is not what a rerun delivers",
            )


def _chance(audit: Audit) -> Iterator[Row]:
    params = audit.params
    low = [level(bar) for bar in dict.fromkeys((params.tau, *params.bars)) if at_chance(bar, params)]
    if low and params.chance_rate is not None:
        yield (
            "bar at chance",
            f"τ = {listed(low, most=12)}",
            f"a constant predictor scores {level(params.chance_rate)}: passing a bar no more than {level(params.chance_margin)} above "
            "that says nothing about collapse",
        )


def _without_score(audit: Audit) -> Iterator[Row]:
    missing = [unit for unit in audit.units if unit.without_score]
    if not missing:
        return
    worst = max(missing, key=lambda unit: unit.without_score)
    without = "nothing is left without them"
    if worst.upper_exclude is not None:
        without = f"{prob(worst.upper_exclude)} without them"
    yield (
        "reruns without a score",
        f"{plural(len(missing), 'cell')}, most in {worst.name}",
        f"{worst.without_score} there; they count as {'failures' if audit.params.errors == 'failure' else 'not run'}: the upper "
        f"bound is {prob(worst.upper_failure)} as failures, {without}",
    )


def _near_bar(audit: Audit) -> Iterator[Row]:
    noisy = [unit for unit in audit.units if unit.near_bar]
    if noisy:
        worst = max(noisy, key=lambda unit: unit.near_bar or 0)
        yield (
            "scores within test-set noise of the bar",
            f"{plural(len(noisy), 'cell')}, most in {worst.name}",
            f"{worst.near_bar} reruns there pass by less than the test set can tell; with those as failures the upper bound is "
            f"{prob(worst.upper_worst)}",
        )


def _batches(audit: Audit) -> Iterator[Row]:
    shared = [cell.batches for cell in audit.cells if cell.batches is not None and cell.batches < len(cell.scores)]
    if shared:
        yield (
            "shared batches",
            plural(len(shared), "cell"),
            f"reruns share batches (as few as {min(shared)} in a cell): the bound takes reruns as exchangeable and is too narrow "
            "when batches differ",
        )


def _identical(audit: Audit) -> Iterator[Row]:
    equal = [unit for unit in audit.units if unit.n > 1 and unit.sd == 0]
    if equal:
        yield (
            "identical scores",
            listed([unit.name for unit in equal]),
            "all reruns have the same score: the seed may be ignored, or one run was copied",
        )


def _alike(audit: Audit) -> Iterator[Row]:
    """Cells and seeds that differ in spelling only."""
    spellings: dict[str, set[str]] = {}
    for cell in audit.cells:
        spellings.setdefault(" / ".join(map(folded, cell.cell.values())), set()).add(cell_name(cell.cell))
    near = [sorted(names) for names in spellings.values() if len(names) > 1]
    if near:
        yield (
            "cells that differ in spelling only",
            listed([" and ".join(names) for names in near]),
            "they are audited apart; if they are one recipe, its failures are split between them",
        )
    seeds = [cell.name for cell in audit.cells if cell.alike]
    if seeds:
        yield (
            "seeds that differ in spelling only",
            listed(seeds),
            "such as 3 and 03: if they are the same rerun, it is counted twice",
        )


def _targets(audit: Audit) -> Iterator[Row]:
    """Required cells that the gate passes on their calibration while their target audit does not."""
    passed = [unit.cell for unit in audit.judged if unit.audit == "calibration" and unit.status == SUPPORTED]
    failing = [u for u in audit.units if u.audit == "target" and u.cell in passed and u.status != SUPPORTED]
    if failing:
        worst = max(failing, key=lambda unit: unit.rate or 0)
        yield (
            "target audit not supported",
            listed([unit.name for unit in failing]),
            f"supported on the calibration, not on the target (worst: {worst.k} of {worst.n} below the bar on {worst.name}); without "
            "a claim the gate reads the calibration alone",
        )


def _too_few(audit: Audit) -> Iterator[Row]:
    params = audit.params
    short = audit.held_out.cells - audit.held_out.split
    if short:
        yield (
            "too few reruns to hold out",
            plural(short, "cell"),
            f"no more than {params.audit_size} reruns count there (audit_size); the held-out table leaves them out",
        )
    sizes = [unit.n for unit in audit.judged if unit.n]
    if sizes and all(largest_passing(n, budget=params.failure_budget, delta=params.delta) is None for n in sizes):
        floor = sample_floor(budget=params.failure_budget, delta=params.delta)
        yield (
            "nothing can be certified",
            "all required cells",
            f"every cell is below the floor of {floor} reruns: no data of this size can support a release",
        )
