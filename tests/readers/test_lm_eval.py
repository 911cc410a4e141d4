"""lm-evaluation-harness: one test per trap, named after the issue or the source that it comes from."""

import json

import pytest

from analysis.errors import InputError
from tests.readers.logs import DATE, column, harness, read, results, sample, write_json, write_lines

BOTH = [sample(i, kept="strict-match", exact_match=float(i < 1)) for i in range(4)]
BOTH += [sample(i, kept="flexible-extract", exact_match=float(i < 3)) for i in range(4)]
MEANS = {
    "exact_match,strict-match": 0.25,
    "exact_match,flexible-extract": 0.75,
    "exact_match_stderr,strict-match": "N/A",
}


def refused(*arguments, **options):
    with pytest.raises(InputError) as caught:
        read("lm-eval", *arguments, **options)
    return str(caught.value)


def test_one_row_per_document_with_everything_the_log_says(tmp_path):
    files = harness(tmp_path, [sample(0, exact_match=1.0), sample(1, exact_match=0.0)], {"exact_match,none": 0.5}, n=2)
    rows, notes = read("lm-eval", *files)
    names = ("model", "task", "item_id", "attempt", "metric", "value", "status", "output_chars", "source_line")
    assert column(rows, *names) == [
        ("acme/base", "gsm8k", "0", "1", "exact_match", "1.0", "scored", "1", "line 1"),
        ("acme/base", "gsm8k", "1", "1", "exact_match", "0.0", "scored", "1", "line 2"),
    ]
    assert "stated and found again: n-samples, exact_match" in notes


class TestFilters:
    """lm-evaluation-harness #1687, #2025: every document stands once per filter."""

    def test_two_filters_are_asked_about_with_their_means(self, tmp_path):
        message = refused(*harness(tmp_path, BOTH, MEANS))
        assert "holds 2 filters: strict-match (4 rows, mean 0.25), flexible-extract (4 rows, mean 0.75)" in message
        assert "--choose filter=strict-match" in message

    def test_the_chosen_filter_is_read_and_the_other_named(self, tmp_path):
        rows, notes = read("lm-eval", *harness(tmp_path, BOTH, MEANS), filter="strict-match")
        assert column(rows, "metric", "value") == [("exact_match,strict-match", f"{float(i < 1)}") for i in range(4)]
        assert any("flexible-extract (left out)" in note for note in notes)

    def test_all_keeps_both_apart(self, tmp_path):
        rows, _ = read("lm-eval", *harness(tmp_path, BOTH, MEANS), filter="all")
        assert len(rows) == 8
        assert len(set(column(rows, "metric"))) == 2

    def test_a_filter_that_is_not_there(self, tmp_path):
        assert "no filter 'strict'. Did you mean 'strict-match'?" in refused(
            *harness(tmp_path, BOTH, MEANS), filter="strict"
        )

    def test_a_choice_that_is_none(self, tmp_path):
        message = refused(*harness(tmp_path, BOTH, MEANS), filter="all", scorer="x")
        assert "no choice is called scorer" in message
        assert "This format knows: task, filter, metric, copies" in message


def test_two_metrics_are_asked_about(tmp_path):
    files = harness(tmp_path, [sample(0, acc=True, acc_norm=False)], {"acc,none": 1.0, "acc_norm,none": 0.0})
    assert "holds 2 metrics: acc (1 row, mean 1), acc_norm (1 row, mean 0)" in refused(*files)
    assert column(read("lm-eval", *files, metric="acc")[0], "metric", "value") == [("acc", "1")]


def test_old_samples_have_no_filter_and_no_list_of_metrics(tmp_path):
    # before 0.4.3: every key that is not the harness's own is a metric
    old = sample(0, acc=1.0)
    for name in ("filter", "metrics", "doc_hash", "prompt_hash", "target_hash"):
        del old[name]
    files = harness(tmp_path, [old | {"acc_stderr": 0.1}], {"acc": 1.0, "acc_stderr": 0.1})
    rows, notes = read("lm-eval", *files)
    assert column(rows, "metric", "value", "item_hash") == [("acc", "1.0", "")]
    assert "stated and found again: acc" in notes


