"""Inspect: every log that the tool itself wrote, and one small log per trap, named after its source."""

import json
import math
import time
import zipfile

import pytest

from analysis.errors import InputError, MissingProgram
from analysis.readers import inspect_zip
from tests.readers.logs import (
    column,
    header,
    members,
    read,
    summary,
    write_eval,
    write_json,
    write_zstandard,
)

TWO = [summary(1, "C"), summary(2, "I")]
HALF = {"accuracy": 0.5, "stderr": 0.5}


def refused(*arguments, **options):
    with pytest.raises(InputError) as caught:
        read("inspect", *arguments, **options)
    return str(caught.value)


class TestRealLogs:
    """../shared/data/real/inspect_logs: written by Inspect 0.3.41 to 0.3.154; metrics as stated inside."""

    @pytest.mark.parametrize(
        ("name", "rows", "scored", "right", "said"),
        [
            ("2025-02-11T15-17-00-05-00_popularity_dPiJifoWeEQBrfWsAopzWr.eval", 10, 0, 0, "total_samples"),
            ("2025-05-12T20-28-13-04-00_no-samples.json", 3, 3, 2, "match/accuracy, match/stderr"),
            ("2025-05-12T20-28-13-04-00_popularity.json", 3, 3, 2, "match/accuracy, match/stderr"),
            ("2025-05-12T20-28-26-04-00_security-guide.json", 3, 3, 3, "model_graded_fact/accuracy"),
            ("log_formats.eval", 1, 1, 0, "match/accuracy, match/stderr"),
            ("log_formats.json", 1, 1, 0, "match/accuracy, match/stderr"),
            ("mmlu-summary-choices.eval", 1, 1, 0, "choice/accuracy, choice/stderr"),
        ],
    )
    def test_every_log_is_read_and_its_metrics_are_found_again(self, real_data, name, rows, scored, right, said):
        found, notes = read("inspect", real_data / "inspect_logs" / name)
        values = column(found, "value")
        assert (len(found), sum(map(bool, values)), values.count("1") + values.count("1.0")) == (rows, scored, right)
        assert any(note.startswith("stated and found again") and said in note for note in notes)

    def test_the_tests_above_cover_the_folder(self, real_data):
        logs = {path.name for path in (real_data / "inspect_logs").iterdir()} - {"LICENSE"}
        assert len(logs) == 7

    def test_both_formats_of_one_run_hold_the_same_rows(self, real_data):
        names = ("run_id", "model", "task", "item_id", "attempt", "metric", "value", "status")
        both = [read("inspect", real_data / "inspect_logs" / f"log_formats.{end}")[0] for end in ("eval", "json")]
        assert column(both[0], *names) == column(both[1], *names)

    def test_both_together_are_one_run_twice(self, real_data):
        # one eval_id; without one, as in these old logs, the same task and time
        files = [real_data / "inspect_logs" / f"log_formats.{end}" for end in ("eval", "json")]
        assert "is the same run as" in refused(*files)


def test_the_row_of_a_sample(tmp_path):
    usage = {"acme/base": {"input_tokens": 20, "output_tokens": 5}, "grader": {"input_tokens": 900, "output_tokens": 9}}
    more = {"model_usage": usage, "total_time": 9.5, "working_time": 1.25, "metadata": {"subject": "algebra", "n": [1]}}
    path = write_eval(tmp_path / "a.eval", members(header({"accuracy": 1.0}, items=[7]), [summary(7, "C", **more)]))
    rows, _ = read("inspect", path)
    names = ("model", "task", "item_id", "attempt", "metric", "value", "status", "input_tokens", "output_tokens")
    assert column(rows, *names) == [("acme/base", "sums", "7", "1", "match", "1", "scored", "20", "5")]
    assert column(rows, "latency_s", "slice.subject", "source") == [("1.25", "algebra", "a.eval")]


