"""From paths to a checked table: what a mapping does, what is refused, and in which words."""

import csv
import gzip
import hashlib
import json
import os
import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import yaml
from analysis.errors import InputError, ParameterError, close_match
from analysis.inputs import from_frame, read
from analysis.layouts import Layout
from analysis.readers.paths import expand
from analysis.schema import Column, Demanded, Schema

SCHEMA = Schema(
    name="runs",
    measure="score",
    columns=(
        Column(name="model", kind="text", help="The model", aliases=("base_model", "@key", "@file")),
        Column(name="seed", kind="text", help="The seed", required=True, aliases=("run", "@index", "@row")),
        Column(name="score", kind="number", help="A share", required=True, low=0, high=1, aliases=("acc", "#1")),
        Column(name="status", kind="choice", help="How it ended", choices=("ok", "failed")),
    ),
)
MAPPINGS = Path(__file__).parent.parent / "data" / "mappings"
MODEL = Demanded(columns=("model",))
PLAIN = "seed,score\n1,.5\n2,.6\n"


@pytest.fixture
def load(tmp_path):
    """Write files and read them: load({"a.csv": text}, columns={...})."""

    def run(files, demanded=None, **layout):
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths = [tmp_path / name for name in files]
        return read(paths, SCHEMA, layout=Layout.model_validate(layout) if layout else None, demanded=demanded)

    return run


def columns(loaded):
    return loaded.frame.to_dict("list")


def shipped(name):
    values = yaml.load(MAPPINGS / f"{name}.yml", ParameterError).values
    return Layout.model_validate({key: values[key] for key in values if key in Layout.model_fields})


def message(load, *args, **layout):
    with pytest.raises(InputError) as caught:
        load(*args, **layout)
    return str(caught.value)


class TestSources:
    @pytest.mark.parametrize(
        ("source", "cells"),
        [
            ("tag", ["x", "y"]),
            ("#3", ["x", "y"]),
            ("@row", ["1", "2"]),
            ("@file", ["bert", "bert"]),
            ("const:a b", ["a b", "a b"]),
            ("const:", ["", ""]),
            ("coalesce:other|tag", ["o", "y"]),
            ("coalesce:#4|const:z", ["o", "z"]),
            ("equals:tag|const:x", ["1", "0"]),
            ("equals:tag|other", ["0", ""]),  # one holds no value
            ("percent:#4", ["o", "NA"]),  # what is no number stays as it is
            ("minus:const:1_0", ["1_0", "1_0"]),
            ("minus:const:1e9999999999", ["1e9999999999", "1e9999999999"]),
        ],
    )
    def test_a_source_gives_the_column_of_a_csv(self, load, source, cells):
        loaded = load(
            {"bert.csv.gz": gzip.compress(b"seed,score,tag,other\n1,.5,x,o\n2,.6,y,NA\n")}, columns={"model": source}
        )
        assert columns(loaded)["model"] == cells

    @pytest.mark.parametrize(
        ("source", "cells"), [("@key", ["m", "m", "n"]), ("@index", ["0", "1", "0"]), ("@row", ["1", "2", "3"])]
    )
    def test_a_source_gives_the_key_and_position_of_an_object_of_lists(self, load, source, cells):
        loaded = load(
            {"a.json": '{"m": [0.5, 0.6], "n": [0.7]}'}, columns={"model": source, "seed": "@row", "score": "#1"}
        )
        assert columns(loaded)["model"] == cells

    def test_records_lie_under_a_key(self, load):
        text = '{"meta": {"n": 2}, "runs": {"m": [0.5, 0.6]}}'
        loaded = load({"a.json": text}, records="runs", columns={"model": "@key", "seed": "@index", "score": "#1"})
        assert columns(loaded) == {"model": ["m", "m"], "seed": ["0", "1"], "score": [0.5, 0.6]}

    def test_a_name_wins_over_a_position(self, load):
        loaded = load({"a.csv": "#2,score\n1,.5\n"}, columns={"seed": "#2"})
        assert columns(loaded) == {"seed": ["1"], "score": [0.5]}

    @pytest.mark.parametrize("source", ["acc", "#2"])
    def test_a_mapped_column_does_not_stay_under_its_old_name(self, load, source):
        assert list(columns(load({"a.csv": "seed,acc,note\n1,.5,x\n"}, columns={"score": source}))) == [
            "score",
            "seed",
            "note",
        ]

    def test_two_columns_can_change_places(self, load):
        loaded = load({"a.csv": "score,seed\n1,.5\n"}, columns={"seed": "score", "score": "seed"})
        assert columns(loaded) == {"seed": ["1"], "score": [0.5]}

    def test_the_sources_of_mapped_columns_are_kept(self, load):
        assert load({"a.csv": "run,acc\n1,.5\n"}, columns={"seed": "run", "score": "acc"}).sources == {
            "seed": "run",
            "score": "acc",
        }

    @pytest.mark.parametrize(
        "source", ["#0", "#3", "#x", "#²", "@key", "@index", "accuracyy", "coalesce:score|nope", "equals:score"]
    )
    def test_a_source_that_is_not_there_lists_the_known_ones(self, load, source):
        assert "Known: @file, @row, score, seed" in message(load, {"a.csv": PLAIN}, columns={"model": source})

    def test_a_typo_gets_a_suggestion(self, load):
        found = message(load, {"a.csv": "seed,accuracy\n1,.5\n"}, columns={"score": "acuracy"})
        assert "a.csv: no column 'acuracy'. Did you mean 'accuracy'?" in found


