"""Fits of the generalised Pareto law against mpmath vectors, published fits, scipy, and their own invariances."""

import math
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import genpareto

from analysis.stats import (
    effect_detectable,
    exceedances,
    exceedances_for_non_overlap,
    exceedances_needed,
    fit_gpd,
    fit_pwm,
    fit_zhang_stephens,
    gpd_quantile,
    keyed_stream,
    mean_excess,
    profile_interval,
    prompts_needed,
    resample_counts,
    resampled_tvar,
    shape_difference_z,
    tail_items,
    tvar,
    tvar_from_fit,
    var_from_fit,
    verdict_power,
)

# performance.md section 6, A1: grid x_i = F^-1((i - .5)/n), maximum by mpmath with 40 digits
VECTORS = [
    (50, -0.45, -0.497256103, 1.042324867, 27.209878, -0.746566, -0.200448),
    (50, -0.2, -0.240666188, 1.034750179, 39.674692, -0.464747, 0.102725),
    (50, 0.0, -0.036399188, 1.029339844, 49.625924, -0.268663, 0.356014),
    (50, 0.2, 0.166974380, 1.024680300, 59.567752, -0.094628, 0.615139),
    (50, 0.5, 0.470223320, 1.019400298, 74.471892, 0.145381, 1.009429),
    (50, 0.9, 0.871735545, 1.015130339, 94.337628, 0.454277, 1.538957),
    (300, -0.45, -0.461177752, 1.010419854, 164.756457, -0.540531, -0.365800),
    (300, -0.2, -0.209023905, 1.008072887, 239.704971, -0.292991, -0.096570),
    (300, 0.0, -0.007318902, 1.006157163, 299.645815, -0.107922, 0.124515),
    (300, 0.2, 0.193937482, 1.004675152, 359.580522, 0.072869, 0.347713),
    (300, 0.5, 0.494959327, 1.003308352, 449.478666, 0.342039, 0.683708),
    (300, 0.9, 0.895355368, 1.002450562, 569.340880, 0.699938, 1.132053),
    (1500, -0.45, -0.453518455, 1.003374333, 824.775298, -0.486236, -0.415859),
    (1500, -0.2, -0.202513021, 1.002325879, 1199.715236, -0.240985, -0.157191),
    (1500, 0.0, -0.001772878, 1.001541468, 1499.651104, -0.049502, 0.052531),
    (1500, 0.2, 0.198679183, 1.001043521, 1799.583240, 0.141093, 0.262888),
    (1500, 0.5, 0.498976889, 1.000676562, 2249.479833, 0.426553, 0.578570),
    (1500, 0.9, 0.899072884, 1.000488158, 2849.341384, 0.806949, 0.999441),
]


def grid(n, xi):
    p = (np.arange(1, n + 1) - 0.5) / n
    return -np.log1p(-p) if xi == 0 else ((1 - p) ** -xi - 1) / xi


def capped(share):
    x = grid(1000, 0.1)
    return np.minimum(x, np.quantile(x, share))


def log_likelihood(x, xi, sigma):
    return float(genpareto.logpdf(x, xi, scale=sigma).sum())


