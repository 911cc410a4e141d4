"""Frozen descriptions of an input table, and the check that finds every fault at once."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import pandas as pd

from analysis.errors import Fault, plain

YES = frozenset({"true", "yes", "t", "y", "correct", "pass"})
TRUTH = frozenset({"true", "false", "yes", "no", "t", "f", "y", "n", "correct", "incorrect", "pass", "fail"})
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+")
MISSING = frozenset({"", "na", "n/a", "nan", "none", "null"})
"""Spellings of *no value*, lower case. They count in number and choice columns only: a model may be called ``NA``."""

Kind = Literal["attempts", "reruns", "judgements"]
"""A canonical table: one row per attempt at an item, per training run of a recipe, or per verdict of a judge."""

Place = Callable[[int], tuple[str, str]]
"""Row position in the frame -> (file, "line 7")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of an input table: what it is called, what may stand in it, what else it is often called.

    ``finite`` is false where an infinite number is read as it stands, because the study has a policy for it. ``unit`` is what a
    source must say of itself, ``fix`` the way out of a value that does not fit, where it is a particular one.
    """

    name: str
    kind: Literal["text", "number", "choice"]
    help: str
    required: bool = False
    choices: tuple[str, ...] = ()
    low: float = -math.inf
    high: float = math.inf
    finite: bool = True
    aliases: tuple[str, ...] = ()
    unit: str = ""
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demanded:
    """What the parameters ask of a table beyond its schema.

    Attributes
    ----------
    columns
        Columns that must be there and hold something in every row; ``hint`` is the other way out when they are not.
    key
        Columns that together name a row once, the last of them the one that tells rows apart; absent ones do not count.
    ranges
        Closed intervals of number columns; ``range_hint`` is the way out for a value outside.
    """

    columns: tuple[str, ...] = ()
    hint: str = ""
    key: tuple[str, ...] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    range_hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The columns of one input table.

    ``measure`` names the number column that the study is about; a flat value map applies to it. ``reads`` is the canonical
    table that logs of evaluation tools are read into for it; None where only tables are read.
    """

    name: str
    columns: tuple[Column, ...]
    measure: str
    reads: Kind | None = None
    by_name: Mapping[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {column.name: column for column in self.columns})

    def missing_columns(self, present: Sequence[str], specials: Sequence[str], demanded: Demanded) -> list[Fault]:
        """One fault that names every missing column, lists the file's columns and offers a ready ``--map``.

        Parameters
        ----------
        present
            Columns of the table.
        specials
            Further sources that the file offers, such as ``@key``.
        demanded
            Columns that the parameters ask for beyond the required ones.
        """
        wanted = [column.name for column in self.columns if column.required]
        wanted = list(dict.fromkeys([*demanded.columns, *wanted]))
        absent = [name for name in wanted if name not in present]
        if not absent:
            return []
        sources = [*present, *specials]
        offers = " ".join(f"--map {_quoted(f'{name}={self._candidate(name, sources)}')}" for name in absent)
        has = ", ".join(plain(name, width=60) for name in sources) or "none"
        hint = f" {demanded.hint}" if set(absent) & set(demanded.columns) else ""
        return [
            Fault(
                what=f"{_plural('column', absent)} missing: {', '.join(map(plain, absent))}; the file has: {has}",
                fix=f"If its columns mean the same, say so: {offers}{hint}",
            )
        ]

    def _candidate(self, name: str, sources: Sequence[str]) -> str:
        """The source that most likely means ``name``, or a placeholder. Offered, never applied."""
        column = self.by_name.get(name)
        for spelling in (name, *(column.aliases if column else ())):
            for other in sources:
                if other == spelling or (not spelling.startswith(("@", "#")) and _folded(other) == _folded(spelling)):
                    return other
        return "COLUMN"

    def check(
        self, frame: pd.DataFrame, place: Place, demanded: Demanded | None = None
    ) -> tuple[pd.DataFrame, list[Fault]]:
        """Turn a frame of text into typed columns.

        Parameters
        ----------
        frame
            All cells are text; one row per record.
        place
            Names file and line of a row position.
        demanded
            What the parameters ask for beyond the schema.

        Returns
        -------
        typed, faults
            Number columns as float64 (no value is NaN), choice columns lower-cased (no value is ``""``), everything
            else the text as it stood. Faults name file, line, column and value.
        """
        demanded = demanded or Demanded()
        typed, faults = frame.copy(), _empty(demanded, frame, place)
        for declared in self.columns:
            if declared.name not in frame:
                continue
            column = _ranged(declared, demanded)
            cells = frame[column.name].tolist()
            if column.kind == "number":
                values, found = _numbers(column, cells, place)
                typed[column.name] = pd.Series(values, index=frame.index, dtype="float64")
                faults += found
            elif column.kind == "choice":
                typed[column.name] = [_choice(cell) for cell in cells]
                faults += _bad_choices(column, cells, place)
            elif column.required and column.name not in (*demanded.columns, *demanded.key[-1:]):
                faults += [
                    _fault(column, cell, place(row), "is empty", "Every row needs one")
                    for row, cell in enumerate(cells)
                    if not cell.strip()
                ]
        return typed, faults + _repeated(demanded, frame, place)


