"""Order statistics that enclose a quantile, and those of their own ideal bootstrap interval."""

from __future__ import annotations

import bisect

import numpy as np
from numpy.typing import ArrayLike

from analysis.stats.binomial import TIE, binomial_cdf, binomial_tail
from analysis.stats.checks import checked_probability, checked_whole


def quantile_ranks(n: int, *, quantile: float, level: float = 0.95) -> tuple[int | None, int | None]:
    """Ranks of the order statistics that enclose a quantile, whatever the law of the values.

    Parameters
    ----------
    n
        Values, at least 1.
    quantile, level
        Probabilities in (0, 1).

    Returns
    -------
    tuple of int or None
        Ranks from 1; None where n values give no bound of the level on that side.

    Raises
    ------
    ValueError
        An argument out of range.

    Notes
    -----
    Thompson (1936, Ann. Math. Stat. 7:122): the number of values under the quantile is binomial. Each side has an
    error of at most (1 − level)/2, also with ties.

    Examples
    --------
    >>> quantile_ranks(820, quantile=0.95), quantile_ranks(20, quantile=0.95)
    ((766, 792), (17, None))
    """
    items = int(checked_whole("n", n, least=1))
    p, side = checked_probability("quantile", quantile), (1 - checked_probability("level", level)) / 2
    size, enough = np.asarray(items), side * (1 + TIE)
    lower = bisect.bisect_right(range(items), enough, key=lambda k: float(binomial_cdf(np.asarray(k), size, p)))
    upper = 1 + bisect.bisect_left(
        range(1, items + 1), True, key=lambda k: bool(binomial_tail(np.asarray(k), size, p) <= enough)
    )
    return lower or None, upper if upper <= items else None


def quantile_interval(values: ArrayLike, *, quantile: float, level: float = 0.95) -> tuple[float | None, float | None]:
    """Distribution-free interval of a quantile, such as the p95 of a latency.

    Parameters
    ----------
    values
        Shape (n,), finite.
    quantile, level
        Probabilities in (0, 1).

    Returns
    -------
    tuple of float or None
        Order statistics in the unit of the values; None on a side that n values do not bound.

    Raises
    ------
    ValueError
        No values, values that are not finite, or a probability outside (0, 1).

    Notes
    -----
    See `quantile_ranks`.

    Examples
    --------
    >>> quantile_interval(np.arange(1.0, 821.0), quantile=0.95)
    (766.0, 792.0)
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or not x.size:
        raise ValueError(f"values of shape {x.shape}: give one dimension with at least one value")
    if not np.isfinite(x).all():
        raise ValueError(f"a value is {x[~np.isfinite(x)][0]}: leave out what was not measured and say so")
    ranks = quantile_ranks(x.size, quantile=quantile, level=level)
    places = [rank - 1 for rank in ranks if rank is not None]
    ranked = np.partition(x, places) if places else x
    low, high = (None if rank is None else float(ranked[rank - 1]) for rank in ranks)
    return low, high


def bootstrap_ranks(n: int, rank: int, *, level: float = 0.95) -> tuple[int, int]:
    """Ranks of the ideal percentile interval of an order statistic, what infinitely many resamples converge to.

    Parameters
    ----------
    n
        Values, at least 1.
    rank
        Rank of the order statistic, 1 to n.
    level
        Probability in (0, 1).

    Returns
    -------
    tuple of int
        Ranks from 1 to n. The upper one is at most n, also where n values bound nothing: see `quantile_ranks`.

    Raises
    ------
    ValueError
        An argument out of range.

    Notes
    -----
    The r-th value of a resample is at most the j-th of the sample with probability Pr(Bin(n, j/n) ≥ r) (Efron 1979,
    Ann. Stat. 7:1, section 3).

    Examples
    --------
    >>> bootstrap_ranks(100, 95)
    (89, 98)
    """
    items, place = int(checked_whole("n", n, least=1)), int(checked_whole("rank", rank, least=1))
    if place > items:
        raise ValueError(f"rank = {place} of n = {items} values: give a rank of 1 to {items}")
    side = (1 - checked_probability("level", level)) / 2
    size, wanted = np.asarray(items), np.asarray(place)
    low, high = (
        1
        + bisect.bisect_left(
            range(1, items), q * (1 - TIE), key=lambda j: float(binomial_tail(wanted, size, j / items))
        )
        for q in (side, 1 - side)
    )
    return low, high
