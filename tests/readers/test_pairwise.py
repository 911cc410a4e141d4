"""Judges: alpaca_eval, FastChat and arena-hard; A is the baseline whatever its place was."""

import pytest

from analysis.errors import InputError
from tests.readers.logs import column, read, write_json, write_lines


def annotation(instruction, preference, **more):
    return {
        "instruction": instruction,
        "dataset": "helpful",
        "output_1": "four",
        "generator_1": "gpt4",
        "output_2": "it is four",
        "generator_2": "tuned",
        "annotator": "judge",
        "preference": preference,
        **more,
    }


class TestAlpacaEval:
    """alpaca_eval #290, #453: ties are 0 or 1.5, a failed parse is null."""

    def test_every_preference_is_a_row(self, tmp_path):
        values = [1, 2.0, 1.5, 0, None, float("nan")]
        path = write_json(tmp_path / "annotations.json", [annotation(f"q{i}", v) for i, v in enumerate(values)])
        rows, notes = read("alpaca-eval", path, table="judgements")
        assert column(rows, "winner") == ["a", "b", "tie", "tie", "fail", "fail"]
        assert column(rows[:1], "model_a", "model_b", "len_a", "len_b", "judge") == [
            ("gpt4", "tuned", "4", "10", "judge")
        ]
        assert any("position is not controlled" in note for note in notes)

    def test_grades_are_no_verdicts(self, tmp_path):
        path = write_json(tmp_path / "annotations.json", [annotation("q", 1.23), annotation("r", 2)])
        with pytest.raises(InputError, match="1 preferences lie between 1 and 2: they are grades"):
            read("alpaca-eval", path, table="judgements")

    @pytest.mark.parametrize("value", ["A", "M", [1], True, False, {"a": 1}])
    def test_what_is_no_preference_is_left_to_the_schema(self, tmp_path, value):
        path = write_json(tmp_path / "a.json", [annotation("q", value), annotation("r", 1)])
        rows, _ = read("alpaca-eval", path, table="judgements")
        assert rows[0]["winner"] not in {"a", "b", "tie", "fail", ""}

    def test_grades_of_a_judge_that_was_not_chosen_do_not_matter(self, tmp_path):
        path = write_json(tmp_path / "a.json", [annotation("q", 1), annotation("q", 1.3, annotator="weighted")])
        assert len(read("alpaca-eval", path, table="judgements", judge="judge")[0]) == 1

    def test_several_candidates_are_asked_about(self, tmp_path):
        path = write_json(tmp_path / "a.json", [annotation("q", 1), annotation("q", 2, generator_2="other")])
        with pytest.raises(InputError, match=r"holds 2 candidates: tuned \(1 row, mean 1\), other \(1 row, mean 2\)"):
            read("alpaca-eval", path, table="judgements")
        assert len(read("alpaca-eval", path, table="judgements", candidate="other")[0]) == 1


def pair(question, first, second, *, models=("base", "tuned"), turn=1):
    return {
        "question_id": question,
        "model_1": models[0],
        "model_2": models[1],
        "g1_winner": first,
        "g2_winner": second,
        "judge": ["gpt-4", "pair-v2"],
        "turn": turn,
    }


class TestFastChatPair:
    """FastChat #3911, #3252: two games, the second with the places swapped; winners are named by model."""

    def test_both_games_are_rows_and_nothing_is_flipped(self, tmp_path):
        path = write_lines(tmp_path / "gpt-4_pair.jsonl", [pair(81, "model_1", "model_2"), pair(82, "tie", "error")])
        rows, _ = read("fastchat", path, table="judgements", baseline="base")
        assert column(rows, "item_id", "order", "winner") == [
            ("81/turn 1", "AB", "a"),
            ("81/turn 1", "BA", "b"),
            ("82/turn 1", "AB", "tie"),
            ("82/turn 1", "BA", "fail"),
        ]
        assert set(column(rows, "judge", "cluster")) == {("gpt-4", "81"), ("gpt-4", "82")}

    def test_a_baseline_in_second_place_swaps_names_and_orders(self, tmp_path):
        path = write_lines(tmp_path / "p.jsonl", [pair(81, "model_1", "model_2", models=("tuned", "base"))])
        rows, _ = read("fastchat", path, table="judgements", baseline="base")
        assert column(rows, "model_a", "model_b", "order", "winner") == [
            ("base", "tuned", "BA", "b"),
            ("base", "tuned", "AB", "a"),
        ]

    @pytest.mark.parametrize("models", [("base", "tuned"), ("tuned", "base")])
    def test_a_candidate_alone_says_the_baseline_too(self, tmp_path, models):
        winner = "model_1" if models[0] == "tuned" else "model_2"
        path = write_lines(tmp_path / "p.jsonl", [pair(81, winner, "tie", models=models)])
        rows, _ = read("fastchat", path, table="judgements", candidate="tuned")
        assert column(rows, "model_a", "model_b", "winner") == [("base", "tuned", "b"), ("base", "tuned", "tie")]

    def test_a_record_that_does_not_name_both_models_is_refused(self, tmp_path):
        path = write_lines(tmp_path / "p.jsonl", [pair(81, "tie", "error", models=(None, "tuned"))])
        with pytest.raises(InputError, match="line 1: the record does not name both models"):
            read("fastchat", path, table="judgements", baseline="all")

    @pytest.mark.parametrize("winner", [["model_1"], {"a": 1}, True])
    def test_a_winner_of_another_type_is_left_to_the_schema(self, tmp_path, winner):
        path = write_lines(tmp_path / "p.jsonl", [pair(81, winner, "tie")])
        rows, _ = read("fastchat", path, table="judgements", baseline="base")
        assert rows[0]["winner"] not in {"a", "b", "tie", "fail"}

    def test_a_game_that_was_not_played_is_no_row(self, tmp_path):
        record = pair(81, "model_1", "tie")
        del record["g2_winner"]
        rows, _ = read("fastchat", write_lines(tmp_path / "p.jsonl", [record]), table="judgements", baseline="base")
        assert column(rows, "order", "winner") == [("AB", "a")]

    def test_which_of_two_is_the_baseline_is_asked(self, tmp_path):
        path = write_lines(tmp_path / "p.jsonl", [pair(81, "model_1", "model_1")])
        with pytest.raises(InputError, match=r"holds 2 baselines: base \(1 row\), tuned \(1 row\)"):
            read("fastchat", path, table="judgements")

    def test_two_turns_are_two_items_of_one_cluster(self, tmp_path):
        path = write_lines(tmp_path / "p.jsonl", [pair(81, "tie", "tie"), pair(81, "tie", "tie", turn=2)])
        rows, _ = read("fastchat", path, table="judgements", baseline="base")
        assert set(column(rows, "item_id", "cluster")) == {("81/turn 1", "81"), ("81/turn 2", "81")}

    def test_a_winner_of_another_name_is_left_to_the_schema(self, tmp_path):
        path = write_lines(tmp_path / "p.jsonl", [pair(81, "model_3", "tie")])
        assert column(read("fastchat", path, table="judgements", baseline="base")[0], "winner") == ["model_3", "tie"]


