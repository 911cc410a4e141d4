"""The audit as tables in the paper's formats; views of the units, nothing is computed that a unit does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.inputs import Input
from analysis.present.format import level, number, prob
from analysis.present.prose import listed
from analysis.present.table import Table, TableColumn
from analysis.results import WORST_FIRST, Check, Gate
from analysis.stats import certification_power, clopper_pearson_upper, compare_rates

from .cells import Cell
from .heldout import HeldOut
from .parameters import Params
from .units import NO_TARGET, CellAudit, count, letter

LEGEND = (
    "r release-supported · u unsupported · s strong-unsupported (even the lower bound exceeds the budget) · "
    "n not certifiable (fewer reruns than zero failures need)."
)
OPERATING_RATES = (0.0, 0.01, 0.02, 0.05, 0.10, 0.15, 0.20)
MOST_SIZES = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """Everything the tables are views of; ``judged`` are the units that the gate reads."""

    cells: Sequence[Cell]
    units: Sequence[CellAudit]
    judged: Sequence[CellAudit]
    held_out: HeldOut
    counts: Input | None
    params: Params

    @property
    def calibration(self) -> list[tuple[Cell, CellAudit]]:
        """Calibration cells with their units."""
        return [(c, u) for c, u in zip(self.cells, self.units, strict=False) if c.audit == "calibration"]


def checks(gate: Gate) -> Table:
    """The gate clause by clause."""
    return Table(
        id="checks",
        title="The gate, cell by cell: what was observed against the budget.",
        columns=(
            TableColumn(key="name", label="Required cell"),
            TableColumn(key="observed", label="Observed bound", kind="prob"),
            TableColumn(key="relation", label="Must be"),
            TableColumn(key="limit", label="Budget", kind="level"),
            TableColumn(key="verdict", label="Verdict", kind="status"),
            TableColumn(key="reason", label="Reason", kind="text"),
        ),
        rows=tuple(
            (c.name, c.observed, c.relation, c.limit, c.verdict, c.reason)
            for c in sorted(gate.checks, key=lambda check: WORST_FIRST.index(check.verdict))
        ),
        notes=("Observed is the upper bound, or the lower bound where even that exceeds the budget.",),
        empty="no required cell was found",
    )


def cards(audit: Audit) -> Table:
    """One row a cell."""
    params = audit.params
    rows = [
        (
            *unit.cell.values(),
            *_audit_cells(audit, unit),
            unit.n,
            unit.k,
            unit.rate,
            unit.upper,
            unit.lower,
            unit.floor,
            unit.still_needed,
            unit.largest_bar,
            _yes(unit.evidence >= 1 / params.delta),
            None if unit.p_adjusted is None else _yes(unit.p_adjusted <= params.delta),
            unit.status_paper,
            unit.status_corrected,
        )
        for unit in audit.units
    ]
    return Table(
        id="cards",
        title="Recipe cards: counts, bounds, and what each cell still needs.",
        columns=(
            *_cell_columns(params),
            *_audit_columns(audit),
            TableColumn(key="n", label="N", kind="count"),
            TableColumn(key="k", label="k", kind="count"),
            TableColumn(key="rate", label="β̂", kind="prob"),
            TableColumn(key="upper", label="U", kind="prob", group="bounds"),
            TableColumn(key="lower", label="lower", kind="prob", group="bounds"),
            TableColumn(key="floor", label="floor", kind="count", group="reruns"),
            TableColumn(key="still_needed", label="still needed", kind="count", group="reruns"),
            TableColumn(key="largest_bar", label="largest bar", kind="score"),
            TableColumn(key="anytime", label="any time", group="also ships"),
            TableColumn(key="family", label="family", group="also ships"),
            TableColumn(key="paper", label="paper", group="status"),
            TableColumn(key="corrected", label="corrected", group="status"),
        ),
        rows=tuple(rows),
        notes=(
            f"N reruns, k strictly below τ = {level(params.tau)}; U and lower are one-sided Clopper-Pearson bounds at "
            f"δ = {level(params.delta)}, budget ε = {level(params.failure_budget)}.",
            "Still needed: further reruns without a failure that would support the release, counting the failures "
            "seen; a dash where even the lower bound exceeds the budget.",
            "Largest bar: the highest τ that this sample certifies; a dash where none is.",
            f"Any time: whether the e-value reaches 1/δ = {number(1 / params.delta)}, which may be read after every rerun.",
            f"Family: whether the cell survives {'Bonferroni' if params.family == 'bonferroni' else 'Holm'} over the "
            "required cells; a dash for cells that the gate does not read.",
        ),
    )


def severity(audit: Audit) -> Table:
    """What the count below the bar leaves out: how far below, how sure, and what any-time reading says."""
    params = audit.params
    return Table(
        id="severity",
        title="Beyond the count: how far reruns fall below the bar, and evidence that holds at any number of reruns.",
        columns=(
            *_cell_columns(params),
            *_audit_columns(audit),
            TableColumn(key="mean", label="mean", kind="score", group="score"),
            TableColumn(key="sd", label="sd", kind="score", group="score"),
            TableColumn(key="shortfall", label="mean", kind="score", group="shortfall (τ − b)₊"),
            TableColumn(key="shortfall_upper", label="U", kind="score", group="shortfall (τ − b)₊"),
            TableColumn(key="evidence", label="e-value", kind="number"),
            TableColumn(key="posterior", label="Pr(β > ε)", kind="prob"),
            TableColumn(key="upper_failure", label="as failures", kind="prob", group="U, reruns without a score"),
            TableColumn(key="upper_exclude", label="left out", kind="prob", group="U, reruns without a score"),
            TableColumn(key="without_score", label="how many", kind="count", group="U, reruns without a score"),
            TableColumn(key="indeterminate", label="near the bar", kind="count"),
        ),
        rows=tuple(
            (
                *unit.cell.values(),
                *_audit_cells(audit, unit),
                unit.mean,
                unit.sd,
                unit.shortfall,
                unit.shortfall_upper,
                unit.evidence,
                unit.posterior,
                unit.upper_failure,
                unit.upper_exclude,
                unit.without_score,
                unit.indeterminate,
            )
            for unit in audit.units
        ),
        notes=(
            f"Shortfall: mean of max(τ − b, 0) with an upper bound at δ = {level(params.delta)} that holds at this N "
            "(mixture betting).",
            "e-value: evidence that β ≤ ε. Pr(β > ε): posterior under a uniform prior, which the bound does not give.",
            "Near the bar: reruns that pass by less than the noise of the test set; a dash where n_items is not given.",
        ),
    )


def bar_sweep(audit: Audit) -> Table:
    """T2: one column a bar."""
    params = audit.params
    rows = []
    for cell, _ in audit.calibration:
        entries = []
        for tau in params.bars:
            k, n = count(cell, params, tau)
            entries.append(_bound(k, n, params) if n else None)
        rows.append((*cell.cell.values(), *entries))
    notes = [LEGEND]
    if params.chance_rate is not None:
        low = [level(tau) for tau in params.bars if tau <= params.chance_rate]
        if low:
            notes.append(f"At τ = {listed(low)} a constant predictor passes: an r there says nothing about collapse.")
    return Table(
        id="bar-sweep",
        title="Failures below each bar, as k/N / U and status.",
        columns=(*_cell_columns(params), *_bar_columns(params.bars)),
        rows=tuple(rows),
        notes=tuple(notes),
        empty="no calibration audit in the data",
    )


def transfer(audit: Audit) -> Table:
    """T3: the same recipe on its calibration and its target."""
    params = audit.params
    by_cell: dict[tuple[str, ...], list[CellAudit]] = {}
    for unit in audit.units:
        if unit.status != NO_TARGET:
            by_cell.setdefault(tuple(unit.cell.values()), []).append(unit)
    rows = []
    for key, units in by_cell.items():
        for source in (u for u in units if u.audit == "calibration"):
            for target in (u for u in units if u.audit == "target"):
                rows.append((" / ".join(key), *_transfer_cells(source, target, params)))
    return Table(
        id="transfer",
        title="The same recipe on the audit it was calibrated on and on its target.",
        columns=_transfer_columns(),
        rows=tuple(rows),
        notes=(_TRANSFER_NOTE, LEGEND),
        empty="no cell has both a calibration and a target audit: nothing is carried over to another data set",
    )


def recipes(audit: Audit) -> Table:
    """T5: the recipe columns, one row per distinct recipe."""
    names = [name for cell, _ in audit.calibration for name in cell.recipe]
    names = [name for name in dict.fromkeys(names) if all(name in cell.recipe for cell, _ in audit.calibration)]
    keys = _shortest_key(audit, names)
    rows = dict.fromkeys(
        (*(cell.cell[name] for name in keys), *(cell.recipe[name] for name in names)) for cell, _ in audit.calibration
    )
    return Table(
        id="recipes",
        title="The recipes: columns that do not vary between the reruns of a cell.",
        columns=(
            *(TableColumn(key=f"cell.{name}", label=name) for name in keys),
            *(TableColumn(key=name, label=name.replace("_", " ")) for name in names),
        ),
        rows=tuple(rows) if names else (),
        empty="the data have no further column that is constant inside every cell",
    )


def operating(audit: Audit) -> Table:
    """Pr[the card ships | β] at the numbers of reruns in the data."""
    params = audit.params
    sizes = sorted({unit.n for unit in audit.units if unit.n})
    shown = (
        sizes
        if len(sizes) <= MOST_SIZES
        else [sizes[i] for i in np.linspace(0, len(sizes) - 1, MOST_SIZES).astype(int)]
    )
    power = {
        n: certification_power(OPERATING_RATES, n, budget=params.failure_budget, delta=params.delta) for n in shown
    }
    return Table(
        id="operating",
        title="Operating curve: the probability that a card ships at a true failure rate β.",
        columns=(
            TableColumn(key="rate", label="β", kind="prob"),
            *(TableColumn(key=f"n{n}", label=f"N = {n}", kind="prob") for n in shown),
        ),
        rows=tuple((rate, *(float(power[n][i]) for n in shown)) for i, rate in enumerate(OPERATING_RATES)),
        notes=(f"{len(shown)} of the {len(sizes)} numbers of reruns in the data are shown.",)
        if len(shown) < len(sizes)
        else (),
        empty="no rerun counts",
    )


def published_bar_sweep(audit: Audit) -> Table:
    """T2 from counts that were published elsewhere, through the same functions."""
    params = audit.params
    rows = _published_rows(audit.counts, transfers=False)
    bars = sorted({row["tau"] for row in rows})
    by_model: dict[str, dict[float, tuple[int, int]]] = {}
    for row in rows:
        by_model.setdefault(row["model"], {})[row["tau"]] = (int(row["k"]), int(row["n"]))
    return Table(
        id="published-bar-sweep",
        title="Published counts, recomputed: failures below each bar, as k/N / U and status.",
        columns=(TableColumn(key="model", label="Model"), *_bar_columns(bars)),
        rows=tuple(
            (model, *(_bound(*found[tau], params) if tau in found else None for tau in bars))
            for model, found in by_model.items()
        ),
        notes=(LEGEND,),
        empty="no published counts were given (--data counts=FILE)",
    )


def published_transfer(audit: Audit) -> Table:
    """T3 from counts that were published elsewhere."""
    params = audit.params
    rows = []
    pairs: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for row in _published_rows(audit.counts, transfers=True):
        pairs.setdefault((row["model"], row["pair"]), {})[row["audit"]] = row
    for (model, _), both in pairs.items():
        if {"calibration", "target"} <= set(both):
            p, q = both["calibration"], both["target"]
            rows.append(
                (
                    model,
                    f"{p['dataset']} → {q['dataset']}",
                    _bound(int(p["k"]), int(p["n"]), params),
                    _bound(int(q["k"]), int(q["n"]), params),
                    compare_rates(int(p["k"]), int(p["n"]), int(q["k"]), int(q["n"])),
                )
            )
    return Table(
        id="published-transfer",
        title="Published counts, recomputed: calibration and target audits of the same recipe.",
        columns=_transfer_columns(),
        rows=tuple(rows),
        notes=(_TRANSFER_NOTE, LEGEND),
        empty="no published counts were given (--data counts=FILE)",
    )


_TRANSFER_NOTE = (
    "p: exact two-sided test (Barnard) that both audits have the same failure rate. A release on the target rests on "
    "the target's own row; without any reruns there, β_Q ≤ β_P + total variation distance is all that can be said."
)


def _published_rows(counts: Input | None, *, transfers: bool) -> list[Mapping[str, Any]]:
    if counts is None:
        return []
    rows = [{str(name): cell for name, cell in row.items()} for row in counts.frame.to_dict("records")]
    return [row for row in rows if bool(row.get("pair")) == transfers]


def _bound(k: int, n: int, params: Params) -> dict[str, Any]:
    upper = clopper_pearson_upper(k, n, delta=params.delta)
    return {"k": k, "n": n, "upper": upper, "status": letter(k, n, params)}


def _bar_columns(bars: Sequence[float]) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(key=f"tau_{tau:g}", label=f"τ = {prob(tau, 2)}", kind="bound") for tau in bars)


def _transfer_columns() -> tuple[TableColumn, ...]:
    return (
        TableColumn(key="recipe", label="Recipe"),
        TableColumn(key="shift", label="D_P → D_Q"),
        TableColumn(key="calibration", label="k/N / U", kind="bound", group="calibration"),
        TableColumn(key="target", label="k/N / U", kind="bound", group="target"),
        TableColumn(key="p", label="p", kind="p_value"),
    )


def _transfer_cells(source: CellAudit, target: CellAudit, params: Params) -> tuple[Any, ...]:
    shift = f"{source.dataset or 'calibration'} → {target.dataset or 'target'}"
    both = source.n > 0 and target.n > 0
    return (
        shift,
        _bound(source.k, source.n, params) if source.n else None,
        _bound(target.k, target.n, params) if target.n else None,
        compare_rates(source.k, source.n, target.k, target.n) if both else None,
    )


def _cell_columns(params: Params) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(key=f"cell.{name}", label=name) for name in params.cell)


def _audit_columns(audit: Audit) -> tuple[TableColumn, ...]:
    """Audit and data set, where they tell the units apart."""
    columns = []
    if any(unit.audit != "calibration" for unit in audit.units):
        columns.append(TableColumn(key="audit", label="audit"))
    if any(unit.dataset for unit in audit.units) and "dataset" not in audit.params.cell:
        columns.append(TableColumn(key="dataset", label="dataset"))
    return tuple(columns)


def _audit_cells(audit: Audit, unit: CellAudit) -> tuple[str | None, ...]:
    return tuple(getattr(unit, column.key) for column in _audit_columns(audit))


def _shortest_key(audit: Audit, names: Sequence[str]) -> list[str]:
    """The first cell columns that already determine every recipe column."""
    params = audit.params
    for size in range(1, len(params.cell) + 1):
        keys = params.cell[:size]
        found: dict[tuple[str, ...], tuple[str, ...]] = {}
        pairs = [
            (tuple(cell.cell[name] for name in keys), tuple(cell.recipe[name] for name in names))
            for cell, _ in audit.calibration
        ]
        if all(found.setdefault(key, values) == values for key, values in pairs):
            return keys
    return list(params.cell)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def gate_check(unit: CellAudit, check_verdict: Any, params: Params) -> Check:
    """The clause of one required cell."""
    refuted = check_verdict == "refuse"
    return Check(
        name=unit.name,
        observed=unit.lower if refuted else unit.upper,
        relation="≤",
        limit=params.failure_budget,
        verdict=check_verdict,
        reason=f"{unit.status}: {unit.reason}",
    )
