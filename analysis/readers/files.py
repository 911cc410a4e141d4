"""A data file while it is read: unpacked, hashed and watched, never held whole unless a format needs it."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

from analysis.errors import Fault, InputError, plain
from analysis.readers.raw import optional

PIECE = 1 << 20
WHOLE_LIMIT = 4 << 30  # bytes of a file that is held in memory at once
SPARE, RATIO_LIMIT = 64 << 20, 400  # a packed file may always unpack to SPARE; beyond it to this many times its size
LINE_LIMIT = 64 << 20
ZSTD_PIECE = 1 << 12  # one byte may stand for 32,768, and what a piece unpacks to is held at once

Advance = Callable[[int], None]
"""Told how many bytes of the file on disk were passed."""


class DataFile:
    """A file on disk, or bytes that stand for one.

    Used as a context: ``stream`` gives the unpacked bytes from the start; when the context is left the rest is hashed, and
    a file that changed meanwhile is refused.

    Attributes
    ----------
    path
        Where the bytes lie; its suffix says what they are and how they are packed.
    stream
        Unpacked bytes.
    on_disk
        Whether ``path`` itself can be opened, unpacked, by a library that wants to seek.
    sha256
        Digest of the bytes as they lie on disk; known once the context is left.
    """

    def __init__(self, path: Path, data: bytes | None = None, advance: Advance | None = None) -> None:
        self.path = path
        self.sha256 = ""
        self._advance = advance or (lambda _count: None)
        self._data = data
        self._told = 0
        self.on_disk = data is None and not path.name.lower().endswith((".gz", ".zst"))

    def __enter__(self) -> Self:
        self._raw: BinaryIO = self.path.open("rb", buffering=0) if self._data is None else io.BytesIO(self._data)
        self._before = self._state()
        self._watched = _Watched(self._raw, self._advance)
        packed = io.BufferedReader(self._watched, PIECE)
        self._packed = packed
        self.stream: BinaryIO = io.BufferedReader(
            _Guarded(self.path, _unpacked(self.path, packed), self._watched), PIECE
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                while self._packed.read(PIECE):
                    pass
                self.sha256 = self._watched.digest.hexdigest()
                if self._state() != self._before:
                    raise InputError(
                        Fault(
                            file=self.path.name, what="changed while it was read", fix="Try again when it is complete."
                        )
                    )
        finally:
            self._raw.close()

    def passed(self, fraction: float) -> None:
        """A library that reads the path itself says how far it is; the rest of the bytes is hashed in silence."""
        size = self.path.stat().st_size if self._data is None else len(self._data)
        told = self._told if self._watched.silent else self._watched.count
        self._told, self._watched.silent = max(told, int(size * fraction)), True
        self._advance(self._told - told)

    def whole(self) -> bytes:
        """All unpacked bytes.

        Raises
        ------
        InputError
            When they are more than a machine should hold.
        """
        out = io.BytesIO()
        while piece := self.stream.read(PIECE):
            out.write(piece)
            if out.tell() > WHOLE_LIMIT:
                what = f"holds more than {WHOLE_LIMIT:,} bytes"
                raise InputError(Fault(file=self.path.name, what=what, fix="Split it, or give it as Parquet."))
        return out.getvalue()

    def _state(self) -> tuple[int, ...]:
        """What changes when somebody writes: size, time of change, and which file the path means."""
        if self._data is not None:
            return ()
        held, named = os.fstat(self._raw.fileno()), self.path.stat()
        return held.st_size, held.st_mtime_ns, held.st_ino, named.st_ino


class _Watched(io.RawIOBase):
    """The bytes on disk, hashed and counted as they pass."""

    def __init__(self, raw: BinaryIO, advance: Advance) -> None:
        self._raw, self._advance = raw, advance
        self.digest = hashlib.sha256()
        self.count = 0
        self.silent = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._raw.read(len(view))
        view[: len(data)] = data
        self.digest.update(data)
        self.count += len(data)
        if not self.silent:
            self._advance(len(data))
        return len(data)


class _Guarded(io.RawIOBase):
    """Unpacked bytes, as long as they stay in proportion to the packed ones; what cannot be unpacked is one error."""

    def __init__(self, path: Path, stream: io.RawIOBase | io.BufferedIOBase, packed: _Watched) -> None:
        self._path, self._stream, self._packed = path, stream, packed
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        try:
            data = self._stream.read(len(view)) or b""
        except OSError as error:
            if error.errno is not None:  # the disk, not the packing
                raise
            raise self._broken(error) from error
        except Exception as error:
            raise self._broken(error) from error
        self._count += len(data)
        if self._count > max(SPARE, RATIO_LIMIT * self._packed.count):
            what = f"unpacks to more than {RATIO_LIMIT} times its size"
            raise InputError(Fault(file=self._path.name, what=what, fix="Give it unpacked."))
        view[: len(data)] = data
        return len(data)

    def _broken(self, error: Exception) -> Exception:
        if isinstance(error, InputError):
            return error
        what = f"cannot be unpacked ({plain(error)})"
        return InputError(Fault(file=self._path.name, what=what, fix="The file may be cut short."))


class _Zstandard(io.RawIOBase):
    """Frame after frame; a frame without its end is an error, which the library's own stream reader does not see."""

    def __init__(self, packed: Any) -> None:
        self._packed = packed
        self._new = optional("zstandard").ZstdDecompressor().decompressobj
        self._frame, self._rest, self._out = None, b"", b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        while not self._out:
            data = self._rest or self._packed.read(ZSTD_PIECE)
            self._rest = b""
            if not data:
                if self._frame is not None:
                    raise EOFError("Compressed file ended before the end of its frame")
                return 0
            frame = self._frame or self._new()
            self._out = frame.decompress(data)
            self._frame = None if frame.eof else frame
            self._rest = frame.unused_data if frame.eof else b""
        count = min(len(view), len(self._out))
        view[:count], self._out = self._out[:count], self._out[count:]
        return count


def _unpacked(path: Path, packed: Any) -> io.RawIOBase | io.BufferedIOBase:
    name = path.name.lower()
    if name.endswith(".gz"):
        return gzip.GzipFile(fileobj=packed)
    return _Zstandard(packed) if name.endswith(".zst") else packed
