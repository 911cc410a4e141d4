"""The PDF: the same numbers as the page, whole tables, no text that runs, no glyph that is missing."""

import hashlib
import io
import itertools
import re

import nbformat
import pytest
from nbformat import v4
from pypdf import PdfReader

from analysis.errors import RenderError
from analysis.pipeline import fonts
from analysis.pipeline.html import render_html
from analysis.pipeline.normalise import normalise
from analysis.pipeline.pdf import render_pdf
from tests.pipeline.notebooks import (
    HOSTILE,
    PNG,
    SVG,
    chart_cell,
    code,
    display,
    notebook,
    prose,
    report,
    table_cell,
    table_html,
)

ZERO_WIDTH = "\u200b"


def pages(pdf):
    return PdfReader(io.BytesIO(pdf)).pages


def words(pdf):
    text = " ".join(page.extract_text() for page in pages(pdf))
    return " ".join(text.replace(ZERO_WIDTH, "").split())


def turned(page):
    return float(page.mediabox.width) > float(page.mediabox.height)


@pytest.fixture(scope="module")
def pdf():
    return render_pdf(report())


def test_title_signature_verdict_and_headline(pdf):
    text = words(pdf)
    assert text.startswith("Recipe card gatebook 0.1.0 | n=22 × REFUSE Recipe 7 is refused: 3 of 59 cells fail.")
    assert PdfReader(io.BytesIO(pdf)).metadata.title == "Recipe card"


def test_pages_are_a4_upright(pdf):
    assert {(round(float(p.mediabox.width)), round(float(p.mediabox.height))) for p in pages(pdf)} == {(595, 842)}


def test_numbers_and_captions_are_those_of_the_page(pdf):
    html = render_html(report())
    captions = [re.sub(r"<[^>]+>", "", c) for c in re.findall(r"<figcaption>(.*?)</figcaption>", html)]
    headings = [re.sub(r"<[^>]+>", "", h) for h in re.findall(r"<h[23][^>]*>(.*?)</h[23]>", html)]
    assert len(captions) == 3
    assert len(headings) == 4
    text = words(pdf)
    for expected in [*captions, *headings]:
        assert expected.replace("&amp;", "&").replace("&quot;", '"') in text


def test_cross_references_are_links_and_other_words_stay(pdf):
    assert "See Table 1, Figure 1 and (Table 2); @nobody stays. It costs $5 and $6." in words(pdf)
    links = [a.get_object() for page in pages(pdf) for a in page.get("/Annots", [])]
    assert len([link for link in links if link["/Subtype"] == "/Link"]) == 3


def test_code_is_hidden(pdf):
    assert "secret_call" not in words(pdf)
    assert "#|" not in words(pdf)


def test_cell_text_is_never_typst(pdf):
    assert " ".join(HOSTILE.split()) in words(pdf)


ACTIVE = [
    *("= heading", "- item", "+ item", "1. item", "/ term: x", '#eval("1+1")', "$x$", "<tbl-a>", "a\\"),
    *('"]);#panic("x")', "//x", "~", "@tbl-a", "'q' -- ..."),
]


@pytest.mark.parametrize("text", ACTIVE)
def test_text_that_typst_would_read_is_shown(text):
    cell = table_cell("tbl-a", text, [text, "k"], [[text, "1"], ["b", text]], [text])
    shown = words(render_pdf(notebook(cell, title=text, subtitle=text, description=text)))
    assert shown.count(text) == 8


def test_the_last_row_of_a_long_table_is_there_and_the_header_repeats(pdf):
    assert "item-90 0.90" in words(pdf)
    headers = [page for page in pages(pdf) if "item score" in " ".join(page.extract_text().split())]
    assert len(headers) >= 2


def test_every_row_of_a_very_long_table_is_there_once():
    rows = [[f"item-{i:04d}", str(i)] for i in range(1, 801)]
    text = words(render_pdf(notebook(table_cell("tbl-a", "A", ["item", "k"], rows, ["A note."]))))
    assert re.findall(r"item-\d{4}", text) == [row[0] for row in rows]
    assert "A note." in text


def test_notes_follow_their_table(pdf):
    text = words(pdf)
    assert text.index('Cards & "cells"') < text.index("A dash: not known.") < text.index("2 Long")


def sheet(columns, rows=5, value="0.1234"):
    return table_cell(
        "tbl-w", "Wide", ["model", *(f"c{i}" for i in range(columns - 1))], [["m", *[value] * (columns - 1)]] * rows
    )


