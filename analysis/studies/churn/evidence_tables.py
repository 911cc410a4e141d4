"""What stands behind the classes: difficulty, other rules, missing answers, the paper's hypotheses, power."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from analysis.present.format import level, number, plural
from analysis.present.table import Table, TableColumn
from analysis.stats import (
    ItemTest,
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

from .classes import Index, tested
from .domains import overall
from .parameters import Params
from .tables import GREEDY_ALONE, interval, tests_name
from .true_rates import MOST_COUNTS
from .versions import Floats, Version, Versions

if TYPE_CHECKING:
    from .decomposition import Decomposition

NO_LAW = f"graded scores, or more than {MOST_COUNTS:,} different pairs of counts: the law is not estimated"
PLANNED_SAMPLES = (3, 5, 10, 20, 30, 50)
PLANNED_CHANGES = ((0.5, 0.7), (0.5, 0.9), (0.9, 0.5))


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
            TableColumn(key="regression", label="regression alone", kind="number", group="mean Δ"),
            TableColumn(key="halves", label="by halves", kind="number", group="mean Δ"),
        ),
        rows=tuple(_difficulty_rows(found, params)) if found is not None and found.rows.any() else (),
        notes=(
            "Analysable items. Regression alone: the change that μ + r (p − μ) predicts for an unchanged version, with the corrected "
            "reliability. By halves: one half of the baseline's samples chooses the bin, the other measures, so nothing regresses.",
            "A dash: no item in the bin, or graded scores, for which there is no exact law.",
        ),
        empty=GREEDY_ALONE if found is None else "no item is analysable",
    )


def true_rates(found: Decomposition | None, params: Params) -> Table:
    """Items that truly rose or fell, whether or not a test can see them."""
    sure = level(1 - params.alpha)
    rows = found.rates.moves if found is not None and found.rates is not None else ()
    return Table(
        id="true-rates",
        title="Estimated shares of all items whose true rate moved, seen by a test or not.",
        columns=(
            TableColumn(key="beyond", label="moved by more than", kind="level"),
            TableColumn(key="rose", label="share", kind="share", group="rose"),
            TableColumn(key="rose_interval", label=f"{sure} interval", kind="interval", group="rose"),
            TableColumn(key="fell", label="share", kind="share", group="fell"),
            TableColumn(key="fell_interval", label=f"{sure} interval", kind="interval", group="fell"),
        ),
        rows=tuple(
            (move.beyond, move.rose, interval(move.rose_interval), move.fell, interval(move.fell_interval))
            for move in rows
        ),
        notes=(
            "The law of both versions' true rates over the items, by nonparametric maximum likelihood on a grid; intervals by resampling "
            "items. It says how many moved, not which: for that the table of items has each item's probabilities.",
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
            f"BH and BY: false discovery rate {level(params.fdr)}, BY under any dependence.",
        ),
        empty=GREEDY_ALONE,
    )


def missing(found: Decomposition | None, params: Params) -> Table:
    """What attempts without a score could make of the result."""
    rows: list[tuple[Any, ...]] = []
    total = 0
    if found is not None:
        total = found.versions.baseline.missing + found.versions.candidate.missing
        for name, pair in _policies(found.versions) if total else ():
            rows.append((name, *_under(found.versions, pair, params)))
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
        rows=tuple(rows),
        notes=(
            f"{plural(total, 'attempt')} of the compared items. Here: {params.errors}. Classes by the corrected method.",
        ),
        empty=GREEDY_ALONE if found is None else "every attempt of the compared items has a score",
    )


def planner(found: Decomposition | None, params: Params) -> Table:
    """Power of one item's test by its number of samples."""
    levels = [("alone", params.alpha)]
    if found is not None and found.classes.flagged:
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
    )


