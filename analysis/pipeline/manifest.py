"""``reports.yml``: named reports and grids of them, as jobs with labels that come from values, never from order or time."""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from analysis import parameters, yaml
from analysis.catalogue import STUDIES
from analysis.catalogue import study as find
from analysis.errors import Fault, UsageError, close_match, plain, raise_all
from analysis.parameters import Given
from analysis.pipeline.folders import folder_name
from analysis.pipeline.formats import FORMATS, Format
from analysis.present.format import safe_words
from analysis.readers.remote import is_address
from analysis.request import Request, resolve
from analysis.results import dumps
from analysis.schemas import DRAFT, parameters_schema

PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
MOST_JOBS = 100_000
TOP = ("reports",)


class ManifestError(UsageError):
    """A manifest that does not fit."""


class Entry(BaseModel):
    """One report of a manifest, or a grid of them. ``{axis}`` in a path or text stands for the value of a grid."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    study: str = Field(description="slug of the study")
    data: str | list[str] | dict[str, str | list[str]] = Field(
        description="files, folders or patterns, of the first input or by input name"
    )
    params: dict[str, Any] = Field(default_factory=dict, description="parameters of the study")
    files: list[str] = Field(default_factory=list, description="files of parameters and column mappings")
    choose: dict[str, str] = Field(default_factory=dict, description="what is meant of a log, such as {metric: acc}")
    rule: str | None = Field(None, description="decision rule")
    to: list[str] = Field(default_factory=lambda: ["html"], min_length=1, description="html, pdf or both")
    grid: dict[str, list[str]] = Field(default_factory=dict, description="axes: every combination is a report")
    rows: str | None = Field(None, description="CSV file: every row is a report, every column an axis")
    gate: bool = Field(True, description="whether its verdict counts for build --gate")
    notebook: str | None = Field(None, description="a notebook of your own in place of the study's")
    exclude: list[dict[str, str]] = Field(default_factory=list, description="combinations that are left out")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One report to be made: what is asked for, and as what it is rendered.

    Attributes
    ----------
    name
        The report's name in the manifest.
    place
        Where it stands there, for messages: "line 7" or "rows.csv line 3".
    notebook
        What is executed.
    gated
        Whether its verdict counts for the batch.
    """

    name: str
    place: str
    request: Request
    formats: tuple[Format, ...]
    notebook: Path
    gated: bool

    @property
    def key(self) -> str:
        """``study/label``: the name of its folder below the reports."""
        return f"{self.request.study.slug}/{folder_name(self.request.label or '')}"


def load(path: Path, names: Sequence[str] = ()) -> list[Job]:
    """Every job of a manifest, resolved; nothing is read but rules and mappings.

    Parameters
    ----------
    path
        The manifest; paths in it are relative to its folder.
    names
        Reports to take; all when there are none.

    Raises
    ------
    ManifestError
        Every fault of the whole file at once: unknown keys, studies and parameters, grids without a combination, labels
        that collide.
    """
    document = yaml.load(path, ManifestError)
    faults = [
        Fault(
            file=document.file, place=document.place(key), what=f"no key {plain(key)}", fix=f"{close_match(key, TOP)}."
        )
        for key in document.values
        if key not in TOP
    ]
    held = document.values.get("reports")
    if not isinstance(held, dict) or not held:
        raise ManifestError(
            *faults, Fault(file=document.file, what="names no report", fix="reports: {NAME: {study: …}}.")
        )
    unknown = [name for name in names if name not in held]
    faults += [Fault(what=f"no report is called {plain(name)}", fix=f"{close_match(name, held)}.") for name in unknown]
    jobs: list[Job] = []
    for name, values in held.items():
        if names and name not in names:
            continue
        try:
            jobs += _jobs(name, values, path, document.file)
        except UsageError as error:
            where = f"{document.file}, report {plain(name)}"
            faults += [_within(where, fault) for fault in error.faults]
    faults += _collisions(jobs, document.file)
    raise_all(ManifestError, faults)
    return jobs


