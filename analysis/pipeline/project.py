"""A new project that already runs: notebooks, example data, rules, ``reports.yml`` and a recipe for CI."""

from __future__ import annotations

import shutil
from pathlib import Path

from analysis.catalogue import STUDIES
from analysis.errors import Fault, UsageError, plain
from analysis.pipeline.manifest import schema_text
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
    write_files(folder, {"reports.schema.json": schema_text()})
    for study in STUDIES:
        _copy(study.notebook_path, folder / "notebooks" / study.notebook)
        for name in (name for names in study.example.values() for name in names):
            _copy(shared / "data" / "examples" / name, folder / "data" / "examples" / name)
    for rule in sorted((shared / "data" / "rules").glob("*.yml")):
        _copy(rule, folder / "rules" / rule.name)
    for name in ("_quarto.yml", "index.qmd"):
        _copy(shared / name, folder / name)
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
