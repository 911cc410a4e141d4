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
from analysis.stats.draws import BLOCK, Stream, resample_counts
from analysis.stats.gpd_profile import Floats, maximise, score, score_parts
from analysis.stats.tails import checked_excess

BATCH = 4_000_000  # counts at a time, one byte each
ORDER = 32
TAIL = 1e-13  # Chebyshev coefficients under this, relative to the largest, are left out
TOP = 48  # largest values looked at to learn a resample's maximum
REGROUP = 12  # resamples with one maximum that pay for a table of their own


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
    0.042
    """
    x = np.sort(checked_excess(excess))
    rows = int(checked_whole("n_resamples", n_resamples, least=1))
    refits = _Refits(x)
    xi, sigma = np.empty(rows), np.empty(rows)
    step = max(1, BATCH // x.size)
    for start in range(0, rows, step):
        part = slice(start, min(start + step, rows))
        xi[part], sigma[part] = refits.solve(resample_counts(x.size, part.stop - start, rng=rng))
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
    >>> xi, sigma = refit_gpd([0.5, 1.0, 4.0, 2.0], np.array([[1, 1, 1, 1], [0, 3, 0, 0]]))
    >>> xi.round(3)
    array([-0.15,   nan])
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
    refits = _Refits(values)
    xi, sigma = np.empty(len(given)), np.empty(len(given))
    step = max(1, BATCH // values.size)
    for start in range(0, len(given), step):
        part = slice(start, start + step)
        xi[part], sigma[part] = refits.solve(given[part])
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


class _Refits:
    """Tables of one sample of excesses, made once and used for all its resamples."""

    def __init__(self, values: Floats) -> None:
        self.scale = float(values.mean())
        self.order = np.argsort(values, kind="stable")
        self.x = values[self.order] / self.scale
        self.spectra: dict[int, _Spectrum | None] = {}
        whole = self.spectrum(values.size - 1)
        self.plain = None
        if whole is not None:  # the columns of the counts stay where they are
            matrix = np.empty_like(whole.matrix)
            matrix[self.order] = whole.matrix
            self.plain = _Spectrum(matrix=matrix, centre=whole.centre, half=whole.half, shift=whole.shift)

    def spectrum(self, top: int) -> _Spectrum | None:
        """Table of the values up to rank ``top``, the largest of its resamples."""
        if top not in self.spectra:
            self.spectra[top] = _spectrum(self.x[: top + 1])
        return self.spectra[top]

    def solve(self, counts: NDArray[np.integer]) -> tuple[Floats, Floats]:
        """ξ̂ and σ̂ per row of counts, whose columns have the order of the values."""
        xi, sigma = np.full(len(counts), np.nan), np.full(len(counts), np.nan)
        open_rows = np.arange(len(counts))
        if self.plain is not None:
            xi, sigma = _polynomial_maxima(self.plain, counts)
            best = self.order[-TOP:]
            held = counts[:, best] > 0
            largest = np.where(held.any(axis=1), self.x[-1 - np.argmax(held[:, ::-1], axis=1)], 0.0)
            open_rows = np.flatnonzero(~_above_boundary(xi, sigma, largest))
        if open_rows.size:
            self._solve_apart(counts, open_rows, xi, sigma)
        return xi, sigma * self.scale

    def _solve_apart(self, counts: NDArray[np.integer], rows: NDArray[np.intp], xi: Floats, sigma: Floats) -> None:
        """Fill the rows that the common table leaves open: by their own maximum, then one by one."""
        step = max(1, BATCH // (8 * self.x.size))
        for start in range(0, rows.size, step):
            chosen = rows[start : start + step]
            sorted_counts = counts[chosen][:, self.order]
            tops = self.x.size - 1 - np.argmax(sorted_counts[:, ::-1] > 0, axis=1)
            for top in np.unique(tops):
                mine = np.flatnonzero(tops == top)
                x, weights, target = self.x[: top + 1], sorted_counts[mine, : top + 1], chosen[mine]
                xi[target], sigma[target] = np.nan, np.nan
                possible = (weights[:, x < x[-1]] > 0).any(axis=1)
                target, weights = target[possible], weights[possible]
                spectrum = self.spectrum(top) if x[-1] < self.x[-1] and target.size >= REGROUP else None
                if spectrum is not None:
                    xi[target], sigma[target] = _polynomial_maxima(spectrum, weights)
                    left = ~_above_boundary(xi[target], sigma[target], np.full(target.size, x[-1]))
                    target, weights = target[left], weights[left]
                if target.size:
                    found = maximise(x, weights.astype(np.float64))
                    xi[target] = [one.xi for one in found]
                    sigma[target] = [one.sigma for one in found]


def _spectrum(x: Floats) -> _Spectrum | None:
    """Table of ascending values around their own maximum; None when that is no use (ξ̂ next to −1)."""
    if x[0] == x[-1]:
        return None
    whole = maximise(x, np.ones((1, x.size)))[0]
    if whole.boundary or whole.xi < -0.95:
        return None
    e = whole.xi / whole.sigma + 1 / x[-1]
    # expected information (Smith 1985), by the delta method for log e
    spread = (1 + whole.xi) * math.sqrt(max(1 + 2 * whole.xi, 0.05) / x.size) / (whole.sigma * e)
    half = min(max(6 * spread, 0.05), 3.0)
    centre = math.log(e)
    angle = np.pi * (np.arange(ORDER) + 0.5) / ORDER
    transform = 2 / ORDER * np.cos(np.outer(angle, np.arange(ORDER)))
    transform[:, 0] /= 2
    coefficients = score_parts(x, np.exp(centre + half * np.cos(angle)))[0] @ transform
    size = np.abs(coefficients).mean(axis=0)
    order = max(8, 1 + int(np.flatnonzero(size > TAIL * size.max())[-1]))
    matrix = np.column_stack([coefficients[:, :order], x, np.ones(x.size)])
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
        step_size = np.where(steep < 0, -height / np.where(steep < 0, steep, 1.0), np.inf)
        z = np.clip(z + np.clip(step_size, -0.5, 0.5), -1.0, 1.0)
        if np.all((np.abs(step_size) * spectrum.half < 1e-7) | (np.abs(z) == 1)):
            break
    good = (np.abs(z) < 1) & (np.abs(step_size) * spectrum.half < 1e-6) & (steep < 0)
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


def _clenshaw(coefficients: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
    """Chebyshev sum of shape (order, rows) and its first two derivatives at z, shape (rows,)."""
    zero = np.zeros_like(z)
    b1, b2, d1, d2, e1, e2 = zero, zero, zero, zero, zero, zero
    twice = 2 * z
    for c in coefficients[:0:-1]:
        e1, e2 = 4 * d1 + twice * e1 - e2, e1
        d1, d2 = 2 * b1 + twice * d1 - d2, d1
        b1, b2 = c + twice * b1 - b2, b1
    return coefficients[0] + z * b1 - b2, b1 + z * d1 - d2, 2 * d1 + z * e1 - e2


def _above_boundary(xi: Floats, sigma: Floats, largest: Floats) -> NDArray[np.bool_]:
    """Whether the likelihood at (ξ, σ) exceeds that at (−1, largest); False for NaN."""
    known = np.isfinite(xi) & (xi > -1)
    return np.asarray(known & (largest >= np.where(known, sigma * np.exp(1 + np.where(known, xi, 0.0)), np.inf)))
