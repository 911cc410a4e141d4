"""How many items a paired comparison needs, and what it can see with those there are.

``p_gain`` and ``p_loss`` are the probabilities that only the candidate, and only the baseline, passes an item; their
sum is the discordant rate ψ, their difference the net gain δ. ``alpha`` is the two-sided level unless said otherwise.
"""

from __future__ import annotations

import bisect
import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from analysis.stats.binomial import TIE, binomial_cdf
from analysis.stats.checks import checked_probability, checked_whole
from analysis.stats.operating import PowerSize
from analysis.stats.paired import NEGLIGIBLE

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
Form = Literal["exact", "mid-p"]
LARGEST_SEARCH = 10**9


def items_needed(
    p_gain: float,
    p_loss: float,
    *,
    margin: float = 0.0,
    alpha: float = 0.05,
    power: float = 0.80,
    variance: Literal["alternative", "null"] = "alternative",
) -> int:
    """Items to show that the net gain exceeds a margin, (z₁₋α/₂ + z_power)²(ψ − δ²)/(δ − m)².

    Parameters
    ----------
    p_gain, p_loss
        Probabilities of a gain and of a loss, with a sum of at most 1.
    margin
        Share of items that the interval must exceed: 0 for superiority, negative for non-inferiority.
    alpha
        Two-sided level; a one-sided test of level α takes 2α.
    power
        Probability of showing it.
    variance
        ``null`` takes ψ − m² with z₁₋α/₂, as a score test does.

    Returns
    -------
    int
        Rounded up.

    Raises
    ------
    ValueError
        Rates that are no probabilities, a net gain that does not exceed the margin, or a level or power outside (0, 1).

    Notes
    -----
    ``alternative``: Miller (2024, arXiv:2411.00640), the guide's formula. ``null``: Connor (1987, Biometrics 43:207).
    Both are normal approximations; the exact test needs more, see `items_for_power`.

    Examples
    --------
    >>> items_needed(0.08, 0.03), items_needed(0.08, 0.03, margin=0.02), items_needed(0.03, 0.03, margin=-0.02)
    (338, 938, 1178)
    >>> items_needed(0.08, 0.03, variance="null")
    343
    """
    gain, loss = checked_gain_and_loss(p_gain, p_loss)
    discordant, net = gain + loss, gain - loss
    if net <= margin:
        raise ValueError(
            f"p_gain − p_loss = {net:g} does not exceed margin = {margin:g}: no number of items shows it; "
            "plan for a larger gain or a smaller margin"
        )
    at_margin = discordant - (net if variance == "alternative" else margin) ** 2
    return _rounded_up((_sum_of_z(alpha, power, at_margin, discordant - net**2) / (net - margin)) ** 2)


def items_for_mean(
    effect: float,
    *,
    omega2: float,
    sigma2_baseline: float = 0.0,
    sigma2_candidate: float = 0.0,
    k_baseline: int = 1,
    k_candidate: int = 1,
    alpha: float = 0.05,
    power: float = 0.80,
) -> int:
    """Items to show a mean difference, (z₁₋α/₂ + z_power)²(ω² + σ²_A/K_A + σ²_B/K_B)/δ².

    Parameters
    ----------
    effect
        Mean difference δ, not 0, less the margin if there is one; in the unit of the scores.
    omega2
        Variance over items of the difference of expected scores. The variance of observed differences of one attempt
        each already holds all three terms: give it here and leave the others 0.
    sigma2_baseline, sigma2_candidate
        Mean variance of the attempts at one item.
    k_baseline, k_candidate
        Attempts per item, at least 1.
    alpha, power
        Two-sided level and power, probabilities.

    Returns
    -------
    int
        Rounded up.

    Raises
    ------
    ValueError
        An effect of 0, a negative variance or no variance at all, or another argument out of range.

    Notes
    -----
    Miller (2024, arXiv:2411.00640), section 5.

    Examples
    --------
    >>> items_for_mean(0.03, omega2=1 / 9)
    969
    """
    attempts = (checked_whole("k_baseline", k_baseline, least=1), checked_whole("k_candidate", k_candidate, least=1))
    for name, value in (
        ("omega2", omega2),
        ("sigma2_baseline", sigma2_baseline),
        ("sigma2_candidate", sigma2_candidate),
    ):
        if not 0 <= value < math.inf:
            raise ValueError(f"{name} = {value!r}: give a variance of 0 or more")
    variance = omega2 + sigma2_baseline / int(attempts[0]) + sigma2_candidate / int(attempts[1])
    if variance == 0 or effect == 0 or not math.isfinite(effect):
        raise ValueError(f"effect = {effect!r} with a variance of {variance:g}: give both different from 0")
    return _rounded_up((_sum_of_z(alpha, power, variance, variance) / effect) ** 2)


