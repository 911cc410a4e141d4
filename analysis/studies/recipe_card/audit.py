"""The audit from checked inputs to the gate: which cells are read, what each decides, and the sentence on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.errors import Fault, InputError, raise_all
from analysis.inputs import Input
from analysis.present.format import level, number, plural, prob
from analysis.present.prose import listed
from analysis.results import Figure, Gate, Outcome, worst

from . import findings, rule_tables, tables
from .cells import Cell, collect, required
from .heldout import validate
from .parameters import Params
from .tables import Audit
from .units import (
    NO_TARGET,
    NOT_CERTIFIABLE,
    STRONG,
    SUPPORTED,
    UNSUPPORTED,
    VERDICTS,
    CellAudit,
    audit_cells,
    refused,
)


def decide(inputs: Mapping[str, Input], params: Params) -> Outcome:
    """Audit all cells and read the gate over the required ones.

    Parameters
    ----------
    inputs
        ``runs``, and optionally ``counts``.

    Raises
    ------
    InputError, ParameterError
        When the data do not fit; see `cells.collect`.
    """
    runs = inputs["runs"]
    counts = inputs.get("counts")
    if counts is not None:
        _check_counts(counts)
    cells = collect(runs, params)
    wanted = required(cells, params)
    judged_cells = [_is_judged(cell, wanted, params) for cell in cells]
    units = audit_cells(cells, judged_cells, params)
    judged = [unit for unit, read in zip(units, judged_cells, strict=True) if read]
    absent = [refused(cell, params, cells[0]) for cell in wanted if not any(unit.cell == cell for unit in judged)]
    units, judged = [*units, *absent], [*judged, *absent]
    audit = Audit(
        cells=cells,
        units=units,
        judged=judged,
        held_out=validate([cell for cell in cells if cell.audit == "calibration"], params),
        counts=counts,
        params=params,
    )
    gate = read_gate(judged, params)
    return Outcome(
        gate=gate,
        headline=headline(judged, params),
        units=tuple(units),
        tables=(
            tables.checks(gate),
            tables.cards(audit),
            tables.severity(audit),
            tables.bar_sweep(audit),
            tables.published_bar_sweep(audit),
            rule_tables.release_rules(audit),
            tables.transfer(audit),
            tables.published_transfer(audit),
            rule_tables.artifacts(audit),
            tables.recipes(audit),
            tables.operating(audit),
            findings.what_holds_up(audit),
            findings.warnings(audit, runs),
            rule_tables.held_out(audit),
            rule_tables.evidence(audit),
            rule_tables.reruns(audit),
        ),
        figures=figures(audit),
    )


def read_gate(judged: Sequence[CellAudit], params: Params) -> Gate:
    """The worst verdict over the required cells, each a check."""
    checks = tuple(tables.gate_check(unit, VERDICTS[unit.status], params) for unit in judged)
    verdict = worst(check.verdict for check in checks)
    deciding = [unit for unit in judged if VERDICTS[unit.status] == verdict]
    if not deciding:
        return Gate(verdict=verdict, reason="no required cell was found in the data", checks=checks)
    names = listed([unit.name for unit in deciding])
    return Gate(
        verdict=verdict,
        reason=f"{len(deciding)} of {plural(len(judged), 'required cell')} ({names}); first: {deciding[0].reason}",
        checks=checks,
    )


def headline(judged: Sequence[CellAudit], params: Params) -> str:
    """One honest sentence with its numbers."""
    if not judged:
        return "No required cell was found, so nothing was decided."
    total = len(judged)
    count = {status: sum(unit.status == status for unit in judged) for status in VERDICTS}
    bar = f"at τ = {level(params.tau)} and a failure budget of {level(params.failure_budget)}"
    parts = [f"{count[SUPPORTED]} of {plural(total, 'required cell')} may be rerun and shipped {bar}"]
    if count[STRONG]:
        worst_unit = max((unit for unit in judged if unit.status == STRONG), key=lambda unit: unit.lower or 0)
        parts.append(
            f"{count[STRONG]} {_are(count[STRONG])} over budget beyond doubt (worst: {worst_unit.name}, {worst_unit.k} of "
            f"{worst_unit.n} reruns below the bar, lower bound {prob(worst_unit.lower)})"
        )
    if count[UNSUPPORTED]:
        parts.append(f"{count[UNSUPPORTED]} {_are(count[UNSUPPORTED])} not settled")
    if count[NOT_CERTIFIABLE]:
        parts.append(f"{count[NOT_CERTIFIABLE]} {_have(count[NOT_CERTIFIABLE])} too few reruns to be certified")
    if count[NO_TARGET]:
        parts.append(f"{count[NO_TARGET]} {_have(count[NO_TARGET])} no target audit for the claim")
    return "; ".join(parts) + "."


def figures(audit: Audit) -> dict[str, Figure]:
    """Titles and the sentences that stand for the figures; the drawings are in ``figures.py``."""
    params, held = audit.params, audit.held_out
    rows = [unit for _, unit in audit.calibration if unit.n]
    over = sum((unit.upper or 0) > params.failure_budget for unit in rows)
    spread = max(rows, key=lambda unit: unit.sd or 0, default=None)
    texts = {
        "bounds": (
            "Failure rate of every cell with its one-sided bounds, against the budget; beyond sixty cells, the highest bounds.",
            f"Failure rates k/N of {plural(len(rows), 'calibration cell')} with lower and upper bounds; the upper bound "
            f"exceeds the budget {level(params.failure_budget)} in {over}.",
        ),
        "reruns": (
            "Scores of the reruns with the bar (dashed), the mean (solid) and the Gaussian that it would imply; beyond twelve cells, the widest.",
            "Histograms of rerun scores. "
            + (
                f"Widest: {spread.name}, mean {number(spread.mean)}, standard deviation {number(spread.sd)}, {spread.k} of "
                f"{spread.n} below the bar."
                if spread
                else "No cell has reruns."
            ),
        ),
        "held-out": (
            "Held-out failure rates of the splits that each rule shipped; the diamond is their mean.",
            _held_out_alt(audit),
        ),
        "evidence": (
            "Cells shipped against audit size, on average over the splits.",
            _evidence_alt(audit) if held.sizes else "No cell has enough reruns to be split.",
        ),
    }
    return {key: Figure(title=title, alt=alt, file=f"figures/{key}.svg") for key, (title, alt) in texts.items()}


def _is_judged(cell: Cell, wanted: Sequence[Mapping[str, str]], params: Params) -> bool:
    if cell.cell not in wanted:
        return False
    if params.claim is None:
        return cell.audit == "calibration"
    return cell.audit == "target" and cell.claim == params.claim


def _check_counts(counts: Input) -> None:
    faults = []
    for row, (k, n) in enumerate(zip(counts.frame["k"], counts.frame["n"], strict=True)):
        if not (float(k).is_integer() and float(n).is_integer() and k <= n):
            file, line = counts.place(row)
            faults.append(
                Fault(
                    file=file,
                    place=line,
                    what=f"k = {k:g} of n = {n:g} is not a count of reruns",
                    fix="Need 0 ≤ k ≤ n.",
                )
            )
    raise_all(InputError, faults)


def _held_out_alt(audit: Audit) -> str:
    means = [
        f"{rule_tables.RULE_NAMES[record.rule][0]} {prob(record.pooled)}"
        for record in audit.held_out.records
        if record.pooled is not None
    ]
    if not means:
        return "No split was shipped by any rule."
    return f"Share of shipped splits over budget: {listed(means, most=5)}."


def _evidence_alt(audit: Audit) -> str:
    held = audit.held_out
    ends = [
        f"{rule_tables.RULE_NAMES[record.rule][0]} {number(record.shipped[0], 3)} to {number(record.shipped[-1], 3)}"
        for record in held.records
    ]
    return f"Cells shipped from audit size {held.sizes[0]} to {held.sizes[-1]}: {listed(ends, most=5)}."


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"