class TestFit:
    @pytest.mark.parametrize(("n", "true", "xi", "sigma", "nll", "low", "high"), VECTORS)
    def test_vectors(self, n, true, xi, sigma, nll, low, high):
        excess = grid(n, true)
        fit = fit_gpd(excess)
        assert (fit.xi, fit.sigma) == pytest.approx((xi, sigma), abs=1e-9)
        assert fit.log_likelihood == pytest.approx(-nll, abs=1e-6)
        assert (fit.n, fit.status) == (n, "regular")
        assert profile_interval(excess, fit, level=0.95) == pytest.approx((low, high), abs=2e-6)

    @pytest.mark.parametrize(
        ("excess", "xi", "sigma", "status"),
        [
            ([1.0, 2.0], -1.0, 2.0, "boundary"),
            (grid(100, -1.0), -1.0, 0.995, "boundary"),
            (grid(100, -0.9), -0.943870, 1.040596, "non-regular"),
            (np.ceil(grid(1000, -0.2) / 0.1) * 0.1, -0.239237, 1.091305, "regular"),
            (capped(0.95), -0.133906, 1.178106, "regular"),
            (capped(0.90), -0.470576, 1.495845, "regular"),
            (capped(0.80), -1.0, 1.744432, "boundary"),
        ],
    )
    def test_boundary_ties_and_caps(self, excess, xi, sigma, status):
        # performance.md section 6, A2
        fit = fit_gpd(excess)
        assert (fit.xi, fit.sigma) == pytest.approx((xi, sigma), abs=1.1e-6)
        assert fit.status == status
        assert (fit.se_xi is None) == (fit.se_sigma is None) == (fit.cov_xi_sigma is None) == (status != "regular")
        if status == "boundary":
            assert fit.log_likelihood == pytest.approx(-len(excess) * math.log(max(excess)))

    @pytest.mark.parametrize(
        ("true", "xi", "sigma"),
        [(-0.3, -0.3067, 1.0062), (0, -0.0047, 1.0040), (0.2, 0.1963, 1.0029), (0.5, 0.4970, 1.0020)],
    )
    def test_acceptance_line_7(self, true, xi, sigma):
        fit = fit_gpd(grid(500, true))
        assert (fit.xi, fit.sigma) == pytest.approx((xi, sigma), abs=2e-4)

    @pytest.mark.parametrize("n", [20, 60, 300])
    @pytest.mark.parametrize("true", [-0.9, -0.5, -0.2, 0.0, 0.4, 1.2])
    def test_never_below_scipy(self, n, true):
        for seed in range(3):
            x = 1000.0 ** (seed - 1) * genpareto.rvs(true, size=n, random_state=np.random.default_rng([seed, n]))
            fit = fit_gpd(x)
            xi, _, sigma = genpareto.fit(x, floc=0)
            if xi >= -1:  # scipy walks into the unbounded region without a word
                assert fit.log_likelihood >= log_likelihood(x, xi, sigma) - 1e-9 * n
            if fit.status != "boundary":
                assert fit.log_likelihood == pytest.approx(log_likelihood(x, fit.xi, fit.sigma), abs=1e-8 * n)

    @pytest.mark.parametrize("true", [-0.4, 0.0, 0.3])
    def test_information_against_differences(self, true):
        x = grid(400, true)
        fit = fit_gpd(x)

        def nll(a, b):
            return -log_likelihood(x, fit.xi + a, fit.sigma + b)

        h = 1e-4
        d_xx = (nll(h, 0) - 2 * nll(0, 0) + nll(-h, 0)) / h**2
        d_ss = (nll(0, h) - 2 * nll(0, 0) + nll(0, -h)) / h**2
        d_xs = (nll(h, h) - nll(h, -h) - nll(-h, h) + nll(-h, -h)) / (4 * h * h)
        covariance = np.linalg.inv([[d_xx, d_xs], [d_xs, d_ss]])
        assert fit.se_xi == pytest.approx(math.sqrt(covariance[0, 0]), rel=1e-4)
        assert fit.se_sigma == pytest.approx(math.sqrt(covariance[1, 1]), rel=1e-4)
        assert fit.cov_xi_sigma == pytest.approx(covariance[0, 1], rel=1e-4)

    @given(st.integers(0, 10_000), st.sampled_from([1e-6, 0.3, 1e5]), st.sampled_from([-0.6, -0.1, 0.0, 0.5]))
    @settings(max_examples=40, deadline=None)
    def test_scale_and_order(self, seed, scale, true):
        rng = np.random.default_rng(seed)
        x = genpareto.rvs(true, size=40, random_state=rng)
        fit, scaled, shuffled = fit_gpd(x), fit_gpd(scale * x), fit_gpd(rng.permutation(x))
        assert fit == shuffled
        assert scaled.status == fit.status
        assert scaled.xi == pytest.approx(fit.xi, abs=1e-9)
        assert scaled.sigma == pytest.approx(scale * fit.sigma, rel=1e-9)
        assert scaled.log_likelihood == pytest.approx(fit.log_likelihood - 40 * math.log(scale), abs=1e-7)

    @pytest.mark.parametrize("extra", [1e-12, 1e-300])
    def test_a_value_next_to_zero(self, extra):
        fit = fit_gpd([extra, *grid(50, 0.2)])
        assert -1 < fit.xi < 1

    @pytest.mark.parametrize(
        ("excess", "shown"),
        [
            ([0.0, 1.0, 2.0], "an excess is 0.0"),
            ([-1.0, 1.0], "an excess is -1.0"),
            ([math.nan, 1.0], "a value is nan"),
            ([math.inf, 1.0], "a value is inf"),
            ([1.0], "1 excess"),
            ([], "shape"),
            ([[1.0, 2.0]], "shape"),
            ([2.5, 2.5, 2.5], "all 3 excesses are 2.5"),
        ],
    )
    def test_refusals(self, excess, shown):
        with pytest.raises(ValueError, match=shown):
            fit_gpd(excess)


