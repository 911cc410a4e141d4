"""Cost per success of a system and the ratio of two systems', with intervals that know when successes are few.

Costs are per item in one currency, failed items included, since their cost is paid as well; successes are 0 or 1,
or an item's share of successful attempts in [0, 1]. Results are in currency per 1,000 successes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from analysis.stats.checks import checked_probability, checked_rates, checked_whole
from analysis.stats.draws import Stream, resample_counts

Floats = NDArray[np.float64]
CostMethod = Literal["score", "fieller", "delta"]
Ends = tuple[float | None, float | None, str | None]  # lower, upper, and what is missing and why

PER = 1000  # successes
CELLS = 20_000_000  # drawn counts at a time
FLAT = 1e-12  # relative: an interval narrower than this comes from items that are all alike
NO_SUCCESS = "no item succeeded: the cost per success is not defined, only its lower limit"
NO_UPPER = "the successes are too few for an upper limit: a success rate of 0 is not excluded"
NO_SPREAD = "it is the same whichever items are drawn: an interval of no width would claim to know it exactly"


@dataclass(frozen=True)
class CostPerSuccess:
    """Cost per 1,000 successes of one system.

    Attributes
    ----------
    n
        Items.
    successes
        Their sum, a whole number unless items are shares of attempts.
    mean_cost
        Per item, in the currency given.
    cost
        Currency per 1,000 successes; None with ``reason`` without a success.
    low, high
        Ends of the interval in the same unit; None with ``reason`` where there is no limit.
    reason
        Why a number is missing; None when none is.
    """

    n: int
    successes: float
    mean_cost: float
    cost: float | None
    low: float | None
    high: float | None
    reason: str | None


@dataclass(frozen=True)
class CostRatio:
    """Cost per success of the candidate over that of the baseline, on the same items.

    Attributes
    ----------
    n
        Items.
    ratio
        Under 1 when the candidate is cheaper; None with ``reason`` when either system has no success or the
        baseline's cost is 0.
    low, high
        Ends of the interval; None with ``reason`` where there is no limit.
    reason
        Why a number is missing; None when none is.
    """

    n: int
    ratio: float | None
    low: float | None
    high: float | None
    reason: str | None


def cost_per_success(
    cost: ArrayLike, success: ArrayLike, *, level: float, method: CostMethod = "score"
) -> CostPerSuccess:
    """Cost per 1,000 successes, total cost over total successes, and its interval over items.

    Parameters
    ----------
    cost
        Shape (n,), currency per item, finite and 0 or more.
    success
        Shape (n,), numbers in [0, 1].
    level
        Confidence level in (0, 1).
    method
        ``fieller``: the R for which mean cost − R × success rate does not differ from 0 by Student's test; ``score``:
        the same with the variance of the success rate that R implies, so that with equal costs it is the cost over
        Wilson's limits (with Student's quantile); ``delta``: R ± t · SE.

    Returns
    -------
    CostPerSuccess
        ``score`` has an upper limit with one success and a lower one with none; ``fieller`` has no upper limit when
        a success rate of 0 is not excluded.

    Raises
    ------
    ValueError
        Fewer than two items, costs that are negative or not finite, successes outside [0, 1], arrays of different
        shapes, or an option that does not exist.

    Notes
    -----
    Fieller (1954, J. R. Stat. Soc. B 16:175); Wilson (1927, J. Am. Stat. Assoc. 22:209). Around five successes the
    score interval covers .93 to .97, while the truth lies under Fieller's in 7 to 11 % of samples and above delta's in
    6 to 11 %. It covers .92 where a handful of failures cost three times what a success does
    (tests/calibration/pairs.md).

    Examples
    --------
    >>> found = cost_per_success([0.004] * 100, [1] * 86 + [0] * 14, level=0.95)
    >>> round(found.cost, 4), round(found.low, 2), round(found.high, 2)
    (4.6512, 4.37, 5.14)
    >>> none = cost_per_success([0.004] * 100, [0] * 100, level=0.95)
    >>> none.cost, round(none.low), none.high
    (None, 106, None)
    """
    paid, passed = _checked_costs(cost, success)
    if method not in ("score", "fieller", "delta"):
        raise ValueError(f"method = {method!r}: give score, fieller or delta")
    n = paid.size
    t2 = float(stdtrit(n - 1, (1 + checked_probability("level", level)) / 2)) ** 2
    c, s = float(paid.mean()), float(passed.mean())
    if method == "score":
        low, high, reason = _score_ends(paid, passed, t2 / n)
    else:
        v_cc, v_cs, v_ss = _covariance(paid, passed)
        low, high, reason = (_fieller_ends if method == "fieller" else _delta_ends)(
            c, s, t2 * v_cc, t2 * v_cs, t2 * v_ss
        )
    return CostPerSuccess(
        n=n,
        successes=float(passed.sum()),
        mean_cost=c,
        cost=PER * c / s if s > 0 else None,
        low=None if low is None else PER * low,
        high=None if high is None else PER * high,
        reason=reason,
    )


def cost_ratio(
    baseline_cost: ArrayLike,
    baseline_success: ArrayLike,
    candidate_cost: ArrayLike,
    candidate_success: ArrayLike,
    *,
    level: float,
) -> CostRatio:
    """Ratio of two systems' costs per success on the same items, candidate over baseline, with Fieller's interval.

    Parameters
    ----------
    baseline_cost, baseline_success, candidate_cost, candidate_success
        Shape (n,) each, an item per place, as in `cost_per_success`.
    level
        Confidence level in (0, 1).

    Returns
    -------
    CostRatio
        Without an upper limit when the candidate's success rate, or the baseline's cost, could be 0.

    Raises
    ------
    ValueError
        As in `cost_per_success`, or systems with different numbers of items.

    Notes
    -----
    The ratio (c₂/s₂)/(c₁/s₁) is that of the products c₂s₁ and c₁s₂, whose covariance over items follows from the
    delta method; Fieller (1954) then gives the interval. Unlike the delta method on the ratio it needs no success
    rate far from 0. Swapping the systems inverts the interval. Pairing is worth much: items that are dear or hard
    are so for both systems.

    Examples
    --------
    >>> one, two = [1] * 86 + [0] * 14, [0] * 2 + [1] * 91 + [0] * 7
    >>> found = cost_ratio([0.004] * 100, one, [0.0012] * 100, two, level=0.95)
    >>> round(found.ratio, 4), round(found.low, 3), round(found.high, 3)
    (0.2835, 0.265, 0.303)
    """
    first_cost, first = _checked_costs(baseline_cost, baseline_success)
    second_cost, second = _checked_costs(candidate_cost, candidate_success)
    n = first_cost.size
    if second_cost.size != n:
        raise ValueError(f"{n} and {second_cost.size} items: give the same items of both systems")
    t2 = float(stdtrit(n - 1, (1 + checked_probability("level", level)) / 2)) ** 2
    c1, s1, c2, s2 = (float(values.mean()) for values in (first_cost, first, second_cost, second))
    if not (s1 and s2 and c1):
        lacking = "the candidate has" if s1 else "the baseline has"
        lacking = f"{lacking} no success" if not (s1 and s2) else "the baseline costs nothing"
        return CostRatio(n, None, None, None, f"{lacking}: the ratio is not defined")
    v_11, v_12, v_22 = _covariance(second_cost * s1 + c2 * first, second * c1 + s2 * first_cost)
    low, high, reason = _fieller_ends(c2 * s1, s2 * c1, t2 * v_11, t2 * v_12, t2 * v_22)
    return CostRatio(n, c2 * s1 / (s2 * c1), low, high, reason)


def bootstrap_cost_ratio(
    baseline_cost: ArrayLike,
    baseline_success: ArrayLike,
    candidate_cost: ArrayLike,
    candidate_success: ArrayLike,
    *,
    level: float,
    rng: Stream,
    n_resamples: int = 10_000,
) -> tuple[float, float | None]:
    """Percentile bootstrap interval of the ratio of `cost_ratio`, items drawn with replacement: a check on it.

    Parameters
    ----------
    baseline_cost, baseline_success, candidate_cost, candidate_success, level
        As in `cost_ratio`.
    rng
        Generator or bit generator of 64-bit words.
    n_resamples
        Resamples, at least 1.

    Returns
    -------
    tuple of float
        Lower and upper end; the upper one None when resamples without a success of the candidate reach it.

    Raises
    ------
    ValueError
        As in `cost_ratio`, or systems without a success.

    Notes
    -----
    Efron (1979). With few successes it covers less than `cost_ratio`.

    Examples
    --------
    >>> one, two = [1] * 86 + [0] * 14, [0] * 2 + [1] * 91 + [0] * 7
    >>> ends = bootstrap_cost_ratio([4] * 100, one, [1.2] * 100, two, level=0.95, rng=np.random.default_rng(0))
    >>> [round(end, 2) for end in ends]
    [0.26, 0.3]
    """
    found = cost_ratio(baseline_cost, baseline_success, candidate_cost, candidate_success, level=level)
    if found.ratio is None:
        raise ValueError(f"{found.reason}; collect items until both systems have successes and costs")
    rows = int(checked_whole("n_resamples", n_resamples, least=1))
    columns = [baseline_cost, baseline_success, candidate_cost, candidate_success]
    items = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    step = max(1, CELLS // items.shape[0])
    blocks = (min(step, rows - start) for start in range(0, rows, step))
    c1, s1, c2, s2 = np.concatenate([resample_counts(items.shape[0], b, rng=rng) @ items for b in blocks]).T
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where((s2 > 0) & (c1 > 0), c2 * s1 / (s2 * c1), math.inf)
    tail = (1 - level) / 2
    low, high = np.quantile(ratios, [tail, 1 - tail], method="inverted_cdf")
    return float(low), float(high) if math.isfinite(high) else None


def amortised_cost(cost: ArrayLike, *, fixed_cost: float, volume: float) -> Floats:
    """Cost per item with its part of a fixed cost, cost + fixed cost / volume.

    Parameters
    ----------
    cost
        Shape (n,), currency per item.
    fixed_cost
        Currency per period, such as training and hosting, 0 or more.
    volume
        Requests per period, positive; the same period.

    Returns
    -------
    ndarray of float64, shape (n,)

    Raises
    ------
    ValueError
        A negative fixed cost or a volume that is not positive.

    Examples
    --------
    >>> amortised_cost([0.001, 0.002], fixed_cost=300, volume=1_000_000).round(4).tolist()
    [0.0013, 0.0023]
    """
    _check_fixed(fixed_cost)
    if not 0 < volume < math.inf:
        raise ValueError(f"volume = {volume!r}: give a positive number of requests per period")
    return np.asarray(np.asarray(cost, dtype=np.float64) + fixed_cost / volume)


def break_even_volume(
    *, fixed_cost: float, mean_cost: float, success_rate: float, baseline_per_1000: float
) -> float | None:
    """Requests per period from which a system with a fixed cost is no dearer per success than the baseline.

    Parameters
    ----------
    fixed_cost
        Currency per period, 0 or more.
    mean_cost
        Currency per request without the fixed cost.
    success_rate
        Probability in (0, 1].
    baseline_per_1000
        The baseline's currency per 1,000 successes.

    Returns
    -------
    float or None
        F / (R s − c), from (F/V + c)/s = R; None when the system is dearer at any volume.

    Raises
    ------
    ValueError
        A negative fixed cost, or a success rate outside [0, 1].

    Examples
    --------
    >>> round(break_even_volume(fixed_cost=300, mean_cost=0.0012, success_rate=0.91, baseline_per_1000=4.6512))
    98925
    """
    _check_fixed(fixed_cost)
    margin = baseline_per_1000 / PER * float(checked_rates(success_rate)) - mean_cost
    return fixed_cost / margin if margin > 0 else None


def _delta_ends(c: float, s: float, t_cc: float, t_cs: float, t_ss: float) -> Ends:
    """Ends of c/s ± its error; ``t_cc``, ``t_cs``, ``t_ss`` are the squared quantile times the (co)variances."""
    if s == 0:
        return None, None, NO_SUCCESS
    half = math.sqrt(max(t_cc - 2 * c / s * t_cs + (c / s) ** 2 * t_ss, 0.0)) / s
    return (max(c / s - half, 0.0), c / s + half, None) if half > FLAT * c / s else (None, None, NO_SPREAD)


def _fieller_ends(c: float, s: float, t_cc: float, t_cs: float, t_ss: float) -> Ends:
    """Ends of the R of 0 or more with (c − R s)² within its squared error; arguments as in `_delta_ends`."""
    if s == 0:
        return None, None, NO_SUCCESS
    square, product, constant = s * s - t_ss, c * s - t_cs, c * c - t_cc
    root = math.sqrt(max(product**2 - square * constant, 0.0))
    low = max(constant / (product + root), 0.0) if product + root > 0 else 0.0
    if square <= FLAT * s * s:  # all R beyond one root, or every R when a cost of 0 is not excluded either
        return low if constant > 0 else 0.0, None, NO_UPPER
    high = (product + root) / square
    return (low, high, None) if high - low > FLAT * high else (None, None, NO_SPREAD)


def _score_ends(paid: Floats, passed: Floats, t2_n: float) -> Ends:
    """Ends of the R with (c − R s)² <= t²/n (σ² + (d − R)² φ p(1 − p)) at the rate p = c/R that R implies.

    A cost is taken as a line in the outcome with slope d and residual variance σ²; φ, 1 for outcomes of 0 and 1, is
    the variance of the outcomes over s(1 − s). In x = R s/c the estimate is 1 and a rate of 1 is s.
    """
    c, s = float(paid.mean()), float(passed.mean())
    spread = float(passed.var()) if np.ptp(passed) > 0 else 0.0
    slope = float(((paid - c) * passed).mean()) / spread if spread else 0.0
    if c == 0:
        return None, None, NO_SPREAD if s > 0 else NO_SUCCESS
    a = t2_n * float((paid - c - slope * (passed - s)).var(ddof=1)) / c**2
    if s == 0:  # x²(1 − x)² over s² in the limit: 1 <= a + t²/n (R/c − 1)
        return c * (1 + (1 - a) / t2_n) if a < 1 else 0.0, None, NO_SUCCESS
    b, middle = t2_n / s * (spread / (s * (1 - s)) if spread else 1.0), slope * s / c

    def inside(x: float) -> bool:
        return (x * (1 - x)) ** 2 <= a * x * x + b * (x - middle) ** 2 * max(x - s, 0.0)

    low = max(1 - math.sqrt(a), 0.0) if inside(s) else _crossing(inside, 1.0, s)
    far = 2.0
    while inside(far):
        far *= 2
    high = _crossing(inside, 1.0, far)
    return (c / s * low, c / s * high, None) if high - low > FLAT * high else (None, None, NO_SPREAD)


def _crossing(inside: Callable[[float], bool], within: float, beyond: float) -> float:
    """Where a point inside meets one outside, by bisection to the last digit."""
    while within != (middle := (within + beyond) / 2) != beyond:
        within, beyond = (middle, beyond) if inside(middle) else (within, middle)
    return within


def _covariance(first: Floats, second: Floats) -> tuple[float, float, float]:
    """Variance of the first mean, covariance of both and variance of the second, n − 1 below."""
    matrix = np.cov(first, second) / first.size
    return float(matrix[0, 0]), float(matrix[0, 1]), float(matrix[1, 1])


def _checked_costs(cost: ArrayLike, success: ArrayLike) -> tuple[Floats, Floats]:
    paid, passed = np.asarray(cost, dtype=np.float64), checked_rates(success)
    if paid.ndim != 1 or paid.shape != passed.shape or paid.size < 2:
        raise ValueError(
            f"costs of shape {paid.shape} and successes of shape {passed.shape}: give one of each for two items or more"
        )
    bad = ~((paid >= 0) & np.isfinite(paid))
    if bad.any():
        raise ValueError(f"a cost is {paid[bad][0]}: give a currency amount of 0 or more, and leave out unpriced items")
    return paid, passed


def _check_fixed(fixed_cost: float) -> None:
    if not 0 <= fixed_cost < math.inf:
        raise ValueError(f"fixed_cost = {fixed_cost!r}: give a currency amount of 0 or more per period")
