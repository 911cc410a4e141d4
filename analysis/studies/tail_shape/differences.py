"""Two tails on shared prompts: every difference with its interval, and the p-values of the claims, before any gate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from analysis.present.format import plural
from analysis.stats import exceedances_needed, holm, ideal_bootstrap_quantile, percentile_interval, wilson

from .parameters import Params
from .scores import PairScores
from .tails import Tail

PAPER_N_STAR = 500
WILSON_LEVEL = 0.95  # of the exceedance rate, which no gate reads


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with its interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two tails on shared prompts and every difference between them (first minus second), before any gate."""

    pair: tuple[str, str]
    group: str
    one: Tail
    two: Tail
    shared: int
    only_one: int
    only_two: int
    mean_paper: Interval
    mean: Interval
    tvar_paper: Interval
    tvar: Interval
    xi: Interval | None
    xi_se: float | None
    log_sigma: Interval | None
    above: Interval
    needed: int
    expected: float

    def bulk_problem(self, params: Params) -> str:
        """Why not even the bulk can be compared; empty when it can."""
        if self.shared < params.min_distinct:
            return f"{plural(self.shared, 'shared prompt')}, fewer than {params.min_distinct}"
        clusters = self.one.clusters
        if clusters is not None and clusters < params.min_clusters:
            return f"{plural(clusters, 'cluster')}, fewer than {params.min_clusters}"
        return ""

    def mass_problem(self, params: Params) -> str:
        """Why the TVaR has no interval; empty when it has."""
        beyond = int(round(self.shared * (1 - params.tvar_level), 6))
        few = f"{plural(beyond, 'score')} beyond the TVaR level, fewer than {params.min_distinct}"
        return self.bulk_problem(params) or (few if beyond < params.min_distinct else "")

    @property
    def least(self) -> int:
        """Exceedances of the model that has fewer, one per cluster."""
        return min(self.one.independent, self.two.independent)

    @property
    def problem(self) -> str:
        """Why the tails cannot be compared; empty when they can."""
        return next((f"{tail.model}: {tail.problem}" for tail in (self.one, self.two) if tail.problem), "")


def compare(scores: PairScores, one: Tail, two: Tail, params: Params, group: str) -> Comparison:
    """All differences between two tails, by resamples of the prompts that they share."""
    difference = one.values - two.values
    tvar_draws = one.tvars - two.tvars
    tvar_diff = one.tvar - two.tvar
    usable = np.isfinite(one.xi) & np.isfinite(two.xi)
    xi = xi_se = log_sigma = None
    if one.fit is not None and two.fit is not None and usable.all():
        draws, estimate = one.xi - two.xi, one.fit.xi - two.fit.xi
        xi, xi_se = _basic(draws, estimate, params), float(draws.std(ddof=1))
        log_draws = np.log(one.sigma) - np.log(two.sigma)
        log_sigma = _basic(log_draws, math.log(one.fit.sigma / two.fit.sigma), params)
    k = int((one.values > two.threshold).sum())
    low, high = wilson(k, one.n, level=WILSON_LEVEL)
    return Comparison(
        pair=scores.names,
        group=group,
        one=one,
        two=two,
        shared=len(difference),
        only_one=scores.only_one,
        only_two=scores.only_two,
        mean_paper=_mean(difference, scores.clusters, 1 - params.alpha),
        mean=_mean(difference, scores.clusters, 1 - 2 * params.alpha),
        tvar_paper=_percentile(tvar_draws, tvar_diff, 1 - params.alpha),
        tvar=_percentile(tvar_draws, tvar_diff, 1 - 2 * params.alpha),
        xi=xi,
        xi_se=xi_se,
        log_sigma=log_sigma,
        above=Interval(estimate=k / one.n, low=float(low), high=float(high)),
        needed=n_star(params),
        expected=(1 - params.quantile) * len(difference),
    )


def n_star(params: Params) -> int:
    """Exceedances that G3 asks of each model."""
    if params.n_star == "paper-default":
        return PAPER_N_STAR
    return exceedances_needed(params.effect, alpha=params.alpha, power=params.power)


def shape_p_values(comparisons: Sequence[Comparison], *, floor: float) -> list[float | None]:
    """Two-sided p-values of |ξ difference| ≤ floor by the paired standard error; None where there is none.

    At ``floor`` 0 this is the test that the indices are equal (P1), else that of the minimum effect (P2).
    """
    out: list[float | None] = []
    for found in comparisons:
        if found.xi is None or not found.xi_se or found.problem:
            out.append(None)
        else:
            beyond = max(abs(found.xi.estimate) - floor, 0.0)
            out.append(min(1.0, float(2 * ndtr(-beyond / found.xi_se))))
    return out


def adjusted(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm over the pairs that have a p-value."""
    known = [i for i, p in enumerate(p_values) if p is not None]
    out: list[float | None] = [None] * len(p_values)
    if known:
        for i, p in zip(known, holm([p_values[i] or 0.0 for i in known]).tolist(), strict=True):
            out[i] = p
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjusted:
    """p-values of P1 and P2 of one pair, after Holm over all pairs; None where there is none."""

    equal: float | None
    minimum: float | None


def adjusted_claims(comparisons: Sequence[Comparison], params: Params) -> list[Adjusted]:
    """Both claims of every pair, each family adjusted over the pairs."""
    equal = adjusted(shape_p_values(comparisons, floor=0.0))
    minimum = adjusted(shape_p_values(comparisons, floor=params.floor))
    return [Adjusted(equal=p, minimum=q) for p, q in zip(equal, minimum, strict=True)]


def _mean(difference: npt.NDArray[np.float64], clusters: npt.NDArray[np.int64] | None, confidence: float) -> Interval:
    """Ideal bootstrap of a paired mean; with clusters, of the ratio of cluster sums, linearised at the estimate."""
    estimate = float(difference.mean())
    sample = difference
    if clusters is not None:
        sums = np.bincount(clusters, weights=difference - estimate)
        sample = estimate + sums * len(sums) / len(difference)
    tail = (1 - confidence) / 2
    low, high = (float(ideal_bootstrap_quantile(sample, q)) for q in (tail, 1 - tail))
    return Interval(estimate=estimate, low=low, high=high)


def _percentile(draws: npt.NDArray[np.float64], estimate: float, confidence: float) -> Interval:
    low, high = percentile_interval(draws, level=confidence)
    return Interval(estimate=estimate, low=low, high=high)


def _basic(draws: npt.NDArray[np.float64], estimate: float, params: Params) -> Interval:
    """Basic bootstrap interval at 1 − α: for ξ it covers better than the percentile interval."""
    low, high = percentile_interval(draws, level=1 - params.alpha)
    return Interval(estimate=estimate, low=2 * estimate - high, high=2 * estimate - low)
