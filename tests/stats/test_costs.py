"""Costs per success against the guide, Wilson, explicit quadratics and the bootstrap."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from analysis.stats import (
    amortised_cost,
    bootstrap_cost_ratio,
    break_even_volume,
    cost_per_success,
    cost_ratio,
)


def found(cost, success, **options):
    return cost_per_success(cost, success, **{"level": 0.95, **options})


ITEMS = st.lists(st.tuples(st.integers(1, 50), st.integers(0, 1)), min_size=4, max_size=40)


def moments(cost, success):
    """Means, and variances and covariance of the means."""
    c, s, n = np.asarray(cost, float), np.asarray(success, float), len(cost)
    v = np.cov(c, s) / n
    return c.mean(), s.mean(), v[0, 0], v[0, 1], v[1, 1]


class TestPublished:
    def test_acceptance_line_11(self):
        # study 4 section D line 11 and published-numbers K1: $4.00 per 1,000 at 86 %, $1.20 at 91 %
        one = found([0.004] * 100, [1] * 86 + [0] * 14)
        two = found([0.0012] * 100, [1] * 91 + [0] * 9)
        assert (one.cost, two.cost) == pytest.approx((4.6512, 1.3187), abs=1e-4)
        ratio = cost_ratio([0.004] * 100, [1] * 86 + [0] * 14, [0.0012] * 100, [1] * 91 + [0] * 9, level=0.95)
        assert ratio.ratio == pytest.approx(0.2835, abs=1e-4)
        assert (one.n, one.successes, one.mean_cost) == (100, 86, pytest.approx(0.004))

    def test_the_guides_table(self):
        # evaluation guide, 820 items: production 706 right, tuned 746, at costs that print $4.65 and $1.32; the rule
        # "at most 70 % of production" holds for the whole interval, whichever successes the systems share
        one = np.arange(820) < 706
        for shared in (632, 670, 706):
            two = (np.arange(820) < shared) | ((np.arange(820) >= 706) & (np.arange(820) < 706 + 746 - shared))
            assert two.sum() == 746
            assert cost_ratio([0.004] * 820, one, [0.0012] * 820, two, level=0.95).high < 0.70


class TestCostPerSuccess:
    @pytest.mark.parametrize(("k", "n"), [(0, 40), (1, 40), (5, 500), (20, 40), (40, 40)])
    def test_equal_costs_are_over_wilson(self, k, n):
        # Wilson's limits with Student's quantile in the place of z
        one = found([3.0] * n, [1] * k + [0] * (n - k))
        t = student.ppf(0.975, n - 1)
        half = t * math.sqrt(k * (n - k) / n + t * t / 4)
        low, high = (k + t * t / 2 - half) / (n + t * t), (k + t * t / 2 + half) / (n + t * t)
        assert one.low == pytest.approx(3000 / high, rel=1e-9)
        if k:
            assert one.high == pytest.approx(3000 / low, rel=1e-9)
            assert one.reason is None
        else:
            assert (one.cost, one.high) == (None, None)
            assert "no item succeeded" in one.reason

    @given(ITEMS)
    def test_fieller_by_its_definition(self, items):
        cost, success = zip(*items, strict=True)
        c, s, v_cc, v_cs, v_ss = moments(cost, success)
        t2 = student.ppf(0.975, len(items) - 1) ** 2
        one = found(cost, success, method="fieller")

        def excess(r):
            return (c - r * s) ** 2 - t2 * (v_cc - 2 * r * v_cs + r * r * v_ss)

        scale = t2 * (v_cc + (c / s) ** 2 * v_ss) if s else 1
        for end in (one.low, one.high):
            if end:
                assert excess(end / 1000) == pytest.approx(0, abs=1e-7 * max(scale, (end / 1000 * s) ** 2, c * c))
        if one.high is not None:
            assert one.low <= one.cost <= one.high
            assert s > math.sqrt(t2 * v_ss)  # a success rate of 0 is excluded
        elif one.reason.startswith("the successes"):
            assert s <= math.sqrt(t2 * v_ss) * (1 + 1e-9)
            assert one.low == 0 or excess(0.99 * one.low / 1000) > 0 > excess(1.01 * one.low / 1000 + 1e-9)

    @given(ITEMS)
    def test_score_by_its_definition(self, items):
        # (c − R s)² against t²/n (σ² + (d − R)² p(1 − p)) at p = c/R, the line of costs by numpy's least squares
        cost, success = (np.array(column, dtype=float) for column in zip(*items, strict=True))
        c, s, n = cost.mean(), success.mean(), cost.size
        t2 = student.ppf(0.975, n - 1) ** 2
        d = np.polyfit(success, cost, 1)[0] if 0 < s < 1 else 0.0
        sigma2 = np.var(cost - d * success, ddof=1)
        one = found(cost, success)

        def excess(r):
            rate = min(c / r, 1.0)
            return (c - r * s) ** 2 - t2 / n * (sigma2 + (d - r) ** 2 * rate * (1 - rate))

        for end in (one.low, one.high):
            if end:
                scale = (end / 1000 * s) ** 2 + c * c + t2 * sigma2
                assert excess(end / 1000) == pytest.approx(0, abs=1e-9 * scale)
        if one.high is None:
            assert s == 0 or one.reason.startswith("it is the same")
        else:
            assert one.low <= one.cost <= one.high
            assert excess(2 * one.high / 1000) > 0

    @given(ITEMS, st.sampled_from(["score", "fieller", "delta"]), st.randoms(use_true_random=False))
    def test_currency_and_order_do_not_matter(self, items, method, random):
        cost, success = zip(*items, strict=True)
        one = found(cost, success, method=method)
        mixed = random.sample(items, len(items))
        other = found([0.07 * c for c, _ in mixed], [s for _, s in mixed], method=method)
        assert other.reason == one.reason
        for name in ("cost", "low", "high"):
            assert getattr(other, name) == (
                None if getattr(one, name) is None else pytest.approx(0.07 * getattr(one, name), rel=1e-6, abs=1e-9)
            )

    def test_many_items_agree(self):
        rng = np.random.default_rng(0)
        success = rng.random(20_000) < 0.6
        cost = rng.gamma(2, 1 + success)
        score, fieller, delta = (found(cost, success, method=method) for method in ("score", "fieller", "delta"))
        assert (score.low, score.high) == pytest.approx((fieller.low, fieller.high), rel=1e-3)
        assert (delta.low, delta.high) == pytest.approx((fieller.low, fieller.high), rel=1e-3)

    def test_few_successes(self):
        cost, success = [1.0, 2.0, 1.5, 2.5] * 10, [1, 0, 0, 0] + [0] * 36
        fieller = found(cost, success, method="fieller")
        assert fieller.high is None
        assert "too few for an upper limit" in fieller.reason
        assert 0 < fieller.low < fieller.cost
        score = found(cost, success)
        assert score.low < score.cost < score.high
        assert found(cost, success, method="delta").low == 0  # clipped
        for method in ("fieller", "delta"):
            none = found(cost, [0] * 40, method=method)
            assert (none.cost, none.low, none.high) == (None, None, None)
        assert found([0.0] * 39 + [1.0], success, method="fieller").low == 0  # not even the cost is above 0

    def test_no_spread(self):
        for method in ("fieller", "delta"):
            one = found([2.0] * 9, [1] * 9, method=method)
            assert (one.cost, one.low, one.high) == (2000, None, None)
            assert "no width" in one.reason
        free = found([0.0] * 9, [1] * 5 + [0] * 4)
        assert (free.cost, free.low) == (0, None)

    def test_shares_of_attempts(self):
        # an item counts once: two attempts with the same outcome each are not two items
        one = found([1.0, 2.0, 3.0, 1.0], [0.5, 1.0, 0.0, 1.0], method="fieller")
        assert one.cost == pytest.approx(1000 * 7 / 2.5)
        assert one.successes == 2.5

    def test_refusals(self):
        with pytest.raises(ValueError, match="a cost is -1"):
            found([1, -1], [1, 0])
        with pytest.raises(ValueError, match="a cost is nan"):
            found([1, math.nan], [1, 0])
        with pytest.raises(ValueError, match="rate = 2"):
            found([1, 1], [1, 2])
        with pytest.raises(ValueError, match="two items or more"):
            found([1], [1])
        with pytest.raises(ValueError, match="method = 'wald'"):
            found([1, 1], [1, 0], method="wald")


PAIRED = st.lists(
    st.tuples(st.integers(1, 50), st.integers(0, 1), st.integers(1, 50), st.integers(0, 1)), min_size=4, max_size=40
)


class TestRatio:
    @given(PAIRED)
    def test_by_its_definition_and_swapped(self, items):
        c1, s1, c2, s2 = (np.array(column, dtype=float) for column in zip(*items, strict=True))
        one, other = cost_ratio(c1, s1, c2, s2, level=0.9), cost_ratio(c2, s2, c1, s1, level=0.9)
        if one.ratio is None:
            assert not (s1.any() and s2.any())
            assert other.ratio is None
            return
        assert one.ratio == pytest.approx((c2.sum() / s2.sum()) / (c1.sum() / s1.sum()))
        assert other.ratio == pytest.approx(1 / one.ratio)
        n, t2 = len(items), student.ppf(0.95, len(items) - 1) ** 2

        def excess(r):
            """c₂s₁ − r c₁s₂ squared minus its squared error, from the items' linear terms."""
            term = c2 * s1.mean() + c2.mean() * s1 - r * (c1 * s2.mean() + c1.mean() * s2)
            return (c2.mean() * s1.mean() - r * c1.mean() * s2.mean()) ** 2 - t2 * term.var(ddof=1) / n

        for end in (one.low, one.high):
            if end:
                scale = (c2.mean() * s1.mean()) ** 2 + (end * c1.mean() * s2.mean()) ** 2
                assert excess(end) == pytest.approx(0, abs=1e-8 * scale)
        if one.low and one.high:
            assert (other.low, other.high) == pytest.approx((1 / one.high, 1 / one.low), rel=1e-6)

    def test_one_system_that_succeeds_always_at_one_price(self):
        # the ratio's interval is then that of the other system's cost per success
        rng = np.random.default_rng(1)
        cost, success = rng.gamma(2, 1, 200), rng.random(200) < 0.4
        alone = found(cost, success, method="fieller")
        ratio = cost_ratio([2.0] * 200, [1] * 200, cost, success, level=0.95)
        assert (ratio.low, ratio.high) == pytest.approx((alone.low / 2000, alone.high / 2000), rel=1e-9)

    def test_bootstrap_as_a_check(self):
        rng = np.random.default_rng(2)
        hard = rng.random(600)
        c1, c2 = rng.gamma(3, 1 + hard), rng.gamma(2, 0.5 + hard)
        s1, s2 = rng.random(600) > 0.6 * hard, rng.random(600) > 0.5 * hard
        one = cost_ratio(c1, s1, c2, s2, level=0.95)
        low, high = bootstrap_cost_ratio(c1, s1, c2, s2, level=0.95, rng=np.random.default_rng(0))
        width = one.high - one.low
        assert (low, high) == pytest.approx((one.low, one.high), abs=0.1 * width)
        assert one.low < one.ratio < one.high

    def test_bootstrap_stream(self):
        rng = np.random.default_rng(2)
        columns = rng.gamma(3, 1, 50), rng.random(50) < 0.5, rng.gamma(2, 1, 50), rng.random(50) < 0.1
        ends = [bootstrap_cost_ratio(*columns, level=0.95, rng=np.random.PCG64(4), n_resamples=2000) for _ in range(2)]
        assert ends[0] == ends[1]
        few = bootstrap_cost_ratio([1, 2, 1], [1, 1, 1], [1, 1, 2], [0, 1, 0], level=0.95, rng=np.random.PCG64(4))
        assert few[1] is None  # resamples without a success of the candidate

    def test_undefined_and_without_limits(self):
        none = cost_ratio([1] * 5, [1] * 5, [1] * 5, [0] * 5, level=0.95)
        assert (none.ratio, none.low) == (None, None)
        assert "the candidate has no success" in none.reason
        assert "the baseline has no success" in cost_ratio([1] * 5, [0] * 5, [1] * 5, [1] * 5, level=0.95).reason
        assert "costs nothing" in cost_ratio([0] * 5, [1] * 5, [1] * 5, [1] * 5, level=0.95).reason
        rare = cost_ratio([1, 2] * 20, [1, 0] * 20, [1, 3] * 20, [1] + [0] * 39, level=0.95)
        assert rare.high is None
        assert "too few" in rare.reason
        same = cost_ratio([1, 2, 3, 4] * 9, [1, 0, 1, 1] * 9, [2, 4, 6, 8] * 9, [1, 0, 1, 1] * 9, level=0.95)
        assert (same.ratio, same.low) == (pytest.approx(2), None)
        assert "no width" in same.reason
        with pytest.raises(ValueError, match="4 and 3 items"):
            cost_ratio([1] * 4, [1] * 4, [1] * 3, [1] * 3, level=0.95)
        with pytest.raises(ValueError, match="no success"):
            bootstrap_cost_ratio([1] * 4, [1] * 4, [1] * 4, [0] * 4, level=0.95, rng=np.random.PCG64(1))


