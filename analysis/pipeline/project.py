"""The ends of a project: a new one that already runs, and its site where people read it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from pathlib import Path

from analysis.catalogue import STUDIES
from analysis.errors import Fault, ReportError, UsageError, plain
from analysis.pipeline import folders, quarto
from analysis.pipeline.manifest import schema_text
from analysis.pipeline.site import is_site, require_replaceable
from analysis.schemas import rule_schema
from analysis.study import share_folder, write_files

_PROJECT = {
    "README.md": "README.md",
    "reports.yml": "reports.yml",
    "gitignore": ".gitignore",
    "pre-commit-config.yaml": ".pre-commit-config.yaml",
    "workflow.yml": ".github/workflows/reports.yml",
}


def lay_out(folder: Path) -> list[str]:
    """Write a project into a folder that is empty or not there; the names of its files.

    Raises
    ------
    UsageError
        Something lies in the folder: nothing is overwritten.
    """
    try:
        held = sorted(path.name for path in folder.iterdir()) if folder.exists() else []
    except NotADirectoryError as error:
        raise UsageError(Fault(file=str(folder), what="is not a folder", fix="Name a new one.")) from error
    if held:
        what = f"is not empty: it holds {plain(held[0])}"
        raise UsageError(Fault(file=str(folder), what=what, fix="Name a new folder; nothing was written."))
    shared = share_folder()
    folder.mkdir(parents=True, exist_ok=True)
    for source, target in _PROJECT.items():
        text = (shared / "templates" / "project" / source).read_text(encoding="utf-8")
        write_files(folder, {target: text})
    write_files(folder, {"reports.schema.json": schema_text(), "rules/rule.schema.json": rule_schema()})
    for study in STUDIES:
        _copy(study.notebook_path, folder / "notebooks" / study.notebook)
    for path in sorted((shared / "data" / "examples").glob("*/*")):
        if path.suffix in {".csv", ".gz", ".yml"}:
            _copy(path, folder / path.relative_to(shared))
    for rule in sorted((shared / "data" / "rules").glob("*.yml")):
        _copy(rule, folder / "rules" / rule.name)
    for name in ("_quarto.yml", "index.qmd"):
        _copy(shared / name, folder / name)
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def require_site(site: Path) -> Path:
    """The folder of a site that was assembled here.

    Raises
    ------
    UsageError
        It is not there, or something else.
    """
    if not is_site(site):
        raise UsageError(Fault(file=str(site), what="is not a site of reports", fix="Make it first: gatebook build."))
    return site


def copy_site(site: Path, target: Path) -> Path:
    """Copy a site into a folder of its own, whole or not at all; an earlier copy is replaced.

    Raises
    ------
    UsageError
        The folder holds something else.
    """
    require_replaceable(site, target)
    with folders.replacing(target) as fresh:
        shutil.copytree(site, fresh, dirs_exist_ok=True)
        (fresh / ".nojekyll").touch()  # GitHub Pages would leave out what begins with an underscore
    return target


def pack(site: Path, target: Path) -> Path:
    """A site as the archive that GitHub Pages takes; the same bytes for the same site.

    Raises
    ------
    UsageError
        The archive would lie inside the site.
    """
    if target.resolve().is_relative_to(site.resolve()):
        raise UsageError(Fault(file=str(target), what="lies inside the site", fix="Name a place outside."))
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}")
    with tarfile.open(part, "w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(site.rglob("*")):
            archive.add(path, path.relative_to(site).as_posix(), recursive=False, filter=_plain_entry)
    part.replace(target)
    return target


def publish_by_quarto(site: Path) -> None:
    """Let Quarto put a finished site on the ``gh-pages`` branch of this checkout.

    Raises
    ------
    ReportError
        Quarto is not installed, or did not manage.
    """
    quarto.require()
    command = ["quarto", "publish", "gh-pages", str(site), "--no-render", "--no-prompt", "--no-browser"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = plain((done.stderr.strip() or done.stdout.strip() or "no word").splitlines()[-1], width=400)
        raise ReportError(Fault(what=f"quarto publish failed: {last}", fix="The branch gh-pages must exist."))


def _plain_entry(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without owner, rights and time of this machine."""
    entry.uid = entry.gid = entry.mtime = 0
    entry.uname = entry.gname = ""
    entry.mode = 0o755 if entry.isdir() else 0o644
    return entry


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
