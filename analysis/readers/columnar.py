"""Parquet and Arrow files as raw tables of text."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from analysis.errors import Fault, InputError, plain
from analysis.readers.raw import RawTable, cell_text, checked_names, optional, stem


def read_columnar(path: Path, data: bytes, suffix: str) -> RawTable:
    """Read the bytes of a Parquet, Arrow or Feather file."""
    optional("pyarrow")
    from pyarrow import ipc, parquet  # noqa: PLC0415  (optional and heavy)

    def arrow(buffer: io.BytesIO) -> Any:
        try:
            return ipc.open_file(buffer).read_all()
        except Exception:  # noqa: BLE001  (the stream form is the other way to write the same suffix)
            buffer.seek(0)
            return ipc.open_stream(buffer).read_all()

    read: Callable[[io.BytesIO], Any] = parquet.read_table if suffix == ".parquet" else arrow
    try:
        table = read(io.BytesIO(data))
        cells = [_arrow_cells(column) for column in table.columns]
    except Exception as error:
        raise InputError(
            Fault(file=path.name, what=f"cannot be read ({plain(error)})", fix="The file may be cut short.")
        ) from error
    columns = checked_names(path, list(table.column_names), "")
    return RawTable(
        file=path.name,
        stem=stem(path),
        columns=columns,
        rows=list(zip(*cells, strict=True)),
        places=[f"record {i}" for i in range(1, table.num_rows + 1)],
    )


def _arrow_cells(column: Any) -> list[str]:
    """Cells of one column; a narrow float is written as the shortest decimal that it stands for, .7 and not .699999988."""
    if str(column.type) in {"float", "halffloat"}:
        narrow = np.float32 if str(column.type) == "float" else np.float16
        return ["" if value is None else str(narrow(value)) for value in column.to_pylist()]
    return [_arrow_cell(value) for value in column.to_pylist()]


def _arrow_cell(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    return cell_text(value) if isinstance(value, str | bool | list | dict) or value is None else str(value)