class TestLayout:
    def test_a_filter_keeps_the_rows_that_hold_the_text(self, load):
        loaded = load({"a.csv": "seed,score,set\n1,.1,x\n2,.2,y\n3,.3,x\n"}, filter=[{"column": "set", "equals": "x"}])
        assert columns(loaded)["seed"] == ["1", "3"]
        assert [loaded.place(row) for row in range(2)] == [("a.csv", "line 2"), ("a.csv", "line 4")]

    def test_filters_add_up_and_take_several_texts(self, load):
        rules = [{"column": "set", "equals": ["x", "y"]}, {"column": "seed", "equals": "2"}]
        assert columns(load({"a.csv": "seed,score,set\n1,.1,x\n2,.2,y\n2,.3,z\n"}, filter=rules))["score"] == [0.2]

    def test_a_filter_that_keeps_nothing_is_refused(self, load):
        assert "no row passed the filter" in message(load, {"a.csv": PLAIN}, filter=[{"column": "seed", "equals": "9"}])

    @pytest.mark.parametrize(
        ("given", "labels"),
        [(["dev", "test"], ["dev", "test"]), ({"dev": "calibration", "test": "target"}, ["calibration", "target"])],
    )
    def test_melt_turns_columns_into_rows(self, load, given, labels):
        loaded = load(
            {"a.csv": "seed,dev,test\n1,.1,.2\n2,.3,.4\n"}, melt={"columns": given, "name": "set", "value": "score"}
        )
        assert columns(loaded) == {"seed": ["1", "1", "2", "2"], "set": labels * 2, "score": [0.1, 0.2, 0.3, 0.4]}

    def test_melt_can_reuse_the_name_of_a_melted_column(self, load):
        loaded = load(
            {"a.csv": "seed,score,score2\n1,.1,.2\n"},
            melt={"columns": ["score", "score2"], "name": "set", "value": "score"},
        )
        assert columns(loaded) == {"seed": ["1", "1"], "set": ["score", "score2"], "score": [0.1, 0.2]}

    def test_flat_values_belong_to_the_measure(self, load):
        assert columns(load({"a.csv": "seed,score\nA,A\nB,B\n"}, values={"A": "1", "B": "0"})) == {
            "seed": ["A", "B"],
            "score": [1.0, 0.0],
        }

    def test_nested_values_belong_to_their_column(self, load):
        loaded = load({"a.csv": "seed,score,status\n1,.5,done\n2,.5,ok\n"}, values={"status": {"done": "ok"}})
        assert columns(loaded)["status"] == ["ok", "ok"]

    def test_values_of_an_unknown_column_are_refused(self, load):
        found = message(load, {"a.csv": "seed,score,status\n1,.5,ok\n"}, values={"statsu": {"done": "ok"}})
        assert "values: no column 'statsu'. Did you mean 'status'?" in found

    def test_a_file_without_header_is_mapped_by_position(self, load):
        loaded = load(
            {"a.csv": "1;.5\n2;.6\n"}, delimiter="semicolon", header=False, columns={"seed": "#1", "score": "#2"}
        )
        assert columns(loaded) == {"seed": ["1", "2"], "score": [0.5, 0.6]}

    @pytest.mark.parametrize("layout", [{"colums": {}}, {"filter": [{"column": "a"}]}, {"melt": {"columns": ["a"]}}])
    def test_an_unknown_or_missing_part_is_refused(self, layout):
        with pytest.raises(ValueError, match=r"colums|equals|name"):
            Layout.model_validate(layout)

    @pytest.mark.parametrize("name", ["fiesta_tdsa_seeds", "model_recycling_seeds", "ner_seeds"])
    def test_the_shipped_mappings_are_layouts(self, name):
        assert {"model", "seed", "score"} <= set(shipped(name).columns)


