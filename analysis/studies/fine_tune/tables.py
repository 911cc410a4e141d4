"""The comparison as tables: the guide's results, differences, discordant pairs, slices, suites, operations, overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analysis.present.format import level, number
from analysis.present.table import Table, TableColumn
from analysis.results import Gate
from analysis.sections import checks_table
from analysis.stats import wilson

from .clauses import suite_comparison
from .comparisons import Comparison, Interval, compare
from .rule import NotBelow, SliceFloor, SuiteDrop
from .slices import slices_of

if TYPE_CHECKING:
    from .comparison import Report

FEWEST_SLICE = 2


def checks(gate: Gate) -> Table:
    """The gate clause by clause."""
    return checks_table(
        gate,
        "clause",
        empty="the rule has no clause",
        notes=(
            "Observed is the end of the interval that the clause reads (a point by the paper's method); a dash: not measured.",
        ),
    )


def results(found: Report) -> Table:
    """The guide's table: one row a system, the candidate last."""
    test_set, params = found.test_set, found.params
    scores = test_set.main
    safety = next((clause for clause in params.rule.guardrails if isinstance(clause, NotBelow)), None)
    rows = []
    for own in found.evidence.operations:
        values = scores.values[own.system]
        values = values[values == values]  # noqa: PLR0124  (NaN is not itself)
        low, high = wilson(int(values.sum()), values.size, level=params.level) if scores.binary else (None, None)
        versus = None
        if own.system != test_set.reference:
            versus = compare(scores, test_set.reference, own.system, params, clusters=test_set.clusters)
        p95 = own.p95
        rows.append(
            (
                own.system,
                values.size,
                float(values.mean()),
                _pair(low, high),
                None if versus is None else versus.mean_diff,
                None if versus is None else _cell(versus.interval(params.method)),
                None if safety is None else _suite_rate(found, safety.suite, safety.metric, own.system),
                None if p95 is None else p95[0],
                None if p95 is None else _pair(p95[1], p95[2]),
                None if own.cost is None else own.cost.cost,
                None if own.cost is None else _pair(own.cost.low, own.cost.high),
                None if own.ratio is None else own.ratio.ratio,
                own.input_tokens,
            )
        )
    sure = level(params.level)
    return Table(
        id="results",
        title="Results: every system on the same items, the candidate last.",
        columns=(
            TableColumn(key="system", label="system"),
            TableColumn(key="n", label="items", kind="count"),
            TableColumn(key="score", label="mean", kind="number", group=scores.metric),
            TableColumn(key="score_interval", label=f"{sure} Wilson", kind="interval", group=scores.metric),
            TableColumn(key="mean_diff", label="mean", kind="number", group="minus the reference"),
            TableColumn(key="diff_interval", label=f"{sure} paired", kind="interval", group="minus the reference"),
            TableColumn(key="safety", label="safety", kind="number"),
            TableColumn(key="p95", label="p95", kind="number", unit="s", group="latency"),
            TableColumn(key="p95_interval", label=f"{sure}", kind="interval", group="latency"),
            TableColumn(key="cost", label="per 1,000", kind="number", group="cost of successes"),
            TableColumn(key="cost_interval", label=f"{sure}", kind="interval", group="cost of successes"),
            TableColumn(key="cost_ratio", label="of reference", kind="number", group="cost of successes"),
            TableColumn(key="input_tokens", label="input tokens", kind="number"),
        ),
        rows=tuple(rows),
        notes=(
            f"Differences by the {params.method} method. Latency: order-statistic intervals; cost: currency per 1,000 successes. A dash: not given "
            "for every item, or the reference itself.",
        ),
    )


def differences(found: Report) -> Table:
    """Every comparison by both methods."""
    rows = [
        (
            c.baseline,
            c.n_paired,
            c.baseline_missing,
            c.candidate_missing,
            c.n_clusters,
            c.mean_diff,
            _cell(c.published),
            c.published.method,
            _cell(c.corrected),
            c.corrected.method,
            None if c.worst is None else _cell(c.worst),
            c.corrected.reason or c.published.reason,
        )
        for c in found.evidence.comparisons
    ]
    return Table(
        id="differences",
        title="Candidate minus baseline on the items that both have.",
        columns=(
            TableColumn(key="baseline", label="baseline"),
            TableColumn(key="n_paired", label="paired", kind="count", group="items"),
            TableColumn(key="baseline_missing", label="baseline lacks", kind="count", group="items"),
            TableColumn(key="candidate_missing", label="candidate lacks", kind="count", group="items"),
            TableColumn(key="n_clusters", label="clusters", kind="count"),
            TableColumn(key="mean_diff", label="difference", kind="number"),
            TableColumn(key="paper", label="interval", kind="interval", group="paper"),
            TableColumn(key="paper_method", label="by", group="paper"),
            TableColumn(key="corrected", label="interval", kind="interval", group="corrected"),
            TableColumn(key="corrected_method", label="by", group="corrected"),
            TableColumn(key="worst", label="worst case", kind="interval"),
            TableColumn(key="reason", label="note", kind="text"),
        ),
        rows=tuple(rows),
        notes=(
            "Worst case: every item that one of the two lacks speaks against the candidate; where attempts without a score count as failures, "
            "the difference without the baseline's own failures; a dash where none is lacking.",
        ),
    )


