"""How many exceedances a comparison of two tail shapes needs, and what it can see with those there are.

All of it rests on the asymptotic variance (1 + ξ)²/n of the maximum likelihood estimate, ξ > −1/2 (Smith 1985,
Biometrika 72:67), with n exceedances in each of two independent samples.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr, ndtri

from analysis.stats.checks import checked_probability, checked_whole


def exceedances_needed(effect: float, *, xi: float = 0.0, alpha: float = 0.05, power: float = 0.80) -> int:
    """Exceedances per model to tell two tail shapes apart, N* = 2(z₁₋α/₂ + z_power)²(1 + ξ)²/Δξ².

    Parameters
    ----------
    effect
        Difference of the shapes Δξ, positive.
    xi
        Common shape, over −1/2.
    alpha
        Two-sided level, a probability.
    power
        Probability of a significant difference.

    Returns
    -------
    int
        Rounded up.

    Raises
    ------
    ValueError
        An effect that is not positive, a shape of −1/2 or under, probabilities outside (0, 1), or a power of α/2
        or under.

    Notes
    -----
    Equation 2 of the tail-shape paper, which prints 1,570 for Δξ = .1. Its own rule, P1 and P2 of the protocol,
    has a power of only one half there: `verdict_power`.

    Examples
    --------
    >>> exceedances_needed(0.1), exceedances_needed(0.1, xi=0.2)
    (1570, 2261)
    """
    z = _z_sum(alpha, power)
    return math.ceil(2 * (z * (1 + _checked_shape(xi)) / _checked_positive("effect", effect)) ** 2)


def effect_detectable(n: int, *, xi: float = 0.0, alpha: float = 0.05, power: float = 0.80) -> float:
    """Difference of two tail shapes that n exceedances per model show, the inverse of `exceedances_needed`.

    Parameters
    ----------
    n
        Exceedances per model, at least 1.
    xi, alpha, power
        As in `exceedances_needed`.

    Returns
    -------
    float
        Δξ.

    Raises
    ------
    ValueError
        As `exceedances_needed`, or ``n`` under 1.

    Examples
    --------
    >>> round(effect_detectable(1500), 4)
    0.1023
    """
    return _z_sum(alpha, power) * (1 + _checked_shape(xi)) * math.sqrt(2 / int(checked_whole("n", n, least=1)))


def verdict_power(effect: float, n: int, *, xi: float = 0.0, alpha: float = 0.05, floor: float = 0.10) -> float:
    """Power of P1 and P2: two intervals of level 1 − α do not overlap, and the point difference exceeds the floor.

    Parameters
    ----------
    effect
        True difference of the shapes, 0 or more.
    n
        Exceedances per model, at least 1.
    xi, alpha
        As in `exceedances_needed`.
    floor
        Smallest point difference that counts, 0 or more; 0 leaves P1 alone.

    Returns
    -------
    float
        Probability; one half at ``effect = floor`` however large n is.

    Raises
    ------
    ValueError
        As `exceedances_needed`, or an effect or a floor under 0.

    Examples
    --------
    >>> round(verdict_power(0.1, 1570), 2)
    0.5
    """
    for name, value in (("effect", effect), ("floor", floor)):
        if not 0 <= value < math.inf:
            raise ValueError(f"{name} = {value!r}: give a difference of shapes of 0 or more")
    se = (1 + _checked_shape(xi)) * math.sqrt(2 / int(checked_whole("n", n, least=1)))
    limit = max(math.sqrt(2) * _z(alpha) * se, floor)
    return float(ndtr((effect - limit) / se) + ndtr((-effect - limit) / se))


def exceedances_for_non_overlap(effect: float, *, xi: float = 0.0, alpha: float = 0.05, power: float = 0.80) -> int:
    """Exceedances per model for which the intervals of two shapes do not overlap with a probability (P1 alone).

    Parameters
    ----------
    effect, xi, alpha, power
        As in `exceedances_needed`.

    Returns
    -------
    int
        Rounded up.

    Raises
    ------
    ValueError
        As `exceedances_needed`.

    Examples
    --------
    >>> exceedances_for_non_overlap(0.1)
    2612
    """
    z = 2 * _z(alpha) + math.sqrt(2) * float(ndtri(checked_probability("power", power)))
    return math.ceil((z * (1 + _checked_shape(xi)) / _checked_positive("effect", effect)) ** 2)


def prompts_needed(n_exc: int, *, quantile: float) -> int:
    """Prompts that leave a number of exceedances over a quantile.

    Parameters
    ----------
    n_exc
        Exceedances, at least 1.
    quantile
        Probability in (0, 1) of the threshold.

    Returns
    -------
    int
        n_exc/(1 − quantile), rounded up.

    Raises
    ------
    ValueError
        A number under 1 or a quantile outside (0, 1).

    Examples
    --------
    >>> prompts_needed(1570, quantile=0.95), prompts_needed(1570, quantile=0.99)
    (31400, 157000)
    """
    wanted = int(checked_whole("n_exc", n_exc, least=1)) / (1 - checked_probability("quantile", quantile))
    return math.ceil(wanted * (1 - 1e-12))


def shape_difference_z(difference: float, n_a: int, n_b: int, *, xi: float = 0.0) -> float:
    """Standard score of a difference of two shapes from independent samples.

    Parameters
    ----------
    difference
        ξ̂_A − ξ̂_B.
    n_a, n_b
        Exceedances, at least 1.
    xi
        Common shape under the null, over −1/2.

    Returns
    -------
    float
        Without unit.

    Raises
    ------
    ValueError
        A difference that is not finite, numbers under 1, or a shape of −1/2 or under.

    Examples
    --------
    >>> round(shape_difference_z(0.095, 1500, 1500), 3)
    2.602
    """
    if not math.isfinite(difference):
        raise ValueError(f"difference = {difference!r}: give a finite difference of shapes")
    rows = checked_whole("n", np.array([n_a, n_b]), least=1)
    return difference / ((1 + _checked_shape(xi)) * math.sqrt(float((1 / rows).sum())))


def _z(alpha: float) -> float:
    return -float(ndtri(checked_probability("alpha", alpha) / 2))


def _z_sum(alpha: float, power: float) -> float:
    total = _z(alpha) + float(ndtri(checked_probability("power", power)))
    if total <= 0:
        raise ValueError(
            f"power = {power!r} at alpha = {alpha!r}: give a power over alpha/2, which a test has without data"
        )
    return total


def _checked_shape(xi: float) -> float:
    if not -0.5 < xi < math.inf:
        raise ValueError(f"xi = {xi!r}: give a shape over -1/2; the estimate has no usual variance under it")
    return float(xi)


def _checked_positive(name: str, value: float) -> float:
    if not 0 < value < math.inf:
        raise ValueError(f"{name} = {value!r}: give a positive difference of shapes, such as 0.1")
    return float(value)
