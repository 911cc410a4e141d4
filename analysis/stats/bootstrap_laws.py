"""Laws of the resampled mean and of its Student ratio: exact for few values or few units, else expansions."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, ndtri

from analysis.stats.binomial import TIE
from analysis.stats.paired import sum_law
from analysis.stats.resampling import ideal_bootstrap_below, ideal_bootstrap_quantile

Floats = NDArray[np.float64]

FEW_LEVELS = 256  # distinct differences up to which a lattice is looked for
LATTICE_WORK = 50_000  # levels times standard deviation of the sum in steps; above, a step is no matter
ENUMERABLE = 8  # units: 6,435 resamples
MIRROR = 1e-9  # relative: floating differences of equal scores agree to this


class Units(NamedTuple):
    """What is resampled: items, or clusters by their sums; ``sizes`` is None where all are equal."""

    sums: Floats
    sizes: Floats | None
    estimate: float

    def residuals(self, at: float) -> Floats:
        """By how much the sum of every unit exceeds that of a mean ``at``."""
        return self.sums - at * (1.0 if self.sizes is None else self.sizes)


class Law(NamedTuple):
    """Discrete law of the resampled mean: its values in rising order and their cumulative probabilities."""

    support: Floats
    cumulative: Floats


def lattice_law(units: Units) -> Law | None:
    """Exact law of the resampled mean when the values are few and lie on equal steps."""
    values, n = units.sums, units.sums.size
    if units.sizes is not None or np.unique(values[:1000]).size > FEW_LEVELS:
        return None
    levels, counts = np.unique(values, return_counts=True)
    span = float(levels[-1] - levels[0])
    new = np.append(True, np.diff(levels) > MIRROR * span)
    levels, counts = levels[new], np.add.reduceat(counts, np.flatnonzero(new))
    step, *gaps = np.diff(levels)
    for gap in gaps:
        other = float(gap)
        while other > 1e-7 * span:
            step, other = other, abs(math.remainder(step, other))
    places = np.rint((levels - levels[0]) / step)
    step = span / places[-1]
    deviation = np.abs(levels[0] + places * step - levels).max()
    share = counts / n
    sd = math.sqrt(n * float(share @ (places - share @ places) ** 2))
    if (
        levels.size > FEW_LEVELS
        or step < 1e-5 * span
        or deviation > 10 * MIRROR * span
        or sd * levels.size > LATTICE_WORK
    ):
        return None
    first, mass = sum_law(places.astype(np.int64), counts)
    return Law((n * levels[0] + step * np.arange(first, first + mass.size)) / n, np.cumsum(mass))


@functools.cache
def _resamples(n: int) -> tuple[Floats, Floats]:
    """All resamples of n units as counts, and their probabilities."""
    drawn = np.array(list(itertools.combinations_with_replacement(range(n), n)))
    counts = (drawn[:, :, None] == np.arange(n)).sum(axis=1).astype(np.float64)
    return counts, np.exp(gammaln(n + 1) - gammaln(counts + 1).sum(axis=1) - n * math.log(n))


def enumerated_law(units: Units) -> Law | None:
    """Exact law of the resampled mean when the units are few, from all resamples."""
    if units.sums.size > ENUMERABLE:
        return None
    counts, mass = _resamples(units.sums.size)
    means = counts @ units.sums / (units.sums.size if units.sizes is None else counts @ units.sizes)
    order = np.argsort(means)
    return Law(means[order], np.cumsum(mass[order]))


def smooth_quantile(units: Units, q: float) -> float:
    """Quantile of the resampled mean or ratio; for a ratio r*, Pr(r* < r) = Pr(mean of S − rN < 0)."""
    if units.sizes is None:
        return float(ideal_bootstrap_quantile(units.sums, q))
    x = float(ndtri(q))

    def score(ratio: float) -> float:
        below = float(ideal_bootstrap_below(units.residuals(ratio), 0.0))
        return float(ndtri(min(max(below, 1e-15), 1 - 1e-15))) - x

    se = math.sqrt(float((units.residuals(units.estimate) ** 2).sum())) / float(units.sizes.sum())
    root = _rising_root(score, units.estimate + x * se, se)
    return units.estimate + x * se if root is None else root


def bca_levels(units: Units, below: float, tail: float) -> tuple[float, float]:
    """Levels of the percentiles that BCa takes, from the probability of a resample below the estimate."""
    influence = units.residuals(units.estimate)
    influence = influence - influence.mean()
    square = influence * influence
    acceleration = float(square @ influence) / (6 * float(square.sum()) ** 1.5)
    bias = float(ndtri(min(max(below, TIE), 1 - TIE)))

    def adjusted(z: float) -> float:
        share = 1 - acceleration * (bias + z)
        level = float(ndtr(bias + (bias + z) / share)) if share > 0 else float(z > 0)
        return min(max(level, TIE), 1 - TIE)

    z = float(ndtri(tail))
    return adjusted(z), adjusted(-z)


def student_quantile(values: Floats, q: float) -> float | None:
    """Quantile of √n (b̄* − b̄)/s*, s* with divisor n; None where resamples without variation reach it.

    All resamples of up to 8 values; for large and nearly symmetric samples the Cornish-Fisher expansion of Student's
    ratio (Hall 1992, The Bootstrap and Edgeworth Expansion, section 2.6); else `student_saddlepoint`.
    """
    n, x = values.size, float(ndtri(q))
    z = (values - values.mean()) / values.std()
    if n <= ENUMERABLE:
        counts, mass = _resamples(n)
        mean = counts @ z / n
        t = math.sqrt(n) * student_ratio(mean, counts @ z**2 / n - mean**2)
        order = np.argsort(t)
        quantile = float(t[order][np.searchsorted(np.cumsum(mass[order]), q - TIE)])
        return quantile if math.isfinite(quantile) else None
    _, repeats = np.unique(np.round(z, 9), return_counts=True)
    if float(((repeats / n) ** n).sum()) > min(q, 1 - q) / 10:
        return None
    square = z * z
    skew, kurtosis = float(square @ z) / n**1.5, (float(square @ square) / n - 3) / n
    if abs(skew) < 0.02 and abs(kurtosis) < 0.005:
        first = skew * (2 * x * x + 1) / 6
        second = kurtosis * (x**3 - 3 * x) / 12 - skew**2 * (x**5 + 2 * x**3 - 3 * x) / 18 - (x**3 + 3 * x) / (4 * n)
        return x - first + first * skew * 2 * x / 3 - x * first**2 / 2 - second
    return student_saddlepoint(z, x)


def student_saddlepoint(z: Floats, x: float) -> float | None:
    """Student ratio of resampled z-values at the normal score x; None where the expansion does not reach it.

    Saddlepoint of (Σz, Σz²) with Laplace's method over s* (Daniels and Young 1991, Biometrika 78:169) in the r* form.
    At the saddlepoint of a ratio the tilt is exp(sz + tz²) with t = −s E z/(2 E z²).
    """
    n = z.size
    powers = np.cumprod(np.stack([z] * 4), axis=0)
    least = 1e-3 / math.sqrt(n)  # r* has a removable singularity at 0

    def ratio_and_score(s: float) -> tuple[float, float]:
        s = math.copysign(max(abs(s), least), s)
        t = -(s**2) / 2
        for _ in range(50):
            exponent = s * z + t * powers[1]
            top = float(exponent.max())
            weight = np.exp(exponent - top)
            total = float(weight.sum())
            m1, m2, m3, m4 = (float(moment) for moment in powers @ weight / total)
            miss = t + s * m1 / (2 * m2)
            slope = 1 + s / 2 * ((m3 - m1 * m2) * m2 - m1 * (m4 - m2**2)) / m2**2
            t -= miss / slope if slope > 0 else miss
            if abs(miss) < 1e-13 * max(1.0, abs(t)):
                break
        variance, mixed, fourth = m2 - m1**2, m3 - m1 * m2, m4 - m2**2
        if variance <= 0:
            return math.nan, math.nan
        ratio = m1 / math.sqrt(variance)
        a, b = ratio / (2 * math.sqrt(variance)), 1 + ratio**2  # how (E z, E z²) move with s*² along a constant ratio
        curvature = a * a * fourth - 2 * a * b * mixed + b * b * variance
        curvature -= (variance * fourth - mixed**2) * s * ratio / (4 * variance**1.5)
        r = math.copysign(math.sqrt(max(2 * n * (s * m1 + t * m2 - top - math.log(total / n)), 0.0)), s)
        u = (s * math.sqrt(variance) + 2 * t * variance * ratio) * math.sqrt(max(n * curvature / variance, 0.0))
        return ratio, r + math.log(u / r) / r if u * r > 0 else math.nan

    s = _rising_root(lambda s: ratio_and_score(s)[1] - x, x / math.sqrt(n), 0.5 / math.sqrt(n))
    if s is None:
        return None
    ratio, score = ratio_and_score(s)
    return math.sqrt(n) * ratio if abs(score - x) < 1e-6 else None


def student_ratio(mean: Floats, variance: Floats) -> Floats:
    """mean/√variance in units in which both are near 1; ± infinity without variance."""
    varies = variance > TIE
    return np.where(varies, mean / np.sqrt(np.where(varies, variance, 1.0)), np.copysign(np.inf, mean))


def _rising_root(function: Callable[[float], float], start: float, step: float) -> float | None:
    """Root of a rising function by false position (Illinois) in a bracket that grows; None without a bracket."""
    low, high, enough = start - step, start + step, 1e-10 * step
    for _ in range(40):
        at_low, at_high = function(low), function(high)
        if at_low <= 0 <= at_high:
            break
        if not (at_low > 0 or at_high < 0):
            return None
        low, high = (low - step, high) if at_low > 0 else (low, high + step)
        step *= 2
    else:
        return None
    middle, side = low, 0
    while high - low > enough and at_high > at_low:
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        at = function(middle)
        if abs(at) < TIE or not low < middle < high:
            break
        if at < 0:
            low, at_low, at_high, side = middle, at, at_high / (2 if side < 0 else 1), -1
        else:
            high, at_high, at_low, side = middle, at, at_low / (2 if side > 0 else 1), 1
    return middle
