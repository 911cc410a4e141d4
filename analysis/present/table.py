"""A table is a value: typed raw cells, column groups and notes. Nothing is rendered until asked."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from analysis.present.format import COMPOSITE, NUMERIC, Kind, cell, one_line, visible
from analysis.present.latex import latex

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_STATUS_CLASS = {
    "pass": "status-pass",
    "refuse": "status-refuse",
    "undecided": "status-undecided",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """One column: its key in JSON and CSV, its header, the kind of its cells, a unit, the group it stands under."""

    key: str
    label: str
    kind: Kind = "label"
    unit: str = ""
    group: str = ""

    def header(self) -> str:
        """The header text, with the unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A captioned table of raw cells.

    ``rows`` hold raw values in the order of ``columns`` (see `analysis.present.format.cell` for the kinds); None is
    a value that is not known, shown as a dash and explained in ``notes``. ``empty`` says why there are no rows.
    """

    id: str
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()
    empty: str = "nothing to show"

    def to_json(self) -> dict[str, Any]:
        """Plain values for ``result.json``; a reason for an empty table comes as its first note."""
        return {
            "title": self.title,
            "columns": [{"key": c.key, "label": c.label, "kind": c.kind, "unit": c.unit} for c in self.columns],
            "rows": [list(row) for row in self.rows],
            "notes": list(self.notes) if self.rows else [self.empty],
        }

    def texts(self) -> list[list[str]]:
        """The cells as a person reads them."""
        return [
            [cell(column.kind, value) for column, value in zip(self.columns, row, strict=True)] for row in self.rows
        ]

    def groups(self) -> list[tuple[str, int]]:
        """The names over neighbouring columns, "" where there is none, each with how many columns it spans."""
        return [(name, len(list(run))) for name, run in groupby(column.group for column in self.columns)]

    def to_html(self) -> str:
        """A plain semantic table: ``scope`` on every header, no ids, everything escaped."""
        out = ['<table class="gb-table">', "<thead>", *self._html_head(), "</thead>", "<tbody>"]
        if not self.rows:
            out.append(f'<tr><td colspan="{len(self.columns)}">{_html(self.empty)}</td></tr>')
        for row, texts in zip(self.rows, self.texts(), strict=True):
            cells = []
            for i, (column, value, text) in enumerate(zip(self.columns, row, texts, strict=True)):
                attributes = _html_attributes(column, value)
                cells.append(
                    f'<th scope="row"{attributes}>{_html(text)}</th>'
                    if i == 0
                    else f"<td{attributes}>{_html(text)}</td>"
                )
            out.append(f"<tr>{''.join(cells)}</tr>")
        out += ["</tbody>", "</table>"]
        if self.notes and self.rows:
            out += ['<div class="gb-notes">', *(f"<p>{_html(note)}</p>" for note in self.notes), "</div>"]
        return "\n".join(out)

    def _html_head(self) -> Iterator[str]:
        groups = self.groups()
        if any(name for name, _ in groups):
            yield (
                "<tr>"
                + "".join(
                    f'<th scope="colgroup" colspan="{n}">{_html(name)}</th>' if name else f'<td colspan="{n}"></td>'
                    for name, n in groups
                )
                + "</tr>"
            )
        yield (
            "<tr>"
            + "".join(
                f'<th scope="col"{_html_attributes(column, "")}>{_html(column.header())}</th>'
                for column in self.columns
            )
            + "</tr>"
        )

    def to_markdown(self) -> str:
        """A pipe table, for pull requests and cards."""
        lines = [
            "| " + " | ".join(_pipe(column.header()) for column in self.columns) + " |",
            "|" + "|".join(" ---: " if column.kind in NUMERIC else " --- " for column in self.columns) + "|",
        ]
        lines += ["| " + " | ".join(_pipe(text) for text in texts) + " |" for texts in self.texts()]
        return "\n".join(lines) + "\n"

    def to_latex(self) -> str:
        r"""A booktabs table for ``\input`` in a paper; see `analysis.present.latex.latex`."""
        return latex(self)

    def to_csv(self) -> str:
        """Full precision, one column per field; text that a spreadsheet would run as a formula is quoted with ``'``."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([_csv_field(name) for column in self.columns for name in _csv_names(column)])
        for row in self.rows:
            writer.writerow(
                [field for column, value in zip(self.columns, row, strict=True) for field in _csv_fields(column, value)]
            )
        return buffer.getvalue()

    def to_text(self) -> str:
        """Aligned columns for a terminal."""
        grid = [[visible(column.header()) for column in self.columns], *self.texts()]
        grid = [[_short(text) for text in line] for line in grid]
        widths = [max(_width(line[i]) for line in grid) for i in range(len(self.columns))]
        lines = []
        for line in grid:
            parts = []
            for column, text, width in zip(self.columns, line, widths, strict=True):
                gap = " " * (width - _width(text))
                parts.append(gap + text if column.kind in NUMERIC else text + gap)
            lines.append("  ".join(parts).rstrip())
        if not self.rows:
            lines.append(visible(self.empty))
        return "\n".join([*lines, *(visible(note) for note in self.notes)])

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.to_html(), "text/plain": self.to_text()}


def _html(text: str) -> str:
    return escape(visible(text), quote=True)


def _html_attributes(column: TableColumn, value: Any) -> str:
    """Class and alignment of a cell; the inline style is for notebooks, which set all cells to the right."""
    classes = ["num"] if column.kind in NUMERIC else []
    if column.kind == "status":
        classes += [name for name in [_STATUS_CLASS.get(str(value))] if name]
    side = "right" if column.kind in NUMERIC else "left"
    named = f' class="{" ".join(classes)}"' if classes else ""
    return f'{named} style="text-align: {side}"'


def _pipe(text: str) -> str:
    safe = (f"&#{ord(ch)};" if ch in "<>&" else "\\" + ch if ch in "\\|`*_[]#~$" else ch for ch in one_line(text))
    return "".join(safe) or " "


def _csv_names(column: TableColumn) -> list[str]:
    parts = COMPOSITE.get(column.kind)
    return [f"{column.key}.{part}" for part in parts] if parts else [column.key]


def _csv_fields(column: TableColumn, value: Any) -> list[str]:
    parts = COMPOSITE.get(column.kind)
    if parts:
        return [_csv_field(None if value is None else value[part]) for part in parts]
    return [_csv_field(value)]


def _csv_field(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return repr(float(value)) if isinstance(value, float) else str(value)
    text = visible(value)
    return "'" + text if text.startswith(_FORMULA) else text


def _short(text: str, width: int = 60) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(ch) in "WF" else 0 if unicodedata.combining(ch) else 1 for ch in text)
