"""Logs of Inspect: ``.eval`` archives and ``.json`` files, finished, stopped or crashed.

One row per sample, epoch and score. The log states counts and metrics, which are computed again with Inspect's own reading
of its letters; the rows keep to what is certain: ``C`` is 1, ``I`` is 0, and ``P`` or any other text is asked about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.errors import plain
from analysis.readers.account import Account, told_apart
from analysis.readers.canonical import Rows
from analysis.readers.choices import APART, SETTINGS_KEY, Again, Choices
from analysis.readers.inspect_file import LOGS, Log, read_log
from analysis.readers.inspect_frame import LETTERS, frame_tables
from analysis.readers.inspect_metrics import Stated, compare
from analysis.readers.pairing import Pairing, content_digest
from analysis.readers.raw import RawTable, cell_text, data_suffix
from analysis.readers.seeds import FOLDERS, SeedFolders, SeedRun, seed_tables
from analysis.readers.values import items, mapping, number, score_cell, text

OF_ANOTHER = frozenset({"stderr", "bootstrap_stderr", "std", "var"})
"""Metrics that measure the spread of another: none is the score of a run (every_eval_ever PR 285)."""

SLICE_WIDTH, MOST_SLICES = 80, 200
OF_THE_MODEL = frozenset({"model_args", "model_generate_config"})


def attempts(paths: Sequence[Path], account: Account) -> Iterator[RawTable]:
    """One row per sample, epoch and score of every log."""
    choices = Choices(account.ask, SETTINGS_KEY, task="task", metric="score")
    pairing = Pairing(account.ask, len(paths))
    for path in paths:
        if data_suffix(path) not in LOGS:
            yield from frame_tables(path, choices, pairing, account)
    own = [path for path in paths if data_suffix(path) in LOGS]
    logs = _latest([log for path in own if (log := read_log(path, account)) is not None], account)
    logs = [log for log in logs if not choices.passes("task", text(log.eval.get("task")))]
    for log in logs:
        for sample in log.samples:
            pairing.saw(log.path, text(log.eval.get("task")), text(sample.get("id")), _digest(sample))
    if again := pairing.again():
        raise Again(again)
    for log, before in _offsets(logs, account):
        _check(log, account)
        yield _rows(log, before, choices, pairing, account)
    for note in pairing.notes(account.named):
        account.note(note)
    account.choose(choices)
    account.close()


def reruns(paths: Sequence[Path], account: Account) -> Iterator[RawTable]:
    """One row per log and stated metric: the final score of one training run, named by its folders."""
    folders = SeedFolders(account.ask)
    runs = []
    for path in paths:
        log = read_log(path, account)
        if log is None:
            continue
        _check(log, account)
        recipe, seed = folders.place(path.parent, path, account)
        own = {"status": "ok", "n_items": str(len({text(sample.get("id")) for sample in log.samples}))}
        held = {
            (text(log.eval.get("task")), one.name): {"score": "" if one.value is None else repr(one.value), **own}
            for one in Stated.all(log.scores)
            if one.metric not in OF_ANOTHER
        }
        reason = "" if held else f"no metric is stated (status {log.status})"
        runs.append(SeedRun(path=path, recipe=recipe, seed=seed, results=held, reason=reason))
    yield from seed_tables(runs, folders, Choices(account.ask, FOLDERS, task="task", metric="metric"), account)


def _latest(logs: Sequence[Log], account: Account) -> list[Log]:
    """Of the logs of one task that was retried the latest that succeeded; the same run in two files is refused."""
    by_task: dict[tuple[str, str], list[Log]] = {}
    for log in logs:
        by_task.setdefault((text(log.eval.get("task_id")) or str(log.path), log.model), []).append(log)
    chosen = []
    for tries in by_task.values():
        last = max(tries, key=lambda log: (log.status == "success", log.created))
        chosen.append(last)
        for other in tries:
            if other is last:
                continue
            same = [text(log.eval.get("eval_id")) or log.created[0] for log in (other, last)]
            if same[0] == same[1]:
                fix = "Give one of them."
                account.fault(other.path, f"is the same run as {account.named(last.path)}", fix)
            else:
                count = f"{len(other.samples):,} samples, status {plain(other.status)}"
                account.note(
                    f"left out: {account.named(other.path)} ({count}), tried again in {account.named(last.path)}"
                )
    return sorted(chosen, key=lambda log: [log is not other for other in logs])


def _offsets(logs: Sequence[Log], account: Account) -> list[tuple[Log, int]]:
    """Every log with the attempts that earlier runs of the same model on the same task made; settings may not differ."""
    arms: dict[tuple[str, str], list[Log]] = {}
    for log in _told_apart(logs) if account.ask.choose.get(SETTINGS_KEY) == APART else logs:
        arms.setdefault((log.model, text(log.eval.get("task"))), []).append(log)
    out = []
    by_task: dict[str, dict[str, dict[str, str]]] = {}
    for (model, task), arm in arms.items():
        own = {name: held for name, held in arm[0].settings().items() if name not in OF_THE_MODEL}
        by_task.setdefault(task, {})[model] = own
        runs = sorted(arm, key=lambda log: log.created)
        before = 0
        for log in runs:
            mine, theirs = runs[0].settings(), log.settings()
            if differ := [name for name in mine if mine[name] != theirs[name]]:
                account.mixed(log.path, f"{model} was run on {task}", runs[0].path, ", ".join(differ))
            out.append((log, before))
            before += log.epochs
    for task, models in by_task.items():
        account.unequal(task, models)
    return out


def _told_apart(logs: Sequence[Log]) -> list[Log]:
    """Every log with what tells its settings from others of its model, in the model's name."""
    runs = [(f"{log.model}\n{text(log.eval.get('task'))}", repr(log.settings()), log.created[0]) for log in logs]
    return [replace(log, apart=apart) for log, apart in zip(logs, told_apart(runs), strict=True)]


