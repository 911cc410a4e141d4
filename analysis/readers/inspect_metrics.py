"""The metrics that an Inspect log states, computed again from its samples as Inspect computes them."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.errors import plain
from analysis.readers.account import Account
from analysis.readers.values import mapping, number, text

VALUES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Inspect's own reading (``value_to_float``); any other text counts 0 there. Used to compare only, never for a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stated:
    """One metric of the header."""

    scorer: str
    score: str
    metric: str
    reducer: str
    value: float | None
    params: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Score, reducer and metric in one word."""
        return "/".join(part for part in (self.score, self.reducer, self.metric) if part)

    @classmethod
    def all(cls, scores: Sequence[Any]) -> list[Stated]:
        """Every metric of every score."""
        return [
            cls(
                scorer=text(held.get("scorer")) or text(held.get("name")),
                score=text(held.get("name")),
                metric=name,
                reducer=text(held.get("reducer")),
                value=number(mapping(metric).get("value")),
                params=mapping(mapping(metric).get("params")) or mapping(mapping(metric).get("options")),
            )
            for held in map(mapping, scores)
            for name, metric in mapping(held.get("metrics")).items()
        ]


def compare(path: Path, scores: Sequence[Any], samples: Sequence[Mapping[str, Any]], account: Account) -> None:
    """Every stated metric against the samples; what is computed in a way of its own is named and left."""
    left: dict[str, None] = {}
    for stated in Stated.all(scores):
        values = _by_sample(stated, samples)
        reduce = _reducer(stated.reducer)
        compute = METRICS.get(stated.metric)
        if values is None or reduce is None or compute is None or "cluster" in stated.params:
            left[stated.name] = None
        elif stated.value is not None:
            try:
                reduced = [reduce(held) for held in values.values()]
                found = compute(reduced) if reduced else None
            except OverflowError:  # of a sum of very large scores
                left[stated.name] = None
                continue
            account.agree(path, stated.name, stated.value, found)
    if left:
        account.note(f"stated and not computed again: {plain(', '.join(left))}")


def _by_sample(stated: Stated, samples: Sequence[Mapping[str, Any]]) -> dict[str, list[float]] | None:
    """Values of every sample over its epochs, those that are none left out; None when the score is not one number."""
    out: dict[str, list[float]] = {}
    for sample in samples:
        scores = mapping(sample.get("scores"))
        held = scores.get(stated.scorer, scores.get(stated.score))
        if held is None:
            continue
        value = held.get("value") if isinstance(held, dict) else held
        if isinstance(value, dict):
            if stated.score not in value:
                return None
            value = value[stated.score]
        if isinstance(value, list | dict):
            return None
        found = _float(value)
        if found is not None:
            out.setdefault(text(sample.get("id")), []).append(found)
    return out


def _float(value: Any) -> float | None:
    """Inspect's reading of a value; None for one that is not there or no number."""
    if isinstance(value, str) and value in VALUES:
        return VALUES[value]
    if value is None or (isinstance(value, str) and value.lower() == "nan"):
        return None
    found = number(value)
    if found is None and isinstance(value, str):
        return VALUES.get(value.lower(), 0.0)
    return found


def _reducer(name: str) -> Callable[[list[float]], float] | None:
    """The reduction of epochs by its name; the mean where none is named."""
    kind, _, k = name.rpartition("_")
    if kind in {"pass_at", "at_least"} and k.isascii() and k.isdecimal() and len(k) < 10:
        return lambda values: (_pass_at if kind == "pass_at" else _at_least)(values, int(k))
    known: dict[str, Callable[[list[float]], float]] = {
        "": statistics.fmean,
        "mean": statistics.fmean,
        "max": max,
        "median": statistics.median,
        "mode": _mode,
    }
    return known.get(name)


def _pass_at(values: list[float], k: int) -> float:
    n, correct = len(values), sum(value >= 1 for value in values)
    return 1.0 if n - correct < k else 1 - math.comb(n - correct, k) / math.comb(n, k)


def _at_least(values: list[float], k: int) -> float:
    return float(sum(value >= 1 for value in values) >= k)


def _mode(values: list[float]) -> float:
    return Counter(values).most_common(1)[0][0]


def _stderr(values: list[float]) -> float:
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


METRICS: dict[str, Callable[[list[float]], float]] = {
    "accuracy": statistics.fmean,
    "mean": statistics.fmean,
    "stderr": _stderr,
    "std": lambda values: statistics.stdev(values) if len(values) > 1 else 0.0,
    "var": lambda values: statistics.variance(values) if len(values) > 1 else 0.0,
}
