"""Clustered errors against published figures, statsmodels, explicit matrices and enumerated resamples."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from analysis.stats import (
    clustered_mean,
    design_effect,
    mean_interval,
    nested_difference,
    nested_mean,
    wild_cluster_interval,
)
from analysis.stats.clusters import RADEMACHER, WEBB

D12 = [1, 1, 0, 0, -1, 0, 1, 1]
GROUPS = [0, 0, 1, 1, 2, 2, 3, 3]


def found(values, clusters, **options):
    return clustered_mean(values, clusters, **{"level": 0.95, "min_clusters": 2, **options})


@st.composite
def clustered(draw, least=3):
    """Values in tenths that differ, and a cluster for each, every cluster used."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=least, max_size=9))
    codes = np.repeat(np.arange(len(sizes)), sizes)
    values = draw(st.lists(st.integers(-10, 10), min_size=codes.size, max_size=codes.size))
    return np.array(values) / 10, codes


def by_matrices(values, codes):
    """CR2 and its degrees of freedom by the definition: (I − H)^(−1/2) per cluster, (tr M)²/tr M²."""
    n = values.size
    hat = np.full((n, n), 1 / n)
    rest = np.eye(n) - hat
    forms = []
    for g in np.unique(codes):
        own = codes == g
        root, vectors = np.linalg.eigh(rest[np.ix_(own, own)])
        adjust = vectors @ np.diag(root**-0.5) @ vectors.T
        forms.append(np.ones(own.sum()) @ adjust @ rest[own] / n)  # a cluster's contribution, as weights of all values
    forms = np.array(forms)
    gram = forms @ forms.T
    return math.sqrt(((forms @ values) ** 2).sum()), np.trace(gram) ** 2 / (gram**2).sum()


class TestPublished:
    def test_acceptance_line_12(self):
        # study 4 section D line 12
        one, two, three = (found(D12, GROUPS, method=method) for method in ("CR0", "CR1", "CR2"))
        assert (one.mean, one.se_iid) == pytest.approx((0.375, 0.26305), abs=1e-5)
        assert (one.se, two.se, three.se) == pytest.approx((0.32476, 0.375, 0.375), abs=1e-5)

    def test_three_pairs(self):
        # published-numbers F1
        values, clusters = [1, 1, 0, 0, 1, 0], [1, 1, 2, 2, 3, 3]
        assert found(values, clusters, method="CR0").se == pytest.approx(0.235702, abs=1e-6)
        assert found(values, clusters, method="CR1").se == pytest.approx(0.288675, abs=1e-6)
        assert found(values, clusters).se_iid == pytest.approx(0.223607, abs=1e-6)

    @pytest.mark.real
    def test_routellm_mmlu(self, real_data):
        # F2: GPT-4 minus Mixtral, 57 subjects
        parts, names = [], []
        for path in sorted((real_data / "routellm_pairs" / "mmlu").glob("mmlu_*.csv")):
            rows = pd.read_csv(path)
            parts.append(rows["gpt-4-1106-preview"].astype(float) - rows["mistralai/Mixtral-8x7B-Instruct-v0.1"])
            names += [path.stem] * len(rows)
        d = np.concatenate(parts)
        plain, corrected, second = (found(d, names, method=method, min_clusters=30) for method in ("CR0", "CR1", "CR2"))
        assert (plain.n, plain.n_clusters) == (14042, 57)
        assert (plain.mean, plain.se_iid) == pytest.approx((0.12498, 0.00391), abs=1e-5)
        assert (plain.se, corrected.se) == pytest.approx((0.02079, 0.02097), abs=1e-5)
        assert corrected.se < second.se  # large clusters weigh more
        assert second.df < corrected.df == 56

    @pytest.mark.real
    def test_mmlu_pro(self, real_data):
        # F3: Llama-3-8B to 3.1-8B, 14 categories, no answer counts as wrong
        files = [f"model_outputs_Meta-Llama-{name}_5shots.json" for name in ("3-8B", "3_1-8B")]
        first, second = (pd.DataFrame(json.loads((real_data / "mmlu_pro_greedy" / name).read_text())) for name in files)
        rows = first.merge(second, on="question_id", suffixes=("_1", "_2"))
        d = (rows["pred_2"] == rows["answer_2"]).astype(float) - (rows["pred_1"] == rows["answer_1"])
        one, two = (found(d, rows["category_1"].to_numpy(), method=method) for method in ("CR0", "CR1"))
        assert (one.n, one.n_clusters) == (12032, 14)
        assert (one.mean, one.se_iid) == pytest.approx((0.02319, 0.00400), abs=1e-5)
        assert (one.se, two.se) == pytest.approx((0.00614, 0.00637), abs=1e-5)