def is_missing(cell: str) -> bool:
    """Whether a number or choice cell holds no value.

    >>> [is_missing(cell) for cell in ("", "NaN", "None", "0")]
    [True, True, True, False]
    """
    return cell.strip().lower() in MISSING


def _numbers(column: Column, cells: list[str], place: Place) -> tuple[list[float], list[Fault]]:
    """The numbers of a column; every spelling is read, and refused, once."""
    known = {cell: _number(column, cell) for cell in set(cells)}
    bad = {cell: found for cell, found in known.items() if isinstance(found, tuple)}
    faults = _by_value(column, cells, bad, place) if bad else []
    return [math.nan if cell in bad else known[cell] for cell in cells], faults  # type: ignore[misc]


def _number(column: Column, cell: str) -> float | tuple[str, str]:
    """The number of a cell, NaN where there is none, or what is wrong with it and the way out."""
    try:
        value = float(cell)
    except ValueError:
        return math.nan if is_missing(cell) else ("is not a number", _way_out(column, cell.strip()))
    plainly = "_" not in cell and cell.isascii()  # float() reads 1_0 as 10, and the digits of every script
    if plainly and column.low <= value <= column.high and not math.isinf(value):
        return value
    if is_missing(cell):
        return math.nan
    if not plainly:
        return "is not a number", _way_out(column, cell.strip())
    if not math.isfinite(value) and column.finite:
        return "is not a finite number", "Leave it empty"
    if math.isfinite(value) and not column.low <= value <= column.high:
        percent = (column.low, column.high) == (0, 1) and value <= 100
        fix = f"{column.help}; a percentage is mapped by {column.name}=percent:COLUMN" if percent else column.help
        return f"is outside [{column.low:g}, {column.high:g}]", fix
    return value


def _way_out(column: Column, cell: str) -> str:
    """What to do about a text where a number should stand."""
    if cell == column.name:
        return "The header stands here again: two files were joined; remove it"
    if cell.lower() in TRUTH:
        return f"Say what it means: values: {{{column.name}: {{{cell}: {int(cell.lower() in YES)}, …}}}} in -f"
    if DECIMAL_COMMA.fullmatch(cell):
        return "A number has a decimal point; write the file with one"
    if cell[:1] in {"{", "["}:
        return "A list or an object is no score: choose another metric, or one value of it"
    if cell.endswith("%"):
        return f"Leave the sign out, and map it by {column.name}=percent:COLUMN"
    return f"Leave it empty if there is none, or say what it means: values: {{{column.name}: {{{plain(cell, width=30)}: …}}}} in -f"


