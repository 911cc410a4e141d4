"""Quantile and mean of the worst outcomes, from the values themselves and from a fitted tail."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.checks import checked_probability, checked_whole
from analysis.stats.gpd_profile import Floats
from analysis.stats.tails import GpdFit, checked_values

BLOCK = 500_000  # counts at a time


def tvar(x: ArrayLike, *, level: float) -> float:
    """Tail value at risk, the mean of the largest share ``1 − level`` of the values.

    Parameters
    ----------
    x
        Shape (n,), finite; larger is worse.
    level
        Probability in (0, 1); .9 gives the mean of the worst tenth.

    Returns
    -------
    float
        In the unit of the values. A fractional number of values, n(1 − level), weighs the last one with its
        fraction, so that ties and small samples do not matter.

    Raises
    ------
    ValueError
        No values, values that are not finite, or a level outside (0, 1).

    Notes
    -----
    Rockafellar and Uryasev (2000, J. Risk 2:21): the minimum over t of t + mean (x − t)₊/(1 − level).

    Examples
    --------
    >>> [round(tvar(range(1, 11), level=level), 4) for level in (0.9, 0.85, 0.75)]
    [10.0, 9.6667, 9.2]
    """
    values = checked_values(x)
    size = _tail_size(values.size, level)
    order = np.sort(values)[::-1]
    whole = min(int(size), values.size - 1)
    return float((order[:whole].sum() + (size - whole) * order[whole]) / size)


def tail_items(values: ArrayLike, *, level: float) -> NDArray[np.intp]:
    """Items that the TVaR of a resample can depend on: the largest, with room for chance.

    Parameters
    ----------
    values
        Shape (n,), finite.
    level
        Probability in (0, 1).

    Returns
    -------
    ndarray of intp, shape (k,)
        Places of the largest n(1 − level) values and 8 standard deviations more, ascending. A resample needs
        others with probability under 1e-15.

    Raises
    ------
    ValueError
        Values that `tvar` refuses, or a level outside (0, 1).

    Examples
    --------
    >>> int(tail_items(np.arange(1000.0), level=0.9).min())
    812
    """
    x = checked_values(values)
    size = _tail_size(x.size, level)
    k = min(x.size, math.ceil(size + 8 * math.sqrt(size)) + 8)
    return np.sort(np.argsort(-x, kind="stable")[:k])


def resampled_tvar(
    values: ArrayLike, counts: NDArray[np.integer], *, level: float, n: int | NDArray[np.integer]
) -> Floats:
    """TVaR of resamples that are given as counts, exact at fractional tails.

    Parameters
    ----------
    values
        Shape (k,), finite: all values of the sample, or at least its `tail_items`.
    counts
        Shape (B, k): how often each of them was drawn.
    level
        Probability in (0, 1).
    n
        Draws per resample, those of values that are left out included; shape (B,) where clusters were drawn and
        resamples differ in size.

    Returns
    -------
    ndarray of float64, shape (B,)
        In the unit of the values.

    Raises
    ------
    ValueError
        Counts of another shape, or a resample that holds fewer than n(1 − level) draws of the values given.

    Examples
    --------
    >>> resampled_tvar([1.0, 2.0, 3.0, 4.0], np.array([[1, 1, 1, 1], [0, 0, 3, 1]]), level=0.5, n=4)
    array([3.5, 3.5])
    """
    x = checked_values(values)
    given = np.asarray(counts)
    if given.ndim != 2 or given.shape[1] != x.size or given.dtype.kind not in "iu":
        raise ValueError(
            f"counts of shape {given.shape} and type {given.dtype}: give whole numbers, one row per resample "
            f"and one column for each of the {x.size} values"
        )
    draws = np.broadcast_to(checked_whole("n", n, least=1), len(given))
    sizes = np.array([_tail_size(int(one), level) for one in draws])
    if not sizes.size:
        return sizes
    order = np.argsort(-x, kind="stable")
    ranked = x[order]
    least, most = float(sizes.min()), float(sizes.max())
    head = min(x.size, max(0, int(least - 5 * math.sqrt(least) - 8)))
    reach = min(x.size, math.ceil(most + 5 * math.sqrt(most) + 8))
    out = np.empty(len(given))
    step = max(1, BLOCK // reach)
    for start in range(0, len(given), step):
        part = slice(start, start + step)
        out[part] = _block_tvar(ranked[:reach], given[part][:, order[:reach]], head, sizes[part])
    for row in np.flatnonzero(np.isnan(out)):
        out[row] = _block_tvar(ranked, given[row][order][None, :], 0, sizes[[row]])[0]
        if np.isnan(out[row]):
            drawn = int(given[row].sum())
            raise ValueError(f"resample {row} holds {drawn} draws of its {sizes[row]:g} largest: give more values")
    return out


def var_from_fit(fit: GpdFit, *, threshold: float, n: int, level: float) -> float:
    """Quantile of all values from the fit of their tail.

    Parameters
    ----------
    fit
        Fit of the excesses over the threshold.
    threshold
        In the unit of the values.
    n
        All values, at least as many as the fit has excesses.
    level
        Probability in (0, 1), at or over the share of values that do not exceed the threshold.

    Returns
    -------
    float
        In the unit of the values.

    Raises
    ------
    ValueError
        A level under the threshold's, or fewer values than excesses.

    Notes
    -----
    McNeil, Frey and Embrechts (2005), equation 7.18: u + (σ/ξ)[((1 − level) n/n_exc)^(−ξ) − 1].

    Examples
    --------
    >>> from analysis.stats.tails import fit_gpd
    >>> fit = fit_gpd(-np.log1p(-(np.arange(300) + 0.5) / 300))
    >>> round(var_from_fit(fit, threshold=3.0, n=6000, level=0.99), 2)
    4.61
    """
    whole = int(checked_whole("n", n, least=1))
    share = fit.n / whole
    rest = 1 - checked_probability("level", level)
    if share > 1:
        raise ValueError(f"n = {whole} values, but {fit.n} excesses: count all values in n")
    if rest > share * (1 + 1e-12):
        raise ValueError(f"level = {level!r} lies under the threshold's {1 - share:.6g}: read it off the values")
    steps = np.asarray(math.log(share / rest))
    return threshold + fit.sigma * float(_from_exponential(steps, fit.xi))


def gpd_quantile(p: ArrayLike, *, xi: float, sigma: float) -> Floats:
    """Quantiles of the generalised Pareto law of excesses, (σ/ξ)[(1 − p)^(−ξ) − 1].

    Parameters
    ----------
    p
        Probabilities, 0 to under 1, of any shape.
    xi, sigma
        Tail index and scale.

    Returns
    -------
    ndarray of float64
        In the unit of ``sigma``, shape of ``p``.

    Raises
    ------
    ValueError
        A probability outside [0, 1).

    Notes
    -----
    Coles (2001), equation 4.2, inverted.

    Examples
    --------
    >>> gpd_quantile([0, 0.5, 0.75], xi=1, sigma=2)
    array([0., 2., 6.])
    """
    at = np.asarray(p, dtype=np.float64)
    if not ((at >= 0) & (at < 1)).all():
        raise ValueError("a probability lies outside [0, 1)")
    return sigma * _from_exponential(-np.log1p(-at), xi)


def tvar_from_fit(fit: GpdFit, *, threshold: float, n: int, level: float) -> float | None:
    """Mean of the values over their `var_from_fit`, from the fit of their tail.

    Parameters
    ----------
    fit, threshold, n, level
        As in `var_from_fit`.

    Returns
    -------
    float or None
        In the unit of the values; None for ξ ≥ 1, whose mean is infinite.

    Raises
    ------
    ValueError
        As `var_from_fit`.

    Notes
    -----
    McNeil, Frey and Embrechts (2005), equation 7.19: (VaR + σ − ξu)/(1 − ξ).

    Examples
    --------
    >>> from analysis.stats.tails import fit_gpd
    >>> fit = fit_gpd(-np.log1p(-(np.arange(300) + 0.5) / 300))
    >>> round(tvar_from_fit(fit, threshold=3.0, n=6000, level=0.99), 2)
    5.6
    """
    quantile = var_from_fit(fit, threshold=threshold, n=n, level=level)
    return None if fit.xi >= 1 else (quantile + fit.sigma - fit.xi * threshold) / (1 - fit.xi)


def mean_excess(values: ArrayLike, thresholds: ArrayLike) -> Floats:
    """Mean excess over every threshold, e(u) = mean (x − u | x > u); a straight line for a generalised Pareto tail.

    Parameters
    ----------
    values
        Shape (n,), finite.
    thresholds
        Shape (k,), in the unit of the values.

    Returns
    -------
    ndarray of float64, shape (k,)
        In the unit of the values; NaN where no value exceeds the threshold.

    Raises
    ------
    ValueError
        No values, or values or thresholds that are not finite.

    Examples
    --------
    >>> mean_excess([1.0, 2.0, 3.0, 6.0], [0.0, 2.0, 6.0])
    array([3. , 2.5, nan])
    """
    x, u = np.sort(checked_values(values)), checked_values(thresholds)
    first = np.searchsorted(x, u, side="right")
    above = x.size - first
    sums = np.append(np.cumsum(x[::-1])[::-1], 0.0)[first]
    return np.where(above > 0, sums / np.maximum(above, 1) - u, np.nan)


def _tail_size(n: int, level: float) -> float:
    """n(1 − level) without the rounding error of 1 − level, so that .9 of 10 leaves exactly 1."""
    size = n * (1 - checked_probability("level", level))
    return float(round(size)) if 0 < abs(size - round(size)) < 1e-9 * n and round(size) else size


def _block_tvar(ranked: Floats, counts: NDArray[np.integer], head: int, sizes: Floats) -> Floats:
    """TVaR per row of counts of the largest values; NaN where the head is too large or the values too few.

    The draws of the first ``head`` values are all taken; the others are walked through until the tail is full.
    """
    top = np.column_stack([ranked[:head], np.ones(head)])
    sums, drawn = (counts[:, :head].astype(np.float64) @ top).T
    middle = counts[:, head:]
    through = np.cumsum(middle, axis=1, dtype=np.int64)
    taken = np.clip((sizes - drawn)[:, None] - (through - middle), 0.0, middle)
    total = sums + taken @ ranked[head:]
    reached = drawn + (through[:, -1] if middle.shape[1] else 0) >= sizes * (1 - 1e-12)
    return np.where((drawn <= sizes) & reached, total / sizes, np.nan)


def _from_exponential(quantiles: Floats, xi: float) -> Floats:
    """Quantiles of the law with σ = 1 from those of the exponential."""
    return quantiles if xi == 0 else np.asarray(np.expm1(xi * quantiles) / xi)
