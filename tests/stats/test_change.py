"""Reliable change, reliability and item tests against the study, published tables, scipy and explicit loops."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, boschloo_exact, chi2_contingency, fisher_exact, hypergeom, norm, permutation_test
from statsmodels.stats.proportion import proportions_ztest

from analysis.stats import (
    analysable,
    association,
    benjamini_hochberg,
    bins_of,
    breadth_ratio,
    change_counts,
    change_tests,
    clinical_cutoffs,
    flag_law,
    graded_change_tests,
    graded_relabelling_null,
    half_sample_bins,
    half_sample_null,
    halved,
    item_power,
    item_reliability,
    item_reliability_from_counts,
    joint_table,
    mean_interval,
    net_change,
    pass_all,
    pass_at,
    regressed_score,
    relabelled_bins,
    relabelled_test_bins,
    relabelled_tests_null,
    relabelling_null,
    reliable_change,
    samples_for_reliability,
    spearman_brown,
    split_half_reliability,
    standard_error_of_difference,
    standard_error_of_measurement,
    true_change,
    two_proportion_z,
    wilson,
)

# study-3 section A, recovered data: items by d = 10 (p₂ − p₁), d = −10 … 10
LATTICE = [10, 12, 18, 16, 26, 21, 41, 62, 64, 131, 90, 140, 101, 51, 24, 27, 31, 25, 17, 10, 35]
QWEN = {-6: 18, -5: 14, -4: 14, -3: 25, -2: 22, -1: 51, 0: 5, 1: 36, 2: 23, 3: 18, 4: 9, 5: 15, 6: 21, -7: 161, 7: 220}
# study-3 section A, a joint table consistent with the figures: rows 0 … 10 correct before, columns after
JOINT = np.array(
    [
        [0, 110, 77, 27, 11, 14, 16, 15, 7, 6, 35],
        [89, 5, 5, 5, 7, 6, 5, 6, 1, 3, 4],
        [7, 5, 56, 4, 3, 3, 2, 0, 2, 4, 7],
        [25, 5, 5, 5, 2, 3, 2, 3, 1, 4, 5],
        [7, 7, 4, 14, 5, 2, 2, 2, 0, 3, 3],
        [7, 12, 6, 2, 3, 3, 2, 3, 1, 0, 4],
        [8, 2, 2, 4, 2, 3, 4, 0, 0, 1, 2],
        [9, 0, 2, 5, 5, 1, 1, 2, 2, 3, 8],
        [6, 1, 5, 2, 2, 3, 1, 4, 5, 1, 5],
        [4, 5, 1, 4, 2, 1, 1, 4, 2, 5, 12],
        [10, 8, 7, 5, 9, 6, 12, 11, 38, 5, 0],
    ]
)
K1, K2 = (np.repeat(index.ravel(), JOINT.ravel()) for index in np.indices(JOINT.shape))
DELTA = np.repeat(np.arange(-10, 11), LATTICE) / 10
EDGES = [0, 0.2, 0.4, 0.6, 0.8, 1]


def from_changes(delta):
    """Two scores an item that differ by the given change."""
    return np.maximum(-delta, 0), np.maximum(delta, 0)


def classes(change):
    return change.improved, change.unchanged, change.deteriorated


def lcg_samples():
    """performance.md section 6 D: seed 12345, 1,000 items × 10 samples × 2 versions."""
    state, u = 12345, np.empty(20_000)
    for i in range(u.size):
        state = (1664525 * state + 1013904223) % 2**32
        u[i] = state / 2**32
    p = ((np.arange(1000) + 0.5) / 1000)[:, None]
    return u[:10_000].reshape(1000, 10) < p, u[10_000:].reshape(1000, 10) < np.minimum(p + 0.05, 1)


def looped(values):
    """Spearman-Brown and Flanagan over all splits of an even number of samples, one by one."""
    k = values.shape[1]
    stepped, flanagan = [], []
    for rest in itertools.combinations(range(1, k), k // 2 - 1):
        half = np.isin(np.arange(k), (0, *rest))
        one, other = values[:, half].sum(axis=1), values[:, ~half].sum(axis=1)
        r = np.corrcoef(one, other)[0, 1]
        stepped.append(2 * r / (1 + r))
        flanagan.append(4 * np.cov(one, other)[0, 1] / np.var(one + other, ddof=1))
    return np.array(stepped), np.array(flanagan)


class TestVectorD:
    def test_all_lines(self):
        one, two = lcg_samples()
        assert (one.sum(), two.sum()) == (5041, 5557)
        halves = split_half_reliability(one)
        assert (halves.n_items, halves.n_samples, halves.coefficients.size) == (1000, 10, 126)
        assert halves.mean == pytest.approx(0.829700912, abs=1e-9)
        assert halves.alpha == pytest.approx(0.829631036, abs=1e-9)
        assert halves.flanagan.mean() == pytest.approx(halves.alpha, abs=1e-12)
        sd = one.mean(axis=1).std()  # ddof 0 in this vector
        assert sd == pytest.approx(0.314059214, abs=1e-9)
        sem = standard_error_of_measurement(sd, halves.mean)
        assert sem == pytest.approx(0.129603790, abs=1e-9)
        s_diff = standard_error_of_difference(sem)
        change = reliable_change(one.mean(axis=1), two.mean(axis=1), s_diff=s_diff)
        assert (change.improved, change.deteriorated) == (50, 14)
        assert (change.rci**2).sum() == pytest.approx(993.621398, abs=1e-6)
        k1, k2 = one.sum(axis=1), two.sum(axis=1)
        counted = change_counts(joint_table(k1, k2, n_baseline=10, n_candidate=10), s_diff=s_diff)
        assert classes(counted) == classes(change)
        assert counted.sum_rci_squared == pytest.approx(993.621398, abs=1e-6)
        null = relabelling_null(k1, 10, k2, 10, s_diff=s_diff)
        assert null.mean == pytest.approx(61.635173, abs=1e-6)
        assert null.variance == pytest.approx(53.939403, abs=1e-6)

    def test_loop_of_the_definition(self):
        one, _ = lcg_samples()
        halves = split_half_reliability(one)
        stepped, flanagan = looped(one.astype(float))
        np.testing.assert_allclose(halves.coefficients, stepped, atol=1e-10)
        np.testing.assert_allclose(halves.flanagan, flanagan, atol=1e-10)


class TestSplitHalf:
    @given(st.integers(0, 2**32), st.integers(2, 9), st.booleans())
    @settings(max_examples=40, deadline=None)
    def test_mean_flanagan_is_alpha(self, seed, k, graded):
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(30, 1)) + rng.normal(size=(30, k))
        values = values if graded else values > 0
        halves = split_half_reliability(values)
        assert halves.flanagan.mean() == pytest.approx(halves.alpha, abs=1e-12)

    @pytest.mark.parametrize("k", [4, 6])
    def test_graded_scores_in_a_loop(self, k):
        values = np.random.default_rng(k).random((50, 1)) + np.random.default_rng(9).random((50, k))
        halves = split_half_reliability(values)
        stepped, flanagan = looped(values)
        np.testing.assert_allclose(halves.coefficients, stepped, atol=1e-10)
        np.testing.assert_allclose(halves.flanagan, flanagan, atol=1e-10)
        shifted = split_half_reliability(1e6 + 1000 * values)
        np.testing.assert_allclose(shifted.coefficients, halves.coefficients, atol=1e-8)

    def test_horst_for_an_odd_number_of_samples(self):
        # parallel samples of intraclass correlation rho: every split must give k rho / (1 + (k − 1) rho)
        rng = np.random.default_rng(1)
        noise = np.linalg.qr(np.c_[np.ones(40), rng.normal(size=(40, 4))])[0][:, 1:]  # exactly uncorrelated columns
        values = noise[:, :1] * math.sqrt(0.4) + noise[:, 1:] * math.sqrt(0.6)
        halves = split_half_reliability(values)
        assert halves.coefficients.size == 3
        np.testing.assert_allclose(halves.coefficients, spearman_brown(0.4, 3), atol=1e-12)
        assert halves.alpha == pytest.approx(spearman_brown(0.4, 3), abs=1e-12)

    def test_types_of_samples_do_not_matter(self):
        one, _ = lcg_samples()
        wanted = split_half_reliability(one).coefficients
        for kind in (np.uint8, np.int64, np.float32, np.float64):
            np.testing.assert_allclose(split_half_reliability(one.astype(kind)).coefficients, wanted, atol=1e-12)

    def test_the_published_script(self):
        # study-3 section A: RandomState(42), a permutation per split, median
        one, _ = lcg_samples()
        rng, found = np.random.RandomState(42), []
        for _ in range(20):
            order = rng.permutation(10)
            r = np.corrcoef(one[:, order[:5]].mean(axis=1), one[:, order[5:]].mean(axis=1))[0, 1]
            found.append(2 * r / (1 + r))
        halves = split_half_reliability(one, splits=20, rng=np.random.RandomState(42))
        np.testing.assert_allclose(halves.coefficients, found, atol=1e-12)
        assert halves.median == pytest.approx(np.median(found), abs=1e-12)

    def test_random_splits_are_a_stream(self):
        one, _ = lcg_samples()
        few, many = (split_half_reliability(one, splits=s, rng=np.random.PCG64(7)) for s in (50, 400))
        np.testing.assert_array_equal(few.coefficients, many.coefficients[:50])
        every = split_half_reliability(one)
        assert set(many.coefficients.round(12)) <= set(every.coefficients.round(12))
        assert many.mean == pytest.approx(every.mean, abs=4 * every.coefficients.std() / 20)
        wide = np.random.default_rng(3).random((40, 32)) < 0.5
        assert split_half_reliability(wide, splits=10, rng=np.random.PCG64(1)).coefficients.size == 10

    def test_missing_samples(self):
        one, _ = lcg_samples()
        values = one.astype(float)
        values[::7, 3] = np.nan
        values[5, :6] = np.nan
        halves = split_half_reliability(values)
        half = np.array([1, 1, 1, 1, 1, 0, 0, 0, 0, 0], dtype=bool)  # the first split
        rows = np.arange(1000) != 5  # the only item without a sample in it
        r = np.corrcoef(np.nanmean(values[rows][:, half], axis=1), np.nanmean(values[rows][:, ~half], axis=1))[0, 1]
        assert halves.coefficients[0] == pytest.approx(2 * r / (1 + r), abs=1e-12)
        assert halves.alpha is None

    def test_rows_and_columns_in_any_order(self):
        one, _ = lcg_samples()
        rng = np.random.default_rng(2)
        mixed = split_half_reliability(one[rng.permutation(1000)][:, rng.permutation(10)])
        wanted = split_half_reliability(one)
        np.testing.assert_allclose(np.sort(mixed.coefficients), np.sort(wanted.coefficients), atol=1e-12)

    def test_samples_that_do_not_vary(self):
        for value in (True, 0.1, 1.0):
            samples = np.full((20, 4), value)
            halves = split_half_reliability(samples)
            assert (halves.mean, halves.median, halves.alpha, halves.n_undefined) == (None, None, None, 3)
            gaps = samples.astype(float)
            gaps[3, 1] = np.nan
            assert split_half_reliability(gaps).n_undefined == 3
            assert item_reliability(gaps).reliability is None
        partly = np.zeros((20, 4))
        partly[::2, 0] = 0.3
        halves = split_half_reliability(partly)
        assert (halves.mean, halves.n_undefined) == (None, 3)
        assert halves.alpha == pytest.approx(0.0, abs=1e-12)
        x = np.random.default_rng(1).random(20)
        cancelling = np.c_[x, 1 - x, x[::-1], x**2]  # the first two add up to 1, up to rounding
        assert np.isnan(split_half_reliability(cancelling).coefficients).tolist() == [True, False, False]
        repeats = split_half_reliability(np.repeat(np.arange(10.0)[:, None], 4, axis=1))
        assert (repeats.mean, repeats.alpha) == pytest.approx((1.0, 1.0), abs=1e-12)

    def test_negative_reliability_is_counted(self):
        values = np.array([[1, 1, 0, 0], [0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 1, 1], [1, 1, 0, 1], [0, 0, 1, 0]])
        halves = split_half_reliability(values)
        assert halves.n_negative > 0
        assert halves.alpha < 0
        opposed = split_half_reliability([[0, 1], [1, 0], [0, 1]])
        assert (opposed.mean, opposed.n_undefined) == (None, 1)
        with pytest.raises(ValueError, match="items do not differ beyond chance"):
            standard_error_of_measurement(0.3, halves.alpha)

    @pytest.mark.parametrize(
        ("values", "options", "message"),
        [
            (np.ones((5, 1)), {}, "at least two of both"),
            (np.ones((1, 5)), {}, "at least two of both"),
            (np.ones(5), {}, "items × samples"),
            (np.full((5, 4), np.inf), {}, "infinite"),
            (np.full((5, 4), np.nan), {}, "every sample is missing"),
            (np.array([["a", "b"], ["c", "d"]]), {}, "truth values or numbers"),
            (np.ones((5, 32)), {}, "give a number of splits"),
            (np.ones((5, 4)), {"splits": 10}, "without rng"),
            (np.ones((5, 4)), {"splits": 0, "rng": np.random.PCG64(1)}, "splits = 0"),
            (np.ones((5, 4)), {"splits": 5, "rng": np.random.MT19937(1)}, "give keyed_stream"),
        ],
    )
    def test_refusals(self, values, options, message):
        with pytest.raises(ValueError, match=message):
            split_half_reliability(values, **options)


class TestProphecy:
    def test_published_values(self):
        # published-numbers H11, H12
        found = spearman_brown([0.5, 0.6, 0.7, 0.82, 0.9])
        np.testing.assert_allclose(found, [0.6667, 0.7500, 0.8235, 0.9011, 0.9474], atol=1e-4)
        assert (spearman_brown(0.6, 3), spearman_brown(0.9, 0.5)) == pytest.approx((0.8182, 0.8182), abs=1e-4)

    @pytest.mark.parametrize(
        ("r", "target", "k"), [(0.9725, 0.8, 2), (0.9725, 0.9, 3), (0.966, 0.8, 2), (0.966, 0.9, 4)]
    )
    def test_samples_of_the_study(self, r, target, k):
        # study-3 section D line 8
        assert samples_for_reliability(r, 10, target=target) == k
        assert spearman_brown(r, k / 10) >= target > spearman_brown(r, (k - 1) / 10)

    def test_present_number_reaches_present_reliability(self):
        assert all(samples_for_reliability(r, 10, target=r) == 10 for r in np.linspace(0.01, 0.99, 99))

    def test_boundaries(self):
        assert (spearman_brown(1.0), spearman_brown(0.0, 7)) == (1.0, 0.0)
        assert spearman_brown(-0.2) == pytest.approx(-0.5)
        for r, factor in ((1.1, 2), (-1.0, 2), (-0.6, 3), (0.5, 0), (float("nan"), 2)):
            with pytest.raises(ValueError, match="give"):
                spearman_brown(r, factor)
        for bad in ({"reliability": 0, "target": 0.5}, {"reliability": 0.5, "target": 1}):
            with pytest.raises(ValueError, match="strictly between"):
                samples_for_reliability(bad["reliability"], 10, target=bad["target"])


class TestItemReliability:
    def test_shrout_and_fleiss(self):
        # published-numbers H13: ICC(1,k) .44, ICC(1,1) .17
        ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
        found = item_reliability(ratings)
        assert found.reliability == pytest.approx(0.44, abs=0.005)
        assert spearman_brown(found.reliability, 1 / 4) == pytest.approx(0.17, abs=0.005)
        assert 4 * found.sem**2 == pytest.approx(6.26, abs=0.005)
        assert 4 * found.sd**2 == pytest.approx(11.24, abs=0.005)

    @given(st.integers(0, 2**32))
    @settings(max_examples=25, deadline=None)
    def test_counts_and_samples_agree(self, seed):
        rng = np.random.default_rng(seed)
        n = rng.integers(2, 11, size=20)
        values = (rng.random((20, 10)) < rng.random((20, 1))).astype(float)
        values[np.arange(10) >= n[:, None]] = np.nan
        one, other = item_reliability(values), item_reliability_from_counts(np.nansum(values, axis=1), n)
        assert (one.sd, one.sem) == pytest.approx((other.sd, other.sem), abs=1e-12)
        assert one.reliability == pytest.approx(other.reliability, abs=1e-9)

    def test_boundaries(self):
        assert item_reliability_from_counts([5, 5, 5], 10).reliability is None
        assert item_reliability_from_counts([0, 10, 0], 10).reliability == 1.0
        assert item_reliability_from_counts([5, 4, 6], 10).reliability < 0
        with pytest.raises(ValueError, match="item 1 has 1 samples"):
            item_reliability([[0.0, 1.0], [1.0, np.nan]])
        with pytest.raises(ValueError, match="n = 1"):
            item_reliability_from_counts([0, 1], 1)
        with pytest.raises(ValueError, match="at least two items"):
            item_reliability_from_counts([1], 10)


class TestPassAt:
    def test_published(self):
        # published-numbers H16
        assert (pass_at(1, 3, 10), pass_at(5, 3, 10), pass_all(2, 3, 4)) == pytest.approx(
            (0.3, 0.916667, 0.5), abs=1e-6
        )
        with pytest.raises(ValueError, match="draws = 5 of n = 4"):
            pass_at(5, 3, 4)

    @pytest.mark.real
    @pytest.mark.parametrize(("task", "one", "five"), [("output", 34.2125, 40.2867), ("input", 35.95, 44.9911)])
    def test_cruxeval(self, real_data, task, one, five):
        # H15, codellama-7b, 800 items x 10
        path = real_data / "cruxeval_k10" / f"sample_scored_codellama-7b_temp0.2_{task}.json"
        k = [sum(samples) for samples in json.loads(path.read_text())["raw_scored_generations"].values()]
        assert len(k) == 800
        assert 100 * pass_at(1, k, 10).mean() == pytest.approx(one, abs=1e-3)
        assert 100 * pass_at(5, k, 10).mean() == pytest.approx(five, abs=1e-3)

    @pytest.mark.real
    def test_tau_bench(self, real_data):
        # H14, pass^1 … pass^4
        rows = pd.read_json(real_data / "tau_bench_airline_k4" / "gpt-4o-airline.json")
        k = rows.groupby("task_id")["reward"].sum().to_numpy().astype(int)
        found = [pass_all(d, k, 4).mean() for d in (1, 2, 3, 4)]
        np.testing.assert_allclose(found, [0.420, 0.273, 0.220, 0.200], atol=5e-4)


class TestPublishedRci:
    def test_jacobson_and_truax(self):
        # published-numbers H1
        sem = standard_error_of_measurement(7.5, 0.88)
        s_diff = standard_error_of_difference(sem)
        change = reliable_change([32.5], [47.5], s_diff=s_diff)
        assert (sem, s_diff, change.rci[0]) == pytest.approx((2.598, 3.674, 4.082), abs=1e-3)
        assert change.improved == 1

    def test_cutoffs(self):
        # H2, H3
        assert clinical_cutoffs((40, 7.5), (60, 7.5)) == (55, 45, 50)
        a, _, c = clinical_cutoffs((35.48, 8.16), (7.69, 7.52), higher_is_better=False)
        assert (a, c) == pytest.approx((19.16, 21.02), abs=0.005)
        with pytest.raises(ValueError, match="functional = "):
            clinical_cutoffs((1, 2), (3, 0))

    def test_study(self):
        # H6 and study-3 section D line 1; H9 and line 7
        s_diff = standard_error_of_difference(0.058, 0.0623)
        assert (s_diff, 1.96 * s_diff) == pytest.approx((0.08512, 0.16683), abs=1e-5)
        assert standard_error_of_difference(0.0452, 0.0309) == pytest.approx(0.05475, abs=1e-5)
        z, p = two_proportion_z(591, 952, 560, 652)
        assert z == pytest.approx(-10.4043, abs=1e-4)
        assert p < 1e-24
        with pytest.raises(ValueError, match="nothing to test"):
            two_proportion_z(5, 5, 4, 4)

    @pytest.mark.parametrize(
        ("n", "counts", "limits"),
        [
            (952, [321, 361, 270], [(0.3079, 0.3678), (0.3489, 0.4104), (0.2559, 0.3131)]),
            (652, [306, 92, 254], [(0.4313, 0.5077), (0.1165, 0.1699), (0.3529, 0.4275)]),
        ],
    )
    def test_wilson(self, n, counts, limits):
        # H7, H8
        np.testing.assert_allclose(np.transpose(wilson(counts, n, level=0.95)), limits, atol=1e-4)

    @pytest.mark.real
    @pytest.mark.parametrize(
        ("scale", "sign", "reliability", "n", "s_diff", "expected"),
        [
            ("das", 1, 0.80, 30, 7.4792, (16, 13, 1)),
            ("gds", -1, 0.80, 26, 3.8593, (14, 12, 0)),
            ("das", 1, 0.88, 30, None, (19, 10, 1)),
        ],
    )
    def test_jacobson_1989(self, real_data, scale, sign, reliability, n, s_diff, expected):
        # data/real/README.md, clinical_rci_jacobson: SD of the pre scores of complete pairs
        rows = pd.read_csv(real_data / "clinical_rci_jacobson" / "jacobson_1989.csv")
        pairs = sign * rows.pivot_table(index="subject", columns="time", values=scale).dropna()
        sd = pairs["pre"].std()
        found = standard_error_of_difference(standard_error_of_measurement(sd, reliability))
        assert len(pairs) == n
        if scale == "das":
            assert sd == pytest.approx(11.8257, abs=1e-4)
        if s_diff is not None:
            assert found == pytest.approx(s_diff, abs=1e-4)
        assert classes(reliable_change(pairs["pre"], pairs["post"], s_diff=found)) == expected


class TestLattice:
    def test_mean_and_interval(self):
        # study-3 section D line 2
        assert (DELTA.size, (DELTA > 0).sum()) == (952, 461)
        assert (DELTA.mean(), DELTA.std(ddof=1)) == pytest.approx((0.034559, 0.418516), abs=1e-6)
        assert mean_interval(DELTA, level=0.95) == pytest.approx((0.00794, 0.06118), abs=1e-5)

    @pytest.mark.parametrize(
        ("s_diff", "cut", "expected", "median"),
        [
            (0.0852, 1.96, (321, 361, 270), 0.4),
            (0.0852, 2.58, (220, 526, 206), 0.5),
            (0.106, 1.96, (220, 526, 206), 0.5),
        ],
    )
    def test_both_readings_of_s_diff(self, s_diff, cut, expected, median):
        # lines 3, 4, 5; breadth ratio H10; E1: churn of the 2,000 items .2955 and .213
        change = reliable_change(*from_changes(DELTA), s_diff=s_diff, cut=cut)
        assert classes(change) == expected
        assert change.median_change == pytest.approx(median, abs=1e-12)
        assert change.raised == 461
        churn = (change.improved + change.deteriorated) / 2000
        assert churn == pytest.approx(0.2955 if expected[0] == 321 else 0.213, abs=1e-12)
        assert classes(change_counts(JOINT, s_diff=s_diff, cut=cut)) == expected

    def test_breadth(self):
        # H10
        assert reliable_change(*from_changes(DELTA), s_diff=0.0852).improved / 461 == pytest.approx(0.6963, abs=1e-4)
        qwen = np.repeat(list(QWEN), list(QWEN.values())) / 10
        for cut in (1.96, 2.58):
            change = reliable_change(*from_changes(qwen), s_diff=0.0548, cut=cut)
            assert classes(change) == (306, 92, 254)
            assert change.improved / change.raised == pytest.approx(0.8947, abs=1e-4)

    def test_joint_table_has_the_lattice(self):
        np.testing.assert_array_equal(np.bincount(K2 - K1 + 10), LATTICE)
        np.testing.assert_array_equal(joint_table(K1, K2, n_baseline=10, n_candidate=10), JOINT)

    def test_net_is_gains_less_losses(self):
        # 461 and 401 items; sums of the lattice in tenths: 1663 up, 1334 down
        change = net_change(K1 / 10, K2 / 10)
        assert (change.n_gained, change.n_lost) == (461, 401)
        assert change.gains == pytest.approx(1663 / 9520, abs=1e-15)
        assert change.losses == pytest.approx(1334 / 9520, abs=1e-15)
        assert change.net == pytest.approx(329 / 9520, abs=1e-15)
        assert abs(change.residual) < 1e-15

    def test_matching_populations(self):
        # E4: .154–.165 from p(1 − p)/(K − 1) against the published .0852; section "Build": .1536, one step from .3
        one, two = item_reliability_from_counts(K1, 10), item_reliability_from_counts(K2, 10)
        s_diff = standard_error_of_difference(one.sem, two.sem)
        assert s_diff == pytest.approx(0.1536, abs=5e-5)
        assert s_diff * 1.96 == pytest.approx(0.301, abs=5e-4)
        assert classes(change_counts(JOINT, s_diff=s_diff)) == (169, 639, 144)
        assert standard_error_of_measurement(one.sd, one.reliability) == pytest.approx(one.sem, abs=1e-12)

    def test_true_change(self):
        # section C: .1752 − (.0236 to .0274), signal 84–87 %; over 2,000 items an RMS of about .27
        one, two = item_reliability_from_counts(K1, 10), item_reliability_from_counts(K2, 10)
        found = true_change(K1 / 10, K2 / 10, sem_baseline=one.sem, sem_candidate=two.sem)
        assert (found.observed, found.noise) == pytest.approx((0.1752, 0.0236), abs=5e-5)
        assert found.true == pytest.approx(found.observed - found.noise)
        assert 0.84 < found.signal < 0.87
        assert found.rms * math.sqrt(952 / 2000) == pytest.approx(0.27, abs=0.005)

    def test_permutation_null(self):
        # line 13
        expected = {0.0852: 348.5, 0.106: 128.0}
        for s_diff, flags in expected.items():
            null = relabelling_null(K1, 10, K2, 10, s_diff=s_diff)
            assert null.mean == pytest.approx(flags, abs=0.1)
            assert null.improved == pytest.approx(null.deteriorated)

    def test_regression_to_the_mean_by_bin(self):
        # section C: improved/deteriorated by bin under the null, threshold .2
        bins = relabelled_bins(K1, 10, K2, 10, s_diff=0.0852, edges=EDGES)
        np.testing.assert_allclose(bins.improved / bins.items, [0.19, 0.20, 0.23, 0.15, 0.09], atol=0.005)
        np.testing.assert_allclose(bins.deteriorated / bins.items, [0, 0.22, 0.27, 0.42, 0.30], atol=0.005)
        assert bins.items.sum() == pytest.approx(952)
        null = relabelling_null(K1, 10, K2, 10, s_diff=0.0852)
        assert (bins.improved + bins.deteriorated).sum() == pytest.approx(null.mean)

    @pytest.mark.parametrize(
        ("p", "two", "three"),
        [(0.5, 0.5034, 0.2632), (0.1, 0.2436, 0.0595), (0.02, 0.027, 0.001), (0.3, 0.463, 0.220)],
    )
    def test_flags_of_one_rate_in_both_versions(self, p, two, three):
        # line 9 and section C
        law = binom.pmf(np.arange(11), 10, p)
        k1, k2 = (index.ravel() for index in np.indices((11, 11)))
        for s_diff, expected in ((0.0852, two), (0.106, three)):
            flagged = reliable_change(k1 / 10, k2 / 10, s_diff=s_diff).direction != 0
            assert (law[k1] * law[k2])[flagged].sum() == pytest.approx(expected, abs=5e-4 if p in {0.02, 0.3} else 1e-4)


class TestReliableChange:
    def test_a_change_on_the_cut_is_not_beyond_it(self):
        for low, high in ((0.1, 0.3), (0.6, 0.8), (0.0, 0.2), (0.7, 0.9)):
            assert reliable_change([low, high], [high, low], s_diff=0.1, cut=2).unchanged == 2

    def test_swapping_versions_swaps_classes(self):
        one, other = reliable_change(K1 / 10, K2 / 10, s_diff=0.0852), reliable_change(K2 / 10, K1 / 10, s_diff=0.0852)
        np.testing.assert_array_equal(one.direction, -other.direction)
        assert (one.improved, one.deteriorated) == (other.deteriorated, other.improved)

    def test_error_per_item(self):
        change = reliable_change([0.5, 0.5], [0.7, 0.7], s_diff=np.array([0.05, 0.2]))
        assert change.direction.tolist() == [1, 0]

    def test_counts_of_small_types_do_not_wrap(self):
        # performance.md section 4: uint8 differences wrap
        k1, k2 = K1.astype(np.uint8), K2.astype(np.uint8)
        np.testing.assert_array_equal(joint_table(k1, k2, n_baseline=10, n_candidate=10), JOINT)
        assert reliable_change(k1, k2, s_diff=1.0).rci.min() == -10
        assert relabelling_null(k1, 10, k2, 10, s_diff=0.106).mean == pytest.approx(128.0156, abs=1e-4)

    def test_unequal_samples_of_the_versions(self):
        table = joint_table([0, 3, 5], [3, 0, 2], n_baseline=5, n_candidate=3)
        assert table.shape == (6, 4)
        wanted = reliable_change([0, 0.6, 1], [1, 0, 2 / 3], s_diff=0.2)
        assert classes(change_counts(table, s_diff=0.2)) == classes(wanted)

    def test_analysable(self):
        assert analysable(K1 / 10, K2 / 10).all()
        assert analysable([0, 1, 0, 1], [0, 1, 1, 0.9]).tolist() == [False, False, True, True]

    def test_refusals(self):
        for s_diff in (0.0, -1.0, float("nan")):
            with pytest.raises(ValueError, match="s_diff = "):
                reliable_change([0.1], [0.2], s_diff=s_diff)
        with pytest.raises(ValueError, match="cut = 0"):
            reliable_change([0.1], [0.2], s_diff=0.1, cut=0)
        with pytest.raises(ValueError, match="a score is nan"):
            reliable_change([0.1, np.nan], [0.2, 0.1], s_diff=0.1)
        with pytest.raises(ValueError, match="shapes"):
            net_change([0.1], [0.2, 0.3])
        with pytest.raises(ValueError, match="k cannot exceed n"):
            joint_table([3], [1], n_baseline=2, n_candidate=2)
        with pytest.raises(ValueError, match="table of shape"):
            change_counts([1, 2], s_diff=0.1)
        with pytest.raises(ValueError, match="counts of shapes"):
            joint_table([1, 2], [1], n_baseline=2, n_candidate=2)
        with pytest.raises(ValueError, match="at least two"):
            true_change([0.1], [0.2], sem_baseline=0.1, sem_candidate=0.1)
        with pytest.raises(ValueError, match="sd = -1"):
            standard_error_of_measurement(-1, 0.5)
        with pytest.raises(ValueError, match="sem_baseline = -1"):
            standard_error_of_difference(-1)


class TestNetAndTrueChange:
    @given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=60))
    @settings(max_examples=60, deadline=None)
    def test_identity_for_any_scores(self, pairs):
        first, second = np.array(pairs).T
        change = net_change(first, second)
        assert abs(change.residual) < 1e-15
        assert change.gains >= 0 <= change.losses
        swapped = net_change(second, first)
        assert (swapped.gains, swapped.losses) == (change.losses, change.gains)

    def test_domains_add_up(self):
        rng = np.random.default_rng(4)
        first, second, domain = rng.random(90), rng.random(90), rng.integers(0, 4, 90)
        parts = [net_change(first[domain == d], second[domain == d]) for d in range(4)]
        whole = net_change(first, second)
        for name in ("net", "gains", "losses"):
            assert sum(getattr(p, name) * p.n_items for p in parts) / 90 == pytest.approx(
                getattr(whole, name), abs=1e-15
            )

    def test_no_change_at_all(self):
        same = net_change([0.2, 0.5], [0.2, 0.5])
        assert (same.net, same.gains, same.losses, same.residual) == (0, 0, 0, 0)
        found = true_change([0.2, 0.5], [0.2, 0.5], sem_baseline=0.1, sem_candidate=0.1)
        assert (found.signal, found.rms) == (None, None)
        assert found.true < 0

    def test_regression_of_one_version(self):
        # parallel scores of reliability r: the expected second score is μ + r (p − μ)
        rng = np.random.default_rng(5)
        true = rng.normal(size=200_000)
        first, second = true + rng.normal(size=200_000) / 2, true + rng.normal(size=200_000) / 2
        expected = regressed_score(first, reliability=0.8)
        high = first > 1
        assert second[high].mean() == pytest.approx(expected[high].mean(), abs=0.01)
        assert regressed_score([0.25, 0.5], reliability=0).tolist() == [0.375, 0.375]
        assert regressed_score([0.5], reliability=0.5, mean=0.25).tolist() == [0.375]
        with pytest.raises(ValueError, match=r"reliability = 1\.2"):
            regressed_score([0.1], reliability=1.2)

    def test_association(self):
        table = [[27, 56, 17, 0], [26, 52, 21, 0], [16, 59, 25, 0]]
        chi2, df, p, v = association(table)
        wanted = chi2_contingency(np.array(table)[:, :3], correction=False)  # scipy 1.17.1
        assert (chi2, df, p) == pytest.approx((wanted.statistic, wanted.dof, wanted.pvalue))
        assert v == pytest.approx(math.sqrt(chi2 / (299 * 2)))
        with pytest.raises(ValueError, match="give two of both"):
            association([[1, 2], [0, 0]])


class TestItemTests:
    def test_fisher_and_boschloo_of_the_study(self):
        # study-3 section D lines 10, 11
        found = change_tests([0, 0, 0], 10, [4, 5, 6], 10, test="fisher")
        np.testing.assert_allclose(found, [0.0867, 0.0325, 0.0108], atol=1e-4)
        found = change_tests([0, 0, 0], 10, [4, 5, 6], 10, test="boschloo")
        np.testing.assert_allclose(found, [0.0422, 0.0128, 0.0035], atol=1e-4)
        np.testing.assert_allclose(
            change_tests([3, 4], [3, 4], [0, 0], [3, 4], test="fisher"), [0.1, 0.0286], atol=1e-4
        )

    @pytest.mark.parametrize(
        ("test", "up", "down", "bh"),
        [("fisher", 136, 95, (87, 56)), ("boschloo", 158, 122, (116, 77)), ("mid-p", 158, 122, (106, 73))],
    )
    def test_joint_table(self, test, up, down, bh):
        # line 12 and section C; Boschloo ≤ .05 down is 117–127 over the tables that fit the figures
        p = change_tests(K1, 10, K2, 10, test=test)
        assert ((p[K2 > K1] <= 0.05).sum(), (p[K2 < K1] <= 0.05).sum()) == (up, down)
        q = benjamini_hochberg(p)
        assert ((q[K2 > K1] <= 0.05).sum(), (q[K2 < K1] <= 0.05).sum()) == bh

    @pytest.mark.parametrize(("n1", "n2"), [(1, 1), (3, 3), (4, 7), (10, 10), (12, 5), (23, 23)])
    def test_scipy(self, n1, n2):
        k1, k2 = (index.ravel() for index in np.indices((n1 + 1, n2 + 1)))
        found = {test: change_tests(k1, n1, k2, n2, test=test) for test in ("fisher", "boschloo")}
        rng = np.random.default_rng(n1)
        if n1 > 20:  # many tables tie up to rounding
            wanted = [fisher_exact([[a, b], [n1 - a, n2 - b]]).pvalue for a, b in zip(k1, k2, strict=True)]
            np.testing.assert_allclose(found["fisher"], wanted, rtol=1e-9)
        for i in rng.permutation(k1.size)[:12]:
            table = [[k1[i], k2[i]], [n1 - k1[i], n2 - k2[i]]]
            assert found["fisher"][i] == pytest.approx(fisher_exact(table).pvalue, rel=1e-10)
            if 0 < k1[i] + k2[i] < n1 + n2:
                assert found["boschloo"][i] == pytest.approx(boschloo_exact(table).pvalue, abs=1e-6)

    def test_order_of_the_tests(self):
        k1, k2 = (index.ravel() for index in np.indices((11, 11)))
        p = {test: change_tests(k1, 10, k2, 10, test=test) for test in ("fisher", "boschloo", "mid-p", "score")}
        assert (p["mid-p"] <= p["fisher"]).all()
        assert (p["boschloo"] <= p["fisher"] + 1e-9).all()  # uniformly more powerful for equal samples
        for values in p.values():
            assert (values > 0).all()
            assert (values <= 1).all()
            np.testing.assert_allclose(values.reshape(11, 11), values.reshape(11, 11).T, rtol=1e-6)
            np.testing.assert_allclose(values, values[::-1], rtol=1e-6)
            assert values[0] == values[-1] == 1

    @pytest.mark.parametrize("p", [0.05, 0.2, 0.37, 0.5, 0.9])
    @pytest.mark.parametrize(("n1", "n2"), [(10, 10), (6, 9)])
    def test_exact_tests_keep_their_level(self, n1, n2, p):
        for test in ("fisher", "boschloo"):
            assert item_power(p, p, n1, n2, alpha=0.05, test=test) <= 0.05
        assert item_power(p, p, n1, n2, alpha=0.05, test="boschloo") >= item_power(
            p, p, n1, n2, alpha=0.05, test="fisher"
        )

    def test_power_of_the_study(self):
        # section C
        for after, expected in ((0.9, [0.295, 0.742, 0.914, 0.994]), (0.7, [0.055, 0.163, 0.259, 0.463])):
            found = [item_power(0.5, after, k, k, alpha=0.05, test="fisher") for k in (10, 20, 30, 50)]
            np.testing.assert_allclose(found, expected, atol=6e-4)

    def test_too_few_samples_reach_nothing(self):
        # E6 holds for Fisher; Boschloo reaches .05 with 3: 2 max p³(1 − p)³ = 1/32
        for k, fisher, boschloo in ((1, 1, 1 / 2), (2, 1 / 3, 1 / 8), (3, 1 / 10, 1 / 32), (4, 1 / 35, 1 / 128)):
            assert change_tests([0], k, [k], k, test="fisher")[0] == pytest.approx(fisher)
            assert change_tests([0], k, [k], k, test="boschloo")[0] == pytest.approx(boschloo)
        assert item_power(0, 1, 3, 3, alpha=0.05, test="fisher") == 0
        assert item_power(0, 1, 4, 4, alpha=0.05, test="fisher") == 1
        assert change_tests([0, 1, 1], 1, [1, 1, 0], 1, test="fisher").tolist() == [1, 1, 1]

    def test_items_with_different_samples(self):
        rng = np.random.default_rng(6)
        n1, n2 = rng.integers(1, 9, 60), rng.integers(1, 9, 60)
        k1, k2 = rng.integers(0, n1 + 1), rng.integers(0, n2 + 1)
        for test in ("fisher", "boschloo", "mid-p", "score"):
            together = change_tests(k1, n1, k2, n2, test=test)
            alone = [change_tests(*([int(x)] for x in item), test=test)[0] for item in zip(k1, n1, k2, n2, strict=True)]
            np.testing.assert_allclose(together, alone, rtol=1e-12)

    def test_many_samples(self):
        p = change_tests([100, 480_000], [1000, 1_000_000], [140, 481_900], [1000, 1_000_000], test="score")
        wanted = [
            proportions_ztest(k, n)[1] for k, n in (([100, 140], [1000] * 2), ([480_000, 481_900], [10**6] * 2))
        ]  # statsmodels 0.15.0
        np.testing.assert_allclose(p, wanted, rtol=1e-9)
        assert change_tests([100], 1000, [140], 1000, test="fisher")[0] == pytest.approx(
            fisher_exact([[100, 140], [900, 860]]).pvalue, rel=1e-9
        )
        large = change_tests([2**40, 5, 2**40], 2**50, [2**40, 9, 2**40], 2**50, test="score")
        np.testing.assert_allclose(large, [1, 2 * norm.sf(4 / math.sqrt(14)), 1], rtol=1e-9)

    def test_refusals(self):
        with pytest.raises(ValueError, match="give one of boschloo, fisher, mid-p, score"):
            change_tests([1], 10, [2], 10, test="t")
        with pytest.raises(ValueError, match="k cannot exceed n"):
            change_tests([11], 10, [2], 10, test="fisher")
        with pytest.raises(ValueError, match="use the fisher"):
            change_tests([1], 1000, [2], 1000, test="boschloo")
        with pytest.raises(ValueError, match="p_candidate = 2"):
            item_power(0.5, 2, 10, 10, alpha=0.05, test="fisher")
        with pytest.raises(ValueError, match="an item per place"):
            change_tests(1, 10, 2, 10, test="fisher")
        for scores, message in (([0.1], "items × samples"), ([[np.inf]], "infinite")):
            with pytest.raises(ValueError, match=message):
                graded_change_tests(scores, [[0.1, 0.2]])
        with pytest.raises(ValueError, match="same items"):
            graded_relabelling_null([[0.1]], [[0.1]] * 2, s_diff=1, n_permutations=1, rng=np.random.PCG64(1))
        with pytest.raises(ValueError, match="shapes"):
            half_sample_bins([1, 2], [4, 4], [0.5], edges=[0, 1])


class TestGraded:
    def test_close_to_permutations(self):
        rng = np.random.default_rng(7)
        first, second = rng.beta(2, 2, (6, 5)), rng.beta(3, 2, (6, 5))
        found = graded_change_tests(first, second)
        for i in range(6):
            exact = permutation_test(
                (first[i], second[i]), lambda x, y: abs(x.mean() - y.mean()), n_resamples=np.inf, alternative="greater"
            )  # all 252
            assert found[i] == pytest.approx(exact.pvalue, abs=0.03)

    def test_boundaries(self):
        found = graded_change_tests([[0.3, 0.3, 0.3], [0.0, 0.0, np.nan]], [[0.3, 0.3, 0.3], [1.0, 1.0, 1.0]])
        assert found.tolist() == pytest.approx([1.0, 0.1])  # one arrangement of 10
        assert graded_change_tests([[0.0, 0.0]], [[1.0, 1.0]]).tolist() == pytest.approx([1 / 3])  # two of 6
        with pytest.raises(ValueError, match="item 0 has 0 and 2 samples"):
            graded_change_tests([[np.nan, np.nan]], [[0.1, 0.2]])
        with pytest.raises(ValueError, match="same items"):
            graded_change_tests([[0.1, 0.2]], [[0.1, 0.2]] * 2)
        with pytest.raises(ValueError, match="missing"):
            graded_relabelling_null([[0.1, np.nan]], [[0.1, 0.2]], s_diff=0.1, n_permutations=5, rng=np.random.PCG64(1))

    def test_null_of_binary_scores_is_the_hypergeometric_one(self):
        one, two = (samples[::10].astype(float) for samples in lcg_samples())
        for n2, s_diff in ((10, 0.106), (10, 0.1), (6, 0.106)):  # .1: changes of .2 lie on the cut of 2
            two = two[:, :n2]
            exact = relabelling_null(one.sum(axis=1), 10, two.sum(axis=1), n2, s_diff=s_diff, cut=2)
            found = graded_relabelling_null(
                one, two, s_diff=s_diff, cut=2, n_permutations=20_000, rng=np.random.PCG64(8)
            )
            assert (found.improved, found.deteriorated) == pytest.approx((exact.improved, exact.deteriorated), abs=0.2)
            assert found.variance == pytest.approx(exact.variance, abs=0.3)
        lopsided = relabelling_null([1], 4, [0], 2, s_diff=0.2), [[1.0, 0, 0, 0]], [[0.0, 0]]
        found = graded_relabelling_null(*lopsided[1:], s_diff=0.2, n_permutations=20_000, rng=np.random.PCG64(8))
        assert found.improved == pytest.approx(lopsided[0].improved, abs=0.01) == pytest.approx(1 / 3, abs=0.01)
        assert found.deteriorated == lopsided[0].deteriorated == 0

    def test_same_seed_and_more_items(self):
        rng = np.random.default_rng(9)
        one, two = rng.random((8, 4)), rng.random((8, 3))
        draw = [
            graded_relabelling_null(one[:m], two[:m], s_diff=0.1, n_permutations=500, rng=np.random.PCG64(3))
            for m in (8, 8, 5)
        ]
        assert draw[0].mean == draw[1].mean
        np.testing.assert_array_equal(draw[0].probability[:5], draw[2].probability)


class TestRelabelling:
    def test_explicit_sum_per_item(self):
        rng = np.random.default_rng(10)
        n1, n2 = rng.integers(1, 9, 40), rng.integers(1, 9, 40)
        k1, k2 = rng.integers(0, n1 + 1), rng.integers(0, n2 + 1)
        null = relabelling_null(k1, n1, k2, n2, s_diff=0.2)
        up = down = 0.0
        for a, n, b, m in zip(k1, n1, k2, n2, strict=True):
            for x in range(n + 1):
                y = a + b - x
                weight = hypergeom.pmf(x, n + m, a + b, n)
                up += weight * (y / m - x / n > 0.392 + 1e-9)
                down += weight * (y / m - x / n < -0.392 - 1e-9)
        assert (null.improved, null.deteriorated) == pytest.approx((up, down), abs=1e-10)
        assert null.mean == pytest.approx(up + down, abs=1e-10)

    def test_law_of_the_flagged_count(self):
        null = relabelling_null(K1, 10, K2, 10, s_diff=0.0852)
        counts, law = flag_law(null)
        assert law.sum() == pytest.approx(1, abs=1e-12)
        assert counts @ law == pytest.approx(null.mean, abs=1e-9)
        assert (counts - null.mean) ** 2 @ law == pytest.approx(null.variance, abs=1e-8)
        slow = np.array([1.0])
        for q, m in zip(null.probability, null.sizes, strict=True):
            slow = np.convolve(slow, binom.pmf(np.arange(m + 1), m, q))
        np.testing.assert_allclose(law, slow[counts], atol=1e-12)
        assert law[counts >= 591].sum() < 1e-12  # the published 591 flags are not noise alone

    def test_law_of_few_items(self):
        counts, law = flag_law(relabelling_null([0, 10], 10, [0, 10], 10, s_diff=0.1))
        np.testing.assert_allclose(law, [1, 0, 0], atol=1e-15)
        counts, law = flag_law(relabelling_null([0, 1, 1], 1, [1, 0, 1], 1, s_diff=0.1))
        assert counts.tolist() == [0, 1, 2, 3]
        np.testing.assert_allclose(law, [0, 0, 1, 0], atol=1e-15)

    def test_halves_of_one_version(self):
        null = half_sample_null([5, 3, 10], [10, 7, 10], s_diff=0.2)
        wanted = 0.0
        for k, n in ((5, 10), (3, 7), (10, 10)):
            h = n // 2
            for x in range(h + 1):
                wanted += hypergeom.pmf(x, n, k, h) * (abs((k - x) / (n - h) - x / h) > 0.392)
        assert null.mean == pytest.approx(wanted, abs=1e-12)
        with pytest.raises(ValueError, match="n = 1"):
            half_sample_null([1], 1, s_diff=0.1)

    def test_time_does_not_grow_with_items(self):
        tiled = relabelling_null(np.tile(K1, 50), 10, np.tile(K2, 50), 10, s_diff=0.106)
        assert tiled.sizes.size == 19  # totals
        assert tiled.mean == pytest.approx(50 * 128.0156314, abs=1e-5)
        counts, law = flag_law(tiled)
        assert counts.size < 3000
        assert counts @ law == pytest.approx(tiled.mean, abs=1e-6)

    def test_a_half_classifies_and_the_other_measures(self):
        rng = np.random.default_rng(11)
        n = rng.integers(2, 9, 30)
        k = rng.integers(0, n + 1)
        after = rng.random(30)
        bins = half_sample_bins(k, n, after, edges=[0, 0.3, 0.7, 1])
        items, total = np.zeros(3), np.zeros(3)
        for correct, samples, p in zip(k, n, after, strict=True):
            first = samples // 2
            for x in range(first + 1):
                weight = hypergeom.pmf(x, samples, correct, first)
                b = 0 if x / first < 0.3 else 1 if x / first < 0.7 else 2
                items[b] += weight
                total[b] += weight * (p - (correct - x) / (samples - first))
        np.testing.assert_allclose(bins.items, items, atol=1e-12)
        np.testing.assert_allclose(bins.mean_change, total / items, atol=1e-12)

    def test_halves_remove_the_regression(self):
        # no change: the observed change by bin slopes, the half-sample one does not
        rng = np.random.default_rng(12)
        rate = rng.beta(1, 1, 20_000)
        k1, k2 = rng.binomial(10, rate), rng.binomial(10, rate)
        where = bins_of(k1 / 10, EDGES)
        slope = [((k2 - k1)[where == b] / 10).mean() for b in range(5)]
        assert slope[0] > 0.06
        assert slope[4] < -0.06
        fair = half_sample_bins(k1, np.full_like(k1, 10), k2 / 10, edges=EDGES)
        np.testing.assert_allclose(fair.mean_change, 0, atol=0.012)

    def test_bins(self):
        assert bins_of(np.arange(11) / 10, EDGES).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4]
        assert bins_of([0.3], [0, 0.1 + 0.2, 1]).tolist() == [1]
        assert np.isnan(half_sample_bins([0, 0], [4, 4], [0, 0], edges=[0, 0.5, 1]).mean_change[1])
        with pytest.raises(ValueError, match="at least two that rise"):
            bins_of([0.1], [0, 0])
        with pytest.raises(ValueError, match=r"a score is 1\.2"):
            bins_of([1.2], [0, 1])
        for bad in ({"s_diff": 0}, {"s_diff": 0.1, "cut": -1}):
            with pytest.raises(ValueError, match="give a positive number"):
                relabelling_null([1], 2, [1], 2, **bad)


class TestRelabelledTests:
    def test_explicit_sum(self):
        # every split of the total, weighted by scipy's hypergeometric law, tested by scipy's Fisher test
        k1, n1, k2, n2 = (np.array(x) for x in ([5, 0, 7], [10, 4, 9], [7, 3, 1], [10, 6, 9]))
        expected = [0.0, 0.0]
        for a, m, b, o in zip(k1, n1, k2, n2, strict=True):
            for x in range(max(0, a + b - o), min(m, a + b) + 1):
                p = fisher_exact([[x, a + b - x], [m - x, o - (a + b - x)]]).pvalue
                weight = hypergeom.pmf(x, m + o, a + b, m)
                if p <= 0.05:
                    expected[int((a + b - x) / o < x / m)] += weight
        null = relabelled_tests_null(k1, n1, k2, n2, test="fisher", level=0.05)
        assert (null.improved, null.deteriorated) == pytest.approx(expected, abs=1e-12)
        assert null.n_items == 3

    def test_level_is_kept_given_the_total(self):
        # a conditional test flags at most its level of every total
        k = np.arange(11)
        null = relabelled_tests_null(k, 10, k[::-1], 10, test="fisher", level=0.05)
        assert null.probability.max() <= 0.05 + 1e-12

    def test_bins_add_up_to_the_null(self):
        counts = (K1, 10, K2, 10)
        null = relabelled_tests_null(*counts, test="boschloo", level=0.01)
        bins = relabelled_test_bins(*counts, test="boschloo", level=0.01, edges=[0, 0.2, 0.4, 0.6, 0.8, 1])
        assert bins.items.sum() == pytest.approx(K1.size, abs=1e-9)
        assert (bins.improved.sum(), bins.deteriorated.sum()) == pytest.approx(
            (null.improved, null.deteriorated), abs=1e-9
        )

    def test_halves_of_counts(self):
        first, m, second, o = halved([0, 3, 5], [4, 5, 5])
        np.testing.assert_array_equal(first + second, [0, 3, 5])
        np.testing.assert_array_equal(m + o, [4, 5, 5])
        assert ((first <= m) & (second <= o)).all()

    def test_certain_flags_have_no_variance(self):
        # 3 of 3 against none: every deal is flagged, and the last digit of a law may pass 1
        null = relabelling_null([3] * 5, 3, [0] * 5, 3, s_diff=0.1)
        assert null.variance >= 0
        assert flag_law(null)[1].sum() == pytest.approx(1, abs=1e-12)


class TestBreadthRatio:
    def test_published(self):
        # study spec, section A: .6963 [.654, .738] and .8947 [.861, .926], bootstrap over items
        for improved, raised, n, limits in ((321, 461, 952, (0.654, 0.738)), (306, 342, 652, (0.861, 0.926))):
            ratio, *found = breadth_ratio(improved, raised, n, level=0.95, n_resamples=20_000, rng=np.random.PCG64(1))
            assert ratio == improved / raised
            assert found == pytest.approx(limits, abs=0.003)

    @pytest.mark.parametrize("counts", [(2, 1, 5), (1, 6, 5), (0, 0, 5), (-1, 2, 5)])
    def test_refusals(self, counts):
        with pytest.raises(ValueError, match="counts that nest"):
            breadth_ratio(*counts, level=0.95, n_resamples=10, rng=np.random.PCG64(1))
