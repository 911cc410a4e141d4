"""How high a bar the scores of one cell can certify."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.binomial import largest_passing


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


def _checked_scores(scores: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"scores of shape {values.shape}: give one dimension, a score per run")
    if not np.isfinite(values).all():
        raise ValueError(f"a score is {values[~np.isfinite(values)][0]}: leave out runs without a score")
    return values
