"""The folder of a report: named from its label, one writer at a time, complete or absent, its former results kept."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

from analysis.errors import UsageError
from analysis.pipeline.processes import is_alive
from analysis.present.format import slug
from analysis.readers.paths import FAILED
from analysis.results import load
from analysis.study import write_files

try:
    import fcntl
except ModuleNotFoundError:  # Windows: two builds at once are not kept apart there
    fcntl = None  # type: ignore[assignment]

HISTORY, LOCK = ".history", ".lock"
_FORMER = re.compile(r"\d+-[0-9a-f]{12}\.json\.gz")
MOST_FORMER = 100  # results of one label that are kept
_WORK = re.compile(r"\..*-(?P<host>\w+)-(?P<pid>\d+)-\w+")


def _host() -> str:
    """What tells machines apart on a shared disk, and containers on one machine: process numbers mean nothing elsewhere."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return hashlib.sha256(f"{socket.gethostname()} {space}".encode()).hexdigest()[:6]


_HOST = _host()


def folder_name(label: str) -> str:
    """The folder of a label: from an allow-list of characters, never outside, never hidden, never that of a failure.

    Never one that Quarto passes over either, as it does with a leading underscore.

    >>> folder_name("nightly"), folder_name("nightly.failed"), folder_name("_nightly"), folder_name("")
    ('nightly', 'nightly.failed-c8abe4', 'nightly-98b244', 'e3b0c4')
    """
    name = slug(label, width=100)
    return slug(f"{label}/", width=100).lstrip("_-") if name.endswith(FAILED) or name.startswith("_") else name


def head(path: Path) -> str:
    """The beginning of a text file; empty where there is none."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(2000)
    except OSError:
        return ""


def failed(target: Path) -> Path:
    """Where a run that failed leaves what it had: beside the report."""
    return target.with_name(target.name + FAILED)


@contextlib.contextmanager
def locked(target: Path) -> Iterator[None]:
    """Be the only process, of all on this folder of reports, that works on ``target``; others wait.

    The lock is a byte of one file, and is gone with the process that holds it, however that ended.
    """
    with only_one(target.parent.parent, f"{target.parent.name}/{target.name}"):
        yield


@contextlib.contextmanager
def only_one(root: Path, what: str) -> Iterator[None]:
    """Be the only process that does ``what`` in a folder of reports; as `locked`."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / LOCK).open("a") as file:
        if fcntl is not None:
            fcntl.lockf(file, fcntl.LOCK_EX, 1, int(hashlib.sha256(what.encode()).hexdigest()[:8], 16))
        yield


def begin(target: Path) -> Path:
    """A new working folder beside ``target``, after what killed runs left has been put right."""
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target.parent)
    if _old(target).exists():  # killed between two renames
        if target.exists():
            shutil.rmtree(_old(target), ignore_errors=True)
        else:
            _old(target).rename(target)
    prefix = f".{target.name[:40]}-{_HOST}-{os.getpid()}-"
    return Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))


def publish(work: Path, target: Path) -> None:
    """Rename a finished folder into place; the one it replaces goes only when the new one stands."""
    try:
        work.chmod(0o755)
        _keep_former(work, target)
        old = _old(target)
        shutil.rmtree(old, ignore_errors=True)
        if target.exists():
            target.rename(old)
        work.rename(target)
    except OSError:  # something else is in the way
        shutil.rmtree(work, ignore_errors=True)
        raise
    shutil.rmtree(old, ignore_errors=True)
    forget_failure(target)


@contextlib.contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """A new folder that takes the place of ``target`` as a whole when the block ends well, and is gone when it does not."""
    fresh = begin(target)
    try:
        yield fresh
        fresh.chmod(0o755)
        shutil.rmtree(_old(target), ignore_errors=True)
        if target.exists():
            target.rename(_old(target))
        fresh.rename(target)
        shutil.rmtree(_old(target), ignore_errors=True)
    except BaseException:
        shutil.rmtree(fresh, ignore_errors=True)
        if _old(target).exists() and not target.exists():
            _old(target).rename(target)
        raise


def forget_failure(target: Path) -> None:
    """Remove what a failed run left: the report stands."""
    shutil.rmtree(failed(target), ignore_errors=True)


def keep_failed(work: Path, target: Path, said: str) -> Path:
    """Leave what a failed run had, and what is ``said`` of it; a report that was there before stays."""
    place = failed(target)
    shutil.rmtree(place, ignore_errors=True)
    try:
        work.rename(place)
    except OSError:  # something else is in the way: what the run had is lost, what it was is said
        shutil.rmtree(work, ignore_errors=True)
        return place
    place.chmod(0o755)
    with contextlib.suppress(OSError):  # a full disk: what is there stays there
        write_files(place, {"error.txt": said + "\n"})
    return place


def former(target: Path) -> list[Path]:
    """The results that this label had before, oldest first: ``NNNN-<digest>.json.gz``."""
    found = [path for path in _history(target).glob("*.json.gz") if _FORMER.fullmatch(path.name)]
    return sorted(found, key=lambda path: int(path.name.partition("-")[0]))


def _history(target: Path) -> Path:
    return target.parent.parent / HISTORY / target.parent.name / target.name


def _keep_former(work: Path, target: Path) -> None:
    old, new = target / "result.json", work / "result.json"
    if not old.exists() or old.read_bytes() == new.read_bytes():
        return
    try:
        load(old)
    except UsageError:  # it was damaged: nothing to compare with
        return
    kept = former(target)
    number = int(kept[-1].name.partition("-")[0]) + 1 if kept else 1
    data = old.read_bytes()
    place = _history(target) / f"{number:04d}-{hashlib.sha256(data).hexdigest()[:12]}.json.gz"
    place.parent.mkdir(parents=True, exist_ok=True)
    part = place.with_suffix(".part")
    part.write_bytes(gzip.compress(data, mtime=0))
    part.rename(place)
    for path in kept[: max(len(kept) + 1 - MOST_FORMER, 0)]:
        path.unlink(missing_ok=True)


def _old(target: Path) -> Path:
    return target.with_name(f".{target.name}.old")


def _sweep(folder: Path) -> None:
    """Remove what runs of this machine that were killed outright left behind: their process is gone."""
    for entry in folder.iterdir():
        found = _WORK.fullmatch(entry.name)
        if found and found["host"] == _HOST and not is_alive(int(found["pid"])):
            shutil.rmtree(entry, ignore_errors=True)
