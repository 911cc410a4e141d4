"""Probability that a paired interval of pass or fail items lies beyond a margin, over all tables."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from analysis.stats.binomial import binomial_tail
from analysis.stats.checks import checked_probability, checked_whole
from analysis.stats.paired import tango_score
from analysis.stats.power import binomial_law, checked_gain_and_loss


def margin_power(n: int, p_gain: float, p_loss: float, *, margin: float = 0.0, level: float = 0.95) -> float:
    """Probability that the paired interval lies wholly above a margin, for pass or fail items.

    Parameters
    ----------
    n
        Items, at least 1.
    p_gain, p_loss
        Probabilities of a gain and of a loss, with a sum of at most 1.
    margin
        Difference candidate − baseline in (−1, 1).
    level
        Level of `tango_interval`, in (0, 1).

    Returns
    -------
    float
        Probability over all tables.

    Raises
    ------
    ValueError
        An argument out of range.

    Notes
    -----
    Exact: for every number of losses the smallest number of gains that puts the interval above the margin, found by
    bisection, then a binomial tail.

    Examples
    --------
    >>> round(margin_power(820, 0.06, 0.01, margin=0.02), 3)
    0.94
    """
    items = int(checked_whole("n", n, least=1))
    gain, loss = checked_gain_and_loss(p_gain, p_loss)
    z = float(ndtri((1 + checked_probability("level", level)) / 2))
    if not -1 < margin < 1:
        raise ValueError(f"margin = {margin!r}: give a difference of pass rates between −1 and 1")
    first, mass = binomial_law(items, loss)
    lost = np.arange(first, first + mass.size)
    low, high = np.full(mass.size, -1), items - lost + 1
    while (high - low > 1).any():
        middle = np.maximum((low + high) // 2, 0)
        above = tango_score(lost, middle, items, difference=margin) > z
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    rest = items - lost
    tail = binomial_tail(np.minimum(high, rest), rest, min(1.0, gain / (1 - loss)) if loss < 1 else 0.0)
    return float(mass @ np.where(high > rest, 0.0, tail))


def slice_power(n: int, p_gain: float, p_loss: float, *, drop: float, level: float = 0.95) -> float:
    """Probability that a slice's paired interval lies wholly under −drop, the rule that contradicts a slice floor.

    Parameters
    ----------
    n, p_gain, p_loss, level
        As in `margin_power`, for the items of the slice.
    drop
        Largest drop that the rule accepts, in [0, 1).

    Returns
    -------
    float
        Probability over all tables.

    Raises
    ------
    ValueError
        An argument out of range.

    Examples
    --------
    A drop of 10 points in a slice of 50 items, on top of 3 % gains and 3 % losses, mostly passes unseen:

    >>> round(slice_power(50, 0.03, 0.13, drop=0.02), 3)
    0.319
    """
    if not 0 <= drop < 1:
        raise ValueError(f"drop = {drop!r}: give the largest accepted drop, a share in [0, 1)")
    return margin_power(n, p_loss, p_gain, margin=drop, level=level)
