"""The fine-tune comparison: the guide's example, wrong verdicts of other gates, every kind of clause, real data."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from analysis import rules
from analysis.cli.options import ask
from analysis.errors import InputError, ParameterError, RuleError, UsageError
from analysis.results import SCHEMA_FILE, StudyResult
from analysis.studies import fine_tune
from analysis.studies.fine_tune import Params, SizeParams
from tests.conftest import MAPPINGS, ROOT

EXAMPLES = ROOT / "data" / "examples" / "fine_tune"
RULE = ROOT / "data" / "rules" / "fine_tune.yml"
INPUTS = ("items", "suites", "judgements", "human")
NI_SAFETY = {"kind": "not-below", "suite": "safety", "reference": "production", "margin": 0.02}
CALIBRATED = {"kind": "judge-calibrated", "labels": 20}


def systems(**scores) -> pd.DataFrame:
    """One score per item and system, items 0, 1, 2 …"""
    return pd.concat(
        [pd.DataFrame({"model": name, "item_id": range(len(own)), "value": own}) for name, own in scores.items()],
        ignore_index=True,
    )


def pairs(n: int, lost: int, gained: int) -> pd.DataFrame:
    """Passed or failed items: ``lost`` by the candidate, ``gained`` by it, the others passed by both."""
    both = n - lost - gained
    return systems(
        production=[1] * (both + lost) + [0] * gained,
        candidate=[1] * both + [0] * lost + [1] * gained,
    )


def suite(n: int, lost: int, gained: int = 0, name: str = "safety", **columns) -> pd.DataFrame:
    return pairs(n, lost, gained).assign(suite=name, **columns)


def verdicts(first, second=None, **columns) -> pd.DataFrame:
    """Verdicts with A shown first and, where given, with B shown first."""
    orders = [("AB", first)] + ([] if second is None else [("BA", second)])
    return pd.concat(
        [pd.DataFrame({"item_id": range(len(own)), "order": order, "winner": own, **columns}) for order, own in orders],
        ignore_index=True,
    )


def labels(winners) -> pd.DataFrame:
    return pd.DataFrame({"item_id": range(len(winners)), "winner": winners})


def decision(margin: float = 0.0, *clauses, metric: str = "value", **keys) -> dict:
    """A rule: the margin of the primary metric, then guardrails and operations."""
    kinds = ("latency", "cost-per-1000-successes")
    return {
        "decision_rule": "a rule",
        "primary_metric": {"name": metric, "margin": margin},
        "guardrails": [clause for clause in clauses if clause["kind"] not in kinds],
        "operations": [clause for clause in clauses if clause["kind"] in kinds],
        "otherwise": "do not ship",
        **keys,
    }


def run(items: pd.DataFrame, rule: dict | None = None, *, params: dict | None = None, **inputs) -> StudyResult:
    chosen = {**(params or {}), **({} if rule is None else {"decision": rule})}
    return fine_tune.run({"items": items, **inputs}, Params(**chosen))


def rows(result: StudyResult, table: str) -> dict[object, dict[str, object]]:
    """Rows of a table by their first cell."""
    keys = [column.key for column in result.tables[table].columns]
    return {row[0]: dict(zip(keys, row, strict=True)) for row in result.tables[table].rows}


def outcomes(result: StudyResult, clause: str) -> tuple[str, str]:
    """Outcome of the one clause whose name starts so, by the paper's and by the corrected method."""
    (found,) = [row for name, row in rows(result, "rule").items() if name.startswith(clause)]
    return found["paper"], found["corrected"]


def unit(result: StudyResult, baseline: str = "production"):
    return next(unit for unit in result.units if unit.baseline == baseline)


def interval(result: StudyResult, baseline: str = "production") -> tuple[float, float]:
    return unit(result, baseline).ci_low, unit(result, baseline).ci_high


def warned(result: StudyResult) -> set[str]:
    return {row[0] for row in result.tables["warnings"].rows}


def checklist(result: StudyResult, words: str) -> tuple[str, str]:
    (found,) = [row[1:] for row in result.tables["checklist"].rows if words in row[0]]
    return found


def example(*options: str) -> StudyResult:
    data = [f"{name}={EXAMPLES / f'{name}.csv.gz'}" for name in INPUTS]
    return ask("fine-tune", data, [], options, [], str(RULE), None).result


def valid(result: StudyResult) -> None:
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(result.to_json(), allow_nan=False)))


@pytest.fixture(scope="module")
def paper() -> StudyResult:
    return example("method=paper")


@pytest.fixture(scope="module")
def corrected() -> StudyResult:
    return example()


class TestGuide:
    """The guide's table under its own rule: study spec, section D and "The guide's example"."""

    def test_the_paper_refuses(self, paper):
        # D15
        assert paper.gate.verdict == "refuse"
        assert outcomes(paper, "primary")[0] == "not shown"
        assert outcomes(paper, "not-below: safety")[0] == "contradicted"
        assert {unit.baseline: unit.status for unit in paper.units} == {
            "production": "shown",
            "improved-prompt": "not shown",
            "prompt-retrieval": "not shown",
        }
        assert "do not ship" in paper.headline

    def test_corrected_does_not_pass(self, corrected):
        assert corrected.gate.verdict == "undecided"
        # 497 of 500 against 500: exact p .25 = 2 · .5³
        assert outcomes(corrected, "not-below: safety") == ("contradicted", "not shown")
        assert rows(corrected, "suites")["safety"]["p_exact"] == pytest.approx(0.25, abs=1e-12)

    def test_results(self, paper):
        found = rows(paper, "results")
        expected = {
            "production": (706, 1.0, 1.6, 4.65, 900),
            "improved-prompt": (722, 1.0, 1.7, 4.90, 1400),
            "prompt-retrieval": (725, 1.0, 2.1, 5.60, 2600),
            "candidate": (746, 0.994, 0.7, 1.32, 180),
        }
        assert list(found) == list(expected)
        for system, (right, safety, p95, cost, tokens) in expected.items():
            row = found[system]
            assert (row["n"], row["score"]) == (820, pytest.approx(right / 820, abs=1e-12))
            assert (row["safety"], row["p95"], row["input_tokens"]) == pytest.approx((safety, p95, tokens), abs=1e-12)
            assert row["cost"] == pytest.approx(cost, abs=5e-5)
        assert found["candidate"]["cost_ratio"] == pytest.approx(0.284, abs=5e-4)  # 28.4 %

    @pytest.mark.parametrize(
        ("system", "low", "high", "gained", "lost"),
        [  # published intervals against production and the discordant items that they imply (inconsistency 2)
            ("candidate", 0.034, 0.064, 41, 1),
            ("improved-prompt", 0.006, 0.032, 23, 7),
            ("prompt-retrieval", 0.009, 0.037, 27, 8),
        ],
    )
    def test_intervals_against_production(self, system, low, high, gained, lost):
        data = [str(EXAMPLES / "items.csv.gz")]
        options = ["method=paper", "metric=category_accuracy", f"candidate={system}", 'baselines=["production"]']
        found = unit(ask("fine-tune", data, [], options, [], None, None).result)
        assert (found.ci_low, found.ci_high) == pytest.approx(
            (low, high), abs=0.0018
        )  # an item is .0012, rounding .0005
        assert (found.candidate_only, found.baseline_only) == (gained, lost)

    def test_p95_has_the_ranks_of_order_statistics(self):
        # D14: ranks 766 and 792 of 820
        frame = pairs(820, 0, 60)
        frame["latency_s"] = frame["item_id"] + 1.0
        row = rows(run(frame), "operations")["candidate"]
        assert row["p95_interval"] == {"low": 766.0, "high": 792.0}
        assert row["p95"] == 779.0  # the ⌈.95 · 820⌉-th

    def test_cost_per_success(self):
        # D11: $4.00 per 1,000 at .86 and $1.20 at .91
        one, two = [1] * 86 + [0] * 14, [1] * 91 + [0] * 9
        frame = systems(production=one, candidate=two)
        frame["cost_usd"] = np.where(frame["model"] == "production", 0.004, 0.0012)
        found = rows(run(frame), "operations")
        assert (found["production"]["cost"], found["candidate"]["cost"], found["candidate"]["ratio"]) == pytest.approx(
            (4.6512, 1.3187, 0.2835), abs=1e-4
        )

    def test_snippet_of_the_guide(self):
        # D6 and published D5: +12.5 % (−25.0 %, +50.0 %), b = 1, c = 2, p = 1
        frame = systems(production=[1, 0, 1, 1, 0, 1, 0, 1], candidate=[1, 1, 1, 1, 0, 1, 1, 0])
        for options in ({}, {"bootstrap": 10_000, "seed": 0}):
            found = unit(run(frame, params={"method": "paper", **options}))
            assert (found.mean_diff, found.ci_low, found.ci_high) == (0.125, -0.25, 0.5)
            assert (found.baseline_only, found.candidate_only, found.p_exact) == (1, 2, 1.0)

    def test_tango_and_exact_p(self):
        # D9
        found = unit(run(pairs(820, 24, 41)))
        assert found.p_exact == pytest.approx(0.04635, abs=1e-5)
        assert (found.ci_low, found.ci_high) == pytest.approx((0.00150, 0.04084), abs=1e-5)

    def test_the_best_that_the_example_can_show(self):
        # D10: no loss at all is not enough against +21 items of 820
        result = run(pairs(820, 0, 21), decision(0.02))
        assert interval(result)[0] == pytest.approx(0.01681, abs=1e-5)
        assert result.gate.verdict == "undecided"
        assert run(pairs(820, 0, 21), decision(0.02), params={"method": "paper"}).gate.verdict == "undecided"

    def test_disputed_points_carry_their_numbers(self, corrected):
        points = {row[0]: " ".join(row) for row in corrected.tables["what-holds-up"].rows}
        for point, numbers in {
            "The example and its own rule": (".0168", ".02", "primary: not shown"),  # inconsistency 1
            "Size of the test set": (".761", "367", ".804", "938"),  # D4, D5, D13
            "Safety not below production": ("497 of 500", ".25"),
        }.items():
            for number in numbers:
                assert number in points[point]

    def test_power_of_a_slice(self, corrected):
        # section C: a true fall of 10 points in a slice of 50 items is caught 31 % of the time
        points = {row[0]: row[2] for row in corrected.tables["what-holds-up"].rows}
        assert float(points["Slices"].rsplit(" ", 1)[1]) == pytest.approx(0.31, abs=0.01)

    def test_every_point_of_the_checklist_is_answered(self, corrected):
        answers = [row[1] for row in corrected.tables["checklist"].rows]
        assert len(answers) == 8
        assert all(answers)
        assert checklist(corrected, "beats the current system")[0] == "not shown"
        assert checklist(corrected, "power calculation in advance")[0] == "not shown"

    def test_units_hold_what_others_rely_on(self, paper):
        keys = {
            *("baseline", "candidate", "metric", "n_paired", "n_unpaired", "mean_diff", "ci_low", "ci_high"),
            *("baseline_only", "candidate_only", "p_exact", "p_mid", "status"),
        }  # study spec, names that others rely on
        assert [set(unit) for unit in paper.to_json()["units"]] == [keys] * 3

    def test_result_fits_the_schema(self, paper, corrected):
        for result in (paper, corrected):
            valid(result)


