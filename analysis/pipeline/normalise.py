"""An executed notebook made clean, once, for every renderer: front matter, labels, captions, no times, no paths."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat

from analysis.errors import Fault, RenderError, raise_all
from analysis.pipeline.tags import INJECTED, PARAMETERS, REMOVE
from analysis.present.format import visible
from analysis.present.svg import SPECIFICATION

MOST_PRINTED = 100_000  # characters of one output
_LABEL = re.compile(r"^#\|\s*label:\s*(?P<label>\S+)\s*$", re.MULTILINE)
_TITLE = re.compile(r"\A\s*# [^\n]*")
_REFERENCE = re.compile(r"```.*?```|`[^`\n]*`|(?<![\w\\])@(?P<name>[A-Za-z][\w:-]*)", re.DOTALL)  # or code, passed over


def normalise(
    executed: nbformat.NotebookNode, result: Mapping[str, Any], *, title: str, folder: Path, origin: str = ""
) -> nbformat.NotebookNode:
    """Clean an executed notebook.

    Parameters
    ----------
    executed
        As papermill returned it.
    result
        The parsed ``result.json``: captions, alt texts, verdict and headline come from here.
    title
        Title of the page.
    folder
        The folder it ran in; its path is removed from printed text.
    origin
        Markdown that says where the report comes from; it stands at the end.

    Raises
    ------
    RenderError
        A label that stands twice or has no table or figure in the result, or an error output.
    """
    notebook = nbformat.from_dict(executed)
    notebook.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    labels = _labels(notebook)
    cells = [front_matter(_fields(result, title))]
    for cell in notebook.cells:
        clean = _cleaned(cell, result, labels, folder)
        if clean is not None:
            cells.append(clean)
    if origin:
        cells.append(nbformat.v4.new_markdown_cell(origin, id="origin"))
    notebook.cells = cells
    return notebook


def label_of(cell: nbformat.NotebookNode) -> str | None:
    r"""The ``#| label:`` of a code cell.

    >>> from nbformat.v4 import new_code_cell
    >>> label_of(new_code_cell("#| label: tbl-cards\nx"))
    'tbl-cards'
    """
    found = _LABEL.search(cell.source) if cell.cell_type == "code" else None
    return found["label"] if found else None


def drawings(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """The SVG of every labelled figure, by the name of the figure."""
    found = {}
    for cell in notebook.cells:
        label = label_of(cell) or ""
        for output in cell.get("outputs", []):
            svg = output.get("data", {}).get("image/svg+xml")
            if label.startswith("fig-") and svg:
                found[label.removeprefix("fig-")] = svg
    return found


def specifications(executed: nbformat.NotebookNode) -> dict[str, Mapping[str, Any]]:
    """What every labelled figure of an executed notebook was drawn from, by the name of the figure."""
    found = {}
    for cell in executed.cells:
        label = label_of(cell) or ""
        for output in cell.get("outputs", []):
            held = output.get("data", {}).get(SPECIFICATION)
            if label.startswith("fig-") and held:
                found[label.removeprefix("fig-")] = held
    return found


def _labels(notebook: nbformat.NotebookNode) -> set[str]:
    found = [label for cell in notebook.cells if (label := label_of(cell))]
    twice = sorted({label for label in found if found.count(label) > 1})
    raise_all(RenderError, (Fault(what=f"the label {label} stands twice in the notebook") for label in twice))
    return set(found)


def front_matter(fields: Mapping[str, Any]) -> nbformat.NotebookNode:
    """The first cell of a clean notebook: raw YAML that every renderer reads."""
    cell = nbformat.v4.new_raw_cell(
        "\n".join(["---", *(f"{key}: {_yaml(value)}" for key, value in fields.items()), "---"])
    )
    cell["id"] = "front-matter"
    return cell


def _fields(result: Mapping[str, Any], title: str) -> dict[str, Any]:
    return {
        "title": f"{title}: {result['label']}",
        "subtitle": result["signature"],
        "categories": [result["study"], result["gate"]["verdict"]],
        "description": result["headline"],
        "verdict": result["gate"]["verdict"],
        "study": result["study"],
        "label": result["label"],
    }


def _yaml(value: Any) -> str:
    """A double-quoted scalar or a list of them; JSON text is YAML."""
    if isinstance(value, list):
        return f"[{', '.join(map(_yaml, value))}]"
    return json.dumps(visible(value), ensure_ascii=False)


def _cleaned(
    cell: nbformat.NotebookNode, result: Mapping[str, Any], labels: set[str], folder: Path
) -> nbformat.NotebookNode | None:
    tags = [tag for tag in cell.metadata.get("tags", []) if tag in {PARAMETERS, INJECTED, REMOVE}]
    if {PARAMETERS, INJECTED} & set(tags) and REMOVE not in tags:
        tags.append(REMOVE)
    cell.metadata = {"tags": tags} if tags else {}
    if cell.cell_type == "markdown":
        cell.source = _narrative(cell.source, labels)
        return cell if cell.source.strip() else None
    if cell.cell_type != "code":
        return None
    if INJECTED in tags:
        cell.source = _relocatable(cell.source)
    cell.source = _captioned(cell, result)
    cell.outputs = [_output(output, folder) for output in cell.outputs]
    return cell


def _narrative(source: str, labels: set[str]) -> str:
    """Markdown without its first-level heading (the front matter's title), stray ``@words`` made text."""
    text = _TITLE.sub("", source).strip("\n")
    return _REFERENCE.sub(lambda m: m[0] if m["name"] is None or m["name"] in labels else "\\" + m[0], text)


def _relocatable(source: str) -> str:
    """The injected values, with nothing to write: opened by hand, the report runs again without touching itself."""
    lines = ["# The parameters of this report"]
    for statement in ast.parse(source).body:
        name = statement.targets[0].id  # type: ignore[attr-defined]
        value = None if name == "out_dir" else ast.literal_eval(statement.value)  # type: ignore[attr-defined]
        lines.append(f"{name} = {value!r}")
    return "\n".join(lines)


def _captioned(cell: nbformat.NotebookNode, result: Mapping[str, Any]) -> str:
    """The source with caption and alt text as the result has them: there the alt text knows the numbers."""
    label = label_of(cell)
    if label is None:
        return str(cell.source)
    kind, _, name = label.partition("-")
    held = result["tables" if kind == "tbl" else "figures"].get(name)
    if held is None:
        raise RenderError(Fault(place=f"cell {cell.id}", what=f"the result has nothing called {label}"))
    code = [line for line in cell.source.split("\n") if not line.startswith("#|")]
    options = [f"#| label: {label}", f"#| {kind}-cap: {_yaml(held['title'])}"]
    if kind == "fig":
        options.append(f"#| fig-alt: {_yaml(held['alt'])}")
    return "\n".join([*options, *code])


def _cut(text: str) -> str:
    """Printed text as far as a page should carry it: all of it is in the log."""
    if len(text) <= MOST_PRINTED:
        return text
    half = MOST_PRINTED // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters more, in log.txt]\n{text[-half:]}"


def _output(output: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    if output.output_type == "error":
        raise RenderError(Fault(what=f"the notebook holds an error: {output.ename}"))
    if output.output_type == "stream":
        output.text = _cut(output.text.replace(str(folder), "."))
        return output
    output.data.pop(SPECIFICATION, None)
    output.metadata = {k: v for k, v in output.metadata.items() if k == "image/png"}  # its size, or it fills the page
    output.data = {
        kind: held.replace(str(folder), ".") if isinstance(held, str) else held for kind, held in output.data.items()
    }
    if "<table" in output.data.get("text/html", ""):
        output.data.pop("text/latex", None)
    return output
