"""The recipe-card study: the paper's tables to the printed digit, real reruns with known answers, and the gate."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree
from collections import Counter
from dataclasses import asdict
from pathlib import Path

import jsonschema
import pandas as pd
import pytest

from analysis.cli.options import ask
from analysis.errors import InputError, ParameterError
from analysis.present import chart
from analysis.present.format import cell as shown
from analysis.results import SCHEMA_FILE, StudyResult
from analysis.studies import recipe_card
from analysis.studies.recipe_card import Params, cards, figures
from tests.conftest import EXAMPLE, MAPPINGS, collapsed, reruns


def run(*frames: pd.DataFrame, **params: object) -> StudyResult:
    return recipe_card.run({"runs": pd.concat(frames, ignore_index=True)}, Params(**params))


def unit(result: StudyResult, model: str, audit: str = "calibration"):
    return next(u for u in result.units if u.cell["model"] == model and u.audit == audit)


@pytest.fixture(scope="module")
def example() -> StudyResult:
    data = [f"runs={EXAMPLE / 'synthetic_runs.csv'}", f"counts={EXAMPLE / 'published_counts.csv'}"]
    return ask("recipe-card", data, [], ["chance_rate=0.5"], [], None, "example").result


# --- the paper -----------------------------------------------------------------------------------------------


def test_table_2_to_the_printed_digit(example: StudyResult) -> None:
    # recipe-cards paper, Table 2: k/59 and the printed bound; r and u as printed, s where k >= 10 (study spec, B)
    table = example.tables["published-bar-sweep"]
    assert table.texts() == [
        ["BERT-base", "0/59 / .038 r", "0/59 / .038 r", "0/59 / .038 r", "0/59 / .038 r"],
        ["DeBERTa-v3-base", "0/59 / .038 r", "1/59 / .064 r", "2/59 / .088 r", "3/59 / .110 u"],
        ["RoBERTa-base", "0/59 / .038 r", "24/59 / .499 s", "30/59 / .599 s", "46/59 / .849 s"],
    ]
    assert [column.label for column in table.columns] == ["Model", "τ = .50", "τ = .55", "τ = .60", "τ = .70"]


def test_table_3_to_the_printed_digit(example: StudyResult) -> None:
    # recipe-cards paper, Table 3 (N = 29); 6/29 is strong under the definition of the study spec
    rows = [row[:7] for row in example.tables["published-transfer"].texts()]
    assert rows == [
        ["Mistral-7B", "SST-2 → IMDB", "0/29", ".076", "29/29", "1.000", "s"],
        ["Pythia-1.4B", "SST-2 → IMDB", "0/29", ".076", "29/29", "1.000", "s"],
        ["Mistral-7B", "RTE → ANLI", "0/29", ".076", "6/29", ".335", "s"],
        ["Qwen3-14B", "RTE → ANLI", "0/29", ".076", "6/29", ".335", "s"],
        ["Pythia-160M", "SST-2 → IMDB", "0/29", ".076", "0/29", ".076", "r"],
    ]
    # τ = .50 is the chance bar of a balanced binary task: said under the table (study spec, A 3)
    assert any("a constant predictor" in note for note in example.tables["published-transfer"].notes)


def test_table_1_shows_the_published_row_beside_ours(example: StudyResult) -> None:
    table = example.tables["release-rules"]
    published = [row[-3:] for row in table.texts()]
    # recipe-cards paper, Table 1
    assert published == [
        ["27", "15", ".480"],
        ["27", "15", ".483"],
        ["27", "15", ".457"],
        ["11", "0", ".043"],
        ["9", "0", ".006"],
    ]
    # six of 59 is the first count over a budget of a tenth (exact: 59/10 = 5.9)
    assert "k ≥ 6 of 59" in table.notes[0]
    # study spec, C: .175 at β = .05 with 29 held out
    assert ".175 at β = .05" in table.notes[1]


def test_table_4_and_5_hold_the_published_rows(example: StudyResult) -> None:
    assert [row[0] for row in example.tables["artifacts"].rows[:6]] == [
        "Model cards",
        "Transferability",
        "Conformal / PAC prediction sets",
        "Conformal risk control",
        "Selective classification",
        "Recipe cards",
    ]
    recipes = {row[0]: row for row in example.tables["recipes"].rows}
    assert len(recipes) == 6
    assert recipes["Pythia-160M"][1:] == ("160M", "decoder", "QLoRA (4-bit, r = 8, α = 16)", "AdamW", "2e-4")
    assert recipes["DeBERTa-v3-base"][1:] == ("86M", "encoder", "full fine-tuning", "AdamW", "2e-5")


def test_example_has_the_shape_of_the_paper(example: StudyResult) -> None:
    calibration = [u for u in example.units if u.audit == "calibration"]
    assert len(calibration) == 36
    assert sum(u.n for u in calibration) == 2124  # 36 × 59, as the paper counts its models
    assert sorted(u.n for u in example.units if u.audit == "target") == [29] * 5


def test_the_mean_rule_ships_what_the_card_refuses() -> None:
    # study spec, A: RoBERTa-large, 11 of 59 collapsed, mean above .70, U = .268
    result = run(reruns("RoBERTa-large", [0.5] * 11 + [0.968] * 48))
    found = unit(result, "RoBERTa-large")
    assert found.mean > 0.70
    assert found.upper == pytest.approx(0.268, abs=5e-4)
    rules = {row[0]: row[2] for row in result.tables["release-rules"].rows}
    assert (rules["Mean"], rules["Recipe card"]) == (1, 0)


def test_every_disputed_point_is_named(example: StudyResult) -> None:
    points = {row[0]: " ".join(row) for row in example.tables["what-holds-up"].rows}
    # numbers of the study spec, sections A to C
    for point, number in {
        "Over budget": "6 of 59",
        "Transfer table": "5 are printed, 4",
        "Bars at chance": "up to .52 (chance rate and margin): .50",
        "Sample floor": "38, 52, 65 and 78",
        "Audit sizes": "59 and 29",
        "Looking after every rerun": ".173",
        "Many cells": "56",
        "Power": ".979, .886 and .429",
        "b̄ − 2σ": ".538, .356, .127, .065 and .003",
        "strong-unsupported": "k = 10",
    }.items():
        assert number in points[point], point
    assert ".303 and .384" in points["Looking after every rerun"]


# --- statuses and the gate -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failures", "runs", "status", "verdict"),
    [
        # study spec, D: r r r u at 59 (lines 3, 7); floor 22 (line 4); strong from 10 of 59 and 6 of 29
        (0, 59, "release-supported", "pass"),
        (2, 59, "release-supported", "pass"),
        (3, 59, "unsupported", "undecided"),
        (9, 59, "unsupported", "undecided"),
        (10, 59, "strong-unsupported", "refuse"),
        (6, 29, "strong-unsupported", "refuse"),
        (5, 29, "unsupported", "undecided"),
        (0, 22, "release-supported", "pass"),
        (0, 21, "not certifiable", "undecided"),
        (59, 59, "strong-unsupported", "refuse"),
        # lower bounds .1^(1/1) = .1, not above ε, and .1^(1/2) = .316
        (1, 1, "not certifiable", "undecided"),
        (2, 2, "strong-unsupported", "refuse"),
    ],
)
def test_status_and_verdict(failures: int, runs: int, status: str, verdict: str) -> None:
    result = run(collapsed("m", failures, runs))
    assert (unit(result, "m").status, result.gate.verdict) == (status, verdict)


def test_not_certifiable_says_how_many_more_counting_the_failures_seen() -> None:
    # floor with one failure is 38 (study spec, D 4), so 18 more than 20
    found = unit(run(collapsed("m", 1, 20)), "m")
    assert (found.floor, found.still_needed) == (22, 18)
    assert "38 reruns with no further failure would support it, if that number is fixed before looking" in found.reason


def test_the_gate_is_the_worst_of_the_required_cells() -> None:
    frames = [collapsed("good", 0, 59), collapsed("unsure", 3, 59), collapsed("bad", 30, 59)]
    assert run(*frames).gate.verdict == "refuse"
    assert run(*frames, require=[{"model": "good"}, {"model": "unsure"}]).gate.verdict == "undecided"
    assert run(*frames, require=[{"model": "good"}]).gate.verdict == "pass"


def test_requiring_a_cell_that_is_not_there_is_an_error() -> None:
    with pytest.raises(ParameterError, match="no cell matches"):
        run(collapsed("good", 0, 59), require=[{"model": "god"}])


def test_a_run_exactly_at_the_bar_is_not_a_failure() -> None:
    assert unit(run(reruns("m", [0.7] * 22)), "m").k == 0


def test_a_claim_reads_the_target_audit_and_no_other() -> None:
    frames = [
        collapsed("m", 0, 59, audit="calibration", dataset="SST-2"),
        collapsed("m", 29, 29, audit="target", dataset="IMDB"),
    ]
    assert run(*frames).gate.verdict == "pass"
    assert run(*frames, claim={"dataset": "IMDB"}).gate.verdict == "refuse"
    carried = run(*frames, claim={"dataset": "ANLI"})
    assert carried.gate.verdict == "undecided"
    assert carried.units[-1].status == "refused: no target audit"
    assert carried.units[-1].upper is None
    assert carried.units[-1].still_needed is None


def test_a_claim_without_any_target_is_refused_for_every_cell() -> None:
    result = run(
        collapsed("a", 0, 59, dataset="SST-2"), collapsed("b", 0, 59, dataset="SST-2"), claim={"dataset": "IMDB"}
    )
    assert [u.status for u in result.units if u.audit == "target"] == ["refused: no target audit"] * 2
    # nothing was measured, so nothing is said about sizes
    assert "nothing can be certified" not in {row[0] for row in result.tables["warnings"].rows}


def test_a_cell_with_only_a_target_audit_says_so() -> None:
    result = run(collapsed("m", 0, 59, audit="target", dataset="IMDB"))
    assert result.gate.verdict == "undecided"
    assert "it has no calibration audit" in result.gate.reason


def test_a_refused_unit_carries_its_own_recipe() -> None:
    frames = [collapsed("a", 0, 59, optimizer="adam", dataset="A"), collapsed("b", 0, 59, optimizer="sgd", dataset="A")]
    result = run(*frames, claim={"dataset": "B"})
    assert [(u.cell["model"], u.recipe["optimizer"]) for u in result.units[2:]] == [("a", "adam"), ("b", "sgd")]


def test_a_failing_target_of_a_passing_cell_is_a_warning() -> None:
    frames = [
        collapsed("m", 0, 59, audit="calibration", dataset="SST-2"),
        collapsed("m", 29, 29, audit="target", dataset="IMDB"),
    ]
    assert ("target audit not supported", "m / 500 on IMDB") in {
        row[:2] for row in run(*frames).tables["warnings"].rows
    }


def test_two_data_sets_of_one_cell_stay_apart() -> None:
    frames = [collapsed("m", 0, 59, dataset="A"), collapsed("m", 30, 59, dataset="B")]
    result = run(*frames)
    assert [u.name for u in result.units] == ["m / 500 on A", "m / 500 on B"]
    assert [row[2] for row in result.tables["bar-sweep"].rows] == ["A", "B"]
    assert len([name for name in cards.files(result) if name.endswith("card.json")]) == 2
    assert {row[0] for row in result.tables["reruns"].rows} == {"m / 500 on A", "m / 500 on B"}


def test_runs_without_a_score_count_as_failures_and_both_bounds_are_shown() -> None:
    # W&B #8252, #5653; senpai #1220: a crashed run keeps a mid-training score
    frame = reruns("m", [0.9] * 59, status=["crashed"] * 3 + ["ok"] * 56)
    failing, excluding = unit(run(frame), "m"), unit(run(frame, errors="exclude"), "m")
    assert (failing.k, failing.n, excluding.k, excluding.n) == (3, 59, 0, 56)
    assert failing.upper == pytest.approx(0.10974, abs=1e-5)  # paper, Table 2: 3/59
    for found in (failing, excluding):
        assert found.upper_failure == failing.upper
        assert found.upper_exclude == excluding.upper


@pytest.mark.parametrize("status", ["crashed", "failed", "killed", "running"])
def test_every_status_but_ok_is_a_failure(status: str) -> None:
    assert unit(run(reruns("m", [0.9] * 30, status=[status] + ["ok"] * 29)), "m").k == 1


def test_seeds_that_did_not_converge_are_never_dropped() -> None:
    # mesh-elasticity-solver-benchmark #57: one of three seeds is null
    found = unit(run(reruns("m", [0.9, None, 0.9])), "m")
    assert (found.k, found.n, found.without_score) == (1, 3, 1)


def test_nothing_scored_is_undecided_when_left_out() -> None:
    # LightRAG #4040: a column that is all empty never becomes a score
    result = run(reruns("m", [None] * 30), errors="exclude")
    assert result.gate.verdict == "undecided"
    assert unit(result, "m").upper is None


def test_holm_over_the_required_cells() -> None:
    # three cells at 0/29: p = .9^29 = .0471; Bonferroni over two .0942 <= .10, over three .141 > .10
    two = [collapsed(name, 0, 29) for name in ("a", "b")]
    assert run(*two, family="bonferroni").gate.verdict == "pass"
    assert run(*two, collapsed("c", 0, 29), family="bonferroni").gate.verdict == "undecided"
    corrected = run(*two, collapsed("c", 0, 59), method="corrected")
    assert corrected.gate.verdict == "pass"  # Holm: .002·3, .0471·2, .0471 are all below .10


def test_any_time_reading_needs_more_reruns() -> None:
    # study spec, D 9: 34 without a failure
    assert run(collapsed("m", 0, 33), looks="anytime").gate.verdict == "undecided"
    assert run(collapsed("m", 0, 34), looks="anytime").gate.verdict == "pass"
    assert run(collapsed("m", 0, 33)).gate.verdict == "pass"


def test_any_time_reading_of_two_cells_needs_twice_the_evidence() -> None:
    # E = (1 − .9^(N+1)) / ((N+1)·.1·.9^N) without a failure: 19.2 at 42 and 20.9 at 43, against 2/.10 = 20
    for runs, verdict in ((42, "undecided"), (43, "pass")):
        frames = [collapsed(name, 0, runs) for name in ("a", "b")]
        assert run(*frames, looks="anytime", family="bonferroni").gate.verdict == verdict


def test_not_certifiable_names_the_floor_of_the_reading() -> None:
    # study spec, D 4 and 9: 22 fixed, 34 at any time
    assert "fewer than the 34 reruns" in unit(run(collapsed("m", 1, 33), looks="anytime"), "m").reason
    assert "a number not fixed beforehand needs" in unit(run(collapsed("m", 0, 33), looks="anytime"), "m").reason
    assert "fewer than the 22 reruns" in unit(run(collapsed("m", 0, 21)), "m").reason


def test_corrected_method_refuses_to_certify_a_bar_at_chance() -> None:
    frame = collapsed("m", 0, 59)
    assert run(frame, tau=0.5, chance_rate=0.5).gate.verdict == "pass"
    assert run(frame, tau=0.5, chance_rate=0.5, method="corrected").gate.verdict == "undecided"


def test_corrected_method_counts_runs_within_test_set_noise_as_failures() -> None:
    # at τ = .70 and 100 items the half width is 1.96·sqrt(.7·.3/100) = .0898
    frame = reruns("m", [0.75] * 10 + [0.9] * 49, n_items=100)
    result = run(frame, method="corrected")
    found = unit(result, "m")
    assert (found.k, found.near_bar, found.status_paper) == (0, 10, "release-supported")
    # noise may stop a release, it never refutes one: 10 of 59 as failures would be strong (study spec, D 7)
    assert (found.status_corrected, found.still_needed) == ("unsupported", None)
    assert "10 of the reruns pass by less than the noise" in found.reason
    assert result.gate.checks[0].observed == found.upper_worst


def test_noise_near_the_bar_never_makes_a_refusal() -> None:
    frame = reruns("m", [0.5] * 5 + [0.75] * 12 + [0.9] * 42, n_items=100)
    assert run(frame, method="corrected").gate.verdict == "undecided"


@pytest.mark.parametrize(("family", "looks"), [("bonferroni", "fixed"), ("none", "anytime"), ("holm", "anytime")])
def test_the_published_status_does_not_follow_the_corrections(family: str, looks: str) -> None:
    frames = [collapsed(f"m{i}", 2, 59) for i in range(40)]
    result = run(*frames, family=family, looks=looks)
    assert {u.status_paper for u in result.units} == {"release-supported"}
    assert result.gate.verdict == "undecided"
    # the clause names what decided: the adjusted p or the e-value, not the bound
    assert all(check.observed != u.upper for check, u in zip(result.gate.checks, result.units, strict=True))


def test_the_margin_above_chance_is_asked_for() -> None:
    frame = reruns("m", [0.51] * 59)
    passed = run(frame, tau=0.505, bars=[0.505], chance_rate=0.5)
    assert "bar at chance" in {row[0] for row in passed.tables["warnings"].rows}
    assert run(frame, tau=0.505, chance_rate=0.5, method="corrected").gate.verdict == "undecided"


def test_a_chance_rate_in_percent_is_refused() -> None:
    with pytest.raises(ValueError, match="chance_rate = 50 is outside"):
        Params(chance_rate=50)


def test_another_score_range_needs_its_own_bar() -> None:
    with pytest.raises(ValueError, match="tau and bars must be given in its units"):
        Params(score_range=[0, 100])
    assert Params(score_range=[0, 100], tau=85, bars=[80, 85]).tau == 85


@pytest.mark.parametrize("claim", [{}, {"dataset": " "}, {"": "x"}])
def test_an_empty_claim_is_refused(claim: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="claim names nothing"):
        Params(claim=claim)


def test_a_seed_that_json_readers_would_round_is_refused() -> None:
    with pytest.raises(ValueError, match="seed"):
        Params(seed=2**63)


def test_over_budget_count_is_exact_and_can_be_overridden() -> None:
    # 3/30 > .1 is false in exact arithmetic; as floats .30000000000000004 > .3 is the trap
    frame = collapsed("m", 3, 30)
    rules = {row[0]: row[3] for row in run(frame).tables["release-rules"].rows}
    assert rules["Mean"] == 0
    rules = {row[0]: row[3] for row in run(frame, over_budget_count=3).tables["release-rules"].rows}
    assert rules["Mean"] == 1


# --- invariances ---------------------------------------------------------------------------------------------


def test_row_order_changes_nothing_but_the_digest() -> None:
    frame = pd.concat([collapsed("a", 5, 59), collapsed("b", 12, 59)], ignore_index=True)
    shuffled = frame.sample(frac=1, random_state=7).reset_index(drop=True)
    one, two = (recipe_card.run({"runs": f}, Params()).to_json() for f in (frame, shuffled))
    for key in ("gate", "headline", "units", "figures"):
        assert one[key] == two[key]
    assert {k: v for k, v in one["tables"].items() if k != "inputs"} == {
        k: v for k, v in two["tables"].items() if k != "inputs"
    }


def test_adding_a_cell_moves_no_other_unit() -> None:
    alone = run(collapsed("a", 5, 59))
    beside = run(collapsed("a", 5, 59), collapsed("z", 20, 59))
    drop = {"p_adjusted", "status_corrected"}  # these speak of the family
    one, two = ({k: v for k, v in asdict(unit(r, "a")).items() if k not in drop} for r in (alone, beside))
    assert one == two


def test_the_seed_is_used_and_the_same_seed_repeats() -> None:
    frame = collapsed("a", 6, 59)
    tables = [run(frame, seed=seed).tables["held-out"].rows for seed in (0, 0, 1)]
    assert tables[0] == tables[1] != tables[2]


def test_scores_scaled_with_the_bar_give_the_same_counts() -> None:
    frame = pd.concat([collapsed("a", 5, 59), collapsed("b", 0, 59)])
    scaled = frame.assign(score=frame["score"] * 100)
    one = run(frame)
    two = run(scaled, tau=70, bars=[50.0, 55.0, 60.0, 70.0], score_range=[0.0, 100.0])
    assert [(u.k, u.n, u.status) for u in one.units] == [(u.k, u.n, u.status) for u in two.units]


def test_no_number_is_nan_or_infinite(example: StudyResult) -> None:
    json.dumps(example.to_json(), allow_nan=False)  # raises on either


def test_largest_certifiable_bar_is_the_order_statistic() -> None:
    # 59 reruns allow two failures, so the third smallest score is the highest bar that certifies
    scores = [0.5 + i / 200 for i in range(59)]
    found = unit(run(reruns("m", scores)), "m")
    assert found.largest_bar == sorted(scores)[2]
    assert run(reruns("m", scores), tau=found.largest_bar).gate.verdict == "pass"
    assert run(reruns("m", scores), tau=found.largest_bar + 1e-9).gate.verdict == "undecided"


# --- what a careless user does -------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["_audit", "_dataset", "audit_", "n", "k", "cell"])
def test_a_cell_column_may_be_called_anything(column: str) -> None:
    frame = pd.DataFrame(
        {column: ["good"] * 200 + ["bad"] * 30, "seed": range(230), "score": [0.9] * 200 + [0.1, 0.9] * 15}
    )
    result = run(frame, cell=[column])
    assert [(u.cell[column], u.k, u.n) for u in result.units] == [("bad", 15, 30), ("good", 0, 200)]


@pytest.mark.parametrize("column", ["score", "status", "seed", "audit"])
def test_choosing_by_the_outcome_is_refused(column: str) -> None:
    with pytest.raises(ValueError, match="tells reruns apart"):
        Params(cell=["model", column])
    with pytest.raises(ValueError, match="tells reruns apart"):
        Params(claim={column: "ok"})


def test_reruns_left_out_are_in_the_headline() -> None:
    frame = reruns("m", [0.9] * 31 + [None] * 69)
    result = run(frame, errors="exclude")
    # 69 of 100 as failures: U = .751 (scipy 1.17.1, beta.ppf(.9, 70, 31))
    assert "69 reruns without a score are left out (as failures the largest upper bound is .751)" in result.headline


@pytest.mark.parametrize("name", [" m", "m ", "\tm"])
def test_blanks_around_a_name_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="has blanks around it"):
        run(collapsed(name, 0, 30))


def test_spellings_that_may_be_one_are_warned_of() -> None:
    frame = pd.concat([collapsed("A", 0, 30), collapsed("a", 9, 30)])
    assert "cells that differ in spelling only" in {row[0] for row in run(frame).tables["warnings"].rows}
    twice = pd.DataFrame({"model": "m", "budget": 5, "seed": ["3", "03", "4"], "score": 0.9})
    assert "seeds that differ in spelling only" in {row[0] for row in run(twice).tables["warnings"].rows}


@pytest.mark.parametrize("name", ["a\x1bb", "a\x00b", "a\ufffeb", "a\u2028b\x85c"])
def test_names_with_control_characters_are_shown_not_obeyed(name: str) -> None:
    result = run(collapsed(name, 3, 59))
    drawing = figures.bounds(result)
    assert xml.etree.ElementTree.fromstring(chart.svg(drawing.to_dict())) is not None


def test_a_repeated_seed_names_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("model,budget,seed,score\nm,5,1,0.9\nm,5,2,0.9\nm,5,1,0.8\n")
    with pytest.raises(
        InputError, match=r"runs.csv, line 4, column seed: '1' stands twice for the same model, budget .* line 2"
    ):
        ask("recipe-card", [str(path)], [], [], [], None, None)


def test_a_score_in_percent_is_refused_with_the_way_out(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("model,budget,seed,score\nm,5,1,71.2\n")
    with pytest.raises(InputError, match=r"runs.csv, line 2, column score: '71.2' is outside .*score_range"):
        ask("recipe-card", [str(path)], [], [], [], None, None)


def test_all_faults_of_a_file_come_at_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    path.write_text("model,budget,seed,score\nm,5,1,abc\nm,5,2,1.2\nm,5,2,0.5\n,5,3,0.5\n")
    with pytest.raises(InputError) as info:
        ask("recipe-card", [str(path)], [], [], [], None, None)
    places = [fault.place for fault in info.value.faults]
    assert places == ["line 5, column model", "line 2, column score", "line 3, column score", "line 4, column seed"]


def test_narrow_floats_stand_for_the_decimal_they_were_written_as() -> None:
    frame = reruns("m", [0.7] * 22).astype({"score": "float32"})
    assert unit(run(frame), "m").k == 0


def test_mixed_settings_inside_a_cell_are_refused() -> None:
    with pytest.raises(InputError, match="differs from 'lr=1e-5' in the same cell"):
        run(reruns("m", [0.9, 0.9], config=["lr=1e-5", "lr=3e-5"]))


def test_missing_cell_columns_offer_both_ways_out() -> None:
    frame = pd.DataFrame({"name": ["m"], "run": [1], "accuracy": [0.9]})
    with pytest.raises(
        InputError, match="--map model=name --map budget=COLUMN --map seed=run --map score=accuracy"
    ) as info:
        recipe_card.run({"runs": frame}, Params())
    assert "-p 'cell=[\"model\"]'" in str(info.value)


@pytest.mark.parametrize(
    ("columns", "what"),
    [
        ({"metric": "best_val_acc"}, "selected score"),
        ({"batch": "monday"}, "shared batches"),
    ],
)
def test_warnings_that_the_data_give(columns: dict[str, object], what: str) -> None:
    result = run(collapsed("m", 2, 59, **columns))
    assert what in {row[0] for row in result.tables["warnings"].rows}


def test_the_best_of_seeds_is_noticed_from_the_mapped_name(tmp_path: Path) -> None:
    # transformers #391, SimCSE #63: papers report the best seed
    path = tmp_path / "runs.csv"
    path.write_text("model,budget,seed,best_acc\nm,5,1,0.9\n")
    result = ask("recipe-card", [str(path)], ["score=best_acc"], [], [], None, None).result
    assert ("selected score", "best_acc") in {row[:2] for row in result.tables["warnings"].rows}


def test_identical_scores_are_noticed() -> None:
    assert "identical scores" in {row[0] for row in run(reruns("m", [0.9] * 30)).tables["warnings"].rows}


@pytest.mark.parametrize("metric", ["evaluation", "validity", "value", "maximal_matching"])
def test_a_name_that_only_starts_alike_is_no_selected_score(metric: str) -> None:
    result = run(collapsed("m", 2, 59, metric=metric))
    assert "selected score" not in {row[0] for row in result.tables["warnings"].rows}


def test_bars_keep_their_decimals_in_the_header() -> None:
    table = run(collapsed("m", 2, 59), bars=[0.995, 0.505, 0.51]).tables["bar-sweep"]
    # ascending, with the bar of the report among them
    assert [column.label for column in table.columns[-4:]] == ["τ = .505", "τ = .51", "τ = .70", "τ = .995"]


def test_the_signature_tells_data_apart_under_one_mapping(tmp_path: Path) -> None:
    signatures = set()
    for score in (0.9, 0.8):
        path = tmp_path / "runs.csv"
        path.write_text(f"model,budget,seed,acc\nm,5,1,{score}\n")
        signatures.add(ask("recipe-card", [str(path)], ["score=acc"], [], [], None, None).result.signature)
    assert len(signatures) == 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("m,0.5,1,29,,A,\nm,0.5,2,29,,A,\n", "stands twice"),
        ("m,0.5,1,29,calibration,A,A to B\n", "has no target row"),
        ("m,0.5,30,29,,A,\n", "is not a count"),
    ],
)
def test_published_counts_that_do_not_add_up_are_refused(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("model,tau,k,n,audit,dataset,pair\n" + rows)
    data = [str(EXAMPLE / "synthetic_runs.csv"), f"counts={path}"]
    with pytest.raises(InputError, match=message):
        asked = ask("recipe-card", data, [], [], [], None, None)
        asked.study.check(asked.inputs, asked.params)


def test_published_counts_of_two_data_sets_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("model,tau,k,n,dataset\nm,0.5,1,29,A\nm,0.5,2,29,B\n")
    data = [str(EXAMPLE / "synthetic_runs.csv"), f"counts={path}"]
    table = ask("recipe-card", data, [], [], [], None, None).result.tables["published-bar-sweep"]
    assert [(row[0], row[1]["k"]) for row in table.rows] == [("m on A", 1), ("m on B", 2)]


# --- schemas and cards ---------------------------------------------------------------------------------------


def test_result_and_cards_fit_their_schemas(example: StudyResult) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))
    validator.validate(json.loads(json.dumps(example.to_json())))
    card = jsonschema.Draft202012Validator(json.loads(cards.SCHEMA_FILE.read_text(encoding="utf-8")))
    files = cards.files(example)
    made = [json.loads(text) for name, text in files.items() if name.endswith("card.json")]
    assert len(made) == len(example.units) == 41
    for entry in made:
        card.validate(entry)


def test_a_card_carries_the_counts_of_its_cell(example: StudyResult) -> None:
    found = next(
        u for u in example.units if u.cell == {"model": "BERT-base", "budget": "500"} and u.audit == "calibration"
    )
    card = cards.as_card(found, example)
    assert (card["n"], card["k"], card["tau"], card["failure_budget"], card["delta"]) == (59, 0, 0.7, 0.1, 0.1)
    assert card["recipe"]["learning_rate"] == "2e-5"
    assert card["data"][0]["sha256"] == example.inputs[0]["sha256"]
    text = cards.as_markdown(card)
    assert "| upper bound on the failure rate, δ = .10 | .038 |" in text


# --- real reruns ---------------------------------------------------------------------------------------------


def real(real_data: Path, name: str, *options: str) -> StudyResult:
    return ask("recipe-card", [str(real_data / name)], [], options, [str(MAPPINGS / f"{name}.yml")], None, None).result


@pytest.mark.real
def test_model_recycling_nothing_may_be_certified(real_data: Path) -> None:
    # N = 20 < 22: no cell may be certified at ε = δ = .10; CP90(0/20) = .1087 (data README)
    result = real(real_data, "model_recycling_seeds")
    assert len(result.units) == 144
    assert {u.n for u in result.units} == {20}
    assert not [u for u in result.units if u.status == "release-supported"]
    assert min(u.upper for u in result.units) == pytest.approx(0.1087, abs=5e-5)
    assert "nothing can be certified" in {row[0] for row in result.tables["warnings"].rows}


@pytest.mark.real
@pytest.mark.parametrize(
    ("model", "task", "mean", "sd"),
    [
        # published score tables of the data set, in percent, ±.01
        ("bert-base-uncased", "mnli", 83.73, 0.23),
        ("bert-base-uncased", "cb", 64.38, 10.01),
        ("bert-base-uncased", "financial_phrasebank", 68.53, 10.67),
        ("roberta-base", "anli", 50.35, 4.06),
        ("google-t5-v1.1-base", "mnli", 75.51, 19.60),
        ("google-t5-v1.1-base", "cb", 55.45, 30.90),
    ],
)
def test_model_recycling_means_as_published(real_data: Path, model: str, task: str, mean: float, sd: float) -> None:
    found = next(u for u in real(real_data, "model_recycling_seeds").units if u.cell == {"model": model, "task": task})
    assert 100 * found.mean == pytest.approx(mean, abs=0.01)
    assert 100 * found.sd == pytest.approx(sd, abs=0.01)


@pytest.mark.real
def test_model_recycling_t5_mnli(real_data: Path) -> None:
    # study spec, D 15: mean .75508, 6 of 20 below .7, U = .46727
    units = real(real_data, "model_recycling_seeds").units
    found = next(u for u in units if u.cell == {"model": "google-t5-v1.1-base", "task": "mnli"})
    assert (found.k, found.n) == (6, 20)
    assert found.mean == pytest.approx(0.75508, abs=1e-5)
    assert found.upper == pytest.approx(0.46727, abs=1e-5)


@pytest.mark.real
@pytest.mark.parametrize(
    ("model", "clean"),
    # data README: tasks with zero runs below .5 accuracy, of 36
    [("bert-base-uncased", 29), ("google-t5-v1.1-base", 10), ("deberta-v3-base", 35), ("roberta-base", 31)],
)
def test_model_recycling_clean_tasks_at_half(real_data: Path, model: str, clean: int) -> None:
    units = real(real_data, "model_recycling_seeds", "tau=0.5").units
    assert sum(u.k == 0 for u in units if u.cell["model"] == model) == clean


@pytest.mark.real
def test_model_recycling_missing_metrics_are_failures(real_data: Path) -> None:
    # data README: google_t5_v1_1_base has 2 missing metrics (stsb)
    units = real(real_data, "model_recycling_seeds").units
    assert {(u.cell["model"], u.cell["task"]): u.without_score for u in units if u.without_score} == {
        ("google-t5-v1.1-base", "stsb"): 2
    }


@pytest.mark.real
@pytest.mark.parametrize(
    ("model", "mean", "sd", "k", "upper"),
    # data README, computed once with scipy 1.17
    [
        ("tdlstm", 0.64623, 0.02650, 0, 0.0046),
        ("atae", 0.63226, 0.02767, 1, 0.0078),
        ("ian", 0.63188, 0.02867, 2, 0.0106),
        ("lstm", 0.60623, 0.03027, 14, 0.0400),
        ("lstm_200", 0.58901, 0.03486, 69, 0.1598),
        ("lstm_50", 0.56790, 0.03204, 134, 0.2950),
        ("atae_50", 0.59461, 0.02531, 21, 0.0560),
    ],
)
def test_fiesta_known_answers(real_data: Path, model: str, mean: float, sd: float, k: int, upper: float) -> None:
    found = unit(real(real_data, "fiesta_tdsa_seeds"), model)
    assert (found.k, found.n) == (k, 500)
    assert found.mean == pytest.approx(mean, abs=1e-5)
    assert found.sd == pytest.approx(sd, abs=1e-5)
    assert found.upper == pytest.approx(upper, abs=5e-5)


@pytest.mark.real
def test_fiesta_verdict_names_the_two_bad_recipes(real_data: Path) -> None:
    result = real(real_data, "fiesta_tdsa_seeds")
    assert result.gate.verdict == "refuse"
    assert {u.cell["model"] for u in result.units if u.status == "strong-unsupported"} == {"lstm_200", "lstm_50"}


@pytest.mark.real
def test_ner_calibration_and_target_of_the_same_reruns(real_data: Path) -> None:
    # data README: test < .89 is 17 of 194 (CP90 .1196) for cnn, 1 of 127 (.0303) for lstm; means to five digits
    result = real(real_data, "ner_seeds")
    cnn, lstm = unit(result, "cnn", "target"), unit(result, "lstm", "target")
    assert (cnn.k, cnn.n, lstm.k, lstm.n) == (17, 194, 1, 127)
    assert cnn.upper == pytest.approx(0.1196, abs=5e-5)
    assert lstm.upper == pytest.approx(0.0303, abs=5e-5)
    assert unit(result, "cnn").mean == pytest.approx(0.93778, abs=1e-5)
    assert cnn.mean == pytest.approx(0.89661, abs=1e-5)
    assert unit(result, "lstm").mean == pytest.approx(0.93783, abs=1e-5)
    assert lstm.mean == pytest.approx(0.89779, abs=1e-5)


@pytest.mark.real
def test_ner_below_the_dev_bar(real_data: Path) -> None:
    # data README: dev < .93 is 13 for cnn and 0 for lstm
    result = real(real_data, "ner_seeds", "tau=0.93")
    assert (unit(result, "cnn").k, unit(result, "lstm").k) == (13, 0)


@pytest.mark.real
def test_ner_card_is_not_carried_over_to_the_test_set(real_data: Path) -> None:
    assert real(real_data, "ner_seeds").gate.verdict == "pass"
    claimed = real(real_data, "ner_seeds", 'claim={"dataset": "test"}')
    assert claimed.gate.verdict == "undecided"
    table = claimed.tables["transfer"]
    row = next(row for row in table.rows if row[0] == "cnn")
    assert (row[2]["k"], row[4]["k"]) == (0, 17)
    assert math.isclose(row[5], 0.1196, abs_tol=5e-5)


def test_the_shown_text_of_a_bound_is_the_papers_format() -> None:
    # recipe-cards paper, Table 2, third row, second column
    assert shown("bound", {"k": 24, "n": 59, "upper": 0.4986, "status": "s"}) == "24/59 / .499 s"


# --- the reruns behind the verdict


def test_the_failures_listed_are_those_that_are_counted(example: StudyResult) -> None:
    listed = Counter(row[0] for row in example.tables["failures"].rows)
    assert listed == Counter({unit.name: unit.k for unit in example.units if unit.k})


def test_the_page_shows_the_lowest_reruns_and_says_how_many_there_are() -> None:
    frame = pd.concat([collapsed("a", 30, 59), reruns("b", [None, *[0.9] * 58])])
    table = run(frame).tables["worst-reruns"]
    assert len(table.rows) == 20
    assert table.rows[0] == ("b / 500", "calibration", "0", None)
    assert "20 of 31" in table.notes[0]
    left_out = run(frame, errors="exclude").tables["worst-reruns"]
    assert {row[0] for row in left_out.rows} == {"a / 500"}
