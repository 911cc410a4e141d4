"""The guide's eight points answered from the data, what it says and what holds up, and warnings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from analysis.present.format import level, number, plural, prob
from analysis.present.prose import listed
from analysis.present.table import Table, TableColumn
from analysis.sections import disputed_points, warnings_table
from analysis.stats import items_for_power, items_needed, mcnemar_power, slice_power, tango_interval

from .rule import JudgeCalibrated, NotBelow, SliceFloor, SuiteDrop

if TYPE_CHECKING:
    from .comparison import Report

Row = tuple[str, str, str, str]

# the guide's example: correct of 820 items, its plan, its slice rule
GUIDE_N, GUIDE_TUNED, GUIDE_PROMPTED, GUIDE_RETRIEVAL, GUIDE_MARGIN = 820, 746, 722, 725, 0.02
GUIDE_GAIN, GUIDE_LOSS, GUIDE_ITEMS = 0.08, 0.03, 338
GUIDE_SLICE, GUIDE_DROP = 50, 0.02


def checklist(found: Report) -> Table:
    """The guide's eight points, each answered from the data or marked *not shown*."""
    test_set, rule = found.test_set, found.params.rule
    clauses = found.judged
    guards = rule.guardrails
    both_orders = any(judge.n_both_orders for judge in found.evidence.judges)
    labelled = any(judge.n_labels for judge in found.evidence.judges)
    regressions = [c for c in guards if isinstance(c, NotBelow | SuiteDrop | SliceFloor)]
    served = any(o.p95 is not None for o in found.evidence.operations)
    costed = any(o.cost is not None for o in found.evidence.operations)
    declared = rule.test_set is not None and rule.test_set.sha256 is not None
    rows = (
        (
            "beats the current system and a fairly tuned prompt or retrieval baseline",
            clauses[0].outcome,
            clauses[0].observed,
        ),
        (
            "the test set was frozen before training and used for no tuning decision",
            "shown" if declared else "not shown",
            f"digest {found.digest[:12]}… is the one in the rule"
            if declared
            else f"no digest in the rule; here it is {found.digest}",
        ),
        (
            "the same items for all, paired intervals",
            "shown" if all(unit.n_unpaired == 0 for unit in found.units) else "not shown",
            f"{plural(len(test_set.main.items), 'item')}; unpaired: {listed([f'{u.baseline} {u.n_unpaired:,}' for u in found.units], most=6)}",
        ),
        (
            "size set by a power calculation in advance",
            "not shown",
            "not in the data; the table of power says what this size could show",
        ),
        (
            "judge blinded, order-swapped, length-checked, calibrated on humans",
            "not measured" if not found.evidence.judges else "shown" if both_orders and labelled else "not shown",
            "no judgements were given"
            if not found.evidence.judges
            else f"both orders: {'yes' if both_orders else 'no'}; human labels: {'yes' if labelled else 'no'}",
        ),
        (
            "capability and safety regressions with margins set in advance",
            "shown" if regressions else "not shown",
            f"{plural(len(regressions), 'clause')} of the rule" if regressions else "the rule has no such clause",
        ),
        (
            "cost per success and p95 on the real serving set-up",
            "shown" if served and costed else "not measured",
            f"latency: {'given' if served else 'not given'}; cost: {'given' if costed else 'not given'}; whether on the real set-up is not in the data",
        ),
        (
            "decision by a rule written before the results",
            "not shown" if found.params.decision is None else "see the standing of the rule",
            "no rule was written" if found.params.decision is None else rule.decision_rule,
        ),
    )
    return Table(
        id="checklist",
        title="The guide's eight points.",
        columns=(
            TableColumn(key="point", label="point", kind="text"),
            TableColumn(key="answer", label="answer"),
            TableColumn(key="evidence", label="from the data", kind="text"),
        ),
        rows=rows,
    )


def what_holds_up(found: Report) -> Table:
    """Every disputed point of the guide."""
    return disputed_points((point(found) for point in POINTS), "guide")


def warnings(found: Report) -> Table:
    """One row a warning."""
    return warnings_table([*_losses(found), *_clusters(found), *_judges(found), *_overlap(found), *_rule(found)])


