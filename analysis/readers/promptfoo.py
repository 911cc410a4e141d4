"""Results of promptfoo: ``-o out.json`` of versions 2 and 3, and ``-o out.jsonl``.

An item is a test with its variables, told by its content: ``--repeat`` gives every repeat a new index and no name. An arm is
a provider, or a provider with a prompt where several prompts were chosen.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from analysis.errors import Fault, InputError, plain
from analysis.readers.account import Account
from analysis.readers.canonical import Rows
from analysis.readers.choices import Choices
from analysis.readers.json_records import loads
from analysis.readers.lines import text_lines, whole_text
from analysis.readers.pairing import content_digest
from analysis.readers.raw import RawTable, cell_text, data_suffix
from analysis.readers.values import items, mapping, number, record, score_cell, text

ERROR = "2"  # failureReason: 0 none, 1 an assertion, 2 an error
REASON_WIDTH = 400
OWN, NAMED = {"success", "score"}, "named:"  # a named score that is called like promptfoo's own is told apart


def attempts(paths: Sequence[Path], account: Account) -> Iterator[RawTable]:
    """One row per test, provider, prompt, repeat and metric."""
    choices = Choices(account.ask, "copies", prompt="prompt", metric="metric")
    outputs: dict[tuple[str, str, str], list[str]] = {}
    evaluations: dict[str, Path] = {}
    for path in paths:
        held, listed = _read(path, account)
        ids = [text(held.get("evalId")), *(text(mapping(row).get("id")) for _, row in listed)]
        first = next((evaluations[one] for one in ids if one in evaluations), path)
        evaluations |= {one: path for one in ids if one and one not in evaluations}
        if first is not path:
            account.fault(path, f"is the same evaluation as {account.named(first)}", "Give one of them.")
        found = [_Row(place, record(row, account.named(path), place)) for place, row in listed]
        metrics = _metrics(found)
        rows = Rows(path, account.named(path))
        copies = 0
        arms: dict[tuple[str, str], set[str]] = {}
        for row in found:
            arms.setdefault((row.provider, row.prompt), set()).add(text(row.held.get("promptIdx")))
        for (provider, prompt), indices in arms.items():
            if len(indices) > 1:
                what = f"{len(indices)} columns of the output are called {plain(provider)} with the prompt {plain(prompt, width=60)}"
                account.fault(path, what, "Give providers and prompts labels of their own.")
        for row in found:
            before = outputs.setdefault((row.item, row.provider, row.prompt), [])
            copies += row.cached and row.output in before
            before.append(row.output)
            for metric in metrics:
                value = row.value(metric)
                choices.saw(row.prompt, metric, score=number(value))
                if choices.wants(row.prompt, metric):
                    run = text(held.get("evalId")) or account.named(path)
                    arm = f"{row.provider} · {row.prompt}" if choices.several("prompt") else row.provider
                    cells = {"run_id": f"{run} {arm}", "model": arm, "metric": metric, "attempt": str(len(before))}
                    rows.add(row.place, cells | row.cells(value))
        if copies:
            account.copied(
                path, f"{copies} of {len(found)} rows were served from the cache, with the output of an earlier row"
            )
        _compare(path, mapping(held.get("results")), found, account)
        yield rows.take(("model", "item_id", "attempt", "metric", "value", "status"))
    account.choose(choices)
    account.close()


class _Row:
    """One result: a test, a provider, a prompt."""

    def __init__(self, place: str, held: Mapping[str, Any]) -> None:
        self.place, self.held = place, held
        provider, prompt = held.get("provider"), mapping(held.get("prompt"))
        named = mapping(provider)
        self.provider = text(provider) or text(named.get("label")) or text(named.get("id"))
        self.prompt = text(prompt.get("label")) or text(prompt.get("raw")) or text(held.get("promptIdx"))
        self.response = mapping(held.get("response"))
        self.output = cell_text(self.response.get("output", held.get("text")))
        self.cached = self.response.get("cached") is True
        test = mapping(held.get("testCase"))
        content = [held.get("vars") or test.get("vars"), test.get("description"), test.get("assert")]
        self.digest = content_digest([json.dumps(content, sort_keys=True, default=str)])
        self.item = self.digest[:16]
        self.grading = mapping(held.get("gradingResult"))

    @property
    def error(self) -> str:
        """What went wrong before anything could be graded; an assertion that failed is no error."""
        reason = self.held.get("failureReason")
        if text(reason) == ERROR or (reason is None and self.held.get("error") and not self.grading):
            return text(self.held.get("error")) or text(self.response.get("error")) or "error"
        return ""

    @property
    def named(self) -> Mapping[str, Any]:
        """Named scores of the row."""
        return mapping(self.held.get("namedScores"))

    def value(self, metric: str) -> str:
        """The score of a metric; nothing for an error, or where the grader itself failed."""
        if self.error or mapping(self.grading.get("metadata")).get("graderError"):
            return ""
        if (name := metric.removeprefix(NAMED)) in self.named and metric not in OWN:
            return score_cell(self.named[name])
        held = {"success": self.held.get("success", self.held.get("pass")), "score": self.held.get("score")}
        return score_cell(held.get(metric))

    def cells(self, value: str) -> dict[str, str]:
        """What the row says of the attempt; a cached answer has no cost and no time of its own."""
        usage = mapping(self.response.get("tokenUsage"))
        grader = mapping(self.grading.get("metadata")).get("graderError")
        told = (
            {}
            if self.cached
            else {"cost_usd": text(self.held.get("cost")), "latency_s": _seconds(self.held.get("latencyMs"))}
        )
        tokens = {} if self.cached else {"input_tokens": usage.get("prompt"), "output_tokens": usage.get("completion")}
        reason = self.error or ("" if not grader else f"the grader failed: {cell_text(grader)}")
        return {
            "item_id": self.item,
            "item_hash": self.digest,
            "value": value,
            "status": "error" if self.error else "scored" if value else "unscored",
            "reason": reason[:REASON_WIDTH],
            "output_chars": "" if self.error else str(len(self.output)),
            **{name: text(count) for name, count in tokens.items()},
            **told,
        }


def _read(path: Path, account: Account) -> tuple[Mapping[str, Any], list[tuple[str, Any]]]:
    """What surrounds the rows, and every row with its place."""
    with account.opened(path) as data:
        if data_suffix(path) in {".jsonl", ".ndjson"}:
            lines = [(f"line {count}", line) for count, line in text_lines(data) if line.strip()]
            return {}, [(place, loads(path, line, place)) for place, line in lines]
        held = loads(path, whole_text(data))
    if not isinstance(held, dict) or not isinstance(held.get("results"), dict):
        account.fault(path, "is no output of promptfoo", "It has no object `results`. Write it with -o out.json.")
        return {}, []
    results = held["results"]
    rows = items(results.get("results")) or list(_from_table(mapping(results.get("table")), account.named(path)))
    return held, [(f"row {i}", row) for i, row in enumerate(rows, start=1)]


def _from_table(table: Mapping[str, Any], file: str) -> Iterator[dict[str, Any]]:
    """Rows of version 2, where a line of the body holds one output per prompt and provider."""
    head = mapping(table.get("head"))
    names = [text(name) for name in items(head.get("vars"))]
    prompts = [mapping(prompt) for prompt in items(head.get("prompts"))]
    for line in map(mapping, items(table.get("body"))):
        variables = dict(zip(names, items(line.get("vars")), strict=False))
        outputs = items(line.get("outputs"))
        if len(outputs) != len(prompts):
            what = f"{len(outputs)} outputs stand in a line of the table where its head has {len(prompts)} prompts"
            raise InputError(Fault(file=file, what=what, fix="The file may be cut short."))
        for prompt, output in zip(prompts, map(mapping, outputs), strict=True):
            provider = prompt.get("provider") or output.get("provider")
            yield {"vars": variables, "testCase": line.get("test"), "prompt": prompt, "provider": provider} | dict(
                output
            )


def _metrics(rows: Sequence[_Row]) -> list[str]:
    """Pass or fail alone where every score says the same; else the score and the named scores too."""
    found = dict.fromkeys(name for row in rows for name in row.named)
    named = [f"{NAMED}{name}" if name in OWN else name for name in found]
    same = all(number(row.value("score")) in {None, number(row.value("success"))} for row in rows)
    return ["success", *([] if same and not named else ["score"]), *named]


def _compare(path: Path, results: Mapping[str, Any], rows: Sequence[_Row], account: Account) -> None:
    """Counts that the file states, over all rows and by prompt."""

    def counts(some: Sequence[_Row]) -> dict[str, int]:
        tally = Counter(
            "errors"
            if row.error
            else "successes"
            if row.held.get("success", row.held.get("pass")) is True
            else "failures"
            for row in some
        )
        return {name: tally[name] for name in ("successes", "failures", "errors")}

    stats = mapping(results.get("stats"))
    for name, count in counts(rows).items():
        account.agree(path, name, number(stats.get(name)), count)
    stated = items(results.get("prompts")) or items(mapping(mapping(results.get("table")).get("head")).get("prompts"))
    keys = {"successes": "testPassCount", "failures": "testFailCount", "errors": "testErrorCount"}
    for index, prompt in enumerate(map(mapping, stated)):
        some = [row for row in rows if text(row.held.get("promptIdx")) == str(index)]
        for name, count in counts(some).items() if some else ():
            account.agree(path, name, number(mapping(prompt.get("metrics")).get(keys[name])), count, f"prompt {index}")


def _seconds(milliseconds: Any) -> str:
    try:
        return str(Decimal(text(milliseconds)) / 1000)
    except ArithmeticError:
        return ""
