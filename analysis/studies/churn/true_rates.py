"""How many items truly rose or fell, seen or not: the estimated law of the true rates behind the counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import RateMixture, keyed_stream, percentile_interval, posterior_change, rate_mixture, wilson

from .parameters import Params
from .versions import Versions

Floats = npt.NDArray[np.float64]
Limits = tuple[float, float]

MOST_COUNTS = 3000  # different pairs of counts; with so many samples the tests see what there is
TWICE = 2  # the second move that is shown, in units of the first
FEWEST_ITEMS = 100  # for a sentence about shares, and for what is said of one item
MANY_SAMPLES = 100  # from which on observed scores are as good as true rates
RESAMPLES, STEPS = 100, 300  # of items, and of the algorithm in each, from the law of all items


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Estimated shares of all items whose true rate rose, and fell, by more than ``beyond``, and their range over resamples."""

    beyond: float
    rose: float
    rose_interval: Limits
    fell: float
    fell_interval: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueRates:
    """Estimates over the items, and per item the probabilities of a rise and of a fall beyond the first move.

    ``false_sign`` is the local false sign rate of every item. The three are None for few items and for many samples.
    """

    moves: tuple[Moved, ...]
    rose: Floats | None
    fell: Floats | None
    false_sign: Floats | None

    @property
    def telling(self) -> Moved:
        """The move that sentences speak of."""
        return self.moves[0]


def estimate(versions: Versions, params: Params) -> TrueRates | None:
    """The law of true rates over all compared items; None for graded scores and for too many different counts."""
    if not versions.binary:
        return None
    one, two = versions.baseline, versions.candidate
    if min(one.n.min(), two.n.min()) >= MANY_SAMPLES:
        return _observed(two.p - one.p, params)
    counts = (one.total, one.n, two.total, two.n)
    if len(np.unique(np.stack(counts), axis=1).T) > MOST_COUNTS:
        return None
    law = rate_mixture(*counts)
    resampled = _resampled(counts, law, params)
    moves = []
    for i, beyond in enumerate(moves_of(params)):
        rose, fell = law.share(beyond=beyond)
        ranges = [percentile_interval(resampled[:, i, side], level=1 - params.alpha) for side in (0, 1)]
        moves.append(Moved(beyond=beyond, rose=rose, rose_interval=ranges[0], fell=fell, fell_interval=ranges[1]))
    if versions.n_items < FEWEST_ITEMS:
        return TrueRates(moves=tuple(moves), rose=None, fell=None, false_sign=None)
    rose_by, fell_by = posterior_change(law, *counts, beyond=params.moved)
    up, down = posterior_change(law, *counts)
    return TrueRates(moves=tuple(moves), rose=rose_by, fell=fell_by, false_sign=1 - np.maximum(up, down))


def moves_of(params: Params) -> tuple[float, ...]:
    """The move asked for and twice as much, where that is possible."""
    return (params.moved, TWICE * params.moved) if TWICE * params.moved < 1 else (params.moved,)


def _observed(change: Floats, params: Params) -> TrueRates:
    """Shares of the observed changes, which so many samples make as good as the true ones."""
    n, moves = change.size, []
    for beyond in moves_of(params):
        rose, fell = int((change > beyond).sum()), int((change < -beyond).sum())
        up, down = (wilson(k, n, level=1 - params.alpha) for k in (rose, fell))
        moves.append(Moved(beyond=beyond, rose=rose / n, rose_interval=up, fell=fell / n, fell_interval=down))
    return TrueRates(moves=tuple(moves), rose=None, fell=None, false_sign=None)


def _resampled(counts: tuple[npt.NDArray[np.generic], ...], law: RateMixture, params: Params) -> Floats:
    """Shares in resamples of items, shape (resamples, moves, 2)."""
    rng = np.random.Generator(keyed_stream(params.seed, "true rates"))
    n = len(counts[0])
    out = []
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, n, n)
        again = rate_mixture(*(part[drawn] for part in counts), start=law, steps=STEPS)
        out.append([again.share(beyond=beyond) for beyond in moves_of(params)])
    return np.array(out)