class TestMissingColumns:
    def test_one_error_lists_the_columns_and_offers_a_mapping(self, load):
        found = message(load, {"a.csv": "run,Acc,note\n1,.5,x\n"})
        assert found == (
            "a.csv: columns missing: seed, score; the file has: run, Acc, note, @row, @file. "
            "If its columns mean the same, say so: --map seed=run --map score=Acc"
        )

    def test_a_column_that_looks_right_is_never_applied(self, load):
        assert "column missing: score" in message(load, {"a.csv": "seed,acc\n1,.5\n"})

    def test_a_column_that_nothing_resembles_gets_a_placeholder(self, load):
        assert "--map score=COLUMN" in message(load, {"a.csv": "seed,x\n1,.5\n"})

    def test_columns_that_the_parameters_ask_for_are_demanded_too(self, load):
        found = message(load, {"a.csv": PLAIN}, Demanded(columns=("model", "lr"), hint="or ask for less."))
        assert "columns missing: model, lr" in found
        assert found.endswith("or ask for less.")

    def test_the_offer_for_an_object_of_lists_can_be_pasted(self, load):
        # the shape of fiesta_tdsa_seeds: recipe -> list of scores
        files = {"a.json": '{"m": [0.5, 0.6], "n": [0.7]}'}
        words = shlex.split(message(load, files, MODEL).partition("say so: ")[2])
        offered = dict(pair.split("=", 1) for pair in words[1::2])
        assert words[::2] == ["--map"] * 3
        assert columns(load(files, MODEL, columns=offered)) == {
            "model": ["m", "m", "n"],
            "seed": ["0", "1", "0"],
            "score": [0.5, 0.6, 0.7],
        }

    @pytest.mark.parametrize("name", ["Acc", "acc!", "a c-c", "ac'c", 'acc "%"', "$acc", "acc;"])
    def test_an_offer_survives_the_shell(self, load, name):
        header = ",".join(f'"{cell}"' for cell in ["seed", name.replace('"', '""')])
        offer = message(load, {"a.csv": f"{header}\n1,.5\n"}).partition("say so: ")[2]
        assert shlex.split(offer) == ["--map", f"score={name}"]

    def test_a_header_of_another_delimiter_says_so(self, load):
        assert "put `delimiter: semicolon`" in message(load, {"a.csv": "seed;score\n1;.5\n"})

    def test_the_same_fault_of_many_files_is_said_once(self, load):
        found = message(load, {f"{i}.csv": "run,acc\n1,.5\n" for i in range(5)})
        assert found.count("columns missing") == 1
        assert found.startswith("0.csv and 4 more: ")

    def test_faults_of_different_files_are_all_said(self, load):
        found = message(load, {"a.csv": "", "b.csv": "run,acc\n1,.5\n", "c.csv": b"\xff"})
        assert [line.split(":")[0] for line in found.splitlines()] == ["a.csv", "b.csv", "c.csv, line 1"]


