"""Logs of EleutherAI's lm-evaluation-harness: ``samples_*.jsonl`` beside ``results_*.json``.

A samples file holds one object per document and filter, with one key per metric. The results file of the same run names the
model and states means and counts, which are computed again.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.errors import plain
from analysis.readers.account import Account, told_apart
from analysis.readers.canonical import Rows
from analysis.readers.choices import APART, SETTINGS_KEY, Again, Choices
from analysis.readers.files import DataFile
from analysis.readers.json_records import loads
from analysis.readers.lines import text_lines, whole_text
from analysis.readers.pairing import Pairing
from analysis.readers.raw import STRETCH, RawTable, cell_text, data_suffix, stem
from analysis.readers.seeds import FOLDERS, SeedFolders, SeedRun, seed_tables
from analysis.readers.values import items, mapping, number, record, score_cell, text

NO_METRIC = frozenset(
    [
        "doc_id",
        "doc",
        "target",
        "arguments",
        "resps",
        "filtered_resps",
        "filter",
        "metrics",
        "doc_hash",
        "prompt_hash",
        "target_hash",
        "task_name",
    ]
)
AVERAGED = frozenset(["acc", "acc_norm", "exact_match", "em", "acc_all", "acc_mutual_info"])
"""Metrics that are means over documents where the results do not say how they were aggregated."""

SAMPLES = (".jsonl", ".ndjson")
OF_THE_MODEL = frozenset({"model", "model_args"})
SETTINGS = ("model", "model_args", "limit", "gen_kwargs", "num_fewshot")
DATED = re.compile(r"_(\d{4}-\d\d-\d\dT[\d-]+(?:\.\d+)?)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """A results file: what it says of one run."""

    path: Path
    date: str
    held: Mapping[str, Any]

    @property
    def model(self) -> str:
        """The model's name among its arguments; where there is none the harness draws one at random, so that is the last."""
        config = mapping(self.held.get("config"))
        return _argument(config.get("model_args")) or text(config.get("model")) or text(self.held.get("model_name"))

    def of(self, section: str, task: str) -> Any:
        """What a section says of a task."""
        return mapping(self.held.get(section)).get(task)

    def means(self, task: str) -> Iterator[tuple[str, str, Any]]:
        """Metric, filter and value of every aggregate; before 0.4 there was no filter in the key."""
        for key, value in mapping(self.of("results", task)).items():
            metric, _, kept = key.partition(",")
            if is_metric(metric):
                yield metric, kept or "none", value

    def settings(self, task: str) -> dict[str, str]:
        """What must not vary between the runs of one model; seeds may."""
        config = mapping(self.held.get("config"))
        found = {name: cell_text(_without_seeds(config.get(name))) for name in SETTINGS}
        found |= {name: cell_text(self.of(name, task)) for name in ("n-shot", "versions")}
        found["chat_template_sha"] = cell_text(self.held.get("chat_template_sha"))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """A samples file, with the results of its run where they are there; ``attempt`` numbers the runs of a model.

    ``apart`` tells its settings from others of the same model, where they are to be arms of their own.
    """

    path: Path
    task: str
    date: str
    results: Results | None
    attempt: int = 1
    apart: str = ""

    @property
    def run(self) -> str:
        """What tells this run from any other; no two models share one."""
        return f"{self.arm} {self.date}".strip()

    @property
    def arm(self) -> str:
        """The model; without results nobody says which it is, and the file stands for itself."""
        own = self.results.model if self.results else f"{self.path.parent.name}/{self.path.name}"
        return f"{own} {self.apart}" if self.apart else own


def is_metric(name: str) -> bool:
    """Whether a key of a sample or of the results is a metric; a standard error never is one (every_eval_ever PR 285)."""
    return not (
        name in NO_METRIC or name.endswith("_stderr") or name in {"alias", "sample_len", "sample_count", "name", " "}
    )


def is_samples(path: Path) -> bool:
    """Whether a file is called as the harness calls its samples, whatever it holds."""
    return path.name.startswith("samples_") and data_suffix(path) in SAMPLES


