"""The audit from checked inputs to the gate: which cells are read, what each decides, and the sentence on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.inputs import Input
from analysis.present.format import level, number, plural, prob
from analysis.present.prose import listed
from analysis.results import Check, Figure, Outcome
from analysis.sections import gate_over

from . import findings, published_tables, rule_tables, tables, warnings
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
    unmeasured,
)


def check(inputs: Mapping[str, Input], params: Params) -> str:
    """Find the faults that `decide` would, and say what would be judged.

    Raises
    ------
    InputError, ParameterError
        As `decide`.
    """
    if "counts" in inputs:
        published_tables.check_counts(inputs["counts"])
    cells = collect(inputs["runs"], params)
    wanted = required(cells, params)
    parts = []
    for audit in ("calibration", "target"):
        sizes = [len(cell.scores) for cell in cells if cell.audit == audit]
        if sizes:
            spread = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
            parts.append(f"{plural(len(sizes), f'{audit} cell')} of {spread} reruns")
    lost = sum(cell.without_score for cell in cells)
    return f"cells: {', '.join(parts)}; {len(wanted)} required; {plural(lost, 'rerun')} without a score that counts"


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
        published_tables.check_counts(counts)
    cells = collect(runs, params)
    wanted = required(cells, params)
    judged_cells = [_is_judged(cell, wanted, params) for cell in cells]
    units = audit_cells(cells, judged_cells, params)
    judged = [unit for unit, read in zip(units, judged_cells, strict=True) if read]
    absent = [
        unmeasured(next(cell for cell in cells if cell.cell == name), params)
        for name in wanted
        if not any(unit.cell == name for unit in judged)
    ]
    units, judged = [*units, *absent], [*judged, *absent]
    audit = Audit(
        cells=cells,
        units=units,
        judged=judged,
        held_out=validate([cell for cell in cells if cell.audit == "calibration"], params),
        counts=counts,
        params=params,
    )
    gate = gate_over([clause(unit, params) for unit in judged], "required cell")
    failures = rule_tables.failures(audit)
    return Outcome(
        gate=gate,
        headline=headline(judged, params),
        units=tuple(units),
        tables=(
            tables.checks(gate),
            tables.cards(audit),
            tables.severity(audit),
            tables.bar_sweep(audit),
            published_tables.bar_sweep(audit),
            rule_tables.release_rules(audit),
            tables.transfer(audit),
            published_tables.transfer(audit),
            rule_tables.artifacts(audit),
            tables.recipes(audit),
            tables.operating(audit),
            findings.what_holds_up(audit),
            warnings.warnings(audit, runs),
            rule_tables.held_out(audit),
            rule_tables.evidence(audit),
            rule_tables.reruns(audit),
            rule_tables.worst_reruns(failures),
            failures,
        ),
        figures=figures(audit),
    )


def clause(unit: CellAudit, params: Params) -> Check:
    """The clause of one required cell: what decided it, against its limit."""
    observed: float | None = unit.upper
    relation, limit = "≤", params.failure_budget
    if unit.status == STRONG:
        observed = unit.lower
    elif unit.cause == "family":
        observed, limit = unit.p_adjusted, params.delta
    elif unit.cause == "noise":
        observed = unit.upper_worst
    elif unit.cause == "chance" and params.chance_rate is not None:
        observed, relation, limit = params.tau, ">", params.chance_rate + params.chance_margin
    elif params.looks == "anytime":
        observed, relation, limit = unit.evidence, "≥", 1 / params.delta
    return Check(
        name=unit.name,
        observed=observed if unit.n else None,
        relation=relation,
        limit=limit,
        verdict=VERDICTS[unit.status],
        reason=f"{unit.status}: {unit.reason}",
    )


def headline(judged: Sequence[CellAudit], params: Params) -> str:
    """One honest sentence with its numbers."""
    if not judged:
        return "No required cell was found, so nothing was decided."
    total = len(judged)
    count = {status: sum(unit.status == status for unit in judged) for status in VERDICTS}
    other = sum(
        (unit.status_corrected if params.method == "paper" else unit.status_paper) == SUPPORTED for unit in judged
    )
    methods = ("published", "corrected") if params.method == "paper" else ("corrected", "published")
    parts = [
        f"{count[SUPPORTED]} of {plural(total, 'required cell')} may be rerun and shipped at τ = {level(params.tau)} and a failure "
        f"budget of {level(params.failure_budget)} by the {methods[0]} method, {other} by the {methods[1]} one"
    ]
    if count[STRONG]:
        worst_unit = max((unit for unit in judged if unit.status == STRONG), key=lambda unit: unit.lower or 0)
        parts.append(
            f"{count[STRONG]} {_have(count[STRONG])} a lower bound above the budget at δ = {level(params.delta)} (worst: "
            f"{worst_unit.name}, {worst_unit.k} of {worst_unit.n} reruns below the bar, lower bound {prob(worst_unit.lower)})"
        )
    if count[UNSUPPORTED]:
        parts.append(f"{count[UNSUPPORTED]} {_are(count[UNSUPPORTED])} not settled")
    if count[NOT_CERTIFIABLE]:
        parts.append(f"{count[NOT_CERTIFIABLE]} {_have(count[NOT_CERTIFIABLE])} too few reruns to be certified")
    if count[NO_TARGET]:
        parts.append(f"{count[NO_TARGET]} {_have(count[NO_TARGET])} no target audit for the claim")
    left_out = sum(unit.without_score for unit in judged)
    if left_out and params.errors == "exclude":
        as_failures = max(unit.upper_failure or 0 for unit in judged)
        parts.append(
            f"{plural(left_out, 'rerun')} without a score {_are(left_out)} left out (as failures the largest upper bound is "
            f"{prob(as_failures)})"
        )
    return "; ".join(parts) + "."


def figures(audit: Audit) -> dict[str, Figure]:
    """Titles and the sentences that stand for the figures; the drawings are in ``figures.py``."""
    params, held = audit.params, audit.held_out
    rows = [unit for _, unit in audit.calibration if unit.n]
    over = sum((unit.upper or 0) > params.failure_budget for unit in rows)
    spread = max(rows, key=lambda unit: unit.sd or 0, default=None)
    texts = {
        "bounds": (
            "Failures of every cell with one-sided bounds, each at δ, against the budget; beyond sixty cells, the highest bounds.",
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


def _held_out_alt(audit: Audit) -> str:
    means = []
    for record in audit.held_out.records:
        shipped = sum(times for _, times in record.held_out)
        if shipped:
            mean = sum(rate * times for rate, times in record.held_out) / shipped
            means.append(f"{rule_tables.RULE_NAMES[record.rule][0]} {prob(mean)}")
    if not means:
        return "No split was shipped by any rule."
    return f"Mean held-out failure rate of the shipped splits: {listed(means, most=5)}."


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
