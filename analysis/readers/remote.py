"""Inputs by address, such as ``s3://bucket/logs/``: fetched into a folder of this process, then read like any other file."""

from __future__ import annotations

import functools
import hashlib
import os
import posixpath
import re
import tempfile
import uuid
from pathlib import Path
from typing import Any

from analysis.errors import Fault, InputError, plain
from analysis.readers.raw import optional

_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_CONTAINERS = frozenset({"abfs", "abfss", "wasb", "wasbs"})
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
    container = scheme in _CONTAINERS and ":" not in place  # container@account is Azure's own form
    if "@" in place and not container:
        raise InputError(Fault(file=shown, what="holds a user or a key", fix=fix))
    if scheme in {"http", "https"} and "?" in rest:
        raise InputError(Fault(file=shown, what="has a query, which may hold a key", fix=fix))
    known = optional("fsspec", "cloud").available_protocols()
    if scheme not in known:
        fix = f"Known: {' '.join(known)}."
        raise InputError(Fault(file=plain(address), what=f"no file system is called {plain(scheme)}", fix=fix))


def stamps(address: str) -> dict[str, str]:
    """What the store says of every file behind an address, by its path below what is asked for: it changes with the file.

    Raises
    ------
    InputError
        Nothing is there, or the store cannot be asked.
    MissingProgram
        Without fsspec.
    """
    check(address)
    try:
        system, path = optional("fsspec", "cloud").core.url_to_fs(address)
        names = _files(system, path)
        root = _root(system, path, names)
        found = {posixpath.relpath(name, root or "."): _stamp(system, name) for name in names}
    except InputError:
        raise
    except Exception as error:
        raise _refused(address, error) from error
    if not found:
        raise InputError(Fault(file=plain(address), what="nothing is there", fix="Check bucket, path and rights."))
    return found


def fetch(address: str) -> list[Path]:
    """Local copies: the file, the files of a pattern, or a folder with everything that lies below it.

    Raises
    ------
    InputError, MissingProgram
        As `copies`.
    """
    found = copies(address)
    system, path = optional("fsspec", "cloud").core.url_to_fs(address)
    if _PATTERN.search(path) or system.isfile(path):
        return list(found.values())
    name, copy = next(iter(found.items()))
    return [copy.parents[name.count("/")]]


def copies(address: str) -> dict[str, Path]:
    """Every file behind an address, by its path below what is asked for, and where its copy lies.

    What is fetched once is used again in this process, as long as the store says that it is the same.

    Raises
    ------
    InputError
        Nothing is there, or it cannot be fetched.
    MissingProgram
        Without fsspec.
    """
    known = stamps(address)
    try:
        system, path = optional("fsspec", "cloud").core.url_to_fs(address)
        token = hashlib.sha256(repr((address, sorted(known.items()))).encode()).hexdigest()[:16]
        root = _root(system, path, _files(system, path))
        home = Path(_holder().name) / token / (posixpath.basename(root) or "root")
        return {name: _copied(system, address, root, name, home) for name in known}
    except InputError:
        raise
    except Exception as error:
        raise _refused(address, error) from error


def _copied(system: Any, address: str, root: str, name: str, home: Path) -> Path:
    copy = home / name
    if not copy.resolve().is_relative_to(home.resolve()):
        raise InputError(Fault(file=plain(address), what=f"{plain(name)} leaves its folder"))
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        part = copy.with_name(f"{copy.name}.{os.getpid()}.part")  # another process may be fetching it too
        system.get_file(posixpath.join(root, name), str(part))
        part.replace(copy)
    return copy


def _root(system: Any, path: str, names: list[str]) -> str:
    """What names are told from: the folder itself, or the one that holds the file or everything that fits a pattern."""
    if names and (_PATTERN.search(path) or system.isfile(path)):
        return posixpath.commonpath([posixpath.dirname(name) for name in names])
    return path.rstrip("/")


def _stamp(system: Any, name: str) -> str:
    """What changes with a file; where the store tells nothing of that kind, what never comes again."""
    if not hasattr(system, "protocol") or not {"http", "https"} & set(_protocols(system)):
        return str(system.ukey(name))
    told = system.info(name)
    known = {
        key: str(told[key])
        for key in ("ETag", "Content-MD5", "Digest", "LastModified", "Last-Modified")
        if told.get(key)
    }
    return repr(known) if known else uuid.uuid4().hex


def _protocols(system: Any) -> tuple[str, ...]:
    return (system.protocol,) if isinstance(system.protocol, str) else tuple(system.protocol)


def _files(system: Any, path: str) -> list[str]:
    if _PATTERN.search(path):
        return sorted(name for name in system.glob(path) if system.isfile(name))
    return [path] if system.isfile(path) else sorted(system.find(path))


def _refused(address: str, error: Exception) -> InputError:
    reason = f"{type(error).__name__}: {plain(error)}" if str(error) else type(error).__name__
    fix = "Check the address, the rights and the network."
    if isinstance(error, ImportError):
        fix = "Install what reads it: pip install 'gatebook[cloud]'."
    return InputError(Fault(file=plain(address), what=f"cannot be fetched ({reason})", fix=fix))


@functools.cache
def _holder() -> tempfile.TemporaryDirectory[str]:
    """One folder for this process, gone when it ends."""
    return tempfile.TemporaryDirectory(prefix=f"gatebook-inputs-{os.getpid()}-", ignore_cleanup_errors=True)
