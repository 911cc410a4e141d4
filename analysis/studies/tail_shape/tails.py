"""The tail of one model on one set of prompts: fit, intervals, goodness of fit, threshold scan, resamples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.present.format import number, plural, prob
from analysis.stats import (
    GpdFit,
    ThresholdScan,
    ThresholdStability,
    anderson_darling_bootstrap,
    anderson_darling_gpd,
    exceedances,
    fit_gpd,
    keyed_stream,
    percentile_interval,
    profile_interval,
    resample_counts,
    resampled_tvar,
    scan_thresholds,
    tail_items,
    threshold_stability,
    tvar,
)

from .parameters import Params

Floats = npt.NDArray[np.float64]
LAW_EXCEEDANCES, LAW_XI = 300, -0.3  # where the asymptotic law of A² has its size (performance study)
SMALLEST = 1e-300  # below this a logit has no float
SATURATED = 1e-3  # a score within this share of the range from a bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """Resamples of the prompts of a group: every model asks for its own items of the same draws.

    ``clusters`` holds the cluster of every prompt, shape (n,); clusters are then drawn whole.
    """

    n: int
    clusters: npt.NDArray[np.int64] | None
    seed: int
    resamples: int
    key: tuple[str, ...]

    def counts(self, keep: npt.NDArray[np.intp]) -> npt.NDArray[np.integer]:
        """How often each item of ``keep`` stands in every resample, shape (B, k)."""
        stream = keyed_stream(self.seed, *self.key, "prompts")
        if self.clusters is None:
            return resample_counts(self.n, self.resamples, rng=stream, keep=keep)
        drawn = resample_counts(int(self.clusters.max()) + 1, self.resamples, rng=stream)
        return np.asarray(drawn[:, self.clusters[keep]])

    def tvars(self, values: Floats, counts: npt.NDArray[np.integer], params: Params) -> Floats:
        """TVaR of every resample; resamples of clusters differ in size."""
        sizes = self.n if self.clusters is None else counts.sum(axis=1, dtype=int)
        return np.asarray(resampled_tvar(values, counts, level=params.tvar_level, n=sizes))


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """One model's tail.

    Attributes
    ----------
    model, scale
        Whose, and on which scale: ``raw`` or ``logit``.
    n, mean, tvar, threshold, n_exc
        Scores, their mean and TVaR, the threshold at ``quantile`` and the scores strictly over it.
    independent
        Exceedances that count: one per cluster where clusters are resampled.
    tied, distinct, at_maximum, saturated, moved, clusters
        Share of exceedances that are tied; distinct exceedances; share of exceedances at the largest; share of
        scores within a thousandth of the range from the severe end; scores of exactly 0 or 1 that the logit moved;
        clusters, None where every prompt stands for itself.
    fit
        None where there are fewer than two distinct exceedances.
    problem
        Why no statement about this tail is possible; empty when one is.
    profile, percentile
        Intervals of ξ at 1 − ``alpha``; None without a regular fit.
    a2, p_law, p_bootstrap, p_value
        Anderson-Darling statistic, its p-values by the asymptotic law and by parametric bootstrap, the one that counts.
    raw, values
        Scores as they were given, and severities on the scale of the analysis.
    xi, sigma, tvars
        Resamples of prompts, float64 of shape (B,); the same prompts for every model.
    """

    model: str
    scale: str
    n: int
    mean: float
    tvar: float
    threshold: float
    n_exc: int
    independent: int
    tied: float
    distinct: int
    at_maximum: float
    saturated: float
    clusters: int | None
    moved: int
    fit: GpdFit | None
    problem: str
    profile: tuple[float, float] | None
    percentile: tuple[float, float] | None
    a2: float | None
    p_law: float | None
    p_bootstrap: float | None
    p_value: float | None
    scan: ThresholdScan
    stability: ThresholdStability
    raw: Floats
    values: Floats
    xi: Floats
    sigma: Floats
    tvars: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How scores become severities, higher is worse: turned round or not, on their own scale or as logits.

    ``low`` and ``high`` are what an exact 0 and an exact 1 are moved inside by: half the distance of the nearest score
    from that bound, over both models of a pair.
    """

    turned: bool
    logit: bool
    low: float = 0.0
    high: float = 0.0

    @property
    def name(self) -> str:
        """``raw`` or ``logit``."""
        return "logit" if self.logit else "raw"

    def severity(self, raw: Floats) -> Floats:
        """Scores on the scale of the analysis."""
        values = raw
        if self.logit:
            with np.errstate(divide="ignore"):
                values = np.log(raw) - np.log1p(-raw)
            values = np.where(raw <= 0, math.log(self.low) - math.log1p(-self.low), values) if self.low else values
            values = np.where(raw >= 1, math.log1p(-self.high) - math.log(self.high), values) if self.high else values
        return -values if self.turned else values


