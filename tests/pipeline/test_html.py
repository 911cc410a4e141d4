"""The page: what it holds, what it refuses, and that nothing in it can reach outside or run."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from urllib.parse import unquote
from xml.etree.ElementTree import canonicalize

import pytest
from nbformat import v4

from analysis.errors import RenderError
from analysis.pipeline.html import render_html
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
)

FIGURE_1 = "Figure 1: Bounds by cell: a chart"
TABLE_1 = 'Table 1: Cards & "cells"'


class Page(HTMLParser):
    """The tags with their attributes, and the visible text of every tag name."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.texts, self._open = [], {}, []
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in {"meta", "link", "img", "br", "hr", "col"}:
            self._open.append(tag)
            self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        for tag in dict.fromkeys(self._open):
            self.texts[tag][-1] += data

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]

    def words(self, tag):
        return [" ".join(text.split()) for text in self.texts.get(tag, [])]


@pytest.fixture(scope="module")
def html():
    return render_html(report())


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def test_nothing_is_loaded_from_elsewhere(html, page):
    loaded = [
        attrs[key] for _, attrs in page.tags for key in ("src", "srcset", "data", "action", "poster") if key in attrs
    ]
    linked = [attrs["href"] for attrs in page.all("link")]
    assert loaded
    assert all(url.startswith("data:") for url in [*loaded, *linked])
    assert not re.search(r"@import|url\(|https?://(?!www\.w3\.org/(?:1998/Math|2000/svg))", html)


def test_policy_allows_exactly_the_style_and_the_script_of_the_page(html, page):
    policy = next(a["content"] for a in page.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; img-src data:; ")
    assert "unsafe" not in policy
    for tag, directive in (("style", "style-src"), ("script", "script-src")):
        bodies = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(body.encode()).digest()).decode() for body in bodies]
        assert len(digests) == 1
        assert f"{directive} 'sha256-{digests[0]}'" in policy


def test_nothing_needs_a_style_or_handler_attribute(page):
    assert not [attrs for _, attrs in page.tags if any(key == "style" or key.startswith("on") for key in attrs)]


def test_ids_do_not_repeat_and_every_link_inside_has_its_target(page):
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = [attrs["href"][1:] for attrs in page.all("a") if attrs["href"].startswith("#")]
    assert "tbl-cards" in targets
    assert set(targets) <= set(ids)


def test_one_title_with_signature_verdict_and_headline(html, page):
    assert page.words("h1") == ["Recipe card"]
    assert '<p class="gb-signature">gatebook 0.1.0 | n=22</p>' in html
    assert "Verdict: REFUSE" in page.words("p")
    assert "Recipe 7 is refused: 3 of 59 cells fail." in page.words("p")
    assert page.all("html")[0]["lang"] == "en"


@pytest.mark.parametrize("verdict", ["pass", "refuse", "undecided"])
def test_a_verdict_is_a_word_and_a_sign(verdict):
    html = render_html(notebook(prose("## A"), verdict=verdict))
    badge = re.search(r'<p class="gb-badge">(.*?)</p>', html, re.DOTALL).group(1)
    assert verdict.upper() in badge
    assert "<path" in badge


def test_a_page_without_a_verdict_has_no_badge():
    html = render_html(notebook(prose("## A"), description="Only a headline."))
    assert 'class="gb-badge"' not in html
    assert "Only a headline." in html


def test_sections_are_numbered_and_listed(page):
    assert page.words("h2") == ["1 What was asked", "2 Long", "3 What was asked"]
    assert page.words("h3") == ["1.1 Bounds"]
    assert page.words("nav") == ["Contents 1 What was asked 1.1 Bounds 2 Long 3 What was asked"]


def test_a_heading_of_level_one_or_a_level_left_out_keeps_the_order():
    page = Page(render_html(notebook(prose("# One\n\n#### Deep\n\n## Aside {.unnumbered}\n"))))
    assert page.words("h1") == ["Recipe card"]
    assert page.words("h2") == ["1 One", "Aside"]
    assert page.words("h3") == ["1.1 Deep"]


def test_captions_are_numbered_in_document_order(page):
    assert page.words("figcaption") == [
        "Figure 1: Bounds by cell: a chart",
        'Table 1: Cards & "cells"',
        "Table 2: Long",
    ]
    assert [attrs.get("id") for attrs in page.all("figure")] == ["fig-bounds", "tbl-cards", "tbl-long"]


