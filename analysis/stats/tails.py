"""The generalised Pareto law of the excesses over a threshold: fits, standard errors, intervals.

F(x) = 1 − (1 + ξx/σ)^(−1/ξ) for x > 0: ξ > 0 is a heavy tail, ξ < 0 one with an end at −σ/ξ. Grimshaw, Choulakian
and Stephens, Zhang and Stephens, and Hosking and Wallis write k = −ξ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from analysis.stats.checks import checked_probability
from analysis.stats.gpd_profile import Floats, log_remainder, maximise

Status = Literal["regular", "non-regular", "boundary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpdFit:
    """Maximum likelihood fit of a generalised Pareto law, over ξ ≥ −1.

    Attributes
    ----------
    xi
        Shape, without unit.
    sigma
        Scale, in the unit of the excesses.
    se_xi, se_sigma, cov_xi_sigma
        Standard errors and covariance from the observed information; None where ``status`` is not regular.
    log_likelihood
        At the fit, natural logarithm.
    n
        Excesses.
    status
        ``regular``; ``non-regular`` for ξ < −1/2, where the usual asymptotics fail (Smith 1985, Biometrika
        72:67); ``boundary`` for ξ = −1 with σ the largest excess, because the likelihood has no maximum inside.
    """

    xi: float
    sigma: float
    se_xi: float | None
    se_sigma: float | None
    cov_xi_sigma: float | None
    log_likelihood: float
    n: int
    status: Status


def exceedances(values: ArrayLike, *, quantile: float) -> tuple[float, Floats]:
    """Threshold at a quantile, and the excesses of the values strictly over it.

    Parameters
    ----------
    values
        Shape (n,), finite.
    quantile
        Probability in (0, 1); the empirical quantile interpolates linearly (type 7).

    Returns
    -------
    u : float
        Threshold, in the unit of the values.
    excess : ndarray of float64, shape (n_exc,)
        ``x - u`` for ``x > u``, in the order of the values; empty when the values above are tied at u.

    Raises
    ------
    ValueError
        No values, values that are not finite, or a quantile outside (0, 1).

    Examples
    --------
    >>> exceedances([1.0, 2.0, 3.0, 5.0], quantile=0.5)
    (2.5, array([0.5, 2.5]))
    """
    x = checked_values(values)
    u = float(np.quantile(x, checked_probability("quantile", quantile)))
    return u, x[x > u] - u


def fit_gpd(excess: ArrayLike) -> GpdFit:
    """Maximum likelihood fit of a generalised Pareto law by its profile likelihood.

    Parameters
    ----------
    excess
        Shape (n,), values over the threshold less the threshold, positive.

    Returns
    -------
    GpdFit
        The best of all maxima with ξ ≥ −1.

    Raises
    ------
    ValueError
        Fewer than two excesses, one that is zero, negative or not finite, or all equal.

    Notes
    -----
    Grimshaw (1993, Technometrics 35:185) in the form of `analysis.stats.gpd_profile`; the observed information is
    the Hessian in (ξ, σ).

    Examples
    --------
    >>> fit = fit_gpd(-np.log1p(-(np.arange(300) + 0.5) / 300))
    >>> round(fit.xi, 6), round(fit.sigma, 6), fit.status
    (-0.007319, 1.006157, 'regular')
    """
    values = np.sort(checked_excess(excess))
    if values[0] == values[-1]:
        raise ValueError(f"all {values.size} excesses are {values[0]}: a shape needs at least two distinct values")
    n = values.size
    scale = float(values.mean())
    best = maximise(values / scale, np.ones((1, n)))[0]
    sigma, log_likelihood = best.sigma * scale, n * (best.mean_log_likelihood - math.log(scale))
    status: Status = "boundary" if best.boundary else "non-regular" if best.xi < -0.5 else "regular"
    se_xi = se_sigma = covariance = None
    if status == "regular":
        d_xx, d_xs, d_ss = _information(values / sigma, best.xi)
        determinant = d_xx * d_ss - d_xs * d_xs
        if d_xx > 0 and determinant > 0:
            se_xi = math.sqrt(d_ss / determinant)
            se_sigma = sigma * math.sqrt(d_xx / determinant)
            covariance = -sigma * d_xs / determinant
    return GpdFit(
        xi=best.xi, sigma=sigma, se_xi=se_xi, se_sigma=se_sigma, cov_xi_sigma=covariance,
        log_likelihood=log_likelihood, n=n, status=status,
    )  # fmt: skip


def profile_interval(excess: ArrayLike, fit: GpdFit, *, level: float) -> tuple[float, float]:
    """Profile likelihood interval of ξ, the shapes with 2[ℓ(ξ̂) − ℓ(ξ)] ≤ χ²₁(level).

    Parameters
    ----------
    excess
        Shape (n,), the excesses of the fit.
    fit
        What `fit_gpd` returns for them.
    level
        Confidence level in (0, 1).

    Returns
    -------
    tuple of float
        Lower and upper end; the lower one is −1 where the likelihood stays above the limit down to ξ = −1.

    Raises
    ------
    ValueError
        Excesses that `fit_gpd` refuses, another number of them than the fit has, or a level outside (0, 1).

    Notes
    -----
    Davison and Smith (1990, JRSS B 52:393). It covers .94-.95 at 300 exceedances, where percentile intervals of
    the bootstrap cover .90-.93.

    Examples
    --------
    >>> excess = -np.log1p(-(np.arange(300) + 0.5) / 300)
    >>> low, high = profile_interval(excess, fit_gpd(excess), level=0.95)
    >>> round(low, 4), round(high, 4)
    (-0.1079, 0.1245)
    """
    values = checked_excess(excess)
    if values.size != fit.n:
        raise ValueError(f"{values.size} excesses, but the fit has n = {fit.n}: give the excesses of this fit")
    scale = float(values.mean())
    x = values / scale
    drop = float(ndtri((1 + checked_probability("level", level)) / 2)) ** 2 / 2 / x.size
    target = fit.log_likelihood / x.size + math.log(scale) - drop
    width = (1 + fit.xi) * math.sqrt(2 * drop) or math.sqrt(drop)
    return _profile_end(x, fit.xi, -width, target), _profile_end(x, fit.xi, width, target)


def fit_pwm(excess: ArrayLike) -> tuple[float, float]:
    """ξ and σ by probability-weighted moments, plotting positions (i − .35)/n.

    Parameters
    ----------
    excess
        Shape (n,), positive.

    Returns
    -------
    xi, sigma : float
        σ in the unit of the excesses. Biased by −.14 at ξ = .9 and n = 300: meant for ξ < 1/2.

    Raises
    ------
    ValueError
        Excesses that `fit_gpd` refuses.

    Notes
    -----
    Hosking and Wallis (1987, Technometrics 29:339), equation 5.

    Examples
    --------
    >>> xi, sigma = fit_pwm(-np.log1p(-(np.arange(300) + 0.5) / 300))
    >>> round(xi, 2), round(sigma, 2)
    (0.0, 1.0)
    """
    x = np.sort(checked_excess(excess))
    weight = 1 - (np.arange(1, x.size + 1) - 0.35) / x.size
    first, second = float(x.mean()), float((weight * x).mean())
    return 2 - first / (first - 2 * second), 2 * first * second / (first - 2 * second)


def fit_zhang_stephens(excess: ArrayLike) -> tuple[float, float]:
    """ξ and σ by the quasi-Bayesian estimator of Zhang and Stephens.

    Parameters
    ----------
    excess
        Shape (n,), positive.

    Returns
    -------
    xi, sigma : float
        σ in the unit of the excesses. Of less error than maximum likelihood below about 100 excesses.

    Raises
    ------
    ValueError
        Excesses that `fit_gpd` refuses.

    Notes
    -----
    Zhang and Stephens (2009, Technometrics 51:316). The estimator inside PSIS is another one.

    Examples
    --------
    >>> xi, sigma = fit_zhang_stephens(-np.log1p(-(np.arange(300) + 0.5) / 300))
    >>> round(xi, 2), round(sigma, 2)
    (0.01, 0.99)
    """
    x = np.sort(checked_excess(excess))
    n = x.size
    m = 20 + math.isqrt(n)
    quarter = x[max(int(n / 4 + 0.5), 1) - 1]
    b = 1 / x[-1] + (1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))) / (3 * quarter)  # their θ is −ξ/σ
    shape = np.array([np.log1p(-one * x).mean() for one in b])
    likelihood = n * (np.log(-b / shape) - shape - 1)
    weight = np.exp(likelihood - likelihood.max())
    theta = -float(weight @ b / weight.sum())
    xi = float(np.log1p(theta * x).mean())
    return xi, xi / theta


def checked_excess(excess: ArrayLike) -> Floats:
    """Excesses as floats.

    Raises
    ------
    ValueError
        Fewer than two, not of one dimension, or one that is zero, negative or not finite.
    """
    values = checked_values(excess)
    if values.size < 2:
        raise ValueError(f"{values.size} excess: a fit needs at least two; lower the threshold")
    if values.min() <= 0:
        raise ValueError(f"an excess is {values.min()}: give x - u of the values strictly over the threshold u")
    return values


def checked_values(values: ArrayLike) -> Floats:
    """Values of one dimension as floats.

    Raises
    ------
    ValueError
        None at all, another dimension, or values that are not finite.
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"values of shape {x.shape}: give one dimension with at least one value")
    if not np.isfinite(x).all():
        raise ValueError(f"a value is {x[~np.isfinite(x)][0]}: leave out what was not measured")
    return x