class TestErrors:
    """inspect_ai #3707, #2914, #4286, #4412: samples that failed vanish from the accuracy."""

    def test_a_sample_with_an_error_is_a_row_without_a_score(self, tmp_path):
        samples = [summary(i, "C") for i in range(80)] + [summary(i, "I") for i in range(80, 92)]
        samples += [summary(i, error="RuntimeError('boom')") for i in range(92, 100)]
        head = header({"accuracy": 80 / 92}, items=range(100))
        rows, notes = read("inspect", write_eval(tmp_path / "a.eval", members(head, samples)))
        status = column(rows, "status")
        assert (len(rows), status.count("scored"), status.count("error")) == (100, 92, 8)
        assert column(rows, "value").count("1") == 80
        assert rows[-1]["reason"] == "RuntimeError('boom')"
        assert any("match/accuracy" in note for note in notes)

    def test_scores_may_be_null(self, tmp_path):
        samples = [summary(1, "C"), summary(2, error="x") | {"scores": None}]
        path = write_json(tmp_path / "a.json", header({"accuracy": 1.0}) | {"samples": samples})
        assert column(read("inspect", path)[0], "status") == ["scored", "error"]

    def test_an_error_of_a_full_sample_is_an_object(self, tmp_path):
        sample = summary(1, error={"message": "boom", "traceback": "…"})
        path = write_json(tmp_path / "a.json", header(items=[1]) | {"samples": [sample]})
        assert column(read("inspect", path)[0], "status", "reason") == [("error", "boom")]

    def test_a_scorer_that_returned_nothing_left_the_sample_unscored(self, tmp_path):
        path = write_eval(tmp_path / "a.eval", members(header({"accuracy": 1.0}), [summary(1, "C"), summary(2)]))
        rows, _ = read("inspect", path)
        assert column(rows, "status", "reason") == [("scored", ""), ("unscored", "no score of this name")]

    def test_a_limit_that_was_hit_is_said(self, tmp_path):
        path = write_eval(tmp_path / "a.eval", members(header(items=[1]), [summary(1, "I", limit="message")]))
        assert column(read("inspect", path)[0], "status", "reason") == [("scored", "limit reached: message")]


class TestValues:
    @pytest.mark.parametrize(
        ("value", "cell"),
        [("C", "1"), ("I", "0"), (True, "1"), (False, "0"), (0.25, "0.25"), ("0.5", "0.5"), (1e300, "1e+300")],
    )
    def test_what_is_certain_is_a_number(self, tmp_path, value, cell):
        path = write_eval(tmp_path / "a.eval", members(header(items=[1]), [summary(1, value)]))
        assert column(read("inspect", path)[0], "value", "status") == [(cell, "scored")]

    @pytest.mark.parametrize("value", ["P", "N", "maybe", "c"])
    def test_any_other_text_stays_as_it_is_for_the_schema_to_ask(self, tmp_path, value):
        # Inspect maps an unknown text to 0 with a warning
        path = write_eval(tmp_path / "a.eval", members(header(items=[1]), [summary(1, value)]))
        assert column(read("inspect", path)[0], "value") == [value]

    def test_nan_is_the_sentinel_of_unscored(self, tmp_path):
        path = write_eval(
            tmp_path / "a.eval", members(header({"accuracy": 1.0}), [summary(1, "C"), summary(2, math.nan)])
        )
        rows, notes = read("inspect", path)
        assert column(rows, "value", "status") == [("1", "scored"), ("", "unscored")]
        assert any("match/accuracy" in note for note in notes)

    def test_a_score_of_several_values_is_asked_about(self, tmp_path):
        samples = [summary(1, {"fluency": 3, "correct": 1}), summary(2, {"fluency": 2, "correct": 0})]
        path = write_eval(tmp_path / "a.eval", members(header(), samples))
        message = refused(path)
        assert "holds 2 scores: match/fluency (2 rows, mean 2.5), match/correct (2 rows, mean 0.5)" in message
        assert column(read("inspect", path, metric="match/correct")[0], "value") == ["1", "0"]

    def test_a_list_has_no_mean(self, tmp_path):
        path = write_eval(tmp_path / "a.eval", members(header(items=[1]), [summary(1, [0, 1])]))
        assert "which is no score" in refused(path)

    def test_two_scorers_are_asked_about(self, tmp_path):
        sample = summary(1, "C") | {"scores": {"match": {"value": "C"}, "judge": {"value": 0.5}}}
        path = write_eval(tmp_path / "a.eval", members(header(items=[1]), [sample]))
        assert "holds 2 scores: match (1 row, mean 1), judge (1 row, mean 0.5)" in refused(path)
        assert len(read("inspect", path, metric="all")[0]) == 2

    def test_an_edited_score_counts_as_it_stands_and_is_said(self, tmp_path):
        edited = summary(1, "C")
        edited["scores"]["match"]["history"] = [{"value": "I"}, {"value": "C", "provenance": {"author": "a"}}]
        parts = dict(members(header({"accuracy": 1.0}, items=[1]), [summary(1, "C")]))
        parts["samples/1_epoch_1.json"] = edited  # the summaries of a rewritten log hold no history
        archive = write_eval(tmp_path / "a.eval", parts.items())
        whole = write_json(tmp_path / "a.json", header({"accuracy": 1.0}, items=[1]) | {"samples": [edited]})
        for path in (archive, whole):
            rows, notes = read("inspect", path)
            assert column(rows, "value") == ["1"]
            assert f"scores edited after the run in {path.name}: 1; the last value counts" in notes


