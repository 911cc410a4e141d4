"""Files as they come: every kind of container, and every way in which one can be broken."""

import gzip
import io
import json
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import feather, ipc, parquet

from analysis.errors import InputError
from analysis.readers import files
from analysis.readers.raw import stem
from analysis.readers.tabular import read_raw

SPELLINGS = ("1.10", "007", "12e4567", "1e-3", "NO", "0.70")
cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def raw(name, data, **options):
    return read_raw(Path(name), data.encode() if isinstance(data, str) else data, **options)


def refused(name, data, **options):
    with pytest.raises(InputError) as caught:
        raw(name, data, **options)
    return str(caught.value)


def written(write, table):
    buffer = io.BytesIO()
    write(table, buffer)
    return buffer.getvalue()


def write_stream(table, sink):
    with ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)


class TestDelimited:
    @pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".tsv", "\t"), (".tab", "\t"), (".CSV", ",")])
    def test_the_suffix_chooses_the_delimiter(self, suffix, delimiter):
        table = raw(f"runs{suffix}", f"seed{delimiter}score\n1{delimiter}.5\n")
        assert (table.columns, table.rows, table.places) == (("seed", "score"), [("1", ".5")], ["line 2"])

    def test_numbers_keep_their_spelling(self):
        assert raw("a.csv", f"{','.join('abcdef')}\n{','.join(SPELLINGS)}\n").rows == [SPELLINGS]

    @pytest.mark.parametrize(
        ("given", "char"),
        [("comma", ","), ("tab", "\t"), ("\\t", "\t"), ("semicolon", ";"), ("pipe", "|"), ("space", " "), ("^", "^")],
    )
    def test_a_delimiter_is_given_by_name_or_character(self, given, char):
        assert raw("a.csv", f"a{char}b\n1{char}2\n", delimiter=given).rows == [("1", "2")]

    @pytest.mark.parametrize("given", ["", "tabs", '"', "\n", "\r"])
    def test_a_delimiter_that_cannot_part_cells_is_refused(self, given):
        assert "Known: comma tab semicolon pipe space" in refused("a.csv", "a,b\n1,2\n", delimiter=given)

    def test_without_a_header_columns_are_called_by_position(self):
        table = raw("a.csv", "x,1\ny,2\n", header=False)
        assert (table.columns, table.places) == (("#1", "#2"), ["line 1", "line 2"])

    def test_a_column_without_a_name_is_called_by_its_position(self):
        # pandas.DataFrame.to_csv leaves the name of the index column empty
        assert raw("a.csv", ",score\n0,.5\n").columns == ("#1", "score")

    def test_a_header_that_stands_twice_names_its_line(self):
        message = refused("a.csv", "\nscore, score,seed\n.1,.2,1\n")
        assert "a.csv, line 2: column names stand twice: score" in message
        assert "header: false" in message

    def test_a_hundred_thousand_columns_are_checked_in_no_time(self):
        names = [f"c{i}" for i in range(100_000)]
        assert len(raw("a.csv", ",".join(names) + "\n" + ",".join(names) + "\n").columns) == 100_000
        assert "column names stand twice: c7" in refused("a.csv", ",".join([*names, "c7"]) + "\n")

    def test_every_ragged_line_is_named(self):
        message = refused("a.csv", "a,b\n1,2\n3\n4,5,6\n")
        assert "line 3: 1 cells where the header has 2" in message
        assert "line 4: 3 cells where the header has 2" in message

    def test_an_unclosed_quote_names_the_line_it_opens_on(self):
        assert "a.csv, line 3: cannot be read" in refused("a.csv", 'a,b\n1,2\n3,"x\n4,5\n')

    def test_text_after_a_closing_quote_is_refused(self):
        assert "line 2" in refused("a.csv", 'a,b\n1,"x"y\n')

    def test_line_numbers_count_the_lines_inside_quotes(self):
        table = raw("a.csv", 'a,b\n1,"x\ny\nz"\n2,w\n')
        assert table.rows == [("1", "x\ny\nz"), ("2", "w")]
        assert table.places == ["line 2", "line 5"]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_any_line_end_is_read(self, end):
        table = raw("a.csv", f"a,b{end}1,2{end}{end}3,4")
        assert table.rows == [("1", "2"), ("3", "4")]
        assert table.places == ["line 2", "line 4"]

    def test_a_byte_order_mark_is_not_part_of_the_first_name(self):
        assert raw("a.csv", b"\xef\xbb\xbfseed,score\n1,2\n").columns == ("seed", "score")

    def test_a_cell_longer_than_the_csv_module_allows_is_read(self):
        # csv.field_size_limit() is 131,072 by default
        assert raw("a.csv", f"a\n{'x' * 200_000}\n").rows == [("x" * 200_000,)]

    def test_a_cell_of_17_megabytes_is_refused_with_its_line(self):
        assert "line 2" in refused("a.csv", f"a\n{'x' * 17_000_000}\n")

    def test_nul_bytes_stay_where_they_are(self):
        assert raw("a.csv", "a,b\n1,x\x00y\n").rows == [("1", "x\x00y")]

    def test_a_header_of_another_delimiter_gives_a_hint(self):
        assert "`delimiter: tab`" in raw("a.csv", "seed\tscore\n1\t.5\n").hint

    @given(st.lists(st.lists(cells, min_size=2, max_size=2), min_size=1, max_size=4))
    @settings(max_examples=50, deadline=None)
    def test_what_the_csv_module_writes_comes_back(self, rows):
        import csv

        buffer = io.StringIO()
        writer = csv.writer(buffer)
        writer.writerows([["a", "b"], *rows])
        assert raw("a.csv", buffer.getvalue()).rows == [tuple(row) for row in rows]


