"""The PDF: a report as a tagged PDF/UA file, set by Typst from pandoc's markup."""

from __future__ import annotations

import base64
import html
import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import nbformat
import typst

from analysis.errors import Fault, RenderError, raise_all
from analysis.pipeline.document import VERDICT_WORDS, Part, Report, Shown, read_report
from analysis.pipeline.fonts import (
    FALLBACK,
    NO_GLYPH,
    Typeface,
    advances,
    missing_faults,
    typeface_for,
    with_system_fonts,
)
from analysis.pipeline.pandoc import run_filter
from analysis.present.format import visible
from analysis.study import share_folder

# A4 less the margins of report.typ: 210 and 297 mm less 2 × 20 mm, in points.
_PAGE = {"upright": 170 / 25.4 * 72, "turned": 257 / 25.4 * 72}
_SHAPED = "text with missing codepoints"  # in typst's message


def render_pdf(notebook: nbformat.NotebookNode) -> bytes:
    """Render the PDF of a clean notebook; the same notebook gives the same bytes.

    Parameters
    ----------
    notebook
        A notebook as `analysis.pipeline.normalise` leaves it; it is not changed.

    Raises
    ------
    RenderError
        The notebook was not executed, its labels do not fit, its math cannot be converted, a table is
        too wide for a turned page, or no font has a character of it.
    """
    report = read_report(notebook)
    templates = share_folder() / "templates"
    text = "".join(_texts(report))
    typeface = typeface_for(text)
    if typeface.missing:
        typeface = with_system_fonts(typeface)
    raise_all(RenderError, missing_faults(typeface.missing))
    answer = run_filter(templates / "pandoc" / "to_typst.lua", _payload(report, advances(text, typeface)))
    raise_all(RenderError, [_too_wide(where) for where in answer["too_wide"]])
    head = (templates / "typst" / "report.typ").read_text(encoding="utf-8")
    return _compile(head + answer["body"], {"front": _front(report, typeface), **_images(report)}, typeface)


def _payload(report: Report, widths: dict[str, float]) -> dict[str, Any]:
    parts: list[dict[str, Any]] = []
    for i, part in enumerate(report.parts):
        parts.append({"shown": [_piece(item, f"image-{i}-{j}", part) for j, item in enumerate(part.shown)]})
        if part.float:
            parts[-1]["float"] = {key: _line(value) for key, value in part.float.facts().items()}
    return {"names": report.names(), "parts": parts, "advances": widths, "page": _PAGE}


def _piece(item: Shown, key: str, part: Part) -> dict[str, str]:
    if item.kind in {"svg", "png"}:
        alt = (part.float.alt if part.float else "") or item.plain or "chart"
        return {"kind": "image", "body": key, "alt": _line(alt)}
    if item.kind == "html":
        return {"kind": "text", "body": _block(item.plain)}
    return {"kind": item.kind, "body": _block(item.body)}


def _images(report: Report) -> dict[str, str]:
    """SVG markup by key; a bitmap is wrapped in SVG, the only form in which text inputs can carry it."""
    return {
        f"image-{i}-{j}": item.body if item.kind == "svg" else _wrapped(item.body)
        for i, part in enumerate(report.parts)
        for j, item in enumerate(part.shown)
        if item.kind in {"svg", "png"}
    }


def _wrapped(png: str) -> str:
    width, height = _png_size(png)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f'<image width="{width}" height="{height}" href="data:image/png;base64,{html.escape(png)}"/></svg>'
    )


def _png_size(png: str) -> tuple[int, int]:
    head = base64.b64decode(png[:64])
    return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])


def _front(report: Report, typeface: Typeface) -> str:
    texts = {key: _line(value) for key, value in asdict(report.front).items()}
    word = VERDICT_WORDS.get(report.front.verdict, "")
    return json.dumps({**texts, "word": word, "families": [*typeface.families, FALLBACK]})


def _texts(report: Report) -> list[str]:
    """Every text that reaches the PDF, with more than is shown: markup counts as its characters."""
    texts = [*asdict(report.front).values()]
    for part in report.parts:
        texts += [part.float.caption] if part.float else []
        texts += [
            html.unescape(item.plain if item.kind == "html" else item.body) for item in part.shown if item.kind != "png"
        ]
    return texts


def _line(text: str) -> str:
    return visible(" ".join(text.split()))


def _block(text: str) -> str:
    return "\n".join(visible(line.expandtabs()) for line in text.split("\n"))


def _too_wide(where: str) -> Fault:
    return Fault(
        what=f"{where} is too wide for a turned A4 page at the smallest size",
        fix="show fewer columns, or split the table in two",
    )


def _compile(source: str, inputs: dict[str, str], typeface: Typeface) -> bytes:
    """Set the source with the fonts of the typeface alone, in a folder that holds nothing to read.

    The first try asks for PDF/UA, which needs every glyph to map back to text; shaped Arabic or Devanagari may not,
    and becomes a tagged PDF without that promise.
    """
    with TemporaryDirectory(prefix="gatebook-pdf-") as folder:
        root, fonts = Path(folder) / "root", Path(folder) / "fonts"
        root.mkdir()
        fonts.mkdir()
        for i, path in enumerate(typeface.files):
            _place(path, fonts / f"{i:02d}{path.suffix}")
        found = typst.Fonts(include_system_fonts=False, include_embedded_fonts=True, font_paths=[str(fonts)])
        try:
            try:
                return _set(source, inputs, root, found, "ua-1")
            except typst.TypstError as error:
                if _SHAPED not in str(error):
                    raise
                return _set(source, inputs, root, found, None)
        except typst.TypstError as error:
            raise _failure(error) from error


def _set(
    source: str, inputs: dict[str, str], root: Path, fonts: typst.Fonts, standard: Literal["ua-1"] | None
) -> bytes:
    compiler = typst.Compiler(source.encode(), root=str(root), font_paths=fonts, sys_inputs=inputs)
    pdf: Any = compiler.compile(format="pdf", timestamp=0, pdf_standards=standard)
    return bytes(pdf)


def _failure(error: typst.TypstError) -> RenderError:
    if NO_GLYPH in str(error):
        return RenderError(*missing_faults("".join(re.findall(r'text `"(.+?)"`', str(error)))))
    return RenderError(Fault(what=f"typst: {error}", fix="; ".join(error.hints or [])))


def _place(path: Path, link: Path) -> None:
    try:
        link.symlink_to(path)
    except OSError:  # Windows without the right to make links
        shutil.copyfile(path, link)
