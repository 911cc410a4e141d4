"""JSON Schemas for editors: what ships is what is declared, and an editor refuses what the command would."""

import json

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from analysis.schemas import rule_schema
from tests.conftest import ROOT

RULES = ROOT / "data" / "rules"
PLAIN = "version: 1\nstudy: churn\ndecision_rule: mine\nparameters: {max_deteriorated: 0.05}\n"
CLAUSES = "version: 1\ndecision_rule: mine\nprimary_metric: {name: accuracy, margin: 0.02}\n"


def faults(text):
    return list(Draft202012Validator(json.loads(rule_schema())).iter_errors(YAML(typ="safe").load(text)))


def test_the_schema_that_ships_is_the_one_that_is_made():
    assert (RULES / "rule.schema.json").read_text(encoding="utf-8") == rule_schema()
    Draft202012Validator.check_schema(json.loads(rule_schema()))


@pytest.mark.parametrize("path", sorted(RULES.glob("*.yml")), ids=lambda path: path.stem)
def test_starter_rules_fit_and_name_their_schema(path):
    text = path.read_text(encoding="utf-8")
    assert faults(text) == []
    assert text.startswith("# yaml-language-server: $schema=rule.schema.json\n")


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("version: 1", "version: 2"),
        PLAIN.replace("study: churn", "study: nope"),
        PLAIN.replace("max_deteriorated", "max_deteriorate"),
        PLAIN.replace("{max_deteriorated: 0.05}", "{}"),
        PLAIN + "more: 1\n",
        CLAUSES + "guardrails: [{kind: nope}]\n",
        CLAUSES + "more: 1\n",
        "version: 1\n",
    ],
)
def test_an_editor_sees_what_does_not_fit(text):
    assert faults(PLAIN) == []
    assert faults(text)


def test_the_command_prints_it(gatebook):
    assert gatebook("register", "--schema").out == rule_schema()
    assert gatebook("register").code == 3
