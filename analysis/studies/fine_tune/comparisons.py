"""The candidate against one baseline on the items that both have: difference, interval, discordant pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.present.format import plural
from analysis.stats import (
    bounded_mean_interval,
    clustered_mean,
    keyed_stream,
    mcnemar,
    paired_mean_interval,
    tango_interval,
)

from .parameters import Params
from .systems import Floats, Rows, Scores, TestSet

NO_RANGE = "the scale of the scores is not known: give score_range"
MOST_LOST = 0.5  # of a baseline's attempts: beyond it the baseline was not measured
FEW_GRADED = 50
FEW_MOVED = 20  # clusters with any difference: fewer, and a bootstrap of them collapses
FEW_CLUSTERS = 40  # under it the bias-corrected error with Satterthwaite's degrees of freedom


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval of a mean difference and what made it; ``reason`` says why it is another method or missing."""

    low: float | None
    high: float | None
    method: str
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Candidate minus baseline.

    Attributes
    ----------
    n_paired
        Items that both have.
    baseline_missing, candidate_missing
        Items that only the other one has.
    published, corrected
        Percentile bootstrap as the guide has it; Tango's score interval for pass or fail, BCa otherwise, clustered where
        items belong together.
    baseline_only, candidate_only
        Items that only one of them passed; None for graded scores.
    p_exact, p_mid
        McNemar's test; None for graded scores.
    worst, worst_binds
        The corrected difference if all that is missing spoke against the candidate, or without the baseline's failures
        where they count, and whether it limits what is shown; None when nothing is missing.
    n_clusters
        Clusters of the paired items; None when every item stands for itself.
    """

    baseline: str
    candidate: str
    metric: str
    n_paired: int
    baseline_missing: int
    candidate_missing: int
    rate_baseline: float
    rate_candidate: float
    mean_diff: float
    published: Interval
    corrected: Interval
    baseline_only: int | None
    candidate_only: int | None
    both: int | None
    neither: int | None
    p_exact: float | None
    p_mid: float | None
    worst: Interval | None
    worst_binds: bool
    n_clusters: int | None

    def interval(self, method: str) -> Interval:
        """The interval of a method."""
        return self.published if method == "paper" else self.corrected


def compare(
    scores: Scores, baseline: str, candidate: str, params: Params, *, clusters: npt.NDArray[np.object_] | None
) -> Comparison:
    """The candidate against one baseline."""
    one, two = scores.values[baseline], scores.values[candidate]
    here = [~np.isnan(one), ~np.isnan(two)]
    both = here[0] & here[1]
    diff = (two - one)[both]
    labels = cluster_labels(clusters, both)
    pairs = _discordant(one[both], two[both]) if scores.binary else (None,) * 4
    key = ("difference", scores.metric, baseline)
    tests = mcnemar(pairs[0], pairs[1]) if pairs[0] is not None and pairs[1] is not None else None
    only = [int((here[1] & ~here[0]).sum()), int((here[0] & ~here[1]).sum())]
    return Comparison(
        baseline=baseline,
        candidate=candidate,
        metric=scores.metric,
        n_paired=int(both.sum()),
        baseline_missing=only[0],
        candidate_missing=only[1],
        rate_baseline=float(one[both].mean()),
        rate_candidate=float(two[both].mean()),
        mean_diff=float(diff.mean()),
        published=_percentile(diff, labels, scores, params, key),
        corrected=interval_of(diff, labels, scores, params, key),
        baseline_only=pairs[0],
        candidate_only=pairs[1],
        both=pairs[2],
        neither=pairs[3],
        p_exact=tests.exact if tests else None,
        p_mid=tests.mid_p if tests else None,
        worst=_worst(scores, baseline, candidate, params, clusters),
        worst_binds=not scores.counted or any(only) or _lost_share(scores, baseline) > MOST_LOST,
        n_clusters=None if labels is None else len(set(labels)),
    )


def interval_of(
    diff: Floats,
    labels: npt.NDArray[np.object_] | None,
    scores: Scores,
    params: Params,
    key: tuple[str, ...],
    *,
    level: float | None = None,
) -> Interval:
    """The corrected interval of a mean difference."""
    level = level or params.level
    if labels is not None and len(set(labels)) == len(labels):
        labels = None  # every item is a cluster of its own
    if labels is not None:
        n_clusters = len(set(labels))
        if n_clusters < params.min_clusters:
            reason = f"{plural(n_clusters, 'cluster')}, fewer than min_clusters = {params.min_clusters}"
            return Interval(low=None, high=None, method="clustered", reason=reason)
        moved = np.bincount(np.unique(labels.astype(str), return_inverse=True)[1], diff)
        if n_clusters < FEW_CLUSTERS or (moved != 0).sum() < FEW_MOVED:
            found = clustered_mean(diff, labels, level=level, method="CR2", min_clusters=params.min_clusters)
            return Interval(low=found.low, high=found.high, method="clustered CR2 t", reason=found.reason)
        return _bootstrap(diff, labels, "bca", scores, params, key, level)
    if scores.low == 0.0 and scores.high == 1.0 and bool(np.isin(diff, (-1.0, 0.0, 1.0)).all()):
        lost, gained = _signs(diff)
        low, high = tango_interval(lost, gained, diff.size, level=level)
        return Interval(low=low, high=high, method="Tango score")
    if diff.size < FEW_GRADED:
        return _bounded(diff, scores, level)
    return _bootstrap(diff, None, "bca", scores, params, key, level)


def _bounded(diff: Floats, scores: Scores, level: float) -> Interval:
    """By betting on bounded scores: few graded differences say little of rare large ones."""
    if scores.low is None or scores.high is None:
        return Interval(low=None, high=None, method="betting on bounded scores", reason=NO_RANGE)
    width = scores.high - scores.low
    low, high = bounded_mean_interval(diff, low=-width, high=width, level=level)
    reason = (
        f"{plural(diff.size, 'graded difference')}, fewer than {FEW_GRADED}: a bootstrap could miss rare large losses"
    )
    return Interval(low=low, high=high, method="betting on bounded scores", reason=reason)


def distinct_rows(test_set: TestSet, name: str) -> list[tuple[str, Rows]]:
    """Values of a slice with the items that have them."""
    labels = test_set.slices[name]
    return [(value, labels == value) for value in dict.fromkeys(labels) if value]


def cluster_labels(clusters: npt.NDArray[np.object_] | None, rows: Rows) -> npt.NDArray[np.object_] | None:
    """Cluster of every paired item; an item without one is a cluster of its own."""
    if clusters is None:
        return None
    return np.array([label or f"\x1f{i}" for i, label in enumerate(clusters[rows])], dtype=object)


def _percentile(
    diff: Floats, labels: npt.NDArray[np.object_] | None, scores: Scores, params: Params, key: tuple[str, ...]
) -> Interval:
    return _bootstrap(diff, labels, "percentile", scores, params, key, params.level)


def _bootstrap(
    diff: Floats,
    labels: npt.NDArray[np.object_] | None,
    method: str,
    scores: Scores,
    params: Params,
    key: tuple[str, ...],
    level: float,
) -> Interval:
    given = None if scores.low is None or scores.high is None else (scores.low, scores.high)
    drawn = (
        {} if params.bootstrap is None else {"n_resamples": params.bootstrap, "rng": keyed_stream(params.seed, *key)}
    )
    codes = None if labels is None else np.unique(labels.astype(str), return_inverse=True)[1]
    try:
        found = paired_mean_interval(diff, level=level, method=method, clusters=codes, score_range=given, **drawn)  # type: ignore[arg-type]
    except ValueError as error:
        return Interval(low=None, high=None, method=method, reason=str(error))
    if found.method == "betting" and given is None:
        return Interval(low=None, high=None, method=method, reason=NO_RANGE)
    name = {"percentile": "percentile bootstrap", "bca": "BCa bootstrap", "betting": "betting on bounded scores"}
    return Interval(low=found.low, high=found.high, method=name.get(found.method, found.method), reason=found.reason)


def _discordant(one: Floats, two: Floats) -> tuple[int, int, int, int]:
    lost, gained = _signs(two - one)
    both = int(((one == 1) & (two == 1)).sum())
    return lost, gained, both, int(one.size) - lost - gained - both


def _signs(diff: Floats) -> tuple[int, int]:
    return int((diff < 0).sum()), int((diff > 0).sum())


def _lost_share(scores: Scores, system: str) -> float:
    """Share of a system's attempts that had no score."""
    tried = int(scores.attempts[system].sum()) + (0 if scores.counted else int(scores.lost[system].sum()))
    return scores.unscored[system] / tried if tried else 1.0