class TestClustered:
    @given(clustered())
    @settings(deadline=None)
    def test_statsmodels(self, sample):
        # statsmodels 0.15: OLS on a constant; with k = 1 its correction is G/(G − 1)
        values, codes = sample
        for method, corrected in (("CR0", False), ("CR1", True)):
            one = found(values, codes, method=method)
            fit = sm.OLS(values, np.ones(values.size)).fit(
                cov_type="cluster", cov_kwds={"groups": codes, "use_correction": corrected}, use_t=True
            )
            assert one.se == pytest.approx(float(np.sqrt(fit.cov_params()[0, 0])), abs=1e-12)
            if one.low is not None:
                assert (one.low, one.high) == pytest.approx(tuple(fit.conf_int()[0]), abs=1e-9)

    @given(clustered())
    @settings(deadline=None)
    def test_bell_mccaffrey_by_matrices(self, sample):
        values, codes = sample
        one = found(values, codes)
        se, df = by_matrices(values, codes)
        assert one.se == pytest.approx(se, abs=1e-9)
        assert one.df == pytest.approx(df, rel=1e-9)
        assert 1 - 1e-9 <= one.df <= one.n_clusters - 1 + 1e-9
        if one.low is not None:
            assert one.high - one.mean == pytest.approx(student.ppf(0.975, df) * se, rel=1e-6)

    @given(clustered(), st.randoms(use_true_random=False))
    def test_order_names_and_unit_do_not_matter(self, sample, random):
        values, codes = sample
        order = np.array(random.sample(range(values.size), values.size))
        base, mixed = found(values, codes), found(values[order], codes[order])
        named = found(values, [f"c{code}" for code in codes])
        far = found(values, codes * 1_000_003 - 5)
        moved = found(100 - 8 * values, codes)
        for other in (mixed, named, far):
            assert (other.mean, other.se, other.df) == pytest.approx((base.mean, base.se, base.df), abs=1e-12)
        assert (moved.mean, moved.se) == pytest.approx((100 - 8 * base.mean, 8 * base.se), abs=1e-9)

    @given(st.lists(st.integers(-9, 9), min_size=3, max_size=20).filter(lambda v: len(set(v)) > 1))
    def test_clusters_of_one_are_students_interval(self, values):
        for method in ("CR1", "CR2"):
            one = found(values, range(len(values)), method=method)
            assert (one.se, one.df) == pytest.approx((one.se_iid, len(values) - 1), rel=1e-9)
            assert one.design_effect == pytest.approx(1)
            assert (one.low, one.high) == pytest.approx(mean_interval(values, level=0.95), rel=1e-9, abs=1e-12)

    @pytest.mark.parametrize("m", [1, 2, 7])
    def test_copies_of_an_item_add_nothing(self, m):
        # m copies: the mean's error is that of one, the design effect Kish's with ρ = 1, up to n − 1
        values = np.array([0.1, 0.9, 0.4, 0.3, 0.8, 0.2])
        one = found(np.repeat(values, m), np.repeat(np.arange(6), m))
        assert one.se == pytest.approx(values.std(ddof=1) / math.sqrt(6), rel=1e-12)
        n = 6 * m
        assert one.design_effect == pytest.approx(design_effect(m, 1.0) * (n - 1) / (n - m), rel=1e-12)

    def test_kish(self):
        # published-numbers F4
        assert design_effect(10, 0.05) == pytest.approx(1.45)
        assert design_effect(20, 0.02) == pytest.approx(1.38)
        with pytest.raises(ValueError, match=r"rho = 1\.5"):
            design_effect(10, 1.5)
        with pytest.raises(ValueError, match=r"rho = -0\.2"):
            design_effect(10, -0.2)
        with pytest.raises(ValueError, match="cluster_size = 0"):
            design_effect(0, 0.1)

    def test_no_spread(self):
        # every cluster has the mean of all: the formula says 0, which is not believed
        for values in ([0.1] * 8, [0.1, 0.3] * 4):
            one = found(values, GROUPS)
            assert (one.se, one.low, one.high) == (0, None, None)
            assert "no width" in one.reason
            assert wild_cluster_interval(values, GROUPS, level=0.9, rng=np.random.PCG64(1), min_clusters=4) is None
        assert found([0.1] * 8, GROUPS).design_effect is None

    def test_missing_and_too_few(self):
        with pytest.raises(ValueError, match="4 clusters, fewer than min_clusters = 6"):
            clustered_mean(D12, GROUPS, level=0.95)
        with pytest.raises(ValueError, match="1 clusters"):
            found(D12, [7] * 8)
        with pytest.raises(ValueError, match="min_clusters = 1"):
            found(D12, GROUPS, min_clusters=1)
        with pytest.raises(ValueError, match="row 1 has none"):
            found([1, 2, 3], ["a", None, "b"])
        with pytest.raises(ValueError, match="row 2 has none"):
            found([1, 2, 3], [1.0, 2.0, math.nan])
        with pytest.raises(ValueError, match="a value is nan"):
            found([1, math.nan, 3], [1, 2, 3])
        with pytest.raises(ValueError, match="give one of each"):
            found([1, 2, 3], [1, 2])
        with pytest.raises(ValueError, match="method = 'CR3'"):
            found(D12, GROUPS, method="CR3")
        with pytest.raises(ValueError, match="level = 95"):
            found(D12, GROUPS, level=95)