def test_sixteen_columns_stay_on_an_upright_page():
    pdf = render_pdf(notebook(sheet(16)))
    assert not any(turned(page) for page in pages(pdf))
    assert words(pdf).count("0.1234") == 75


def test_more_columns_turn_the_page_and_only_that_page():
    pdf = render_pdf(notebook(prose("## Before\n\nSee @tbl-w."), sheet(22, value="0.123456"), prose("## After")))
    assert [turned(page) for page in pages(pdf)] == [False, True, False]
    assert words(pdf).count("0.123456") == 105


def test_a_table_that_fits_nowhere_is_an_error_with_its_label():
    with pytest.raises(RenderError, match="tbl-w is too wide"):
        render_pdf(notebook(sheet(60)))


def test_no_table_runs_over_the_edge():
    columns = ["model", *("a rather long heading" for _ in range(8))]
    pdf = render_pdf(notebook(table_cell("tbl-w", "W", columns, [["x" * 200, *["[0.123456, 0.654321]"] * 8]])))
    edges = []

    def right_edge(text, cm, tm, font, size):
        if text.strip():
            edges.append(tm[4] * cm[0] + cm[4])

    for page in pages(pdf):
        page.extract_text(visitor_text=right_edge)
    assert max(edges) < 595 - 20 / 25.4 * 72
    assert "x" * 12 in words(pdf)


def test_intervals_never_run_into_the_column_before():
    # no line begins with a full stop, so that the halves of an interval without leading zeros cannot part
    columns = ["model", *(f"interval {i}" for i in range(16))]
    pdf = render_pdf(notebook(table_cell("tbl-w", "W", columns, [["m", *["[.0123, .0654]"] * 16]])))
    starts = []

    def left_edge(text, cm, tm, font, size):
        if text.strip() == "[.0123, .0654]":
            starts.append(tm[4] * cm[0] + cm[4])

    for page in pages(pdf):
        page.extract_text(visitor_text=left_edge)
    assert len(starts) == 16
    widest = min(b - a for a, b in itertools.pairwise(sorted(starts)))
    assert widest > 14 * 0.4 * 6.5  # fourteen characters at the smallest size


def test_wrapping_inside_a_wide_table_keeps_the_words():
    name = "organisation/a-model-with-a-long-name-" + "0123456789" * 6
    pdf = render_pdf(notebook(table_cell("tbl-w", "W", ["model", "why"], [[name, "because " * 40]])))
    assert name in words(pdf).replace(" ", "")
    assert words(pdf).count("because") == 40


def test_an_unknown_tex_command_is_an_error():
    with pytest.raises(RenderError, match=r"\\unheardof"):
        render_pdf(notebook(prose("$\\unheardof{x}$")))


def test_a_notebook_that_was_not_executed_is_refused():
    with pytest.raises(RenderError, match="not executed"):
        render_pdf(notebook(code(executed=False)))


def test_two_renders_are_equal(pdf):
    assert render_pdf(report()) == pdf
    assert b"/CreationDate" not in pdf


def test_figures_carry_their_text_into_the_pdf():
    reader = PdfReader(io.BytesIO(render_pdf(notebook(chart_cell("fig-a", "A", 'Bars "fall" #x')))))
    objects = [reader.get_object(i) for i in range(1, reader.trailer["/Size"])]
    alts = [item["/Alt"] for item in objects if isinstance(item, dict) and "/Alt" in item]
    assert 'Bars "fall" #x' in alts


def test_chart_text_is_text():
    assert "chart axis text" in words(render_pdf(notebook(chart_cell("fig-a", "A", "alt"))))


def test_a_bitmap_is_shown():
    pdf = render_pdf(notebook(code(display(png=PNG), label="fig-p", fig_cap="P", fig_alt="A dot.")))
    assert "Figure 1: P" in words(pdf)


def test_a_chart_cannot_read_files():
    svg = SVG.replace("</svg>", '<image href="/etc/hostname.png" width="9" height="9"/></svg>')
    with pytest.raises(RenderError, match=r"hostname\.png"):
        render_pdf(notebook(chart_cell("fig-a", "A", "alt", svg)))


def test_foreign_html_keeps_its_table_and_loses_the_rest():
    html = f"<style>.x{{}}</style><script>alert(1)</script><b>gone</b>{table_html(['a'], [['kept <b>']])}"
    text = words(render_pdf(notebook(code(display(html=html, plain="twin")))))
    assert "kept <b>" in text
    assert not re.search("gone|alert|twin", text)


