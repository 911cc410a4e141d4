"""Exact binomial bounds, sizes and verdicts for failure counts.

The unit is one recipe cell: ``n`` exchangeable reruns of which ``k`` failed. ``budget`` is the largest
failure rate that may ship and ``delta`` the one-sided error probability, both probabilities in (0, 1).
The bounds are those of Clopper and Pearson (1934, Biometrika 26:404).
"""

from __future__ import annotations

import bisect
import math
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincc, betainccinv, betaincinv, gammainccinv, ndtri

from analysis.stats.checks import (
    LARGEST_N,
    Counts,
    checked_counts,
    checked_probability,
    checked_whole,
)

TIE = 1e-12  # relative: 1 - 0.9 is 2 ulp under 0.1, and n = 1, k = 0 lies exactly on the bar there


def binomial_cdf(k: NDArray[np.int64], n: NDArray[np.int64], p: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """P(Bin(n, p) <= k) for clean input, as the incomplete beta function (DLMF 8.17.5)."""
    return np.where(k >= n, 1.0, betaincc(k + 1, np.maximum(n - k, 1), p))


def binomial_tail(k: NDArray[np.int64], n: NDArray[np.int64], p: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """P(Bin(n, p) >= k) for clean input."""
    return np.where(k == 0, 1.0, betainc(np.maximum(k, 1), n - k + 1, p))


@overload
def clopper_pearson_upper(k: int, n: int, *, delta: float) -> float: ...
@overload
def clopper_pearson_upper(k: Counts, n: int | Counts, *, delta: float) -> NDArray[np.float64]: ...
@overload
def clopper_pearson_upper(k: int, n: Counts, *, delta: float) -> NDArray[np.float64]: ...
def clopper_pearson_upper(k: int | Counts, n: int | Counts, *, delta: float) -> float | NDArray[np.float64]:
    """One-sided upper bound of a failure rate, U = Beta⁻¹(1 − δ; k + 1, n − k).

    Parameters
    ----------
    k, n
        Failures and runs, ``0 <= k <= n``, ``n >= 1``; numbers or arrays that broadcast.
    delta
        Error probability: the rate lies above the bound with at most this probability.

    Returns
    -------
    float or ndarray of float64
        Probabilities in (0, 1], of the broadcast shape; 1 when every run failed.

    Raises
    ------
    ValueError
        Counts that are not whole or do not fit, or ``delta`` outside (0, 1).

    Notes
    -----
    Clopper and Pearson (1934). The complement form keeps its digits when ``delta`` is small.

    Examples
    --------
    >>> round(clopper_pearson_upper(2, 59, delta=0.10), 5)
    0.0877
    >>> clopper_pearson_upper([0, 6, 29], 29, delta=0.10).round(5)
    array([0.07633, 0.33495, 1.     ])
    """
    failures, runs = checked_counts(k, n)
    inverse = betainccinv(failures + 1, np.maximum(runs - failures, 1), checked_probability("delta", delta))
    bound: NDArray[np.float64] = np.where(failures == runs, 1.0, inverse)
    return bound if bound.ndim else float(bound)


@overload
def clopper_pearson_lower(k: int, n: int, *, delta: float) -> float: ...
@overload
def clopper_pearson_lower(k: Counts, n: int | Counts, *, delta: float) -> NDArray[np.float64]: ...
@overload
def clopper_pearson_lower(k: int, n: Counts, *, delta: float) -> NDArray[np.float64]: ...
def clopper_pearson_lower(k: int | Counts, n: int | Counts, *, delta: float) -> float | NDArray[np.float64]:
    """One-sided lower bound of a failure rate, L = Beta⁻¹(δ; k, n − k + 1).

    Parameters, errors and source as in `clopper_pearson_upper`.

    Returns
    -------
    float or ndarray of float64
        Probabilities in [0, 1), of the broadcast shape; 0 when no run failed.

    Examples
    --------
    >>> round(clopper_pearson_lower(10, 59, delta=0.10), 5)
    0.1081
    """
    failures, runs = checked_counts(k, n)
    inverse = betaincinv(np.maximum(failures, 1), runs - failures + 1, checked_probability("delta", delta))
    bound: NDArray[np.float64] = np.where(failures == 0, 0.0, inverse)
    return bound if bound.ndim else float(bound)


@overload
def budget_p_value(k: int, n: int, *, budget: float) -> float: ...
@overload
def budget_p_value(k: Counts, n: int | Counts, *, budget: float) -> NDArray[np.float64]: ...
@overload
def budget_p_value(k: int, n: Counts, *, budget: float) -> NDArray[np.float64]: ...
def budget_p_value(k: int | Counts, n: int | Counts, *, budget: float) -> float | NDArray[np.float64]:
    """Exact p-value against "the failure rate exceeds the budget": P(Bin(n, ε) <= k).

    Parameters and errors as in `clopper_pearson_upper`; ``budget`` is a probability in (0, 1).

    Returns
    -------
    float or ndarray of float64
        Probabilities of the broadcast shape, what `holm` and `bonferroni` adjust over cells.

    Examples
    --------
    >>> round(budget_p_value(0, 22, budget=0.10), 5)
    0.09848
    """
    p = binomial_cdf(*checked_counts(k, n), checked_probability("budget", budget))
    return p if p.ndim else float(p)


@overload
def release_supported(k: int, n: int, *, budget: float, delta: float) -> bool: ...
@overload
def release_supported(k: Counts, n: int | Counts, *, budget: float, delta: float) -> NDArray[np.bool_]: ...
@overload
def release_supported(k: int, n: Counts, *, budget: float, delta: float) -> NDArray[np.bool_]: ...
def release_supported(k: int | Counts, n: int | Counts, *, budget: float, delta: float) -> bool | NDArray[np.bool_]:
    """Whether the upper bound stays within the budget, U <= ε, decided without inverting.

    U <= ε exactly when P(Bin(n, ε) <= k) <= δ. A probability within 1e-12 (relative) of δ counts as equal,
    so that n = 1, k = 0, ε = 0.9, δ = 0.1 is supported. Every verdict and every size goes through this rule.

    Parameters and errors as in `clopper_pearson_upper`; ``budget`` and ``delta`` are probabilities in (0, 1).

    Returns
    -------
    bool or ndarray of bool
        Of the broadcast shape.

    Examples
    --------
    >>> release_supported([0, 1, 2, 3], 59, budget=0.10, delta=0.10).tolist()
    [True, True, True, False]
    """
    checked = checked_counts(k, n)
    met = _supported(*checked, checked_probability("budget", budget), checked_probability("delta", delta))
    return met if met.ndim else bool(met)


@overload
def strongly_unsupported(k: int, n: int, *, budget: float, delta: float) -> bool: ...
@overload
def strongly_unsupported(k: Counts, n: int | Counts, *, budget: float, delta: float) -> NDArray[np.bool_]: ...
@overload
def strongly_unsupported(k: int, n: Counts, *, budget: float, delta: float) -> NDArray[np.bool_]: ...
def strongly_unsupported(k: int | Counts, n: int | Counts, *, budget: float, delta: float) -> bool | NDArray[np.bool_]:
    """Whether the lower bound exceeds the budget, L > ε: P(Bin(n, ε) >= k) < δ, a tie counting as equal.

    Parameters and errors as in `release_supported`.

    Returns
    -------
    bool or ndarray of bool
        Of the broadcast shape.

    Examples
    --------
    >>> strongly_unsupported([9, 10], 59, budget=0.10, delta=0.10).tolist()
    [False, True]
    """
    failures, runs = checked_counts(k, n)
    budget, delta = checked_probability("budget", budget), checked_probability("delta", delta)
    beyond: NDArray[np.bool_] = binomial_tail(failures, runs, budget) < delta * (1 - TIE)
    return beyond if beyond.ndim else bool(beyond)


@overload
def sample_floor(*, budget: float, delta: float, failures: int = 0) -> int: ...
@overload
def sample_floor(*, budget: float, delta: float, failures: Counts) -> NDArray[np.int64]: ...
def sample_floor(*, budget: float, delta: float, failures: int | Counts = 0) -> int | NDArray[np.int64]:
    """Smallest number of reruns that can certify with the given failures.

    Parameters
    ----------
    budget, delta
        Probabilities in (0, 1).
    failures
        Failures seen, whole numbers of 0 or more; a number or an array.

    Returns
    -------
    int or ndarray of int64
        Runs, of the shape of ``failures``.

    Raises
    ------
    ValueError
        An argument out of range, or a budget so small that more than 2**53 runs would be needed.

    Notes
    -----
    ⌈ln δ / ln(1 − ε)⌉ for no failures (Wilks 1941, Ann. Math. Stat. 12:91). The gamma quantile of the Poisson
    limit starts a bisection on `release_supported`.

    Examples
    --------
    >>> sample_floor(budget=0.10, delta=0.10)
    22
    >>> sample_floor(budget=0.10, delta=0.10, failures=[1, 2, 3])
    array([38, 52, 65])
    """
    seen = checked_whole("failures", failures, least=0)
    floors = floors_for(seen, checked_probability("budget", budget), checked_probability("delta", delta))
    return floors if floors.ndim else int(floors)


def largest_passing(n: int, *, budget: float, delta: float) -> int | None:
    """Largest failure count that still certifies among ``n`` runs; None when not even zero does.

    Raises
    ------
    ValueError
        ``n`` under 1 or not whole, or a probability outside (0, 1).

    Examples
    --------
    >>> largest_passing(59, budget=0.10, delta=0.10), largest_passing(21, budget=0.10, delta=0.10)
    (2, None)
    """
    checked_whole("n", n, least=1)
    checked_probability("budget", budget)
    checked_probability("delta", delta)
    runs = np.asarray(n)
    first_refused = bisect.bisect_left(
        range(int(n) + 1), True, key=lambda k: not _supported(np.asarray(k), runs, budget, delta)
    )
    return first_refused - 1 if first_refused else None


def over_budget_count(n: int, *, budget: float) -> int:
    """Smallest failure count whose share of ``n`` exceeds the budget, k > ε n, in exact arithmetic.

    The budget is read as the decimal that prints it, so that 3 of 30 is never over 0.1.

    Raises
    ------
    ValueError
        ``n`` under 1 or not whole, or ``budget`` outside (0, 1).

    Examples
    --------
    >>> over_budget_count(59, budget=0.10), over_budget_count(30, budget=0.10)
    (6, 4)
    """
    runs = int(checked_whole("n", n, least=1))
    return math.floor(runs * Fraction(str(checked_probability("budget", budget)))) + 1


@overload
def wilson(k: int, n: int, *, level: float) -> tuple[float, float]: ...
@overload
def wilson(k: Counts, n: int | Counts, *, level: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def wilson(
    k: int | Counts, n: int | Counts, *, level: float
) -> tuple[float, float] | tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two-sided score interval of a proportion (Wilson 1927, J. Am. Stat. Assoc. 22:209).

    Parameters
    ----------
    k, n
        Events and trials, ``0 <= k <= n``, ``n >= 1``; numbers or arrays that broadcast.
    level
        Confidence level, a probability in (0, 1).

    Returns
    -------
    tuple of two floats or of two ndarrays
        Lower and upper limits, probabilities in [0, 1].

    Raises
    ------
    ValueError
        As in `clopper_pearson_upper`.

    Examples
    --------
    >>> tuple(round(limit, 4) for limit in wilson(1, 29, level=0.95))
    (0.0061, 0.1718)
    """
    events, trials = checked_counts(k, n)
    z2 = ndtri((1 + checked_probability("level", level)) / 2) ** 2
    centre = events + z2 / 2
    half = np.sqrt(z2 * (events * (trials - events) / trials + z2 / 4))
    lower = np.where(events == 0, 0.0, (centre - half) / (trials + z2))
    upper = np.where(events == trials, 1.0, (centre + half) / (trials + z2))
    return (lower, upper) if lower.ndim else (float(lower), float(upper))


def compare_rates(k1: int, n1: int, k2: int, n2: int) -> float:
    """Exact two-sided p-value of equal failure rates in two audits.

    Barnard's unconditional test with the pooled Wald statistic (Barnard 1947, Biometrika 34:123), as
    `scipy.stats.barnard_exact` computes it; 1 when no run or every run failed in both audits.

    Raises
    ------
    ValueError
        Counts that are not whole or do not fit.

    Examples
    --------
    >>> compare_rates(0, 29, 6, 29) < 0.05
    True
    """
    checked_counts([k1, k2], [n1, n2])
    if k1 + k2 in {0, n1 + n2}:
        return 1.0
    from scipy.stats import barnard_exact  # noqa: PLC0415  half a second at import

    return float(barnard_exact([[k1, k2], [n1 - k1, n2 - k2]]).pvalue)


def _supported(k: NDArray[np.int64], n: NDArray[np.int64], budget: float, delta: float) -> NDArray[np.bool_]:
    met: NDArray[np.bool_] = binomial_cdf(k, n, budget) <= delta * (1 + TIE)
    return met


def floors_for(failures: NDArray[np.int64], budget: float, delta: float) -> NDArray[np.int64]:
    """`sample_floor` for clean input."""
    low = failures.astype(np.int64)  # n = k never certifies
    start = gammainccinv(failures + 1.0, delta) / budget
    if np.max(start, initial=0.0) > LARGEST_N / 4:
        raise ValueError(f"budget = {budget!r}: more than 2**51 reruns would be needed; give a larger budget")
    high = np.maximum(np.ceil(start), failures + 1).astype(np.int64)
    while (short := ~_supported(failures, high, budget, delta)).any():
        low, high = np.where(short, high, low), np.where(short, 2 * high, high)
    while (high - low > 1).any():
        middle = (low + high) // 2
        met = _supported(failures, middle, budget, delta)
        low, high = np.where(met, low, middle), np.where(met, middle, high)
    return np.asarray(high)


def passing_counts(n: NDArray[np.int64], budget: float, delta: float) -> NDArray[np.int64]:
    """`largest_passing` per number of runs for clean input, -1 where not even zero failures pass."""
    most = largest_passing(int(n.max()), budget=budget, delta=delta)
    if most is None:
        return np.full(n.shape, -1)
    floors = floors_for(np.arange(most + 1), budget, delta)
    return np.asarray(np.searchsorted(floors, n, side="right") - 1)
