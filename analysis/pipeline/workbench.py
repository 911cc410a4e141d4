"""A working copy of a study's notebook with somebody's data and parameters in place, to go on from in JupyterLab."""

# nbformat is not annotated.
# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import v4

from analysis.pipeline import execute, freshness
from analysis.request import Request
from analysis.study import Study, share_folder


def working_copy(request: Request, folder: Path) -> Path:
    """Write a notebook that opens with what was asked for; one that is there already is never overwritten.

    Parameters
    ----------
    request
        Without data it is the study's example.
    folder
        Where it goes; paths in it are as seen from there.

    Raises
    ------
    ParameterError
        A parameter does not survive the way into a notebook.
    """
    study = request.study
    examples = share_folder() / "data" / "examples"
    data = request.data or {name: [str(examples / path) for path in paths] for name, paths in study.example.items()}
    folder.mkdir(parents=True, exist_ok=True)
    values = {
        **request.params.model_dump(mode="json"),
        "data": {name: freshness.seen_from(paths, folder) for name, paths in data.items()},
        "layouts": {
            name: layout.model_dump(mode="json", exclude_defaults=True) for name, layout in request.layouts.items()
        }
        or None,
        "rule": freshness.seen(request.rule_path, folder) if request.rule_path else None,
        "label": request.label,
        "out_dir": None,
    }
    notebook = execute.parameterised(execute.read_notebook(study.notebook_path), values, study.notebook)
    notebook.metadata.pop("papermill", None)
    for cell in notebook.cells:
        cell.metadata.pop("papermill", None)
    notebook.cells += list(_questions(study))
    path = next(path for path in _names(folder, Path(study.notebook).stem) if not path.exists())
    with path.open("x", encoding="utf-8", newline="\n") as file:
        nbformat.write(notebook, file)
    return path


def _questions(study: Study) -> Iterator[nbformat.NotebookNode]:
    """What invites to go on: each cell runs by itself, and writes nothing."""
    text = "## The next question\n\nEach cell runs by itself; change its values and run it again. Nothing is written."
    yield v4.new_markdown_cell(text, id="next")
    yield v4.new_code_cell("from analysis.present import explore", id="next-setup")
    for number, (prose, code) in enumerate(study.next_questions, start=1):
        yield v4.new_markdown_cell(prose, id=f"question-{number}")
        yield v4.new_code_cell(code, id=f"answer-{number}")


def _names(folder: Path, stem: str) -> itertools.chain[Path]:
    first = iter([folder / f"{stem}.ipynb"])
    return itertools.chain(first, (folder / f"{stem}-{number}.ipynb" for number in itertools.count(2)))
