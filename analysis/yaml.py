"""YAML 1.2 as text: ``no``, ``010`` and ``1.10`` keep their spelling, and every key knows its line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from analysis.errors import Fault, UsageError, is_whole, plain

LARGEST, MOST_NODES = 1_000_000, 20_000
NULLS = frozenset({"", "~", "null"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A YAML file whose top level is a mapping: scalars as text (an empty or null one is None), lines by key."""

    file: str
    values: dict[str, Any]
    lines: dict[str, int]

    def place(self, key: str) -> str:
        """The line of a top-level key."""
        return f"line {self.lines[key]}" if key in self.lines else ""


def load(path: Path, error: type[UsageError]) -> Document:
    """Read a YAML file without letting it guess types.

    Raises
    ------
    UsageError
        Of the class ``error``: the file is missing, not UTF-8, not YAML, not a mapping, or names a key twice.
    """
    try:
        if path.exists() and not path.is_file():
            raise error(Fault(file=str(path), what="is not a regular file"))
        if path.stat().st_size > LARGEST:
            raise error(Fault(file=str(path), what=f"is larger than {LARGEST:,} bytes: that is no file of settings"))
        node = YAML(typ="safe", pure=True).compose(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise error(Fault(file=str(path), what=f"cannot be read ({plain(problem.strerror)})")) from problem
    except UnicodeDecodeError as problem:
        raise error(Fault(file=path.name, what="is not UTF-8", fix="Save it as UTF-8.")) from problem
    except RecursionError as problem:
        raise error(Fault(file=path.name, what="is nested too deeply")) from problem
    except YAMLError as problem:
        line = getattr(getattr(problem, "problem_mark", None), "line", None)
        what = plain(getattr(problem, "problem", None) or problem)
        place = f"line {line + 1}" if line is not None else ""
        raise error(Fault(file=path.name, place=place, what=f"is not YAML ({what})")) from problem
    if node is None:
        return Document(file=path.name, values={}, lines={})
    if not isinstance(node, MappingNode):
        raise error(Fault(file=path.name, what="does not hold `name: value` lines"))
    try:
        values = _plain(node, path, error, iter(range(MOST_NODES)))
    except StopIteration as problem:
        what = f"stands for more than {MOST_NODES:,} values"
        raise error(
            Fault(file=path.name, what=what, fix="Aliases (*name) may repeat each other; write the values out.")
        ) from problem
    except RecursionError as problem:
        raise error(Fault(file=path.name, what="refers to itself (*alias)", fix="Write the value out.")) from problem
    lines = {key.value: key.start_mark.line + 1 for key, _ in node.value}
    return Document(file=path.name, values=values, lines=lines)


def _plain(node: Node, path: Path, error: type[UsageError], left: Iterator[int]) -> Any:
    """The node's value; every node takes one from ``left``, so that aliases of aliases cannot grow without end."""
    next(left)
    if isinstance(node, ScalarNode):
        if "\0" in node.value or not is_whole(node.value):
            place = f"line {node.start_mark.line + 1}"
            raise error(Fault(file=path.name, place=place, what="holds a character that is no text", fix="Remove it."))
        return None if node.style is None and node.value.lower() in NULLS else node.value
    if isinstance(node, SequenceNode):
        items = []
        for child in node.value:
            items.append(_plain(child, path, error, left))
        return items
    values: dict[str, Any] = {}
    for key, child in node.value:
        place = f"line {key.start_mark.line + 1}"
        if not isinstance(key, ScalarNode):
            raise error(Fault(file=path.name, place=place, what="a list or mapping cannot be a key"))
        if "\0" in key.value or not is_whole(key.value):
            raise error(Fault(file=path.name, place=place, what="has a key with a character that is no text"))
        if key.value in values:
            raise error(Fault(file=path.name, place=place, what=f"the key {plain(repr(key.value))} stands twice"))
        values[key.value] = _plain(child, path, error, left)
    return values