def attempts(paths: Sequence[Path], account: Account) -> Iterator[RawTable]:
    """One row per document, filter and metric of every run."""
    results, samples = _parted(paths, account)
    if not samples:
        for found in results:
            account.fault(found.path, "holds means, no samples", "Run with --log_samples; give samples_*.jsonl too.")
    choices = Choices(account.ask, "copies", SETTINGS_KEY, task="task", filter="filter", metric="metric")
    found_samples = [_samples(path, results) for path in samples]
    files = _numbered([file for file in found_samples if not choices.passes("task", file.task)], account)
    pairing = Pairing(account.ask, len(files))
    answers: dict[tuple[str, str, int], str] = {}
    for file in files:
        run = _Run(file, choices, pairing)
        yield from run.tables(account)
        run.compare(account)
        if not run.sums:
            fix = "The run may have crashed: run it again, or leave the file out."
            account.fault(file.path, "holds no samples", fix)
        key = (file.arm, file.task, run.answers)
        if key in answers and run.sums:
            account.copied(file.path, f"{answers[key]} holds the same answers to every document")
        answers.setdefault(key, account.named(file.path))
    account.choose(choices)
    if (again := pairing.again()) and not account.faults:
        raise Again(again)
    for note in pairing.notes(account.named):
        account.note(note)
    used = {file.results.path for file in files if file.results}
    for found in results:
        if found.path not in used:
            account.note(f"{account.named(found.path)} has no samples here; nothing of it is used")
    account.close()


def reruns(paths: Sequence[Path], account: Account) -> Iterator[RawTable]:
    """One row per results file, task and metric: the final score of one training run, named by its folders."""
    results, _ = _parted(paths, account)
    folders = SeedFolders(account.ask)
    runs = []
    for found in results:
        folder = found.path.parent
        if folder.name == text(found.held.get("model_name_sanitized")):
            folder = folder.parent  # the harness makes a folder of the model's name inside the given one
        recipe, seed = folders.place(folder, found.path, account)
        held = {}
        for task in mapping(found.held.get("results")):
            settings = {name: value for name, value in found.settings(task).items() if name != "model_args"}
            own = {"status": "ok", "config": hashlib.sha256(repr(settings).encode()).hexdigest()[:12]}
            own |= {"n_items": text(mapping(found.of("n-samples", task)).get("effective")), "run_id": found.date}
            for metric, kept, value in found.means(task):
                name = metric if kept == "none" else f"{metric},{kept}"
                held[task, name] = {"score": score_cell(value), **own}
        runs.append(SeedRun(path=found.path, recipe=recipe, seed=seed, results=held))
    yield from seed_tables(runs, folders, Choices(account.ask, FOLDERS, task="task", metric="metric"), account)


