"""Two results side by side: every kind of change, and a sentence that claims no more than can be known."""

import copy
import json

import pytest

from analysis.comparison import compare
from analysis.errors import UsageError
from analysis.results import dumps
from analysis.studies import recipe_card
from tests.conftest import collapsed

PARAMS = recipe_card.Params(tau=0.7)


@pytest.fixture(scope="module")
def result():
    frame = collapsed("tiny", 0, 59)
    return json.loads(dumps(recipe_card.run({"runs": frame}, PARAMS).to_json()))


@pytest.fixture(scope="module")
def worse():
    """Eleven of 59 collapse: the exact bound is over the budget of 10 %."""
    frame = collapsed("tiny", 11, 48)
    return json.loads(dumps(recipe_card.run({"runs": frame}, PARAMS).to_json()))


def changed(result, **values):
    return {**copy.deepcopy(result), **values}


def kinds(found):
    return {change.kind for change in found.changes}


def record(**components):
    return {"components": {"notebook": "a", "package": "b", **components}, "environment": {"numpy": "2.0"}}


def test_nothing_differs(result):
    found = compare(result, copy.deepcopy(result))
    assert (found.headline, found.changes, found.lines()) == ("Nothing differs: both are pass.", (), [])


def test_a_verdict_that_turned_is_on_top_with_its_cause(result, worse):
    found = compare(result, worse, (record(), record()))
    assert found.headline == "The verdict went from pass to refuse, and 1 clause changed; only the inputs differ."
    assert {"verdict", "clause", "observed", "number", "inputs"} <= kinds(found)
    assert "verdict gate: pass → refuse" in found.lines()


def test_without_run_json_the_sentence_says_what_is_not_known(result, worse):
    assert compare(result, worse).headline.endswith("only the inputs differ, as far as is known without run.json.")


def test_two_causes_are_not_one(result, worse):
    found = compare(result, changed(worse, parameters={**worse["parameters"], "delta": 0.2}), (record(), record()))
    assert found.headline.endswith("the inputs and the parameters differ, so that no single cause can be named.")


def test_code_and_environment_are_causes(result):
    other = record(package="c") | {"environment": {"numpy": "2.1"}}
    found = compare(result, changed(result, headline="another"), (record(), other))
    assert kinds(found) == {"code", "environment"}
    assert "environment numpy: 2.0 → 2.1" in found.lines()


def test_a_clause_that_is_there_in_one_only_is_a_change(result):
    other = copy.deepcopy(result)
    other["gate"]["checks"][0]["name"] = "another cell"
    lines = compare(result, other).lines()
    assert "clause another cell: – → pass" in lines
    assert any(line.startswith("clause tiny") and line.endswith("pass → –") for line in lines)


def test_a_rule_that_came_later_is_a_change(result):
    rule = {"source": "rule.yml", "sha256": "ab" * 32, "written_before": True}
    assert "only the rule differs" in compare(result, changed(result, rule=rule)).headline


def test_hostile_names_are_text(result):
    other = copy.deepcopy(result)
    other["gate"]["checks"][0]["name"] = "\x1b[31mred\u202e"
    assert all("\x1b" not in line and "\u202e" not in line for line in compare(result, other).lines())


def test_other_studies_are_not_compared(result):
    with pytest.raises(UsageError, match="one is of recipe-card, the other of churn"):
        compare(result, changed(result, study="churn"))


def test_json_is_strict_and_whole(result, worse):
    found = json.loads(dumps(compare(result, worse).to_json()))
    assert found["verdicts"] == ["pass", "refuse"]
    assert len(found["changes"]) == len(compare(result, worse).changes)