class TestFixed:
    def test_amortised(self):
        # (300/1e6 + .0012)/.91 per success
        cost = amortised_cost([0.0012] * 100, fixed_cost=300, volume=1_000_000)
        one = found(cost, [1] * 91 + [0] * 9)
        assert one.cost == pytest.approx(1000 * (0.0003 + 0.0012) / 0.91)

    @given(st.floats(1, 1e4), st.floats(0.0001, 0.01), st.floats(0.05, 1), st.floats(0.1, 50))
    @settings(max_examples=50)
    def test_break_even(self, fixed, mean, rate, baseline):
        volume = break_even_volume(fixed_cost=fixed, mean_cost=mean, success_rate=rate, baseline_per_1000=baseline)
        if volume is None:
            assert 1000 * mean / rate >= baseline * (1 - 1e-9)
        else:
            both = amortised_cost([mean], fixed_cost=fixed, volume=volume)[0]
            assert 1000 * both / rate == pytest.approx(baseline, rel=1e-6)

    def test_refusals(self):
        with pytest.raises(ValueError, match="volume = 0"):
            amortised_cost([1.0], fixed_cost=1, volume=0)
        with pytest.raises(ValueError, match="fixed_cost = -1"):
            amortised_cost([1.0], fixed_cost=-1, volume=1)
        with pytest.raises(ValueError, match=r"rate = 1\.2"):
            break_even_volume(fixed_cost=1, mean_cost=1, success_rate=1.2, baseline_per_1000=1)


@pytest.mark.real
def test_tau_bench(real_data):
    # 50 airline tasks, user-simulator cost, trials without a cost left out; a few successes a task
    rows = json.loads((real_data / "tau_bench_airline_k4" / "gpt-4o-airline.json").read_text())
    tasks = {}
    for row in rows:
        if row["user_cost"] is not None:
            tasks.setdefault(row["task_id"], []).append((row["user_cost"], row["reward"]))
    cost, success = np.array([np.mean(trials, axis=0) for trials in tasks.values()]).T
    score, fieller = (found(cost, success, method=method) for method in ("score", "fieller"))
    assert score.n == 50
    assert score.cost == pytest.approx(1000 * cost.sum() / success.sum())
    assert score.low < score.cost < score.high
    assert (score.low, score.high) == pytest.approx((fieller.low, fieller.high), rel=0.1)
