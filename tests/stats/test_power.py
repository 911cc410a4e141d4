"""Sizes, power and ranks against published values, other programs' vectors and exact enumeration."""

import math
import time

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, multinomial  # scipy 1.17

from analysis.stats import (
    bootstrap_ranks,
    items_for_mean,
    items_for_power,
    items_needed,
    margin_power,
    mcnemar,
    mcnemar_power,
    minimum_detectable_effect,
    non_inferiority_items,
    quantile_interval,
    quantile_ranks,
    slice_power,
    tango_interval,
)

RATES = st.tuples(st.floats(0, 0.4), st.floats(0, 0.4))


def tables(n, gain, loss):
    """All tables of n items as losses, gains and probabilities."""
    b, c = np.array([(b, c) for b in range(n + 1) for c in range(n + 1 - b)]).T
    return b, c, multinomial.pmf(np.stack([b, c, n - b - c], axis=1), n, [loss, gain, max(0.0, 1 - gain - loss)])


class TestItemsNeeded:
    @pytest.mark.parametrize(
        ("gain", "loss", "margin", "n"),
        [
            (0.08, 0.03, 0.0, 338),  # study-4 section D line 1, published-numbers G2
            (0.07, 0.04, 0.0, 952),  # G5
            (0.08, 0.03, 0.02, 938),  # line 13
            (0.03, 0.03, -0.02, 1178),  # line 13: non-inferiority, ψ = .06
            (0.055, 0.055, -0.02, 2159),  # section C, ψ = .11
        ],
    )
    def test_published(self, gain, loss, margin, n):
        assert items_needed(gain, loss, margin=margin) == n

    @pytest.mark.parametrize(("gain", "loss", "n"), [(0.08, 0.03, 343), (0.07, 0.04, 957)])
    def test_variance_under_the_null(self, gain, loss, n):
        # study-4 section A: Connor 1987
        assert items_needed(gain, loss, variance="null") == n

    @given(RATES, st.floats(0.01, 0.2), st.floats(0.5, 0.95))
    def test_monotone(self, rates, more, power):
        loss, gain = min(rates), max(rates) + 0.01
        assume(gain + more + loss <= 1)
        n = items_needed(gain, loss, power=power)
        assert items_needed(gain + more, loss, power=power) <= n
        assert items_needed(gain, loss, power=power, margin=-more) <= n <= items_needed(gain, loss, power=0.96)
        assert n <= items_needed(gain, loss, power=power, variance="null")

    def test_refusals(self):
        with pytest.raises(ValueError, match=r"does not exceed margin = 0\.05"):
            items_needed(0.08, 0.03, margin=0.05)
        with pytest.raises(ValueError, match=r"p_gain = 0\.8, p_loss = 0\.3"):
            items_needed(0.8, 0.3)
        with pytest.raises(ValueError, match="alpha = 5"):
            items_needed(0.08, 0.03, alpha=5)


class TestMean:
    def test_miller(self):
        # study-4 section D line 3, published-numbers G1: Miller 2024
        assert items_for_mean(0.03, omega2=1 / 9) == 969
        assert items_for_mean(-0.03, omega2=1 / 9) == 969

    def test_attempts(self):
        # (z + z)² = 7.848880: by hand (ω² + σ²/4 + σ²/2)/δ²
        assert items_for_mean(
            0.05, omega2=0.04, sigma2_baseline=0.1, sigma2_candidate=0.2, k_baseline=4, k_candidate=2
        ) == (math.ceil(7.848880 * (0.04 + 0.025 + 0.1) / 0.0025))

    def test_pass_or_fail_is_the_same_formula(self):
        assert items_for_mean(0.05, omega2=0.11 - 0.05**2) == items_needed(0.08, 0.03)

    @pytest.mark.parametrize(
        ("arguments", "shown"),
        [
            ({"effect": 0.0, "omega2": 1.0}, r"effect = 0\.0"),
            ({"effect": 1.0, "omega2": 0.0}, "variance of 0"),
            ({"effect": 1.0, "omega2": -1.0}, r"omega2 = -1\.0"),
            ({"effect": 1.0, "omega2": 1.0, "k_baseline": 0}, "k_baseline = 0"),
        ],
    )
    def test_refusals(self, arguments, shown):
        with pytest.raises(ValueError, match=shown):
            items_for_mean(**arguments)