def scale_of(samples: Sequence[Floats], params: Params, *, logit: bool) -> Scale:
    """The scale for the scores of one or two models."""
    turned = params.direction == "lower-is-worse"
    if not logit:
        return Scale(turned=turned, logit=False)
    raw = np.concatenate(samples)
    inside = raw[(raw > 0) & (raw < 1)]
    low = float(inside.min()) / 2 if len(inside) else 0.25
    high = float((1 - inside).min()) / 2 if len(inside) else 0.25
    return Scale(turned=turned, logit=True, low=max(low, SMALLEST), high=max(high, SMALLEST))


def levels(params: Params, n: int) -> Floats:
    """Quantiles at which the tail of n scores is fitted: the scan, the threshold, and the ends of its band.

    Those that leave fewer than ``min_distinct`` scores above are left out, except the threshold itself.
    """
    low, high = params.scan
    steps = round((high - low) / params.scan_step)
    grid = [low + i * params.scan_step for i in range(steps + 1)]
    band = [params.quantile - params.band, params.quantile, params.quantile + params.band]
    wanted = {round(q, 10) for q in [*grid, *band] if 0 < q < 1}
    kept = {q for q in wanted if round(n * (1 - q)) >= params.min_distinct}
    return np.array(sorted(kept | {round(params.quantile, 10)}))


def analyse(
    model: str,
    raw: Floats,
    params: Params,
    *,
    scale: Scale,
    draws: Draws,
    key: tuple[str, ...],
) -> Tail:
    """Fit and resample one tail.

    Parameters
    ----------
    raw
        Scores as they were given, float64 of shape (n,).
    scale
        How they become severities.
    draws
        The resamples of prompts.
    key
        Labels of the stream of the parametric bootstrap.
    """
    values = scale.severity(raw)
    moved = int(((raw <= 0) | (raw >= 1)).sum()) if scale.logit else 0
    threshold, excess = exceedances(values, quantile=params.quantile)
    at = levels(params, len(values))
    keep = np.arange(len(values))
    if draws.clusters is None:
        over = np.flatnonzero(values > np.quantile(values, at[0]))
        keep = np.union1d(tail_items(values, level=params.tvar_level), over)
    counts = draws.counts(keep)
    few = round(len(values) * (1 - params.quantile)) < params.min_distinct
    scan = scan_thresholds(values, at, counts[:0] if few else counts, keep=keep)
    stability = _stability(scan, params)
    ordered = np.sort(excess)
    distinct = len(np.unique(ordered))
    tied = 1 - distinct / len(ordered) if len(ordered) else 0.0
    at_maximum = float((ordered == ordered[-1]).mean()) if len(ordered) else 0.0
    fit = fit_gpd(excess) if distinct > 1 else None
    problem = _problem(fit, len(excess), distinct, tied, at_maximum, moved / len(raw), params)
    if draws.clusters is not None and int(draws.clusters.max()) + 1 < params.min_clusters:
        problem = f"{plural(int(draws.clusters.max()) + 1, 'cluster')}, fewer than {params.min_clusters}"
    place = int(np.argmin(np.abs(at - params.quantile)))
    xi, sigma = scan.xi[:, place], scan.sigma[:, place]
    if few:
        xi = sigma = np.full(params.bootstrap, np.nan)
    tested = anderson_darling_gpd(excess, fit) if fit is not None else None
    a2 = tested.statistic if tested else None
    p_law = tested.p_value if tested else None
    by_law = fit is not None and len(excess) >= LAW_EXCEEDANCES and fit.xi >= LAW_XI and p_law is not None
    p_bootstrap = None
    if fit is not None and a2 is not None:  # where the law decides it is the cross-check
        stream = keyed_stream(params.seed, *key, model, scale.name, "goodness of fit")
        p_bootstrap = anderson_darling_bootstrap(fit.xi, len(excess), a2, params.gof_bootstrap, rng=stream)
    regular = fit is not None and fit.status == "regular"
    finite = bool(np.isfinite(xi).all())
    return Tail(
        model=model,
        scale=scale.name,
        n=len(values),
        mean=float(values.mean()),
        tvar=tvar(values, level=params.tvar_level),
        threshold=threshold,
        n_exc=len(excess),
        independent=len(excess) if draws.clusters is None else len(np.unique(draws.clusters[values > threshold])),
        tied=tied,
        distinct=distinct,
        at_maximum=at_maximum,
        saturated=_saturated(values),
        clusters=None if draws.clusters is None else int(draws.clusters.max()) + 1,
        raw=raw,
        moved=moved,
        fit=fit,
        problem=problem,
        profile=profile_interval(excess, fit, level=1 - params.alpha) if regular and fit is not None else None,
        percentile=percentile_interval(xi, level=1 - params.alpha) if finite else None,
        a2=a2,
        p_law=p_law,
        p_bootstrap=p_bootstrap,
        p_value=p_law if by_law else p_bootstrap,
        scan=scan,
        stability=stability,
        values=values,
        xi=xi,
        sigma=sigma,
        tvars=draws.tvars(values[keep], counts, params),
    )


