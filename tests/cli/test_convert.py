"""Logs from the command line: convert, and the studies on logs directly."""

import json
import os
import pty
import subprocess
import sys

import pandas as pd
import pytest

from analysis.readers.formats import NAMES
from tests.readers import logs
from tests.readers.test_inspect import HALF, TWO
from tests.readers.test_trackers import MLFLOW

PROGRAM = [sys.executable, "-c", "from analysis.cli import main; main()"]


@pytest.fixture
def runs(tmp_path):
    """Two models on forty documents, two filters each."""
    for model, right in (("base", 0.5), ("tuned", 0.75)):
        lines = []
        for kept, shift in (("strict-match", 0), ("flexible-extract", 2)):
            wanted = int(40 * right) + shift
            lines += [logs.sample(i, kept=kept, exact_match=float(i < wanted)) for i in range(40)]
        means = {"exact_match,strict-match": right, "exact_match,flexible-extract": right + 0.05}
        logs.harness(tmp_path / "logs" / model, lines, means, model=model, n=40)
    return tmp_path / "logs"


class TestConvert:
    def test_the_example_of_the_help(self, gatebook, runs):
        left = gatebook(
            "convert", "lm-eval", runs, "--filter", "strict-match", "--metric", "exact_match", "-o", "a.parquet"
        )
        assert left.code == 0
        assert "80 rows read from 4 files; 40 items, 2 models, 1 attempt per item" in left.out
        assert "wrote a.parquet" in left.out
        frame = pd.read_parquet("a.parquet")
        assert frame.groupby("model")["value"].mean().to_dict() == {"base": 0.5, "tuned": 0.75}

    def test_a_question_is_wrong_use(self, gatebook, runs):
        left = gatebook("convert", "lm-eval", runs, "-o", "a.csv")
        assert (left.code, left.out) == (3, "")
        assert "holds 2 filters: strict-match (80 rows, mean 0.625), flexible-extract (80 rows, mean 0.675)" in left.err

    def test_reruns_of_a_tracker(self, gatebook, tmp_path):
        (tmp_path / "runs.csv").write_text(MLFLOW, encoding="utf-8")
        left = gatebook("convert", "mlflow", "runs.csv", "--metric", "test_acc", "-o", "reruns.csv")
        assert left.code == 0
        assert "3 of 6 rows without a score (1 killed, 1 ok, 1 running)" in left.out
        assert gatebook("check", "recipe-card", "--data", "reruns.csv", "-p", 'cell=["model", "lr"]').code == 0

    def test_pairs_and_single_scores_of_fastchat_are_told_apart(self, gatebook, tmp_path):
        from tests.readers.test_pairwise import pair

        single = {"question_id": 81, "model": "a", "judge": ["gpt-4", "single-v1"], "turn": 1, "score": 9}
        logs.write_lines(tmp_path / "single.jsonl", [single])
        logs.write_lines(tmp_path / "pair.jsonl", [pair(81, "model_1", "tie")])
        assert gatebook("convert", "fastchat", "single.jsonl", "-o", "a.csv").out.startswith("attempts: 1 row")
        left = gatebook("convert", "fastchat", "pair.jsonl", "-o", "b.csv", "--choose", "baseline=base")
        assert left.out.startswith("judgements: 2 rows")

    def test_what_a_mapping_file_says_to_a_study_is_named(self, gatebook, tmp_path):
        (tmp_path / "in.csv").write_text("system,q,ok\na,1,yes\n", encoding="utf-8")
        mapping = "columns: {model: system, item_id: q, value: ok}\nvalues: {value: {yes: '1'}}\nerrors: exclude\n"
        (tmp_path / "map.yml").write_text(mapping, encoding="utf-8")
        left = gatebook("convert", "tabular", "in.csv", "-f", "map.yml", "-o", "out.csv")
        assert left.code == 0
        assert left.err == "not used in a conversion: errors\n"
        assert (tmp_path / "out.csv").read_text() == "model,item_id,value\na,1,1\n"

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["lm-evel", "x", "-o", "a.csv"], "no format 'lm-evel'. Did you mean 'lm-eval'?"),
            (["lm-eval", "-o", "a.csv"], "no file was given"),
            (["lm-eval", "nowhere", "-o", "a.csv"], "nowhere: no such file"),
            (["lm-eval", "", "-o", "a.csv"], "names no file"),
            (["tabular", "in.csv", "-o", ""], "-o: names no file"),
            (["tabular", "in.csv", "-o", "."], "is a folder"),
            (["tabular", "in.csv", "-o", "no/where.csv"], "lies in a folder that is not there"),
            (["tabular", "in.csv", "-o", "a.xlsx"], "is no kind of file that is written"),
            (["tabular", "in.csv", "-o", "in.csv"], "is one of the files that are read"),
            (["tabular", "in.csv", "-o", "a.csv", "--map", "x"], "--map x: is not NAME=VALUE"),
            (["tabular", "in.csv", "-o", "a.csv", "--choose", "=x"], "--choose =x: is not NAME=VALUE"),
            (["tabular", "in.csv", "-o", "a.csv", "--table", "runs"], "'runs' is not one of"),
            (["tabular", "in.csv", "-o", "a.csv", "-f", "inputs.yml"], "`inputs` describes the inputs of a study"),
            (["inspect", "in.csv", "-o", "a.csv"], "is no frame of samples"),
            (
                ["alpaca-eval", "in.csv", "--table", "attempts", "-o", "a.csv"],
                "alpaca-eval gives judgements, not attempts",
            ),
            (["tabular", "in.csv", "-o", "a.csv", "--map", "latency_s=value"], "does not say whether it is"),
        ],
    )
    def test_wrong_use_ends_in_a_sentence(self, gatebook, tmp_path, arguments, words):
        (tmp_path / "in.csv").write_text("model,item_id,value\na,1,1\n", encoding="utf-8")
        (tmp_path / "inputs.yml").write_text("inputs: {items: {}}\n", encoding="utf-8")
        left = gatebook("convert", *arguments)
        assert left.code == 3
        assert words in left.err
        assert "Traceback" not in left.err

    @pytest.mark.parametrize("name", NAMES)
    def test_every_format_is_in_the_help(self, gatebook, name):
        assert name in gatebook("convert", "--help").out

    def test_hostile_names_are_shown_by_their_escapes(self, gatebook, tmp_path):
        lines = [logs.sample(0, **{"acc\x1b[31m": 1.0, "acc\u202e": 0.0})]
        logs.write_lines(tmp_path / "samples_t.jsonl", lines)
        left = gatebook("convert", "lm-eval", "samples_t.jsonl", "-o", "a.csv", "--map", "model=const:m")
        assert left.code == 3
        assert "acc\\x1b[31m" in left.err
        assert "\x1b" not in left.err
        assert "\u202e" not in left.err