class TestNames:
    def test_a_scorer_may_have_a_slash_in_its_name(self, tmp_path):
        samples = [summary(1, {"acc": 1}, scorer="pkg/judge"), summary(2, {"acc": 0}, scorer="pkg/judge")]
        rows, _ = read("inspect", write_eval(tmp_path / "a.eval", members(header(), samples)))
        assert column(rows, "metric", "value") == [("pkg/judge/acc", "1"), ("pkg/judge/acc", "0")]

    def test_two_scores_of_one_name_are_refused(self, tmp_path):
        sample = summary(1) | {"scores": {"a": {"value": {"x": 1}}, "a/x": {"value": 0}}}
        assert "two scores are called a/x" in refused(
            write_eval(tmp_path / "a.eval", members(header(items=[1]), [sample]))
        )

    def test_a_score_may_stand_without_its_wrapper(self, tmp_path):
        sample = summary(1) | {"scores": {"match": "C"}}
        path = write_eval(tmp_path / "a.eval", members(header({"accuracy": 1.0}, items=[1]), [sample]))
        assert column(read("inspect", path)[0], "value") == ["1"]

    @pytest.mark.parametrize("epoch", [2.7, "x", -1, "९"])
    def test_an_epoch_that_is_no_whole_number_is_refused(self, tmp_path, epoch):
        path = write_eval(tmp_path / "a.eval", members(header(items=[1]), [summary(1, "C", epoch=epoch)]))
        assert "is no whole number" in refused(path)

    def test_attempts_go_on_behind_the_epochs_that_were_seen(self, tmp_path):
        files = []
        for i in (1, 2):
            head = header(items=[1], eval_id=f"e{i}", task_id=f"t{i}", created=f"{i}", total=3, config={})
            samples = [summary(1, "C", epoch=epoch) for epoch in (1, 2, 3)]
            files.append(write_eval(tmp_path / f"{i}.eval", members(head, samples)))
        assert column(read("inspect", *files)[0], "attempt") == list("123456")

    def test_too_many_keys_of_metadata_are_no_slices(self, tmp_path):
        samples = [summary(i, "C", metadata={f"k{i}-{j}": 1 for j in range(150)}) for i in (1, 2)]
        rows, notes = read("inspect", write_eval(tmp_path / "a.eval", members(header({"accuracy": 1.0}), samples)))
        assert not any(name.startswith("slice.") for name in rows[0])
        assert "metadata of a.eval was left out: 300 different keys" in notes


class TestEpochs:
    """inspect_ai #796, #3914: the reducer changed over time; attempts are kept."""

    SAMPLES = tuple(
        summary(i, v, epoch=e) for e, values in enumerate(("CI", "CC", "IC"), start=1) for i, v in enumerate(values)
    )

    def path(self, tmp_path, reducer, value, k=3):
        scores = [{"name": "match", "scorer": "match", "metrics": {"accuracy": {"name": "accuracy", "value": value}}}]
        scores[0] |= {"reducer": reducer} if reducer else {}
        return write_eval(tmp_path / "a.eval", members(header(items=[0, 1], epochs=k, scores=scores), self.SAMPLES))

    # item 0 has C C I, item 1 has I C C: mean 2/3, mode and max 1, pass@2 = 1 − C(1, 2)/C(3, 2) = 1, all of 3 never
    @pytest.mark.parametrize(
        ("reducer", "value"),
        [("", 2 / 3), ("mean", 2 / 3), ("max", 1), ("mode", 1), ("median", 1), ("pass_at_2", 1), ("at_least_3", 0)],
    )
    def test_every_epoch_is_an_attempt_and_the_reduced_metric_is_found_again(self, tmp_path, reducer, value):
        rows, notes = read("inspect", self.path(tmp_path, reducer, value))
        assert sorted(column(rows, "item_id", "attempt")) == [(i, a) for i in "01" for a in "123"]
        assert any("stated and found again" in n and "/accuracy" in n for n in notes)

    def test_a_reducer_of_an_unknown_name_is_left_and_said(self, tmp_path):
        _, notes = read("inspect", self.path(tmp_path, "trimmed", 0.1))
        assert "stated and not computed again: match/trimmed/accuracy" in notes

    def test_another_value_is_a_mismatch(self, tmp_path):
        assert "states match/mean/accuracy 0.9, its rows give 0.6666666667" in refused(self.path(tmp_path, "mean", 0.9))


