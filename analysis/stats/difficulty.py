"""Change by difficulty: bins of the baseline score, and what regression to the mean alone makes of them.

k of n samples of an item are correct in a version; a change is candidate − baseline.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.binomial import TIE
from analysis.stats.checks import checked_counts
from analysis.stats.item_counts import distinct_totals, split_law
from analysis.stats.item_tests import ItemTest
from analysis.stats.relabelling import Whole, checked_threshold, relabelled_by_index, relabelled_by_test

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NullBins:
    """Expected items, improved and deteriorated, and mean change, per bin of the relabelled baseline score, shape (bins,).

    The mean change is NaN in a bin that no relabelled score falls in.
    """

    items: Floats
    improved: Floats
    deteriorated: Floats
    mean_change: Floats


@dataclass(frozen=True)
class HalfSampleBins:
    """Expected items, and mean change, per bin; NaN in a bin that no half falls in. Shape (bins,)."""

    items: Floats
    mean_change: Floats


def bins_of(p: ArrayLike, edges: ArrayLike) -> NDArray[np.intp]:
    """Bin of every score: from an edge up to the next, the last bin with its upper end; within 1e-12 is on the edge.

    Raises
    ------
    ValueError
        Edges that do not rise, or a score outside them.

    Examples
    --------
    >>> bins_of([0.0, 0.2, 0.6, 0.79, 1.0], [0, 0.2, 0.4, 0.6, 0.8, 1]).tolist()
    [0, 1, 3, 3, 4]
    """
    score, limits = np.asarray(p, dtype=np.float64), np.asarray(edges, dtype=np.float64)
    if limits.ndim != 1 or limits.size < 2 or not (np.diff(limits) > 0).all():
        raise ValueError(f"edges = {limits.tolist()}: give at least two that rise, such as 0, 0.5, 1")
    bad = ~((score >= limits[0]) & (score <= limits[-1]))
    if bad.any():
        raise ValueError(f"a score is {score[bad].flat[0]}: the edges go from {limits[0]:g} to {limits[-1]:g}")
    return np.minimum(np.searchsorted(limits, score + TIE, side="right") - 1, limits.size - 2)


def relabelled_bins(
    k_baseline: ArrayLike,
    n_baseline: ArrayLike,
    k_candidate: ArrayLike,
    n_candidate: ArrayLike,
    *,
    s_diff: float,
    edges: ArrayLike,
    cut: float = 1.96,
) -> NullBins:
    """What relabelling makes of a table by baseline difficulty: the asymmetry that regression to the mean produces.

    Parameters, errors and law as in `relabelling_null`; ``edges`` as in `bins_of`.

    Returns
    -------
    NullBins
        Expected numbers; ``improved / items`` is the share of a bin.

    Examples
    --------
    >>> bins = relabelled_bins([1, 9], 10, [9, 1], 10, s_diff=0.106, edges=[0, 0.5, 1])
    >>> (bins.improved / bins.items).round(3).tolist(), (bins.deteriorated / bins.items).round(3).tolist()
    ([0.2..., 0.0], [0.0, 0.1...])
    """
    groups, sizes = distinct_totals(k_baseline, n_baseline, k_candidate, n_candidate)
    direction = relabelled_by_index(*groups, threshold=checked_threshold(s_diff, cut))
    return _binned(groups, sizes, direction, edges)


def relabelled_test_bins(
    k_baseline: ArrayLike,
    n_baseline: ArrayLike,
    k_candidate: ArrayLike,
    n_candidate: ArrayLike,
    *,
    test: ItemTest,
    level: float,
    edges: ArrayLike,
) -> NullBins:
    """`relabelled_bins` for items that a test flags at a level, as in `relabelled_tests_null`.

    Examples
    --------
    >>> bins = relabelled_test_bins([1, 9], 10, [9, 1], 10, test="fisher", level=0.05, edges=[0, 0.5, 1])
    >>> (bins.improved / bins.items).round(3).tolist()
    [0.0..., 0.0]
    """
    groups, sizes = distinct_totals(k_baseline, n_baseline, k_candidate, n_candidate)
    return _binned(groups, sizes, relabelled_by_test(*groups, test=test, level=level), edges)


def half_sample_bins(
    k_baseline: ArrayLike, n_baseline: ArrayLike, p_candidate: ArrayLike, *, edges: ArrayLike
) -> HalfSampleBins:
    """Mean change by difficulty without regression to the mean: half of the baseline classifies, the rest measures.

    Parameters
    ----------
    k_baseline, n_baseline
        Shape (items,), correct and all samples of the baseline, ``n >= 2``.
    p_candidate
        Shape (items,), share of correct samples of the candidate.
    edges
        As in `bins_of`.

    Returns
    -------
    HalfSampleBins
        Averages over all halves of ``n // 2`` samples, exactly: no half is drawn. Without any change every bin's
        mean change is 0 in expectation.

    Raises
    ------
    ValueError
        Counts or edges that do not fit, or shapes that differ.

    Examples
    --------
    >>> half_sample_bins([1, 9], 10, [0.1, 0.9], edges=[0, 0.5, 1]).mean_change.round(12).tolist()
    [0.0, 0.0]
    """
    correct, samples = checked_counts(k_baseline, n_baseline, least=2)
    after = np.asarray(p_candidate, dtype=np.float64)
    if correct.ndim != 1 or after.shape != correct.shape:
        raise ValueError(f"shapes {correct.shape} and {after.shape}: give one dimension, an item per place")
    first = samples // 2
    weight = split_law(correct, first, samples - first)
    taken = np.arange(weight.shape[1])
    where = bins_of(np.minimum(taken / first[:, None], 1.0), edges).ravel()
    change = after[:, None] - (correct[:, None] - taken) / (samples - first)[:, None]
    items, total = (
        np.bincount(where, part.ravel(), minlength=np.asarray(edges).size - 1) for part in (weight, weight * change)
    )
    with np.errstate(invalid="ignore"):
        return HalfSampleBins(items=items.astype(np.float64), mean_change=total / items)


def _binned(groups: Whole, sizes: Whole, direction: NDArray[np.int8], edges: ArrayLike) -> NullBins:
    weight = split_law(*groups) * sizes[:, None]
    share = np.minimum(np.arange(weight.shape[1]) / groups[1][:, None], 1.0)
    where, bins = bins_of(share, edges), np.asarray(edges).size - 1
    total, samples, others = (row[:, None] for row in groups)
    change = (total - np.arange(weight.shape[1])) / others - np.arange(weight.shape[1]) / samples
    parts = (weight, weight * (direction > 0), weight * (direction < 0), weight * change)
    items, up, down, moved = (np.bincount(where.ravel(), part.ravel(), bins).astype(np.float64) for part in parts)
    with np.errstate(invalid="ignore"):
        return NullBins(items=items, improved=up, deteriorated=down, mean_change=moved / items)