def test_harness_0_4_0_wrote_one_list_under_the_name_jsonl(tmp_path):
    path = tmp_path / "acme_gsm8k.jsonl"
    path.write_text(json.dumps([sample(0, exact_match=1.0), sample(1, exact_match=0.0)], indent=2), encoding="utf-8")
    beside = write_json(tmp_path / "results.json", results({"exact_match,none": 0.5}))
    rows, _ = read("lm-eval", beside, path)
    assert column(rows, "task", "item_id", "source_line") == [("gsm8k", "0", "record 1"), ("gsm8k", "1", "record 2")]


def test_a_standard_error_is_never_a_metric(tmp_path):
    # every_eval_ever PR 285: a file of before 0.4 whose standard error was published as the score
    files = harness(tmp_path, [sample(0, acc=1.0)], {"acc": 1.0, "acc_stderr": 0.02})
    rows, notes = read("lm-eval", *files)
    assert set(column(rows, "metric")) == {"acc"}
    assert not any("stderr" in note for note in notes)


@pytest.mark.parametrize("stated", ["N/A", [], 0.0])
def test_odd_standard_errors_break_nothing(tmp_path, stated):
    # lm-evaluation-harness #1357, #1395, #1715, #3966
    files = harness(tmp_path, [sample(0, acc=1.0), sample(1, acc=0.0)], {"acc,none": 0.5, "acc_stderr,none": stated})
    assert len(read("lm-eval", *files)[0]) == 2


class TestPairing:
    """lm-evaluation-harness #4084, PR #4089: ids that do not agree with the content."""

    def runs(self, tmp_path, wrong):
        first = harness(tmp_path / "a", [sample(i, acc=1.0) for i in range(3)], {"acc,none": 1.0}, model="a")
        moved = [sample(wrong[i], content=i, acc=0.0) for i in range(3)]
        return [*first, *harness(tmp_path / "b", moved, {"acc,none": 0.0}, model="b")]

    def test_documents_without_a_digest_are_paired_by_id_and_said(self, tmp_path):
        bare = {name: held for name, held in sample(0, acc=1.0).items() if name != "doc_hash"}
        files = harness(tmp_path / "a", [sample(0, acc=1.0)], {"acc,none": 1.0}, model="a")
        files += harness(tmp_path / "b", [bare], {"acc,none": 1.0}, model="b")
        _, notes = read("lm-eval", *files)
        assert any(note.endswith("are paired by id, unverified: their content is not told") for note in notes)

    def test_ids_that_agree_stay(self, tmp_path):
        rows, notes = read("lm-eval", *self.runs(tmp_path, [0, 1, 2]))
        assert column(rows, "item_id") == ["0", "1", "2"] * 2
        assert not any("paired" in note for note in notes)

    @pytest.mark.parametrize("wrong", [[2, 1, 0], [5, 6, 7]])
    def test_items_are_paired_by_content(self, tmp_path, wrong):
        rows, notes = read("lm-eval", *self.runs(tmp_path, wrong))
        assert column(rows[:3], "item_id") == column(rows[3:], "item_id")
        assert [row["item_id"] for row in rows] == [row["item_hash"][:16] for row in rows]
        assert any("items are paired by content" in note for note in notes)

    def test_documents_of_one_content_stay_apart_when_others_moved(self, tmp_path):
        first = [sample(0, content="x", acc=1.0), sample(1, content="x", acc=0.0), sample(2, content="y", acc=1.0)]
        moved = [sample(0, content="x", acc=1.0), sample(1, content="x", acc=0.0), sample(9, content="y", acc=0.0)]
        files = harness(tmp_path / "a", first, {"acc,none": 2 / 3}, model="a")
        files += harness(tmp_path / "b", moved, {"acc,none": 1 / 3}, model="b")
        rows, _ = read("lm-eval", *files)
        ids = column(rows, "item_id")
        assert ids[:3] == ids[3:]
        assert len(set(ids)) == 3
        assert ids[1] == f"{ids[0]}#2"

    def test_one_document_twice_in_both_runs_keeps_its_ids(self, tmp_path):
        twice = [sample(0, content="x", acc=1.0), sample(1, content="x", acc=0.0)]
        files = harness(tmp_path / "a", twice, {"acc,none": 0.5}, model="a")
        files += harness(tmp_path / "b", twice, {"acc,none": 0.5}, model="b")
        assert column(read("lm-eval", *files)[0], "item_id") == ["0", "1", "0", "1"]