class TestStopped:
    def test_a_run_that_was_cut_short_names_both_numbers(self, tmp_path):
        head = header({"accuracy": 1.0}, items=range(5), status="cancelled", total=1)
        path = write_eval(tmp_path / "a.eval", members(head, [summary(0, "C")]))
        assert "the run was cut short (status cancelled): 1 of 5 attempts are there" in refused(path)
        rows, notes = read("inspect", path, accept=True)
        assert len(rows) == 1
        assert any(note.startswith("accepted in a.eval: the run was cut short") for note in notes)

    def test_a_cancelled_run_with_every_attempt_is_read(self, tmp_path):
        path = write_eval(tmp_path / "a.eval", members(header(HALF, status="cancelled"), TWO))
        assert "status of a.eval: cancelled" in read("inspect", path)[1]

    def test_a_crashed_log_is_read_from_its_journal(self, tmp_path):
        parts = members(header(HALF), TWO, crashed=True)
        rows, notes = read("inspect", write_eval(tmp_path / "a.eval", parts))
        assert column(rows, "item_id", "value") == [("1", "1"), ("2", "0")]
        assert "a.eval has no header: the run crashed, and no metric is stated" in notes

    def test_a_crashed_log_without_summaries_is_read_from_its_samples(self, tmp_path):
        parts = [part for part in members(header(HALF), TWO, crashed=True) if "summaries" not in part[0]]
        assert column(read("inspect", write_eval(tmp_path / "a.eval", parts))[0], "value") == ["1", "0"]

    def test_summaries_that_lack_a_sample_are_a_mismatch(self, tmp_path):
        parts = dict(members(header({"accuracy": 1.0}), TWO))
        parts["summaries.json"] = [TWO[0]]
        assert "the file states samples 2, its rows give 1" in refused(write_eval(tmp_path / "a.eval", parts.items()))

    def test_a_log_whose_metrics_do_not_fit_its_samples(self, tmp_path):
        # a score that was edited without computing the metrics again
        path = write_eval(tmp_path / "a.eval", members(header({"accuracy": 1.0}), TWO))
        assert "the file states match/accuracy 1, its rows give 0.5" in refused(path)

    def test_an_invalidated_log_is_doubted(self, tmp_path):
        path = write_eval(tmp_path / "a.eval", members(header(HALF) | {"invalidated": True}, TWO))
        assert "marked the log, or a sample of it, as invalid" in refused(path)

    def test_reduced_values_are_the_scores_only_with_one_epoch(self, tmp_path):
        reductions = [{"scorer": "match", "samples": [{"value": 1.0, "sample_id": 1}, {"value": 0, "sample_id": 2}]}]
        one = header(HALF) | {"samples": [], "reductions": reductions}
        rows, notes = read("inspect", write_json(tmp_path / "a.json", one))
        assert column(rows, "item_id", "value") == [("1", "1.0"), ("2", "0")]
        assert any("holds no samples" in note for note in notes)
        two = header(HALF, epochs=2) | {"samples": [], "reductions": reductions}
        assert "0 of 4 attempts are there" in refused(write_json(tmp_path / "b.json", two))


