"""What every report has, whatever the study: the gate over its checks, disputed points, warnings, parameters, inputs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from analysis import parameters
from analysis.inputs import Input
from analysis.present.format import plural
from analysis.present.prose import listed
from analysis.present.table import Table, TableColumn
from analysis.results import WORST_FIRST, Check, Gate, worst


def gate_over(checks: Sequence[Check], noun: str) -> Gate:
    """The worst verdict over the checks, with the names of those that decided and the reason of the first.

    ``noun`` is what a check is about, such as "required cell".
    """
    verdict = worst(check.verdict for check in checks)
    deciding = [check for check in checks if check.verdict == verdict]
    if not deciding:
        return Gate(verdict=verdict, reason=f"no {noun} was found in the data", checks=tuple(checks))
    names = listed([check.name for check in deciding])
    reason = f"{len(deciding)} of {plural(len(checks), noun)} ({names}); first: {deciding[0].reason}"
    return Gate(verdict=verdict, reason=reason, checks=tuple(checks))


def checks_table(gate: Gate, noun: str, *, empty: str, notes: tuple[str, ...] = ()) -> Table:
    """The gate clause by clause, the worst first; ``noun`` is what a check is about, such as "required cell"."""
    short = noun.rsplit(maxsplit=1)[-1]
    return Table(
        id="checks",
        title=f"The gate, {short} by {short}: what was observed against its limit.",
        columns=(
            TableColumn(key="name", label=noun.capitalize()),
            TableColumn(key="observed", label="Observed", kind="number"),
            TableColumn(key="relation", label="Must be"),
            TableColumn(key="limit", label="Limit", kind="level"),
            TableColumn(key="verdict", label="Verdict", kind="status"),
            TableColumn(key="reason", label="Reason", kind="text"),
        ),
        rows=tuple(
            (c.name, c.observed, c.relation, c.limit, c.verdict, c.reason)
            for c in sorted(gate.checks, key=lambda check: WORST_FIRST.index(check.verdict))
        ),
        notes=notes,
        empty=empty,
    )


def disputed_points(rows: Iterable[tuple[str, str, str, str]], what: str) -> Table:
    """The section "What the published method says, what holds up": a row a point."""
    return Table(
        id="what-holds-up",
        title=f"What the published {what} says, what holds up, and which reading this report uses.",
        columns=(
            TableColumn(key="point", label="Point"),
            TableColumn(key="published", label="The paper says", kind="text"),
            TableColumn(key="holds", label="What holds up", kind="text"),
            TableColumn(key="here", label="In this report", kind="text"),
        ),
        rows=tuple(rows),
    )


def warnings_table(rows: Iterable[tuple[str, str, str]]) -> Table:
    """What a reader must know before believing the numbers: a row a warning."""
    return Table(
        id="warnings",
        title="Warnings.",
        columns=(
            TableColumn(key="what", label="What"),
            TableColumn(key="where", label="Where"),
            TableColumn(key="sentence", label="Why it matters", kind="text"),
        ),
        rows=tuple(rows),
        empty="none",
    )


def parameters_table(params: BaseModel) -> Table:
    """Every parameter, also those at their default."""
    rows = tuple(
        (
            item.name,
            _short(getattr(params, item.name)),
            "" if getattr(params, item.name) == item.default else _short(item.default),
            parameters.comment(item),
        )
        for item in parameters.describe(type(params))
    )
    return Table(
        id="parameters",
        title="Every parameter of this report, also those left at their default.",
        columns=(
            TableColumn(key="name", label="Parameter"),
            TableColumn(key="value", label="Value", kind="text"),
            TableColumn(key="default", label="Default, where it differs"),
            TableColumn(key="help", label="Meaning", kind="text"),
        ),
        rows=rows,
    )


def inputs_table(inputs: Mapping[str, Input]) -> Table:
    """The files, their digests, and the line that accounts for their rows."""
    return Table(
        id="inputs",
        title="Input files.",
        columns=(
            TableColumn(key="name", label="Input"),
            TableColumn(key="file", label="File"),
            TableColumn(key="rows", label="Rows", kind="count"),
            TableColumn(key="sha256", label="SHA-256"),
        ),
        rows=tuple((name, file.file, file.rows, file.sha256) for name, given in inputs.items() for file in given.files),
        notes=tuple(given.reconciliation + "." for given in inputs.values()),
    )


def _short(value: Any) -> str:
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", exclude_defaults=True)
    return value if isinstance(value, str) else json.dumps(value, default=str)
