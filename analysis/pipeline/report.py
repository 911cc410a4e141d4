"""One report, from a request to a complete folder: executed, normalised, rendered, then renamed into place."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import nbformat

from analysis.errors import ExecutionError, Fault, GatebookError, plain
from analysis.pipeline import execute, html, normalise, pdf, provenance, quarto
from analysis.present.format import slug
from analysis.readers.paths import expand
from analysis.readers.remote import is_address
from analysis.request import Request
from analysis.results import StudyResult, dumps, load
from analysis.study import share_folder, write_files

Renderer = Literal["auto", "quarto", "builtin"]
Format = Literal["html", "pdf"]
FAILED = ".failed"  # ends the folder of a run that failed, and no other
_WORK = re.compile(r"\..*-(?P<pid>\d+)-\w+")
FILE_NAMES: Mapping[Format, str] = {"html": "index.html", "pdf": "report.pdf"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A complete report folder and its parsed ``result.json``."""

    folder: Path
    result: Mapping[str, Any]
    renderer: str


def make(
    request: Request,
    expected: StudyResult,
    out: Path,
    *,
    formats: Sequence[Format],
    renderer: Renderer,
    timeout: float | None,
    progress: bool,
    say: Callable[[str], None],
) -> Report:
    """Make a report folder ``out/<study>/<label>``: complete, or not there at all.

    Parameters
    ----------
    expected
        The result as `Study.run` gives it outside the notebook; the notebook must agree with it to the byte.
    out
        The folder of all reports.
    say
        Gets one line per step.

    Raises
    ------
    GatebookError
        The notebook failed (what it left is kept in ``<label>.failed``), or a page could not be made.
    """
    started = datetime.now(UTC)
    chosen = choose(renderer)
    target = out / request.study.slug / folder_name(expected.label)
    target.parent.mkdir(parents=True, exist_ok=True)
    _sweep(target.parent)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name[:40]}-{os.getpid()}-", dir=target.parent))
    try:
        say("running the notebook")
        executed = _run(request, expected, work, timeout=timeout, progress=progress)
        say(f"rendering with {chosen}")
        clean = normalise.normalise(
            executed, load(work / "result.json"), title=request.study.title, folder=work.resolve()
        )
        _render(clean, work, formats, chosen)
        record = provenance.record(executed, started=started, renderer=chosen, folder=target.parent.resolve())
        write_files(work, {"run.json": dumps(record)})
    except BaseException as error:
        _keep_failed(work, target, error)
        say(f"not made; what the run left lies in {_failed(target)}")
        raise
    _replace(work, target)
    return Report(folder=target, result=load(target / "result.json"), renderer=chosen)


def choose(renderer: Renderer) -> str:
    """The renderer that will be used; asking for a missing Quarto is an error, before anything runs."""
    if renderer == "builtin" or (renderer == "auto" and quarto.version() is None):
        return "builtin"
    return f"quarto {'.'.join(map(str, quarto.require()))}"


def folder_name(label: str) -> str:
    """The folder of a label: from an allow-list of characters, never outside, never hidden, never that of a failure.

    >>> folder_name("nightly"), folder_name("nightly.failed"), folder_name("")
    ('nightly', 'nightly.failed-c8abe4', 'e3b0c4')
    """
    name = slug(label, width=100)
    return slug(f"{label}/", width=100) if name.endswith(FAILED) else name


def _run(
    request: Request, expected: StudyResult, work: Path, *, timeout: float | None, progress: bool
) -> nbformat.NotebookNode:
    study = request.study
    key = f"{study.slug}/{expected.label}"
    template = nbformat.read(share_folder() / "notebooks" / study.notebook, as_version=4)
    values = {
        **request.params.model_dump(mode="json"),
        "data": {name: seen_from(paths, work) for name, paths in request.data.items()},
        "layouts": expected.layouts or None,
        "rule": _relative(request.rule_path, work) if request.rule_path else None,
        "label": expected.label,
        "out_dir": ".",
    }
    filled = execute.parameterised(template, values, study.notebook)
    executed = execute.execute(
        filled, name=key, folder=work.resolve(), log=work / "log.txt", timeout=timeout, progress=progress
    )
    written = work / "result.json"
    if not written.exists():
        raise ExecutionError(Fault(file=key, what="the notebook wrote no result.json", fix="Keep its last cell."))
    if written.read_text(encoding="utf-8") != dumps(expected.to_json()):
        raise ExecutionError(
            Fault(
                file=key,
                what=f"the notebook and the library disagree on {_difference(written, expected)}",
                fix="A cell may change a parameter, or the data changed while the report was made.",
            )
        )
    return executed


def seen_from(paths: Sequence[str], work: Path) -> list[str]:
    """The files, folders and addresses that are meant, as seen from the report's folder.

    A folder stays one, since where a file lies in it may say recipe and seed.
    """
    named: list[str] = []
    for path in paths:
        if is_address(path):
            named.append(path)
        else:
            named += [_relative(one, work) for one in ([Path(path)] if Path(path).is_dir() else expand([path]))]
    return list(dict.fromkeys(named))


def _difference(written: Path, expected: StudyResult) -> str:
    """The first top-level keys in which two results differ."""
    found, wanted = json.loads(written.read_text(encoding="utf-8")), json.loads(dumps(expected.to_json()))
    return ", ".join(key for key in wanted if found.get(key) != wanted[key]) or "the order of keys"


def _relative(path: Path, work: Path) -> str:
    """A path as seen from the report's folder, so that no absolute path is stored; a link keeps its name."""
    return Path(os.path.relpath(path.parent.resolve() / path.name, work.resolve())).as_posix()


def _render(clean: nbformat.NotebookNode, work: Path, formats: Sequence[Format], chosen: str) -> None:
    path = work / "report.ipynb"
    nbformat.write(clean, path)
    write_files(work, {f"figures/{name}.svg": svg for name, svg in normalise.drawings(clean).items()})
    for kind in formats:
        if chosen != "builtin":
            page = quarto.render(path, kind)
        else:
            page = html.render_html(clean).encode() if kind == "html" else pdf.render_pdf(clean)
        (work / FILE_NAMES[kind]).write_bytes(page)


def _replace(work: Path, target: Path) -> None:
    """Rename a finished folder into place; the one it replaces goes only when the new one stands."""
    work.chmod(0o755)
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    work.rename(target)
    shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(_failed(target), ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove what runs that were killed outright left behind: their process is gone."""
    for entry in folder.iterdir():
        found = _WORK.fullmatch(entry.name)
        if found and not _is_alive(int(found["pid"])):
            shutil.rmtree(entry, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OSError, OverflowError):
        return True
    return True


def _keep_failed(work: Path, target: Path, error: BaseException) -> None:
    """Leave what a failed run had: log and partial notebook; a report that was there before stays."""
    failed = _failed(target)
    shutil.rmtree(failed, ignore_errors=True)
    work.rename(failed)
    failed.chmod(0o755)
    if isinstance(error, GatebookError):
        said = error.message()
    else:
        said = f"{type(error).__name__}: {plain(error)}" if isinstance(error, Exception) else "stopped"
    write_files(failed, {"error.txt": said + "\n"})


def _failed(target: Path) -> Path:
    return target.with_name(target.name + FAILED)
