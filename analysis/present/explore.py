"""Small helpers for the next question in JupyterLab: a part of a table, its extremes, several answers side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from analysis.present.format import COMPOSITE
from analysis.present.table import Table, TableColumn


def where(table: Table, /, **equals: Any) -> Table:
    """The rows whose columns hold these values; a tuple or list stands for any of its values.

    Raises
    ------
    KeyError
        With the columns that there are.

    Examples
    --------
    >>> from analysis.present.table import TableColumn
    >>> column = TableColumn(key="model", label="Model")
    >>> where(Table(id="t", title="T", columns=(column,), rows=(("a",), ("b",))), model="b").rows
    (('b',),)
    """
    wanted = {place(table, key): listed(held) for key, held in equals.items()}
    rows = tuple(row for row in table.rows if all(row[at] in values for at, values in wanted.items()))
    return replace(table, rows=rows, empty="no row holds these values")


def top(table: Table, by: str, n: int = 10, *, smallest: bool = False) -> Table:
    """The ``n`` rows with the largest, or smallest, values of a column; rows without a value are left out.

    Raises
    ------
    KeyError
        With the columns that there are.
    ValueError
        ``n`` is no count, or the column holds what has no order.
    """
    at = place(table, by)
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"n is {n!r}: give a whole number of rows, from 1")
    held = [row for row in table.rows if row[at] is not None and row[at] == row[at]]
    try:
        rows = sorted(held, key=lambda row: row[at], reverse=not smallest)
    except TypeError as error:
        raise ValueError(f"the values of {by} have no order") from error
    return replace(table, rows=tuple(rows[:n]), empty=f"no row has a value of {by}")


def listed(held: Any) -> list[Any]:
    """The values that were given, of which one may stand alone.

    >>> listed(0.5), listed((1, 2)), listed("ab")
    ([0.5], [1, 2], ['ab'])
    """
    if isinstance(held, list | tuple | set | frozenset | range):
        return list(held)
    return list(held.tolist()) if hasattr(held, "tolist") and getattr(held, "ndim", False) else [held]


def answers(names: Sequence[str], rows: Iterable[tuple[tuple[Any, ...], str, str]]) -> Table:
    """Several answers side by side: the values of the parameters that were changed, then verdict and sentence."""
    return Table(
        id="answers",
        title="The same data under other parameters: exploratory, whatever the rule was.",
        columns=(
            *(TableColumn(key=name, label=name, kind="text") for name in names),
            TableColumn(key="verdict", label="Verdict", kind="status"),
            TableColumn(key="headline", label="In one sentence", kind="text"),
        ),
        rows=tuple(
            (*(value if isinstance(value, str | int | float) else str(value) for value in values), verdict, headline)
            for values, verdict, headline in rows
        ),
    )


def place(table: Table, key: str) -> int:
    """Where in a row a column of single values stands.

    Raises
    ------
    KeyError
        With the columns that there are.
    """
    keys = [column.key for column in table.columns if column.kind not in COMPOSITE]
    if key not in keys:
        raise KeyError(f"{table.id} has no column {key!r} of single values; it has {', '.join(keys)}")
    return [column.key for column in table.columns].index(key)
