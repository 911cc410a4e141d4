"""Sheets for a judge: nothing in them tells who speaks, and the answers come back as verdicts on the systems."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.errors import InputError, ParameterError
from analysis.inputs import from_frame
from analysis.stats import position_bias, resolve_orders
from analysis.studies.fine_tune import Params
from analysis.studies.fine_tune.schemas import JUDGEMENTS, judgement_demands
from analysis.studies.fine_tune.sheets import blind_pairs, escaped, resolve, unescaped

SYSTEMS = ("production-v7", "tuned-v9")
LONGER = {"A": "baseline speaks at length", "B": "short"}


def outputs(n: int = 20, *, better: str = "good", worse: str = "bad", **columns) -> pd.DataFrame:
    """Items of which the candidate answers every third worse, and every fifth as the baseline does."""
    rows = []
    for i in range(n):
        texts = (better, worse) if i % 3 == 0 else (worse, better)
        texts = (worse, worse) if i % 5 == 4 else texts
        rows += [
            {"model": name, "item_id": f"ticket-{i:03}", "output": text, "prompt": f"What of this, no. {i}?", **columns}
            for name, text in zip(SYSTEMS, texts, strict=True)
        ]
    return pd.DataFrame(rows)


def sheet_of(frame, *, seed: int = 0, systems=SYSTEMS):
    return blind_pairs(frame, systems, rng=np.random.default_rng(seed))


def judged(sheet, verdict, **columns) -> pd.DataFrame:
    winner = [verdict(one, two) for one, two in zip(sheet.rows["response_1"], sheet.rows["response_2"], strict=True)]
    return sheet.rows[["row"]].assign(winner=winner, **columns)


def perfect(one: str, two: str) -> str:
    return "tie" if one == two else "1" if one == "good" else "2"


def by_order(judgements: pd.DataFrame) -> tuple[list[str], list[str]]:
    wide = judgements.pivot(index="item_id", columns="order", values="winner")
    return wide["AB"].tolist(), wide["BA"].tolist()


# ---- the sheet


def test_every_item_stands_in_both_orders():
    frame = outputs(15)
    sheet = sheet_of(frame)
    assert sheet.rows.columns.tolist() == ["row", "prompt", "response_1", "response_2"]
    assert sheet.key.columns.tolist() == ["row", "item_id", "order", "baseline", "candidate", "len_a", "len_b"]
    assert (len(sheet.rows), len(sheet.key), sheet.n_items) == (30, 30, 15)
    assert sheet.key[["baseline", "candidate"]].drop_duplicates().to_numpy().tolist() == [list(SYSTEMS)]
    said = frame.set_index(["model", "item_id"])["output"]
    prompt = frame.drop_duplicates("item_id").set_index("item_id")["prompt"]
    shown = sheet.rows.set_index("row")
    assert set(shown.index) == set(sheet.key["row"])
    for entry in sheet.key.itertuples():
        a, b = (said[name, entry.item_id] for name in SYSTEMS)
        row = shown.loc[entry.row]
        assert row["prompt"] == prompt[entry.item_id]
        assert (row["response_1"], row["response_2"]) == ((a, b) if entry.order == "AB" else (b, a))
        assert (entry.len_a, entry.len_b) == (len(a), len(b))


def test_nothing_in_the_sheet_tells_system_item_or_order():
    sheet = sheet_of(outputs(200))
    text = sheet.rows.to_csv(index=False)
    assert [word for word in (*SYSTEMS, "production", "tuned", "ticket", "baseline", "candidate") if word in text] == []
    assert sheet.rows["row"].is_unique
    assert sheet.rows["row"].str.fullmatch("r[0-9a-f]{16}").all()
    order = sheet.key.set_index("row")["order"].reindex(sheet.rows["row"])
    half = len(order) // 2
    # 200 fair coins: 60 to 140 with probability 1 − 2e-8
    assert 60 < (order.iloc[:half] == "AB").sum() < 140
    assert 60 < (order.sort_index().iloc[:half] == "AB").sum() < 140  # nor does the id


@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_orders_of_an_item_are_never_neighbours(n):
    for seed in range(60):
        sheet = sheet_of(outputs(n), seed=seed)
        items = sheet.key.set_index("row")["item_id"].reindex(sheet.rows["row"]).tolist()
        assert all(one != two for one, two in itertools.pairwise(items))
        assert sorted(items[:n]) == sorted(items[n:])


def test_the_sequence_of_items_is_mixed():
    sheet = sheet_of(outputs(100))
    items = sheet.key.set_index("row")["item_id"].reindex(sheet.rows["row"]).tolist()
    assert items[:100] != sorted(items[:100])
    assert items[:100] != items[100:]


def test_the_same_seed_gives_the_same_sheet_and_another_another():
    one, same, other = (sheet_of(outputs(), seed=seed) for seed in (3, 3, 4))
    pd.testing.assert_frame_equal(one.rows, same.rows)
    pd.testing.assert_frame_equal(one.key, same.key)
    assert not set(one.rows["row"]) & set(other.rows["row"])


def test_neither_the_rows_sequence_nor_further_items_or_systems_move_an_id():
    frame = outputs(20)
    few = sheet_of(frame[frame["item_id"] < "ticket-012"]).key.set_index(["item_id", "order"])["row"]
    many = sheet_of(
        pd.concat([frame, frame.iloc[:4].assign(model="third", output="")]).sample(frac=1, random_state=1)
    ).key
    assert few.equals(many.set_index(["item_id", "order"])["row"].loc[few.index])


def test_another_text_or_pair_never_has_the_same_id():
    # answers to an older sheet must not be taken for answers to this one
    ids = set(sheet_of(outputs(5)).rows["row"])
    changed = outputs(5).assign(output=lambda frame: frame["output"] + ".")
    assert not ids & set(sheet_of(changed).rows["row"])
    assert not ids & set(sheet_of(outputs(5), systems=SYSTEMS[::-1]).rows["row"])


def test_the_prompt_is_optional():
    sheet = sheet_of(outputs(3).drop(columns="prompt"))
    assert sheet.rows["prompt"].tolist() == [""] * 6


def test_columns_of_a_mapping_do_as_well():
    frame = outputs(4)
    pd.testing.assert_frame_equal(sheet_of(frame.to_dict("list")).rows, sheet_of(frame).rows)


@pytest.mark.parametrize("text", ["I am tuned-v9.", "PRODUCTION V7 here", "by tuned_v9", "(Tuned–v9)"])
def test_an_answer_that_names_a_system_is_counted(text):
    frame = outputs(4)
    frame.loc[frame.index[3], "output"] = text
    sheet = sheet_of(frame)
    assert (sheet.n_named, sheet.named_items) == (1, ("ticket-001",))


@pytest.mark.parametrize("text", ["mistuned-v9", "tuned-v90", "in production", "tuned well"])
def test_a_part_of_a_name_is_none(text):
    assert sheet_of(outputs(4, better=text)).n_named == 0


def test_a_name_of_signs_is_found_as_it_stands():
    frame = outputs(2, better="so (*) it is").replace({"tuned-v9": "(*)"})
    assert sheet_of(frame, systems=("production-v7", "(*)")).n_named == 2


HOSTILE = [
    "=HYPERLINK(\"http://x\")", "+1", "-1", "@cmd", "\tx", "\rx", "'=x", "'tis", 'a "quoted", cell', "two\nlines\r\nand\rmore",
    "<script>alert(1)</script>", "\x1b[31mred", "\u202eabc", "nul\x00", "𝒳 ṫ", "NaN", "None", " 007 ", "1e5",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_neither_changed_nor_lost(text):
    frame = pd.DataFrame(
        {"model": SYSTEMS, "item_id": [text.strip()] * 2, "output": [text, "plain"], "prompt": [text] * 2}
    )
    sheet = sheet_of(frame)
    assert sheet.rows["prompt"].tolist() == [text] * 2
    assert sorted(sheet.rows["response_1"]) == sorted([text, "plain"])
    found = resolve(sheet.key, judged(sheet, lambda one, _: "1" if one == "plain" else "2"))
    assert found["item_id"].tolist() == [text.strip()] * 2
    assert found["winner"].tolist() == ["B", "B"]
    assert found["len_a"].tolist() == [len(text)] * 2


@given(st.text())
def test_escaping_is_reversible(text):
    assert unescaped(escaped(text)) == text
    assert not escaped(text).startswith(tuple("=+-@\t\r"))


@given(st.text(alphabet="'=+-@\t\rab", max_size=6), st.text(alphabet="'=+-@\t\rab", max_size=6))
def test_no_two_texts_are_escaped_alike(one, two):
    assert (escaped(one) == escaped(two)) == (one == two)


# ---- what a sheet is refused for


def without(frame, model, *items):
    return frame[~((frame["model"] == model) & frame["item_id"].isin(items))]


def emptied(frame, row, text=""):
    return frame.assign(
        output=pd.Series([text if i == row else cell for i, cell in enumerate(frame["output"])], frame.index, object)
    )


FIVE = outputs(5)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (without(FIVE, "tuned-v9", "ticket-001", "ticket-003"), r"'tuned-v9' has no output for 2 items: 'ticket-001' and 'ticket-003'\. .*out for both"),
        (without(FIVE, "production-v7", "ticket-000"), "'production-v7' has no output for 1 item: 'ticket-000'"),
        (pd.concat([FIVE, FIVE.iloc[[2]]]), "row 10: 'ticket-001' stands twice for 'production-v7'"),
        (emptied(FIVE, 3), r"row 3, column output: 'tuned-v9' gave no text for 'ticket-001'\. Take the item's rows out for both"),
        (emptied(FIVE, 3, " \n"), "gave no text"),
        (emptied(FIVE, 3, None), "gave no text"),
        (FIVE[FIVE["model"] == "tuned-v9"], "no output of 'production-v7'.* Known: tuned-v9"),
        (FIVE.replace({"model": {"tuned-v9": "tuned-v10"}}), "no output of 'tuned-v9'. Did you mean 'tuned-v10'"),
        (FIVE.iloc[:0], "no rows"),
        (FIVE.rename(columns={"output": "response", "model": "system"}), "--map model=system --map output=response"),
        (FIVE.assign(prompt=[f"to {i}" for i in range(10)]), r"the prompts of 5 items differ .*: 'ticket-000', .*'ticket-004'\. "),
        (FIVE.replace({"item_id": {"ticket-001": ""}}), "row 2, column item_id: is empty"),
        (FIVE.replace({"item_id": {"ticket-001": "ticket-001 "}}), "has blanks around it"),
        (emptied(FIVE, 3, "\ud800"), "half a character"),
    ],
)  # fmt: skip
def test_a_sheet_is_refused_with_the_way_out(frame, said):
    with pytest.raises(InputError, match=said):
        sheet_of(frame)


def test_all_faults_are_told_at_once():
    with pytest.raises(InputError) as told:
        sheet_of(without(emptied(pd.concat([FIVE, FIVE.iloc[[9]]]), 1), "production-v7", "ticket-002"))
    assert len(told.value.faults) == 3


def test_many_items_are_counted_not_listed():
    many = outputs(30)
    with pytest.raises(InputError, match=r"27 items: 'ticket-003', .*'ticket-007' and 22 more"):
        sheet_of(without(many, "tuned-v9", *many["item_id"].unique()[3:]))


def test_a_fault_of_another_system_is_none_here():
    other = FIVE.assign(model="third", output="").iloc[:3]
    assert sheet_of(pd.concat([FIVE, other, other])).n_items == 5


def test_a_system_is_not_compared_with_itself():
    with pytest.raises(ParameterError, match="both 'tuned-v9'"):
        sheet_of(FIVE, systems=("tuned-v9", "tuned-v9"))


def test_a_seed_is_no_generator():
    with pytest.raises(ValueError, match="default_rng"):
        blind_pairs(FIVE, SYSTEMS, rng=0)


# ---- back to judgements


def test_a_perfect_judge_gives_the_right_wins():
    # of 20 items 4 are alike; the candidate is worse at 0 3 6 12 15 18
    sheet = sheet_of(outputs(20))
    resolved = resolve_orders(*by_order(resolve(sheet.key, judged(sheet, perfect))))
    assert (resolved.wins_a, resolved.wins_b, resolved.ties) == (6, 10, 4)
    assert (resolved.undecided, resolved.failed) == (0, 0)


@pytest.mark.parametrize(("place", "flips"), [("1", (20, 0)), ("2", (0, 20))])
def test_a_judge_of_places_gives_only_undecided(place, flips):
    sheet = sheet_of(outputs(20))
    orders = by_order(resolve(sheet.key, judged(sheet, lambda *_: place)))
    assert resolve_orders(*orders).undecided == 20
    bias = position_bias(*orders, level=0.95)
    assert (bias.first_flips, bias.second_flips) == flips


def test_the_systems_swapped_swap_the_wins():
    frame = outputs(20)
    counts = []
    for systems in (SYSTEMS, SYSTEMS[::-1]):
        sheet = sheet_of(frame, systems=systems)
        resolved = resolve_orders(*by_order(resolve(sheet.key, judged(sheet, perfect))))
        counts.append((resolved.wins_a, resolved.wins_b))
    assert counts[0] == counts[1][::-1]


def test_the_judgements_are_what_the_study_reads():
    sheet = sheet_of(outputs(6))
    found = resolve(sheet.key, judged(sheet, perfect, judge="j1"))
    assert found.columns.tolist() == ["item_id", "order", "winner", "judge", "len_a", "len_b"]
    assert found["judge"].unique().tolist() == ["j1"]
    read = from_frame(found, JUDGEMENTS, demanded=judgement_demands(Params())).frame
    assert read["winner"].str.upper().tolist() == found["winner"].str.upper().tolist()
    assert set(read["order"]) == {"ab", "ba"}
    assert found["len_a"].dtype == np.int64


def test_the_sequence_of_answers_and_other_columns_do_not_matter():
    sheet = sheet_of(outputs(6))
    answers = judged(sheet, perfect)
    mixed = answers.sample(frac=1, random_state=0).assign(prompt="x", why="longer")
    pd.testing.assert_frame_equal(resolve(sheet.key, mixed), resolve(sheet.key, answers))


@pytest.mark.parametrize(
    ("word", "winner"),
    [("1", "A"), (1, "A"), (1.0, "A"), ("Response 1", "A"), ("response_1", "A"), (" RESPONSE  2 ", "B"), ("response_2", "B"),
     ("2", "B"), (2, "B"), ("Tie", "tie"), ("tie", "tie"), ("FAIL", "fail")],
)  # fmt: skip
def test_spellings_of_a_winner(word, winner):
    sheet = sheet_of(outputs(1))
    first = sheet.key.loc[sheet.key["order"] == "AB", "row"].item()
    answers = pd.DataFrame(
        {"row": sheet.rows["row"], "winner": [word if r == first else "tie" for r in sheet.rows["row"]]}
    )
    assert resolve(sheet.key, answers)["winner"].tolist() == [winner, "tie"]


def test_several_judges_each_answer_every_row():
    sheet = sheet_of(outputs(10))
    answers = [judged(sheet, perfect, judge="model"), judged(sheet, lambda *_: "1", judge="person")]
    found = resolve(sheet.key, pd.concat(answers))
    assert found["judge"].tolist() == ["model"] * 20 + ["person"] * 20
    resolved = [resolve_orders(*by_order(own)) for _, own in found.groupby("judge")]
    assert [one.undecided for one in resolved] == [0, 10]


def test_a_judge_without_a_name_is_called_so():
    sheet = sheet_of(outputs(2))
    assert set(resolve(sheet.key, judged(sheet, perfect, judge=""))["judge"]) == {"judge"}


def test_missing_answers_are_refused_with_their_number_or_fail():
    sheet = sheet_of(outputs(10))
    answers = judged(sheet, perfect)
    answers.loc[3, "winner"] = ""  # left blank
    with pytest.raises(InputError, match="3 of 20 rows without an answer"):
        resolve(sheet.key, answers.iloc[:-2])
    found = resolve(sheet.key, answers.iloc[:-2], missing="fail")
    assert len(found) == 20
    silent = set(answers["row"].iloc[[3, 18, 19]])
    expected = sheet.key.loc[sheet.key["row"].isin(silent), ["item_id", "order"]].to_numpy().tolist()
    assert found.loc[found["winner"] == "fail", ["item_id", "order"]].to_numpy().tolist() == expected
    resolve(sheet.key, answers.iloc[[*range(3), *range(4, 20)]], missing="fail")


def some(frame, *rows, **changed):
    frame = frame.copy()
    for name, value in changed.items():
        frame.loc[frame.index[list(rows)], name] = value
    return frame


SHEET = sheet_of(FIVE)
ANSWERS = judged(SHEET, perfect)


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (some(ANSWERS, 0, 1, winner="A"), r"column winner: holds 'A' \(2 rows\)\. Write 1 or 2"),
        (some(some(ANSWERS, 0, winner="3"), 4, winner="neither"), r"holds '3' \(1 row\) and 'neither' \(1 row\)"),
        (some(ANSWERS, 0, winner="none"), r"holds 'none'"),
        (some(ANSWERS, 0, row="r0"), r"1 row not in the key: 'r0'\. Give the key"),
        (pd.concat([ANSWERS, ANSWERS.iloc[[2]]]), "1 row answered twice by the same judge: 'r"),
        (some(pd.concat([ANSWERS, ANSWERS.iloc[[2]]]), 10, winner=""), "answered twice"),
        (ANSWERS.assign(winner=""), "10 of 10 rows without an answer. Nothing was judged"),
        (ANSWERS.assign(judge=["a"] * 5 + ["b"] * 5), r"5 of 10 rows without an answer of 'a'.*give them one name"),
        (ANSWERS.rename(columns={"winner": "verdict"}), "--map winner=verdict"),
        (ANSWERS.iloc[:0], "no rows"),
    ],
)  # fmt: skip
def test_answers_are_refused_with_the_way_out(answers, said):
    with pytest.raises(InputError, match=said):
        resolve(SHEET.key, answers)


def test_nothing_judged_never_becomes_failures():
    with pytest.raises(InputError, match="Nothing was judged"):
        resolve(SHEET.key, ANSWERS.assign(winner=""), missing="fail")


def test_unknown_rows_are_refused_also_where_missing_ones_fail():
    with pytest.raises(InputError, match="not in the key"):
        resolve(SHEET.key, some(ANSWERS, 0, row="r0"), missing="fail")


def test_answers_to_another_sheet_are_refused():
    older = sheet_of(outputs(5, better="better"))
    with pytest.raises(InputError, match="8 rows not in the key"):  # one of five items is the same in both
        resolve(SHEET.key, judged(older, lambda *_: "1"))


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (SHEET.key.drop(columns="order"), "column missing: order; .*Give the key as it was written"),
        (SHEET.key.iloc[1:], "1 item not once in each order: 'ticket-000'"),
        (some(SHEET.key, 1, order="AB"), "1 item not once in each order: 'ticket-000'"),
        (some(SHEET.key, 1, order="left"), "'left' is not one of ab | ba"),
        (some(SHEET.key, 1, order=""), "column order: is empty"),
        (some(SHEET.key, 1, row=SHEET.key["row"][0]), "stands twice"),
        (some(SHEET.key, 0, 1, candidate="third"), "several pairs of systems: 'production-v7' and 'third' or"),
        (some(SHEET.key.astype({"len_a": object}), 0, len_a=""), "column len_a: is empty"),
        (some(SHEET.key.astype({"len_a": float}), 0, len_a=2.5), "no whole number"),
        (SHEET.rows, "columns missing: item_id, order"),
    ],
)
def test_a_key_that_was_changed_is_refused(key, said):
    with pytest.raises(InputError, match=said):
        resolve(key, ANSWERS)


def test_what_missing_may_be_is_listed():
    with pytest.raises(ParameterError, match=r"missing = 'drop'\. Known: refuse, fail"):
        resolve(SHEET.key, ANSWERS, missing="drop")


def test_a_key_and_answers_survive_a_way_through_pandas():
    answers = some(ANSWERS, 0, winner="")
    read = [pd.read_csv(io.StringIO(frame.to_csv(index=False))) for frame in (SHEET.key, answers)]
    pd.testing.assert_frame_equal(resolve(*read, missing="fail"), resolve(SHEET.key, answers, missing="fail"))
