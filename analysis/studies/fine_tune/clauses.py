"""The rule clause by clause: what was observed, its limit, what came out, and what would change it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.present.format import level, number, plural, prob
from analysis.present.prose import listed
from analysis.stats import clopper_pearson_lower, clopper_pearson_upper, items_needed, slice_power

from .comparisons import Comparison, Interval, compare
from .evidence import Evidence, latency_quantile
from .parameters import Params
from .rule import (
    CostRatioLimit,
    JudgeCalibrated,
    Latency,
    NotBelow,
    Primary,
    RateFloor,
    SliceFloor,
    SuiteDrop,
)
from .slices import hidden_falls, slices_of
from .systems import Scores

Outcome = Literal["shown", "contradicted", "not shown", "not measured"]
WORST: tuple[Outcome, ...] = ("contradicted", "not measured", "not shown", "shown")
Any_ = RateFloor | SliceFloor | SuiteDrop | NotBelow | JudgeCalibrated | Latency | CostRatioLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One clause of the rule by one method.

    ``value`` is what is held against ``threshold`` (an end of an interval, or a point by the paper's method).
    """

    name: str
    observed: str
    limit: str
    relation: str
    value: float | None
    threshold: float
    outcome: Outcome
    change: str


def evaluate(evidence: Evidence, params: Params, method: str) -> list[Clause]:
    """Every clause of the rule, in its order."""
    rule = params.rule
    out = [_primary(rule.primary_metric, evidence, params, method)]
    for clause in (*rule.guardrails, *rule.operations):
        out.append(_clause(clause, evidence, params, method))
    return out


def _clause(clause: Any_, evidence: Evidence, params: Params, method: str) -> Clause:
    match clause:
        case RateFloor():
            return _rate_floor(clause, evidence, params, method)
        case SliceFloor():
            return _slice_floor(clause, evidence, params, method)
        case SuiteDrop():
            return _suite_drop(clause, evidence, params, method)
        case NotBelow():
            return _not_below(clause, evidence, params, method)
        case JudgeCalibrated():
            return _judge_calibrated(clause, evidence)
        case Latency():
            return _latency(clause, evidence, params, method)
        case CostRatioLimit():
            return _cost(clause, evidence, method)


def _primary(primary: Primary, evidence: Evidence, params: Params, method: str) -> Clause:
    """Wholly above the margin against every baseline: intersection and union, so that nothing is adjusted."""
    wanted = [c for c in evidence.comparisons if primary.against == "all" or c.baseline in primary.against]
    missing = [] if primary.against == "all" else sorted(set(primary.against) - {c.baseline for c in wanted})
    outcomes, seen, change = [], [], []
    lows = []
    for comparison in wanted:
        interval = comparison.interval(method)
        outcome = primary_outcome(comparison, method, primary.margin)
        if outcome == "not shown" and _against(interval, primary.margin) == "shown":
            change.append(f"what is missing against {comparison.baseline}: at the worst it undoes the difference")
        outcomes.append(outcome)
        seen.append(f"{comparison.baseline} {_estimate(comparison.mean_diff, interval)}: {outcome}")
        if interval.low is not None:
            lows.append(interval.low)
        if outcome == "not shown" and interval.low is not None and interval.low <= primary.margin:
            change.append(_more_items(comparison, primary.margin, params))
        elif outcome == "not measured" and interval.reason:
            change.append(interval.reason)
    worst: Outcome = "not measured" if missing or not wanted else min(outcomes, key=WORST.index)
    change += [f"{name} was not scored" for name in missing]
    return Clause(
        name=f"primary: {evidence.test_set.primary}",
        observed="; ".join(seen) or "no comparison",
        limit=f"interval above {number(primary.margin)} against {'every baseline' if primary.against == 'all' else listed(primary.against)}",
        relation=">",
        value=min(lows) if len(lows) == len(wanted) and lows else None,
        threshold=primary.margin,
        outcome=worst,
        change="; ".join(dict.fromkeys(change)),
    )


def primary_outcome(comparison: Comparison, method: str, margin: float) -> Outcome:
    """Whether the difference exceeds the margin, also at the worst that is missing."""
    outcome = _against(comparison.interval(method), margin)
    binds = comparison.worst_binds and comparison.worst is not None
    undone = binds and comparison.worst is not None and _against(comparison.worst, margin) != "shown"
    return "not shown" if outcome == "shown" and undone else outcome


def _against(interval: Interval, margin: float) -> Outcome:
    if interval.low is None or interval.high is None:
        return "not measured"
    return "shown" if interval.low > margin else "contradicted" if interval.high < margin else "not shown"