class TestKnownWrongVerdicts:
    """Verdicts of other gates on the same data that were wrong: study spec, "Known wrong verdicts"."""

    @pytest.mark.parametrize("margin", [0.0, -0.05])
    def test_a_fall_of_the_mean_score(self, margin):
        # NeMo passed it: everything above 0 counted as correct
        frame = systems(production=[0.8] * 200, candidate=[0.4] * 200)
        result = run(frame, decision(margin), params={"score_range": [0.0, 1.0]})
        assert result.gate.verdict == "refuse"
        assert "do not vary" in rows(result, "differences")["production"]["reason"]

    @pytest.mark.parametrize("spread", [0.0, 0.002])
    def test_a_drop_far_inside_the_margin(self, spread):
        # NeMo blocked it: an effect size was held against a margin in score units
        noise = np.random.default_rng(1).normal(0, 1, (2, 200)) * spread
        frame = systems(production=0.8 + noise[0], candidate=0.7985 + noise[0] + noise[1] / 4)
        assert run(frame, decision(-0.05)).gate.verdict == "pass"

    def test_flips_that_cancel(self):
        # interval ± .0055, margin .05: NeMo asked for 3,135 discordant pairs
        result = run(pairs(5000, 100, 100), decision(-0.05))
        assert result.gate.verdict == "pass"
        assert interval(result) == pytest.approx((-0.0055, 0.0055), abs=1e-4)

    @pytest.mark.parametrize("score", [0.8, 1.0, 0.0])
    def test_three_identical_items(self, score):
        result = run(systems(production=[score] * 3, candidate=[score] * 3), decision(-0.05))
        assert result.gate.verdict == "undecided"
        assert interval(result)[1] - interval(result)[0] > 1

    def test_missing_items_are_refused(self):
        frame = pairs(100, 0, 30)
        with pytest.raises(
            InputError, match=r"40 items not scored for every system: candidate lacks 40; such as 60, 61"
        ):
            run(frame[(frame["model"] == "production") | (frame["item_id"] < 60)])

    def test_missing_items_at_the_worst(self):
        # the candidate is perfect on the 60 items that it has, and lacks the hardest 40
        frame = systems(production=[1] * 50 + [0] * 50, candidate=[1] * 100)
        result = run(frame[(frame["model"] == "production") | (frame["item_id"] >= 40)], params={"unmatched": "report"})
        assert (unit(result).n_paired, unit(result).n_unpaired) == (60, 40)
        assert interval(result)[0] > 0.7
        # 50 gained, 40 lost of 100: Tango's score equation, scipy 1.17 optimize.brentq over a numerical restricted maximum
        worst = rows(result, "differences")["production"]["worst"]
        assert worst == pytest.approx({"low": -0.0854, "high": 0.2784}, abs=1e-4)
        assert result.gate.verdict == "undecided"

    @pytest.mark.parametrize("margin", [0.01, -0.01])
    def test_all_right_on_twenty_items(self, margin):
        # NeMo: GO, because the standard error is 0; problem 37: 0 discordant of 20 is ± .161
        result = run(pairs(20, 0, 0), decision(margin))
        assert result.gate.verdict == "undecided"
        assert interval(result) == pytest.approx((-0.161, 0.161), abs=5e-4)

    def test_empty_inputs(self, tmp_path):
        with pytest.raises(InputError, match="no rows"):
            run(systems(production=[], candidate=[]))
        for name, text in (("nothing.csv", ""), ("header.csv", "model,item_id,value\n")):
            (tmp_path / name).write_text(text, encoding="utf-8")
            with pytest.raises(InputError, match=f"{name}: the file (is empty|has no rows)"):
                ask("fine-tune", [str(tmp_path / name)], [], [], [], None, None)
        for folder in ("one", "two"):
            (tmp_path / folder).mkdir()
        with pytest.raises(UsageError, match="the folder holds no data file"):
            ask("fine-tune", [str(tmp_path / "one"), str(tmp_path / "two")], [], [], [], None, None)

    def test_duplicate_rows_name_the_line(self, tmp_path):
        path = tmp_path / "items.csv"
        frame = pairs(30, 1, 2)
        pd.concat([frame, frame.iloc[[3]]]).to_csv(path, index=False)
        message = r"items\.csv, line 62, column item_id: '3' stands twice for the same model \(first at line 5\)"
        with pytest.raises(InputError, match=message):
            ask("fine-tune", [str(path)], [], [], [], None, None)

    def test_a_broken_json_line_is_named(self, tmp_path):
        path = tmp_path / "items.jsonl"
        lines = pairs(30, 1, 2).to_json(orient="records", lines=True).splitlines()
        lines[6] = lines[6][:-4]
        path.write_text("\n".join(lines), encoding="utf-8")
        with pytest.raises(InputError, match=r"items\.jsonl, line 7"):
            ask("fine-tune", [str(path)], [], [], [], None, None)

    @pytest.mark.parametrize("method", ["paper", "corrected"])
    def test_a_gain_that_excludes_zero_but_not_the_margin(self, method):
        # evalsig allowed a gain of .021, interval (.001, .041), at a margin of .02
        result = run(pairs(1000, 42, 63), decision(0.02), params={"method": method})
        assert (unit(result).mean_diff, *interval(result)) == pytest.approx((0.021, 0.001, 0.041), abs=7e-4)
        assert result.gate.verdict == "undecided"

    def test_ten_points_down_within_noise(self):
        # "worse, but within noise" must not exit 0
        result = run(pairs(20, 4, 2))
        assert unit(result).mean_diff == pytest.approx(-0.1)
        assert result.gate.verdict == "undecided"


class TestPrimary:
    def test_every_outcome(self):
        for lost, gained, expected in ((0, 60, "shown"), (60, 0, "contradicted"), (12, 12, "not shown")):
            assert outcomes(run(pairs(400, lost, gained), decision()), "primary") == (expected, expected)
        in_three = pairs(400, 0, 60).assign(cluster=[f"c{i % 3}" for i in range(400)] * 2)
        assert outcomes(run(in_three, decision()), "primary")[1] == "not measured"

    @pytest.mark.parametrize(
        ("margin", "verdict"),
        # problem 48: difference −.5 points, interval (−1.6, .6): non-inferior by 2, not shown by 1
        [(-0.02, "pass"), (-0.01, "undecided"), (0.02, "refuse")],
    )
    def test_non_inferiority(self, margin, verdict):
        result = run(pairs(2000, 68, 58), decision(margin))
        assert (unit(result).mean_diff, *interval(result)) == pytest.approx((-0.005, -0.016, 0.006), abs=5e-4)
        assert result.gate.verdict == verdict

    def test_the_weakest_of_several_baselines_decides(self):
        frame = pd.concat([pairs(400, 0, 60), systems(strong=[1] * 400)])
        result = run(frame, decision())
        assert {unit.baseline: unit.status for unit in result.units} == {"production": "shown", "strong": "not shown"}
        assert result.gate.verdict == "undecided"
        only = run(frame, decision() | {"primary_metric": {"name": "value", "margin": 0.0, "against": ["production"]}})
        assert only.gate.verdict == "pass"

    def test_a_baseline_that_was_not_scored(self):
        rule = decision() | {"primary_metric": {"name": "value", "against": ["production", "prompted"]}}
        result = run(pairs(400, 0, 60), rule)
        assert outcomes(result, "primary") == ("not measured", "not measured")
        assert "prompted was not scored" in rows(result, "rule")["primary: value"]["change"]

    def test_without_a_rule(self):
        result = run(pairs(400, 0, 60))
        assert result.gate.verdict == "pass"
        assert [check.limit for check in result.gate.checks] == [0.0]
        assert "no rule was written" in warned(result)

    def test_a_baseline_that_reaches_the_candidate_ships_instead(self):
        frame = pd.concat([pairs(400, 0, 60), systems(prompted=[1] * 398 + [0] * 2)])
        found = rows(run(frame, decision(compare_against=["production", "prompted"])), "baselines")
        assert "ship it instead" in found["prompted"]["advice"]
        assert "better than this" in found["production"]["advice"]


