"""JSON and JSONL files as raw tables: every number keeps its spelling, nothing is dropped."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.errors import Fault, InputError, is_whole, plain, raise_all
from analysis.readers.files import DataFile
from analysis.readers.lines import text_lines
from analysis.readers.raw import MOST_COLUMNS, STRETCH, RawTable, cell_text, empty, joined, stem

MOST_KEYS = 20
STRETCH_BYTES = 8 << 20
HANDFUL = 1000  # records that become columns at once: more of them would leave the processor's cache


def read_json(path: Path, text: str, records: str | None = None) -> RawTable:
    """Read a JSON list of records or an object of lists, the whole file or what lies under the key ``records``."""
    value = loads(path, text)
    if records is not None:
        value = _under(path, value, records)
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


def _under(path: Path, value: Any, key: str) -> Any:
    known = list(value) if isinstance(value, dict) else []
    if key not in known:
        has = ", ".join(plain(name, width=60) for name in known[:MOST_KEYS]) or "none"
        what = f"has no key {plain(repr(key), width=60)} at its top"
        raise InputError(Fault(file=path.name, what=what, fix=f"Its keys: {has}; see `records`."))
    return value[key]


def json_lines_tables(data: DataFile) -> Iterator[RawTable]:
    """Stretches of a file with one JSON record a line."""
    first, held = 0, 0
    entries: list[tuple[Any, str, str | None, str]] = []
    handfuls: list[RawTable] = []
    for number, line in text_lines(data):
        if not line.strip():
            continue
        place = f"line {number}"
        entries.append((loads(data.path, line, place), place, None, str(number - 1)))
        held += len(line)
        if len(entries) == HANDFUL:
            handfuls.append(_records(data.path, entries))
            entries = []
            if len(handfuls) * HANDFUL >= STRETCH or held > STRETCH_BYTES:
                yield replace(joined(handfuls), first=first)
                first, held, handfuls = first + len(handfuls) * HANDFUL, 0, []
    if entries:
        handfuls.append(_records(data.path, entries))
    if not handfuls and not first:
        raise empty(data.path)
    if handfuls:
        yield replace(joined(handfuls), first=first)


def loads(path: Path, text: str, place: str = "") -> Any:
    """A JSON value whose numbers are text, spelled as in the file: a seed 1.10 is not 1.1.

    Raises
    ------
    InputError
        When the text is broken, too deep, or holds a key twice.
    """
    try:
        value, end = _SCAN(text, 0)  # the decoder itself looks for blanks first, at half the speed
        if text[end:].isspace() or end == len(text):
            return value
    except (StopIteration, json.JSONDecodeError, RecursionError, ValueError):
        pass  # said by the decoder below, with the place
    try:
        return DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise InputError(
            Fault(
                file=path.name,
                place=place or f"line {error.lineno}",
                what=f"is not valid JSON ({plain(error.msg)}, column {error.colno})",
                fix="If it holds one record a line, call it .jsonl."
                if error.msg == "Extra data"
                else "The file may be cut short.",
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
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {plain(repr(twice), width=60)} stands twice in one object")
    return held


def _records(path: Path, entries: list[tuple[Any, str, str | None, str]]) -> RawTable:
    first = entries[0][0] if entries else None
    if isinstance(first, dict) and all(isinstance(e, dict) and e.keys() == first.keys() for e, *_ in entries):
        names = list(first)
        columns = {name: [cell_text(entry[name]) for entry, *_ in entries] for name in names}
    else:
        columns = _ragged(path, entries)
    for cells in (list(columns), *columns.values()):
        if not is_whole("".join(cells)):
            _refuse_half_characters(path, entries)
    keyed = any(key is not None for _, _, key, _ in entries)
    if keyed and not is_whole("".join(key or "" for _, _, key, _ in entries)):
        _refuse_half_characters(path, entries)
    return RawTable(
        file=path.name,
        stem=stem(path),
        columns=tuple(columns),
        cells=list(columns.values()),
        places=[place for _, place, _, _ in entries],
        keys=[key or "" for _, _, key, _ in entries] if keyed else None,
        indices=[index for *_, index in entries],
    )


def _ragged(path: Path, entries: list[tuple[Any, str, str | None, str]]) -> dict[str, list[str]]:
    """Columns of records that do not all have the same keys, or are lists."""
    columns: dict[str, list[str]] = {}
    faults = []
    widths = {_width(entry) for entry, *_ in entries if not isinstance(entry, dict)}
    for row, (entry, place, *_) in enumerate(entries):
        if not isinstance(entry, dict) and _width(entry) != max(widths):
            what = f"{_width(entry)} values where other records have {max(widths)}"
            faults.append(Fault(file=path.name, place=place, what=what, fix="The record may be cut short."))
        pairs = entry.items() if isinstance(entry, dict) else zip(_positions(entry), _as_list(entry), strict=True)
        for name, cell in pairs:
            cells = columns.setdefault(name, [])
            if len(columns) > MOST_COLUMNS * 5:
                what = f"more than {len(columns) - 1:,} different keys up to here"
                raise InputError(
                    Fault(file=path.name, place=place, what=what, fix="Give records that share their keys.")
                )
            cells.extend([""] * (row - len(cells)))
            cells.append(cell_text(cell))
    raise_all(InputError, faults)
    for cells in columns.values():
        cells.extend([""] * (len(entries) - len(cells)))
    return columns


def _refuse_half_characters(path: Path, entries: list[tuple[Any, str, str | None, str]]) -> None:
    """Name the first record with half a surrogate pair in it."""
    for entry, place, key, _ in entries:
        pairs = entry.items() if isinstance(entry, dict) else enumerate(_as_list(entry))
        for text in [key or "", *(part for name, cell in pairs for part in (str(name), cell_text(cell)))]:
            if not is_whole(text):
                what = f"{plain(repr(text), width=60)} holds half a character"
                fix = "Write the file again from text that is whole."
                raise InputError(Fault(file=path.name, place=place, what=what, fix=fix))


DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_object)
_SCAN: Callable[[str, int], tuple[Any, int]] = DECODER.scan_once  # type: ignore[attr-defined]


def _width(entry: Any) -> int:
    return len(_as_list(entry))


def _as_list(entry: Any) -> list[Any]:
    return entry if isinstance(entry, list) else [entry]


def _positions(entry: Any) -> list[str]:
    return [f"#{i}" for i in range(1, len(_as_list(entry)) + 1)]