def _information(y: Floats, xi: float) -> tuple[float, float, float]:
    """Observed information of (ξ, σ) for y = x/σ, with σ as the unit: ξξ, ξσ, σσ."""
    u = xi * y
    v = 1 + u
    ratio = 1 + u * log_remainder(u, v)  # log(1 + u)/u
    near = np.abs(u) < 0.02
    safe = np.where(near, 1.0, u)
    first = np.where(near, _ratio_series(u, 1), (1 / v - ratio) / safe)
    second = np.where(near, _ratio_series(u, 2), (-1 / v**2 - 2 * first) / safe)
    d_y = (1 + xi) / v
    d_xx = float(np.sum(2 * y**2 * first + y**3 * (1 + xi) * second))
    d_xs = -float(np.sum(y / v - (1 + xi) * y**2 / v**2))
    d_ss = float(np.sum(2 * y * d_y - y**2 * (1 + xi) * xi / v**2)) - y.size
    return d_xx, d_xs, d_ss


def _ratio_series(u: Floats, derivative: int) -> Floats:
    """Derivative of log(1 + u)/u next to 0."""
    power = np.arange(10)
    series = np.polynomial.polynomial.polyder((-1.0) ** power / (power + 1), derivative)
    return np.asarray(np.polynomial.polynomial.polyval(np.clip(u, -0.02, 0.02), series))


