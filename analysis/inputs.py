"""From a path to a checked table: find the files, read them, map their columns, check them against a schema."""

from __future__ import annotations

import difflib
import glob
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from analysis.errors import Fault, InputError, is_whole, plain, raise_all
from analysis.readers.raw import RawTable, data_suffix
from analysis.readers.tabular import SUFFIXES, read_raw
from analysis.schema import Demanded, Schema, is_missing

MOST_NAMES, MOST_COMPARED = 30, 5000  # of a list of known names, and of those looked through for a near one
LONGEST_NUMBER = 18  # digits of an id that is sorted as a number


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Filter(_Frozen):
    """Keep the rows whose ``column`` holds exactly ``equals`` (one text, or one of several)."""

    column: str
    equals: str | list[str]


class Melt(_Frozen):
    """Turn several columns into rows: ``name`` says which column a row came from, ``value`` what stood there."""

    columns: list[str] | dict[str, str]
    name: str
    value: str

    def labels(self) -> dict[str, str]:
        """Source of each melted column -> the text that stands in the ``name`` column."""
        return dict(self.columns) if isinstance(self.columns, dict) else {source: source for source in self.columns}


class Layout(_Frozen):
    """How a file that is not canonical maps to a schema. Steps in order: filter, melt, columns, values.

    A source is a column name or position (``#3``, from 1), ``@row @file @key @index``, ``const:TEXT``,
    ``coalesce:a|b`` (the first that holds a value) or ``equals:a|b`` (1 where both hold the same text, 0 where not, nothing
    where one holds no value). ``records`` is the key of a JSON object that the records lie under.
    """

    columns: dict[str, str] = Field(default_factory=dict)
    filter: list[Filter] = Field(default_factory=list)
    melt: Melt | None = None
    values: dict[str, str | dict[str, str]] = Field(default_factory=dict)
    delimiter: str | None = None
    header: bool = True
    records: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One file behind an input: its base name, the digest of its bytes as they lie on disk, the rows it gave."""

    file: str | None
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A checked table and where it came from.

    Attributes
    ----------
    frame
        Typed columns of the schema, text columns for the rest; index 0…n−1.
    origin
        (file, "line 7") of every row, for messages.
    reconciliation
        One line that accounts for every row of the files.
    sources
        Mapped column -> what it was called in the file.
    """

    name: str
    frame: pd.DataFrame
    files: tuple[InputFile, ...]
    origin: Sequence[tuple[str, str]]
    reconciliation: str
    sources: Mapping[str, str] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """Digest over the digests of the files, in order."""
        return hashlib.sha256("".join(file.sha256 for file in self.files).encode()).hexdigest()

    @property
    def rows(self) -> int:
        """Rows of the checked table."""
        return len(self.frame)

    def place(self, row: int) -> tuple[str, str]:
        """File and line of a row of the frame."""
        return self.origin[row]


def read(
    paths: Iterable[str | Path], schema: Schema, *, layout: Layout | None = None, demanded: Demanded | None = None
) -> Input:
    """Read one input from files, folders or glob patterns.

    Parameters
    ----------
    paths
        Each a file, a folder (its data files in name order) or a glob pattern.
    schema
        What the table must hold.
    layout
        How the files' columns map to the schema's; None for files that are canonical.
    demanded
        Columns that the parameters ask for beyond the schema.

    Raises
    ------
    InputError
        Every fault of all files, each with file, line, column, value and the way out.
    """
    layout, demanded = layout or Layout(), demanded or Demanded()
    frames: list[pd.DataFrame] = []
    files: list[InputFile] = []
    origin: list[tuple[str, str]] = []
    faults: list[Fault] = []
    read_rows = 0
    for path in expand(paths):
        try:
            data = path.read_bytes()
            raw = read_raw(path, data, delimiter=layout.delimiter, header=layout.header, records=layout.records)
            frame, places = _mapped(raw, layout, schema, demanded)
        except InputError as error:
            faults += error.faults
            continue
        except OSError as error:
            faults.append(
                Fault(file=path.name, what=f"cannot be read ({plain(error.strerror)})", fix="Check the path.")
            )
            continue
        read_rows += len(raw.rows)
        frames.append(frame)
        origin += [(raw.file, place) for place in places]
        files.append(InputFile(file=path.name, sha256=hashlib.sha256(data).hexdigest(), rows=len(frame)))
    raise_all(InputError, _merged(faults))
    return replace(_checked(frames, files, origin, schema, demanded, read_rows), sources=layout.columns)