class TestSeveralLogs:
    def test_of_a_retried_task_the_last_success_counts_and_the_other_is_named(self, tmp_path):
        first = header(items=(1, 2), status="error", eval_id="e1", created="2026-11-30T09:00:00")
        second = header(HALF, eval_id="e2", created="2026-11-30T10:00:00")
        files = [
            write_eval(tmp_path / "a.eval", members(first, [summary(1, error="boom")])),
            write_eval(tmp_path / "b.eval", members(second, TWO)),
        ]
        rows, notes = read("inspect", *files)
        assert column(rows, "source") == ["b.eval", "b.eval"]
        assert "left out: a.eval (1 samples, status error), tried again in b.eval" in notes

    def test_runs_of_one_model_are_attempts_that_go_on(self, tmp_path):
        files = [
            write_eval(
                tmp_path / f"{i}.eval", members(header(HALF, eval_id=f"e{i}", task_id=f"t{i}", created=f"{i}"), TWO)
            )
            for i in (2, 1)
        ]
        rows, _ = read("inspect", *files)
        assert column(rows, "source", "item_id", "attempt") == [
            ("1.eval", "1", "1"),
            ("1.eval", "2", "1"),
            ("2.eval", "1", "2"),
            ("2.eval", "2", "2"),
        ]

    def test_mixed_settings_in_one_arm_are_refused(self, tmp_path):
        files = []
        for i in (1, 2):
            head = header(HALF, eval_id=f"e{i}", task_id=f"t{i}", created=f"{i}", task_args={"shots": i})
            files.append(write_eval(tmp_path / f"{i}.eval", members(head, TWO)))
        assert "acme/base was run on sums with other settings in 1.eval: task_args" in refused(*files)
        rows, _ = read("inspect", *files, settings="apart")
        assert column(rows, "model", "attempt") == [("acme/base 1", "1")] * 2 + [("acme/base 2", "1")] * 2

    def test_what_changes_no_answer_is_no_setting(self, tmp_path):
        files = []
        for i in (1, 2):
            config = {"epochs": 1, "max_samples": i, "log_samples": i == 1, "fail_on_error": i == 1}
            head = header(HALF, eval_id=f"e{i}", task_id=f"t{i}", created=f"{i}", config=config)
            files.append(write_eval(tmp_path / f"{i}.eval", members(head, TWO)))
        assert len(read("inspect", *files)[0]) == 4

    def test_settings_that_differ_between_models_are_said(self, tmp_path):
        heads = [header(HALF, model=model, task_args={"shots": i}) for i, model in enumerate("ab")]
        files = [write_eval(tmp_path / f"{i}.eval", members(head, TWO)) for i, head in enumerate(heads)]
        assert any(
            note.startswith("task_args of sums differs between the models: a ") for note in read("inspect", *files)[1]
        )

    def test_models_are_paired_by_id_never_by_position(self, tmp_path):
        # inspect_ai #2176, PR #4260: users align sample ids by hand
        files = [
            write_eval(tmp_path / "a.eval", members(header(HALF, model="a"), TWO)),
            write_eval(tmp_path / "b.eval", members(header(HALF, model="b", items=(2, 1)), TWO[::-1])),
        ]
        rows, _ = read("inspect", *files)
        assert sorted(column(rows, "item_id", "value")) == [("1", "1")] * 2 + [("2", "0")] * 2
        assert len(set(column(rows, "run_id"))) == 2

    def test_ids_that_are_positions_do_not_pair(self, tmp_path):
        # Inspect numbers samples by position where the dataset has no ids, after a shuffle of the dataset
        questions = ["what is 1 + 1", "what is 2 + 2", "what is 3 + 3"]
        files = []
        for model, order in (("a", (0, 1, 2)), ("b", (2, 0, 1))):
            samples = [summary(i + 1, "C" if q else "I", input=questions[q]) for i, q in enumerate(order)]
            head = header({"accuracy": 2 / 3}, items=(1, 2, 3), model=model)
            files.append(write_eval(tmp_path / f"{model}.eval", members(head, samples)))
        rows, notes = read("inspect", *files)
        by_item = {}
        for item, value in column(rows, "item_id", "value"):
            by_item.setdefault(item, set()).add(value)
        assert sorted(map(sorted, by_item.values())) == [["0"], ["1"], ["1"]]
        assert any("items are paired by content" in note for note in notes)

    def test_summaries_and_samples_hold_the_same_content(self, tmp_path):
        # summaries cut a text at 5,120 characters, and say what is no text by its type
        whole = [
            {
                "role": "user",
                "id": "m1",
                "content": [{"type": "text", "text": "x" * 9000}, {"type": "image", "image": "…"}],
            }
        ]
        cut = [
            {
                "role": "user",
                "content": [{"type": "text", "text": "x" * 5120 + "..."}, {"type": "text", "text": "(Image)"}],
            }
        ]
        parts = dict(members(header({"accuracy": 1.0}, items=[1], model="a"), [summary(1, "C", input=cut)]))
        parts["samples/1_epoch_1.json"] = summary(1, "C", input=whole)
        files = [
            write_eval(tmp_path / "a.eval", parts.items()),
            write_json(tmp_path / "b.json", header(items=[1], model="b") | {"samples": [summary(1, "C", input=whole)]}),
        ]
        rows, notes = read("inspect", *files)
        assert len(set(column(rows, "item_hash"))) == 1
        assert not any("paired" in note for note in notes)

    @pytest.mark.parametrize("kind", ["eval", "json"])
    def test_items_that_differ_behind_the_cut_are_different_items(self, tmp_path, kind):
        # one long context, the question at its end: a summary holds 5,120 characters of it
        questions = ["x" * 6000 + f" question {i}" for i in range(3)]
        files = []
        for model, order in (("a", (0, 1, 2)), ("b", (2, 0, 1))):
            whole = [summary(i + 1, "C" if q else "I", input=questions[q]) for i, q in enumerate(order)]
            head = header({"accuracy": 2 / 3}, items=(1, 2, 3), model=model)
            path = tmp_path / f"{model}.{kind}"
            if kind == "json":
                files.append(write_json(path, head | {"samples": whole}))
                continue
            cut = [sample | {"input": sample["input"][:5120] + "...\n(content truncated)"} for sample in whole]
            parts = [
                (n, next(w for w in whole if f"/{w['id']}_" in n) if n.startswith("samples/") else v)
                for n, v in members(head, cut)
            ]
            files.append(write_eval(path, parts))
        rows, _ = read("inspect", *files)
        by_item = {}
        for item, value in column(rows, "item_id", "value"):
            by_item.setdefault(item, set()).add(value)
        assert sorted(map(sorted, by_item.values())) == [["0"], ["1"], ["1"]]

    def test_a_cut_input_without_its_sample_is_no_content(self, tmp_path):
        cut = [sample | {"input": "x" * 5120 + "...\n(content truncated)"} for sample in TWO]
        files = []
        for model in "ab":
            parts = [part for part in members(header(HALF, model=model), cut) if not part[0].startswith("samples/")]
            chunks = [(f"samples/{i}_epoch_1/chunk.json", {}) for i in (1, 2)]  # as newer logs may divide a sample
            files.append(write_eval(tmp_path / f"{model}.eval", [*chunks, *parts]))
        rows, notes = read("inspect", *files)
        assert column(rows, "item_id", "item_hash") == [("1", ""), ("2", "")] * 2
        assert any("are paired by id, unverified" in note for note in notes)

    def test_items_whose_content_is_not_told_are_paired_by_id_and_said(self, tmp_path):
        files = []
        for model in "ab":
            samples = [{k: v for k, v in sample.items() if k not in {"input", "target"}} for sample in TWO]
            files.append(write_eval(tmp_path / f"{model}.eval", members(header(HALF, model=model), samples)))
        rows, notes = read("inspect", *files)
        assert column(rows, "item_id") == ["1", "2"] * 2
        assert "items of a.eval and 1 more are paired by id, unverified: their content is not told" in notes

    def test_a_message_and_its_text_are_one_content(self, tmp_path):
        chat = [{"role": "user", "content": "2 + 2"}]
        files = [
            write_eval(tmp_path / "a.eval", members(header(HALF, model="a"), TWO)),
            write_eval(
                tmp_path / "b.eval", members(header(HALF, model="b"), [sample | {"input": chat} for sample in TWO])
            ),
        ]
        assert column(read("inspect", *files)[0], "item_id") == ["1", "2"] * 2

    def test_two_models_under_one_task_id_are_no_retry(self, tmp_path):
        files = [
            write_eval(tmp_path / f"{m}.eval", members(header(HALF, model=m, task_id="t", eval_id=f"e{m}"), TWO))
            for m in "ab"
        ]
        assert set(column(read("inspect", *files)[0], "model")) == {"a", "b"}

    def test_a_task_that_was_not_chosen_does_not_matter(self, tmp_path):
        files = [write_eval(tmp_path / "a.eval", members(header(HALF), TWO))]
        files += [
            write_eval(
                tmp_path / f"{i}.eval", members(header(HALF, task="other", task_id=f"o{i}", task_args={"s": i}), TWO)
            )
            for i in (1, 2)
        ]
        rows, notes = read("inspect", *files, task="sums")
        assert len(rows) == 2
        assert any("other (left out)" in note for note in notes)

    def test_ids_stay_text(self, tmp_path):
        samples = [summary("007", "C"), summary(7, "C"), summary("math/alg/1", "C"), summary("हि", "C")]
        path = write_eval(tmp_path / "a.eval", members(header({"accuracy": 1.0}, items=range(4)), samples))
        assert column(read("inspect", path)[0], "item_id") == ["007", "7", "math/alg/1", "हि"]


