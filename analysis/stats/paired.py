"""Two systems on the same items, pass or fail: what the discordant pairs say.

``baseline_only`` and ``candidate_only`` count the items that only one system passed, ``n`` all items. A difference
is candidate − baseline, a share of the items, so that swapping the arms turns an interval over.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr, ndtri

from analysis.stats.binomial import TIE, wilson
from analysis.stats.checks import checked_counts, checked_probability, checked_whole

Floats = NDArray[np.float64]
NEGLIGIBLE = 40.0  # exp(−40) = 4e-18 of a law may lie outside the window it is computed on


@dataclass(frozen=True, slots=True, kw_only=True)
class McNemar:
    """Two-sided p-values of McNemar's test, probabilities in (0, 1].

    Attributes
    ----------
    exact
        Conditional on the number of discordant pairs; its size stays under the level, often far under.
    mid_p
        The observed table counts by half: close to the level on average, above it by little at worst.
    """

    exact: float
    mid_p: float


def mcnemar(baseline_only: int, candidate_only: int) -> McNemar:
    """McNemar's test from the discordant pairs, exact and mid-p.

    Parameters
    ----------
    baseline_only, candidate_only
        Items that only one of the systems passed, 0 or more.

    Returns
    -------
    McNemar
        Both p-values are 1 without discordant pairs, which is no sign of equality: see `tango_interval`.

    Raises
    ------
    ValueError
        Counts under 0 or not whole.

    Notes
    -----
    McNemar (1947, Psychometrika 12:153); mid-p as in Fagerland, Lydersen and Laake (2013, BMC Med. Res. Methodol.
    13:91), who recommend it over the exact test. Equal counts give 1 − Pr(X = b)/2 there, and here.

    Examples
    --------
    >>> test = mcnemar(24, 41)
    >>> round(test.exact, 5), round(test.mid_p, 5)
    (0.04635, 0.03558)
    """
    b, c = _checked_discordant(baseline_only, candidate_only)
    if b + c == 0:
        return McNemar(exact=1.0, mid_p=1.0)
    fewer = min(b, c)
    at_most = float(bdtr(fewer, b + c, 0.5))
    under = float(bdtr(fewer - 1, b + c, 0.5)) if fewer else 0.0
    mid_p = 1 - (at_most - under) / 2 if b == c else at_most + under
    return McNemar(exact=min(1.0, 2 * at_most), mid_p=mid_p)


def tango_interval(baseline_only: int, candidate_only: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """Score interval of the difference of two paired proportions, candidate − baseline.

    Parameters
    ----------
    baseline_only, candidate_only
        Items that only one of the systems passed.
    n
        All items, at least 1 and at least the discordant ones.
    level
        Confidence level in (0, 1).

    Returns
    -------
    tuple of float
        Lower and upper end in [−1, 1]. It never collapses: without discordant pairs it is ± z²/(n + z²).

    Raises
    ------
    ValueError
        Counts that are not whole or do not fit, or a level outside (0, 1).

    Notes
    -----
    Tango (1998, Stat. Med. 17:891): the differences δ that the score test with the nuisance parameter at its
    restricted maximum does not reject. The ends are found by bisection to the last digit.

    Examples
    --------
    >>> low, high = tango_interval(24, 41, 820)
    >>> round(low, 5), round(high, 5)
    (0.0015, 0.04084)
    >>> round(tango_interval(0, 0, 20)[1], 3)
    0.161
    """
    b, c, items = _checked_pairs(baseline_only, candidate_only, n)
    z = _z(level)
    return -_upper_difference(c, b, items, z), _upper_difference(b, c, items, z)


def tango_score(baseline_only: ArrayLike, candidate_only: ArrayLike, n: int, *, difference: float) -> Floats:
    """Tango's score statistic of a difference in (−1, 1), standard normal when it is the true one; for clean input.

    Above the normal quantile at (1 + level)/2 exactly where `tango_interval` lies wholly above ``difference``; 0 where nothing varies.

    Notes
    -----
    Tango (1998), with the stable root of the quadratic for the probability of a loss.
    """
    b, c = np.asarray(baseline_only, dtype=np.float64), np.asarray(candidate_only, dtype=np.float64)
    if difference < 0:
        return -tango_score(c, b, n, difference=-difference)
    distance = c - b - n * difference
    sd = np.sqrt(_restricted_variance(b, c, n, difference))
    return np.where(sd > 0, distance / np.where(sd > 0, sd, 1.0), 0.0)


def newcombe_paired_interval(
    both: int, baseline_only: int, candidate_only: int, neither: int, *, level: float = 0.95
) -> tuple[float, float]:
    """Interval of the difference of two paired proportions from two Wilson intervals, candidate − baseline.

    Parameters
    ----------
    both, baseline_only, candidate_only, neither
        Items by which of the systems passed them, at least one in all.
    level
        Confidence level in (0, 1).

    Returns
    -------
    tuple of float
        Lower and upper end in [−1, 1].

    Raises
    ------
    ValueError
        Counts under 0 or not whole, no items, or a level outside (0, 1).

    Notes
    -----
    Newcombe (1998, Stat. Med. 17:2635), method 10: square-and-add with the correlation φ corrected for continuity.

    Examples
    --------
    >>> low, high = newcombe_paired_interval(36, 2, 12, 0)
    >>> round(low, 4), round(high, 4)
    (0.0569, 0.3404)
    """
    named = {"both": both, "baseline_only": baseline_only, "candidate_only": candidate_only, "neither": neither}
    a, b, c, d = (int(checked_whole(name, count, least=0)) for name, count in named.items())
    n = a + b + c + d
    if n == 0:
        raise ValueError("both + baseline_only + candidate_only + neither = 0: give at least one item")
    product = float(a * d - b * c)
    if product > 0:
        product = max(0.0, product - n / 2)
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    phi = product / math.sqrt(margins) if margins else 0.0
    return _square_and_add((a + b, n), (a + c, n), phi, level)


def newcombe_interval(
    k_baseline: int, n_baseline: int, k_candidate: int, n_candidate: int, *, level: float = 0.95
) -> tuple[float, float]:
    """Interval of the difference of two independent proportions from two Wilson intervals, candidate − baseline.

    For systems that were not run on the same items; where they were, a paired interval is narrower.

    Parameters
    ----------
    k_baseline, n_baseline, k_candidate, n_candidate
        Passed items and items of each system.
    level
        Confidence level in (0, 1).

    Returns
    -------
    tuple of float
        Lower and upper end in [−1, 1].

    Raises
    ------
    ValueError
        Counts that are not whole or do not fit, or a level outside (0, 1).

    Notes
    -----
    Newcombe (1998, Stat. Med. 17:873), method 10, the hybrid score interval.

    Examples
    --------
    >>> low, high = newcombe_interval(48, 80, 56, 70)
    >>> round(low, 4), round(high, 4)
    (0.0524, 0.3339)
    """
    checked_counts([k_baseline, k_candidate], [n_baseline, n_candidate])
    return _square_and_add((k_baseline, n_baseline), (k_candidate, n_candidate), 0.0, level)


@overload
def binary_bootstrap_quantile(baseline_only: int, candidate_only: int, n: int, *, q: float) -> float: ...
@overload
def binary_bootstrap_quantile(baseline_only: int, candidate_only: int, n: int, *, q: Sequence[float]) -> Floats: ...
def binary_bootstrap_quantile(
    baseline_only: int, candidate_only: int, n: int, *, q: float | Sequence[float]
) -> float | Floats:
    """Quantiles of the bootstrap law of a paired binary difference, as infinitely many resamples give them.

    Parameters
    ----------
    baseline_only, candidate_only, n
        As in `tango_interval`.
    q
        Probabilities in (0, 1); (0.025, 0.975) are the ends of the 95 % percentile interval.

    Returns
    -------
    float or ndarray of float64
        Smallest differences whose probability of not being exceeded reaches ``q``, within 1e-12 of it.

    Raises
    ------
    ValueError
        Counts that are not whole or do not fit, or a probability outside (0, 1).

    Notes
    -----
    A resample holds trinomial counts of gains, losses and ties; the law of their difference is computed exactly,
    see `sum_law`. The percentile interval of Efron (1979) has a zero width without discordant pairs.

    Examples
    --------
    >>> binary_bootstrap_quantile(5, 15, 100, q=[0.025, 0.975])
    array([0.02, 0.19])
    """
    b, c, items = _checked_pairs(baseline_only, candidate_only, n)
    levels = np.asarray(q, dtype=np.float64)
    for level in levels.flat:
        checked_probability("q", float(level))
    first, mass = sum_law(np.array([-1, 0, 1]), np.array([b, items - b - c, c]))
    at = (first + np.searchsorted(np.cumsum(mass), levels - TIE)) / items
    return at if levels.ndim else float(at)


def sum_law(steps: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[int, Floats]:
    """Exact law of the sum of as many draws as there are items, with replacement, of whole-numbered values.

    Parameters
    ----------
    steps
        Shape (v,), distinct whole numbers.
    counts
        Shape (v,), items of each value, not negative and not all 0; clean input.

    Returns
    -------
    first : int
        The sum of the first place.
    mass : ndarray of float64, shape (window,)
        Probabilities of first, first + 1, …; outside the window lies less than 1e-17.

    Notes
    -----
    Inverse Fourier transform of the characteristic function to the power n, in logarithms about the most frequent
    value so that no digits are lost at n = 10⁷. Bernstein's inequality gives the window, O(√n).
    """
    n = int(counts.sum())
    common = int(steps[np.argmax(counts)])
    offsets, share = (steps - common).astype(np.float64), counts / n
    mean = float(share @ offsets)
    variance = n * float(share @ (offsets - mean) ** 2)
    reach = NEGLIGIBLE / 3 * float(np.abs(offsets - mean).max())
    half = math.ceil(reach + math.sqrt(reach**2 + 2 * NEGLIGIBLE * variance)) + 1
    low, high = (n * int(end) for end in (offsets.min(), offsets.max()))
    low, high = max(low, math.floor(n * mean) - half), min(high, math.ceil(n * mean) + half)
    size = 1 << (high - low).bit_length()
    angle = np.arange(size // 2 + 1) * (2 * np.pi / size)
    real, imaginary = np.zeros_like(angle), np.zeros_like(angle)
    for offset, weight in zip(offsets, share, strict=True):
        if offset and weight:
            real -= 2 * weight * np.sin(offset * angle / 2) ** 2
            imaginary -= weight * np.sin(offset * angle)  # the conjugate: irfft turns the other way round
    excess = 2 * real + real**2 + imaginary**2  # |·|² − 1
    far = np.log(np.maximum(np.hypot(1 + real, imaginary), 1e-300))
    exponent = np.where(excess < -0.5, far, np.log1p(np.maximum(excess, -0.5)) / 2)
    mass = np.fft.irfft(np.exp(n * (exponent + 1j * np.arctan2(imaginary, 1 + real))), size)
    places = np.arange(low, high + 1)
    return low + n * common, np.maximum(mass[places % size], 0.0)


def _upper_difference(b: int, c: int, n: int, z: float) -> float:
    """Largest difference that the score test at z does not reject."""
    low, high = (c - b) / n, 1.0
    while low < (middle := (low + high) / 2) < high:
        if middle >= 0:
            variance = _restricted_variance(np.float64(b), np.float64(c), n, middle)
        else:
            variance = _restricted_variance(np.float64(c), np.float64(b), n, -middle)
        if n * middle - (c - b) < z * math.sqrt(variance):
            low = middle
        else:
            high = middle
    return high


def _restricted_variance(b: Floats | np.float64, c: Floats | np.float64, n: int, difference: float) -> Floats:
    """Variance of c − b at a difference of 0 or more, the probability of a loss at its restricted maximum."""
    linear = (2 * n - c + b) * difference - (b + c)
    constant = b * difference * (1 - difference)
    root = np.sqrt(linear**2 + 8 * n * constant)
    rising = linear > 0
    loss = np.where(rising, 2 * constant / np.where(rising, linear + root, 1.0), (root - linear) / (4 * n))
    return np.asarray(n * (2 * loss + difference * (1 - difference)))


def _square_and_add(
    baseline: tuple[int, int], candidate: tuple[int, int], phi: float, level: float
) -> tuple[float, float]:
    """Newcombe's combination of two Wilson intervals whose estimates have the correlation φ."""
    (k1, n1), (k2, n2) = baseline, candidate
    p1, p2 = k1 / n1, k2 / n2
    (low1, high1), (low2, high2) = wilson(k1, n1, level=level), wilson(k2, n2, level=level)

    def reach(down: float, up: float) -> float:
        return math.sqrt(max(0.0, down**2 - 2 * phi * down * up + up**2))

    return p2 - p1 - reach(p2 - low2, high1 - p1), p2 - p1 + reach(high2 - p2, p1 - low1)


def _z(level: float) -> float:
    return float(ndtri((1 + checked_probability("level", level)) / 2))


def _checked_discordant(baseline_only: int, candidate_only: int) -> tuple[int, int]:
    return (
        int(checked_whole("baseline_only", baseline_only, least=0)),
        int(checked_whole("candidate_only", candidate_only, least=0)),
    )


def _checked_pairs(baseline_only: int, candidate_only: int, n: int) -> tuple[int, int, int]:
    b, c = _checked_discordant(baseline_only, candidate_only)
    items = int(checked_whole("n", n, least=1))
    if b + c > items:
        raise ValueError(f"baseline_only = {b}, candidate_only = {c} of n = {items} items: count all items in n")
    return b, c, items