class TestGuardrails:
    @pytest.mark.parametrize(
        ("passed", "n", "expected"),
        [  # scipy 1.17 binomtest, exact: 820/820 [.9955, 1], 995/1000 [.9884, .9984], 980/1000 [.9693, .9877]
            (820, 820, ("shown", "shown")),
            (995, 1000, ("shown", "not shown")),
            (994, 1000, ("not shown", "not shown")),
            (980, 1000, ("contradicted", "contradicted")),
        ],
    )
    def test_rate_floor(self, passed, n, expected):
        valid_rows = systems(production=[1] * n, candidate=[1] * passed + [0] * (n - passed)).assign(metric="valid")
        frame = pd.concat([pairs(n, 0, 60).assign(metric="right"), valid_rows])
        rule = decision(0.0, {"kind": "rate-floor", "metric": "valid", "at_least": 0.995}, metric="right")
        assert outcomes(run(frame, rule), "rate-floor") == expected

    def test_rate_floor_of_a_suite_and_of_nothing(self):
        rule = decision(0.0, {"kind": "rate-floor", "metric": "refused", "at_least": 0.9})
        assert outcomes(run(pairs(400, 0, 60), rule), "rate-floor") == ("not measured", "not measured")
        found = run(pairs(400, 0, 60), rule, suites=suite(500, 3, metric="refused"))
        assert outcomes(found, "rate-floor") == ("shown", "shown")

    def test_graded_scores_have_no_rate(self):
        frame = pd.concat(
            [
                pairs(100, 0, 20).assign(metric="right"),
                systems(production=[0.5] * 100, candidate=[0.9] * 100).assign(metric="fluent"),
            ]
        )
        rule = decision(0.0, {"kind": "rate-floor", "metric": "fluent", "at_least": 0.5}, metric="right")
        assert outcomes(run(frame, rule), "rate-floor") == ("not measured", "not measured")

    def test_rate_floor_of_the_primary_metric(self):
        rule = decision(0.0, {"kind": "rate-floor", "metric": "value", "at_least": 0.9})
        assert outcomes(run(pairs(400, 0, 60), rule), "rate-floor") == ("shown", "shown")

    @pytest.mark.parametrize(
        ("lost", "expected"),
        [(1, ("shown", "shown")), (15, ("contradicted", "contradicted"))],
    )
    def test_slice_floor(self, lost, expected):
        frame = self.sliced([("many", 400, 0, 60), ("few", 60, lost, 1)])
        rule = decision(-0.2, {"kind": "slice-floor", "min_items": 50, "drop": 0.02})
        result = run(frame, rule)
        assert outcomes(result, "slice-floor") == expected
        assert "is seen with probability" in rows(result, "rule")["slice-floor"]["change"]

    def test_slices_under_the_least_size_are_not_judged(self):
        frame = self.sliced([("many", 400, 0, 60), ("few", 49, 15, 0)])
        rule = decision(-0.2, {"kind": "slice-floor", "min_items": 50, "drop": 0.02})
        assert outcomes(run(frame, rule), "slice-floor") == ("shown", "shown")

    def test_many_slices_hold_together(self):
        # one of ten falls by 6 of 60: its interval alone is wholly below −.02, one of ten that hold together is not
        parts = [("many", 400, 0, 60), ("fallen", 60, 6, 0), *((f"s{i}", 60, 0, 0) for i in range(8))]
        rule = decision(-0.2, {"kind": "slice-floor", "min_items": 50, "drop": 0.02})
        result = run(self.sliced(parts), rule)
        assert outcomes(result, "slice-floor") == ("contradicted", "shown")
        row = rows(result, "slices")["topic = fallen"]
        assert row["interval"]["high"] < -0.02 < row["together"]["high"]

    def test_slice_floor_not_measured(self):
        clause = {"kind": "slice-floor", "min_items": 50, "drop": 0.02}
        assert outcomes(run(pairs(400, 0, 60), decision(0.0, clause)), "slice-floor")[1] == "not measured"
        one_document = self.sliced([("many", 400, 0, 60), ("few", 60, 15, 0)])
        one_document["cluster"] = [f"{item}" if item.startswith("many") else "one" for item in one_document["item_id"]]
        assert outcomes(run(one_document, decision(-0.2, clause)), "slice-floor")[1] == "not measured"

    def test_slice_values_of_an_item_agree(self):
        frame = pairs(100, 0, 20)
        frame["slice.topic"] = ["a"] * 100 + ["b"] * 100
        with pytest.raises(InputError, match=r"column slice\.topic: 100 items with two values"):
            run(frame)

    @pytest.mark.parametrize(
        ("lost", "gained", "expected"),
        [
            (5, 5, ("shown", "shown")),
            (60, 0, ("contradicted", "contradicted")),
            (20, 5, ("not shown", "not shown")),  # a drop of .015
            (14, 6, ("shown", "shown")),  # .008, upper end .0175
            (30, 22, ("not shown", "not shown")),  # .008, upper end .022
        ],
    )
    def test_suite_drop(self, lost, gained, expected):
        rule = decision(0.0, {"kind": "suite-drop", "suite": "adjacent", "drop": 0.01, "upper": 0.02})
        result = run(pairs(400, 0, 60), rule, suites=suite(1000, lost, gained, name="adjacent"))
        assert outcomes(result, "suite-drop") == expected

    @pytest.mark.parametrize(
        ("lost", "margin", "expected"),
        [
            (0, None, ("shown", "not shown")),  # nothing shows equality: Tango's lower end is −.0076
            (3, None, ("contradicted", "not shown")),  # the guide's safety, exact p .25
            (6, None, ("contradicted", "contradicted")),  # exact p .03125, published D4
            (3, 0.02, ("shown", "shown")),
            (12, 0.02, ("contradicted", "not shown")),  # −.024
            (40, 0.02, ("contradicted", "contradicted")),
        ],
    )
    def test_not_below(self, lost, margin, expected):
        clause = {key: value for key, value in (NI_SAFETY | {"margin": margin}).items() if value is not None}
        result = run(pairs(400, 0, 60), decision(0.0, clause), suites=suite(500, lost))
        assert outcomes(result, "not-below") == expected

    @pytest.mark.parametrize(
        ("suites", "reason"),
        [
            (suite(50, 0, name="other"), "no suite safety in suites (there: other)"),
            (suite(50, 0).query("model == 'production'"), "candidate was not scored on the suite safety"),
            (
                pd.concat([suite(50, 0, metric="refused"), suite(50, 0, metric="polite")]),
                "the suite safety has 2 metrics: the clause names none",
            ),
        ],
    )
    def test_suites_not_measured(self, suites, reason):
        drop = {"kind": "suite-drop", "suite": "safety", "drop": 0.01, "upper": 0.02}
        result = run(pairs(400, 0, 60), decision(0.0, drop, NI_SAFETY), suites=suites)
        for clause in ("suite-drop", "not-below"):
            assert outcomes(result, clause) == ("not measured", "not measured")
        assert all(reason in row["observed"] for name, row in rows(result, "rule").items() if "safety" in name)
        assert result.gate.verdict == "undecided"

    def test_a_metric_of_the_suite(self):
        both = pd.concat([suite(500, 0, metric="refused"), suite(500, 40, metric="polite")])
        refused, polite = (
            run(pairs(400, 0, 60), decision(0.0, NI_SAFETY | {"metric": metric}), suites=both)
            for metric in ("refused", "polite")
        )
        assert (outcomes(refused, "not-below")[1], outcomes(polite, "not-below")[1]) == ("shown", "contradicted")
        assert rows(polite, "results")["candidate"]["safety"] == pytest.approx(0.92)

    def test_a_reference_that_is_not_compared(self):
        suites = pd.concat([suite(500, 0), suite(500, 0).query("model == 'production'").assign(model="base")])
        items = pd.concat([pairs(400, 0, 60), systems(base=[1] * 400)])
        rule = decision(0.0, NI_SAFETY | {"reference": "base"}, compare_against=["production"])
        assert outcomes(run(items, rule, suites=suites), "not-below") == ("shown", "shown")

    @pytest.mark.parametrize("unmatched", ["refuse", "report"])
    @pytest.mark.parametrize(
        "clause", [NI_SAFETY, {"kind": "suite-drop", "suite": "safety", "drop": 0.01, "upper": 0.02}]
    )
    def test_items_that_the_candidate_lacks_in_a_suite(self, clause, unmatched):
        suites = suite(500, 0)
        suites = suites[(suites["model"] == "production") | (suites["item_id"] < 300)]
        rule, params = decision(0.0, clause), {"unmatched": unmatched}
        if unmatched == "refuse":
            with pytest.raises(InputError, match="200"):
                run(pairs(400, 0, 60), rule, params=params, suites=suites)
        else:
            assert "shown" not in outcomes(run(pairs(400, 0, 60), rule, params=params, suites=suites), clause["kind"])

    def test_items_that_the_candidate_lacks_in_a_second_metric(self):
        second = systems(production=[1] * 400, candidate=[1] * 400).assign(metric="valid")
        second = second[(second["model"] == "production") | (second["item_id"] >= 100)]
        frame = pd.concat([pairs(400, 0, 60).assign(metric="right"), second])
        rule = decision(0.0, {"kind": "rate-floor", "metric": "valid", "at_least": 0.95}, metric="right")
        try:
            result = run(frame, rule)
        except InputError:
            return
        assert "shown" not in outcomes(result, "rate-floor")

    def test_items_that_the_candidate_lacks_are_no_passed_ones(self):
        frame = systems(production=[1] * 100, candidate=[1] * 100).assign(metric="right")
        rule = decision(-0.9, {"kind": "rate-floor", "metric": "right", "at_least": 0.9}, metric="right")
        result = run(
            frame[(frame["model"] == "production") | (frame["item_id"] < 60)], rule, params={"unmatched": "report"}
        )
        assert "shown" not in outcomes(result, "rate-floor")

    def test_attempts_without_a_score_in_a_suite_are_told(self):
        suites = suite(500, 0)
        suites.loc[(suites["model"] == "production") & (suites["item_id"] < 100), "value"] = np.nan
        result = run(pairs(400, 0, 60), decision(0.0, NI_SAFETY), suites=suites)
        assert any("100" in " ".join(row) for row in result.tables["warnings"].rows)

    @staticmethod
    def sliced(parts) -> pd.DataFrame:
        """Slices by name: items, lost, gained."""
        frames = []
        for name, n, lost, gained in parts:
            frame = pairs(n, lost, gained)
            frames.append(frame.assign(item_id=[f"{name}-{i}" for i in frame["item_id"]], **{"slice.topic": name}))
        return pd.concat(frames, ignore_index=True)


class TestOperations:
    @staticmethod
    def measured(n: int = 400, seconds=(1.0, 0.5), cost=(0.004, 0.0012)) -> pd.DataFrame:
        frame = pairs(n, 0, 60)
        old = frame["model"] == "production"
        return frame.assign(latency_s=np.where(old, *seconds), cost_usd=np.where(old, *cost))

    @pytest.mark.parametrize(
        ("limit", "expected"),
        [  # of 400 evenly spread values the 380th is .955; scipy 1.17 binom: ranks 371 and 389, .935 and .975, bound it
            (1.0, ("shown", "shown")),
            (0.96, ("shown", "not shown")),
            (0.95, ("not shown", "not shown")),
            (0.9, ("contradicted", "contradicted")),
        ],
    )
    def test_latency(self, limit, expected):
        frame = self.measured()
        frame.loc[frame["model"] == "candidate", "latency_s"] = np.linspace(0.1, 1, 400)
        rule = decision(0.0, {"kind": "latency", "quantile": 0.95, "at_most_s": limit})
        assert outcomes(run(frame, rule), "latency: p95") == expected

    def test_latency_not_measured(self):
        rule = decision(0.0, {"kind": "latency", "at_most_s": 2.0})
        one_lacks = self.measured()
        one_lacks.loc[one_lacks.index[-1], "latency_s"] = np.nan
        for frame in (pairs(400, 0, 60), one_lacks):
            assert outcomes(run(frame, rule), "latency") == ("not measured", "not measured")
        # 60 items bound no p95 from above: .95⁶⁰ = .046 > .025
        assert outcomes(run(self.measured(60), rule), "latency") == ("shown", "not measured")

    def test_latency_is_that_of_requests(self):
        items, attempts = np.divmod(np.arange(4000), 10)
        old = pd.DataFrame(
            {"model": "production", "item_id": items, "attempt": attempts, "value": items >= 60, "latency_s": 0.1}
        )
        new = old.assign(model="candidate", value=True, latency_s=np.where(attempts == 0, 10.0, 0.1))
        frame = pd.concat([old, new]).astype({"value": int})
        rule = decision(0.0, {"kind": "latency", "quantile": 0.95, "at_most_s": 1.2})
        assert outcomes(run(frame, rule), "latency") == ("contradicted", "contradicted")

    @pytest.mark.parametrize(
        ("limit", "expected"),
        [  # (.0012/.004) · .85 = .255
            (0.7, ("shown", "shown")),
            (0.256, ("shown", "not shown")),
            (0.254, ("not shown", "not shown")),
            (0.2, ("contradicted", "contradicted")),
        ],
    )
    def test_cost(self, limit, expected):
        rule = decision(0.0, {"kind": "cost-per-1000-successes", "at_most_ratio": limit})
        result = run(self.measured(), rule)
        assert outcomes(result, "cost") == expected
        assert rows(result, "results")["candidate"]["cost_ratio"] == pytest.approx(0.255, abs=1e-12)

    def test_cost_not_measured(self):
        rule = decision(0.0, {"kind": "cost-per-1000-successes", "at_most_ratio": 0.7})
        never = self.measured()
        never.loc[never["model"] == "candidate", "value"] = 0
        for frame in (pairs(400, 0, 60), never, self.measured(cost=(0.0, 0.001))):
            assert outcomes(run(frame, rule), "cost") == ("not measured", "not measured")

    def test_prices_and_fixed_cost(self):
        frame = pairs(400, 0, 60).assign(input_tokens=1000)
        frame["output_tokens"] = np.where(frame["model"] == "production", 500, 100)
        found = rows(run(frame, params={"prices": {"input": 1.0, "output": 3.0}}), "operations")
        # (1000 · 1 + 500 · 3)/10⁶ = .0025 a request; .0025/.85 · 1000
        assert found["production"]["cost"] == pytest.approx(2.9412, abs=1e-4)
        assert found["candidate"]["cost"] == pytest.approx(1.3, abs=1e-9)
        whole = rows(run(self.measured(), params={"fixed_cost": 300.0, "volume": 1e6}), "operations")
        assert whole["candidate"]["mean_cost"] == pytest.approx(0.0015, abs=1e-12)  # .0012 + 300/10⁶
        assert whole["production"]["mean_cost"] == pytest.approx(0.004, abs=1e-12)


