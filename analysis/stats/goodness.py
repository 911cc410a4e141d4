"""Does a generalised Pareto law fit the excesses? Tests with both parameters estimated from the same excesses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.stats.anderson_law import p_value
from analysis.stats.checks import checked_whole
from analysis.stats.draws import BLOCK, Stream, raw_words
from analysis.stats.gpd_profile import Floats, climb, log_remainder, maximise, score
from analysis.stats.tails import GpdFit, checked_excess

Statistic = Callable[[Floats], Floats]  # of log S at sorted excesses, shape (rows, n)

SMALLEST = 1e-7  # θ times the mean, so that log(1 + θx)/ξ keeps its digits


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodnessOfFit:
    """Distance between excesses and their fitted law.

    Attributes
    ----------
    statistic
        None for a fit on the boundary ξ = −1, which puts its end on the largest excess: not testable.
    p_value
        By the asymptotic law, a probability; None where that law does not hold, ξ ≤ −1/2.
    """

    statistic: float | None
    p_value: float | None


def anderson_darling_gpd(excess: ArrayLike, fit: GpdFit) -> GoodnessOfFit:
    """Anderson-Darling test of a fitted generalised Pareto law, p-value by the asymptotic law.

    Parameters
    ----------
    excess
        Shape (n,), the excesses of the fit.
    fit
        What `fit_gpd` returns for them.

    Returns
    -------
    GoodnessOfFit
        A² and its p-value at the fitted shape.

    Raises
    ------
    ValueError
        Excesses that `fit_gpd` refuses, or another number of them than the fit has.

    Notes
    -----
    Choulakian and Stephens (2001, Technometrics 43:478), through the eigenvalues of `analysis.stats.anderson_law`.
    The size of the 5 % test is 4.3-5.1 % for n ≥ 300 and ξ ≥ −.2; under that use `anderson_darling_bootstrap`.

    Examples
    --------
    >>> from analysis.stats.tails import fit_gpd
    >>> half_normal = np.sqrt(-2 * np.log1p(-(np.arange(300) + 0.5) / 300))
    >>> found = anderson_darling_gpd(half_normal, fit_gpd(half_normal))
    >>> found.p_value < 0.001
    True
    """
    statistic = _observed(excess, fit, _anderson_darling)
    known = statistic is not None and fit.xi > -0.5
    return GoodnessOfFit(statistic=statistic, p_value=p_value(statistic, fit.xi) if known and statistic else None)


def cramer_von_mises_gpd(excess: ArrayLike, fit: GpdFit) -> float | None:
    """Cramér-von Mises distance W² of a fitted generalised Pareto law; its p-value by `cramer_von_mises_bootstrap`.

    Parameters
    ----------
    excess
        Shape (n,), the excesses of the fit.
    fit
        What `fit_gpd` returns for them.

    Returns
    -------
    float or None
        W²; None for a fit on the boundary.

    Raises
    ------
    ValueError
        Excesses that `fit_gpd` refuses, or another number of them than the fit has.

    Examples
    --------
    >>> from analysis.stats.tails import fit_gpd
    >>> excess = -np.log1p(-(np.arange(300) + 0.5) / 300)
    >>> round(cramer_von_mises_gpd(excess, fit_gpd(excess)), 4)
    0.0005
    """
    return _observed(excess, fit, _cramer_von_mises)


def anderson_darling_bootstrap(xi: float, n: int, statistic: float, n_resamples: int, *, rng: Stream) -> float | None:
    """P-value of A² by simulation at the fitted shape, with a fit in every sample.

    Parameters
    ----------
    xi
        Fitted shape, over −1.
    n
        Excesses, at least 2.
    statistic
        A² of the fit.
    n_resamples
        Samples, at least 1.
    rng
        Generator or bit generator; it is advanced by ``n`` words per sample.

    Returns
    -------
    float or None
        (1 + #{A²* ≥ A²})/(B + 1) over the B samples whose fit is not on the boundary; None when none is left.

    Raises
    ------
    ValueError
        ξ of −1 or under it, a statistic that is not finite, or numbers that are too small.

    Notes
    -----
    Stute, Gonzáles Manteiga and Presedo Quindimil (1993, Metrika 40:243). The scale does not matter.

    Examples
    --------
    >>> anderson_darling_bootstrap(0.2, 100, 0.9, 199, rng=np.random.PCG64(0)) < 0.1
    True
    """
    return _bootstrap_p(xi, n, statistic, n_resamples, rng, _anderson_darling)


def cramer_von_mises_bootstrap(xi: float, n: int, statistic: float, n_resamples: int, *, rng: Stream) -> float | None:
    """P-value of W² by simulation at the fitted shape; arguments, result and errors of `anderson_darling_bootstrap`.

    Examples
    --------
    >>> cramer_von_mises_bootstrap(0.2, 100, 0.15, 199, rng=np.random.PCG64(0)) < 0.1
    True
    """
    return _bootstrap_p(xi, n, statistic, n_resamples, rng, _cramer_von_mises)


def _observed(excess: ArrayLike, fit: GpdFit, measure: Statistic) -> float | None:
    values = checked_excess(excess)
    if values.size != fit.n:
        raise ValueError(f"{values.size} excesses, but the fit has n = {fit.n}: give the excesses of this fit")
    if fit.status == "boundary":
        return None
    y = np.sort(values)[None, :] / fit.sigma
    u = fit.xi * y
    return float(measure(-y * (1 + u * log_remainder(u, 1 + u)))[0])


def _anderson_darling(log_s: Floats) -> Floats:
    """A² per row of log S at the sorted excesses."""
    n = log_s.shape[1]
    odd = 2 * np.arange(1, n + 1) - 1.0
    return np.asarray(-n - (np.log(1 - np.exp(log_s)) @ odd + log_s @ odd[::-1]) / n)


def _cramer_von_mises(log_s: Floats) -> Floats:
    """W² per row of log S at the sorted excesses."""
    n = log_s.shape[1]
    middle = (2 * np.arange(1, n + 1) - 1.0) / (2 * n)
    return np.asarray(1 / (12 * n) + np.sum((1 - np.exp(log_s) - middle) ** 2, axis=1))


def _bootstrap_p(
    xi: float, n: int, statistic: float, n_resamples: int, rng: Stream, measure: Statistic
) -> float | None:
    size, rows = int(checked_whole("n", n, least=2)), int(checked_whole("n_resamples", n_resamples, least=1))
    if not (-1 < xi < np.inf):
        raise ValueError(f"xi = {xi!r}: give a fitted shape over -1; a boundary fit cannot be tested")
    if not np.isfinite(statistic):
        raise ValueError(f"statistic = {statistic!r}: give the finite distance of the fit")
    step = max(1, BLOCK // size)
    reached = tested = 0
    for start in range(0, rows, step):
        found = measure(_refitted(_simulate(xi, min(step, rows - start), size, rng), xi))
        reached += int(np.sum(found >= statistic))
        tested += len(found)
    return (1 + reached) / (tested + 1) if tested else None


def _simulate(xi: float, rows: int, n: int, rng: Stream) -> Floats:
    """Sorted samples of the law with σ = 1, from sorted exponentials (Rényi 1953), without sorting."""
    uniform = ((raw_words(rng, rows * n) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    exponential = np.cumsum(-np.log(uniform).reshape(rows, n) / np.arange(n, 0, -1.0), axis=1)
    return exponential if abs(xi) < 1e-12 else np.expm1(xi * exponential) / xi


def _refitted(x: Floats, xi: float) -> Floats:
    """Log S at the values of every sorted row under its own fit, to about 1e-8; boundary fits are left out.

    Newton's method from the law that was simulated, the exact solver where it fails.
    """
    m1 = x.mean(axis=1)
    theta, shift = np.full(len(x), xi if abs(xi) > 0.01 else 0.01), 1 / x[:, -1]  # θ = 0 is slow
    at = np.flatnonzero(theta > -shift)
    theta[theta <= -shift] = np.nan
    for _ in range(12):
        e = theta[at] + shift[at]
        step = np.clip(_newton_step(x[at], theta[at], m1[at]) / e, -1.0, 1.0)
        theta[at] = e * np.exp(step) - shift[at]
        at = at[np.abs(step) * e * m1[at] > 1e-6]  # the next error is the square of the step
        if not at.size:
            break
    theta[at] = np.nan
    theta[np.abs(theta) * m1 < SMALLEST] = SMALLEST
    logs = np.log(1 + theta[:, None] * x)
    shape = logs.mean(axis=1)
    sure = (shape > -1) & (x[:, -1] >= shape / theta * np.exp(1 + shape))
    for row in np.flatnonzero(~sure):
        unit = x[row] / m1[row]
        best = climb(unit, np.ones(unit.size), max(xi * m1[row] + 1 / unit[-1], 0.05 / unit[-1]))
        best = best or maximise(unit, np.ones((1, unit.size)))[0]
        shape[row] = np.nan if best.boundary else best.xi
        logs[row] = np.log1p(best.xi / best.sigma * unit) if not best.boundary else np.nan
    logs /= -shape[:, None]
    return logs[np.isfinite(shape)]


def _newton_step(x: Floats, theta: Floats, m1: Floats) -> Floats:
    """Step towards the downward crossing of H (`analysis.stats.gpd_profile`) per row; infinite where H does not fall."""
    n = x.shape[1]
    v = 1 + theta[:, None] * x
    ratio = x / v
    b, d_b = np.einsum("ij,ij->i", x, ratio) / n, -np.einsum("ij,ij,ij->i", x, ratio, ratio) / n
    fold = n // 8
    product = v[:, :fold].copy()
    for k in range(1, 8):  # one logarithm for eight values
        product *= v[:, k * fold : (k + 1) * fold]
    near = np.abs(theta) * m1 < 0.003
    safe = np.where(near, 1.0, theta)
    a = ((np.log(product).sum(axis=1) + np.log(v[:, 8 * fold :]).sum(axis=1)) / n - theta * m1) / safe**2
    d_a = -(2 * a + b) / safe
    if near.any():
        close = x[near]
        u = theta[near, None] * close
        a[near] = np.einsum("ij,ij,ij->i", close, close, log_remainder(u, 1 + u)) / n
        d_a[near] = np.einsum("ij,ij,ij->i", close, close, close * (1 / 3 - u / 2)) / n
    height = score(theta, a, b, m1)
    steep = d_a + d_b + m1 * (b - a) + theta * m1 * (d_b - d_a) + 2 * theta * a * b + theta**2 * (d_a * b + a * d_b)
    return np.where(steep < 0, -height / np.where(steep < 0, steep, 1.0), np.copysign(np.inf, height))