class TestFiles:
    def test_several_files_are_one_table_in_the_order_given(self, load):
        loaded = load({"b.csv": "seed,score\n1,.1\n", "a.csv": "seed,score,note\n1,.2,x\n"})
        assert columns(loaded) == {"seed": ["1", "1"], "score": [0.1, 0.2], "note": ["", "x"]}
        assert [loaded.place(row) for row in (0, 1)] == [("b.csv", "line 2"), ("a.csv", "line 2")]

    def test_a_folder_is_its_data_files_in_name_order(self, tmp_path):
        for name in ("b.csv", "a.JSON", "c.parquet.gz", "notes.md", "d.csv.bak"):
            (tmp_path / name).touch()
        (tmp_path / "e.csv").mkdir()
        assert [path.name for path in expand([tmp_path])] == ["a.JSON", "b.csv", "c.parquet.gz"]

    def test_a_pattern_is_its_matches_in_name_order(self, tmp_path):
        for name in ("b.csv", "a.csv", "a.txt"):
            (tmp_path / name).touch()
        assert [path.name for path in expand([f"{tmp_path}/*.csv"])] == ["a.csv", "b.csv"]

    def test_a_file_with_brackets_in_its_name_is_not_a_pattern(self, tmp_path):
        (tmp_path / "runs[1].csv").touch()
        assert [path.name for path in expand([tmp_path / "runs[1].csv"])] == ["runs[1].csv"]

    def test_a_file_that_is_given_twice_is_read_once(self, tmp_path, monkeypatch):
        (tmp_path / "a.csv").touch()
        monkeypatch.chdir(tmp_path)
        assert len(expand(["a.csv", tmp_path, "*.csv", "./a.csv"])) == 1

    @pytest.mark.parametrize("given", ["nope.csv", "*.nope", "x" * 5000, "a\x00b"])
    def test_a_path_that_leads_nowhere_is_refused(self, tmp_path, given):
        with pytest.raises(InputError, match=r"no such file|cannot be read"):
            expand([f"{tmp_path}/{given}"])

    def test_a_folder_without_data_lists_the_known_kinds(self, tmp_path):
        with pytest.raises(InputError, match=re.escape("the folder holds no data file. Known kinds: .csv")):
            expand([tmp_path])

    def test_no_path_at_all_is_refused(self):
        with pytest.raises(InputError, match="no file was given"):
            read([], SCHEMA)

    def test_every_path_that_leads_nowhere_is_named(self, tmp_path):
        with pytest.raises(InputError) as caught:
            expand([tmp_path / "x.csv", tmp_path / "y.csv"])
        assert len(caught.value.faults) == 2

    def test_the_digest_is_that_of_the_bytes_on_disk(self, load):
        packed = gzip.compress(PLAIN.encode())
        loaded = load({"a.csv.gz": packed, "b.csv": b"\xef\xbb\xbf" + PLAIN.encode()})
        expected = [hashlib.sha256(data).hexdigest() for data in (packed, b"\xef\xbb\xbf" + PLAIN.encode())]
        assert [(file.file, file.sha256, file.rows) for file in loaded.files] == [
            ("a.csv.gz", expected[0], 2),
            ("b.csv", expected[1], 2),
        ]
        assert loaded.sha256 == hashlib.sha256("".join(expected).encode()).hexdigest()

    @pytest.mark.parametrize(
        ("files", "layout", "line"),
        [
            ({"a.csv": PLAIN}, {}, "runs: 2 rows read from 1 file; every row has a score"),
            ({"a.csv": "seed,score\n1,.5\n"}, {}, "runs: 1 row read from 1 file; every row has a score"),
            ({"a.csv": PLAIN, "b.csv": PLAIN}, {}, "runs: 4 rows read from 2 files; every row has a score"),
            (
                {"a.csv": "seed,score,status\n1,.5,\n2,,failed\n3,,\n"},
                {},
                "runs: 3 rows read from 1 file; 2 of 3 rows without a score (1 failed, 1 no reason given)",
            ),
            (
                {"a.csv": PLAIN},
                {"filter": [{"column": "seed", "equals": "2"}]},
                "runs: 2 rows read from 1 file, 1 after filter and melt; every row has a score",
            ),
            (
                {"a.csv": "seed,d,t\n" + "1,.1,.2\n" * 1000},
                {"melt": {"columns": ["d", "t"], "name": "set", "value": "score"}},
                "runs: 1,000 rows read from 1 file, 2,000 after filter and melt; every row has a score",
            ),
            (
                {"a.csv": "seed,score,source\n1,.5,Table 2\n"},
                {},
                "runs: 1 row read from 1 file; every row has a score; source: Table 2",
            ),
        ],
    )
    def test_the_reconciliation_line_accounts_for_every_row(self, load, files, layout, line):
        assert load(files, **layout).reconciliation == line

    def test_every_bad_cell_is_named_with_file_line_column_and_value(self, load):
        found = message(load, {"a.csv": "seed,score\n1,1.2\n", "b.csv": 'seed,score\n"x\ny",.5\n2,high\n'})
        assert "a.csv, line 2, column score: '1.2' is outside [0, 1]" in found
        assert "b.csv, line 4, column score: 'high' is not a number" in found

    @given(st.permutations(range(6)), st.integers(1, 5))
    @settings(max_examples=20, deadline=None)
    def test_a_split_file_is_the_same_table(self, tmp_path_factory, order, cut):
        folder = tmp_path_factory.mktemp("split")
        lines = [f"{seed},.{seed}\n" for seed in order]
        for name, part in {"all": lines, "one": lines[:cut], "two": lines[cut:]}.items():
            (folder / f"{name}.csv").write_text("seed,score\n" + "".join(part))
        whole = read([folder / "all.csv"], SCHEMA).frame
        pd.testing.assert_frame_equal(read([folder / "one.csv", folder / "two.csv"], SCHEMA).frame, whole)