def test_the_order_of_lines_means_nothing(tmp_path):
    # lm-evaluation-harness #1401: the order of several GPUs is strided
    lines = [sample(i, acc=float(i % 3 == 0)) for i in range(9)]
    one, _ = read("lm-eval", *harness(tmp_path / "a", lines, {"acc,none": 3 / 9}))
    two, _ = read("lm-eval", *harness(tmp_path / "b", lines[::2] + lines[1::2], {"acc,none": 3 / 9}))
    assert sorted(column(one, "item_id", "value")) == sorted(column(two, "item_id", "value"))


class TestTotals:
    def test_a_mean_that_does_not_fit_names_both_numbers(self, tmp_path):
        files = harness(tmp_path, [sample(0, acc=1.0), sample(1, acc=0.0)], {"acc,none": 0.75})
        assert f"results_{DATE}.json: the file states acc of gsm8k 0.75, its rows give 0.5" in refused(*files)
        rows, notes = read("lm-eval", *files, accept=True)
        assert len(rows) == 2
        assert any(note.startswith("MISMATCH accepted in results_") for note in notes)

    def test_a_half_written_file_lacks_documents(self, tmp_path):
        files = harness(tmp_path, [sample(0, acc=1.0)], {"acc,none": 1.0}, n=10)
        assert "the file states n-samples of gsm8k (none) 10, its rows give 1" in refused(*files)

    def test_a_file_that_was_appended_to_holds_every_document_twice(self, tmp_path):
        # the samples file is opened to append: a restarted run doubles its rows
        files = harness(tmp_path, [sample(i, acc=1.0) for i in (0, 1, 0, 1)], {"acc,none": 1.0}, n=2)
        assert "the file states n-samples of gsm8k (none) 2, its rows give 4" in refused(*files)

    def test_an_aggregate_of_another_kind_is_not_compared(self, tmp_path):
        lines = [sample(0, bleu=0.3), sample(1, bleu=0.5)]
        _, notes = read("lm-eval", *harness(tmp_path, lines, {"bleu,none": 17.3}))
        assert any("bleu of gsm8k is stated and not computed again" in note for note in notes)


def test_repeats_hold_one_score_a_document(tmp_path):
    # lm-evaluation-harness PR #3351, #3248
    files = harness(tmp_path, [sample(0, acc=1.0)], {"acc,none": 1.0}, configs={"gsm8k": {"repeats": 5}})
    assert any(
        note.startswith("repeats 5: the log holds the score of one answer") for note in read("lm-eval", *files)[1]
    )


def test_a_limit_takes_the_first_documents(tmp_path):
    config = {"model": "hf", "model_args": "pretrained=acme/base", "limit": 5}
    files = harness(tmp_path, [sample(0, acc=1.0)], {"acc,none": 1.0}, config=config)
    assert any("limit 5: the first documents of gsm8k, not a random sample" in n for n in read("lm-eval", *files)[1])


