"""Which items changed: the index by its several readings, and the exact test of every item."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import Fault, ParameterError
from analysis.present.format import number
from analysis.stats import (
    FlagNull,
    ReliableChange,
    benjamini_hochberg,
    change_tests,
    graded_change_tests,
    item_reliability,
    item_reliability_from_counts,
    rejects,
    reliable_change,
    split_half_reliability,
    standard_error_of_difference,
    standard_error_of_measurement,
)
from analysis.stats.item_tests import MOST_TABLES

from . import noise
from .parameters import Params
from .versions import Rows, Version, Versions

NEARLY_ALL = 0.95  # share of items whose repeats agree
POPULATIONS = {"analysable": "analysable items", "full": "all items"}
PUBLISHED = ("published, analysable SD", "published, full SD")
HOW = {"known": "given", "split-half": "split halves", "icc": "ICC(1,k)"}
NOT_DEFINED = {"split-half": "halves of its samples", "icc": "means of its items", "known": ""}
GRADED_TEST = "permutation test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Error of a version's item means: SD, reliability and standard error of measurement; why there is none."""

    sd: float | None
    reliability: float | None
    sem: float | None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """The reliable change index by one reading, on the analysable items.

    ``by`` says what the reliability comes from. ``change`` and ``strict`` are the classes at both cuts, ``null`` and ``halves`` what noise alone flags at the first;
    all None when there is a ``problem``.
    """

    name: str
    spreads: tuple[Spread, Spread]
    s_diff: float | None
    problem: str
    by: str
    change: ReliableChange | None
    strict: ReliableChange | None
    null: FlagNull | None
    halves: tuple[FlagNull, FlagNull] | None

    @property
    def flagged(self) -> int | None:
        """Items that changed reliably."""
        return None if self.change is None else self.change.improved + self.change.deteriorated


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemClasses:
    """The exact test of every item with its false discovery rate, on the analysable items.

    Attributes
    ----------
    p, q
        Shape (analysable items,), p-values and Benjamini-Hochberg values.
    direction
        Shape (analysable items,), 1 improved, −1 deteriorated, 0 neither, where q reaches the rate.
    level
        Largest p-value that was rejected; what the first would have to reach when none was.
    smallest
        Smallest p-value that the samples of most items can reach.
    null
        What noise alone flags at ``level``; None for graded scores.
    p_noise
        Probability that noise alone gives at least as many p-values at the error rate alpha, a level that no data chose.
    """

    name: str
    p: npt.NDArray[np.float64]
    q: npt.NDArray[np.float64]
    direction: npt.NDArray[np.int8]
    level: float
    smallest: float
    null: FlagNull | None
    p_noise: float | None

    @property
    def improved(self) -> int:
        """Items that improved."""
        return int((self.direction > 0).sum())

    @property
    def deteriorated(self) -> int:
        """Items that deteriorated."""
        return int((self.direction < 0).sum())

    @property
    def flagged(self) -> int:
        """Items that changed."""
        return self.improved + self.deteriorated


def published(versions: Versions, rows: Rows, params: Params) -> tuple[Index, Index]:
    """The published index by both readings of its SD: reliability over all items, SD over the analysable or over all."""
    everything = np.ones_like(rows)
    how = "known" if params.known_reliability else "split-half"
    if how == "split-half" and versions.baseline.scores is None:
        how = "icc"
    return (
        _index(PUBLISHED[0], versions, rows, params, r_over=everything, sd_over=rows, how=how),
        _index(PUBLISHED[1], versions, rows, params, r_over=everything, sd_over=everything, how=how),
    )


def corrected(versions: Versions, rows: Rows, params: Params, *, population: str) -> Index:
    """The index with reliability and SD over the same items."""
    over = rows if population == "analysable" else np.ones_like(rows)
    how = params.reliability if versions.baseline.scores is not None else "icc"
    return _index(f"corrected index, {population}", versions, rows, params, r_over=over, sd_over=over, how=how)


def tested(versions: Versions, rows: Rows, params: Params) -> ItemClasses:
    """Every analysable item by its own test, with the Benjamini-Hochberg rate over them.

    Raises
    ------
    ParameterError
        Boschloo's test for more samples than it can enumerate.
    """
    one, two = versions.baseline.taken(rows), versions.candidate.taken(rows)
    p, name = p_values(one, two, params, binary=versions.binary)
    q = benjamini_hochberg(p)
    changed = rejects(q, alpha=params.fdr)
    level = float(p[changed].max()) if changed.any() else params.fdr / max(p.size, 1)
    direction = (np.sign(two.p - one.p) * changed).astype(np.int8)
    null, p_noise = None, None
    if versions.binary and p.size:
        null = noise.tests_null(one, two, test=params.test, level=level)
        fixed = noise.tests_null(one, two, test=params.test, level=params.alpha)
        p_noise = noise.at_least(fixed, int(rejects(p, alpha=params.alpha).sum()))
    return ItemClasses(
        name=name,
        p=p,
        q=q,
        direction=direction,
        level=level,
        smallest=_smallest(versions, params),
        null=null,
        p_noise=p_noise,
    )


