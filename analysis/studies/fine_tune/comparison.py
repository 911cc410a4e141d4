"""The comparison from checked tables to the gate: pairs, clauses, the verdict and the sentence on top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.errors import Fault, InputError, ParameterError, plain, raise_all
from analysis.inputs import Input
from analysis.present.format import number, plural, prob
from analysis.present.prose import listed
from analysis.results import Check, Figure, Gate, Outcome, Verdict
from analysis.sections import gate_over

from . import findings, items_tables, judge_tables, rule_tables, tables
from .clauses import Clause, evaluate, primary_outcome
from .comparisons import Comparison, compare
from .evidence import Evidence, judges_of, operations_of, same_pair, suites_of
from .overlap import Overlap, content_digest, overlaps
from .parameters import Params
from .rule import NotBelow, SliceFloor, SuiteDrop
from .systems import TestSet, collect

VERDICTS: Mapping[str, Verdict] = {
    "shown": "pass",
    "contradicted": "refuse",
    "not shown": "undecided",
    "not measured": "undecided",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonUnit:
    """The unit of inference: the candidate against one baseline on the primary metric, by the method of the gate.

    ``status`` says whether the interval lies above the rule's margin: shown, contradicted, not shown, not measured.
    """

    baseline: str
    candidate: str
    metric: str
    n_paired: int
    n_unpaired: int
    mean_diff: float
    ci_low: float | None
    ci_high: float | None
    baseline_only: int | None
    candidate_only: int | None
    p_exact: float | None
    p_mid: float | None
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything the tables are views of; ``clauses`` by method, ``digest`` that of the test set."""

    evidence: Evidence
    clauses: Mapping[str, tuple[Clause, ...]]
    units: tuple[ComparisonUnit, ...]
    overlaps: tuple[Overlap, ...]
    digest: str
    params: Params

    @property
    def test_set(self) -> TestSet:
        """The items."""
        return self.evidence.test_set

    @property
    def judged(self) -> tuple[Clause, ...]:
        """The clauses of the method that the gate reads."""
        return self.clauses[self.params.method]


def check(inputs: Mapping[str, Input], params: Params) -> str:
    """Find the faults that `decide` would, and say what would be compared.

    Raises
    ------
    InputError, ParameterError
        As `decide`.
    """
    test_set = _evidence(inputs, params).test_set
    scores = test_set.main
    return (
        f"{plain(test_set.candidate)} against {listed([plain(name) for name in test_set.baselines], most=6)} on "
        f"{plural(len(scores.items), 'item')} ({scores.metric}, {'pass or fail' if scores.binary else 'graded'}); "
        f"{sum(scores.unscored.values()):,} attempts without a score; rule: {plain(params.rule.decision_rule)}"
    )


def decide(inputs: Mapping[str, Input], params: Params) -> Outcome:
    """Evaluate the rule clause by clause.

    Raises
    ------
    InputError, ParameterError
        When the data do not fit; see `systems.collect`.
    """
    found = compare_all(inputs, params)
    gate = gate_over([clause_check(clause) for clause in found.judged], "clause")
    items = items_tables.items(found)
    return Outcome(
        gate=gate,
        headline=headline(found, gate),
        units=found.units,
        tables=(
            tables.checks(gate),
            tables.results(found),
            rule_tables.rule(found),
            tables.differences(found),
            tables.discordant(found),
            tables.slices(found),
            tables.suites(found),
            tables.operations(found),
            judge_tables.judge(found),
            judge_tables.calibration(found),
            rule_tables.power(found),
            rule_tables.baselines(found),
            rule_tables.seeds(found),
            tables.overlap(found),
            findings.checklist(found),
            findings.what_holds_up(found),
            findings.warnings(found),
            items_tables.changed(items),
            tables.flips(found),
            items,
            judge_tables.lengths(found, inputs.get("judgements")),
        ),
        figures=figures(found),
    )


def compare_all(inputs: Mapping[str, Input], params: Params) -> Report:
    """The comparisons, the evidence beside them and every clause by both methods."""
    evidence = _evidence(inputs, params)
    clauses = {method: tuple(evaluate(evidence, params, method)) for method in ("paper", "corrected")}
    return Report(
        evidence=evidence,
        clauses=clauses,
        units=tuple(_unit(comparison, params) for comparison in evidence.comparisons),
        overlaps=tuple(overlaps(evidence.test_set, inputs.get("training"))),
        digest=content_digest(evidence.test_set),
        params=params,
    )


def clause_check(clause: Clause) -> Check:
    """A clause as a check of the gate."""
    return Check(
        name=clause.name,
        observed=clause.value,
        relation=clause.relation,
        limit=clause.threshold,
        verdict=VERDICTS[clause.outcome],
        reason=f"{clause.outcome}: {clause.observed}",
    )


def headline(found: Report, gate: Gate) -> str:
    """One honest sentence with its numbers."""
    test_set, params = found.test_set, found.params
    what = "ship" if gate.verdict == "pass" else params.rule.otherwise
    differences = [
        f"{unit.baseline} {number(unit.mean_diff, 3)}"
        + (
            ""
            if unit.ci_low is None or unit.ci_high is None
            else f" [{number(unit.ci_low, 3)}, {number(unit.ci_high, 3)}]"
        )
        for unit in found.units
    ]
    outcomes = [
        f"{count} {name}"
        for name in ("contradicted", "not shown", "not measured", "shown")
        if (count := sum(clause.outcome == name for clause in found.judged))
    ]
    return (
        f"By the rule {params.rule.decision_rule}: {what}. {test_set.candidate} scores {_mean(test_set)} on "
        f"{plural(int((~np.isnan(test_set.main.values[test_set.candidate])).sum()), 'item')}, a difference from {listed(differences, most=6)}; clauses: {listed(outcomes, most=4)}."
    )