def _profile(x: Floats, xi: float) -> float:
    """Largest mean log-likelihood over σ at one ξ in (−1, ∞); x of unit mean."""
    if xi <= -1:
        return -math.log(float(x.max()))
    if abs(xi) < 1e-9:
        return -1.0 - math.log(float(x.mean()))
    # mean (1 + ξ)x/(σ + ξx) = 1; its reciprocal is concave and rises in σ, so Newton from the left never overshoots
    end = max(-xi * float(x.max()), 0.0)
    low, high = end, end + (1 + max(xi, 0.0)) * 2 * float(x.max())
    sigma = max(end * (1 + 1e-9), 0.5) if xi > -0.5 else end * (1 + 1e-6)
    for _ in range(100):
        part = x / (sigma + xi * x)
        value = (1 + xi) * float(part.mean())
        low, high = (sigma, high) if value > 1 else (low, sigma)
        slope = (1 + xi) * float((part / (sigma + xi * x)).mean()) / value**2
        following = sigma - (1 / value - 1) / slope
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - sigma) <= 1e-14 * sigma:
            break
        sigma = following
    return -math.log(sigma) - (1 + 1 / xi) * float(np.log1p(xi * x / sigma).mean())


def _profile_end(x: NDArray[np.float64], xi: float, width: float, target: float) -> float:
    """End of the interval on the side of ``width``: the profile falls through the target there."""
    inner, outer = xi, max(xi + width, -1.0)
    while _profile(x, outer) > target:
        if outer == -1.0:
            return -1.0
        width *= 1.6
        inner, outer = outer, max(outer + width, -1.0)
    above, below = _profile(x, inner) - target, _profile(x, outer) - target
    side = 0
    for _ in range(100):  # regula falsi with halving (Illinois)
        middle = (inner * below - outer * above) / (below - above)
        value = _profile(x, middle) - target
        if value > 0:
            inner, above, below, side = middle, value, below / (2 if side == 1 else 1), 1
        else:
            outer, below, above, side = middle, value, above / (2 if side == -1 else 1), -1
        if abs(value) < 1e-15 or abs(outer - inner) < 1e-10:
            break
    return (inner * below - outer * above) / (below - above) if above != below else middle
