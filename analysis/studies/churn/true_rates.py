"""How many items truly rose or fell, seen or not: the estimated law of the true rates behind the counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import RateMixture, keyed_stream, percentile_interval, posterior_change, rate_mixture

from .parameters import Params
from .versions import Versions

Floats = npt.NDArray[np.float64]
Limits = tuple[float, float]

MOST_COUNTS = 3000  # different pairs of counts; with so many samples the tests see what there is
MOVES = (0.2, 0.4)
TELLING = 0.2  # the move that items and sentences speak of; smaller ones hang on the grid
FEWEST_ITEMS = 100  # for a sentence about shares
RESAMPLES, STEPS = 100, 300  # of items, and of the algorithm in each, from the law of all items


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """Estimated shares of all items whose true rate rose, and fell, by more than ``beyond``, with bootstrap intervals."""

    beyond: float
    rose: float
    rose_interval: Limits
    fell: float
    fell_interval: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class TrueRates:
    """Estimates over the items, and per item the probabilities of a rise and of a fall beyond `TELLING`.

    ``false_sign`` is the local false sign rate of every item.
    """

    moves: tuple[Moved, ...]
    rose: Floats
    fell: Floats
    false_sign: Floats

    @property
    def telling(self) -> Moved:
        """The move that sentences speak of."""
        return next(move for move in self.moves if move.beyond == TELLING)


def estimate(versions: Versions, params: Params) -> TrueRates | None:
    """The law of true rates over all compared items; None for graded scores and for too many different counts."""
    counts = (versions.baseline.total, versions.baseline.n, versions.candidate.total, versions.candidate.n)
    if not versions.binary or len(np.unique(np.stack(counts), axis=1).T) > MOST_COUNTS:
        return None
    law = rate_mixture(*counts)
    resampled = _resampled(counts, law, params)
    moves = []
    for i, beyond in enumerate(MOVES):
        rose, fell = law.share(beyond=beyond)
        intervals = [percentile_interval(resampled[:, i, side], level=1 - params.alpha) for side in (0, 1)]
        moves.append(Moved(beyond=beyond, rose=rose, rose_interval=intervals[0], fell=fell, fell_interval=intervals[1]))
    rose_by, fell_by = posterior_change(law, *counts, beyond=TELLING)
    up, down = posterior_change(law, *counts)
    return TrueRates(moves=tuple(moves), rose=rose_by, fell=fell_by, false_sign=1 - np.maximum(up, down))


def _resampled(counts: tuple[npt.NDArray[np.generic], ...], law: RateMixture, params: Params) -> Floats:
    """Shares in resamples of items, shape (resamples, moves, 2)."""
    rng = np.random.Generator(keyed_stream(params.seed, "true rates"))
    n = len(counts[0])
    out = []
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, n, n)
        again = rate_mixture(*(part[drawn] for part in counts), start=law, steps=STEPS)
        out.append([again.share(beyond=beyond) for beyond in MOVES])
    return np.array(out)
