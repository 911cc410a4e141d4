"""Inputs by address, such as ``s3://bucket/logs/``: fetched into a folder of this process, then read like any other file."""

from __future__ import annotations

import functools
import hashlib
import posixpath
import re
import tempfile
from pathlib import Path
from typing import Any

from analysis.errors import Fault, InputError, plain
from analysis.readers.raw import optional

_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_PATTERN = re.compile(r"[*?\[]")


def is_address(text: object) -> bool:
    """Whether the text is the address of something elsewhere, and no path.

    >>> is_address("s3://bucket/runs.csv"), is_address("runs.csv"), is_address("C:/runs.csv")
    (True, False, False)
    """
    return _ADDRESS.match(str(text)) is not None


def check(address: str) -> None:
    """Refuse an address that cannot be read from here, or that holds a key: it will stand in the report.

    Raises
    ------
    InputError
        The scheme is unknown, or there is a user or a query in it.
    """
    found = _ADDRESS.match(address)
    scheme, rest = (found["scheme"], found["rest"]) if found else ("", "")
    shown = f"{scheme}://…"
    place, fix = rest.partition("/")[0], "Credentials come from the environment, as the provider's own tools take them."
    if "@" in place:
        raise InputError(Fault(file=shown, what="holds a user or a key", fix=fix))
    if scheme in {"http", "https"} and "?" in rest:
        raise InputError(Fault(file=shown, what="has a query, which may hold a key", fix=fix))
    known = optional("fsspec", "cloud").available_protocols()
    if scheme not in known:
        fix = f"Known: {' '.join(known)}."
        raise InputError(Fault(file=plain(address), what=f"no file system is called {plain(scheme)}", fix=fix))


def stamps(address: str) -> dict[str, str]:
    """What the store says of every file behind an address, by its full path there: something that changes with the file.

    Raises
    ------
    InputError
        Nothing is there, or the store cannot be asked.
    """
    check(address)
    try:
        system, path = optional("fsspec", "cloud").core.url_to_fs(address)
        return {name: str(system.ukey(name)) for name in _files(system, path)} or _nothing(address)
    except InputError:
        raise
    except Exception as error:
        raise _refused(address, error) from error


def fetch(address: str) -> list[Path]:
    """Local copies: the file, the files of a pattern, or a folder with everything that lies below it.

    What is fetched once is used again in this process, as long as the store says that it is the same.

    Raises
    ------
    InputError
        Nothing is there, or it cannot be fetched.
    """
    known = stamps(address)
    try:
        system, path = optional("fsspec", "cloud").core.url_to_fs(address)
        token = hashlib.sha256(repr((address, sorted(known.items()))).encode()).hexdigest()[:16]
        target = Path(_holder().name) / token
        whole = not _PATTERN.search(path) and not system.isfile(path)
        root = path.rstrip("/") if whole else posixpath.commonpath([posixpath.dirname(name) for name in known])
        home = target / (posixpath.basename(root) or "root")
        copies = []
        for name in known:
            copy = home / posixpath.relpath(name, root or ".")
            if not copy.resolve().is_relative_to(target.resolve()):
                raise InputError(Fault(file=plain(address), what=f"{plain(name)} leaves its folder"))
            if not copy.exists():
                copy.parent.mkdir(parents=True, exist_ok=True)
                part = copy.with_name(copy.name + ".part")
                system.get_file(name, str(part))
                part.rename(copy)
            copies.append(copy)
        return [home] if whole else copies
    except InputError:
        raise
    except Exception as error:
        raise _refused(address, error) from error


def _files(system: Any, path: str) -> list[str]:
    if _PATTERN.search(path):
        return sorted(name for name in system.glob(path) if system.isfile(name))
    return [path] if system.isfile(path) else sorted(system.find(path))


def _nothing(address: str) -> dict[str, str]:
    raise InputError(Fault(file=plain(address), what="nothing is there", fix="Check bucket, path and rights."))


def _refused(address: str, error: Exception) -> InputError:
    reason = f"{type(error).__name__}: {plain(error)}" if str(error) else type(error).__name__
    fix = "Check the address, the rights and the network."
    if isinstance(error, ImportError):
        fix = "Install what reads it: pip install 'gatebook[cloud]'."
    return InputError(Fault(file=plain(address), what=f"cannot be fetched ({reason})", fix=fix))


@functools.cache
def _holder() -> tempfile.TemporaryDirectory[str]:
    """One folder for this process, gone when it ends."""
    return tempfile.TemporaryDirectory(prefix="gatebook-inputs-", ignore_cleanup_errors=True)
