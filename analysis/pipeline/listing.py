"""The pages of a site above the reports: the index with its filters, and the page that sets two reports side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.errors import plain
from analysis.pipeline.pages import page
from analysis.pipeline.provenance import EXECUTED
from analysis.present.format import DASH, cell, visible

SUMMARY = "summary.js"
"""What the page of comparisons reads of a report: a script, because a page from disk may fetch nothing."""
_VERDICTS = ("pass", "undecided", "refuse", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One report on the index.

    Attributes
    ----------
    verdict
        ``failed`` for one that could not be made.
    made
        The day, as ``2026-11-30``; empty where it is not known.
    parameters
        ``name=value`` of those that differ from their defaults.
    """

    study: str
    label: str
    verdict: str
    headline: str
    folder: str
    files: tuple[str, ...]
    made: str = ""
    parameters: tuple[str, ...] = ()


def index(entries: Sequence[Entry], stamp: str) -> str:
    """The page that lists all reports; ``stamp`` is what it was made from."""
    return page(
        "index.html.j2",
        style=("html/theme.css", "site/index.css"),
        script=("html/page.js", "site/index.js"),
        entries=entries,
        counts={verdict: sum(entry.verdict == verdict for entry in entries) for verdict in _VERDICTS},
        studies=sorted({entry.study for entry in entries}),
        verdicts=_VERDICTS,
        stamp=stamp,
    )


def comparison(entries: Sequence[Entry]) -> str:
    """The page that sets two reports of the site side by side."""
    made = [entry for entry in entries if entry.verdict != "failed"]
    return page(
        "compare.html.j2",
        style=("html/theme.css", "site/index.css"),
        script=("html/page.js", "site/compare.js"),
        shared_scripts=True,
        entries=made,
    )


def summary(result: Mapping[str, Any], components: Mapping[str, str], inside: str) -> str:
    """A report in short, as the texts that a page shows, in a script that can do nothing but hand them over."""
    held = {
        "study": result["study"],
        "label": visible(result["label"]),
        "verdict": result["gate"]["verdict"],
        "headline": visible(result["headline"]),
        "reason": visible(result["gate"]["reason"]),
        "signature": visible(result["signature"]),
        "clauses": [_clause(check) for check in result["gate"]["checks"]],
        "parameters": _texts(result, "parameters", ("name", "value")),
        "inputs": [[visible(f"{entry.get('name')}: {entry['file']}"), entry["sha256"]] for entry in result["inputs"]],
        "rule": _rule(result["rule"]),
        "layouts": visible(json.dumps(result["layouts"], ensure_ascii=False)),
        "made_from": [[words, str(components.get(name, ""))[:12]] for name, words in EXECUTED.items()],
    }
    return f"gatebookSummary({json.dumps(inside)}, {json.dumps(held)});\n".replace("<", "\\u003c")


def _clause(check: Mapping[str, Any]) -> list[str]:
    observed, limit = (
        cell("number", value) if _is_number(value) else plain(missing if value is None else value)
        for value, missing in ((check.get("observed"), "not measured"), (check.get("limit"), DASH))
    )
    return [visible(str(check.get("name"))), observed, visible(str(check.get("relation"))), limit, check["verdict"]]


def _is_number(value: Any) -> bool:
    """Whether it is a number that a float holds."""
    try:
        return isinstance(value, int | float) and math.isfinite(value)
    except OverflowError:
        return False


def _rule(rule: Mapping[str, Any] | None) -> str:
    return "none" if rule is None else visible(f"{rule['source']} ({rule['sha256'][:12]})")


def _texts(result: Mapping[str, Any], name: str, keys: Sequence[str]) -> list[list[str]]:
    """Some columns of a table as a reader sees them; none where the result has no such table, or another."""
    table = result["tables"].get(name, {"columns": [], "rows": []})
    try:
        kinds = {column["key"]: (i, column["kind"]) for i, column in enumerate(table["columns"])}
        return [[cell(kinds[key][1], row[kinds[key][0]]) for key in keys] for row in table["rows"]]
    except (LookupError, TypeError, ValueError, ArithmeticError):
        return []
