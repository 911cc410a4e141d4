"""What a study returns: checks, the gate, units, tables; ``result.json`` in and out."""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
import operator
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from analysis.errors import Fault, UsageError, is_whole, plain
from analysis.present.table import Table

SCHEMA = "gatebook/result/1"
SCHEMA_FILE = Path(__file__).with_name("result.schema.json")
KEYS = (
    "schema", "study", "label", "signature", "parameters", "inputs", "layouts", "rule", "gate", "headline", "units",
    "tables", "figures",
)  # fmt: skip
Verdict = Literal["pass", "undecided", "refuse"]
WORST_FIRST: tuple[Verdict, ...] = ("refuse", "undecided", "pass")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One clause of the gate: what was observed, what was asked of it, and what came out."""

    name: str
    observed: str | float | int | None
    relation: str
    limit: str | float | int | None
    verdict: Verdict
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The three-valued verdict over all checks: the worst of them; no check at all is undecided."""

    verdict: Verdict
    reason: str
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure by name: its title, the sentence that stands for it, and the file of its drawing."""

    title: str
    alt: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a study decides from its inputs, before it is labelled and signed."""

    gate: Gate
    headline: str
    units: tuple[Any, ...]
    tables: tuple[Table, ...]
    figures: Mapping[str, Figure]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyResult:
    """A finished result; every number on a page or in a PDF comes from here."""

    study: str
    label: str
    signature: str
    parameters: Mapping[str, Any]
    inputs: tuple[Mapping[str, Any], ...]
    layouts: Mapping[str, Any]
    rule: Mapping[str, Any] | None
    gate: Gate
    headline: str
    units: tuple[Any, ...]
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]

    def to_json(self) -> dict[str, Any]:
        """Plain values, in the order of the schema."""
        return {
            "schema": SCHEMA,
            "study": self.study,
            "label": self.label,
            "signature": self.signature,
            "parameters": dict(self.parameters),
            "inputs": [dict(entry) for entry in self.inputs],
            "layouts": dict(self.layouts),
            "rule": dict(self.rule) if self.rule else None,
            "gate": dataclasses.asdict(self.gate),
            "headline": self.headline,
            "units": [dataclasses.asdict(unit) for unit in self.units],
            "tables": {key: table.to_json() for key, table in self.tables.items()},
            "figures": {key: dataclasses.asdict(figure) for key, figure in self.figures.items()},
        }

    def frames(self) -> dict[str, pd.DataFrame]:
        """The tables as data frames of raw cells, by id."""
        return {
            key: pd.DataFrame(list(table.rows), columns=[column.key for column in table.columns])
            for key, table in self.tables.items()
        }

    def files(self) -> dict[str, str]:
        """``result.json`` and, of every table, CSV, JSON and LaTeX, by path inside the report folder."""
        out = {"result.json": dumps(self.to_json())}
        for key, table in self.tables.items():
            out[f"tables/{key}.csv"] = table.to_csv()
            out[f"tables/{key}.json"] = dumps(table.to_json())
            out[f"tables/{key}.tex"] = table.to_latex()
        return out


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst verdict: refuse, then undecided, then pass; nothing measured is undecided.

    >>> worst(["pass", "undecided"]), worst([])
    ('undecided', 'undecided')
    """
    found = set(verdicts)
    return next((verdict for verdict in WORST_FIRST if verdict in found), "undecided")


def dumps(value: Any) -> str:
    """Strict JSON text: no NaN, UTF-8, one trailing newline.

    Raises
    ------
    ValueError
        When a NaN or an infinity would be written.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def load(path: Path) -> dict[str, Any]:
    """Read a ``result.json`` written by any version that shares the schema, also packed (``.gz``).

    Raises
    ------
    UsageError
        When it is missing, not JSON, or not a result.
    """
    try:
        if path.exists() and not path.is_file():
            raise UsageError(
                Fault(file=str(path), what="is not a regular file", fix="Give the result.json of a report folder.")
            )
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
        value = json.loads(text, parse_constant=_no_number, parse_float=_finite)
        if not is_whole(json.dumps(value, ensure_ascii=False)):
            raise ValueError("half a character")
    except OSError as error:
        raise UsageError(Fault(file=str(path), what=f"cannot be read ({plain(error.strerror or error)})")) from error
    except (ValueError, RecursionError, EOFError, zlib.error) as error:
        raise UsageError(Fault(file=path.name, what=f"is not valid JSON ({plain(error)})")) from error
    if not _is_result(value):
        raise UsageError(
            Fault(file=path.name, what=f"is not a {SCHEMA} file", fix="Give the result.json of a report folder.")
        )
    gate, rule = value["gate"], value["rule"]
    if rule is not None and not _is_rule(rule):
        raise UsageError(Fault(file=path.name, what="its rule is not as this tool writes it"))
    broken = [check for check in gate["checks"] if check["verdict"] == "pass" and not _holds(check)]
    if broken:
        raise UsageError(
            Fault(
                file=path.name,
                what=f"says pass for {plain(broken[0].get('name', '?'))}, but {plain(broken[0]['observed'], width=40)} is not "
                f"{broken[0]['relation']} {plain(broken[0]['limit'], width=40)}",
                fix="The file was changed by hand; make it anew.",
            )
        )
    said, found = gate["verdict"], worst(check["verdict"] for check in gate["checks"])
    if said != found:
        raise UsageError(
            Fault(
                file=path.name,
                what=f"says {said}, but its checks say {found}",
                fix="The file was changed by hand; make it anew.",
            )
        )
    return dict(value)


def _is_rule(rule: Any) -> bool:
    if not isinstance(rule, dict) or not {"source", "sha256", "written_before"} <= rule.keys():
        return False
    return (
        isinstance(rule["source"], str)
        and isinstance(rule["sha256"], str)
        and rule["written_before"] in (True, False, None)
    )


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _is_result(value: Any) -> bool:
    """Whether it has the keys of a result, its texts, and a gate with a verdict and checks that each have one."""
    if not isinstance(value, dict) or value.get("schema") != SCHEMA or not set(KEYS) <= value.keys():
        return False
    gate, tables = value["gate"], value["tables"]
    if not isinstance(gate, dict) or not isinstance(gate.get("checks"), list) or not isinstance(tables, dict):
        return False
    if not all(isinstance(table, dict) and isinstance(table.get("rows"), list) for table in tables.values()):
        return False
    if not isinstance(value["units"], list) or not isinstance(value["inputs"], list):
        return False
    if not all(isinstance(part, dict) for part in (*value["units"], value["parameters"], value["layouts"])):
        return False
    if not all(
        isinstance(one, dict) and isinstance(one.get("sha256"), str) and "file" in one for one in value["inputs"]
    ):
        return False
    texts = (*(value[name] for name in ("study", "label", "headline", "signature")), gate.get("reason"))
    if not all(isinstance(text, str) for text in texts):
        return False
    return all(isinstance(part, dict) and part.get("verdict") in WORST_FIRST for part in (gate, *gate["checks"]))


def _holds(check: dict[str, Any]) -> bool:
    """Whether a check's observed value stands in its relation to the limit; true where that is not about numbers."""
    observed, limit = check.get("observed"), check.get("limit")
    relations = {"≤": operator.le, "≥": operator.ge, "<": operator.lt, ">": operator.gt}
    compare = relations.get(str(check.get("relation")))
    if compare is None or not isinstance(observed, int | float) or not isinstance(limit, int | float):
        return True
    try:
        return bool(compare(observed, limit * (1 + 1e-9) if compare is operator.le else limit))
    except OverflowError:  # a whole number beyond what a float holds
        return False