class TestFrames:
    def test_a_frame_equals_the_file_it_was_written_to(self, tmp_path):
        frame = pd.DataFrame({"seed": [1, 2], "score": [0.1, np.nan], "model": ["007", "NA"]})
        frame.to_csv(tmp_path / "a.csv", index=False, quoting=csv.QUOTE_NONNUMERIC)
        pd.testing.assert_frame_equal(from_frame(frame, SCHEMA).frame, read([tmp_path / "a.csv"], SCHEMA).frame)

    @pytest.mark.parametrize(
        "nothing", [None, np.nan, np.float32("nan"), pd.NA, pd.NaT], ids=["None", "nan", "float32 nan", "NA", "NaT"]
    )
    def test_no_value_is_no_text(self, nothing):
        frame = pd.DataFrame({"seed": [1], "score": [0.5], "model": pd.Series([nothing], dtype=object)})
        assert columns(from_frame(frame, SCHEMA))["model"] == [""]

    @pytest.mark.parametrize("dtype", ["int64", "Int64", "float64", "Float64", "object", "category"])
    def test_scores_of_any_type_are_read(self, dtype):
        frame = pd.DataFrame({"seed": ["a", "b"], "score": pd.Series([0, 1], dtype=dtype)}).set_index([[7, 7]])
        assert columns(from_frame(frame, SCHEMA))["score"] == [0.0, 1.0]

    @pytest.mark.parametrize(
        ("frame", "words"),
        [
            (pd.DataFrame({"seed": [], "score": []}), "the frame has no rows"),
            (pd.DataFrame({"seed": [1]}), "column missing: score; the file has: seed"),
            (pd.DataFrame({"seed": [1, 2], "score": [0.5, 3]}), "data frame, row 1, column score: '3.0' is outside"),
            (pd.DataFrame([[1, 0.5, 0.6]], columns=["seed", "score", "score"]), "the column score stands twice"),
            (
                pd.DataFrame({"seed": pd.Series(["\ud800"], dtype=object), "score": [0.5]}),
                "row 0, column seed: holds half a character",
            ),
        ],
        ids=["no rows", "no score", "out of range", "twice", "half a character"],
    )
    def test_a_frame_that_does_not_fit_is_refused(self, frame, words):
        with pytest.raises(InputError, match=re.escape(words)):
            from_frame(frame, SCHEMA)

    def test_the_digest_depends_on_the_cells_only(self):
        frame = pd.DataFrame({"seed": [1, 2], "score": [0.5, 0.6]})
        assert from_frame(frame, SCHEMA).sha256 == from_frame(frame.set_index([[5, 6]]), SCHEMA).sha256
        assert from_frame(frame, SCHEMA).sha256 != from_frame(frame[::-1], SCHEMA).sha256


