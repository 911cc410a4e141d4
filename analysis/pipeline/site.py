"""The site: an index of all reports with their verdicts, beside copies of them; opens from disk, asks for nothing."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.errors import Fault, ReportError, UsageError, is_whole, plain
from analysis.pipeline import folders, guide, listing, live, provenance
from analysis.pipeline.assets import code
from analysis.pipeline.listing import Entry
from analysis.present.format import visible
from analysis.readers.paths import FAILED
from analysis.results import dumps, load
from analysis.study import share_folder, write_files

COPIED = ("report.pdf", "result.json", "report.ipynb", "tables", "figures", "cards")
ASSETS, GUIDE = "assets", "guide"
TRIES = 3  # of copying reports that another build replaces meanwhile
FILES, SITE = ".files.json", "gatebook/site/1"
"""Names and sizes of what the site holds beside the files of reports, so that what is lost is noticed."""
STAMP = '<meta name="gatebook-site" content="'


def assemble(reports: Sequence[Path], site: Path) -> list[Entry]:
    """Build the site from report folders, of one machine or of several.

    A folder that is not complete is not published; of a run that failed its page is, and nothing else.

    Raises
    ------
    UsageError
        When there is no report, when two folders hold different reports of one label, or when ``site`` holds something
        else than a site: it is replaced as a whole.
    """
    site = site.resolve()
    for root in reports:
        require_replaceable(root, site)
    for left in reversed(range(TRIES)):
        complete, failed = _found(reports)
        if not complete and not failed:
            named = ", ".join(map(str, reports))
            raise UsageError(Fault(file=named, what="holds no report", fix="Make one first: gatebook run STUDY …"))
        try:
            return _assembled(reports, site, complete, failed)
        except OSError as error:  # another build has just replaced a report, or the site
            if not left:
                raise _not_copied(error) from error
    raise AssertionError("the last try returns or raises")


def _not_copied(error: OSError) -> ReportError:
    """What could not be copied first, and why: copying a folder tells all of it in one heap."""
    first = error.args[0][0] if isinstance(error, shutil.Error) and isinstance(error.args[0], list) else None
    file, why = (first[0], first[2]) if first else (error.filename or "the site", error.strerror or error)
    fix = "Make that report again, or delete its folder."
    return ReportError(Fault(file=plain(file), what=f"cannot be put into the site ({plain(why)})", fix=fix))


def _assembled(
    reports: Sequence[Path], site: Path, complete: Mapping[str, Path], failed: Mapping[str, Path]
) -> list[Entry]:
    with folders.only_one(reports[0], "site"), folders.replacing(site) as fresh:
        entries = [_not_made(folder, inside, fresh) for inside, folder in failed.items()]
        script = _shared_script(complete.values(), site, fresh)
        entries += [_published(folder, inside, fresh, script) for inside, folder in complete.items()]
        guide.write(fresh / GUIDE)
        pages = {"index": listing.index(entries, _stamp(complete, failed)), "compare": listing.comparison(entries)}
        for name, page in pages.items():
            (fresh / f"{name}.html").write_text(page, encoding="utf-8", newline="\n")
        added = [*fresh.glob("*.html"), *(fresh / ASSETS).glob("*"), *(fresh / GUIDE).rglob("*.*")]
        added += [fresh / entry.folder / name for entry in entries for name in ("index.html", listing.SUMMARY)]
        sizes = {path.relative_to(fresh).as_posix(): {"bytes": path.stat().st_size} for path in added if path.exists()}
        (fresh / FILES).write_text(dumps({"schema": SITE, "files": sizes}), encoding="utf-8", newline="\n")
    return entries


def _shared_script(complete: Iterable[Path], before: Path, fresh: Path) -> str | None:
    """The name of the script that all live charts share, put into the site; None where no report has a chart."""
    if not any(live.has_charts(folder / "figures") for folder in complete):
        return None
    name = live.bundle_name()
    (fresh / ASSETS).mkdir()
    held = live.read_bundle(before / ASSETS / name) or live.bundle()  # making it takes seconds
    (fresh / ASSETS / name).write_text(held, encoding="utf-8", newline="\n")
    return name


def is_current(reports: Sequence[Path], site: Path) -> bool:
    """Whether the site stands as `assemble` would make it; sizes are compared, not bytes."""
    complete, failed = _found(reports)
    if STAMP + _stamp(complete, failed) not in folders.head(site / "index.html"):
        return False
    for inside, folder in complete.items():
        record = provenance.read(folder)
        if record is None:
            return False
        published = {name: held for name, held in record["files"].items() if name.split("/")[0] in COPIED}
        if provenance.lost(site / inside, {"files": published}):
            return False
    try:
        return not provenance.lost(site, json.loads((site / FILES).read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def _found(reports: Sequence[Path]) -> tuple[dict[str, Path], dict[str, Path]]:
    """Complete and failed reports by their place in the site."""
    complete: dict[str, Path] = {}
    failed: dict[str, Path] = {}
    for root in reports:
        for folder in sorted(root.glob("*/*/")):
            inside = f"reports/{folder.parent.name}/{folder.name}"
            if not is_whole(inside):
                raise UsageError(Fault(file=plain(inside), what="has a name that is no text", fix="Rename the folder."))
            if _complete(folder):
                other = complete.setdefault(inside, folder)
                if (other / "result.json").read_bytes() != (folder / "result.json").read_bytes():
                    what = f"is not the report that {other} holds under the same label"
                    raise UsageError(
                        Fault(file=str(folder), what=what, fix="Build them from the same inputs, or rename one.")
                    )
            elif _is_failure(folder):
                failed.setdefault(inside, folder)
    # what failed on one machine and was made on another was made
    left = {
        inside: folder
        for inside, folder in failed.items()
        if inside.removesuffix(FAILED) not in complete or folder.with_name(folder.name.removesuffix(FAILED)).exists()
    }
    return complete, left


def require_replaceable(reports: Path, site: Path) -> None:
    """Refuse to put the site where something would be lost.

    Raises
    ------
    UsageError
        The site would share a folder with the reports, or lies where something else does.
    """
    fix = "Name another folder for the site."
    reports, site = reports.resolve(), site.resolve()
    base = next(place for place in (site, *site.parents) if place.exists())
    if not base.is_dir():
        raise UsageError(Fault(file=str(base), what="is not a folder", fix=fix))
    if Path.cwd().is_relative_to(site):
        raise UsageError(Fault(file=str(site), what="is the folder that this is called from", fix=fix))
    if reports.is_relative_to(site) or site.is_relative_to(reports):
        raise UsageError(Fault(file=str(site), what="the site and the reports cannot share a folder", fix=fix))
    foreign = _foreign(site)
    if foreign:
        what = f"holds {plain(foreign)}, which is not part of a site"
        raise UsageError(Fault(file=str(site), what=what, fix=fix))


def _foreign(site: Path) -> str | None:
    """Something in a folder that no site of ours would hold; a site says of itself that it is one."""
    held = sorted(path.name for path in site.iterdir()) if site.exists() else []
    if not held:
        return None
    other = [
        name
        for name in held
        if name not in {"index.html", "compare.html", "reports", ASSETS, GUIDE, FILES, ".nojekyll"}
    ]
    other += [f"reports/{path.name}" for path in sorted((site / "reports").glob("*")) if not path.is_dir()]
    if other:
        return other[0]
    return None if is_site(site) else held[0]


def is_site(folder: Path) -> bool:
    """Whether a folder is a site of reports: its index says so, or the list of what it holds."""
    return STAMP in folders.head(folder / "index.html") or SITE in folders.head(folder / FILES)


def _complete(folder: Path) -> bool:
    return not _is_apart(folder) and (folder / "result.json").exists() and (folder / "index.html").exists()


def _is_failure(folder: Path) -> bool:
    return folder.name.endswith(FAILED) and (folder / "error.txt").exists() and (folder / "index.html").exists()


def _is_apart(folder: Path) -> bool:
    """Whether a folder is hidden or that of a failure."""
    return folder.name.startswith(".") or folder.parent.name.startswith(".") or folder.name.endswith(FAILED)


def _stamp(complete: Mapping[str, Path], failed: Mapping[str, Path]) -> str:
    """A digest that changes with any report, and with whatever the site adds to them."""
    digest = hashlib.sha256(Path(__file__).read_bytes())
    templates = share_folder() / "templates"
    added = [*sorted((templates / "site").iterdir()), templates / "html" / "theme.css", templates / "html" / "page.js"]
    for path in (*code("listing.py", "live.py", "pages.py", "policy.py"), *added):
        digest.update(path.read_bytes())
    digest.update(f"{guide.stamp()} {live.bundle_name()}".encode())
    for found, names in ((complete, ("run.json", "result.json")), (failed, ("error.txt",))):
        for inside, folder in found.items():
            path = next(folder / name for name in names if (folder / name).exists())
            digest.update(f"{inside} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _published(folder: Path, inside: str, site: Path, script: str | None) -> Entry:
    try:
        result = load(folder / "result.json")
    except UsageError as error:
        fix = "Make it again, or delete the folder."
        raise UsageError(
            *(replace(fault, file=str(folder / "result.json"), fix=fix) for fault in error.faults)
        ) from error
    for name in COPIED:
        source, target = folder / name, site / inside / name
        if source.is_dir():
            shutil.copytree(source, target)
        elif source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    page = (folder / "index.html").read_text(encoding="utf-8", errors="replace")
    charts = live.charts(folder / "figures")
    record = provenance.read(folder) or {}
    write_files(
        site / inside,
        {
            "index.html": live.in_site(page, inside, charts, script),
            listing.SUMMARY: listing.summary(result, record.get("components", {}), inside),
        },
    )
    return Entry(
        study=result["study"],
        label=visible(result["label"]),
        verdict=result["gate"]["verdict"],
        headline=visible(result["headline"]),
        folder=inside,
        files=tuple(name for name in COPIED if (folder / name).is_file()),
        made=_day(record),
        parameters=tuple(_changed(result)),
    )


def _day(record: Mapping[str, Any]) -> str:
    started = record.get("started")
    return started[:10] if isinstance(started, str) else ""


def _changed(result: Mapping[str, Any]) -> list[str]:
    """Parameters with a default beside their value: in the table it stands only where they differ."""
    rows = result["tables"].get("parameters", {}).get("rows", [])
    return [visible(f"{row[0]}={row[1]}") for row in rows if isinstance(row, list) and len(row) > 2 and row[2] != ""]


def _not_made(folder: Path, inside: str, site: Path) -> Entry:
    page = (folder / "index.html").read_text(encoding="utf-8", errors="replace")
    write_files(site / inside, {"index.html": live.in_site(page, inside, {}, None)})
    said = (folder / "error.txt").read_text(encoding="utf-8", errors="replace").strip()
    return Entry(
        study=folder.parent.name,
        label=folder.name.removesuffix(FAILED),
        verdict="failed",
        headline=visible(plain(said, width=400)),
        folder=inside,
        files=(),
    )