class TestJson:
    @pytest.mark.parametrize(
        ("text", "columns", "rows"),
        [
            ('[{"seed": 1, "score": 0.5}, {"score": 0.6}]', ("seed", "score"), [("1", "0.5"), ("", "0.6")]),
            ('[[0.5, "bert"], [0.6, "t5"]]', ("#1", "#2"), [("0.5", "bert"), ("0.6", "t5")]),
            ("[0.5, 0.6]", ("#1",), [("0.5",), ("0.6",)]),
            ('{"bert": [0.5, 0.6], "t5": [0.7]}', ("#1",), [("0.5",), ("0.6",), ("0.7",)]),
            ('{"a": {"score": 1}, "b": {"score": 2}}', ("score",), [("1",), ("2",)]),
            ('{"a": [{"score": 1}], "b": [{"score": 2}]}', ("score",), [("1",), ("2",)]),
        ],
    )
    def test_every_shape_of_records_is_read(self, text, columns, rows):
        table = raw("a.json", text)
        assert (table.columns, table.rows) == (columns, rows)

    def test_records_under_a_key_that_is_not_there(self):
        for text in ('{"runs": [1]}', "[1, 2]"):
            with pytest.raises(InputError, match=r"no key 'run' at its top\. Its keys: (runs|none)"):
                read_raw(Path("a.json"), text.encode(), records="run")
        with pytest.raises(InputError, match="names a key of a JSON object"):
            read_raw(Path("a.csv"), b"a\n1\n", records="run")

    def test_an_object_of_lists_says_key_and_position(self):
        table = raw("a.json", '{"bert": [0.5, 0.6], "t5": [0.7]}')
        assert table.keys == ["bert", "bert", "t5"]
        assert table.indices == ["0", "1", "0"]
        assert table.places == ["key bert, entry 0", "key bert, entry 1", "key t5, entry 0"]

    @pytest.mark.parametrize("spelling", ["1.10", "12e4567", "-0", "NaN", "1" * 5000, "0.1000000000000000055511151231"])
    def test_numbers_keep_their_spelling(self, spelling):
        assert raw("a.json", f'[{{"v": {spelling}}}]').rows == [(spelling,)]

    @pytest.mark.parametrize(
        ("value", "text"),
        [("null", ""), ("true", "true"), ("false", "false"), ('{"τ": [1.10, null]}', '{"τ": ["1.10", null]}')],
    )
    def test_values_that_are_not_text_have_one_spelling(self, value, text):
        assert raw("a.json", f'[{{"v": {value}}}]').rows == [(text,)]

    def test_lists_among_objects_take_no_name_of_theirs(self):
        table = raw("a.json", '[{"score": 1}, [2, 3]]')
        assert table.columns == ("score", "#1", "#2")
        assert table.rows == [("1", "", ""), ("", "2", "3")]

    @pytest.mark.parametrize(
        "text", ['{"bert": [0.5], "bert": [0.6]}', '[{"bert": 1, "bert": 2}]', '[{"a": {"bert": 1, "bert": 1}}]']
    )
    def test_a_key_that_stands_twice_is_refused(self, text):
        assert "a.json: the key 'bert' stands twice" in refused("a.json", text)

    def test_broken_json_names_the_line(self):
        assert "a.json, line 3: is not valid JSON" in refused("a.json", '[{"a": 1},\n{"a": 2},\n{"a"')

    @pytest.mark.parametrize("text", ["3", '"x"', "null", "true"])
    def test_a_bare_value_is_refused(self, text):
        assert "one bare value" in refused("a.json", text)

    @pytest.mark.parametrize("text", ["[]", "{}", '{"bert": []}'])
    def test_no_record_is_refused(self, text):
        assert "the file has no rows" in refused("a.json", text)

    @pytest.mark.parametrize("text", ['[{"v": "\\ud800"}]', '[{"\\ud800": 1}]', '{"\\ud800": [1]}', '["\\udfff"]'])
    def test_half_a_character_is_refused(self, text):
        assert "holds half a character" in refused("a.json", text)

    @pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
    def test_deep_nesting_ends_in_one_error(self, text):
        assert "nested too deeply" in refused("a.json", text)

    @given(st.lists(st.tuples(cells, cells), min_size=1, max_size=4))
    @settings(max_examples=50, deadline=None)
    def test_text_comes_back_from_json_and_from_json_lines(self, rows):
        records = [dict(zip("ab", row, strict=True)) for row in rows]
        lines = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
        assert raw("a.json", json.dumps(records)).rows == rows
        assert raw("a.jsonl", lines).rows == rows


