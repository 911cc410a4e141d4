"""Reruns out of MLflow and W&B, one test per trap, named after the issue that it comes from."""

import json

import pandas as pd
import pytest

from analysis.errors import InputError
from tests.readers.logs import column, read, write_json, write_lines

MLFLOW = """,run_id,experiment_id,status,start_time,metrics.test_acc,metrics.val_acc,params.seed,params.lr,params.model
0,r1,1,FINISHED,2026,0.71,0.8,1,1e-5,bert
1,r2,1,FAILED,2026,0.33,,2,1e-5,bert
2,r3,1,KILLED,2026,,,3,1e-5,bert
3,r4,1,RUNNING,2026,0.2,0.3,4,1e-5,bert
4,r5,1,FINISHED,2026,,0.1,5,1e-5,bert
5,r6,1,SCHEDULED,2026,,,6,1e-5,bert
"""
WANDB = """"Name","State","Created","Runtime","lr","model","seed","test_acc","val_loss"
"run-1","finished","2026","60","1e-5","bert","1","0.71","0.3"
"run-2","crashed","2026","30","1e-5","bert","2","0.71","0.9"
"run-3","failed","2026","1","1e-5","bert","3","",""
"run-4","finished","2026","60","1e-5","bert","4","NaN","Infinity"
"""


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def refused(name, *arguments, **options):
    with pytest.raises(InputError) as caught:
        read(name, *arguments, table="reruns", **options)
    return str(caught.value)


class TestMlflow:
    def test_every_run_is_a_row_and_its_state_is_kept(self, tmp_path):
        path = written(tmp_path / "runs.csv", MLFLOW)
        rows, _ = read("mlflow", path, table="reruns", metric="test_acc")
        assert column(rows, "model", "seed", "score", "status", "run_id") == [
            ("bert", "1", "0.71", "ok", "r1"),
            ("bert", "2", "0.33", "failed", "r2"),
            ("bert", "3", "", "killed", "r3"),
            ("bert", "4", "0.2", "running", "r4"),
            ("bert", "5", "", "ok", "r5"),
            ("bert", "6", "", "running", "r6"),
        ]
        assert set(column(rows, "lr")) == {"1e-5"}
        assert len(set(column(rows, "config"))) == 1

    def test_the_metric_is_asked_about(self, tmp_path):
        message = refused("mlflow", written(tmp_path / "runs.csv", MLFLOW))
        assert "holds 2 metrics: test_acc (6 rows, mean 0.4133), val_acc (6 rows, mean 0.4)" in message

    def test_parquet_is_the_same(self, tmp_path):
        path = written(tmp_path / "runs.csv", MLFLOW)
        pd.read_csv(path, index_col=0, dtype=str).to_parquet(tmp_path / "runs.parquet")
        both = [
            read("mlflow", tmp_path / n, table="reruns", metric="test_acc")[0] for n in ("runs.csv", "runs.parquet")
        ]
        assert column(both[0], "seed", "score", "config") == column(both[1], "seed", "score", "config")

    def test_recipes_are_told_by_their_settings_without_the_seed(self, tmp_path):
        path = written(tmp_path / "runs.csv", MLFLOW.replace("5,1e-5", "5,3e-5"))
        rows, _ = read("mlflow", path, table="reruns", metric="test_acc")
        assert len(set(column(rows, "config"))) == 2

    def test_one_seed_twice_with_the_same_settings_is_refused(self, tmp_path):
        path = written(tmp_path / "runs.csv", MLFLOW.replace("0.33,,2,", "0.33,,1,"))
        message = refused("mlflow", path, metric="test_acc")
        assert "line 3: seed '1' with the same settings stands twice (first at runs.csv line 2)" in message

    def test_runs_without_a_seed_are_no_repeats_of_each_other(self, tmp_path):
        # parents of nested runs, and runs that crashed before they said anything
        path = written(tmp_path / "runs.csv", MLFLOW.replace(",1,1e-5,bert", ",,,").replace(",2,1e-5,bert", ",,,"))
        assert column(read("mlflow", path, table="reruns", metric="test_acc")[0], "seed")[:2] == ["", ""]

    def test_a_seed_of_another_name_is_asked_about(self, tmp_path):
        path = written(tmp_path / "runs.csv", MLFLOW.replace("params.seed", "params.random_state"))
        message = refused("mlflow", path, metric="test_acc")
        assert "no setting is called 'seed'" in message
        assert "--choose seed=NAME" in message
        rows, _ = read("mlflow", path, table="reruns", metric="test_acc", seed="random_state")
        assert column(rows, "seed") == list("123456")

    def test_a_metric_that_speaks_of_selection_is_named(self, tmp_path):
        path = written(tmp_path / "runs.csv", MLFLOW.replace("metrics.test_acc", "metrics.best_test_acc"))
        _, notes = read("mlflow", path, table="reruns", metric="best_test_acc")
        assert any("best_test_acc speaks of selection (best)" in note for note in notes)

    def test_settings_that_would_hide_a_column_keep_their_kind(self, tmp_path):
        path = written(tmp_path / "runs.csv", MLFLOW.replace("params.lr", "params.score"))
        rows, _ = read("mlflow", path, table="reruns", metric="test_acc")
        assert column(rows[:1], "score", "setting.score") == [("0.71", "1e-5")]