def p_values(one: Version, two: Version, params: Params, *, binary: bool) -> tuple[npt.NDArray[np.float64], str]:
    """P-value of every item and the name of the test."""
    if not one.n.size:
        return np.empty(0), params.test if binary else GRADED_TEST
    if binary:
        check_tables(one, two, params)
        return change_tests(one.total, one.n, two.total, two.n, test=params.test), params.test
    if one.scores is None or two.scores is None:
        raise ValueError("graded scores come as samples")
    return graded_change_tests(one.scores, two.scores), GRADED_TEST


def check_tables(one: Version, two: Version, params: Params) -> None:
    """Refuse Boschloo's test where it would enumerate too many tables.

    Raises
    ------
    ParameterError
        With the tests that can be used.
    """
    n1, n2 = int(one.n.max()), int(two.n.max())
    if params.test == "boschloo" and (n1 + 1) * (n2 + 1) > MOST_TABLES:
        what = f"boschloo enumerates at most {MOST_TABLES:,} tables; {n1:,} and {n2:,} samples make more"
        raise ParameterError(Fault(place="-p test", what=what, fix="Use mid-p, fisher or score."))


def _index(
    name: str, versions: Versions, rows: Rows, params: Params, *, r_over: Rows, sd_over: Rows, how: str
) -> Index:
    pair = (versions.baseline, versions.candidate)
    known = params.known_reliability or (None, None)
    one, two = (
        _spread(version, versions, params, r_over=r_over, sd_over=sd_over, how=how, known=r)
        for version, r in zip(pair, known, strict=True)
    )
    problem, by = one.problem or two.problem, HOW[how]
    if one.sem is None or two.sem is None:
        return _no_index(name, (one, two), problem, by)
    s_diff = standard_error_of_difference(one.sem, two.sem)
    if s_diff <= 0:
        return _no_index(
            name, (one, two), "the samples of every item agree in both versions: no noise was measured", by
        )
    if not rows.any():
        return _no_index(name, (one, two), "no item is analysable: all are at 0 or at 1 in both versions", by, s_diff)
    first, second = (version.taken(rows) for version in pair)
    return Index(
        name=name,
        spreads=(one, two),
        s_diff=s_diff,
        problem="",
        by=by,
        change=reliable_change(first.p, second.p, s_diff=s_diff, cut=params.cut),
        strict=reliable_change(first.p, second.p, s_diff=s_diff, cut=params.cut_conservative),
        null=noise.index_null(first, second, binary=versions.binary, s_diff=s_diff, params=params),
        halves=(
            noise.index_halves(first, binary=versions.binary, s_diff=s_diff, params=params),
            noise.index_halves(second, binary=versions.binary, s_diff=s_diff, params=params),
        ),
    )


def _no_index(name: str, spreads: tuple[Spread, Spread], problem: str, by: str, s_diff: float | None = None) -> Index:
    return Index(
        name=name,
        spreads=spreads,
        s_diff=s_diff,
        problem=problem,
        by=by,
        change=None,
        strict=None,
        null=None,
        halves=None,
    )


def _spread(
    version: Version,
    versions: Versions,
    params: Params,
    *,
    r_over: Rows,
    sd_over: Rows,
    how: str,
    known: float | None,
) -> Spread:
    if sd_over.sum() < 2 or r_over.sum() < 2:
        return Spread(sd=None, reliability=None, sem=None, problem="fewer than two items to take an SD over")
    sd = float(version.p[sd_over].std(ddof=1))
    measured = version.taken(r_over)
    sem_of_the_same = None
    if how == "known":
        reliability = known
    elif how == "split-half" and measured.scores is not None:
        rng = np.random.RandomState(params.seed)
        reliability = split_half_reliability(measured.scores, splits=params.splits, rng=rng).median
    else:
        found = (
            item_reliability_from_counts(measured.total, measured.n)
            if versions.binary
            else item_reliability(_full(measured))
        )
        reliability, sem_of_the_same = found.reliability, found.sem
    if sem_of_the_same is not None and np.array_equal(r_over, sd_over):
        return Spread(sd=sd, reliability=reliability, sem=sem_of_the_same)
    if reliability is None:
        return Spread(
            sd=sd,
            reliability=None,
            sem=None,
            problem=f"no reliability of {version.name}: {NOT_DEFINED[how]} do not vary",
        )
    if reliability < 0:
        return Spread(
            sd=sd,
            reliability=reliability,
            sem=None,
            problem=f"the reliability of {version.name} is {number(reliability)}: its items differ less than chance would make them",
        )
    return Spread(sd=sd, reliability=reliability, sem=standard_error_of_measurement(sd, reliability))


def _full(version: Version) -> npt.NDArray[np.float64]:
    if version.scores is None:
        raise ValueError("graded scores come as samples")
    return version.scores


def _smallest(versions: Versions, params: Params) -> float:
    """Smallest p-value that at least half of the compared items can reach, from their numbers of samples."""
    n1, n2 = versions.baseline.n, versions.candidate.n
    if versions.binary:
        zero = np.zeros_like(n1)
        check_tables(versions.baseline, versions.candidate, params)
        one_way = change_tests(zero, n1, n2, n2, test=params.test)
        reach = np.minimum(one_way, change_tests(n1, n1, zero, n2, test=params.test))
    else:
        reach = np.array([(1 + (a == b)) / math.comb(int(a + b), int(a)) for a, b in zip(n1, n2, strict=True)])
    return float(np.median(reach))