class TestInterval:
    @pytest.mark.parametrize("true", [-0.7, -0.4, 0.0, 0.6])
    def test_definition(self, true):
        # the deviance at both ends by scipy's optimiser over sigma is the chi-squared point
        x = genpareto.rvs(true, size=80, random_state=np.random.default_rng(3))
        fit = fit_gpd(x)
        low, high = profile_interval(x, fit, level=0.9)
        assert -1 <= low < fit.xi < high

        for end in (low, high):
            if end == -1:
                continue
            floor = max(-end * x.max(), 0)
            best = minimize(
                lambda t, end=end, floor=floor: -log_likelihood(x, end, floor + math.exp(t[0])),
                [0.0],
                method="Nelder-Mead",
                options={"xatol": 1e-9, "fatol": 1e-10},
            )
            assert 2 * (fit.log_likelihood + best.fun) == pytest.approx(NormalDist().inv_cdf(0.95) ** 2, abs=1e-5)

    def test_boundary(self):
        x = grid(100, -1.0)
        low, high = profile_interval(x, fit_gpd(x), level=0.95)
        assert low == -1
        assert -1 < high < -0.8

    def test_nested_levels_and_scale(self):
        x = grid(200, 0.1)
        wide, narrow = (profile_interval(x, fit_gpd(x), level=level) for level in (0.99, 0.8))
        assert wide[0] < narrow[0] < narrow[1] < wide[1]
        assert profile_interval(1e6 * x, fit_gpd(1e6 * x), level=0.99) == pytest.approx(wide, abs=1e-8)

    def test_refusals(self):
        fit = fit_gpd(grid(50, 0))
        with pytest.raises(ValueError, match="the fit has n = 50"):
            profile_interval(grid(49, 0), fit, level=0.95)
        with pytest.raises(ValueError, match="level = 95"):
            profile_interval(grid(50, 0), fit, level=95)


class TestOtherEstimators:
    def test_vectors(self):
        # performance.md section 6, A1: mev "zs" to 12 digits, evir "pwm"
        assert fit_zhang_stephens(grid(300, 0.2)) == pytest.approx((0.204960834, 0.993702841), abs=1e-9)
        assert fit_pwm(grid(300, 0.2)) == pytest.approx((0.196610179, 0.999665137), abs=1e-9)

    @pytest.mark.parametrize("fit", [fit_zhang_stephens, fit_pwm])
    def test_scale(self, fit):
        xi, sigma = fit(grid(100, 0.1))
        assert fit(1e4 * grid(100, 0.1)) == pytest.approx((xi, 1e4 * sigma), rel=1e-9)


