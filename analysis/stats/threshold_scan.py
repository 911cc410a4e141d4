"""Does the shape of a tail depend on where the tail is said to begin? Fits over several thresholds, tested jointly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.checks import checked_probability
from analysis.stats.gpd_profile import Floats
from analysis.stats.tail_bootstrap import refit_gpd
from analysis.stats.tails import GpdFit, checked_values, exceedances, fit_gpd

Stability = Literal["stable", "unstable", "undecidable"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdScan:
    """Fits over several thresholds and their refits on common resamples.

    Attributes
    ----------
    quantiles, thresholds, n_exc, fits
        One per threshold, m in all, ascending; a fit is None where fewer than two distinct excesses are left.
    xi, sigma
        ndarray of float64, shape (B, m): the refits, NaN where one is not possible. A row is one resample.
    """

    quantiles: tuple[float, ...]
    thresholds: tuple[float, ...]
    n_exc: tuple[int, ...]
    fits: tuple[GpdFit | None, ...]
    xi: Floats
    sigma: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdStability:
    """Whether the shape moves around one threshold of a scan.

    Attributes
    ----------
    anchor
        Quantile of the threshold that the others, ``quantiles``, are compared with.
    quantiles, deviations, z
        Of the other thresholds in the window: ξ̂ⱼ − ξ̂₀ and its standard score. Empty when a fit is missing.
    low, high
        Ends of the interval of level 1 − 2α of each deviation.
    max_z, critical, p_value
        Largest |z|, its bootstrap point of level 1 − α, and (1 + #{max|z*| ≥ max|z|})/(B + 1).
    joint
        ``unstable`` when ``max_z`` exceeds its critical point; ``undecidable`` without a regular fit at every
        threshold of the window.
    equivalence
        ``stable`` when every interval lies inside ± tolerance, ``unstable`` when one lies outside, else
        ``undecidable``; it takes far more data than the joint test.
    """

    anchor: float
    quantiles: tuple[float, ...]
    deviations: tuple[float, ...]
    z: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    max_z: float | None
    critical: float | None
    p_value: float | None
    joint: Stability
    equivalence: Stability


def scan_thresholds(
    values: ArrayLike,
    quantiles: ArrayLike,
    counts: NDArray[np.integer],
    *,
    keep: NDArray[np.integer] | None = None,
) -> ThresholdScan:
    """Fit the excesses over several quantiles, and refit all of them on the same resamples.

    Parameters
    ----------
    values
        Shape (n,), finite.
    quantiles
        Shape (m,), probabilities in (0, 1), ascending; thresholds as in `exceedances`, fixed over the resamples.
    counts
        Shape (B, n), from `resample_counts`; or (B, k) with ``keep``. B may be 0.
    keep
        Shape (k,), the items that the columns of ``counts`` stand for, when not all. Every value over the
        lowest threshold must be among them.

    Returns
    -------
    ThresholdScan

    Raises
    ------
    ValueError
        Quantiles that are not ascending or outside (0, 1), counts of another shape, or an exceedance that is
        not kept.

    Examples
    --------
    >>> from analysis.stats.draws import resample_counts
    >>> values = -np.log1p(-(np.arange(4000) + 0.5) / 4000)
    >>> scan = scan_thresholds(values, [0.9, 0.95], resample_counts(4000, 50, rng=np.random.PCG64(0)))
    >>> scan.n_exc, [round(fit.xi, 2) for fit in scan.fits], scan.xi.shape
    ((400, 200), [-0.01, -0.01], (50, 2))
    """
    x = checked_values(values)
    levels = checked_values(quantiles)
    for level in levels:
        checked_probability("quantile", float(level))
    if (np.diff(levels) <= 0).any():
        raise ValueError(f"quantiles = {levels.tolist()}: give them ascending, each once")
    items = np.arange(x.size) if keep is None else np.asarray(keep)
    given = np.asarray(counts)
    if given.ndim != 2 or given.shape[1] != items.size:
        raise ValueError(f"counts of shape {given.shape}: give one column for each of the {items.size} items")
    lowest, excess = exceedances(x, quantile=float(levels[0]))
    over = np.flatnonzero(x[items] > lowest)
    if over.size < excess.size:
        raise ValueError(f"{excess.size - over.size} values over the lowest threshold {lowest:g} are not in keep")
    over = over[np.argsort(x[items[over]], kind="stable")]
    ranked, columns = x[items[over]], given[:, over]
    thresholds, fits = [], []
    xi, sigma = np.full((len(given), levels.size), np.nan), np.full((len(given), levels.size), np.nan)
    for j, level in enumerate(levels):
        u = float(np.quantile(x, level))
        first = int(np.searchsorted(ranked, u, side="right"))
        beyond = ranked[first:] - u
        fit = fit_gpd(beyond) if beyond.size and beyond[0] < beyond[-1] else None
        if fit is not None:
            xi[:, j], sigma[:, j] = refit_gpd(beyond, columns[:, first:])
        thresholds.append(u)
        fits.append(fit)
    return ThresholdScan(
        quantiles=tuple(levels.tolist()), thresholds=tuple(thresholds),
        n_exc=tuple(int(np.sum(ranked > u)) for u in thresholds), fits=tuple(fits), xi=xi, sigma=sigma,
    )  # fmt: skip


def threshold_stability(
    scan: ThresholdScan, *, anchor: float, band: float, tolerance: float, alpha: float
) -> ThresholdStability:
    """Joint test that the shape is the same at the anchor and at the other thresholds within a band.

    Parameters
    ----------
    scan
        Fits and refits; the anchor is one of its quantiles.
    anchor
        Quantile, a probability.
    band
        Other thresholds lie within ``anchor ± band``, a probability.
    tolerance
        Change of the shape that does not matter, for the equivalence form; positive.
    alpha
        Level of the joint test, a probability.

    Returns
    -------
    ThresholdStability

    Raises
    ------
    ValueError
        An anchor that is not in the scan, no other threshold in the band, a tolerance that is not positive, or
        ``alpha`` outside (0, 1).

    Notes
    -----
    zⱼ = (ξ̂ⱼ − ξ̂₀)/((1 + ξ̂₀) √|1/nⱼ − 1/n₀|): of two nested samples the smaller one's variance less the larger
    one's (Hausman 1978, Econometrica 46:1251). The bootstrap of max|z|, centred at the estimates, takes care of
    the dependence between thresholds.

    Examples
    --------
    >>> from analysis.stats.draws import resample_counts
    >>> values = -np.log1p(-(np.arange(4000) + 0.5) / 4000)
    >>> scan = scan_thresholds(values, [0.93, 0.95, 0.97], resample_counts(4000, 200, rng=np.random.PCG64(0)))
    >>> found = threshold_stability(scan, anchor=0.95, band=0.02, tolerance=0.05, alpha=0.05)
    >>> found.joint, found.equivalence
    ('stable', 'undecidable')
    """
    checked_probability("alpha", alpha)
    if not 0 < tolerance < np.inf:
        raise ValueError(f"tolerance = {tolerance!r}: give a positive change of the shape, such as 0.05")
    distance = np.abs(np.array(scan.quantiles) - anchor)
    base = int(np.argmin(distance))
    if distance[base] > 1e-9:
        raise ValueError(f"anchor = {anchor!r} is none of the quantiles {list(scan.quantiles)}: scan it too")
    others = [int(j) for j in np.flatnonzero(distance <= band + 1e-9) if j != base]
    if not others:
        raise ValueError(f"band = {band!r}: no other quantile of {list(scan.quantiles)} lies within it of {anchor}")
    window = [scan.fits[j] for j in (base, *others)]
    fits = [fit for fit in window if fit is not None and fit.status == "regular"]
    usable = np.isfinite(scan.xi[:, [base, *others]]).all(axis=1)
    quantiles = tuple(scan.quantiles[j] for j in others)
    if len(fits) < len(window) or not usable.any():
        return ThresholdStability(
            anchor=scan.quantiles[base], quantiles=quantiles, deviations=(), z=(), low=(), high=(), max_z=None,
            critical=None, p_value=None, joint="undecidable", equivalence="undecidable",
        )  # fmt: skip
    own = np.array([fit.xi for fit in fits])
    sizes = np.array([scan.n_exc[j] for j in (base, *others)], dtype=np.float64)
    se = (1 + own[0]) * np.sqrt(np.maximum(np.abs(1 / sizes[1:] - 1 / sizes[0]), 1e-300))
    deviation = own[1:] - own[0]
    draws = scan.xi[usable][:, others] - scan.xi[usable][:, [base]]
    z = deviation / se
    max_z, max_drawn = float(np.abs(z).max()), np.abs((draws - deviation) / se).max(axis=1)
    critical = float(np.quantile(max_drawn, 1 - alpha))
    low, high = np.quantile(draws, [alpha, 1 - alpha], axis=0)
    inside, outside = (low >= -tolerance) & (high <= tolerance), (low > tolerance) | (high < -tolerance)
    return ThresholdStability(
        anchor=scan.quantiles[base], quantiles=quantiles, deviations=tuple(deviation.tolist()), z=tuple(z.tolist()),
        low=tuple(low.tolist()), high=tuple(high.tolist()), max_z=max_z, critical=critical,
        p_value=float((1 + np.sum(max_drawn >= max_z)) / (max_drawn.size + 1)),
        joint="unstable" if max_z > critical else "stable",
        equivalence="stable" if inside.all() else "unstable" if outside.any() else "undecidable",
    )  # fmt: skip
