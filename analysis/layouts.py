"""How the columns of a foreign table map to a schema: filter, melt, columns, values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Literal, TypedDict

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field

from analysis.errors import Fault, InputError, close_match, plain, raise_all
from analysis.readers.raw import RawTable
from analysis.schema import Demanded, Schema, is_missing

FormatName = Literal[
    "lm-eval", "inspect", "promptfoo", "alpaca-eval", "fastchat", "arena-hard", "mlflow", "wandb", "tabular"
]
UNITS = {"milliseconds": Decimal("0.001"), "seconds": Decimal(1), "percent": Decimal("0.01"), "minus": Decimal(-1)}
"""What a number in that unit is multiplied by."""

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
SECONDS = re.compile(r"(^|[_\W])(s|sec|secs|seconds)$", re.IGNORECASE)


SHAPES = {
    "format": "format: NAME of what wrote the file, or tabular",
    "choose": "choose: {metric: NAME} or {metric: [NAME, …]}",
    "accept_mismatch": "accept_mismatch: true or false",
    "columns": "columns: {TARGET: SOURCE}",
    "filter": "filter: [{column: NAME, equals: TEXT or [TEXT, …]}]",
    "melt": "melt: {columns: [NAME, …], name: NAME, value: NAME}",
    "values": "values: {OLD: NEW} or {COLUMN: {OLD: NEW}}",
    "delimiter": "delimiter: comma, tab … or one character",
    "header": "header: true or false",
    "records": "records: KEY",
}
"""How each key of a layout is written."""

UNION_TAGS = frozenset({"str", "list[str]", "dict[str,str]"})
"""What pydantic adds to the place of a fault where several types may stand."""


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


class Parsing(TypedDict):
    """Arguments of `raw_tables`."""

    delimiter: str | None
    header: bool
    records: str | None


class Layout(_Frozen):
    """How a file that is not canonical maps to a schema. Steps in order: filter, melt, columns, values.

    A source is a column name or position (``#3``, from 1), ``@row @file @key @index``, ``const:TEXT``,
    ``coalesce:a|b`` (the first that holds a value), ``equals:a|b`` (1 where both hold the same text, 0 where not, nothing
    where one holds no value), or a column in another unit: ``milliseconds:a``, ``seconds:a``, ``percent:a``, ``minus:a``.
    ``records`` is the key of a JSON object that the records lie under.

    ``format`` says what wrote the file, where it is not to be recognised; ``choose`` picks where a log holds several metrics,
    filters or tasks; ``accept_mismatch`` reads a log whose stated totals differ from its rows. The steps then apply to the
    canonical table.
    """

    format: FormatName | None = None
    choose: dict[str, str | list[str]] = Field(default_factory=dict)
    accept_mismatch: bool = False

    columns: dict[str, str] = Field(default_factory=dict)
    filter: list[Filter] = Field(default_factory=list)
    melt: Melt | None = None
    values: dict[str, str | dict[str, str]] = Field(default_factory=dict)
    delimiter: str | None = None
    header: bool = True
    records: str | None = None

    @property
    def parsing(self) -> Parsing:
        """How a file is parsed, for `raw_tables`."""
        return Parsing(delimiter=self.delimiter, header=self.header, records=self.records)


def no_choices(layout: Layout) -> None:
    """Refuse a choice for a table, where nothing would look at it.

    Raises
    ------
    InputError
        With the way out.
    """
    if layout.choose:
        names = ", ".join(plain(name, width=60) for name in layout.choose)
        what = f"a table has nothing to choose: {names}"
        raise InputError(Fault(what=what, fix="Its rows are picked by filter: [{column: …, equals: …}] in -f."))


def mapped(raw: RawTable, layout: Layout, schema: Schema, demanded: Demanded) -> tuple[pd.DataFrame, list[str]]:
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
    faults += [fault for target, source in layout.columns.items() for fault in _unit_asked(target, source, schema)]
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
        self.named = dict(zip(raw.columns, raw.cells, strict=True))
        self.special = {
            "@row": [str(i) for i in range(raw.first + 1, raw.first + 1 + len(raw.places))],
            "@file": [raw.stem] * len(raw.places),
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
        if source.startswith("coalesce:") and "coalesce:" not in source[1:]:
            candidates = [self.resolve(part) for part in _parts(source)]
            return [next((c for c in cells if not is_missing(c)), "") for cells in zip(*candidates, strict=True)]
        if source.startswith("equals:") and len(_parts(source)) > 1 and "equals:" not in source[1:]:
            return [_same(cells) for cells in zip(*(self.resolve(part) for part in _parts(source)), strict=True)]
        unit, _, column = source.partition(":")
        if unit in UNITS and column and column.partition(":")[0] not in UNITS:
            return [_scaled(cell, UNITS[unit]) for cell in self.resolve(column)]
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
    if kind in {"coalesce", "equals"}:
        return rest.split("|")
    return [rest] if kind in UNITS and rest else [source]


def _scaled(cell: str, factor: Decimal) -> str:
    """A number times a power of ten or minus one, exactly; anything else as it stands."""
    if factor == 1 or not NUMBER.fullmatch(cell.strip()):
        return cell
    try:
        return str(Decimal(cell.strip()) * factor)
    except ArithmeticError:  # too large for any number
        return cell


def _unit_asked(target: str, source: str, schema: Schema) -> list[Fault]:
    """A column in seconds from one whose name does not say so: asked, not guessed."""
    column = schema.by_name.get(target)
    if column is None or column.unit != "s" or SECONDS.search(source) or ":" in source:
        return []
    what = f"{target} is in seconds, and {plain(repr(source), width=60)} does not say whether it is"
    fix = f"Say so: {target}=seconds:{plain(source)} or {target}=milliseconds:{plain(source)}."
    return [Fault(what=what, fix=fix)]


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