def _check(log: Log, account: Account) -> None:
    """What the log states of itself, against what it holds."""
    planned = len(items(mapping(log.eval.get("dataset")).get("sample_ids"))) * log.epochs
    if planned and len(log.samples) < planned:
        what = f"the run was cut short (status {plain(log.status)}): {len(log.samples):,} of {planned:,} attempts are there"
        account.doubt(log.path, what)
    elif not log.whole:
        account.note(f"{account.named(log.path)} has no header: the run crashed, and no metric is stated")
    elif log.status != "success":
        account.note(f"status of {account.named(log.path)}: {plain(log.status)}")
    if log.header.get("invalidated") is True:
        account.doubt(log.path, "somebody marked the log, or a sample of it, as invalid")
    results = mapping(log.header.get("results"))
    account.agree(log.path, "total_samples", number(results.get("total_samples")), len(log.samples))
    compare(log.path, log.scores, log.samples, account)


@dataclass(frozen=True, slots=True)
class _Score:
    """One score of a sample, or one value of a score that has several."""

    scorer: str
    key: str | None = None

    @property
    def name(self) -> str:
        return self.scorer if self.key is None else f"{self.scorer}/{self.key}"

    def of(self, sample: Mapping[str, Any]) -> tuple[Any, bool]:
        """The value, and whether the sample has one of that name."""
        scores = mapping(sample.get("scores"))
        if self.scorer not in scores:
            return None, False
        value = _given(scores[self.scorer])
        if self.key is None:
            return (None, False) if isinstance(value, dict) else (value, True)
        return (value.get(self.key), self.key in value) if isinstance(value, dict) else (None, False)


def _given(score: Any) -> Any:
    """The value of a score, which may stand without its wrapper."""
    return score.get("value") if isinstance(score, dict) else score


def _scores(log: Log, account: Account) -> list[_Score]:
    """The scores of a log; of a score with several values one each, and its own only where it has a value too."""
    split: dict[_Score, None] = {}
    bare: dict[str, bool] = {}
    for sample in log.samples:
        for scorer, score in mapping(sample.get("scores")).items():
            value = _given(score)
            if isinstance(value, dict):
                split |= dict.fromkeys(_Score(scorer, key) for key in value)
            else:
                bare[scorer] = bare.get(scorer, False) or bool(score_cell(value))
    divided = {score.scorer for score in split}
    found = [*split, *(_Score(scorer) for scorer, valued in bare.items() if valued or scorer not in divided)]
    names = [score.name for score in found]
    if twice := {name for name in names if names.count(name) > 1}:
        account.fault(log.path, f"two scores are called {plain(min(twice))}", "Rename one of the scorers.")
    return found or [_Score(text(mapping(score).get("name"))) for score in log.scores] or [_Score("")]


