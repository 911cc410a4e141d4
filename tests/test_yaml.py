"""YAML 1.2 that guesses nothing: https://yaml.org/spec/1.2.2/ for what a file means, text for what a scalar is."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from analysis.errors import ParameterError, RuleError
from analysis.yaml import load


@pytest.fixture
def read(tmp_path):
    def run(content, error=ParameterError):
        path = tmp_path / "params.yml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return load(path, error)

    return run


def refusal(read, content):
    with pytest.raises(ParameterError) as caught:
        read(content)
    return str(caught.value)


# The five lines of problem 4 (quarto-r#133), and what other readers make numbers, dates or truth of.
@pytest.mark.parametrize(
    "scalar",
    [
        "no",
        "NO",
        "yes",
        "on",
        "010",
        "007",
        "1.10",
        "1e-3",
        "12e4567",
        "0x10",
        "2026-01-02",
        "12:30",
        "1_000",
        ".inf",
        "true",
    ],
)
def test_a_scalar_keeps_its_spelling(read, scalar):
    assert read(f"a: {scalar}\n").values == {"a": scalar}
    assert read(f"a: [{scalar}]\n").values == {"a": [scalar]}


@pytest.mark.parametrize("scalar", ["", "~", "null", "Null", "NULL"])
def test_an_empty_or_null_scalar_is_none(read, scalar):
    assert read(f"a: {scalar}\n").values == {"a": None}


@pytest.mark.parametrize("scalar", ["''", '""'])
def test_a_quoted_empty_text_is_text(read, scalar):
    assert read(f"a: {scalar}\n").values == {"a": ""}


def test_a_quoted_null_is_text(read):
    assert read("a: 'null'\n").values == {"a": "null"}


def test_a_block_keeps_its_line_breaks(read):
    assert read("a: |\n  x\n  y\n").values == {"a": "x\ny\n"}


def test_every_key_knows_its_line(read):
    document = read("# comment\na: 1\n\nb:\n  c: 2\n")
    assert (document.place("a"), document.place("b"), document.place("c")) == ("line 2", "line 4", "")


@pytest.mark.parametrize("content", ["", "# only a comment\n"])
def test_an_empty_file_holds_nothing(read, content):
    assert read(content).values == {}


def test_an_anchor_stands_for_its_value(read):
    assert read("a: &x [1.10]\nb: *x\n").values == {"a": ["1.10"], "b": ["1.10"]}


def test_a_byte_order_mark_is_passed_over(read):
    assert read(b"\xef\xbb\xbfa: 1\n").values == {"a": "1"}


def test_a_tag_runs_nothing(read):
    assert read("a: !!python/object/apply:os.getcwd []\n").values == {"a": []}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", "params.yml, line 3: the key 'a' stands twice"),
        ("a:\n  b: 1\n  b: 1\n", "params.yml, line 3: the key 'b' stands twice"),
        ("- a\n", "does not hold `name: value` lines"),
        ("a\n", "does not hold `name: value` lines"),
        ("a: 1\nb: [1\n", "is not YAML"),
        ("a: 1\n b: 2\n", "params.yml, line 2: is not YAML"),
        ("a: *nowhere\n", "params.yml, line 1: is not YAML"),
        ("a: 1\n---\nb: 2\n", "params.yml, line 2: is not YAML"),
        ("a: \x00\n", "is not YAML"),
        (b"a: \xff\n", "params.yml: is not UTF-8"),
        ("? [a]\n: b\n", "params.yml, line 1: a list or mapping cannot be a key"),
        ("a: &x [*x]\n", "refers to itself"),
        ("a: " + "[" * 5000, "nested too deeply"),
    ],
    ids=[
        "key",
        "nested key",
        "list",
        "word",
        "bracket",
        "indent",
        "alias",
        "two",
        "nul",
        "latin-1",
        "list key",
        "loop",
        "deep",
    ],
)
def test_a_file_that_does_not_fit_is_refused(read, content, words):
    assert words in refusal(read, content)


@pytest.mark.parametrize("content", ['a: "b\\0c"', 'a: ["\\ud800"]', '"a\\0": b', 'a: {"\\ud800": b}'])
def test_what_no_file_name_or_result_can_hold_is_refused(read, content):
    assert "character that is no text" in refusal(read, content)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(ParameterError, match="cannot be read"):
        load(tmp_path / "nope.yml", ParameterError)


def test_the_caller_chooses_the_error(read):
    with pytest.raises(RuleError):
        read("- a\n", RuleError)


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


@given(st.dictionaries(TEXT, TEXT, max_size=5))
@settings(max_examples=50, deadline=None)
def test_quoted_text_comes_back(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("yaml") / "a.yml"
    writer = YAML()
    writer.default_style = '"'
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        writer.dump(values, stream)
    assert load(path, ParameterError).values == values


def test_aliases_of_aliases_do_not_grow_without_end(tmp_path):
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    path = tmp_path / "bomb.yml"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ParameterError, match="stands for more than"):
        load(path, ParameterError)


def test_a_device_is_no_file_of_settings():
    with pytest.raises(ParameterError, match="not a regular file"):
        load(Path("/dev/zero"), ParameterError)
