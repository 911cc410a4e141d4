"""Looking after every run: evidence that stays valid, and the price of a fixed-size rule that does not."""

from __future__ import annotations

import bisect
import math
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaln, logsumexp

from analysis.stats.binomial import TIE, binomial_cdf, passing_counts
from analysis.stats.checks import LARGEST_N, Counts, checked_counts, checked_probability, checked_whole

LARGEST_LOG = math.log(np.finfo(np.float64).max)
BETS = 100


@overload
def anytime_evidence(k: int, n: int, *, budget: float, a: float = 1.0, b: float = 1.0) -> float: ...
@overload
def anytime_evidence(
    k: Counts, n: int | Counts, *, budget: float, a: float = 1.0, b: float = 1.0
) -> NDArray[np.float64]: ...
@overload
def anytime_evidence(k: int, n: Counts, *, budget: float, a: float = 1.0, b: float = 1.0) -> NDArray[np.float64]: ...
def anytime_evidence(
    k: int | Counts, n: int | Counts, *, budget: float, a: float = 1.0, b: float = 1.0
) -> float | NDArray[np.float64]:
    """Evidence against "the failure rate exceeds the budget" that may be read after every run.

    E_n = ∫₀^ε (p/ε)^k ((1 − p)/(1 − ε))^(n − k) dπ(p), π = Beta(a, b) truncated to [0, ε]. A recipe over the
    budget ever reaches E >= 1/δ with probability at most δ (Ville's inequality).

    Parameters
    ----------
    k, n
        Failures and runs so far, ``0 <= k <= n``; numbers or arrays that broadcast.
    budget
        Probability in (0, 1).
    a, b
        Prior weights, above 0.

    Returns
    -------
    float or ndarray of float64
        A ratio, 1 before the first run; held at the largest finite float.

    Raises
    ------
    ValueError
        Counts that do not fit, ``budget`` outside (0, 1), or a prior weight that is not positive.

    Notes
    -----
    Robbins (1970, Ann. Math. Stat. 41:1397); Howard et al. (2021, Ann. Stat. 49:1055). Closed form
    B(a+k, b+n−k) I_ε(a+k, b+n−k) / [B(a, b) I_ε(a, b) ε^k (1−ε)^(n−k)], computed in logarithms.

    Examples
    --------
    >>> anytime_evidence(0, [33, 34], budget=0.10).round(3)
    array([ 9.253, 10.016])
    """
    failures, runs = checked_counts(k, n, least=0)
    log_e = _log_evidence(failures, runs, checked_probability("budget", budget), *_checked_prior(a, b))
    evidence: NDArray[np.float64] = np.asarray(np.exp(np.minimum(log_e, LARGEST_LOG)))
    return evidence if evidence.ndim else float(evidence)


def anytime_floor(*, budget: float, delta: float, failures: int = 0, a: float = 1.0, b: float = 1.0) -> int:
    """First number of runs at which the anytime evidence reaches 1/δ with the given failures.

    Parameters as in `anytime_evidence`; ``delta`` is a probability in (0, 1).

    Raises
    ------
    ValueError
        An argument out of range, or more than 2**53 runs needed.

    Examples
    --------
    >>> [anytime_floor(budget=0.10, delta=0.10, failures=k) for k in range(4)]
    [34, 56, 75, 93]
    """
    k = checked_whole("failures", failures, least=0)
    checked_probability("budget", budget)
    prior = _checked_prior(a, b)
    needed = -math.log(checked_probability("delta", delta)) - TIE

    def reached(n: int) -> bool:
        return bool(_log_evidence(k, np.asarray(n), budget, *prior) >= needed)

    most = int(k) + 1
    while not reached(most):
        most *= 2
        if most > LARGEST_N:
            raise ValueError(f"budget = {budget!r}: more than 2**53 runs would be needed; give a larger budget")
    return bisect.bisect_left(range(most), True, lo=int(k), key=reached)


def anytime_upper(k: int, n: int, *, delta: float) -> float:
    """Upper bound of the failure rate that holds at all numbers of runs at once.

    The smallest budget that the uniform prior's `anytime_evidence` certifies at these counts, found by
    bisection to the last digit and rounded up; 1 when no budget is certified.

    Parameters
    ----------
    k, n
        Failures and runs so far, ``0 <= k <= n``.
    delta
        Probability in (0, 1/2]: above one half the budgets that are certified need not form an interval.

    Returns
    -------
    float
        Probability in (0, 1].

    Raises
    ------
    ValueError
        An argument out of range.

    Examples
    --------
    >>> round(anytime_upper(0, 34, delta=0.10), 4), anytime_upper(3, 3, delta=0.10)
    (0.0999, 1.0)
    """
    failures, runs = checked_counts(k, n, least=0)
    if not 0 < delta <= 0.5:
        raise ValueError(f"delta = {delta!r}: give a probability above 0 and at most 0.5")
    if k == n:
        return 1.0
    low, high = k / n, 1.0
    while low < (middle := (low + high) / 2) < high:
        if _log_evidence(failures, runs, middle, 1.0, 1.0) >= -math.log(delta):
            high = middle
        else:
            low = middle
    return high