def _slices(log: Log, account: Account) -> frozenset[str]:
    """Keys of metadata that become slices; none where there are too many to be any."""
    keys = {key for sample in log.samples for key in mapping(sample.get("metadata"))}
    if len(keys) > MOST_SLICES:
        account.note(f"metadata of {account.named(log.path)} was left out: {len(keys):,} different keys")
        return frozenset()
    return frozenset(keys)


def _attempt(place: str, sample: Mapping[str, Any], log: Log, before: int, account: Account) -> str:
    epoch = text(sample.get("epoch")) or "1"
    if not (epoch.isascii() and epoch.isdecimal() and len(epoch) < 10):
        account.fault(
            log.path, f"the epoch {plain(repr(epoch), width=60)} is no whole number", "Is the log whole?", place
        )
        return epoch
    return str(before + int(epoch))


def _digest(sample: Mapping[str, Any]) -> str:
    """Digest of what was asked and what was wanted, whatever messages it stands in; nothing where neither is told."""
    asked, wanted = sample.get("input"), sample.get("target")
    parts: list[str] = []
    for message in asked if isinstance(asked, list) else [asked]:
        content = message.get("content") if isinstance(message, dict) else message
        for part in content if isinstance(content, list) else [content]:
            told = part.get("text") if isinstance(part, dict) and part.get("type") == "text" else part
            parts.append(cell_text(told))
    parts += [cell_text(one) for one in (wanted if isinstance(wanted, list) else [wanted])]
    return content_digest(parts)


def _rows(log: Log, before: int, choices: Choices, pairing: Pairing, account: Account) -> RawTable:
    """Every sample under every score that is wanted."""
    rows = Rows(log.path, account.named(log.path))
    task, slices = text(log.eval.get("task")), _slices(log, account)
    scores = _scores(log, account)
    for number_, sample in enumerate(log.samples, start=1):
        place = f"sample {number_}"
        common = _common(place, sample, log, before, account)
        digest = _digest(sample)
        item = pairing.name(log.path, task, text(sample.get("id")), digest)
        common |= {"item_id": f"{task}/{item}" if choices.several("task") else item, "item_hash": digest}
        metadata = mapping(sample.get("metadata"))
        common |= {
            f"slice.{key}": told
            for key in metadata
            if key in slices and len(told := text(metadata[key])) <= SLICE_WIDTH
        }
        error, limit = _words(sample.get("error"), "message"), _words(sample.get("limit"), "type")
        for score in scores:
            value, here = score.of(sample)
            cell = LETTERS.get(value, score_cell(value)) if isinstance(value, str) else score_cell(value)
            choices.saw(task, score.name, score=number(cell))
            if not choices.wants(task, score.name):
                continue
            if isinstance(value, list | dict):
                account.unscorable(log.path, place, score.name, cell)
            lost = "" if cell or error or here else "no score of this name"
            reason = "; ".join(filter(None, [error, f"limit reached: {limit}" if limit else "", lost]))
            status = "scored" if cell else "error" if error else "unscored"
            rows.add(place, common | {"metric": score.name, "value": cell, "status": status, "reason": reason})
    return rows.take(("model", "item_id", "attempt", "metric", "value", "status"))


def _common(place: str, sample: Mapping[str, Any], log: Log, before: int, account: Account) -> dict[str, str]:
    """What a sample says under every score."""
    usage = mapping(mapping(sample.get("model_usage")).get(text(log.eval.get("model"))))
    return {
        "run_id": f"{text(log.eval.get('eval_id')) or text(log.eval.get('task_id'))} {log.model}",
        "model": log.model,
        "task": text(log.eval.get("task")),
        "attempt": _attempt(place, sample, log, before, account),
        "input_tokens": text(usage.get("input_tokens")),
        "output_tokens": text(usage.get("output_tokens")),
        "latency_s": text(sample.get("working_time")) or text(sample.get("total_time")),
    }


def _words(value: Any, key: str) -> str:
    """A text, or that of an object under a key."""
    return text(value.get(key)) if isinstance(value, dict) else text(value)
