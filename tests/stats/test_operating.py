"""The quantities that settle disputes about release rules, against exact sums."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from analysis.stats import posterior_over_budget, two_point_two_sigma


@pytest.mark.parametrize(
    ("n", "ships"),
    # recipe-card study, section C: a .968/.50 mixture with 11 of 59 collapsed at τ = .70
    [(3, 0.538), (5, 0.356), (10, 0.127), (22, 0.065), (59, 0.003)],
)
def test_more_evidence_makes_the_two_sigma_rule_refuse(n: int, ships: float) -> None:
    assert two_point_two_sigma(11 / 59, n, high=0.968, low=0.50, tau=0.70) == pytest.approx(ships, abs=5e-4)


def test_two_sigma_by_enumeration_of_all_samples() -> None:
    total = 0.0
    for collapsed in range(5):
        sample = np.array([0.5] * collapsed + [0.9] * (4 - collapsed))
        if sample.mean() - 2 * sample.std(ddof=1) >= 0.7:
            total += math.comb(4, collapsed) * 0.2**collapsed * 0.8 ** (4 - collapsed)
    assert two_point_two_sigma(0.2, 4, high=0.9, low=0.5, tau=0.7) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize(("k", "n"), [(0, 5), (2, 10), (7, 20), (20, 20)])
def test_posterior_is_the_exact_binomial_sum(k: int, n: int) -> None:
    # Pr(Beta(k+1, n−k+1) > b) = Pr(Bin(n+1, b) <= k), in exact fractions
    b = Fraction(1, 10)
    exact = sum(math.comb(n + 1, i) * b**i * (1 - b) ** (n + 1 - i) for i in range(k + 1))
    assert posterior_over_budget(k, n, budget=0.1) == pytest.approx(float(exact), abs=1e-12)


def test_values_out_of_range_are_named() -> None:
    with pytest.raises(ValueError, match="k = 3"):
        posterior_over_budget(3, 2, budget=0.1)
    with pytest.raises(ValueError, match="n = 1"):
        two_point_two_sigma(0.1, 1, high=0.9, low=0.5, tau=0.7)