def peeking_probability(rate: float, *, first: int, last: int, budget: float, delta: float) -> float:
    """Probability that the fixed-size rule certifies at some look when it is checked after every run.

    Parameters
    ----------
    rate
        True failure rate, probability in [0, 1].
    first, last
        Numbers of runs at the first and the last look, ``1 <= first <= last``.
    budget, delta
        Probabilities in (0, 1).

    Returns
    -------
    float
        Probability of certification at any look; at ``rate = budget`` it may be held against ``delta``.

    Raises
    ------
    ValueError
        An argument out of range.

    Notes
    -----
    Exact recursion over the law of the failure count among paths not yet certified (Armitage, McPherson and
    Rowe 1969, J. R. Stat. Soc. A 132:235), O(last²).

    Examples
    --------
    >>> round(peeking_probability(0.10, first=22, last=59, budget=0.10, delta=0.10), 4)
    0.1731
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate = {rate!r}: give a probability between 0 and 1")
    checked_whole("first", first, least=1)
    checked_whole("last", last, least=1)
    if last < first:
        raise ValueError(f"first = {first}, last = {last}: the last look cannot come before the first")
    checked_probability("budget", budget)
    checked_probability("delta", delta)
    passing = passing_counts(np.arange(first, last + 1), budget, delta) + 1
    k = np.arange(last + 1)
    open_paths = np.diff(binomial_cdf(k, np.asarray(first), rate), prepend=0.0)
    certified = 0.0
    for look, cut in enumerate(passing):
        if look > 0:
            open_paths[1:] = open_paths[1:] * (1 - rate) + open_paths[:-1] * rate
            open_paths[0] *= 1 - rate
        certified += float(open_paths[:cut].sum())
        open_paths[:cut] = 0.0
    return min(certified, 1.0)


def betting_upper(values: ArrayLike, *, limit: float, delta: float) -> float:
    """Upper confidence bound for the mean of independent variables in [0, limit], at any sample size.

    A bet of λ against the mean m multiplies wealth by 1 + λ(m − x). The wealth of a fixed mixture of
    bets, K(m), has expectation at most 1 when the mean is m or more, so Markov's inequality gives coverage
    1 − δ. K rises with m: the bound is where it crosses 1/δ.

    Parameters
    ----------
    values
        Shape (n,), in [0, limit]; their order does not matter.
    limit
        Largest possible value, above 0.
    delta
        Probability in (0, 1).

    Returns
    -------
    float
        In the unit of the values, at most ``limit``; ``limit`` itself when there are no values.

    Raises
    ------
    ValueError
        A value outside [0, limit] or missing, or an argument out of range.

    Notes
    -----
    Waudby-Smith and Ramdas (2024, J. R. Stat. Soc. B 86:1), with a fixed mixture in place of their
    predictable bets: λ = c/(limit − m) with c at the 100 midpoints of the arcsine law, which is dense at the
    small bets that large samples call for and at the large ones that rare shortfalls call for.

    Examples
    --------
    >>> round(betting_upper([0.0] * 50 + [0.2] * 9, limit=0.7, delta=0.10), 4)
    0.0713
    """
    checked_probability("delta", delta)
    if not 0 < limit < math.inf:
        raise ValueError(f"limit = {limit!r}: give the largest possible value, above 0")
    scaled = np.asarray(values, dtype=np.float64) / limit
    bad = ~((scaled >= 0) & (scaled <= 1))
    if bad.any():
        raise ValueError(f"a value is {scaled[bad].flat[0] * limit}: all must lie between 0 and limit = {limit!r}")
    points, repeats = np.unique(scaled, return_counts=True)
    fractions = np.sin(np.pi / 2 * (np.arange(BETS) + 0.5) / BETS) ** 2

    def wealth_reached(mean: float) -> bool:
        bets = fractions / (1 - mean)
        log_wealth = np.log1p(bets[:, None] * (mean - points)) @ repeats
        return bool(logsumexp(log_wealth) - math.log(BETS) >= -math.log(delta))

    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        if wealth_reached(middle):
            high = middle
        else:
            low = middle
    return float(high * limit)


def _log_evidence(k: NDArray[np.int64], n: NDArray[np.int64], budget: float, a: float, b: float) -> NDArray[np.float64]:
    after = _log_incomplete_beta(np.asarray(a + k), np.asarray(b + (n - k)), budget)
    before = _log_incomplete_beta(np.asarray(a), np.asarray(b), budget)
    return np.asarray(after - before - k * math.log(budget) - (n - k) * math.log1p(-budget))


def _log_incomplete_beta(a: NDArray[np.float64], b: NDArray[np.float64], x: float) -> NDArray[np.float64]:
    """Logarithm of the incomplete beta function B_x(a, b), also where I_x underflows.

    There the series of DLMF 8.17.8 is summed, whose terms fall at once because x lies far under a/(a + b).
    """
    share = np.asarray(betainc(a, b, x))
    tiny = share < 1e-280
    log_beta = np.asarray(betaln(a, b) + np.log(np.where(tiny, 1.0, share)))
    if tiny.any():
        a, b = a[tiny], b[tiny]
        term, total, j = np.ones(a.size), np.ones(a.size), 0
        while (term > 1e-17 * total).any():
            term = term * (a + b + j) / (a + 1 + j) * x
            total, j = total + term, j + 1
        log_beta[tiny] = a * math.log(x) + b * math.log1p(-x) - np.log(a) + np.log(total)
    return log_beta


def _checked_prior(a: float, b: float) -> tuple[float, float]:
    if not (0 < a < math.inf and 0 < b < math.inf):
        raise ValueError(f"a = {a!r}, b = {b!r}: give prior weights above 0, such as 1 and 1")
    return a, b
