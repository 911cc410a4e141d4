"""Parquet and Arrow files as raw tables of text."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.errors import Fault, InputError, plain
from analysis.readers.files import DataFile
from analysis.readers.raw import STRETCH, RawTable, cell_text, checked_names, empty, optional, stem

END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
TRIAL = """
import io, os, sys
from pyarrow import ipc, memory_map
name = sys.argv[1]
source = io.BytesIO(sys.stdin.buffer.read()) if name == "-" else memory_map(name)
try:
    file = ipc.open_file(source)
    batches = (file.get_batch(i) for i in range(file.num_record_batches))
except Exception:
    source.seek(0)
    batches = ipc.open_stream(source)
for batch in batches:
    batch.validate(full=True)
    for column in batch.columns:
        column.to_pylist()
os.write(1, b"sound")
os._exit(0)
"""
TRIAL_SECONDS = 600


def columnar_tables(data: DataFile, suffix: str) -> Iterator[RawTable]:
    """Stretches of a Parquet, Arrow or Feather file."""
    optional("pyarrow")
    if not data.stream.peek(1).strip():  # type: ignore[attr-defined]
        raise empty(data.path)
    source: Any = data.path if data.on_disk else io.BytesIO(data.whole())
    first = 0
    names: tuple[str, ...] | None = None
    try:
        total, batches = (_parquet if suffix == ".parquet" else _arrow)(source)
        for batch in batches:
            names = names or checked_names(data.path, list(batch.schema.names), "")
            cells = [_cells(column) for column in batch.columns]
            yield RawTable(
                file=data.path.name,
                stem=stem(data.path),
                columns=names,
                cells=cells,
                places=[f"record {i}" for i in range(first + 1, first + 1 + batch.num_rows)],
                first=first,
            )
            first += batch.num_rows
            if data.on_disk:
                data.passed(first / max(total, first))
    except (GeneratorExit, InputError):
        raise
    except Exception as error:
        raise InputError(
            Fault(file=data.path.name, what=f"cannot be read ({plain(error)})", fix="The file may be cut short.")
        ) from error


def _parquet(source: Any) -> tuple[int, Iterator[Any]]:
    """Number of rows, and batches of them."""
    from pyarrow import parquet  # noqa: PLC0415  (optional and heavy)

    file = parquet.ParquetFile(source)
    return file.metadata.num_rows, file.iter_batches(batch_size=STRETCH, use_threads=False)


def _arrow(source: Any) -> tuple[int, Iterator[Any]]:
    """Number of rows, 0 where only the end of the stream tells, and batches of them."""
    from pyarrow import ipc, memory_map  # noqa: PLC0415

    _survived(source)
    mapped = source if isinstance(source, io.BytesIO) else memory_map(str(source))
    try:
        file = ipc.open_file(mapped)
        batches: Iterator[Any] = (file.get_batch(i) for i in range(file.num_record_batches))
    except Exception:  # noqa: BLE001  (the stream form is the other way to write the same suffix)
        mapped.seek(0)
        if not mapped.read().endswith(END_OF_STREAM):
            raise EOFError("the stream has no end") from None
        mapped.seek(0)
        batches = iter(ipc.open_stream(mapped))
    slices = (batch.slice(start, STRETCH) for batch in batches for start in range(0, batch.num_rows, STRETCH))
    return 0, slices


def _survived(source: Any) -> None:
    """Read an Arrow file in a process of its own first: a damaged one can take the process down with it.

    Raises
    ------
    OSError
        When it did.
    """
    data = source.getvalue() if isinstance(source, io.BytesIO) else b""
    name = "-" if isinstance(source, io.BytesIO) else str(source)
    done = subprocess.run(
        [sys.executable, "-P", "-c", TRIAL, name], input=data, capture_output=True, timeout=TRIAL_SECONDS, check=False
    )
    if done.stdout != b"sound":
        raise OSError("it is damaged")


def _cells(column: Any) -> list[str]:
    """Cells of one column; a narrow float is written as the shortest decimal that it stands for, .7 and not .699999988."""
    from pyarrow import types  # noqa: PLC0415

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if types.is_float32(kind) or types.is_float16(kind):
        narrow = np.float32 if types.is_float32(kind) else np.float16
        return ["" if value is None else str(narrow(value)) for value in column.to_pylist()]
    if types.is_float64(kind) or types.is_integer(kind):
        return ["" if value is None else repr(value) for value in column.to_pylist()]
    if types.is_string(kind) or types.is_large_string(kind):
        return [value or "" for value in column.to_pylist()]
    return [_cell(value) for value in column.to_pylist()]


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    return cell_text(value) if isinstance(value, str | bool | list | dict) or value is None else str(value)
