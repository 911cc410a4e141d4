"""The page of a report that could not be made: what failed first, then parameters, log, and what ran before."""

# nbformat is not annotated.
# mypy: disable-error-code="no-untyped-call, no-any-return"

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import v4

from analysis.errors import GatebookError, plain
from analysis.pipeline.execute import PARTIAL, last_begun
from analysis.pipeline.html import render_html
from analysis.pipeline.normalise import front_matter
from analysis.present.format import visible
from analysis.request import Request
from analysis.sections import parameters_table
from analysis.study import write_files

_MARKER = "papermill-error-cell-tag"  # of cells that papermill puts in to point at a failure
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
LOG_LINES, MOST_TEXT = 60, 20_000
HEADLINE = 600  # characters of what went wrong on top of the page


def words(error: BaseException) -> str:
    """What is said of an error; of whatever stops a run from outside, no more than that.

    >>> words(KeyboardInterrupt())
    'stopped'
    """
    if isinstance(error, GatebookError):
        return error.message()
    return f"{type(error).__name__}: {plain(error)}" if isinstance(error, Exception) else "stopped"


def page(work: Path, request: Request, label: str, said: str) -> None:
    """Write ``index.html`` into the folder of a failed run; ``said`` is what went wrong."""
    write_files(work, {"index.html": render_html(notebook(work, request, label, said))})


def notebook(work: Path, request: Request, label: str, said: str) -> nbformat.NotebookNode:
    """The failure as a clean notebook: nothing of the data or of the run is markup in it."""
    partial = work / PARTIAL
    ran = nbformat.read(partial, as_version=4) if partial.exists() else v4.new_notebook()
    ran.cells = [cell for cell in ran.cells if _MARKER not in cell.metadata.get("tags", [])]
    at = _failing(ran)
    fields = {
        "title": f"{request.study.title}: {label}",
        "description": plain(said, width=HEADLINE),
        "verdict": "failed",
        "study": request.study.slug,
        "label": label,
    }
    cells = [front_matter(fields), *_section("What failed", _failed(ran, at, said))]
    table = parameters_table(request.params)
    shown = {"text/html": table.to_html(), "text/plain": table.title}
    cells += _section("Parameters", [v4.new_output("display_data", data=shown)])
    given = {name: [Path(path).name for path in paths] for name, paths in request.data.items()}
    cells += _section("Inputs", [_text(json.dumps(given, ensure_ascii=False, indent=1))])
    log = work / "log.txt"
    if log.exists():
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:]
        cells += _section(f"The last {len(lines)} lines of the log", [_text("\n".join(lines))])
    before = [output for cell in ran.cells[:at] if cell.cell_type == "code" for output in cell.outputs]
    if before:
        cells += _section("What ran before", [_passed(output) for output in before])
    return v4.new_notebook(cells=cells)


def _failing(ran: nbformat.NotebookNode) -> int | None:
    for index, cell in enumerate(ran.cells):
        if any(output.output_type == "error" for output in cell.get("outputs", [])):
            return index
    return last_begun(ran)


def _failed(ran: nbformat.NotebookNode, at: int | None, said: str) -> Iterator[nbformat.NotebookNode]:
    if len(said) > HEADLINE or "\n" in said or at is None:
        yield _text(said)
    if at is None:
        return
    cell = ran.cells[at]
    yield _text(f"cell {at + 1} ({cell.id}):\n\n{cell.source}")
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            yield _text(_ANSI.sub("", "\n".join(output.traceback)))


def _passed(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    if output.output_type == "stream":
        return _text(output.text)
    if output.output_type == "error":
        return _text(f"{output.ename}: {output.evalue}")
    return v4.new_output("display_data", data=output.data)


def _section(
    title: str, outputs: Iterator[nbformat.NotebookNode] | list[nbformat.NotebookNode]
) -> list[nbformat.NotebookNode]:
    return [v4.new_markdown_cell(f"## {title}"), v4.new_code_cell("shown", execution_count=1, outputs=list(outputs))]


def _text(text: str) -> nbformat.NotebookNode:
    if len(text) > MOST_TEXT:
        text = f"{text[: MOST_TEXT // 2]}\n…\n{text[-MOST_TEXT // 2 :]}"
    return v4.new_output("display_data", data={"text/plain": "\n".join(map(visible, text.split("\n")))})
