"""Intervals of a mean difference against published values, enumeration, other programs and large Monte Carlo."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, bootstrap, norm  # scipy 1.17
from statsmodels.regression.linear_model import OLS  # statsmodels 0.15

from analysis.stats import binary_bootstrap_quantile, bounded_mean_interval, paired_mean_interval
from analysis.stats.bootstrap_laws import FEW_LEVELS, student_quantile, student_saddlepoint
from analysis.stats.paired import sum_law
from analysis.stats.paired_means import METHODS

GUIDE = np.subtract([1, 1, 1, 1, 0, 1, 1, 0], [1, 0, 1, 1, 0, 1, 0, 1])  # the evaluation guide's code
EXPONENTIAL = -np.log1p(-(np.arange(1, 51) - 0.5) / 50) - 1
SKEWED = np.exp(np.random.default_rng(1).standard_normal(100)) / 10
SLEEP = np.subtract(
    [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2], [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
)
BOOTSTRAPS = ("percentile", "bca", "studentised")


def ends(diff, **options):
    found = paired_mean_interval(diff, **options)
    return found.low, found.high


def standard_error(diff):
    return np.std(diff) / math.sqrt(len(diff))


def resampled(values, n_resamples=400_000, seed=7):
    """Means and Student ratios of plain resamples, standardised; in blocks."""
    z = (np.asarray(values) - np.mean(values)) / np.std(values)
    rng, rows = np.random.default_rng(seed), 4_000_000 // z.size
    means, ratios = [], []
    for _ in range(math.ceil(n_resamples / rows)):
        drawn = z[rng.integers(0, z.size, (rows, z.size))]
        means.append(drawn.mean(axis=1))
        ratios.append(means[-1] / drawn.std(axis=1))
    return math.sqrt(z.size) * np.concatenate(means), math.sqrt(z.size) * np.concatenate(ratios)


class TestPercentile:
    def test_guide(self):
        # study-4 section D line 6, published-numbers D5: B = 10,000, seed 0
        rng = np.random.default_rng(0)
        found = paired_mean_interval(GUIDE, n_resamples=10_000, rng=rng)
        assert (found.estimate, found.low, found.high) == (0.125, -0.25, 0.50)
        assert (found.method, found.n, found.n_clusters, found.reason) == ("percentile", 8, None, None)
        assert ends(GUIDE) == (-0.25, 0.50)  # and of infinitely many resamples
        plain = GUIDE[np.random.default_rng(0).integers(0, 8, (10_000, 8))].mean(axis=1)
        assert np.quantile(plain, [0.025, 0.975]).tolist() == [-0.25, 0.50]

    @pytest.mark.parametrize(("level", "low", "high"), [(0.95, -0.258500, 0.274790), (0.99, -0.327004, 0.372656)])
    def test_published_grid(self, level, low, high):
        # performance.md section 6 B: ideal 95 % and 99 % intervals of the exponential grid
        assert ends(EXPONENTIAL, level=level) == pytest.approx((low, high), abs=5e-6)

    def test_published_tail_grid(self):
        # performance.md section 6 B: q_i − .9 q_(77 i mod 200), by saddlepoint; Cornish-Fisher is .0004 se away
        q = ((1 - (np.arange(1, 201) - 0.5) / 200) ** -0.3 - 1) / 0.3
        diff = q - 0.9 * q[77 * np.arange(200) % 200]
        found = paired_mean_interval(diff)
        assert found.estimate == pytest.approx(0.141149285, abs=1e-9)
        assert (found.low, found.high) == pytest.approx((-0.208144, 0.503967), abs=1e-4)

    def test_published_clusters(self):
        # performance.md section 6 B: 40 clusters, ratio of sums, by saddlepoint
        i = np.arange(40)
        sizes = 3 + 7 * i % 5
        shares = 0.2 + 0.6 * (11 * i % 40) / 40
        found = paired_mean_interval(np.repeat(shares, sizes), clusters=np.repeat(i, sizes))
        assert found.estimate == pytest.approx(0.4955, abs=1e-12)
        assert (found.low, found.high) == pytest.approx((0.439865, 0.550975), abs=1e-5)
        assert (found.n, found.n_clusters) == (sizes.sum(), 40)

    def test_pairs_are_trinomial(self):
        diff = np.repeat([-1, 0, 1], [30, 900, 70])
        assert ends(diff) == pytest.approx((0.021, 0.060), abs=1e-12)
        assert ends(diff) == pytest.approx(binary_bootstrap_quantile(30, 70, 1000, q=[0.025, 0.975]).tolist())

    def test_a_lattice_is_exact(self):
        # eleven levels with floating noise, against the convolution of the law of one draw
        scores = np.random.default_rng(2).integers(0, 11, (2, 60)) / 10
        diff = scores[1] - scores[0]
        single = np.bincount(np.rint(10 * diff).astype(int) + 10, minlength=21) / 60
        law = np.ones(1)
        for _ in range(60):
            law = np.convolve(law, single)
        below = np.cumsum(law)
        exact = [(np.argmax(below >= q) - 600) / 600 for q in (0.025, 0.975)]
        assert ends(diff) == pytest.approx(exact, abs=1e-12)

    @pytest.mark.parametrize("n", [5, 6])
    def test_all_resamples(self, n):
        diff = np.random.default_rng(n).random(n) - 0.4
        means = np.sort([np.mean(draw) for draw in itertools.product(diff, repeat=n)])
        exact = [means[math.ceil(q * means.size) - 1] for q in (0.025, 0.975)]
        assert ends(diff) == pytest.approx(exact, abs=1e-12)

    @pytest.mark.parametrize("diff", [EXPONENTIAL, SKEWED, SKEWED[:30], SLEEP], ids=["grid", "100", "30", "10"])
    @pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
    def test_monte_carlo(self, diff, level):
        means = resampled(diff)[0]
        low, high = ends(diff, level=level, score_range=(-10, 10))
        found = (np.array([low, high]) - np.mean(diff)) / standard_error(diff)
        tolerance = 0.01 + 3 * math.sqrt((1 - level) / 2 / means.size) / norm.pdf(norm.ppf((1 - level) / 2))
        np.testing.assert_allclose(found, np.quantile(means, [(1 - level) / 2, (1 + level) / 2]), atol=tolerance)

    def test_expansion_against_the_exact_law(self):
        # rounded to a lattice of sd/100 the law is exact; the expansion takes the values for continuous
        diff = np.round(100 * np.random.default_rng(4).exponential(size=4000))
        steps, counts = np.unique(diff.astype(np.int64), return_counts=True)
        assert steps.size > FEW_LEVELS
        first, mass = sum_law(steps, counts)
        exact = (first + np.searchsorted(np.cumsum(mass), [0.025, 0.975])) / diff.size
        np.testing.assert_allclose(ends(diff, score_range=(0, 999)), exact, atol=1e-3 * standard_error(diff))

    def test_blocks_of_resamples_make_no_difference(self, monkeypatch):
        one = ends(SKEWED, n_resamples=3000, rng=np.random.default_rng(5))
        monkeypatch.setattr("analysis.stats.paired_means.DRAWS", 1000)
        assert ends(SKEWED, n_resamples=3000, rng=np.random.default_rng(5)) == one
        assert ends(SKEWED, n_resamples=3000, rng=np.random.default_rng(6)) != one

    @pytest.mark.parametrize(("b", "c", "margin"), [(100, 100, 0.05)])
    def test_many_flips_that_cancel(self, b, c, margin):
        # problems 51 (NeMo compare): 5,000 items, 100/100 flips, ± .0055 well inside a margin of .05
        low, high = ends(np.repeat([-1.0, 0.0, 1.0], [b, 5000 - b - c, c]))
        assert (low, high) == pytest.approx((-0.0055, 0.0055), abs=2e-4)  # on the lattice of 1/5000
        assert -margin < low < high < margin

    def test_small_drop_of_a_judge_score(self):
        # problems 49: .8 with a drop of .0015 is inside a margin of .05, whatever its size in standard deviations
        diff = -0.0015 + 0.0005 * np.sin(np.arange(200))
        low, high = ends(diff)
        assert -0.05 < low < diff.mean() < high < 0


class TestBca:
    @pytest.mark.parametrize("diff", [EXPONENTIAL, SKEWED, SLEEP], ids=["grid", "skewed", "sleep"])
    def test_scipy(self, diff):
        peer = bootstrap(
            (diff,), np.mean, n_resamples=60_000, method="BCa", batch=5000, rng=np.random.default_rng(3)
        ).confidence_interval
        found = ends(diff, method="bca", score_range=(-10, 10))
        np.testing.assert_allclose(found, [peer.low, peer.high], atol=0.06 * standard_error(diff))

    @pytest.mark.parametrize(("b", "c"), [(3, 14), (1, 9), (0, 12)])
    def test_scipy_on_a_lattice(self, b, c):
        diff = np.repeat([-1.0, 0.0, 1.0], [b, 100 - b - c, c])
        peer = bootstrap(
            (diff,), np.mean, n_resamples=60_000, method="BCa", batch=5000, rng=np.random.default_rng(3)
        ).confidence_interval
        np.testing.assert_allclose(ends(diff, method="bca"), [peer.low, peer.high], atol=0.010001)

    def test_monte_carlo_with_the_same_draws_as_the_percentile(self):
        options = {"n_resamples": 100_000, "rng": np.random.default_rng(0)}
        np.testing.assert_allclose(
            ends(SKEWED, method="bca", **options), ends(SKEWED, method="bca"), atol=0.04 * standard_error(SKEWED)
        )

    def test_it_follows_the_skewness(self):
        percentile, bca = ends(SKEWED), ends(SKEWED, method="bca")
        assert bca[0] > percentile[0]
        assert bca[1] > percentile[1]


class TestStudentised:
    @pytest.mark.parametrize(
        ("diff", "tolerance"),
        [(EXPONENTIAL, 0.015), (SKEWED, 0.02), (SKEWED[:30], 0.03), (SLEEP, 0.1)],
        ids=["grid", "100", "30", "10"],
    )
    def test_monte_carlo(self, diff, tolerance):
        ratios = resampled(diff)[1]
        low, high = ends(diff, method="studentised", score_range=(-10, 10))
        found = (np.mean(diff) - np.array([high, low])) / standard_error(diff)
        np.testing.assert_allclose(found, np.quantile(ratios, [0.025, 0.975]), atol=tolerance)

    def test_large_and_nearly_symmetric(self):
        # the Cornish-Fisher branch; the saddlepoint gives the same to .001
        diff = np.random.default_rng(8).random(3000) - np.random.default_rng(9).random(3000)
        z = (diff - diff.mean()) / diff.std()
        for q in (0.005, 0.025, 0.975, 0.995):
            assert student_quantile(diff, q) == pytest.approx(student_saddlepoint(z, float(norm.ppf(q))), abs=1e-3)

    @pytest.mark.parametrize("n", [5, 6])
    def test_all_resamples(self, n):
        diff = np.random.default_rng(n).random(n) - 0.4
        draws = np.array(list(itertools.product(diff, repeat=n)))
        with np.errstate(divide="ignore"):
            t = np.sort((draws.mean(axis=1) - diff.mean()) / (draws.std(axis=1) + 1e-300) * math.sqrt(n))
        lower, upper = (t[math.ceil(q * t.size) - 1] for q in (0.1, 0.9))
        se = standard_error(diff)
        exact = (diff.mean() - upper * se, diff.mean() - lower * se)
        assert ends(diff, method="studentised", level=0.8) == pytest.approx(exact, abs=1e-9)

    def test_monte_carlo_variant(self):
        drawn = ends(SKEWED, method="studentised", n_resamples=200_000, rng=np.random.default_rng(1))
        np.testing.assert_allclose(drawn, ends(SKEWED, method="studentised"), atol=0.04 * standard_error(SKEWED))

    @pytest.mark.parametrize("options", [{}, {"n_resamples": 2000, "rng": np.random.default_rng(0)}])
    def test_resamples_without_variation(self, options):
        # one gain in 20: a third of the resamples hold none of it, and their Student ratio is infinite
        found = paired_mean_interval([1] + [0] * 19, method="studentised", **options)
        assert found.method == "betting"
        assert "no finite quantile" in found.reason
        assert found.low < 0 < found.high

    def test_unequal_clusters_need_draws(self):
        clusters = np.arange(100) // 3
        with pytest.raises(ValueError, match="give n_resamples and rng"):
            paired_mean_interval(SKEWED, method="studentised", clusters=clusters)
        found = paired_mean_interval(
            SKEWED, method="studentised", clusters=clusters, n_resamples=2000, rng=np.random.default_rng(0)
        )
        assert found.low < found.estimate < found.high


class TestStudent:
    def test_sleep(self):
        # published-numbers E1: R `sleep`, paired
        assert ends(SLEEP, method="t", score_range=(-10, 10)) == pytest.approx((-2.4599, -0.7001), abs=1e-4)

    def test_maize(self):
        # published-numbers E3: Fisher 1935
        maize = [6.125, -8.375, 1, 2, 0.75, 2.875, 3.5, 5.125, 1.75, 3.625, 7, 3, 9.375, 7.5, -6]
        found = paired_mean_interval(maize, method="t", score_range=(0, 30))
        assert found.estimate == pytest.approx(2.6167, abs=1e-4)
        assert (found.low, found.high) == pytest.approx((0.0039, 5.2294), abs=1e-3)

    @pytest.mark.parametrize("sizes", [[4] * 12, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]])
    def test_clusters_by_statsmodels(self, sizes):
        rng = np.random.default_rng(len(sizes))
        codes = np.repeat(np.arange(len(sizes)), sizes)
        diff = np.clip(rng.normal(0.1, 0.2, codes.size) + rng.normal(0, 0.2, len(sizes))[codes], -1, 1)
        fit = OLS(diff, np.ones(diff.size)).fit(
            cov_type="cluster", cov_kwds={"groups": codes, "df_correction": True}, use_t=True
        )
        # statsmodels multiplies by G/(G−1) (n−1)/(n−1): CR1
        expected = fit.conf_int(0.05)[0]
        assert ends(diff, method="t", clusters=codes) == pytest.approx(expected, abs=1e-12)

    @pytest.mark.real
    def test_real_subjects(self, real_data):
        # published-numbers F2: RouteLLM, GPT-4 − Mixtral on 57 MMLU subjects, clustered .02097 with G/(G − 1)
        files = sorted((real_data / "routellm_pairs" / "mmlu").glob("mmlu_*.csv"))
        items = pd.concat([pd.read_csv(file).assign(subject=file.stem) for file in files])
        diff = items["gpt-4-1106-preview"].astype(float) - items["mistralai/Mixtral-8x7B-Instruct-v0.1"].astype(float)
        found = paired_mean_interval(diff, method="t", clusters=items["subject"])
        assert (found.n, found.n_clusters) == (14042, 57)
        assert found.estimate == pytest.approx(0.12498, abs=1e-5)
        assert (found.high - found.low) / 2 / 2.003241 == pytest.approx(0.02097, abs=1e-5)  # R qt(.975, 56)
        low, high = ends(diff, clusters=items["subject"])
        assert low == pytest.approx(found.low, abs=0.003)
        assert high == pytest.approx(found.high, abs=0.003)


class TestClusters:
    SIZES = np.array([2, 5, 1, 7, 3, 4, 6, 2, 8, 3, 5, 4, 1, 6, 2])

    def example(self):
        codes = np.repeat(np.arange(self.SIZES.size), self.SIZES)
        rng = np.random.default_rng(11)
        return np.clip(0.1 + 0.2 * rng.standard_normal(codes.size) + 0.15 * np.sin(codes), -1, 1), codes

    def concatenated(self, diff, codes, n_resamples, seed=1):
        """The plain way: whole clusters drawn and their items joined."""
        rng = np.random.default_rng(seed)
        groups = [diff[codes == code] for code in np.unique(codes)]
        return np.array(
            [
                np.concatenate([groups[i] for i in rng.integers(0, len(groups), len(groups))]).mean()
                for _ in range(n_resamples)
            ]
        )

    def test_concatenated_clusters(self):
        diff, codes = self.example()
        means = self.concatenated(diff, codes, 20_000)
        drawn = ends(diff, clusters=codes, n_resamples=20_000, rng=np.random.default_rng(2))
        for found in (ends(diff, clusters=codes), drawn):
            np.testing.assert_allclose(found, np.quantile(means, [0.025, 0.975]), atol=0.04 * means.std())

    def test_bca(self):
        diff, codes = self.example()
        drawn = ends(diff, clusters=codes, method="bca", n_resamples=100_000, rng=np.random.default_rng(2))
        se = self.concatenated(diff, codes, 2000).std()
        np.testing.assert_allclose(ends(diff, clusters=codes, method="bca"), drawn, atol=0.03 * se)

    def test_all_resamples_of_six_clusters(self):
        diff, codes = self.example()
        few = codes < 6
        diff, codes = diff[few], codes[few]
        sums, sizes = np.bincount(codes, diff), np.bincount(codes)
        ratios = np.sort(
            [sums[list(draw)].sum() / sizes[list(draw)].sum() for draw in itertools.product(range(6), repeat=6)]
        )
        exact = [ratios[math.ceil(q * ratios.size) - 1] for q in (0.025, 0.975)]
        assert ends(diff, clusters=codes) == pytest.approx(exact, abs=1e-12)

    @pytest.mark.parametrize("method", METHODS)
    def test_an_item_per_cluster_is_no_cluster(self, method):
        labels = [f"item {i}" for i in range(SKEWED.size)]
        assert ends(SKEWED, method=method, clusters=labels) == pytest.approx(ends(SKEWED, method=method), abs=1e-12)

    @pytest.mark.parametrize("method", ["percentile", "bca", "t"])
    def test_copies_bring_nothing(self, method):
        # problems 34 (inspect_ai #1118): 5 perfectly correlated epochs of 100 items are 100 items
        copies, labels = np.repeat(SKEWED, 5), np.repeat(np.arange(100), 5)
        assert ends(copies, method=method, clusters=labels) == pytest.approx(ends(SKEWED, method=method), abs=1e-9)

    def test_labels_and_order_do_not_matter(self):
        diff, codes = self.example()
        order = np.random.default_rng(0).permutation(codes.size)
        names = pd.Series(codes).map("customer {}".format)
        assert ends(diff, clusters=names) == pytest.approx(ends(diff, clusters=codes), abs=1e-12)
        assert ends(diff[order], clusters=codes[order]) == pytest.approx(ends(diff, clusters=codes), abs=1e-9)

    def test_refusals(self):
        with pytest.raises(ValueError, match="all items are in the cluster law"):
            paired_mean_interval([0.1, 0.2, 0.3], clusters=["law"] * 3)
        with pytest.raises(ValueError, match="for 3 differences"):
            paired_mean_interval([0.1, 0.2, 0.3], clusters=["a", "b"])
        for missing in (None, math.nan):
            with pytest.raises(ValueError, match="a cluster is"):
                paired_mean_interval([0.1, 0.2], clusters=pd.Series(["a", missing], dtype=object))
        with pytest.raises(ValueError, match="a cluster is nan"):
            paired_mean_interval([0.1, 0.2], clusters=[1.0, math.nan])


class TestNeverCollapse:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("noise", [False, True])
    def test_two_hundred_equal_drops(self, method, noise):
        # study-4 "known wrong verdicts" and problems 50: .8 → .4 on 200 items is refused at a margin of −.05
        diff = np.array([0.4 - 0.8, 0.3 - 0.7] * 100) if noise else np.full(200, -0.4)
        found = paired_mean_interval(diff, method=method, score_range=(0, 1))
        assert found.method == "betting"
        assert "do not vary" in found.reason
        assert -1 < found.low < -0.4 < found.high < -0.05
        assert (found.low, found.high) == ends(diff, method=method)  # [0, 1] is taken when all fit
        assert bounded_mean_interval(diff, low=-1, high=1, method="bernstein")[1] < -0.05

    @pytest.mark.parametrize("method", METHODS)
    def test_three_identical_items_are_undecided(self, method):
        low, high = ends([0.0, 0.0, 0.0], method=method)
        assert low < -0.5
        assert high > 0.5

    def test_twenty_of_twenty(self):
        # problems 38: 20/20 against 20/20 at a margin of .01
        low, high = ends([0] * 20)
        assert low < -0.01 < 0.01 < high

    @pytest.mark.parametrize("distinct", [2, 3, 4])
    def test_few_distinct_differences(self, distinct):
        diff = np.full(200, -0.4)
        diff[: distinct - 1] = -0.4 - 0.001 * np.arange(1, distinct)
        found = paired_mean_interval(diff)
        assert found.method == "betting"
        assert f"only {distinct} distinct values" in found.reason
        assert found.high - found.low > 0.02

    def test_five_distinct_differences(self):
        assert paired_mean_interval([-0.4, -0.3, -0.2, -0.1, 0.0]).method == "percentile"

    def test_pass_or_fail_may_have_two_values(self):
        assert paired_mean_interval([0, 1] * 20).method == "percentile"
        assert paired_mean_interval([0, 4] * 20, score_range=(1, 5)).method == "percentile"
        assert paired_mean_interval([0, 0.5] * 20).method == "betting"

    def test_few_clusters(self):
        # four clusters of pairs that pass or fail: no bootstrap can tell how they vary
        found = paired_mean_interval([0, 1, 1, 0, 0, 0, 1, 1, 1, -1], clusters=[0, 0, 1, 1, 1, 2, 2, 3, 3, 3])
        assert found.method == "betting"
        assert found.high - found.low > 1
        assert found.low < found.estimate < found.high

    def test_equal_drops_in_clusters_of_unequal_size(self):
        sizes = np.arange(1, 31)
        codes = np.repeat(np.arange(30), sizes)
        found = paired_mean_interval(np.full(codes.size, -0.4), clusters=codes)
        assert found.method == "betting"
        assert found.low < -0.4 < found.high < 0
        # wider than for as many independent items; clusters of one size are as good as one item each
        alone = bounded_mean_interval([-0.4] * codes.size, low=-1, high=1)
        assert found.low < alone[0]
        assert found.high > alone[1]
        equal = paired_mean_interval(np.full(60, -0.4), clusters=np.repeat(np.arange(30), 2))
        assert (equal.low, equal.high) == pytest.approx(bounded_mean_interval([-0.4] * 30, low=-1, high=1), abs=1e-9)

    def test_a_range_is_asked_for(self):
        with pytest.raises(ValueError, match=r"give score_range, such as \(1, 5\)"):
            paired_mean_interval([3.0] * 5)
        found = paired_mean_interval([3.0] * 5, score_range=(1, 5))
        assert found.low < 0
        assert 3 < found.high <= 4
        with pytest.raises(ValueError, match="size 5 does not fit"):
            paired_mean_interval([5.0, 1.0], score_range=(1, 5))
        with pytest.raises(ValueError, match=r"score_range = \(5, 1\)"):
            paired_mean_interval([1.0], score_range=(5, 1))

    def test_one_item(self):
        low, high = ends([0.3])
        assert -1 <= low < 0
        assert 0.3 < high <= 1


class TestBounded:
    @pytest.mark.parametrize("method", ["betting", "bernstein"])
    @pytest.mark.parametrize("n", [3, 10, 40])
    @pytest.mark.parametrize("share", [0.02, 0.1, 0.5])
    def test_coverage_by_exact_sums(self, n, share, method):
        # two values at the ends of the range: the interval depends on a binomial count alone
        mean = 2 * share - 1
        law = binom.pmf(np.arange(n + 1), n, share)
        missed = 0.0
        for k in range(n + 1):
            low, high = bounded_mean_interval([1.0] * k + [-1.0] * (n - k), low=-1, high=1, level=0.9, method=method)
            missed += law[k] * (not low <= mean <= high)
        assert missed <= 0.1

    def test_bernstein_by_hand(self):
        # Maurer and Pontil 2009, theorem 4: 200 equal values, ln(2/.025) = 4.3820266, 7·2·4.3820266/(3·199)
        low, high = bounded_mean_interval([-0.4] * 200, low=-1, high=1, method="bernstein")
        assert (low, high) == pytest.approx((-0.4 - 0.10276109, -0.4 + 0.10276109), abs=1e-7)
        assert bounded_mean_interval([0.1], low=-1, high=1, method="bernstein") == (-1, 1)

    @given(st.lists(st.integers(-20, 20), min_size=1, max_size=40), st.sampled_from(["betting", "bernstein"]))
    @settings(max_examples=40, deadline=None)
    def test_mirror_scale_and_order(self, whole, method):
        diff = np.array(whole) / 20
        low, high = bounded_mean_interval(diff, low=-1, high=1, method=method)
        assert -1 <= low <= diff.mean() <= high <= 1
        mirrored = bounded_mean_interval(-diff[::-1], low=-1, high=1, method=method)
        assert mirrored == pytest.approx((-high, -low), abs=1e-9)
        scaled = bounded_mean_interval(4 * diff + 3, low=-1, high=7, method=method)
        assert scaled == pytest.approx((4 * low + 3, 4 * high + 3), abs=1e-9)

    def test_refusals(self):
        with pytest.raises(ValueError, match=r"a difference is 2\.0"):
            bounded_mean_interval([2.0], low=-1, high=1)
        with pytest.raises(ValueError, match="low = 1"):
            bounded_mean_interval([1.0], low=1, high=1)
        with pytest.raises(ValueError, match="method = 'hoeffding'"):
            bounded_mean_interval([0.0], low=-1, high=1, method="hoeffding")


class TestAll:
    @given(st.lists(st.floats(-1, 1).map(lambda v: round(v, 3)), min_size=5, max_size=40), st.sampled_from(METHODS))
    @settings(max_examples=80, deadline=None)
    def test_swap_scale_and_order(self, diff, method):
        diff = np.array(diff)
        found = paired_mean_interval(diff, method=method)
        assert found.low <= found.high
        # ends at exact ties of a lattice law may move by a step
        step = 1e-6 if method in {"t", "studentised"} or found.method == "betting" else np.ptp(diff) * 1e-6 + 1e-6
        scaled = paired_mean_interval(2 * diff, method=method, score_range=(0, 2))
        assert (scaled.low, scaled.high) == pytest.approx((2 * found.low, 2 * found.high), abs=step)
        turned = paired_mean_interval(np.sort(diff), method=method)
        assert (turned.low, turned.high) == pytest.approx((found.low, found.high), abs=step)

    @pytest.mark.parametrize("method", METHODS)
    def test_swapped_arms(self, method):
        # problems 45: compare(A, B) = −compare(B, A)
        low, high = ends(SKEWED, method=method)
        assert ends(-SKEWED, method=method) == pytest.approx((-high, -low), abs=1e-6)

    @pytest.mark.parametrize("method", METHODS)
    def test_wider_at_higher_levels(self, method):
        inner, outer = ends(SKEWED, method=method, level=0.9), ends(SKEWED, method=method, level=0.99)
        assert outer[0] < inner[0] < inner[1] < outer[1]

    @pytest.mark.parametrize("method", METHODS)
    def test_large_samples_agree(self, method):
        diff = np.clip(np.random.default_rng(0).normal(0.01, 0.3, 50_000), -1, 1)
        half = norm.ppf(0.975) * standard_error(diff)
        np.testing.assert_allclose(ends(diff, method=method), diff.mean() + half * np.array([-1, 1]), atol=0.01 * half)

    @pytest.mark.parametrize(
        ("options", "shown"),
        [
            ({"method": "wald"}, "percentile, bca, studentised, t"),
            ({"n_resamples": 100}, "give both"),
            ({"rng": np.random.default_rng(0)}, "give both"),
            ({"method": "t", "n_resamples": 100, "rng": np.random.default_rng(0)}, "method = 't'"),
            ({"n_resamples": 0, "rng": np.random.default_rng(0)}, "n_resamples = 0"),
            ({"level": 95}, "level = 95"),
        ],
    )
    def test_refused_options(self, options, shown):
        with pytest.raises(ValueError, match=shown):
            paired_mean_interval(SKEWED, **options)

    @pytest.mark.parametrize(("diff", "shown"), [([], "at least one"), ([[1.0]], "one dimension"), ([math.nan], "nan")])
    def test_refused_differences(self, diff, shown):
        with pytest.raises(ValueError, match=shown):
            paired_mean_interval(diff)