@pytest.mark.real
class TestPublishedFits:
    def test_rain(self, real_data):
        # Coles 2001 sec. 4.4.1: published-numbers B6, B7, B8
        rain = pd.read_csv(real_data / "evt_coles" / "rain.csv")["Rainfall"].to_numpy()
        excess = rain[rain > 30] - 30
        fit = fit_gpd(excess)
        assert (rain.size, fit.n) == (17531, 152)
        assert fit.sigma == pytest.approx(7.44, abs=0.01)
        assert fit.xi == pytest.approx(0.184, abs=0.001)
        assert fit.log_likelihood == pytest.approx(-485.1, abs=0.1)
        assert fit.se_sigma**2 == pytest.approx(0.9188, abs=2e-4)
        assert fit.cov_xi_sigma == pytest.approx(-0.0655, abs=2e-4)
        assert fit.se_xi**2 == pytest.approx(0.0102, abs=2e-4)
        level = var_from_fit(fit, threshold=30, n=rain.size, level=1 - 1 / (365 * 100))
        assert level == pytest.approx(106.3, abs=0.1)

    def test_dow_jones(self, real_data):
        # Coles 2001 sec. 4.4.2: B9
        index = pd.read_csv(real_data / "evt_coles" / "dowjones.csv")["Index"].to_numpy()
        returns = 100 * np.diff(np.log(index))
        fit = fit_gpd(returns[returns > 2] - 2)
        assert (returns.size, fit.n) == (1303, 37)
        assert (fit.sigma, fit.se_sigma, fit.xi, fit.se_xi) == pytest.approx((0.495, 0.150, 0.288, 0.258), abs=0.001)

    @pytest.mark.parametrize(("u", "xi", "n"), [(70, 0.323, 138), (100, 0.003, 39), (120, -0.249, 24)])
    def test_nidd(self, real_data, u, xi, n):
        # B12, evir nidd.thresh
        level = pd.read_csv(real_data / "evt_nidd" / "nidd_thresh.csv")["level"].to_numpy()
        fit = fit_gpd(level[level > u] - u)
        assert fit.n == n
        assert fit.xi == pytest.approx(xi, abs=0.002)


