"""What a fine-tune comparison reads: items, suites, judgements, human labels and training texts."""

from __future__ import annotations

from analysis.readers.canonical import BETTER, ITEM_NAMES, MODEL_NAMES, ORDER, STATUS, VALUE_NAMES, WINNER
from analysis.schema import Column, Demanded, Schema

from .parameters import Params

_MODEL = Column(
    name="model",
    kind="text",
    help="The system",
    required=True,
    aliases=MODEL_NAMES,
)
_ITEM = Column(
    name="item_id",
    kind="text",
    help="The item, the same for all systems",
    required=True,
    aliases=(*ITEM_NAMES, "@row", "@index"),
)
_ATTEMPT = Column(
    name="attempt", kind="text", help="Tells several attempts at an item apart; an item's score is their mean"
)
_SEED = Column(name="seed", kind="text", help="Training seed of the system, where it was trained several times")
_METRIC = Column(name="metric", kind="text", help="Name of the score; each metric is read by itself")
_VALUE = Column(
    name="value",
    kind="number",
    help="Score of the attempt: 1 passed, 0 failed, or graded; higher is better",
    required=True,
    aliases=VALUE_NAMES,
)
_MEASURES = (
    Column(name="input_tokens", kind="number", help="Tokens of the prompt", low=0, high=1e9),
    Column(name="output_tokens", kind="number", help="Tokens of the answer", low=0, high=1e9),
    Column(name="cost_usd", kind="number", help="Cost of the request", low=0, high=1e7),
    Column(name="latency_s", kind="number", help="Seconds until the answer is complete", low=0, high=1e7, unit="s"),
    Column(name="output_chars", kind="number", help="Characters of the answer", low=0, high=1e9),
)
_SOURCE = Column(name="source", kind="text", help="Where the row comes from; shown on the page")

ITEMS = Schema(
    name="items",
    measure="value",
    reads="attempts",
    columns=(
        _MODEL,
        _ITEM,
        _ATTEMPT,
        _SEED,
        Column(name="run_id", kind="text", help="Training run of the system; two systems of one run are checkpoints"),
        _METRIC,
        _VALUE,
        STATUS,
        BETTER,
        *_MEASURES,
        Column(name="cluster", kind="text", help="Items that belong together are resampled together"),
        Column(
            name="group", kind="text", help="Customer, document or conversation, for leakage from the training data"
        ),
        Column(name="item_hash", kind="text", help="Digest of the item's content"),
        Column(name="text", kind="text", help="The item's text, for overlap with the training data"),
        _SOURCE,
    ),
)
SUITES = Schema(
    name="suites",
    measure="value",
    reads="attempts",
    columns=(
        Column(
            name="suite",
            kind="text",
            help="The suite: adjacent tasks, safety",
            required=True,
            aliases=("benchmark", "set", "task"),
        ),
        _MODEL,
        _ITEM,
        _ATTEMPT,
        _METRIC,
        _VALUE,
        STATUS,
        BETTER,
        _SOURCE,
    ),
)
JUDGEMENTS = Schema(
    name="judgements",
    measure="len_a",
    reads="judgements",
    columns=(
        _ITEM,
        ORDER,
        WINNER,
        Column(name="judge", kind="text", help="Who judged"),
        Column(name="model_a", kind="text", help="The system called A: a baseline of the comparison"),
        Column(name="model_b", kind="text", help="The system called B: the candidate"),
        Column(
            name="human_winner",
            kind="choice",
            help="The system that people preferred, where they were asked; in place of the input human",
            choices=("a", "b", "tie"),
        ),
        Column(name="len_a", kind="number", help="Length of A's answer", low=0, high=1e9),
        Column(name="len_b", kind="number", help="Length of B's answer", low=0, high=1e9),
        _SOURCE,
    ),
)
HUMAN = Schema(
    name="human",
    measure="confidence",
    columns=(
        _ITEM,
        Column(
            name="winner",
            kind="choice",
            help="The system that people preferred: A the baseline, B the candidate",
            choices=("a", "b", "tie"),
            required=True,
        ),
        Column(name="confidence", kind="number", help="How sure, in [0, 1]", low=0, high=1),
        _SOURCE,
    ),
)
TRAINING = Schema(
    name="training",
    measure="weight",
    columns=(
        Column(name="text", kind="text", help="A training text"),
        Column(name="item_hash", kind="text", help="Digest of a training item"),
        Column(name="group", kind="text", help="Customer, document or conversation of a training item"),
        Column(name="weight", kind="number", help="How often it was seen", low=0),
        _SOURCE,
    ),
)


def item_demands(params: Params) -> Demanded:
    """One row per system, metric, item and attempt."""
    columns = (params.cluster,) if params.cluster is not None else ()
    return Demanded(columns=columns, key=("model", "seed", "metric", "attempt", "item_id"))


def suite_demands(_: Params) -> Demanded:
    """One row per suite, system, metric, item and attempt."""
    return Demanded(key=("suite", "model", "metric", "attempt", "item_id"))


def judgement_demands(_: Params) -> Demanded:
    """One row per judge, item and order."""
    return Demanded(key=("judge", "item_id", "order"))


def human_demands(_: Params) -> Demanded:
    """One label per item."""
    return Demanded(key=("item_id",))


def training_demands(_: Params) -> Demanded:
    """Any rows."""
    return Demanded()
