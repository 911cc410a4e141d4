"""What stands behind the classes: difficulty, other rules, missing answers, the paper's hypotheses, power."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from analysis.present.format import level, number, plural
from analysis.present.table import Table, TableColumn
from analysis.stats import (
    ItemTest,
    NullBins,
    benjamini_hochberg,
    benjamini_yekutieli,
    bins_of,
    change_tests,
    half_sample_bins,
    item_power,
    regressed_score,
    rejects,
    relabelled_bins,
    relabelled_test_bins,
    reliable_change,
)
from analysis.stats.item_tests import MOST_TABLES

from .classes import Index
from .parameters import Params
from .tables import GREEDY_ALONE, interval, tests_name
from .true_rates import MOST_COUNTS, RESAMPLES
from .versions import Directions, Floats

if TYPE_CHECKING:
    from .decomposition import Decomposition

NO_LAW = f"graded scores, or more than {MOST_COUNTS:,} different pairs of counts: the law is not estimated"
PLANNED_SAMPLES = (3, 5, 10, 20, 30, 50)
PLANNED_CHANGES = ((0.5, 0.7), (0.5, 0.9), (0.9, 0.7))
Shares = list[float | None]


def difficulty(found: Decomposition | None, params: Params) -> Table:
    """Changed items by baseline score, beside what noise and regression to the mean alone produce."""
    return Table(
        id="difficulty",
        title="Changed items by baseline score, beside the same rule on samples dealt at random.",
        columns=(
            TableColumn(key="rule", label="rule"),
            TableColumn(key="bin", label="baseline score"),
            TableColumn(key="n", label="n", kind="count"),
            TableColumn(key="improved", label="improved", kind="share", group="observed"),
            TableColumn(key="deteriorated", label="deteriorated", kind="share", group="observed"),
            TableColumn(key="null_improved", label="improved", kind="share", group="dealt at random"),
            TableColumn(key="null_deteriorated", label="deteriorated", kind="share", group="dealt at random"),
            TableColumn(key="mean_diff", label="observed", kind="number", group="mean Δ"),
            TableColumn(key="null_diff", label="dealt at random", kind="number", group="mean Δ"),
            TableColumn(key="regression", label="μ + r (p − μ)", kind="number", group="mean Δ"),
            TableColumn(key="halves", label="by halves", kind="number", group="mean Δ"),
        ),
        rows=tuple(_difficulty_rows(found, params)) if found is not None and found.rows.any() else (),
        notes=(
            "Analysable items. μ + r (p − μ): the regression to the mean that a straight line predicts for an unchanged version; dealt at "
            "random is its exact form. By halves: one half of the baseline's samples chooses the bin, the other measures, so nothing regresses.",
            "A dash: no item in the bin, or graded scores, for which there is no exact law.",
        ),
        empty=GREEDY_ALONE if found is None else "no item is analysable",
    )


def true_rates(found: Decomposition | None, params: Params) -> Table:
    """Items that truly rose or fell, whether or not a test can see them."""
    rows = found.rates.moves if found is not None and found.rates is not None else ()
    return Table(
        id="true-rates",
        title="Estimated shares of all items whose true rate moved, seen by a test or not.",
        columns=(
            TableColumn(key="beyond", label="moved by more than", kind="level"),
            TableColumn(key="rose", label="share", kind="share", group="rose"),
            TableColumn(key="rose_interval", label="over resamples", kind="interval", group="rose"),
            TableColumn(key="fell", label="share", kind="share", group="fell"),
            TableColumn(key="fell_interval", label="over resamples", kind="interval", group="fell"),
        ),
        rows=tuple(
            (move.beyond, move.rose, interval(move.rose_interval), move.fell, interval(move.fell_interval))
            for move in rows
        ),
        notes=(
            "The law of both versions' true rates over the items, by nonparametric maximum likelihood on a grid. It says how many moved, not "
            "which: for that the table of items has each item's probabilities.",
            f"Over resamples: the middle {level(1 - params.alpha)} of {RESAMPLES} resamples of items. It is no confidence interval: the estimate runs low "
            "where many items move by little more than is asked, and its lower end is never 0.",
        ),
        empty=GREEDY_ALONE if found is None else NO_LAW,
    )


def sensitivity(found: Decomposition | None, params: Params) -> Table:
    """The same items by other cuts, populations and tests."""
    rows: list[tuple[Any, ...]] = []
    if found is not None:
        for index in (*found.published, *found.corrected.values()):
            for cut in (params.cut, params.cut_conservative):
                rows.append((f"{index.name}, cut {level(cut)}", *_index_counts(found, index, cut)))
        rows += _test_rows(found, params)
    return Table(
        id="sensitivity",
        title="The same items by other cuts, populations and tests.",
        columns=(
            TableColumn(key="rule", label="rule"),
            TableColumn(key="improved", label="improved", kind="count"),
            TableColumn(key="unchanged", label="no change", kind="count"),
            TableColumn(key="deteriorated", label="deteriorated", kind="count"),
            TableColumn(key="churn_all", label="of all", kind="share", group="churn"),
            TableColumn(key="churn_analysable", label="of analysable", kind="share", group="churn"),
            TableColumn(key="median", label="median |Δ| of changed", kind="number"),
        ),
        rows=tuple(rows),
        notes=(
            f"Unadjusted: p at most {level(params.alpha)} for every item by itself, so that this share of unchanged items may be flagged. "
            f"BH and BY: false discovery rate {level(params.fdr)}, BY under any dependence. Mid-p and score tests are not exact.",
        ),
        empty=GREEDY_ALONE,
    )


def missing(found: Decomposition | None, params: Params) -> Table:
    """What attempts without a score could make of the result."""
    made = found.policies if found else ()
    total = sum(version.missing for version in found.versions.matched) if found else 0
    return Table(
        id="missing",
        title="Attempts without a score: the two policies, and the worst and best they could hide.",
        columns=(
            TableColumn(key="policy", label="an attempt without a score"),
            TableColumn(key="n", label="n", kind="count"),
            TableColumn(key="improved", label="improved", kind="count"),
            TableColumn(key="deteriorated", label="deteriorated", kind="count"),
            TableColumn(key="gains", label="gains", kind="number"),
            TableColumn(key="losses", label="losses", kind="number"),
            TableColumn(key="net", label="net", kind="number"),
        ),
        rows=tuple(
            (
                policy.name,
                policy.n,
                policy.improved,
                policy.deteriorated,
                *((policy.net.gains, policy.net.losses, policy.net.net) if policy.net else (None,) * 3),
            )
            for policy in made
        ),
        notes=(
            f"{plural(total, 'attempt')} of the items that both versions have. Here: {params.errors}. Classes by the corrected method.",
        ),
        empty=GREEDY_ALONE if found is None else "every attempt has a score",
    )


def planner(found: Decomposition | None, params: Params) -> Table:
    """Power of one item's test by its number of samples."""
    graded = found is not None and not found.versions.binary
    levels = [] if graded else [("alone", params.alpha)]
    if not graded and found is not None and found.classes.flagged:
        levels.append(("within this family", found.classes.level))
    return Table(
        id="k-planner",
        title="Probability that one item's change is found, by samples per version.",
        columns=(
            TableColumn(key="samples", label="samples", kind="count"),
            TableColumn(key="test", label="test"),
            TableColumn(key="level", label="level of p", kind="p_value"),
            *(
                TableColumn(
                    key=f"power_{i}", label=f"{level(before)} to {level(after)}", kind="prob", group="true rate"
                )
                for i, (before, after) in enumerate(PLANNED_CHANGES)
            ),
        ),
        rows=tuple(
            (
                k,
                f"{params.test}, {name}",
                alpha,
                *(item_power(before, after, k, k, alpha=alpha, test=params.test) for before, after in PLANNED_CHANGES),
            )
            for name, alpha in levels
            for k in PLANNED_SAMPLES
        ),
        notes=("Ten samples are for aggregates, not for items.",),
        empty="graded scores: the power hangs on their spread",
    )