def _stability(scan: ThresholdScan, params: Params) -> ThresholdStability:
    """The joint test over the band; undecidable where a side of the band has too few exceedances to be fitted."""
    sides = [round(params.quantile + sign * params.band, 10) for sign in (-1, 1)]
    if scan.xi.shape[0] == 0 or any(q not in np.round(scan.quantiles, 10) for q in sides):
        return ThresholdStability(
            anchor=params.quantile, quantiles=(), deviations=(), z=(), low=(), high=(), max_z=None, critical=None,
            p_value=None, joint="undecidable", equivalence="undecidable",
        )  # fmt: skip
    return threshold_stability(
        scan, anchor=params.quantile, band=params.band, tolerance=params.stability_tolerance, alpha=params.alpha
    )


def point_fit(raw: Floats, params: Params, *, logit: bool) -> tuple[GpdFit | None, float | None, float | None]:
    """Fit, A² and its asymptotic p-value on one scale, without resamples: the other column of the fits table."""
    values = scale_of([raw], params, logit=logit).severity(raw)
    _, excess = exceedances(values, quantile=params.quantile)
    if len(np.unique(excess)) < 2:
        return None, None, None
    fit = fit_gpd(excess)
    tested = anderson_darling_gpd(excess, fit)
    return fit, tested.statistic, tested.p_value


def _saturated(values: Floats) -> float:
    """Share of severities within a thousandth of their range from the severe end."""
    low, high = float(values.min()), float(values.max())
    return float((high - values <= SATURATED * (high - low)).mean())


def _problem(
    fit: GpdFit | None, n_exc: int, distinct: int, tied: float, at_maximum: float, moved: float, params: Params
) -> str:
    """The first reason why nothing can be said about this tail; empty when something can."""
    if n_exc == 0:
        return "no score lies strictly over the threshold"
    if at_maximum > params.max_tied and at_maximum * n_exc > 1:
        return f"{prob(at_maximum)} of the exceedances sit at the largest score, as under a cap"
    if tied > params.max_tied:
        return f"{prob(tied)} of the exceedances are tied, more than {number(params.max_tied)}"
    if moved > params.max_tied:
        return f"{prob(moved)} of the scores are exactly 0 or 1, which have no logit"
    if distinct < params.min_distinct:
        return f"{plural(distinct, 'distinct exceedance')}, fewer than {params.min_distinct}"
    if fit is None or fit.status == "boundary":
        return "the fit lies on the boundary ξ = −1"
    if fit.xi >= 1:
        return f"ξ̂ = {number(fit.xi)} is at least 1: the mean and the TVaR that G1 and G2 compare do not exist"
    if fit.status == "non-regular":
        return f"ξ̂ = {number(fit.xi)} is below −½, where a tail index has no regular estimate"
    return ""
