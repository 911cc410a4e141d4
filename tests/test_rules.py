"""Rule files: what they may hold, what contradicts them, and whether they were written before the numbers."""

import hashlib
import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from analysis.catalogue import STUDIES
from analysis.errors import ParameterError, RuleError
from analysis.parameters import from_option
from analysis.pipeline.provenance import git_state
from analysis.rules import load, lock_path, register

TEXT = "version: 1\nstudy: recipe-card\ndecision_rule: mine\nparameters:\n  tau: 0.80\n  errors: failure\n"
STARTER = Path(__file__).parent.parent / "data" / "rules" / "recipe_card.yml"
RECIPE_CARD = next(study for study in STUDIES if study.slug == "recipe-card")


@pytest.fixture
def rule(tmp_path):
    path = tmp_path / "rule.yml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def refusal(path):
    with pytest.raises(RuleError) as caught:
        load(path, "recipe-card")
    return str(caught.value)


def commit_of(folder):
    state = git_state(folder)
    return state and state["commit"]


class TestFile:
    def test_a_rule_knows_name_digest_and_parameters(self, rule):
        loaded = load(rule, "recipe-card")
        assert (loaded.name, loaded.source) == ("mine", "rule.yml")
        assert loaded.sha256 == hashlib.sha256(TEXT.encode()).hexdigest()
        assert [(given.name, given.value) for given in loaded.given] == [("tau", "0.80"), ("errors", "failure")]

    def test_the_starter_rule_equals_the_defaults(self):
        params, _ = RECIPE_CARD.resolve([], STARTER)
        assert params == RECIPE_CARD.params()

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("study:", "studdy:", "rule.yml, line 2: unknown key studdy. Did you mean 'study'?"),
            ("study:", "studdy:", "rule.yml: the key study is missing"),
            ("recipe-card", "churn", "rule.yml, line 2: the rule is for churn, not for recipe-card"),
            ("version: 1", "version: 2", "rule.yml, line 1: version must be 1"),
            ("mine", "mine\nstudy: recipe-card", "line 4: the key 'study' stands twice"),
        ],
    )
    def test_a_rule_that_does_not_fit_is_refused(self, rule, old, new, words):
        rule.write_text(TEXT.replace(old, new), encoding="utf-8")
        assert words in refusal(rule)

    @pytest.mark.parametrize("parameters", ["", " {}", " ~", " tau"])
    def test_a_rule_without_parameters_is_refused(self, rule, parameters):
        rule.write_text(TEXT.split("parameters:", maxsplit=1)[0] + f"parameters:{parameters}\n", encoding="utf-8")
        assert "parameters must be name: value lines" in refusal(rule)

    def test_an_empty_rule_names_every_missing_key(self, rule):
        rule.write_text("", encoding="utf-8")
        assert refusal(rule).count("is missing") == 4

    def test_a_missing_file_is_refused(self, tmp_path):
        assert "cannot be read" in refusal(tmp_path / "nope.yml")


class TestAgreement:
    def test_a_parameter_against_the_rule_names_both_values(self, rule):
        with pytest.raises(ParameterError) as caught:
            RECIPE_CARD.resolve([from_option(RECIPE_CARD.params, "tau=0.7")], rule)
        assert str(caught.value).startswith("rule.yml: the rule fixes tau = 0.8, but 0.7 was asked for.")

    def test_every_contradiction_is_named(self, rule):
        given = [from_option(RECIPE_CARD.params, text) for text in ("tau=0.7", "errors=exclude")]
        with pytest.raises(ParameterError) as caught:
            RECIPE_CARD.resolve(given, rule)
        assert len(caught.value.faults) == 2

    def test_the_same_value_in_another_spelling_agrees(self, rule):
        params, _ = RECIPE_CARD.resolve([from_option(RECIPE_CARD.params, "tau=8e-1")], rule)
        assert params.tau == 0.8

    def test_a_parameter_the_rule_leaves_open_is_free(self, rule):
        params, _ = RECIPE_CARD.resolve([from_option(RECIPE_CARD.params, "splits=10")], rule)
        assert (params.tau, params.splits) == (0.8, 10)

    def test_a_typo_in_the_rule_gets_a_suggestion(self, rule):
        rule.write_text(TEXT.replace("tau", "tauu"), encoding="utf-8")
        with pytest.raises(ParameterError, match=r"rule rule\.yml: unknown parameter tauu\. Did you mean 'tau'"):
            RECIPE_CARD.resolve([], rule)


class TestLock:
    def test_without_a_lock_nothing_is_known(self, rule):
        assert load(rule, "recipe-card").written_before is None

    def test_a_lock_holds_file_digest_and_date(self, rule):
        before = datetime.now(UTC).replace(microsecond=0)
        entry = json.loads(register(rule, commit=None).read_text(encoding="utf-8"))
        assert entry["file"] == "rule.yml"
        assert entry["sha256"] == hashlib.sha256(TEXT.encode()).hexdigest()
        assert before <= datetime.fromisoformat(entry["registered"]) <= datetime.now(UTC)
        assert load(rule, "recipe-card").written_before is True

    def test_a_lock_holds_the_commit_it_is_given(self, rule):
        assert json.loads(register(rule, commit="abc").read_text(encoding="utf-8"))["commit"] == "abc"

    def test_the_commit_is_that_of_the_checkout(self, rule, monkeypatch):
        for name in ("AUTHOR", "COMMITTER"):
            monkeypatch.setenv(f"GIT_{name}_NAME", "t")
            monkeypatch.setenv(f"GIT_{name}_EMAIL", "t@example.org")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        git = ["git", "-C", str(rule.parent)]
        subprocess.run([*git, "init", "--quiet"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "x"], check=True)
        head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
        assert commit_of(rule.parent) == head

    def test_outside_of_git_there_is_no_commit(self, rule, monkeypatch):
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(rule.parent.parent))
        assert commit_of(rule.parent) is None

    def test_registering_twice_keeps_the_first_lock(self, rule):
        first = register(rule, commit=None).read_bytes()
        assert register(rule, commit=None).read_bytes() == first

    def test_a_rule_that_changed_after_the_lock_says_so(self, rule):
        register(rule, commit=None)
        rule.write_text(TEXT.replace("0.80", "0.60"), encoding="utf-8")
        assert load(rule, "recipe-card").written_before is False

    def test_a_changed_rule_is_not_registered_again(self, rule):
        lock = register(rule, commit=None).read_bytes()
        rule.write_text(TEXT + "# changed\n", encoding="utf-8")
        with pytest.raises(RuleError, match="has changed since"):
            register(rule, commit=None)
        assert lock_path(rule).read_bytes() == lock

    @pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"\xff", b"3"])
    def test_a_broken_lock_is_refused(self, rule, content):
        lock_path(rule).write_bytes(content)
        assert "rule.yml.lock: the lock cannot be read" in refusal(rule)

    def test_a_missing_rule_is_not_registered(self, tmp_path):
        with pytest.raises(RuleError, match="cannot be read"):
            register(tmp_path / "nope.yml", commit=None)
        assert not (tmp_path / "nope.yml.lock").exists()
