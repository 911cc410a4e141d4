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
    >>> from analysis.present.format import COMPOSITE
    from analysis.present.table import TableColumn
    >>> column = TableColumn(key="model", label="Model")
    >>> where(Table(id="t", title="T", columns=(column,), rows=(("a",), ("b",))), model="b").rows
    (('b',),)
    """
    wanted = {place(table, key): held if isinstance(held, list | tuple) else (held,) for key, held in equals.items()}
    rows = tuple(row for row in table.rows if all(row[at] in values for at, values in wanted.items()))
    return replace(table, rows=rows, empty="no row holds these values")


def top(table: Table, by: str, n: int = 10, *, smallest: bool = False) -> Table:
    """The ``n`` rows with the largest, or smallest, values of a column; rows without a value are left out.

    Raises
    ------
    KeyError
        With the columns that there are.
    """
    at = place(table, by)
    if table.columns[at].kind in COMPOSITE:
        sortable = ", ".join(column.key for column in table.columns if column.kind not in COMPOSITE)
        raise KeyError(f"{by} holds several values in a cell; one of {sortable} can be sorted by")
    rows = sorted((row for row in table.rows if row[at] is not None), key=lambda row: row[at], reverse=not smallest)
    return replace(table, rows=tuple(rows[:n]), empty=f"no row has a value of {by}")


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
    """Where in a row a column stands.

    Raises
    ------
    KeyError
        With the columns that there are.
    """
    keys = [column.key for column in table.columns]
    if key not in keys:
        raise KeyError(f"{table.id} has no column {key!r}; it has {', '.join(keys)}")
    return keys.index(key)