def wild_p(values, codes, mean, weights):
    """p-value of the wild cluster bootstrap over all weights, one resample at a time."""

    def t(sample):
        residual = sample - sample.mean()
        sums = np.array([residual[codes == g].sum() for g in np.unique(codes)])
        return abs(sample.mean() - mean) / np.sqrt((sums**2).sum())

    own, beyond, all_ = t(values), 0, 0
    for drawn in itertools.product(weights, repeat=codes.max() + 1):
        all_ += 1
        beyond += t(mean + np.array(drawn)[codes] * (values - mean)) >= own * (1 - 1e-9)
    return beyond / all_


class TestWild:
    CODES = np.repeat(np.arange(5), [3, 1, 2, 2, 4])
    VALUES = np.array([0.1, 0.4, 0.3, 0.9, 0.2, 0.5, 0.7, 0.6, -0.2, 0.0, 0.3, 0.1])

    def test_webb_ends_by_enumeration(self):
        # 6^5 resamples: at the ends of the 90 % interval the p-value of all of them is .10 up to Monte Carlo noise
        low, high = wild_cluster_interval(
            self.VALUES, self.CODES, level=0.9, rng=np.random.PCG64(3), n_resamples=19_999, min_clusters=5
        )
        for end in (low, high):
            assert wild_p(self.VALUES, self.CODES, end, WEBB) == pytest.approx(0.1, abs=0.01)  # four standard errors

    def test_rademacher_ends_by_enumeration(self):
        rng = np.random.default_rng(1)
        codes = np.repeat(np.arange(12), rng.integers(1, 4, 12))
        values = rng.normal(size=codes.size) + rng.normal(size=12)[codes]
        low, high = wild_cluster_interval(values, codes, level=0.9, rng=np.random.PCG64(3), n_resamples=19_999)
        for end in (low, high):
            assert wild_p(values, codes, end, RADEMACHER) == pytest.approx(0.1, abs=0.01)

    def test_webb_weights(self):
        # Webb (2023): mean 0, variance 1, third moment 0
        assert [np.mean(WEBB**k) for k in (1, 2, 3)] == pytest.approx([0, 1, 0], abs=1e-15)

    def test_mirror_unit_and_stream(self):
        def ends(values):
            return wild_cluster_interval(
                values, self.CODES, level=0.95, rng=np.random.PCG64(3), n_resamples=999, min_clusters=5
            )

        low, high = ends(self.VALUES)
        assert ends(self.VALUES) == (low, high)
        assert ends(-self.VALUES) == pytest.approx((-high, -low), rel=1e-6)
        assert ends(3 + 10 * self.VALUES) == pytest.approx((3 + 10 * low, 3 + 10 * high), rel=1e-6)
        assert low < self.VALUES.mean() < high

    def test_many_equal_clusters_are_students(self):
        rng = np.random.default_rng(2)
        codes = np.repeat(np.arange(200), 3)
        values = rng.normal(size=600) + rng.normal(size=200)[codes]
        low, high = wild_cluster_interval(values, codes, level=0.95, rng=rng)
        one = found(values, codes)
        assert (low, high) == pytest.approx((one.low, one.high), abs=0.05 * one.se)

    def test_refusals(self):
        with pytest.raises(ValueError, match="no mean could be rejected"):
            wild_cluster_interval(
                [1, 2, 4], [0, 1, 2], level=0.99, rng=np.random.PCG64(1), min_clusters=3
            )  # p is at least 6^-2
        with pytest.raises(ValueError, match="19 resamples"):
            wild_cluster_interval(
                self.VALUES, self.CODES, level=0.99, rng=np.random.PCG64(1), n_resamples=19, min_clusters=5
            )
        with pytest.raises(ValueError, match="fewer than min_clusters = 3"):
            wild_cluster_interval([1, 2], [0, 1], level=0.9, rng=np.random.PCG64(1), min_clusters=2)