class TestContainer:
    @pytest.mark.parametrize("frames", [1, 3])
    def test_members_packed_by_zstandard_are_read(self, tmp_path, frames):
        # inspect_ai #4553: method 93, which zipfile refuses before Python 3.14; Inspect 0.3.285 cuts large members
        path = write_zstandard(tmp_path / "a.eval", members(header(HALF), TWO), frames=frames)
        assert column(read("inspect", path)[0], "value") == ["1", "0"]

    def test_without_zstandard_the_way_out_is_said(self, tmp_path, monkeypatch):
        def missing(module):
            raise MissingProgram(f"this file needs the package {module}")

        monkeypatch.setattr(inspect_zip, "optional", missing)
        path = write_zstandard(tmp_path / "a.eval", members(header(HALF), TWO))
        with pytest.raises(MissingProgram, match="needs the package zstandard"):
            read("inspect", path)

    def test_of_two_members_with_one_name_the_last_counts(self, tmp_path):
        parts = [*members(header({"accuracy": 0.0}), [summary(1, "I"), summary(2, "I")]), ("header.json", header(HALF))]
        with pytest.warns(UserWarning, match="Duplicate name"):
            path = write_eval(tmp_path / "a.eval", [*parts, ("summaries.json", TWO)])
        assert column(read("inspect", path)[0], "value") == ["1", "0"]

    def test_a_member_that_points_outside_is_only_a_name(self, tmp_path):
        parts = [*members(header(HALF), TWO), ("../../evil.json", {"a": 1}), ("/etc/evil", b"x")]
        path = write_eval(tmp_path / "logs.eval", parts)
        assert len(read("inspect", path)[0]) == 2
        assert [entry.name for entry in tmp_path.iterdir()] == ["logs.eval"]

    @pytest.mark.parametrize("write", [write_eval, write_zstandard])
    def test_a_bomb_is_refused_by_what_its_directory_says(self, tmp_path, monkeypatch, write):
        monkeypatch.setattr(inspect_zip, "SPARE", 1 << 20)
        path = write(tmp_path / "a.eval", [*members(header(HALF), TWO), ("samples/9_epoch_1.json", b"0" * (3 << 20))])
        assert "unpacks to more than 400 times its size" in refused(path)

    def test_a_member_larger_than_its_directory_says_is_refused(self, tmp_path):
        path = write_zstandard(tmp_path / "a.eval", members(header(HALF), TWO), lie=10)
        assert "cannot be unpacked" in refused(path)

    def test_thousands_of_members_are_read_in_no_time(self, tmp_path):
        samples = [summary(i, "C") for i in range(3000)]
        path = write_eval(tmp_path / "a.eval", members(header({"accuracy": 1.0}, items=range(3000)), samples))
        start = time.process_time()
        assert len(read("inspect", path)[0]) == 3000
        assert time.process_time() - start < 10  # the directory was parsed for every member: 20 s

    @pytest.mark.parametrize(
        "name", ["_journal/summaries/" + "9" * 5000 + ".json", "samples/x_epoch_" + "9" * 5000 + ".json"]
    )
    def test_gigantic_numbers_in_names_are_only_names(self, tmp_path, name):
        parts = [*members(header(HALF), TWO, crashed=True), (name, [])]
        try:
            read("inspect", write_eval(tmp_path / "a.eval", parts))
        except InputError as error:
            assert str(error)

    @pytest.mark.parametrize("reducer", ["pass_at_" + "9" * 5000, "at_least_٣", "pass_at_"])
    def test_gigantic_numbers_in_reducers_are_unknown_reducers(self, tmp_path, reducer):
        one = {"name": "match", "scorer": "match", "reducer": reducer, "metrics": {"accuracy": {"value": 0.5}}}
        _, notes = read("inspect", write_eval(tmp_path / "a.eval", members(header(scores=[one]), TWO)))
        assert any(note.startswith("stated and not computed again") for note in notes)

    def test_a_sum_that_no_number_holds_is_not_compared(self, tmp_path):
        path = write_eval(
            tmp_path / "a.eval", members(header({"accuracy": 1e308}), [summary(1, 1e308), summary(2, 1e308)])
        )
        assert "stated and not computed again: match/accuracy" in read("inspect", path)[1]

    def test_a_cut_archive_is_refused(self, tmp_path):
        path = write_eval(tmp_path / "a.eval", members(header(HALF), TWO))
        path.write_bytes(path.read_bytes()[:-30])
        assert "a.eval: is no complete ZIP archive" in refused(path)

    def test_a_damaged_member_is_refused(self, tmp_path):
        path = write_eval(tmp_path / "a.eval", members(header(HALF), TWO), method=zipfile.ZIP_STORED)
        path.write_bytes(path.read_bytes().replace(b'"sums"', b'"summ"'))
        assert "Bad CRC-32" in refused(path)

    def test_an_archive_of_something_else_is_refused(self, tmp_path):
        path = write_eval(tmp_path / "a.eval", [("hello.txt", b"hello")])
        assert "holds neither header.json nor _journal/start.json" in refused(path)

    def test_a_json_file_of_something_else_is_refused(self, tmp_path):
        assert "is no log of Inspect" in refused(write_json(tmp_path / "a.json", {"a": 1}))

    def test_bare_constants_in_json_are_read(self, tmp_path):
        text = json.dumps(header(items=[1]) | {"samples": [summary(1, "C")]}).replace('"C"', "Infinity")
        path = tmp_path / "a.json"
        path.write_text(text, encoding="utf-8")
        assert column(read("inspect", path)[0], "value") == ["Infinity"]  # the schema refuses it with its place


