"""A clean notebook read once, for every renderer: front matter, prose, numbered tables and figures."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any, Literal

import nbformat
import nh3
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from analysis.errors import Fault, RenderError, raise_all

Kind = Literal["prose", "sentence", "table", "html", "svg", "png", "text"]

VERDICT_WORDS: Mapping[str, str] = {"pass": "PASS", "refuse": "REFUSE", "undecided": "UNDECIDED", "failed": "NOT MADE"}

_LABEL = re.compile(r"(tbl|fig)-[A-Za-z0-9_-]+")
_NOUN = {"tbl": "Table", "fig": "Figure"}
_FLOATS: Mapping[str, frozenset[str]] = {"tbl": frozenset({"table"}), "fig": frozenset({"svg", "png"})}
_TABLE_TAGS = {"table", "thead", "tbody", "tfoot", "tr", "th", "td", "caption", "colgroup", "col"}
_BLOCK_TAGS = {"blockquote", "dd", "div", "dl", "dt", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "ul"}
_INLINE_TAGS = {"a", "b", "br", "code", "em", "i", "s", "small", "span", "strong", "sub", "sup", "u"}
_STATUS = {"status-pass", "status-refuse", "status-undecided"}
_CLASSES = {
    "table": {"gb-table"},
    "div": {"gb-notes"},
    "th": {"num", *_STATUS},
    "td": {"num", *_STATUS},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Front:
    """What the front matter says: plain, untrusted text."""

    title: str
    signature: str = ""
    headline: str = ""
    verdict: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One thing to show.

    ``body`` is markdown (prose, sentence), sanitised HTML (table, html), SVG markup, base64 (png) or text;
    ``plain`` is its text twin.
    """

    kind: Kind
    body: str
    plain: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Float:
    """The label of a numbered table or figure, its number in document order, caption and alternative text."""

    label: str
    number: int
    caption: str
    alt: str = ""

    @property
    def noun(self) -> str:
        """``Table`` or ``Figure``."""
        return _NOUN[self.label[:3]]

    @property
    def name(self) -> str:
        """What a reader calls it, such as ``Table 2``."""
        return f"{self.noun} {self.number}"

    def facts(self) -> dict[str, str]:
        """Return what a template needs to draw the float."""
        return {"label": self.label, "noun": self.noun, "name": self.name, "caption": self.caption}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One cell: what it shows and, when it is labelled, the float around it."""

    shown: tuple[Shown, ...]
    float: Float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A whole report."""

    front: Front
    parts: tuple[Part, ...]

    def names(self) -> dict[str, str]:
        """Return the name of every label that a cross reference may use."""
        return {part.float.label: part.float.name for part in self.parts if part.float}


def read_report(notebook: nbformat.NotebookNode) -> Report:
    """Read the report that a clean notebook holds.

    Raises
    ------
    RenderError
        A cell was not executed or failed, or front matter, labels or alternative texts do not fit.
    """
    cells = [cell for cell in notebook.cells if "remove-cell" not in cell.metadata.get("tags", [])]
    raise_all(RenderError, [fault for cell in cells for fault in _execution_faults(cell)])
    front = _front(cells)
    parts: list[Part] = []
    faults: list[Fault] = []
    counts = {"tbl": 0, "fig": 0}
    seen: set[str] = set()
    for cell in cells:
        if cell.cell_type == "markdown" and cell.source.strip():
            parts.append(Part(shown=(Shown(kind="prose", body=_text(cell.source)),)))
        if cell.cell_type != "code" or not cell.outputs:
            continue
        options = cell_options(cell)
        shown = tuple(_shown(cell))
        label = options.get("label", "")
        if not (label[:4] in {"tbl-", "fig-"} and any(item.kind in _FLOATS[label[:3]] for item in shown)):
            parts.append(Part(shown=shown))
            continue
        faults += _label_faults(label, options, seen)
        seen.add(label)
        counts[label[:3]] += 1
        parts.append(Part(shown=shown, float=_float(label, counts[label[:3]], options)))
    raise_all(RenderError, faults)
    return Report(front=front, parts=tuple(parts))


def cell_options(cell: nbformat.NotebookNode) -> dict[str, str]:
    """Return the ``#|`` lines at the head of a code cell.

    Raises
    ------
    RenderError
        They are not YAML.
    """
    lines = []
    for line in cell.source.splitlines():
        if not line.startswith("#|"):
            break
        lines.append(line[2:])
    return {key: _text(value) for key, value in _mapping("\n".join(lines), f"cell {cell.get('id', '')}").items()}


def clean_html(html: str) -> str:
    """Reduce foreign HTML to text and tables: no scripts, styles, ids, images or event handlers."""
    cell_attributes = {"colspan", "rowspan", "scope"}
    return nh3.clean(
        html,
        tags=_TABLE_TAGS | _BLOCK_TAGS | _INLINE_TAGS,
        clean_content_tags={"script", "style", "title"},
        attributes={"a": {"href"}, "th": cell_attributes, "td": cell_attributes},
        allowed_classes=_CLASSES,
        url_schemes={"http", "https", "mailto"},
        url_relative="deny",
        link_rel="noopener noreferrer",
    )


