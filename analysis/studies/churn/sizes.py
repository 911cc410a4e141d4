"""How many samples per item it takes to see one item change."""

from __future__ import annotations

from functools import cache

from analysis.present.format import level, plural, prob
from analysis.present.prose import Sentence
from analysis.present.table import Table, TableColumn
from analysis.stats import ItemTest, item_power

from .parameters import SizeParams

SAMPLES = (3, 5, 10, 20, 30, 50, 100)
MOST_SAMPLES = 199  # what Boschloo's test enumerates
WINDOW = 5  # power goes up and down from one number to the next: all of these must hold


def size(params: SizeParams) -> tuple[Sentence, Table]:
    """The answer in a sentence, and the power of other numbers of samples."""
    here = _power(params.from_, params.to, params.k, params.alpha, params.test)
    needed = samples_needed(params)
    text = (
        f"With {plural(params.k, 'sample')} per version an item that moves from {level(params.from_)} to {level(params.to)} is found with "
        f"probability {prob(here)} ({params.test}, p at most {level(params.alpha)}). "
    )
    if needed is None:
        text += f"Not even {MOST_SAMPLES} samples per version reach {level(params.power)}."
    else:
        text += f"{plural(needed, 'sample')} per version reach {level(params.power)} and keep it for more."
    return Sentence(text), Table(
        id="size",
        title="Probability that one item's change is found.",
        columns=(
            TableColumn(key="samples", label="samples per version", kind="count"),
            TableColumn(key="power", label="power", kind="prob"),
        ),
        rows=tuple(
            (k, _power(params.from_, params.to, k, params.alpha, params.test)) for k in sorted({*SAMPLES, params.k})
        ),
    )


def samples_needed(params: SizeParams) -> int | None:
    """Fewest samples per version from which on the power holds, by doubling and bisection; None beyond the most."""

    def holds(k: int) -> bool:
        window = range(k, min(k + WINDOW, MOST_SAMPLES + 1))
        return all(_power(params.from_, params.to, n, params.alpha, params.test) >= params.power for n in window)

    low, high = 1, 2
    while high < MOST_SAMPLES and not holds(high):
        low, high = high + 1, min(2 * high, MOST_SAMPLES)
    if high == MOST_SAMPLES and not holds(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


@cache
def _power(before: float, after: float, k: int, alpha: float, test: ItemTest) -> float:
    return item_power(before, after, k, k, alpha=alpha, test=test)
