"""Batched refits against single fits of the same resamples; the scan of thresholds; counts of resamples."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, genpareto

from analysis.stats import (
    bootstrap_gpd,
    fit_gpd,
    keyed_stream,
    percentile_interval,
    refit_gpd,
    resample_counts,
    scan_thresholds,
    threshold_stability,
)


def grid(n, xi):
    p = (np.arange(1, n + 1) - 0.5) / n
    return -np.log1p(-p) if xi == 0 else ((1 - p) ** -xi - 1) / xi


def one_by_one(excess, counts):
    found = np.full((2, len(counts)), np.nan)
    for row, count in enumerate(counts):
        sample = np.repeat(excess, count)
        if np.unique(sample).size > 1:
            fit = fit_gpd(sample)
            found[:, row] = fit.xi, fit.sigma
    return found


def agree(excess, counts, tolerance=1e-8):
    found, plain = np.array(refit_gpd(excess, counts)), one_by_one(excess, counts)
    assert (np.isnan(found) == np.isnan(plain)).all()
    scale = np.array([[1.0], [np.mean(excess)]])
    assert np.nanmax(np.abs(found - plain) / scale) < tolerance


class TestRefits:
    @pytest.mark.parametrize("n", [12, 40, 300])
    @pytest.mark.parametrize("xi", [-0.9, -0.45, -0.2, 0.0, 0.2, 0.9, 1.6, 4.0])
    def test_every_resample_is_its_exact_fit(self, n, xi):
        agree(grid(n, xi), resample_counts(n, 60, rng=keyed_stream(n, str(xi))))

    @pytest.mark.parametrize("xi", [-0.45, -0.2, 0.2])
    def test_1500_exceedances(self, xi):
        agree(grid(1500, xi), resample_counts(1500, 60, rng=keyed_stream(0, str(xi))))

    def test_published_resamples(self):
        # performance.md section 6, A3: 1500 values of a linear congruential generator pick from grid(1500, .2)
        published = [
            (1, 1147040, 934, 0.248045033, 1.016011799),
            (2, 1146647, 942, 0.178111845, 1.059789228),
            (3, 1101265, 958, 0.190851901, 0.963694193),
            (4, 1139878, 946, 0.222645367, 1.015928208),
            (5, 1127491, 930, 0.224866169, 0.995858442),
        ]
        counts = []
        for seed, total, distinct, _, _ in published:
            state, picks = seed, []
            for _ in range(1500):
                state = (1664525 * state + 1013904223) % 2**32
                picks.append(1500 * state // 2**32)
            assert (sum(picks), len(set(picks))) == (total, distinct)
            counts.append(np.bincount(picks, minlength=1500))
        xi, sigma = refit_gpd(grid(1500, 0.2), np.array(counts))
        np.testing.assert_allclose(xi, [row[3] for row in published], atol=1e-9)
        np.testing.assert_allclose(sigma, [row[4] for row in published], atol=1e-9)

    @pytest.mark.parametrize(
        "excess",
        [
            np.ceil(grid(200, -0.2) / 0.1) * 0.1,
            np.minimum(grid(200, 0.1), np.quantile(grid(200, 0.1), 0.9)),
            np.minimum(grid(200, 0.1), np.quantile(grid(200, 0.1), 0.7)),
            grid(100, -1.0),
            1e-7 * grid(100, 0.3),
            np.array([1.0, 2.0]),
            np.array([0.1, 0.1, 5.0, 7.0]),
            np.append(grid(100, 0.2), 1e4),
            np.append(grid(100, 0.2), 1e-12),
        ],
    )
    def test_ties_caps_and_boundaries(self, excess):
        agree(excess, resample_counts(excess.size, 60, rng=keyed_stream(1)))

    def test_rows_of_any_total(self):
        # exceedances of resampled prompts: their number varies, and may be nothing
        rng = np.random.default_rng(0)
        agree(grid(80, 0.1), rng.poisson(rng.uniform(0, 1.5, 80)[:, None], (80, 80)))
        xi, sigma = refit_gpd(grid(5, 0.0), np.array([[0] * 5, [1, 0, 0, 0, 0], [0, 9, 0, 0, 0]]))
        assert np.isnan(xi).all()
        assert np.isnan(sigma).all()

    def test_constant_sample(self):
        assert np.isnan(refit_gpd([2.0, 2.0], np.array([[1, 1]]))).all()

    @given(st.integers(0, 10_000), st.sampled_from([1e-5, 1.0, 1e6]))
    @settings(max_examples=20, deadline=None)
    def test_order_and_scale(self, seed, scale):
        rng = np.random.default_rng(seed)
        x = genpareto.rvs(0.1, size=50, random_state=rng)
        counts = rng.integers(0, 3, (20, 50))
        order = rng.permutation(50)
        plain, moved = refit_gpd(x, counts), refit_gpd(scale * x[order], counts[:, order])
        np.testing.assert_allclose(moved[0], plain[0], atol=2e-8)
        np.testing.assert_allclose(moved[1], scale * plain[1], rtol=2e-8)

    @pytest.mark.parametrize(
        ("counts", "shown"),
        [
            (np.ones((2, 4), dtype=int), r"shape \(2, 4\)"),
            (np.ones(3, dtype=int), "shape"),
            (np.ones((2, 3)), "float64"),
            (np.array([[1, -1, 1]]), "a count is -1"),
        ],
    )
    def test_refusals(self, counts, shown):
        with pytest.raises(ValueError, match=shown):
            refit_gpd([1.0, 2.0, 3.0], counts)


class TestBootstrap:
    def test_streams(self):
        x = grid(300, 0.2)
        xi, sigma = bootstrap_gpd(x, 200, rng=keyed_stream(0, "a"))
        again, _ = bootstrap_gpd(x, 200, rng=keyed_stream(0, "a"))
        np.testing.assert_array_equal(xi, again)
        shuffled, _ = bootstrap_gpd(np.random.default_rng(1).permutation(x), 200, rng=keyed_stream(0, "a"))
        np.testing.assert_array_equal(xi, shuffled)
        longer, _ = bootstrap_gpd(x, 350, rng=keyed_stream(0, "a"))
        np.testing.assert_allclose(longer[:200], xi, atol=1e-13)
        other, _ = bootstrap_gpd(x, 200, rng=np.random.Generator(keyed_stream(0, "a")))
        np.testing.assert_array_equal(xi, other)
        by_counts = refit_gpd(x, resample_counts(300, 200, rng=keyed_stream(0, "a")))
        np.testing.assert_array_equal(xi, by_counts[0])
        np.testing.assert_array_equal(sigma, by_counts[1])

    def test_blocks_do_not_matter(self, monkeypatch):
        x = grid(100, -0.2)
        whole = bootstrap_gpd(x, 300, rng=keyed_stream(5))
        monkeypatch.setattr("analysis.stats.tail_bootstrap.BATCH", 1700)
        monkeypatch.setattr("analysis.stats.tail_bootstrap.BLOCK", 700)
        monkeypatch.setattr("analysis.stats.draws.BLOCK", 900)
        np.testing.assert_allclose(bootstrap_gpd(x, 300, rng=keyed_stream(5)), whole, atol=1e-9)

    @pytest.mark.parametrize("xi", [0.0, 0.5])
    def test_spread_is_the_asymptotic_one(self, xi):
        draws, _ = bootstrap_gpd(grid(1500, xi), 2000, rng=keyed_stream(2))
        assert draws.std() == pytest.approx((1 + xi) / np.sqrt(1500), rel=0.06)  # Smith 1987, published-numbers B13

    def test_refusals(self):
        with pytest.raises(ValueError, match="n_resamples = 0"):
            bootstrap_gpd([1.0, 2.0], 0, rng=keyed_stream(0))
        with pytest.raises(ValueError, match="rng = "):
            bootstrap_gpd([1.0, 2.0], 5, rng=np.random.MT19937(0))
        with pytest.raises(ValueError, match=r"an excess is 0\.0"):
            bootstrap_gpd([0.0, 2.0], 5, rng=keyed_stream(0))


class TestCounts:
    @pytest.mark.parametrize("n", [1, 2, 7, 1500, 70_001])
    def test_rows_sum_to_n(self, n):
        counts = resample_counts(n, 5, rng=keyed_stream(0))
        assert counts.shape == (5, n)
        assert (counts.sum(axis=1) == n).all()

    def test_law(self):
        counts = resample_counts(10, 20_000, rng=keyed_stream(1)).astype(float)
        pooled = counts.sum(axis=0)
        assert ((pooled - 20_000) ** 2 / 20_000).sum() < chi2.ppf(0.999, 9)
        assert counts.var(axis=0) == pytest.approx(np.full(10, 0.9), abs=0.04)
        assert np.corrcoef(counts[:, 0], counts[:, 1])[0, 1] == pytest.approx(-1 / 9, abs=0.03)

    def test_kept_items_are_columns_of_the_same_draws(self):
        whole = resample_counts(500, 40, rng=keyed_stream(2))
        keep = np.array([3, 499, 17])
        np.testing.assert_array_equal(resample_counts(500, 40, rng=keyed_stream(2), keep=keep), whole[:, keep])
        np.testing.assert_array_equal(resample_counts(500, 90, rng=keyed_stream(2))[:40], whole)

    def test_words_are_pinned(self):
        # regression value: numpy 2.4 PCG64; a change would move every published bootstrap
        assert resample_counts(6, 2, rng=keyed_stream(0, "x")).tolist() == PINNED

    def test_refusals(self):
        with pytest.raises(ValueError, match="keep = 5"):
            resample_counts(5, 2, rng=keyed_stream(0), keep=np.array([0, 5]))
        with pytest.raises(ValueError, match="n = 0"):
            resample_counts(0, 2, rng=keyed_stream(0))

    def test_percentile_interval(self):
        draws = np.random.default_rng(0).standard_normal(4001)
        assert percentile_interval(draws, level=0.95) == pytest.approx(np.quantile(draws, [0.025, 0.975]))
        with pytest.raises(ValueError, match="1 of 2 draws are not finite"):
            percentile_interval([1.0, np.nan], level=0.9)


PINNED = [[1, 2, 1, 1, 0, 1], [1, 2, 2, 1, 0, 0]]

EXPONENTIAL = np.random.default_rng(11).exponential(size=6000)


class TestScan:
    def scan(self, values=EXPONENTIAL, quantiles=(0.93, 0.95, 0.97), resamples=300, **options):
        return scan_thresholds(
            values, quantiles, resample_counts(len(values), resamples, rng=keyed_stream(3)), **options
        )

    def test_fits_and_refits_per_threshold(self):
        scan = self.scan(resamples=20)
        counts = resample_counts(6000, 20, rng=keyed_stream(3))
        for j, q in enumerate(scan.quantiles):
            u = np.quantile(EXPONENTIAL, q)
            over = u < EXPONENTIAL
            assert (scan.thresholds[j], scan.n_exc[j]) == (u, over.sum())
            assert scan.fits[j] == fit_gpd(EXPONENTIAL[over] - u)
            plain = one_by_one(EXPONENTIAL[over] - u, counts[:, over])
            np.testing.assert_allclose([scan.xi[:, j], scan.sigma[:, j]], plain, atol=1e-8)

    def test_kept_items(self):
        keep = np.flatnonzero(np.quantile(EXPONENTIAL, 0.9) < EXPONENTIAL)
        counts = resample_counts(6000, 30, rng=keyed_stream(3), keep=keep)
        some = scan_thresholds(EXPONENTIAL, [0.93, 0.97], counts, keep=keep)
        np.testing.assert_array_equal(some.xi, self.scan(quantiles=(0.93, 0.97), resamples=30).xi)
        with pytest.raises(ValueError, match="values over the lowest threshold"):
            scan_thresholds(EXPONENTIAL, [0.8], counts, keep=keep)

    def test_joint_statistic(self):
        scan = self.scan(grid(30_000, 0.0))
        found = threshold_stability(scan, anchor=0.95, band=0.02, tolerance=0.05, alpha=0.05)
        own = [fit.xi for fit in scan.fits]
        z = [(own[j] - own[1]) / ((1 + own[1]) * np.sqrt(abs(1 / scan.n_exc[j] - 1 / scan.n_exc[1]))) for j in (0, 2)]
        assert found.quantiles == (0.93, 0.97)
        assert found.z == pytest.approx(z)
        assert found.max_z == pytest.approx(max(map(abs, z)))
        assert found.critical == pytest.approx(2.24, abs=0.3)  # two normal scores, and chance
        assert (found.joint == "stable") == (found.max_z <= found.critical)
        few = threshold_stability(self.scan(), anchor=0.95, band=0.02, tolerance=0.05, alpha=0.05)
        assert few.equivalence == "undecidable"  # 180 exceedances cannot settle a tolerance of .05

    def test_a_bent_tail_is_unstable(self):
        # exponential body, heavy beyond the 97 % point: the paper's threshold fishing
        p = (np.arange(30_000) + 0.5) / 30_000
        bend = -np.log(0.03)
        x = np.where(p < 0.97, -np.log1p(-p), bend + 2 * (((1 - p) / 0.03) ** -0.8 - 1))
        found = threshold_stability(
            self.scan(x, (0.93, 0.95, 0.97), 200), anchor=0.95, band=0.02, tolerance=0.05, alpha=0.05
        )
        assert found.joint == "unstable"
        assert found.p_value == pytest.approx(1 / 201)

    def test_equivalence_with_much_data(self):
        p = (np.arange(100_000) + 0.5) / 100_000
        x = -np.log1p(-p)
        keep = np.flatnonzero(p > 0.85)
        counts = resample_counts(100_000, 40, rng=keyed_stream(9), keep=keep)
        scan = scan_thresholds(x, [0.86, 0.88, 0.9], counts, keep=keep)
        assert threshold_stability(scan, anchor=0.88, band=0.02, tolerance=0.05, alpha=0.05).equivalence == "stable"

    def test_no_regular_fit_is_undecidable(self):
        capped = np.minimum(EXPONENTIAL, np.quantile(EXPONENTIAL, 0.975))
        found = threshold_stability(self.scan(capped), anchor=0.95, band=0.02, tolerance=0.05, alpha=0.05)
        assert (found.joint, found.equivalence, found.max_z, found.z) == ("undecidable", "undecidable", None, ())
        tied = np.minimum(EXPONENTIAL, np.quantile(EXPONENTIAL, 0.96))
        scan = self.scan(tied)
        assert scan.fits[-1] is None
        assert scan.n_exc[-1] == 0
        assert np.isnan(scan.xi[:, -1]).all()
        assert threshold_stability(scan, anchor=0.95, band=0.02, tolerance=0.05, alpha=0.05).joint == "undecidable"

    def test_scale(self):
        one, two = self.scan(resamples=20), self.scan(1e4 * EXPONENTIAL, resamples=20)
        np.testing.assert_allclose(two.xi, one.xi, atol=1e-9)
        np.testing.assert_allclose(two.sigma, 1e4 * one.sigma, rtol=1e-8)

    def test_paper_rule_is_blind_to_n(self):
        # study 2 section D line 12: exponential, n = 30,000; the top 2,100 values are all it looks at
        rng = np.random.default_rng(4)
        passed = np.zeros(2)
        for _ in range(400):
            gaps = rng.exponential(size=2101) / np.arange(1, 2102)
            top = np.cumsum(gaps[::-1])[::-1]  # the largest 2,101 values less a constant, by Renyi, descending
            for which, anchor in enumerate((0.95, 0.97)):
                xi = [
                    fit_gpd(top[:m] - top[m]).xi for m in (round(30_000 * (1 - anchor + d)) for d in (0.02, 0, -0.02))
                ]
                passed[which] += abs(xi[0] - xi[1]) < 0.05 and abs(xi[2] - xi[1]) < 0.05
        assert passed / 400 == pytest.approx([0.98, 0.67], abs=0.04)

    @pytest.mark.parametrize(
        ("options", "shown"),
        [
            ({"anchor": 0.94, "band": 0.02}, "anchor = 0.94 is none"),
            ({"anchor": 0.95, "band": 0.01}, "band = 0.01"),
            ({"anchor": 0.95, "band": 0.02, "tolerance": 0}, "tolerance = 0"),
            ({"anchor": 0.95, "band": 0.02, "alpha": 5}, "alpha = 5"),
        ],
    )
    def test_refusals(self, options, shown):
        with pytest.raises(ValueError, match=shown):
            threshold_stability(self.scan(resamples=2), **{"tolerance": 0.05, "alpha": 0.05, **options})

    def test_refused_scans(self):
        with pytest.raises(ValueError, match="ascending"):
            self.scan(quantiles=(0.95, 0.93))
        with pytest.raises(ValueError, match="quantile = 95"):
            self.scan(quantiles=(95.0,))
        with pytest.raises(ValueError, match="counts of shape"):
            scan_thresholds(EXPONENTIAL, [0.9], np.ones((2, 5), dtype=int))
