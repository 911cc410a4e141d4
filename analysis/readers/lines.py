"""Bytes as lines of text, each with its number."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from analysis.errors import Fault, InputError
from analysis.readers.files import LINE_LIMIT, DataFile
from analysis.readers.raw import empty

BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def text_lines(data: DataFile) -> Iterator[tuple[int, str]]:
    r"""Number and text of every line that ends with ``\n``, the line end with it.

    Raises
    ------
    InputError
        At a byte that is not UTF-8, or a line that is too long to be one.
    """
    for number, line in enumerate(iter(partial(data.stream.readline, LINE_LIMIT), b""), start=1):
        if len(line) == LINE_LIMIT and not line.endswith(b"\n"):
            what = f"is longer than {LINE_LIMIT:,} bytes"
            raise InputError(Fault(file=data.path.name, place=f"line {number}", what=what, fix="Is it a text file?"))
        yield number, decoded(data.path, line.removeprefix(BYTE_ORDER_MARK) if number == 1 else line, number)


def whole_text(data: DataFile) -> str:
    """All text of a file that is one value.

    Raises
    ------
    InputError
        When there is none, or a byte is not UTF-8.
    """
    held = data.whole().removeprefix(BYTE_ORDER_MARK)
    if not held.strip():
        raise empty(data.path)
    return decoded(data.path, held)


def decoded(path: Path, data: bytes, line: int = 1) -> str:
    """Text of UTF-8 bytes; ``line`` is the number of the first line in them.

    Raises
    ------
    InputError
        Naming line and byte.
    """
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        what = f"byte 0x{data[error.start]:02x} is not UTF-8"
        raise InputError(
            Fault(file=path.name, place=f"line {line}", what=what, fix="Save the file as UTF-8.")
        ) from error