def _difficulty_rows(found: Decomposition, params: Params) -> list[tuple[Any, ...]]:
    rows, versions = found.rows, found.versions
    one, two = versions.baseline.taken(rows), versions.candidate.taken(rows)
    counts = (one.total, one.n, two.total, two.n)
    where = bins_of(one.p, params.bins)
    n = np.bincount(where, minlength=len(params.bins) - 1)
    nothing: Shares = [None] * n.size

    def mean(values: Floats) -> Shares:
        return _per(np.bincount(where, values, minlength=n.size), n)

    reliability = found.corrected["analysable"].spreads[0].reliability
    regression, halves = nothing, nothing
    if reliability is not None and 0 <= reliability <= 1:
        regression = mean(regressed_score(one.p, reliability=reliability) - one.p)
    if versions.binary:
        halves = _known(half_sample_bins(one.total, one.n, two.p, edges=params.bins).mean_change)
    out = []
    for rule, direction, null in _difficulty_rules(found, counts, params):
        up, down = mean((direction > 0).astype(np.float64)), mean((direction < 0).astype(np.float64))
        dealt = (nothing,) * 3
        if null is not None:
            dealt = (_per(null.improved, null.items), _per(null.deteriorated, null.items), _known(null.mean_change))
        columns = (n.tolist(), up, down, *dealt[:2], mean(two.p - one.p), dealt[2], regression, halves)
        for i, (low, high) in enumerate(pairwise(params.bins)):
            closed = "]" if i == n.size - 1 else ")"
            out.append((rule, f"[{number(low)}, {number(high)}{closed}", *(column[i] for column in columns)))
    return out


