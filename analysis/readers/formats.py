"""Every format by name, how a file is recognised, and one way to read them all."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.errors import Fault, InputError, plain
from analysis.readers import inspect_log, lm_eval, pairwise, promptfoo, trackers
from analysis.readers.account import Account
from analysis.readers.choices import Again, Ask
from analysis.readers.files import Advance, DataFile
from analysis.readers.raw import RawTable, data_suffix, optional, padded
from analysis.schema import Kind

Reader = Callable[[Sequence[Path], Account], Iterator[RawTable]]

TABULAR = "tabular"
HEAD, MOST_BLANK = 1 << 20, 1000
TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*+\"?|[{}\[\]:]", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """What a format is read into, and how its files are told: by keys of the first record or columns, all of one set."""

    reads: Mapping[Kind, Reader]
    keys: tuple[frozenset[str], ...] = ()


def _sets(*texts: str) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(text.split()) for text in texts)


FORMATS: dict[str, Format] = {
    "lm-eval": Format(
        reads={"attempts": lm_eval.attempts, "reruns": lm_eval.reruns},
        keys=_sets("results versions", "results configs", "doc_id resps", "doc_id doc target", "doc_id filtered_resps"),
    ),
    "inspect": Format(
        reads={"attempts": inspect_log.attempts, "reruns": inspect_log.reruns},
        keys=_sets("eval status", "eval plan", "sample_id eval_id epoch"),
    ),
    "promptfoo": Format(
        reads={"attempts": promptfoo.attempts}, keys=_sets("evalId results", "results config", "promptIdx testIdx")
    ),
    "alpaca-eval": Format(
        reads={"judgements": pairwise.alpaca_eval}, keys=_sets("generator_1 generator_2 output_1 output_2")
    ),
    "fastchat": Format(
        reads={"judgements": pairwise.fastchat_pair, "attempts": pairwise.fastchat_single},
        keys=_sets("g1_winner g2_winner", "question_id judge score turn"),
    ),
    "arena-hard": Format(reads={"judgements": pairwise.arena_hard}, keys=_sets("games judge", "games model")),
    "mlflow": Format(reads={"reruns": trackers.mlflow}, keys=_sets("run_id experiment_id status")),
    "wandb": Format(
        reads={"reruns": trackers.wandb}, keys=_sets("Name State", "name state summary", "id state summary")
    ),
}
NAMES = (*FORMATS, TABULAR)
CANONICAL = _sets("model item_id value", "seed score", "item_id order winner")


def recognised(paths: Sequence[Path], kind: Kind) -> str:
    """The format of files, ``tabular`` where it is none of the known.

    What is called as lm-evaluation-harness calls its samples goes with its logs, whatever a crash left in it.

    Raises
    ------
    InputError
        When they are of several.
    """
    found: dict[str, list[Path]] = {}
    for path in paths:
        found.setdefault(_format(path), []).append(path)
    if found.keys() == {"lm-eval", TABULAR} and all(map(lm_eval.is_samples, found[TABULAR])):
        del found[TABULAR]
    if len(found) > 1:
        parts = ", ".join(f"{name} ({len(files)}, {plain(files[0].name)})" for name, files in found.items())
        raise InputError(
            Fault(what=f"the files are of several formats: {parts}", fix="Give the files of one, by a pattern.")
        )
    name = next(iter(found), TABULAR)
    return name if name == TABULAR or kind in FORMATS[name].reads else TABULAR


def usual_table(name: str, paths: Sequence[Path]) -> Kind:
    """The table that files of a format are read into when nobody says: the first that the format gives.

    FastChat writes verdicts on pairs and scores of single answers; its keys tell which.
    """
    if name == TABULAR:
        return "attempts"
    if name == "fastchat" and paths and "g1_winner" not in _keys(paths[0]):
        return "attempts"
    return next(iter(FORMATS[name].reads))


def read_format(
    name: str, paths: Sequence[Path], ask: Ask, advance: Advance | None = None
) -> tuple[list[RawTable], Account]:
    """All rows of the files of one format, and the account of them.

    Raises
    ------
    InputError
        With every fault of all files.
    """
    while True:
        account = Account(ask, advance, paths)
        try:
            tables = list(stream_format(name, paths, account))
            columns = dict.fromkeys(column for table in tables for column in table.columns)
            return [padded(table, tuple(columns)) for table in tables], account
        except Again as again:
            ask = again.ask


def stream_format(name: str, paths: Sequence[Path], account: Account) -> Iterator[RawTable]:
    """Rows of the files of one format, stretch by stretch; `Again` asks to begin anew.

    Raises
    ------
    InputError
        When the format is not read into the wanted table, or with every fault of all files once they were read.
    """
    reads = FORMATS[name].reads
    if account.ask.table not in reads:
        known = ", ".join(reads)
        what = f"{name} gives {known}, not {account.ask.table}"
        raise InputError(
            Fault(file=plain(paths[0].name), what=what, fix="Give the files as another input, or say format: tabular.")
        )
    try:
        yield from reads[account.ask.table](paths, account)
    except RecursionError as error:
        raise InputError(Fault(what="a record is nested too deeply", fix="Give flat records.")) from error


def _format(path: Path) -> str:
    """The format of one file by its suffix, or by the keys of its first record."""
    if data_suffix(path) == ".eval":
        return "inspect"
    keys = _keys(path)
    tracked = {"State", "state"} & keys and "status" not in keys  # a tracker's export, whatever its metrics are called
    if not tracked and any(own <= keys for own in CANONICAL):
        return TABULAR  # a table that was made to be read, whatever else it holds
    return next((name for name, format_ in FORMATS.items() if any(wanted <= keys for wanted in format_.keys)), TABULAR)


def _keys(path: Path) -> frozenset[str]:
    """Column names, or the keys of the whole or of its first record; nothing where the file cannot be understood yet."""
    suffix = data_suffix(path)
    try:
        with path.open("rb") as probe:
            if not probe.read(1):
                return frozenset()
        if suffix == ".parquet":
            return frozenset(_parquet_names(path))
        with _Peek(path) as data:
            if suffix in {".csv", ".tsv", ".tab"}:
                lines = (data.stream.readline(HEAD) for _ in range(MOST_BLANK))
                line = next((one for one in lines if one.strip()), b"").decode("utf-8-sig", errors="replace")
                return frozenset(cell.strip().strip('"') for cell in line.replace("\t", ",").split(","))
            if suffix in {".jsonl", ".ndjson", ".json"}:
                read = data.stream.read if suffix == ".json" else data.stream.readline
                return _first_keys(read(HEAD).decode("utf-8-sig", errors="replace"))
    except Exception:  # noqa: BLE001  (the reader itself will say what is wrong)
        pass
    return frozenset()


def _first_keys(text: str) -> frozenset[str]:
    """Keys of the object that a text begins with, or of the first object of a list; the text may end anywhere."""
    keys, depth, before = set(), 0, ""
    for match in TOKEN.finditer(text):
        token = match.group()
        if token == ":" and depth == 1 and before.startswith('"'):
            keys.add(before[1:-1])
        elif token in "{[":
            depth += token == "{" or depth > 0
        elif token in "}]":
            depth -= depth > 0
            if not depth and keys:
                break
        before = token
    return frozenset(keys)


def _parquet_names(path: Path) -> Sequence[str]:
    parquet = optional("pyarrow.parquet").parquet
    return parquet.read_schema(path).names if parquet else ()


class _Peek(DataFile):
    """A file of which only the beginning is looked at."""

    def __exit__(self, *_: Any) -> None:
        self._raw.close()
