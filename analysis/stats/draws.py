"""Resamples as counts: how often every prompt was drawn, shared by all models that answered it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.checks import checked_probability, checked_whole

Floats = NDArray[np.float64]
Stream = np.random.Generator | np.random.BitGenerator

BLOCK = 30_000  # draws at a time: they and their counts stay in the cache


def resample_counts(
    n: int, n_resamples: int, *, rng: Stream, keep: NDArray[np.integer] | None = None
) -> NDArray[np.uint8]:
    """Counts of bootstrap resamples: row b says how often every item was drawn, n draws with replacement.

    Parameters
    ----------
    n
        Items, at least 1.
    n_resamples
        Resamples, at least 1; more of them leave the first ones as they were.
    rng
        Generator or bit generator of 64-bit words; it is advanced by ``ceil(n/2)`` words per resample.
    keep
        Shape (k,), items whose counts are wanted; all when None. It selects columns of the same draws, so
        that a model's numbers do not depend on which other models there are.

    Returns
    -------
    ndarray of uint8, shape (n_resamples, n) or (n_resamples, k)
        Rows of all items sum to n.

    Raises
    ------
    ValueError
        A number under 1 or not whole, items to keep that do not exist, or a generator of 32-bit words.

    Notes
    -----
    A 32-bit half word is mapped to [0, n) by multiply and shift (Lemire 2019, ACM TOMACS 29:3); an item's
    probability is off by less than ``n * 2**-32`` of itself. The draws depend neither on blocks nor on numpy's version.

    Examples
    --------
    >>> resample_counts(4, 3, rng=np.random.PCG64(1)).sum(axis=1)
    array([4, 4, 4], dtype=uint64)
    """
    items, rows = int(checked_whole("n", n, least=1)), int(checked_whole("n_resamples", n_resamples, least=1))
    if keep is not None and keep.size and not (keep.min() >= 0 and keep.max() < items):
        raise ValueError(f"keep = {keep[(keep < 0) | (keep >= items)][0]}: give items between 0 and {items - 1}")
    out = np.empty((rows, items if keep is None else keep.size), dtype=np.uint8)
    for block, counts in _count_blocks(items, rows, rng):
        out[block] = counts if keep is None else counts[:, keep]  # a count of 256 has probability 1e-500
    return out


def raw_words(rng: Stream, n: int) -> NDArray[np.uint64]:
    """The next n raw 64-bit words of a generator, the part of its stream that numpy keeps (NEP 19).

    Raises
    ------
    ValueError
        The generator's raw words have 32 bits (MT19937) or it is not a generator.
    """
    bits = rng.bit_generator if isinstance(rng, np.random.Generator) else rng
    if not isinstance(bits, np.random.BitGenerator) or isinstance(bits, np.random.MT19937):
        raise ValueError(f"rng = {rng!r}: give keyed_stream(seed, ...) or numpy.random.default_rng(seed)")
    return np.asarray(bits.random_raw(n), dtype=np.uint64)


def percentile_interval(draws: ArrayLike, *, level: float) -> tuple[float, float]:
    """Percentile interval of bootstrap draws, Efron (1979): the quantiles at (1 ∓ level)/2.

    Parameters
    ----------
    draws
        Shape (B,), finite, in the unit of the estimate.
    level
        Confidence level in (0, 1).

    Returns
    -------
    tuple of float
        Lower and upper end.

    Raises
    ------
    ValueError
        No draws, draws that are not finite (with their number), or a level outside (0, 1).

    Notes
    -----
    For the shape of a tail it covers too little, .90-.93 instead of .95 at 300 exceedances;
    `profile_interval` does not.

    Examples
    --------
    >>> percentile_interval(np.arange(101.0), level=0.5)
    (25.0, 75.0)
    """
    values = np.asarray(draws, dtype=np.float64)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(f"draws of shape {values.shape}: give one dimension, a value per resample")
    bad = int((~np.isfinite(values)).sum())
    if bad:
        raise ValueError(f"{bad} of {values.size} draws are not finite: the estimate did not exist in those resamples")
    tail = (1 - checked_probability("level", level)) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def _count_blocks(n: int, rows: int, rng: Stream) -> Iterator[tuple[slice, NDArray[np.intp]]]:
    """Counts of all items by blocks of rows."""
    words = (n + 1) // 2
    step = max(1, BLOCK // n)
    factor = np.uint64(n)
    for start in range(0, rows, step):
        block = min(step, rows - start)
        halves = raw_words(rng, block * words).astype("<u8", copy=False).view("<u4")
        drawn = halves.reshape(block, 2 * words)[:, :n].astype(np.uint64)
        drawn *= factor
        drawn >>= np.uint64(32)
        place = drawn.view(np.int64)
        place += (np.arange(block) * n)[:, None]
        yield slice(start, start + block), np.bincount(place.ravel(), minlength=block * n).reshape(block, n)
