"""Verdicts of judges on pairs of answers: alpaca_eval, FastChat's MT-bench, arena-hard; and FastChat's single scores.

A is always the baseline and B the candidate, whatever their places were. A judge that failed is a row: ``fail``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.errors import plain
from analysis.readers.account import Account
from analysis.readers.canonical import Rows
from analysis.readers.choices import Choices
from analysis.readers.json_records import loads
from analysis.readers.lines import text_lines, whole_text
from analysis.readers.pairing import content_digest
from analysis.readers.raw import STRETCH, RawTable, cell_text, data_suffix
from analysis.readers.values import items, number, record, score_cell, text
from analysis.schema import is_missing

COLUMNS = ("item_id", "order", "winner", "judge")
PREFERRED: dict[float | None, str] = {1.0: "a", 2.0: "b", 1.5: "tie", 0.0: "tie"}
LABELS = {"A>>B": "first", "A>B": "first", "A=B": "tie", "B=A": "tie", "B>A": "second", "B>>A": "second"}


def alpaca_eval(paths: Sequence[Path], account: Account) -> Iterator[RawTable]:
    """One row per annotation. ``preference`` is 1 for the first output, 2 for the second, 1.5 or 0 for a tie."""
    choices = Choices(account.ask, judge="judge", baseline="baseline", candidate="candidate")
    graded = 0
    for path in paths:
        rows = Rows(path, account.named(path))
        for place, held in _records(path, account):
            preference = held.get("preference")
            score = None if isinstance(preference, bool) else number(preference)
            judge, a, b = (text(held.get(name)) for name in ("annotator", "generator_1", "generator_2"))
            _named_both(account, path, place, a, b)
            choices.saw(judge, a, b, score=score)
            if not choices.wants(judge, a, b):
                continue
            graded += score is not None and score not in PREFERRED
            failed = not isinstance(preference, bool) and is_missing(cell_text(preference))
            cells = {
                "item_id": content_digest([text(held.get("dataset")), text(held.get("instruction"))])[:16],
                "order": "AB",
                "winner": "fail" if failed else PREFERRED.get(score, cell_text(preference)),
                "judge": judge,
                "model_a": a,
                "model_b": b,
                "len_a": str(len(text(held.get("output_1")))),
                "len_b": str(len(text(held.get("output_2")))),
                "reason": "the judge gave no preference" if failed else "",
                "slice.dataset": text(held.get("dataset")),
            }
            rows.add(place, cells)
            if len(rows) >= STRETCH:
                yield rows.take(COLUMNS)
        yield rows.take(COLUMNS)
        if graded:
            what = f"{graded:,} preferences lie between 1 and 2: they are grades, not verdicts"
            account.fault(path, what, "Read them as scores: format: tabular, columns: {value: preference} in -f.")
    account.note("alpaca_eval draws which answer is shown first and does not log it: position is not controlled")
    account.choose(choices)
    account.close()


def fastchat_pair(paths: Sequence[Path], account: Account) -> Iterator[RawTable]:
    """Two rows per record: the game with the first model shown first, and the game with the places swapped."""
    choices = Choices(account.ask, judge="judge", baseline="baseline", candidate="candidate")
    for path in paths:
        rows = Rows(path, account.named(path))
        for place, held in _records(path, account):
            models = (text(held.get("model_1")), text(held.get("model_2")))
            judge, item = _judge(held.get("judge")), text(held.get("question_id"))
            _named_both(account, path, place, *models)
            chosen = account.ask.choose
            swapped = models[1] in _listed(chosen.get("baseline")) or models[0] in _listed(chosen.get("candidate"))
            a, b = models[::-1] if swapped else models
            choices.saw(judge, a, b, score=None)
            if not {"baseline", "candidate"} & set(chosen):
                choices.saw(judge, b, a, score=None)  # either may be the baseline: that is asked
            if not choices.wants(judge, a, b):
                continue
            sides = {
                "model_1": "b" if swapped else "a",
                "model_2": "a" if swapped else "b",
                "error": "fail",
                "": "fail",
            }
            for game, first in (("g1_winner", models[0]), ("g2_winner", models[1])):
                if game not in held:
                    continue
                winner = cell_text(held[game])
                verdict = sides.get(winner, winner)
                cells = {
                    "item_id": _turn(item, held),
                    "order": "AB" if first == a else "BA",
                    "winner": verdict,
                    "judge": judge,
                    "model_a": a,
                    "model_b": b,
                    "cluster": item,
                    "reason": "the judge's answer held no verdict" if verdict == "fail" else "",
                }
                rows.add(f"{place}, {game}", cells)
            if len(rows) >= STRETCH:
                yield rows.take(COLUMNS)
        yield rows.take(COLUMNS)
    account.choose(choices)
    account.close()


def fastchat_single(paths: Sequence[Path], account: Account) -> Iterator[RawTable]:
    """One row per model, question and turn; a score of −1 is a judge that gave none."""
    choices = Choices(account.ask, judge="judge")
    failed: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    for path in paths:
        rows = Rows(path, account.named(path))
        for place, held in _records(path, account):
            judge, model, item = _judge(held.get("judge")), text(held.get("model")), text(held.get("question_id"))
            lost = number(held.get("score")) == -1
            value = "" if lost else score_cell(held.get("score"))
            choices.saw(judge, score=number(value))
            if not choices.wants(judge):
                continue
            seen[model] += 1
            failed[model] += lost
            cells = {
                "model": model,
                "item_id": _turn(item, held),
                "metric": "score",
                "scorer": judge,
                "value": value,
                "status": "scored" if value else "unscored",
                "reason": "the judge's answer held no score" if lost else "",
                "cluster": item,
            }
            rows.add(place, cells)
            if len(rows) >= STRETCH:
                yield rows.take(("model", "item_id", "value", "status"))
        yield rows.take(("model", "item_id", "value", "status"))
    if failed.total():
        parts = ", ".join(f"{plain(model, width=60)} {failed[model]} of {seen[model]}" for model in sorted(seen))
        account.note(f"judge failures: {parts}")
    account.choose(choices)
    account.close()


def arena_hard(paths: Sequence[Path], account: Account) -> Iterator[RawTable]:
    """One row per game: the baseline stands first in the first game and second in the second. ``>>`` counts once, as ``>``."""
    choices = Choices(account.ask, judge="judge", baseline="baseline", candidate="candidate")
    for path in paths:
        rows = Rows(path, account.named(path))
        for place, held in _records(path, account):
            judge = _judge(held.get("judge")) or path.parent.name
            a, b = text(held.get("baseline")) or "baseline", text(held.get("model"))
            choices.saw(judge, a, b, score=None)
            if not choices.wants(judge, a, b):
                continue
            _named_both(account, path, place, a, b)
            if not items(held.get("games")):
                account.fault(path, "the record holds no games", "The file may be cut short.", place)
            for index, given in enumerate(items(held.get("games"))):
                game = record(given, account.named(path), f"{place}, game {index + 1}")
                label = cell_text(game.get("score"))
                place_won = LABELS.get(label, "")
                sides = (
                    {"first": "a", "second": "b", "tie": "tie"}
                    if index == 0
                    else {"first": "b", "second": "a", "tie": "tie"}
                )
                cells = {
                    "item_id": text(held.get("uid")) or text(held.get("question_id")),
                    "order": "AB" if index == 0 else "BA",
                    "winner": sides.get(place_won, label or "fail"),
                    "judge": judge,
                    "model_a": a,
                    "model_b": b,
                    "reason": "" if label else "the judge's answer held no verdict",
                    "slice.category": text(held.get("category")),
                }
                rows.add(f"{place}, game {index + 1}", cells)
            if len(rows) >= STRETCH:
                yield rows.take(COLUMNS)
        yield rows.take(COLUMNS)
    account.choose(choices)
    account.close()


def _records(path: Path, account: Account) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Objects of a JSON list, or one a line."""
    with account.opened(path) as data:
        if data_suffix(path) == ".json":
            for i, held in enumerate(items(loads(path, whole_text(data))), start=1):
                yield f"record {i}", record(held, account.named(path), f"record {i}")
            return
        for count, line in text_lines(data):
            if line.strip():
                yield f"line {count}", record(loads(path, line, f"line {count}"), account.named(path), f"line {count}")


def _named_both(account: Account, path: Path, place: str, a: str, b: str) -> None:
    if not a or not b:
        account.fault(path, "the record does not name both models", "The file may be cut short.", place)


def _listed(chosen: str | Sequence[str] | None) -> Sequence[str]:
    return [chosen] if isinstance(chosen, str) else chosen or ()


def _judge(value: Any) -> str:
    """A judge's name; FastChat writes it in a list with that of the prompt, which goes by the question and the turn."""
    return text(value[0]) if isinstance(value, list) and value else text(value)


def _turn(item: str, held: Mapping[str, Any]) -> str:
    turn = text(held.get("turn"))
    return f"{item}/turn {turn}" if turn else item
