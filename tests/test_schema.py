"""Typed columns, and every fault of a table at once."""

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.schema import Column, Demanded, Schema, is_missing

SCHEMA = Schema(
    name="runs",
    measure="score",
    columns=(
        Column(name="model", kind="text", help="The model", required=True),
        Column(name="score", kind="number", help="A share of 1", low=0, high=1),
        Column(name="status", kind="choice", help="How it ended", choices=("ok", "killed")),
    ),
)


def check(**columns):
    return SCHEMA.check(pd.DataFrame(columns, dtype=object), lambda row: ("a.csv", f"line {row + 2}"))


@pytest.mark.parametrize("cell", ["", " ", "NA", "n/a", "NaN", "None", "null", " nan "])
def test_no_value_has_several_spellings(cell):
    typed, faults = check(score=[cell], status=[cell])
    assert math.isnan(typed["score"][0])
    assert typed["status"][0] == ""
    assert faults == []


@pytest.mark.parametrize("cell", ["0", "-", "no", "nothing", "."])
def test_other_words_are_values(cell):
    assert not is_missing(cell)


@pytest.mark.parametrize("cell", ["NA", "null", "007", "1.10", "NO", " bert "])
def test_text_stays_as_it_stands(cell):
    typed, faults = check(model=[cell])
    assert typed["model"][0] == cell
    assert faults == []


@pytest.mark.parametrize(
    ("cell", "value"), [("0", 0.0), ("1", 1.0), (".5", 0.5), ("5e-1", 0.5), (" 0.5 ", 0.5), ("+1", 1.0), ("-0", 0.0)]
)
def test_a_number_is_read(cell, value):
    typed, faults = check(score=[cell])
    assert typed["score"].dtype == "float64"
    assert (typed["score"][0], faults) == (value, [])


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (
            "abc",
            "'abc' is not a number. Leave it empty if there is none, or say what it means: values: {score: {abc: …}}",
        ),
        ("0,5", "'0,5' is not a number"),
        ("50%", "'50%' is not a number"),
        ("1_0", "'1_0' is not a number"),
        ("0x1", "'0x1' is not a number"),
        ("inf", "'inf' is not a finite number"),
        ("-Infinity", "'-Infinity' is not a finite number"),
        ("1e999", "'1e999' is not a finite number"),
        ("1.2", "'1.2' is outside [0, 1]. A share of 1; a percentage is mapped by score=percent:COLUMN."),
        ("-1e-9", "'-1e-9' is outside [0, 1]"),
        ("１", "'１' is not a number"),
        ("x\x1b[2J", r"'x\x1b[2J' is not a number"),
    ],
)
def test_a_number_that_does_not_fit_names_line_column_and_value(cell, words):
    _, faults = check(score=["0.5", cell])
    assert len(faults) == 1
    assert str(faults[0]).startswith(f"a.csv, line 3, column score: {words}")


@pytest.mark.parametrize("cell", ["ok", "OK", " Killed "])
def test_a_choice_is_read_in_any_case(cell):
    typed, faults = check(status=[cell])
    assert typed["status"][0] == cell.strip().lower()
    assert faults == []


def test_an_unknown_choice_lists_the_choices_and_the_way_out():
    _, faults = check(status=["done"])
    assert "'done' is not one of ok | killed. Map it: values: {status: {OLD: NEW}}" in str(faults[0])


@pytest.mark.parametrize("cell", ["", "  ", "\t"])
def test_a_required_text_that_is_empty_is_a_fault(cell):
    _, faults = check(model=["bert", cell])
    assert [fault.place for fault in faults] == ["line 3, column model"]


def test_all_faults_are_found_at_once():
    _, faults = check(model=["", "a"], score=["2", "x"], status=["ok", "gone"])
    assert [fault.place.split()[-1] for fault in faults] == ["model", "score", "score", "status"]


def test_columns_the_schema_does_not_know_are_kept():
    typed, _ = check(note=["NA", "1.10"])
    assert typed["note"].tolist() == ["NA", "1.10"]


def test_a_fault_says_long_values_in_short():
    _, faults = check(score=["x" * 10_000])
    assert len(str(faults[0])) < 240


def test_nothing_is_missing_when_all_columns_are_there():
    assert SCHEMA.missing_columns(["model"], [], Demanded()) == []


def test_control_characters_of_a_header_do_not_reach_the_terminal():
    [fault] = SCHEMA.missing_columns(["\x1b[31mred"], [], Demanded())
    assert "\x1b" not in str(fault)


@given(st.floats(0, 1))
def test_a_written_number_comes_back_exactly(value):
    typed, faults = check(score=[repr(value)])
    assert (typed["score"][0], faults) == (value, [])


@given(st.text(max_size=12))
def test_any_text_is_a_number_or_a_fault_or_missing(cell):
    typed, faults = check(score=[cell])
    assert len(faults) == (not is_missing(cell) and not 0 <= typed["score"][0] <= 1)
