"""The tail-shape study: the five controls called right, real severities, invariances, and what cannot be decided."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from analysis.cli.options import ask
from analysis.errors import InputError, ParameterError
from analysis.results import SCHEMA_FILE, StudyResult
from analysis.studies import tail_shape
from analysis.studies.tail_shape import Params, SizeParams
from tests.conftest import MAPPINGS, ROOT

CONTROLS = ROOT / "data" / "examples" / "tail_shape" / "controls.csv.gz"
FAST = {"bootstrap": 300, "gof_bootstrap": 199}


def run(frame: pd.DataFrame, **params: object) -> StudyResult:
    return tail_shape.run({"scores": frame}, Params(**{**FAST, **params}))


def two(one: np.ndarray, other: np.ndarray, **columns: object) -> pd.DataFrame:
    n = len(one)
    return pd.DataFrame(
        {
            "model": ["a"] * n + ["b"] * len(other),
            "item_id": [*range(n), *range(len(other))],
            "value": np.r_[one, other],
            **columns,
        }
    )


def exponential(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).exponential(size=n)


@pytest.fixture(scope="module")
def controls() -> StudyResult:
    return ask("tail-shape", [str(CONTROLS)], [], ["bootstrap=1000"], [], None, "controls").result


def unit(result: StudyResult, condition: str):
    return next(u for u in result.units if u.condition == condition)


# --- the five controls ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "killed", "verdict"),
    # what the data were made to be (data/examples/make.py)
    [
        ("sample-size illusion", "G3", "undecided"),
        ("threshold fishing", "G5", "refuse"),
        ("true difference", None, "pass"),
        ("true null", "P1", "refuse"),
    ],
)
def test_controls_are_called_right(controls: StudyResult, condition: str, killed: str | None, verdict: str) -> None:
    found = unit(controls, condition)
    assert (found.killed_by, found.verdict) == (killed, verdict)


def test_bounded_support_is_killed_raw_and_healed_by_the_logit() -> None:
    options = ["condition=bounded support", "bootstrap=300", "gof_bootstrap=199"]
    raw = ask("tail-shape", [str(CONTROLS)], [], [*options, "transform=none"], [], None, None).result
    healed = ask("tail-shape", [str(CONTROLS)], [], options, [], None, None).result
    assert raw.units[0].status == "KILL at G4"
    assert healed.units[0].gates["G4"].outcome == "pass"
    cells = dict(zip(("illusion", "bounded", "fishing"), healed.tables["false-positives"].rows[0][-3:], strict=True))
    assert cells["bounded"].startswith("yes: ")
    assert cells["bounded"].endswith("the logit heals model-a and model-b")


def test_false_positives_are_named(controls: StudyResult) -> None:
    rows = {row[0]: row[-3:] for row in controls.tables["false-positives"].rows}
    assert rows["sample-size illusion"][0].startswith("yes: a difference of .286 on 100 exceedances")
    assert rows["threshold fishing"][2].startswith("yes: ")
    assert rows["true null"] == (
        "no: difference " + rows["true null"][0].split()[2] + " on 1,000 exceedances",
        "no",
        rows["true null"][2],
    )


def test_the_published_g5_kills_a_true_difference(controls: StudyResult) -> None:
    # study spec, C: the fixed tolerance is blind to n
    assert (unit(controls, "true difference").status_paper, unit(controls, "true difference").status_corrected) == (
        "KILL at G5",
        "PASS",
    )


def test_a_killed_pair_says_what_can_be_concluded(controls: StudyResult) -> None:
    text = unit(controls, "sample-size illusion").instead
    assert "mean" in text
    assert "TVaR" in text
    assert "lie above the threshold" in text


def test_the_result_fits_the_schema(controls: StudyResult) -> None:
    jsonschema.Draft202012Validator(json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))).validate(
        json.loads(json.dumps(controls.to_json(), allow_nan=False))
    )


def test_the_paper_disputes_are_named(controls: StudyResult) -> None:
    points = {row[0]: " ".join(row) for row in controls.tables["what-holds-up"].rows}
    # study spec, sections A and D
    for point, number in {
        "Sample size (G3)": "31,400",
        "Power of P1 and P2": "2,612",
        "Overlapping intervals (P1)": ".834",
    }.items():
        assert number in points[point]


# --- what cannot be decided ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        (np.full(2000, 1.0), exponential(2000, 1), "no score lies strictly over the threshold"),
        (np.minimum(exponential(12000, 1), 3.5), exponential(12000, 2), "sit at the largest score, as under a cap"),
        (np.round(exponential(12000, 1), 1), exponential(12000, 2), "are tied"),
        (exponential(400, 1), exponential(400, 2), "fewer than 30"),
        (np.random.default_rng(1).uniform(size=12000) * 5, exponential(12000, 2), "ξ"),
    ],
)
def test_undecided_with_a_reason(one: np.ndarray, other: np.ndarray, reason: str) -> None:
    result = run(
        two(one, other), delta_mean=100, delta_tvar=100, diagnose=True, n_star="power", effect=2.0, transform="none"
    )
    assert result.gate.verdict == "undecided"
    assert reason in " ".join(clause.reason for clause in result.units[0].gates.values())


def test_models_on_different_prompts_are_undecided() -> None:
    frame = two(exponential(600, 1), exponential(600, 2))
    frame.loc[frame["model"] == "b", "item_id"] += 600
    result = run(frame)
    assert result.gate.verdict == "undecided"
    assert "the two models share 0 prompts" in result.gate.reason


def test_prompts_that_only_one_model_has_are_counted() -> None:
    result = run(two(exponential(700, 1), exponential(600, 2)))
    assert (result.units[0].shared, result.units[0].only_first, result.units[0].only_second) == (600, 100, 0)
    assert "prompts that only one model has" in {row[0] for row in result.tables["warnings"].rows}


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_scores_that_are_not_finite_follow_the_policy(value: float) -> None:
    frame = two(exponential(700, 1), exponential(700, 2))
    frame.loc[3, "value"] = value
    with pytest.raises(InputError, match="1 of 1,400 rows has no finite score"):
        run(frame)
    result = run(frame, errors="exclude")
    assert any(row[0] == "rows without a finite score" and "a 1" in row[2] for row in result.tables["warnings"].rows)


def test_an_error_is_no_score() -> None:
    frame = two(exponential(700, 1), exponential(700, 2), status="scored")
    frame.loc[:9, "status"] = "error"
    assert run(frame, errors="exclude").units[0].shared == 690


def test_one_model_is_not_enough() -> None:
    with pytest.raises(InputError, match="Two or more models"):
        run(two(exponential(100, 1), exponential(0, 1)))


def test_a_prompt_twice_is_refused() -> None:
    frame = two(exponential(100, 1), exponential(100, 2))
    with pytest.raises(InputError, match="stands twice for the same model"):
        run(pd.concat([frame, frame.tail(1)]))


def test_the_logit_needs_probabilities() -> None:
    with pytest.raises(ParameterError, match=r"logit needs scores in \[0, 1\]"):
        run(two(exponential(700, 1), exponential(700, 2)), transform="logit")


def test_an_unknown_condition_says_what_there_is() -> None:
    frame = two(exponential(100, 1), exponential(100, 2), condition="hot")
    with pytest.raises(ParameterError, match="Did you mean 'hot'"):
        run(frame, condition="hit")


# --- what must never pass ------------------------------------------------------------------------------------

OPEN = {"delta_mean": 1e6, "delta_tvar": 1e6, "stability_tolerance": 10.0, "transform": "none"}


def pareto(n: int, xi: float, seed: int) -> np.ndarray:
    return np.expm1(-xi * np.log1p(-np.random.default_rng(seed).uniform(size=n))) / xi


@pytest.mark.parametrize("method", ["paper", "corrected"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.round(exponential(12000, 1), 2), np.round(pareto(12000, 0.6, 2), 2)),  # ties
        (pareto(12000, -0.7, 1), pareto(12000, 0.6, 2)),  # no regular estimate
        (pareto(20000, 1.5, 1), pareto(20000, 0.5, 2)),  # no mean
    ],
)
def test_a_tail_without_a_statement_never_passes(method: str, one: np.ndarray, other: np.ndarray) -> None:
    result = run(two(one, other), method=method, **OPEN)
    assert result.gate.verdict == "undecided"


@pytest.mark.parametrize("method", ["paper", "corrected"])
@pytest.mark.parametrize("clusters", [1, 2, 10])
def test_few_clusters_are_undecided(method: str, clusters: int) -> None:
    frame = two(exponential(12000, 1), pareto(12000, 0.6, 2))
    frame["cluster"] = (frame["item_id"] % clusters).astype(str)
    result = run(frame, method=method, **OPEN)
    assert result.gate.verdict == "undecided"
    assert "fewer than 30" in " ".join(row[-1] or "" for row in result.tables["scales"].rows)


@pytest.mark.parametrize("method", ["paper", "corrected"])
def test_three_clusters_decide_not_even_the_means(method: str) -> None:
    # shifted by ten bands; three clusters give no interval to say so
    frame = two(exponential(1500, 1), exponential(1500, 2) + 1)
    frame["cluster"] = (frame["item_id"] % 3).astype(str)
    found = run(frame, method=method).units[0]
    assert (found.verdict, found.gates["G1"].outcome) == ("undecided", "undecided")
    assert found.gates["G1"].reason == "3 clusters, fewer than 30"


@pytest.mark.parametrize("method", ["paper", "corrected"])
def test_a_handful_of_shared_prompts_decides_nothing(method: str) -> None:
    frame = two(exponential(20, 1), exponential(20, 2) + 9)
    found = run(frame, method=method).units[0]
    assert (found.verdict, found.killed_by) == ("undecided", "G1")
    assert found.gates["G1"].reason == "20 shared prompts, fewer than 30"


def test_a_tvar_beyond_the_data_is_undecided() -> None:
    # 1,500 × (1 − .999) is one score
    found = run(two(exponential(1500, 1), exponential(1500, 2) * 9), tvar_level=0.999, delta_mean=100).units[0]
    assert found.gates["G2"].outcome == "undecided"
    assert found.gates["G2"].reason == "1 score beyond the TVaR level, fewer than 30"


def test_scores_at_exactly_the_least_number_beyond_the_tvar_level_are_enough() -> None:
    # 300 × (1 − .9) is thirty; as floats 29.99…
    assert (
        run(two(exponential(300, 1), exponential(300, 2)), tvar_level=0.9, delta_mean=100)
        .units[0]
        .gates["G2"]
        .reason.startswith("the 90 % interval")
    )


def test_attempts_on_one_prompt_are_one_exceedance() -> None:
    base = exponential(4000, 1), exponential(4000, 2)
    copied = two(np.repeat(base[0], 4), np.repeat(base[1], 4))
    copied["cluster"] = (copied["item_id"] // 4).astype(str)
    found = run(copied, diagnose=True).units[0].gates["G3"]
    # 5 % of 4,000 clusters, not of 16,000 rows
    assert found.value == "200, 200"
    assert found.outcome == "undecided"


def test_scores_whose_squares_have_no_float_are_refused() -> None:
    with pytest.raises(InputError, match=r"a score is larger than 1e\+100"):
        run(two(exponential(700, 1) * 1e200, exponential(700, 2)))


def test_a_scale_that_the_data_chose_is_said() -> None:
    uniform = [np.random.default_rng(seed).uniform(size=1500) for seed in (1, 2)]
    named = [{row[0] for row in run(two(*uniform), transform=t).tables["warnings"].rows} for t in ("auto", "logit")]
    assert ["compared as logits" in names for names in named] == [True, False]


@pytest.mark.parametrize("wrong", [{"seed": 2**63}, {"power": 0.05}, {"effect": 0.0}, {"effect": 1e9}])
def test_parameters_without_a_meaning_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Params(**wrong)


def test_alpha_sets_the_level_of_every_interval() -> None:
    frame = two(exponential(12000, 1), pareto(12000, 0.3, 2))
    strict, loose = (run(frame, alpha=alpha, diagnose=True, **OPEN).units[0].gates for alpha in (0.001, 0.2))
    for name in ("G1", "G2", "P1", "P2"):
        assert strict[name].value != loose[name].value
    assert "99.8 % interval" in strict["G1"].reason


def test_alpha_sets_the_intervals_of_every_model() -> None:
    frame = two(exponential(12000, 1), pareto(12000, 0.3, 2))
    strict, loose = (run(frame, alpha=alpha, method="paper", diagnose=True, **OPEN) for alpha in (0.001, 0.2))
    assert "99.9 % intervals of ξ" in strict.units[0].gates["P1"].reason
    for table, low, high in (("fits", "xi_low", "xi_high"), ("fits", "p_low", "p_high"), ("scan", "low", "high")):
        wide, narrow = (result.frames()[table][[low, high]].diff(axis=1)[high] for result in (strict, loose))
        assert (wide > narrow).all()


def test_the_minimum_effect_is_adjusted_over_the_pairs() -> None:
    frames = [
        pd.DataFrame({"model": name, "item_id": range(12000), "value": pareto(12000, xi, seed)})
        for name, xi, seed in (("a", 0.05, 1), ("b", 0.2, 2), ("c", 0.4, 3))
    ]
    alone = run(pd.concat(frames[:2]), diagnose=True, **OPEN).units[0].gates["P2"].value
    beside = run(pd.concat(frames), diagnose=True, **OPEN).units[0].gates["P2"].value
    assert alone.split(", p ")[0] == beside.split(", p ")[0]
    assert alone != beside


@pytest.mark.parametrize(("quantile", "band"), [(0.99, 0.02), (0.95, 0.06), (0.95, 1e-12)])
def test_a_band_that_leaves_the_unit_interval_or_is_empty_is_refused(quantile: float, band: float) -> None:
    with pytest.raises(ValueError, match="band"):
        Params(quantile=quantile, band=band, scan=[0.9, 0.99])


def test_a_scan_without_end_is_refused() -> None:
    with pytest.raises(ValueError, match="scan_step"):
        Params(scan=[0.2, 0.99], scan_step=0.001)


def test_the_published_g5_refuses_only_what_the_bootstrap_finds_unstable() -> None:
    # study spec, C: an exactly exponential tail fails the fixed tolerance at .97 in about a third of samples
    for seed in range(8):
        frame = two(exponential(30000, seed), exponential(30000, 100 + seed))
        unit = run(
            frame, method="paper", quantile=0.97, scan=[0.95, 0.99], **{**OPEN, "stability_tolerance": 0.01}
        ).units[0]
        assert unit.killed_by == "G5"
        assert unit.verdict == "undecided" or "unstable" in run(frame, quantile=0.97, **OPEN).units[0].reason


def test_an_exact_one_among_tiny_probabilities_has_a_logit() -> None:
    p = 10 ** (-20 * np.random.default_rng(1).uniform(size=3000))
    q = 10 ** (-20 * np.random.default_rng(2).uniform(size=3000))
    p[0] = 1.0
    assert run(two(p, q)).units[0].shared == 3000


def test_where_a_moved_score_lands_does_not_hang_on_a_tiny_gap() -> None:
    p = np.round(np.random.default_rng(1).uniform(size=3000), 5)
    p[:20] = 0
    moved = p.copy()
    moved[100] += 1e-14
    result = run(two(p, moved), max_tied=0.5)
    assert result.frames()["bulk"]["mean_diff"].iloc[0] == pytest.approx(0, abs=1e-9)


def test_turning_probabilities_round_keeps_the_tiny_ones() -> None:
    x = 2 * exponential(3000, 1) + 2, pareto(3000, 0.3, 2) + 2
    high = two(*(1 / (1 + np.exp(-part)) for part in x))
    low = two(*(1 / (1 + np.exp(part)) for part in x))
    up, down = run(high), run(low, direction="lower-is-worse")
    assert down.frames()["fits"]["xi"].iloc[0] == pytest.approx(up.frames()["fits"]["xi"].iloc[0], abs=1e-3)


def test_a_third_model_does_not_choose_the_scale_of_the_others() -> None:
    rng = np.random.default_rng(1)
    frame = two(rng.uniform(size=3000), rng.uniform(size=3000))
    third = pd.DataFrame({"model": "c", "item_id": range(3000), "value": exponential(3000, 3)})
    assert numbers(run(frame, diagnose=True)) == numbers(run(pd.concat([frame, third]), diagnose=True))


def test_a_prompt_in_two_clusters_is_refused() -> None:
    frame = two(exponential(700, 1), exponential(700, 2))
    frame["cluster"] = np.where(frame["model"] == "a", (frame["item_id"] // 5).astype(str), "")
    with pytest.raises(InputError, match="700 prompts stand in more than one cluster"):
        run(frame)


def test_attempts_stay_apart_from_items_of_a_like_name() -> None:
    frame = two(exponential(600, 1), exponential(600, 2), attempt="").astype({"item_id": str})
    more = pd.DataFrame(
        {"model": ["a", "b"] * 2, "item_id": ["5 #1"] * 2 + ["5"] * 2, "attempt": ["", "", "1", "1"], "value": 0.5}
    )
    assert run(pd.concat([frame[frame["item_id"] != "5"], more])).units[0].shared == 601


def test_coarse_scores_are_told_apart_from_too_few_prompts() -> None:
    scores = np.random.default_rng(1).integers(1, 11, size=12000).astype(float)
    result = run(two(scores, np.roll(scores, 1)), delta_mean=1e6, delta_tvar=1e6)
    assert "no score lies strictly over the threshold" in result.gate.reason
    assert result.frames()["sizes"]["prompts_needed"].iloc[0] is None


# --- invariances ---------------------------------------------------------------------------------------------


def numbers(result: StudyResult, pair: tuple[str, str] = ("a", "b")) -> dict:
    found = next(u for u in result.units if set(u.pair) == set(pair))
    return {k: v for k, v in asdict(found).items() if k not in {"gates", "reason"}} | {
        name: clause.value
        for name, clause in found.gates.items()
        if name not in {"P1", "P2"}  # adjusted over pairs
    }


def test_row_order_changes_nothing() -> None:
    frame = two(exponential(3000, 1), exponential(3000, 2))
    assert numbers(run(frame)) == numbers(run(frame.sample(frac=1, random_state=1)))


def test_splitting_the_file_changes_nothing(tmp_path: Path) -> None:
    frame = two(exponential(1500, 1), exponential(1500, 2))
    frame.to_csv(tmp_path / "whole.csv", index=False)
    frame[:2000].to_csv(tmp_path / "head.csv", index=False)
    frame[2000:].to_csv(tmp_path / "tail.csv", index=False)
    params = [f"{name}={value}" for name, value in FAST.items()]
    whole, parted = (
        ask("tail-shape", [str(tmp_path / f"{name}.csv") for name in names], [], params, [], None, "x").result
        for names in (["whole"], ["head", "tail"])
    )
    assert whole.units == parted.units
    assert whole.tables["fits"] == parted.tables["fits"]


def test_a_third_model_moves_no_unadjusted_number() -> None:
    frame = two(exponential(3000, 1), exponential(3000, 2))
    third = pd.DataFrame({"model": "c", "item_id": range(3000), "value": exponential(3000, 3)})
    assert numbers(run(frame, diagnose=True)) == numbers(run(pd.concat([frame, third]), diagnose=True))


def test_scaling_scores_and_bands_together_scales_sigma_alone() -> None:
    frame = two(exponential(3000, 1), exponential(3000, 2))
    one = run(frame, delta_mean=0.1, delta_tvar=0.2)
    scaled = run(frame.assign(value=frame["value"] * 8), delta_mean=0.8, delta_tvar=1.6)
    assert one.units[0].status == scaled.units[0].status
    for left, right in zip(one.frames()["fits"].itertuples(), scaled.frames()["fits"].itertuples(), strict=True):
        assert right.xi == pytest.approx(left.xi, abs=1e-9)
        assert right.sigma == pytest.approx(8 * left.sigma, rel=1e-9)


def test_relabelling_turns_the_differences_round() -> None:
    frame = two(exponential(3000, 1), exponential(3000, 2))
    swapped = frame.assign(model=frame["model"].map({"a": "b", "b": "a"}))
    one, other = run(frame).frames()["bulk"].iloc[0], run(swapped).frames()["bulk"].iloc[0]
    assert one["mean_diff"] == pytest.approx(-other["mean_diff"], abs=1e-12)
    assert one["tvar_low"] == pytest.approx(-other["tvar_high"], abs=1e-12)
    assert run(frame).units[0].status == run(swapped).units[0].status


def test_the_seed_is_used_and_repeats() -> None:
    frame = two(exponential(3000, 1), exponential(3000, 2))
    values = [run(frame, seed=seed).units[0].gates["G2"].value for seed in (0, 0, 1)]
    assert values[0] == values[1] != values[2]


def test_clusters_of_one_are_prompts_and_copies_widen_the_interval() -> None:
    base = exponential(1500, 1), exponential(1500, 2)
    single = run(two(*base)).frames()["bulk"].iloc[0]
    copied = two(np.repeat(base[0], 4), np.repeat(base[1], 4))
    copied["cluster"] = (copied["item_id"] // 4).astype(str)
    clustered = run(copied).frames()["bulk"].iloc[0]
    # four copies of a prompt carry no more information than one (Kish: design effect 4)
    assert clustered["mean_high"] - clustered["mean_low"] == pytest.approx(
        single["mean_high"] - single["mean_low"], rel=0.02
    )


def test_lower_is_worse_turns_the_scale() -> None:
    frame = two(exponential(3000, 1), exponential(3000, 2))
    one, turned = run(frame), run(frame.assign(value=-frame["value"]), direction="lower-is-worse")
    assert one.frames()["fits"]["xi"].tolist() == pytest.approx(turned.frames()["fits"]["xi"].tolist())


def test_requiring_a_pair() -> None:
    frame = two(exponential(3000, 1), exponential(3000, 2))
    third = pd.DataFrame({"model": "c", "item_id": range(3000), "value": exponential(3000, 3)})
    whole = pd.concat([frame, third])
    assert len(run(whole, require=[["b", "a"]]).gate.checks) == 1
    with pytest.raises(ParameterError, match="no pair"):
        run(whole, require=[["a", "d"]])


# --- sizes, registration -------------------------------------------------------------------------------------


def test_size_answers_the_papers_question() -> None:
    # study spec, D 1 and 3: 1,570 exceedances, 31,400 prompts
    sentence, _ = tail_shape.STUDY.size(SizeParams())
    assert "1,570 exceedances" in str(sentence)
    assert "31,400 prompts" in str(sentence)


def test_the_starter_rule_is_the_papers_registration() -> None:
    rule = ROOT / "data" / "rules" / "tail_shape.yml"
    params, loaded = tail_shape.STUDY.resolve([], rule)
    assert (params.delta_mean, params.delta_tvar, params.floor, params.method) == (0.10, 0.20, 0.10, "paper")
    assert loaded is not None
    assert loaded.written_before is None


# --- real severities -----------------------------------------------------------------------------------------


def real(real_data: Path, mapping: str, *paths: str, options: tuple[str, ...] = ()) -> StudyResult:
    data = [str(real_data / path) for path in paths]
    return ask("tail-shape", data, [], options, [str(MAPPINGS / f"{mapping}.yml")], None, None).result


@pytest.mark.real
def test_wmt_severities_are_fitted_as_known(real_data: Path) -> None:
    # data README: newstest2020_zhen at the .9 quantile: OPPO u 12.3333, 194, ξ −.346, β 5.375, A² .886; THUNLP 12.70, 197, −.472
    result = real(real_data, "wmt_mqm", "wmt_mqm/mqm_newstest2020_zhen.avg_seg_scores.tsv", options=("bootstrap=300",))
    fits = result.frames()["fits"].set_index("model")
    assert fits.loc["OPPO.1422", ["threshold", "n_exc", "xi", "sigma", "a2"]].tolist() == pytest.approx(
        [12.3333, 194, -0.346, 5.375, 0.886], rel=2e-3
    )
    assert fits.loc["THUNLP.1498", ["threshold", "n_exc", "xi", "sigma", "a2"]].tolist() == pytest.approx(
        [12.70, 197, -0.472, 6.499, 1.143], rel=2e-3
    )
    assert result.gate.verdict == "undecided"
    # the means that the source prints, sign turned: 5.20 and 5.34
    bulk = result.frames()["bulk"].iloc[0]
    assert (bulk["mean_first"], bulk["mean_second"]) == pytest.approx((5.20, 5.34), abs=0.005)


@pytest.mark.real
def test_unrated_segments_are_counted(real_data: Path, tmp_path: Path) -> None:
    # data README: 475 of 1002 segments per system carry the word None in newstest2021_ende
    path = real_data / "wmt_mqm" / "mqm_newstest2021_ende.avg_seg_scores.tsv"
    systems = sorted({line.split()[0] for line in path.read_text(encoding="utf-8").splitlines()[1:]})[:2]
    mapping = tmp_path / "mapping.yml"
    known = (MAPPINGS / "wmt_mqm.yml").read_text(encoding="utf-8")
    mapping.write_text(known.replace("[OPPO.1422, THUNLP.1498]", f"[{', '.join(systems)}]"), encoding="utf-8")
    result = ask("tail-shape", [str(path)], [], ["bootstrap=300"], [str(mapping)], None, None).result
    assert {unit.shared for unit in result.units} == {1002 - 475}
    lost = next(row for row in result.tables["warnings"].rows if row[0] == "rows without a finite score")
    assert lost[2].count("475") == 2


@pytest.mark.real
def test_surprisal_means_are_as_known(real_data: Path) -> None:
    # data README, computed: mean(lstm − gpt2) of sum_surprisal
    result = real(real_data, "sap_surprisal", "sap_surprisal", options=("bootstrap=200", "gof_bootstrap=99"))
    known = {"filler": 0.73170, "agreement": 0.52434, "attachment ambiguity": -0.30749, "relative clause": 0.13992}
    bulk = result.frames()["bulk"].set_index("group")
    for condition, difference in known.items():
        assert -bulk.loc[condition, "mean_diff"] == pytest.approx(difference, abs=1e-5)
    # far below the exceedances that a difference of .1 needs
    assert {u.verdict for u in result.units} == {"undecided"}


@pytest.mark.real
def test_answer_lengths_under_a_token_cap_are_no_tail(real_data: Path) -> None:
    # data README, u = .95 quantile: Llama-3-8B 1286, 587, ξ .001, β 52.6, A² 1.21; Llama-3.1-8B 4176.45, 602, −.497, 5420, 20.5
    names = ("Meta-Llama-3-8B", "Meta-Llama-3_1-8B")
    paths = [f"mmlu_pro_greedy/model_outputs_{name}_5shots.json" for name in names]
    result = real(real_data, "mmlu_pro_greedy", *paths, options=("bootstrap=300", "diagnose=true"))
    fits = result.frames()["fits"].set_index("model")
    assert fits.loc["Llama-3-8B", ["threshold", "n_exc", "sigma", "a2"]].tolist() == pytest.approx(
        [1286, 587, 52.6, 1.21], rel=5e-3
    )
    assert fits.loc["Llama-3-8B", "xi"] == pytest.approx(0.001, abs=1e-3)
    assert fits.loc["Llama-3.1-8B", ["threshold", "n_exc", "xi", "sigma", "a2"]].tolist() == pytest.approx(
        [4176.45, 602, -0.497, 5420, 20.5], rel=5e-3
    )
    assert result.gate.verdict != "pass"


@pytest.mark.real
def test_judge_preferences_pile_up_and_stay_undecided(real_data: Path) -> None:
    folder = "alpaca_eval_pref/weighted_alpaca_eval_gpt4_turbo"
    result = real(
        real_data, "alpaca_eval_pref", f"{folder}/claude.json", f"{folder}/NullModel.json", options=("bootstrap=200",)
    )
    assert result.gate.verdict in {"undecided", "refuse"}
    # alpaca_eval leaderboard: 100·mean(preference − 1) of NullModel is 76.9198; turned round here
    bulk = result.frames()["bulk"].iloc[0]
    means = dict(zip(result.units[0].pair, (bulk["mean_first"], bulk["mean_second"]), strict=True))
    assert -means["NullModel"] - 1 == pytest.approx(0.769198, abs=1e-6)


def test_the_prompts_furthest_out_are_the_largest_scores() -> None:
    rng = np.random.default_rng(5)
    frame = two(rng.exponential(size=400), rng.exponential(size=400)).sample(frac=1, random_state=1)
    rows = run(frame).tables["extremes"].rows
    for name, own in frame.groupby("model"):
        top = own.nlargest(5, "value")
        assert [(row[1], row[2]) for row in rows if row[0] == name] == list(
            zip(top["item_id"].astype(str), top["value"], strict=True)
        )
