"""A table is a value: every rendering shows the same cells and runs nothing that stands in them."""

import csv
import io
import math
from html.parser import HTMLParser

import numpy as np
import pypandoc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.present.format import one_line, visible
from analysis.present.table import Table, TableColumn

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img onerror=x>',
    "a|b",
    "&amp;",
    "`x`",
    "=cmd()",
    "\x1b[2J",
    "a\u202eb",
    "a\nb",
]


def one(value, kind="label", **column):
    return Table(id="t", title="T.", columns=(TableColumn(key="a", label="A", kind=kind, **column),), rows=((value,),))


BOUNDS = Table(
    id="bounds",
    title="Bounds.",
    columns=(
        TableColumn(key="cell", label="Cell"),
        TableColumn(key="low", label="τ = .50", kind="bound", group="Bars"),
        TableColumn(key="high", label="τ = .70", kind="bound", group="Bars"),
        TableColumn(key="rate", label="Rate", kind="share", unit="of reruns"),
        TableColumn(key="verdict", label="Verdict", kind="status"),
    ),
    rows=(
        ("bert", {"k": 0, "n": 59, "upper": 0.038275, "status": "r"}, None, 0.1 + 0.2, "pass"),
        ("t5", {"k": 3, "n": 59, "upper": 0.10974, "status": "u"}, None, None, "refuse"),
    ),
    notes=("A dash: not measured.",),
)


