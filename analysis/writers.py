"""A canonical table on its way to a file, stretch by stretch: CSV, TSV, JSON lines or Parquet, packed by the name's ending."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol, Self

import pandas as pd

from analysis.errors import Fault, UsageError, plain
from analysis.readers.raw import data_suffix, optional
from analysis.schema import Schema, is_missing

WRITTEN = (".csv", ".tsv", ".jsonl", ".parquet")
GROUP = 200_000  # rows of a row group of Parquet
JSON_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")


class Sink(Protocol):
    """Where stretches of a table go."""

    def write(self, frame: pd.DataFrame, typed: pd.DataFrame) -> None:
        """Add rows, as text and checked."""

    def close(self) -> None:
        """Write what is left."""


class Writer:
    """A file that is complete or absent: written beside its name, and renamed when everything went well.

    Cells stand as they were read: the file is data, not a sheet, and a cell that begins with ``=`` keeps its meaning.

    Raises
    ------
    UsageError
        When the ending of the name is none that is written.
    """

    def __init__(self, path: Path, columns: Sequence[str], schema: Schema) -> None:
        self._path = path
        self._sink: Sink
        self._beside = path.with_name(f".gatebook-{os.getpid()}-{path.name}"[:200])
        self._columns, self._numbers = columns, {column.name for column in schema.columns if column.kind == "number"}

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        try:
            self._sink = self._opened(self._stack.enter_context(self._beside.open("xb")))
        except BaseException:
            with self._stack:
                self._beside.unlink(missing_ok=True)
            raise
        return self

    def _opened(self, raw: Any) -> Sink:
        name = self._path.name.lower()
        if name.endswith(".gz"):
            raw = self._stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0))
        elif name.endswith(".zst"):
            raw = self._stack.enter_context(optional("zstandard").ZstdCompressor().stream_writer(raw, closefd=False))
        sinks: dict[str, Callable[..., Sink]] = {
            ".csv": _Delimited,
            ".tsv": _Delimited,
            ".jsonl": _JsonLines,
            ".parquet": _Parquet,
        }
        return sinks[written_suffix(self._path)](raw, self._columns, self._numbers, name)

    def write(self, frame: pd.DataFrame, typed: pd.DataFrame) -> None:
        """Add rows: cells as text, and the same rows checked; a column that is not there is empty."""
        self._sink.write(frame, typed)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with self._stack:
                self._sink.close()  # also after an error: a sink that is left open complains when it is collected
            if kind is None:
                self._beside.replace(self._path)
        finally:
            self._beside.unlink(missing_ok=True)


def written_suffix(path: Path) -> str:
    """The ending that says how a table is written.

    Raises
    ------
    UsageError
        With the endings that are known.
    """
    suffix = data_suffix(path)
    if suffix not in WRITTEN or (suffix == ".parquet" and path.suffix.lower() != ".parquet"):
        fix = f"Known: {' '.join(WRITTEN)}, text also with .gz or .zst."
        raise UsageError(Fault(place=f"-o {plain(path)}", what="is no kind of file that is written", fix=fix))
    return suffix


def _texts(frame: pd.DataFrame, columns: Sequence[str]) -> list[list[str]]:
    return [frame[name].tolist() if name in frame else [""] * len(frame) for name in columns]


class _Delimited:
    def __init__(self, raw: BinaryIO, columns: Sequence[str], numbers: set[str], name: str) -> None:
        self._columns = columns
        self._text = io.TextIOWrapper(raw, encoding="utf-8", newline="", write_through=False)
        delimiter = "\t" if data_suffix(Path(name)) == ".tsv" else ","
        self._writer = csv.writer(self._text, delimiter=delimiter, lineterminator="\n")
        self._quoting = csv.writer(self._text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
        self._quoting.writerow(columns) if any("\r" in name for name in columns) else self._writer.writerow(columns)

    def write(self, frame: pd.DataFrame, typed: pd.DataFrame) -> None:
        cells = _texts(frame, self._columns)
        risky = any("\r" in cell for column in cells for cell in column)  # a bare \r is not quoted by itself
        (self._quoting if risky else self._writer).writerows(zip(*cells, strict=True))

    def close(self) -> None:
        self._text.flush()
        self._text.detach()


class _JsonLines:
    def __init__(self, raw: BinaryIO, columns: Sequence[str], numbers: set[str], name: str) -> None:
        self._raw, self._columns, self._numbers = raw, columns, numbers

    def write(self, frame: pd.DataFrame, typed: pd.DataFrame) -> None:
        names = [json.dumps(name, ensure_ascii=False) for name in self._columns]
        number = [name in self._numbers for name in self._columns]
        lines = []
        for cells in zip(*_texts(frame, self._columns), strict=True):
            held = (f"{name}: {_json(cell, of)}" for name, cell, of in zip(names, cells, number, strict=True) if cell)
            lines.append("{" + ", ".join(held) + "}\n")
        self._raw.write("".join(lines).encode())

    def close(self) -> None:
        """Nothing is held back."""


class _Parquet:
    def __init__(self, raw: BinaryIO, columns: Sequence[str], numbers: set[str], name: str) -> None:
        self._arrow = optional("pyarrow")
        from pyarrow import parquet  # noqa: PLC0415  (optional and heavy)

        self._columns, self._numbers = columns, numbers
        kinds = [(name, self._arrow.float64() if name in numbers else self._arrow.string()) for name in columns]
        self._schema = self._arrow.schema(kinds)
        self._writer = parquet.ParquetWriter(raw, self._schema)
        self._held: list[Any] = []

    def write(self, frame: pd.DataFrame, typed: pd.DataFrame) -> None:
        cells = [
            self._arrow.array(typed[name].to_numpy(), self._arrow.float64(), from_pandas=True)
            if name in self._numbers and name in typed
            else self._arrow.array([cell or None for cell in column], self._schema.field(name).type)
            for name, column in zip(self._columns, _texts(frame, self._columns), strict=True)
        ]
        self._held.append(self._arrow.table(cells, schema=self._schema))
        if sum(table.num_rows for table in self._held) >= GROUP:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        if self._held:
            self._writer.write_table(self._arrow.concat_tables(self._held), row_group_size=GROUP)
            self._held = []


def _json(cell: str, number: bool) -> str:
    if not number:
        return json.dumps(cell, ensure_ascii=False)
    return cell if JSON_NUMBER.fullmatch(cell) else "null" if is_missing(cell) else repr(float(cell))