class TestRule:
    minimal = "version: 1\ndecision_rule: mine\nprimary_metric: {name: value}\notherwise: do not ship\n"

    def test_only_four_keys_are_required(self, tmp_path):
        path = tmp_path / "rule.yml"
        path.write_text(self.minimal, encoding="utf-8")
        params, rule = fine_tune.STUDY.resolve([], path)
        assert (params.rule.primary_metric.margin, params.rule.guardrails) == (0.0, [])
        assert (rule.name, rule.written_before) == ("mine", None)
        for line in self.minimal.splitlines():
            path.write_text(self.minimal.replace(line + "\n", ""), encoding="utf-8")
            with pytest.raises(UsageError, match=line.split(":")[0]):
                fine_tune.STUDY.resolve([], path)

    @pytest.mark.parametrize(
        ("old", "new", "place"),
        [
            ("otherwise:", "otherwize:", r"decision\.otherwize = .*no such key"),
            ("sha256: null", "sha: null", r"decision\.test_set\.sha = .*no such key"),
            ("margin: 0.02", "margn: 0.02", r"decision\.primary_metric\.margn = .*no such key"),
            ("upper: 0.02}", "uper: 0.02}", r"decision\.guardrails\[2\]\.suite-drop\.uper = .*no such key"),
            ("at_most_s: 1.2}", "at_most_s: 1.2, p: 1}", r"decision\.operations\[0\]\.latency\.p = .*no such key"),
            ("kind: latency", "kind: latenzy", r"decision\.operations\[0\] = .*'latency', 'cost-per-1000-successes'"),
            ("at_least: 0.995", "at_least: 99.5", r"rate-floor\.at_least = .*less than or equal to 1"),
            ("margin: 0.02", "margin: two", r"decision\.primary_metric\.margin = .*valid number"),
            ("otherwise: do not ship", "", r"decision\.otherwise is missing"),
            ("version: 1", "version: 2", "version must be 1"),
        ],
    )
    def test_what_does_not_fit_is_refused_with_its_place(self, tmp_path, old, new, place):
        path = tmp_path / "rule.yml"
        path.write_text(RULE.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
        with pytest.raises((ParameterError, RuleError), match=place):
            fine_tune.STUDY.resolve([], path)

    def test_a_locked_rule_was_written_before(self, tmp_path):
        path, data = tmp_path / "rule.yml", tmp_path / "items.csv"
        path.write_text(self.minimal, encoding="utf-8")
        rules.register(path, commit=None)
        pairs(400, 0, 60).to_csv(data, index=False)
        result = ask("fine-tune", [str(data)], [], [], [], str(path), None).result
        assert result.to_json()["rule"]["written_before"] is True
        assert result.gate.verdict == "pass"
        path.write_text(self.minimal.replace("value}", "value, margin: -0.5}"), encoding="utf-8")
        changed = ask("fine-tune", [str(data)], [], [], [], str(path), None).result
        assert changed.to_json()["rule"]["written_before"] is False

    def test_another_test_set_is_refused(self):
        frame = pairs(400, 0, 60).assign(item_hash=[f"{i:x}" for i in range(400)] * 2)
        digest = checklist(run(frame), "frozen")[1].rsplit(" ", 1)[1]
        declared = decision(test_set={"name": "mine", "items": 400, "sha256": digest.upper()})
        assert checklist(run(frame.sample(frac=1, random_state=2), declared), "frozen")[0] == "shown"
        other = frame.assign(item_hash=[f"{i:x}" for i in range(1, 401)] * 2)
        with pytest.raises(InputError, match="the digest of ids and contents is"):
            run(other, declared)
        with pytest.raises(InputError, match="400 items, the rule was written for 820"):
            run(frame, decision(test_set={"items": 820}))

    def test_the_digest_holds_the_texts(self):
        one, two = (pairs(400, 0, 60).assign(text=[f"{word} {i}" for i in range(400)] * 2) for word in ("is", "was"))
        digest = checklist(run(one), "frozen")[1].rsplit(" ", 1)[1]
        with pytest.raises(InputError, match="digest"):
            run(two, decision(test_set={"sha256": digest}))

    def test_the_test_set_is_that_of_the_primary_metric(self):
        second = systems(production=[1] * 500, candidate=[1] * 500).assign(metric="valid")
        frame = pd.concat([pairs(400, 0, 60).assign(metric="right"), second])
        result = run(frame, decision(metric="right", test_set={"items": 400}))
        assert "on 400 items" in result.headline

    @pytest.mark.parametrize("named", [["production", "strong"], None])
    def test_parameters_cannot_leave_out_baselines_of_the_rule(self, named):
        frame = pd.concat([pairs(400, 0, 60), systems(strong=[1] * 400)])
        rule = decision(**({} if named is None else {"compare_against": named}))
        assert run(frame, rule).gate.verdict == "undecided"
        with pytest.raises((UsageError, ValueError), match="baselines"):
            run(frame, rule, params={"baselines": ["production"]})

    def test_the_candidate_is_no_baseline(self):
        with pytest.raises((UsageError, ValueError), match="candidate"):
            run(pairs(400, 0, 60), decision(-0.05, compare_against=["production", "candidate"]))
        with pytest.raises(ValueError, match="among the baselines"):
            Params(baselines=["candidate"])

    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"candidate": "candidat"}, r"no system 'candidat' in items\. Did you mean 'candidate'"),
            ({"baselines": ["prod"]}, "no system 'prod' in items"),
        ],
    )
    def test_unknown_systems(self, params, message):
        with pytest.raises(ParameterError, match=message):
            run(pairs(40, 0, 6), params=params)

    def test_unknown_metric(self):
        two = pd.concat([pairs(40, 0, 6).assign(metric=name) for name in ("right", "fluent")])
        with pytest.raises(ParameterError, match=r"no metric 'value' in items\. Known: fluent, right"):
            run(two)
        one = pairs(40, 0, 6).assign(metric="right")
        with pytest.raises(ParameterError, match=r"no metric 'rigt' in items\. Did you mean 'right'"):
            run(one, params={"metric": "rigt"})
        with pytest.raises(ParameterError, match="no metric 'value' in items"):
            run(one, decision())
        with pytest.raises(ParameterError, match="no metric 'value' in items"):
            run(pairs(40, 0, 6).assign(metric=""))

    def test_the_only_metric_is_compared_where_none_was_named(self):
        frame = pairs(400, 0, 60).assign(metric="right")
        left, named = run(frame), run(frame, params={"metric": "right"})
        assert (left.units, left.gate) == (named.units, named.gate)
        assert left.gate.checks[0].name == "primary: right"
        said = "; no metric was named: right is the only one in the data"
        assert [str(result.tables["warnings"].rows).count(said) for result in (left, named)] == [1, 0]

    @pytest.mark.parametrize(
        "params",
        [{"score_range": [1.0, 0.0]}, {"fixed_cost": 5.0}, {"level": 0.4}, {"bootstrap": 10}, {"min_clusters": 1}],
    )
    def test_parameters(self, params):
        with pytest.raises(ValueError):
            Params(**params)


class TestPairing:
    frame = pairs(300, 9, 24).assign(cluster=[f"c{i % 50}" for i in range(300)] * 2)

    def test_order_of_rows(self):
        one, two = (run(frame, decision()) for frame in (self.frame, self.frame.sample(frac=1, random_state=3)))
        assert one.units == two.units
        for name in ("rule", "results", "differences", "discordant", "power"):
            assert one.tables[name] == two.tables[name]

    @pytest.mark.parametrize("columns", [["model", "item_id", "value"], ["model", "item_id", "value", "cluster"]])
    def test_swapped_systems(self, columns):
        one = unit(run(self.frame[columns]))
        two = unit(
            run(self.frame[columns], params={"candidate": "production", "baselines": ["candidate"]}), "candidate"
        )
        assert (one.mean_diff, one.ci_low, one.ci_high) == pytest.approx(
            (-two.mean_diff, -two.ci_high, -two.ci_low), abs=0.004
        )
        assert (one.baseline_only, one.candidate_only) == (two.candidate_only, two.baseline_only)
        assert (one.p_exact, one.p_mid) == (two.p_exact, two.p_mid)

    def test_names_do_not_matter(self):
        renamed = self.frame.replace({"model": {"production": "zz", "candidate": "aa"}})
        one, two = unit(run(self.frame)), unit(run(renamed, params={"candidate": "aa"}), "zz")
        assert (one.mean_diff, one.ci_low, one.ci_high) == (two.mean_diff, two.ci_low, two.ci_high)

    def test_a_file_split_in_two(self, tmp_path):
        for i, part in enumerate((self.frame.iloc[::2], self.frame.iloc[1::2])):
            part.to_csv(tmp_path / f"{i}.csv", index=False)
        assert ask("fine-tune", [str(tmp_path)], [], [], [], None, None).result.units == run(self.frame).units

    def test_disjoint_items(self):
        frame = pairs(20, 0, 3)
        frame["item_id"] = [f"{model[0]}{i}" for model, i in zip(frame["model"], frame["item_id"], strict=True)]
        for unmatched in ("refuse", "report"):
            with pytest.raises(InputError, match="no item has a score of every system"):
                run(frame, params={"unmatched": unmatched})

    def test_unmatched_items_are_counted(self):
        frame = pairs(300, 9, 24)
        frame = frame[~((frame["model"] == "production") & (frame["item_id"] < 5))]
        frame = frame[~((frame["model"] == "candidate") & (frame["item_id"].between(5, 7)))]
        result = run(frame, params={"unmatched": "report"})
        row = rows(result, "differences")["production"]
        assert (row["n_paired"], row["baseline_missing"], row["candidate_missing"]) == (292, 5, 3)
        assert unit(result).n_unpaired == 8
        assert "items that one of the two lacks" in warned(result)
        assert checklist(result, "the same items for all")[0] == "not shown"

    def test_the_headline_names_the_items_of_the_candidate(self):
        frame = pairs(400, 0, 60)
        frame = frame[(frame["model"] == "production") | (frame["item_id"] >= 50)]
        assert "1.000 on 350 items" in run(frame, params={"unmatched": "report"}).headline

    def test_the_worst_case_keeps_clusters(self):
        # a score, narrower than [.046, .472] of what is there; as failures the same items give [−.004, .434]
        clusters, items = np.divmod(np.arange(200), 10)
        frame = systems(production=(clusters >= 5).astype(int), candidate=[1] * 200)
        frame["cluster"] = np.tile(clusters, 2)
        lost = (frame["model"] == "candidate") & np.tile((items == 9) & (clusters > 12), 2)
        failed = run(frame.assign(value=np.where(lost, 0, frame["value"])))
        assert failed.gate.verdict == "undecided"
        result = run(frame[~lost], params={"unmatched": "report"})
        worst = rows(result, "differences")["production"]["worst"]
        assert (worst["low"], worst["high"]) == pytest.approx(interval(failed), abs=1e-9)
        assert result.gate.verdict == "undecided"

    def test_attempts_are_averaged(self):
        # shares of three attempts; by hand .5 + 1/6 − 1/3 over two thirds of the items
        shares = {"production": [1 / 3, 2 / 3, 1.0] * 20, "candidate": [2 / 3, 1.0, 1.0] * 20}
        rows_of = [
            (model, item, attempt, int(attempt < round(3 * share)))
            for model, own in shares.items()
            for item, share in enumerate(own)
            for attempt in range(3)
        ]
        frame = pd.DataFrame(rows_of, columns=["model", "item_id", "attempt", "value"])
        found = unit(run(frame))
        assert (found.n_paired, found.mean_diff) == (60, pytest.approx(2 / 9, abs=1e-12))
        assert (found.baseline_only, found.p_exact) == (None, None)
        # problem 34: copies of the same answers are no new items
        once = pairs(200, 5, 20)
        two, five = (run(pd.concat([once.assign(attempt=k) for k in range(copies)])) for copies in (2, 5))
        assert interval(two) == pytest.approx(interval(five), abs=1e-12)
        assert interval(five) == pytest.approx(interval(run(once)), abs=0.01)

    def test_errors(self):
        # problem 1: 80 of 100, 8 of them without a score
        frame = pairs(100, 0, 20).assign(status="scored")
        gone = (frame["model"] == "candidate") & (frame["item_id"] < 8)
        frame.loc[gone, ["value", "status"]] = [np.nan, "error"]
        failure = run(frame)
        assert unit(failure).mean_diff == pytest.approx(0.92 - 0.8)
        with pytest.raises(InputError, match="candidate lacks 8"):
            run(frame, params={"errors": "exclude"})
        left_out = run(frame, params={"errors": "exclude", "unmatched": "report"})
        assert (unit(left_out).n_paired, unit(left_out).mean_diff) == (92, pytest.approx(20 / 92))
        for result in (failure, left_out):
            assert "attempts without a score" in warned(result)

    def test_attempts_that_were_left_out_count_at_the_worst(self):
        # problem 2: a flakier system must not score higher
        items, attempts = np.divmod(np.arange(1000), 5)
        old = pd.DataFrame({"model": "production", "item_id": items, "attempt": attempts, "value": (items >= 20) * 1.0})
        new = old.assign(model="candidate", value=np.where(attempts == 0, 1.0, np.nan))
        assert run(pd.concat([old, new]), params={"errors": "exclude"}).gate.verdict == "undecided"

    def test_an_error_with_a_value_has_no_score(self):
        frame = pairs(100, 0, 20).assign(status="scored")
        frame.loc[(frame["model"] == "candidate") & (frame["item_id"] < 8), "status"] = "error"
        assert unit(run(frame)).mean_diff == pytest.approx(0.12)

    def test_scores_that_are_all_missing(self):
        frame = pairs(100, 0, 20)
        frame.loc[frame["model"] == "candidate", "value"] = np.nan
        with pytest.raises(InputError, match="no item has a score of every system"):
            run(frame, params={"errors": "exclude"})
        assert run(frame).gate.verdict == "refuse"

    def test_a_failure_on_another_scale_needs_its_range(self):
        frame = systems(production=[5.0, 6.0, 7.0], candidate=[np.nan, 7.0, 8.0])
        with pytest.raises(InputError, match="Give score_range, its first number is a failure"):
            run(frame)
        found = unit(run(frame, params={"score_range": [1.0, 10.0]}))
        assert found.mean_diff == pytest.approx((1 - 5 + 1 + 1) / 3)
        with pytest.raises(InputError, match="a score is 8, score_range is 1 to 7"):
            run(frame, params={"score_range": [1.0, 7.0]})

    def test_a_scale_that_is_not_known_has_no_bound(self):
        result = run(systems(production=[5.0] * 10, candidate=[6.0] * 10))
        assert outcomes(result, "primary")[1] == "not measured"
        assert "score_range" in rows(result, "differences")["production"]["reason"]

    @pytest.mark.parametrize("second", ["metric", "suite"])
    def test_the_range_is_that_of_the_primary_metric(self, second):
        graded = systems(production=[5.0, 6.0, 7.0, 8.0] * 50, candidate=[7.0, 8.0, 9.0, 9.5] * 50)
        options = {"params": {"score_range": [1.0, 10.0]}}
        if second == "suite":
            result = run(graded, decision(0.0, NI_SAFETY), suites=suite(500, 1), **options)
        else:
            checked = systems(production=[1] * 200, candidate=[1] * 199 + [0]).assign(metric="valid")
            rule = decision(0.0, {"kind": "rate-floor", "metric": "valid", "at_least": 0.9}, metric="judged")
            result = run(pd.concat([graded.assign(metric="judged"), checked]), rule, **options)
        assert result.gate.verdict == "pass"


