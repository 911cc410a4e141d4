"""Anytime evidence, peeking and betting bounds by exact expectation and enumeration."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import binom

from analysis.stats import (
    anytime_evidence,
    anytime_floor,
    anytime_upper,
    betting_upper,
    clopper_pearson_upper,
    peeking_probability,
    release_supported,
)

TENTH = {"budget": 0.1, "delta": 0.1}


class TestEvidence:
    @pytest.mark.parametrize(
        ("a", "b", "floors"),
        # study-1 section D line 9 and section C
        [(1.0, 1.0, [34, 56, 75, 93]), (0.5, 1.0, [29, 55, 76, 95])],
    )
    def test_first_sizes(self, a, b, floors):
        assert [anytime_floor(failures=k, a=a, b=b, **TENTH) for k in range(4)] == floors

    def test_floor_is_where_the_evidence_turns(self):
        for k in range(6):
            n = anytime_floor(failures=k, **TENTH)
            assert anytime_evidence(k, n - 1, budget=0.1) < 10 <= anytime_evidence(k, n, budget=0.1)

    @pytest.mark.parametrize(("k", "n"), [(0, 0), (0, 34), (3, 60), (20, 40), (5, 5)])
    @pytest.mark.parametrize("a", [0.5, 1.0, 2.0])
    def test_definition_by_quadrature(self, k, n, a):
        prior = quad(lambda p: p ** (a - 1), 0, 0.1)[0]
        integral = quad(
            lambda p: p ** (a - 1) * (p / 0.1) ** k * ((1 - p) / 0.9) ** (n - k),
            0,
            0.1,
            epsabs=0,
            epsrel=1e-10,
        )[0]
        assert anytime_evidence(k, n, budget=0.1, a=a) == pytest.approx(integral / prior, rel=1e-7)

    def test_extremes_stay_finite(self):
        assert anytime_evidence(0, 0, budget=0.1) == 1
        # every run failed: the integral of u^k over [0, 1] is 1/(k + 1)
        np.testing.assert_allclose(
            anytime_evidence([10, 1000, 100000], [10, 1000, 100000], budget=0.1),
            [1 / 11, 1 / 1001, 1 / 100001],
        )
        assert np.isfinite(anytime_evidence(0, 10**6, budget=0.1))
        assert 0 < anytime_evidence(120_000, 10**6, budget=0.1) < 1

    @pytest.mark.parametrize("rate", [0.1, 0.15, 0.4, 1.0])
    @pytest.mark.parametrize("prior", [(1.0, 1.0), (0.5, 1.0)])
    def test_supermartingale_at_and_over_the_budget(self, rate, prior):
        a, b = prior
        for n in (1, 2, 5, 22, 59, 200):
            k = np.arange(n + 1)
            evidence = anytime_evidence(k, n, budget=0.1, a=a, b=b)
            expected = binom.pmf(k, n, rate) @ evidence
            assert expected <= 1 + 1e-9
            # one step: the expectation of the next value never exceeds the present one
            more = anytime_evidence(np.append(k, n + 1), n + 1, budget=0.1, a=a, b=b)
            assert (rate * more[1:] + (1 - rate) * more[:-1] <= evidence * (1 + 1e-9)).all()

    def test_expectation_is_one_at_the_budget(self):
        k = np.arange(60)
        assert binom.pmf(k, 59, 0.1) @ anytime_evidence(k, 59, budget=0.1) == pytest.approx(1, rel=1e-10)

    def test_false_certification_at_any_of_300_looks(self):
        # Ville: at most delta; exact recursion over paths
        law, certified = np.ones(1), 0.0
        for n in range(1, 301):
            law = np.append(law * 0.9, 0.0) + np.append(0.0, law * 0.1)
            stop = anytime_evidence(np.arange(n + 1), n, budget=0.1) >= 10
            certified += law[stop].sum()
            law[stop] = 0.0
        assert 0.02 < certified <= 0.1

    def test_refusals(self):
        for arguments, shown in (({"budget": 0.0}, "budget = 0.0"), ({"budget": 0.1, "a": 0.0}, "a = 0.0")):
            with pytest.raises(ValueError, match=shown):
                anytime_evidence(0, 3, **arguments)
        with pytest.raises(ValueError, match="k = 4 failures of n = 3"):
            anytime_evidence(4, 3, budget=0.1)
        with pytest.raises(ValueError, match="budget = 1e-17"):
            anytime_floor(budget=1e-17, delta=0.1)
        with pytest.raises(ValueError, match="failures = -1"):
            anytime_floor(failures=-1, **TENTH)


class TestAnytimeUpper:
    @pytest.mark.parametrize(("k", "n"), [(0, 1), (0, 34), (2, 59), (24, 59), (28, 29), (0, 0), (5, 5)])
    def test_inverts_the_evidence(self, k, n):
        bound = anytime_upper(k, n, delta=0.1)
        grid = np.linspace(0.002, 0.998, 499)
        certified = np.array([anytime_evidence(k, n, budget=budget) >= 10 for budget in grid])
        clear = np.abs(grid - bound) > 1e-9
        assert (certified == (grid >= bound))[clear].all()
        if n > k:
            assert bound > clopper_pearson_upper(k, n, delta=0.1)  # the price of looking at any time

    def test_refusals(self):
        with pytest.raises(ValueError, match=r"delta = 0\.6"):
            anytime_upper(0, 5, delta=0.6)


class TestPeeking:
    # study-1 section C and section D line 8: exact recursion
    @pytest.mark.parametrize(("last", "published"), [(59, 0.1731), (200, 0.3033), (500, 0.384)])
    def test_published(self, last, published):
        found = peeking_probability(0.1, first=22, last=last, **TENTH)
        assert found == pytest.approx(published, abs=5e-4)

    def test_one_look_is_the_power(self):
        assert peeking_probability(0.1, first=59, last=59, **TENTH) == pytest.approx(binom.cdf(2, 59, 0.1), rel=1e-10)

    def test_by_enumeration_of_all_paths(self):
        budget = delta = 0.4
        total = 0.0
        for path in itertools.product((0, 1), repeat=10):
            seen = np.cumsum(path)
            looks = np.arange(2, 11)
            if release_supported(seen[1:], looks, budget=budget, delta=delta).any():
                total += 0.3 ** sum(path) * 0.7 ** (10 - sum(path))
        assert peeking_probability(0.3, first=2, last=10, budget=budget, delta=delta) == pytest.approx(total, rel=1e-10)

    def test_edges(self):
        assert peeking_probability(0.1, first=1, last=21, **TENTH) == 0
        assert peeking_probability(0.0, first=1, last=22, **TENTH) == 1
        assert peeking_probability(1.0, first=1, last=60, **TENTH) == 0
        with pytest.raises(ValueError, match="first = 5, last = 4"):
            peeking_probability(0.1, first=5, last=4, **TENTH)
        with pytest.raises(ValueError, match="rate = 2"):
            peeking_probability(2, first=5, last=6, **TENTH)


class TestBetting:
    @pytest.mark.parametrize("n", [1, 5, 20, 59])
    @pytest.mark.parametrize(("x0", "x1"), [(0.0, 1.0), (0.0, 0.3), (0.2, 0.7)])
    def test_coverage_on_two_points_by_enumeration(self, n, x0, x1):
        bounds = np.array([betting_upper([x1] * k + [x0] * (n - k), limit=1.0, delta=0.1) for k in range(n + 1)])
        rates = np.linspace(0, 1, 401)
        means = x0 + rates * (x1 - x0)
        mass = binom.pmf(np.arange(n + 1), n, rates[:, None])
        assert ((mass * (means[:, None] <= bounds + 1e-9)).sum(axis=1) >= 0.9 - 1e-9).all()

    @given(st.lists(st.floats(0, 0.7), min_size=1, max_size=30), st.randoms())
    @settings(max_examples=25, deadline=None)
    def test_order_and_scale(self, values, random):
        bound = betting_upper(values, limit=0.7, delta=0.1)
        assert np.mean(values) <= bound + 1e-12
        assert bound <= 0.7
        random.shuffle(values)
        assert betting_upper(values, limit=0.7, delta=0.1) == pytest.approx(bound, abs=1e-11)
        doubled = betting_upper(2 * np.array(values), limit=1.4, delta=0.1)
        assert doubled == pytest.approx(2 * bound, abs=1e-10)

    def test_monotone_and_edges(self):
        assert betting_upper([], limit=0.7, delta=0.1) == pytest.approx(0.7)
        assert betting_upper([0.7] * 9, limit=0.7, delta=0.1) == pytest.approx(0.7)
        low, high = (
            betting_upper([0.1] * 40, limit=1.0, delta=0.1),
            betting_upper([0.2] * 40, limit=1.0, delta=0.1),
        )
        assert low < high
        assert betting_upper([0.0] * 59, limit=1.0, delta=0.1) < 0.06  # exact zero-failure bound .0383
        assert betting_upper([0.1] * 40, limit=1.0, delta=0.01) > low

    @pytest.mark.parametrize(
        ("values", "limit", "shown"),
        [([0.8], 0.7, "0.8"), ([float("nan")], 1.0, "nan"), ([0.1], 0.0, "limit = 0.0")],
    )
    def test_refusals(self, values, limit, shown):
        with pytest.raises(ValueError, match=shown):
            betting_upper(values, limit=limit, delta=0.1)