class _Run:
    """The rows of one samples file, and what was counted on the way."""

    def __init__(self, file: Samples, choices: Choices, pairing: Pairing) -> None:
        self.file, self.choices, self.pairing = file, choices, pairing
        self.sums: dict[tuple[str, str], list[float]] = {}  # (metric, filter) -> rows with a number, their sum
        self.documents: Counter[str] = Counter()  # filter -> rows with a metric
        self.answers = 0
        self.bare = ""  # place of the first sample without a metric

    def tables(self, account: Account) -> Iterator[RawTable]:
        rows = Rows(self.file.path, account.named(self.file.path))
        columns = ("item_id", "attempt", "metric", "value", "status", *(("model",) if self.file.results else ()))
        with account.opened(self.file.path) as data:
            for place, sample in _records(data):
                self._add(place, record(sample, account.named(self.file.path), place), rows, account)
                if len(rows) >= STRETCH:
                    yield rows.take(columns)
        yield rows.take(columns)

    def _add(self, place: str, sample: Mapping[str, Any], rows: Rows, account: Account) -> None:
        file = self.file
        kept = text(sample.get("filter")) or "none"
        document, digest = text(sample.get("doc_id")), text(sample.get("doc_hash"))
        if not document:
            account.fault(file.path, "the sample has no doc_id", "The line may be cut short.", place)
        if account.ask.contents and not digest:
            what = "ids do not agree between the files, and this sample has no doc_hash"
            account.fault(file.path, what, "Log it with a newer harness, or leave the file out.", place)
        self.pairing.saw(file.path, file.task, document, digest)
        stated = sample.get("metrics")
        names = [text(name) for name in stated] if isinstance(stated, list) else [n for n in sample if is_metric(n)]
        if names:
            self.documents[kept] += 1
        answer = cell_text(sample.get("resps", sample.get("filtered_resps")))
        told = (digest or document, kept, answer, *(cell_text(sample.get(name)) for name in names))
        self.answers = (self.answers + hash(told)) % 2**64  # whatever the order of the lines
        if not names:
            self.bare = self.bare or place
        item = self.pairing.name(file.path, file.task, document, digest)
        if self.choices.several("task"):
            item = f"{file.task}/{item}"
        for name in names or [""]:
            value = sample.get(name) if name else None
            held = self.sums.setdefault((name, kept), [0, 0.0])
            if (score := number(value)) is not None:
                held[0], held[1] = held[0] + 1, held[1] + score
            self.choices.saw(file.task, kept, name, score=score)
            if not self.choices.wants(file.task, kept, name):
                continue
            cell = score_cell(value)
            if isinstance(value, list | dict):
                account.unscorable(file.path, place, name, cell)
            cells = {
                "run_id": file.run,
                "model": file.arm if file.results else "",
                "task": file.task,
                "item_id": item,
                "attempt": str(file.attempt),
                "metric": name if kept == "none" or not name else f"{name},{kept}",
                "value": cell,
                "status": "scored" if cell else "unscored",
                "reason": "" if name else "the sample has no metric",
                "output_chars": _length(sample.get("resps")),
                "item_hash": digest,
                "prompt_hash": text(sample.get("prompt_hash")),
                "better": self._better(name),
            }
            rows.add(place, cells)

    def _better(self, metric: str) -> str:
        """Which way is better, where the results say that it is down."""
        stated = mapping(self.file.results.of("higher_is_better", self.file.task)) if self.file.results else {}
        return "lower" if stated.get(metric) is False else ""

    def compare(self, account: Account) -> None:
        """Means and counts that the results state, computed again."""
        if self.bare and any(name for name, _ in self.sums):
            fix = "The file may be cut short; give one in which every sample was scored alike."
            account.fault(self.file.path, "the sample has no metric, where others have one", fix, self.bare)
        found = self.file.results
        if found is None or not self.documents:
            return
        path, task = found.path, self.file.task
        effective = number(mapping(found.of("n-samples", task)).get("effective"))
        for kept, rows in self.documents.items():
            account.agree(path, "n-samples", effective, rows, f"{plain(task)} ({plain(kept)})")
        config = mapping(found.of("configs", task))
        aggregated = {
            text(m.get("metric")): text(m.get("aggregation")) for m in map(mapping, items(config.get("metric_list")))
        }
        for metric, kept, value in found.means(task):
            averaged = aggregated.get(metric, "mean" if metric in AVERAGED else "") == "mean"
            if (metric, kept) in self.sums and averaged and number(value) is not None:
                count, total = self.sums[metric, kept]
                name = metric if kept == "none" else f"{metric},{kept}"
                account.agree(path, plain(name), number(value), total / count if count else None, plain(task))
            elif number(value) is not None:
                account.note(f"{plain(metric)} of {plain(task)} is stated and not computed again: it is no plain mean")
        self._say(config, account)

    def _say(self, config: Mapping[str, Any], account: Account) -> None:
        assert self.file.results is not None  # noqa: S101
        limit = text(mapping(self.file.results.held.get("config")).get("limit"))
        if limit:
            account.note(f"limit {plain(limit)}: the first documents of {plain(self.file.task)}, not a random sample")
        repeats = number(config.get("repeats"))
        if repeats and repeats > 1:
            account.note(f"repeats {repeats:g}: the log holds the score of one answer per document, not of each repeat")


def _parted(paths: Sequence[Path], account: Account) -> tuple[list[Results], list[Path]]:
    """Results files, parsed, and samples files."""
    results, samples = [], []
    for path in paths:
        if data_suffix(path) in SAMPLES:
            samples.append(path)
            continue
        with account.opened(path) as data:
            held = loads(path, whole_text(data))
        if isinstance(held, dict) and isinstance(held.get("results"), dict):
            results.append(Results(path=path, date=_date(path), held=held))
        else:
            account.fault(path, "is no results file of lm-evaluation-harness", "It has no object `results`.")
    return results, samples