class TestSeeds:
    def test_one_log_per_seed(self, tmp_path):
        for seed, model in (("1", "a"), ("2", "b")):
            (tmp_path / "runs" / "lora" / seed).mkdir(parents=True)
            write_eval(tmp_path / "runs" / "lora" / seed / "log.eval", members(header(HALF, model=model), TWO))
        files = sorted((tmp_path / "runs").rglob("*.eval"))
        rows, _ = read("inspect", *files, table="reruns", roots=[tmp_path / "runs"], metric="match/accuracy")
        assert column(rows, "model", "seed", "score", "status") == [
            ("lora", "1", "0.5", "ok"),
            ("lora", "2", "0.5", "ok"),
        ]

    def test_a_standard_error_is_no_score_of_a_run(self, tmp_path):
        # every_eval_ever PR 285
        (tmp_path / "lora" / "1").mkdir(parents=True)
        path = write_eval(tmp_path / "lora" / "1" / "log.eval", members(header(HALF), TWO))
        rows, _ = read("inspect", path, table="reruns", roots=[tmp_path])
        assert column(rows, "metric", "score") == [("match/accuracy", "0.5")]

    def test_a_log_without_a_metric_is_a_failed_run(self, tmp_path):
        for seed, metrics in (("1", HALF), ("2", None)):
            (tmp_path / "lora" / seed).mkdir(parents=True)
            write_eval(tmp_path / "lora" / seed / "log.eval", members(header(metrics, model=seed), TWO))
        files = sorted(tmp_path.rglob("*.eval"))
        rows, _ = read("inspect", *files, table="reruns", roots=[tmp_path], metric="match/accuracy")
        assert column(rows, "seed", "score", "status") == [("1", "0.5", "ok"), ("2", "", "failed")]