@st.composite
def attempts(draw):
    """Scores 0 and 1 of items with 1 to 4 attempts, one item at least with two."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=2, max_size=8).filter(lambda s: max(s) > 1))
    items = np.repeat(np.arange(len(sizes)), sizes)
    return np.array(draw(st.lists(st.integers(0, 1), min_size=items.size, max_size=items.size))), items


def components(values, items):
    """Item means, mean of σ²/K and mean of σ², item by item."""
    parts = [values[items == i] for i in np.unique(items)]
    pooled = np.mean([np.var(part, ddof=1) for part in parts if part.size > 1])
    noise = [(np.var(part, ddof=1) if part.size > 1 else pooled) / part.size for part in parts]
    return np.array([part.mean() for part in parts]), np.mean(noise), pooled


class TestNested:
    @given(attempts())
    def test_item_by_item(self, sample):
        values, items = sample
        one = nested_mean(values, items, level=0.95)
        means, noise, sigma2 = components(values, items)
        np.testing.assert_allclose(one.item_values, means)
        assert (one.mean, one.noise, one.sigma2[0]) == pytest.approx((means.mean(), noise, sigma2))
        assert one.omega2 + one.noise == pytest.approx(means.var(ddof=1), abs=1e-12)  # the identity of the components
        if one.low is not None:
            assert (one.low, one.high) == pytest.approx(mean_interval(means, level=0.95))

    @given(attempts(), st.integers(0, 2**32))
    def test_differences_of_unequal_numbers_of_attempts(self, sample, seed):
        values, items = sample
        rng = np.random.default_rng(seed)
        sizes = rng.integers(2, 5, items.max() + 1)
        other_items = rng.permutation(np.repeat(np.arange(sizes.size), sizes))
        other = rng.random(other_items.size).round(2)
        one = nested_difference(values, items, other, other_items, level=0.9)
        back = nested_difference(other, other_items, values, items, level=0.9)
        first, second = components(values, items), components(other, other_items)
        d = second[0] - first[0]
        assert one.mean == pytest.approx(d.mean())
        assert one.se == pytest.approx(d.std(ddof=1) / math.sqrt(d.size), abs=1e-12)
        assert one.noise == pytest.approx(first[1] + second[1])
        assert one.omega2 == pytest.approx(d.var(ddof=1) - one.noise, abs=1e-12)
        assert back.mean == pytest.approx(-one.mean)
        assert (back.omega2, *back.sigma2) == pytest.approx((one.omega2, *one.sigma2[::-1]), abs=1e-12)

    def test_components_have_no_bias(self):
        # Miller 2024: uniform rates, ω² = 1/12, σ² = E p(1 − p) = 1/6; standard errors over the repetitions
        rng = np.random.default_rng(0)
        seen = []
        for _ in range(400):
            p = rng.random(100)
            items = np.repeat(np.arange(100), rng.integers(1, 6, 100))
            one = nested_mean(rng.random(items.size) < p[items], items, level=0.95)
            seen.append((one.omega2, one.sigma2[0]))
        mean, error = np.mean(seen, axis=0), np.std(seen, axis=0) / 20
        assert (np.abs(mean - [1 / 12, 1 / 6]) < 4 * error).all()

    def test_greedy_and_repeated(self):
        single = nested_mean([1, 0, 1], ["a", "b", "c"], level=0.95)
        assert (single.omega2, single.noise, single.sigma2) == (None, None, (None,))
        assert "cannot be told apart" in single.reason
        assert (single.low, single.high) == pytest.approx(mean_interval([1, 0, 1], level=0.95))
        same = nested_mean([1, 0, 1, 0], [0, 0, 1, 1], level=0.95)
        assert (same.se, same.low, same.omega2) == (0, None, -0.25)
        assert "no width" in same.reason
        assert single.item_values.tolist() == [1, 0, 1]

    def test_item_values_go_on_to_clusters(self):
        one = nested_difference([0, 1, 0, 1], [0, 1, 2, 3], [1, 1, 0, 0, 1, 0], [3, 3, 2, 1, 0, 0], level=0.95)
        assert one.item_values.tolist() == [0.5, -1, 0, 0]
        assert found(one.item_values, [0, 0, 1, 1]).mean == one.mean == -0.125

    def test_refusals(self):
        with pytest.raises(ValueError, match="2 items are in one version only, such as 1"):
            nested_difference([1, 0], [0, 2], [1, 1], [0, 1], level=0.95)
        with pytest.raises(ValueError, match="1 item"):
            nested_mean([1, 0], [5, 5], level=0.95)
