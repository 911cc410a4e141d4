"""What every reader of a table returns, and what they share: file names, column names, cells as text."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.errors import Fault, InputError, MissingProgram, plain

COMPRESSED = (".gz", ".zst")
STRETCH = 20_000  # rows of a stretch
MOST_COLUMNS, MOST_CELLS = 4000, 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """What a file, or a stretch of it, holds before anything is understood.

    Attributes
    ----------
    columns
        Names of the columns, in the file's order; a column without a name is called by its position, ``#1``.
    cells
        Text, one list per column, each as long as ``places``.
    places
        "line 7" or "record 3" of each row.
    keys, indices
        For JSON objects the key a row came from and its position in the list; else None.
    first
        Rows of the file that came before this stretch.
    """

    file: str
    stem: str
    columns: tuple[str, ...]
    cells: list[list[str]]
    places: list[str]
    keys: list[str] | None = None
    indices: list[str] | None = None
    hint: str = ""
    first: int = 0

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The cells, one tuple per row."""
        return list(zip(*self.cells, strict=True)) if self.cells else [()] * len(self.places)


def padded(table: RawTable, columns: Sequence[str]) -> RawTable:
    """The table with all of these columns, in this order, and any further ones behind; what it lacks is empty."""
    held = dict(zip(table.columns, table.cells, strict=True))
    names = tuple(dict.fromkeys([*columns, *table.columns]))
    if names == table.columns:
        return table
    return replace(table, columns=names, cells=[held.get(name) or [""] * len(table.places) for name in names])


def joined(tables: Sequence[RawTable]) -> RawTable:
    """The stretches of one file as one table; a column that a stretch lacks is empty there."""
    if len(tables) == 1:
        return tables[0]
    columns = tuple(dict.fromkeys(name for table in tables for name in table.columns))
    rows = sum(len(table.places) for table in tables)
    if len(columns) > MOST_COLUMNS and len(columns) * rows > MOST_CELLS:
        what = f"{len(columns):,} columns of {rows:,} rows are more than a machine should hold"
        raise InputError(Fault(file=tables[0].file, what=what, fix="Give records that share their keys."))
    alike = [padded(table, columns) for table in tables]
    keyed = any(table.keys is not None for table in tables)
    indexed = any(table.indices is not None for table in tables)
    return replace(
        tables[0],
        columns=columns,
        cells=[[cell for table in alike for cell in table.cells[i]] for i in range(len(columns))],
        places=[place for table in tables for place in table.places],
        keys=[key for table in tables for key in table.keys or [""] * len(table.places)] if keyed else None,
        indices=[i for table in tables for i in table.indices or [""] * len(table.places)] if indexed else None,
    )


def data_suffix(path: Path) -> str:
    """The suffix that says what a file holds, below ``.gz`` or ``.zst``.

    >>> data_suffix(Path("runs.csv.gz"))
    '.csv'
    """
    name = path.name.lower()
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return Path(name).suffix


def stem(path: Path) -> str:
    """The file name without its data and compression suffixes."""
    name = path.name
    for ending in COMPRESSED:
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
    return Path(name).stem


def renamed(table: RawTable, name: str) -> RawTable:
    """The table of a file that is called ``name``, with folders where another file has its name; so is its stem."""
    folder = name.rpartition("/")[0]
    return replace(table, file=name, stem=f"{folder}/{table.stem}" if folder else table.stem)


def checked_names(path: Path, names: list[str], place: str) -> tuple[str, ...]:
    """Column names, a missing one called by its position.

    Raises
    ------
    InputError
        When a name stands twice.
    """
    columns = tuple(name.strip() or f"#{position}" for position, name in enumerate(names, start=1))
    twice = sorted(name for name, count in Counter(columns).items() if count > 1)
    if twice:
        raise InputError(
            Fault(
                file=path.name,
                place=place,
                what=f"column names stand twice: {', '.join(map(plain, twice))}",
                fix="Rename them" + (", or say header: false and map by position (#1, #2 …)." if place else "."),
            )
        )
    return columns


def empty(path: Path) -> InputError:
    """The error of a file without anything in it."""
    return InputError(Fault(file=path.name, what="the file is empty", fix="Give a file with at least one row."))


def cell_text(value: Any) -> str:
    """A JSON value as the text of a cell; what is nested stays JSON.

    >>> cell_text(None), cell_text(True), cell_text("1.10"), cell_text({"a": 1})
    ('', 'true', '1.10', '{"a": 1}')
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False, default=str)


def optional(module: str, extra: str = "formats") -> Any:
    """Import a package of an extra.

    Raises
    ------
    MissingProgram
        With how to install it.
    """
    try:
        return __import__(module)
    except ModuleNotFoundError as error:
        raise MissingProgram(
            Fault(what=f"this file needs the package {module}", fix=f"Install it: pip install 'gatebook[{extra}]'.")
        ) from error