def test_a_metric_with_a_list_per_document_cannot_be_read(tmp_path):
    files = harness(tmp_path, [sample(0, word_perplexity=[-12.5, 7], acc=1.0)], {"acc,none": 1.0})
    assert "the metric word_perplexity holds" in refused(*files, metric="word_perplexity")
    assert len(read("lm-eval", *files, metric="acc")[0]) == 1


def test_a_metric_of_which_less_is_better_says_so(tmp_path):
    better = {"gsm8k": {"brier": False}}
    files = harness(tmp_path, [sample(0, brier=0.2)], {"brier,none": 0.2}, higher_is_better=better)
    assert column(read("lm-eval", *files)[0], "better") == ["lower"]


def test_numbers_may_arrive_as_text_and_no_number_is_no_score(tmp_path):
    files = harness(tmp_path, [sample(0, acc="0.5"), sample(1, acc=None), sample(2, acc=float("nan"))], {})
    assert column(read("lm-eval", *files)[0], "value", "status") == [
        ("0.5", "scored"),
        ("", "unscored"),
        ("", "unscored"),
    ]


class TestRuns:
    def twice(self, tmp_path, other=None, answers=("7", "8")):
        files = []
        for i, answer in enumerate(answers):
            extra = other if i and other else {}
            lines = [sample(0, acc=1.0, answer=answer)]
            files += harness(tmp_path, lines, {"acc,none": 1.0}, date=f"2026-11-30T10-00-0{i}", **extra)
        return files

    def test_runs_of_one_model_are_attempts(self, tmp_path):
        assert column(read("lm-eval", *self.twice(tmp_path))[0], "item_id", "attempt") == [("0", "1"), ("0", "2")]

    def test_mixed_settings_in_one_arm_are_refused(self, tmp_path):
        message = refused(*self.twice(tmp_path, {"n-shot": {"gsm8k": 5}}))
        assert "acme/base was run on gsm8k with other settings" in message
        assert "n-shot 0 and 5" in message

    def test_settings_that_differ_between_models_are_said(self, tmp_path):
        files = harness(tmp_path / "a", [sample(0, acc=1.0)], {"acc,none": 1.0}, model="a")
        files += harness(tmp_path / "b", [sample(0, acc=1.0)], {"acc,none": 1.0}, model="b", **{"n-shot": {"gsm8k": 5}})
        assert "n-shot of gsm8k differs between the models: a 0, b 5" in read("lm-eval", *files)[1]

    def test_settings_may_be_arms_of_their_own(self, tmp_path):
        rows, _ = read("lm-eval", *self.twice(tmp_path, {"n-shot": {"gsm8k": 5}}), settings="apart")
        assert column(rows, "model", "attempt") == [
            ("acme/base 2026-11-30T10-00-00", "1"),
            ("acme/base 2026-11-30T10-00-01", "1"),
        ]

    def test_a_run_without_its_results_is_not_the_run_beside_it(self, tmp_path):
        files = self.twice(tmp_path)
        rows, _ = read("lm-eval", *files[1:])  # the results of the first run are gone
        assert column(rows, "model", "attempt") == [("", "1"), ("acme/base", "1")]

    def test_another_seed_is_no_other_setting(self, tmp_path):
        config = {"model": "hf", "model_args": "pretrained=acme/base,dtype=float16,seed=2", "limit": None}
        assert len(read("lm-eval", *self.twice(tmp_path, {"config": config}))[0]) == 2

    def test_greedy_runs_that_are_copies_are_no_repeats(self, tmp_path):
        # lm-evaluation-harness #2089: greedy runs do not change with the seed
        files = self.twice(tmp_path, answers=("7", "7"))
        message = refused(*files)
        assert "holds the same answers to every document: as evidence that is one attempt (K = 1)" in message
        rows, notes = read("lm-eval", *files, copies="keep")
        assert len(rows) == 2
        assert any(note.startswith("copies kept as attempts") for note in notes)


