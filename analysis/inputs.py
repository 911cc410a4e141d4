"""From a path to a checked table: find the files, read them, map their columns, check them against a schema."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.errors import Fault, InputError, is_whole, plain, raise_all
from analysis.layouts import Layout, mapped, no_choices
from analysis.readers.account import Account
from analysis.readers.choices import Ask
from analysis.readers.files import Advance
from analysis.readers.formats import TABULAR, read_format, recognised
from analysis.readers.paths import expand, local
from analysis.readers.raw import RawTable, joined, renamed
from analysis.readers.tabular import raw_tables
from analysis.reconciliation import counted, line
from analysis.schema import Demanded, Schema

UNEXPLAINED = {"", "no reason given", "scored", "ok", "unscored"}
"""What a status says of a row without a score when it names no failure of the system."""

NO_BYTES = hashlib.sha256().hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One file behind an input: its base name, the digest of its bytes as they lie on disk, the rows it gave."""

    file: str | None
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A checked table and where it came from.

    Attributes
    ----------
    frame
        Typed columns of the schema, text columns for the rest; index 0…n−1.
    origin
        (file, "line 7") of every row, for messages.
    reconciliation
        One line that accounts for every row of the files.
    sources
        Mapped column -> what it was called in the file.
    """

    name: str
    frame: pd.DataFrame
    files: tuple[InputFile, ...]
    origin: Sequence[tuple[str, str]]
    reconciliation: str
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Digest over the digests of the files, in order."""
        return hashlib.sha256("".join(file.sha256 for file in self.files).encode()).hexdigest()

    @property
    def rows(self) -> int:
        """Rows of the checked table."""
        return len(self.frame)

    def place(self, row: int) -> tuple[str, str]:
        """File and line of a row of the frame."""
        return self.origin[row]


def read(
    paths: Iterable[str | Path],
    schema: Schema,
    *,
    layout: Layout | None = None,
    demanded: Demanded | None = None,
    advance: Advance | None = None,
) -> Input:
    """Read one input from files, folders or glob patterns, tables and logs of evaluation tools alike.

    Parameters
    ----------
    paths
        Each a file, a folder (its data files in name order, at any depth), a glob pattern, or the fsspec address of one.
    schema
        What the table must hold.
    layout
        How the files' columns map to the schema's, and what was chosen of a log; None for files that are canonical.
    demanded
        Columns that the parameters ask for beyond the schema.
    advance
        Told how many bytes were read, for progress.

    Raises
    ------
    InputError
        Every fault of all files, each with file, line, column, value and the way out.
    """
    layout, demanded, given = layout or Layout(), demanded or Demanded(), local(paths)
    files = expand(given)
    name = log_format(files, schema, layout)
    if name == TABULAR:
        no_choices(layout)
        account = Account(Ask(), advance, files)
        tables, faults = _tables(files, layout, account)
        notes = account.notes
    else:
        roots = [Path(path) for path in given if Path(path).is_dir()]
        tables, account = read_format(name, files, ask_of(layout, schema, roots), advance)
        faults, notes = [], [f"read as {name}", *account.notes]
    frames: list[pd.DataFrame] = []
    origin: list[tuple[str, str]] = []
    rows: dict[str, int] = {}
    for table in tables:
        try:
            frame, places = mapped(table, layout, schema, demanded)
        except InputError as error:
            faults += error.faults
            continue
        frames.append(frame)
        origin += [(table.file, place) for place in places]
        rows[table.file] = rows.get(table.file, 0) + len(frame)
    order = {account.named(path): position for position, path in enumerate(files)}
    raise_all(InputError, _merged(sorted(faults, key=lambda fault: order.get(fault.file, len(order)))))
    if not frames:
        raise InputError(Fault(file=schema.name, what="the files hold no rows", fix="Nothing was decided."))
    behind = [
        InputFile(file=account.named(path), sha256=digest, rows=rows.pop(account.named(path), 0))
        for path, digest in account.digests.items()
    ]
    behind += [
        InputFile(file=name, sha256=NO_BYTES, rows=count) for name, count in rows.items()
    ]  # folders of failed runs
    read_rows = sum(len(table.places) for table in tables)
    return _checked(frames, behind, origin, schema, demanded, read_rows, notes, layout.columns)