class TestRealFiles:
    # Row counts, missing scores and the mean over mnli in percent: README of the real data sets, from the published
    # tables of IBM/model-recycling and from the files of apmoore1/fiesta and apmoore1/NER.
    @pytest.mark.real
    @pytest.mark.parametrize(
        ("folder", "rows", "without_score"),
        [("fiesta_tdsa_seeds", 6000, 0), ("ner_seeds", 2 * 321, 0), ("model_recycling_seeds", 4 * 720, 2)],
    )
    def test_the_shipped_mapping_accounts_for_every_row(self, real_data, folder, rows, without_score):
        loaded = read([real_data / folder], SCHEMA, layout=shipped(folder), demanded=MODEL)
        assert (loaded.rows, loaded.frame["score"].isna().sum()) == (rows, without_score)

    @pytest.mark.real
    def test_the_mapped_scores_have_the_published_mean_and_spread(self, real_data):
        folder = "model_recycling_seeds"
        frame = read([real_data / folder], SCHEMA, layout=shipped(folder)).frame
        mnli = frame.loc[(frame["model"] == "bert-base-uncased") & (frame["task"] == "mnli"), "score"] * 100
        assert (mnli.mean(), mnli.std()) == pytest.approx((83.73, 0.23), abs=0.01)


@pytest.mark.parametrize(("name", "guess"), [("treshold", "threshold"), ("Threshold", "threshold"), ("seeds", "seed")])
def test_a_close_name_is_suggested(name, guess):
    assert close_match(name, ["threshold", "seed"]).startswith(f"Did you mean '{guess}'? Known: seed, threshold")


def test_a_name_like_none_gets_the_list_only():
    assert close_match("zzz", ["b", "a"]) == "Known: a, b"
    assert close_match("zzz", []) == "Known: none"


def test_json_numbers_reach_text_columns_unchanged(load):
    records = json.dumps([{"seed": "X", "score": 0.5}]).replace('"X"', "1.10")
    assert columns(load({"a.json": records}))["seed"] == ["1.10"]


def test_only_regular_files_are_read(tmp_path):
    os.mkfifo(tmp_path / "runs.csv")
    for path in (tmp_path / "runs.csv", Path("/dev/null")):
        with pytest.raises(InputError, match="not a regular file"):
            expand([path])


def test_links_in_a_circle_are_a_fault(tmp_path):
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    with pytest.raises(InputError, match=r"loop\.csv"):
        expand([loop])