class TestSizes:
    def test_acceptance_lines_1_to_3(self):
        # section D, lines 1-3; the paper prints 1,570
        assert [exceedances_needed(0.1, xi=xi) for xi in (0, 0.1, 0.2)] == [1570, 1900, 2261]
        assert [exceedances_needed(0.05), exceedances_needed(0.2), exceedances_needed(0.1, power=0.9)] == [
            6280,
            393,
            2102,
        ]
        assert [prompts_needed(1570, quantile=q) for q in (0.95, 0.99, 0.9)] == [31_400, 157_000, 15_700]
        assert exceedances_needed(0.1, alpha=0.05 / 6) == 2422  # Bonferroni over 6 pairs, section C

    def test_acceptance_lines_5_and_6(self):
        found = [verdict_power(0.1, n) for n in (500, 1500, 1570, 20_000)]
        assert found == pytest.approx([0.117, 0.487, 0.500, 0.500], abs=0.002)
        assert exceedances_for_non_overlap(0.1) == 2612
        assert verdict_power(0.1, 2612, floor=0) >= 0.8 > verdict_power(0.1, 2600, floor=0)

    def test_acceptance_line_15(self):
        found = [shape_difference_z(d, n, n) for d, n in ((0.28, 100), (0.095, 1500), (0.139, 900))]
        assert found == pytest.approx([1.980, 2.602, 2.949], abs=0.001)

    @given(st.floats(0.01, 1), st.floats(-0.45, 1), st.floats(0.001, 0.2), st.floats(0.5, 0.99))
    def test_inverse(self, effect, xi, alpha, power):
        n = exceedances_needed(effect, xi=xi, alpha=alpha, power=power)
        assert effect_detectable(n, xi=xi, alpha=alpha, power=power) <= effect * (1 + 1e-12)
        if n > 1:
            assert effect_detectable(n - 1, xi=xi, alpha=alpha, power=power) > effect * (1 - 1e-12)

    @given(st.floats(0, 0.5), st.integers(10, 10**6), st.floats(0, 0.3))
    def test_power_grows_and_is_a_probability(self, effect, n, floor):
        assert (
            0
            <= verdict_power(effect, n, floor=floor)
            <= verdict_power(effect + 0.05, n, floor=floor) + 1e-12
            <= 1 + 2e-12
        )

    def test_size_is_the_level_of_non_overlap(self):
        assert verdict_power(0.0, 1000, floor=0.0) == pytest.approx(0.005575, abs=1e-6)

    @pytest.mark.parametrize(
        ("call", "shown"),
        [
            (lambda: exceedances_needed(0), "effect = 0"),
            (lambda: exceedances_needed(0.1, xi=-0.5), "xi = -0.5"),
            (lambda: exceedances_needed(0.1, alpha=5), "alpha = 5"),
            (lambda: exceedances_needed(0.1, alpha=0.9, power=0.1), "power = 0.1 at alpha = 0.9"),
            (lambda: effect_detectable(0), "n = 0"),
            (lambda: verdict_power(-0.1, 100), "effect = -0.1"),
            (lambda: verdict_power(0.1, 100, floor=-1), "floor = -1"),
            (lambda: prompts_needed(0, quantile=0.9), "n_exc = 0"),
            (lambda: shape_difference_z(math.nan, 5, 5), "difference = nan"),
        ],
    )
    def test_refusals(self, call, shown):
        with pytest.raises(ValueError, match=shown):
            call()


class TestTvar:
    def test_acceptance_line_11(self):
        assert [tvar(np.arange(1, 11), level=q) for q in (0.9, 0.85, 0.75)] == pytest.approx(
            [10, 29 / 3, 9.2], abs=1e-9
        )

    @given(st.lists(st.integers(-20, 20), min_size=1, max_size=30), st.floats(0.02, 0.98))
    def test_rockafellar_uryasev_minimum(self, whole, level):
        x = np.array(whole, dtype=float)
        definition = min(t + np.maximum(x - t, 0).mean() / (1 - level) for t in x)
        assert tvar(x, level=level) == pytest.approx(definition, abs=1e-9)
        assert tvar(3 * x[::-1] + 1, level=level) == pytest.approx(3 * definition + 1, abs=1e-8)

    @pytest.mark.parametrize(("n", "level"), [(37, 0.87), (37, 0.99), (500, 0.9), (3000, 0.95), (5, 0.5)])
    def test_resamples(self, n, level):
        x = np.round(np.random.default_rng(n).standard_t(3, n), 1)
        counts = resample_counts(n, 60, rng=np.random.PCG64(n))
        plain = [tvar(np.repeat(x, row), level=level) for row in counts]
        assert resampled_tvar(x, counts, level=level, n=n) == pytest.approx(plain, abs=1e-12)
        keep = tail_items(x, level=level)
        assert resampled_tvar(x[keep], counts[:, keep], level=level, n=n) == pytest.approx(plain, abs=1e-12)

    def test_resamples_of_clusters_differ_in_size(self):
        rng = np.random.default_rng(0)
        x, cluster = rng.standard_normal(300), rng.integers(0, 25, 300)
        counts = resample_counts(25, 40, rng=keyed_stream(0))[:, cluster]
        drawn = counts.sum(axis=1, dtype=int)
        plain = [tvar(np.repeat(x, row), level=0.9) for row in counts]
        assert drawn.std() > 0
        assert resampled_tvar(x, counts, level=0.9, n=drawn) == pytest.approx(plain, abs=1e-12)

    def test_resamples_out_of_the_window(self):
        x = np.arange(1000.0)
        counts = np.zeros((2, 1000), dtype=np.int64)
        counts[0, 0], counts[1, -1] = 1000, 1000
        np.testing.assert_allclose(resampled_tvar(x, counts, level=0.9, n=1000), [0.0, 999.0])

    def test_refusals(self):
        with pytest.raises(ValueError, match="resample 0 holds 2 draws"):
            resampled_tvar([1.0, 2.0], np.array([[1, 1]]), level=0.5, n=10)
        with pytest.raises(ValueError, match="counts of shape"):
            resampled_tvar([1.0, 2.0], np.array([[1, 1, 1]]), level=0.5, n=10)
        with pytest.raises(ValueError, match=r"level = 1\.5"):
            tvar([1.0], level=1.5)