def from_frame(frame: pd.DataFrame, schema: Schema, *, demanded: Demanded | None = None) -> Input:
    """An input from a data frame of the caller's; its digest is that of the frame written as CSV.

    Raises
    ------
    InputError
        As for files, with the row's position as its place.
    """
    names = [str(name) for name in frame.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    raise_all(InputError, (Fault(file=schema.name, what=f"the column {plain(name)} stands twice") for name in twice))
    cells = {name: [_as_text(cell) for cell in frame.iloc[:, i].to_numpy()] for i, name in enumerate(names)}
    text = pd.DataFrame(cells, dtype=object)
    faults = schema.missing_columns(names, (), demanded or Demanded())
    faults += [
        Fault(file="data frame", place=f"row {row}, column {plain(name)}", what="holds half a character")
        for name in names
        for row, cell in enumerate(cells[name])
        if not is_whole(name + cell)
    ]
    if not len(text):
        faults.append(Fault(file=schema.name, what="the frame has no rows", fix="Nothing was decided."))
    raise_all(InputError, faults)
    digest = hashlib.sha256(text.to_csv(index=False, lineterminator="\n").encode()).hexdigest()
    origin = [("data frame", f"row {row}") for row in range(len(text))]
    files = [InputFile(file=None, sha256=digest, rows=len(text))]
    return _checked([text], files, origin, schema, demanded or Demanded(), len(text))


def expand(paths: Iterable[str | Path]) -> list[Path]:
    """Files behind paths, folders and patterns, each once, in a stable order.

    Raises
    ------
    InputError
        When there is no path, a path does not exist or a folder holds no data file.
    """
    found: dict[Path, Path] = {}
    faults: list[Fault] = []
    for given in paths:
        what = "no such file"
        try:
            path = Path(given)
            if path.is_dir():
                what = "the folder holds no data file"
                matches = sorted(file for file in path.iterdir() if file.is_file() and data_suffix(file) in SUFFIXES)
            elif path.exists() and not path.is_file():
                what, matches = "not a regular file", []
            elif path.exists():
                matches = [path]
            else:
                matches = sorted(Path(name) for name in glob.glob(str(given)))  # noqa: PTH207  (absolute patterns too)
            matches = [match for match in matches if match.is_file()]
        except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
            what, matches = f"cannot be read ({plain(getattr(error, 'strerror', error))})", []
        if not matches:
            faults.append(Fault(file=str(given), what=what, fix=f"Known kinds: {' '.join(SUFFIXES)}."))
        for match in matches:
            found.setdefault(match.resolve(), match)
    if not found and not faults:
        faults.append(Fault(what="no file was given", fix="Give at least one."))
    raise_all(InputError, faults)
    return list(found.values())


def close_match(name: str, known: Iterable[str]) -> str:
    """``Did you mean 'threshold'?`` with the known names after it.

    >>> close_match("treshold", ["threshold", "seed"])
    "Did you mean 'threshold'? Known: seed, threshold"
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names[:MOST_COMPARED], n=1)
    guess = f"Did you mean {near[0]!r}? " if near else ""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"{guess}Known: {', '.join(plain(other, width=60) for other in names[:MOST_NAMES]) or 'none'}{more}"


def natural_key(text: str) -> tuple[bool, int, str]:
    """Sorting key of ids: whole numbers by size, then words by letter.

    >>> sorted(["10", "9", "b", "a10"], key=natural_key)
    ['9', '10', 'a10', 'b']
    """
    whole = text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER
    return (not whole, int(text) if whole else 0, text)


def _as_text(cell: Any) -> str:
    return "" if pd.api.types.is_scalar(cell) and pd.isna(cell) else str(cell)


def _checked(
    frames: list[pd.DataFrame],
    files: list[InputFile],
    origin: list[tuple[str, str]],
    schema: Schema,
    demanded: Demanded,
    read_rows: int,
) -> Input:
    whole = pd.concat(frames, ignore_index=True).fillna("") if len(frames) > 1 else frames[0]
    typed, faults = schema.check(whole, lambda row: origin[row], demanded)
    raise_all(InputError, faults)
    if not len(typed):
        raise InputError(Fault(file=schema.name, what="no row passed the filter", fix="Check `filter:` in -f."))
    line = (
        f"{schema.name}: {read_rows:,} row{'s' * (read_rows != 1)} read from {len(files)} file{'s' * (len(files) != 1)}"
    )
    if len(typed) != read_rows:
        line += f", {len(typed):,} after filter and melt"
    if "source" in typed:
        line += f"; source: {'; '.join(plain(text) for text in typed['source'].unique()[:3])}"
    return Input(name=schema.name, frame=typed, files=tuple(files), origin=origin, reconciliation=line)


def _merged(faults: Sequence[Fault]) -> list[Fault]:
    """The same fault of many files, said once."""
    files: dict[Fault, list[str]] = {}
    for fault in faults:
        files.setdefault(replace(fault, file=""), []).append(fault.file)
    return [
        replace(fault, file=names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else ""))
        for fault, names in files.items()
    ]


def _mapped(raw: RawTable, layout: Layout, schema: Schema, demanded: Demanded) -> tuple[pd.DataFrame, list[str]]:
    """Filter, melt, columns and values of one file: a frame of text with the place of every row."""
    table = _filtered(_Columns(raw), layout)
    if layout.melt:
        table = _melted(table, layout.melt)
    mapped = {target: table.resolve(source) for target, source in layout.columns.items()}
    raise_all(InputError, table.faults)
    consumed = {table.name(part) for source in layout.columns.values() for part in _parts(source)}
    if layout.melt:
        consumed |= {table.name(part) for part in layout.melt.labels()} - {layout.melt.name, layout.melt.value}
    for name in table.named:
        if name not in mapped and name not in consumed:
            mapped[name] = table.named[name]
    specials = [name for name, cells in table.special.items() if cells is not None]
    faults = schema.missing_columns(list(mapped), specials, demanded)
    if faults and raw.hint:
        faults = [Fault(what=faults[0].what, fix=raw.hint)]
    for target, mapping in _value_maps(layout, schema).items():
        if target in mapped:
            mapped[target] = [mapping.get(cell, cell) for cell in mapped[target]]
        elif not faults:
            faults.append(Fault(what=f"values: no column {plain(repr(target))}", fix=close_match(target, mapped) + "."))
    raise_all(InputError, (replace(fault, file=raw.file) for fault in faults))
    return pd.DataFrame(mapped, dtype=object), table.places


class _Columns:
    """The columns of a raw table by name and by the special sources; collects what could not be resolved."""

    def __init__(self, raw: RawTable) -> None:
        self.file = raw.file
        self.places = raw.places
        self.order = raw.columns
        self.named = {name: [row[i] for row in raw.rows] for i, name in enumerate(raw.columns)}
        self.special = {
            "@row": [str(i) for i in range(1, len(raw.rows) + 1)],
            "@file": [raw.stem] * len(raw.rows),
            "@key": raw.keys,
            "@index": raw.indices,
        }
        self.faults: list[Fault] = []

    def take(self, rows: Sequence[int]) -> None:
        """Keep these rows, in this order."""
        self.places = [self.places[i] for i in rows]
        self.named = {name: [cells[i] for i in rows] for name, cells in self.named.items()}
        self.special = {name: cells and [cells[i] for i in rows] for name, cells in self.special.items()}

    def name(self, source: str) -> str:
        """The name of a column that is given by name or by position; any other source as it stands."""
        position = source.removeprefix("#")
        known = (
            source.startswith("#")
            and position.isdecimal()
            and len(position) < 10
            and 1 <= int(position) <= len(self.order)
        )
        return self.order[int(position) - 1] if known and source not in self.named else source

    def resolve(self, source: str) -> list[str]:
        """The cells that a source stands for; an unknown one is noted as a fault."""
        if self.name(source) in self.named:
            return self.named[self.name(source)]
        if source.startswith("const:"):
            return [source.removeprefix("const:")] * len(self.places)
        if source.startswith("coalesce:"):
            candidates = [self.resolve(part) for part in _parts(source)]
            return [next((c for c in cells if not is_missing(c)), "") for cells in zip(*candidates, strict=True)]
        if source.startswith("equals:") and len(_parts(source)) > 1:
            return [_same(cells) for cells in zip(*(self.resolve(part) for part in _parts(source)), strict=True)]
        special = self.special.get(source)
        if special is not None:
            return special
        self.faults.append(
            Fault(
                file=self.file,
                what=f"no column {plain(repr(source), width=60)}",
                fix=close_match(source, [*self.named, *(name for name, cells in self.special.items() if cells)]),
            )
        )
        return [""] * len(self.places)


def _parts(source: str) -> list[str]:
    kind, _, rest = source.partition(":")
    return rest.split("|") if kind in {"coalesce", "equals"} else [source]


def _same(cells: tuple[str, ...]) -> str:
    return "" if any(map(is_missing, cells)) else str(int(len(set(cells)) == 1))


def _filtered(table: _Columns, layout: Layout) -> _Columns:
    for rule in layout.filter:
        wanted = {rule.equals} if isinstance(rule.equals, str) else set(rule.equals)
        cells = table.resolve(rule.column)
        table.take([i for i, cell in enumerate(cells) if cell in wanted])
    return table


def _melted(table: _Columns, melt: Melt) -> _Columns:
    labels = melt.labels()
    melted = {source: table.resolve(source) for source in labels}
    n = len(table.places)
    table.take([row for row in range(n) for _ in labels])
    table.named[melt.name] = [label for _ in range(n) for label in labels.values()]
    table.named[melt.value] = [melted[source][row] for row in range(n) for source in labels]
    return table


def _value_maps(layout: Layout, schema: Schema) -> Mapping[str, Mapping[str, str]]:
    """``values`` by target column; a flat map belongs to the schema's measure."""
    nested = {target: mapping for target, mapping in layout.values.items() if isinstance(mapping, dict)}
    flat = {old: new for old, new in layout.values.items() if isinstance(new, str)}
    return {**nested, schema.measure: flat} if flat else nested