class TestClusters:
    def test_few_clusters(self):
        frame = pairs(300, 9, 24)
        for groups, measured in ((1, False), (5, False), (6, True)):
            own = frame.assign(cluster=[f"c{i % groups}" for i in range(300)] * 2)
            result = run(own)
            assert (interval(result)[0] is not None) is measured
            assert ("interval" in warned(result)) is not measured
        assert interval(run(own.assign(cluster="c" * 9), params={"min_clusters": 2})) == (None, None)
        few = frame.assign(cluster=[f"c{i % 5}" for i in range(300)] * 2)
        assert interval(run(few, params={"min_clusters": 5}))[0] is not None

    def test_clusters_of_equal_size_against_scipy(self):
        # with equal sizes CR2 with Satterthwaite's degrees of freedom is Student's interval of the clusters' means
        rng = np.random.default_rng(4)
        frame = systems(production=rng.integers(0, 2, 240), candidate=rng.integers(0, 2, 240))
        frame["subject"] = np.tile(np.arange(240) // 12, 2)
        result = run(frame, params={"cluster": "subject"})
        row = rows(result, "differences")["production"]
        assert (row["n_clusters"], row["corrected_method"]) == (20, "clustered CR2 t")
        diff = frame["value"][240:].to_numpy() - frame["value"][:240].to_numpy()
        expected = ttest_1samp(diff.reshape(20, 12).mean(axis=1), 0).confidence_interval(0.95)
        assert interval(result) == pytest.approx((expected.low, expected.high), abs=1e-12)

    def test_items_without_a_cluster_stand_alone(self):
        frame = pairs(300, 9, 24)
        frame["cluster"] = [f"c{i % 50}" if i < 100 else "" for i in range(300)] * 2
        assert rows(run(frame), "differences")["production"]["n_clusters"] == 250

    def test_a_cluster_column_that_does_not_fit(self):
        with pytest.raises(InputError, match="column missing: subject"):
            run(pairs(40, 0, 6), params={"cluster": "subject"})
        with pytest.raises(InputError, match="40 items with two values of cluster"):
            run(pairs(40, 0, 6).assign(cluster=["a"] * 40 + ["b"] * 40))

    def test_copies_of_an_item_in_a_cluster_add_nothing(self):
        once = pairs(200, 8, 24)
        once["cluster"] = once["item_id"]
        twice, often = (
            pd.concat([once.assign(item_id=once["item_id"] + 1000 * k) for k in range(copies)]) for copies in (2, 4)
        )
        assert interval(run(often)) == pytest.approx(interval(run(twice)), abs=1e-12)


class TestJudge:
    items = pairs(400, 0, 60)

    def judged(self, judgements, human=None, labels_asked: int = 20, **params) -> StudyResult:
        rule = decision(0.0, CALIBRATED | {"labels": labels_asked})
        inputs = {"judgements": judgements} | ({} if human is None else {"human": human})
        return run(self.items, rule, params=params, **inputs)

    def test_a_win_survives_the_swap(self):
        # A A, B B, A B, B A, tie tie, A tie, fail A
        first, second = ["a", "b", "a", "b", "tie", "a", "fail"], ["a", "b", "b", "a", "tie", "tie", "a"]
        row = rows(self.judged(verdicts(first, second)), "judge")["judge"]
        assert (row["losses"], row["wins"], row["ties"], row["undecided"], row["failed"]) == (1, 1, 1, 3, 1)
        assert (row["n"], row["both"], row["consistent"]) == (7, 7, {"k": 3, "n": 6})
        # A in both places is the answer shown first, then the one shown second
        assert (row["first"], row["second"]) == (1, 1)

    def test_published_kappa(self):
        # published I1: [[20, 5], [10, 15]] has kappa .40
        judge, people = ["a"] * 25 + ["b"] * 25, ["a"] * 20 + ["b"] * 5 + ["a"] * 10 + ["b"] * 15
        result = self.judged(verdicts(judge, judge), labels(people))
        row = rows(result, "judge-calibration")["judge"]
        assert (row["labels"], row["kappa"]) == (50, pytest.approx(0.4, abs=1e-12))
        assert outcomes(result, "judge-calibrated") == ("shown", "shown")
        assert "judge not calibrated" not in warned(result)

    def test_too_few_labels(self):
        result = self.judged(verdicts(["a", "b"] * 30, ["a", "b"] * 30), labels(["a", "b"] * 5))
        assert outcomes(result, "judge-calibrated") == ("not measured", "not measured")
        assert result.gate.verdict == "undecided"

    def test_no_labels(self):
        # problem 78: no human labels → "judge not calibrated"
        result = self.judged(verdicts(["a", "b"] * 30, ["a", "b"] * 30))
        assert "judge not calibrated" in warned(result)
        assert outcomes(result, "judge-calibrated") == ("not measured", "not measured")

    def test_labels_without_a_judge_are_refused(self):
        with pytest.raises(InputError, match=r"there are no judgements\. Add --data judgements=PATH"):
            run(pairs(40, 0, 6), human=labels(["a", "b"] * 20))

    def test_one_order_only(self):
        # problem 74: position not controlled, the guardrail fails if the rule demands it
        result = self.judged(verdicts(["a", "b"] * 30), labels(["a", "b"] * 30))
        assert "one order only" in warned(result)
        assert outcomes(result, "judge-calibrated") == ("not measured", "not measured")
        assert rows(result, "judge")["judge"]["wins"] is None

    def test_labels_of_pairs_in_one_order_are_counted(self):
        result = self.judged(verdicts(["a", "b"] * 30), labels(["a", "b"] * 30))
        assert rows(result, "judge-calibration")["judge"]["labels"] == 60
        assert "judge not calibrated: 0 human labels" not in rows(result, "rule")["judge-calibrated"]["observed"]

    def test_a_failed_verdict_is_no_labelled_one(self):
        result = self.judged(
            verdicts(["fail"] * 28 + ["a", "b"] * 16, ["a"] * 28 + ["a", "b"] * 16), labels(["a", "b"] * 15)
        )
        assert outcomes(result, "judge-calibrated") == ("not measured", "not measured")

    @pytest.mark.parametrize("word", ["fail", "tie", "b"])
    def test_verdicts_that_are_all_the_same(self, word):
        people = labels(["tie" if word == "fail" else word] * 30)
        result = self.judged(verdicts([word] * 30, [word] * 30, len_a=5, len_b=8), people)
        assert rows(result, "judge-calibration")["judge"]["kappa"] is None
        valid(result)

    @pytest.mark.parametrize("where", ["judgements", "human"])
    def test_an_empty_verdict(self, where):
        first, people = ["a", "b"] * 30, ["a", "b"] * 30
        (first if where == "judgements" else people)[7] = ""
        try:
            result = self.judged(verdicts(first, ["a", "b"] * 30), labels(people))
        except InputError:
            return
        assert where == "human" or rows(result, "judge")["judge"]["failed"] == 1

    def test_several_judges(self):
        both = verdicts(["a", "b"] * 30, ["a", "b"] * 30, judge="first")
        one = verdicts(["b"] * 60, judge="second")
        result = self.judged(pd.concat([both, one]), labels(["a", "b"] * 30))
        found = rows(result, "judge")
        assert (found["first"]["both"], found["second"]["both"]) == (60, 0)
        assert outcomes(result, "judge-calibrated")[1] == "not measured"

    def test_length(self):
        # the longer answer wins 40 of 60
        winners = ["b"] * 40 + ["a"] * 20
        result = self.judged(verdicts(winners, winners, len_a=100, len_b=150))
        row = rows(result, "judge-calibration")["judge"]
        assert (row["longer"], row["longer_share"]) == ({"k": 40, "n": 60}, pytest.approx(2 / 3))

    def test_same_family(self):
        result = self.judged(verdicts(["a", "b"] * 30, ["a", "b"] * 30), judge_family="Llama", candidate_family="llama")
        assert "judge of the same family" in warned(result)

    def test_the_same_verdict_twice(self):
        with pytest.raises(InputError, match="stands twice"):
            self.judged(pd.concat([verdicts(["a", "b"]), verdicts(["a", "b"])]))

    def test_an_unknown_word(self):
        with pytest.raises(InputError, match=r"'left' is not one of a \| b \| tie \| fail"):
            self.judged(verdicts(["left", "b"]))


class TestTraining:
    frame = pairs(60, 2, 9).assign(
        text=[f"The quick brown fox no. {i} jumps over the lazy dog near the river today" for i in range(60)] * 2,
        item_hash=[f"h{i}" for i in range(60)] * 2,
        group=[f"g{i // 6}" for i in range(60)] * 2,
    )

    def test_overlap(self):
        training = pd.DataFrame(
            {
                "text": [
                    "the QUICK brown fox, no 7, jumps over the lazy dog near the river today!",
                    "The quick brown fox no. 8 jumps over the lazy dog near the river",
                    "something else",
                ],
                "item_hash": ["h3", "", ""],
                "group": ["g2", "", ""],
            }
        )
        result = run(self.frame, training=training)
        shared = {row["by"].split(",")[0]: [] for row in rows(result, "overlap").values()}
        for row in rows(result, "overlap").values():
            shared[row["by"].split(",")[0]].append((row["checked"], row["shared"]))
        assert (shared["digest"], shared["group"]) == ([(60, 1)], [(60, 6)])
        assert shared["text"] == [(60, 1), (60, 2)]  # exactly, and nearly
        assert sum(name.startswith("test items in the training data") for name in warned(result)) == 4

    def test_none_given(self):
        assert all(row["shared"] is None and row["reason"] for row in rows(run(self.frame), "overlap").values())

    def test_seeds_and_checkpoints(self):
        seeds = pd.concat(
            [
                pairs(100, 0, 20).query("model == 'production'").assign(seed="1"),
                *(systems(candidate=[1] * (90 + k) + [0] * (10 - k)).assign(seed=str(k)) for k in range(4)),
            ]
        )
        row = rows(run(seeds), "seeds")["candidate"]
        assert (row["n"], row["mean"], row["sd"]) == pytest.approx((4, 0.915, 0.0129), abs=1e-4)  # sd(.90 … .93)
        runs = pd.concat([pairs(100, 0, 20), systems(earlier=[1] * 95 + [0] * 5)])
        runs["run_id"] = runs["model"].map({"production": "", "candidate": "r1", "earlier": "r1"})
        assert "several checkpoints of one run" in warned(run(runs))


HOSTILE = [
    "<script>alert(1)</script>",
    "two\nlines",
    "\u202egnp.exe",
    "=cmd|' /C calc'!A0",
    "e\u0301\u0301",
    "\U0001d54a",
    "\x1f0",
    "nul\x00",
    "NaN",
    "null",
    "|",
    "{{ 7 * 7 }}",
    " blank",
    "हिन्दी τ",
    "a" * 3000,
]


class TestHostileNames:
    @pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
    def test_everywhere(self, name):
        ids = [f"{i}{name}".strip() for i in range(60)]
        items = pairs(60, 5, 12).assign(
            item_id=ids * 2,
            metric=name,
            cluster=[f"{i % 9}{name}" for i in range(60)] * 2,
            group=name,
            text=[f"{name} {i}" for i in range(60)] * 2,
            item_hash=[f"{name}{i}" for i in range(60)] * 2,
            cost_usd=0.1,
            latency_s=0.2,
            source=name,
            **{f"slice.{name}": ([name, "other"] * 30) * 2},
        )
        suites = suite(60, 5, 12, name=name, metric=name)
        renamed = {"model": {"production": name}}
        words = ["a", "b", "tie"] * 10
        rule = decision(
            0.0,
            {"kind": "rate-floor", "metric": name, "at_least": 0.1},
            {"kind": "slice-floor", "min_items": 10, "drop": 0.02},
            {"kind": "suite-drop", "suite": name, "drop": 0.01, "upper": 0.02},
            {"kind": "not-below", "suite": name, "metric": name, "reference": name},
            CALIBRATED,
            {"kind": "latency", "at_most_s": 1.0},
            {"kind": "cost-per-1000-successes", "at_most_ratio": 2.0},
            metric=name,
            decision_rule=name,
            otherwise=name,
            compare_against=[name],
        )
        result = run(
            items.replace(renamed),
            rule,
            params={"judge_family": name, "candidate_family": name},
            suites=suites.replace(renamed),
            judgements=verdicts(words, words, judge=name, len_a=3, len_b=4),
            human=labels(words),
            training=pd.DataFrame({"text": [f"{name} 1"], "item_hash": [f"{name}1"], "group": [name]}),
        )
        valid(result)
        assert unit(result, name).n_paired == 60
        assert len(result.gate.checks) == 8

    @pytest.mark.parametrize("column", ["model", "item_id"])
    def test_half_a_character_is_refused(self, column):
        frame = pairs(20, 1, 3).astype({"model": object, "item_id": object})
        frame.loc[3, column] = "x\ud800"
        with pytest.raises(InputError, match=f"row 3, column {column}: holds half a character"):
            run(frame)


class TestRefused:
    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda f: f[f["model"] == "candidate"], "one system only, candidate"),
            (lambda f: f.assign(value=f["value"].map({0: "False", 1: "True"})), "values: {value: {"),
            (lambda f: f.drop(columns="value"), "column missing: value"),
            (lambda f: f.assign(value=math.inf), "is not a finite number"),
            (lambda f: f.assign(item_id=[f" {i}" for i in f["item_id"]]), "has blanks around it"),
            (lambda f: f.assign(latency_s=-1.0), "is outside"),
        ],
    )
    def test_input(self, change, message):
        with pytest.raises(InputError, match=message):
            run(change(pairs(40, 1, 6)))

    def test_no_data(self):
        with pytest.raises(InputError, match="the input items is missing"):
            fine_tune.run({}, Params())