def _mean(test_set: TestSet) -> str:
    mean = test_set.main.rate(test_set.candidate)
    return prob(mean) if test_set.main.low == 0.0 and test_set.main.high == 1.0 else number(mean, 4)


def figures(found: Report) -> dict[str, Figure]:
    """Titles and the sentences that stand for the figures; the drawings are in ``figures.py``."""
    margin = found.params.rule.primary_metric.margin
    slices = tables.slice_rows(found)
    texts = {
        "forest": (
            "Paired differences with their intervals, and the margin of the rule.",
            listed([f"{unit.baseline} {number(unit.mean_diff, 3)}" for unit in found.units], most=6)
            + f"; margin {number(margin)}.",
        ),
        "slices": (
            "Paired differences by slice, against the reference.",
            f"{plural(len(slices), 'slice')}." if slices else "No slices were given.",
        ),
        "cost-latency": (
            "Cost per success against latency.",
            "Systems with both: "
            + listed([o.system for o in found.evidence.operations if o.cost is not None and o.p95 is not None], most=6)
            + ".",
        ),
        "judge-length": (
            "Share of wins by difference of length.",
            "What length alone explains." if found.evidence.judges else "No judgements were given.",
        ),
        "flips": (
            "Items that the candidate gains and loses against every baseline.",
            listed(
                [
                    f"{unit.baseline}: {unit.candidate_only} gained, {unit.baseline_only} lost"
                    for unit in found.units
                    if unit.baseline_only is not None
                ],
                most=6,
            )
            + ".",
        ),
    }
    return {key: Figure(title=title, alt=alt, file=f"figures/{key}.svg") for key, (title, alt) in texts.items()}


def _evidence(inputs: Mapping[str, Input], params: Params) -> Evidence:
    test_set = _test_set(inputs, params)
    comparisons = [
        compare(test_set.main, baseline, test_set.candidate, params, clusters=test_set.clusters)
        for baseline in test_set.baselines
    ]
    same_pair(inputs.get("judgements"), test_set)
    evidence = Evidence(
        test_set=test_set,
        comparisons=comparisons,
        suites=suites_of(inputs.get("suites"), test_set, params),
        judges=judges_of(inputs.get("judgements"), inputs.get("human"), params),
        operations=operations_of(test_set, params),
    )
    _check_scale(evidence, params)
    return evidence


def _test_set(inputs: Mapping[str, Input], params: Params) -> TestSet:
    if "human" in inputs and "judgements" not in inputs:
        what = "human labels calibrate a judge, and there are no judgements"
        raise InputError(Fault(file="human", what=what, fix="Add --data judgements=PATH, or leave the labels out."))
    test_set = collect(inputs["items"], params)
    declared = params.rule.test_set
    if declared is None:
        return test_set
    n = len(test_set.main.items)
    if declared.items is not None and declared.items != n:
        what = f"{n:,} items, the rule was written for {declared.items:,}"
        raise InputError(Fault(file="items", what=what, fix="Use the frozen test set, or write a new rule."))
    found = content_digest(test_set)
    if declared.sha256 is not None and declared.sha256.lower() != found:
        what = (
            f"the digest of ids and contents is {found[:12]}…, the rule was written for {plain(declared.sha256[:12])}…"
        )
        raise InputError(Fault(file="items", what=what, fix="Use the frozen test set, or write a new rule."))
    return test_set


def _check_scale(evidence: Evidence, params: Params) -> None:
    """Refuse margins that are not smaller than the scores' range: points where shares are meant.

    Raises
    ------
    ParameterError
        With the clause and the number.
    """
    main, rule = evidence.test_set.main, params.rule
    width = None if main.low is None or main.high is None else main.high - main.low
    asked: list[tuple[str, float, float | None]] = [("primary_metric margin", abs(rule.primary_metric.margin), width)]
    for clause in rule.guardrails:
        if isinstance(clause, SliceFloor):
            asked.append(("slice-floor drop", clause.drop, width))
        elif isinstance(clause, SuiteDrop):
            asked += [
                (f"suite-drop {part}", number_, 1.0)
                for part, number_ in (("drop", clause.drop), ("upper", clause.upper))
            ]
        elif isinstance(clause, NotBelow) and clause.margin is not None:
            asked.append(("not-below margin", clause.margin, 1.0))
    wide = {scores.high for scores in evidence.suites.values()}
    faults = [
        Fault(
            place=what,
            what=f"{value:g} is not smaller than the range of the scores, {limit:g}",
            fix="Write shares, .02 for two points.",
        )
        for what, value, limit in asked
        if limit is not None
        and value >= limit
        and not (limit == 1.0 and what.split()[0] in {"suite-drop", "not-below"} and None in wide)
    ]
    raise_all(ParameterError, faults)


def _unit(comparison: Comparison, params: Params) -> ComparisonUnit:
    interval, margin = comparison.interval(params.method), params.rule.primary_metric.margin
    status = primary_outcome(comparison, params.method, margin)
    return ComparisonUnit(
        baseline=comparison.baseline,
        candidate=comparison.candidate,
        metric=comparison.metric,
        n_paired=comparison.n_paired,
        n_unpaired=comparison.baseline_missing + comparison.candidate_missing,
        mean_diff=comparison.mean_diff,
        ci_low=interval.low,
        ci_high=interval.high,
        baseline_only=comparison.baseline_only,
        candidate_only=comparison.candidate_only,
        p_exact=comparison.p_exact,
        p_mid=comparison.p_mid,
        status=status,
    )
