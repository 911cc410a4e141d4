"""Sentences with their numbers: plain text that shows itself safely wherever it is displayed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from analysis.present.format import one_line, visible

_MARKDOWN = set("\\`*_{}[]<>#+|~$@&^")
_START = re.compile(r"^((?:\(?(?:\d+|[a-zA-Z]|[ivxlcdmIVXLCDM]+)(?=[.)](?:\s|$)))?)([-.):%])")
"""What starts a list, a definition or a title block: an enumerator with its mark, or the mark alone."""


@dataclass(frozen=True, slots=True)
class Sentence:
    r"""A paragraph of plain text; data inside it is escaped when it is shown.

    >>> Sentence("k = 3 of *59*")._repr_mimebundle_()["text/markdown"]
    'k = 3 of \\*59\\*'
    """

    text: str

    def __str__(self) -> str:
        return visible(self.text)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/markdown": markdown(self.text), "text/plain": str(self)}


def markdown(text: str) -> str:
    """Plain text as markdown that reads the same: every active character escaped, line breaks folded.

    Characters that HTML would read are written as entities, so that a viewer that passes raw HTML on shows them too.
    """
    safe = "".join(
        escape(ch, quote=False) if ch in "<>&" else "\\" + ch if ch in _MARKDOWN else ch for ch in one_line(text)
    )
    return _START.sub(r"\1\\\2", safe)


def listed(items: Sequence[str], *, most: int = 3, last: str = "and") -> str:
    """A list in words; beyond ``most`` the rest is counted.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d", "e"])
    ('a, b and c', 'a, b, c and 2 more')
    """
    shown = list(items[:most])
    if len(items) > most:
        shown.append(f"{len(items) - most} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} {last} {shown[-1]}" if shown else "none"


def sentence_case(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]
