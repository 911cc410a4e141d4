"""What a reader is asked for, and the choices where a log holds several of a kind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analysis.errors import Fault, close_match, plain
from analysis.schema import Kind

ALL, KEEP = "all", "keep"
SETTINGS_KEY, APART = "settings", "apart"
MOST_SHOWN = 8  # choices or places in one message


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What somebody asks of a log.

    Attributes
    ----------
    table
        Which canonical table is wanted.
    choose
        What was chosen where a log holds several of a kind: ``{"metric": "acc"}``, a list of them, or ``all``.
    accept_mismatch
        Whether totals that a file states may differ from what it holds; the difference is stated then.
    roots
        Folders that were given; where a file lies below them can say recipe and seed.
    contents
        Digests by id of the files of every task, where ids do not agree between files and items go by their content.
    prefix
        What a choice begins with on the command line, so that it is that of the right input.
    """

    table: Kind = "attempts"
    choose: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    accept_mismatch: bool = False
    roots: Sequence[Path] = ()
    contents: Mapping[tuple[str, Path], Mapping[str, str]] = field(default_factory=dict)
    prefix: str = ""


class Again(Exception):
    """Raised when what a file holds further down changes how its rows must be read."""

    def __init__(self, ask: Ask) -> None:
        super().__init__()
        self.ask = ask


class Choices:
    """Kinds of which a log may hold several, such as metrics: which are wanted, and what each holds.

    Every combination is counted with the mean of its scores, so that a question can list them. ``others`` are choices that
    the reader answers itself.
    """

    def __init__(self, ask: Ask, *others: str, **nouns: str) -> None:
        self.keys = tuple(nouns)
        self._others = others
        self._prefix = ask.prefix
        self._passed: dict[str, dict[str, None]] = {}
        known = {"copies": KEEP, SETTINGS_KEY: APART}
        self._odd = [(key, ask.choose[key], word) for key, word in known.items() if key in others and key in ask.choose]
        self._nouns = nouns
        self._chosen = {
            key: None if given == ALL else {given} if isinstance(given, str) else set(given)
            for key, given in ask.choose.items()
            if key not in others
        }
        self._seen: dict[tuple[str, ...], list[float]] = {}

    def wants(self, *values: str) -> bool:
        """Whether rows of this combination are wanted; what was not chosen is."""
        return all(
            key not in self._chosen or (wanted := self._chosen[key]) is None or value in wanted
            for key, value in zip(self.keys, values, strict=True)
        )

    def saw(self, *values: str, score: float | None) -> None:
        """Count a row of this combination."""
        held = self._seen.setdefault(values, [0, 0, 0.0])
        held[0] += 1
        if score is not None and math.isfinite(score):
            held[1] += 1
            held[2] += score

    def passes(self, key: str, value: str) -> bool:
        """Whether everything of this kind can be left out unread: something else was chosen."""
        wanted = self._chosen.get(key)
        if wanted is None or value in wanted:
            return False
        self._passed.setdefault(key, {})[value] = None
        return True

    def several(self, key: str) -> bool:
        """Whether more than one of a kind was chosen."""
        return key in self._chosen and len(self._chosen[key] or ("any", "other")) > 1

    def faults(self, files: str) -> list[Fault]:
        """A question for every kind with several values and no choice, and for every choice that is not there."""
        out = []
        for key, given, word in self._odd:
            if given != word:
                out.append(Fault(file=files, what=f"{key}={plain(given)} is no choice", fix=f"Known: {key}={word}."))
        for key in self._chosen.keys() - set(self.keys):
            known = ", ".join((*self.keys, *self._others))
            out.append(Fault(file=files, what=f"no choice is called {plain(key)}", fix=f"This format knows: {known}."))
        for position, key in enumerate(self.keys):
            wanted = self._chosen.get(key)
            seen = dict.fromkeys(values[position] for values in self._seen) | self._passed.get(key, {})
            if wanted is not None and not wanted:
                out.append(Fault(file=files, what=f"no {self._nouns[key]} is chosen", fix=f"{close_match('', seen)}."))
            missing = sorted((wanted or set()) - set(seen))
            if missing:
                what = f"no {self._nouns[key]} {plain(repr(missing[0]), width=60)}"
                out.append(Fault(file=files, what=what, fix=f"{close_match(missing[0], seen)}."))
            if key not in self._chosen and len(self._reachable(position)) > 1:
                what = f"holds {len(self._reachable(position))} {self._nouns[key]}s: {self._listed(position)}"
                first = next(iter(self._reachable(position)))
                named = first.isprintable() and " " not in first and "'" not in first
                choice = f"--choose {self._prefix}{key}={first if named else '…'}"
                # what a study cannot hold apart would stand twice there
                more = "" if self._prefix else " (or a list in -f, or all)"
                out.append(Fault(file=files, what=what, fix=f"Say which is meant: {choice}{more}."))
        return out

    def found(self) -> str:
        """Kinds and values for the reconciliation line."""
        parts = []
        for position, key in enumerate(self.keys):
            seen = list(dict.fromkeys(values[position] for values in self._seen) | self._passed.get(key, {}))
            wanted = self._chosen.get(key)
            shown = [
                plain(value or "(none)", width=60) + ("" if wanted is None or value in wanted else " (left out)")
                for value in seen
            ]
            if seen != [""]:
                parts.append(f"{self._nouns[key]}s found: {cut(shown)}")
        return "; ".join(parts)

    def _reachable(self, position: int) -> dict[str, None]:
        return dict.fromkeys(values[position] for values in self._seen if self.wants(*values))

    def _listed(self, position: int) -> str:
        """Every value with its rows and the mean of each metric under it."""
        held: dict[str, dict[str, list[float]]] = {}  # value -> last kind, the metric -> rows, scored, sum
        for values, counts in self._seen.items():
            if self.wants(*values):
                mine = held.setdefault(values[position], {}).setdefault(values[-1], [0, 0, 0.0])
                for index, count in enumerate(counts):
                    mine[index] += count
        out = []
        for value, metrics in held.items():
            rows, scored, total = max(metrics.values())
            mean = f", mean {total / scored:.4g}" if scored and len(metrics) == 1 else ""
            out.append(f"{plain(value or '(none)', width=60)} ({rows:,.0f} row{'s' * (rows != 1)}{mean})")
        return cut(out)


def cut(shown: Sequence[str]) -> str:
    """The first of a list of words, and how many more there are."""
    more = f" and {len(shown) - MOST_SHOWN} more" if len(shown) > MOST_SHOWN else ""
    return ", ".join(shown[:MOST_SHOWN]) + more
