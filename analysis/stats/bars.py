"""What the scores of one cell say about a bar: how high it may be set and how far the failures fall short."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.binomial import largest_passing
from analysis.stats.checks import checked_whole


def largest_certifiable_bar(scores: ArrayLike, n: int, *, budget: float, delta: float) -> float | None:
    """Highest bar the sample can certify: the order statistic that inverts the bound.

    A run fails at the bar when its score lies strictly under it; a run without a score fails at every bar.
    With ``k*`` failures allowed, the bar is the score of rank ``k* + 1`` from below among all ``n`` runs.

    Parameters
    ----------
    scores
        Shape (m,), the final scores of the runs that have one, in the unit of the bar.
    n
        All runs, ``n >= m``.
    budget, delta
        Probabilities in (0, 1).

    Returns
    -------
    float or None
        In the unit of the scores; None when no bar can be certified (too few runs, or too many without a
        score).

    Raises
    ------
    ValueError
        Scores that are not finite or not of one dimension, or more scores than runs.

    Examples
    --------
    >>> largest_certifiable_bar([0.1, 0.2, 0.3] + [0.9] * 56, 59, budget=0.10, delta=0.10)
    0.3
    """
    ranked = np.sort(_checked_scores(scores))
    if ranked.size > n:
        raise ValueError(f"{ranked.size} scores of n = {n} runs: count every run in n, with or without a score")
    most = largest_passing(n, budget=budget, delta=delta)
    rank = -1 if most is None else most - (n - ranked.size)
    return float(ranked[rank]) if rank >= 0 else None


def mean_shortfall(scores: ArrayLike, tau: float, *, low: float, missing: int) -> float:
    """Mean shortfall under the bar, E[(τ − b)₊], over all runs of a cell.

    Its upper confidence bound is `betting_upper` of the same shortfalls with ``limit = tau - low``.

    Parameters
    ----------
    scores
        Shape (m,), the final scores of the runs that have one.
    tau
        The bar.
    low
        Lowest possible score, the one a run without a score is counted at.
    missing
        Runs without a score.

    Returns
    -------
    float
        In the unit of the scores.

    Raises
    ------
    ValueError
        Scores that are not finite or lie under ``low``, a bar under ``low``, or no run at all.

    Examples
    --------
    >>> round(mean_shortfall([0.9, 0.8, 0.6], 0.7, low=0.0, missing=1), 3)
    0.2
    """
    values = _checked_scores(scores)
    absent = int(checked_whole("missing", missing, least=0))
    if not tau >= low:
        raise ValueError(f"tau = {tau!r} lies under the lowest possible score {low!r}; check score_range")
    if values.size and values.min() < low:
        raise ValueError(f"a score of {values.min()} lies under the lowest possible score {low!r}; check score_range")
    if values.size + absent == 0:
        raise ValueError("no runs: a mean needs at least one run")
    shortfall = np.maximum(tau - values, 0).sum() + absent * (tau - low)
    return float(shortfall / (values.size + absent))


def _checked_scores(scores: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"scores of shape {values.shape}: give one dimension, a score per run")
    if not np.isfinite(values).all():
        raise ValueError(f"a score is {values[~np.isfinite(values)][0]}: leave out runs without a score")
    return values
