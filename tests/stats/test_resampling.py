"""Reproducible splits, and the ideal bootstrap against exact laws, enumeration and large Monte Carlo."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, bootstrap

from analysis.stats import (
    grouped_bootstrap_below,
    ideal_bootstrap_below,
    ideal_bootstrap_quantile,
    keyed_stream,
    permutations,
)


class TestStreams:
    def test_same_key_same_words(self):
        one, two = keyed_stream(3, "a", "b").random_raw(5), keyed_stream(3, "a", "b").random_raw(5)
        np.testing.assert_array_equal(one, two)

    def test_keys_are_unambiguous(self):
        keys = [
            (0,),
            (1,),
            (0, "ab", "c"),
            (0, "a", "bc"),
            (0, "abc"),
            (1, "abc"),
            (0, "abc", ""),
            (2**32, "abc"),
        ]
        assert len({int(keyed_stream(seed, *labels).random_raw()) for seed, *labels in keys}) == len(keys)

    def test_words_are_pinned(self):
        # regression value: numpy 2.4 PCG64; a change would move every published split
        assert permutations(keyed_stream(0, "bert-base", "500"), 2, 6).tolist() == PINNED

    def test_more_splits_keep_the_first(self):
        few, many = permutations(keyed_stream(0, "x"), 10, 59), permutations(keyed_stream(0, "x"), 500, 59)
        np.testing.assert_array_equal(few, many[:10])
        np.testing.assert_array_equal(np.sort(many, axis=1), np.tile(np.arange(59), (500, 1)))

    def test_uniform(self):
        first = permutations(keyed_stream(0, "u"), 24_000, 4)
        _, seen = np.unique(first @ [64, 16, 4, 1], return_counts=True)
        assert seen.size == 24
        assert ((seen - 1000) ** 2 / 1000).sum() < 49.7  # chi-squared, 23 df, upper 0.1 % point

    @pytest.mark.parametrize("seed", [-1, 0.5, float("nan")])
    def test_refusals(self, seed):
        with pytest.raises(ValueError, match="seed = "):
            keyed_stream(seed, "x")
        with pytest.raises(ValueError, match="n_splits = 0"):
            permutations(keyed_stream(0), 0, 5)


PINNED = [[0, 2, 3, 5, 4, 1], [3, 1, 2, 5, 0, 4]]

GRID = (np.arange(1, 51) - 0.5) / 50
SAMPLES = {
    "exponential": -np.log1p(-GRID),
    "lognormal": np.exp(np.random.default_rng(1).standard_normal(30)),
    "uniform": np.random.default_rng(2).random(59),
    "left": 1 - np.random.default_rng(3).exponential(0.1, 30) ** 1.5,
}


class TestMean:
    @pytest.mark.parametrize("k", [150, 180, 190, 199])
    def test_percentile_of_a_binary_mean(self, k):
        # performance.md section 6 C: 5 % percentile, n = 200, exact binomial quantile
        published = {150: 0.700, 180: 0.865, 190: 0.925, 199: 0.985}[k]
        found = float(ideal_bootstrap_quantile([0.0] * (200 - k) + [1.0] * k, 0.05))
        assert found == pytest.approx(published, abs=0.5 / 200 + 1e-4)
        assert binom.ppf(0.05, 200, k / 200) / 200 == pytest.approx(published)

    def test_published_intervals(self):
        # performance.md section 6 B: exponential grid n = 50 minus 1, "ideal" and Cornish-Fisher
        sample = SAMPLES["exponential"] - 1
        found = [float(ideal_bootstrap_quantile(sample, q)) for q in (0.025, 0.975, 0.005, 0.995)]
        np.testing.assert_allclose(found, [-0.258500, 0.274790, -0.327004, 0.372656], atol=2e-5)

    @pytest.mark.parametrize("name", SAMPLES)
    def test_large_monte_carlo(self, name):
        sample = SAMPLES[name]
        rng = np.random.default_rng(7)
        means = np.concatenate(
            [sample[rng.integers(0, sample.size, (20_000, sample.size))].mean(axis=1) for _ in range(10)]
        )
        se = sample.std() / np.sqrt(sample.size)
        for q in (0.05, 0.1, 0.5, 0.9):
            # Monte Carlo noise of the quantile is about .005 se at 200,000 draws
            assert float(ideal_bootstrap_quantile(sample, q)) == pytest.approx(np.quantile(means, q), abs=0.02 * se)
            limit = np.quantile(means, q)
            assert float(ideal_bootstrap_below(sample, limit)) == pytest.approx(q, abs=0.004)

    def test_scipy_bootstrap(self):
        sample = SAMPLES["lognormal"]
        peer = bootstrap(
            (sample,),
            np.mean,
            n_resamples=20_000,
            confidence_level=0.9,
            method="percentile",
            rng=np.random.default_rng(5),
        ).confidence_interval
        se = sample.std() / np.sqrt(sample.size)
        assert float(ideal_bootstrap_quantile(sample, 0.05)) == pytest.approx(peer.low, abs=0.04 * se)
        assert float(ideal_bootstrap_quantile(sample, 0.95)) == pytest.approx(peer.high, abs=0.04 * se)

    def test_all_resamples_enumerated(self):
        sample = np.array([0.0, 0.11, 0.35, 0.58, 0.9, 1.07])
        means = np.array([np.mean(draw) for draw in itertools.product(sample, repeat=6)])
        for limit in (0.3, 0.4, 0.5, 0.62):
            exact = np.mean(means < limit)
            assert float(ideal_bootstrap_below(sample, limit)) == pytest.approx(exact, abs=0.012)

    @pytest.mark.parametrize("name", SAMPLES)
    @pytest.mark.parametrize("q", [0.01, 0.1, 0.3, 0.5, 0.8, 0.99])
    def test_the_two_functions_are_inverse(self, name, q):
        limit = ideal_bootstrap_quantile(SAMPLES[name], q)
        assert float(ideal_bootstrap_below(SAMPLES[name], limit)) == pytest.approx(q, abs=2e-3)

    def test_rows_equal_single_samples(self):
        rows = np.random.default_rng(4).lognormal(size=(2, 3, 20))
        below, quantile = ideal_bootstrap_below(rows, 1.5), ideal_bootstrap_quantile(rows, 0.1)
        assert below.shape == quantile.shape == (2, 3)
        for place in np.ndindex(2, 3):
            assert below[place] == pytest.approx(float(ideal_bootstrap_below(rows[place], 1.5)), abs=1e-12)
            assert quantile[place] == pytest.approx(float(ideal_bootstrap_quantile(rows[place], 0.1)), abs=1e-12)

    @given(st.lists(st.integers(0, 50), min_size=1, max_size=25), st.sampled_from([0.05, 0.1, 0.9]))
    @settings(max_examples=50, deadline=None)
    def test_moving_scaling_and_mirroring(self, whole, q):
        sample = np.array(whole) / 50
        point = float(ideal_bootstrap_quantile(sample, q))
        assert sample.min() <= point <= sample.max()
        assert float(ideal_bootstrap_quantile(10 * sample + 3, q)) == pytest.approx(10 * point + 3, abs=1e-6)
        assert float(ideal_bootstrap_quantile(-sample, 1 - q)) == pytest.approx(-point, abs=1e-6)
        assert float(ideal_bootstrap_quantile(sample[::-1], q)) == pytest.approx(point, abs=1e-9)

    def test_edges(self):
        assert float(ideal_bootstrap_quantile([0.7] * 5, 0.1)) == 0.7
        assert [float(ideal_bootstrap_below([0.7] * 5, limit)) for limit in (0.6, 0.7, 0.8)] == [0, 0, 1]
        sample = [0.0, 1.0, 1.0, 1.0]
        assert float(ideal_bootstrap_below(sample, 1.0)) == pytest.approx(1 - 0.75**4)  # exact at the top
        assert float(ideal_bootstrap_below(sample, 0.0)) == 0
        for values, shown in (([], "at least one"), ([float("nan")], "nan")):
            with pytest.raises(ValueError, match=shown):
                ideal_bootstrap_below(values, 0.5)
        with pytest.raises(ValueError, match="q = 1"):
            ideal_bootstrap_quantile([1.0, 2.0], 1)


def sums(distances):
    return np.array([[len(distances)], *([np.sum(distances**power)] for power in (1, 2, 3))], dtype=float)


class TestGrouped:
    @pytest.mark.parametrize(("n", "k"), [(5, 1), (11, 3), (30, 5), (57, 20)])
    def test_two_values_are_exact(self, n, k):
        sample = np.array([-0.45] * k + [0.31] * (n - k))
        most = np.arange(n + 1)
        under = -0.45 * most + 0.31 * (n - most) < 0
        exact = binom.pmf(most, n, k / n)[under].sum()
        assert grouped_bootstrap_below(sums(sample[:k]), sums(sample[k:]))[0] == pytest.approx(exact, abs=1e-12)

    @pytest.mark.parametrize("n", [11, 30])
    def test_two_modes_by_monte_carlo(self, n):
        rng = np.random.default_rng(n)
        sample = np.where(
            np.arange(n) < 0.3 * n,
            -0.2 + 0.005 * rng.standard_normal(n),
            0.12 + 0.01 * rng.standard_normal(n),
        )
        drawn = np.mean(sample[rng.integers(0, n, (100_000, n))].mean(axis=1) < 0)
        found = grouped_bootstrap_below(sums(sample[sample < 0]), sums(sample[sample >= 0]))[0]
        assert found == pytest.approx(drawn, abs=0.005)

    @pytest.mark.parametrize("n", [11, 30, 57])
    def test_one_mode_equals_the_saddlepoint(self, n):
        rng = np.random.default_rng(n)
        for _ in range(20):
            sample = 0.3 + rng.standard_normal(n)
            sample /= np.abs(sample).max()
            found = grouped_bootstrap_below(sums(sample[sample < 0]), sums(sample[sample >= 0]))[0]
            assert found == pytest.approx(float(ideal_bootstrap_below(sample, 0.0)), abs=0.01)