def _choice(cell: str) -> str:
    return "" if is_missing(cell) else cell.strip().lower()


def _bad_choices(column: Column, cells: list[str], place: Place) -> list[Fault]:
    what = "is not one of " + " | ".join(column.choices)
    fix = column.fix or f"Map it: values: {{{column.name}: {{OLD: NEW}}}} in -f"
    bad = {
        cell: (what, fix)
        for cell in set(cells)
        if (column.required or not is_missing(cell)) and _choice(cell) not in column.choices
    }
    return _by_value(column, cells, bad, place) if bad else []


def _by_value(column: Column, cells: list[str], bad: Mapping[str, tuple[str, str]], place: Place) -> list[Fault]:
    """One fault per value, at its first row, with the number of further ones."""
    rows: dict[str, list[int]] = {}
    for row, cell in enumerate(cells):
        if cell in bad:
            rows.setdefault(cell, []).append(row)
    return [_fault(column, cell, place(found[0]), *bad[cell], more=len(found) - 1) for cell, found in rows.items()]


def _fault(column: Column, cell: str, where: tuple[str, str], what: str, fix: str, more: int = 0) -> Fault:
    file, line = where
    again = f" (and in {more:,} more row{'s' * (more != 1)})" if more else ""
    what = f"{plain(repr(cell), width=60)} {what}{again}"
    return Fault(file=file, place=f"{line}, column {column.name}", what=what, fix=fix + ".")


def _ranged(column: Column, demanded: Demanded) -> Column:
    if column.name not in demanded.ranges:
        return column
    low, high = demanded.ranges[column.name]
    return replace(column, low=low, high=high, help=demanded.range_hint)


def _empty(demanded: Demanded, frame: pd.DataFrame, place: Place) -> list[Fault]:
    faults = []
    for name in dict.fromkeys([*demanded.columns, *(key for key in demanded.key[-1:] if key in frame)]):
        for row, cell in enumerate(frame[name].tolist()):
            if cell and cell == cell.strip():
                continue
            file, line = place(row)
            what, fix = "is empty", "Every row needs one."
            if cell.strip():
                what = f"{plain(repr(cell), width=60)} has blanks around it"
                fix = "They would make another name; remove them."
            faults.append(Fault(file=file, place=f"{line}, column {name}", what=what, fix=fix))
    return faults


def _repeated(demanded: Demanded, frame: pd.DataFrame, place: Place) -> list[Fault]:
    """Rows whose key stood before, each with the line of the first."""
    key = [name for name in demanded.key if name in frame]
    if not key:
        return []
    faults = []
    again = frame.duplicated(key, keep="first").to_numpy()
    if not again.any():
        return []
    first: dict[tuple[str, ...], int] = {}
    for row, cells in enumerate(zip(*(frame[name].tolist() for name in key), strict=True)):
        if not again[row]:
            first.setdefault(cells, row)
            continue
        (file, line), (other_file, other) = place(row), place(first[cells])
        where = other if other_file == file else f"{other_file} {other}"
        same = f" for the same {', '.join(key[:-1])}" if len(key) > 1 else ""
        faults.append(
            Fault(
                file=file,
                place=f"{line}, column {key[-1]}",
                what=f"{plain(repr(cells[-1]), width=60)} stands twice{same} (first at {where})",
                fix="Remove the copy, or name the column that tells the two apart.",
            )
        )
    return faults


def _plural(noun: str, items: Sequence[object]) -> str:
    return noun if len(items) == 1 else noun + "s"


def _folded(name: str) -> str:
    return "".join(ch for ch in name.lower() if ch.isalnum())


def _quoted(text: str) -> str:
    safe = plain(text, width=120)
    return safe if all(ch.isalnum() or ch in "=_.-#@:/" for ch in safe) else "'" + safe.replace("'", "'\\''") + "'"
