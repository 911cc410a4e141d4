"""Random splits that can be reproduced, and the bootstrap of a mean without resampling.

The ideal bootstrap is the limit of infinitely many resamples. The mean of a resample has a known cumulant
function, so its law follows from a saddlepoint expansion: no draws, no seed, less error than 10,000 draws.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, ndtr, ndtri, xlogy

from analysis.stats.checks import checked_probability, checked_whole

Floats = NDArray[np.float64]
SMALL_SKEW = 0.1  # of the mean: the Cornish-Fisher expansion then agrees to 0.0005 standard errors
ATOM = 1e-12  # variance of one draw, in squared ranges, under which a group counts as a single value


def keyed_stream(seed: int, *labels: str) -> np.random.PCG64:
    """Bit generator of a unit, keyed by its labels: adding a unit moves no other unit's numbers.

    Parameters
    ----------
    seed
        Whole number of 0 or more.
    *labels
        What names the unit; ("a", "bc") and ("ab", "c") give different streams.

    Returns
    -------
    numpy.random.PCG64
        Seeded from ``seed`` and the SHA-256 digest of the labels.

    Raises
    ------
    ValueError
        A seed that is negative or not whole.

    Examples
    --------
    >>> one, same = keyed_stream(0, "bert-base", "500"), keyed_stream(0, "bert-base", "500")
    >>> one.random_raw() == same.random_raw()
    True
    """
    checked_whole("seed", seed, least=0)
    digest = hashlib.sha256(json.dumps(labels).encode()).digest()
    words = [int.from_bytes(digest[i : i + 4]) for i in range(0, len(digest), 4)]
    return np.random.PCG64(np.random.SeedSequence([int(seed), *words]))


def permutations(stream: np.random.PCG64, n_splits: int, n: int) -> NDArray[np.intp]:
    """Random permutations of ``range(n)``; more splits leave the first ones as they were.

    Parameters
    ----------
    stream
        Bit generator of the unit; it is advanced by ``n_splits * n`` words.
    n_splits, n
        Numbers of permutations and of items, at least 1.

    Returns
    -------
    ndarray of intp, shape (n_splits, n)
        A permutation per row.

    Raises
    ------
    ValueError
        A number under 1 or not whole.

    Notes
    -----
    Rows of raw 64-bit words are sorted, which stays the same across numpy versions (NEP 19).

    Examples
    --------
    >>> np.sort(permutations(keyed_stream(0, "cell"), 2, 4)).tolist()
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    checked_whole("n_splits", n_splits, least=1)
    checked_whole("n", n, least=1)
    words = stream.random_raw(n_splits * n).reshape(n_splits, n)
    return np.asarray(np.argsort(words, axis=1, kind="stable"))


def ideal_bootstrap_below(values: ArrayLike, limit: ArrayLike) -> Floats:
    """Probability that the mean of a bootstrap resample lies under a limit, P*(b̄* < limit).

    Parameters
    ----------
    values
        Shape (..., n), finite; one sample per row.
    limit
        Number or shape (...), in the unit of the values.

    Returns
    -------
    ndarray of float64, shape (...)
        Probabilities; of no dimension for a single sample, so that ``float`` takes it.

    Raises
    ------
    ValueError
        No values, or values that are not finite.

    Notes
    -----
    Cornish and Fisher (1938, Rev. Int. Stat. Inst. 5:307) where skewness/√n and excess kurtosis/n stay under
    0.1, else Lugannani and Rice (1980) in the r* form of Barndorff-Nielsen (1986, Biometrika 73:307); for the
    bootstrap Davison and Hinkley (1988, Biometrika 75:417). Both smooth over the lattice of a sample with few
    distinct values; `grouped_bootstrap_below` does not.

    Examples
    --------
    >>> round(float(ideal_bootstrap_below([1, 2, 3, 4, 10], 3.0)), 3)
    0.264
    """
    sample = _checked_sample(values)
    shape = sample.shape[:-1]
    rows = sample.reshape(-1, sample.shape[-1])
    limits = np.broadcast_to(np.asarray(limit, dtype=np.float64), shape).reshape(-1)
    mean, sd, z, skew, kurtosis = _standardised(rows)
    n = rows.shape[1]
    target = (limits - mean) / np.where(sd > 0, sd, 1.0)
    y = target * np.sqrt(n)
    score = y - skew * (y**2 - 1) / 6 - kurtosis * (y**3 - 3 * y) / 24 + skew**2 * (4 * y**3 - 7 * y) / 36
    below = ndtr(np.where(np.abs(y) < 8, score, y))
    at_edge = limits == rows.max(axis=1)
    below[at_edge] = 1 - np.mean(rows[at_edge] == limits[at_edge, None], axis=1) ** n
    low, high = rows.min(axis=1), rows.max(axis=1)
    below[limits <= low] = 0.0
    below[limits > high] = 1.0
    hard = ~_expandable(skew, kurtosis) & (limits > low) & (limits < high)
    if hard.any():
        z, wanted = z[hard], target[hard]
        tilt = _rising_root(lambda t: _tilted(z, t)[1], wanted, z)
        below[hard] = ndtr(_signed_root(z, tilt))
    return np.asarray(np.clip(below, 0.0, 1.0)).reshape(shape)


