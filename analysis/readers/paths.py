"""From what a user names to the files that are meant."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from analysis.errors import Fault, InputError, plain, raise_all
from analysis.readers import remote
from analysis.readers.raw import data_suffix
from analysis.readers.tabular import SUFFIXES

LOG_SUFFIXES = (".eval",)
REPORT = {"report.ipynb", "result.json"}
"""Names by which a folder is known as a report."""
FAILED = ".failed"
"""Ends the folder of a run that failed, and of no other."""
STATE = ".state.sqlite"
"""Lies in the folder of all reports."""


def local(paths: Iterable[str | Path]) -> list[str | Path]:
    """The paths, and in place of every address the local copies of what lies there.

    Raises
    ------
    InputError
        With every address that cannot be fetched.
    """
    found: list[str | Path] = []
    faults: list[Fault] = []
    for path in paths:
        try:
            found += remote.fetch(str(path)) if remote.is_address(path) else [path]
        except InputError as error:
            faults += error.faults
    raise_all(InputError, faults)
    return found


def expand(paths: Iterable[str | Path]) -> list[Path]:
    """Files behind paths, folders and patterns, each once, in a stable order.

    A folder stands for its data files at any depth; names that begin with a dot, where editors keep their copies, links
    to folders and reports are passed over.

    Raises
    ------
    InputError
        When there is no path, a path does not exist or a folder holds no data file.
    """
    found: dict[Path, Path] = {}
    faults: list[Fault] = []
    for given in paths:
        what = "no such file"
        try:
            path = Path(given)
            if path.is_dir():
                what, matches = "the folder holds no data file", _inside(path)
            elif path.exists() and not path.is_file():
                what, matches = "not a regular file", []
            elif path.exists():
                matches = [path]
            else:
                matches = sorted(Path(name) for name in glob.glob(str(given)))  # noqa: PTH207  (absolute patterns too)
            matches = [match for match in matches if match.is_file()]
        except InputError as error:
            faults += error.faults
            continue
        except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
            what, matches = f"cannot be read ({plain(getattr(error, 'strerror', error))})", []
        if not matches:
            faults.append(
                Fault(file=str(given), what=what, fix=f"Known kinds: {' '.join((*SUFFIXES, *LOG_SUFFIXES))}.")
            )
        for match in matches:
            found.setdefault(match.resolve(), match)
    if not found and not faults:
        faults.append(Fault(what="no file was given", fix="Give at least one."))
    raise_all(InputError, faults)
    return list(found.values())


def walk(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Every folder below one that may hold data, itself first, with the names of its files; in a stable order.

    Names that begin with a dot, links to folders, and what reports were written into are passed over.

    Raises
    ------
    InputError
        A folder cannot be listed.
    """
    for place, folders, names in os.walk(folder, onerror=_refuse):
        failed = place.endswith(FAILED) and "error.txt" in names
        site = "index.html" in names and "reports" in folders
        if set(names) >= REPORT or failed or STATE in names or site:
            folders.clear()  # a report of ours, what a failed one left, all of them, or their site is no data
            continue
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield Path(place), [name for name in sorted(names) if not name.startswith(".")]


def _inside(folder: Path) -> list[Path]:
    found = []
    for place, names in walk(folder):
        files = [place / name for name in names]
        files = [file for file in files if data_suffix(file) in {*SUFFIXES, *LOG_SUFFIXES}]
        gone = [
            Fault(file=file.name, what="is a link to nothing", fix="Fetch the file, or remove the link.")
            for file in files
            if not file.exists()
        ]
        raise_all(InputError, gone)
        found += [file for file in files if file.is_file()]
    return found


def _refuse(error: OSError) -> None:
    """A folder that cannot be listed may hold anything."""
    name = Path(str(error.filename)).name
    raise InputError(
        Fault(file=name, what=f"cannot be listed ({plain(error.strerror)})", fix="Check its rights.")
    ) from error
