"""The ``.eval`` container of Inspect: a ZIP whose members may be packed by zstandard; nothing of it touches the disk."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping

from analysis.errors import Fault, GatebookError, InputError, plain
from analysis.readers.files import RATIO_LIMIT, SPARE, DataFile
from analysis.readers.raw import optional

ZSTANDARD = 93  # method of APPNOTE 6.3.8; zipfile knows it from Python 3.14 on
LOCAL_HEADER = struct.Struct("<4s5H3I2H")
MEMBER_LIMIT, MEMBERS_LIMIT = 1 << 30, 2_000_000


class Container:
    """Members by name; of two with one name the last counts, as in Inspect."""

    def __init__(self, data: DataFile) -> None:
        self._name = data.path.name
        self._bytes = data.whole()
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(self._bytes))
            self.members: Mapping[str, zipfile.ZipInfo] = {info.filename: info for info in self._archive.infolist()}
        except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError, struct.error) as error:
            fault = self._fault(f"is no complete ZIP archive ({plain(error)})", "The log may be cut short.")
            raise fault from error
        if len(self.members) > MEMBERS_LIMIT:
            raise self._fault(f"holds more than {MEMBERS_LIMIT:,} members", "Split the log.")
        unpacked = sum(info.file_size for info in self.members.values())
        if unpacked > max(SPARE, RATIO_LIMIT * len(self._bytes)):
            raise self._fault(f"unpacks to more than {RATIO_LIMIT} times its size", "Is it a log of Inspect?")

    def read(self, name: str) -> str:
        """Text of a member.

        Raises
        ------
        InputError
            When it is broken, too large or packed by an unknown method.
        """
        info = self.members[name]
        if info.file_size > MEMBER_LIMIT:
            raise self._fault(f"the member {plain(name)} is larger than {MEMBER_LIMIT:,} bytes", "Split the log.")
        try:
            data = self._zstandard(info) if info.compress_type == ZSTANDARD else self._stdlib(info)
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise self._fault(f"the member {plain(name)} is not UTF-8", "Write the log again.") from error
        except (GatebookError, MemoryError):
            raise
        except Exception as error:
            what = f"the member {plain(name)} cannot be unpacked ({plain(error)})"
            raise self._fault(what, "The log may be cut short.") from error

    def _stdlib(self, info: zipfile.ZipInfo) -> bytes:
        with self._archive.open(info) as stream:
            return self._limited(info, stream.read(info.file_size + 1))

    def _zstandard(self, info: zipfile.ZipInfo) -> bytes:
        zstandard = optional("zstandard")
        header = LOCAL_HEADER.unpack_from(self._bytes, info.header_offset)
        start = info.header_offset + LOCAL_HEADER.size + header[-2] + header[-1]
        packed = io.BytesIO(self._bytes[start : start + info.compress_size])
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
            data = self._limited(info, stream.read(info.file_size + 1))
        if zlib.crc32(data) != info.CRC:
            raise zipfile.BadZipFile("wrong check sum")
        return data

    def _limited(self, info: zipfile.ZipInfo, data: bytes) -> bytes:
        if len(data) != info.file_size:
            raise zipfile.BadZipFile(f"{len(data):,} bytes or more where the directory says {info.file_size:,}")
        return data

    def _fault(self, what: str, fix: str) -> InputError:
        return InputError(Fault(file=self._name, what=what, fix=fix))
