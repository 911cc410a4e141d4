"""The site: an index of all reports with their verdicts, beside copies of them; opens from disk, asks for nothing."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from analysis.errors import Fault, UsageError, plain
from analysis.present.format import visible
from analysis.results import load
from analysis.study import share_folder

PUBLISHED = ("index.html", "report.pdf", "result.json", "report.ipynb", "tables", "figures", "cards")


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One report on the index."""

    study: str
    label: str
    verdict: str
    headline: str
    folder: str
    files: tuple[str, ...]


def assemble(reports: Path, site: Path) -> list[Entry]:
    """Build the site from the report folders; a folder that is not complete is not published.

    Raises
    ------
    UsageError
        When there is no report, or when ``site`` holds something else than a site: it is replaced as a whole.
    """
    site = site.resolve()
    found = [(path.parent, load(path)) for path in sorted(reports.glob("*/*/result.json")) if _complete(path.parent)]
    if not found:
        raise UsageError(Fault(file=str(reports), what="holds no report", fix="Make one first: gatebook run STUDY …"))
    _replaceable(site, reports)
    fresh = site.with_name(f".{site.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    entries = [_published(folder, result, reports, fresh) for folder, result in found]
    (fresh / "index.html").write_text(_index(entries), encoding="utf-8", newline="\n")
    shutil.rmtree(site, ignore_errors=True)
    fresh.rename(site)
    return entries


def _replaceable(site: Path, reports: Path) -> None:
    """Refuse to put the site where something would be lost."""
    fix = "Name another folder: --out DIR."
    reports = reports.resolve()
    if reports.is_relative_to(site) or site.is_relative_to(reports):
        raise UsageError(Fault(file=str(site), what="the site and the reports cannot share a folder", fix=fix))
    if site.exists() and not site.is_dir():
        raise UsageError(Fault(file=str(site), what="is not a folder", fix=fix))
    foreign = sorted({path.name for path in site.iterdir()} - {"index.html", "reports"}) if site.exists() else []
    if foreign:
        what = f"holds {plain(foreign[0])}, which is not part of a site"
        raise UsageError(Fault(file=str(site), what=what, fix=fix))


def _complete(folder: Path) -> bool:
    return not folder.name.startswith(".") and not folder.name.endswith(".failed") and (folder / "index.html").exists()


def _published(folder: Path, result: Mapping[str, Any], reports: Path, site: Path) -> Entry:
    inside = Path("reports") / folder.relative_to(reports)
    for name in PUBLISHED:
        source, target = folder / name, site / inside / name
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    files = tuple(name for name in PUBLISHED if (folder / name).is_file() and name != "index.html")
    return Entry(
        study=result["study"],
        label=visible(result["label"]),
        verdict=result["gate"]["verdict"],
        headline=visible(result["headline"]),
        folder=inside.as_posix(),
        files=files,
    )


def _index(entries: list[Entry]) -> str:
    environment = Environment(
        loader=FileSystemLoader(share_folder() / "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    counts = {verdict: sum(e.verdict == verdict for e in entries) for verdict in ("pass", "undecided", "refuse")}
    return environment.get_template("site/index.html.j2").render(entries=entries, counts=counts)
