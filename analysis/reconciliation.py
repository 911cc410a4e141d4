"""The line that accounts for every row of an input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from analysis.errors import plain
from analysis.readers.canonical import ARM, ITEM
from analysis.schema import Schema

METRICS_SHOWN, SOURCES_SHOWN = 8, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a table holds.

    Attributes
    ----------
    read_rows, rows
        Rows of the files, and of the table after filter and melt.
    attempts
        Fewest and most rows per item of an arm; None without items.
    lost
        Why there is no score -> rows; None where the table is about no score.
    """

    files: int
    read_rows: int
    rows: int
    items: int = 0
    models: int = 0
    attempts: tuple[int, int] | None = None
    lost: Mapping[str, int] | None = None
    metrics: Sequence[str] = ()
    sources: Sequence[str] = ()
    twins: tuple[str, str] | None = None
    notes: Sequence[str] = field(default_factory=tuple)


def counted(frame: pd.DataFrame, schema: Schema, files: int, read_rows: int, notes: Sequence[str]) -> Counts:
    """The counts of a checked table in memory."""
    attempts, items, twins = None, 0, None
    if "item_id" in frame:
        sizes = frame.groupby([name for name in ARM if name in frame], observed=True, sort=False).size()
        told_by = [name for name in ITEM if name in frame and name in {"item_id", *schema.by_name}]
        attempts, items = (int(sizes.min()), int(sizes.max())), len(frame[told_by].drop_duplicates())
        twins = _twins(frame["item_id"].unique().tolist())
    return Counts(
        files=files,
        read_rows=read_rows,
        rows=len(frame),
        items=items,
        models=frame["model"].nunique() if "model" in frame else 0,
        attempts=attempts,
        lost=lost(frame, schema),
        metrics=frame["metric"].unique().tolist() if "metric" in frame else (),
        sources=frame["source"].unique().tolist() if "source" in frame else (),
        twins=twins,
        notes=notes,
    )


def lost(frame: pd.DataFrame, schema: Schema) -> dict[str, int] | None:
    """Rows without a score by what became of them; None where the table is about no score."""
    if schema.measure not in frame or not schema.by_name[schema.measure].required:
        return None
    gone = frame[schema.measure].isna()
    if schema.reads == "attempts" and "status" in frame:
        gone |= ~frame["status"].isin(["", "scored"])  # anything but scored has no score, whatever stands there
    why = frame["status"].where(frame["status"] != "", "no reason given") if "status" in frame else gone.map({True: ""})
    return {str(reason): int(count) for reason, count in why[gone].value_counts().items()}


def line(schema: Schema, counts: Counts) -> str:
    """Rows, items, attempts per item, rows without a score and why, metrics, sources, and what the reader noted.

    >>> from analysis.schema import Schema
    >>> line(Schema(name="runs", columns=(), measure="score"), Counts(files=1, read_rows=2, rows=2, lost={"crashed": 1}))
    'runs: 2 rows read from 1 file; 1 of 2 rows without a score (1 crashed)'
    """
    first = f"{schema.name}: {_count(counts.read_rows, 'row')} read from {_count(counts.files, 'file')}"
    if counts.rows != counts.read_rows:
        first += f", {counts.rows:,} after filter and melt"
    parts = [first]
    if counts.attempts is not None:
        low, high = counts.attempts
        each = f"{low:,} to {_count(high, 'attempt')}" if low != high else _count(low, "attempt")
        models = [_count(counts.models, "model")] if counts.models else []
        parts.append(", ".join([_count(counts.items, "item"), *models, f"{each} per item"]))
    if counts.twins:
        parts.append("ids that differ by leading zeros are different items: " + " and ".join(map(plain, counts.twins)))
    if counts.lost is not None:
        total = sum(counts.lost.values())
        why = ", ".join(f"{count:,} {reason}" for reason, count in counts.lost.items() if reason)
        without = f"{total:,} of {_count(counts.rows, 'row')} without a score" + (f" ({why})" if why else "")
        parts.append(without if total else "every row has a score")
    if metrics := [plain(metric, width=60) for metric in counts.metrics if metric]:
        more = f" and {len(metrics) - METRICS_SHOWN} more" if len(metrics) > METRICS_SHOWN else ""
        parts.append(f"metric: {', '.join(metrics[:METRICS_SHOWN])}{more}")
    if counts.sources:
        more = f" and {len(counts.sources) - SOURCES_SHOWN} more" if len(counts.sources) > SOURCES_SHOWN else ""
        parts.append(f"source: {', '.join(map(plain, counts.sources[:SOURCES_SHOWN]))}{more}")
    return "; ".join([*parts, *counts.notes])


def _twins(ids: Sequence[str]) -> tuple[str, str] | None:
    """The first two ids that are one number spelled twice, such as 007 and 7."""
    seen: dict[str, str] = {}
    for name in ids:
        if name.isascii() and name.isdecimal() and (other := seen.setdefault(name.lstrip("0"), name)) != name:
            return other, name
    return None


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'s' * (count != 1)}"