def _more_items(comparison: Comparison, margin: float, params: Params) -> str:
    """Items that would show the difference as it was observed."""
    n, b, c = comparison.n_paired, comparison.baseline_only, comparison.candidate_only
    if comparison.mean_diff <= margin:
        return f"a difference above {number(margin)}: against {comparison.baseline} it is {number(comparison.mean_diff, 3)}"
    if b is None or c is None:
        return f"more items: the difference from {comparison.baseline} is above the margin, its interval is not"
    needed = items_needed(c / n, b / n, margin=margin, alpha=1 - params.level)
    return f"about {needed:,} items at the rates seen against {comparison.baseline} ({n:,} there are)"


def _rate_floor(clause: RateFloor, evidence: Evidence, params: Params, method: str) -> Clause:
    name, limit = f"rate-floor: {clause.metric}", f"at least {level(clause.at_least)}"
    scores = _metric(clause.metric, evidence)
    if scores is None:
        return _not_measured(name, limit, "≥", clause.at_least, f"no metric {clause.metric} in items or suites")
    values = scores.values[evidence.test_set.candidate]
    main = evidence.test_set.main
    lacking = int(np.isnan(values).sum())
    if clause.metric in evidence.test_set.scores:
        there = set(scores.items[~np.isnan(values)])
        asked = set(scores.items) | set(main.items[~np.isnan(main.values[evidence.test_set.candidate])])
        lacking = len(asked - there)
    values = values[~np.isnan(values)]
    if not values.size:
        return _not_measured(name, limit, "≥", clause.at_least, f"the candidate has no score of {clause.metric}")
    if not scores.binary:
        return _not_measured(
            name, limit, "≥", clause.at_least, f"{clause.metric} is graded: a rate counts passed items"
        )
    k, delta = int(values.sum()), (1 - params.level) / 2
    n = values.size + lacking
    low, high = clopper_pearson_lower(k, n, delta=delta), clopper_pearson_upper(k + lacking, n, delta=delta)
    point = k / n if method == "paper" else low
    outcome: Outcome = (
        "shown" if point >= clause.at_least else "contradicted" if high < clause.at_least else "not shown"
    )
    return Clause(
        name=name,
        observed=f"{k:,} of {plural(n, 'item')}"
        + (f", {lacking:,} of them without a score," if lacking else ",")
        + f" {prob(k / n, 4)} [{prob(low, 4)}, {prob(high, 4)}]",
        limit=limit,
        relation="≥",
        value=float(point),
        threshold=clause.at_least,
        outcome=outcome,
        change="" if outcome == "shown" else "more items, or fewer failures: the lower bound must reach the limit",
    )


def _slice_floor(clause: SliceFloor, evidence: Evidence, params: Params, method: str) -> Clause:
    """No slice wholly below; by the corrected method with intervals that hold together and the power of every slice."""
    name, limit = "slice-floor", f"no slice of {clause.min_items} items wholly below −{level(clause.drop)}"
    test_set = evidence.test_set
    found = slices_of(test_set, clause.min_items, params, together=method == "corrected")
    if not found:
        return _not_measured(
            name, limit, "≥", -clause.drop, f"no slice column with a value of {clause.min_items} items or more"
        )
    unknown = [f"{label}: {interval.reason}" for label, _, _, interval in found if interval.high is None]
    below = [label for label, _, _, interval in found if interval.high is not None and interval.high < -clause.drop]
    highs = [interval.high for _, _, _, interval in found if interval.high is not None]
    outcome: Outcome = "contradicted" if below else "not measured" if unknown else "shown"
    hidden = hidden_falls(test_set, clause.min_items, clause.drop, params)
    if outcome == "shown" and hidden:
        outcome = "not measured"
        unknown = [f"{listed(hidden, most=4)}: with what was not scored the slice may lie wholly below"]
    worst = min(found, key=lambda part: part[2])
    power = ""
    if test_set.main.high == 1.0 and clause.drop < 1:
        sure = 1 - (1 - params.level) / (len(found) if method == "corrected" else 1)
        chance = slice_power(worst[1], SLICE_GAIN, SLICE_GAIN + SLICE_FALL, drop=clause.drop, level=sure)
        power = (
            f"a fall of {level(SLICE_FALL)} in a slice of {worst[1]} items is seen with probability {prob(chance)} only"
        )
    return Clause(
        name=name,
        observed=f"{plural(len(found), 'slice')}, lowest {worst[0]} {_estimate(worst[2], worst[3])} on {plural(worst[1], 'item')}"
        + (f"; wholly below: {listed(below, most=4)}" if below else ""),
        limit=limit,
        relation="≥",
        value=min(highs) if highs else None,
        threshold=-clause.drop,
        outcome=outcome,
        change="; ".join(unknown) or power,
    )