def discordant(found: Report) -> Table:
    """The two by two table of every comparison."""
    rows = [
        (c.baseline, c.both, c.candidate_only, c.baseline_only, c.neither, c.p_exact, c.p_mid)
        for c in found.evidence.comparisons
        if c.both is not None
    ]
    return Table(
        id="discordant",
        title="Items passed by both, by one of the two, by neither.",
        columns=(
            TableColumn(key="baseline", label="baseline"),
            TableColumn(key="both", label="both", kind="count", group="items passed by"),
            TableColumn(key="candidate_only", label="candidate only", kind="count", group="items passed by"),
            TableColumn(key="baseline_only", label="baseline only", kind="count", group="items passed by"),
            TableColumn(key="neither", label="neither", kind="count", group="items passed by"),
            TableColumn(key="p_exact", label="exact", kind="p_value", group="McNemar p"),
            TableColumn(key="p_mid", label="mid-p", kind="p_value", group="McNemar p"),
        ),
        rows=tuple(rows),
        notes=("McNemar's test asks whether there is any difference; the rule asks for more.",),
        empty="graded scores, or several attempts per item: there are no discordant pairs",
    )


def slices(found: Report) -> Table:
    """Every slice with the interval that the rule reads."""
    return Table(
        id="slices",
        title="Slices: candidate minus the reference.",
        columns=(
            TableColumn(key="slice", label="slice"),
            TableColumn(key="n", label="items", kind="count"),
            TableColumn(key="mean_diff", label="difference", kind="number"),
            TableColumn(key="interval", label="interval", kind="interval"),
            TableColumn(key="together", label="interval together", kind="interval"),
        ),
        rows=tuple(slice_rows(found)),
        notes=(
            "Together: intervals that hold for all slices at once (Bonferroni). A small slice hides large falls; the clause says with what "
            "probability one would be seen.",
        ),
        empty="no slice column has a value with two items or more",
    )


def slice_rows(found: Report) -> list[tuple[Any, ...]]:
    """Slices of two items and more."""
    params = found.params
    least = next((c.min_items for c in params.rule.guardrails if isinstance(c, SliceFloor)), FEWEST_SLICE)
    alone = slices_of(found.test_set, least, params, together=False)
    together = slices_of(found.test_set, least, params, together=True)
    return [
        (label, n, diff, _cell(one), _cell(both))
        for (label, n, diff, one), (_, _, _, both) in zip(alone, together, strict=True)
    ]


def suites(found: Report) -> Table:
    """Every suite and metric, candidate against the reference."""
    rows: list[tuple[Any, ...]] = []
    for suite, metric in found.evidence.suites:
        made = suite_comparison(found.evidence, suite, metric, found.test_set.reference, found.params)
        if isinstance(made, Comparison):
            rows.append(
                (
                    suite,
                    metric,
                    made.n_paired,
                    made.rate_baseline,
                    made.rate_candidate,
                    made.mean_diff,
                    _cell(made.corrected),
                    made.baseline_only,
                    made.candidate_only,
                    made.p_exact,
                )
            )
        else:
            rows.append((suite, metric, *(None,) * 8))
    return Table(
        id="suites",
        title="Suites: the candidate against the reference.",
        columns=(
            TableColumn(key="suite", label="suite"),
            TableColumn(key="metric", label="metric"),
            TableColumn(key="n", label="paired", kind="count"),
            TableColumn(key="reference", label="reference", kind="number", group="mean"),
            TableColumn(key="candidate", label="candidate", kind="number", group="mean"),
            TableColumn(key="mean_diff", label="difference", kind="number"),
            TableColumn(key="interval", label="interval", kind="interval"),
            TableColumn(key="baseline_only", label="reference only", kind="count", group="passed by"),
            TableColumn(key="candidate_only", label="candidate only", kind="count", group="passed by"),
            TableColumn(key="p_exact", label="exact p", kind="p_value"),
        ),
        rows=tuple(rows),
        notes=("A dash: the two share no item of the suite.",),
        empty="no suites were given",
    )


