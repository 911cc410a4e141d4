"""How well the samples of an item agree: split halves, coefficient alpha, error of an item's mean.

Arrays are items × samples, a missing sample is NaN, and the scores are in one unit throughout (correct or not: 0
and 1; graded: [0, 1]). All equal splits follow from the samples' covariance matrix, so items are read once.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.checks import checked_counts, checked_whole
from analysis.stats.draws import Stream, raw_words

Floats = NDArray[np.float64]

MOST_SAMPLES = 20  # 92,378 splits; beyond it they are drawn
ROWS = 16_384  # rows at a time: sums of 0 and 1 in single precision stay exact under 2**24
FLAT = 1e-13  # what rounding leaves of a constant: of a half's variance in the samples', of means in the largest


@dataclass(frozen=True)
class SplitHalf:
    """Reliability of the mean over all samples of an item, by splitting the samples in two.

    Attributes
    ----------
    n_items, n_samples
        Items and samples per item.
    coefficients
        Shape (splits,), Spearman-Brown coefficients; NaN where a half does not vary or the halves' correlation is −1.
    flanagan
        Shape (splits,), Flanagan-Guttman-Rulon coefficients, 4 cov / var of the sum; NaN with missing samples.
    mean, median
        Of the defined coefficients; None when there are none.
    alpha
        Coefficient alpha (KR-20): the mean of ``flanagan`` over all equal splits, without the splits. None when
        the items' sums do not vary or samples are missing.
    n_undefined, n_negative
        Splits without a coefficient, and with a negative one: the samples then agree less than chance has them.
    """

    n_items: int
    n_samples: int
    coefficients: Floats
    flanagan: Floats
    mean: float | None
    median: float | None
    alpha: float | None
    n_undefined: int
    n_negative: int


@dataclass(frozen=True)
class ItemReliability:
    """Error of the items' means, from the spread within items.

    Attributes
    ----------
    n_items
        Items.
    sd
        Standard deviation of the items' means, n − 1 below.
    sem
        Standard error of measurement: root of the mean squared standard error of an item's mean.
    reliability
        1 − sem² / sd², equal to ICC(1,k) for equally many samples; negative when items differ less than chance
        has them; None when their means do not differ.
    """

    n_items: int
    sd: float
    sem: float
    reliability: float | None


def split_half_reliability(
    correct: ArrayLike, *, splits: int | None = None, rng: Stream | np.random.RandomState | None = None
) -> SplitHalf:
    """Split-half reliability, stepped up by Spearman and Brown, over all equal splits or over random ones.

    Parameters
    ----------
    correct
        Shape (items, samples), at least 2 by 2, truth values or scores; NaN for a missing sample. The order of
        samples within an item must not depend on the outcome.
    splits
        Number of random splits of the columns; all splits into halves when None (up to 20 samples).
    rng
        Generator or bit generator, needed for random splits. A ``RandomState`` draws them as the published script
        does, a ``permutation`` per split.

    Returns
    -------
    SplitHalf
        Coefficients per split, their mean and median, and alpha.

    Raises
    ------
    ValueError
        Fewer than two items or samples, infinite scores, splits without a generator, or more than 20 samples
        without a number of splits.

    Notes
    -----
    For a half h and the samples' covariance C the halves' covariance is h'C(1 − h). With an odd number of samples
    the halves differ by one and Horst (1951, Psychometrika 16:189) replaces Spearman (1910) and Brown (1910);
    cov / (p q var) then replaces Flanagan. Their mean is alpha exactly (Cronbach 1951, Psychometrika 16:297), the
    mean of the Spearman-Brown coefficients is close to it but not equal. With missing samples a half is the mean
    of the samples it has, and an item that misses a whole half is left out of that split.

    Examples
    --------
    >>> halves = split_half_reliability([[1, 1, 1, 0], [0, 0, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]])
    >>> halves.coefficients.size, round(halves.mean, 4), round(halves.alpha, 4), round(float(halves.flanagan.mean()), 4)
    (3, 0.8761, 0.8667, 0.8667)
    """
    values = _checked_samples(correct)
    n, k = values.shape
    halves = _all_halves(k) if splits is None else _random_halves(k, splits, rng)
    missing = values.dtype.kind == "f" and bool(np.isnan(values).any())
    alpha = None
    with np.errstate(divide="ignore", invalid="ignore"):
        if missing:
            r, flanagan = _correlations_with_gaps(values, halves), np.full(halves.shape[0], np.nan)
        else:
            covariance = _covariance(values)
            r, flanagan = _correlations(covariance, halves)
            total, own = float(covariance.sum()), float(np.trace(covariance))
            alpha = k / (k - 1) * (1 - own / total) if total > FLAT * own else None
        pq = (k // 2) * (k - k // 2) / k**2
        stepped = 2 * r / (r + np.sqrt(r**2 + 4 * pq * (1 - r**2)))
    coefficients = np.where(np.isfinite(stepped), stepped, np.nan)
    defined = coefficients[np.isfinite(coefficients)]
    return SplitHalf(
        n_items=n,
        n_samples=k,
        coefficients=coefficients,
        flanagan=flanagan,
        mean=float(defined.mean()) if defined.size else None,
        median=float(np.median(defined)) if defined.size else None,
        alpha=alpha,
        n_undefined=coefficients.size - defined.size,
        n_negative=int((defined < 0).sum()),
    )


@overload
def spearman_brown(r: float, factor: float = 2) -> float: ...
@overload
def spearman_brown(r: ArrayLike, factor: float = 2) -> float | Floats: ...
def spearman_brown(r: ArrayLike, factor: float = 2) -> float | Floats:
    """Reliability of a measure ``factor`` times as long, f r / (1 + (f − 1) r).

    Parameters
    ----------
    r
        Reliabilities of the measure as it is, at most 1; a number or an array.
    factor
        Length of the new measure over the present one, positive; 2 steps a half up, 0.5 goes back.

    Returns
    -------
    float or ndarray of float64
        Reliabilities of the shape of ``r``, at most 1.

    Raises
    ------
    ValueError
        A reliability above 1 or so far under 0 that the longer measure has none, or a factor that is not positive.

    Notes
    -----
    Spearman (1910) and Brown (1910, Br. J. Psychol. 3:296).

    Examples
    --------
    >>> round(spearman_brown(0.6), 4), round(spearman_brown(0.6, 3), 4), round(spearman_brown(0.9, 0.5), 4)
    (0.75, 0.8182, 0.8182)
    """
    if not 0 < factor < math.inf:
        raise ValueError(f"factor = {factor!r}: give a positive number, 2 to double the measure")
    given = np.asarray(r, dtype=np.float64)
    scale = 1 + (factor - 1) * given
    bad = ~((given <= 1) & (given >= -1) & (scale > 0))
    if bad.any():
        raise ValueError(f"r = {given[bad].flat[0]}: no reliability {factor:g} times as long; give −1 < r <= 1")
    stepped = np.asarray(factor * given / scale)
    return stepped if stepped.ndim else float(stepped)


def samples_for_reliability(reliability: float, n_samples: int, *, target: float) -> int:
    """Fewest samples per item whose mean reaches a target reliability, by the prophecy formula.

    Parameters
    ----------
    reliability
        Of the mean of ``n_samples`` samples, in (0, 1).
    n_samples
        Samples per item now, at least 1.
    target
        Reliability wanted, in (0, 1).

    Returns
    -------
    int
        Samples per item, at least 1. It says that items are told apart, not that one item's change is.

    Raises
    ------
    ValueError
        An argument out of range.

    Examples
    --------
    >>> samples_for_reliability(0.9725, 10, target=0.9), samples_for_reliability(0.966, 10, target=0.9)
    (3, 4)
    """
    count = int(checked_whole("n_samples", n_samples, least=1))
    for name, value in (("reliability", reliability), ("target", target)):
        if not 0 < value < 1:
            raise ValueError(f"{name} = {value!r}: give a reliability strictly between 0 and 1")
    exact = count * target * (1 - reliability) / (reliability * (1 - target))
    return max(1, math.ceil(exact * (1 - 1e-12)))


def item_reliability(scores: ArrayLike) -> ItemReliability:
    """Reliability of the items' means, ICC(1,k), from scores; items may have different numbers of samples.

    Parameters
    ----------
    scores
        Shape (items, samples), NaN where an item has no further sample; every item has at least 2.

    Returns
    -------
    ItemReliability
        In the unit of the scores.

    Raises
    ------
    ValueError
        Fewer than two items, infinite scores, or an item with fewer than two samples.

    Notes
    -----
    ICC(1,k) = 1 − MSW / MSB (Shrout and Fleiss 1979, Psychol. Bull. 86:420). With unequal numbers the error is the
    mean over items of s² / n, so items may differ in their spread.

    Examples
    --------
    >>> item_reliability([[0.0, 0.5, 0.5], [1.0, 0.5, 1.0], [0.0, 0.0, np.nan]])
    ItemReliability(n_items=3, sd=0.419..., sem=0.136..., reliability=0.894...)
    """
    values = _checked_samples(scores).astype(np.float64)
    n = (~np.isnan(values)).sum(axis=1)
    short = n < 2
    if short.any():
        raise ValueError(f"item {int(np.flatnonzero(short)[0])} has {n[short][0]} samples: leave out items under 2")
    return _from_spread(np.nanmean(values, axis=1), np.nanvar(values, axis=1, ddof=1) / n)


def item_reliability_from_counts(k: ArrayLike, n: ArrayLike) -> ItemReliability:
    """Reliability of the items' shares of correct samples, ICC(1,k), from counts.

    Parameters
    ----------
    k, n
        Shape (items,), correct and all samples of every item, ``0 <= k <= n``, ``n >= 2``; they broadcast.

    Returns
    -------
    ItemReliability
        Standard errors in shares; sem² is the mean of p(1 − p) / (n − 1).

    Raises
    ------
    ValueError
        Counts that are not whole or do not fit, fewer than two samples, or fewer than two items.

    Examples
    --------
    >>> item_reliability_from_counts([0, 5, 10, 9], 10)
    ItemReliability(n_items=4, sd=0.454..., sem=0.097..., reliability=0.954...)
    """
    correct, samples = checked_counts(k, n, least=2)
    if correct.ndim != 1 or correct.size < 2:
        raise ValueError(f"counts of shape {correct.shape}: give one dimension with at least two items")
    p = correct / samples
    return _from_spread(p, p * (1 - p) / (samples - 1))


def standard_error_of_measurement(sd: float, reliability: float) -> float:
    """Standard error of measurement, sd √(1 − r), in the unit of ``sd``.

    Both must come from the same items: a reliability over items that do not vary beside the SD of those that do
    understates the error.

    Raises
    ------
    ValueError
        An ``sd`` under 0 or a reliability outside [0, 1].

    Notes
    -----
    Jacobson and Truax (1991, J. Consult. Clin. Psychol. 59:12).

    Examples
    --------
    >>> round(standard_error_of_measurement(7.5, 0.88), 3)
    2.598
    """
    if not 0 <= sd < math.inf:
        raise ValueError(f"sd = {sd!r}: give a standard deviation of 0 or more")
    if not 0 <= reliability <= 1:
        raise ValueError(
            f"reliability = {reliability!r}: give one in [0, 1]; under 0 the items do not differ beyond chance, "
            "and 0 makes the error as large as the spread"
        )
    return sd * math.sqrt(1 - reliability)


def _from_spread(means: Floats, squared_errors: Floats) -> ItemReliability:
    variance, error = float(means.var(ddof=1)), float(squared_errors.mean())
    flat = variance == 0 or bool(np.ptp(means) <= FLAT * np.abs(means).max())
    return ItemReliability(
        n_items=means.size,
        sd=math.sqrt(variance),
        sem=math.sqrt(error),
        reliability=None if flat else 1 - error / variance,
    )


def _checked_samples(correct: ArrayLike) -> NDArray[np.generic]:
    values = np.asarray(correct)
    if values.dtype.kind not in "buif":
        raise ValueError(f"samples of type {values.dtype}: give truth values or numbers, NaN where one is missing")
    if values.ndim != 2 or values.shape[0] < 2 or values.shape[1] < 2:
        raise ValueError(f"samples of shape {values.shape}: give items × samples, at least two of both")
    if values.dtype.kind == "f" and np.isnan(values).all():
        raise ValueError("every sample is missing: give the samples of at least two items")
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise ValueError("a score is infinite: give finite scores, NaN where one is missing")
    return values


def _all_halves(k: int) -> Floats:
    if k > MOST_SAMPLES:
        raise ValueError(f"{k} samples have {math.comb(k, k // 2):.1e} splits: give a number of splits, such as 1000")
    first = [(0, *rest) for rest in itertools.combinations(range(1, k), k // 2 - 1)]
    chosen = first if k % 2 == 0 else list(itertools.combinations(range(k), k // 2))
    halves = np.zeros((len(chosen), k))
    np.put_along_axis(halves, np.array(chosen), 1.0, axis=1)
    return halves


def _random_halves(k: int, splits: int, rng: Stream | np.random.RandomState | None) -> Floats:
    rows = int(checked_whole("splits", splits, least=1))
    if rng is None:
        raise ValueError(f"splits = {splits} without rng: give a generator, or splits=None for all of them")
    if isinstance(rng, np.random.RandomState):
        order = np.array([rng.permutation(k) for _ in range(rows)])
    else:
        order = np.argsort(raw_words(rng, rows * k).reshape(rows, k), axis=1, kind="stable")
    halves = np.zeros((rows, k))
    np.put_along_axis(halves, order[:, : k // 2], 1.0, axis=1)
    return halves


def _covariance(values: NDArray[np.generic]) -> Floats:
    """Covariance of the columns, divided by n; exact before the division for 0 and 1."""
    n = values.shape[0]
    if values.dtype.kind == "f":
        blocks = [values[start : start + ROWS] for start in range(0, n, ROWS)]
        first = values[0].astype(np.float64)  # taken off first, so that a constant leaves exactly 0
        mean = np.sum([(block - first).sum(axis=0) for block in blocks], axis=0) / n
        return np.asarray(sum((part := block - first - mean).T @ part for block in blocks) / n)
    small = values.dtype.kind == "b" or (values.min() >= 0 and values.max() <= 1)
    sums, products = np.zeros(values.shape[1]), np.zeros((values.shape[1],) * 2)
    for start in range(0, n, ROWS):
        part = values[start : start + ROWS].astype(np.float32 if small else np.float64)
        sums += np.ones(part.shape[0], dtype=part.dtype) @ part
        products += part.T @ part
    return (n * products - np.outer(sums, sums)) / n**2


def _correlations(covariance: Floats, halves: Floats) -> tuple[Floats, Floats]:
    """Correlation of the halves and the Flanagan coefficient, per split."""
    others = 1 - halves
    weighted = halves @ covariance
    shared = (weighted * others).sum(axis=1)
    one, other = (weighted * halves).sum(axis=1), ((others @ covariance) * others).sum(axis=1)
    flat = np.minimum(one, other) <= FLAT * np.trace(covariance)
    r = np.where(flat, np.nan, shared / np.sqrt(one * other))
    size = halves.sum(axis=1)
    pq = size * (halves.shape[1] - size) / halves.shape[1] ** 2
    return np.clip(r, -1.0, 1.0), shared / (pq * (one + other + 2 * shared))


def _correlations_with_gaps(values: NDArray[np.generic], halves: Floats) -> Floats:
    """Correlation of the halves' means over the samples there are, per split."""
    real = values.astype(np.float64)
    real -= real[~np.isnan(real)][:1]  # a constant leaves exactly 0
    there = (~np.isnan(real)).astype(np.float64)
    filled = np.where(there > 0, real, 0.0)
    r = np.full(halves.shape[0], np.nan)
    for i, half in enumerate(halves):
        counts = np.stack([there @ half, there @ (1 - half)])
        both = (counts > 0).all(axis=0)
        if both.sum() > 1:
            means = (np.stack([filled @ half, filled @ (1 - half)]) / counts)[:, both]
            means -= means.mean(axis=1, keepdims=True)
            square = (means**2).sum(axis=1)
            if square.min() > FLAT * both.sum() * float(np.nanvar(real)):
                r[i] = (means[0] * means[1]).sum() / np.sqrt(square.prod())
    return np.clip(r, -1.0, 1.0)
