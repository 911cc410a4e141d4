"""Reliable change between two versions: its standard error, the index, its classes and what the net gain hides.

p is an item's score in a version, the share of correct samples or a graded mean, in one unit for both versions;
a change is candidate − baseline, and higher is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, ndtr

from analysis.stats.binomial import TIE
from analysis.stats.checks import checked_counts, checked_whole

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReliableChange:
    """Index and class of every item.

    Attributes
    ----------
    rci
        Shape (items,), change over the standard error of a difference.
    direction
        Shape (items,), int8: 1 improved, −1 deteriorated, 0 no reliable change.
    improved, unchanged, deteriorated
        Items per class.
    raised
        Items with any positive change, what the breadth ratio divides ``improved`` by.
    median_change
        Median size of the change over the improved and deteriorated items; None when there are none.
    """

    rci: Floats
    direction: NDArray[np.int8]
    improved: int
    unchanged: int
    deteriorated: int
    raised: int
    median_change: float | None


@dataclass(frozen=True)
class ChangeCounts:
    """Classes of items counted from a joint table; ``sum_rci_squared`` is over all items."""

    n_items: int
    improved: int
    unchanged: int
    deteriorated: int
    raised: int
    sum_rci_squared: float


def standard_error_of_difference(sem_baseline: float, sem_candidate: float | None = None) -> float:
    """Standard error of a difference, √(SEM₁² + SEM₂²), or √2 SEM when only the baseline's is given.

    Raises
    ------
    ValueError
        A standard error under 0 or not finite.

    Notes
    -----
    Jacobson and Truax (1991, J. Consult. Clin. Psychol. 59:12) use √2 times the error of the first measurement;
    the reliable change study combines both versions. The two agree only when the errors do.

    Examples
    --------
    >>> round(standard_error_of_difference(0.0452, 0.0309), 5), round(standard_error_of_difference(2.598), 3)
    (0.05475, 3.674)
    """
    other = sem_baseline if sem_candidate is None else sem_candidate
    for name, value in (("sem_baseline", sem_baseline), ("sem_candidate", other)):
        if not 0 <= value < math.inf:
            raise ValueError(f"{name} = {value!r}: give a standard error of 0 or more")
    return math.hypot(sem_baseline, other)


def analysable(
    p_baseline: ArrayLike, p_candidate: ArrayLike, *, floor: float = 0.0, ceiling: float = 1.0
) -> NDArray[np.bool_]:
    """Items that are not at the floor in both versions and not at the ceiling in both.

    Selecting them conditions on the outcome: their spread is not that of all items, and a reliability over all
    items does not belong to it.

    Raises
    ------
    ValueError
        Scores that are not finite or of different shapes.

    Examples
    --------
    >>> analysable([0.0, 0.0, 1.0, 0.5], [0.0, 0.1, 1.0, 0.5])
    array([False,  True, False,  True])
    """
    first, second = checked_pair(p_baseline, p_candidate)
    at_floor, at_ceiling = (first == floor) & (second == floor), (first == ceiling) & (second == ceiling)
    return np.asarray(~(at_floor | at_ceiling))


def reliable_change(
    p_baseline: ArrayLike, p_candidate: ArrayLike, *, s_diff: float | Floats, cut: float = 1.96
) -> ReliableChange:
    """Reliable change index of every item, (p₂ − p₁) / S_diff, and its class.

    Parameters
    ----------
    p_baseline, p_candidate
        Shape (items,), finite, in one unit; where lower is better, give both with the opposite sign.
    s_diff
        Standard error of a difference in the same unit, positive; a number, or one per item.
    cut
        An item changed reliably when the index is beyond ± ``cut``, a positive number; equal within 1e-12 is not more.

    Returns
    -------
    ReliableChange
        Index, class and counts.

    Raises
    ------
    ValueError
        Scores that are not finite or of different shapes, or a standard error or cut that is not positive.

    Notes
    -----
    Jacobson and Truax (1991). One S_diff for all items is right on average only: of items at .5 it flags up to half
    without any change (10 samples, threshold .2), of items at .02 almost none.

    Examples
    --------
    >>> change = reliable_change([0.1, 0.5, 0.9], [0.6, 0.4, 0.5], s_diff=0.0852)
    >>> change.direction.tolist(), change.rci.round(2).tolist()
    ([1, 0, -1], [5.87, -1.17, -4.69])
    """
    first, second = checked_pair(p_baseline, p_candidate)
    delta = second - first
    rci = delta / _checked_error(s_diff)
    direction = direction_of(delta, threshold=_checked_cut(cut) * np.asarray(s_diff, dtype=np.float64))
    flagged = np.abs(delta[direction != 0])
    return ReliableChange(
        rci=rci,
        direction=direction,
        improved=int((direction > 0).sum()),
        unchanged=int((direction == 0).sum()),
        deteriorated=int((direction < 0).sum()),
        raised=int((delta > 0).sum()),
        median_change=float(np.median(flagged)) if flagged.size else None,
    )


def direction_of(delta: Floats, *, threshold: float | Floats) -> NDArray[np.int8]:
    """1, −1 or 0 for changes above the threshold, under minus the threshold, and between, for clean input."""
    limit = np.asarray(threshold) * (1 + TIE)
    return (delta > limit).astype(np.int8) - (delta < -limit).astype(np.int8)


def joint_table(
    k_baseline: ArrayLike, k_candidate: ArrayLike, *, n_baseline: int, n_candidate: int
) -> NDArray[np.int64]:
    """Items by their correct counts in both versions, what every figure of equally sampled items follows from.

    Parameters
    ----------
    k_baseline, k_candidate
        Shape (items,), correct samples, at most ``n_baseline`` and ``n_candidate``.
    n_baseline, n_candidate
        Samples per item, at least 1.

    Returns
    -------
    ndarray of int64, shape (n_baseline + 1, n_candidate + 1)
        Items; tables of domains add up to that of all items.

    Raises
    ------
    ValueError
        Counts that are not whole, do not fit or have different shapes.

    Examples
    --------
    >>> joint_table([0, 2, 2], [1, 1, 1], n_baseline=2, n_candidate=1)
    array([[0, 1],
           [0, 0],
           [0, 2]])
    """
    first, second = (np.asarray(k) for k in (k_baseline, k_candidate))
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"counts of shapes {first.shape} and {second.shape}: give one dimension, an item per place")
    columns = int(checked_whole("n_candidate", n_candidate, least=1)) + 1
    place = checked_counts(first, n_baseline)[0] * columns + checked_counts(second, n_candidate)[0]
    return np.bincount(place, minlength=(n_baseline + 1) * columns).reshape(-1, columns)


def change_counts(table: ArrayLike, *, s_diff: float, cut: float = 1.96) -> ChangeCounts:
    """Reliable change counts from a joint table, in a time that does not depend on the number of items.

    Parameters
    ----------
    table
        Shape (n_baseline + 1, n_candidate + 1), items by correct counts, as `joint_table` returns it.
    s_diff, cut
        As in `reliable_change`, one number each, for shares of correct samples.

    Returns
    -------
    ChangeCounts

    Raises
    ------
    ValueError
        A table that is not of counts and two dimensions, or a standard error or cut that is not positive.

    Examples
    --------
    >>> change_counts([[4, 1, 1], [0, 2, 0], [1, 0, 3]], s_diff=0.25)
    ChangeCounts(n_items=12, improved=2, unchanged=9, deteriorated=1, raised=2, sum_rci_squared=36.0)
    """
    items = _checked_table(table)
    first, second = (np.arange(size) / (size - 1) for size in items.shape)
    delta = second[None, :] - first[:, None]
    direction = direction_of(delta, threshold=_checked_cut(cut) * float(_checked_error(s_diff)))
    return ChangeCounts(
        n_items=int(items.sum()),
        improved=int(items[direction > 0].sum()),
        unchanged=int(items[direction == 0].sum()),
        deteriorated=int(items[direction < 0].sum()),
        raised=int(items[delta > 0].sum()),
        sum_rci_squared=float((items * (delta / s_diff) ** 2).sum()),
    )


def clinical_cutoffs(
    clinical: Sequence[float], functional: Sequence[float], *, higher_is_better: bool = True
) -> tuple[float, float, float]:
    """Cut-offs a, b and c of a clinical and a functional population, each given as (mean, SD).

    Returns
    -------
    tuple of float
        a: two SD beyond the clinical mean; b: two SD short of the functional mean; c: between the means in
        proportion to the SDs.

    Raises
    ------
    ValueError
        A population that is not a mean and a positive SD.

    Notes
    -----
    Jacobson and Truax (1991).

    Examples
    --------
    >>> clinical_cutoffs((40, 7.5), (60, 7.5))
    (55.0, 45.0, 50.0)
    """
    for name, population in (("clinical", clinical), ("functional", functional)):
        if len(population) != 2 or not (math.isfinite(population[0]) and 0 < population[1] < math.inf):
            raise ValueError(f"{name} = {population!r}: give a mean and a positive standard deviation")
    (m0, s0), (m1, s1) = clinical, functional
    sign = 1 if higher_is_better else -1
    return m0 + sign * 2.0 * s0, m1 - sign * 2.0 * s1, (s0 * m1 + s1 * m0) / (s0 + s1)


def two_proportion_z(k1: int, n1: int, k2: int, n2: int) -> tuple[float, float]:
    """Pooled z of two independent shares, k1/n1 − k2/n2 over its error, and the two-sided p-value.

    Raises
    ------
    ValueError
        Counts that are not whole or do not fit, or no variation: every event or none in both.

    Examples
    --------
    >>> round(two_proportion_z(591, 952, 560, 652)[0], 4)
    -10.4043
    """
    checked_counts([k1, k2], [n1, n2])
    pooled = (k1 + k2) / (n1 + n2)
    if pooled in {0.0, 1.0}:
        raise ValueError(f"k = {k1}, {k2} of n = {n1}, {n2}: both shares are {pooled:g}, there is nothing to test")
    z = (k1 / n1 - k2 / n2) / math.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
    return z, float(2 * ndtr(-abs(z)))


def association(table: ArrayLike) -> tuple[float, int, float, float]:
    """Pearson's χ² of a table of counts, its degrees of freedom, p-value and Cramér's V.

    Raises
    ------
    ValueError
        Not counts in two dimensions, or fewer than two rows or columns that have any count.

    Notes
    -----
    Empty rows and columns are left out. V = √(χ² / (N min(rows − 1, columns − 1))) (Cramér 1946).

    Examples
    --------
    >>> chi2, df, p, v = association([[27, 56, 17], [16, 59, 25]])
    >>> round(chi2, 3), df, round(p, 3), round(v, 3)
    (4.416, 2, 0.11, 0.149)
    """
    items = _checked_table(table)
    items = items[items.sum(axis=1) > 0][:, items.sum(axis=0) > 0]
    least = min(items.shape) - 1
    if least < 1:
        raise ValueError(f"table of shape {items.shape} without empty rows and columns: give two of both")
    total = items.sum()
    expected = np.outer(items.sum(axis=1), items.sum(axis=0)) / total
    chi2 = float(((items - expected) ** 2 / expected).sum())
    df = (items.shape[0] - 1) * (items.shape[1] - 1)
    return chi2, df, float(chdtrc(df, chi2)), math.sqrt(chi2 / (total * least))


def checked_pair(p_baseline: ArrayLike, p_candidate: ArrayLike) -> tuple[Floats, Floats]:
    """Finite scores of the same items in both versions, shape (items,)."""
    first, second = np.asarray(p_baseline, dtype=np.float64), np.asarray(p_candidate, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape or not first.size:
        raise ValueError(f"scores of shapes {first.shape} and {second.shape}: give one dimension, an item per place")
    for values in (first, second):
        if not np.isfinite(values).all():
            raise ValueError(f"a score is {values[~np.isfinite(values)][0]}: leave out items without a score")
    return first, second


def _checked_error(s_diff: float | Floats) -> Floats:
    error = np.asarray(s_diff, dtype=np.float64)
    bad = ~((error > 0) & np.isfinite(error))
    if bad.any():
        raise ValueError(
            f"s_diff = {error[bad].flat[0]}: give a positive standard error; 0 means that the samples of every item "
            "agree, which repeats measure once: compare the versions by a paired test"
        )
    return error


def _checked_cut(cut: float) -> float:
    if not 0 < cut < math.inf:
        raise ValueError(f"cut = {cut!r}: give a positive number such as 1.96")
    return cut


def _checked_table(table: ArrayLike) -> NDArray[np.int64]:
    items = checked_whole("table", table, least=0)
    if items.ndim != 2 or min(items.shape) < 2:
        raise ValueError(f"table of shape {items.shape}: give two dimensions with at least two places each")
    return items
