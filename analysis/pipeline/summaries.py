"""What a batch did, for programs and people: ``summary.json``, JUnit XML for CI servers, Markdown for a pull request."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from analysis.errors import plain
from analysis.pipeline.batch import MADE, STATUSES, Outcome
from analysis.present.prose import markdown
from analysis.results import dumps

SCHEMA = "gatebook/summary/1"
STARTED_NOT = frozenset({"skipped", "cancelled"})
_NO_XML = re.compile("[\ufffe\uffff\ud800-\udfff\x00-\x08\x0b\x0c\x0e-\x1f]")
MOST_ROWS = 200  # of a Markdown table; CI services cut longer ones


def counts(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """How many reports ended in each status."""
    return {status: sum(one.status == status for one in outcomes) for status in STATUSES}


def as_json(outcomes: Sequence[Outcome], *, seconds: float, out: Path) -> dict[str, Any]:
    """The whole batch as plain values."""
    return {
        "schema": SCHEMA,
        "seconds": round(seconds, 3),
        "counts": counts(outcomes),
        "reports": [
            {
                "study": one.study,
                "label": one.label,
                "status": one.status,
                "verdict": one.verdict,
                "gate": one.gated,
                "reasons": list(one.reasons),
                "message": one.message,
                "folder": one.folder.relative_to(out).as_posix() if one.status not in STARTED_NOT else None,
                "seconds": round(one.seconds, 3),
            }
            for one in outcomes
        ],
    }


def as_junit(outcomes: Sequence[Outcome], *, seconds: float, gated: bool) -> str:
    """JUnit XML: a report that was not made is an error, one that was not begun is skipped.

    With ``gated`` a verdict that is not ``pass`` is a failure.
    """
    suite = ElementTree.Element("testsuite", name="gatebook", tests=str(len(outcomes)), time=f"{seconds:.3f}")
    tally = {"failure": 0, "error": 0, "skipped": 0}
    for one in outcomes:
        case = ElementTree.SubElement(
            suite, "testcase", classname=one.study, name=_xml(one.label), time=f"{one.seconds:.3f}"
        )
        kind = ""
        if one.status in STARTED_NOT:
            kind = "skipped"
        elif one.status not in MADE:
            kind = "error"
        elif gated and one.gated and one.verdict != "pass":
            kind = "failure"
        if kind:
            said = _xml(one.message or f"the verdict is {one.verdict}")
            ElementTree.SubElement(case, kind, type=one.status if kind != "failure" else str(one.verdict), message=said)
            tally[kind] += 1
    suite.set("failures", str(tally["failure"]))
    suite.set("errors", str(tally["error"]))
    suite.set("skipped", str(tally["skipped"]))
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Text without the characters that no XML document may hold."""
    return _NO_XML.sub("\ufffd", plain(text, width=2000))


def as_markdown(outcomes: Sequence[Outcome]) -> str:
    """A block for a pull request or a job's summary: what was not made first, then by verdict."""
    order = {"refuse": 1, "undecided": 2, "pass": 3}
    rows = sorted(outcomes, key=lambda one: order.get(one.verdict or "", 0))
    lines = [f"### Gatebook: {sentence(outcomes)}", "", "| status | verdict | report | |", "| --- | --- | --- | --- |"]
    for one in rows[:MOST_ROWS]:
        said = markdown(plain(one.message, width=300))
        name = markdown(plain(one.key))
        lines.append(f"| {one.status} | {one.verdict or '–'} | {name} | {said} |")
    if len(rows) > MOST_ROWS:
        lines += ["", f"and {len(rows) - MOST_ROWS} more, in summary.json."]
    return "\n".join(lines) + "\n"


def sentence(outcomes: Sequence[Outcome]) -> str:
    """The batch in a sentence.

    >>> sentence([])
    '0 reports'
    """
    tally = [f"{number} {status}" for status, number in counts(outcomes).items() if number]
    verdicts = [one.verdict for one in outcomes if one.verdict]
    found = [f"{verdicts.count(word)} {word}" for word in ("pass", "undecided", "refuse") if word in verdicts]
    parts = [", ".join(part) for part in (tally, found) if part]
    return f"{len(outcomes)} report{'' if len(outcomes) == 1 else 's'}" + (
        f": {'; verdicts: '.join(parts)}" if parts else ""
    )


def write(outcomes: Sequence[Outcome], out: Path, *, seconds: float, gated: bool, suffix: str = "") -> None:
    """Write ``summary.json``, ``junit.xml`` and ``summary.md`` into the folder of reports, each whole or not at all."""
    files = {
        f"summary{suffix}.json": dumps(as_json(outcomes, seconds=seconds, out=out)),
        f"junit{suffix}.xml": as_junit(outcomes, seconds=seconds, gated=gated),
        f"summary{suffix}.md": as_markdown(outcomes),
    }
    for name, text in files.items():
        part = out / f".{name}.{os.getpid()}"
        part.write_text(text, encoding="utf-8", newline="\n")
        part.replace(out / name)
