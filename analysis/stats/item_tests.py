"""One item at a time: exact tests of a change.

k of n samples of an item are correct in a version; a change is candidate − baseline.
"""

from __future__ import annotations

import itertools
import math
from functools import cache, lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ndtr, stdtr, xlog1py, xlogy

from analysis.stats.binomial import TIE
from analysis.stats.checks import checked_probability, checked_whole
from analysis.stats.item_counts import CELLS, checked_graded, checked_pairs, distinct_columns, log_choose, split_law

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
ItemTest = Literal["boschloo", "fisher", "mid-p", "score"]

MOST_ARRANGEMENTS, SCREEN = 200_000, 0.2  # of an item of graded scores, and the p under which they are counted
AS_RARE = 1 + 1e-7  # two tables count as equally probable within this factor, as in R's fisher.test
GRID = 1024  # values of the nuisance rate, even in arcsine; a parabola through the best three
MOST_TABLES = 40_000
KEPT = 500  # pairs of sample numbers whose p-values are kept for the next call
SMALLEST = 1e-300  # a p-value is never 0


def change_tests(
    k_baseline: ArrayLike, n_baseline: ArrayLike, k_candidate: ArrayLike, n_candidate: ArrayLike, *, test: ItemTest
) -> Floats:
    """Two-sided p-value per item of "both versions answer it equally often", once per distinct pair of counts.

    Parameters
    ----------
    k_baseline, n_baseline, k_candidate, n_candidate
        Shape (items,), correct and all samples, ``0 <= k <= n``, ``n >= 1``; they broadcast.
    test
        ``boschloo``: unconditional, twice the smaller one-sided p-value (Boschloo 1970, Stat. Neerl. 24:1);
        ``fisher``: all tables at most as probable as this one; ``mid-p``: the same with half of those as probable;
        ``score``: pooled z without continuity correction, which is not exact.

    Returns
    -------
    ndarray of float64, shape (items,)
        Probabilities in (0, 1]; 1 where no sample or every sample is correct.

    Raises
    ------
    ValueError
        Counts that are not whole or do not fit, a test that is not listed, or Boschloo for more than 40,000 tables.

    Notes
    -----
    The smallest p-value of k samples in both versions is .1 (Fisher) or .031 (Boschloo) for 3, .33 or .125 for 2.
    Boschloo's one-sided p-values are the largest
    over the common rate of the probability that Fisher's one-sided p-value is at most the one seen; scipy's
    ``boschloo_exact`` doubles the smaller one in the same way.

    Examples
    --------
    >>> [change_tests([0, 0, 0], 10, [4, 5, 6], 10, test=test).round(4).tolist() for test in ("fisher", "boschloo")]
    [[0.0867, 0.0325, 0.0108], [0.0422, 0.0128, 0.0035]]
    """
    if test not in get_args(ItemTest):
        raise ValueError(f"test = {test!r}: give one of {', '.join(get_args(ItemTest))}")
    counts = checked_pairs(k_baseline, n_baseline, k_candidate, n_candidate)
    distinct, place, _ = distinct_columns(counts)
    k1, n1, k2, n2 = distinct
    if test == "score":
        p = _score(k1, n1, k2, n2)
    elif test == "boschloo":
        p = np.empty(k1.size)
        sizes, group, _ = distinct_columns(distinct[[1, 3]])
        for i, (m1, m2) in enumerate(sizes.T):
            rows = group == i
            p[rows] = _boschloo_of(k1[rows], k2[rows], int(m1), int(m2))
    else:
        step = max(1, CELLS // (int(n1.max()) + 1))
        blocks = (distinct[:, start : start + step] for start in range(0, k1.size, step))
        p = np.concatenate([_fisher(*block, mid=test == "mid-p") for block in blocks])
    p[(k1 + k2 == 0) | (k1 + k2 == n1 + n2)] = 1.0
    return np.clip(p, SMALLEST, 1.0)[place]


def graded_change_tests(baseline: ArrayLike, candidate: ArrayLike) -> Floats:
    """Two-sided p-value per item for graded scores, by permuting its samples between the versions.

    Parameters
    ----------
    baseline, candidate
        Shape (items, samples), scores in one unit; NaN where an item has no further sample.

    Returns
    -------
    ndarray of float64, shape (items,)
        Probabilities, not under the share of one arrangement of the samples (of two when both versions have
        equally many); 1 where all scores agree.

    Raises
    ------
    ValueError
        Infinite scores, different numbers of items, or an item with no sample in a version or 2 in all.

    Notes
    -----
    Pitman (1937, Suppl. J. R. Stat. Soc. 4:119). All arrangements are counted for items of up to about 20 samples whose
    Student test is under .2; beyond it stands Student's p-value, whose moments are nearly those of the permutation
    law, though not on few distinct scores.

    Examples
    --------
    >>> graded_change_tests([[0.1, 0.2, 0.3, 0.2]], [[0.7, 0.9, 0.8, 0.8]]).round(4)
    array([0.0286])
    """
    first, second = checked_graded(baseline), checked_graded(candidate)
    n1, n2 = (~np.isnan(first)).sum(axis=1), (~np.isnan(second)).sum(axis=1)
    if first.shape[0] != second.shape[0]:
        raise ValueError(f"{first.shape[0]} and {second.shape[0]} items: give the same items of both versions")
    bad = (n1 < 1) | (n2 < 1) | (n1 + n2 < 3)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ValueError(f"item {i} has {n1[i]} and {n2[i]} samples: leave out items under 1 each and 3 in all")
    delta = np.nanmean(second, axis=1) - np.nanmean(first, axis=1)
    within = np.nanvar(first, axis=1) * n1 + np.nanvar(second, axis=1) * n2
    df = n1 + n2 - 2
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(delta) / np.sqrt(within / df * (1 / n1 + 1 / n2))
    arrangements = np.exp(-(gammaln(n1 + n2 + 1) - gammaln(n1 + 1) - gammaln(n2 + 1)))
    p = np.maximum(2 * stdtr(df, -t), np.where(n1 == n2, 2, 1) * arrangements)
    for m1, m2 in np.unique(np.stack([n1, n2], axis=1), axis=0):
        rows = np.flatnonzero((n1 == m1) & (n2 == m2) & (p < SCREEN))
        if rows.size and math.comb(int(m1 + m2), int(m1)) <= MOST_ARRANGEMENTS:
            p[rows] = _permuted(first[rows], second[rows], int(m1), int(m2))
    both = np.concatenate([first, second], axis=1)
    return np.asarray(np.where(np.nanmin(both, axis=1) == np.nanmax(both, axis=1), 1.0, p))


def _permuted(first: Floats, second: Floats, n1: int, n2: int) -> Floats:
    """Share of all arrangements of an item's samples with at least the change that was seen."""
    scores = np.stack([np.concatenate([a[~np.isnan(a)], b[~np.isnan(b)]]) for a, b in zip(first, second, strict=True)])
    dealt = _arrangements(n1, n2)
    total = scores.sum(axis=1)
    seen = np.abs(scores[:, n1:].mean(axis=1) - scores[:, :n1].mean(axis=1))
    slack = 1e-9 * np.ptp(scores, axis=1)
    p = np.empty(len(scores))
    step = max(1, CELLS // len(dealt))
    for start in range(0, len(scores), step):
        rows = slice(start, start + step)
        one = dealt @ scores[rows].T
        change = np.abs((total[rows] - one) / n2 - one / n1)
        p[rows] = (change >= seen[rows] - slack[rows]).mean(axis=0)
    return p


@cache
def _arrangements(n1: int, n2: int) -> Floats:
    """Which samples go to the baseline, shape (arrangements, n₁ + n₂); half of them where the versions are alike."""
    n = n1 + n2
    chosen = (
        [(0, *rest) for rest in itertools.combinations(range(1, n), n1 - 1)]
        if n1 == n2
        else list(itertools.combinations(range(n), n1))
    )
    dealt = np.zeros((len(chosen), n))
    np.put_along_axis(dealt, np.array(chosen), 1.0, axis=1)
    return dealt


def item_power(
    p_baseline: float, p_candidate: float, n_baseline: int, n_candidate: int, *, alpha: float, test: ItemTest
) -> float:
    """Probability that the test of one item reaches ``alpha``, summed over all counts.

    Parameters
    ----------
    p_baseline, p_candidate
        True rates, probabilities in [0, 1].
    n_baseline, n_candidate
        Samples of the item, at least 1.
    alpha
        Level of the one test, a probability; over many items, what the multiple comparison leaves of it.
    test
        As in `change_tests`.

    Raises
    ------
    ValueError
        An argument out of range.

    Examples
    --------
    >>> [round(item_power(0.5, 0.9, k, k, alpha=0.05, test="fisher"), 3) for k in (10, 20)]
    [0.295, 0.742]
    """
    level = checked_probability("alpha", alpha)
    for name, rate in (("p_baseline", p_baseline), ("p_candidate", p_candidate)):
        if not 0 <= rate <= 1:
            raise ValueError(f"{name} = {rate!r}: give a probability between 0 and 1")
    k1, k2 = (np.arange(int(checked_whole("n", n, least=1)) + 1) for n in (n_baseline, n_candidate))
    first, second = np.repeat(k1, k2.size), np.tile(k2, k1.size)
    if n_baseline == n_candidate:  # swapping versions, or correct and wrong, leaves p as it is: a quarter will do
        first, second = np.minimum(first, second), np.maximum(first, second)
        upper = first + second > n_baseline
        first, second = np.where(upper, n_baseline - second, first), np.where(upper, n_baseline - first, second)
    p = change_tests(first, n_baseline, second, n_candidate, test=test)
    reached = p.reshape(k1.size, k2.size) <= level * (1 + TIE)
    return float(
        _binomial(n_baseline, np.array([p_baseline]))[0] @ reached @ _binomial(n_candidate, np.array([p_candidate]))[0]
    )


def _binomial(n: int, rate: Floats) -> Floats:
    """Binomial probabilities, shape (rates, n + 1)."""
    k = np.arange(n + 1)
    choose = log_choose(np.asarray(n), k)
    return np.asarray(np.exp(choose + xlogy(k, rate[:, None]) + xlog1py(n - k, -rate[:, None])))


def _fisher(k1: Whole, n1: Whole, k2: Whole, n2: Whole, *, mid: bool) -> Floats:
    law = split_law(k1 + k2, n1, n2)
    own = law[np.arange(k1.size), k1][:, None]
    rare = law <= own * AS_RARE
    p = np.where(rare, law, 0.0).sum(axis=1)
    return np.asarray(p - np.where(rare & (law * AS_RARE >= own), law, 0.0).sum(axis=1) / 2 if mid else p)


def _boschloo_of(k1: Whole, k2: Whole, n1: int, n2: int) -> Floats:
    """Boschloo's two-sided p-values of tables of the same n₁ and n₂."""
    tables = (n1 + 1) * (n2 + 1)
    if tables > MOST_TABLES:
        raise ValueError(f"n = {n1} and {n2} samples make {tables} tables: use the fisher, mid-p or score test")
    return _boschloo_table(n1, n2)[k1, k2]


@lru_cache(maxsize=KEPT)
def _boschloo_table(n1: int, n2: int) -> Floats:
    """Boschloo's two-sided p-value of every table, shape (n₁ + 1, n₂ + 1)."""
    total = np.arange(n1 + n2 + 1)
    at_most = np.cumsum(split_law(total, np.full_like(total, n1), np.full_like(total, n2)), axis=1)
    first, second = np.repeat(np.arange(n1 + 1), n2 + 1), np.tile(np.arange(n2 + 1), n1 + 1)
    statistic = at_most[first + second, first]
    order = np.argsort(statistic, kind="stable")
    last, place = np.unique(
        np.searchsorted(statistic[order], statistic * AS_RARE, side="right") - 1, return_inverse=True
    )
    rate = np.sin(np.linspace(0, np.pi / 2, GRID + 1)) ** 2
    one, two = _binomial(n1, rate), _binomial(n2, rate)
    reached = np.empty((GRID + 1, last.size))
    step = max(1, CELLS // order.size)
    for start in range(0, GRID + 1, step):
        rows = slice(start, start + step)
        joint = (one[rows][:, first[order]] * two[rows][:, second[order]]).cumsum(axis=1)
        reached[rows] = joint[:, last]
    best = np.clip(reached.argmax(axis=0), 1, GRID - 1)
    low, middle, high = (np.take_along_axis(reached, (best + i)[None], axis=0)[0] for i in (-1, 0, 1))
    bend = 2 * middle - low - high
    peak = middle + np.where(bend > 0, (high - low) ** 2 / (8 * np.where(bend > 0, bend, 1.0)), 0.0)
    one_sided = np.where(middle >= np.maximum(low, high), peak, reached.max(axis=0))[place].reshape(n1 + 1, n2 + 1)
    return 2 * np.minimum(one_sided, one_sided[::-1, ::-1])


def _score(k1: Whole, n1: Whole, k2: Whole, n2: Whole) -> Floats:
    pooled = (k1 + k2) / (n1 + n2)
    error = np.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
    return np.asarray(2 * ndtr(-np.abs(k2 / n2 - k1 / n1) / np.where(error > 0, error, 1.0)))