def log_format(files: Sequence[Path], schema: Schema, layout: Layout) -> str:
    """The format of the files: what the layout says, or what they are recognised as; ``tabular`` where neither.

    A layout that describes how a table is parsed is taken at its word: the file is a table.
    """
    described = layout.melt or layout.records or layout.delimiter or not layout.header
    if layout.format is not None:
        return layout.format
    if schema.reads is None or described:
        return TABULAR
    return recognised(files, schema.reads)


def ask_of(layout: Layout, schema: Schema, roots: Sequence[Path]) -> Ask:
    """What a layout asks of a log."""
    if schema.reads is None:
        raise InputError(Fault(file=schema.name, what="is not read from logs", fix="Give a table."))
    return Ask(
        table=schema.reads,
        choose=layout.choose,
        accept_mismatch=layout.accept_mismatch,
        roots=roots,
        prefix=f"{schema.name}.",
    )


def from_frame(frame: pd.DataFrame, schema: Schema, *, demanded: Demanded | None = None) -> Input:
    """An input from a data frame of the caller's; its digest is that of the frame written as CSV.

    Raises
    ------
    InputError
        As for files, with the row's position as its place.
    """
    names = [str(name) for name in frame.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    raise_all(InputError, (Fault(file=schema.name, what=f"the column {plain(name)} stands twice") for name in twice))
    cells = {name: [_as_text(cell) for cell in frame.iloc[:, i].to_numpy()] for i, name in enumerate(names)}
    text = pd.DataFrame(cells, dtype=object)
    faults = schema.missing_columns(names, (), demanded or Demanded())
    faults += [
        Fault(file="data frame", place=f"row {row}, column {plain(name)}", what="holds half a character")
        for name in names
        for row, cell in enumerate(cells[name])
        if not is_whole(name + cell)
    ]
    if not len(text):
        faults.append(Fault(file=schema.name, what="the frame has no rows", fix="Nothing was decided."))
    raise_all(InputError, faults)
    digest = hashlib.sha256(text.to_csv(index=False, lineterminator="\n").encode()).hexdigest()
    origin = [("data frame", f"row {row}") for row in range(len(text))]
    files = [InputFile(file=None, sha256=digest, rows=len(text))]
    return _checked([text], files, origin, schema, demanded or Demanded(), len(text))


def _as_text(cell: Any) -> str:
    return "" if pd.api.types.is_scalar(cell) and pd.isna(cell) else str(cell)


def _tables(files: Sequence[Path], layout: Layout, account: Account) -> tuple[list[RawTable], list[Fault]]:
    """Every file as a table, and what was wrong with any."""
    tables: list[RawTable] = []
    faults: list[Fault] = []
    for path in files:
        try:
            with account.opened(path) as data:
                whole = joined(list(raw_tables(data, **layout.parsing)))
            tables.append(renamed(whole, account.named(path)))
        except InputError as error:
            faults += error.faults
    return tables, faults


def _checked(
    frames: list[pd.DataFrame],
    files: list[InputFile],
    origin: list[tuple[str, str]],
    schema: Schema,
    demanded: Demanded,
    read_rows: int,
    notes: Sequence[str] = (),
    sources: Mapping[str, str] | None = None,
) -> Input:
    whole = pd.concat(frames, ignore_index=True).fillna("") if len(frames) > 1 else frames[0]
    typed, faults = schema.check(whole, lambda row: origin[row], demanded)
    raise_all(InputError, faults)
    if not len(typed):
        what = "no row passed the filter" if read_rows else "the files hold no rows"
        raise InputError(Fault(file=schema.name, what=what, fix="Check `filter:` in -f, or the files."))
    counts = counted(typed, schema, len(files), read_rows, notes)
    if (
        schema.reads == "attempts"
        and counts.lost
        and sum(counts.lost.values()) == len(typed)
        and not set(counts.lost) - UNEXPLAINED
    ):
        what = f"0 of {len(typed):,} rows hold a {schema.measure}"
        raise InputError(
            Fault(file=schema.name, what=what, fix="Nothing was measured, so that nothing can be decided.")
        )
    return Input(
        name=schema.name,
        frame=typed,
        files=tuple(files),
        origin=origin,
        reconciliation=line(schema, counts),
        sources=sources or {},
    )


def _merged(faults: Sequence[Fault]) -> list[Fault]:
    """The same fault of many files, said once."""
    files: dict[Fault, list[str]] = {}
    for fault in faults:
        files.setdefault(replace(fault, file=""), []).append(fault.file)
    return [
        replace(fault, file=names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else ""))
        for fault, names in files.items()
    ]