def ideal_bootstrap_quantile(values: ArrayLike, q: float) -> Floats:
    """Quantile of the mean of a bootstrap resample, the limit of infinitely many resamples.

    Parameters
    ----------
    values
        Shape (..., n), finite; one sample per row.
    q
        Probability in (0, 1); 0.1 gives a one-sided 90 % lower confidence limit.

    Returns
    -------
    ndarray of float64, shape (...)
        In the unit of the values; of no dimension for a single sample. Constant values return the value.

    Raises
    ------
    ValueError
        No values, values that are not finite, or ``q`` outside (0, 1).

    Notes
    -----
    Methods and sources as in `ideal_bootstrap_below`.

    Examples
    --------
    >>> round(float(ideal_bootstrap_quantile([0.0] * 50 + [1.0] * 150, 0.05)), 3)
    0.699
    """
    sample = _checked_sample(values)
    rows = sample.reshape(-1, sample.shape[-1])
    x = float(ndtri(checked_probability("q", q)))
    mean, sd, z, skew, kurtosis = _standardised(rows)
    score = x + skew * (x**2 - 1) / 6 + kurtosis * (x**3 - 3 * x) / 24 - skew**2 * (2 * x**3 - 5 * x) / 36
    point = mean + sd * score / np.sqrt(rows.shape[1])
    hard = ~_expandable(skew, kurtosis) & (sd > 0)
    if hard.any():
        z = z[hard]
        tilt = _rising_root(lambda t: _signed_root(z, t), np.full(z.shape[0], x), z)
        point[hard] = mean[hard] + sd[hard] * _tilted(z, tilt)[1]
    return np.asarray(np.clip(point, rows.min(axis=1), rows.max(axis=1))).reshape(sample.shape[:-1])


def grouped_bootstrap_below(low: Floats, high: Floats) -> Floats:
    """P*(b̄* < limit) from the moments of the values under and over the limit.

    The number of draws from under the limit is binomial; given it, the resample's sum is a sum of two
    independent sums, each close to normal even when the sample itself has two far modes. So the lattice that
    collapsed runs leave in the law of the mean is kept, which the saddlepoint smooths over.

    Parameters
    ----------
    low, high
        Shape (4, rows): count, sum, sum of squares and sum of cubes of ``value - limit`` over the values
        under the limit and over the others, in units of the largest distance. Both counts at least 1.

    Returns
    -------
    ndarray of float64, shape (rows,)
        Probabilities. A group of variance under 1e-12 counts as a single value, a sum within 1e-9 of the
        limit as not under it.

    Notes
    -----
    Total probability over the binomial count with a one-term Edgeworth expansion inside (Feller 1971, XVI.4).

    Examples
    --------
    One failure of five at distance 1, four passes at distance ½: two or more draws of the failure are needed.

    >>> low, high = np.array([[1.0], [-1.0], [1.0], [-1.0]]), np.array([[4.0], [2.0], [1.0], [0.5]])
    >>> grouped_bootstrap_below(low, high).round(4)
    array([0.2627])
    """
    cases, back = np.unique(np.stack([low[0], high[0]]), axis=1, return_inverse=True)
    n = cases.sum(axis=0)[:, None]
    drawn = np.arange(int(n.max()) + 1.0)
    rest = np.maximum(n - drawn, 0.0)
    log_mass = gammaln(n + 1) - gammaln(drawn + 1) - gammaln(rest + 1)
    log_mass += xlogy(drawn, cases[0][:, None] / n) + xlogy(rest, cases[1][:, None] / n)
    mass = np.where(drawn <= n, np.exp(log_mass), 0.0)
    mean, variance, third = (
        low_part[:, None] * drawn + high_part[:, None] * rest[back]
        for low_part, high_part in zip(_central(low), _central(high), strict=True)
    )
    single = variance <= 0.0
    sd = np.sqrt(np.where(single, 1.0, variance))
    y = np.clip(-mean / sd, -30.0, 30.0)
    correction = third / sd**3 / 6 * (y**2 - 1) * np.exp(-(y**2) / 2) / np.sqrt(2 * np.pi)
    below = np.where(single, mean < -1e-9, np.clip(ndtr(y) - correction, 0.0, 1.0))
    return np.asarray(np.sum(mass[back] * below, axis=1))


