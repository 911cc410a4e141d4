"""The gate over its checks, and ``result.json`` out and in."""

import itertools
import json
from pathlib import Path

import pytest

from analysis.errors import UsageError
from analysis.results import KEYS, SCHEMA, dumps, load, worst


def made(gate: dict[str, object], **parts: object) -> dict[str, object]:
    texts = dict.fromkeys(("study", "label", "headline", "signature"), "x")
    empty = {"units": [], "inputs": [], "parameters": {}, "layouts": {}, "tables": {}}
    return {**dict.fromkeys(KEYS), **texts, **empty, "schema": SCHEMA, "gate": {"reason": "", **gate}, **parts}


# product.md: refuse, then undecided, then pass; what was not measured never passes.
@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], "undecided"),
        (["pass"], "pass"),
        (["pass", "pass"], "pass"),
        (["pass", "undecided"], "undecided"),
        (["pass", "refuse"], "refuse"),
        (["undecided", "refuse", "pass"], "refuse"),
    ],
)
def test_the_gate_is_the_worst_of_its_checks_in_any_order(verdicts, expected):
    assert {worst(order) for order in itertools.permutations(verdicts)} == {expected}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_lacks_is_never_written(number):
    with pytest.raises(ValueError, match="not JSON compliant"):
        dumps({"tables": [[number]]})


def test_text_is_written_as_utf8_and_comes_back():
    value = {"τ": ["हिन्दी", "\x00", "</script>"], "n": [1, 0.1, None, True]}
    text = dumps(value)
    assert json.loads(text) == value
    assert text.startswith('{\n "τ"')
    assert text.endswith("}\n")


def test_a_float_keeps_every_digit():
    assert json.loads(dumps(0.1 + 0.2)) == 0.30000000000000004


def test_a_result_is_read(tmp_path):
    value = made({"verdict": "undecided", "checks": []})
    (tmp_path / "result.json").write_text(dumps(value), encoding="utf-8")
    assert load(tmp_path / "result.json") == value


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not valid JSON"),
        (b"{", "is not valid JSON"),
        (b"\xff", "is not valid JSON"),
        (b"[" * 100_000, "is not valid JSON"),
        (b"[]", "is not a gatebook/result/1 file"),
        (b'{"schema": "gatebook/result/2", "gate": {"verdict": "pass"}}', "is not a gatebook/result/1 file"),
        (b'{"schema": "gatebook/result/1"}', "is not a gatebook/result/1 file"),
        (b'{"schema": "gatebook/result/1", "gate": []}', "is not a gatebook/result/1 file"),
        (b'{"schema": "gatebook/result/1", "gate": {}}', "is not a gatebook/result/1 file"),
        (b'{"schema": "gatebook/result/1", "gate": {"verdict": "PASS"}}', "is not a gatebook/result/1 file"),
        (b'{"schema": "gatebook/result/1", "gate": {"verdict": ["pass"]}}', "is not a gatebook/result/1 file"),
    ],
)
def test_a_file_that_is_no_result_is_refused(tmp_path, content, words):
    path = tmp_path / "result.json"
    path.write_bytes(content)
    with pytest.raises(UsageError) as caught:
        load(path)
    assert str(caught.value).startswith(f"result.json: {words}")


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_a_file_with_a_number_that_json_lacks_is_refused(tmp_path, name):
    path = tmp_path / "result.json"
    path.write_text(f'{{"observed": {name}}}', encoding="utf-8")
    with pytest.raises(UsageError, match=f"is not valid JSON \\({name} is no number of JSON"):
        load(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        load(tmp_path / "nope.json")


def test_a_file_with_only_a_verdict_is_not_a_result(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps({"schema": SCHEMA, "gate": {"verdict": "pass"}}), encoding="utf-8")
    with pytest.raises(UsageError, match=f"result.json: is not a {SCHEMA} file"):
        load(path)


def test_a_verdict_that_its_checks_do_not_give_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    value = made({"verdict": "pass", "checks": [{"verdict": "refuse"}]})
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(UsageError, match="says pass, but its checks say refuse"):
        load(path)


@pytest.mark.parametrize(("observed", "relation", "limit"), [(0.3, "≤", 0.1), (3, "≥", 59), (0.1, "<", 0.1)])
def test_a_check_whose_numbers_deny_its_pass_is_refused(
    tmp_path: Path, observed: float, relation: str, limit: float
) -> None:
    check = {"name": "card", "verdict": "pass", "observed": observed, "relation": relation, "limit": limit}
    value = made({"verdict": "pass", "checks": [check]})
    path = tmp_path / "result.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(UsageError, match="says pass for card, but"):
        load(path)


@pytest.mark.parametrize("checks", ["pass", ["pass"], [None], {"verdict": "pass"}, [{}]])
def test_checks_of_another_shape_are_no_result(tmp_path: Path, checks: object) -> None:
    value = made({"verdict": "pass", "checks": checks})
    path = tmp_path / "result.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    with pytest.raises(UsageError, match=f"result.json: is not a {SCHEMA} file"):
        load(path)


@pytest.mark.parametrize("parts", [{"headline": None}, {"label": 3}, {"tables": []}, {"tables": {"warnings": []}}])
def test_a_result_that_lacks_what_is_shown_is_refused(tmp_path: Path, parts: dict[str, object]) -> None:
    path = tmp_path / "result.json"
    path.write_text(json.dumps(made({"verdict": "undecided", "checks": []}, **parts)), encoding="utf-8")
    with pytest.raises(UsageError, match=f"result.json: is not a {SCHEMA} file"):
        load(path)
