"""The card of a cell, for a model card: ``card.json`` and ``card.md``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from analysis.present.format import level, prob, slug
from analysis.present.table import Table, TableColumn
from analysis.results import StudyResult, dumps
from analysis.stats import certification_power

from .tables import OPERATING_RATES
from .units import CellAudit

SCHEMA = "gatebook/recipe-card/1"
SCHEMA_FILE = Path(__file__).with_name("card.schema.json")
_FIELDS = (
    "name",
    "cell",
    "recipe",
    "audit",
    "dataset",
    "n",
    "k",
    "upper",
    "lower",
    "floor",
    "still_needed",
    "status",
    "reason",
)


def files(result: StudyResult) -> Mapping[str, str]:
    """``cards/<cell>/card.json`` and ``card.md`` of every unit."""
    out: dict[str, str] = {}
    for unit in result.units:
        card = as_card(unit, result)
        folder = slug(unit.name)
        out[f"cards/{folder}/card.json"] = dumps(card)
        out[f"cards/{folder}/card.md"] = as_markdown(card)
    return out


def as_card(unit: CellAudit, result: StudyResult) -> dict[str, Any]:
    """The card's plain values: counts, rule, bound, status, and the digest of the data it rests on."""
    fields = asdict(unit)
    params = result.parameters
    return {
        "schema": SCHEMA,
        **{name: fields[name] for name in _FIELDS},
        "tau": params["tau"],
        "failure_budget": params["failure_budget"],
        "delta": params["delta"],
        "method": params["method"],
        "looks": params["looks"],
        "family": params["family"],
        "operating": _operating(unit, params),
        "data": [
            {"file": entry["file"], "sha256": entry["sha256"]} for entry in result.inputs if entry["name"] == "runs"
        ],
        "signature": result.signature,
    }


def _operating(unit: CellAudit, params: Mapping[str, Any]) -> list[dict[str, float]]:
    """The probability that a card of this many reruns ships, at some true failure rates."""
    if not unit.n:
        return []
    power = certification_power(OPERATING_RATES, unit.n, budget=params["failure_budget"], delta=params["delta"])
    return [{"rate": rate, "ships": float(ships)} for rate, ships in zip(OPERATING_RATES, power, strict=True)]


def as_markdown(card: Mapping[str, Any]) -> str:
    """The card as a section of a model card."""
    rows = [
        *card["cell"].items(),
        *card["recipe"].items(),
        ("audit", f"{card['audit']}, {card['dataset']}" if card["dataset"] else card["audit"]),
        ("reruns N", str(card["n"])),
        (f"below τ = {level(card['tau'])}", str(card["k"])),
        (f"upper bound on the failure rate, δ = {level(card['delta'])}", prob(card["upper"])),
        ("failure budget ε", level(card["failure_budget"])),
        (
            "such a card ships",
            ", ".join(f"{prob(point['ships'])} at β = {prob(point['rate'], 2)}" for point in card["operating"][:4])
            or "never",
        ),
        ("status", card["status"]),
        ("why", card["reason"]),
        ("signature", card["signature"]),
        *((f"data sha256 {entry['file'] or ''}".rstrip(), entry["sha256"]) for entry in card["data"]),
    ]
    table = Table(
        id="card",
        title="Recipe card",
        columns=(TableColumn(key="field", label="Recipe card"), TableColumn(key="value", label="Value")),
        rows=tuple(rows),
    )
    return table.to_markdown()
