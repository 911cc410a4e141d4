"""promptfoo: versions 2 and 3 and JSON lines, one test per trap, named after the issue that it comes from."""

import pytest

from analysis.errors import InputError
from tests.readers.logs import column, promptfoo, read, row, write_json, write_lines


def refused(*arguments, **options):
    with pytest.raises(InputError) as caught:
        read("promptfoo", *arguments, **options)
    return str(caught.value)


def test_the_row_of_a_result(tmp_path):
    rows, notes = read("promptfoo", promptfoo(tmp_path / "out.json", [row("a"), row("b", success=False)]))
    names = ("model", "attempt", "metric", "value", "status", "input_tokens", "output_tokens", "cost_usd", "latency_s")
    assert column(rows, *names) == [
        ("acme", "1", "success", "1", "scored", "10", "5", "0.0015", "1.234"),
        ("acme", "1", "success", "0", "scored", "10", "5", "0.0015", "1.234"),
    ]
    assert column(rows, "output_chars", "source_line") == [("1", "row 1"), ("1", "row 2")]
    assert "stated and found again: successes, failures, errors" in notes


def test_json_lines_are_the_same_rows(tmp_path):
    results = [row("a"), row("b", success=False)]
    one, _ = read("promptfoo", promptfoo(tmp_path / "out.json", results))
    two, _ = read("promptfoo", write_lines(tmp_path / "out.jsonl", results))
    names = ("model", "item_id", "value", "status", "metric")
    assert column(one, *names) == column(two, *names)


def test_version_2_keeps_its_rows_in_a_table(tmp_path):
    output = {"pass": True, "score": 1, "text": "4", "latencyMs": 500, "cost": 0, "namedScores": {}, "failureReason": 0}
    table = {
        "head": {
            "vars": ["q"],
            "prompts": [{"raw": "Q", "label": "Q", "provider": "a"}, {"raw": "Q", "label": "Q", "provider": "b"}],
        },
        "body": [
            {"vars": ["x"], "test": {}, "outputs": [output, output | {"pass": False, "score": 0, "failureReason": 1}]}
        ],
    }
    held = {
        "results": {"version": 2, "results": [], "table": table, "stats": {"successes": 1, "failures": 1}},
        "config": {},
    }
    rows, notes = read("promptfoo", write_json(tmp_path / "out.json", held))
    assert column(rows, "model", "value", "output_chars") == [("a", "1", "1"), ("b", "0", "1")]
    assert len(set(column(rows, "item_id"))) == 1
    assert "stated and found again: successes, failures" in notes


def test_an_error_is_no_failure(tmp_path):
    # promptfoo #634, #741; openai-cookbook #3010
    path = promptfoo(tmp_path / "out.json", [row("a"), row("b", reason=2, success=False)])
    rows, _ = read("promptfoo", path)
    assert column(rows, "value", "status", "reason") == [("1", "scored", ""), ("", "error", "Error: 500 upstream")]


def test_a_failed_assertion_has_an_error_text_and_is_no_error(tmp_path):
    # promptfoo 0.123.1: `error` repeats the reason of a failed assertion
    path = promptfoo(tmp_path / "out.json", [row("a", success=False, error="Expected output to contain 5")])
    assert column(read("promptfoo", path)[0], "value", "status") == [("0", "scored")]


def test_a_grader_that_failed_leaves_the_row_unscored(tmp_path):
    grading = {"pass": False, "score": 0, "reason": "", "metadata": {"graderError": "no JSON in the answer"}}
    path = promptfoo(tmp_path / "out.json", [row("a", success=False, gradingResult=grading)])
    assert column(read("promptfoo", path)[0], "status", "reason") == [
        ("unscored", "the grader failed: no JSON in the answer")
    ]