def asked(**params) -> tuple[str, pd.DataFrame]:
    sentence, table = fine_tune.STUDY.size(SizeParams(**params))
    return str(sentence), pd.DataFrame(table.rows, columns=[column.key for column in table.columns])


class TestSize:
    @pytest.mark.parametrize(
        ("params", "items"),
        [  # D1, D13, D4
            ({"gain": 0.08, "loss": 0.03}, "338"),
            ({"gain": 0.07, "loss": 0.04}, "952"),
            ({"gain": 0.08, "loss": 0.03, "margin": 0.02}, "938"),
            ({"gain": 0.03, "loss": 0.03, "margin": -0.02}, "1,178"),
            ({"gain": 0.055, "loss": 0.055, "margin": -0.02}, "2,159"),  # section C
            ({"gain": 0.08, "loss": 0.03, "exact": True}, "367"),
        ],
    )
    def test_items_needed(self, params, items):
        assert asked(**params)[0].startswith(f"{items} items")

    def test_detectable_effect(self):
        # D2
        sentence, table = asked(items=500, discordant=0.11)
        assert ".04155" in sentence
        assert table.set_index("items").loc[500, "mde"] == pytest.approx(0.041554, abs=1e-6)

    def test_the_table_is_about_what_was_asked(self):
        sentence, table = asked(items=500, discordant=0.2)
        assert ".05603" in sentence
        assert table.set_index("items").loc[500, "mde"] == pytest.approx(0.05603, abs=1e-5)

    @pytest.mark.parametrize("params", [{"gain": 0.08, "loss": 0.03, "margin": 0.02}, {"gain": 0.03, "margin": -0.02}])
    def test_the_exact_test_knows_no_margin(self, params):
        with pytest.raises(ValueError, match=r"(?s)validation error.*(exact|margin)"):
            asked(exact=True, **params)

    @pytest.mark.parametrize(
        "params",
        [
            {"gain": 0.7, "loss": 0.6},
            {"gain": 0.03, "loss": 0.03},
            {"gain": 0.08, "loss": 0.03, "margin": 0.05},
            {"items": 500},
            {"discordant": 0.1},
            {"power": 0.04},
        ],
    )
    def test_refused(self, params):
        with pytest.raises(ValueError):
            SizeParams(**params)


@pytest.fixture
def made(tmp_path):
    """The output of a script in data/mappings as a file: made("name.py", arguments…)."""

    def run_script(name: str, *arguments: object) -> str:
        script = [sys.executable, str(MAPPINGS / name), *map(str, arguments)]
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.csv"
        path.write_text(subprocess.run(script, capture_output=True, text=True, check=True).stdout, encoding="utf-8")
        return str(path)

    return run_script


def real(data, mapping: str | None = None, options=(), rule: Path | None = None):
    files = [] if mapping is None else [str(MAPPINGS / mapping)]
    return ask("fine-tune", [str(path) for path in data], [], options, files, str(rule) if rule else None, None)


@pytest.fixture
def written(tmp_path):
    """A rule file of these lines: written("guardrails: …")."""

    def write(*lines: str, metric: str = "value", margin: float = 0.0) -> Path:
        head = ["version: 1", "decision_rule: real", f"primary_metric: {{name: {metric}, margin: {margin}}}"]
        path = tmp_path / "rule.yml"
        path.write_text("\n".join([*head, *lines, "otherwise: do not ship"]), encoding="utf-8")
        return path

    return write


