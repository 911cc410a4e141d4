"""What a judge's verdicts on pairs of answers are worth: both orders, win rate, and what length alone explains.

A and B are the systems, whatever order the judge saw them in; B is the candidate. A score is B's: 1 when B wins, 0
when A does, 1/2 between them, NaN where the judge failed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, ndtr, ndtri, stdtrit

from analysis.stats.binomial import wilson
from analysis.stats.checks import checked_probability, checked_rates
from analysis.stats.paired import mcnemar, tango_interval

Floats = NDArray[np.float64]
Text = NDArray[np.str_]

VERDICTS = ("A", "B", "tie", "fail")
FLAT = 1e-12
NEWTON_STEPS = 100  # 22 suffice for a slope of 955
CONVERGED = 1e-9  # relative, in log odds
ROUNDING = 1e-13  # of the log likelihood, per pair
LEAST_ERROR = 1e-6  # in log odds; what is smaller is rounding
SEPARATED = "the lengths do not vary, or a length separates wins from losses: the likelihood has no maximum"
NO_RESIDUAL = "every score is what the lengths predict, as when all are ties: their error is not known"


@dataclass(frozen=True)
class ResolvedVerdicts:
    """Verdicts of pairs judged in both orders.

    Attributes
    ----------
    verdict
        Shape (pairs,): ``A`` or ``B`` when it wins in both orders, ``tie`` when both are ties, ``fail`` when the
        judge failed in either, ``undecided`` otherwise: the orders disagree.
    score
        Shape (pairs,), B's score, 1/2 for ``tie`` and ``undecided``, NaN for ``fail``.
    net
        Shape (pairs,), int8, votes for B minus votes for A over both orders, a failure being none: the looser rule of
        Arena-Hard and JudgeBench takes its sign.
    wins_a, wins_b, ties, undecided, failed
        Pairs per verdict.
    failed_first, failed_second
        Failures in the first and in the second order.
    """

    verdict: Text
    score: Floats
    net: NDArray[np.int8]
    wins_a: int
    wins_b: int
    ties: int
    undecided: int
    failed: int
    failed_first: int
    failed_second: int


@dataclass(frozen=True)
class PositionBias:
    """How verdicts follow the position of an answer.

    Attributes
    ----------
    n
        Pairs judged in both orders.
    consistent, consistency
        Pairs with the same verdict in both, and their share with its Wilson interval.
    first_flips, second_flips
        Pairs whose winner is the answer shown first, or second, in both orders.
    first_leans, second_leans
        Pairs with a tie in one order and a win of the answer shown first, or second, in the other.
    p_value
        Exact two-sided sign test of the flips, 1 without flips.
    """

    n: int
    consistent: int
    consistency: tuple[float, float, float]
    first_flips: int
    second_flips: int
    first_leans: int
    second_leans: int
    p_value: float


@dataclass(frozen=True)
class WinRate:
    """B's win rate, ties as half.

    Attributes
    ----------
    n, failed
        Judged pairs and those where the judge failed, which count nowhere else.
    wins, losses, even
        Pairs with a score above, under and of 1/2.
    rate, se
        Mean score and its standard error, sd/√n with n − 1 below; no ``se`` of one pair.
    low, high
        Ends of the interval; None with ``reason`` when graded scores do not vary.
    p_value
        Exact two-sided sign test of wins against losses.
    reason
        Why a number is missing; None otherwise.
    """

    n: int
    failed: int
    wins: int
    losses: int
    even: int
    rate: float
    se: float | None
    low: float | None
    high: float | None
    p_value: float
    reason: str | None


@dataclass(frozen=True)
class LengthBaseline:
    """How often the longer answer wins: the accuracy of a judge that only measures length.

    ``n`` decided pairs of different length, ``longer_won`` of them, the share with its Wilson interval, and the exact
    two-sided p-value against one half.
    """

    n: int
    longer_won: int
    accuracy: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class LengthAdjusted:
    """B's win rate at equal lengths.

    Attributes
    ----------
    n, raw
        Judged pairs and the mean score.
    rate, low, high
        Fitted win rate at a gap of 0 and its interval; None with ``reason`` where the fit does not exist.
    slope, slope_se, p_value
        Log odds of a win per standard deviation of the gap, its standard error and Wald p-value; None as above.
    reason
        Why there is no fit; None otherwise.
    """

    n: int
    raw: float
    rate: float | None
    low: float | None
    high: float | None
    slope: float | None
    slope_se: float | None
    p_value: float | None
    reason: str | None


def resolve_orders(first: ArrayLike, second: ArrayLike) -> ResolvedVerdicts:
    """One verdict per pair from two: a win counts only when it survives the swap of the answers.

    Parameters
    ----------
    first, second
        Shape (pairs,), ``A``, ``B``, ``tie`` or ``fail`` (the judge gave no readable verdict), with A shown first
        and with B shown first. A and B are systems in both, not positions.

    Returns
    -------
    ResolvedVerdicts

    Raises
    ------
    ValueError
        Another word, no pairs, or different numbers of verdicts.

    Notes
    -----
    Zheng et al. (2023, NeurIPS Datasets and Benchmarks, sec. 3.4), but a disagreement is not called a tie.

    Examples
    --------
    >>> found = resolve_orders(["A", "B", "A", "tie", "A"], ["A", "B", "B", "tie", "fail"])
    >>> found.verdict.tolist(), found.net.tolist()
    (['A', 'B', 'undecided', 'tie', 'fail'], [-2, 2, 0, 0, -1])
    """
    one, two = _checked_verdicts(first), _checked_verdicts(second)
    if one.shape != two.shape:
        raise ValueError(f"{one.size} and {two.size} verdicts: give both orders of the same pairs")
    lost = (one == "fail") | (two == "fail")
    verdict = np.where(lost, "fail", np.where(one == two, one, "undecided"))
    votes = sum(np.select([order == "A", order == "B"], [-1, 1], 0) for order in (one, two))
    count = {word: int((verdict == word).sum()) for word in ("A", "B", "tie", "undecided", "fail")}
    return ResolvedVerdicts(
        verdict=verdict,
        score=np.select([lost, verdict == "A", verdict == "B"], [math.nan, 0.0, 1.0], 0.5),
        net=np.asarray(votes, dtype=np.int8),
        wins_a=count["A"],
        wins_b=count["B"],
        ties=count["tie"],
        undecided=count["undecided"],
        failed=count["fail"],
        failed_first=int((one == "fail").sum()),
        failed_second=int((two == "fail").sum()),
    )


def position_bias(first: ArrayLike, second: ArrayLike, *, level: float) -> PositionBias:
    """Whether the judge prefers a position: verdicts that change with the order, one way and the other.

    Parameters and errors as in `resolve_orders`; ``level`` is a confidence level in (0, 1). Pairs with a failure are
    left out, and at least one has to remain.

    Examples
    --------
    >>> bias = position_bias(["A"] * 16 + ["B"] * 2, ["B"] * 16 + ["A"] * 2, level=0.95)
    >>> bias.first_flips, bias.second_flips, round(bias.p_value, 5)
    (16, 2, 0.00131)
    """
    judged = resolve_orders(first, second).verdict != "fail"
    n = int(judged.sum())
    if not n:
        raise ValueError("the judge failed in every pair: no verdict is left to compare")
    one, two = np.asarray(first)[judged], np.asarray(second)[judged]
    toward = np.select([one == "A", one == "B"], [1, -1], 0) + np.select([two == "B", two == "A"], [1, -1], 0)
    consistent = int((one == two).sum())
    flips, leans = ([int((toward == side).sum()) for side in (size, -size)] for size in (2, 1))
    return PositionBias(
        n=n,
        consistent=consistent,
        consistency=(consistent / n, *wilson(consistent, n, level=level)),
        first_flips=flips[0],
        second_flips=flips[1],
        first_leans=leans[0],
        second_leans=leans[1],
        p_value=mcnemar(flips[0], flips[1]).exact,
    )


def win_rate(score: ArrayLike, *, level: float) -> WinRate:
    """B's mean score with its interval, and the sign test of its wins.

    Parameters
    ----------
    score
        Shape (pairs,), numbers in [0, 1], NaN where the judge failed: `ResolvedVerdicts.score`, or a graded
        preference.
    level
        Confidence level in (0, 1).

    Returns
    -------
    WinRate
        Scores of 0, 1/2 and 1 get Tango's interval of wins minus losses, which never collapses; others Student's.

    Raises
    ------
    ValueError
        A score outside [0, 1] or none at all.

    Examples
    --------
    >>> found = win_rate([0] * 18 + [1] * 20 + [0.5] * 35, level=0.95)
    >>> round(found.rate, 4), round(found.low, 3), round(found.high, 3), round(found.p_value, 3)
    (0.5137, 0.431, 0.596, 0.871)
    """
    values, failed = _checked_scores(score)
    n, mean = values.size, float(values.mean())
    wins, losses = int((values > 0.5).sum()), int((values < 0.5).sum())
    se = float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else None
    low: float | None
    high: float | None
    low = high = None
    if np.isin(values, [0.0, 0.5, 1.0]).all():
        low, high = (0.5 + end / 2 for end in tango_interval(losses, wins, n, level=level))
    elif se is not None and float(np.ptp(values)) > FLAT:
        reach = float(stdtrit(n - 1, (1 + checked_probability("level", level)) / 2)) * se
        low, high = mean - reach, mean + reach
    reason = None if low is not None else "one graded score, or scores that are all the same: their error is not known"
    return WinRate(n, failed, wins, losses, n - wins - losses, mean, se, low, high, mcnemar(wins, losses).exact, reason)


def length_only(score: ArrayLike, gap: ArrayLike, *, level: float) -> LengthBaseline | None:
    """Accuracy of always calling the longer answer the winner, over decided pairs of different length.

    Parameters
    ----------
    score
        Shape (pairs,), as in `win_rate`; a score of 1/2 is not decided.
    gap
        Shape (pairs,), length of B's answer minus that of A's, finite.
    level
        Confidence level in (0, 1).

    Returns
    -------
    LengthBaseline or None
        None when no pair is decided and of different length.

    Raises
    ------
    ValueError
        A score outside [0, 1], a gap that is not finite, or different numbers of them.

    Examples
    --------
    >>> found = length_only([1, 1, 0, 0.5, 1], [30, 10, -5, 8, -2], level=0.95)
    >>> found.n, found.longer_won, found.accuracy
    (4, 3, 0.75)
    """
    values, gaps = _checked_gaps(score, gap)
    decided = (values != 0.5) & (gaps != 0)
    n = int(decided.sum())
    longer = int(((values > 0.5) == (gaps > 0))[decided].sum())
    if not n:
        return None
    return LengthBaseline(n, longer, longer / n, *wilson(longer, n, level=level), mcnemar(longer, n - longer).exact)


def length_adjusted(score: ArrayLike, gap: ArrayLike, *, level: float) -> LengthAdjusted:
    """B's win rate at equal lengths, by logistic regression of the score on the length gap.

    Parameters
    ----------
    score, gap, level
        As in `length_only`; the gap may be of logarithms. It is divided by its standard deviation, not centred.

    Returns
    -------
    LengthAdjusted
        No fit, with ``reason``, when lengths do not vary or a length separates wins from losses.

    Raises
    ------
    ValueError
        As in `length_only`.

    Notes
    -----
    Maximum likelihood by Newton's method; scores between 0 and 1 enter as fractions (Papke and Wooldridge 1996, J.
    Appl. Econom. 11:619), hence the robust standard errors, with n/(n − 2). The fit exists unless a threshold
    separates (Albert and Anderson 1984, Biometrika 71:1). It answers another question than the raw rate: length may
    be a cause of quality, not only a bias.

    Examples
    --------
    >>> found = length_adjusted([1, 1, 0, 1, 0, 1, 0, 0], [9, 4, 2, 6, -3, -1, 3, -4], level=0.95)
    >>> found.raw, round(found.rate, 3), round(found.slope, 2)
    (0.5, 0.314, 1.64)
    """
    y, gaps = _checked_gaps(score, gap)
    quantile = float(ndtri((1 + checked_probability("level", level)) / 2))
    n, raw = y.size, float(y.mean())
    won, lost = gaps[y > 0], gaps[y < 1]
    separated = not (won.size and lost.size) or won.min() >= lost.max() or lost.min() >= won.max()
    fit = None if separated else _logistic(gaps / gaps.std(), y)
    if fit is None:
        reason = SEPARATED if separated else NO_RESIDUAL
        return LengthAdjusted(n, raw, None, None, None, None, None, None, reason)
    (at_zero, slope), (se, slope_se) = fit
    rate, low, high = (float(expit(at_zero + side * quantile * se)) for side in (0, -1, 1))
    return LengthAdjusted(n, raw, rate, low, high, slope, slope_se, float(2 * ndtr(-abs(slope) / slope_se)), None)


def _logistic(x: Floats, y: Floats) -> tuple[list[float], list[float]] | None:
    """Intercept and slope of a logistic regression and their robust errors; None when no residual is left."""
    design = np.stack([np.ones_like(x), x], axis=1)

    def likelihood(beta: Floats) -> float:
        logit = design @ beta
        return float((y * logit - np.logaddexp(0.0, logit)).sum())

    beta = np.zeros(2)
    for _ in range(NEWTON_STEPS):
        mu = expit(design @ beta)
        bread = np.linalg.inv((design * (mu * (1 - mu))[:, None]).T @ design)
        step = bread @ (design.T @ (y - mu))
        if float(np.abs(step).max()) < CONVERGED * max(1.0, float(np.abs(beta).max())):
            break
        while likelihood(beta + step) < likelihood(beta) - ROUNDING * y.size:
            step /= 2
        beta = beta + step
    score = design * (y - mu)[:, None]
    covariance = bread @ (score.T @ score) @ bread * (y.size / max(y.size - 2, 1))
    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return (beta.tolist(), errors.tolist()) if errors.min() > LEAST_ERROR else None


def _checked_verdicts(verdicts: ArrayLike) -> Text:
    words = np.asarray(verdicts)
    if words.ndim != 1 or not words.size:
        raise ValueError(f"verdicts of shape {words.shape}: give one dimension, a pair per place")
    bad = ~np.isin(words, VERDICTS)
    if bad.any():
        raise ValueError(f"verdict = {str(words[bad][0])!r}: give A, B, tie or fail")
    return words.astype(np.str_)


def _checked_scores(score: ArrayLike) -> tuple[Floats, int]:
    """Scores that are there, in [0, 1], and the number of failures."""
    values = np.asarray(score, dtype=np.float64)
    there = ~np.isnan(values)
    if values.ndim != 1 or not there.any():
        raise ValueError(f"scores of shape {values.shape}, {int(there.sum())} of them given: give a score per pair")
    return checked_rates(values[there]), int((~there).sum())


def _checked_gaps(score: ArrayLike, gap: ArrayLike) -> tuple[Floats, Floats]:
    """Scores and gaps of the pairs that have a score."""
    values, _ = _checked_scores(score)
    gaps = np.asarray(gap, dtype=np.float64)
    there = ~np.isnan(np.asarray(score, dtype=np.float64))
    if gaps.shape != there.shape:
        raise ValueError(f"{there.size} scores and gaps of shape {gaps.shape}: give one of each per pair")
    if not np.isfinite(gaps[there]).all():
        raise ValueError("a gap is not finite: leave out pairs without both lengths")
    return values, gaps[there]
