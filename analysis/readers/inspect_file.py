"""A log of Inspect as it lies on disk: an ``.eval`` archive or a ``.json`` file, finished, stopped or crashed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.errors import plain
from analysis.readers.account import Account
from analysis.readers.inspect_zip import Container
from analysis.readers.json_records import loads
from analysis.readers.lines import whole_text
from analysis.readers.raw import cell_text, data_suffix
from analysis.readers.values import items, mapping, number, record, text

LOGS = frozenset({".eval", ".json"})
JOURNAL = re.compile(r"_journal/summaries/(\d{1,9})\.json")
SAMPLE = re.compile(r"samples/.+_epoch_\d+\.json", re.DOTALL)
EDITED = re.compile(r'(?<!\\)"history"\s*:\s*\[\s*\{')
ASKED = ("input", "target")
CUT = "...\n(content truncated)"
NO_TEXT = re.compile(r"\((Image|Audio|Video|Data|Document|Reasoning|Tool_use|Tooluse)\)", re.IGNORECASE)
"""How summaries stand for a text beyond 5,120 characters, and for a part that is no text (inspect_ai 0.3.285)."""

WHOLE_LIMIT = 1 << 30  # bytes of samples that are read for their inputs
EDITS_LIMIT = 64 << 20  # bytes of samples that are looked through for edited scores
MOST_EPOCHS = 1_000_000
SETTINGS = (
    "task_version",
    "task_args",
    "solver",
    "solver_args",
    "dataset",
    "model_args",
    "model_generate_config",
    "config",
)
NO_SETTING = re.compile(
    r"seed$|^sample_ids$|shuffle|^log_|^max_(samples|tasks|subprocesses|sandboxes)$|^score_display$|^sandbox_cleanup$|^epochs|on_error$|on_fail$"
)
"""What may differ between the runs of one model: seeds, order, how many runs at once, what is logged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """One log: its header and one record per sample and epoch."""

    path: Path
    header: Mapping[str, Any]
    samples: Sequence[Mapping[str, Any]]
    whole: bool
    apart: str = ""  # tells its settings from others of the same model, where they are to be arms of their own

    @property
    def eval(self) -> Mapping[str, Any]:
        """What was run."""
        return mapping(self.header.get("eval"))

    @property
    def status(self) -> str:
        """``started success cancelled error``; a log without its header was never finished."""
        return text(self.header.get("status")) or "started"

    @property
    def model(self) -> str:
        """The model that was evaluated."""
        return f"{text(self.eval.get('model'))} {self.apart}".strip()

    @property
    def created(self) -> tuple[str, str]:
        """Sorting key by time."""
        return text(self.eval.get("created")), str(self.path.resolve())

    @property
    def scores(self) -> Sequence[Any]:
        """The scores that the header states."""
        return items(mapping(self.header.get("results")).get("scores"))

    @property
    def epochs(self) -> int:
        """Attempts at every sample."""
        stated = number(mapping(self.eval.get("config")).get("epochs"))
        seen = (number(sample.get("epoch")) for sample in self.samples)
        return int(min(max((held for held in (stated, *seen) if held), default=1), MOST_EPOCHS))

    def settings(self) -> dict[str, str]:
        """What must not vary between the runs of one model; seeds may."""
        held = {name: self.eval.get(name) for name in SETTINGS} | {"plan": self.header.get("plan")}
        return {name: cell_text(_settings(value)) for name, value in held.items()}


def read_log(path: Path, account: Account) -> Log | None:
    """A log from its file; None, with a fault, when it is none."""
    with account.opened(path) as data:
        if data_suffix(path) == ".eval":
            return _from_archive(path, Container(data), account)
        held = loads(path, whole_text(data))
    if not isinstance(held, dict) or not isinstance(held.get("eval"), dict):
        account.fault(path, "is no log of Inspect", "It has no object `eval`.")
        return None
    samples = [
        record(sample, account.named(path), f"sample {i}")
        for i, sample in enumerate(items(held.get("samples")), start=1)
    ]
    header = {name: value for name, value in held.items() if name != "samples"}
    edited = sum(
        bool(items(mapping(score).get("history"))) for s in samples for score in mapping(s.get("scores")).values()
    )
    _say_edited(path, edited, account)
    return Log(path=path, header=header, samples=samples or _reduced(path, header, account), whole=True)


