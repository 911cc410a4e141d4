"""Outcomes from intervals, and the levels of overlap rules."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from analysis.stats import (
    interval_level_for_non_overlap,
    mean_interval,
    minimum_effect,
    non_overlap_level,
    tost,
)

ENDS = st.tuples(st.floats(-2, 2), st.floats(-2, 2)).map(sorted)


class TestTost:
    @given(ENDS, st.floats(0.01, 2))
    def test_three_outcomes(self, ends, band):
        low, high = ends
        outcome = tost(low, high, band=band)
        assert tost(-high, -low, band=band) == outcome  # the arms are swapped
        assert tost(8 * low, 8 * high, band=8 * band) == outcome
        if outcome == "equivalent":
            assert max(abs(low), abs(high)) <= band
            assert tost(low, high, band=2 * band) == "equivalent"
        elif outcome == "different":
            assert min(abs(low), abs(high)) > band
            assert minimum_effect(low, high, floor=band) == "reached"
        else:
            assert low <= band <= high or low <= -band <= high

    @given(ENDS, st.floats(0.01, 2))
    def test_minimum_effect(self, ends, floor):
        low, high = ends
        outcome = minimum_effect(low, high, floor=floor)
        assert minimum_effect(-high, -low, floor=floor) == outcome
        assert (outcome == "reached") == (low > floor or high < -floor)
        assert (outcome == "excluded") == (max(abs(low), abs(high)) < floor)

    def test_ends_on_the_limit(self):
        assert tost(-0.1, 0.1, band=0.1) == "equivalent"
        assert minimum_effect(-0.1, 0.1, floor=0.1) == "undecided"
        assert minimum_effect(0.1, 0.2, floor=0.1) == "undecided"

    @pytest.mark.parametrize(("low", "high"), [(1.0, 0.0), (math.nan, 1.0), (0.0, math.inf)])
    def test_refused_intervals(self, low, high):
        with pytest.raises(ValueError, match="interval"):
            tost(low, high, band=0.1)

    def test_refused_limits(self):
        with pytest.raises(ValueError, match="band = 0"):
            tost(0, 1, band=0)
        with pytest.raises(ValueError, match="floor = -1"):
            minimum_effect(0, 1, floor=-1)


class TestMean:
    def test_acceptance_line_14(self):
        # study 2 section D line 14: mean .03, sd 1, n = 1000
        d = np.random.default_rng(0).standard_normal(1000)
        d = 0.03 + (d - d.mean()) / d.std(ddof=1)
        ninety, ninety_five = mean_interval(d, level=0.90), mean_interval(d, level=0.95)
        assert ninety == pytest.approx((-0.0220, 0.0820), abs=1e-4)
        assert ninety_five == pytest.approx((-0.0320, 0.0920), abs=1e-4)
        assert tost(*ninety, band=0.09) == "equivalent"
        assert tost(*ninety_five, band=0.09) == "undecided"

    def test_sleep(self):
        # R `sleep`, paired, published-numbers E1
        one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0, 2]
        two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
        assert mean_interval(np.subtract(one, two), level=0.95) == pytest.approx((-2.4599, -0.7001), abs=1e-4)

    @given(
        st.lists(st.floats(-5, 5).map(lambda v: round(v, 3)), min_size=2, max_size=20).filter(lambda v: len(set(v)) > 1)
    )
    def test_scipy(self, values):
        peer = ttest_1samp(values, 0).confidence_interval(0.9)
        assert mean_interval(values, level=0.9) == pytest.approx((peer.low, peer.high), abs=1e-9)

    @pytest.mark.parametrize(("values", "shown"), [([1.0], "at least two"), ([1.0, math.nan], "nan")])
    def test_refusals(self, values, shown):
        with pytest.raises(ValueError, match=shown):
            mean_interval(values, level=0.9)


class TestOverlap:
    def test_acceptance_line_4(self):
        assert non_overlap_level(0.05) == pytest.approx(0.005575, abs=1e-5)
        assert interval_level_for_non_overlap(0.05) == pytest.approx(0.83422, abs=1e-5)

    @given(st.floats(1e-6, 0.5))
    def test_inverse(self, alpha):
        assert non_overlap_level(1 - interval_level_for_non_overlap(alpha)) == pytest.approx(alpha, rel=1e-6)

    def test_refusals(self):
        with pytest.raises(ValueError, match="alpha = 5"):
            non_overlap_level(5)
