"""Parameters from command line, file and notebook: one typed model, or every fault with its source."""

import ast
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from analysis import yaml
from analysis.errors import ParameterError
from analysis.parameters import (
    CONFIG,
    Given,
    build,
    cell_source,
    changed,
    describe,
    from_option,
    type_name,
)
from analysis.studies.recipe_card.parameters import Params as RecipeCard


class Params(BaseModel):
    model_config = CONFIG

    version: str = Field("x", description="a text")
    note: str | None = Field(None, description="a text or nothing")
    n: int = Field(59, ge=1, description="a count")
    threshold: float = Field(0.7, ge=0, le=1, description="a share")
    rate: float | None = Field(None, description="a number or nothing")
    strict: bool = Field(False, description="yes or no")
    kind: Literal["no", "yes"] = Field("yes", description="a choice")
    bars: list[float] = Field([0.5], min_length=1, max_length=3, description="numbers")
    cell: list[str] = Field(["model"], description="texts")
    claim: dict[str, str] | None = Field(None, description="texts by name")
    require: Literal["all"] | list[dict[str, str]] = Field("all", description="all, or a list")


def options(*texts):
    return build(Params, [from_option(Params, text) for text in texts])


def refusal(*texts):
    with pytest.raises(ParameterError) as caught:
        options(*texts)
    return str(caught.value)


@pytest.fixture
def from_yaml(tmp_path):
    def run(text):
        path = tmp_path / "params.yml"
        path.write_text(text, encoding="utf-8")
        document = yaml.load(path, ParameterError)
        return build(
            Params,
            [
                Given(name=name, value=value, source=f"{document.file} {document.place(name)}", text=True)
                for name, value in document.values.items()
            ],
        )

    return run


class TestSpelling:
    # Problem 3: papermill makes 1.10 -> 1.1, 007 -> 7, 12e4567 -> inf, and YAML 1.1 makes NO -> False.
    SPELLINGS = ("1.10", "007", "NO", "12e4567", "1e-3", "0x10", "2026-01-02", "[1]", '{"a": 1}', " x ")

    @pytest.mark.parametrize("text", [*SPELLINGS, "", "null", "None", "nan", "true", "a=b", "--x"])
    @pytest.mark.parametrize("name", ["version", "note"])
    def test_a_text_keeps_its_spelling_on_the_command_line(self, name, text):
        assert getattr(options(f"{name}={text}"), name) == text

    @pytest.mark.parametrize("text", ["1.10", "007", "NO", "no", "12e4567", "1e-3", "0x10", "2026-01-02", "true"])
    def test_a_text_keeps_its_spelling_in_yaml(self, from_yaml, text):
        params = from_yaml(f"version: {text}\ncell: [{text}]\nclaim: {{a: {text}}}\nrequire: [{{a: {text}}}]\n")
        assert (params.version, params.cell, params.claim, params.require) == (
            text,
            [text],
            {"a": text},
            [{"a": text}],
        )

    def test_a_choice_that_yaml_1_1_reads_as_false_stays_a_choice(self, from_yaml):
        assert from_yaml("kind: no\n").kind == options("kind=no").kind == "no"

    @given(st.text(st.characters(exclude_categories=["Cs"])))
    def test_any_text_comes_through(self, text):
        assert options(f"version={text}").version == text


class TestTypes:
    @pytest.mark.parametrize(
        ("option", "name", "value"),
        [
            ("n=5", "n", 5),
            ("threshold=.5", "threshold", 0.5),
            ("threshold=1", "threshold", 1.0),
            ("threshold=5e-1", "threshold", 0.5),
            ("rate=null", "rate", None),
            ("rate=-2.5", "rate", -2.5),
            ("strict=true", "strict", True),
            ("bars=[1, 2.5]", "bars", [1.0, 2.5]),
            ('cell=["1.10", "no"]', "cell", ["1.10", "no"]),
            ('claim={"dataset": "IMDB"}', "claim", {"dataset": "IMDB"}),
            ("claim=null", "claim", None),
            ("require=all", "require", "all"),
            ('require=[{"model": "a"}]', "require", [{"model": "a"}]),
        ],
    )
    def test_a_value_on_the_command_line_gets_the_declared_type(self, option, name, value):
        found = getattr(options(option), name)
        assert (found, type(found)) == (value, type(value))

    @pytest.mark.parametrize(
        ("text", "name", "value"),
        [
            ("n: 010", "n", 10),  # YAML 1.2 has no octal 010
            ("threshold: 1e-1", "threshold", 0.1),
            ("rate: ~", "rate", None),
            ("note:", "note", None),
            ("note: ''", "note", ""),
            ("strict: true", "strict", True),
            ("bars: [1, 2.5]", "bars", [1.0, 2.5]),
            ("claim: null", "claim", None),
        ],
    )
    def test_a_value_in_yaml_gets_the_declared_type(self, from_yaml, text, name, value):
        found = getattr(from_yaml(text), name)
        assert (found, type(found)) == (value, type(value))

    @pytest.mark.parametrize(
        ("option", "words"),
        [
            ("n=59.5", "n = 59.5: Input should be a valid integer"),
            ("n=abc", "n = 'abc': Input should be a valid integer"),
            ("n=true", "n = True: Input should be a valid integer"),
            ("n=", "n = '': Input should be a valid integer"),
            ("n=null", "n = None"),
            ("n=0", "n: a count (int, ≥ 1)"),
            ("threshold=1.4", "threshold: a share (float, ≥ 0, ≤ 1)"),
            ("threshold=70%", "threshold = '70%'"),
            ("threshold=0,7", "threshold = '0,7'"),
            ("strict=1", "strict = 1"),
            ("kind=maybe", "one of no | yes"),
            ("bars=0.5", "bars = 0.5: Input should be a valid list"),
            ("bars=[]", "at least 1"),
            ("bars=[1,2,3,4]", "at most 3"),
            ("bars=[0.5, true]", "bars[1] = [0.5, True]"),
            ("bars=[0.5", "bars = '[0.5'"),
            ("cell=[1.10]", "cell[0] = [1.1]: Input should be a valid string"),
            ('claim={"a": 1}', "Input should be a valid string"),
            ("require=some", "require = 'some': Input should be 'all'"),
            ("rate=" + "[" * 100_000, "rate = '[[[["),
        ],
    )
    def test_a_value_that_does_not_fit_names_value_type_and_range(self, option, words):
        message = refusal(option)
        assert message.startswith(f"-p {option.partition('=')[0]}: ")
        assert words in message

    @pytest.mark.parametrize("number", ["nan", "NaN", "inf", "-inf", "Infinity", "1e999"])
    @pytest.mark.parametrize("name", ["threshold", "rate"])
    def test_a_number_is_finite(self, name, number):
        assert "finite" in refusal(f"{name}={number}")

    @pytest.mark.parametrize("text", ["bars: [.5, nan]", "rate: inf", "rate: .inf", "threshold: .nan"])
    def test_a_number_in_yaml_is_finite(self, from_yaml, text):
        with pytest.raises(ParameterError, match=r"params\.yml line 1: .*(finite|valid) number"):
            from_yaml(text)

    def test_half_a_character_is_refused(self):
        # what Python makes of the byte 0xff in an argument (surrogateescape)
        assert "holds half a character" in refusal("version=\udcff")

    def test_a_notebook_value_of_another_type_is_refused(self):
        with pytest.raises(ParameterError, match="parameters cell, n: n = '5'"):
            build(Params, [Given(name="n", value="5", source="parameters cell, n")])


