"""The page: a report as one self-contained HTML file that makes no request and runs no foreign script."""

# nbformat and nbconvert are not annotated.
# mypy: disable-error-code="no-untyped-call, no-any-return"

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from html import escape
from pathlib import Path
from secrets import token_hex
from typing import Any

import nbformat
from nbconvert import HTMLExporter
from nbformat import v4

from analysis.pipeline.assets import texts
from analysis.pipeline.document import VERDICT_WORDS, Float, Part, Report, Shown, read_report
from analysis.pipeline.pandoc import run_filter
from analysis.pipeline.policy import content_policy
from analysis.study import share_folder

_TABLE_FILE = re.compile(r"(?<![\w/.\"'=-])tables/[a-z-]+\.csv(?![\w/])")
_TAG = re.compile(r"<(?:[^<>\"']|\"[^\"]*\"|'[^']*')*>")
_MARKDOWN = {"prose", "sentence"}
_MIME = {"prose": "text/html", "sentence": "text/html", "table": "text/html", "html": "text/html",
         "svg": "image/svg+xml", "png": "image/png", "text": "text/plain"}  # fmt: skip


def render_html(notebook: nbformat.NotebookNode) -> str:
    """Render the page of a clean notebook.

    Parameters
    ----------
    notebook
        A notebook as `analysis.pipeline.normalise` leaves it; it is not changed.

    Raises
    ------
    RenderError
        The notebook was not executed, its labels do not fit, or its math cannot be converted.
    """
    report = read_report(notebook)
    templates = share_folder() / "templates"
    shown = [item for part in report.parts for item in part.shown]
    pieces = [{"kind": item.kind, "body": item.body} for item in shown if item.kind in _MARKDOWN]
    answer = run_filter(templates / "pandoc" / "to_html.lua", {"names": report.names(), "pieces": pieces})
    fragments = iter(answer["pieces"])
    held = _Held()
    cells = [
        _cell(part, [next(fragments) if item.kind in _MARKDOWN else item.body for item in part.shown], held)
        for part in report.parts
    ]
    page, _ = _exporter(templates).from_notebook_node(
        v4.new_notebook(cells=cells), resources={"gatebook": _page(report, answer["toc"])}
    )
    return held.put_back(str(page))


class _Held:
    """Finished markup that nbconvert need not parse again: it passes as a word that nobody can guess."""

    def __init__(self) -> None:
        self._pieces: dict[str, str] = {}
        self._word = f"gb{token_hex(8)}x"

    def keep(self, markup: str) -> str:
        word = f"{self._word}{len(self._pieces)}x"
        self._pieces[word] = markup
        return word

    def put_back(self, page: str) -> str:
        return re.sub(rf"{self._word}\d+x", lambda found: self._pieces[found[0]], page)


@cache
def _exporter(templates: Path) -> HTMLExporter:
    return HTMLExporter(
        template_name="html",
        extra_template_basedirs=[str(templates)],
        require_js_url="",
        mathjax_url="",
        mermaid_js_url="",
        jquery_url="",
    )


def _page(report: Report, toc: Sequence[dict[str, Any]]) -> dict[str, Any]:
    style, script = texts(("html/theme.css", "html/page.css")), texts(("html/page.js",))
    return {
        "front": asdict(report.front),
        "word": VERDICT_WORDS.get(report.front.verdict, ""),
        "toc": toc,
        "style": style,
        "script": script,
        "policy": content_policy(style, script),
    }


def _cell(part: Part, bodies: Sequence[str], held: _Held) -> nbformat.NotebookNode:
    if part.float is None and len(part.shown) == 1 and part.shown[0].kind == "prose":
        return v4.new_markdown_cell(metadata={"gatebook": {"html": held.keep(_scrollable(bodies[0], "Table"))}})
    outputs = [_output(item, body, part.float, held) for item, body in zip(part.shown, bodies, strict=True)]
    facts = {**part.float.facts(), "files": _files(part)} if part.float else {}
    return v4.new_code_cell(outputs=outputs, metadata={"gatebook": facts})


def _files(part: Part) -> list[tuple[str, str]]:
    """What lies beside the page of a numbered table or figure: words and address."""
    kind, _, name = part.float.label.partition("-") if part.float else ("", "", "")
    if kind == "fig":
        return [("SVG", f"figures/{name}.svg")] if any(item.kind == "svg" for item in part.shown) else []
    return [
        (words, f"tables/{name}.{suffix}") for words, suffix in (("CSV", "csv"), ("JSON", "json"), ("LaTeX", "tex"))
    ]


def _output(item: Shown, body: str, float_: Float | None, held: _Held) -> nbformat.NotebookNode:
    region = f"{float_.name}: {float_.caption}" if float_ else "Output"
    if item.kind == "table":
        table, notes, said = _scrollable(body, region).partition('<div class="gb-notes">')
        body = table + notes + _TABLE_FILE.sub(r'<a href="\g<0>">\g<0></a>', said)
    if item.kind == "svg":
        body = _address(body)
    if item.kind != "text":
        body = held.keep(body)
    alt = (float_.alt if float_ else "") or item.plain
    return v4.new_output("display_data", data={_MIME[item.kind]: body}, metadata={"alt": alt, "region": region})


def _address(svg: str) -> str:
    """A drawing as the value of ``src``: only what an address and an attribute cannot hold is written otherwise."""
    single = _TAG.sub(lambda tag: tag[0].replace("'", "&apos;").replace('"', "'"), svg)
    for char, written in (('"', "&quot;"), ("%", "%25"), ("#", "%23"), ("\n", "%0A"), ("&", "&amp;")):
        single = single.replace(char, written)
    return f"data:image/svg+xml,{single}"


def _scrollable(html: str, region: str) -> str:
    """Put the tables, from the first to the last, into a region that scrolls by keyboard too."""
    end = "</table>"
    start, stop = html.find("<table"), html.rfind(end)
    if start < 0 or stop < start:
        return html
    stop += len(end)
    opening = f'<div class="gb-scroll" role="region" tabindex="0" aria-label="{escape(region)}">'
    return f"{html[:start]}{opening}{html[start:stop]}</div>{html[stop:]}"