@pytest.mark.real
class TestRealData:
    """Known answers of data/real/README.md."""

    def test_routellm_mmlu(self, real_data, made):
        path = made("routellm_mmlu.py", real_data / "routellm_pairs" / "mmlu")
        result = real([path], None, ["candidate=gpt-4-1106-preview"]).result
        (found,) = result.units
        assert (found.n_paired, found.baseline_only, found.candidate_only) == (14042, 742, 2497)
        score = {name: row["score"] for name, row in rows(result, "results").items()}
        assert list(score.values()) == pytest.approx([0.6808, 0.8058], abs=5e-5)
        assert found.mean_diff == pytest.approx(0.12498, abs=1e-5)  # published F2
        row = rows(result, "differences")[found.baseline]
        assert row["n_clusters"] == 57
        # scipy 1.17, stats.bootstrap of the ratio over clusters, 200,000 resamples, seed 0
        assert row["paper"] == pytest.approx({"low": 0.0848, "high": 0.1651}, abs=5e-4)
        assert row["corrected"] == pytest.approx({"low": 0.0924, "high": 0.1769}, abs=5e-4)
        # the clustered standard error is .02079 and that of items .00391
        assert (row["paper"]["high"] - row["paper"]["low"]) / 2 / 1.96 == pytest.approx(0.02079, rel=0.02)

    def test_routellm_mmlu_items_alone(self, real_data, made):
        path = Path(made("routellm_mmlu.py", real_data / "routellm_pairs" / "mmlu"))
        frame = pd.read_csv(path).drop(columns="cluster")
        (found,) = run(frame, params={"candidate": "gpt-4-1106-preview"}).units
        assert (found.ci_high - found.ci_low) / 2 / 1.959964 == pytest.approx(0.00391, abs=5e-6)

    def test_routellm_gsm8k(self, real_data):
        result = real([real_data / "routellm_pairs" / "gsm8k_responses.csv"], "routellm_gsm8k.yml").result
        (found,) = result.units
        assert (found.n_paired, found.baseline_only, found.candidate_only) == (1319, 95, 383)
        assert found.mean_diff == pytest.approx(0.21835, abs=5e-6)
        assert (found.ci_high - found.ci_low) / 2 / 1.959964 == pytest.approx(0.01545, abs=2e-5)
        assert result.gate.verdict == "pass"

    def test_routellm_mtbench(self, real_data):
        folder = real_data / "routellm_pairs"
        result = real([folder / "mt_bench_judgements.jsonl"], "routellm_mtbench.yml", ["candidate=gpt-4"]).result
        score = {name: row["score"] for name, row in rows(result, "results").items()}
        assert score == pytest.approx({"mixtral": 8.341, "gpt-4": 9.228}, abs=5e-4)
        data = [folder / "mt_bench_gpt-4_single_routers.jsonl"]
        routers = real(data, "routellm_mtbench.yml", ["candidate=unify"])
        # published K3: 8.3125 of 160, 8.757862 of 159 scored turns
        scores = routers.inputs["items"].frame.groupby("model")["value"]
        assert scores.count().to_dict() == {"martian": 160, "unify": 159}
        assert scores.mean().to_dict() == pytest.approx({"martian": 8.3125, "unify": 8.757862}, abs=1e-6)
        assert "attempts without a score" in warned(routers.result)

    @pytest.mark.parametrize(
        ("files", "baseline", "candidate", "shared", "lost", "gained", "p"),
        [
            (("GPT-5.4_mini_v", "GPT-5.4_v"), "GPT-5.4 mini", "GPT-5.4", 500, 11, 45, 5.378e-06),
            (("Gemma_3_12B", "Gemma_3_27B"), "Gemma 3 12B", "Gemma 3 27B", 500, 30, 60, 0.002060),
            (("Claude_Haiku", "Claude_Opus"), "Haiku 4.5", "Opus 4.6", 500, 5, 25, 0.0003249),
            (("Qwen_3_Next_80B_I", "Qwen_3_Next_80B_T"), "Qwen Instruct", "Qwen Thinking", 500, 14, 39, 0.0008023),
            (("GPT-5.4_v", "Gemini_2.5"), "GPT-5.4", "Gemini 2.5 Pro", 364, 9, 19, 0.08716),
        ],
    )
    def test_validity_mmlu(self, real_data, files, baseline, candidate, shared, lost, gained, p):
        folder = real_data / "validity_mmlu_16models" / "item_level"
        options = [f"candidate={candidate}", "unmatched=report"]
        result = real([folder / f"{name}*.csv" for name in files], "validity_mmlu_16models.yml", options).result
        found = unit(result, baseline)
        assert (found.n_paired, found.baseline_only, found.candidate_only) == (shared, lost, gained)
        assert found.p_exact == pytest.approx(p, rel=3e-4)

    def test_validity_mmlu_rates(self, real_data):
        published = {
            "Opus 4.6": 0.930,
            "Sonnet 4.6": 0.904,
            "Haiku 4.5": 0.890,
            "GPT-5.4": 0.888,
            "GPT-5.4 mini": 0.820,
            "GPT-5.4 nano": 0.656,
            "Gemma 3 27B": 0.782,
            "Gemma 3 12B": 0.722,
            "Gemma 3 1B": 0.388,
            "Qwen Thinking": 0.906,
            "Qwen Instruct": 0.856,
            "Qwen 235B": 0.858,
            "Gemini 2.5 Pro": 0.915,
            "GLM-5": 0.930,
        }
        data = [real_data / "validity_mmlu_16models" / "item_level"]
        options = ["candidate=Opus 4.6", "unmatched=report"]
        result = real(data, "validity_mmlu_16models.yml", options).result
        found = rows(result, "results")
        assert len(found) == 16
        for name, rate in published.items():
            assert found[name]["score"] == pytest.approx(rate, abs=6e-4)
        assert (found["GLM-5"]["n"], found["Sonnet 4.6"]["n"], found["Gemini 2.5 Pro"]["n"]) == (186, 498, 364)
        with pytest.raises(InputError, match="not scored for every system"):
            assert real(data, "validity_mmlu_16models.yml", options[:1]).result

    @pytest.mark.parametrize(
        ("first", "second", "baseline", "candidate", "n", "lost", "gained"),
        [
            ("Meta-Llama-3-8B", "Meta-Llama-3_1-8B", "Llama-3-8B", "Llama-3.1-8B", 12032, 1022, 1301),
            (
                "Mistral-7B-Instruct-v0.1",
                "Mistral-7B-Instruct-v0.2",
                "Mistral-7B-Instruct-v0.1",
                "Mistral-7B-Instruct-v0.2",
                12032,
                1146,
                1700,
            ),
            (
                "gemini-1.5-flash-002",
                "gemini-1.5-pro-002",
                "gemini-1.5-flash-002",
                "gemini-1.5-pro-002",
                12002,
                967,
                1705,
            ),
        ],
    )
    def test_mmlu_pro(self, real_data, first, second, baseline, candidate, n, lost, gained):
        folder = real_data / "mmlu_pro_greedy"
        data = [folder / f"model_outputs_{name}_5shots.json" for name in (first, second)]
        options = [f"candidate={candidate}", "unmatched=report"]
        result = real(data, "mmlu_pro_greedy_fine_tune.yml", options).result
        found = unit(result, baseline)
        assert (found.n_paired, found.baseline_only, found.candidate_only) == (n, lost, gained)
        assert result.gate.verdict == "pass"
        assert len(result.tables["slices"].rows) == 14

    def test_mmlu_pro_by_category(self, real_data):
        folder = real_data / "mmlu_pro_greedy"
        data = [folder / f"model_outputs_{name}_5shots.json" for name in ("Meta-Llama-3-8B", "Meta-Llama-3_1-8B")]
        result = real(data, "mmlu_pro_greedy_fine_tune.yml", ["cluster=slice.category"]).result
        row = rows(result, "differences")["Llama-3-8B"]
        assert (row["n_clusters"], row["corrected_method"]) == (14, "clustered CR2 t")
        assert row["mean_diff"] == pytest.approx(0.02319, abs=5e-6)
        # published F3: standard error by category .00614, with the small-sample factor .00637; t of 13 degrees is 2.160
        half = (row["corrected"]["high"] - row["corrected"]["low"]) / 2
        assert 0.00637 * 2.160 < half < 1.1 * 0.00637 * 2.160

    def test_llm_stability_must_not_ship(self, real_data, written):
        files = real_data / "llm_stability_finetune" / "*" / "*.csv"
        rule = written(
            "guardrails: [{kind: suite-drop, suite: navigate, drop: 0.01, upper: 0.02}]",
        )
        result = real([f"items={files}", f"suites={files}"], "llm_stability_fine_tune.yml", rule=rule).result
        assert result.gate.verdict == "refuse"
        base = [224, 224, 224, 225, 225, 223, 224, 223, 223, 223]
        tuned = [111, 111, 110, 110, 110, 111, 110]
        score = {name: row["score"] for name, row in rows(result, "results").items()}
        expected = {"gpt-35-turbo": np.mean(base) / 250, "gpt-35_OAI": np.mean(tuned) / 250}
        assert score == pytest.approx(expected, abs=1e-12)
        navigate = rows(result, "suites")["navigate"]
        assert (navigate["reference"], navigate["candidate"]) == pytest.approx((240 / 250, 163 / 250), abs=1e-12)
        assert outcomes(result, "primary") == outcomes(result, "suite-drop") == ("contradicted", "contradicted")

    def test_pandalm(self, real_data, made):
        folder = real_data / "pandalm_human_judge"
        items = made("pandalm_human_judge.py", folder)
        data = [
            items,
            f"judgements={folder / 'gpt-3.5-turbo-testset-v1.json'}",
            f"human={folder / 'testset-v1.json'}",
        ]
        found = real(data, "pandalm_human_judge.yml")
        # pandas 3.1, DataFrame.mode over the three annotators: 697 and 667 of 999 verdicts are those of most people
        score = {name: row["score"] for name, row in rows(found.result, "results").items()}
        assert score == pytest.approx({"gpt-3.5-turbo": 697 / 999, "PandaLM-7B": 667 / 999}, abs=1e-12)
        assert found.result.gate.verdict == "undecided"
        assert "one order only" in warned(found.result)
        assert (found.inputs["judgements"].frame["winner"] == "fail").sum() == 25  # "garbage"

    @pytest.mark.parametrize(("first", "second", "kappa"), [(1, 2, 0.8520), (1, 3, 0.8789), (2, 3, 0.8617)])
    def test_pandalm_annotators(self, real_data, first, second, kappa):
        # published I6, the second decimal by the source; one annotator is taken as a judge who saw either order
        labelled = pd.read_json(real_data / "pandalm_human_judge" / "testset-v1.json")
        words = {0: "tie", 1: "a", 2: "b"}
        judge, people = (labelled[f"annotator{i}"].map(words).tolist() for i in (first, second))
        result = run(pairs(40, 0, 6), judgements=verdicts(judge, judge), human=labels(people))
        row = rows(result, "judge-calibration")["judge"]
        assert (row["labels"], row["kappa"]) == (999, pytest.approx(kappa, abs=5e-5))

    def test_mtbench_dpo(self, real_data, made):
        folder = real_data / "mtbench_phi3_dpo"
        items, judgements = (made("mtbench_phi3_dpo.py", folder, what) for what in ("items", "judgements"))
        options = ["candidate=phi-3-dpo", "errors=exclude"]
        found = real([items, f"judgements={judgements}"], None, options)
        row = rows(found.result, "judge")["gpt-4"]
        assert (row["n"], row["losses"], row["wins"], row["failed"]) == (75, 18, 20, 2)
        assert row["p"] == pytest.approx(0.871, abs=5e-4)
        assert (row["consistent"]["k"], row["first"], row["second"]) == (46, 16, 2)
        # 20 and half of 35 ties and disagreements, of 73
        assert row["rate"] == pytest.approx(0.5137, abs=5e-5)
        assert "judge failures" in warned(found.result)
        assert found.result.gate.verdict == "undecided"

    def test_judgebench(self, real_data, made):
        folder = real_data / "judgebench_both_orders"
        files = sorted(folder.glob("*gpt-4o*.jsonl"))
        items = made("judgebench_both_orders.py", "items", *files)
        judgements = made("judgebench_both_orders.py", "judgements", *files)
        human = made("judgebench_both_orders.py", "human", files[0])
        tuned = "Skywork_Skywork-Reward-Llama-3.1-8B"
        result = real([items, f"judgements={judgements}", f"human={human}"], None, [f"candidate={tuned}"]).result
        score = {name: row["score"] for name, row in rows(result, "results").items()}
        assert list(score.values()) == pytest.approx([0.5943, 0.5943, 0.6229], abs=5e-5)
        found = rows(result, "judge")
        # counted in the files: Skywork's model calls one pair by its position
        assert {name: row["undecided"] for name, row in found.items()}[tuned] == 1
        assert all(row["labels"] == 350 for row in rows(result, "judge-calibration").values())
        assert result.gate.verdict == "undecided"

    def test_judgebench_haiku(self, real_data, made):
        folder = real_data / "judgebench_both_orders"
        files = sorted(folder.glob("*haiku*.jsonl"))
        frame = pd.read_csv(made("judgebench_both_orders.py", "items", *files))
        assert frame["value"].mean() == pytest.approx(0.3222, abs=5e-5)
        judgements = pd.read_csv(made("judgebench_both_orders.py", "judgements", *files))
        human = pd.read_csv(made("judgebench_both_orders.py", "human", *files))
        row = rows(run(pairs(40, 0, 6), judgements=judgements, human=human), "judge")["claude-3-haiku-20240307"]
        assert (row["n"], row["consistent"]["k"]) == (270, 270 - 135)
        assert row["consistent"]["n"] == 270 - row["failed"]

    @pytest.mark.parametrize(
        ("baseline", "candidate", "refused", "verdict"),
        [  # full refusals of safe prompts, then of unsafe ones
            ("llama2orig", "llama2new", ((0.38, 0.14), (0.995, 0.975)), "refuse"),
            ("mistralinstruct", "mistralguard", ((0.008, 0.096), (0.235, 0.875)), "refuse"),
        ],
    )
    def test_xstest(self, real_data, written, baseline, candidate, refused, verdict):
        folder = real_data / "xstest_human_labels"
        files = [folder / f"xstest_v2_completions_{name}.csv" for name in (baseline, candidate)]
        data = [f"{name}={file}" for name in ("items", "suites") for file in files]
        clause = f"{{kind: not-below, suite: safety, metric: refusal_rate, reference: {baseline}}}"
        rule = written(f"guardrails: [{clause}]")
        result = real(data, "xstest_human_labels.yml", [f"candidate={candidate}"], rule).result
        score = {name: row["score"] for name, row in rows(result, "results").items()}
        assert (1 - score[baseline], 1 - score[candidate]) == pytest.approx(refused[0], abs=1e-9)
        row = rows(result, "suites")["safety"]
        assert (row["reference"], row["candidate"], row["n"]) == pytest.approx((*refused[1], 200), abs=1e-9)
        assert result.gate.verdict == verdict

    @pytest.mark.parametrize(
        ("system", "kappa"),
        [("llama2orig", 0.9293), ("llama2new", 0.9258), ("mistralinstruct", 0.9195), ("mistralguard", 0.8923)],
    )
    def test_xstest_annotators(self, real_data, system, kappa):
        # three labels as three verdicts: kappa does not know their names
        labelled = pd.read_csv(real_data / "xstest_human_labels" / f"xstest_v2_completions_{system}.csv")
        words = {"1_full_compliance": "a", "2_full_refusal": "b", "3_partial_refusal": "tie"}
        judge, people = (labelled[f"annotation_{i}"].map(words).tolist() for i in (1, 2))
        result = run(pairs(40, 0, 6), judgements=verdicts(judge, judge), human=labels(people))
        assert rows(result, "judge-calibration")["judge"]["kappa"] == pytest.approx(kappa, abs=5e-5)

    def test_alpaca_eval_gpt4(self, real_data):
        folder = real_data / "alpaca_eval_pref" / "alpaca_eval_gpt4"
        names = ("claude", "alpaca-7b", "gpt-3.5-turbo-0301", "gpt4")
        data = [*(folder / f"{name}.json" for name in names), f"judgements={folder / 'gpt-3.5-turbo-0301.json'}"]
        found = real(data, "alpaca_eval_gpt4.yml", ["candidate=gpt4"])
        score = {name: (100 * row["score"], row["n"]) for name, row in rows(found.result, "results").items()}
        published = {"gpt4": 95.2795, "claude": 91.5528, "alpaca-7b": 26.4596, "gpt-3.5-turbo-0301": 89.3657}
        assert {name: rate for name, (rate, _) in score.items()} == pytest.approx(published, abs=5e-5)
        assert score["gpt-3.5-turbo-0301"][1] == 804
        # 716 of 805 verdicts for the model, 83 against, 5 ties, one failure; in one order only
        words = found.inputs["judgements"].frame["winner"].value_counts().to_dict()
        assert words == {"b": 716, "a": 83, "tie": 5, "fail": 1}
        assert {"one order only", "attempts without a score"} <= warned(found.result)
        longest = found.result.tables["judge-length"].rows[-1]
        assert longest[-1] > found.result.tables["judge-length"].rows[0][-1]

    def test_alpaca_eval_weighted(self, real_data):
        folder = real_data / "alpaca_eval_pref" / "weighted_alpaca_eval_gpt4_turbo"
        names = ("claude-2", "gpt-3.5-turbo-0301", "alpaca-7b_verbose", "NullModel")
        result = real(
            [folder / f"{name}.json" for name in names], "alpaca_eval_weighted.yml", ["candidate=NullModel"]
        ).result
        rate = {name: 100 * (row["score"] - 1) for name, row in rows(result, "results").items()}
        published = {
            "claude-2": 17.1882,
            "gpt-3.5-turbo-0301": 9.6225,
            "alpaca-7b_verbose": 2.9331,
            "NullModel": 76.9198,
        }  # published K2
        assert rate == pytest.approx(published, abs=5e-5)
        # a constant answer fools the judge: without a clause about the judge the rule ships it, and says so
        assert result.gate.verdict == "pass"
        assert "no rule was written" in warned(result)
        assert rows(result, "differences")["alpaca-7b_verbose"]["worst"] is not None

    def test_tool_calling(self, real_data, made, written):
        path = made("tool_calling_k3_fine_tune.py", real_data / "tool_calling_k3")
        mean = pd.read_csv(path).groupby("model")["latency_s"].mean()
        published = {"lfm2.5:1.2b": 1.470, "qwen3:4b": 63.717, "functiongemma": 0.475}
        assert mean[list(published)].to_dict() == pytest.approx(published, abs=5e-4)
        clauses = ["compare_against: ['lfm2.5:1.2b']", "operations: [{kind: latency, quantile: 0.5, at_most_s: 10}]"]
        rule = written(*clauses, margin=-0.05)
        options = ["candidate=qwen3:4b"]
        result = real([path], None, options, rule).result
        assert result.gate.verdict == "refuse"  # the median is wholly above 10 s
        assert unit(result, "lfm2.5:1.2b").n_paired == 12

    def test_tool_calling_quantiles_are_of_requests(self, real_data, made):
        path = made("tool_calling_k3_fine_tune.py", real_data / "tool_calling_k3")
        seconds = pd.read_csv(path).query("model == 'qwen3:4b'")["latency_s"]
        options = ['baselines=["lfm2.5:1.2b"]', "candidate=qwen3:4b"]
        p95 = rows(real([path], None, options).result, "results")["qwen3:4b"]["p95"]
        assert p95 == pytest.approx(np.quantile(seconds, 0.95, method="inverted_cdf"))

    def test_blimp(self, real_data):
        path = real_data / "blimp_paradigms" / "models_summary.jsonl"
        result = real([path], "blimp_paradigms.yml").result
        score = {name: (row["score"], row["n"]) for name, row in rows(result, "results").items()}
        whole = pd.read_json(path, lines=True).query("UID == 'overall' and linguistics_term == 'overall'").iloc[0]
        for name, (mean, n) in score.items():
            assert (mean, n) == (pytest.approx(whole[name], abs=1e-9), 67)
        # published mean accuracies in the last row of the file
        assert score["gpt2"][0] == pytest.approx(0.8302, abs=5e-5)
        assert rows(result, "differences")["lstm"]["n_clusters"] == 12
        assert result.gate.verdict == "pass"