def _samples(path: Path, results: Sequence[Results]) -> Samples:
    """The samples file with the results of the same folder and date, or of the only run in its folder."""
    date = _date(path)
    beside = [found for found in results if found.path.parent == path.parent]
    dated = [found for found in beside if found.date and date]  # two dates that differ are two runs
    same = [found for found in beside if found.date == date] or (beside if len(beside) == 1 and not dated else [])
    run = same[0] if len(same) == 1 else None
    name = DATED.sub("", stem(path)).removeprefix("samples_")
    known = list(mapping(run.held.get("results"))) if run else []
    fitting = [task for task in known if name == task or name.endswith(f"_{task}")]  # old names begin with the model
    return Samples(path=path, task=max(fitting, key=len, default=name), date=date, results=run)


def _numbered(files: Sequence[Samples], account: Account) -> list[Samples]:
    """The runs of one model on one task numbered by date; their settings may not differ, unless they are arms of their own."""
    out: list[Samples] = []
    by_task: dict[str, dict[str, dict[str, str]]] = {}
    arms: dict[tuple[str, str], list[Samples]] = {}
    for file in _told_apart(files) if account.ask.choose.get(SETTINGS_KEY) == APART else files:
        arms.setdefault((file.arm, file.task), []).append(file)
    for (model, task), arm in arms.items():
        runs = sorted(arm, key=lambda file: (file.date, str(file.path.resolve())))
        first = runs[0].results
        for other in (run.results for run in runs[1:]):
            if first is None or other is None:
                continue
            mine, theirs = first.settings(task), other.settings(task)
            differ = [f"{k} {mine[k] or 'none'} and {theirs[k] or 'none'}" for k in mine if mine[k] != theirs[k]]
            if differ:
                account.mixed(other.path, f"{model} was run on {task}", first.path, "; ".join(differ))
        out += [replace(file, attempt=number) for number, file in enumerate(runs, start=1)]
        if first is not None:
            own = {name: held for name, held in first.settings(task).items() if name not in OF_THE_MODEL}
            by_task.setdefault(task, {})[model] = own
    for task, models in by_task.items():
        account.unequal(task, models)
    return out


def _told_apart(files: Sequence[Samples]) -> list[Samples]:
    """Every file with what tells its settings from others of its model."""
    settings = [repr(file.results.settings(file.task)) if file.results else "" for file in files]
    runs = [(f"{file.arm}\n{file.task}", held, file.date) for file, held in zip(files, settings, strict=True)]
    return [replace(file, apart=apart) for file, apart in zip(files, told_apart(runs), strict=True)]


def _records(data: DataFile) -> Iterator[tuple[str, Any]]:
    """Place and sample of every line; harness 0.4.0 wrote one JSON list under the same suffix."""
    lines = text_lines(data)
    for count, line in lines:
        if count == 1 and line.lstrip().startswith("["):
            listed = loads(data.path, line + "".join(more for _, more in lines))
            yield from ((f"record {i}", sample) for i, sample in enumerate(listed, start=1))
        elif line.strip():
            yield f"line {count}", loads(data.path, line, f"line {count}")


def _date(path: Path) -> str:
    found = DATED.search(stem(path))
    return found.group(1) if found else ""


def _argument(arguments: Any) -> str:
    """The model's name among ``model_args``, an object or ``pretrained=x,dtype=y``."""
    if isinstance(arguments, str):
        arguments = dict(part.partition("=")[::2] for part in arguments.split(","))
    names = ("peft", "delta", "pretrained", "model", "path", "engine")
    return next((text(mapping(arguments)[name]) for name in names if mapping(arguments).get(name)), "")


def _without_seeds(arguments: Any) -> Any:
    if isinstance(arguments, str):
        return ",".join(part for part in arguments.split(",") if "seed" not in part.partition("=")[0])
    return (
        {key: held for key, held in arguments.items() if "seed" not in key}
        if isinstance(arguments, dict)
        else arguments
    )


def _length(responses: Any) -> str:
    """Characters of the first answer, where it is text and no log-likelihood."""
    for _ in range(2):
        responses = responses[0] if isinstance(responses, list) and responses else None
    return str(len(responses)) if isinstance(responses, str) else ""