def non_inferiority_items(rate: float, *, margin: float, alpha: float = 0.025, power: float = 0.80) -> int:
    """Items per system for non-inferiority of two equal rates on different items, (z₁₋α + z_power)² 2p(1 − p)/m².

    On the same items `items_needed` with a negative margin applies, and needs fewer.

    Parameters
    ----------
    rate
        Common pass rate p, a probability in (0, 1).
    margin
        Largest drop that is accepted, in (0, 1].
    alpha
        One-sided level.
    power
        Probability of showing it when the rates are equal.

    Returns
    -------
    int
        Rounded up.

    Raises
    ------
    ValueError
        An argument out of range.

    Notes
    -----
    Blackwelder (1982, Control. Clin. Trials 3:345).

    Examples
    --------
    >>> non_inferiority_items(0.85, margin=0.10, power=0.90)
    268
    """
    p = checked_probability("rate", rate)
    if not 0 < margin <= 1:
        raise ValueError(f"margin = {margin!r}: give the largest accepted drop, a positive share of at most 1")
    variance = 2 * p * (1 - p)
    return _rounded_up((_sum_of_z(2 * alpha, power, variance, variance) / margin) ** 2)


def minimum_detectable_effect(
    n: int, discordant_rate: float, *, alpha: float = 0.05, power: float = 0.80
) -> float | None:
    """Net gain that n items show with the given power, (z₁₋α/₂ + z_power)√(ψ/n).

    Parameters
    ----------
    n
        Items, at least 1.
    discordant_rate
        Share of items ψ on which the systems differ, in (0, 1].
    alpha, power
        Two-sided level and power, probabilities.

    Returns
    -------
    float or None
        Share of the items; None where even gains alone (δ = ψ) would not be shown.

    Raises
    ------
    ValueError
        An argument out of range.

    Notes
    -----
    The guide's formula, with the variance at δ = 0. That of `items_needed` gives less, by √(n/(n + (z₁₋α/₂ + z_power)²)).

    Examples
    --------
    >>> round(minimum_detectable_effect(500, 0.11), 6), minimum_detectable_effect(50, 0.06)
    (0.041554, None)
    """
    if not 0 < discordant_rate <= 1:
        raise ValueError(f"discordant_rate = {discordant_rate!r}: give the share of items that differ, in (0, 1]")
    items = int(checked_whole("n", n, least=1))
    effect = _sum_of_z(alpha, power, discordant_rate, discordant_rate) / math.sqrt(items)
    return effect if effect <= discordant_rate else None


def mcnemar_power(n: int, p_gain: float, p_loss: float, *, alpha: float = 0.05, form: Form = "exact") -> float:
    """Probability that McNemar's test rejects at n items, over all tables; its size when the rates are equal.

    Parameters
    ----------
    n
        Items, at least 1.
    p_gain, p_loss
        Probabilities of a gain and of a loss, with a sum of at most 1.
    alpha
        Two-sided level.
    form
        ``exact`` or ``mid-p``, as in `mcnemar`.

    Returns
    -------
    float
        Probability of a p-value of ``alpha`` or less, in either direction.

    Raises
    ------
    ValueError
        An argument out of range.

    Notes
    -----
    The number of discordant pairs is binomial; given it the test is one of a fair coin (Duffy 1984, Biometrics
    40:1005). The sum runs over all but 1e-17 of the law, O(√n) terms.

    Examples
    --------
    >>> round(mcnemar_power(338, 0.08, 0.03), 4), round(mcnemar_power(338, 0.08, 0.03, form="mid-p"), 4)
    (0.7608, 0.8044)
    """
    items = int(checked_whole("n", n, least=1))
    gain, loss = checked_gain_and_loss(p_gain, p_loss)
    first, mass = binomial_law(items, min(1.0, gain + loss))
    discordant = np.arange(first, first + mass.size)
    return float(mass @ _conditional_power(discordant, gain, loss, alpha, form))