def operations(found: Report) -> Table:
    """Latency and cost, apart from quality."""
    rows = [
        (
            o.system,
            *_quantile(o.p50),
            *_quantile(o.p95),
            None if o.cost is None else o.cost.mean_cost,
            None if o.cost is None else o.cost.cost,
            None if o.cost is None else _pair(o.cost.low, o.cost.high),
            None if o.ratio is None else o.ratio.ratio,
            None if o.ratio is None else _pair(o.ratio.low, o.ratio.high),
            (o.cost.reason if o.cost is not None else None) or (o.ratio.reason if o.ratio is not None else None),
        )
        for o in found.evidence.operations
        if o.p50 is not None or o.cost is not None
    ]
    return Table(
        id="operations",
        title="Latency and cost of every system, kept apart from quality.",
        columns=(
            TableColumn(key="system", label="system"),
            TableColumn(key="p50", label="p50", kind="number", group="latency, s"),
            TableColumn(key="p50_interval", label="interval", kind="interval", group="latency, s"),
            TableColumn(key="p95", label="p95", kind="number", group="latency, s"),
            TableColumn(key="p95_interval", label="interval", kind="interval", group="latency, s"),
            TableColumn(key="mean_cost", label="per request", kind="number", group="cost"),
            TableColumn(key="cost", label="per 1,000 successes", kind="number", group="cost"),
            TableColumn(key="cost_interval", label="interval", kind="interval", group="cost"),
            TableColumn(key="ratio", label="of reference", kind="number", group="ratio"),
            TableColumn(key="ratio_interval", label="interval", kind="interval", group="ratio"),
            TableColumn(key="reason", label="note", kind="text"),
        ),
        rows=tuple(rows),
        notes=(f"Fixed cost {number(found.params.fixed_cost)} per period is spread over the volume given.",)
        if found.params.volume is not None
        else (),
        empty="neither latency nor cost was given for every item",
    )


def overlap(found: Report) -> Table:
    """What the test set shares with the training data."""
    return Table(
        id="overlap",
        title="Test items that the training data hold.",
        columns=(
            TableColumn(key="by", label="same"),
            TableColumn(key="checked", label="items checked", kind="count"),
            TableColumn(key="shared", label="found in training", kind="count"),
            TableColumn(key="examples", label="such as", kind="text"),
            TableColumn(key="reason", label="not checked, because", kind="text"),
        ),
        rows=tuple(
            (part.by, part.checked, part.shared, ", ".join(part.examples) or None, part.reason or None)
            for part in found.overlaps
        ),
        notes=("Texts are compared without case, marks and blanks; copies in other words are not found.",),
    )


def flips(found: Report) -> Table:
    """Gains and losses of every comparison, for the chart."""
    rows = [
        (c.baseline, kind, count)
        for c in found.evidence.comparisons
        if c.candidate_only is not None and c.baseline_only is not None
        for kind, count in (("gained", c.candidate_only), ("lost", -c.baseline_only))
    ]
    return Table(
        id="flips",
        title="Items gained and lost.",
        columns=(
            TableColumn(key="baseline", label="baseline"),
            TableColumn(key="kind", label="kind"),
            TableColumn(key="items", label="items", kind="number"),
        ),
        rows=tuple(rows),
        empty="graded scores, or several attempts per item",
    )


def suite_metric(clause: NotBelow | SuiteDrop) -> str | None:
    """The metric that a clause names."""
    return clause.metric if isinstance(clause, NotBelow) else None


def _suite_rate(found: Report, suite: str, metric: str | None, system: str) -> float | None:
    rates = [
        scores.rate(system)
        for (name, own), scores in found.evidence.suites.items()
        if name == suite
        and metric in {None, own}
        and system in scores.values
        and not (scores.values[system] != scores.values[system]).all()
    ]
    return rates[0] if len(rates) == 1 else None


def _quantile(found: tuple[float, float | None, float | None] | None) -> tuple[Any, Any]:
    return (None, None) if found is None else (found[0], _pair(found[1], found[2]))


def _cell(interval: Interval) -> dict[str, float] | None:
    return _pair(interval.low, interval.high)


def _pair(low: float | None, high: float | None) -> dict[str, float] | None:
    return None if low is None or high is None else {"low": float(low), "high": float(high)}
