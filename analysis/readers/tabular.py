"""Files of rows as raw tables of text, by their suffix; nothing is dropped, nothing guessed.

A JSON list of objects gives named columns, a list of lists columns ``#1 #2 …``, an object of lists one row per
entry with ``@key`` and ``@index``.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from analysis.errors import Fault, InputError, plain
from analysis.readers.columnar import columnar_tables
from analysis.readers.files import DataFile
from analysis.readers.json_records import json_lines_tables, read_json
from analysis.readers.lines import text_lines, whole_text
from analysis.readers.raw import STRETCH, RawTable, checked_names, data_suffix, empty, joined, stem

DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": " ", "whitespace": "whitespace"}
BY_SUFFIX = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
SUFFIXES = (".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather")
CELL_LIMIT = 16 * 1024 * 1024  # the csv module's own limit of 131,072 is shorter than one model answer


def read_raw(
    path: Path, data: bytes, *, delimiter: str | None = None, header: bool = True, records: str | None = None
) -> RawTable:
    """Parse the bytes of one file; the parameters are those of `raw_tables`."""
    with DataFile(path, data) as held:
        return joined(list(raw_tables(held, delimiter=delimiter, header=header, records=records)))


def raw_tables(
    data: DataFile, *, delimiter: str | None = None, header: bool = True, records: str | None = None
) -> Iterator[RawTable]:
    """Stretches of one file, in bounded memory unless it is one JSON value.

    Parameters
    ----------
    data
        The file, opened; its suffix chooses the format.
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
    path, suffix = data.path, data_suffix(data.path)
    if records is not None and suffix != ".json":
        what = "`records` names a key of a JSON object, and this file is none"
        raise InputError(Fault(file=path.name, what=what, fix="Leave it out."))
    if suffix in BY_SUFFIX:
        tables = _delimited(data, _delimiter(delimiter, BY_SUFFIX[suffix]), header=header)
    elif suffix == ".json":
        tables = iter([read_json(path, whole_text(data), records)])
    elif suffix in {".jsonl", ".ndjson"}:
        tables = json_lines_tables(data)
    elif suffix in {".parquet", ".arrow", ".feather"}:
        tables = columnar_tables(data, suffix)
    else:
        raise InputError(
            Fault(
                file=path.name,
                what=f"a file of kind {plain(suffix) or '(none)'} is not read",
                fix=f"Known kinds: {' '.join(SUFFIXES)}, each also with .gz or .zst.",
            )
        )
    some = False
    for table in tables:
        if table.places:
            some = True
            yield table
    if not some:
        raise InputError(Fault(file=path.name, what="the file has no rows", fix="Nothing was decided."))


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


def _delimited(data: DataFile, delimiter: str, *, header: bool) -> Iterator[RawTable]:
    csv.field_size_limit(min(CELL_LIMIT, sys.maxsize))
    lines = _lines(data)
    if delimiter == "whitespace":  # any run of blanks and tabs parts two cells; such files quote nothing
        lines, delimiter = ("\t".join(line.split()) + "\n" for line in lines), "\t"
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    stretch = _Stretch()
    faults: list[Fault] = []
    names: tuple[str, ...] | None = None
    hint, start, first = "", 1, 0
    try:
        for cells in reader:
            line, start = start, reader.line_num + 1
            if not cells:
                continue
            if names is None:
                names = checked_names(data.path, cells if header else [""] * len(cells), f"line {line}")
                if header:
                    hint = _other_delimiter(cells, delimiter)
                    continue
            if len(cells) != len(names):
                what = f"{len(cells)} cells where the header has {len(names)}"
                fix = "The line may be cut short or hold an unquoted delimiter."
                faults.append(Fault(file=data.path.name, place=f"line {line}", what=what, fix=fix))
                continue
            stretch.rows.append(cells)
            stretch.places.append(f"line {line}")
            if len(stretch.rows) == STRETCH and not faults:
                yield stretch.table(data.path, names, hint, first)
                first, stretch = first + STRETCH, _Stretch()
    except csv.Error as error:
        what = f"cannot be read as delimited text ({plain(error)})"
        fault = Fault(file=data.path.name, place=f"line {start}", what=what, fix="Look for an unclosed quote.")
        raise InputError(fault) from error
    if faults:
        raise InputError(*faults)
    if names is None:
        raise empty(data.path)
    yield stretch.table(data.path, names, hint, first)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Rows on their way to a table."""

    rows: list[list[str]] = field(default_factory=list)
    places: list[str] = field(default_factory=list)

    def table(self, path: Path, names: tuple[str, ...], hint: str, first: int) -> RawTable:
        cells = [list(column) for column in zip(*self.rows, strict=True)] if self.rows else [[] for _ in names]
        return RawTable(
            file=path.name, stem=stem(path), columns=names, cells=cells, places=self.places, hint=hint, first=first
        )


def _lines(data: DataFile) -> Iterator[str]:
    """The lines of a file; blank ones before the header are empty."""
    begun = False
    for _, text in text_lines(data):
        for line in _parted(text):
            begun = begun or bool(line.strip())
            yield line if begun else "\n"


def _parted(line: str) -> Iterator[str]:
    """A line that also ends at a lone carriage return, as files of old machines do."""
    at = line.find("\r")
    return iter([line]) if at < 0 or line[at:] in {"\r", "\r\n"} else io.StringIO(line, newline="")


def _other_delimiter(names: list[str], used: str) -> str:
    """A hint when the header looks as if it were separated by something else."""
    if len(names) == 1:
        for word, char in DELIMITERS.items():
            if char not in {used, " ", "whitespace"} and char in names[0]:
                return f"It looks {word}-separated: put `delimiter: {word}` into a params file (-f)."
    return ""
