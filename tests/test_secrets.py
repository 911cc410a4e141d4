"""A secret is named, never told: not in messages, JSON, labels or files."""

import json

import pytest
from pydantic import BaseModel, Field

from analysis import parameters, secrets
from analysis.errors import ParameterError
from analysis.parameters import CONFIG, Given
from analysis.secrets import Secret
from analysis.sections import parameters_table
from analysis.study import default_label

WORD = "sk-very-secret"


class Params(BaseModel):
    model_config = CONFIG

    method: str = Field("paper", description="method")
    token: Secret | None = Field(None, description="token of the service")


def built(value):
    return parameters.build(Params, [Given(name="token", value=value, source="-p token")])


def test_a_variable_and_a_file_are_read_when_used(tmp_path, monkeypatch):
    monkeypatch.setenv("TOKEN", WORD)
    (tmp_path / "token").write_text(f"{WORD}\n", encoding="utf-8")
    assert built("env:TOKEN").token.reveal() == WORD
    assert built(f"file:{tmp_path / 'token'}").token.reveal() == WORD


@pytest.mark.parametrize("value", [WORD, {"a": WORD}, [WORD], "env:"])
def test_a_secret_that_is_written_down_is_refused_and_not_repeated(value):
    with pytest.raises(ParameterError, match="write env:NAME or file:PATH") as caught:
        built(value)
    assert "secret-" not in str(caught.value).replace("a secret", "")
    assert WORD not in str(caught.value)


def test_it_is_shown_as_stars_everywhere(monkeypatch):
    monkeypatch.setenv("TOKEN", WORD)
    params = built("env:TOKEN")
    table = parameters_table(params).to_json()
    shown = [repr(params), json.dumps(params.model_dump(mode="json")), json.dumps(table)]
    shown.append(default_label(params, {}, {}))
    assert all(WORD not in text and "TOKEN" not in text for text in shown)
    assert params.model_dump(mode="json")["token"] == "***"


def test_it_takes_no_part_in_the_label():
    assert default_label(built("env:ONE"), {}, {}) == default_label(built("env:OTHER"), {}, {})


def test_what_is_missing_is_said(tmp_path, monkeypatch):
    monkeypatch.delenv("TOKEN", raising=False)
    with pytest.raises(ParameterError, match="TOKEN is not set"):
        Secret("env:TOKEN").reveal()
    with pytest.raises(ParameterError, match="cannot be read"):
        Secret(f"file:{tmp_path / 'none'}").reveal()


def test_files_are_scrubbed_and_named(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "log.txt").write_text(f"a {WORD} b", encoding="utf-8")
    (tmp_path / "other.txt").write_text("nothing", encoding="utf-8")
    assert secrets.scrub(tmp_path, [WORD]) == ["deep/log.txt"]
    assert (tmp_path / "deep" / "log.txt").read_text(encoding="utf-8") == "a *** b"
    assert secrets.scrub(tmp_path, [WORD]) == []