def _from_archive(path: Path, archive: Container, account: Account) -> Log:
    """The cheap way first: the header and the summaries; what a crash left out comes from the journal."""

    def parsed(name: str) -> Any:
        return loads(path, archive.read(name), plain(name))

    names = list(archive.members)
    whole = "header.json" in archive.members
    start = next((name for name in ("header.json", "_journal/start.json") if name in archive.members), None)
    if start is None:
        account.fault(path, "holds neither header.json nor _journal/start.json", "Is it a log of Inspect?")
    header = record(parsed(start), account.named(path), start) if start else {}
    members = [name for name in names if SAMPLE.fullmatch(name)]
    if "summaries.json" in archive.members:
        found = [("summaries.json", parsed("summaries.json"))]
    else:
        pieces = sorted((int(match.group(1)), name) for name in names if (match := JOURNAL.fullmatch(name)))
        found = [(name, parsed(name)) for _, name in pieces] or [(name, [parsed(name)]) for name in members]
    samples = [record(one, account.named(path), plain(name)) for name, listed in found for one in items(listed)]
    samples = _with_whole_inputs(path, samples, members, archive, account)
    chunked = any(name.startswith("samples/") and not SAMPLE.fullmatch(name) for name in names)
    if not chunked:
        account.agree(path, "samples", len(members), len(samples))
    if sum(archive.members[name].file_size for name in members) <= EDITS_LIMIT:
        held = [mapping(parsed(name)) for name in members if EDITED.search(archive.read(name))]
        edits = [items(mapping(score).get("history")) for s in held for score in mapping(s.get("scores")).values()]
        _say_edited(path, sum(map(bool, edits)), account)
    else:
        account.note(f"{account.named(path)} was not looked through for edited scores: its samples are large")
    return Log(path=path, header=header, samples=samples, whole=whole)


def _with_whole_inputs(
    path: Path, samples: Sequence[Mapping[str, Any]], members: Sequence[str], archive: Container, account: Account
) -> list[Mapping[str, Any]]:
    """The summaries with their inputs whole: where a summary cut one, or holds no picture, it comes from the sample itself."""
    if not any(map(_is_short, samples)):
        return list(samples)
    if sum(archive.members[name].file_size for name in members) > WHOLE_LIMIT:
        account.note(
            f"inputs of {account.named(path)} are cut in its summaries: its items are paired by id, unverified"
        )
        return [_untold(sample) if _is_short(sample) else sample for sample in samples]
    whole: dict[tuple[str, str], Mapping[str, Any]] = {}
    for name in members:
        held = mapping(loads(path, archive.read(name), plain(name)))
        whole[text(held.get("id")), text(held.get("epoch"))] = {key: held.get(key) for key in ASKED}
    found = [whole.get((text(sample.get("id")), text(sample.get("epoch")))) for sample in samples]
    return [
        {**sample, **own} if own else _untold(sample) if _is_short(sample) else sample
        for sample, own in zip(samples, found, strict=True)
    ]


def _is_short(sample: Mapping[str, Any]) -> bool:
    return any(_is_cut(sample.get(key)) for key in ASKED)


def _untold(sample: Mapping[str, Any]) -> dict[str, Any]:
    """A sample without its content, of which only a part is known."""
    return {key: held for key, held in sample.items() if key not in ASKED}


def _is_cut(asked: Any) -> bool:
    """Whether a summary holds less of an input or a target than the sample: a text that was cut, or a part that is no text."""
    for message in asked if isinstance(asked, list) else [asked]:
        content = message.get("content") if isinstance(message, dict) else message
        for part in content if isinstance(content, list) else [content]:
            told = text(part.get("text")) if isinstance(part, dict) else text(part)
            if told.endswith(CUT) or NO_TEXT.fullmatch(told):
                return True
    return False


def _say_edited(path: Path, count: int, account: Account) -> None:
    if count:
        account.note(f"scores edited after the run in {account.named(path)}: {count}; the last value counts")


def _reduced(path: Path, header: Mapping[str, Any], account: Account) -> list[Mapping[str, Any]]:
    """Samples of a log without any, from the reduced values, which are the scores themselves when there was one epoch."""
    config = mapping(mapping(header.get("eval")).get("config"))
    reductions = items(header.get("reductions")) or items(mapping(header.get("results")).get("sample_reductions"))
    if not reductions or (number(config.get("epochs")) or 1) != 1:
        return []
    samples: dict[str, dict[str, Any]] = {}
    for reduction in map(mapping, reductions):
        for one in map(mapping, items(reduction.get("samples"))):
            item = text(one.get("sample_id"))
            held = samples.setdefault(item, {"id": item, "epoch": "1", "scores": {}})
            held["scores"][text(reduction.get("scorer"))] = {"value": one.get("value")}
    account.note(f"{account.named(path)} holds no samples; its scores are the reduced ones, the same with one epoch")
    return list(samples.values())


def _settings(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _settings(held) for name, held in value.items() if not NO_SETTING.search(name)}
    return [_settings(held) for held in value] if isinstance(value, list) else value