def _own_gate(found: Report) -> Row:
    retrieval = tango_interval(0, GUIDE_TUNED - GUIDE_RETRIEVAL, GUIDE_N)[0]
    prompted = tango_interval(0, GUIDE_TUNED - GUIDE_PROMPTED, GUIDE_N)[0]
    return (
        "The example and its own rule",
        "the tuned model fails safety only; it is assumed to clear +.02",
        f"on {GUIDE_N} items {GUIDE_TUNED} against {GUIDE_RETRIEVAL} correct is at best no loss at all, and then the lower end is "
        f"{number(retrieval, 3)}; against {GUIDE_PROMPTED} it is {number(prompted, 3)}: neither exceeds {level(GUIDE_MARGIN)}, so that the primary "
        "metric is not shown either",
        f"primary: {found.judged[0].outcome}",
    )


def _planning(found: Report) -> Row:
    exact = items_for_power(GUIDE_GAIN, GUIDE_LOSS, alpha=0.05, power=0.8, form="exact").lasting
    return (
        "Size of the test set",
        f"{GUIDE_ITEMS} items for gains of {level(GUIDE_GAIN)} and losses of {level(GUIDE_LOSS)}, tested exactly",
        f"the exact test has power {prob(mcnemar_power(GUIDE_ITEMS, GUIDE_GAIN, GUIDE_LOSS, alpha=0.05, form='exact'))} there and needs {exact}; "
        f"mid-p has {prob(mcnemar_power(GUIDE_ITEMS, GUIDE_GAIN, GUIDE_LOSS, alpha=0.05, form='mid-p'))}. For a margin of {level(GUIDE_MARGIN)} "
        f"{items_needed(GUIDE_GAIN, GUIDE_LOSS, margin=GUIDE_MARGIN)} items are needed",
        "the table of power",
    )


def _slices(found: Report) -> Row:
    seen = slice_power(GUIDE_SLICE, 0.03, 0.13, drop=GUIDE_DROP)
    return (
        "Slices",
        f"no slice of {GUIDE_SLICE} items or more with its interval wholly below −{level(GUIDE_DROP)}",
        f"a true fall of .10 in a slice of {GUIDE_SLICE} items is seen with probability {prob(seen)}",
        "the clause states the power of the lowest slice; intervals hold together by the corrected method",
    )


def _safety(found: Report) -> Row:
    return (
        "Safety not below production",
        "the point estimate decides",
        "a point has no error: 497 of 500 against 500 is three items, exact p .25; but nothing shows non-inferiority without a margin either",
        "paper: the point; corrected: the lower end of the paired interval, with the margin of the rule",
    )


def _interval(found: Report) -> Row:
    methods = sorted({c.corrected.method for c in found.evidence.comparisons})
    return (
        "Interval of the difference",
        "percentile bootstrap of 10,000 resamples",
        "for pass or fail it collapses without discordant pairs, and with few it covers .90 to 1; Tango's score interval holds .95 and more "
        "(calibration tables of the project)",
        f"corrected: {listed(methods)}",
    )


def _clusters_point(found: Report) -> Row:
    clusters = [c.n_clusters for c in found.evidence.comparisons if c.n_clusters is not None]
    return (
        "Items that belong together",
        "items or clusters are resampled",
        "with few clusters a plain clustered error is too small; CR2 with Satterthwaite's degrees of freedom keeps its level (calibration tables "
        "of the project)",
        f"{clusters[0]:,} clusters" if clusters else "every item stands for itself",
    )


def _seeds(found: Report) -> Row:
    return (
        "One checkpoint",
        "the tuned model is compared",
        "one checkpoint says nothing about the recipe: rerun it with other seeds and audit them (the recipe-card study)",
        _seeds_of(found),
    )


def _seeds_of(found: Report) -> str:
    by_seed = found.test_set.seeds.get(found.test_set.candidate)
    if not by_seed:
        return f"{found.test_set.candidate}: one seed"
    return f"{found.test_set.candidate}: {len(by_seed)} seeds, {number(min(by_seed.values()), 3)} to {number(max(by_seed.values()), 3)}"