class TestNonInferiority:
    @pytest.mark.parametrize(
        ("alpha", "power", "n"),
        [(0.025, 0.9, 268), (0.025, 0.8, 201), (0.05, 0.8, 158)],  # published-numbers J1 and J2
    )
    def test_published(self, alpha, power, n):
        assert non_inferiority_items(0.85, margin=0.10, alpha=alpha, power=power) == n

    def test_refusals(self):
        with pytest.raises(ValueError, match="margin = 0"):
            non_inferiority_items(0.85, margin=0)


class TestDetectableEffect:
    def test_published(self):
        # study-4 section D line 2, published-numbers G4
        assert minimum_detectable_effect(500, 0.11) == pytest.approx(0.041554, abs=1e-6)

    def test_gains_alone_are_not_enough(self):
        assert minimum_detectable_effect(50, 0.06) is None
        assert minimum_detectable_effect(131, 0.06) == pytest.approx(2.801585 * math.sqrt(0.06 / 131), abs=1e-7)

    @given(st.integers(100, 10**6), st.floats(0.1, 1))
    def test_near_the_inverse_of_items_needed(self, n, rate):
        effect = minimum_detectable_effect(n, rate)
        assert minimum_detectable_effect(4 * n, rate) == pytest.approx(effect / 2)
        again = items_needed((rate + effect) / 2, (rate - effect) / 2)
        assert again == pytest.approx(n - 7.848880, abs=1.01)  # ψ − δ² for ψ takes (z + z)² items off

    def test_refusals(self):
        with pytest.raises(ValueError, match="discordant_rate = 0"):
            minimum_detectable_effect(10, 0)


class TestMcNemarPower:
    @pytest.mark.parametrize(
        ("n", "gain", "loss", "power"),
        [
            # performance.md section 6 E: R 4.2.2 exact2x2 powerPaired2x2, to its error bound, and a brute sum
            (60, 0.3, 0.1, 0.634915941),
            (150, 0.15, 0.05, 0.745537336),
            (1000, 0.2, 0.15, 0.747535914),
            (10_000, 0.06, 0.05, 0.848066710),
            (100_000, 0.052, 0.05, 0.504231244),
            (338, 0.08, 0.03, 0.7608),  # study-4 section D line 4
            (370, 0.08, 0.03, 0.8045),
        ],
    )
    def test_published(self, n, gain, loss, power):
        digits = 1e-9 if power not in {0.7608, 0.8045} else 1e-4
        assert mcnemar_power(n, gain, loss) == pytest.approx(power, abs=digits)

    def test_mid_p_published(self):
        # study-4 section D line 5; the first is .80437, printed .8044
        assert mcnemar_power(338, 0.08, 0.03, form="mid-p") == pytest.approx(0.8044, abs=1e-4)
        assert mcnemar_power(338, 0.055, 0.055) == pytest.approx(0.0335, abs=1e-4)
        assert mcnemar_power(338, 0.055, 0.055, form="mid-p") == pytest.approx(0.0475, abs=1e-4)

    @pytest.mark.parametrize("n", [1, 2, 7, 25, 60])
    @pytest.mark.parametrize(("gain", "loss"), [(0.3, 0.1), (0.05, 0.05), (0.4, 0.6), (0.5, 0.0), (0.0, 0.0)])
    @pytest.mark.parametrize("alpha", [0.05, 0.0625, 0.3])
    def test_brute_force(self, n, gain, loss, alpha):
        b, c, mass = tables(n, gain, loss)
        tests = [mcnemar(int(x), int(y)) for x, y in zip(b, c, strict=True)]
        for form, values in (("exact", [t.exact for t in tests]), ("mid-p", [t.mid_p for t in tests])):
            rejected = mass[np.array(values) <= alpha * (1 + 1e-12)].sum()
            assert mcnemar_power(n, gain, loss, alpha=alpha, form=form) == pytest.approx(rejected, abs=1e-12)

    @given(st.integers(1, 3000), RATES, st.floats(0.001, 0.2))
    @settings(deadline=None)
    def test_symmetry_and_order(self, n, rates, alpha):
        gain, loss = rates
        exact = mcnemar_power(n, gain, loss, alpha=alpha)
        assert mcnemar_power(n, loss, gain, alpha=alpha) == pytest.approx(exact, abs=1e-12)
        assert exact <= mcnemar_power(n, gain, loss, alpha=alpha, form="mid-p") + 1e-12
        assert exact <= mcnemar_power(n, gain, loss, alpha=2 * alpha) + 1e-12
        assert mcnemar_power(n, gain, gain, alpha=alpha) <= alpha + 1e-12  # the exact test keeps its level

    def test_hundred_thousand_items(self):
        # performance.md section 7: at most 30 ms; a loose factor for a busy machine
        mcnemar_power(100_000, 0.052, 0.05)
        start = time.process_time()
        mcnemar_power(100_000, 0.052, 0.05)
        assert time.process_time() - start < 0.15

    def test_refusals(self):
        with pytest.raises(ValueError, match="form = 'wald'"):
            mcnemar_power(10, 0.1, 0.1, form="wald")
        with pytest.raises(ValueError, match="n = 0"):
            mcnemar_power(0, 0.1, 0.1)
        with pytest.raises(ValueError, match=r"p_gain = -0\.1"):
            mcnemar_power(10, -0.1, 0.1)