def _execution_faults(cell: nbformat.NotebookNode) -> Iterator[Fault]:
    if cell.cell_type != "code" or not cell.source.strip():
        return
    place = f"cell {cell.get('id', '')}"
    if cell.execution_count is None:
        yield Fault(what="not executed", place=place, fix="run the notebook before it is rendered")
    for output in cell.outputs:
        if output.output_type == "error":
            yield Fault(
                what=f"the cell failed with {output.ename}",
                place=place,
                fix="a failed notebook is not rendered",
            )


def _front(cells: list[nbformat.NotebookNode]) -> Front:
    if not cells or cells[0].cell_type != "raw":
        raise RenderError(Fault(what="the notebook has no front matter", fix="its first cell must be raw YAML"))
    lines = [line for line in cells[0].source.splitlines() if line.strip() != "---"]
    values = _mapping("\n".join(lines), "front matter")
    text = {key: _text(value) for key, value in values.items() if value is not None}
    verdict = text.get("verdict", "")
    if not text.get("title"):
        raise RenderError(Fault(what="no title", place="front matter", fix='add `title: "…"`'))
    if verdict and verdict not in VERDICT_WORDS:
        raise RenderError(
            Fault(what=f"verdict is {verdict!r}", place="front matter", fix="use pass, refuse, undecided or failed")
        )
    return Front(
        title=text["title"],
        signature=text.get("subtitle", ""),
        headline=text.get("description", ""),
        verdict=verdict,
    )


def _mapping(source: str, place: str) -> dict[str, Any]:
    try:
        values = YAML(typ="safe", pure=True).load(source)
    except YAMLError as error:
        raise RenderError(Fault(what=f"not YAML: {error}", place=place, fix="quote the values")) from error
    if values is not None and not isinstance(values, dict):
        raise RenderError(Fault(what="not a YAML mapping", place=place, fix="write `key: value` lines"))
    return dict(values or {})


def _label_faults(label: str, options: Mapping[str, str], seen: set[str]) -> Iterator[Fault]:
    if not _LABEL.fullmatch(label):
        yield Fault(what=f"label {label!r} is not usable", fix="use letters, digits, - and _ after `tbl-` or `fig-`")
    if label in seen:
        yield Fault(what=f"label {label!r} is used twice", fix="give each table and figure its own label")
    if not options.get(f"{label[:3]}-cap"):
        yield Fault(what=f"{label} has no caption", fix=f'add `#| {label[:3]}-cap: "…"`')
    if label.startswith("fig-") and not options.get("fig-alt"):
        yield Fault(what=f"{label} has no alternative text", fix='add `#| fig-alt: "…"`')


def _float(label: str, number: int, options: Mapping[str, str]) -> Float:
    caption = options.get(f"{label[:3]}-cap", "")
    return Float(label=label, number=number, caption=caption, alt=options.get("fig-alt", ""))


def _shown(cell: nbformat.NotebookNode) -> Iterator[Shown]:
    for output in cell.outputs:
        if output.output_type == "stream":
            if _text(output.text).strip():
                yield Shown(kind="text", body=_text(output.text).rstrip("\n"))
        elif (item := _displayed(output.data)) is not None:
            yield item


def _displayed(data: Mapping[str, Any]) -> Shown | None:
    """Choose the richest static form of one output; a type that no page can show is left out."""
    plain = _text(data.get("text/plain", ""))
    html = _text(data.get("text/html", ""))
    table = "<table" in (cleaned := clean_html(html)) if html else False
    if "image/svg+xml" in data:
        return Shown(kind="svg", body=_text(data["image/svg+xml"]), plain=plain)
    if "image/png" in data:
        return Shown(kind="png", body=_png(_text(data["image/png"])), plain=plain)
    if table:
        return Shown(kind="table", body=cleaned, plain=plain)
    if "text/markdown" in data:
        return Shown(kind="sentence", body=_text(data["text/markdown"]), plain=plain)
    if html:
        return Shown(kind="html", body=cleaned, plain=plain or _without_tags(html))
    return Shown(kind="text", body=plain) if plain else None


def _text(value: Any) -> str:
    return _sound("".join(value) if isinstance(value, list) else str(value))


def _sound(text: str) -> str:
    r"""Join halves of a surrogate pair, as JSON escapes leave them in YAML; a lone half is replaced.

    >>> _sound("\ud83d\ude80") == "\U0001f680", _sound("a\ud83d")
    (True, 'a�')
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _png(text: str) -> str:
    try:
        raw = base64.b64decode("".join(text.split()), validate=True)
    except binascii.Error as error:
        raise RenderError(Fault(what="an image/png output is not base64", fix="run the notebook again")) from error
    if not raw.startswith(b"\x89PNG\r\n\x1a\n"):
        raise RenderError(Fault(what="an image/png output is not a PNG file", fix="run the notebook again"))
    return base64.b64encode(raw).decode()


def _without_tags(html: str) -> str:
    return unescape(nh3.clean(html, tags=set(), clean_content_tags={"script", "style", "title"})).strip()
