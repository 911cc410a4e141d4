"""An executed notebook made clean, once, for every renderer: front matter, labels, captions, no times, no paths."""

from __future__ import annotations

import ast
import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat

from analysis.errors import Fault, RenderError, raise_all
from analysis.pipeline.document import clean_html
from analysis.pipeline.pandoc import converted
from analysis.pipeline.tags import INJECTED, PARAMETERS, REMOVE
from analysis.present.format import visible
from analysis.present.svg import CHART_MIME

MOST_PRINTED = 100_000  # characters of one output
_LABEL = re.compile(r"""^#\|\s*label:\s*(?P<quote>["']?)(?P<label>[^\s"']+)(?P=quote)\s*$""", re.MULTILINE)
_TITLE = re.compile(r"\A\s*# [^\n]*")
_REFERENCE = re.compile(
    r"^(?P<fence>`{3,}|~{3,}).*?^(?P=fence)|(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n\n).)+?(?<!`)(?P=ticks)(?!`)"  # code: passed over
    r"|(?<![\w\\])@(?P<name>\w(?:[:.#$%&+?<>~/-]?\w)*|\{)",
    re.DOTALL | re.MULTILINE,
)
_CELL_FILE = re.compile(
    r"(?:[A-Za-z]:)?[\\/](?:[^\s:\\/]+[\\/])*ipykernel_\d+[\\/]\d+\.py"
)  # the kernel's name for a cell
_NAMELESS = re.compile(r"\s*<IPython\.[\w.]+ object>\s*")
_CHART = re.compile(r"\s*alt\.\w*Chart\(")
_DRAWN = ("image/svg+xml", "image/png")
_UNSEEN = re.compile(r"<(style|script)\b.*?</\1\s*>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
_TEXT_AREA = (576, 768)  # of Quarto's PDF page, in pixels
_TWIN = (
    "markdown-raw_html-raw_attribute-native_divs-native_spans-fenced_divs-bracketed_spans-link_attributes"
    "-header_attributes-smart"
)


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
        The folder it ran in; paths in printed text become relative to it.
    origin
        Markdown that says where the report comes from; it stands at the end.

    Raises
    ------
    RenderError
        A label that stands twice or has no table or figure in the result, an error output, or one that no page can show.
    """
    notebook = nbformat.from_dict(executed)
    notebook.metadata = {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    labels = _labels(notebook)
    relative = _relative_to(folder)
    cells = [front_matter(_fields(result, title))]
    for cell in notebook.cells:
        clean = _cleaned(cell, result, labels, relative)
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
    return _of_figures(notebook, "image/svg+xml")


def charts(executed: nbformat.NotebookNode) -> dict[str, Mapping[str, Any]]:
    """What every labelled figure of an executed notebook was drawn from, by the name of the figure."""
    return _of_figures(executed, CHART_MIME)


def _of_figures(notebook: nbformat.NotebookNode, kind: str) -> dict[str, Any]:
    found = {}
    for cell in notebook.cells:
        label = label_of(cell) or ""
        for output in cell.get("outputs", []):
            held = output.get("data", {}).get(kind)
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
    cell: nbformat.NotebookNode, result: Mapping[str, Any], labels: set[str], relative: Callable[[str], str]
) -> nbformat.NotebookNode | None:
    tags = [tag for tag in cell.metadata.get("tags", []) if tag in {PARAMETERS, INJECTED, REMOVE}]
    if {PARAMETERS, INJECTED} & set(tags) and REMOVE not in tags:
        tags.append(REMOVE)
    cell.metadata = {"tags": tags} if tags else {}
    if cell.cell_type == "markdown":
        cell.source = _referring(_TITLE.sub("", cell.source).strip("\n"), labels)
        return cell if cell.source.strip() else None
    if cell.cell_type != "code":
        return None
    if INJECTED in tags:
        cell["id"] = INJECTED  # papermill draws one
        cell.source = _relocatable(cell.source)
    cell.source = _captioned(cell, result)
    outputs = [_output(output, f"cell {cell.id}", labels, relative) for output in cell.outputs]
    cell.outputs = [output for output in outputs if output is not None]
    return cell


def _referring(source: str, labels: set[str]) -> str:
    """Markdown in which every ``@word`` that refers to nothing is text: Quarto would look for it in a bibliography."""
    known = {None, *labels}
    return _REFERENCE.sub(lambda m: m[0] if m["name"] in known else "\\" + m[0], source)


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


def _output(
    output: nbformat.NotebookNode, place: str, labels: set[str], relative: Callable[[str], str]
) -> nbformat.NotebookNode | None:
    if output.output_type == "error":
        raise RenderError(Fault(what=f"the notebook holds an error: {output.ename}"))
    if output.output_type == "stream":
        output.text = _cut(relative(output.text))
        return output
    data = output.data
    for kind in (CHART_MIME, "application/javascript"):
        data.pop(kind, None)
    for kind, held in data.items():
        if isinstance(held, str) and kind != "image/png":
            data[kind] = relative(held)
    if _NAMELESS.fullmatch(data.get("text/plain", "")):
        del data["text/plain"]
    if "text/markdown" in data:
        data["text/markdown"] = _referring(data["text/markdown"], labels)
    if not any(kind in data for kind in _DRAWN):
        _made_static(data, place)
    output.metadata = {"image/png": _size(output)} if "image/png" in data else {}
    return output if data else None


def _made_static(data: nbformat.NotebookNode, place: str) -> None:
    """HTML in a form that paper takes too: a table alone, anything else with a markdown twin."""
    html = data.get("text/html", "")
    if _CHART.match(data.get("text/plain", "")):
        fix = "Call analysis.present.chart.use(interactive=False) before it."
        raise RenderError(Fault(place=place, what="a chart has no drawing", fix=fix))
    if "<table" in html.lower():
        data.pop("text/latex", None)
    elif html and "text/markdown" not in data:
        twin = converted(clean_html(html), "html", _TWIN)
        if twin:
            data["text/markdown"] = twin
        elif _UNSEEN.sub("", html).strip():
            what = "an output is HTML without a text, which a PDF cannot show"
            raise RenderError(Fault(place=place, what=what, fix="Show a drawing (SVG or PNG) or a text beside it."))
        else:
            del data["text/html"]


def _size(output: nbformat.NotebookNode) -> dict[str, int]:
    """The size of a bitmap in pixels, without which it fills a page: as the notebook says, or its own if that fits."""
    given = output.metadata.get("image/png", {})
    if given:
        return dict(given)
    try:
        head = base64.b64decode("".join(output.data["image/png"].split())[:32])
    except binascii.Error:
        return {}  # refused by the renderer
    width, height = int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    scale = min(1.0, _TEXT_AREA[0] / max(width, 1), _TEXT_AREA[1] / max(height, 1))
    return {"width": round(width * scale), "height": round(height * scale)}


def _relative_to(folder: Path) -> Callable[[str], str]:
    """A function that makes the paths of this machine in a text relative to ``folder``."""
    words = {str(folder): "."}
    words |= {
        str(parent): "/".join([".."] * up) for up, parent in enumerate(folder.parents, 1) if len(parent.parts) > 2
    }
    any_of = "|".join(re.escape(path) for path in words)  # the longest first
    pattern = re.compile(rf"(?<![\w.])(?:{any_of})(?![\w-]|\.\w)")
    return lambda text: pattern.sub(lambda found: words[found[0]], _CELL_FILE.sub("cell", text))
