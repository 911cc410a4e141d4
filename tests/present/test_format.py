"""One number, one spelling, and text of unknown origin made harmless."""

import re
import unicodedata
from decimal import ROUND_HALF_EVEN, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.present.format import cell, level, number, one_line, plural, prob, safe_words, slug, visible

HOSTILE = [
    "../../etc/passwd",
    "/abs",
    "C:\\x",
    "CON",
    "nul.txt",
    "com1",
    "a" * 300,
    "😀",
    "a\x00b",
    "",
    ".",
    "..",
    "-rf",
    "τ",
    "=cmd()",
    "<script>",
    "a b",
    "A",
    ".hidden",
    "a.",
]


class TestProbability:
    # Printed values of the recipe-card paper, table 2: .038 for 0.03828, .110 for 0.10974.
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0, ".000"),
            (0.0, ".000"),
            (1, "1.000"),
            (0.03828, ".038"),
            (0.10974, ".110"),
            (0.5, ".500"),
            (1e-300, "<.001"),
            (0.00049, "<.001"),
            (0.00051, ".001"),
            (0.99949, ".999"),
            (0.99951, ">.999"),
            (1 - 1e-16, ">.999"),
            (None, "–"),
        ],
    )
    def test_a_rounded_zero_or_one_is_never_shown_unless_exact(self, value, text):
        assert prob(value) == text

    @given(st.floats(0, 1, exclude_min=True, exclude_max=True), st.integers(1, 6))
    def test_what_lies_between_never_looks_certain(self, value, digits):
        text = prob(value, digits)
        assert float(text.lstrip("<>")) not in {0, 1}
        if text[0] not in "<>":
            step = Decimal(1).scaleb(-digits)
            assert Decimal(text) == Decimal(value).quantize(step, rounding=ROUND_HALF_EVEN)

    def test_more_digits_can_be_asked_for(self):
        assert prob(0.0382812, 5) == ".03828"


class TestNumber:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.0, "0"),
            (10.0, "10"),
            (1234567, "1,234,567"),
            (-1234567.0, "−1,234,567"),
            (-0.5, "−.5"),
            (0.88412, ".8841"),
            (3.14159, "3.142"),
            (-0.00001234, "−1.234e-05"),
            (None, "–"),
        ],
    )
    def test_a_number_has_four_digits_and_a_true_minus(self, value, text):
        assert number(value) == text

    @pytest.mark.parametrize(
        ("value", "text"),
        [(0.7, ".70"), (0.125, ".125"), (0.10, ".10"), (0.999999, ".999999"), (1.0, "1"), (71.0, "71")],
    )
    def test_a_level_shows_all_digits_that_were_given(self, value, text):
        assert level(value) == text

    @given(st.integers(0, 10**6).map(lambda n: n / 10**6))
    def test_a_level_reads_back_as_the_number_it_was(self, value):
        assert float(level(value)) == value

    @pytest.mark.parametrize(
        ("count", "text"), [(0, "0 entries"), (1, "1 entry"), (2, "2 entries"), (2124, "2,124 entries")]
    )
    def test_a_count_agrees_with_its_noun(self, count, text):
        assert plural(count, "entry", "entries") == text


class TestCell:
    @pytest.mark.parametrize(
        ("kind", "value", "text"),
        [
            ("label", "007", "007"),
            ("label", 5, "5"),
            ("text", "a\nb", "a\\nb"),
            ("count", 2124, "2,124"),
            ("share", 0.99996, ">.999"),
            ("prob", 0.00004, "<.001"),
            ("p_value", 0.5, ".500"),
            ("score", 0.88412, ".884"),
            ("score", 71.5, "71.500"),
            ("level", 0.7, ".70"),
            ("number", 12.5, "12.5"),
            ("fraction", {"k": 0, "n": 59}, "0/59"),
            ("interval", {"low": -0.0079, "high": 0.06118}, "[−.0079, .0612]"),
            ("bound", {"k": 3, "n": 59, "upper": 0.10974, "status": "u"}, "3/59 / .110 u"),
            ("bound", {"k": 59, "n": 59, "upper": 1.0, "status": "x"}, "59/59 / 1.000 x"),
            ("status", "refuse", "refuse"),
        ],
    )
    def test_every_kind_has_its_spelling(self, kind, value, text):
        assert cell(kind, value) == text

    @pytest.mark.parametrize(
        "kind", ["label", "count", "prob", "score", "level", "number", "fraction", "interval", "bound", "status"]
    )
    def test_what_is_not_known_is_a_dash(self, kind):
        assert cell(kind, None) == "–"