def _central(sums: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, variance and third central moment of one draw; the last two 0 for a single value."""
    count, first, second, third = sums
    mean = first / count
    variance = second / count - mean**2
    cube = third / count - 3 * mean * second / count + 2 * mean**3
    spread = variance > ATOM
    return mean, np.where(spread, variance, 0.0), np.where(spread, cube, 0.0)


def _standardised(rows: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Mean, sd (ddof 0), z-values, and skewness and excess kurtosis of the mean of n draws, per row."""
    n = rows.shape[1]
    mean = rows.mean(axis=1)
    constant = rows.min(axis=1) == rows.max(axis=1)
    mean[constant] = rows[constant, 0]
    sd = np.where(constant, 0.0, rows.std(axis=1))
    z = (rows - mean[:, None]) / np.where(sd > 0, sd, 1.0)[:, None]
    square = z * z
    skew = (square * z).mean(axis=1) / np.sqrt(n)
    kurtosis = np.where(sd > 0, (square * square).mean(axis=1) - 3, 0.0) / n
    return mean, sd, z, skew, kurtosis


def _expandable(skew: Floats, kurtosis: Floats) -> NDArray[np.bool_]:
    return (np.abs(skew) < SMALL_SKEW) & (np.abs(kurtosis) < SMALL_SKEW)


def _tilted(z: Floats, tilt: Floats) -> tuple[Floats, Floats, Floats]:
    """Cumulant function of one draw and its first two derivatives at the tilt, per row."""
    exponent = tilt[:, None] * z
    top = exponent.max(axis=1)
    weight = np.exp(exponent - top[:, None])
    total = weight.sum(axis=1)
    first = (weight * z).sum(axis=1) / total
    second = (weight * (z - first[:, None]) ** 2).sum(axis=1) / total
    return top + np.log(total / z.shape[1]), first, second


def _signed_root(z: Floats, tilt: Floats) -> Floats:
    """r* = w + log(u/w)/w of Barndorff-Nielsen (1986), the normal score of the saddlepoint law."""
    n = z.shape[1]
    cumulant, first, second = _tilted(z, tilt)
    w = np.sign(tilt) * np.sqrt(np.maximum(2 * n * (tilt * first - cumulant), 0.0))
    u = tilt * np.sqrt(n * second)
    near = np.abs(w) < 1e-4  # the removable singularity at the mean, where r* is a sixth of the skewness
    usable = ~near & (u * w > 0)
    ratio = np.where(usable, u, 1.0) / np.where(usable, w, 1.0)
    skew = (z**3).mean(axis=1) / np.sqrt(n)
    root = np.where(near, w + skew / 6, w)
    return np.asarray(root + np.where(usable, np.log(ratio) / np.where(usable, w, 1.0), 0.0))


def _rising_root(function: Callable[[Floats], Floats], target: Floats, z: Floats) -> Floats:
    """Per row of z-values the tilt at which a rising function reaches its target, by bisection.

    The bracket grows from a small one, because r* turns back where the tilted law has shrunk to one atom.
    """
    high = 0.125 / np.abs(z).max(axis=1)
    low = -high
    for _ in range(24):
        low = np.where(function(low) > target, 2 * low, low)
        high = np.where(function(high) < target, 2 * high, high)
    for _ in range(60):
        middle = (low + high) / 2
        under = function(middle) < target
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return np.asarray((low + high) / 2)


def _checked_sample(values: ArrayLike) -> Floats:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim == 0 or sample.shape[-1] == 0:
        raise ValueError(f"values of shape {sample.shape}: give at least one value per sample")
    if not np.isfinite(sample).all():
        raise ValueError(f"a value is {sample[~np.isfinite(sample)].flat[0]}: leave out what was not measured")
    return sample
