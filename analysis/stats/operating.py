"""How often a card ships: the operating curve of the release rule and the reruns it asks for."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.stats.binomial import (
    binomial_cdf,
    binomial_tail,
    floors_for,
    largest_passing,
    over_budget_count,
)
from analysis.stats.checks import checked_counts, checked_probability, checked_rates, checked_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerSize:
    """Number of reruns or items that reaches a power; the power saw-tooths in the number, so there are two answers.

    Attributes
    ----------
    first
        Smallest number with at least the power.
    lasting
        Smallest number from which no larger number falls short again.
    """

    first: int
    lasting: int


@overload
def certification_power(rate: float, n: int, *, budget: float, delta: float) -> float: ...
@overload
def certification_power(
    rate: Sequence[float] | NDArray[np.float64], n: int, *, budget: float, delta: float
) -> NDArray[np.float64]: ...
def certification_power(
    rate: float | Sequence[float] | NDArray[np.float64], n: int, *, budget: float, delta: float
) -> float | NDArray[np.float64]:
    """Probability that ``n`` reruns certify a recipe whose true failure rate is ``rate``.

    Parameters
    ----------
    rate
        True failure rates, probabilities in [0, 1]; a number or an array.
    n
        Runs, at least 1.
    budget, delta
        Probabilities in (0, 1).

    Returns
    -------
    float or ndarray of float64
        Probabilities of the shape of ``rate``; 0 when ``n`` lies under the floor for no failures.

    Raises
    ------
    ValueError
        An argument out of range.

    Examples
    --------
    >>> certification_power([0.01, 0.02, 0.05, 0.10], 59, budget=0.10, delta=0.10).round(4)
    array([0.9785, 0.8856, 0.4289, 0.0573])
    """
    rates = checked_rates(rate)
    most = largest_passing(n, budget=budget, delta=delta)
    power = np.zeros_like(rates) if most is None else binomial_cdf(np.asarray(most), np.asarray(n), rates)
    return power if power.ndim else float(power)


def reruns_for_power(*, rate: float, power: float, budget: float, delta: float) -> PowerSize:
    """Reruns after which a recipe of true failure rate ``rate`` is certified with probability ``power``.

    Between two floors one more run can only lower the power, so it saw-tooths: the first number that reaches
    ``power`` may be followed by larger ones that miss it. Both numbers are returned.

    Raises
    ------
    ValueError
        A probability out of range, or ``rate >= budget``: no number of reruns
        then reaches more than ``delta``.

    Notes
    -----
    Power peaks at the floor for k failures and is lowest one run before the floor for k + 1. The lowest
    points are bisected over k, then every k within 200 + 4 √k of the answer is checked.

    Examples
    --------
    >>> reruns_for_power(rate=0.02, power=0.80, budget=0.10, delta=0.10)
    PowerSize(first=38, lasting=52)
    """
    budget, delta = checked_probability("budget", budget), checked_probability("delta", delta)
    checked_probability("power", power)
    if not 0 <= rate < budget:
        raise ValueError(f"rate = {rate!r} against a budget of {budget!r}: plan for a rate in [0, budget)")

    def falls_short(k: int) -> bool:
        before_next = floors_for(np.asarray(k + 1), budget, delta) - 1
        return bool(binomial_cdf(np.asarray(k), before_next, rate) < power)

    most = 1
    while falls_short(most):
        most *= 2
    enough = bisect.bisect_left(range(most), True, key=lambda k: not falls_short(k))
    reach = 200 + 4 * math.isqrt(enough)
    k = np.arange(max(0, enough - reach), enough + reach)
    floors = floors_for(np.append(k, k[-1] + 1), budget, delta)
    reached = binomial_cdf(k, floors[:-1], rate) >= power
    short = np.flatnonzero(binomial_cdf(k, floors[1:] - 1, rate) < power)
    lasting = floors[short[-1] + 1] if short.size else floors[0]
    return PowerSize(first=int(floors[np.argmax(reached)]), lasting=int(lasting))


@overload
def noise_floor(rate: float, n: int, *, budget: float) -> float: ...
@overload
def noise_floor(rate: Sequence[float] | NDArray[np.float64], n: int, *, budget: float) -> NDArray[np.float64]: ...
def noise_floor(
    rate: float | Sequence[float] | NDArray[np.float64], n: int, *, budget: float
) -> float | NDArray[np.float64]:
    """Probability that a held-out share exceeds the budget by chance, Pr(K/n > ε | β = rate).

    Parameters
    ----------
    rate
        True failure rates, probabilities in [0, 1]; a number or an array.
    n
        Held-out runs, at least 1.
    budget
        Probability in (0, 1).

    Returns
    -------
    float or ndarray of float64
        Probabilities of the shape of ``rate``.

    Raises
    ------
    ValueError
        An argument out of range.

    Examples
    --------
    >>> round(noise_floor(0.05, 30, budget=0.10), 3), round(noise_floor(0.05, 29, budget=0.10), 3)
    (0.061, 0.175)
    """
    least = over_budget_count(n, budget=budget)
    over = binomial_tail(np.asarray(least), np.asarray(n), checked_rates(rate))
    return over if over.ndim else float(over)


def posterior_over_budget(k: int, n: int, *, budget: float) -> float:
    """Posterior Pr(β > budget | k of n) under a uniform prior on the failure rate β.

    A confidence bound does not give this probability; it needs a prior, and this is Bayes' own.

    Parameters
    ----------
    k, n
        Failures and runs, 0 ≤ k ≤ n, n at least 1.
    budget
        Probability in (0, 1).

    Raises
    ------
    ValueError
        An argument out of range.

    Examples
    --------
    >>> round(posterior_over_budget(0, 21, budget=0.10), 6) == round(0.9**22, 6)
    True
    """
    failures, runs = checked_counts(k, n)
    checked_probability("budget", budget)
    return float(special.betaincc(failures + 1, runs - failures + 1, budget))


def two_point_two_sigma(rate: float, n: int, *, high: float, low: float, tau: float) -> float:
    """Probability that the rule mean − 2 sd ≥ τ ships a recipe whose runs score ``high`` or ``low``.

    Exact: mean and standard deviation (ddof 1) of a sample depend only on how many of its runs collapsed.

    Parameters
    ----------
    rate
        Probability of a run that scores ``low``, in [0, 1].
    n
        Runs, at least 2.
    high, low, tau
        Scores of a working and of a collapsed run, and the bar.

    Raises
    ------
    ValueError
        An argument out of range.

    Examples
    --------
    >>> round(two_point_two_sigma(11 / 59, 59, high=0.968, low=0.50, tau=0.70), 3)
    0.003
    """
    runs = int(checked_whole("n", n, least=2))
    chance = checked_rates(rate)
    collapsed = np.arange(runs + 1)
    mean = (collapsed * low + (runs - collapsed) * high) / runs
    sd = np.sqrt((collapsed * (low - mean) ** 2 + (runs - collapsed) * (high - mean) ** 2) / (runs - 1))
    at_most = binomial_cdf(collapsed, np.full_like(collapsed, runs), chance)
    mass = np.diff(at_most, prepend=0.0)
    return float(mass[mean - 2 * sd >= tau].sum())
