"""A parameter that must not be told: it is named by where it lies, and read there when it is used."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from pydantic import BaseModel, GetCoreSchemaHandler
from pydantic_core import core_schema

from analysis.errors import Fault, ParameterError, plain

HIDDEN = "***"
HOW = "write env:NAME or file:PATH"
SHORTEST = 5  # characters; what is shorter is found everywhere


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret lies: ``env:NAME`` or ``file:PATH``. It shows itself, also in JSON, as ``***``.

    >>> str(Secret("env:API_TOKEN"))
    '***'
    """

    source: str

    def __repr__(self) -> str:
        return HIDDEN

    def __str__(self) -> str:
        return HIDDEN

    def reveal(self) -> str:
        """Read it.

        Raises
        ------
        ParameterError
            The variable is not set or the file cannot be read.
        """
        kind, _, name = self.source.partition(":")
        if kind == "env":
            if not os.environ.get(name):
                raise ParameterError(Fault(what=f"the variable {plain(name)} is not set", fix="Export it."))
            return os.environ[name]
        try:
            return Path(name).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise ParameterError(Fault(file=Path(name).name, what=f"cannot be read ({plain(reason)})")) from error

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls._validated, serialization=core_schema.plain_serializer_function_ser_schema(str, when_used="json")
        )

    @classmethod
    def _validated(cls, value: Any) -> Secret:
        if isinstance(value, cls):
            return value
        if not isinstance(value, str) or not re.fullmatch(r"(env|file):.+", value, re.DOTALL):
            raise ValueError(f"a secret is not written down, {HOW}")
        return cls(value)


def secrets_of(params: BaseModel) -> dict[str, Secret]:
    """The secret parameters by name."""
    held = {name: getattr(params, name) for name in type(params).model_fields}
    return {name: value for name, value in held.items() if isinstance(value, Secret)}


def spellings(values: Iterable[str]) -> list[str]:
    """How secrets may stand in text: as they are, in JSON, in HTML, and each line of those that have several; longest first.

    >>> spellings(["a&b-c"])
    ['a&amp;b-c', 'a&b-c']
    """
    found: set[str] = set()
    for value in values:
        for part in (value, *value.splitlines()):
            found |= {part, escape(part), escape(part, quote=False), json.dumps(part)[1:-1], repr(part)[1:-1]}
            found.add(json.dumps(part, ensure_ascii=False)[1:-1])
    return sorted((text for text in found if len(text) >= SHORTEST), key=lambda text: (-len(text), text))


def masked(text: str, values: Iterable[str]) -> str:
    """The text without the values of secrets.

    >>> masked("key=sk-123", ["sk-123"])
    'key=***'
    """
    for spelling in spellings(values):
        text = text.replace(spelling, HIDDEN)
    return text


def scrub(folder: Path, values: Iterable[str]) -> list[str]:
    """Take secrets out of every file below a folder, in any spelling; the names of those that held one.

    Links are passed over: what they lead to is not ours.
    """
    sought = [text.encode() for text in spellings(values)]
    found = []
    for path in sorted(folder.rglob("*")) if sought else ():
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        clean = data
        for value in sought:
            clean = clean.replace(value, HIDDEN.encode())
        if clean != data:
            path.write_bytes(clean)
            found.append(path.relative_to(folder).as_posix())
    return found
