"""Sentences show data as it is: whatever stands in them, pandoc reads the same words back."""

from html import unescape

import pypandoc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.present.format import one_line
from analysis.present.prose import Sentence, listed, markdown, sentence_case

ACTIVE = [
    "- item",
    "+ item",
    "* item",
    "1. item",
    "12) item",
    "(1) item",
    "a. item",
    "iv) item",
    "#. item",
    "# heading",
    "> quote",
    "    code",
    "```code```",
    "`code` and ~~struck~~ and H~2~O and x^2^",
    "*emph* __strong__ ***",
    "[link](http://x.example) ![image](x.png)",
    "<b>bold</b> <script>alert(1)</script> &amp; &#65; &",
    "$x^2$ and \\(y\\) and \\alpha",
    "@citation and [@citation]",
    "| a | b |",
    "---",
    "***",
    "===",
    "% title",
    ": definition",
    "C:\\new\\table",
    "line\nbreak  \n\nand paragraph",
    "[x]: http://x.example",
    "^[note] [^1]",
    "{.class} [span]{.class}",
    ":::",
    '"quoted" -- it\'s ... text',
    "τ = 0.70, हिन्दी, 👩‍🔬",
    "1",
    "-",
    "\\",
]


def plain(source, reader):
    return pypandoc.convert_text(source, "plain", format=reader, extra_args=["--wrap=none"])


# How the page and the PDF read a sentence, and how a pull request does.
@pytest.mark.parametrize("reader", ["markdown-smart", "gfm"])
def test_active_characters_read_as_themselves(reader):
    text = "\n\n".join(markdown(sentence) for sentence in ACTIVE)
    paragraphs = plain(text, reader).strip().split("\n\n")
    assert [found.split() for found in paragraphs] == [one_line(sentence).split() for sentence in ACTIVE]


@pytest.mark.parametrize("reader", ["markdown-smart", "gfm"])
def test_active_characters_make_nothing_but_paragraphs(reader):
    text = "\n\n".join(markdown(sentence) for sentence in ACTIVE if "http" not in sentence)
    html = pypandoc.convert_text(text, "html", format=reader)
    assert html.replace("<p>", "").replace("</p>", "").count("<") == 0


@given(st.lists(st.text(st.characters(), min_size=1).filter(one_line), min_size=1, max_size=6))
@settings(max_examples=30, deadline=None)
def test_any_text_reads_as_itself(texts):
    source = "\n\n".join(map(markdown, texts))
    # the writer of plain text drops the blank after a word without width, the one of HTML does not
    page = pypandoc.convert_text(source, "html", format="markdown-smart", extra_args=["--wrap=none"])
    paragraphs = [unescape(line.removeprefix("<p>").removesuffix("</p>")) for line in page.strip().split("\n")]
    assert [found.split() for found in paragraphs] == [one_line(text).split() for text in texts]


@given(st.text(st.characters()))
def test_markdown_is_one_line(text):
    assert len(markdown(text).splitlines()) <= 1


def test_a_sentence_shows_itself_as_markdown_and_as_text():
    bundle = Sentence("k = 3\x1b of *59*")._repr_mimebundle_()
    assert bundle == {"text/markdown": r"k = 3\\x1b of \*59\*", "text/plain": r"k = 3\x1b of *59*"}


@pytest.mark.parametrize(
    ("items", "text"),
    [
        ([], "none"),
        (["a"], "a"),
        (["a", "b"], "a and b"),
        (["a", "b", "c"], "a, b and c"),
        (["a", "b", "c", "d"], "a, b, c and 1 more"),
    ],
)
def test_a_list_in_words_counts_what_it_leaves_out(items, text):
    assert listed(items) == text


@pytest.mark.parametrize(("text", "expected"), [("refuse", "Refuse"), ("", ""), ("τ", "Τ"), ("iPhone X", "IPhone X")])
def test_a_sentence_begins_with_a_capital(text, expected):
    assert sentence_case(text) == expected
