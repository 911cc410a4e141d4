"""The hypotheses that the paper registered, on these data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.present.format import level, number, plural, prob
from analysis.present.table import Table, TableColumn
from analysis.stats import mcnemar, samples_for_reliability, wilson

from .domains import association_of, counts_by_domain
from .tables import GREEDY_ALONE, tests_name
from .versions import Directions

if TYPE_CHECKING:
    from .decomposition import Decomposition

MAJORITY = 0.5  # H1 and H4
FEW_EXPECTED = 5  # in a cell, for the χ² law to hold
TARGETS = (0.8, 0.9)


def hypotheses(found: Decomposition | None) -> Table:
    """The paper's registered hypotheses, by both published readings and by the tests."""
    rows: list[tuple[Any, ...]] = []
    if found is not None and found.n_analysable:
        for index in found.published:
            if index.change is not None:
                rows += _hypotheses(found, index.name, index.change.direction, seen_all=True)
        rows += _hypotheses(found, tests_name(found), found.classes.direction, seen_all=False)
        rows += _samples_needed(found)
    return Table(
        id="hypotheses",
        title="The paper's hypotheses on these data.",
        columns=(
            TableColumn(key="rule", label="rule"),
            TableColumn(key="hypothesis", label="hypothesis", kind="text"),
            TableColumn(key="observed", label="observed", kind="text"),
            TableColumn(key="holds", label="holds"),
        ),
        rows=tuple(rows),
        notes=(
            "Analysable items. A test leaves changes unseen, so that few flags do not show that few items changed: by the tests the first and "
            "the fourth hypothesis can fail, but not hold.",
            "Two pairs of versions are needed for the paper's third hypothesis (two change rates compared) and for its correlation "
            "between pairs.",
        ),
        empty=GREEDY_ALONE if found is None else "no item is analysable",
    )


def _hypotheses(found: Decomposition, rule: str, direction: Directions, *, seen_all: bool) -> list[tuple[Any, ...]]:
    n, alpha = found.n_analysable, found.params.alpha
    improved, deteriorated = int((direction > 0).sum()), int((direction < 0).sum())
    unchanged = n - improved - deteriorated
    low, high = wilson(unchanged, n, level=1 - alpha)
    out: list[tuple[Any, ...]] = [
        (
            rule,
            f"H1: most analysable items show no change (share above {level(MAJORITY)})",
            f"{unchanged:,} of {n:,}, share {prob(unchanged / n)} [{prob(low)}, {prob(high)}]",
            _holds(low > MAJORITY and seen_all, high < MAJORITY),
        )
    ]
    tied = association_of(counts_by_domain(found.versions, direction, found.rows)) if found.parts else None
    if tied is not None:
        out.append(
            (
                rule,
                "H2: the classes depend on the domain",
                f"χ² {number(tied.chi2)} on {tied.df} degrees of freedom, p {prob(tied.p)}, Cramér's V {number(tied.v, 3)}"
                + (f"; expected counts from {number(tied.least, 2)}: p is rough" if tied.least < FEW_EXPECTED else ""),
                "yes" if tied.p <= alpha else "not shown",
            )
        )
    raised = int((found.versions.candidate.p > found.versions.baseline.p).sum())
    if raised:
        low, high = wilson(improved, raised, level=1 - alpha)
        out.append(
            (
                rule,
                f"H4: of the items that rose, fewer than {level(MAJORITY)} improved reliably (breadth ratio)",
                f"{improved:,} of {raised:,}, ratio {number(improved / raised)}, Wilson [{prob(low)}, {prob(high)}]",
                _holds(high < MAJORITY and seen_all, low > MAJORITY),
            )
        )
    p = mcnemar(improved, deteriorated).exact
    out.append(
        (
            rule,
            "improved and deteriorated items are equally many (what the paper's swap of version labels tests)",
            f"{improved:,} and {deteriorated:,}, exact p {prob(p)}",
            "no" if p <= alpha else "not contradicted",
        )
    )
    return out


def _samples_needed(found: Decomposition) -> list[tuple[Any, ...]]:
    out: list[tuple[Any, ...]] = []
    versions = found.versions
    for version, spread in zip((versions.baseline, versions.candidate), found.published[1].spreads, strict=True):
        r = spread.reliability
        if r is None or not 0 < r < 1:
            continue
        n = int(np.median(version.n))
        needed = [samples_for_reliability(r, n, target=target) for target in TARGETS]
        out.append(
            (
                version.name,
                "samples per item for a reliability between items",
                "; ".join(f"{level(target)}: {plural(k, 'sample')}" for target, k in zip(TARGETS, needed, strict=True))
                + f" (from {number(r)} with {n})",
                "says nothing about one item",
            )
        )
    return out


def _holds(yes: bool, no: bool) -> str:
    return "yes" if yes else "no" if no else "not shown"
