"""What files are recognised as, and that every reader ends in rows or in one error, whatever it is given."""

import copy
import json
import os
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.errors import GatebookError, InputError
from analysis.readers.choices import Ask
from analysis.readers.formats import FORMATS, NAMES, read_format, recognised
from tests.readers import logs
from tests.readers.test_inspect import TestFrames as Frames
from tests.readers.test_pairwise import annotation, pair
from tests.readers.test_trackers import MLFLOW, WANDB

ARENA = {"uid": "q1", "judge": "j", "model": "m", "baseline": "b", "games": [{"score": "A>B"}, {"score": "B>A"}]}
SINGLE = {"question_id": 81, "model": "a", "judge": ["gpt-4", "single-v1"], "turn": 1, "score": 9}
INSPECT = logs.header({"accuracy": 0.5}) | {"samples": [logs.summary(1, "C"), logs.summary(2, "I")]}

JSON_FILES = {
    "results_2026-11-30T10-00-00.json": ("lm-eval", logs.results({"acc,none": 1.0})),
    "inspect.json": ("inspect", INSPECT),
    "out.json": ("promptfoo", {"evalId": "e", "results": {"version": 3, "results": [logs.row("a")]}, "config": {}}),
    "annotations.json": ("alpaca-eval", [annotation("q", 1)]),
    "wandb.json": (
        "wandb",
        [{"id": "a", "name": "a", "state": "finished", "config": {"seed": 1}, "summary": {"acc": 1}}],
    ),
}
LINE_FILES = {
    "samples_t_2026-11-30T10-00-00.jsonl": ("lm-eval", [logs.sample(0, acc=1.0), logs.sample(1, acc=0.0)]),
    "out.jsonl": ("promptfoo", [logs.row("a"), logs.row("b", reason=2)]),
    "gpt-4_pair.jsonl": ("fastchat", [pair(81, "model_1", "tie")]),
    "gpt-4_single.jsonl": ("fastchat", [SINGLE]),
    "tuned.jsonl": ("arena-hard", [ARENA]),
}
FRAME = f"{Frames.HEADER}\n{Frames.ROWS[0]}\n"
TEXT_FILES = {"mlflow.csv": ("mlflow", MLFLOW), "wandb.csv": ("wandb", WANDB), "samples.csv": ("inspect", FRAME)}
KINDS = ("attempts", "reruns", "judgements")
CHOOSE = {"metric": "all", "task": "all", "filter": "all"}


def written(folder, name):
    """One of the files above."""
    path = folder / name
    if name in JSON_FILES:
        return logs.write_json(path, JSON_FILES[name][1])
    if name in LINE_FILES:
        return logs.write_lines(path, LINE_FILES[name][1])
    path.write_text(TEXT_FILES[name][1], encoding="utf-8")
    return path


