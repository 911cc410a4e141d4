"""The hypotheses that the paper registered, on these data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.present.format import level, number, plural, prob
from analysis.present.table import Table, TableColumn
from analysis.stats import mcnemar_exact, samples_for_reliability, wilson

from .domains import association_of, counts_by_domain
from .parameters import Params
from .tables import GREEDY_ALONE

if TYPE_CHECKING:
    from .decomposition import Decomposition

MAJORITY = 0.5  # H1 and H4
TARGETS = (0.8, 0.9)


def hypotheses(found: Decomposition | None, params: Params) -> Table:
    """The paper's pre-registered hypotheses, by the published and by the corrected classes."""
    rows: list[tuple[Any, ...]] = []
    if found is not None and found.n_analysable:
        index = found.published[0]
        if index.change is not None:
            change = index.change
            rows += _hypotheses("published", change.improved, change.deteriorated, change.raised, "paper", found)
        classes = found.classes
        raised = int((found.versions.candidate.p > found.versions.baseline.p).sum())
        rows += _hypotheses("corrected", classes.improved, classes.deteriorated, raised, "corrected", found)
        rows += _samples_needed(found)
    return Table(
        id="hypotheses",
        title="The paper's hypotheses on these data.",
        columns=(
            TableColumn(key="classes", label="classes"),
            TableColumn(key="hypothesis", label="hypothesis", kind="text"),
            TableColumn(key="observed", label="observed", kind="text"),
            TableColumn(key="holds", label="holds"),
        ),
        rows=tuple(rows),
        notes=(
            "Two pairs of versions are needed for the paper's third hypothesis (two change rates compared) and for its correlation "
            "between pairs.",
        ),
        empty=GREEDY_ALONE if found is None else "no item is analysable",
    )


def _hypotheses(
    name: str, improved: int, deteriorated: int, raised: int, method: str, found: Decomposition
) -> list[tuple[Any, ...]]:
    n, alpha = found.n_analysable, found.params.alpha
    unchanged = n - improved - deteriorated
    low, high = wilson(unchanged, n, level=1 - alpha)
    out: list[tuple[Any, ...]] = [
        (
            name,
            f"H1: most analysable items show no change (share above {level(MAJORITY)})",
            f"{unchanged:,} of {n:,}, share {prob(unchanged / n)} [{prob(low)}, {prob(high)}]",
            _holds(low > MAJORITY, high < MAJORITY),
        )
    ]
    direction = found.directions[method]
    tied = (
        association_of(counts_by_domain(found.versions, direction)) if found.parts and direction is not None else None
    )
    if tied is not None:
        out.append(
            (
                name,
                "H2: the classes depend on the domain",
                f"χ² {number(tied.chi2)} on {tied.df} degrees of freedom, p {prob(tied.p)}, Cramér's V {number(tied.v, 3)}",
                "yes" if tied.p <= alpha else "not shown",
            )
        )
    if raised:
        low, high = wilson(improved, raised, level=1 - alpha)
        out.append(
            (
                name,
                f"H4: of the items that rose, fewer than {level(MAJORITY)} improved reliably (breadth ratio)",
                f"{improved:,} of {raised:,}, ratio {number(improved / raised)} [{prob(low)}, {prob(high)}]",
                _holds(high < MAJORITY, low > MAJORITY),
            )
        )
    p = mcnemar_exact(improved, deteriorated)
    out.append(
        (
            name,
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