def test_a_table_caption_stands_above_and_a_figure_caption_below(html):
    assert re.search(r'id="tbl-long">\s*<figcaption>.*?<table', html, re.DOTALL)
    assert re.search(r'id="fig-bounds">\s*<div.*?<img.*?<figcaption>', html, re.DOTALL)


def test_cross_references_become_links_and_other_words_stay(html):
    assert '<a href="#tbl-cards">Table 1</a>' in html.replace("\xa0", " ")
    assert '(<a href="#tbl-long">Table 2</a>)' in html.replace("\xa0", " ")
    assert "@nobody stays" in html
    plain = Page(render_html(notebook(prose("a@tbl-a @tbl-ax \n\n@tbl-a_"), table_cell("tbl-a", "A", ["m"], [["x"]]))))
    assert "a@tbl-a @tbl-ax" in plain.words("p")


def test_tables_scroll_by_keyboard_under_their_name(page):
    regions = [attrs for attrs in page.all("div") if attrs.get("role") == "region"]
    assert [attrs["aria-label"] for attrs in regions][:2] == [
        "Figure 1: Bounds by cell: a chart",
        'Table 1: Cards & "cells"',
    ]
    assert all(attrs["tabindex"] == "0" for attrs in regions)


def test_code_and_removed_cells_are_not_shown(html):
    assert "secret_call" not in html
    assert "#|" not in html
    removed = code(display(plain="parameter cell"))
    removed.metadata["tags"] = ["remove-cell"]
    assert "parameter cell" not in render_html(notebook(removed))


def test_money_is_text_and_math_is_mathml(html, page):
    assert "It costs $5 and $6." in html
    assert [attrs["display"] for attrs in page.all("math")] == ["inline", "block"]
    assert "<mfrac>" in html


def test_an_unknown_tex_command_is_an_error():
    with pytest.raises(RenderError, match=r"\\unheardof"):
        render_html(notebook(prose("$\\unheardof{x}$")))


def test_charts_are_images_with_their_text(page):
    image = page.all("img")[0]
    assert image["alt"] == "Bounds fall with n."
    address = image["src"]
    assert address.startswith("data:image/svg+xml,")
    assert not set('"#\n') & set(address)
    assert canonicalize(unquote(address.partition(",")[2])) == canonicalize(SVG)


@pytest.mark.parametrize("text", ['it\'s 5 % of "#1"', "a\nb", "%23 &lt;script&gt;", "&amp;apos;"])
def test_a_drawing_keeps_its_text_in_the_address(text):
    svg = f'<svg xmlns="http://www.w3.org/2000/svg"><g id="{text.replace(chr(34), "")}"><text>{text}</text></g></svg>'
    html = render_html(notebook(chart_cell("fig-a", "A", "alt", svg)))
    address = Page(html).all("img")[0]["src"]
    assert canonicalize(unquote(address.partition(",")[2])) == canonicalize(svg)


def test_a_bitmap_is_embedded():
    cell = code(display(png=PNG, plain="img"), label="fig-p", fig_cap="P", fig_alt="A dot.")
    image = Page(render_html(notebook(cell))).all("img")[0]
    assert image == {"src": f"data:image/png;base64,{PNG}", "alt": "A dot."}


def test_a_figure_without_alternative_text_is_an_error():
    with pytest.raises(RenderError, match="fig-a has no alternative text"):
        render_html(notebook(code(display(svg=SVG), label="fig-a", fig_cap="A")))


def test_all_label_faults_come_at_once():
    cells = [table_cell("tbl-a", "A", ["m"], [["x"]]), table_cell("tbl-a", "", ["m"], [["x"]])]
    with pytest.raises(RenderError, match=r"(?s)'tbl-a' is used twice.*tbl-a has no caption"):
        render_html(notebook(*cells))


def test_hostile_cell_text_is_shown_as_it_is(page):
    assert HOSTILE in page.words("th")


HOSTILE_HTML = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '<a href="javascript:alert(1)">x</a>',
    '<a href="data:text/html,x">x</a>',
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    '<iframe src="http://evil.example"></iframe>',
    '<style>@import "http://evil.example"</style>',
    '<div style="background:url(http://evil.example)" id="content">x</div>',
    '<form action="http://evil.example"><input></form>',
    "<math><mtext></table><img src=x onerror=alert(1)></mtext></math>",
    "<table><tr><td><img src=x onerror=alert(1)></td></tr></table>",
    "]]><!-- --!><script>alert(1)</script>",
]