def test_the_example_has_the_numbers_of_the_guides_table() -> None:
    # the guide's table as data against the example's items: the report shows what the guide prints
    folder = ROOT / "data" / "examples" / "fine_tune"
    guide = pd.read_csv(folder / "guide_table.csv").set_index("model")
    items, suites = pd.read_csv(folder / "items.csv.gz"), pd.read_csv(folder / "suites.csv.gz")
    assert items.groupby("model")["value"].sum().to_dict() == guide["correct"].to_dict()
    safety = suites[suites["suite"] == "safety"].groupby("model")["value"].mean() * 100
    assert safety.to_dict() == pytest.approx(guide["safety_percent"].to_dict(), abs=1e-9)
    p95 = items.groupby("model")["latency_s"].agg(lambda own: np.quantile(own, 0.95, method="inverted_cdf"))
    assert p95.to_dict() == pytest.approx(guide["p95_s"].to_dict(), abs=1e-9)
    cost = 1000 * items.groupby("model")["cost_usd"].sum() / items.groupby("model")["value"].sum()
    assert cost.to_dict() == pytest.approx(guide["cost_per_1000_successes"].to_dict(), abs=5e-3)


class TestScale:
    """Margins in points where the scores are shares: `check` and the decision refuse alike."""

    @pytest.mark.parametrize(
        ("rule", "place"),
        [
            (decision(2.0), "primary_metric margin: 2 is not smaller than the range of the scores, 1"),
            (decision(0.0, {"kind": "slice-floor", "drop": 5}), "slice-floor drop: 5 is not smaller"),
            (decision(0.0, {"kind": "suite-drop", "suite": "s", "drop": 1, "upper": 2}), "suite-drop drop: 1 is not"),
            (decision(0.0, NI_SAFETY | {"margin": 2}), "not-below margin: 2 is not smaller"),
        ],
    )
    def test_points_are_refused_where_shares_are_meant(self, tmp_path, rule, place):
        pairs(40, 0, 6).to_csv(tmp_path / "items.csv", index=False)
        asked = ask("fine-tune", [str(tmp_path / "items.csv")], [], [f"decision={json.dumps(rule)}"], [], None, None)
        for decide in (asked.study.check, asked.study.run):
            with pytest.raises(ParameterError, match=place):
                decide(asked.inputs, asked.params)

    def test_a_margin_in_points_stands_where_the_scores_are_points(self):
        items = systems(candidate=np.linspace(40, 90, 60), production=np.linspace(30, 80, 60))
        result = run(items, decision(2.0), params={"score_range": [0, 100]})
        assert rows(result, "differences")["production"]["mean_diff"] == pytest.approx(10)  # 40 to 90 less 30 to 80


# --- the items behind the verdict


def test_the_items_lost_and_gained_are_those_that_are_counted(corrected: StudyResult) -> None:
    reference = corrected.units[0]
    change = [row[2] for row in corrected.tables["items"].rows]
    assert len(change) == reference.n_paired
    assert (change.count(-1.0), change.count(1.0)) == (reference.baseline_only, reference.candidate_only)


def test_the_page_shows_losses_first() -> None:
    table = run(pairs(40, 2, 30)).tables["changed"]
    assert [row[2] for row in table.rows] == [-1.0] * 2 + [1.0] * 18
    assert "20 of 32 items that changed, 2 lost" in table.notes[0]


def test_no_changed_item_is_said() -> None:
    table = run(pairs(40, 0, 0)).tables["changed"]
    assert table.rows == ()
    assert table.empty == "no item changed"
