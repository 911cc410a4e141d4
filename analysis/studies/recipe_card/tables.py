"""The audit as tables in the paper's formats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.inputs import Input
from analysis.present.format import level, number
from analysis.present.prose import listed
from analysis.present.table import Table, TableColumn
from analysis.results import Gate
from analysis.sections import checks_table
from analysis.stats import certification_power, clopper_pearson_upper, compare_rates, rejects

from .cells import Cell
from .heldout import HeldOut
from .parameters import Params
from .units import CellAudit, at_chance, count, letter

TRANSFER_NOTE = (
    "p: exact two-sided test (Barnard) that both audits have the same failure rate, not adjusted over the pairs. A release "
    "on the target rests on the target's own row; without any reruns there, β_Q ≤ β_P + total variation distance is all "
    "that can be said."
)
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
    return checks_table(
        gate,
        "required cell",
        empty="no required cell was found",
        notes=(
            "Observed is the upper bound against the budget; the lower bound where even that exceeds it; and what stands in the "
            "way (adjusted p, e-value, bar) where the bound alone would release.",
        ),
    )


def cards(audit: Audit) -> Table:
    """One row a cell."""
    params = audit.params
    family = "Bonferroni" if params.family == "bonferroni" else "Holm"
    return Table(
        id="cards",
        title="Recipe cards: counts, bounds, and what each cell still needs.",
        columns=(
            *_unit_columns(audit),
            TableColumn(key="n", label="N", kind="count"),
            TableColumn(key="k", label="k", kind="count"),
            TableColumn(key="rate", label="β̂", kind="prob"),
            TableColumn(key="upper", label="U", kind="prob", group="bounds"),
            TableColumn(key="lower", label="lower", kind="prob", group="bounds"),
            TableColumn(key="floor", label="floor", kind="count", group="reruns"),
            TableColumn(key="still_needed", label="still needed", kind="count", group="reruns"),
            TableColumn(key="still_needed_anytime", label="any time", kind="count", group="reruns"),
            TableColumn(key="largest_bar", label="largest bar", kind="score"),
            TableColumn(key="anytime", label="any time", group="also ships"),
            TableColumn(key="family", label="family", group="also ships"),
            TableColumn(key="paper", label="paper", group="status"),
            TableColumn(key="corrected", label="corrected", group="status"),
        ),
        rows=tuple(
            (
                *_unit_cells(audit, unit),
                unit.n,
                unit.k,
                unit.rate,
                unit.upper,
                unit.lower,
                unit.floor,
                unit.still_needed,
                unit.still_needed_anytime,
                unit.largest_bar,
                _yes(unit.n > 0 and unit.evidence >= 1 / params.delta),
                None if unit.p_adjusted is None else _yes(bool(rejects([unit.p_adjusted], alpha=params.delta)[0])),
                unit.status_paper,
                unit.status_corrected,
            )
            for unit in audit.units
        ),
        notes=(
            f"N reruns, k strictly below τ = {level(params.tau)}; U and lower are one-sided Clopper-Pearson bounds, each at "
            f"δ = {level(params.delta)}, budget ε = {level(params.failure_budget)}.",
            "Still needed: further reruns without a failure that would support the release when their number is fixed now; any "
            "time: when they are looked at as they come. Deciding to add reruns after a look is the second case. A dash where "
            "more reruns are not what is missing.",
            "Largest bar: the highest τ that this sample certifies by the bound for a fixed N; a dash where none is.",
            f"Also ships, any time: the e-value reaches 1/δ = {number(1 / params.delta)}. Also ships, family: the observed count "
            f"survives {family} over the required cells; a dash for cells that the gate does not read.",
        ),
    )


def severity(audit: Audit) -> Table:
    """What the count below the bar leaves out: how far below, how sure, and what any-time reading says."""
    params = audit.params
    return Table(
        id="severity",
        title="Beyond the count: how far reruns fall below the bar, and evidence that holds at any number of reruns.",
        columns=(
            *_unit_columns(audit),
            TableColumn(key="mean", label="mean", kind="score", group="score"),
            TableColumn(key="sd", label="sd", kind="score", group="score"),
            TableColumn(key="shortfall", label="mean", kind="score", group="shortfall (τ − b)₊"),
            TableColumn(key="shortfall_upper", label="U", kind="score", group="shortfall (τ − b)₊"),
            TableColumn(key="evidence", label="e-value", kind="number"),
            TableColumn(key="posterior", label="Pr(β > ε)", kind="prob"),
            TableColumn(key="upper_failure", label="as failures", kind="prob", group="U, reruns without a score"),
            TableColumn(key="upper_exclude", label="left out", kind="prob", group="U, reruns without a score"),
            TableColumn(key="without_score", label="how many", kind="count", group="U, reruns without a score"),
            TableColumn(key="near_bar", label="how many", kind="count", group="near the bar"),
            TableColumn(key="upper_worst", label="U, as failures", kind="prob", group="near the bar"),
        ),
        rows=tuple(
            (
                *_unit_cells(audit, unit),
                unit.mean,
                unit.sd,
                unit.shortfall,
                unit.shortfall_upper,
                unit.evidence,
                unit.posterior,
                unit.upper_failure,
                unit.upper_exclude,
                unit.without_score,
                unit.near_bar,
                unit.upper_worst,
            )
            for unit in audit.units
        ),
        notes=(
            f"Shortfall: mean of max(τ − b, 0) with an upper bound at δ = {level(params.delta)} that holds at this N "
            "(mixture betting).",
            "e-value: evidence that β ≤ ε. Pr(β > ε): posterior under a uniform prior, which the bound does not give.",
            "Near the bar: reruns that pass by less than the noise of the test set; a dash where n_items is not given or the "
            "scores are not proportions.",
        ),
    )


def bar_sweep(audit: Audit) -> Table:
    """T2: one column a bar."""
    params = audit.params
    bars = sorted({*params.bars, params.tau})
    rows = [
        (*_unit_cells(audit, unit), *(bound(*count(cell, params, tau), params) for tau in bars))
        for cell, unit in audit.calibration
    ]
    return Table(
        id="bar-sweep",
        title="Failures below each bar, as k/N / U and status.",
        columns=(*_unit_columns(audit), *bar_columns(bars)),
        rows=tuple(rows),
        notes=(LEGEND, *chance_note(bars, params)),
        empty="no calibration audit in the data",
    )


def chance_note(bars: Sequence[float], params: Params) -> tuple[str, ...]:
    """Which bars a constant predictor may reach."""
    low = [level(tau) for tau in bars if at_chance(tau, params)]
    if not low or params.chance_rate is None:
        return ()
    return (
        f"At τ = {listed(low, most=12)} a constant predictor, which scores {level(params.chance_rate)}, passes or nearly does: an r "
        "there says nothing about collapse.",
    )


def transfer(audit: Audit) -> Table:
    """T3: the same recipe on its calibration and its target."""
    measured = [unit for unit in audit.units if unit.n]
    rows = [
        (
            " / ".join(source.cell.values()),
            f"{source.dataset or 'calibration'} → {target.dataset or 'target'}",
            *transfer_row((source.k, source.n), (target.k, target.n), audit.params),
        )
        for source in measured
        for target in measured
        if source.cell == target.cell and (source.audit, target.audit) == ("calibration", "target")
    ]
    return Table(
        id="transfer",
        title="The same recipe on the audit it was calibrated on and on its target.",
        columns=transfer_columns(),
        rows=tuple(rows),
        notes=(TRANSFER_NOTE, LEGEND),
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


def bound(k: int, n: int, params: Params) -> dict[str, Any] | None:
    """K of N with its upper bound and the published rule's letter."""
    if not n:
        return None
    return {"k": k, "n": n, "upper": clopper_pearson_upper(k, n, delta=params.delta), "status": letter(k, n, params)}