class TestRecognised:
    @pytest.mark.parametrize("name", [*JSON_FILES, *LINE_FILES, *TEXT_FILES])
    def test_every_log_is_known_by_its_keys(self, tmp_path, name):
        expected = (JSON_FILES | LINE_FILES | TEXT_FILES)[name][0]
        kind = next(iter(FORMATS[expected].reads))
        assert recognised([written(tmp_path, name)], kind) == expected

    def test_an_archive_of_inspect_is_known_by_its_name(self, tmp_path):
        path = logs.write_eval(tmp_path / "a.eval", [])
        assert recognised([path], "attempts") == "inspect"

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("a.csv", "model,item_id,value\na,1,1\n"),
            ("a.jsonl", '{"model": "a", "item_id": "1", "value": 1, "score": 2, "judge": "j"}\n'),
            ("a.json", '{"results": [1, 2]}'),
            ("a.json", '[{"a": {"eval": 1, "status": 2}}]'),  # the keys lie deeper
            ("a.json", '"eval status"'),
            ("a.json", "[[[[["),
            ("a.jsonl", ""),
            ("a.csv", "\x00\xff"),
        ],
    )
    def test_anything_else_is_a_table(self, tmp_path, name, text):
        (tmp_path / name).write_text(text, encoding="latin-1")
        assert recognised([tmp_path / name], "attempts") == "tabular"

    @pytest.mark.parametrize(
        ("names", "expected"),
        [
            ("Name,seed,score", "tabular"),
            ("Name,State,seed,score,status", "tabular"),
            ("run_id,experiment_id,status,seed,score", "tabular"),
            # the state of a tracker's run would be lost: a crashed run would count as one that passed
            ("Name,State,seed,score", "wandb"),
            ("Name,State,model,item_id,value", "wandb"),
            ("\n\n\nName,State,seed,acc", "wandb"),
        ],
    )
    def test_a_table_of_our_own_is_one_unless_it_has_a_state_of_runs(self, tmp_path, names, expected):
        (tmp_path / "a.csv").write_text(f"{names}\n", encoding="utf-8")
        assert recognised([tmp_path / "a.csv"], "reruns") == expected

    def test_a_log_of_another_table_is_a_table(self, tmp_path):
        # judgements given where attempts are read: the columns that are missing will be named
        assert recognised([written(tmp_path, "annotations.json")], "attempts") == "tabular"

    def test_files_of_several_formats_are_refused(self, tmp_path):
        files = [written(tmp_path, "inspect.json"), written(tmp_path, "out.json")]
        with pytest.raises(
            InputError, match=r"several formats: inspect \(1, inspect.json\), promptfoo \(1, out.json\)"
        ):
            recognised(files, "attempts")

    @pytest.mark.parametrize("left", ["", "\n", '{"doc_id": 0, "do'])
    def test_what_a_crash_left_of_samples_goes_with_the_other_logs(self, tmp_path, left):
        files = logs.harness(tmp_path / "a", [logs.sample(0, acc=1.0)], {"acc,none": 1.0})
        cut = tmp_path / "b" / files[1].name
        cut.parent.mkdir()
        cut.write_text(left, encoding="utf-8")
        assert recognised([*files, cut], "attempts") == "lm-eval"
        assert recognised([*files, cut], "reruns") == "lm-eval"
        own = tmp_path / "own.csv"
        own.write_text("model,item_id,value\n", encoding="utf-8")
        assert recognised([own, cut], "attempts") == "tabular"
        with pytest.raises(InputError, match="several formats"):
            recognised([*files, cut, own], "attempts")

    def test_packed_logs_are_known_too(self, tmp_path):
        import gzip

        path = written(tmp_path, "out.jsonl")
        packed = tmp_path / "out.jsonl.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        assert recognised([packed], "attempts") == "promptfoo"
        assert len(logs.read("promptfoo", packed)[0]) == 2


def test_a_format_that_does_not_give_the_table_says_what_it_gives(tmp_path):
    with pytest.raises(InputError, match="alpaca-eval gives judgements, not attempts"):
        logs.read("alpaca-eval", written(tmp_path, "annotations.json"))


def test_the_names_of_the_formats_are_those_of_the_layout():
    from typing import get_args

    from analysis.layouts import FormatName

    assert set(get_args(FormatName)) == set(NAMES)


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, monkeypatch):
    from analysis.readers import lm_eval

    path = written(tmp_path, "samples_t_2026-11-30T10-00-00.jsonl")
    real = lm_eval._records

    def slow(data):
        yield from real(data)
        with path.open("a") as more:
            more.write("\n")

    monkeypatch.setattr(lm_eval, "_records", slow)
    with pytest.raises(InputError, match="changed while it was read"):
        logs.read("lm-eval", path)


def test_a_link_to_a_log_is_the_log(tmp_path):
    path = written(tmp_path, "inspect.json")
    link = tmp_path / "link.json"
    link.symlink_to(path)
    assert len(logs.read("inspect", link)[0]) == 2