class TestItemsForPower:
    @pytest.mark.parametrize(
        ("gain", "loss", "power", "n"),
        [
            # performance.md section 6 E
            (0.15, 0.05, 0.8, 168),
            (0.06, 0.05, 0.8, 8813),
            (0.055, 0.05, 0.8, 33345),
            (0.03, 0.02, 0.9, 5396),
            (0.2, 0.1, 0.9, 325),
            (0.08, 0.03, 0.8, 367),  # study-4 section D line 4
        ],
    )
    def test_published(self, gain, loss, power, n):
        assert items_for_power(gain, loss, power=power).first == n
        assert items_for_power(loss, gain, power=power).first == n
        assert mcnemar_power(n - 1, gain, loss) < power <= mcnemar_power(n, gain, loss)

    @pytest.mark.parametrize(("gain", "loss"), [(0.5, 0.1), (0.3, 0.05), (0.9, 0.1), (0.35, 0.0)])
    @pytest.mark.parametrize("form", ["exact", "mid-p"])
    @pytest.mark.parametrize("power", [0.1, 0.5, 0.8, 0.9])
    def test_every_size(self, gain, loss, form, power):
        reached = np.array([mcnemar_power(n, gain, loss, form=form) >= power for n in range(1, 301)])
        found = items_for_power(gain, loss, power=power, form=form)
        assert found.first == 1 + int(np.argmax(reached))
        assert found.lasting == 2 + int(np.flatnonzero(~reached)[-1])

    def test_without_ties_the_power_saw_tooths(self):
        # every item discordant: the power is a binomial tail beyond the largest count with 2 Pr(X <= k) <= .05
        n = np.arange(1, 3001)
        largest = binom.ppf(0.025, n, 0.5)
        largest -= 2 * binom.cdf(largest, n, 0.5) > 0.05
        reached = binom.cdf(largest, n, 0.53) + binom.cdf(largest, n, 0.47) >= 0.8
        found = items_for_power(0.53, 0.47)
        assert found.first == n[np.argmax(reached)]
        assert found.lasting == n[np.flatnonzero(~reached)[-1]] + 1
        assert found.lasting - found.first > 20

    def test_refusals(self):
        with pytest.raises(ValueError, match="not there"):
            items_for_power(0.1, 0.1)
        with pytest.raises(ValueError, match="1e\\+09 items"):
            items_for_power(0.1, 0.1 - 1e-6)


