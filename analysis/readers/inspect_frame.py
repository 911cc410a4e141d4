"""Frames of Inspect that somebody kept: ``samples_df`` as CSV or Parquet, one row per sample and epoch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from analysis.readers.account import Account
from analysis.readers.canonical import Rows
from analysis.readers.choices import Choices
from analysis.readers.pairing import Pairing, content_digest
from analysis.readers.raw import RawTable
from analysis.readers.tabular import raw_tables
from analysis.readers.values import number, score_cell

FRAME = {"id", "epoch"}
SCORE, METADATA = "score_", "metadata_"
LETTERS = {"C": "1", "I": "0"}
"""What is certain of Inspect's letters; any other is asked about."""


def frame_tables(path: Path, choices: Choices, pairing: Pairing, account: Account) -> Iterator[RawTable]:
    """One row per sample, epoch and score. The model is a column of the frame only where somebody asked for it."""
    with account.opened(path) as data:
        for table in raw_tables(data):
            if not set(table.columns) >= FRAME:
                account.fault(path, "is no frame of samples", f"It has no columns {' and '.join(sorted(FRAME))}.")
                return
            rows = Rows(path, account.named(path))
            scores = [name.removeprefix(SCORE) for name in table.columns if name.startswith(SCORE)] or [""]
            task = "task_name" if "task_name" in table.columns else ""
            for place, cells in zip(table.places, table.rows, strict=True):
                held = dict(zip(table.columns, cells, strict=True))
                name = held.get(task, "")
                digest = content_digest([held.get("input", ""), held.get("target", "")])
                pairing.saw(path, name, held["id"], digest)
                item = pairing.name(path, name, held["id"], digest)
                own = {"item_id": f"{name}/{item}" if choices.several("task") else item, "item_hash": digest}
                for score in scores:
                    given = held.get(SCORE + score, "")
                    cell = LETTERS.get(given, score_cell(given))
                    choices.saw(name, score, score=number(cell))
                    if choices.wants(name, score):
                        rows.add(place, _cells(held, score, cell) | own)
            columns = ("item_id", "attempt", "metric", "value", "status")
            yield rows.take((*columns, *(("model",) if "model" in table.columns else ())))


def _cells(held: dict[str, str], score: str, cell: str) -> dict[str, str]:
    metadata = {name.removeprefix(METADATA): told for name, told in held.items() if name.startswith(METADATA)}
    error = held.get("error", "")
    return {
        "run_id": f"{held.get('eval_id', '')} {held.get('model', '')}".strip(),
        "model": held.get("model", ""),
        "task": held.get("task_name", ""),
        "attempt": held.get("epoch", ""),
        "metric": score,
        "value": cell,
        "status": "scored" if cell else "error" if error else "unscored",
        "reason": error,
        "latency_s": held.get("working_time", "") or held.get("total_time", ""),
        **{f"slice.{name}": told for name, told in metadata.items()},
    }