class TestWandb:
    """wandb #8252, #5653; senpai #1220: a crashed run keeps a value of the middle of training, or none."""

    def test_every_run_is_a_row_and_its_state_is_kept(self, tmp_path):
        path = written(tmp_path / "runs.csv", WANDB)
        rows, notes = read("wandb", path, table="reruns", metric="test_acc")
        assert column(rows, "model", "seed", "score", "status", "run_id") == [
            ("bert", "1", "0.71", "ok", "run-1"),
            ("bert", "2", "0.71", "crashed", "run-2"),
            ("bert", "3", "", "failed", "run-3"),
            ("bert", "4", "", "ok", "run-4"),
        ]
        assert any("the value that was logged last" in note for note in notes)

    def test_every_number_of_a_csv_may_be_the_metric(self, tmp_path):
        message = refused("wandb", written(tmp_path / "runs.csv", WANDB))
        assert "test_acc (4 rows, mean 0.71)" in message
        assert "seed (" not in message
        assert "val_loss (4 rows, mean 0.6)" in message

    def test_what_looks_like_a_setting_is_offered_last(self, tmp_path):
        message = refused("wandb", written(tmp_path / "runs.csv", WANDB))
        assert "holds 3 metrics: test_acc (4 rows, mean 0.71), val_loss (4 rows, mean 0.6), lr (4 rows" in message
        assert message.endswith("--choose metric=test_acc (or a list in -f, or all).")

    @pytest.mark.parametrize("write", [write_json, write_lines])
    def test_rows_of_the_interface_tell_settings_from_results(self, tmp_path, write):
        runs = [
            {"id": f"i{i}", "name": f"run-{i}", "state": state, "config": {"seed": i, "lr": 1e-5}, "summary": summary}
            for i, (state, summary) in enumerate([("finished", {"test_acc": 0.7}), ("crashed", {})])
        ]
        rows, _ = read("wandb", write(tmp_path / f"runs.json{'l' * (write is write_lines)}", runs), table="reruns")
        assert column(rows, "seed", "score", "status", "lr", "run_id") == [
            ("0", "0.7", "ok", "1e-05", "i0"),
            ("1", "", "crashed", "1e-05", "i1"),
        ]
        assert len(set(column(rows, "config"))) == 1

    def test_a_state_of_another_name_is_left_to_the_schema(self, tmp_path):
        path = written(tmp_path / "runs.csv", WANDB.replace("crashed", "preempted"))
        assert "preempted" in column(read("wandb", path, table="reruns", metric="test_acc")[0], "status")

    def test_all_numbers_of_a_csv_are_metrics_when_all_are_wanted(self, tmp_path):
        rows, _ = read("wandb", written(tmp_path / "runs.csv", WANDB), table="reruns", metric="all")
        assert {"test_acc", "val_loss"} <= set(column(rows, "metric"))

    def test_an_error_names_the_file_that_it_is_in(self, tmp_path):
        good = [{"id": "a", "name": "a", "state": "finished", "config": {"seed": 1}, "summary": {"acc": 1}}]
        bad = [good[0] | {"id": "b", "config": "{broken"}]
        files = [write_json(tmp_path / "one.json", good), write_json(tmp_path / "two.json", bad)]
        assert refused("wandb", *files).startswith("two.json")

    def test_a_summary_that_is_no_object_is_refused(self, tmp_path):
        rows = [{"id": "a", "name": "a", "state": "finished", "config": json.dumps({"seed": 1}), "summary": "{broken"}]
        assert "is not valid JSON" in refused("wandb", write_json(tmp_path / "runs.json", rows))