class TestText:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
            ("a\r\nb\tc", "a\\r\\nb\\tc"),
            ("\x9b31m", "\\x9b31m"),
            ("gpt\u202egpj.exe\u2066\u200f", "gptgpj.exe"),
            ("\ud800", "\\ud800"),
            ("हिन्दी 👩‍🔬", "हिन्दी 👩‍🔬"),
        ],
    )
    def test_control_and_direction_characters_do_nothing(self, text, shown):
        assert visible(text) == shown

    @given(st.text(st.characters()))
    def test_nothing_that_a_terminal_obeys_is_left(self, text):
        shown = visible(text)
        assert not {unicodedata.category(ch) for ch in shown} & {"Cc", "Cs"}
        assert not {unicodedata.bidirectional(ch) for ch in shown} & {
            "LRE",
            "RLE",
            "LRO",
            "RLO",
            "PDF",
            "LRI",
            "RLI",
            "FSI",
            "PDI",
        }

    @pytest.mark.parametrize(
        ("text", "line"),
        [("a\nb", "a b"), (" a \r\n\t b ", "a b"), ("C:\\new", "C:\\new"), ("\n", ""), ("a\u2028b", "a b")],
    )
    def test_a_line_has_no_breaks_and_keeps_backslashes(self, text, line):
        assert one_line(text) == line


class TestSlug:
    @pytest.mark.parametrize("text", ["bert-base", "google-t5-v1.1-base", "a", "0.70", "x1", "a_b"])
    def test_a_plain_name_is_kept(self, text):
        assert slug(text) == text

    @pytest.mark.parametrize("text", HOSTILE)
    def test_a_hostile_name_stays_inside_the_folder(self, text, tmp_path):
        path = tmp_path / f"{slug(text)}.csv"
        path.touch()
        assert path.resolve().parent == tmp_path

    def test_no_two_names_of_a_sample_collide(self):
        pairs = [form for text in HOSTILE for form in (text, text + " ", text.upper(), text + "-", text * 2)]
        texts = set(pairs)
        assert len({slug(text) for text in texts}) == len(texts)

    # https://learn.microsoft.com/windows/win32/fileio/naming-a-file: reserved also when an extension follows
    @pytest.mark.parametrize("text", ["con", "CON", "nul.txt", "com1", "LPT9.tar.gz", "aux."])
    def test_a_name_that_windows_reserves_is_changed(self, text):
        assert not re.match(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", slug(text))

    @given(st.text(st.characters(), min_size=1))
    def test_any_text_becomes_allowed_characters_of_bounded_length(self, text):
        assert re.fullmatch(r"[a-z0-9_](?:[a-z0-9._-]{0,65}[a-z0-9_])?", slug(text))
        assert ".." not in slug(text)

    @given(st.text(st.characters()))
    def test_a_slug_is_its_own_slug(self, text):
        assert slug(slug(text)) == slug(text)

    @given(st.text(st.characters()), st.text(st.characters()))
    def test_different_texts_have_different_slugs(self, one, other):
        assert (slug(one) == slug(other)) == (one == other)

    @pytest.mark.parametrize(
        ("text", "words"),
        [("BERT base / τ=0.70", "bert-base-0.70"), ("Ünïcode", "unicode"), ("a..b", "a.b"), ("--x--", "x")],
    )
    def test_words_are_lower_case_letters_digits_underscores_and_dots(self, text, words):
        assert safe_words(text) == words