ODD = st.recursive(
    st.sampled_from(
        [
            None,
            True,
            False,
            0,
            -1,
            1e308,
            10**400,
            "",
            "NaN",
            "P",
            "x",
            "\ud800",
            "\x1b[31m",
            "=1+1",
            float("nan"),
            float("inf"),
        ]
    ),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["", "value", "id", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def places(value, path=()):
    """Paths of all nodes."""
    yield path
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in steps:
        yield from places(inner, (*path, key))


def replaced(value, path, new):
    if not path:
        return new
    held = copy.copy(value)
    held[path[0]] = replaced(held[path[0]], path[1:], new)
    return held


@st.composite
def mutated(draw, values):
    """A log of which up to three nodes became something else."""
    value = values
    for _ in range(draw(st.integers(1, 3))):
        value = replaced(value, draw(st.sampled_from(list(places(value)))), draw(ODD))
    return value


def only_rows_or_an_error(path):
    for kind in KINDS:
        for name in FORMATS:
            if kind not in FORMATS[name].reads:
                continue
            for choose in ({}, CHOOSE | {"copies": "keep", "baseline": "base"}):
                ask = Ask(table=kind, choose=choose, accept_mismatch=bool(choose), roots=[path.parent.parent])
                try:
                    tables, _ = read_format(name, [path], ask)
                except GatebookError as error:
                    assert str(error)
                    assert "\x1b" not in str(error)
                    continue
                for table in tables:
                    assert len(table.columns) == len(table.cells)
                    for cells in table.cells:
                        assert len(cells) == len(table.places)
                        "".join(cells).encode()


TRIED = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


class TestAnything:
    """Only rows or a `GatebookError` come out of any reader, on logs of which some nodes are wrong and on any bytes."""

    @pytest.mark.parametrize("name", list(JSON_FILES))
    @given(data=st.data())
    @TRIED
    def test_json(self, tmp_path, name, data):
        value = data.draw(mutated(JSON_FILES[name][1]))
        only_rows_or_an_error(logs.write_json(tmp_path / "r" / "s" / name, value))

    @pytest.mark.parametrize("name", list(LINE_FILES))
    @given(data=st.data())
    @TRIED
    def test_lines(self, tmp_path, name, data):
        values = data.draw(mutated(LINE_FILES[name][1]))
        lines = values if isinstance(values, list) else [values]
        only_rows_or_an_error(logs.write_lines(tmp_path / "r" / "s" / name, lines))

    @given(data=st.data())
    @TRIED
    def test_archives(self, tmp_path, data):
        parts = [[name, value] for name, value in logs.members(logs.header({"accuracy": 0.5}), INSPECT["samples"])]
        drawn = data.draw(mutated(parts))
        parts = [part for part in drawn if isinstance(part, list) and len(part) == 2] if isinstance(drawn, list) else []
        named = [(str(name).encode(errors="replace").decode()[:200] or "x", value) for name, value in parts]
        path = tmp_path / "a.eval"
        with zipfile.ZipFile(path, "w") as archive:
            for name, value in dict(named).items():
                archive.writestr(name, json.dumps(value))
        only_rows_or_an_error(path)

    @pytest.mark.parametrize(
        "name", ["a.json", "a.jsonl", "a.eval", "a.csv", "a.parquet", "a.arrow", "a.json.gz", "a.csv.zst"]
    )
    @given(data=st.binary(max_size=60))
    @TRIED
    def test_bytes(self, tmp_path, name, data):
        path = tmp_path / name
        path.write_bytes(data)
        only_rows_or_an_error(path)

    @pytest.mark.parametrize("method", [0, 8, 93])
    @given(at=st.integers(0, 10_000), byte=st.integers(0, 255), cut=st.booleans())
    @TRIED
    def test_damaged_archives(self, tmp_path, method, at, byte, cut):
        path = tmp_path / "a.eval"
        parts = logs.members(logs.header({"accuracy": 0.5}), INSPECT["samples"])
        whole = (
            logs.write_zstandard(path, parts) if method == 93 else logs.write_eval(path, parts, method=method)
        ).read_bytes()
        at %= len(whole)
        path.write_bytes(whole[:at] if cut else whole[:at] + bytes([byte]) + whole[at + 1 :])
        only_rows_or_an_error(path)


def test_a_record_of_megabytes_of_quotes_is_recognised_in_no_time(tmp_path):
    import time

    path = logs.write_lines(tmp_path / "a.jsonl", [{"answer": json.dumps({"a": "b"}) * 150_000, "doc_id": 1}])
    start = time.process_time()
    assert recognised([path], "attempts") == "tabular"
    assert time.process_time() - start < 5


@pytest.mark.parametrize("name", ["a.parquet", "a.csv", "a.json"])
def test_what_cannot_be_understood_is_a_table_whose_reader_says_why(tmp_path, name):
    (tmp_path / name).write_bytes(b"PAR1\xff\x00broken")
    assert recognised([tmp_path / name], "attempts") == "tabular"


@pytest.mark.parametrize("name", [*JSON_FILES, *LINE_FILES])
def test_deep_nesting_ends_in_one_error(tmp_path, name):
    path = tmp_path / name
    path.write_text('{"a":' * 100_000, encoding="utf-8")
    only_rows_or_an_error(path)


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_marks_are_no_content(tmp_path, end, mark):
    path = written(tmp_path, "samples_t_2026-11-30T10-00-00.jsonl")
    path.write_bytes(mark + path.read_bytes().replace(b"\n", end))
    assert recognised([path], "attempts") == "lm-eval"
    assert logs.column(logs.read("lm-eval", path)[0], "value") == ["1.0", "0.0"]


def test_mixed_encodings_name_line_and_byte(tmp_path):
    path = written(tmp_path, "samples_t_2026-11-30T10-00-00.jsonl")
    path.write_bytes(path.read_bytes() + b'{"doc_id": "caf\xe9"}\n')
    with pytest.raises(InputError, match="line 3: byte 0xe9 is not UTF-8"):
        logs.read("lm-eval", path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of this kind are posix")
def test_a_pipe_is_no_file(tmp_path):
    from analysis.readers.paths import expand

    os.mkfifo(tmp_path / "a.jsonl")
    with pytest.raises(InputError, match="not a regular file"):
        expand([Path(tmp_path / "a.jsonl")])