def test_a_task_that_was_not_chosen_does_not_matter(tmp_path):
    files = harness(tmp_path, [sample(0, acc=1.0)], {"acc,none": 1.0}, task="a")
    for i in (1, 2):
        date = f"2026-11-30T12-00-0{i}"
        files += harness(tmp_path, [sample(0, acc=1.0)], {"acc,none": 0.3}, task="b", date=date, **{"n-shot": {"b": i}})
    rows, notes = read("lm-eval", *files, task="a")
    assert column(rows, "item_id") == ["0"]
    assert any("tasks found: a, b (left out)" in note for note in notes)


def test_nothing_chosen_is_no_choice(tmp_path):
    files = harness(tmp_path, [sample(0, acc=1.0)], {"acc,none": 1.0})
    assert "no metric is chosen" in refused(*files, metric=[])


def test_several_tasks_are_asked_about_and_kept_apart(tmp_path):
    files = harness(tmp_path, [sample(0, acc=1.0)], {"acc,none": 1.0}, task="a")
    files += harness(tmp_path, [sample(0, acc=0.0)], {"acc,none": 0.0}, task="b", date="2026-11-30T11-00-00")
    assert "holds 2 tasks: a (1 row, mean 1), b (1 row, mean 0)" in refused(*files)
    assert column(read("lm-eval", *files, task="all")[0], "task", "item_id") == [("a", "a/0"), ("b", "b/0")]


def test_without_a_results_file_nobody_says_which_model(tmp_path):
    path = write_lines(tmp_path / f"samples_gsm8k_{DATE}.jsonl", [sample(0, acc=1.0)])
    rows, _ = read("lm-eval", path)
    assert "model" not in rows[0]


def test_two_files_without_results_are_not_one_model(tmp_path):
    # the same answers under two names are no copies of one run: nobody says that the model is the same
    files = [write_lines(tmp_path / f"samples_t{i}.jsonl", [sample(0, acc=1.0)]) for i in (1, 2)]
    rows, _ = read("lm-eval", *files, task="all")
    assert len(set(column(rows, "run_id"))) == 2


@pytest.mark.parametrize("left", ["", "\n", "[]"])
def test_samples_that_a_crash_left_empty_are_refused(tmp_path, left):
    # whatever its results state: a model without samples is not one model less to compare
    whole = harness(tmp_path / "a", [sample(0, acc=1.0)], {"acc,none": 1.0}, model="a", n=1)
    empty = harness(tmp_path / "b", [], {"acc,none": 1.0}, model="b", n=1)
    empty[1].write_text(left, encoding="utf-8")
    message = refused(*whole, *empty)
    assert (
        f"b/{empty[1].name}: holds no samples. The run may have crashed: run it again, or leave the file out."
        in message
    )
    assert "holds no samples" in refused(*whole, empty[1])


def test_results_alone_hold_no_samples(tmp_path):
    path = write_json(tmp_path / f"results_{DATE}.json", results({"acc,none": 1.0}))
    assert "holds means, no samples. Run with --log_samples" in refused(path)


class TestNoMetric:
    def test_documents_without_any_metric_are_rows(self, tmp_path):
        # lm_eval 0.4.13 with predict_only: metrics is an empty list
        files = harness(tmp_path, [sample(0), sample(1)], {"alias": "gsm8k"}, n=0)
        rows, _ = read("lm-eval", *files)
        assert column(rows, "item_id", "value", "status", "reason") == [
            ("0", "", "unscored", "the sample has no metric"),
            ("1", "", "unscored", "the sample has no metric"),
        ]

    @pytest.mark.parametrize("metrics", [[], None])
    def test_one_document_without_the_metric_of_the_others_is_named(self, tmp_path, metrics):
        broken = {name: held for name, held in sample(1, acc=1.0).items() if name != "acc"} | {"metrics": metrics}
        path = write_lines(tmp_path / "samples_t.jsonl", [sample(0, acc=1.0), broken])
        assert "line 2: the sample has no metric, where others have one" in refused(path)