class TestMarginPower:
    @pytest.mark.parametrize("n", [1, 9, 50])
    @pytest.mark.parametrize(("gain", "loss"), [(0.03, 0.13), (0.3, 0.1), (0.0, 0.2), (0.9, 0.1), (0.2, 0.0)])
    @pytest.mark.parametrize("margin", [0.0, 0.02, -0.05])
    def test_all_tables(self, n, gain, loss, margin):
        b, c, mass = tables(n, gain, loss)
        kept = mass > 1e-15
        above = [tango_interval(int(x), int(y), n)[0] > margin for x, y in zip(b[kept], c[kept], strict=True)]
        assert margin_power(n, gain, loss, margin=margin) == pytest.approx(mass[kept][above].sum(), abs=1e-10)

    @pytest.mark.parametrize(
        ("drop", "printed", "exact"),
        # study-4 section C prints 31 % and 57 % (background discordance 6 %) without naming the interval; the exact
        # sum over all tables with Tango's interval is .3188 and .5751
        [(0.10, 0.31, 0.3188), (0.15, 0.57, 0.5751)],
    )
    def test_slice_rule(self, drop, printed, exact):
        found = slice_power(50, 0.03, 0.03 + drop, drop=0.02)
        assert found == pytest.approx(exact, abs=5e-5)
        assert found == pytest.approx(printed, abs=0.01)

    def test_the_guide_plans_for_another_rule(self):
        # study-4 section C: 338 items for a gain, 938 for a gain of more than 2 points, both meant to have 80 %
        assert margin_power(338, 0.08, 0.03) == pytest.approx(0.80, abs=0.02)
        assert margin_power(338, 0.08, 0.03, margin=0.02) < 0.45
        assert margin_power(938, 0.08, 0.03, margin=0.02) == pytest.approx(0.80, abs=0.02)
        assert margin_power(1178, 0.03, 0.03, margin=-0.02) == pytest.approx(0.80, abs=0.02)

    def test_large_n(self):
        # the normal approximation with the variance at the truth
        z = (0.001 - 0.0) / math.sqrt((0.119 - 1e-6) / 10**6)
        assert margin_power(10**6, 0.06, 0.059) == pytest.approx(
            1 - 0.5 * math.erfc((z - 1.959964) / math.sqrt(2)), abs=1e-3
        )

    def test_refusals(self):
        with pytest.raises(ValueError, match="margin = 1"):
            margin_power(10, 0.1, 0.1, margin=1)
        with pytest.raises(ValueError, match="drop = 2"):
            slice_power(10, 0.1, 0.1, drop=2)


class TestQuantiles:
    def test_published_ranks(self):
        # study-4 section D line 14
        assert quantile_ranks(820, quantile=0.95) == (766, 792)

    @pytest.mark.parametrize(
        ("n", "rank", "ranks"),
        [
            (100, 95, (89, 98)),
            (1000, 950, (935, 962)),
            (30_000, 28_500, (28_425, 28_573)),
        ],  # performance.md section 6 B
    )
    def test_published_bootstrap_ranks(self, n, rank, ranks):
        assert bootstrap_ranks(n, rank) == ranks

    @given(st.integers(1, 60), st.floats(0.02, 0.98), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
    def test_narrowest_ranks_that_cover(self, n, p, level):
        side = (1 - level) / 2
        lower, upper = quantile_ranks(n, quantile=p, level=level)
        # rank l lies above the quantile when fewer than l values do not
        assert lower is None or binom.cdf(lower - 1, n, p) <= side + 1e-9
        assert binom.cdf(lower or 0, n, p) > side - 1e-9
        assert upper is None or binom.sf(upper - 1, n, p) <= side + 1e-9
        assert binom.sf((upper or n + 1) - 2, n, p) > side - 1e-9

    @given(st.integers(2, 60), st.floats(0.02, 0.98))
    def test_mirrored(self, n, p):
        lower, upper = quantile_ranks(n, quantile=p)
        other = quantile_ranks(n, quantile=1 - p)
        edges = np.concatenate([binom.cdf(np.arange(n), n, p), binom.sf(np.arange(n), n, p)])
        if np.abs(edges - 0.025).min() > 1e-9:
            assert other == (None if upper is None else n + 1 - upper, None if lower is None else n + 1 - lower)

    @pytest.mark.parametrize(("n", "rank"), [(5, 3), (6, 6), (7, 1)])
    def test_bootstrap_ranks_by_all_resamples(self, n, rank):
        draws = np.stack(np.meshgrid(*[np.arange(1, n + 1)] * n), axis=-1).reshape(-1, n)
        law = np.sort(np.sort(draws, axis=1)[:, rank - 1])
        ends = [int(law[math.ceil(q * law.size) - 1]) for q in (0.025, 0.975)]
        assert bootstrap_ranks(n, rank) == tuple(ends)

    def test_interval_takes_the_order_statistics(self):
        latency = np.random.default_rng(3).permutation(820) / 100
        assert quantile_interval(latency, quantile=0.95) == (7.65, 7.91)
        assert quantile_interval(latency[:20], quantile=0.95)[1] is None
        assert quantile_interval([1.0], quantile=0.5) == (None, None)
        assert quantile_interval([2.0] * 30, quantile=0.5) == (2.0, 2.0)

    def test_refusals(self):
        for values, shown in (([], "at least one"), ([1.0, math.nan], "nan")):
            with pytest.raises(ValueError, match=shown):
                quantile_interval(values, quantile=0.5)
        with pytest.raises(ValueError, match="rank = 6 of n = 5"):
            bootstrap_ranks(5, 6)
        with pytest.raises(ValueError, match="quantile = 95"):
            quantile_ranks(5, quantile=95)