class TestFrames:
    """samples_df of inspect_ai 0.3.285, kept as CSV or Parquet; its header as it is written there."""

    HEADER = "sample_id,eval_id,log,id,epoch,input,target,metadata_category,score_match,score_pn,total_time,working_time,error"
    ROWS = ("u1,e1,a.eval,1,1,2 + 2,4,even,C,0.5,0.2,0.1,", "u2,e1,a.eval,2,1,2 + 3,5,odd,,,0.2,0.1,boom")

    def path(self, tmp_path, header=HEADER, rows=ROWS):
        path = tmp_path / "samples.csv"
        path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
        return path

    def test_every_score_column_is_a_metric(self, tmp_path):
        assert "holds 2 scores: match (2 rows, mean 1), pn (2 rows, mean 0.5)" in refused(self.path(tmp_path))
        rows, _ = read("inspect", self.path(tmp_path), metric="match")
        names = ("item_id", "attempt", "value", "status", "reason", "latency_s", "slice.category")
        assert column(rows, *names) == [
            ("1", "1", "1", "scored", "", "0.1", "even"),
            ("2", "1", "", "error", "boom", "0.1", "odd"),
        ]

    def test_the_model_is_there_only_when_the_frame_has_it(self, tmp_path):
        assert "model" not in read("inspect", self.path(tmp_path), metric="match")[0][0]
        with_model = self.path(tmp_path, self.HEADER + ",model", [row + ",acme/base" for row in self.ROWS])
        assert column(read("inspect", with_model, metric="match")[0], "model") == ["acme/base"] * 2
