"""Item by item: what every system scores, and what the candidate loses and gains."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from analysis.present.format import plural
from analysis.present.table import Table, TableColumn

if TYPE_CHECKING:
    from .comparison import Report

MOST_SHOWN = 20
CHANGE = 2  # its place in a row


def items(found: Report) -> Table:
    """One row an item: its slices in words, the change, and the mean score of every system on the primary metric."""
    test_set, scores = found.test_set, found.test_set.main
    systems = (test_set.candidate, *test_set.baselines)
    change = scores.values[test_set.candidate] - scores.values[test_set.reference]
    columns = [change, *(scores.values[system] for system in systems)]
    rows: list[tuple[Any, ...]] = [
        (str(item), _slices(found, i), *(None if column[i] != column[i] else float(column[i]) for column in columns))
        for i, item in enumerate(scores.items)
    ]
    return Table(
        id="items",
        title="Every item.",
        columns=(
            TableColumn(key="item", label="item"),
            TableColumn(key="slices", label="slices"),
            TableColumn(key="change", label="change", kind="number"),
            *(
                TableColumn(key=f"score.{system}", label=system, kind="number", group=scores.metric)
                for system in systems
            ),
        ),
        rows=tuple(rows),
        notes=(
            f"Change: {test_set.candidate} minus {test_set.reference}, the reference. A dash: no attempt that counts.",
        ),
    )


def changed(table: Table) -> Table:
    """Of the table of items, those that the candidate loses or gains against the reference, losses first."""
    moved = sorted((row for row in table.rows if row[CHANGE]), key=lambda row: row[CHANGE])
    lost = sum(row[CHANGE] < 0 for row in moved)
    shown = (
        f"{min(MOST_SHOWN, len(moved)):,} of {plural(len(moved), 'item')} that changed, {lost:,} lost; all items are in "
        "tables/items.csv."
    )
    return replace(
        table,
        id="changed",
        title="The items that the candidate loses and gains against the reference, losses first.",
        rows=tuple(moved[:MOST_SHOWN]),
        notes=(shown, *table.notes),
        empty="no item changed",
    )


def _slices(found: Report, at: int) -> str | None:
    """The slices of an item in words; None where it is in none."""
    named = [f"{name} = {values[at]}" for name, values in found.test_set.slices.items() if values[at]]
    return ", ".join(named) or None