POINTS: tuple[Callable[[Report], Row], ...] = (
    _own_gate,
    _planning,
    _interval,
    _safety,
    _slices,
    _clusters_point,
    _seeds,
)


def _losses(found: Report) -> Iterator[tuple[str, str, str]]:
    scores, params = found.test_set.main, found.params
    what = "counted as failures" if params.errors == "failure" else "left out"
    lost = {system: count for system, count in scores.unscored.items() if count}
    if lost:
        yield (
            "attempts without a score",
            listed([f"{name} {count:,}" for name, count in lost.items()], most=6),
            f"{what} (errors {params.errors})",
        )
    for (suite, metric), own in found.evidence.suites.items():
        gone = {system: count for system, count in own.unscored.items() if count}
        if gone:
            names = listed([f"{name} {count:,}" for name, count in gone.items()], most=6)
            yield "suite attempts without a score", f"{suite}, {metric}", f"{names}: {what} (errors {params.errors})"
    margin = found.params.rule.primary_metric.margin
    for c in found.evidence.comparisons:
        if c.worst_binds or c.worst is None or c.worst.low is None or c.corrected.low is None:
            continue
        if c.corrected.low > margin >= c.worst.low:
            yield (
                "the baseline's failures make the case",
                c.baseline,
                f"without the items on which it has no score the lower end is {number(c.worst.low, 3)}, not above {number(margin)}",
            )
    for unit in found.units:
        if unit.n_unpaired:
            yield (
                "items that one of the two lacks",
                unit.baseline,
                f"{unit.n_unpaired:,} left out; the worst case stands beside the interval",
            )


def _clusters(found: Report) -> Iterator[tuple[str, str, str]]:
    for c in found.evidence.comparisons:
        if c.corrected.reason:
            yield "interval", c.baseline, c.corrected.reason


def _judges(found: Report) -> Iterator[tuple[str, str, str]]:
    params = found.params
    for judge in found.evidence.judges:
        if not judge.n_both_orders:
            yield (
                "one order only",
                judge.name,
                "no pair was judged in both orders: position cannot be told from quality",
            )
        if not judge.n_given:
            yield "judge not calibrated", judge.name, "no human labels of its pairs"
        elif not judge.n_labels:
            yield (
                "judge not calibrated",
                judge.name,
                f"{judge.n_given:,} human labels, but none of a pair with verdicts in both orders",
            )
        if judge.bias is not None and judge.bias.p_value <= 1 - params.level:
            flips = f"{judge.bias.first_flips:,} pairs went to the answer shown first in both orders, {judge.bias.second_flips:,} to the second"
            yield "position bias", judge.name, f"{flips}: exact p {prob(judge.bias.p_value)}"
        if judge.resolved is not None and judge.resolved.failed:
            yield (
                "judge failures",
                judge.name,
                f"{judge.resolved.failed_first:,} in the first and {judge.resolved.failed_second:,} in the second order",
            )
    family = params.judge_family
    for role, other in (("candidate", params.candidate_family), ("teacher", params.teacher_family)):
        if family and other and family.casefold() == other.casefold():
            yield (
                "judge of the same family",
                family,
                f"the judge and the {role} are both {family}: it may prefer its own",
            )


def _overlap(found: Report) -> Iterator[tuple[str, str, str]]:
    for part in found.overlaps:
        if part.shared:
            yield (
                f"test items in the training data, same {part.by}",
                listed(part.examples, most=5),
                f"{part.shared:,} of {part.checked:,}",
            )


def _rule(found: Report) -> Iterator[tuple[str, str, str]]:
    for run, systems in found.test_set.checkpoints.items():
        yield (
            "several checkpoints of one run",
            run,
            f"{listed(systems, most=6)} were all scored on the test set: choosing the best of them on it is too good to be true",
        )
    if found.params.decision is None:
        metric = found.test_set.primary
        only = "" if metric == found.params.metric else f"; no metric was named: {metric} is the only one in the data"
        yield "no rule was written", "rule", f"superior to every baseline is asked, and nothing else{only}"
    labels = [c for c in found.params.rule.guardrails if isinstance(c, JudgeCalibrated)]
    if found.evidence.judges and not labels:
        yield "judgements without a clause", "rule", "the rule does not read them"
