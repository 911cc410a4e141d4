"""True rates behind counts: the law of both versions' rates over the items, and what it says of one item.

k of n samples of an item are correct in a version; a change is candidate − baseline, of true rates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlog1py, xlogy

from analysis.stats.checks import checked_whole
from analysis.stats.item_counts import checked_pairs, distinct_columns

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

GAIN = 1e-8  # of the log-likelihood per item in a step: below it the law stands still
EDGE = 1e-9  # a change on a grid of rates is equal to a threshold within this


@dataclass(frozen=True)
class RateMixture:
    """Law of the pairs of true rates.

    Attributes
    ----------
    rates
        Shape (points,), the rates that are possible in a version.
    weight
        Shape (points, points), probability of a baseline rate (row) with a candidate rate (column); sums to 1.
    """

    rates: Floats
    weight: Floats

    def share(self, *, beyond: float) -> tuple[float, float]:
        """Shares of items whose true rate rose, and fell, by more than ``beyond``."""
        rose, fell = _moved(self.rates, beyond)
        return float(self.weight[rose].sum()), float(self.weight[fell].sum())


def rate_mixture(
    k_baseline: ArrayLike,
    n_baseline: ArrayLike,
    k_candidate: ArrayLike,
    n_candidate: ArrayLike,
    *,
    points: int = 21,
    steps: int = 2000,
    start: RateMixture | None = None,
) -> RateMixture:
    """Nonparametric maximum likelihood of the law of true rates, on a grid of rates in both versions.

    Parameters
    ----------
    k_baseline, n_baseline, k_candidate, n_candidate
        Shape (items,), as in `change_tests`.
    points
        Rates from 0 to 1 that are possible, at least 2; changes are told apart on this grid only.
    steps
        Most steps of the algorithm, at least 1.
    start
        Where to start from, such as the law of the whole when this is a resample; even weights when None.

    Returns
    -------
    RateMixture

    Raises
    ------
    ValueError
        Counts that do not fit, or fewer than two points.

    Notes
    -----
    Kiefer and Wolfowitz (1956, Ann. Math. Stat. 27:887), by the EM algorithm of Laird (1978, J. Am. Stat. Assoc. 73:805).
    The weights of single points are badly determined, their sums over many are not.

    Examples
    --------
    >>> law = rate_mixture([0, 0, 10, 10], 10, [0, 10, 0, 10], 10)
    >>> [round(share, 2) for share in law.share(beyond=0.5)]
    [0.25, 0.25]
    """
    rates = np.linspace(0, 1, int(checked_whole("points", points, least=2)))
    distinct, _, times = distinct_columns(checked_pairs(k_baseline, n_baseline, k_candidate, n_candidate))
    likelihood = _likelihood(distinct, rates)
    even = np.full(rates.size**2, 1 / rates.size**2)
    weight = even if start is None else 0.9 * start.weight.ravel() + 0.1 * even
    before = -np.inf
    for _ in range(1, int(checked_whole("steps", steps, least=1)) + 1):
        density = likelihood @ weight
        now = float(times @ np.log(density)) / times.sum()
        if now - before < GAIN:
            break
        before = now
        weight = weight * (likelihood.T @ (times / density)) / times.sum()
    return RateMixture(rates=rates, weight=weight.reshape(rates.size, -1))


def posterior_change(
    mixture: RateMixture,
    k_baseline: ArrayLike,
    n_baseline: ArrayLike,
    k_candidate: ArrayLike,
    n_candidate: ArrayLike,
    *,
    beyond: float = 0.0,
) -> tuple[Floats, Floats]:
    """Posterior probabilities per item that its true rate rose, and fell, by more than ``beyond``.

    Parameters
    ----------
    mixture
        The law of true rates, as `rate_mixture` estimates it from all items.
    k_baseline, n_baseline, k_candidate, n_candidate
        Shape (items,), as in `change_tests`.
    beyond
        A change in [0, 1); at 0 the local false sign rate of an item is 1 less the larger of the two
        (Stephens 2017, Biostatistics 18:275).

    Returns
    -------
    tuple of ndarray of float64, shape (items,) each
        Probabilities.

    Raises
    ------
    ValueError
        Counts that do not fit, or a change outside [0, 1).

    Examples
    --------
    >>> law = rate_mixture([0, 0, 10, 10], 10, [0, 10, 0, 10], 10)
    >>> rose, fell = posterior_change(law, [0, 1], 10, [10, 0], 10, beyond=0.2)
    >>> rose.round(2).tolist(), fell.round(2).tolist()
    ([1.0, 0.0], [0.0, 0.0])
    """
    if not 0 <= beyond < 1:
        raise ValueError(f"beyond = {beyond!r}: give a change between 0 and 1")
    counts = checked_pairs(k_baseline, n_baseline, k_candidate, n_candidate)
    distinct, place, _ = distinct_columns(counts)
    posterior = _likelihood(distinct, mixture.rates) * mixture.weight.ravel()
    posterior /= posterior.sum(axis=1, keepdims=True)
    rose, fell = (posterior @ moved.ravel() for moved in _moved(mixture.rates, beyond))
    return rose[place], fell[place]


def _likelihood(distinct: Whole, rates: Floats) -> Floats:
    """Likelihood of every distinct pair of counts under every pair of rates, shape (pairs, points²), largest 1."""
    k1, n1, k2, n2 = (row[:, None] for row in distinct)
    first, second = xlogy(k1, rates) + xlog1py(n1 - k1, -rates), xlogy(k2, rates) + xlog1py(n2 - k2, -rates)
    one, two = (np.exp(part - part.max(axis=1, keepdims=True)) for part in (first, second))
    return np.asarray((one[:, :, None] * two[:, None, :]).reshape(len(one), -1))


def _moved(rates: Floats, beyond: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    change = rates[None, :] - rates[:, None]
    return change > beyond + EDGE, change < -beyond - EDGE
