"""What a build remembers to be quick: digests of files that did not change since, and how reports ended.

It may be deleted at any time: digests are taken again, and what is up to date is told from the report folders themselves.
"""

from __future__ import annotations

import contextlib
import hashlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from analysis.readers.paths import STATE

SETTLED_NS = 2_000_000_000  # a file that was written this recently may be written again within one tick of its clock

_TABLES = """
CREATE TABLE IF NOT EXISTS digests (name TEXT PRIMARY KEY, stamp TEXT NOT NULL, sha256 TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS outcomes (report TEXT PRIMARY KEY, status TEXT NOT NULL, seconds REAL NOT NULL);
"""


class State:
    """A small sqlite file in the folder of reports; used as a context. Where it cannot be written it is kept in memory."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / STATE

    def __enter__(self) -> Self:
        self._known: dict[str, tuple[str, str]] = {}
        self._ended: dict[str, tuple[str, float]] = {}
        self._fresh: dict[str, tuple[str, str]] = {}
        self._taken: dict[Path, str] = {}
        with self._opened() as database:
            self._known = {
                str(name): (str(stamp), str(sha))
                for name, stamp, sha in database.execute("SELECT name, stamp, sha256 FROM digests")
            }
            self._ended = {
                str(report): (str(status), float(seconds))
                for report, status, seconds in database.execute("SELECT report, status, seconds FROM outcomes")
            }
        return self

    def __exit__(self, *_: object) -> None:
        self._keep()

    def digest(self, path: Path) -> str:
        """SHA-256 of a file's bytes, taken once per build; from memory where the file is the same to the nanosecond.

        Raises
        ------
        OSError
            When it cannot be read.
        """
        if path in self._taken:
            return self._taken[path]
        found = path.stat()
        stamp = f"{found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_dev} {found.st_ino}"
        sha = self.remembered(str(path), stamp)
        if sha is None:
            with path.open("rb") as file:
                sha = hashlib.file_digest(file, "sha256").hexdigest()
            newest = max(found.st_mtime_ns, found.st_ctime_ns)
            if abs(time.time_ns() - newest) > SETTLED_NS:
                self.remember(str(path), stamp, sha)
        self._taken[path] = sha
        return sha

    def remembered(self, name: str, stamp: str) -> str | None:
        """The digest of what had this name and this stamp."""
        known, sha = self._known.get(name, ("", ""))
        return sha if known == stamp else None

    def remember(self, name: str, stamp: str, sha256: str) -> None:
        """Keep a digest."""
        self._known[name] = self._fresh[name] = (stamp, sha256)

    def ended(self, report: str) -> tuple[str, float] | None:
        """Status and seconds of the last time a report was made."""
        return self._ended.get(report)

    def end(self, report: str, status: str, seconds: float) -> None:
        """Keep how a report ended, at once: the next moment may be the last."""
        self._ended[report] = (status, seconds)
        with self._opened() as database:
            database.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?)", (report, status, seconds))

    def _keep(self) -> None:
        if self._fresh:
            rows = [(name, *held) for name, held in self._fresh.items()]
            with self._opened() as database:
                database.executemany("INSERT OR REPLACE INTO digests VALUES (?, ?, ?)", rows)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """The database in a transaction; whatever is wrong with it, a build goes on without."""
        database = _connect(str(self._path)) or _connect(":memory:")
        if database is None:
            raise AssertionError("sqlite works in memory")
        try:
            with contextlib.suppress(sqlite3.Error, ValueError), database:
                yield database
        finally:
            database.close()


def _connect(place: str) -> sqlite3.Connection | None:
    """A database with its tables. A file that is none is replaced; None where there is no right, room or folder."""
    with contextlib.suppress(sqlite3.OperationalError, OSError):
        for _ in range(2):
            database = sqlite3.connect(place, timeout=30)
            try:
                database.executescript(_TABLES)
                return database
            except sqlite3.OperationalError:
                database.close()
                break
            except sqlite3.DatabaseError:
                database.close()
                Path(place).unlink(missing_ok=True)
    return None