def schema_text() -> str:
    """The JSON Schema of a manifest, with the parameters of every study, for editors that complete and check as one types."""
    entry = Entry.model_json_schema()
    scalar = {"type": ["string", "number", "boolean", "null"]}
    cases = [
        {
            "if": {"properties": {"study": {"const": study.slug}}},
            "then": {
                "properties": {
                    "params": parameters_schema(study),
                    "data": {"propertyNames": {"enum": [spec.schema.name for spec in study.inputs]}},
                }
            },
        }
        for study in STUDIES
    ]
    entry["properties"]["study"]["enum"] = [study.slug for study in STUDIES]
    entry["properties"]["to"]["items"] = {"enum": list(FORMATS)}
    entry["properties"]["grid"]["additionalProperties"] = {"type": "array", "items": scalar, "minItems": 1}
    entry["properties"]["exclude"]["items"] = {"type": "object", "additionalProperties": scalar}
    entry["properties"]["choose"]["additionalProperties"] = scalar
    return dumps(
        {
            "$schema": DRAFT,
            "title": "reports.yml of Gatebook",
            "type": "object",
            "required": ["reports"],
            "additionalProperties": False,
            "properties": {
                "reports": {
                    "type": "object",
                    "minProperties": 1,
                    "additionalProperties": {**entry, "allOf": cases},
                }
            },
        }
    )