def _worst(
    scores: Scores, baseline: str, candidate: str, params: Params, clusters: npt.NDArray[np.object_] | None
) -> Interval | None:
    """What is missing at the end of the range that speaks against the candidate; None where nothing is.

    Where attempts without a score count as failures, items on which the baseline has any are left out instead: its
    failures must not make the candidate's case.
    """
    one, two = scores.values[baseline], scores.values[candidate]
    failed = scores.lost[baseline] > 0
    if scores.counted and failed.any():
        kept = ~failed & ~np.isnan(one) & ~np.isnan(two)
        if not kept.any():
            return Interval(
                low=None, high=None, method="without the baseline's failures", reason=f"{baseline} has no scored item"
            )
        return interval_of(
            (two - one)[kept], cluster_labels(clusters, kept), scores, params, ("scored", scores.metric, baseline)
        )
    lost = np.zeros_like(scores.lost[baseline]) if scores.counted else scores.lost[baseline] + scores.lost[candidate]
    either = ~np.isnan(one) | ~np.isnan(two) | (lost > 0)
    if not (np.isnan(one) | np.isnan(two) | (lost > 0))[either].any():
        return None
    if scores.low is None or scores.high is None:
        return Interval(low=None, high=None, method="worst case", reason=NO_RANGE)
    before, after = scores.at_worst(baseline, scores.high), scores.at_worst(candidate, scores.low)
    before, after = np.where(np.isnan(before), scores.high, before), np.where(np.isnan(after), scores.low, after)
    labels = cluster_labels(clusters, either)
    return interval_of((after - before)[either], labels, scores, params, ("worst", scores.metric, baseline))
