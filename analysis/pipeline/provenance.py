"""Where a report comes from: versions, host, git and lock file, digests of every file; written to ``run.json`` and read back."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import analysis
from analysis.errors import Fault, UsageError, is_whole
from analysis.results import WORST_FIRST

if TYPE_CHECKING:
    import nbformat

SCHEMA = "gatebook/run/1"
RUN_PACKAGES = (
    "altair", "datasketch", "font-source-sans-pro", "ipykernel", "jupyter_client", "nbclient", "nbformat", "numpy", "pandas",
    "papermill", "pyarrow", "pydantic", "ruamel.yaml", "scipy", "vl-convert-python", "zstandard",
)  # fmt: skip
PAGE_PACKAGES = ("fonttools", "jinja2", "manimgx-fonts", "nbconvert", "nh3", "pypandoc-binary", "typst")
LOCKS = ("requirements.lock", "uv.lock", "poetry.lock", "pdm.lock", "pixi.lock", "conda-lock.yml", "requirements.txt")
EXECUTED = {
    "notebook": "notebook code",
    "parameters": "parameters",
    "inputs": "input bytes",
    "rule": "rule",
    "package": "package code",
    "environment": "environment",
}
"""What a run depends on, in words; when one of these changes, the notebook is executed again."""
RENDERED = {"narrative": "text of the notebook", "page": "page code or formats"}
"""What only the page depends on; when one of these changes, the outputs are rendered again."""
APART = frozenset({"run.json", "log.txt"})
"""Files that may differ between two equal runs."""


def versions(packages: Iterable[str]) -> dict[str, str | None]:
    """Installed versions; None where a package is not installed."""
    found: dict[str, str | None] = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


@functools.cache
def environment() -> Mapping[str, str | None]:
    """What the numbers and drawings may depend on beside our own code: interpreter, machine, packages."""
    python = sys.version.split()[0]
    return {"python": python, "machine": f"{sys.platform} {platform.machine()}", **versions(RUN_PACKAGES)}


@functools.cache
def page_environment() -> Mapping[str, str | None]:
    """What only the page may depend on."""
    return versions(PAGE_PACKAGES)


@functools.cache
def git_state(folder: Path) -> Mapping[str, Any] | None:
    """Commit of the checkout that holds ``folder`` and what was not committed then; None outside one."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    dirty = bool(_git(folder, "status", "--porcelain"))
    diff = _git(folder, "diff", "--binary", "HEAD") if dirty else None
    return {"commit": commit, "dirty": dirty, "diff_sha256": _sha256((diff or "").encode()) if dirty else None}


@functools.cache
def lock_file(folder: Path) -> Mapping[str, str] | None:
    """The nearest file of locked versions at or above a folder, with its digest; None without one."""
    for place in (folder, *folder.parents):
        for name in LOCKS:
            if (place / name).is_file():
                return {"file": name, "sha256": _sha256((place / name).read_bytes())}
    return None


def origin(folder: Path, components: Mapping[str, str]) -> str:
    """What a reader without this tool needs to check a report, in markdown; the same for equal runs."""
    held = [
        f"{name} {number}" for name, number in environment().items() if number and name not in {"python", "machine"}
    ]
    pages = [f"{name} {number}" for name, number in page_environment().items() if number]
    digest = _sha256((folder / "result.json").read_bytes())
    lines = [
        f"Made by gatebook {analysis.__version__} under Python {environment()['python']} ({environment()['machine']}), with "
        f"{', '.join(held)}; rendered with {', '.join(pages)}.",
        "",
        "Every table lies beside this page as CSV, JSON and LaTeX in `tables/`, every drawing as SVG in `figures/`. Every number "
        "comes from `result.json`; the program `sha256sum` must print for it",
        "",
        f"    {digest}",
        "",
        "and for every input what stands in the table above. Under the same code and environment a new run gives the same bytes. "
        "What this report was made from, as the first twelve digits of SHA-256:",
        "",
        *(f"- {words}: `{components[name][:12]}`" for name, words in EXECUTED.items()),
    ]
    return "\n".join(lines)


def cell_seconds(executed: nbformat.NotebookNode) -> list[dict[str, Any]]:
    """Seconds of every code cell."""
    return [
        {"cell": cell.id, "seconds": cell.metadata.get("papermill", {}).get("duration")}
        for cell in executed.cells
        if cell.cell_type == "code"
    ]


def host(folder: Path) -> dict[str, Any]:
    """What describes this machine and checkout, and takes no part in the result."""
    return {
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "gatebook": analysis.__version__,
        "environment": dict(environment()),
        "page_environment": dict(page_environment()),
        "git": git_state(folder),
        "lock": lock_file(folder),
    }


def peak_memory() -> dict[str, int | None]:
    """Most bytes that this process, and any of its children, held at once; None where that is not known."""
    try:
        import resource  # noqa: PLC0415  (not on Windows)
    except ModuleNotFoundError:
        return {"report": None, "kernel": None}
    unit = 1 if sys.platform == "darwin" else 1024
    own, children = (resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {"report": own * unit, "kernel": children * unit}


def digests(folder: Path) -> dict[str, dict[str, Any]]:
    """SHA-256 and size of every file of a report, by its path inside; without those that may differ between equal runs."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in APART:
            data = path.read_bytes()
            found[name] = {"sha256": _sha256(data), "bytes": len(data)}
    return found


def read(folder: Path) -> dict[str, Any] | None:
    """The ``run.json`` of a complete report; None where there is none, or one that is not as this tool writes it."""
    try:
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        return None
    if not all(isinstance(record.get(name), dict) for name in ("components", "files", "environment")):
        return None
    told = all(_is_file(name, held) for name, held in record["files"].items())
    return record if told and record.get("verdict") in WORST_FIRST else None


def _is_file(name: str, held: Any) -> bool:
    if not isinstance(held, dict) or not isinstance(held.get("sha256"), str) or not isinstance(held.get("bytes"), int):
        return False
    return is_whole(name) and "\0" not in name


def require(folder: Path) -> dict[str, Any]:
    """As `read`, but a folder that is no report is an error.

    Raises
    ------
    UsageError
        With the way out.
    """
    record = read(folder)
    if record is None:
        fix = "Name a folder such as reports/<study>/<label>."
        raise UsageError(Fault(file=str(folder), what="is not a report folder with a run.json", fix=fix))
    return record


def lost(folder: Path, record: Mapping[str, Any]) -> list[str]:
    """Files of a report that are gone or have another size than they had; their bytes are not read."""
    names = []
    for name, held in record["files"].items():
        try:
            if os.stat(f"{folder}/{name}").st_size != held["bytes"]:  # noqa: PTH116  (called twenty times a report)
                names.append(name)
        except OSError:
            names.append(name)
    return names


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, errors="replace", check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