def combinations(entry: Entry, folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Place and axis values of every report of an entry; one without axes where it is no grid.

    Raises
    ------
    ManifestError
        When the rows cannot be read, an axis has no value, or nothing is left.
    """
    axes = {name: list(dict.fromkeys(values)) for name, values in entry.grid.items()}
    empty = [name for name, values in axes.items() if not values]
    raise_all(ManifestError, (Fault(what=f"the axis {plain(name)} has no value", fix="Give one.") for name in empty))
    rows = list(_rows(folder / entry.rows)) if entry.rows else [("", {})]
    count = len(rows)
    for values in axes.values():
        count *= len(values)
    if count > MOST_JOBS:
        raise ManifestError(Fault(what=f"stands for {count:,} reports", fix=f"No more than {MOST_JOBS:,}."))
    found = 0
    for place, row in rows:
        for chosen in itertools.product(*axes.values()):
            point = {**row, **dict(zip(axes, chosen, strict=True))}
            if any(all(point.get(axis) == value for axis, value in out.items()) for out in entry.exclude):
                continue
            found += 1
            yield place, point
    if not found:
        raise ManifestError(Fault(what="stands for no report", fix="The rows are empty, or everything is excluded."))


def _jobs(name: str, values: Any, path: Path, file: str) -> list[Job]:
    entry = _entry(values)
    folder = path.resolve().parent
    jobs: list[Job] = []
    faults: dict[str, Fault] = {}
    for place, point in combinations(entry, folder):
        try:
            jobs.append(_job(name, place, point, entry, folder))
        except UsageError as error:
            for fault in error.faults:
                faults.setdefault(f"{fault.place} {fault.what}", _within(place, fault))
    raise_all(ManifestError, faults.values())
    return jobs


def _job(name: str, place: str, point: Mapping[str, str], entry: Entry, folder: Path) -> Job:
    used: set[str] = set()

    def filled(text: str) -> str:
        return PLACEHOLDER.sub(lambda match: _value(match.group(1), point, used), text)

    def below(text: str) -> str:
        named = filled(text)
        if not named.strip():
            raise ManifestError(Fault(what="a path is empty", fix="Leave the key out, or name a file."))
        return named if is_address(named) else str(folder / named)

    by_input = entry.data if isinstance(entry.data, dict) else {"": entry.data}
    data = [
        f"{name_}={below(one)}" if name_ else below(one)
        for name_, given in by_input.items()
        for one in ([given] if isinstance(given, str) else given)
    ]
    files = [below(one) for one in entry.files]
    rule = below(entry.rule) if entry.rule is not None else None
    chosen = [f"{kind}={filled(value)}" for kind, value in entry.choose.items()]
    hidden = parameters.secret_names(find(entry.study).params)
    stated = [
        Given(name=key, value=_from(folder, value) if key in hidden else value, source=f"params.{key}", text=True)
        for key, value in entry.params.items()
    ]
    stated += [
        Given(name=axis, value=value, source=f"axis {axis}", text=True)
        for axis, value in point.items()
        if axis not in used
    ]
    unknown = [one for one in entry.to if one not in FORMATS]
    raise_all(
        ManifestError, (Fault(place="to", what=f"{plain(one)} is no format", fix="html or pdf.") for one in unknown)
    )
    label = "-".join([name, *(safe_words(f"{axis} {value}") for axis, value in point.items())])
    request = resolve(entry.study, data, [], [], files, rule, label, chosen=chosen, stated=stated)
    return Job(
        name=name,
        place=place,
        request=request,
        formats=tuple(one for one in FORMATS if one in entry.to),
        notebook=Path(below(entry.notebook)) if entry.notebook is not None else request.study.notebook_path,
        gated=entry.gate,
    )


def _from(folder: Path, value: Any) -> Any:
    """Where a secret lies: a file is named from the manifest's folder, as every other."""
    is_file = isinstance(value, str) and value.startswith("file:")
    return f"file:{folder / value.removeprefix('file:')}" if is_file else value


def _entry(values: Any) -> Entry:
    if not isinstance(values, dict):
        raise ManifestError(Fault(what="is no mapping", fix="NAME: {study: …, data: …}."))
    try:
        return Entry.model_validate(values)
    except ValidationError as error:
        faults: dict[str, Fault] = {}
        for problem in error.errors():
            key = str(problem["loc"][0]) if problem["loc"] else ""
            field = Entry.model_fields.get(key)
            fix = f"{key}: {field.description}." if field else f"{close_match(key, Entry.model_fields)}."
            missing = problem["type"] == "missing"
            what = (
                f"{key} is missing"
                if missing
                else f"{key}: {plain(problem['msg'])}"
                if field
                else f"no key {plain(key)}"
            )
            faults.setdefault(key, Fault(what=what, fix=fix))
        raise ManifestError(*faults.values()) from error


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """Axes of every row of a CSV file."""
    try:
        if path.exists() and not path.is_file():
            raise ManifestError(Fault(file=path.name, what="is not a regular file"))
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            names = reader.fieldnames or []
            twice = [name for name in names if names.count(name) > 1 or not name.strip()]
            if twice:
                what = f"the column {plain(twice[0])} stands twice" if twice[0].strip() else "a column has no name"
                raise ManifestError(Fault(file=path.name, place="line 1", what=what))
            for row in reader:
                if None in row or None in row.values():
                    what = "has another number of cells than the header"
                    raise ManifestError(Fault(file=path.name, place=f"line {reader.line_num}", what=what))
                yield f"{path.name} line {reader.line_num}", {name: cell for name, cell in row.items() if cell}
    except OSError as error:
        raise ManifestError(Fault(file=path.name, what=f"cannot be read ({plain(error.strerror)})")) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise ManifestError(Fault(file=path.name, what=f"cannot be read ({plain(error)})")) from error


def _value(axis: str, point: Mapping[str, str], used: set[str]) -> str:
    if axis not in point:
        what = f"{{{axis}}} stands for an axis that is not there"
        raise ManifestError(Fault(what=what, fix=f"{close_match(axis, point)}."))
    used.add(axis)
    return point[axis]


def _collisions(jobs: Sequence[Job], file: str) -> list[Fault]:
    first: dict[str, Job] = {}
    faults = []
    for job in jobs:
        other = first.setdefault(job.key, job)
        if other is not job:
            where = [" ".join(part for part in (plain(one.name), one.place) if part) for one in (other, job)]
            what = f"{where[0]} and {where[1]} would both be {job.key}"
            faults.append(Fault(file=file, what=what, fix="Rename one, or leave the double out."))
    return faults


def _within(place: str, fault: Fault) -> Fault:
    where = ", ".join(part for part in (place, fault.place) if part)
    return Fault(file=fault.file, place=where, what=fault.what, fix=fault.fix)
