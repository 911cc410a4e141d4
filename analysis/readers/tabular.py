"""CSV, TSV, JSON, JSONL, Parquet and Arrow files as raw tables of text; nothing is dropped, nothing guessed.

A JSON list of objects gives named columns, a list of lists columns ``#1 #2 …``, an object of lists one row per
entry with ``@key`` and ``@index``.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.errors import Fault, InputError, MissingProgram, is_whole, plain

DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " "}
BY_SUFFIX = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
SUFFIXES = (".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather")
COMPRESSED = (".gz", ".zst")
CELL_LIMIT = 16 * 1024 * 1024  # the csv module's own limit of 131,072 is shorter than one model answer


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


def read_raw(path: Path, data: bytes, *, delimiter: str | None = None, header: bool = True) -> RawTable:
    """Parse the bytes of one file.

    Parameters
    ----------
    path
        Where the bytes came from; its suffix chooses the format.
    data
        The file as it is on disk, compressed or not.
    delimiter
        ``comma tab semicolon pipe space`` or one character; default by suffix.
    header
        Whether the first line of a delimited file names the columns.

    Raises
    ------
    InputError
        With file and line, when the file is empty, broken or of no known kind.
    """
    data = _unpacked(path, data)
    if not data.strip():
        raise InputError(Fault(file=path.name, what="the file is empty", fix="Give a file with at least one row."))
    suffix = data_suffix(path)
    if suffix in BY_SUFFIX:
        table = _delimited(path, _text(path, data), _delimiter(delimiter, BY_SUFFIX[suffix]), header=header)
    elif suffix == ".json":
        table = _json(path, _text(path, data))
    elif suffix in {".jsonl", ".ndjson"}:
        table = _json_lines(path, _text(path, data))
    elif suffix in {".parquet", ".arrow", ".feather"}:
        table = _columnar(path, data, suffix)
    else:
        raise InputError(
            Fault(
                file=path.name,
                what=f"a file of kind {plain(suffix) or '(none)'} is not read",
                fix=f"Known kinds: {' '.join(SUFFIXES)}, each also with .gz or .zst.",
            )
        )
    if not table.rows:
        raise InputError(Fault(file=path.name, what="the file has no rows", fix="Nothing was decided."))
    return table


def _unpacked(path: Path, data: bytes) -> bytes:
    name = path.name.lower()
    try:
        if name.endswith(".gz"):
            return gzip.decompress(data)
        if name.endswith(".zst"):
            return b"".join(_zstandard_frames(data))
    except MissingProgram:
        raise
    except Exception as error:
        raise InputError(
            Fault(file=path.name, what=f"cannot be unpacked ({plain(error)})", fix="The file may be cut short.")
        ) from error
    return data


def _zstandard_frames(data: bytes) -> Iterator[bytes]:
    zstandard = _optional("zstandard")
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()  # a stream reader takes a cut file for a whole one
        yield frame.decompress(data)
        if not frame.eof:
            raise EOFError("Compressed file ended before the end of its frame")
        data = frame.unused_data


def _optional(module: str) -> Any:
    try:
        return __import__(module)
    except ModuleNotFoundError as error:
        raise MissingProgram(
            Fault(what=f"this file needs the package {module}", fix="Install it: pip install 'gatebook[formats]'.")
        ) from error


def _text(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            Fault(
                file=path.name,
                place=f"line {line}",
                what=f"byte 0x{data[error.start]:02x} is not UTF-8",
                fix="Save the file as UTF-8.",
            )
        ) from error


def _delimiter(given: str | None, usual: str) -> str:
    if given is None:
        return usual
    found = DELIMITERS.get(given, given.replace("\\t", "\t"))
    if len(found) != 1 or found in '"\r\n':
        raise InputError(
            Fault(
                what=f"delimiter {plain(repr(given))} is not one character that can part cells",
                fix=f"Known: {' '.join(DELIMITERS)}.",
            )
        )
    return found


def _delimited(path: Path, text: str, delimiter: str, *, header: bool) -> RawTable:
    csv.field_size_limit(min(CELL_LIMIT, sys.maxsize))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names: list[str] | None = None
    named_at = ""
    rows: list[tuple[str, ...]] = []
    places: list[str] = []
    faults: list[Fault] = []
    start = 1
    try:
        for cells in reader:
            line, start = start, reader.line_num + 1
            if not cells:
                continue
            if names is None:
                names, named_at = (cells if header else [""] * len(cells)), f"line {line}"
                if header:
                    continue
            if len(cells) != len(names):
                faults.append(
                    Fault(
                        file=path.name,
                        place=f"line {line}",
                        what=f"{len(cells)} cells where the header has {len(names)}",
                        fix="The line may be cut short or hold an unquoted delimiter.",
                    )
                )
                continue
            rows.append(tuple(cells))
            places.append(f"line {line}")
    except csv.Error as error:
        raise InputError(
            Fault(
                file=path.name,
                place=f"line {start}",
                what=f"cannot be read as delimited text ({plain(error)})",
                fix="Look for an unclosed quote.",
            )
        ) from error
    if faults:
        raise InputError(*faults)
    columns = _names(path, names or [], named_at)
    return RawTable(
        file=path.name,
        stem=stem(path),
        columns=columns,
        rows=rows,
        places=places,
        hint=_other_delimiter(names or [], delimiter),
    )


def _names(path: Path, names: list[str], place: str) -> tuple[str, ...]:
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


def _other_delimiter(names: list[str], used: str) -> str:
    """A hint when the header looks as if it were separated by something else."""
    if len(names) == 1:
        for word, char in DELIMITERS.items():
            if char not in {used, " "} and char in names[0]:
                return f"It looks {word}-separated: put `delimiter: {word}` into a params file (-f)."
    return ""


def _loads(path: Path, text: str, place: str = "") -> Any:
    try:
        # numbers keep their spelling: a seed 1.10 is not 1.1
        return json.loads(text, parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise InputError(
            Fault(
                file=path.name,
                place=place or f"line {error.lineno}",
                what=f"is not valid JSON ({plain(error.msg)}, column {error.colno})",
                fix="The file may be cut short.",
            )
        ) from error
    except RecursionError as error:
        raise InputError(
            Fault(file=path.name, place=place, what="is nested too deeply", fix="Give a list of flat records.")
        ) from error
    except ValueError as error:
        raise InputError(Fault(file=path.name, place=place, what=str(error), fix="Rename one of the two.")) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    held = dict(pairs)
    if len(held) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {plain(repr(twice), width=60)} stands twice in one object")
    return held


def _json(path: Path, text: str) -> RawTable:
    value = _loads(path, text)
    if isinstance(value, list):
        return _records(path, [(entry, f"record {i}", None, str(i - 1)) for i, entry in enumerate(value, start=1)])
    if isinstance(value, dict):
        entries = []
        for key, held in value.items():
            if isinstance(held, list):
                entries += [(entry, f"key {plain(key)}, entry {i}", key, str(i)) for i, entry in enumerate(held)]
            else:
                entries.append((held, f"key {plain(key)}", key, "0"))
        return _records(path, entries)
    raise InputError(
        Fault(file=path.name, what="holds one bare value", fix="Give a JSON list of records or an object of lists.")
    )


def _json_lines(path: Path, text: str) -> RawTable:
    return _records(path, list(_each_line(path, text)))


def _each_line(path: Path, text: str) -> Iterator[tuple[Any, str, str | None, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _loads(path, line, f"line {number}"), f"line {number}", None, str(number - 1)


def _records(path: Path, entries: list[tuple[Any, str, str | None, str]]) -> RawTable:
    columns: dict[str, int] = {}
    for entry, *_ in entries:
        names = entry if isinstance(entry, dict) else _positions(entry)
        for name in names:
            columns.setdefault(name, len(columns))
    rows = []
    for entry, place, key, _ in entries:
        cells = [""] * len(columns)
        pairs = entry.items() if isinstance(entry, dict) else zip(_positions(entry), _as_list(entry), strict=True)
        for name, cell in pairs:
            cells[columns[name]] = _cell(cell)
        _refuse_half_characters(path, place, [key or "", *columns, *cells])
        rows.append(tuple(cells))
    keyed = any(key is not None for _, _, key, _ in entries)
    return RawTable(
        file=path.name,
        stem=stem(path),
        columns=tuple(columns),
        rows=rows,
        places=[place for _, place, _, _ in entries],
        keys=[key or "" for _, _, key, _ in entries] if keyed else None,
        indices=[index for *_, index in entries],
    )


def _refuse_half_characters(path: Path, place: str, cells: list[str]) -> None:
    for cell in cells:
        if not is_whole(cell):
            raise InputError(
                Fault(
                    file=path.name,
                    place=place,
                    what=f"{plain(repr(cell), width=60)} holds half a character",
                    fix="Write the file again from text that is whole.",
                )
            )


def _as_list(entry: Any) -> list[Any]:
    return entry if isinstance(entry, list) else [entry]


def _positions(entry: Any) -> list[str]:
    return [f"#{i}" for i in range(1, len(_as_list(entry)) + 1)]


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, ensure_ascii=False, default=str)


def _columnar(path: Path, data: bytes, suffix: str) -> RawTable:
    _optional("pyarrow")
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
        cells = [[_arrow_cell(value) for value in column.to_pylist()] for column in table.columns]
    except Exception as error:
        raise InputError(
            Fault(file=path.name, what=f"cannot be read ({plain(error)})", fix="The file may be cut short.")
        ) from error
    columns = _names(path, list(table.column_names), "")
    return RawTable(
        file=path.name,
        stem=stem(path),
        columns=columns,
        rows=list(zip(*cells, strict=True)),
        places=[f"record {i}" for i in range(1, table.num_rows + 1)],
    )


def _arrow_cell(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    return _cell(value) if isinstance(value, str | bool | list | dict) or value is None else str(value)