def test_other_html_falls_back_to_its_text():
    text = words(render_pdf(notebook(code(display(html="<p>styled</p>", plain="plain twin")))))
    assert "plain twin" in text
    assert "styled" not in text


def test_streams_are_preformatted():
    stream = v4.new_output("stream", name="stdout", text="a  b\x1b[31m\n#c\n")
    assert "a b\\x1b[31m #c" in words(render_pdf(notebook(code(stream))))


@pytest.mark.parametrize("label", ["rocket 🚀", "नमस्ते", "шкала ξτ", "☂ ✓ →", "مرحبا"])
def test_labels_of_many_scripts_have_their_glyphs(label):
    assert fonts.typeface_for(label).missing == ""
    svg = SVG.replace("chart axis text", label)
    cells = [table_cell("tbl-a", label, ["m"], [[label]]), chart_cell("fig-a", "A", "alt", svg)]
    pdf = render_pdf(notebook(*cells, title=label))
    assert pdf.startswith(b"%PDF")


def test_a_character_without_a_font_is_an_error_that_says_what_to_install(monkeypatch):
    monkeypatch.setattr(fonts, "_system", lambda: ())
    with pytest.raises(RenderError, match=r"(?s)CJK.*中 \(U\+4E2D\).*fonts-noto-cjk"):
        render_pdf(notebook(table_cell("tbl-a", "A", ["m"], [["中"]])))
    with pytest.raises(RenderError, match=r"TIBETAN.*fonts-noto-core"):
        render_pdf(notebook(chart_cell("fig-a", "A", "alt", SVG.replace("chart axis text", "ཀ"))))


def test_a_system_font_is_taken_for_what_the_packages_lack(monkeypatch):
    tamil = next(path for path in fonts._scripts() if "Tamil" in path.name)
    monkeypatch.setattr(fonts, "_scripts", lambda: ())
    monkeypatch.setattr(fonts, "_system", lambda: ())
    with pytest.raises(RenderError, match="TAMIL"):
        render_pdf(notebook(title="தமிழ்"))
    monkeypatch.setattr(fonts, "_system", lambda: (tamil,))
    assert fonts.with_system_fonts(fonts.typeface_for("த")).families[-1] == "Noto Sans Tamil"
    assert render_pdf(notebook(title="தமிழ்")).startswith(b"%PDF")


def test_a_report_without_anything_but_a_title():
    assert words(render_pdf(notebook())).startswith("Recipe card")


def test_the_notebook_is_unchanged(tmp_path):
    path = tmp_path / "report.ipynb"
    nbformat.write(report(), path)
    read = nbformat.read(path, as_version=4)
    before = hashlib.sha256(path.read_bytes()).digest(), read.copy()
    render_pdf(read)
    assert (hashlib.sha256(path.read_bytes()).digest(), read) == before


def test_a_pdf_names_no_class_of_a_display(tmp_path):
    shows = {
        "HTML": {"text/html": "<p>styled <b>text</b></p>"},
        "Markdown": {"text/markdown": "in **words**"},
        "Image": {"image/png": PNG},
        "Javascript": {"application/javascript": "alert(1)"},
        "SVG": {"image/svg+xml": SVG},
    }
    executed = v4.new_notebook()
    for kind, data in shows.items():
        data["text/plain"] = f"<IPython.core.display.{kind} object>"
        executed.cells.append(code(v4.new_output("display_data", data=data)))
    result = {"study": "x", "label": "a", "signature": "s", "gate": {"verdict": "pass"}, "headline": "h"}
    text = words(render_pdf(normalise(executed, result, title="T", folder=tmp_path)))
    assert "styled text in words" in text
    assert not re.search(r"IPython|object|alert", text)


def test_a_chart_is_its_drawing_whatever_stands_beside_it(tmp_path):
    data = {"image/svg+xml": SVG, "text/html": "<div></div><script>vega()</script>", "text/plain": "alt.Chart(...)"}
    cell = code(v4.new_output("display_data", data=data), label="fig-a", fig_cap="A", fig_alt="Bars")
    figures = {"a": {"title": "A", "alt": "Bars"}}
    result = {"study": "x", "label": "a", "signature": "s", "gate": {"verdict": "pass"}, "headline": "h"}
    executed = v4.new_notebook(cells=[cell])
    clean = normalise(executed, {**result, "figures": figures}, title="T", folder=tmp_path)
    text = words(render_pdf(clean))
    assert "chart axis text" in text
    assert "Figure 1: A" in text
    assert "alt.Chart(" not in text
    assert "alt.Chart(" not in render_html(clean)
