"""JSON and JSONL files as raw tables: every number keeps its spelling, nothing is dropped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from analysis.errors import Fault, InputError, is_whole, plain
from analysis.readers.raw import RawTable, cell_text, stem

MOST_KEYS = 20


def read_json(path: Path, text: str, records: str | None = None) -> RawTable:
    """Read a JSON list of records or an object of lists, the whole file or what lies under the key ``records``."""
    value = _loads(path, text)
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


def read_json_lines(path: Path, text: str) -> RawTable:
    """Read one JSON record a line."""
    return _records(path, list(_each_line(path, text)))


def _each_line(path: Path, text: str) -> Iterator[tuple[Any, str, str | None, str]]:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield _loads(path, line, f"line {number}"), f"line {number}", None, str(number - 1)


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


def _records(path: Path, entries: list[tuple[Any, str, str | None, str]]) -> RawTable:
    columns: dict[str, int] = {}
    for entry, *_ in entries:
        names = entry if isinstance(entry, dict) else _positions(entry)
        for name in names:
            columns.setdefault(name, len(columns))
    rows, faults = [], []
    widths = {_width(entry) for entry, *_ in entries if not isinstance(entry, dict)}
    for entry, place, key, _ in entries:
        cells = [""] * len(columns)
        if not isinstance(entry, dict) and _width(entry) != max(widths):
            what = f"{_width(entry)} values where other records have {max(widths)}"
            faults.append(Fault(file=path.name, place=place, what=what, fix="The record may be cut short."))
        pairs = entry.items() if isinstance(entry, dict) else zip(_positions(entry), _as_list(entry), strict=True)
        for name, cell in pairs:
            cells[columns[name]] = cell_text(cell)
        _refuse_half_characters(path, place, [key or "", *columns, *cells])
        rows.append(tuple(cells))
    if faults:
        raise InputError(*faults)
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


def _width(entry: Any) -> int:
    return len(_as_list(entry))


def _as_list(entry: Any) -> list[Any]:
    return entry if isinstance(entry, list) else [entry]


def _positions(entry: Any) -> list[str]:
    return [f"#{i}" for i in range(1, len(_as_list(entry)) + 1)]