def bar_columns(bars: Sequence[float]) -> tuple[TableColumn, ...]:
    """One column a bar."""
    return tuple(TableColumn(key=f"tau_{tau:g}", label=f"τ = {level(tau)}", kind="bound") for tau in bars)


def transfer_columns() -> tuple[TableColumn, ...]:
    """The columns of T3."""
    return (
        TableColumn(key="recipe", label="Recipe"),
        TableColumn(key="shift", label="D_P → D_Q"),
        TableColumn(key="calibration", label="β̂", kind="fraction", group="calibration"),
        TableColumn(key="calibration_upper", label="U", kind="prob", group="calibration"),
        TableColumn(key="target", label="β̂", kind="fraction", group="target"),
        TableColumn(key="target_upper", label="U", kind="prob", group="target"),
        TableColumn(key="status", label="on the target"),
        TableColumn(key="p", label="p", kind="p_value"),
    )


def transfer_row(source: tuple[int, int], target: tuple[int, int], params: Params) -> tuple[Any, ...]:
    """K of N and U on both audits, the published rule's status on the target, and the exact test between them."""
    cells: list[Any] = []
    for k, n in (source, target):
        cells += [{"k": k, "n": n}, clopper_pearson_upper(k, n, delta=params.delta)] if n else [None, None]
    both = source[1] > 0 and target[1] > 0
    return (*cells, letter(*target, params), compare_rates(*source, *target) if both else None)


def _cell_columns(params: Params) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(key=f"cell.{name}", label=name) for name in params.cell)


def _unit_columns(audit: Audit) -> tuple[TableColumn, ...]:
    """The cell's columns, then audit and data set where they tell units apart."""
    columns = list(_cell_columns(audit.params))
    if any(unit.audit != "calibration" for unit in audit.units):
        columns.append(TableColumn(key="audit", label="audit"))
    if len({unit.dataset for unit in audit.units}) > 1 and "dataset" not in audit.params.cell:
        columns.append(TableColumn(key="dataset", label="dataset"))
    return tuple(columns)


def _unit_cells(audit: Audit, unit: CellAudit) -> tuple[str | None, ...]:
    further = _unit_columns(audit)[len(audit.params.cell) :]
    return (*unit.cell.values(), *(getattr(unit, column.key) for column in further))


def _yes(value: bool) -> str:
    return "yes" if value else "no"


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