class TestJsonLines:
    @pytest.mark.parametrize("suffix", [".jsonl", ".ndjson"])
    def test_blank_lines_are_passed_over_and_counted(self, suffix):
        table = raw(f"a{suffix}", '{"v": 1.10}\r\n\r\n{"v": 12e4567}\n')
        assert (table.rows, table.places) == ([("1.10",), ("12e4567",)], ["line 1", "line 3"])

    def test_a_cut_line_is_named_by_its_place_in_the_file(self):
        message = refused("a.jsonl", '{"v": 1}\n{"v": ')
        assert "a.jsonl, line 2: is not valid JSON" in message
        assert "line 1" not in message

    def test_records_that_share_no_keys_are_refused_before_they_fill_the_machine(self):
        lines = "".join(f'{{"k{i}": 1}}\n' for i in range(25_000))
        assert "Give records that share their keys" in refused("a.jsonl", lines)

    def test_a_unicode_line_separator_does_not_end_a_line(self):
        assert raw("a.jsonl", '{"v": "x\u2028y"}\n').rows == [("x\u2028y",)]


class TestColumnar:
    TABLE = pa.table({"model": ["1.10", None], "seed": [7, 8], "score": [0.1, 0.7]})
    ROWS = (("1.10", "7", "0.1"), ("", "8", "0.7"))

    @pytest.mark.parametrize(
        ("name", "write"),
        [
            ("a.parquet", parquet.write_table),
            ("a.feather", feather.write_feather),
            ("a.arrow", feather.write_feather),
            ("a.arrow", write_stream),
        ],
    )
    def test_every_container_gives_the_same_rows(self, name, write):
        table = raw(name, written(write, self.TABLE))
        assert tuple(table.rows) == self.ROWS
        assert table.places == ["record 1", "record 2"]

    def test_bytes_are_text(self):
        # without the UTF8 annotation parquet stores strings as plain binary
        assert raw("a.parquet", written(parquet.write_table, pa.table({"m": [b"bert"]}))).rows == [("bert",)]

    def test_bytes_that_are_not_utf8_are_refused(self):
        assert "a.parquet: cannot be read" in refused(
            "a.parquet", written(parquet.write_table, pa.table({"m": [b"\xff"]}))
        )

    @pytest.mark.parametrize(
        ("column", "cells"),
        [
            (pa.array(["m", None]).dictionary_encode(), ["m", ""]),
            (pa.array([[1, 2], None]), ["[1, 2]", ""]),
            (pa.array([{"a": 1}, None]), ['{"a": 1}', ""]),
        ],
    )
    def test_no_kind_is_taken_for_a_number_by_its_name(self, column, cells):
        # dictionary<values=string, indices=int32> has int in its name
        data = written(parquet.write_table, pa.table({"m": column}))
        assert raw("a.parquet", data).rows == [(cell,) for cell in cells]

    def test_a_stream_without_its_end_is_cut(self):
        data = written(write_stream, pa.table({"m": ["a", "b"]}))
        assert "the stream has no end" in refused("a.arrow", data[:-8])

    @pytest.mark.parametrize("at", range(0, 400, 23))
    def test_a_damaged_arrow_file_cannot_take_the_process_down(self, at):
        data = bytearray(written(feather.write_feather, self.TABLE))
        data[at % len(data)] ^= 0xFF
        try:
            raw("a.arrow", bytes(data))
        except InputError as error:
            assert "cannot be read" in str(error)

    def test_nested_dates_have_a_spelling(self):
        import datetime

        table = pa.table({"m": [[datetime.date(2026, 1, 2)]]})
        assert raw("a.parquet", written(parquet.write_table, table)).rows == [('["2026-01-02"]',)]

    def test_a_column_that_stands_twice_is_refused(self):
        table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
        message = refused("a.arrow", written(write_stream, table))
        assert "a.arrow: column names stand twice: a" in message
        assert "header" not in message

    @pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.feather"])
    def test_a_cut_file_is_refused(self, name):
        whole = written(parquet.write_table if name == "a.parquet" else feather.write_feather, self.TABLE)
        assert f"{name}: cannot be read" in refused(name, whole[: len(whole) // 2])

    def test_a_table_without_rows_is_refused(self):
        empty = self.TABLE.slice(0, 0)
        assert "the file has no rows" in refused("a.parquet", written(parquet.write_table, empty))


class TestCompressed:
    TEXT = b"seed,score\n1,1.10\n"

    @pytest.mark.parametrize(
        ("name", "pack"),
        [
            ("a.csv.gz", gzip.compress),
            ("a.csv.GZ", gzip.compress),
            ("a.csv.zst", zstandard.compress),
            ("a.csv.gz", lambda data: gzip.compress(data[:5]) + gzip.compress(data[5:])),
            ("a.csv.zst", lambda data: zstandard.compress(data[:5]) + zstandard.compress(data[5:])),
        ],
        ids=["gzip", "capitals", "zstandard", "gzip of two members", "zstandard of two frames"],
    )
    def test_a_packed_file_reads_like_the_file_inside(self, name, pack):
        assert raw(name, pack(self.TEXT)).rows == raw("a.csv", self.TEXT).rows

    @pytest.mark.parametrize(("name", "pack"), [("a.csv.gz", gzip.compress), ("a.csv.zst", zstandard.compress)])
    @pytest.mark.parametrize("kept", [6, -6])
    def test_a_cut_file_is_refused(self, name, pack, kept):
        text = b"seed,score\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(2000))
        assert f"{name}: cannot be unpacked" in refused(name, pack(text)[:kept])

    @pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.zst"])
    def test_a_file_that_is_not_packed_is_refused(self, name):
        assert f"{name}: cannot be unpacked" in refused(name, self.TEXT)


class TestAnyFile:
    @pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.json", "a.jsonl", "a.parquet"])
    @pytest.mark.parametrize("data", [b"", b"  \n\t\r\n"])
    def test_an_empty_file_is_refused(self, name, data):
        assert f"{name}: the file is empty" in refused(name, data)

    def test_a_packed_empty_file_is_refused(self):
        assert "a.csv.gz: the file is empty" in refused("a.csv.gz", gzip.compress(b""))

    def test_a_file_with_a_header_only_is_refused(self):
        assert "a.csv: the file has no rows" in refused("a.csv", "seed,score\n")

    @pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
    def test_broken_encoding_names_line_and_byte(self, name):
        # "é" in Latin-1
        assert f"{name}, line 3: byte 0xe9 is not UTF-8" in refused(name, b"1\n2\ncaf\xe9\n")

    def test_utf16_is_refused(self):
        assert "line 1: byte 0xff is not UTF-8" in refused("a.csv", "seed,score\n1,2\n".encode("utf-16"))

    @pytest.mark.parametrize("name", ["a.xlsx", "a", "a.csv.bz2", "a.gz\x1b"])
    def test_an_unknown_kind_lists_the_known_ones(self, name):
        message = refused(name, b"x")
        assert ".csv .tsv .tab .json .jsonl .ndjson .parquet .arrow .feather" in message
        assert "\x1b" not in message

    @pytest.mark.parametrize(
        ("name", "expected"),
        [("runs.csv", "runs"), ("runs.csv.gz", "runs"), ("a.b.json", "a.b"), ("r.TSV.ZST", "r"), ("runs", "runs")],
    )
    def test_the_stem_has_no_suffix_of_data_or_packing(self, name, expected):
        assert stem(Path(name)) == expected


def test_narrow_floats_of_parquet_keep_their_decimal(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    parquet.write_table(pa.table({"score": pa.array([0.7, None], type=pa.float32())}), buffer)
    assert read_raw(tmp_path / "runs.parquet", buffer.getvalue()).rows == [("0.7",), ("",)]


def test_a_short_list_in_a_json_list_of_lists_is_refused() -> None:
    with pytest.raises(InputError, match="record 2: 1 values where other records have 2"):
        read_raw(Path("a.json"), b"[[1, 2], [3]]")


@pytest.mark.parametrize(("suffix", "pack"), [(".gz", gzip.compress), (".zst", zstandard.ZstdCompressor().compress)])
def test_a_small_file_that_unpacks_to_too_much_is_refused(monkeypatch, suffix, pack) -> None:
    monkeypatch.setattr(files, "SPARE", 5_000_000)
    monkeypatch.setattr(files, "RATIO_LIMIT", 2)
    with pytest.raises(InputError, match="unpacks to more than"):
        read_raw(Path(f"runs.csv{suffix}"), pack(b"x" * 6_000_000))


def test_any_run_of_blanks_and_tabs_parts_cells() -> None:
    # wmt-mqm-human-evaluation: the header is parted by blanks, rows by tab and blank
    table = read_raw(Path("a.tsv"), b"system mqm seg_id\nA\t-5.0 1\nB\tNone 2\n", delimiter="whitespace")
    assert (table.columns, table.rows) == (("system", "mqm", "seg_id"), [("A", "-5.0", "1"), ("B", "None", "2")])
    assert table.places == ["line 2", "line 3"]
