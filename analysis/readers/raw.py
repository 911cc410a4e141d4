"""What every reader of a table returns, and what they share: file names, column names, cells as text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.errors import Fault, InputError, MissingProgram, plain

COMPRESSED = (".gz", ".zst")


@dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """What a file holds before anything is understood.

    Attributes
    ----------
    columns
        Names of the columns, in the file's order; a column without a name is called by its position, ``#1``.
    rows
        Cells as text, one tuple per record, each as long as ``columns``.
    places
        "line 7" or "record 3" of each row.
    keys, indices
        For JSON objects the key a row came from and its position in the list; else None.
    """

    file: str
    stem: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    places: list[str]
    keys: list[str] | None = None
    indices: list[str] | None = None
    hint: str = ""


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


def checked_names(path: Path, names: list[str], place: str) -> tuple[str, ...]:
    """Column names, a missing one called by its position.

    Raises
    ------
    InputError
        When a name stands twice.
    """
    columns = tuple(name.strip() or f"#{position}" for position, name in enumerate(names, start=1))
    twice = sorted({name for name in columns if columns.count(name) > 1})
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


def optional(module: str) -> Any:
    """Import a package of the ``formats`` extra.

    Raises
    ------
    MissingProgram
        With how to install it.
    """
    try:
        return __import__(module)
    except ModuleNotFoundError as error:
        raise MissingProgram(
            Fault(what=f"this file needs the package {module}", fix="Install it: pip install 'gatebook[formats]'.")
        ) from error