class TestNames:
    @pytest.mark.parametrize(
        ("name", "guess"),
        [("treshold", "threshold"), ("Threshold", "threshold"), ("barz", "bars"), ("vresion", "version")],
    )
    def test_a_typo_gets_a_suggestion_and_the_known_names(self, name, guess):
        message = refusal(f"{name}=1")
        assert f"-p {name}: unknown parameter {name}. Did you mean '{guess}'? Known: bars, cell, claim" in message

    def test_a_rule_file_as_a_parameter_names_the_option(self):
        assert "-p rule: unknown parameter rule. A rule file is given with --rule." in refusal("rule=r.yml")

    @pytest.mark.parametrize("name", ["x;import os", "__class__", "n\n", "model_config", "", "\x1b[31m"])
    def test_a_name_that_is_not_declared_is_refused(self, name):
        message = refusal(f"{name}=1")
        assert "unknown parameter" in message
        assert "\x1b" not in message

    def test_an_option_without_a_value_says_how_to_write_it(self):
        assert "Write -p NAME=VALUE." in refusal("threshold")

    def test_the_last_value_wins(self):
        assert options("n=1", "n=2").n == 2

    def test_all_faults_are_said_at_once_each_with_its_source(self):
        given = [
            from_option(Params, "treshold=0.7"),
            Given(name="n", value="59.5", source="params.yml line 3", text=True),
            Given(name="threshold", value=1.4, source="grid row 17"),
        ]
        with pytest.raises(ParameterError) as caught:
            build(Params, given)
        assert [str(fault).split(":")[0] for fault in caught.value.faults] == [
            "-p treshold",
            "params.yml line 3",
            "grid row 17",
        ]

    def test_a_rule_over_several_parameters_names_them(self):
        with pytest.raises(ParameterError, match=r"tau = 1\.4 is outside score_range \[0, 1\]"):
            build(RecipeCard, [from_option(RecipeCard, "tau=1.4")])


class TestCell:
    @pytest.mark.parametrize("model", [Params, RecipeCard])
    def test_the_parameters_cell_holds_every_name_and_default_as_a_literal(self, model):
        body = ast.parse(cell_source(model, "data: str = 'a.csv'  # the data")).body
        found = {node.target.id: ast.literal_eval(node.value) for node in body}
        assert found == {"data": "a.csv", **{item.name: item.default for item in describe(model)}}

    @pytest.mark.parametrize("model", [Params, RecipeCard])
    def test_the_defaults_of_the_cell_build_the_default_model(self, model):
        body = ast.parse(cell_source(model, "")).body
        given = [Given(name=node.target.id, value=ast.literal_eval(node.value), source="cell") for node in body]
        assert build(model, given) == model()

    def test_every_line_of_the_cell_ends_in_its_help(self):
        lines = cell_source(Params, "").strip().splitlines()
        assert lines[2] == "n: int = 59  # a count (≥ 1)"
        assert lines[6] == "kind: str = 'yes'  # a choice (one of no | yes)"
        assert lines[9] == "claim: dict[str, str] | None = None  # texts by name"

    def test_the_annotations_of_the_cell_are_types(self):
        namespace = {}
        exec(cell_source(Params, ""), namespace)
        assert namespace["__annotations__"]["claim"] == dict[str, str] | None


def test_only_what_differs_from_its_default_is_changed():
    assert changed(options("n=59", "threshold=0.8")) == {"threshold": 0.8}


@pytest.mark.parametrize(
    ("annotation", "name"),
    [
        (int, "int"),
        (str | None, "str | None"),
        (list[dict[str, str]], "list[dict[str, str]]"),
        (Literal["a", 2], "one of a | 2"),
    ],
)
def test_a_type_is_named_as_a_person_writes_it(annotation, name):
    assert type_name(annotation) == name