def test_documents_of_one_content_keep_their_ids_beside_a_shorter_run(tmp_path):
    twice = [sample(0, content="x", acc=1.0), sample(3, content="x", acc=1.0)]
    files = harness(tmp_path / "a", twice, {"acc,none": 1.0}, model="a")
    files += harness(tmp_path / "b", twice[:1], {"acc,none": 1.0}, model="b")
    assert column(read("lm-eval", *files)[0], "item_id") == ["0", "3", "0"]


@pytest.mark.parametrize("choice", ["maybe", "first"])
def test_copies_are_kept_or_nothing(tmp_path, choice):
    files = harness(tmp_path, [sample(0, acc=1.0)], {"acc,none": 1.0})
    assert f"copies={choice} is no choice. Known: copies=keep" in refused(*files, copies=choice)


def test_the_model_is_not_the_random_name_of_the_folder(tmp_path):
    # lm_eval 0.4.13: without a name among model_args the harness draws one, the same for two models under one seed
    config = {"model": "dummy", "model_args": {}, "limit": None}
    files = harness(tmp_path, [sample(0, acc=1.0)], {"acc,none": 1.0}, config=config, model="qdpv68r5")
    assert column(read("lm-eval", *files)[0], "model") == ["dummy"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"doc_id": 1, "filter": "none", "metr', "line 2: is not valid JSON"),
        ("[1, 2]", 'line 2: ["1", "2"] stands where an object should'),
        ("{}", "line 2: the sample has no doc_id"),
    ],
)
def test_a_broken_line_is_named(tmp_path, line, words):
    path = write_lines(tmp_path / f"samples_t_{DATE}.jsonl", [sample(0, acc=1.0)])
    path.write_text(path.read_text() + line + "\n", encoding="utf-8")
    assert words in refused(path)