class TestRepeats:
    """promptfoo #992, PR #9448, #360: repeats have no name, and may be copies out of the cache."""

    def test_repeats_of_a_test_are_attempts_whatever_their_index(self, tmp_path):
        results = [row(test, output=f"{test}{k}", testIdx=3 * k + i) for k in range(3) for i, test in enumerate("ab")]
        rows, _ = read("promptfoo", promptfoo(tmp_path / "out.json", results))
        assert sorted(column(rows, "attempt")) == ["1", "1", "2", "2", "3", "3"]
        assert len(set(column(rows, "item_id"))) == 2

    def test_cached_copies_are_one_attempt(self, tmp_path):
        path = promptfoo(tmp_path / "out.json", [row("a", cached=True) for _ in range(5)])
        message = refused(path)
        assert "4 of 5 rows were served from the cache, with the output of an earlier row" in message
        assert "as evidence that is one attempt (K = 1)" in message
        rows, _ = read("promptfoo", path, copies="keep")
        assert column(rows, "attempt") == list("12345")

    def test_repeats_go_on_from_file_to_file(self, tmp_path):
        files = []
        for i in (1, 2):
            path = promptfoo(tmp_path / f"{i}.json", [row("a", output=str(i))])
            text = path.read_text().replace('"eval-1"', f'"eval-{i}"').replace('"id-a-', f'"id-{i}-a-')
            path.write_text(text, encoding="utf-8")
            files.append(path)
        assert column(read("promptfoo", *files)[0], "attempt") == ["1", "2"]

    def test_one_evaluation_in_two_files_is_refused(self, tmp_path):
        files = [promptfoo(tmp_path / f"{i}.json", [row("a")]) for i in (1, 2)]
        assert "2.json: is the same evaluation as 1.json" in refused(*files)

    def test_json_and_json_lines_of_one_evaluation_are_no_repeats(self, tmp_path):
        files = [promptfoo(tmp_path / "out.json", [row("a")]), write_lines(tmp_path / "out.jsonl", [row("a")])]
        assert "out.jsonl: is the same evaluation as out.json" in refused(*files)

    def test_one_cached_answer_a_test_is_no_copy(self, tmp_path):
        rows, _ = read("promptfoo", promptfoo(tmp_path / "out.json", [row("a", cached=True), row("b", cached=True)]))
        assert column(rows, "cost_usd", "latency_s", "input_tokens") == [("", "", "")] * 2

    def test_two_fresh_answers_that_agree_are_no_copy(self, tmp_path):
        assert len(read("promptfoo", promptfoo(tmp_path / "out.json", [row("a"), row("a")]))[0]) == 2


def test_items_are_told_by_content_and_shared_by_providers(tmp_path):
    results = [row("a", provider="x"), row("b", provider="x"), row("b", provider="y"), row("a", provider="y")]
    rows, _ = read("promptfoo", promptfoo(tmp_path / "out.json", results))
    ids = column(rows, "item_id")
    assert (ids[0], ids[1]) == (ids[3], ids[2])
    assert column(rows, "model") == ["x", "x", "y", "y"]


def test_a_score_beside_pass_or_fail_is_asked_about(tmp_path):
    path = promptfoo(tmp_path / "out.json", [row("a", score=0.5), row("b", namedScores={"tone": 0.25})])
    message = refused(path)
    assert "holds 3 metrics: success (2 rows, mean 1), score (2 rows, mean 0.75), tone (2 rows, mean 0.25)" in message
    assert column(read("promptfoo", path, metric="tone")[0], "value", "status") == [
        ("", "unscored"),
        ("0.25", "scored"),
    ]


def test_several_prompts_are_asked_about_and_become_arms(tmp_path):
    path = promptfoo(tmp_path / "out.json", [row("a", prompt="short"), row("a", prompt="polite")])
    assert "holds 2 prompts: short (1 row, mean 1), polite (1 row, mean 1)" in refused(path)
    assert column(read("promptfoo", path, prompt="all")[0], "model") == ["acme · short", "acme · polite"]


@pytest.mark.parametrize("change", [{"provider": "acme"}, {"prompt": "short"}])
def test_two_columns_of_one_name_are_no_repeats(tmp_path, change):
    # one provider at two temperatures, or two prompts under one label: promptIdx alone tells them apart
    path = promptfoo(tmp_path / "out.json", [row("a", promptIdx=0), row("a", promptIdx=1, success=False, **change)])
    assert "2 columns of the output are called acme with the prompt short" in refused(path)


def test_a_table_with_more_outputs_than_prompts_is_refused(tmp_path):
    table = {
        "head": {"vars": [], "prompts": [{"raw": "Q", "provider": "a"}]},
        "body": [{"vars": [], "outputs": [{}, {}]}],
    }
    held = {"results": {"version": 2, "table": table}, "config": {}}
    assert "2 outputs stand in a line of the table where its head has 1 prompts" in refused(
        write_json(tmp_path / "out.json", held)
    )


def test_a_named_score_may_be_called_like_promptfoos_own(tmp_path):
    path = promptfoo(tmp_path / "out.json", [row("a", namedScores={"success": 0.25, "score": 0.5})])
    rows, _ = read("promptfoo", path, metric="all")
    assert dict(column(rows, "metric", "value")) == {
        "success": "1",
        "score": "1",
        "named:success": "0.25",
        "named:score": "0.5",
    }


def test_a_time_that_no_number_holds_is_left_out(tmp_path):
    path = tmp_path / "out.json"
    text = promptfoo(path, [row("a")]).read_text().replace("1234", "1e9999999")
    path.write_text(text, encoding="utf-8")
    assert column(read("promptfoo", path)[0], "latency_s") == [""]


@pytest.mark.parametrize(("name", "stated", "found"), [("successes", 5, 1), ("failures", 3, 0), ("errors", 1, 0)])
def test_counts_that_do_not_fit_name_both_numbers(tmp_path, name, stated, found):
    path = promptfoo(tmp_path / "out.json", [row("a")], **{name: stated})
    assert f"the file states {name} {stated}, its rows give {found}" in refused(path)


def test_a_file_of_something_else_is_refused(tmp_path):
    assert "is no output of promptfoo" in refused(write_json(tmp_path / "a.json", {"results": [1]}))
