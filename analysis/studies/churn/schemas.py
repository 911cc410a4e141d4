"""What a churn decomposition reads: samples, counts of them, or greedy answers."""

from __future__ import annotations

from analysis.readers.canonical import BETTER
from analysis.schema import Column, Demanded, Schema

from .parameters import Params

_MODEL = Column(
    name="model",
    kind="text",
    help="The version",
    required=True,
    aliases=("version", "system", "model_name", "name", "@file", "@key"),
)
_ITEM = Column(
    name="item_id",
    kind="text",
    help="The item, the same in both versions",
    required=True,
    aliases=("item", "question_id", "task_id", "prompt_id", "rubric_id", "id", "@key", "@row", "@index"),
)
_DOMAIN = Column(
    name="domain",
    kind="text",
    help="Slice that the item belongs to; items of two domains are two items",
    aliases=("category", "subject", "task", "slice", "platform"),
)
_STATUS = Column(
    name="status",
    kind="choice",
    help="What became of the attempt",
    choices=("scored", "unscored", "error", "skipped"),
)
_SOURCE = Column(name="source", kind="text", help="Where the row comes from; shown on the page")
_VALUE = Column(
    name="value",
    kind="number",
    help="A score lies in [0, 1]: 1 correct, 0 wrong, or graded; divide percentages by their maximum",
    required=True,
    low=0,
    high=1,
    aliases=("correct", "is_correct", "score", "reward", "accuracy", "#1"),
)

ATTEMPTS = Schema(
    name="attempts",
    measure="value",
    reads="attempts",
    columns=(
        _MODEL,
        _ITEM,
        Column(
            name="attempt",
            kind="text",
            help="Tells the samples of an item apart; greedy is an answer at temperature 0, kept apart",
            required=True,
            aliases=("trial", "run", "sample", "epoch", "repeat", "seed", "k", "@index"),
        ),
        _VALUE,
        _DOMAIN,
        _STATUS,
        BETTER,
        _SOURCE,
    ),
)
COUNTS = Schema(
    name="counts",
    measure="correct",
    columns=(
        _MODEL,
        _ITEM,
        Column(
            name="correct",
            kind="number",
            help="Give 0 to 10,000 correct samples",
            required=True,
            low=0,
            high=10_000,
            aliases=("k", "c"),
        ),
        Column(
            name="samples",
            kind="number",
            help="Give 1 to 10,000 samples",
            required=True,
            low=1,
            high=10_000,
            aliases=("n", "n_samples", "attempts"),
        ),
        _DOMAIN,
        _SOURCE,
    ),
)
GREEDY = Schema(
    name="greedy",
    measure="value",
    reads="attempts",
    columns=(_MODEL, _ITEM, _VALUE, _DOMAIN, _STATUS, BETTER, _SOURCE),
)


def attempts_demands(_: Params) -> Demanded:
    """One row per model, item and attempt."""
    return Demanded(key=("model", "domain", "item_id", "attempt"))


def item_demands(_: Params) -> Demanded:
    """One row per model and item."""
    return Demanded(key=("model", "domain", "item_id"))
