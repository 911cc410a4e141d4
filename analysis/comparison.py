"""Two results side by side: what changed in verdict, clauses, numbers, inputs, parameters and code, one sentence on top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.errors import Fault, UsageError, plain

IDENTITY = ("name", "pair", "scorer", "condition", "baseline", "candidate", "method", "metric", "audit", "dataset")
"""Fields by which the studies tell their units apart."""
MOST_SHOWN = 12  # changes of one kind in words; JSON has all
WORDS = {
    "inputs": "the inputs",
    "parameters": "the parameters",
    "rule": "the rule",
    "code": "the code",
    "environment": "the environment",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that differs; None where one side does not have it."""

    kind: str
    name: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.kind} {plain(self.name)}: {_shown(self.before)} → {_shown(self.after)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All changes between two results of one study, and the sentence that stands above them."""

    study: str
    labels: tuple[str, str]
    verdicts: tuple[str, str]
    headline: str
    changes: tuple[Change, ...]

    def lines(self) -> list[str]:
        """The changes in words; of each kind the first ones, the rest counted."""
        out = []
        for kind in dict.fromkeys(change.kind for change in self.changes):
            same = [change for change in self.changes if change.kind == kind]
            out += [str(change) for change in same[:MOST_SHOWN]]
            if len(same) > MOST_SHOWN:
                out.append(f"{kind}: {len(same) - MOST_SHOWN:,} more")
        return out

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "schema": "gatebook/comparison/1",
            "study": self.study,
            "labels": list(self.labels),
            "verdicts": list(self.verdicts),
            "headline": self.headline,
            "changes": [
                {"kind": one.kind, "name": one.name, "before": one.before, "after": one.after} for one in self.changes
            ],
        }


def compare(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    records: tuple[Mapping[str, Any] | None, Mapping[str, Any] | None] = (None, None),
) -> Comparison:
    """Compare two parsed ``result.json`` of one study.

    Parameters
    ----------
    records
        Their ``run.json``, where they are known: code and environment stand there.

    Raises
    ------
    UsageError
        They are of different studies.
    """
    if before["study"] != after["study"]:
        what = f"one is of {plain(before['study'])}, the other of {plain(after['study'])}"
        raise UsageError(Fault(what=what, fix="Two results of one study can be compared."))
    changes = tuple(_changes(before, after, records))
    verdicts = before["gate"]["verdict"], after["gate"]["verdict"]
    return Comparison(
        study=before["study"],
        labels=(before["label"], after["label"]),
        verdicts=verdicts,
        headline=_headline(verdicts, changes, known=None not in records),
        changes=changes,
    )


def _headline(verdicts: tuple[str, str], changes: Sequence[Change], *, known: bool) -> str:
    kinds = {change.kind for change in changes}
    if not kinds - {"label"}:
        return f"Nothing differs: both are {verdicts[0]}."
    count = sum(change.kind == "clause" for change in changes)
    clauses = f"{count} clause{'' if count == 1 else 's'} changed" if count else "no clause changed"
    first = (
        f"The verdict is {verdicts[0]} in both, and {clauses}"
        if verdicts[0] == verdicts[1]
        else f"The verdict went from {verdicts[0]} to {verdicts[1]}, and {clauses}"
    )
    causes = [words for kind, words in WORDS.items() if kind in kinds]
    if not causes:
        why = "no input, parameter or rule differs" + ("" if known else "; the code is not known")
    elif len(causes) == 1:
        why = f"only {causes[0]} differ" + ("s" if causes[0] in {"the rule", "the code", "the environment"} else "")
        why += "" if known else ", as far as is known without run.json"
    else:
        why = f"{', '.join(causes[:-1])} and {causes[-1]} differ, so that no single cause can be named"
    return f"{first}; {why}."


def _changes(
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    records: tuple[Mapping[str, Any] | None, Mapping[str, Any] | None],
) -> Iterator[Change]:
    yield from _differing("label", {"label": before["label"]}, {"label": after["label"]})
    yield from _differing("verdict", {"gate": before["gate"]["verdict"]}, {"gate": after["gate"]["verdict"]})
    checks = [one["gate"]["checks"] for one in (before, after)]
    yield from _differing("clause", *({str(one.get("name")): one["verdict"] for one in held} for held in checks))
    yield from _differing("observed", *({_asked(one): one.get("observed") for one in held} for held in checks))
    yield from _differing("number", _numbers(before), _numbers(after))
    yield from _differing("inputs", _files(before), _files(after))
    yield from _differing("parameters", before["parameters"], after["parameters"])
    yield from _differing("parameters", {"layouts": before["layouts"]}, {"layouts": after["layouts"]})
    yield from _differing("rule", {"rule": _rule(before)}, {"rule": _rule(after)})
    versions = [one["signature"].rpartition("gatebook=")[2] for one in (before, after)]
    yield from _differing("code", {"gatebook": versions[0]}, {"gatebook": versions[1]})
    old, new = records
    if old is not None and new is not None:
        names = ("notebook", "package")
        parts = [{name: str(one["components"].get(name))[:12] for name in names} for one in (old, new)]
        yield from _differing("code", *parts)
        yield from _differing("environment", old["environment"], new["environment"])


def _asked(check: Mapping[str, Any]) -> str:
    return f"{check.get('name')} ({check.get('relation')} {_shown(check.get('limit'))})"


def _files(result: Mapping[str, Any]) -> dict[str, str]:
    return {
        f"{entry.get('name')} {entry.get('file') or ''}".strip(): f"{str(entry.get('sha256'))[:12]} ({entry.get('rows')} rows)"
        for entry in result["inputs"]
    }


def _differing(kind: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys([*before, *after]):
        if before.get(name) != after.get(name) or (name in before) != (name in after):
            yield Change(kind=kind, name=name, before=before.get(name), after=after.get(name))


def _numbers(result: Mapping[str, Any]) -> dict[str, Any]:
    """Every plain number and status of every unit, by the name of the unit, or its place where names repeat."""
    units = result["units"]
    names = [" / ".join(_texts([unit.get(key) for key in IDENTITY])) for unit in units]
    found = {}
    for place, (name, unit) in enumerate(zip(names, units, strict=True), start=1):
        called = name if name and names.count(name) == 1 else f"{name} unit {place}".strip()
        for key, value in unit.items():
            if key == "status" or (isinstance(value, int | float) and not isinstance(value, bool)):
                found[f"{called}, {key}"] = value
    return found


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value] if value else []
    held = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in held for text in _texts(one)]


def _rule(result: Mapping[str, Any]) -> str | None:
    rule = result["rule"]
    return f"{rule['source']} {rule['sha256'][:12]}, registered before: {rule['written_before']}" if rule else None


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else plain(value, width=80)