class TestSeeds:
    """A folder of results per seed: FOLDER/<recipe>/<seed>/."""

    def folder(self, tmp_path):
        for seed, score in (("1", 0.8), ("2", 0.4)):
            inside = tmp_path / "runs" / "bert" / seed / "acme__base"
            write_json(inside / f"results_{DATE}.json", results({"acc,none": score}, n=50))
        return sorted((tmp_path / "runs").rglob("*.json"))

    def test_recipe_and_seed_are_the_folders(self, tmp_path):
        files = self.folder(tmp_path)
        rows, _ = read("lm-eval", *files, table="reruns", roots=[tmp_path / "runs"])
        assert column(rows, "model", "seed", "score", "status", "n_items") == [
            ("bert", "1", "0.8", "ok", "50"),
            ("bert", "2", "0.4", "ok", "50"),
        ]

    def test_a_seed_without_a_result_failed(self, tmp_path):
        # formats B9: a run with no final metric is a failure, never a row that is not there
        files = self.folder(tmp_path)
        (tmp_path / "runs" / "bert" / "3").mkdir()
        rows, notes = read("lm-eval", *files, table="reruns", roots=[tmp_path / "runs"])
        assert column(rows, "seed", "score", "status")[-1] == ("3", "", "failed")
        assert "no result in bert/3: a failed run" in notes

    def test_a_seed_that_left_empty_samples_failed(self, tmp_path):
        files = self.folder(tmp_path)
        empty = write_lines(tmp_path / "runs" / "bert" / "3" / "acme__base" / f"samples_gsm8k_{DATE}.jsonl", [])
        rows, notes = read("lm-eval", *files, empty, table="reruns", roots=[tmp_path / "runs"])
        assert column(rows, "seed", "score", "status")[-1] == ("3", "", "failed")
        assert "no result in bert/3: a failed run" in notes

    def test_only_folders_that_are_named_like_a_seed_are_seeds(self, tmp_path):
        files = self.folder(tmp_path)
        recipe = tmp_path / "runs" / "bert"
        for name in ("checkpoints", "logs", "__pycache__", ".cache", "3"):
            (recipe / name).mkdir()
        (tmp_path / "runs" / ".git" / "7").mkdir(parents=True)
        (tmp_path / "runs" / "wandb" / "run-1").mkdir(parents=True)
        (recipe / "4").symlink_to(recipe / "2")
        message = refused(*files, table="reruns", roots=[tmp_path / "runs"])
        assert "wandb/run-1 hold no result, and are not named like a seed of the recipe" in message
        assert "--choose folders=failed counts them as failed" in message
        rows, notes = read("lm-eval", *files, table="reruns", roots=[tmp_path / "runs"], folders="skip")
        assert column(rows, "seed", "status") == [("1", "ok"), ("2", "ok"), ("3", "failed")]
        passed = next(note for note in notes if note.startswith("no seeds by their names"))
        assert passed.endswith("bert/__pycache__, bert/checkpoints, bert/logs, wandb/run-1")
        assert "links passed over: bert/4" in notes
        rows, _ = read("lm-eval", *files, table="reruns", roots=[tmp_path / "runs"], folders="failed")
        assert column(rows, "model", "seed", "status")[-1] == ("wandb", "run-1", "failed")

    def test_a_pattern_does_not_show_runs_that_left_nothing(self, tmp_path):
        files = self.folder(tmp_path)
        _, notes = read("lm-eval", *files, table="reruns", roots=[])
        assert "files and patterns do not show training runs that left no result: give their folder" in notes

    def test_one_recipe_in_two_folders_is_refused(self, tmp_path):
        files = []
        for name, seed in (("e1", "1"), ("e2", "2")):
            path = tmp_path / name / "lora" / seed / f"results_{DATE}.json"
            files.append(write_json(path, results({"acc,none": 0.5})))
        message = refused(*files, table="reruns", roots=[tmp_path / "e1", tmp_path / "e2"])
        assert "the recipe lora lies in two folders" in message

    def test_results_at_two_depths_are_refused(self, tmp_path):
        files = self.folder(tmp_path)
        other = write_json(tmp_path / "runs" / "x" / f"results_{DATE}.json", results({"acc,none": 0.7}))
        assert "lies at another depth" in refused(*files, other, table="reruns", roots=[tmp_path / "runs"])

    def test_a_seed_without_the_wanted_metric_failed(self, tmp_path):
        files = self.folder(tmp_path)
        other = tmp_path / "runs" / "bert" / "3" / f"results_{DATE}.json"
        write_json(other, results({"f1,none": 0.7}))
        rows, _ = read("lm-eval", *files, other, table="reruns", roots=[tmp_path / "runs"], metric="acc")
        assert column(rows, "seed", "score", "status")[-1] == ("3", "", "failed")

    def test_a_run_may_leave_a_file_per_task(self, tmp_path):
        for task in ("a", "b"):
            path = tmp_path / "runs" / "bert" / "1" / f"results_{task}.json"
            write_json(path, results({"acc,none": 0.5}, task=task))
        files = sorted((tmp_path / "runs").rglob("*.json"))
        rows, _ = read("lm-eval", *files, table="reruns", roots=[tmp_path / "runs"], task="all")
        assert column(rows, "seed", "task", "score", "status") == [("1", "a", "0.5", "ok"), ("1", "b", "0.5", "ok")]

    def test_two_results_of_one_run_are_refused(self, tmp_path):
        files = self.folder(tmp_path)
        again = tmp_path / "runs" / "bert" / "1" / "results_2026-12-01T10-00-00.json"
        write_json(again, results({"acc,none": 0.9}))
        message = refused(*files, again, table="reruns", roots=[tmp_path / "runs"])
        assert "states acc of gsm8k again, after 1/acme__base/results_" in message

    def test_a_file_at_the_top_names_no_seed(self, tmp_path):
        path = write_json(tmp_path / f"results_{DATE}.json", results({"acc,none": 1.0}))
        assert "its folder names no seed" in refused(path, table="reruns", roots=[tmp_path])
