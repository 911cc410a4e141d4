"""Files of rows as raw tables of text, by their suffix; nothing is dropped, nothing guessed.

A JSON list of objects gives named columns, a list of lists columns ``#1 #2 …``, an object of lists one row per
entry with ``@key`` and ``@index``.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Iterator
from pathlib import Path

from analysis.errors import Fault, InputError, MissingProgram, plain
from analysis.readers.columnar import read_columnar
from analysis.readers.json_records import read_json, read_json_lines
from analysis.readers.raw import RawTable, checked_names, data_suffix, optional, stem

DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " ", "whitespace": "whitespace"}
BY_SUFFIX = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
SUFFIXES = (".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather")
PIECE, UNPACKED_LIMIT = 1 << 20, 4 << 30
CELL_LIMIT = 16 * 1024 * 1024  # the csv module's own limit of 131,072 is shorter than one model answer


def read_raw(
    path: Path, data: bytes, *, delimiter: str | None = None, header: bool = True, records: str | None = None
) -> RawTable:
    """Parse the bytes of one file.

    Parameters
    ----------
    path
        Where the bytes came from; its suffix chooses the format.
    data
        The file as it is on disk, compressed or not.
    delimiter
        ``comma tab semicolon pipe space whitespace`` or one character; default by suffix.
    header
        Whether the first line of a delimited file names the columns.
    records
        Key of a JSON object that the records lie under.

    Raises
    ------
    InputError
        With file and line, when the file is empty, broken or of no known kind.
    """
    data = _unpacked(path, data)
    if not data.strip():
        raise InputError(Fault(file=path.name, what="the file is empty", fix="Give a file with at least one row."))
    suffix = data_suffix(path)
    if records is not None and suffix != ".json":
        raise InputError(
            Fault(
                file=path.name,
                what="`records` names a key of a JSON object, and this file is none",
                fix="Leave it out.",
            )
        )
    if suffix in BY_SUFFIX:
        table = _delimited(path, _text(path, data), _delimiter(delimiter, BY_SUFFIX[suffix]), header=header)
    elif suffix == ".json":
        table = read_json(path, _text(path, data), records)
    elif suffix in {".jsonl", ".ndjson"}:
        table = read_json_lines(path, _text(path, data))
    elif suffix in {".parquet", ".arrow", ".feather"}:
        table = read_columnar(path, data, suffix)
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
            return _limited(path, _gzip_pieces(data))
        if name.endswith(".zst"):
            return _limited(path, _zstandard_pieces(data))
    except (MissingProgram, InputError):
        raise
    except Exception as error:
        raise InputError(
            Fault(file=path.name, what=f"cannot be unpacked ({plain(error)})", fix="The file may be cut short.")
        ) from error
    return data


def _limited(path: Path, pieces: Iterator[bytes]) -> bytes:
    """The pieces joined, as long as they stay below what a machine can hold: a small file may unpack to anything."""
    out = io.BytesIO()
    for piece in pieces:
        out.write(piece)
        if out.tell() > UNPACKED_LIMIT:
            what = f"unpacks to more than {UNPACKED_LIMIT:,} bytes"
            raise InputError(Fault(file=path.name, what=what, fix="Split it, or give it unpacked as Parquet."))
    return out.getvalue()


def _gzip_pieces(data: bytes) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        while piece := stream.read(PIECE):
            yield piece


def _zstandard_pieces(data: bytes) -> Iterator[bytes]:
    zstandard = optional("zstandard")
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()  # a stream reader takes a cut file for a whole one
        for start in range(0, len(data), PIECE):
            yield frame.decompress(data[start : start + PIECE])
            if frame.eof:
                data = frame.unused_data + data[start + PIECE :]
                break
        else:
            raise EOFError("Compressed file ended before the end of its frame")


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
    if found != "whitespace" and (len(found) != 1 or found in '"\r\n'):
        raise InputError(
            Fault(
                what=f"delimiter {plain(repr(given))} is not one character that can part cells",
                fix=f"Known: {' '.join(DELIMITERS)}.",
            )
        )
    return found


def _delimited(path: Path, text: str, delimiter: str, *, header: bool) -> RawTable:
    csv.field_size_limit(min(CELL_LIMIT, sys.maxsize))
    if delimiter == "whitespace":  # any run of blanks and tabs parts two cells; such files quote nothing
        text, delimiter = "\n".join("\t".join(line.split()) for line in text.splitlines()), "\t"
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
    columns = checked_names(path, names or [], named_at)
    return RawTable(
        file=path.name,
        stem=stem(path),
        columns=columns,
        rows=rows,
        places=places,
        hint=_other_delimiter(names or [], delimiter),
    )


def _other_delimiter(names: list[str], used: str) -> str:
    """A hint when the header looks as if it were separated by something else."""
    if len(names) == 1:
        for word, char in DELIMITERS.items():
            if char not in {used, " ", "whitespace"} and char in names[0]:
                return f"It looks {word}-separated: put `delimiter: {word}` into a params file (-f)."
    return ""