def _difficulty_rules(
    found: Decomposition, counts: tuple[Any, ...], params: Params
) -> Iterator[tuple[str, Directions, NullBins | None]]:
    """Rule, classes of the analysable items, and what samples dealt at random give per bin."""
    binary, classes, edges = found.versions.binary, found.classes, params.bins
    for index in found.published:
        if index.change is not None and index.s_diff is not None:
            null = relabelled_bins(*counts, s_diff=index.s_diff, cut=params.cut, edges=edges) if binary else None
            yield index.name, index.change.direction, null
    null = relabelled_test_bins(*counts, test=params.test, level=classes.level, edges=edges) if binary else None
    yield tests_name(found), classes.direction, null


def _known(values: Floats) -> Shares:
    return [None if np.isnan(value) else float(value) for value in values]


def _per(total: Any, n: Any) -> Shares:
    return [float(part) / float(count) if count > 0 else None for part, count in zip(total, n, strict=True)]


def _index_counts(found: Decomposition, index: Index, cut: float) -> tuple[Any, ...]:
    if index.change is None or index.s_diff is None:
        return (None,) * 6
    one, two = (version.p[found.rows] for version in (found.versions.baseline, found.versions.candidate))
    change = reliable_change(one, two, s_diff=index.s_diff, cut=cut)
    flagged = change.improved + change.deteriorated
    return (
        change.improved,
        change.unchanged,
        change.deteriorated,
        flagged / found.versions.n_items,
        flagged / found.n_analysable,
        change.median_change,
    )


def _test_rows(found: Decomposition, params: Params) -> list[tuple[Any, ...]]:
    if not found.n_analysable:
        return []
    one, two = found.versions.baseline.taken(found.rows), found.versions.candidate.taken(found.rows)
    by_test: dict[str, Floats] = {found.classes.name: found.classes.p}
    if found.versions.binary:
        tables = (int(one.n.max()) + 1) * (int(two.n.max()) + 1)
        by_test = {
            test: change_tests(one.total, one.n, two.total, two.n, test=test)
            for test in get_args(ItemTest)
            if test != "boschloo" or tables <= MOST_TABLES
        }
    out = []
    for name, p in by_test.items():
        rules = (
            (f"{name} unadjusted", rejects(p, alpha=params.alpha)),
            (f"{name} with BH", rejects(benjamini_hochberg(p), alpha=params.fdr)),
            (f"{name} with BY", rejects(benjamini_yekutieli(p), alpha=params.fdr)),
        )
        for rule, flagged in rules:
            delta = (two.p - one.p)[flagged]
            up, down = int((delta > 0).sum()), int((delta < 0).sum())
            out.append(
                (
                    rule,
                    up,
                    found.n_analysable - up - down,
                    down,
                    (up + down) / found.versions.n_items,
                    (up + down) / found.n_analysable,
                    float(np.median(np.abs(delta))) if delta.size else None,
                )
            )
    return out
