"""Interval of a mean difference over items or clusters, from scores of two systems on the same items.

The bootstrap intervals are those of infinitely many resamples wherever their law is known: exactly for few distinct
values or few units, by expansions otherwise. They need no seed and are the same each time. Where the differences do
not vary enough for any of them, a bound for bounded scores takes their place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from analysis.stats.binomial import TIE
from analysis.stats.bootstrap_laws import (
    MIRROR,
    Units,
    bca_levels,
    enumerated_law,
    lattice_law,
    smooth_quantile,
    student_quantile,
    student_ratio,
)
from analysis.stats.checks import checked_probability, checked_whole
from analysis.stats.draws import percentile_interval, resample_counts
from analysis.stats.equivalence import mean_interval
from analysis.stats.resampling import ideal_bootstrap_below
from analysis.stats.sequential import betting_upper

Floats = NDArray[np.float64]
Method = Literal["percentile", "bca", "studentised", "t"]
METHODS = ("percentile", "bca", "studentised", "t")

LEAST_DISTINCT = 5
DRAWS = 250_000  # counts at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanInterval:
    """Interval of a mean difference, in the unit of the scores.

    Attributes
    ----------
    estimate
        Mean over all items.
    low, high
        Ends of the interval.
    method
        What was computed: the method asked for, or ``betting`` where it would have collapsed.
    n
        Items.
    n_clusters
        Clusters; None when every item stands for itself.
    reason
        Why the method is not the one that was asked for; None when it is.
    """

    estimate: float
    low: float
    high: float
    method: Literal["percentile", "bca", "studentised", "t", "betting"]
    n: int
    n_clusters: int | None
    reason: str | None


def paired_mean_interval(
    diff: ArrayLike,
    *,
    level: float = 0.95,
    method: Method = "percentile",
    clusters: ArrayLike | None = None,
    score_range: tuple[float, float] | None = None,
    n_resamples: int | None = None,
    rng: np.random.Generator | np.random.BitGenerator | None = None,
) -> MeanInterval:
    """Interval of the mean of paired differences, candidate − baseline.

    Parameters
    ----------
    diff
        Shape (n,), finite, one difference per item.
    level
        Confidence level in (0, 1).
    method
        ``percentile``, ``bca`` or ``studentised`` (bootstrap-t), or ``t``, the interval of Student.
    clusters
        Shape (n,), a label per item; whole clusters are resampled and the mean is the ratio of sums.
    score_range
        Smallest and largest possible score of one system. None takes [0, 1] where all differences allow it.
    n_resamples, rng
        Monte Carlo with so many resamples from this generator; the ideal bootstrap when both are None.

    Returns
    -------
    MeanInterval
        By betting on bounded scores, with a reason, when the units do not vary or have fewer than five distinct
        differences. Pairs that pass or fail (differences of 0 and ± the width of the range) may have two or three.

    Raises
    ------
    ValueError
        Arguments that do not fit, fewer than two clusters, differences beyond the range, or no range where one is
        needed.

    Notes
    -----
    Efron (1979, Ann. Stat. 7:1); BCa as in Efron (1987, J. Am. Stat. Assoc. 82:171) with the mean's own influence
    values; bootstrap-t as in Efron (1982). The laws: exact on a lattice (`sum_law`) and by enumeration of up to
    8 units, else expansions within .01 standard errors (`ideal_bootstrap_quantile`; a saddlepoint for the bootstrap-t,
    some hundredths under 30 units). Clustered ``t`` has the standard error CR1 and clusters − 1 degrees of freedom.

    Examples
    --------
    The guide's eight items, and 200 equal drops, at which a bootstrap collapses:

    >>> found = paired_mean_interval([0, 1, 0, 0, 1, 0, 0, -1])
    >>> found.estimate, found.low, found.high
    (0.125, -0.25, 0.5)
    >>> found = paired_mean_interval([-0.4] * 200)
    >>> round(found.low, 3), round(found.high, 3), found.method
    (-0.415, -0.365, 'betting')
    """
    values = _checked_differences(diff)
    checked_probability("level", level)
    if method not in METHODS:
        raise ValueError(f"method = {method!r}: give one of {', '.join(METHODS)}")
    if (n_resamples is None) != (rng is None) or (n_resamples is not None and method == "t"):
        raise ValueError(f"n_resamples = {n_resamples!r}, rng = {rng!r}, method = {method!r}: give both to a bootstrap")
    n_draws = 0 if n_resamples is None else int(checked_whole("n_resamples", n_resamples, least=1))
    units = _units_of(values, clusters)
    width = _score_width(values, score_range)
    tail = (1 - level) / 2
    ends: tuple[float, float] | None = None
    reason = _too_little_variation(values, units, clustered=clusters is not None, width=width)
    if reason is None:
        if method == "t":
            ends = _t_interval(units, level)
        elif rng is not None:
            ends = _monte_carlo(units, method, tail, n_draws, rng)
        else:
            ends = _ideal(units, method, tail)
        if ends is None:
            reason = f"the bootstrap-t law of these {units.sums.size} units has no finite quantile of the level"
    used: Literal["percentile", "bca", "studentised", "t", "betting"] = method
    if ends is None:
        if width is None:
            raise ValueError(f"{reason}, and a difference lies outside [−1, 1]: give score_range, such as (1, 5)")
        used, ends = "betting", _bounded_ratio(units, width, tail)
        reason = f"{reason}: bound for scores in a range of width {width:g}"
    return MeanInterval(
        estimate=units.estimate,
        low=ends[0],
        high=ends[1],
        method=used,
        n=values.size,
        n_clusters=None if clusters is None else units.sums.size,
        reason=reason,
    )


def bounded_mean_interval(
    diff: ArrayLike,
    *,
    low: float,
    high: float,
    level: float = 0.95,
    method: Literal["betting", "bernstein"] = "betting",
) -> tuple[float, float]:
    """Interval of the mean of independent values in [low, high] that covers at every sample size.

    Parameters
    ----------
    diff
        Shape (n,), in [low, high].
    low, high
        Smallest and largest possible value; ∓ 1 for differences of scores in [0, 1].
    level
        Confidence level in (0, 1), half of the error on each side.
    method
        ``betting``, or the wider closed form ``bernstein``, which is fast for many distinct values.

    Returns
    -------
    tuple of float
        Lower and upper end in [low, high].

    Raises
    ------
    ValueError
        Values outside the range, a range that is none, or a level outside (0, 1).

    Notes
    -----
    `betting_upper` on both sides, after Waudby-Smith and Ramdas (2024, J. R. Stat. Soc. B 86:1); empirical Bernstein
    bound of Maurer and Pontil (2009, COLT), theorem 4.

    Examples
    --------
    >>> [round(end, 3) for end in bounded_mean_interval([0.0, 0.0, 0.0], low=-1, high=1)]
    [-0.791, 0.791]
    """
    values = _checked_differences(diff)
    delta = (1 - checked_probability("level", level)) / 2
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"low = {low!r}, high = {high!r}: give the smallest and the largest possible value")
    outside = (values < low) | (values > high)
    if outside.any():
        raise ValueError(
            f"a difference is {values[outside][0]}: all must lie between low = {low!r} and high = {high!r}"
        )
    width = high - low
    if method == "betting":
        below, above = (
            betting_upper(np.clip(distance, 0.0, width), limit=width, delta=delta)
            for distance in (high - values, values - low)
        )
        return max(low, high - below), min(high, low + above)
    if method != "bernstein":
        raise ValueError(f"method = {method!r}: give 'betting' or 'bernstein'")
    if values.size < 2:
        return low, high
    bet = math.log(2 / delta)
    reach = math.sqrt(2 * float(values.var(ddof=1)) * bet / values.size) + 7 * width * bet / (3 * (values.size - 1))
    mean = float(values.mean())
    return max(low, mean - reach), min(high, mean + reach)


def _units_of(values: Floats, clusters: ArrayLike | None) -> Units:
    if clusters is None:
        return Units(values, None, float(values.mean()))
    labels = np.asarray(clusters)
    if labels.shape != values.shape:
        raise ValueError(f"clusters of shape {labels.shape} for {values.size} differences: give a label per item")
    missing = [label for label in labels.tolist() if label is None or (isinstance(label, float) and math.isnan(label))]
    if missing:
        raise ValueError(f"a cluster is {missing[0]!r}: give every item a label, its own id if it stands alone")
    if labels.dtype.kind == "O":
        labels = labels.astype(str)
    names, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    if names.size < 2:
        raise ValueError(f"all items are in the cluster {names[0]!s}: an interval over clusters needs at least two")
    sums: Floats = np.bincount(codes, weights=values).astype(np.float64)
    if (sizes == sizes[0]).all():
        return Units(sums / sizes[0], None, float(values.mean()))
    return Units(sums, sizes.astype(np.float64), float(values.mean()))


def _score_width(values: Floats, score_range: tuple[float, float] | None) -> float | None:
    """Largest possible difference of two scores; None where it was not said and is not 1."""
    largest = float(np.abs(values).max())
    if score_range is None:
        return 1.0 if largest <= 1 + MIRROR else None
    least, most = score_range
    if not (math.isfinite(least) and math.isfinite(most) and least < most):
        raise ValueError(f"score_range = {score_range!r}: give the smallest and the largest possible score")
    if largest > (most - least) * (1 + MIRROR):
        raise ValueError(f"a difference of size {largest:g} does not fit score_range = {score_range!r}")
    return most - least


def _too_little_variation(values: Floats, units: Units, *, clustered: bool, width: float | None) -> str | None:
    """Why no bootstrap or t interval may be shown, or None."""
    scale = float(np.abs(values).max()) or 1.0
    if units.sizes is not None:
        scale *= float(units.sizes.max())
    residuals = units.residuals(units.estimate) if clustered else units.sums
    distinct = np.unique(np.round(residuals[:1000] / scale, 9)).size
    if distinct < LEAST_DISTINCT:
        distinct = _distinct(residuals / scale)
    what = "clusters" if clustered else "differences"
    if distinct == 1:
        return f"the {residuals.size} {what} do not vary"
    if distinct >= LEAST_DISTINCT:
        return None
    size = np.abs(values)
    outcomes = width is not None and bool(((size <= MIRROR) | (np.abs(size - width) <= MIRROR * width)).all())
    if outcomes and (not clustered or residuals.size >= LEAST_DISTINCT):
        return None
    return f"the {residuals.size} {what} have only {distinct} distinct values"


def _distinct(values: Floats) -> int:
    """Distinct values to nine digits, counted up to five."""
    rest, found = np.round(values, 9), 0
    while rest.size and found < LEAST_DISTINCT:
        rest, found = rest[rest != rest[0]], found + 1
    return found


def _t_interval(units: Units, level: float) -> tuple[float, float]:
    if units.sizes is None:
        return mean_interval(units.sums, level=level)
    groups = units.sums.size
    spread = float((units.residuals(units.estimate) ** 2).sum()) * groups / (groups - 1)
    reach = float(stdtrit(groups - 1, (1 + level) / 2)) * math.sqrt(spread) / float(units.sizes.sum())
    return units.estimate - reach, units.estimate + reach


def _ideal(units: Units, method: Method, tail: float) -> tuple[float, float] | None:
    """Ends of a bootstrap interval without resampling; None where bootstrap-t has none."""
    if method == "studentised":
        if units.sizes is not None:
            raise ValueError(
                "method = 'studentised' with clusters of unequal size: its law is not known, give n_resamples and rng"
            )
        lower, upper = (student_quantile(units.sums, q) for q in (tail, 1 - tail))
        se = float(units.sums.std()) / math.sqrt(units.sums.size)
        return None if lower is None or upper is None else (units.estimate - upper * se, units.estimate - lower * se)
    law = lattice_law(units) or enumerated_law(units)
    levels = (tail, 1 - tail)
    if method == "bca":
        if law is not None:
            under, to = np.searchsorted(law.support, units.estimate + np.array([-1, 1]) * MIRROR * np.ptp(law.support))
            edges = np.append(0.0, law.cumulative)
            below = float(edges[under] + edges[to]) / 2
        else:
            below = float(ideal_bootstrap_below(units.residuals(units.estimate), 0.0))
        levels = bca_levels(units, below, tail)
    low, high = (
        float(law.support[min(int(np.searchsorted(law.cumulative, q - TIE)), law.support.size - 1)])
        if law is not None
        else smooth_quantile(units, q)
        for q in levels
    )
    return low, high


def _bounded_ratio(units: Units, width: float, tail: float) -> tuple[float, float]:
    """Betting interval of a mean, or of a ratio of sums over clusters that are no larger than the largest one seen."""
    if units.sizes is None:
        values = np.clip(units.sums, -width, width)
        return bounded_mean_interval(values, low=-width, high=width, level=1 - 2 * tail)
    sums, sizes = units.sums / units.sizes.max(), units.sizes / units.sizes.max()

    def upper(sums: Floats, estimate: float) -> float:
        """Smallest ratio r at which the mean of S − rN is shown to be under 0."""
        low, high = estimate, width
        for _ in range(30):
            middle = (low + high) / 2
            shifted = np.clip(sums - middle * sizes + width + middle, 0.0, 2 * width)
            if betting_upper(shifted, limit=2 * width, delta=tail) < width + middle:
                high = middle
            else:
                low = middle
        return high

    return -upper(-sums, -units.estimate), upper(sums, units.estimate)


def _monte_carlo(
    units: Units, method: Method, tail: float, n_resamples: int, rng: np.random.Generator | np.random.BitGenerator
) -> tuple[float, float] | None:
    """Ends of a bootstrap interval from resamples drawn by `resample_counts`."""
    centred = units.residuals(units.estimate)
    sizes = np.ones_like(centred) if units.sizes is None else units.sizes
    columns = [centred, sizes]
    if method == "studentised":
        columns += [centred**2, centred * sizes, sizes**2]
    table = np.stack(columns, axis=1)
    rows = max(1, DRAWS // centred.size)
    drawn = np.concatenate(
        [
            resample_counts(centred.size, min(rows, n_resamples - start), rng=rng) @ table
            for start in range(0, n_resamples, rows)
        ]
    )
    shift = drawn[:, 0] / drawn[:, 1]
    if method == "studentised":
        total = float((centred**2).sum())
        spread = drawn[:, 2] - 2 * shift * drawn[:, 3] + shift**2 * drawn[:, 4]
        scale = float(sizes.sum()) / math.sqrt(total)
        t = student_ratio(shift * scale, spread / total * (float(sizes.sum()) / drawn[:, 1]) ** 2)
        lower, upper = (float(end) for end in np.quantile(t, [1 - tail, tail], method="inverted_cdf"))
        if not (math.isfinite(lower) and math.isfinite(upper)):
            return None
        return units.estimate - lower / scale, units.estimate - upper / scale
    if method == "percentile":
        low, high = percentile_interval(shift, level=1 - 2 * tail)
    else:
        edge = MIRROR * float(np.ptp(shift))
        below = float(np.mean(shift < -edge) + np.mean(shift <= edge)) / 2
        low, high = (float(end) for end in np.quantile(shift, bca_levels(units, below, tail)))
    return units.estimate + low, units.estimate + high


def _checked_differences(diff: ArrayLike) -> Floats:
    values = np.asarray(diff, dtype=np.float64)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"differences of shape {values.shape}: give one dimension with at least one value")
    if not np.isfinite(values).all():
        raise ValueError(f"a difference is {values[~np.isfinite(values)][0]}: leave out pairs that are not complete")
    return values