SLICE_GAIN, SLICE_FALL = 0.03, 0.10  # background gains, and the fall whose power is stated


def _suite_drop(clause: SuiteDrop, evidence: Evidence, params: Params, method: str) -> Clause:
    name, limit = (
        f"suite-drop: {clause.suite}",
        f"drop at most {level(clause.drop)}, upper end under {level(clause.upper)}",
    )
    found = suite_comparison(evidence, clause.suite, None, evidence.test_set.reference, params)
    if isinstance(found, str):
        return _not_measured(name, limit, "<", clause.upper, found)
    interval = found.interval(method)
    if interval.low is None or interval.high is None:
        return _not_measured(name, limit, "<", clause.upper, interval.reason or "no interval")
    drop, low, high = -found.mean_diff, -interval.high, -interval.low
    outcome: Outcome = (
        "shown"
        if drop <= clause.drop and high < clause.upper and _holds_at_worst(found, -clause.upper)
        else "contradicted"
        if low > clause.upper
        else "not shown"
    )
    return Clause(
        name=name,
        observed=f"drop {number(drop, 3)} [{number(low, 3)}, {number(high, 3)}] on {plural(found.n_paired, 'item')}",
        limit=limit,
        relation="<",
        value=high,
        threshold=clause.upper,
        outcome=outcome,
        change="" if outcome == "shown" else "a smaller drop, or more items in the suite",
    )


def _not_below(clause: NotBelow, evidence: Evidence, params: Params, method: str) -> Clause:
    margin = clause.margin or 0.0
    name = f"not-below: {clause.suite}" + (f", {clause.metric}" if clause.metric else "")
    limit = f"not below {clause.reference}" + (f" by more than {level(margin)}" if margin else "")
    found = suite_comparison(evidence, clause.suite, clause.metric, clause.reference, params)
    if isinstance(found, str):
        return _not_measured(name, limit, "≥", -margin, found)
    interval = found.corrected
    if method == "paper":
        outcome: Outcome = "contradicted"
        if found.mean_diff >= -margin:
            outcome = "shown" if _holds_at_worst(found, -margin) else "not shown"
        value: float | None = found.mean_diff
    elif interval.low is None or interval.high is None:
        return _not_measured(name, limit, "≥", -margin, interval.reason or "no interval")
    else:
        value = interval.low
        significant = found.p_exact is not None and found.p_exact <= 1 - params.level and found.mean_diff < -margin
        outcome = (
            "shown"
            if interval.low >= -margin and _holds_at_worst(found, -margin)
            else "contradicted"
            if interval.high < -margin or (significant and not margin)
            else "not shown"
        )
    return Clause(
        name=name,
        observed=f"{prob(found.rate_candidate, 4)} against {prob(found.rate_baseline, 4)} on {plural(found.n_paired, 'item')}, difference "
        f"{_estimate(found.mean_diff, interval)}",
        limit=limit,
        relation="≥",
        value=value,
        threshold=-margin,
        outcome=outcome,
        change=""
        if outcome == "shown"
        else "a margin that was written beforehand, and enough items to show it"
        if not margin
        else "more items",
    )


def _holds_at_worst(found: Comparison, limit: float) -> bool:
    """Whether what is missing leaves the lower end at the limit or above."""
    return not found.worst_binds or found.worst is None or (found.worst.low is not None and found.worst.low >= limit)


def suite_comparison(
    evidence: Evidence, suite: str, metric: str | None, reference: str, params: Params
) -> Comparison | str:
    """The candidate against a reference on a suite, or why there is none."""
    found = [scores for (name, own), scores in evidence.suites.items() if name == suite and metric in {None, own}]
    if not found:
        known = listed(sorted({name for name, _ in evidence.suites}), most=6)
        return f"no suite {suite}" + (f" with the metric {metric}" if metric else "") + f" in suites (there: {known})"
    if len(found) > 1:
        return f"the suite {suite} has {len(found)} metrics: the clause names none"
    scores, candidate = found[0], evidence.test_set.candidate
    lacking = [
        name for name in (reference, candidate) if name not in scores.values or np.isnan(scores.values[name]).all()
    ]
    if lacking:
        return f"{listed(lacking)} was not scored on the suite {suite}"
    if not (~np.isnan(scores.values[reference]) & ~np.isnan(scores.values[candidate])).any():
        return f"{reference} and {candidate} share no item of the suite {suite}"
    return compare(scores, reference, candidate, params, clusters=None)


