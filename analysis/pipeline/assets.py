"""What pages are put together from: styles and scripts below ``templates``, and our own modules, for digests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.study import share_folder


def texts(names: Sequence[str]) -> str:
    """The text of files below ``templates``, one after the other."""
    folder = share_folder() / "templates"
    return "".join((folder / name).read_text(encoding="utf-8") for name in names)


def code(*names: str) -> Iterator[Path]:
    """Modules of this package by file name."""
    return (Path(__file__).with_name(name) for name in names)
