"""Counts that were published elsewhere, through the same functions as the user's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.errors import Fault, InputError, raise_all
from analysis.inputs import Input
from analysis.present.table import Table, TableColumn

from .tables import LEGEND, TRANSFER_NOTE, Audit, bar_columns, bound, chance_note, transfer_columns, transfer_row

NO_COUNTS = "no published counts were given (--data counts=FILE)"


def check_counts(counts: Input) -> None:
    """Refuse what is not a count, and a pair of audits of which one is missing.

    Raises
    ------
    InputError
        With file and line of every such row.
    """
    faults = []
    rows = _rows(counts)
    for row, entry in enumerate(rows):
        file, line = counts.place(row)
        k, n = entry["k"], entry["n"]
        if not (float(k).is_integer() and float(n).is_integer() and k <= n):
            what = f"k = {k:g} of n = {n:g} is not a count of reruns"
            faults.append(Fault(file=file, place=line, what=what, fix="Need whole numbers, 0 ≤ k ≤ n."))
        other = {"calibration": "target", "target": "calibration"}[_audit(entry)]
        if entry.get("pair") and not any(_key(entry) == _key(mate) and _audit(mate) == other for mate in rows):
            what = f"the pair {entry['pair']} of {entry['model']} has no {other} row"
            faults.append(Fault(file=file, place=line, what=what, fix="Give both audits, or leave `pair` empty."))
    raise_all(InputError, faults)


def bar_sweep(audit: Audit) -> Table:
    """T2 from published counts."""
    params = audit.params
    rows = [row for row in _rows(audit.counts) if not row.get("pair")]
    bars = sorted({row["tau"] for row in rows})
    several = len({row.get("dataset", "") for row in rows}) > 1
    found: dict[str, dict[float, tuple[int, int]]] = {}
    for row in rows:
        name = f"{row['model']} on {row['dataset']}" if several else row["model"]
        found.setdefault(name, {})[row["tau"]] = (int(row["k"]), int(row["n"]))
    return Table(
        id="published-bar-sweep",
        title="Published counts, recomputed: failures below each bar, as k/N / U and status.",
        columns=(TableColumn(key="model", label="Model"), *bar_columns(bars)),
        rows=tuple(
            (name, *(bound(*counts.get(tau, (0, 0)), params) for tau in bars)) for name, counts in found.items()
        ),
        notes=(LEGEND, *chance_note(bars, params)),
        empty=NO_COUNTS,
    )


def transfer(audit: Audit) -> Table:
    """T3 from published counts."""
    rows = [row for row in _rows(audit.counts) if row.get("pair")]
    pairs = {(_key(row), _audit(row)): row for row in rows}
    out = []
    for key in dict.fromkeys(_key(row) for row in rows):
        source, target = pairs[key, "calibration"], pairs[key, "target"]
        shift = f"{source['dataset']} → {target['dataset']}"
        out.append((key[0], shift, *transfer_row(_counts(source), _counts(target), audit.params)))
    bars = sorted({row["tau"] for row in rows})
    return Table(
        id="published-transfer",
        title="Published counts, recomputed: calibration and target audits of the same recipe.",
        columns=transfer_columns(),
        rows=tuple(out),
        notes=(TRANSFER_NOTE, LEGEND, *chance_note(bars, audit.params)),
        empty=NO_COUNTS,
    )


def _rows(counts: Input | None) -> list[Mapping[str, Any]]:
    if counts is None:
        return []
    return [{str(name): cell for name, cell in row.items()} for row in counts.frame.to_dict("records")]


def _audit(row: Mapping[str, Any]) -> str:
    return row.get("audit") or "calibration"


def _key(row: Mapping[str, Any]) -> tuple[str, str, float]:
    return (row["model"], row.get("pair", ""), row["tau"])


def _counts(row: Mapping[str, Any]) -> tuple[int, int]:
    return int(row["k"]), int(row["n"])
