"""What may differ between two equal runs: times, versions, host and git state, for ``run.json``."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import analysis

if TYPE_CHECKING:
    import nbformat

PACKAGES = (
    "altair", "click", "ipykernel", "jupyter_client", "nbclient", "nbconvert", "nbformat", "nh3", "numpy", "pandas",
    "papermill", "pydantic", "pypandoc-binary", "ruamel.yaml", "scipy", "typst", "vl-convert-python",
)  # fmt: skip


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str | None]:
    """Installed versions; None where a package is not installed."""
    found: dict[str, str | None] = {}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def git_state(folder: Path) -> dict[str, Any] | None:
    """Commit of the checkout that holds ``folder`` and whether it has uncommitted changes; None outside one."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return None
    return {"commit": commit, "dirty": bool(_git(folder, "status", "--porcelain"))}


def record(executed: nbformat.NotebookNode, *, started: datetime, renderer: str, folder: Path) -> dict[str, Any]:
    """The content of ``run.json``."""
    return {
        "schema": "gatebook/run/1",
        "started": started.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(UTC) - started).total_seconds(), 3),
        "cells": [
            {"cell": cell.id, "seconds": cell.metadata.get("papermill", {}).get("duration")}
            for cell in executed.cells
            if cell.cell_type == "code"
        ],
        "renderer": renderer,
        "gatebook": analysis.__version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "packages": versions(),
        "git": git_state(folder),
        "log": "log.txt",
    }


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