@pytest.mark.parametrize("html", HOSTILE_HTML)
def test_foreign_html_loses_everything_that_acts(html):
    page = Page(render_html(notebook(code(display(html=html, plain="twin")))))
    assert len(page.all("script")) == len(page.all("style")) == 1
    assert not page.all("iframe") + page.all("form") + page.all("input") + page.all("img")
    links = [attrs.get("href", "") for attrs in page.all("a")]
    assert all(link.startswith("#") for link in links if link)
    assert not [key for _, attrs in page.tags for key in attrs if key.startswith("on") or key == "style"]
    assert len([attrs for _, attrs in page.tags if attrs.get("id") == "content"]) == 1


@pytest.mark.parametrize("text", ["</title><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7*7 }}"])
def test_front_matter_and_captions_are_text(text):
    cell = chart_cell("fig-a", text, text)
    page = Page(render_html(notebook(cell, title=text, subtitle=text, description=text)))
    assert page.words("h1") == [text]
    assert page.words("title") == [text]
    assert page.words("figcaption") == [f"Figure 1: {text}"]
    assert [image["alt"] for image in page.all("img")] == [text]
    assert len(page.all("script")) == 1


def test_markdown_holds_no_raw_html_and_no_foreign_link():
    source = (
        "<script>alert(1)</script> [x](javascript:alert(1)) ![pic](http://e.example/x.png) ![a](attachment:../../x)"
    )
    page = Page(render_html(notebook(prose(source))))
    assert page.words("p")[-1] == "<script>alert(1)</script> x pic a"
    assert not page.all("img")


def test_a_sentence_stays_the_sentence(page):
    assert "Refused: 3 of *59* cells." in page.words("p")


def test_a_table_of_pandas_keeps_its_cells():
    html = "<style scoped>.x{}</style><table border=1 class=dataframe><tr><th>a</th></tr><tr><td>1.5</td></tr></table>"
    page = Page(render_html(notebook(code(display(html=html, plain="df")))))
    assert page.words("table") == ["a1.5"]


def test_streams_and_text_are_preformatted(page):
    assert "plain text & <b>more</b>" in page.words("pre")
    stream = v4.new_output("stream", name="stdout", text="done <i>\n")
    assert "done <i>" in Page(render_html(notebook(code(stream)))).words("pre")


def test_a_notebook_that_was_not_executed_is_refused():
    with pytest.raises(RenderError, match="not executed"):
        render_html(notebook(code(executed=False)))


def test_a_failed_notebook_is_refused():
    failed = v4.new_output("error", ename="ValueError", evalue="x", traceback=[])
    with pytest.raises(RenderError, match="failed with ValueError"):
        render_html(notebook(code(failed)))


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ([prose("x")], "no front matter"),
        ([v4.new_raw_cell("---\nsubtitle: x\n---")], "no title"),
        ([v4.new_raw_cell("---\ntitle: a: b\n---")], "not YAML"),
        ([v4.new_raw_cell("---\ntitle: a\nverdict: maybe\n---")], "'maybe'"),
    ],
)
def test_front_matter_that_does_not_fit_is_refused(cells, said):
    with pytest.raises(RenderError, match=said):
        render_html(v4.new_notebook(cells=cells))


def test_two_renders_are_equal_and_the_notebook_is_unchanged(html):
    source = report()
    before = source.copy()
    assert render_html(source) == html
    assert source == before


def test_escaped_emoji_of_the_front_matter_is_whole():
    assert Page(render_html(notebook(title="Rocket 🚀"))).words("h1") == ["Rocket 🚀"]


def test_a_page_is_printed_on_any_paper_with_whole_rows_under_repeated_headers(html):
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL).group(1)
    printed = style[style.index("@media print") :]
    assert "size:" not in re.search(r"@page \{.*?\n\}", style, re.DOTALL).group(0)  # A4 or Letter: the reader's
    assert "thead { display: table-header-group; }" in printed
    assert re.search(r"[ ,]tr[, ][^}]*break-inside: avoid", printed)


def test_light_and_dark_follow_the_reader_and_a_button(html, page):
    assert "color-scheme: light dark" in html
    assert "light-dark(" in html
    assert [attrs for attrs in page.all("button") if "gb-theme" in attrs.get("class", "")]


def test_a_chart_is_its_drawing_and_not_the_script_beside_it():
    output = display(svg=SVG, html="<div></div><script>vega()</script>", markdown="twin", plain="alt.Chart(...)")
    html = render_html(notebook(code(output, label="fig-a", fig_cap="A", fig_alt="Bars")))
    assert len(Page(html).all("img")) == 1
    assert not re.search(r"vega\(\)|twin|alt\.Chart", html)
