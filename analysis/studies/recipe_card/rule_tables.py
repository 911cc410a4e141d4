"""Tables about rules rather than cells: the five release rules, what they were judged on, and the taxonomy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from analysis.present.format import level, plural, prob
from analysis.present.prose import listed
from analysis.present.table import Table, TableColumn
from analysis.stats import noise_floor, over_budget_count

from . import published
from .tables import Audit

MOST_SHOWN = 20
NOISE_RATES = (0.02, 0.05)
RULE_NAMES = {
    "mean": ("Mean", "b̄ ≥ τ"),
    "median": ("Median", "median b ≥ τ"),
    "bootstrap_lcl": ("Bootstrap LCL", "10th percentile of the bootstrapped b̄ ≥ τ"),
    "mean_2sd": ("Mean − 2σ", "b̄ − 2σ ≥ τ"),
    "card": ("Recipe card", "Clopper-Pearson upper bound ≤ ε"),
}


def release_rules(audit: Audit) -> Table:
    """T1 with the count that is over budget and the noise of the held-out metric."""
    params, held = audit.params, audit.held_out
    printed = {rule: numbers for rule, *numbers in published.RELEASE_RULES}
    rows = [
        (*RULE_NAMES[record.rule], record.ships, record.over, record.pooled, record.per_cell, *printed[record.rule])
        for record in held.records
    ]
    whole = sorted({unit.n for _, unit in audit.calibration if unit.n})
    exact = listed([f"k ≥ {over_budget_count(n, budget=params.failure_budget)} of {n}" for n in whole], most=4)
    used = f"k ≥ {params.over_budget_count} as asked for" if params.over_budget_count else exact
    return Table(
        id="release-rules",
        title="Five release rules: what they ship, and how often that is over budget on reruns they did not see.",
        columns=(
            TableColumn(key="rule", label="Release rule"),
            TableColumn(key="criterion", label="Decision criterion"),
            TableColumn(key="ships", label=f"Ships (/{held.cells})", kind="count", group="these data"),
            TableColumn(key="over", label="Ships β̂ > ε", kind="count", group="these data"),
            TableColumn(key="pooled", label="Pr[over | ship]", kind="prob", group="these data"),
            TableColumn(key="per_cell", label="averaged per cell", kind="prob", group="these data"),
            TableColumn(key="published_ships", label=f"Ships (/{published.CELLS})", kind="count", group="as published"),
            TableColumn(key="published_over", label="Ships β̂ > ε", kind="count", group="as published"),
            TableColumn(key="published_pooled", label="Pr[over | ship]", kind="prob", group="as published"),
        ),
        rows=tuple(rows),
        notes=(
            f"Over budget on all reruns: {used} (the exact count is {exact}; the paper's caption says k ≥ "
            f"{published.OVER_BUDGET_COUNT} of {published.RERUNS}). Held out, the exact count is always used.",
            _split_note(audit),
            "Pr[over | ship] pools all shipped splits; averaged per cell gives a cell shipped in one split the weight of a cell "
            "shipped in all. Audit and held-out reruns come from one pool, so a lucky audit leaves an unlucky rest.",
            "Mean, median, bootstrap and σ use the reruns that have a score; the card counts every rerun.",
            "The published columns are the paper's own cells, which are not public, and cannot be recomputed.",
        ),
    )


def held_out(audit: Audit) -> Table:
    """The data of the held-out figure."""
    return Table(
        id="held-out",
        title="Held-out failure rates of the splits that each rule shipped.",
        columns=(
            TableColumn(key="rule", label="Release rule"),
            TableColumn(key="rate", label="Held-out failure rate", kind="prob"),
            TableColumn(key="splits", label="Shipped splits", kind="count"),
        ),
        rows=tuple(
            (RULE_NAMES[record.rule][0], rate, times)
            for record in audit.held_out.records
            for rate, times in record.held_out
        ),
        empty="no cell has more reruns than the audit half needs",
    )


def evidence(audit: Audit) -> Table:
    """The data of the evidence figure."""
    return Table(
        id="evidence",
        title="Cells shipped at each audit size, on average over the splits.",
        columns=(
            TableColumn(key="rule", label="Release rule"),
            TableColumn(key="size", label="Audit size", kind="count"),
            TableColumn(key="shipped", label="Cells shipped", kind="number"),
        ),
        rows=tuple(
            (RULE_NAMES[record.rule][0], size, shipped)
            for record in audit.held_out.records
            for size, shipped in zip(audit.held_out.sizes, record.shipped, strict=True)
        ),
        empty="no cell has more reruns than the audit half needs",
    )


def reruns(audit: Audit) -> Table:
    """The data of the rerun histograms: counts in 50 bins over the score range."""
    low, high = audit.params.score_range
    edges = np.linspace(low, high, 51)
    rows = []
    for cell, unit in audit.calibration:
        counts, _ = np.histogram(cell.scores[~np.isnan(cell.scores)], bins=edges)
        rows += [
            (unit.name, float(edges[i]), float(edges[i + 1]), int(counts[i])) for i in np.flatnonzero(counts).tolist()
        ]
    return Table(
        id="reruns",
        title="Reruns per score bin.",
        columns=(
            TableColumn(key="cell", label="Cell"),
            TableColumn(key="low", label="from", kind="score"),
            TableColumn(key="high", label="to", kind="score"),
            TableColumn(key="reruns", label="Reruns", kind="count"),
        ),
        rows=tuple(rows),
        empty="no calibration audit in the data",
    )


def failures(audit: Audit) -> Table:
    """Every rerun that counts as a failure, the cells that the gate reads first."""
    rows = [
        (cell.name, cell.audit, seed, None if np.isnan(score) else float(score))
        for cell, _ in sorted(zip(audit.cells, audit.units, strict=False), key=lambda pair: pair[1] not in audit.judged)
        for seed, score in zip(cell.seeds, cell.scores.tolist(), strict=True)
        if score < audit.params.tau or (np.isnan(score) and audit.params.errors == "failure")
    ]
    return Table(
        id="failures",
        title="Reruns that count as failures, cell by cell.",
        columns=(
            TableColumn(key="cell", label="Cell"),
            TableColumn(key="audit", label="Audit"),
            TableColumn(key="seed", label="Seed"),
            TableColumn(key="score", label="Score", kind="score"),
        ),
        rows=tuple(rows),
        notes=("A dash is a rerun without a score that counts.",),
        empty=f"no rerun is below {level(audit.params.tau)}",
    )


def worst_reruns(table: Table) -> Table:
    """Of the table of failures the lowest reruns, for the page: those without a score first."""
    lowest = sorted(table.rows, key=lambda row: -np.inf if row[3] is None else row[3])[:MOST_SHOWN]
    shown = f"{len(lowest):,} of {len(table.rows):,}, the lowest first; all of them are in tables/failures.csv."
    return replace(
        table,
        id="worst-reruns",
        title="The reruns that count as failures, the lowest first.",
        rows=tuple(lowest),
        notes=(shown, *table.notes),
    )


def artifacts(audit: Audit) -> Table:
    """T4: the taxonomy, with this report's own row."""
    params = audit.params
    own = (
        "This report",
        f"{' × '.join(params.cell)} ({plural(len(audit.judged), 'required cell')})",
        f"upper bound at 1 − δ = {level(1 - params.delta)} on the failure rate below τ = {level(params.tau)}",
        f"ships where U ≤ {level(params.failure_budget)}",
    )
    return Table(
        id="artifacts",
        title="What other evaluation artifacts measure, and whether they gate a release.",
        columns=(
            TableColumn(key="family", label="Artifact family"),
            TableColumn(key="unit", label="Evaluation unit"),
            TableColumn(key="quantity", label="Output quantity"),
            TableColumn(key="gating", label="Release gating?"),
        ),
        rows=(*published.ARTIFACTS, own),
    )


def _split_note(audit: Audit) -> str:
    params, held = audit.params, audit.held_out
    if not held.split:
        return (
            f"Held-out validation needs more than {params.audit_size} reruns in a cell (audit_size); none of the "
            f"{plural(held.cells, 'cell')} has them, so it is not measured."
        )
    n = held.held_out_sizes[0]
    at = {rate: prob(noise_floor(rate, n, budget=params.failure_budget)) for rate in NOISE_RATES}
    sizes = listed([str(size) for size in held.held_out_sizes], most=4)
    return (
        f"Held out: {held.split} of {plural(held.cells, 'cell')}, {params.splits:,} splits each, audits of {params.audit_size} with "
        f"{sizes} held out. The held-out rate is noisy: a cell shows over budget on {n} held-out reruns with probability "
        + listed([f"{value} at β = {prob(rate, 2)}" for rate, value in at.items()])
        + "."
    )
