"""Item by item, and what the charts are drawn from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.present.format import level
from analysis.present.table import Table, TableColumn

from .parameters import Params
from .tables import DETERIORATED, GREEDY_ALONE, IMPROVED, UNCHANGED

if TYPE_CHECKING:
    from .decomposition import Decomposition

WORDS = {1: f"reliably {IMPROVED}", 0: UNCHANGED, -1: f"reliably {DETERIORATED}"}
MOST_SHOWN = 20
SHOWN = ("item", "domain", "p_baseline", "p_candidate", "change", "rci", "p", "q", "class_corrected")  # they fit a page
CLIP, N_BINS = 12.0, 50


def items(found: Decomposition | None) -> Table:
    """One row an item."""
    return Table(
        id="items",
        title="Every item.",
        columns=_COLUMNS,
        rows=tuple(_rows(found)) if found else (),
        notes=(
            "A dash under p: 0 or 1 in both versions, so that there is nothing to test.",
            "Probability: that the true rate rose or fell by more than the move asked for, and that a change of any size has the other sign or "
            "none (local false sign rate), given the law of true rates over all items.",
        ),
        empty=GREEDY_ALONE,
    )


def changed(found: Decomposition | None, params: Params) -> Table:
    """The items that the tests are surest of."""
    places = [i for i, column in enumerate(_COLUMNS) if column.key in SHOWN]
    rows = [tuple(row[i] for i in places) for row in _rows(found)] if found else []
    change, q = SHOWN.index("change"), SHOWN.index("q")
    rows = [row for row in rows if row[q] is not None and row[q] <= params.fdr]
    rows.sort(key=lambda row: (row[q], -abs(row[change])))
    return Table(
        id="changed",
        title="The items that changed most surely; all of them are in the table of items.",
        columns=tuple(_COLUMNS[i] for i in places),
        rows=tuple(rows[:MOST_SHOWN]),
        notes=(
            f"{min(MOST_SHOWN, len(rows)):,} of {len(rows):,} items that reach a q of {level(params.fdr)}, smallest q first; all "
            "items are in tables/items.csv.",
        ),
        empty=GREEDY_ALONE if found is None else "no item reaches the false discovery rate",
    )


def joint(found: Decomposition | None) -> Table:
    """Items by their scores in both versions and their class."""
    rows: list[tuple[Any, ...]] = []
    if found is not None:
        direction = np.zeros(found.versions.n_items)
        direction[found.rows] = found.classes.direction
        one, two = (np.round(version.p, 3) for version in (found.versions.baseline, found.versions.candidate))
        keys, counts = np.unique(np.stack([one, two, direction]), axis=1, return_counts=True)
        rows = [
            (float(p1), float(p2), WORDS[int(sign)], int(n)) for (p1, p2, sign), n in zip(keys.T, counts, strict=True)
        ]
    return Table(
        id="joint",
        title="Items by their scores in both versions.",
        columns=(
            TableColumn(key="baseline", label="baseline", kind="score"),
            TableColumn(key="candidate", label="candidate", kind="score"),
            TableColumn(key="class", label="class"),
            TableColumn(key="items", label="items", kind="count"),
        ),
        rows=tuple(rows),
        notes=("Scores rounded to three decimals.",),
        empty=GREEDY_ALONE,
    )


def histogram(found: Decomposition | None) -> Table:
    """The published index in bins, its ends clipped."""
    rows: list[tuple[Any, ...]] = []
    if found is not None and found.published[0].change is not None:
        edges = np.linspace(-CLIP, CLIP, N_BINS + 1)
        counts, _ = np.histogram(np.clip(found.published[0].change.rci, -CLIP, CLIP), bins=edges)
        rows = [(float(a), float(b), int(n)) for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)]
    return Table(
        id="histogram",
        title="Published index of the analysable items, in bins.",
        columns=(
            TableColumn(key="low", label="from", kind="number"),
            TableColumn(key="high", label="to", kind="number"),
            TableColumn(key="items", label="items", kind="count"),
        ),
        rows=tuple(rows),
        empty="there is no published index",
    )


_COLUMNS = (
    TableColumn(key="item", label="item"),
    TableColumn(key="domain", label="domain"),
    TableColumn(key="p_baseline", label="baseline", kind="score", group="score"),
    TableColumn(key="n_baseline", label="samples", kind="count", group="score"),
    TableColumn(key="p_candidate", label="candidate", kind="score", group="score"),
    TableColumn(key="n_candidate", label="samples", kind="count", group="score"),
    TableColumn(key="change", label="Δ", kind="number"),
    TableColumn(key="rci", label="RCI", kind="number", group="published"),
    TableColumn(key="p", label="p", kind="p_value", group="test"),
    TableColumn(key="q", label="q", kind="p_value", group="test"),
    TableColumn(key="rose", label="rose", kind="prob", group="probability"),
    TableColumn(key="fell", label="fell", kind="prob", group="probability"),
    TableColumn(key="false_sign", label="false sign", kind="prob", group="probability"),
    TableColumn(key="class_paper", label="published", group="class"),
    TableColumn(key="class_corrected", label="corrected", group="class"),
)


def _probabilities(found: Decomposition, i: int) -> tuple[float | None, ...]:
    rates = found.rates
    if rates is None or rates.rose is None or rates.fell is None or rates.false_sign is None:
        return (None,) * 3
    return float(rates.rose[i]), float(rates.fell[i]), float(rates.false_sign[i])


def _rows(found: Decomposition) -> list[tuple[Any, ...]]:
    versions, rows = found.versions, found.rows
    one, two = versions.baseline, versions.candidate
    change = found.published[0].change
    tested: dict[str, list[Any]] = {name: [None] * versions.n_items for name in ("rci", "p", "q")}
    for place, i in enumerate(np.flatnonzero(rows)):
        tested["p"][i], tested["q"][i] = float(found.classes.p[place]), float(found.classes.q[place])
        if change is not None:
            tested["rci"][i] = float(change.rci[place])
    paper, exact = found.directions["paper"], found.directions["corrected"]
    before, after = one.p, two.p
    return [
        (
            str(versions.items[i]),
            str(versions.domains[i]) or None,
            float(before[i]),
            int(one.n[i]),
            float(after[i]),
            int(two.n[i]),
            float(after[i] - before[i]),
            tested["rci"][i],
            tested["p"][i],
            tested["q"][i],
            *_probabilities(found, i),
            None if paper is None else WORDS[int(paper[i])],
            None if exact is None else WORDS[int(exact[i])],
        )
        for i in range(versions.n_items)
    ]