def _judge_calibrated(clause: JudgeCalibrated, evidence: Evidence) -> Clause:
    name, limit = "judge-calibrated", f"{clause.labels:,} human labels or more, kappa reported"
    if not evidence.judges:
        return _not_measured(name, limit, "≥", clause.labels, "no judgements were given")
    least = min(evidence.judges, key=lambda judge: judge.n_labels)
    if least.n_labels < clause.labels or least.agreement is None:
        what = (
            f"judge not calibrated: {plural(least.n_given, 'human label')}, {least.n_labels:,} of pairs with verdicts of {least.name} in both "
            "orders"
        )
        if least.n_labels >= clause.labels:
            what = f"kappa is not defined: all verdicts and labels of {least.name} are the same"
        return _not_measured(name, limit, "≥", clause.labels, what)
    found = least.agreement
    seen = "not defined" if found.coefficient is None else number(found.coefficient, 3)
    ends = "" if found.low is None or found.high is None else f" [{number(found.low, 3)}, {number(found.high, 3)}]"
    return Clause(
        name=name,
        observed=f"{least.n_labels:,} labels, kappa {seen}{ends} ({least.name})",
        limit=limit,
        relation="≥",
        value=float(least.n_labels),
        threshold=float(clause.labels),
        outcome="shown",
        change="",
    )


def _latency(clause: Latency, evidence: Evidence, params: Params, method: str) -> Clause:
    name, limit = f"latency: p{100 * clause.quantile:g}", f"at most {number(clause.at_most_s)} s"
    found = latency_quantile(evidence.test_set, evidence.test_set.candidate, clause.quantile, params)
    if found is None:
        what = "latency_s was not given for every scored item of the candidate"
        return _not_measured(name, limit, "≤", clause.at_most_s, what)
    return _at_most(
        name,
        limit,
        clause.at_most_s,
        found,
        method,
        what="{} s",
        without="too few items for an upper bound of this quantile",
        change="a faster system, or more requests to narrow the interval",
    )


def _cost(clause: CostRatioLimit, evidence: Evidence, method: str) -> Clause:
    reference = evidence.test_set.reference
    name, limit = "cost per 1,000 successes", f"at most {level(clause.at_most_ratio)} of {reference}"
    found = evidence.operations[-1].ratio
    if found is None or found.ratio is None:
        reason = (found and found.reason) or "cost was not given for every item of both systems"
        return _not_measured(name, limit, "≤", clause.at_most_ratio, reason)
    return _at_most(
        name,
        limit,
        clause.at_most_ratio,
        (found.ratio, found.low, found.high),
        method,
        what="ratio {}",
        without=found.reason or "no upper bound",
        change="a cheaper system, or more items to narrow the interval",
    )


def _at_most(
    name: str,
    limit: str,
    threshold: float,
    found: tuple[float, float | None, float | None],
    method: str,
    *,
    what: str,
    without: str,
    change: str,
) -> Clause:
    """A point with its interval against an upper limit; an end that is missing can contradict, and never show."""
    point, low, high = found
    held = point if method == "paper" else high
    above = low is not None and low > threshold
    if held is None and not above:
        return _not_measured(name, limit, "≤", threshold, without)
    shown = held is not None and held <= threshold
    ends = f"[{'–' if low is None else number(low, 3)}, {'–' if high is None else number(high, 3)}]"
    return Clause(
        name=name,
        observed=f"{what.format(number(point, 3))} {ends}",
        limit=limit,
        relation="≤",
        value=held,
        threshold=threshold,
        outcome="shown" if shown else "contradicted" if above else "not shown",
        change="" if shown else change,
    )


def _metric(name: str, evidence: Evidence) -> Scores | None:
    if name in evidence.test_set.scores:
        return evidence.test_set.scores[name]
    found = [scores for (_, metric), scores in evidence.suites.items() if metric == name]
    return found[0] if len(found) == 1 else None


def _not_measured(name: str, limit: str, relation: str, threshold: float, reason: str) -> Clause:
    return Clause(
        name=name,
        observed=reason,
        limit=limit,
        relation=relation,
        value=None,
        threshold=threshold,
        outcome="not measured",
        change=reason,
    )


def _estimate(value: float, interval: Interval) -> str:
    if interval.low is None or interval.high is None:
        return f"{number(value, 3)} (no interval)"
    return f"{number(value, 3)} [{number(interval.low, 3)}, {number(interval.high, 3)}]"
