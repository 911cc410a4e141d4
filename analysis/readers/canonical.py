"""The canonical tables that every log is read into, and the builder that fills them row by row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analysis.errors import is_whole
from analysis.readers.raw import RawTable, renamed, stem
from analysis.schema import Column, Demanded, Kind, Schema

MODEL_NAMES = ("system", "version", "arm", "generator", "model_name", "name", "@file", "@key")
ITEM_NAMES = ("item", "question_id", "prompt_id", "id", "doc_id", "sample_id", "uid", "problem_idx", "task_id", "input")
VALUE_NAMES = ("score", "correct", "is_correct", "reward", "acc", "accuracy", "exact_match", "pass", "passed", "#1")
ATTEMPT_NAMES = ("epoch", "repeat", "sample", "seed", "run", "trial", "k", "@index")
CLUSTER_NAMES = ("cluster_id", "group", "passage_id", "conversation_id")
"""What columns are often called elsewhere: offered in a message, never applied."""

STATUS = Column(
    name="status",
    kind="choice",
    help="What became of the attempt",
    choices=("scored", "unscored", "error", "skipped"),
)
ORDER = Column(
    name="order",
    kind="choice",
    help="Which answer the judge saw first: AB is A first; A is the baseline, B the candidate",
    choices=("ab", "ba"),
    required=True,
)
WINNER = Column(
    name="winner",
    kind="choice",
    help="The system that won, whatever its place",
    choices=("a", "b", "tie", "fail"),
    required=True,
)
_SOURCES = (
    Column(name="source", kind="text", help="File that the row comes from"),
    Column(name="source_line", kind="text", help="Line or record of that file"),
)
_REASON = Column(name="reason", kind="text", help="Why there is no score, in the log's words")

BETTER = Column(
    name="better",
    kind="choice",
    help="Which way is better, where the log says it; a study of correctness reads scores of which more is better",
    choices=("higher",),
    fix="Turn the scores round: map value=minus:value, and values: {better: {lower: higher}} in -f",
)

ATTEMPTS = Schema(
    name="attempts",
    reads="attempts",
    measure="value",
    columns=(
        Column(name="run_id", kind="text", help="The evaluation run; no two systems share one"),
        Column(
            name="model",
            kind="text",
            help="The system",
            required=True,
            aliases=MODEL_NAMES,
        ),
        Column(name="task", kind="text", help="Name of the benchmark"),
        Column(
            name="item_id",
            kind="text",
            help="The item, the same for all systems",
            required=True,
            aliases=(*ITEM_NAMES, "@row", "@index"),
        ),
        Column(
            name="attempt",
            kind="text",
            help="Tells several attempts at an item apart",
            aliases=ATTEMPT_NAMES,
        ),
        Column(name="metric", kind="text", help="Name of the score"),
        Column(name="scorer", kind="text", help="What gave the score, such as a judge"),
        Column(
            name="value",
            kind="number",
            help="Score of the attempt",
            required=True,
            finite=True,
            aliases=VALUE_NAMES,
        ),
        STATUS,
        _REASON,
        Column(
            name="cluster",
            kind="text",
            help="Items that belong together",
            aliases=CLUSTER_NAMES,
        ),
        Column(name="input_tokens", kind="number", help="Tokens of the prompt", low=0),
        Column(name="output_tokens", kind="number", help="Tokens of the answer", low=0),
        Column(name="cost_usd", kind="number", help="Cost of the request", low=0, aliases=("cost", "price")),
        Column(name="latency_s", kind="number", help="Seconds until the answer is complete", low=0, unit="s"),
        Column(name="output_chars", kind="number", help="Characters of the answer", low=0),
        Column(
            name="better", kind="choice", help="Which way is better, where the log says it", choices=("higher", "lower")
        ),
        Column(name="item_hash", kind="text", help="Digest of the item's content"),
        Column(name="prompt_hash", kind="text", help="Digest of the prompt"),
        *_SOURCES,
    ),
)
RERUNS = Schema(
    name="reruns",
    reads="reruns",
    measure="score",
    columns=(
        Column(name="model", kind="text", help="The recipe", aliases=("recipe", "name", "base_model", "@key", "@file")),
        Column(name="task", kind="text", help="Name of the benchmark"),
        Column(name="budget", kind="text", help="Fine-tuning examples"),
        Column(
            name="seed",
            kind="text",
            help="What tells two reruns apart",
            required=True,
            aliases=("random_seed", "run", "run_id", "trial", "@index"),
        ),
        Column(
            name="score",
            kind="number",
            help="Final score of the rerun",
            required=True,
            aliases=("accuracy", "acc", "f1", "value", "result", "test_score"),
        ),
        Column(
            name="status",
            kind="choice",
            help="How the rerun ended; anything but ok is a failure",
            choices=("ok", "crashed", "failed", "killed", "running"),
        ),
        _REASON,
        Column(name="audit", kind="choice", help="Half of the audit", choices=("calibration", "target")),
        Column(name="metric", kind="text", help="Name of the score"),
        Column(name="config", kind="text", help="Digest of the settings without the seed"),
        Column(name="n_items", kind="number", help="Items behind the score", low=1),
        Column(name="run_id", kind="text", help="The run, as the tracker calls it"),
        *_SOURCES,
    ),
)
JUDGEMENTS = Schema(
    name="judgements",
    reads="judgements",
    measure="len_a",
    columns=(
        Column(name="item_id", kind="text", help="The item", required=True, aliases=ITEM_NAMES),
        ORDER,
        WINNER,
        Column(name="judge", kind="text", help="Who judged"),
        Column(name="model_a", kind="text", help="The system called A, the baseline"),
        Column(name="model_b", kind="text", help="The system called B, the candidate"),
        Column(name="len_a", kind="number", help="Characters of A's answer", low=0),
        Column(name="len_b", kind="number", help="Characters of B's answer", low=0),
        _REASON,
        Column(name="cluster", kind="text", help="Items that belong together"),
        *_SOURCES,
    ),
)

TABLES: dict[Kind, Schema] = {"attempts": ATTEMPTS, "reruns": RERUNS, "judgements": JUDGEMENTS}

ITEM = ("domain", "suite", "task", "item_id")
"""Columns that tell two items apart, as far as they are there."""

ARM = ("model", "metric", "seed", "scorer", "condition", *ITEM)
"""Columns that tell the items of one arm apart, as far as they are there."""

KEYS: dict[Kind, Demanded] = {
    "attempts": Demanded(key=("run_id", "attempt", *ARM)),
    "reruns": Demanded(key=("model", "task", "dataset", "audit", "budget", "metric", "config", "run_id", "seed")),
    "judgements": Demanded(key=("judge", "model_a", "model_b", "item_id", "order")),
}
"""Columns that name a row of a canonical table once, those that one study alone reads among them."""


class Rows:
    """Rows of one file on their way to a table; a cell that is not given is empty. ``name`` is what the file is called."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.name = path, name
        self.first = 0
        self._cells: dict[str, list[str]] = {}
        self._places: list[str] = []

    def __len__(self) -> int:
        return len(self._places)

    def add(self, place: str, cells: dict[str, str]) -> None:
        """One more row; what is not whole text in it is shown by its escapes."""
        count = len(self._places)
        self._places.append(place)
        for name, cell in (cells | {"source": self.name, "source_line": place}).items():
            if not cell and name not in self._cells:
                continue
            column = self._cells.setdefault(_whole(name), [])
            column += [""] * (count - len(column))
            column.append(_whole(cell))

    def take(self, columns: Sequence[str] = ()) -> RawTable:
        """The rows so far as a table with at least these columns; the builder begins anew behind them."""
        count, first = len(self._places), self.first
        for name in columns:
            self._cells.setdefault(name, [])
        for cells in self._cells.values():
            cells.extend([""] * (count - len(cells)))
        table = RawTable(
            file=self.name,
            stem=stem(self.path),
            columns=tuple(self._cells),
            cells=list(self._cells.values()),
            places=self._places,
            first=first,
        )
        self.first, self._cells, self._places = first + count, {}, []
        return renamed(table, self.name)


def _whole(text: str) -> str:
    """Text that can be written: half a character is shown by its escape."""
    return text if is_whole(text) else text.encode(errors="backslashreplace").decode()
