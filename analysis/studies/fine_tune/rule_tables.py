"""The rule clause by clause by both methods, what this test set could have shown, and why these baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.present.format import level, number
from analysis.present.table import Table, TableColumn
from analysis.stats import items_for_power, items_needed, mcnemar_power, mean_interval, minimum_detectable_effect

if TYPE_CHECKING:
    from .comparison import Report

POWER = 0.8
REASONS = (
    ("the current production system", "what is being replaced"),
    ("a stronger prompt on the same base model", "closes much of the gap for free"),
    ("a retrieval-augmented prompt", "when knowledge is missing"),
    ("a larger model, prompted", "the quality ceiling"),
)


def rule(found: Report) -> Table:
    """Clause by clause: observed, limit, outcome by both methods, what would change it."""
    paper, corrected = found.clauses["paper"], found.clauses["corrected"]
    return Table(
        id="rule",
        title="The rule, clause by clause; none is netted against another.",
        columns=(
            TableColumn(key="clause", label="clause"),
            TableColumn(key="limit", label="limit", kind="text"),
            TableColumn(key="paper", label="outcome", group="paper"),
            TableColumn(key="observed", label="observed", kind="text", group="corrected"),
            TableColumn(key="corrected", label="outcome", group="corrected"),
            TableColumn(key="change", label="what would change it", kind="text"),
        ),
        rows=tuple(
            (two.name, two.limit, one.outcome, two.observed, two.outcome, two.change or None)
            for one, two in zip(paper, corrected, strict=True)
        ),
        notes=(
            f"Rule: {found.params.rule.decision_rule}. Otherwise: {found.params.rule.otherwise}. The gate reads the {found.params.method} "
            "outcomes: any contradicted refuses, all shown pass, anything else is undecided.",
        ),
    )


def power(found: Report) -> Table:
    """What this test set could have shown."""
    margin, alpha = found.params.rule.primary_metric.margin, 1 - found.params.level
    rows: list[tuple[Any, ...]] = []
    for c in found.evidence.comparisons:
        if c.baseline_only is None or c.candidate_only is None:
            continue
        n, gain, loss = c.n_paired, c.candidate_only / c.n_paired, c.baseline_only / c.n_paired
        rows.append(
            (
                c.baseline,
                n,
                gain + loss,
                minimum_detectable_effect(n, gain + loss, alpha=alpha, power=POWER) if gain + loss > 0 else None,
                mcnemar_power(n, gain, loss, alpha=alpha, form="exact") if gain != loss else None,
                mcnemar_power(n, gain, loss, alpha=alpha, form="mid-p") if gain != loss else None,
                items_for_power(gain, loss, alpha=alpha, power=POWER, form="exact").lasting if gain > loss else None,
                items_needed(gain, loss, margin=margin, alpha=alpha, power=POWER) if gain - loss > margin else None,
            )
        )
    return Table(
        id="power",
        title="What this test set could have shown, at the rates that were seen.",
        columns=(
            TableColumn(key="baseline", label="baseline"),
            TableColumn(key="n", label="items", kind="count"),
            TableColumn(key="discordant", label="discordant share", kind="share"),
            TableColumn(key="mde", label="detectable difference", kind="number"),
            TableColumn(key="power_exact", label="exact", kind="prob", group="power of McNemar"),
            TableColumn(key="power_mid", label="mid-p", kind="prob", group="power of McNemar"),
            TableColumn(
                key="items_exact", label="any difference", kind="count", group=f"items for power {level(POWER)}"
            ),
            TableColumn(
                key="items_margin",
                label=f"above {number(margin)}",
                kind="count",
                group=f"items for power {level(POWER)}",
            ),
        ),
        rows=tuple(rows),
        notes=(
            "Power at the rates seen is a help for planning, not evidence. A dash: the difference seen does not exceed what is asked.",
        ),
        empty="graded scores: plan with the spread of their differences",
    )


def baselines(found: Report) -> Table:
    """What could ship without the tuned model, and whether it should."""
    rows = []
    for c in found.evidence.comparisons:
        low = c.corrected.low
        if low is None:
            advice = "not measured: nothing can be advised"
        elif low > 0:
            advice = "the candidate is better than this"
        elif c.baseline == found.test_set.reference:
            advice = "its interval reaches the candidate: nothing shows that the change is worth it"
        else:
            advice = "its interval reaches the candidate: ship it instead, it needs no training and forgets nothing"
        interval = None if low is None or c.corrected.high is None else {"low": low, "high": c.corrected.high}
        rows.append((c.baseline, c.mean_diff, interval, advice))
    return Table(
        id="baselines",
        title="Baselines: what could ship without the tuned model.",
        columns=(
            TableColumn(key="baseline", label="baseline"),
            TableColumn(key="mean_diff", label="candidate minus it", kind="number"),
            TableColumn(key="interval", label="interval", kind="interval"),
            TableColumn(key="advice", label="advice", kind="text"),
        ),
        rows=tuple(rows),
        notes=("The guide asks for: " + "; ".join(f"{kind}, {why}" for kind, why in REASONS) + ".",),
    )


def seeds(found: Report) -> Table:
    """Systems that were trained several times: the spread over training seeds."""
    rows: list[tuple[Any, ...]] = []
    for system, by_seed in found.test_set.seeds.items():
        values = np.array(list(by_seed.values()))
        low, high = mean_interval(values, level=found.params.level) if np.ptp(values) > 0 else (None, None)
        rows.append(
            (
                system,
                values.size,
                float(values.mean()),
                float(values.std(ddof=1)),
                float(values.min()),
                float(values.max()),
                None if low is None or high is None else {"low": low, "high": high},
            )
        )
    return Table(
        id="seeds",
        title="Training seeds: how much the recipe varies.",
        columns=(
            TableColumn(key="system", label="system"),
            TableColumn(key="n", label="seeds", kind="count"),
            TableColumn(key="mean", label="mean", kind="number"),
            TableColumn(key="sd", label="SD over seeds", kind="number"),
            TableColumn(key="lowest", label="lowest", kind="number"),
            TableColumn(key="highest", label="highest", kind="number"),
            TableColumn(key="interval", label="t interval over seeds", kind="interval"),
        ),
        rows=tuple(rows),
        notes=("An item's score is the mean over seeds. The recipe-card study says whether the recipe may be rerun.",),
        empty="one training seed of every system: one checkpoint says nothing about the recipe",
    )