def _difficulty_rows(found: Decomposition, params: Params) -> list[tuple[Any, ...]]:
    rows, versions = found.rows, found.versions
    one, two = versions.baseline.taken(rows), versions.candidate.taken(rows)
    where = bins_of(one.p, params.bins)
    n = np.bincount(where, minlength=len(params.bins) - 1)
    delta = two.p - one.p
    moved = np.bincount(where, delta, minlength=n.size)
    reliability = found.index.spreads[0].reliability
    regression: Any = [None] * n.size
    if reliability is not None and 0 <= reliability <= 1:
        expected = regressed_score(one.p, reliability=reliability) - one.p
        regression = _per(np.bincount(where, expected, minlength=n.size), n)
    halves: Any = [None] * n.size
    if versions.binary:
        means = half_sample_bins(one.total, one.n, two.p, edges=params.bins).mean_change
        halves = [None if np.isnan(mean) else float(mean) for mean in means]
    out = []
    for rule, direction, null in _difficulty_rules(found, one, two, params):
        up = np.bincount(where, direction > 0, minlength=n.size)
        down = np.bincount(where, direction < 0, minlength=n.size)
        for i, (low, high) in enumerate(pairwise(params.bins)):
            closed = "]" if i == n.size - 1 else ")"
            out.append(
                (
                    rule,
                    f"[{number(low)}, {number(high)}{closed}",
                    int(n[i]),
                    _per(up, n)[i],
                    _per(down, n)[i],
                    *null[i],
                    _per(moved, n)[i],
                    regression[i],
                    halves[i],
                )
            )
    return out


def _difficulty_rules(found: Decomposition, one: Version, two: Version, params: Params) -> Any:
    """Rule, classes of the analysable items, and the null's shares per bin."""
    nothing: list[tuple[float | None, float | None]] = [(None, None)] * (len(params.bins) - 1)
    counts = (one.total, one.n, two.total, two.n)
    binary, classes = found.versions.binary, found.classes
    for index in found.published:
        if index.change is None or index.s_diff is None:
            continue
        null = nothing
        if binary:
            bins = relabelled_bins(*counts, s_diff=index.s_diff, cut=params.cut, edges=params.bins)
            null = list(zip(_per(bins.improved, bins.items), _per(bins.deteriorated, bins.items), strict=True))
        yield index.name, index.change.direction, null
    null = nothing
    if binary:
        bins = relabelled_test_bins(*counts, test=params.test, level=classes.level, edges=params.bins)
        null = list(zip(_per(bins.improved, bins.items), _per(bins.deteriorated, bins.items), strict=True))
    yield tests_name(found), classes.direction, null


def _per(total: Any, n: Any) -> list[float | None]:
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
            (f"{name}, unadjusted", rejects(p, alpha=params.alpha)),
            (f"{name}, BH", rejects(benjamini_hochberg(p), alpha=params.fdr)),
            (f"{name}, BY", rejects(benjamini_yekutieli(p), alpha=params.fdr)),
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


def _policies(versions: Versions) -> list[tuple[str, tuple[Version, Version]]]:
    one, two = versions.baseline, versions.candidate
    return [
        ("is left out (exclude)", (one.with_missing_as(np.nan), two.with_missing_as(np.nan))),
        ("is wrong (failure)", (one.with_missing_as(0.0), two.with_missing_as(0.0))),
        (
            "is right in the baseline, wrong in the candidate (worst)",
            (one.with_missing_as(1.0), two.with_missing_as(0.0)),
        ),
        (
            "is wrong in the baseline, right in the candidate (best)",
            (one.with_missing_as(0.0), two.with_missing_as(1.0)),
        ),
    ]


def _under(versions: Versions, pair: tuple[Version, Version], params: Params) -> tuple[Any, ...]:
    """Items, classes and net change under a policy; items without a sample left in a version are left out."""
    there = (pair[0].n > 0) & (pair[1].n > 0) & (pair[0].n + pair[1].n > 2)
    if not there.any():
        return (0, *(None,) * 5)
    kept = Versions(
        items=versions.items[there],
        domains=versions.domains[there],
        baseline=pair[0].taken(there),
        candidate=pair[1].taken(there),
        binary=versions.binary,
        lost=0,
        short=0,
        baseline_only=0,
        candidate_only=0,
        other_models=(),
    )
    one, two = kept.baseline.p, kept.candidate.p
    rows = ~(((one == 0) & (two == 0)) | ((one == 1) & (two == 1)))
    classes = tested(kept, rows, params, nulls=False)
    net = overall(kept, np.ones_like(rows), "", params).net
    return kept.n_items, classes.improved, classes.deteriorated, net.gains, net.losses, net.net
