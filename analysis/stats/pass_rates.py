"""Chances that some, or all, of a few draws from an item's samples are correct."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import comb

from analysis.stats.checks import checked_counts, checked_whole

Floats = NDArray[np.float64]


def pass_at(draws: int, k: ArrayLike, n: ArrayLike) -> Floats:
    """Unbiased pass@d per item: the probability that any of d samples is correct, 1 − C(n − k, d) / C(n, d).

    Parameters
    ----------
    draws
        Samples drawn without replacement, 1 to ``n``.
    k, n
        Correct and all samples per item; they broadcast.

    Returns
    -------
    ndarray of float64
        Probabilities; their mean over items is the published figure.

    Raises
    ------
    ValueError
        Counts that are not whole or do not fit, or more draws than samples.

    Notes
    -----
    Chen et al. (2021, arXiv 2107.03374, equation 1).

    Examples
    --------
    >>> pass_at(5, [0, 3], 10).round(6)
    array([0.      , 0.916667])
    """
    correct, samples = _checked_draws(draws, k, n)
    return np.asarray(1 - comb(samples - correct, draws) / comb(samples, draws))


def pass_all(draws: int, k: ArrayLike, n: ArrayLike) -> Floats:
    """Unbiased pass^d per item: the probability that all of d samples are correct, C(k, d) / C(n, d).

    Parameters, returns and errors as in `pass_at`; Yao et al. (2024, arXiv 2406.12045, tau-bench).

    Examples
    --------
    >>> pass_all(2, [3], 4)
    array([0.5])
    """
    correct, samples = _checked_draws(draws, k, n)
    return np.asarray(comb(correct, draws) / comb(samples, draws))


def _checked_draws(draws: int, k: ArrayLike, n: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    correct, samples = checked_counts(k, n)
    if checked_whole("draws", draws, least=1) > samples.min(initial=draws):
        raise ValueError(f"draws = {draws} of n = {samples.min()} samples: draw at most as many as there are")
    return correct, samples
