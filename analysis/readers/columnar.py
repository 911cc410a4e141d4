"""Parquet and Arrow files as raw tables of text."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np

from analysis.errors import Fault, InputError, plain
from analysis.readers.files import DataFile
from analysis.readers.raw import STRETCH, RawTable, cell_text, checked_names, empty, optional, stem


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
    from pyarrow import RecordBatchReader, ipc, memory_map  # noqa: PLC0415

    mapped = source if isinstance(source, io.BytesIO) else memory_map(str(source))
    try:
        file = ipc.open_file(mapped)
        batches: Iterator[Any] = (file.get_batch(i) for i in range(file.num_record_batches))
    except Exception:  # noqa: BLE001  (the stream form is the other way to write the same suffix)
        mapped.seek(0)
        stream: RecordBatchReader = ipc.open_stream(mapped)
        batches = iter(stream)
    slices = (batch.slice(start, STRETCH) for batch in batches for start in range(0, batch.num_rows, STRETCH))
    return 0, slices


def _cells(column: Any) -> list[str]:
    """Cells of one column; a narrow float is written as the shortest decimal that it stands for, .7 and not .699999988."""
    kind = str(column.type)
    if kind in {"float", "halffloat"}:
        narrow = np.float32 if kind == "float" else np.float16
        return ["" if value is None else str(narrow(value)) for value in column.to_pylist()]
    if kind == "double" or "int" in kind:
        return ["" if value is None else repr(value) for value in column.to_pylist()]
    if kind in {"string", "large_string"}:
        return [value or "" for value in column.to_pylist()]
    return [_cell(value) for value in column.to_pylist()]


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    return cell_text(value) if isinstance(value, str | bool | list | dict) or value is None else str(value)