class TestUnits:
    """formats B10: seconds against milliseconds and percent against fraction are asked, not guessed."""

    TIMED = Schema(
        name="attempts",
        measure="value",
        columns=(
            Column(name="value", kind="number", help="A score", required=True, low=0, high=1),
            Column(name="latency_s", kind="number", help="Seconds", unit="s"),
        ),
    )

    def load(self, tmp_path, text, **layout):
        (tmp_path / "a.csv").write_text(text, encoding="utf-8")
        return read([tmp_path / "a.csv"], self.TIMED, layout=Layout(**layout)).frame

    @pytest.mark.parametrize("name", ["latency", "latency_ms", "elapsed", "class"])
    def test_a_name_that_does_not_say_seconds_is_asked_about(self, tmp_path, name):
        with pytest.raises(InputError) as caught:
            self.load(tmp_path, f"value,{name}\n1,1500\n", columns={"latency_s": name})
        assert f"latency_s is in seconds, and {name!r} does not say whether it is" in str(caught.value)
        assert f"latency_s=milliseconds:{name}" in str(caught.value)

    @pytest.mark.parametrize("name", ["elapsed_s", "t seconds", "sec", "wall-secs"])
    def test_a_name_that_says_seconds_is_taken_at_its_word(self, tmp_path, name):
        assert self.load(tmp_path, f"value,{name}\n1,1.5\n", columns={"latency_s": name})["latency_s"].tolist() == [1.5]

    @pytest.mark.parametrize(
        ("source", "value"), [("percent:a", 0.0071), ("minus:b", 0.5), ("seconds:a", 0.71), ("milliseconds:a", 0.00071)]
    )
    def test_a_column_in_another_unit_is_scaled_exactly(self, tmp_path, source, value):
        assert self.load(tmp_path, "a,b\n0.71,-0.5\n", columns={"value": source})["value"].tolist() == [value]

    def test_milliseconds_are_divided_exactly(self, tmp_path):
        frame = self.load(tmp_path, "value,ms\n1,1234.5\n", columns={"latency_s": "milliseconds:ms"})
        assert frame["latency_s"].tolist() == [1.2345]

    def test_a_percentage_gets_the_way_out(self, tmp_path):
        with pytest.raises(
            InputError, match=r"'71' is outside \[0, 1\]. A score; a percentage is mapped by value=percent:"
        ):
            self.load(tmp_path, "value\n71\n")
        assert self.load(tmp_path, "acc\n71\n", columns={"value": "percent:acc"})["value"].tolist() == [0.71]

    @pytest.mark.parametrize(
        ("cell", "words"),
        [
            ("0,5", "A number has a decimal point"),
            ("50%", "Leave the sign out, and map it by value=percent:COLUMN"),
            ("value", "The header stands here again: two files were joined"),
            ("True", "Say what it means: values: {value: {True: 1, …}}"),
        ],
    )
    def test_what_is_no_number_gets_the_way_out(self, tmp_path, cell, words):
        with pytest.raises(InputError, match=re.escape(words)):
            self.load(tmp_path, f'value\n1\n"{cell}"\n')

    def test_one_value_in_many_rows_is_one_fault(self, tmp_path):
        with pytest.raises(InputError) as caught:
            self.load(tmp_path, "value\n" + "P\n" * 100 + "x\n")
        assert len(caught.value.faults) == 2
        assert "line 2, column value: 'P' is not a number (and in 99 more rows)" in str(caught.value)


class TestFolders:
    def test_a_folder_is_read_at_any_depth_but_not_what_is_hidden(self, tmp_path):
        for name in ("b/c/1.csv", "a.csv", ".ipynb_checkpoints/a.csv", "b/.hidden.csv", "b/notes.txt"):
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(PLAIN, encoding="utf-8")
        (tmp_path / "b" / "up").symlink_to(tmp_path)
        assert [path.relative_to(tmp_path).as_posix() for path in expand([tmp_path])] == ["a.csv", "b/c/1.csv"]

    def test_a_link_to_nothing_is_said(self, tmp_path):
        # data that git-annex or DVC has not fetched
        (tmp_path / "a.csv").write_text(PLAIN, encoding="utf-8")
        (tmp_path / "b.csv").symlink_to(tmp_path / "nowhere")
        with pytest.raises(InputError, match=r"b\.csv: is a link to nothing"):
            expand([tmp_path])

    def test_a_folder_that_cannot_be_listed_is_said(self, tmp_path, monkeypatch):
        (tmp_path / "a.csv").write_text(PLAIN, encoding="utf-8")

        def walk(folder, onerror):
            onerror(PermissionError(13, "Permission denied", str(folder / "sub")))

        monkeypatch.setattr(os, "walk", walk)
        with pytest.raises(InputError, match=r"sub: cannot be listed \(Permission denied\)"):
            expand([tmp_path])

    def test_ids_that_differ_by_leading_zeros_are_said(self, tmp_path):
        # formats B10: mixed types of ids, 007 and 7
        schema = Schema(
            name="runs",
            measure="score",
            columns=(
                Column(name="item_id", kind="text", help="An item", required=True),
                Column(name="score", kind="number", help="A score", required=True),
            ),
        )
        (tmp_path / "a.csv").write_text("item_id,score\n007,1\n7,1\n", encoding="utf-8")
        line = read([tmp_path / "a.csv"], schema).reconciliation
        assert "ids that differ by leading zeros are different items: 007 and 7" in line