def items_for_power(
    p_gain: float, p_loss: float, *, alpha: float = 0.05, power: float = 0.80, form: Form = "exact"
) -> PowerSize:
    """Items at which McNemar's test reaches a power, and from which it keeps it.

    Parameters
    ----------
    p_gain, p_loss, alpha, form
        As in `mcnemar_power`.
    power
        Probability of rejection.

    Returns
    -------
    PowerSize
        ``first``, the smallest number of items with the power, and ``lasting``, the smallest from which no larger
        number falls short: the power saw-tooths.

    Raises
    ------
    ValueError
        Equal rates, whose rejections are errors, or an argument out of range.

    Notes
    -----
    Bisection on `mcnemar_power` about the normal formula, then every number of items near the answer. The power given
    the number of discordant pairs does not depend on the number of items and is computed once.

    Examples
    --------
    >>> items_for_power(0.08, 0.03)
    PowerSize(first=367, lasting=367)
    """
    gain, loss = checked_gain_and_loss(p_gain, p_loss)
    checked_probability("power", power)
    if gain == loss:
        raise ValueError(f"p_gain = p_loss = {gain:g}: no number of items shows a difference that is not there")
    centre = items_needed(max(gain, loss), min(gain, loss), alpha=alpha, power=max(power, alpha))
    if centre > LARGEST_SEARCH:
        raise ValueError(
            f"p_gain = {p_gain!r}, p_loss = {p_loss!r}: more than {LARGEST_SEARCH:.0e} items, where items_needed is as good"
        )
    discordant = min(1.0, gain + loss)
    # the spread of the discordant pairs smooths the saw-tooth away; without it, it is some √n wide
    span = 200 + (4 * math.isqrt(centre) if centre * discordant * (1 - discordant) < 100 else 0)
    reach = span + math.ceil(4 / abs(gain - loss))
    while True:
        low, high = max(1, centre - reach), centre + reach
        first, last = _binomial_window(low, discordant)[0], _binomial_window(high, discordant)[1]
        given = _conditional_power(np.arange(first, last + 1), gain, loss, alpha, form)

        def reached(n: int, start: int = first, given: Floats = given) -> bool:
            place, mass = binomial_law(n, discordant)
            return bool(mass @ given[place - start : place - start + mass.size] >= power)

        at = bisect.bisect_left(range(low, high), True, key=reached) + low
        start = max(low, at - span)
        near = [reached(n) for n in range(start, min(high, at + span) + 1)]
        if (start == 1 or not any(near[:20])) and all(near[-20:]):
            lasting = start + max((i for i, met in enumerate(near) if not met), default=-1) + 1
            return PowerSize(first=start + near.index(True), lasting=lasting)
        reach *= 2


def _conditional_power(discordant: Whole, gain: float, loss: float, alpha: float, form: Form) -> Floats:
    """Probability that the test rejects, for every number of discordant pairs."""
    if form not in {"exact", "mid-p"}:
        raise ValueError(f"form = {form!r}: give 'exact' or 'mid-p'")
    level = checked_probability("alpha", alpha) * (1 + TIE)

    def p_value(fewer: Whole) -> Floats:
        at_most = np.where(fewer < 0, 0.0, binomial_cdf(np.maximum(fewer, 0), discordant, 0.5))
        if form == "exact":
            return 2 * at_most
        return at_most + np.where(fewer < 1, 0.0, binomial_cdf(np.maximum(fewer - 1, 0), discordant, 0.5))

    start = discordant / 2 + float(ndtri(alpha / 2)) * np.sqrt(discordant) / 2
    largest = np.clip(np.floor(start).astype(np.int64), -1, discordant)
    while (over := (largest >= 0) & (p_value(largest) > level)).any():
        largest = largest - over
    while (more := (largest < discordant) & (p_value(np.minimum(largest + 1, discordant)) <= level)).any():
        largest = largest + more
    share = gain / (gain + loss) if gain + loss else 0.5
    kept = np.maximum(largest, 0)
    rejected = binomial_cdf(kept, discordant, share) + binomial_cdf(kept, discordant, 1 - share)
    return np.where(largest < 0, 0.0, rejected)


def _binomial_window(n: int, p: float) -> tuple[int, int]:
    """Counts outside which a binomial law has less than 1e-17, by Bernstein's inequality."""
    reach = NEGLIGIBLE / 3
    half = reach + math.sqrt(reach**2 + 2 * NEGLIGIBLE * n * p * (1 - p))
    return max(0, math.floor(n * p - half)), min(n, math.ceil(n * p + half))


def binomial_law(n: int, p: float) -> tuple[int, Floats]:
    """First count and probabilities of a binomial law, from the ratios of neighbours so that they keep 14 digits."""
    if p in {0.0, 1.0}:
        return int(n * p), np.ones(1)
    low, high = _binomial_window(n, p)
    mode = min(int((n + 1) * p), n)
    odds = p / (1 - p)
    up, down = np.arange(mode, high), np.arange(mode, low, -1)
    rising = np.cumprod((n - up) / (up + 1) * odds)
    falling = np.cumprod(down / (n - down + 1) / odds)
    mass = np.concatenate([falling[::-1], [1.0], rising])
    return low, mass / mass.sum()


def _sum_of_z(alpha: float, power: float, at_null: float, at_alternative: float) -> float:
    """z₁₋α/₂ √(variance at the null) + z_power √(variance at the alternative)."""
    first = float(ndtri(1 - checked_probability("alpha", alpha) / 2)) * math.sqrt(at_null)
    return first + float(ndtri(checked_probability("power", power))) * math.sqrt(at_alternative)


def _rounded_up(n: float) -> int:
    return max(1, math.ceil(n * (1 - TIE)))


def checked_gain_and_loss(p_gain: float, p_loss: float) -> tuple[float, float]:
    """Both probabilities, or a ValueError that names them."""
    if not (p_gain >= 0 and p_loss >= 0 and p_gain + p_loss <= 1 + TIE):
        raise ValueError(
            f"p_gain = {p_gain!r}, p_loss = {p_loss!r}: give the probabilities of a gain and of a loss, "
            "neither under 0 and with a sum of at most 1"
        )
    return float(p_gain), float(p_loss)