class Page(HTMLParser):
    """Tags with their attributes in order, and the text of every cell."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.cells, self.inside = [], [], False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag in {"td", "th"}:
            self.cells.append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in {"td", "th"}

    def handle_data(self, data):
        if self.inside:
            self.cells[-1] += data


def rows_of(text):
    return list(csv.reader(io.StringIO(text)))


class TestHtml:
    def test_every_header_says_what_it_heads(self):
        scopes = [attrs["scope"] for tag, attrs in Page(BOUNDS.to_html()).tags if tag == "th"]
        assert scopes == ["colgroup", *["col"] * 5, "row", "row"]

    def test_a_group_stands_over_its_columns(self):
        tags = Page(BOUNDS.to_html()).tags
        first, second, *_ = (i for i, (tag, _) in enumerate(tags) if tag == "tr")
        assert [(tag, attrs["colspan"]) for tag, attrs in tags[first + 1 : second]] == [
            ("td", "1"),
            ("th", "2"),
            ("td", "2"),
        ]

    def test_without_groups_there_is_one_header_row(self):
        assert [tag for tag, _ in Page(one("x").to_html()).tags].count("tr") == 2

    def test_the_same_group_apart_is_two_groups(self):
        columns = tuple(TableColumn(key=key, label=key, group=group) for key, group in zip("abc", "xyx", strict=True))
        table = Table(id="t", title="T.", columns=columns, rows=())
        assert [attrs for _, attrs in Page(table.to_html()).tags if attrs.get("scope") == "colgroup"] == [
            {"scope": "colgroup", "colspan": "1"}
        ] * 3

    def test_cells_read_as_a_person_reads_them(self):
        cells = Page(BOUNDS.to_html()).cells
        assert cells[3:] == [
            *("Cell", "τ = .50", "τ = .70", "Rate (of reruns)", "Verdict"),
            *("bert", "0/59 / .038 r", "–", ".300", "pass"),
            *("t5", "3/59 / .110 u", "–", "–", "refuse"),
        ]

    def test_numbers_and_verdicts_are_marked_for_the_style_sheet(self):
        classes = [attrs.get("class") for tag, attrs in Page(BOUNDS.to_html()).tags if tag == "td"]
        assert classes[-4:] == ["num", "num", "num", "status-refuse"]

    def test_nothing_on_it_has_an_id(self):
        assert not any("id" in attrs for _, attrs in Page(BOUNDS.to_html()).tags)

    @pytest.mark.parametrize("text", HOSTILE)
    def test_data_make_no_markup(self, text):
        table = Table(
            id="t",
            title=text,
            columns=(
                TableColumn(key=text, label=text, unit=text, group=text),
                TableColumn(key="b", label="B", kind="status"),
            ),
            rows=((text, text),),
            notes=(text,),
            empty=text,
        )
        tags = {
            tag
            for shown in (table, Table(id="t", title=text, columns=table.columns, rows=(), empty=text))
            for tag, _ in Page(shown.to_html()).tags
        }
        assert tags <= {"table", "thead", "tbody", "tr", "th", "td", "div", "p"}

    @given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs"])))
    def test_text_comes_back_from_the_page(self, text):
        assert Page(one(text).to_html()).cells[-1] == text

    def test_an_empty_table_says_why(self):
        table = Table(id="t", title="T.", columns=BOUNDS.columns, rows=(), empty="no cell was audited")
        page = Page(table.to_html())
        assert page.cells[-1] == "no cell was audited"
        assert page.tags[-1] == ("td", {"colspan": "5"})


class TestCsv:
    # https://owasp.org/www-community/attacks/CSV_Injection: = + - @, tab and carriage return start a formula
    @pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "=cmd|' /C calc'!A0", "\t=1", "\r=1"])
    def test_no_text_starts_a_formula(self, text):
        table = Table(id="t", title="T.", columns=(TableColumn(key=text, label="A"),), rows=((text,),))
        fields = [field for row in rows_of(table.to_csv()) for field in row]
        assert [field[0] in "=+-@\t\r" for field in fields] == [False, False]

    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_a_number_keeps_every_digit(self, value):
        assert float(rows_of(one(value, "number").to_csv())[1][0]) == value

    def test_a_numpy_number_is_written_as_a_number(self):
        assert one(np.float64(0.1), "share").to_csv() == "a\n0.1\n"
        assert one(np.int64(7), "count").to_csv() == "a\n7\n"

    def test_a_negative_number_is_not_quoted(self):
        assert one(-0.5, "number").to_csv() == "a\n-0.5\n"

    def test_a_composite_cell_has_one_column_a_field(self):
        header, first, second = rows_of(BOUNDS.to_csv())
        assert header[:5] == ["cell", "low.k", "low.n", "low.upper", "low.status"]
        assert first == ["bert", "0", "59", "0.038275", "r", "", "", "", "", "0.30000000000000004", "pass"]
        assert second[9:] == ["", "refuse"]

    @given(
        st.text(st.characters(exclude_categories=["Cc", "Cf", "Cn", "Cs"])).filter(lambda text: text[:1] not in "=+-@")
    )
    def test_text_comes_back(self, text):
        assert rows_of(one(text).to_csv())[1] == [text]

    @pytest.mark.parametrize("code", [0xFFFE, 0x2FFFE, 0xFDD0])
    def test_a_noncharacter_is_spelled_out(self, code):
        # Unicode 15, section 23.7: not for interchange; XML takes no U+FFFE
        assert rows_of(one(chr(code)).to_csv())[1] == [chr(code).encode("unicode_escape").decode()]

    @given(st.text(st.characters()))
    def test_a_row_is_one_line(self, text):
        assert one(text).to_csv().count("\n") == 2


class TestMarkdown:
    @pytest.mark.parametrize("text", [*HOSTILE, "*a*", "_a_", "[a](http://x)", "# a", "C:\\new", "~~a~~", "$x$"])
    def test_a_cell_reads_as_itself(self, text):
        markdown = Table(
            id="t",
            title="T.",
            columns=(TableColumn(key="a", label=text), TableColumn(key="b", label="B")),
            rows=((text, "x"),),
        ).to_markdown()
        page = Page(pypandoc.convert_text(markdown, "html", format="gfm"))
        assert page.cells == [one_line(text), "B", visible(text), "x"]

    def test_numbers_are_set_to_the_right(self):
        assert BOUNDS.to_markdown().splitlines()[1] == "| --- | ---: | ---: | ---: | --- |"

    def test_an_empty_cell_keeps_its_place(self):
        page = Page(pypandoc.convert_text(one("").to_markdown(), "html", format="gfm"))
        assert page.cells == ["A", ""]


class TestTerminal:
    def test_columns_are_aligned_and_numbers_set_to_the_right(self):
        table = Table(
            id="t",
            title="T.",
            columns=(TableColumn(key="a", label="Name"), TableColumn(key="b", label="n", kind="count")),
            rows=(("模型", 5), ("bert", 1200)),
        )
        assert table.to_text().splitlines() == ["Name      n", "模型      5", "bert  1,200"]

    @pytest.mark.parametrize("text", ["\x1b[2J", "\x9b2J", "a\rb", "a\u202eb", "\x07"])
    def test_nothing_in_it_is_obeyed_by_a_terminal(self, text):
        columns = (TableColumn(key="a", label=text, unit=text),)
        shown = Table(id="t", title=text, columns=columns, rows=((text,),), notes=(text,)).to_text()
        shown += Table(id="t", title=text, columns=columns, rows=(), empty=text).to_text()
        assert not set(shown) & set("\x1b\x9b\r\x07\u202e")

    def test_long_text_is_cut(self):
        assert max(map(len, one("x" * 300).to_text().splitlines())) == 60

    def test_notes_follow_the_rows(self):
        assert BOUNDS.to_text().splitlines()[-1] == "A dash: not measured."

    def test_an_empty_table_says_why(self):
        assert Table(id="t", title="T.", columns=BOUNDS.columns, rows=()).to_text().endswith("nothing to show")


class TestJson:
    def test_raw_cells_stay_raw(self):
        value = BOUNDS.to_json()
        assert value["rows"][0][:3] == ["bert", {"k": 0, "n": 59, "upper": 0.038275, "status": "r"}, None]
        assert math.isclose(value["rows"][0][3], 0.3)
        assert value["columns"][3] == {"key": "rate", "label": "Rate", "kind": "share", "unit": "of reruns"}

    def test_an_empty_table_says_why_in_its_first_note(self):
        table = Table(id="t", title="T.", columns=BOUNDS.columns, rows=(), notes=("n",), empty="no cell")
        assert table.to_json()["notes"] == ["no cell"]


def test_a_notebook_shows_the_page_or_the_text():
    assert BOUNDS._repr_mimebundle_() == {"text/html": BOUNDS.to_html(), "text/plain": BOUNDS.to_text()}


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="shorter"):
        Table(id="t", title="T.", columns=BOUNDS.columns, rows=(("bert",),)).to_html()