def test_fastchat_scores_of_minus_one_are_failures_of_the_judge(tmp_path):
    # FastChat #3252 and source: dropped in silence there
    one = {"question_id": 81, "model": "a", "judge": ["gpt-4", "single-v1"], "turn": 1, "score": 9.5}
    path = write_lines(
        tmp_path / "gpt-4_single.jsonl", [one, one | {"question_id": 82, "score": -1}, one | {"model": "b"}]
    )
    rows, notes = read("fastchat", path)
    assert column(rows, "model", "item_id", "value", "status") == [
        ("a", "81/turn 1", "9.5", "scored"),
        ("a", "82/turn 1", "", "unscored"),
        ("b", "81/turn 1", "9.5", "scored"),
    ]
    assert "judge failures: a 1 of 2, b 0 of 1" in notes


def test_two_judges_of_single_scores_are_two_scorers(tmp_path):
    one = {"question_id": 81, "model": "a", "judge": ["gpt-4", "single-v1"], "turn": 1, "score": 9}
    path = write_lines(tmp_path / "s.jsonl", [one, one | {"judge": "other", "score": 3}])
    with pytest.raises(InputError, match=r"holds 2 judges: gpt-4 \(1 row, mean 9\), other \(1 row, mean 3\)"):
        read("fastchat", path)
    assert column(read("fastchat", path, judge="all")[0], "scorer", "value") == [("gpt-4", "9"), ("other", "3")]


class TestArenaHard:
    """arena-hard-auto #15, #23: the second game is swapped, and ``>>`` is one verdict."""

    @pytest.mark.parametrize(
        ("first", "second", "winners"),
        [
            ("A>>B", "B>A", ["a", "a"]),
            ("B>A", "A>>B", ["b", "b"]),
            ("A=B", "A>B", ["tie", "b"]),
            (None, "B>>A", ["fail", "a"]),
        ],
    )
    def test_labels_are_turned_to_systems(self, tmp_path, first, second, winners):
        held = {"uid": "q1", "category": "hard", "judge": "gpt-4", "model": "tuned", "baseline": "base"}
        path = write_lines(tmp_path / "tuned.jsonl", [held | {"games": [{"score": first}, {"score": second}]}])
        rows, _ = read("arena-hard", path, table="judgements")
        assert column(rows, "winner") == winners
        assert column(rows, "order") == ["AB", "BA"]
        assert set(column(rows, "model_a", "model_b", "item_id")) == {("base", "tuned", "q1")}

    @pytest.mark.parametrize("games", [None, [], {}, "A>B"])
    def test_a_record_without_games_is_refused(self, tmp_path, games):
        held = {"uid": "q1", "judge": "j", "model": "tuned", "baseline": "base", "games": games}
        with pytest.raises(InputError, match="line 1: the record holds no games"):
            read("arena-hard", write_lines(tmp_path / "tuned.jsonl", [held]), table="judgements")

    def test_a_game_that_is_no_object_is_refused(self, tmp_path):
        held = {"uid": "q1", "judge": "j", "model": "tuned", "baseline": "base", "games": ["A>B"]}
        with pytest.raises(InputError, match="game 1: A>B stands where an object should"):
            read("arena-hard", write_lines(tmp_path / "tuned.jsonl", [held]), table="judgements")

    def test_old_files_name_the_judge_by_their_folder(self, tmp_path):
        held = {"question_id": "q1", "model": "tuned", "games": [{"score": "A>B"}]}
        path = write_lines(tmp_path / "gpt-4" / "tuned.jsonl", [held])
        assert column(read("arena-hard", path, table="judgements")[0], "judge", "model_a") == [("gpt-4", "baseline")]
