"""Bootstrap refits of a generalised Pareto law, all resamples of one sample at once.

Resamples share their values, so the profile likelihood of every one is linear in its counts. It is tabulated
at Chebyshev nodes of s = log(θ + 1/max x), where its singularities lie π away from the real axis, and one
matrix product gives each resample's likelihood as a polynomial; Newton's method then costs O(nodes) each.
Resamples whose maximum lies outside the nodes, or who lack the largest values when ξ < 0, are regrouped by
their own maximum or solved one by one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.checks import checked_whole
from analysis.stats.draws import Stream, resample_counts
from analysis.stats.gpd_profile import Floats, Maximum, climb, maximise, score, score_parts
from analysis.stats.tails import checked_excess

BATCH = 4_000_000  # counts at a time, one byte each
BLOCK = 60_000  # counts of one matrix product
ORDER = 44
TAIL, HEAVY_TAIL = 1e-13, 1e-15  # Chebyshev coefficients under this, relative to the largest, are left out
HEAVY, HEAVIEST = 0.1, 0.05  # σ in means: σ = m₁ + θA loses digits with its square
STEP = 3e-6  # last step of Newton's method in s; the error left is about its square
TOP = 48  # largest values looked at to learn a resample's maximum
REGROUP = 3  # resamples with one maximum that pay for a table of their own


def bootstrap_gpd(excess: ArrayLike, n_resamples: int, *, rng: Stream) -> tuple[Floats, Floats]:
    """ξ̂ and σ̂ of bootstrap resamples of a sample of excesses.

    Parameters
    ----------
    excess
        Shape (n,), values over the threshold less the threshold, positive.
    n_resamples
        Resamples, at least 1; more of them leave the first ones as they were.
    rng
        Generator or bit generator, such as `keyed_stream` returns.

    Returns
    -------
    xi, sigma : ndarray of float64, shape (n_resamples,)
        Maximum likelihood over ξ ≥ −1 of every resample, to 1e-8; NaN where a resample holds one distinct value.

    Raises
    ------
    ValueError
        Excesses that `fit_gpd` refuses, or a number under 1.

    Examples
    --------
    >>> excess = -np.log1p(-(np.arange(500) + 0.5) / 500)
    >>> xi, sigma = bootstrap_gpd(excess, 1000, rng=np.random.PCG64(0))
    >>> round(float(xi.std()), 3)  # theory: (1 + xi)/sqrt(n) = 0.045
    0.045
    """
    x = np.sort(checked_excess(excess))
    rows = int(checked_whole("n_resamples", n_resamples, least=1))
    sample = _sample(x)
    xi, sigma = np.empty(rows), np.empty(rows)
    step = max(1, BATCH // x.size)
    for start in range(0, rows, step):
        part = slice(start, min(start + step, rows))
        xi[part], sigma[part] = _solve(sample, resample_counts(x.size, part.stop - start, rng=rng))
    return xi, sigma


def refit_gpd(excess: ArrayLike, counts: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """ξ̂ and σ̂ of resamples that are given as counts.

    With counts of prompts, the same resamples serve several models and several thresholds.

    Parameters
    ----------
    excess
        Shape (n,), excesses of the original sample, positive.
    counts
        Shape (B, n), whole numbers of 0 or more: how often each excess is in each resample. Rows need not have
        one total.

    Returns
    -------
    xi, sigma : ndarray of float64, shape (B,)
        Maximum likelihood over ξ ≥ −1 of every resample, to 1e-8; NaN where a resample holds fewer than two
        distinct values.

    Raises
    ------
    ValueError
        Excesses that `fit_gpd` refuses, or counts of another shape or type.

    Examples
    --------
    >>> xi, sigma = refit_gpd([0.2, 0.5, 1.0, 9.0], np.array([[1, 1, 1, 1], [0, 3, 0, 0]]))
    >>> xi.round(2)
    array([0.87,  nan])
    """
    values = checked_excess(excess)
    given = np.asarray(counts)
    if given.ndim != 2 or given.shape[1] != values.size or given.dtype.kind not in "iu":
        raise ValueError(
            f"counts of shape {given.shape} and type {given.dtype}: give whole numbers, one row per resample "
            f"and one column for each of the {values.size} excesses"
        )
    if given.size and given.min() < 0:
        raise ValueError(f"a count is {given.min()}: give 0 or more")
    sample = _sample(values)
    xi, sigma = np.empty(len(given)), np.empty(len(given))
    step = max(1, BATCH // values.size)
    for start in range(0, len(given), step):
        part = slice(start, start + step)
        xi[part], sigma[part] = _solve(sample, given[part])
    return xi, sigma


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spectrum:
    """Chebyshev coefficients of every value's share in A, for samples over one set of values.

    ``matrix`` has shape (n, order + 2): coefficients in z = (s − centre)/half, then x, then 1.
    """

    matrix: Floats
    centre: float
    half: float
    shift: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    """One sample of excesses, made ready once for all its resamples.

    ``x`` holds the excesses over their mean ``scale``, ascending: values[order]/scale. ``theta`` is ξ̂/σ̂ of the
    sample in that unit; ``plain`` the table whose rows have the order of the values, None where there is none.
    """

    x: Floats
    order: NDArray[np.intp]
    scale: float
    theta: float
    plain: _Spectrum | None


def _sample(values: Floats) -> _Sample:
    scale = float(values.mean())
    order = np.argsort(values, kind="stable")
    x = values[order] / scale
    theta, plain = 0.0, None
    if x[0] < x[-1]:
        best = maximise(x, np.ones((1, x.size)))[0]
        theta = best.xi / best.sigma
        plain = _spectrum(x, best, order)
    return _Sample(x=x, order=order, scale=scale, theta=theta, plain=plain)


def _solve(sample: _Sample, counts: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """ξ̂ and σ̂ per row of counts, whose columns have the order of the values."""
    xi, sigma = np.full(len(counts), np.nan), np.full(len(counts), np.nan)
    rows = np.arange(len(counts))
    if sample.plain is not None:
        xi, sigma = _polynomial_maxima(sample.plain, counts)
        held = counts[:, sample.order[-TOP:]] > 0
        largest = np.where(held.any(axis=1), sample.x[-1 - np.argmax(held[:, ::-1], axis=1)], 0.0)
        rows = np.flatnonzero(~_above_boundary(xi, sigma, largest))
    step = max(1, BATCH // (8 * sample.x.size))
    for start in range(0, rows.size, step):
        chosen = rows[start : start + step]
        xi[chosen], sigma[chosen] = _solve_apart(sample, counts[chosen][:, sample.order])
    return xi, sigma * sample.scale


def _solve_apart(sample: _Sample, counts: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """ξ̂ and σ̂ per row of counts in ascending order: by tables for rows of one maximum, then one by one."""
    xi, sigma = np.full(len(counts), np.nan), np.full(len(counts), np.nan)
    tops = counts.shape[1] - 1 - np.argmax(counts[:, ::-1] > 0, axis=1)
    for top in np.unique(tops):
        x = sample.x[: top + 1]
        mine = np.flatnonzero(tops == top)
        mine = mine[(counts[mine][:, : top + 1][:, x < x[-1]] > 0).any(axis=1)]
        if mine.size >= REGROUP and x[-1] < sample.x[-1]:
            table = _spectrum(x, _exact(x, np.ones(x.size), sample.theta))
            if table is not None:
                xi[mine], sigma[mine] = _polynomial_maxima(table, counts[mine, : top + 1])
                mine = mine[~_above_boundary(xi[mine], sigma[mine], np.full(mine.size, x[-1]))]
        for row in mine:
            best = _exact(x, counts[row, : top + 1].astype(np.float64), sample.theta)
            xi[row], sigma[row] = best.xi, best.sigma
    return xi, sigma


def _exact(x: Floats, weights: Floats, theta: float) -> Maximum:
    """Maximum of one weighted sample, next to θ of its relatives if there is one."""
    used = weights > 0
    near = max(theta + 1 / x[-1], 0.05 / x[-1])
    return climb(x[used], weights[used], near) or maximise(x, weights[None])[0]


def _spectrum(x: Floats, whole: Maximum, order: NDArray[np.intp] | None = None) -> _Spectrum | None:
    """Table of ascending values around their own maximum, its rows put to the places in ``order``.

    None where it would lose its digits.
    """
    if whole.boundary or whole.xi < -0.95 or whole.sigma < HEAVIEST:
        return None
    e = whole.xi / whole.sigma + 1 / x[-1]
    # expected information (Smith 1985), by the delta method for log e
    spread = (1 + whole.xi) * math.sqrt(max(1 + 2 * whole.xi, 0.05) / x.size) / (whole.sigma * e)
    half = min(max(6 * spread, 0.05), 3.0)
    centre = math.log(e)
    # coefficients fall like rho^-k, for singularities at a distance of pi
    rho = math.pi / half + math.hypot(1, math.pi / half)
    smallest = TAIL if whole.sigma > HEAVY else HEAVY_TAIL
    nodes = min(ORDER, 4 + math.ceil(-math.log(smallest) / math.log(rho)))
    angle = np.pi * (np.arange(nodes) + 0.5) / nodes
    transform = 2 / nodes * np.cos(np.outer(angle, np.arange(nodes)))
    transform[:, 0] /= 2
    coefficients = score_parts(x, np.exp(centre + half * np.cos(angle)))[0] @ transform
    size = np.abs(coefficients).mean(axis=0)
    kept = max(8, 1 + int(np.flatnonzero(size > smallest * size.max())[-1]))
    matrix = np.empty((x.size, kept + 2))
    matrix[slice(None) if order is None else order] = np.column_stack([coefficients[:, :kept], x, np.ones(x.size)])
    return _Spectrum(matrix=matrix, centre=centre, half=half, shift=1 / float(x[-1]))


def _polynomial_maxima(spectrum: _Spectrum, counts: NDArray[np.integer]) -> tuple[Floats, Floats]:
    """ξ̂ and σ̂ of every row of counts by its polynomial; NaN where Newton's method left the nodes."""
    sums = np.empty((len(counts), spectrum.matrix.shape[1]))
    step = max(1, BLOCK // counts.shape[1])
    for start in range(0, len(counts), step):
        part = slice(start, start + step)
        sums[part] = counts[part].astype(np.float64) @ spectrum.matrix
    total = np.maximum(sums[:, -1], 1.0)
    table = np.ascontiguousarray((sums[:, :-1] / total[:, None]).T)
    m1, coefficients = table[-1], table[:-1]
    z, step_size, steep = np.zeros(len(counts)), np.full(len(counts), np.inf), np.zeros(len(counts))
    for _ in range(9):
        height, steep = _score_at(spectrum, coefficients, m1, z)
        step_size = np.where(steep < 0, -height / np.where(steep < 0, steep, 1.0), np.copysign(np.inf, height))
        z = np.clip(z + np.clip(step_size, -0.5, 0.5), -1.0, 1.0)
        if np.all((np.abs(step_size) * spectrum.half < STEP) | (np.abs(z) == 1)):
            break
    good = (np.abs(z) < 1) & (np.abs(step_size) * spectrum.half < STEP) & (steep < 0)
    theta = np.exp(spectrum.centre + spectrum.half * z) - spectrum.shift
    sigma = m1 + theta * _clenshaw(coefficients, z)[0]
    return np.where(good, theta * sigma, np.nan), np.where(good, sigma, np.nan)


def _score_at(spectrum: _Spectrum, coefficients: Floats, m1: Floats, z: Floats) -> tuple[Floats, Floats]:
    """H and dH/dz. B = −(2A + θA') gives both from A and its derivatives."""
    a, first, second = _clenshaw(coefficients, z)
    e = np.exp(spectrum.centre + spectrum.half * z)
    theta = e - spectrum.shift
    rate = e * spectrum.half  # dθ/dz
    d_a = first / rate
    dd_a = (second / rate - spectrum.half * d_a) / rate
    b, d_b = -(2 * a + theta * d_a), -(3 * d_a + theta * dd_a)
    steep = d_a + d_b + m1 * (b - a) + theta * m1 * (d_b - d_a)
    steep += 2 * theta * a * b + theta * theta * (d_a * b + a * d_b)
    return score(theta, a, b, m1), steep * rate


def _clenshaw(coefficients: Floats, z: Floats) -> Floats:
    """Chebyshev sum of coefficients of shape (order, rows) and its two derivatives at z; shape (3, rows)."""
    last, before, spare = np.zeros((3, 3, z.size))
    twice, factor = 2 * z, np.array([[2.0], [4.0]])
    for c in coefficients[:0:-1]:
        np.multiply(twice, last, out=spare)
        spare -= before
        spare[0] += c
        spare[1:] += factor * last[:2]
        last, before, spare = spare, last, before
    out = z * last - before
    out[0] += coefficients[0]
    out[1:] += np.array([[1.0], [2.0]]) * last[:2]
    return out


def _above_boundary(xi: Floats, sigma: Floats, largest: Floats) -> NDArray[np.bool_]:
    """Whether the likelihood at (ξ, σ) exceeds that at (−1, largest); False for NaN."""
    known = np.isfinite(xi) & (xi > -1)
    return np.asarray(known & (largest >= np.where(known, sigma * np.exp(1 + np.where(known, xi, 0.0)), np.inf)))
