"""One report, from a request to a complete folder: executed, normalised, rendered, then renamed into place."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import nbformat

from analysis.errors import ExecutionError, Fault, GatebookError, Incomplete, UsageError, raise_all
from analysis.inputs import NO_BYTES
from analysis.pipeline import execute, failure, folders, freshness, html, kernels, normalise, pdf, provenance, quarto
from analysis.pipeline.formats import FILE_NAMES, Format, Renderer
from analysis.pipeline.freshness import Wanted
from analysis.pipeline.invitation import invitation
from analysis.pipeline.state import State
from analysis.pipeline.tags import INJECTED, PARAMETERS
from analysis.present.svg import CHART_SUFFIX
from analysis.request import Request
from analysis.results import StudyResult, dumps, load
from analysis.secrets import masked, scrub, secrets_of
from analysis.study import write_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a report is made; none of it changes a number.

    Attributes
    ----------
    timeout, cell_timeout
        Seconds for the whole notebook and for each cell; None for no limit.
    progress
        Whether to draw a bar on stderr.
    say
        Gets one line per step.
    """

    formats: Sequence[Format]
    renderer: Renderer = "auto"
    timeout: float | None = None
    cell_timeout: float | None = None
    progress: bool = False
    say: Callable[[str], None] = field(default=lambda _line: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A complete report folder and its parsed ``result.json``; ``new`` unless somebody else made it meanwhile."""

    folder: Path
    result: Mapping[str, Any]
    renderer: str
    new: bool = True


def make(
    request: Request,
    expected: StudyResult,
    out: Path,
    options: Options,
    *,
    want: Wanted | None = None,
    notebook: Path | None = None,
    spare: kernels.Spare | None = None,
    again: bool = True,
) -> Report:
    """Make a report folder ``out/<study>/<label>``: complete, or not there at all.

    Parameters
    ----------
    expected
        The result as `Study.run` gives it outside the notebook; the notebook must agree with it to the byte.
    out
        The folder of all reports.
    want
        What the report is made from; taken here when None.
    notebook
        Another notebook than the study's own.
    spare
        A forked process that becomes the kernel; None to start one.
    again
        Whether to make it also where it is up to date.

    Raises
    ------
    GatebookError
        The notebook failed (what it left is kept in ``<label>.failed``), or a page could not be made.
    """
    begun, started = time.monotonic(), datetime.now(UTC)
    target = out / request.study.slug / folders.folder_name(expected.label)
    template = notebook or request.study.notebook_path
    chosen = quarto.chosen(options.renderer)
    hidden = [secret.reveal() for secret in secrets_of(request.params).values()]
    with folders.locked(target):
        if want is None:
            with State(out) as state:
                want = freshness.wanted(
                    request, target, label=expected.label, notebook=template, formats=options.formats,
                    renderer=chosen, state=state,
                )  # fmt: skip
        if not again and freshness.decide(target, want).action == "cached":
            folders.forget_failure(target)
            return Report(folder=target, result=load(target / "result.json"), renderer=chosen, new=False)
        work = folders.begin(target)
        try:
            _require_planned(expected, want)
            options.say("running the notebook")
            executed = _run(request, expected, work, options, template, spare, hidden)
            _require_unchanged(request, target, want, template)
            _require_no_secret(executed, work, hidden)
            options.say(f"rendering with {chosen}")
            _render(executed, request, want, work, options.formats, chosen)
            record = {
                **_record(work, want, renderer=chosen, begun=begun, started=started),
                "cells": provenance.cell_seconds(executed),
                "memory": provenance.peak_memory(),
                **provenance.host(out.resolve()),
            }
            write_files(work, {"run.json": dumps(record)})
        except BaseException as error:
            with contextlib.suppress(OSError):  # a full disk: what is there stays there
                scrub(work, hidden)
            said = masked(failure.words(error), hidden)
            with contextlib.suppress(Exception):  # the page of a failure may never hide it
                failure.page(work, request, expected.label, said)
            place = folders.keep_failed(work, target, said)
            options.say(f"not made; what the run left lies in {place}")
            if hidden and isinstance(error, GatebookError):
                faults = [
                    Fault(file=f.file, place=f.place, what=masked(f.what, hidden), fix=f.fix) for f in error.faults
                ]
                raise type(error)(*faults) from None
            raise
        folders.publish(work, target)
    return Report(folder=target, result=load(target / "result.json"), renderer=chosen)


def render_again(
    request: Request, target: Path, formats: Sequence[Format], want: Wanted, *, notebook: Path, renderer: str
) -> Report | None:
    """Make the pages of a report anew from the outputs that it holds; nothing is executed.

    None where that is not enough any more: somebody else changed the report meanwhile.

    Raises
    ------
    GatebookError
        A page could not be made.
    """
    begun, started = time.monotonic(), datetime.now(UTC)
    with folders.locked(target):
        action = freshness.decide(target, want).action
        if action == "cached":
            return Report(folder=target, result=load(target / "result.json"), renderer=renderer, new=False)
        if action == "run":
            return None
        try:
            executed = with_outputs(execute.read_notebook(notebook), execute.read_notebook(target / "report.ipynb"))
        except (UsageError, KeyError, AttributeError, StopIteration):  # its notebook was damaged: it must run
            return None
        work = folders.begin(target)
        try:
            shutil.copytree(target, work, dirs_exist_ok=True)
            for path in (*(work / name for name in FILE_NAMES.values()), *(work / "figures").glob("*.svg")):
                path.unlink(missing_ok=True)
            _render(executed, request, want, work, formats, renderer)
            made = _record(work, want, renderer=renderer, begun=begun, started=started)
            had = provenance.require(target)
            again = {name: made[name] for name in ("key", "components", "renderer", "files")}
            again["rendered"] = {"started": made["started"], "seconds": made["seconds"]}
            write_files(work, {"run.json": dumps({**had, **again})})
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
        folders.publish(work, target)
    return Report(folder=target, result=load(target / "result.json"), renderer=renderer)


def with_outputs(template: nbformat.NotebookNode, stored: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The cells of a notebook, with the parameters and outputs that a report of it holds, by cell id."""
    held = {cell.id: cell for cell in stored.cells if cell.cell_type == "code"}
    notebook = nbformat.from_dict(template)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = held[cell.id].outputs, held[cell.id].execution_count
    at = next(i for i, cell in enumerate(notebook.cells) if PARAMETERS in cell.metadata.get("tags", []))
    notebook.cells.insert(at + 1, held[INJECTED])
    return notebook


def _run(
    request: Request,
    expected: StudyResult,
    work: Path,
    options: Options,
    template: Path,
    spare: kernels.Spare | None,
    hidden: Sequence[str],
) -> nbformat.NotebookNode:
    key = f"{request.study.slug}/{expected.label}"
    secret = {name: _seen(secret.source, work) for name, secret in secrets_of(request.params).items()}
    values = {
        **request.params.model_dump(mode="json"),
        **secret,
        "data": {name: freshness.seen_from(paths, work) for name, paths in request.data.items()},
        "layouts": expected.layouts or None,
        "rule": freshness.seen(request.rule_path, work) if request.rule_path else None,
        "label": expected.label,
        "out_dir": ".",
    }
    filled = execute.parameterised(execute.read_notebook(template), values, template.name)
    executed = execute.execute(
        filled,
        name=key,
        folder=work.resolve(),
        log=work / "log.txt",
        timeout=options.timeout,
        cell_timeout=options.cell_timeout,
        progress=options.progress,
        spare=spare,
        hidden=hidden,
    )
    written = work / "result.json"
    if not written.exists():
        raise Incomplete(Fault(file=key, what="the notebook wrote no result.json", fix="Keep its last cell."))
    if written.read_text(encoding="utf-8") != dumps(expected.to_json()):
        raise ExecutionError(
            Fault(
                file=key,
                what=f"the notebook and the library disagree on {_difference(written, expected)}",
                fix="A cell may change a parameter, or the data changed while the report was made.",
            )
        )
    return executed


def _require_planned(expected: StudyResult, want: Wanted) -> None:
    """Refuse inputs that are not those whose digests were taken when this was planned."""
    raise_all(
        ExecutionError,
        (_changed(str(entry["file"])) for entry in expected.inputs if entry["sha256"] not in {*want.files, NO_BYTES}),
    )


def _require_unchanged(request: Request, target: Path, want: Wanted, template: Path) -> None:
    """Refuse inputs and a notebook that are others now than when the run was planned."""
    if freshness.notebook_digests(template) != (want.components["notebook"], want.components["narrative"]):
        raise ExecutionError(_changed(template.name))
    with State(target.parent.parent) as state:
        digest, files = freshness.inputs_of(request, target, state)
    if digest != want.components["inputs"]:
        names = [name for sha, name in files.items() if sha not in want.files] or ["an input"]
        raise ExecutionError(*map(_changed, names))


def _changed(name: str) -> Fault:
    what = "changed while the report was made, so that it was not published"
    return Fault(file=name, what=what, fix="Try again when it is complete.")


def _require_no_secret(executed: nbformat.NotebookNode, work: Path, hidden: Sequence[str]) -> None:
    """Refuse to render what tells a secret: before there is a page, and in whatever spelling."""
    told = scrub(work, hidden)
    text = nbformat.writes(executed)
    if masked(text, hidden) != text:
        told.append("an output of the notebook")
    if told:
        what = f"a secret stood in {', '.join(told)}; it was replaced by ***"
        raise ExecutionError(Fault(what=what, fix="A cell prints it."))


def _seen(source: str, work: Path) -> str:
    kind, _, name = source.partition(":")
    return f"file:{freshness.seen(Path(name), work)}" if kind == "file" else source


def _difference(written: Path, expected: StudyResult) -> str:
    """The first top-level keys in which two results differ."""
    found, wanted = json.loads(written.read_text(encoding="utf-8")), json.loads(dumps(expected.to_json()))
    return ", ".join(key for key in wanted if found.get(key) != wanted[key]) or "the order of keys"


def _render(
    executed: nbformat.NotebookNode,
    request: Request,
    want: Wanted,
    work: Path,
    formats: Sequence[Format],
    chosen: str,
) -> None:
    clean = normalise.normalise(
        executed,
        load(work / "result.json"),
        title=request.study.title,
        folder=work.resolve(),
        origin="\n\n".join([provenance.origin(work, want.components), invitation(request, work)]),
    )
    path = work / "report.ipynb"
    nbformat.write(clean, path)
    write_files(work, {f"figures/{name}.svg": svg for name, svg in normalise.drawings(clean).items()})
    charts = normalise.charts(executed)
    write_files(work, {f"figures/{name}{CHART_SUFFIX}": dumps(chart) for name, chart in charts.items()})
    for kind in formats:
        if chosen != "builtin":
            page = quarto.render(path, kind)
        else:
            page = html.render_html(clean).encode() if kind == "html" else pdf.render_pdf(clean)
        (work / FILE_NAMES[kind]).write_bytes(page)


def _record(work: Path, want: Wanted, *, renderer: str, begun: float, started: datetime) -> dict[str, Any]:
    """What ``run.json`` says of the content; times come from a clock that never jumps."""
    result = load(work / "result.json")
    return {
        "schema": provenance.SCHEMA,
        "key": want.key,
        "components": dict(want.components),
        "verdict": result["gate"]["verdict"],
        "label": result["label"],
        "seed": result["parameters"].get("seed"),
        "inputs": result["inputs"],
        "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - begun, 3),
        "renderer": renderer,
        "files": provenance.digests(work),
        "log": "log.txt",
    }
