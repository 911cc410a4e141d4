"""From files of any known format to one canonical table on disk, in bounded memory."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.errors import SHOWN, Fault, InputError, UsageError, plain, raise_all
from analysis.layouts import Layout, mapped, no_choices
from analysis.readers.account import Account
from analysis.readers.canonical import ARM, ITEM, KEYS, TABLES
from analysis.readers.choices import Again, Ask
from analysis.readers.files import Advance
from analysis.readers.formats import TABULAR, stream_format, usual_table
from analysis.readers.paths import expand
from analysis.readers.raw import RawTable, padded, renamed
from analysis.readers.tabular import raw_tables
from analysis.reconciliation import Counts, line, lost
from analysis.schema import Kind, Place, Schema
from analysis.writers import Writer, written_suffix

Hashes = npt.NDArray[np.uint64]


def convert(
    name: str,
    paths: Sequence[str | Path],
    out: Path,
    *,
    table: Kind | None = None,
    layout: Layout | None = None,
    advance: Advance | None = None,
) -> str:
    """Read files of one format and write the canonical table.

    Parameters
    ----------
    name
        One of `analysis.readers.formats.NAMES`.
    paths
        Files, folders or patterns.
    out
        Written complete or not at all; its ending says how.
    table
        Which canonical table; None for the one that the format usually gives.
    layout
        What was chosen of a log, and how columns map.
    advance
        Told how many bytes were read.

    Returns
    -------
    str
        The line that accounts for every row.

    Raises
    ------
    InputError
        With every fault; nothing is written then.
    """
    written_suffix(out)
    files = expand(paths)
    try:
        same = out.resolve() in {file.resolve() for file in files}
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        what = f"cannot be written ({plain(error)})"
        raise UsageError(Fault(place=f"-o {plain(out)}", what=what, fix="Name another file.")) from error
    if same:
        raise UsageError(Fault(place=f"-o {plain(out)}", what="is one of the files that are read", fix="Name another."))
    layout = layout or Layout()
    if layout.format not in {None, name}:
        raise UsageError(
            Fault(what=f"the file says format: {layout.format}, the command {name}", fix="Drop one of them.")
        )
    if name == TABULAR:
        no_choices(layout)
    roots = [Path(path) for path in paths if Path(path).is_dir()]
    kind = table or usual_table(name, files)
    ask = Ask(table=kind, choose=layout.choose, accept_mismatch=layout.accept_mismatch, roots=roots)
    columns: tuple[str, ...] = ()
    while True:
        source = _Source(name, files, layout, Account(ask, advance, files), columns)
        try:
            return _written(source, out)
        except Again as again:
            ask = again.ask
        except _NewColumns as found:
            columns = found.columns


class _NewColumns(Exception):
    def __init__(self, columns: tuple[str, ...]) -> None:
        super().__init__()
        self.columns = columns


class _Source:
    """The files of one conversion, read stretch by stretch into frames of text."""

    def __init__(
        self, name: str, files: Sequence[Path], layout: Layout, account: Account, columns: tuple[str, ...]
    ) -> None:
        self.name, self.files, self.layout, self.account, self.columns = name, files, layout, account, columns
        self.schema: Schema = TABLES[account.ask.table]
        self.key = KEYS[account.ask.table]

    def frames(self) -> Iterator[tuple[pd.DataFrame, Place, int]]:
        """Mapped rows, what says file and place of each, and how many rows of the file they came from.

        Raises
        ------
        _NewColumns
            At the end, when columns turned up behind the first stretch: all that there are.
        """
        seen = dict.fromkeys(self.columns)
        begun = grown = False
        held: InputError | None = None
        for table in self._stretches():
            grown = grown or (begun and bool(set(table.columns) - set(seen)))
            seen |= dict.fromkeys(table.columns)
            if grown or held is not None or not table.places:
                continue
            try:
                frame, places = mapped(padded(table, tuple(seen)), self.layout, self.schema, self.key)
            except InputError as error:
                held = error  # what the reader itself finds wrong comes first
                continue
            yield frame, partial(_place, table.file, places), len(table.places)
            begun = True
        if held is not None:
            raise held
        if grown:
            raise _NewColumns(tuple(seen))

    def _stretches(self) -> Iterator[RawTable]:
        if self.name != TABULAR:
            yield from stream_format(self.name, self.files, self.account)
            return
        layout = self.layout
        for path in self.files:
            with self.account.opened(path) as data:
                for table in raw_tables(data, **layout.parsing):
                    yield renamed(table, self.account.named(path))


def _written(source: _Source, out: Path) -> str:
    """One pass over the files into the output; a second over those that hold duplicates, to name their lines."""
    schema, tally = source.schema, _Tally(source)
    faults: list[Fault] = []
    with ExitStack() as stack:
        writer: Writer | None = None
        try:
            for frame, place, read_rows in source.frames():
                typed, found = schema.check(frame, place)
                faults += found[: 2 * SHOWN]
                if faults:
                    continue
                if writer is None:
                    writer = stack.enter_context(Writer(out, tally.kept(frame), schema))
                writer.write(frame, typed)
                tally.add(frame, typed, read_rows)
        except InputError as error:
            faults += error.faults
        raise_all(InputError, faults)
        if not tally.rows:
            what = "no row passed the filter" if tally.read else "the files hold no rows"
            raise InputError(Fault(what=what, fix="Nothing was written."))
        if len(twice := tally.twice()):
            raise InputError(*_duplicates(source, twice))
    return line(schema, tally.counts(len(source.account.digests), source.account.notes))


class _Tally:
    """Counts over all stretches; of keys and items only a hash is kept, eight bytes a row."""

    def __init__(self, source: _Source) -> None:
        self._schema, self._key, self._table = source.schema, source.key.key, source.account.ask.table
        self._keys, self._arms, self._items = array("Q"), array("Q"), array("Q")
        self._lost: Counter[str] = Counter()
        self._about = False
        self._models: dict[str, None] = {}
        self._metrics: dict[str, None] = {}
        self._left: dict[str, None] = {}
        self.rows = self.read = 0

    def kept(self, frame: pd.DataFrame) -> list[str]:
        """Columns that are written: those of the table, of its key and slices; of reruns all, since any may name the recipe."""
        names = [str(name) for name in frame]
        own = [column.name for column in self._schema.columns if column.name in names]
        kept = {name for name in names if name in self._key or name.startswith("slice.") or self._table == "reruns"}
        more = [name for name in names if name in kept and name not in own]
        self._left = dict.fromkeys(name for name in names if name not in {*own, *more})
        return own + more

    def add(self, frame: pd.DataFrame, typed: pd.DataFrame, read_rows: int) -> None:
        """Count a stretch."""
        self.read += read_rows
        self.rows += len(frame)
        columns = {name: _column_hash(frame, name) for name in {*self._key, *ARM} if name in frame}
        self._keys.frombytes(_combined(columns, self._key).tobytes())
        if "item_id" in frame:
            self._arms.frombytes(_combined(columns, ARM).tobytes())
            self._items.frombytes(_combined(columns, ITEM).tobytes())
        gone = lost(typed, self._schema)
        self._about = self._about or gone is not None
        self._lost.update(gone or {})
        self._models |= dict.fromkeys(frame["model"].unique()) if "model" in frame else {}
        self._metrics |= dict.fromkeys(frame["metric"].unique()) if "metric" in frame else {}

    def twice(self) -> Hashes:
        """Hashes of keys that stand more than once."""
        held = _sorted(self._keys)
        return np.unique(held[1:][held[1:] == held[:-1]])

    def counts(self, files: int, notes: Sequence[str]) -> Counts:
        """Everything that was counted."""
        attempts, items = None, 0
        if self._arms:
            held = _sorted(self._arms)
            ends = np.flatnonzero(held[1:] != held[:-1])
            sizes = np.diff(ends, prepend=-1, append=len(held) - 1)
            attempts, items = (int(sizes.min()), int(sizes.max())), _distinct(self._items)
        more = f" and {len(self._left) - SHOWN} more" if len(self._left) > SHOWN else ""
        names = ", ".join(plain(name, width=60) for name in list(self._left)[:SHOWN])
        left = f"columns not written: {names}{more}" if names else ""
        return Counts(
            files=files,
            read_rows=self.read,
            rows=self.rows,
            items=items,
            models=len(self._models),
            attempts=attempts,
            lost=dict(self._lost) if self._about else None,
            metrics=tuple(self._metrics),
            notes=[*notes, *([left] if left else [])],
        )


def _column_hash(frame: pd.DataFrame, name: str) -> Hashes:
    return np.asarray(pd.util.hash_array(frame[name].to_numpy(dtype=object)), dtype=np.uint64)


def _combined(columns: Mapping[str, Hashes], names: Sequence[str]) -> Hashes:
    """A 64-bit hash of every row over the columns that are there."""
    out = np.zeros(len(next(iter(columns.values()))), dtype=np.uint64)
    for position, name in enumerate(names):
        if name in columns:
            out = (out ^ (columns[name] + np.uint64(position))) * np.uint64(0x9E3779B97F4A7C15)  # wraps, as meant
            out ^= out >> np.uint64(29)
    return out


def _sorted(held: array[int]) -> Hashes:
    """The hashes in order, sorted where they lie."""
    view = np.frombuffer(held, dtype=np.uint64)
    view.sort()
    return view


def _distinct(held: array[int]) -> int:
    whole = _sorted(held)
    return int(np.count_nonzero(whole[1:] != whole[:-1])) + 1


def _place(file: str, places: Sequence[str], row: int) -> tuple[str, str]:
    return file, places[row]


def _duplicates(source: _Source, twice: Hashes) -> list[Fault]:
    """The rows whose key stood before, found by reading once more."""
    again = _Source(
        source.name, source.files, source.layout, Account(source.account.ask, files=source.files), source.columns
    )
    faults: list[Fault] = []
    first: dict[tuple[str, ...], tuple[str, str]] = {}
    for frame, where_is, _ in again.frames():
        keys = [name for name in source.key.key if name in frame]
        found = _combined({name: _column_hash(frame, name) for name in keys}, source.key.key)
        for row in np.flatnonzero(np.isin(found, twice)).tolist():
            key = tuple(str(frame[name].iat[row]) for name in keys)
            file, place = where_is(row)
            if key not in first:
                first[key] = (file, place)
            elif len(faults) < 10 * SHOWN:
                where = first[key][1] if first[key][0] == file else " ".join(first[key])
                shown = ", ".join(
                    f"{name} {plain(cell, width=40)}" for name, cell in zip(keys, key, strict=True) if cell
                )
                what = f"the row stands twice (first at {where}): {shown}"
                fix = "Remove the copy, or name the column that tells the two apart."
                faults.append(Fault(file=file, place=place, what=what, fix=fix))
    return faults
