"""Values of foreign JSON, read without a guess: text, objects, numbers, scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.errors import Fault, InputError, plain
from analysis.readers.raw import cell_text
from analysis.schema import is_missing


def text(value: Any) -> str:
    """A scalar as text; nothing for None, a list or an object."""
    return "" if isinstance(value, list | dict) else cell_text(value)


def mapping(value: Any) -> Mapping[str, Any]:
    """An object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> Sequence[Any]:
    """A list; an empty one for anything else."""
    return value if isinstance(value, list) else ()


def number(value: Any) -> float | None:
    """The finite number that a value is or spells; truth counts 1 and 0.

    >>> number("0.5"), number(True), number("NaN"), number("P"), number([1])
    (0.5, 1.0, None, None, None)
    """
    if isinstance(value, bool):
        return float(value)
    if (
        not isinstance(value, str) or "_" in value or not value.isascii()
    ):  # every number is text; float() reads 1_0 as 10
        return None
    try:
        found = float(value)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def score_cell(value: Any) -> str:
    """A score as the text of a cell: truth is 1 or 0, no value is empty, anything else as it is spelled.

    >>> score_cell(True), score_cell("NaN"), score_cell("0.50"), score_cell("P")
    ('1', '', '0.50', 'P')
    """
    if isinstance(value, bool):
        return str(int(value))
    found = cell_text(value)
    return "" if is_missing(found) else found


def record(value: Any, file: str, place: str) -> Mapping[str, Any]:
    """A record that must be an object.

    Raises
    ------
    InputError
        When it is none.
    """
    if isinstance(value, dict):
        return value
    what = f"{plain(cell_text(value), width=60) or 'nothing'} stands where an object should"
    raise InputError(Fault(file=file, place=place, what=what, fix="The file may be cut short."))
