"""Binomial bounds, sizes and verdicts against the paper, tables, exact sums and independent formulas."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from analysis.stats import (
    budget_p_value,
    certification_power,
    clopper_pearson_lower,
    clopper_pearson_upper,
    compare_rates,
    largest_certifiable_bar,
    largest_passing,
    noise_floor,
    over_budget_count,
    release_supported,
    reruns_for_power,
    sample_floor,
    strongly_unsupported,
    wilson,
)

TENTH = {"budget": 0.1, "delta": 0.1}
probabilities = st.floats(0.01, 0.99)


@st.composite
def counts(draw, most=300):
    n = draw(st.integers(1, most))
    return draw(st.integers(0, n)), n


class TestBounds:
    # Recipe-card paper, tables 2 and 3 (printed to three digits), recomputed with R 4.2.2
    # qbeta(1 - .1, k + 1, n - k) to five: study-1 section D lines 1 and 2.
    @pytest.mark.parametrize(
        ("k", "n", "printed", "exact"),
        [
            (0, 59, 0.038, 0.03828),
            (1, 59, 0.064, 0.06433),
            (2, 59, 0.088, 0.08770),
            (3, 59, 0.110, 0.10974),
            (24, 59, 0.499, 0.49860),
            (30, 59, 0.599, 0.59900),
            (46, 59, 0.849, 0.84892),
            (0, 29, 0.076, 0.07633),
            (6, 29, 0.335, 0.33495),
            (29, 29, 1.0, 1.0),
        ],
    )
    def test_upper_bounds_of_the_paper(self, k, n, printed, exact):
        bound = clopper_pearson_upper(k, n, delta=0.1)
        assert bound == pytest.approx(exact, abs=1e-5)
        assert bound == pytest.approx(printed, abs=5e-4)

    def test_lower_bounds(self):
        # study-1 section D line 7
        found = clopper_pearson_lower([9, 10], 59, delta=0.1)
        np.testing.assert_allclose(found, [0.09420, 0.10810], atol=1e-5)
        np.testing.assert_allclose(clopper_pearson_lower([5, 6], 29, delta=0.1), [0.08632, 0.11246], atol=1e-5)

    def test_bonferroni_bounds(self):
        # study-1 section D line 12, 36 cells
        np.testing.assert_allclose(clopper_pearson_upper([0, 1], 59, delta=0.1 / 36), [0.09495, 0.12923], atol=1e-5)

    def test_real_cell(self):
        # section D line 15, model_recycling_seeds: google_t5_v1_1_base on mnli, 6 of 20 reruns under .7
        assert clopper_pearson_upper(6, 20, delta=0.1) == pytest.approx(0.46727, abs=1e-5)

    # performance.md section 6 C: 30-digit mpmath, two-sided alpha.
    @pytest.mark.parametrize(
        ("k", "n", "alpha", "lower", "upper"),
        [
            (0, 10, 0.05, 0, 0.308497108),
            (1, 10, 0.05, 0.00252857854, 0.445016117),
            (5, 10, 0.05, 0.187086028, 0.812913972),
            (10, 10, 0.05, 0.691502892, 1),
            (189, 200, 0.1, 0.910603862, 0.968853141),
            (999, 1000, 0.05, 0.994441076, 0.999974683),
            (0, 500, 1.99600798e-06, 0, 0.0272566633),
            (5000, 10000, 0.05, 0.490151381, 0.509848619),
            (1, 1000000, 0.05, 2.53178077e-08, 5.57163066e-06),
            # Newcombe 1998, Stat. Med. 17:857, table I (four digits)
            (81, 263, 0.05, 0.2527, 0.3676),
            (15, 148, 0.05, 0.0578, 0.1617),
            (0, 20, 0.05, 0, 0.1684),
            (1, 29, 0.05, 0.0009, 0.1776),
            # R 4.2.2 binom.test(682, 925)
            (682, 925, 0.05, 0.7077, 0.7654),
        ],
    )
    def test_two_sided_vectors(self, k, n, alpha, lower, upper):
        tolerance = {"rel": 5e-9} if len(str(upper)) > 6 or upper == 1 else {"abs": 5.1e-5}
        if lower:
            assert clopper_pearson_lower(k, n, delta=alpha / 2) == pytest.approx(lower, **tolerance)
        else:
            assert clopper_pearson_lower(k, n, delta=alpha / 2) == 0
        assert clopper_pearson_upper(k, n, delta=alpha / 2) == pytest.approx(upper, **tolerance)

    @given(counts(), probabilities)
    @settings(max_examples=60, deadline=None)
    def test_defining_equations(self, pair, delta):
        k, n = pair
        upper, lower = clopper_pearson_upper(k, n, delta=delta), clopper_pearson_lower(k, n, delta=delta)
        assert upper == 1 if k == n else binom.cdf(k, n, upper) == pytest.approx(delta, rel=1e-8)
        assert lower == 0 if k == 0 else binom.sf(k - 1, n, lower) == pytest.approx(delta, rel=1e-8)

    @given(counts(), probabilities)
    @settings(max_examples=60, deadline=None)
    def test_swapping_failure_and_success_swaps_the_bounds(self, pair, delta):
        k, n = pair
        assert clopper_pearson_upper(k, n, delta=delta) == pytest.approx(
            1 - clopper_pearson_lower(n - k, n, delta=delta), abs=1e-12
        )

    def test_agrees_with_scipy_binomtest(self):
        interval = binomtest(7, 59).proportion_ci(0.8, method="exact")
        assert clopper_pearson_lower(7, 59, delta=0.1) == pytest.approx(interval.low, abs=1e-10)
        assert clopper_pearson_upper(7, 59, delta=0.1) == pytest.approx(interval.high, abs=1e-10)

    @pytest.mark.parametrize("n", [1, 2, 21, 22, 29, 59, 200])
    @pytest.mark.parametrize("delta", [0.01, 0.1, 0.4])
    def test_coverage_by_exact_sums(self, n, delta):
        k = np.arange(n + 1)
        upper, lower = clopper_pearson_upper(k, n, delta=delta), clopper_pearson_lower(k, n, delta=delta)
        rates = np.linspace(0, 1, 2001)
        mass = binom.pmf(k, n, rates[:, None])
        assert ((mass * (rates[:, None] <= upper + 1e-12)).sum(axis=1) >= 1 - delta - 1e-9).all()
        assert ((mass * (rates[:, None] >= lower - 1e-12)).sum(axis=1) >= 1 - delta - 1e-9).all()
        # just above a bound the rate is missed with probability delta exactly: no room is given away
        beyond = upper[:-1] * (1 + 1e-9)
        missed = (binom.pmf(k, n, beyond[:, None]) * (beyond[:, None] > upper)).sum(axis=1)
        np.testing.assert_allclose(missed, delta, rtol=1e-4)

    def test_monotone(self):
        k = np.arange(60)
        assert (np.diff(clopper_pearson_upper(k, 59, delta=0.1)) > 0).all()
        assert (np.diff(clopper_pearson_lower(k, 59, delta=0.1)) > 0).all()
        assert (np.diff(clopper_pearson_upper(3, np.arange(4, 300), delta=0.1)) < 0).all()

    def test_scalars_and_arrays(self):
        assert type(clopper_pearson_upper(2, 59, delta=0.1)) is float
        assert type(release_supported(2, 59, **TENTH)) is bool
        table = clopper_pearson_upper(np.arange(3)[:, None], np.array([29, 59]), delta=0.1)
        assert table.shape == (3, 2)
        assert clopper_pearson_lower(np.array([], dtype=int), 5, delta=0.1).shape == (0,)

    @pytest.mark.parametrize(
        ("k", "n", "delta", "shown"),
        [
            (-1, 5, 0.1, "k = -1"),
            (6, 5, 0.1, "k = 6 failures of n = 5"),
            (0, 0, 0.1, "n = 0"),
            (1.5, 5, 0.1, "k = 1.5"),
            (float("nan"), 5, 0.1, "k = nan"),
            ("3", 5, 0.1, "k = '3'"),
            (1, 5, 0.0, "delta = 0.0"),
            (1, 5, 1.0, "delta = 1.0"),
            (1, 5, float("nan"), "delta = nan"),
        ],
    )
    def test_refusals_show_the_value(self, k, n, delta, shown):
        for bound in (clopper_pearson_upper, clopper_pearson_lower):
            with pytest.raises(ValueError, match=shown):
                bound(k, n, delta=delta)


class TestVerdicts:
    def test_paper_verdicts(self):
        # study-1 section D line 3; published-numbers A12
        assert release_supported([0, 1, 2, 3], 59, **TENTH).tolist() == [True, True, True, False]

    def test_boundary_of_the_floor(self):
        # study-1: U(0, 22) = .09937, U(0, 21) = .10385; published-numbers A4
        assert not release_supported(0, 21, **TENTH)
        assert release_supported(0, 22, **TENTH)
        assert clopper_pearson_upper(0, 22, delta=0.1) == pytest.approx(0.09937, abs=1e-5)
        assert clopper_pearson_upper(0, 21, delta=0.1) == pytest.approx(0.10385, abs=1e-5)

    def test_first_strong_count(self):
        # study-1 section D line 7
        for n, first in ((59, 10), (29, 6)):
            assert strongly_unsupported([first - 1, first], n, **TENTH).tolist() == [False, True]

    def test_a_tie_is_supported(self):
        assert release_supported(0, 1, budget=0.9, delta=0.1)
        assert not strongly_unsupported(1, 1, budget=0.1, delta=0.1)

    def test_every_run_failed(self):
        assert not release_supported(5, 5, budget=0.99, delta=0.99)
        assert strongly_unsupported(5, 5, **TENTH)

    @given(counts(), probabilities, probabilities)
    @settings(max_examples=80, deadline=None)
    def test_same_verdict_as_the_bounds(self, pair, budget, delta):
        upper, lower = clopper_pearson_upper(*pair, delta=delta), clopper_pearson_lower(*pair, delta=delta)
        if abs(upper - budget) > 1e-9:
            assert release_supported(*pair, budget=budget, delta=delta) == (upper <= budget)
        if abs(lower - budget) > 1e-9:
            assert strongly_unsupported(*pair, budget=budget, delta=delta) == (lower > budget)

    def test_p_value(self):
        assert budget_p_value(2, 59, budget=0.1) == pytest.approx(binom.cdf(2, 59, 0.1), rel=1e-12)


class TestSizes:
    def test_floors_of_the_study(self):
        # study-1 section D line 4
        assert sample_floor(failures=range(8), **TENTH).tolist() == [22, 38, 52, 65, 78, 91, 104, 116]

    # Zero-failure ("Wilks") tables, published-numbers A5; study-1 section D line 5
    @pytest.mark.parametrize(
        ("budget", "delta", "floor"),
        [
            (0.1, 0.05, 29),
            (0.05, 0.05, 59),
            (0.01, 0.05, 299),
            (0.1, 0.1 / 36, 56),
            (0.05, 0.1, 45),
            (0.01, 0.01, 459),
        ],
    )
    def test_zero_failure_tables(self, budget, delta, floor):
        assert sample_floor(budget=budget, delta=delta) == floor

    # performance.md section 6 "CP floors"; the 95/95 row is published-numbers A6
    @pytest.mark.parametrize(
        ("budget", "delta", "floors"),
        [
            (0.1, 0.05, [29, 46, 61, 76, 89, 103]),
            (0.05, 0.05, [59, 93, 124, 153, 181, 208]),
            (0.01, 0.05, [299, 473, 628, 773, 913, 1049]),
            (0.001, 0.05, [2995, 4742, 6294, 7752, 9151, 10511]),
            (0.01, 0.01, [459, 662, 838, 1001, 1157, 1307]),
        ],
    )
    def test_floors_with_failures(self, budget, delta, floors):
        assert sample_floor(budget=budget, delta=delta, failures=range(6)).tolist() == floors

    @given(st.integers(0, 50), probabilities, probabilities)
    @settings(max_examples=80, deadline=None)
    def test_the_floor_is_where_the_verdict_turns(self, failures, budget, delta):
        floor = sample_floor(budget=budget, delta=delta, failures=failures)
        assert release_supported(failures, floor, budget=budget, delta=delta)
        if floor - 1 >= max(failures, 1):
            assert not release_supported(failures, floor - 1, budget=budget, delta=delta)
        most = largest_passing(floor, budget=budget, delta=delta)
        assert most is not None
        assert most >= failures

    @pytest.mark.parametrize("n", [1, 21, 22, 37, 38, 59, 1000])
    def test_largest_passing_by_enumeration(self, n):
        passing = np.flatnonzero(release_supported(np.arange(n + 1), n, **TENTH))
        assert largest_passing(n, **TENTH) == (passing.max() if passing.size else None)

    def test_hopeless_budget_is_refused(self):
        with pytest.raises(ValueError, match="budget = 1e-17"):
            sample_floor(budget=1e-17, delta=0.1)

    def test_over_budget_is_exact(self):
        # study-1 section D line 6
        assert [over_budget_count(n, budget=0.1) for n in (59, 30, 29)] == [6, 4, 3]
        assert over_budget_count(10, budget=0.3) == 4  # 3 > 0.3 * 10 is false only in exact arithmetic
        assert over_budget_count(1, budget=np.float64(1e-5)) == 1


class TestPower:
    def test_operating_curve_of_the_study(self):
        # study-1 section D line 10 and section C
        rates = [0.01, 0.02, 0.05, 0.1]
        np.testing.assert_allclose(certification_power(rates, 59, **TENTH), [0.9785, 0.8856, 0.4289, 0.0573], atol=1e-4)
        np.testing.assert_allclose(certification_power(rates, 29, **TENTH), [0.747, 0.557, 0.226, 0.047], atol=5e-4)

    def test_under_the_floor_nothing_ships(self):
        assert certification_power(0.0, 21, **TENTH) == 0
        assert certification_power([0.0, 1.0], 22, **TENTH).tolist() == [1, 0]

    def test_refusals(self):
        with pytest.raises(ValueError, match=r"rate = 1\.5"):
            certification_power([0.5, 1.5], 22, **TENTH)

    @pytest.mark.parametrize("n", [22, 37, 59, 500])
    def test_a_recipe_at_the_budget_ships_with_at_most_delta(self, n):
        assert certification_power(0.1, n, **TENTH) <= 0.1

    @pytest.mark.parametrize(("rate", "power"), [(0.02, 0.8), (0.05, 0.8), (0.0, 0.9), (0.06, 0.5), (0.05, 0.05)])
    def test_reruns_for_power_by_enumeration(self, rate, power):
        found = reruns_for_power(rate=rate, power=power, **TENTH)
        reached = [certification_power(rate, n, **TENTH) >= power for n in range(1, 601)]
        assert found.first == 1 + reached.index(True)
        assert found.lasting == 1 + max((n for n in range(1, 601) if not reached[n - 1]), default=0)

    def test_reruns_close_to_the_budget(self):
        found = reruns_for_power(rate=0.095, power=0.8, **TENTH)
        assert certification_power(0.095, found.first, **TENTH) >= 0.8
        assert certification_power(0.095, found.first - 1, **TENTH) < 0.8
        assert certification_power(0.095, found.lasting - 1, **TENTH) < 0.8

    @pytest.mark.parametrize("rate", [0.1, 0.2, -0.1, float("nan")])
    def test_no_size_helps_a_recipe_over_the_budget(self, rate):
        with pytest.raises(ValueError, match="rate = "):
            reruns_for_power(rate=rate, power=0.8, **TENTH)

    def test_noise_floor_of_the_study(self):
        # study-1 section C: with 30 held out .061 and .003, with 29 .175
        np.testing.assert_allclose(noise_floor([0.05, 0.02], 30, budget=0.1), [0.061, 0.003], atol=5e-4)
        assert noise_floor(0.05, 29, budget=0.1) == pytest.approx(0.175, abs=5e-4)
        assert noise_floor(0.05, 59, budget=0.1) == pytest.approx(binom.sf(5, 59, 0.05), rel=1e-10)

    def test_mean_minus_two_sd_is_anti_responsive(self):
        # study-1 section C: .968/.50 mixture, failure rate 11/59, Pr(ship) at n = 3, 5, 10, 22, 59
        for n, published in ((3, 0.538), (5, 0.356), (10, 0.127), (22, 0.065), (59, 0.003)):
            k = np.arange(n + 1)
            mean = 0.968 - 0.468 * k / n
            sd = 0.468 * np.sqrt(k * (n - k) / n / (n - 1))
            assert binom.pmf(k, n, 11 / 59)[mean - 2 * sd >= 0.7].sum() == pytest.approx(published, abs=6e-4)


class TestBars:
    @given(st.lists(st.integers(0, 20), min_size=1, max_size=80), st.integers(0, 6))
    @settings(max_examples=80, deadline=None)
    def test_highest_bar_by_search(self, tenths, missing):
        scores, n = np.array(tenths) / 20, len(tenths) + missing

        def certified(tau):
            return release_supported(int((scores < tau).sum()) + missing, n, **TENTH)

        bar = largest_certifiable_bar(scores, n, **TENTH)
        if bar is None:
            assert not certified(scores.min())
        else:
            assert certified(bar)
            assert not certified(np.nextafter(bar, 2))

    def test_more_scores_than_runs(self):
        with pytest.raises(ValueError, match="3 scores of n = 2"):
            largest_certifiable_bar([0.1, 0.2, 0.3], 2, **TENTH)


class TestRates:
    def test_wilson(self):
        # Newcombe 1998, Stat. Med. 17:857, table I; published-numbers A9
        lower, upper = wilson([81, 15, 0, 1], [263, 148, 20, 29], level=0.95)
        np.testing.assert_allclose(lower, [0.2553, 0.0624, 0, 0.0061], atol=5.1e-5)
        np.testing.assert_allclose(upper, [0.3662, 0.1605, 0.1611, 0.1718], atol=5.1e-5)
        assert wilson(5, 5, level=0.9)[1] == 1

    def test_barnard(self):
        # scipy 1.17 docs of barnard_exact: [[7, 12], [8, 3]], two-sided 0.0681 (one-sided .0341, Mehta 2003)
        assert compare_rates(7, 15, 12, 15) == pytest.approx(0.0681, abs=5e-4)
        assert compare_rates(0, 29, 0, 29) == compare_rates(5, 5, 4, 4) == 1
        assert compare_rates(0, 29, 6, 29) == pytest.approx(compare_rates(6, 29, 0, 29), abs=1e-6)


def test_import_loads_no_slow_module():
    slow = "{'scipy.stats', 'scipy.optimize', 'pandas'}"
    code = f"import sys, analysis.stats; print(sorted({slow} & set(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"
