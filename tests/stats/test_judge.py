"""Judges against public verdicts in both orders, leaderboards, statsmodels, ppi_py and enumerated tables."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import binom, binomtest, norm

from analysis.stats import (
    length_adjusted,
    length_only,
    mean_interval,
    position_bias,
    prediction_powered_mean,
    resolve_orders,
    rogan_gladen,
    tango_interval,
    wilson,
    win_rate,
)

VERDICTS = st.sampled_from(["A", "B", "tie", "fail"])
PAIRS = st.lists(st.tuples(VERDICTS, VERDICTS), min_size=1, max_size=30)
SWAP = {"A": "B", "B": "A", "tie": "tie", "fail": "fail", "undecided": "undecided"}


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


class TestOrders:
    def test_every_combination(self):
        # the definition: both orders name the same winner, or neither names one
        combinations = list(itertools.product(["A", "B", "tie", "fail"], repeat=2))
        found = resolve_orders(*zip(*combinations, strict=True))
        for (one, two), verdict, score, net in zip(
            combinations, found.verdict, found.score.tolist(), found.net, strict=True
        ):
            if "fail" in (one, two):
                assert verdict == "fail"
                assert math.isnan(score)
            else:
                assert verdict == (one if one == two else "undecided")
                assert score == {"A": 0, "B": 1}.get(verdict, 0.5)
            assert net == (one == "B") + (two == "B") - (one == "A") - (two == "A")

    @given(PAIRS)
    def test_the_systems_change_names(self, pairs):
        first, second = zip(*pairs, strict=True)
        one = resolve_orders(first, second)
        other = resolve_orders([SWAP[v] for v in second], [SWAP[v] for v in first])  # A and B, hence the orders too
        assert other.verdict.tolist() == [SWAP[v] for v in one.verdict.tolist()]
        assert (other.wins_a, other.wins_b, other.failed_first) == (one.wins_b, one.wins_a, one.failed_second)
        np.testing.assert_array_equal(other.net, -one.net)
        np.testing.assert_array_equal(other.score, 1 - one.score)
        counts = (one.wins_a, one.wins_b, one.ties, one.undecided, one.failed)
        assert sum(counts) == len(pairs)
        if one.failed < len(pairs):
            bias, back = (
                position_bias(*orders, level=0.95)
                for orders in ((first, second), ([SWAP[v] for v in second], [SWAP[v] for v in first]))
            )
            assert bias == back  # a position is not a system
            flips = bias.first_flips + bias.second_flips + bias.first_leans + bias.second_leans
            assert (bias.consistent, flips) == (one.wins_a + one.wins_b + one.ties, one.undecided)

    @given(PAIRS)
    def test_the_first_position_becomes_the_second(self, pairs):
        first, second = zip(*pairs, strict=True)
        if all("fail" in pair for pair in pairs):
            with pytest.raises(ValueError, match="failed in every pair"):
                position_bias(first, second, level=0.95)
            return
        one, other = (position_bias(*orders, level=0.95) for orders in ((first, second), (second, first)))
        assert (other.first_flips, other.first_leans) == (one.second_flips, one.second_leans)
        assert other.p_value == one.p_value

    def test_refusals(self):
        with pytest.raises(ValueError, match="verdict = 'C': give A, B, tie or fail"):
            resolve_orders(["A", "C"], ["A", "A"])
        with pytest.raises(ValueError, match="2 and 1 verdicts"):
            resolve_orders(["A", "A"], ["A"])
        with pytest.raises(ValueError, match="shape"):
            resolve_orders([], [])

    @pytest.mark.real
    def test_mt_bench(self, real_data):
        # README of the data: 18 and 20 surviving wins, p .871, 46 of 75 consistent, first position 16 and 2;
        # g2 is mapped back to the models already; two questions have an error
        word = {"model_1": "A", "model_2": "B", "tie": "tie", "error": "fail"}
        rows = lines(real_data / "mtbench_phi3_dpo" / "gpt-4_pair.jsonl")
        orders = [[word[row[game]] for row in rows] for game in ("g1_winner", "g2_winner")]
        found = resolve_orders(*orders)
        assert (found.wins_a, found.wins_b, found.ties, found.undecided, found.failed) == (18, 20, 8, 27, 2)
        assert (found.failed_first, found.failed_second) == (1, 2)
        bias = position_bias(*orders, level=0.95)
        assert (bias.n, bias.consistent, bias.first_flips, bias.second_flips) == (73, 46, 16, 2)
        assert bias.p_value == pytest.approx(binomtest(16, 18).pvalue)
        assert bias.consistency[1:] == wilson(46, 73, level=0.95)
        rate = win_rate(found.score, level=0.95)
        assert rate.p_value == pytest.approx(0.871, abs=5e-4)
        assert (rate.n, rate.failed, rate.wins, rate.losses, rate.even) == (73, 2, 20, 18, 35)

    @pytest.mark.real
    def test_judgebench(self, real_data):
        # README of the data: 32.22 % right by the votes of both orders, 135 inconsistent of 270; 13 of these have
        # no verdict in one order, so that 122 are undecided here
        path = next((real_data / "judgebench_both_orders").glob("*claude-3-haiku*"))
        rows = lines(path)
        words = ({"A>B": "A", "B>A": "B"}, {"A>B": "B", "B>A": "A"})  # the second decision is in swapped terms
        orders = [
            [{**word, "A=B": "tie", None: "fail"}[row["judgments"][i]["decision"]] for row in rows]
            for i, word in enumerate(words)
        ]
        found = resolve_orders(*orders)
        right = np.array([1 if row["label"] == "B>A" else -1 for row in rows])
        assert (np.sign(found.net) == right).mean() == pytest.approx(0.3222, abs=5e-5)
        assert (found.undecided, found.failed, found.undecided + found.failed) == (122, 13, 135)
        strict = np.where(found.verdict == "A", -1, np.where(found.verdict == "B", 1, 0))
        assert int((strict == right).sum()) == 38


class TestWinRate:
    @given(
        st.lists(st.sampled_from([0.0, 0.5, 1.0, math.nan]), min_size=1, max_size=40).filter(
            lambda s: s != [s[0]] * len(s) or s[0] == s[0]
        )
    )
    def test_of_verdicts(self, score):
        there = [s for s in score if not math.isnan(s)]
        if not there:
            return
        one, other = win_rate(score, level=0.9), win_rate([1 - s for s in score], level=0.9)
        wins, losses = there.count(1.0), there.count(0.0)
        assert (one.wins, one.losses, one.even, one.failed) == (wins, losses, there.count(0.5), len(score) - len(there))
        assert one.rate == pytest.approx(0.5 + (wins - losses) / (2 * len(there)))
        low, high = tango_interval(losses, wins, len(there), level=0.9)
        assert (one.low, one.high) == pytest.approx((0.5 + low / 2, 0.5 + high / 2))
        assert one.p_value == pytest.approx(binomtest(wins, wins + losses).pvalue if wins + losses else 1.0)
        assert (other.low, other.high) == pytest.approx((1 - one.high, 1 - one.low), abs=1e-12)
        assert 0 <= one.low < one.high <= 1  # it never collapses

    def test_graded(self):
        scores = [0.1, 0.7, 0.4, 0.95, math.nan, 0.2]
        one = win_rate(scores, level=0.95)
        assert (one.low, one.high) == pytest.approx(mean_interval(scores[:4] + scores[5:], level=0.95))
        assert (one.wins, one.losses, one.failed) == (2, 3, 1)
        flat = win_rate([0.3] * 4, level=0.95)
        assert (flat.rate, flat.se, flat.low) == (pytest.approx(0.3), pytest.approx(0), None)
        assert "all the same" in flat.reason
        alone = win_rate([0.3], level=0.95)
        assert (alone.se, alone.low) == (None, None)
        with pytest.raises(ValueError, match=r"1\.5"):
            win_rate([1.5, 0.2], level=0.95)
        for none in ([math.nan], []):
            with pytest.raises(ValueError, match="give a score per pair"):
                win_rate(none, level=0.95)

    @pytest.mark.real
    @pytest.mark.parametrize(
        ("model", "rate", "error", "n"),
        [
            ("gpt-3.5-turbo-0301", 9.6225, 0.9130, 805),
            ("claude-2", 17.1882, 1.1748, 805),
            ("NullModel", 76.9198, 0.9090, 805),
            ("alpaca-7b_verbose", 2.9331, None, 802),
        ],
    )
    def test_alpaca_eval_weighted(self, real_data, model, rate, error, n):
        # published-numbers K2 and leaderboard_weighted.csv
        folder = real_data / "alpaca_eval_pref"
        rows = json.loads((folder / "weighted_alpaca_eval_gpt4_turbo" / f"{model}.json").read_text())
        score = np.array([row["preference"] for row in rows], dtype=float) - 1
        one = win_rate(score, level=0.95)
        board = pd.read_csv(folder / "leaderboard_weighted.csv", index_col=0).loc[model]
        assert one.n == n
        assert 100 * one.rate == pytest.approx(rate, abs=1e-4)
        if error:
            assert 100 * one.se == pytest.approx(error, abs=1e-4)
        assert 100 * one.se == pytest.approx(board["standard_error"], rel=1e-3)
        if n == board["n_total"] == 805:
            assert (one.wins, one.losses, one.even) == (board["n_wins"], board["n_wins_base"], board["n_draws"])

    @pytest.mark.real
    @pytest.mark.parametrize(
        ("model", "rate", "n"),
        [
            ("gpt4", 95.2795, 805),
            ("claude", 91.5528, 805),
            ("alpaca-7b", 26.4596, 805),
            ("gpt-3.5-turbo-0301", 89.3657, 804),
        ],
    )
    def test_alpaca_eval_discrete(self, real_data, model, rate, n):
        # README of the data: ties (0 or 1.5) are half, a missing preference is a failure of the judge
        rows = json.loads((real_data / "alpaca_eval_pref" / "alpaca_eval_gpt4" / f"{model}.json").read_text())
        codes = {1: 0.0, 2: 1.0, 0: 0.5, 1.5: 0.5, None: math.nan}
        one = win_rate([codes[row["preference"]] for row in rows], level=0.95)
        assert one.n == n
        assert 100 * one.rate == pytest.approx(rate, abs=5e-5)


SCORES = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 0.3]), st.integers(-20, 20)), min_size=6, max_size=40)


class TestLength:
    def test_baseline(self):
        score, gap = [1, 1, 0, 0, 1, 0.5, math.nan, 1], [5, 3, -2, 4, -6, 2, 9, 0]
        one = length_only(score, gap, level=0.95)
        assert (one.n, one.longer_won) == (5, 3)
        assert (one.accuracy, one.low, one.high) == (0.6, *wilson(3, 5, level=0.95))
        assert one.p_value == binomtest(3, 5).pvalue
        back = length_only([1 - s for s in score], [-g for g in gap], level=0.95)
        assert back == one
        assert length_only([0.5, 1], [3, 0], level=0.95) is None

    @given(SCORES)
    @settings(deadline=None)
    def test_statsmodels(self, pairs):
        # statsmodels 0.15, GLM binomial with HC0, times n/(n − 2)
        score, gap = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
        one = length_adjusted(score, gap, level=0.95)
        if one.rate is None or abs(one.slope) > 5:
            return
        x = sm.add_constant(gap / gap.std(), has_constant="add")
        fit = sm.GLM(score, x, family=sm.families.Binomial()).fit(cov_type="HC0", tol=1e-12, maxiter=200)
        grow = math.sqrt(score.size / (score.size - 2))
        assert one.slope == pytest.approx(fit.params[1], abs=1e-6)
        assert one.slope_se == pytest.approx(grow * fit.bse[1], rel=1e-5)
        assert one.p_value == pytest.approx(2 * norm.sf(abs(fit.params[1] / fit.bse[1]) / grow), abs=1e-5)
        reach = norm.ppf(0.975) * grow * fit.bse[0]
        ends = [1 / (1 + math.exp(-fit.params[0] - side * reach)) for side in (-1, 1)]
        assert (one.low, one.high) == pytest.approx(tuple(ends), abs=1e-5)
        assert one.low < one.rate < one.high

    @given(SCORES)
    @settings(deadline=None)
    def test_the_systems_change_names(self, pairs):
        score, gap = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
        one, other = length_adjusted(score, gap, level=0.9), length_adjusted(1 - score, -gap, level=0.9)
        assert (one.reason is None) == (other.reason is None)
        if one.rate is not None:
            assert (1 - other.high, 1 - other.rate, 1 - other.low, other.slope) == pytest.approx(
                (one.low, one.rate, one.high, one.slope), abs=1e-7
            )
            scaled = length_adjusted(score, 3.7 * gap, level=0.9)
            assert (scaled.rate, scaled.slope) == pytest.approx((one.rate, one.slope), abs=1e-7)

    def test_two_lengths_have_a_closed_form(self):
        # a saturated model: log odds 2:1 at +1 and 1:3 at −1, so at 0 half their sum
        score, gap = [1, 1, 0, 1, 0, 0, 0], [1, 1, 1, -1, -1, -1, -1]
        one = length_adjusted(score, gap, level=0.95)
        middle = (math.log(2) - math.log(3)) / 2
        assert one.rate == pytest.approx(1 / (1 + math.exp(-middle)), abs=1e-9)
        assert one.slope == pytest.approx((math.log(2) + math.log(3)) / 2 * np.std(gap), abs=1e-9)

    @pytest.mark.parametrize("overlap", [0.1, 0.01, 1e-4])
    def test_lengths_that_nearly_separate(self, overlap):
        # the score equations of maximum likelihood, up to slopes of a thousand
        rng = np.random.default_rng(0)
        longer = rng.uniform(overlap, 1, 500)
        gap = np.concatenate([longer, -rng.uniform(overlap, 1, 500), [-2 * overlap, 2 * overlap]])
        score = np.concatenate([np.ones(500), np.zeros(500), [1, 0]])
        one = length_adjusted(score, gap, level=0.95)
        fitted = expit(logit(one.rate) + one.slope * gap / gap.std())
        assert [(score - fitted).sum(), ((score - fitted) * gap).sum()] == pytest.approx([0, 0], abs=1e-6)
        assert one.slope > 1.5 / overlap**0.5

    def test_no_fit(self):
        for score, gap in (
            ([1, 1, 0, 0], [4, 3, 2, 1]),
            ([1, 1, 0, 0], [4, 2, 2, 1]),  # quasi-separation: they meet in one length
            ([1, 1, 1, 1], [4, 2, 2, 1]),
            ([1, 0, 1, 0], [3, 3, 3, 3]),
        ):
            one = length_adjusted(score, gap, level=0.95)
            assert (one.rate, one.low, one.slope) == (None, None, None)
            assert "no maximum" in one.reason
        ties = length_adjusted([0.5] * 5, [1, 2, 3, 4, 5], level=0.95)
        assert ties.rate is None
        assert "all are ties" in ties.reason
        with pytest.raises(ValueError, match="a gap is not finite"):
            length_adjusted([1, 0], [1, math.nan], level=0.95)
        with pytest.raises(ValueError, match="2 scores and gaps of shape"):
            length_adjusted([1, 0], [1], level=0.95)

    @pytest.mark.real
    def test_null_model(self, real_data):
        # a constant answer of 872 characters that fools the judge: its win rate rises further with equal lengths
        rows = json.loads(
            (real_data / "alpaca_eval_pref" / "weighted_alpaca_eval_gpt4_turbo" / "gpt-3.5-turbo-0301.json").read_text()
        )
        score = np.array([row["preference"] for row in rows]) - 1
        gap = np.array([row["output_2_chars"] - row["output_1_chars"] for row in rows])
        one = length_adjusted(score, gap, level=0.95)
        assert one.raw == pytest.approx(0.096225, abs=1e-6)
        assert one.slope > 0
        assert one.low > one.raw  # its answers are shorter; the leaderboard's own control also raises it, to .181


def pp_terms(y, f, u, lam):
    """Estimate and error of the publication, with n − 1 below."""
    y, f, u = (np.asarray(v, dtype=float) for v in (y, f, u))
    se = math.sqrt(lam**2 * np.var(u, ddof=1) / u.size + np.var(y - lam * f, ddof=1) / y.size)
    return lam * u.mean() + (y - lam * f).mean(), se


class TestPredictionPowered:
    ITEM = np.arange(40)
    HUMAN, JUDGE = (ITEM * 7 % 11) / 10, (ITEM * 7 % 11 + ITEM % 3) / 12
    REST = (np.arange(200) * 5 % 13) / 12

    @pytest.mark.parametrize(
        ("lam", "estimate", "low", "high"),
        [
            (1.0, 0.50041667, 0.44891193, 0.5519214),
            (None, 0.50155908, 0.44864987, 0.55446829),
            (0.4, 0.50316667, 0.43328938, 0.57304395),
        ],
    )
    def test_ppi_py(self, lam, estimate, low, high):
        # ppi-python 0.2.3: ppi_mean_pointestimate and ppi_mean_ci(alpha=.05), whose errors divide by n and whose
        # quantile is the normal one
        one = prediction_powered_mean(self.HUMAN, self.JUDGE, self.REST, level=0.95, lam=lam)
        assert one.estimate == pytest.approx(estimate, abs=1e-8)
        n, m = 40, 200
        rest, rectifier = one.lam * self.REST, self.HUMAN - one.lam * self.JUDGE
        se = math.sqrt(rest.var() / m + rectifier.var() / n)
        assert (estimate - low, high - estimate) == pytest.approx((1.959964 * se, 1.959964 * se), abs=1e-6)
        assert one.se == pytest.approx(pp_terms(self.HUMAN, self.JUDGE, self.REST, one.lam)[1])
        assert se < one.se < 1.02 * se
        assert one.method == "t"

    def test_the_human_labels_alone(self):
        one = prediction_powered_mean(self.HUMAN, self.JUDGE, self.REST, level=0.95, lam=0)
        assert (one.low, one.high) == pytest.approx(mean_interval(self.HUMAN, level=0.95))
        assert one.estimate == one.human
        blind = prediction_powered_mean(self.HUMAN, [0.5] * 40, [0.5] * 200, level=0.95, lam=None)
        assert (blind.lam, blind.estimate) == (0, pytest.approx(blind.human))
        liar = prediction_powered_mean(self.HUMAN, -self.HUMAN, self.REST, level=0.95, lam=None)
        assert liar.lam == 0

    @given(
        st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=30),
        st.integers(2, 60),
        st.data(),
    )
    def test_labels_of_two_kinds(self, pairs, m, data):
        k = data.draw(st.integers(0, m))
        y, f = zip(*pairs, strict=True)
        rest = [1] * k + [0] * (m - k)
        one = prediction_powered_mean(y, f, rest, level=0.95)
        estimate, se = pp_terms(y, f, rest, 1)
        assert (one.estimate, one.se) == pytest.approx((estimate, se), abs=1e-12)
        # Zou and Donner (2008): the distances of the two terms' limits add in squares
        loss, gain = sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
        (l1, u1), (l2, u2) = wilson(k, m, level=0.95), tango_interval(loss, gain, len(pairs))
        first, second = k / m, (gain - loss) / len(pairs)
        assert one.low == pytest.approx(max(0, estimate - math.hypot(first - l1, second - l2)), abs=1e-12)
        assert one.high == pytest.approx(min(1, estimate + math.hypot(u1 - first, u2 - second)), abs=1e-12)
        # labels the other way round
        other = prediction_powered_mean(*([1 - v for v in values] for values in (y, f, rest)), level=0.95)
        assert (1 - other.high, 1 - other.estimate, 1 - other.low) == pytest.approx(
            (one.low, one.estimate, one.high), abs=1e-9
        )

    def test_a_judge_that_is_never_wrong(self):
        labels, rest = [1, 0, 1, 1, 0] * 30, [1, 1, 0] * 200
        one = prediction_powered_mean(labels, labels, rest, level=0.95)
        narrow = wilson(400, 600, level=0.95)
        assert one.low < narrow[0]  # 150 labels without an error allow for some
        assert one.high > narrow[1]
        plain = prediction_powered_mean(labels, labels, rest, level=0.95, method="t")
        assert (plain.estimate, plain.low) == (pytest.approx(2 / 3), None)
        assert "not known" in plain.reason

    def test_refusals(self):
        with pytest.raises(ValueError, match="needs labels of 0 and 1"):
            prediction_powered_mean([1, 0.5], [1, 1], [1, 0], level=0.95, method="score")
        with pytest.raises(ValueError, match=r"lam = 0\.5"):
            prediction_powered_mean([1, 0], [1, 1], [1, 0], level=0.95, method="score", lam=0.5)
        with pytest.raises(ValueError, match="two items or more"):
            prediction_powered_mean([1], [1], [1, 0], level=0.95)
        with pytest.raises(ValueError, match="two items or more"):
            prediction_powered_mean([1, 1], [1], [1, 0], level=0.95)
        with pytest.raises(ValueError, match="not finite"):
            prediction_powered_mean([1, math.nan], [1, 1], [1, 0], level=0.95)

    @pytest.mark.real
    def test_xstest(self, real_data):
        # full refusals by GPT-4 on 450 prompts, 150 of them with the human label: near the rate by humans on all
        folder = real_data / "xstest_human_labels"
        human = pd.read_csv(folder / "xstest_v2_completions_llama2orig.csv").set_index("id")["final_label"]
        judge = pd.read_csv(folder / "xstest_v2_completions_llama2orig_gpteval.csv").set_index("id")["gpt4_label"]
        y, f = (labels.loc[human.index].eq("2_full_refusal").astype(float).to_numpy() for labels in (human, judge))
        order = np.random.default_rng(0).permutation(y.size)
        seen, rest = order[:150], order[150:]
        one = prediction_powered_mean(y[seen], f[seen], f[rest], level=0.95)
        assert one.low < y.mean() < one.high
        assert one.judged < y.mean() - 0.05  # GPT-4 sees far fewer refusals than humans do
        errors = [prediction_powered_mean(y[seen], f[seen], f[rest], level=0.95, lam=lam).se for lam in (None, 0, 1)]
        assert errors[0] < min(errors[1:])


def corrected(k, n, true_positives, n_pos, true_negatives, n_neg, level=0.95):
    return rogan_gladen(
        k, n, true_positives=true_positives, human_positives=n_pos, true_negatives=true_negatives,
        human_negatives=n_neg, level=level,
    )  # fmt: skip


class TestRoganGladen:
    def test_the_formula(self):
        # Rogan and Gladen (1978): (p + sp − 1)/(se + sp − 1) with p .4, se .9, sp .8
        one = corrected(400, 1000, 45, 50, 80, 100)
        assert one.estimate == pytest.approx((0.4 + 0.8 - 1) / (0.9 + 0.8 - 1))
        assert (one.judged, one.human, one.lam) == (0.4, pytest.approx(1 / 3), None)

    def test_lang_reiczigel(self):
        # Lang and Reiczigel (2014), written out: Agresti-Coull for p, one success and failure more for se and sp
        k, n, tp, np_, tn, nn, z = 300, 850, 45, 50, 90, 100, 1.959963984540054
        p, se, sp = (k + z * z / 2) / (n + z * z), (tp + 1) / (np_ + 2), (tn + 1) / (nn + 2)
        youden = se + sp - 1
        rate = (p + sp - 1) / youden
        shift = 2 * z**2 * (rate * se * (1 - se) / (np_ + 2) - (1 - rate) * sp * (1 - sp) / (nn + 2))
        error = math.sqrt(
            p * (1 - p) / (n + z * z) + rate**2 * se * (1 - se) / (np_ + 2) + (1 - rate) ** 2 * sp * (1 - sp) / (nn + 2)
        )
        one = corrected(k, n, tp, np_, tn, nn)
        assert (one.low, one.high) == pytest.approx(
            (rate + shift - z * error / youden, rate + shift + z * error / youden), abs=1e-12
        )

    @given(st.integers(0, 60), st.integers(1, 20), st.integers(1, 20), st.data())
    def test_kinds_change_names(self, k, positives, negatives, data):
        tp, tn = data.draw(st.integers(0, positives)), data.draw(st.integers(0, negatives))
        one, other = corrected(k, 60, tp, positives, tn, negatives), corrected(60 - k, 60, tn, negatives, tp, positives)
        if one.estimate is None:
            assert other.reason == one.reason
            return
        assert (1 - other.high, 1 - other.estimate, 1 - other.low) == pytest.approx(
            (one.low, one.estimate, one.high), abs=1e-9
        )
        assert 0 <= one.low <= one.high <= 1

    def test_coverage_by_enumeration(self):
        # all tables of 60 judged items and 25 labels of either kind, true rate .3, se .9, sp .85
        level, rate, se, sp = 0.95, 0.3, 0.9, 0.85
        p = rate * se + (1 - rate) * (1 - sp)
        law = [binom.pmf(np.arange(size + 1), size, q) for size, q in ((60, p), (25, se), (25, sp))]
        covered = 0.0
        for k, a, b in itertools.product(range(8, 37), range(16, 26), range(14, 26)):
            one = corrected(k, 60, a, 25, b, 25, level)
            if one.low is None or one.low <= rate <= one.high:
                covered += law[0][k] * law[1][a] * law[2][b]
        assert 0.94 < covered < 0.99

    def test_not_identified(self):
        none = corrected(10, 50, 0, 0, 9, 10)
        assert (none.estimate, none.low) == (None, None)
        assert "all of one kind" in none.reason
        coin = corrected(10, 50, 5, 10, 5, 10)
        assert coin.estimate is None
        assert "no better than chance" in coin.reason
        with pytest.raises(ValueError, match="n = 0"):
            corrected(0, 0, 5, 10, 5, 10)
        with pytest.raises(ValueError, match="k = 11"):
            corrected(10, 50, 11, 10, 5, 10)