@pytest.mark.skipif(sys.platform != "linux", reason="a terminal of this kind is posix")
def test_a_bar_shows_on_a_terminal_and_nowhere_else(tmp_path):
    rows = "".join(f"a,{i},1,{'x' * 200}\n" for i in range(110_000))
    (tmp_path / "in.csv").write_text("model,item_id,value,text\n" + rows, encoding="utf-8")
    command = [*PROGRAM, "convert", "tabular", "in.csv", "-o", "out.parquet"]
    piped = subprocess.run(command, capture_output=True, cwd=tmp_path, check=True)
    assert b"reading" not in piped.stderr
    ours, theirs = pty.openpty()
    shown = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, cwd=tmp_path, check=True)
    os.close(theirs)
    assert b"reading" in os.read(ours, 10_000)
    os.close(ours)
    assert shown.stdout == piped.stdout


def with_verdicts(folder, runs, held):
    """Options that give a log of runs and a judge's verdicts."""
    logs.write_lines(folder / "verdicts.jsonl", held)
    return ["--data", f"items={runs}", "--data", "judgements=verdicts.jsonl", "--choose", "filter=strict-match"]


class TestStudiesOnLogs:
    def test_a_gate_reads_logs_and_asks_first(self, gatebook, runs):
        arguments = [
            "gate",
            "fine-tune",
            "--data",
            f"items={runs}",
            "-p",
            "candidate=tuned",
            "-p",
            "metric=exact_match,strict-match",
        ]
        asked = gatebook(*arguments)
        assert asked.code == 3
        assert "--choose items.filter=strict-match." in asked.err
        left = gatebook(*arguments, "--choose", "filter=strict-match", "--json")
        result = json.loads(left.out)
        assert left.code in {0, 1, 2}
        unit = next(unit for unit in result["units"] if unit.get("baseline") == "base")
        assert (unit["n_paired"], unit["baseline_only"], unit["candidate_only"]) == (40, 0, 10)
        assert "read as lm-eval" in result["tables"]["inputs"]["notes"][0]

    def test_the_only_metric_that_is_left_is_compared_and_said(self, gatebook, runs):
        chosen = ["--choose", "metric=exact_match", "--choose", "filter=strict-match", "-p", "candidate=tuned"]
        left = gatebook("gate", "fine-tune", "--data", f"items={runs}", *chosen)
        assert left.code == 0
        assert "primary: exact_match,strict-match" in left.out
        assert "no metric was named: exact_match,strict-match is the only one in the data" in left.err

    @pytest.mark.parametrize("results", [True, False])
    def test_a_model_that_crashed_before_its_first_sample_is_named(self, gatebook, runs, results):
        files = logs.harness(runs / "third", [], {"exact_match,strict-match": 0.5}, model="third", n=40)
        if not results:
            files[0].unlink()
        left = gatebook("check", "fine-tune", "--data", f"items={runs}", "--choose", "filter=strict-match")
        assert left.code == 3
        assert f"third/{files[1].name}: holds no samples. The run may have crashed" in left.err

    def test_files_of_one_name_are_told_by_their_folders(self, gatebook, runs, tmp_path):
        arguments = [
            "fine-tune",
            "--data",
            f"items={runs}",
            "-p",
            "candidate=tuned",
            "-p",
            "metric=exact_match,strict-match",
        ]
        arguments += ["--choose", "filter=strict-match"]
        result = json.loads(gatebook("gate", *arguments, "--json").out)
        name = f"samples_gsm8k_{logs.DATE}.jsonl"
        held = {file["file"]: file["rows"] for file in result["inputs"]}
        assert (held[f"base/{name}"], held[f"tuned/{name}"]) == (40, 40)
        path = runs / "tuned" / name
        path.write_text(path.read_text() + "{\n", encoding="utf-8")
        assert f"error: tuned/{name}, line 81: is not valid JSON" in gatebook("check", *arguments).err

    def test_a_choice_is_part_of_the_signature(self, gatebook, runs):
        common = ["gate", "fine-tune", "--data", f"items={runs}", "-p", "candidate=tuned", "--json"]
        found = []
        for kept in ("strict-match", "flexible-extract"):
            metric = f"metric=exact_match,{kept}"
            found.append(json.loads(gatebook(*common, "-p", metric, "--choose", f"filter={kept}").out)["signature"])
        assert found[0] != found[1]

    def test_an_accepted_mismatch_stands_on_the_page(self, gatebook, tmp_path):
        for model in ("a", "b"):
            samples = [logs.sample(i, acc=float(i % 2)) for i in range(10)]
            logs.harness(tmp_path / "logs" / model, samples, {"acc,none": 0.9}, model=model)
        arguments = ["gate", "fine-tune", "--data", "items=logs", "-p", "candidate=b", "-p", "metric=acc"]
        assert "states acc of gsm8k 0.9, its rows give 0.5" in gatebook(*arguments).err
        result = json.loads(gatebook(*arguments, "--accept-mismatch", "--json").out)
        assert "MISMATCH accepted" in result["tables"]["inputs"]["notes"][0]
        shown = gatebook(*arguments, "--accept-mismatch")
        assert shown.err.count("warning: MISMATCH accepted in") == 2
        assert "Warning: MISMATCH accepted in" in gatebook(*arguments, "--accept-mismatch", "--summary").out

    def test_churn_reads_epochs(self, gatebook, tmp_path):
        for model, moved in (("old", 0), ("new", 3)):
            samples = [
                logs.summary(i, "C" if (i + epoch + moved) % 3 else "I", epoch=epoch)
                for epoch in (1, 2, 3, 4)
                for i in range(30)
            ]
            head = logs.header(items=range(30), epochs=4, model=model)
            logs.write_eval(tmp_path / f"{model}.eval", logs.members(head, samples))
        left = gatebook("check", "churn", "--data", "*.eval", "-p", "baseline=old", "-p", "candidate=new")
        assert left.code == 0, left
        assert "240 rows read from 2 files; 30 items, 2 models, 4 attempts per item" in left.out

    def test_tail_shape_reads_lengths(self, gatebook, runs):
        left = gatebook(
            "check", "tail-shape", "--data", runs, "--choose", "filter=strict-match", "--map", "value=output_chars"
        )
        assert "40 items, 2 models" in left.out, left

    def test_recipe_card_reads_a_folder_of_seeds(self, gatebook, tmp_path):
        for seed in range(1, 4):
            folder = tmp_path / "runs" / "lora" / str(seed)
            logs.write_json(folder / "results_2026-11-30T10-00-00.json", logs.results({"acc,none": 0.5 + seed / 10}))
        logs.write_lines(tmp_path / "runs" / "lora" / "4" / f"samples_gsm8k_{logs.DATE}.jsonl", [])
        left = gatebook("gate", "recipe-card", "--data", "runs", "-p", 'cell=["model"]', "-p", "tau=0.5", "--json")
        result = json.loads(left.out)
        assert left.code == 2
        assert "no result in lora/4: a failed run" in result["tables"]["inputs"]["notes"][0]
        assert [(file["file"], file["rows"]) for file in result["inputs"]][-1] == ("lora/4", 1)

    def test_judgements_of_fastchat(self, gatebook, tmp_path, runs):
        from tests.readers.test_pairwise import pair

        records = [pair(str(i), "model_2", "model_2") | {"turn": None} for i in range(40)]
        logs.write_lines(tmp_path / "gpt-4_pair.jsonl", records)
        data = ["--data", f"items={runs}", "--data", "judgements=gpt-4_pair.jsonl"]
        choose = ["--choose", "filter=strict-match", "--choose", "judgements.baseline=base"]
        left = gatebook(
            "check", "fine-tune", *data, *choose, "-p", "candidate=tuned", "-p", "metric=exact_match,strict-match"
        )
        assert "judgements: 80 rows read from 1 file" in left.out, left

    @pytest.mark.parametrize(
        ("a", "b", "words"),
        [
            ("tuned", "base", "verdicts on tuned against base; the candidate is tuned"),
            ("foo", "bar", "verdicts on foo against bar; the candidate is tuned"),
            ("base", "base", "verdicts on base against base"),
        ],
    )
    def test_verdicts_on_other_systems_are_refused(self, gatebook, tmp_path, runs, a, b, words):
        # DeepComparison #2: the winner was reported the wrong way round
        held = [
            {"uid": str(i), "judge": "j", "model": b, "baseline": a, "games": [{"score": "B>A"}]} for i in range(40)
        ]
        arguments = with_verdicts(tmp_path, runs, held)
        left = gatebook(
            "check", "fine-tune", *arguments, "-p", "candidate=tuned", "-p", "metric=exact_match,strict-match"
        )
        assert left.code == 3
        assert words in left.err

    @pytest.mark.parametrize(
        ("header", "cells"), [("model_b", "other"), ("model_a", "other"), ("model_a,model_b", "base,tuned")]
    )
    def test_half_a_name_is_compared_too(self, gatebook, tmp_path, runs, header, cells):
        lines = [f"item_id,order,winner,{header}", *(f"{i},AB,A,{cells}" for i in range(20))]
        lines += [f"{i},AB,A,{',' * header.count(',')}" for i in range(20, 40)] if "," in header else []
        (tmp_path / "own.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        arguments = ["--data", f"items={runs}", "--data", "judgements=own.csv", "--choose", "filter=strict-match"]
        left = gatebook(
            "check", "fine-tune", *arguments, "-p", "candidate=tuned", "-p", "metric=exact_match,strict-match"
        )
        assert left.code == 3
        assert "verdicts on" in left.err

    def test_human_labels_may_stand_beside_the_verdicts(self, gatebook, tmp_path, runs):
        lines = ["item_id,order,winner,judge,len_a,len_b,human_winner"]
        for i in range(40):
            label = "" if i >= 10 else "B" if i % 2 else "A"
            lines += [f"{i},{order},{'B' if i % 2 else 'A'},j,10,20,{label}" for order in ("AB", "BA")]
        (tmp_path / "own.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        apart = ["item_id,winner", *(f"{i},{'B' if i % 2 else 'A'}" for i in range(10))]
        (tmp_path / "human.csv").write_text("\n".join(apart) + "\n", encoding="utf-8")
        (tmp_path / "bare.csv").write_text(
            "\n".join(line.rpartition(",")[0] for line in lines) + "\n", encoding="utf-8"
        )
        common = [
            "gate",
            "fine-tune",
            "--data",
            f"items={runs}",
            "--choose",
            "filter=strict-match",
            "-p",
            "candidate=tuned",
        ]
        common += ["-p", "metric=exact_match,strict-match", "--json"]
        beside = json.loads(gatebook(*common, "--data", "judgements=own.csv").out)
        given = json.loads(gatebook(*common, "--data", "judgements=bare.csv", "--data", "human=human.csv").out)
        assert beside["tables"]["judge"] == given["tables"]["judge"]
        both = gatebook(*common, "--data", "judgements=own.csv", "--data", "human=human.csv")
        assert "human labels stand beside the verdicts and in --data human. Give them once" in both.err
        (tmp_path / "own.csv").write_text(
            "\n".join(lines).replace("0,BA,A,j,10,20,A", "0,BA,A,j,10,20,B"), encoding="utf-8"
        )
        assert (
            "1 item with two values of human_winner, '0' first" in gatebook(*common, "--data", "judgements=own.csv").err
        )

    def test_verdicts_on_several_pairs_are_asked_about_and_refused(self, gatebook, tmp_path, runs):
        held = [
            {"uid": str(i), "judge": "j", "model": "tuned", "baseline": base, "games": [{"score": "B>A"}]}
            for i, base in enumerate(["base", "o3"] * 20)
        ]
        arguments = with_verdicts(tmp_path, runs, held)
        arguments += ["-p", "candidate=tuned", "-p", "metric=exact_match,strict-match"]
        asked = gatebook("check", "fine-tune", *arguments)
        assert "holds 2 baselines: base (20 rows), o3 (20 rows)" in asked.err
        assert "--choose judgements.baseline=base." in asked.err
        both = gatebook("check", "fine-tune", *arguments, "--choose", "judgements.baseline=all")
        assert "verdicts on 2 pairs of systems: base against tuned, o3 against tuned" in both.err
        assert gatebook("check", "fine-tune", *arguments, "--choose", "judgements.baseline=base").code == 0

    def test_a_question_about_another_input_names_it(self, gatebook, tmp_path, runs):
        from tests.readers.test_pairwise import pair

        logs.write_lines(tmp_path / "p.jsonl", [pair(str(i), "model_2", "tie") for i in range(40)])
        arguments = ["--data", f"items={runs}", "--data", "judgements=p.jsonl", "--choose", "filter=strict-match"]
        arguments += ["-p", "candidate=tuned", "-p", "metric=exact_match,strict-match"]
        asked = gatebook("check", "fine-tune", *arguments)
        assert "Say which is meant: --choose judgements.baseline=base." in asked.err
        assert gatebook("check", "fine-tune", *arguments, "--choose", "judgements.baseline=base").code == 0

    def test_an_error_row_with_a_measure_has_no_score(self, gatebook, tmp_path):
        usage = {"m": {"output_tokens": 5}}
        for model in ("a", "b"):
            samples = [logs.summary(i, "C", model_usage={model: usage["m"]}) for i in range(9)]
            samples.append(logs.summary(9, error="boom", model_usage={model: usage["m"]}))
            logs.write_eval(
                tmp_path / f"{model}.eval", logs.members(logs.header(items=range(10), model=model), samples)
            )
        left = gatebook(
            "check", "tail-shape", "--data", "*.eval", "--map", "value=output_tokens", "-p", "errors=exclude"
        )
        assert "2 of 20 rows without a score (2 error)" in left.out, left

    def test_a_metric_of_which_less_is_better_is_turned_by_hand(self, gatebook, tmp_path):
        for model, score in (("a", 0.4), ("b", 0.2)):
            better = {"gsm8k": {"brier": False}}
            samples = [logs.sample(i, brier=score + i / 100) for i in range(10)]
            logs.harness(tmp_path / "logs" / model, samples, {}, model=model, higher_is_better=better)
        arguments = [
            "check",
            "fine-tune",
            "--data",
            "items=logs",
            "-p",
            "candidate=b",
            "-p",
            "metric=brier",
            "-p",
            "score_range=[-1, 1]",
        ]
        asked = gatebook(*arguments)
        assert "'lower' is not one of higher" in asked.err
        assert "value=minus:value" in asked.err
        (asked_file := tmp_path / "turn.yml").write_text("values: {better: {lower: higher}}\n", encoding="utf-8")
        left = gatebook(*arguments, "--map", "value=minus:value", "-f", asked_file.name)
        assert left.code == 0, left

    def test_nothing_scored_is_never_a_score(self, gatebook, tmp_path):
        # LightRAG #4040: all scores NaN became 0
        (tmp_path / "in.csv").write_text("model,item_id,value\na,1,NaN\nb,1,\n", encoding="utf-8")
        left = gatebook("check", "fine-tune", "--data", "items=in.csv", "-p", "candidate=b")
        assert (left.code, left.err) == (
            3,
            "error: items: 0 of 2 rows hold a value. Nothing was measured, so that nothing can be decided.\n",
        )

    @pytest.mark.parametrize("choice", ["metric", "=x", "items.=x"])
    def test_a_choice_without_kind_or_name(self, gatebook, runs, choice):
        left = gatebook("check", "fine-tune", "--data", f"items={runs}", "--choose", choice)
        assert left.code == 3
        assert "is not KIND=NAME" in left.err

    def test_a_report_folder_is_no_data(self, gatebook, tmp_path):
        logs.write_eval(tmp_path / "log.eval", logs.members(logs.header(HALF), TWO))
        report = tmp_path / "reports" / "churn" / "x"
        for name in ("report.ipynb", "result.json", "run.json"):
            logs.write_json(report / name, {})
        left = gatebook("check", "fine-tune", "--data", "items=.", "-p", "candidate=acme/base")
        assert "2 rows read from 1 file" in left.out
