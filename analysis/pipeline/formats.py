"""What a report can be rendered as, and by what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Format = Literal["html", "pdf"]
Renderer = Literal["auto", "quarto", "builtin"]
FILE_NAMES: Mapping[Format, str] = {"html": "index.html", "pdf": "report.pdf"}
FORMATS: tuple[Format, ...] = tuple(FILE_NAMES)
