"""Is a difference small enough, or large enough, to matter? Outcomes from intervals."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtrit

from analysis.stats.checks import checked_probability

Equivalence = Literal["equivalent", "different", "undecided"]
MinimumEffect = Literal["reached", "excluded", "undecided"]


def tost(low: float, high: float, *, band: float) -> Equivalence:
    """Two one-sided tests of |difference| ≤ band by the interval of the difference.

    An interval of level 1 − 2α makes a test of level α (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15:657): the
    90 % interval that of 5 %, the 95 % interval that of 2.5 %.

    Parameters
    ----------
    low, high
        Ends of the interval, in the unit of the band.
    band
        Largest difference that does not matter, positive.

    Returns
    -------
    str
        ``equivalent``: the interval lies inside [−band, band]; ``different``: wholly outside;
        ``undecided``: it straddles an end.

    Raises
    ------
    ValueError
        Ends that are not finite or in the wrong order, or a band that is not positive.

    Examples
    --------
    >>> tost(-0.022, 0.082, band=0.09), tost(-0.032, 0.092, band=0.09), tost(0.1, 0.2, band=0.09)
    ('equivalent', 'undecided', 'different')
    """
    _check_interval(low, high, "band", band)
    if -band <= low and high <= band:
        return "equivalent"
    return "different" if low > band or high < -band else "undecided"


def minimum_effect(low: float, high: float, *, floor: float) -> MinimumEffect:
    """Test of the minimum-effect null |difference| ≤ floor by the interval of the difference.

    Parameters
    ----------
    low, high
        Ends of the interval; level 1 − 2α for a test of level α on either side.
    floor
        Smallest difference that matters, positive.

    Returns
    -------
    str
        ``reached``: the interval lies wholly beyond the floor; ``excluded``: wholly within it; else ``undecided``.

    Raises
    ------
    ValueError
        Ends that are not finite or in the wrong order, or a floor that is not positive.

    Notes
    -----
    Murphy and Myors (1999, J. Appl. Psychol. 84:234).

    Examples
    --------
    >>> [minimum_effect(*ends, floor=0.1) for ends in ((0.12, 0.3), (-0.05, 0.05), (0.05, 0.2))]
    ['reached', 'excluded', 'undecided']
    """
    _check_interval(low, high, "floor", floor)
    if low > floor or high < -floor:
        return "reached"
    return "excluded" if -floor < low and high < floor else "undecided"


def mean_interval(differences: ArrayLike, *, level: float) -> tuple[float, float]:
    """Student's interval of the mean of paired differences.

    Parameters
    ----------
    differences
        Shape (n,), finite, n at least 2: one per prompt, A − B.
    level
        Confidence level in (0, 1).

    Returns
    -------
    tuple of float
        Lower and upper end, in the unit of the differences.

    Raises
    ------
    ValueError
        Fewer than two differences, values that are not finite, or a level outside (0, 1).

    Examples
    --------
    >>> low, high = mean_interval([1.0, 2.0, 3.0, 4.0], level=0.95)
    >>> round(low, 3), round(high, 3)
    (0.446, 4.554)
    """
    values = np.asarray(differences, dtype=np.float64)
    if values.ndim != 1 or values.size < 2:
        raise ValueError(f"differences of shape {values.shape}: give one dimension with at least two values")
    if not np.isfinite(values).all():
        raise ValueError(f"a difference is {values[~np.isfinite(values)][0]}: leave out pairs that are not complete")
    mean, sd = float(values.mean()), float(values.std(ddof=1))
    reach = float(stdtrit(values.size - 1, (1 + checked_probability("level", level)) / 2)) * sd / math.sqrt(values.size)
    return mean - reach, mean + reach


def non_overlap_level(alpha: float) -> float:
    """Level of the test "two intervals of level 1 − α do not overlap", for equal standard errors.

    Parameters
    ----------
    alpha
        One minus the level of each interval, a probability.

    Returns
    -------
    float
        2(1 − Φ(√2 z₁₋α/₂)), a probability.

    Raises
    ------
    ValueError
        ``alpha`` outside (0, 1).

    Notes
    -----
    Schenker and Gentleman (2001, Am. Stat. 55:182).

    Examples
    --------
    >>> round(non_overlap_level(0.05), 6)
    0.005575
    """
    return float(2 * ndtr(math.sqrt(2) * float(ndtri(checked_probability("alpha", alpha) / 2))))


def interval_level_for_non_overlap(alpha: float) -> float:
    """Level of the two intervals whose non-overlap is a test of level α, for equal standard errors.

    Parameters
    ----------
    alpha
        Level of the test, a probability.

    Returns
    -------
    float
        2Φ(z₁₋α/₂/√2) − 1, a probability.

    Raises
    ------
    ValueError
        ``alpha`` outside (0, 1).

    Examples
    --------
    >>> round(interval_level_for_non_overlap(0.05), 5)
    0.83422
    """
    return float(1 - 2 * ndtr(float(ndtri(checked_probability("alpha", alpha) / 2)) / math.sqrt(2)))


def _check_interval(low: float, high: float, name: str, limit: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        raise ValueError(f"interval [{low!r}, {high!r}]: give finite ends, the lower one first")
    if not 0 < limit < math.inf:
        raise ValueError(f"{name} = {limit!r}: give a positive limit in the unit of the interval")
