"""What a churn decomposition reads: samples, counts of them, or greedy answers."""

from __future__ import annotations

from analysis.readers.canonical import ATTEMPT_NAMES, BETTER, ITEM_NAMES, MODEL_NAMES, STATUS, VALUE_NAMES
from analysis.schema import Column, Demanded, Schema

from .parameters import Params

_MODEL = Column(
    name="model",
    kind="text",
    help="The version",
    required=True,
    aliases=MODEL_NAMES,
)
_ITEM = Column(
    name="item_id",
    kind="text",
    help="The item, the same in both versions",
    required=True,
    aliases=(*ITEM_NAMES, "rubric_id", "@key", "@row", "@index"),
)
_DOMAIN = Column(
    name="domain",
    kind="text",
    help="Slice that the item belongs to; items of two domains are two items",
    aliases=("category", "subject", "task", "slice", "platform"),
)
_SOURCE = Column(name="source", kind="text", help="Where the row comes from; shown on the page")
_VALUE = Column(
    name="value",
    kind="number",
    help="A score lies in [0, 1]: 1 correct, 0 wrong, or graded; divide percentages by their maximum",
    required=True,
    low=0,
    high=1,
    aliases=VALUE_NAMES,
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
            aliases=ATTEMPT_NAMES,
        ),
        _VALUE,
        _DOMAIN,
        STATUS,
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
    columns=(_MODEL, _ITEM, _VALUE, _DOMAIN, STATUS, BETTER, _SOURCE),
)


def attempts_demands(_: Params) -> Demanded:
    """One row per model, item and attempt."""
    return Demanded(key=("model", "domain", "item_id", "attempt"))


def item_demands(_: Params) -> Demanded:
    """One row per model and item."""
    return Demanded(key=("model", "domain", "item_id"))