class TestFromFit:
    @pytest.mark.parametrize("xi", [-0.3, 0.0, 0.4])
    def test_identities(self, xi):
        # McNeil, Frey and Embrechts: at the threshold's own level VaR is u, and ES - VaR is the mean excess there
        fit = fit_gpd(grid(400, xi))
        at_threshold = var_from_fit(fit, threshold=2.0, n=8000, level=0.95)
        assert at_threshold == pytest.approx(2.0, abs=1e-12)
        far, mean = (f(fit, threshold=2.0, n=8000, level=0.999) for f in (var_from_fit, tvar_from_fit))
        assert genpareto.sf(far - 2.0, fit.xi, scale=fit.sigma) == pytest.approx(0.02, rel=1e-9)
        assert mean - far == pytest.approx((fit.sigma + fit.xi * (far - 2.0)) / (1 - fit.xi), rel=1e-9)

    def test_no_mean(self):
        assert tvar_from_fit(fit_gpd(grid(300, 1.5)), threshold=0, n=300, level=0.9) is None

    def test_refusals(self):
        fit = fit_gpd(grid(100, 0))
        with pytest.raises(ValueError, match=r"level = 0\.9 lies under the threshold's 0\.95"):
            var_from_fit(fit, threshold=0, n=2000, level=0.9)
        with pytest.raises(ValueError, match="n = 99 values, but 100 excesses"):
            var_from_fit(fit, threshold=0, n=99, level=0.9)

    def test_mean_excess(self):
        x = genpareto.rvs(0.2, size=500, random_state=np.random.default_rng(0))
        at = [0.0, 0.5, float(np.sort(x)[-1]), 1e9]
        plain = [np.mean(x[x > u] - u) if (x > u).any() else math.nan for u in at]
        np.testing.assert_allclose(mean_excess(x, at), plain, rtol=1e-10)


class TestExceedances:
    def test_strictly_over_and_in_order(self):
        u, excess = exceedances([3.0, 1.0, 5.0, 2.0, 5.0], quantile=0.5)
        assert u == 3.0
        assert excess.tolist() == [2.0, 2.0]
        assert exceedances([1.0] * 5, quantile=0.9)[1].size == 0

    def test_the_papers_count(self):
        assert exceedances(np.arange(30_000.0), quantile=0.95)[1].size == 1500
        assert exceedances(np.arange(2_000.0), quantile=0.95)[1].size == 100


@pytest.mark.parametrize("xi", [-0.45, -1e-12, 0.0, 1e-9, 0.3, 1.5])
def test_quantiles_are_those_of_scipy(xi: float) -> None:
    p = np.array([[0, 1e-12, 0.01], [0.5, 0.99, 1 - 1e-9]])
    assert gpd_quantile(p, xi=xi, sigma=2.5) == pytest.approx(genpareto.ppf(p, xi, scale=2.5), rel=1e-9)


@pytest.mark.parametrize("p", [-0.1, 1.0, math.nan])
def test_a_quantile_needs_a_probability_under_one(p: float) -> None:
    with pytest.raises(ValueError, match="outside"):
        gpd_quantile(p, xi=0.1, sigma=1)
