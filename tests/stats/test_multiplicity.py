"""Adjusted p-values against the published example and statsmodels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests  # statsmodels 0.15.0

from analysis.stats import benjamini_hochberg, benjamini_yekutieli, bonferroni, budget_p_value, holm, rejects

# Benjamini and Hochberg 1995, J. R. Stat. Soc. B 57:289, the thrombolysis example; published-numbers E7
PUBLISHED = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344]
PUBLISHED += [0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
METHODS = [
    (bonferroni, "bonferroni", 3),
    (holm, "holm", 3),
    (benjamini_hochberg, "fdr_bh", 4),
    (benjamini_yekutieli, "fdr_by", 3),  # count: statsmodels 0.15.0
]


@pytest.mark.parametrize(("adjust", "name", "count"), METHODS)
def test_published_example(adjust, name, count):
    assert rejects(adjust(PUBLISHED), alpha=0.05).sum() == count


@pytest.mark.parametrize(("adjust", "name", "count"), METHODS)
@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=40))
@settings(max_examples=40, deadline=None)
def test_statsmodels(adjust, name, count, p):
    np.testing.assert_allclose(adjust(p), multipletests(p, method=name)[1], rtol=1e-12, atol=1e-300)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.randoms())
@settings(max_examples=40, deadline=None)
def test_order_of_the_tests_does_not_matter(p, random):
    shuffled = list(range(len(p)))
    random.shuffle(shuffled)
    for adjust, _, _ in METHODS:
        np.testing.assert_array_equal(adjust(np.array(p)[shuffled]), adjust(p)[shuffled])
    assert (benjamini_hochberg(p) <= holm(p) * (1 + 1e-12)).all()
    assert (holm(p) <= bonferroni(p)).all()


def test_only_zero_failures_survive_36_cells():
    # study-1 section C: with Bonferroni over 36 cells only 0/59 ships
    p = budget_p_value([0] + [1] * 35, 59, budget=0.1)
    assert rejects(bonferroni(p), alpha=0.1).tolist() == [True] + [False] * 35


def test_empty_and_level_reached_exactly():
    assert holm([]).shape == (0,)
    assert rejects(bonferroni(np.full(36, 0.1 / 36)), alpha=0.1).all()


@pytest.mark.parametrize("p", [[0.1, float("nan")], [-0.1], [1.1]])
def test_refusals(p):
    for adjust, _, _ in METHODS:
        with pytest.raises(ValueError, match="a p-value is"):
            adjust(p)
    with pytest.raises(ValueError, match="one dimension"):
        holm([[0.1]])
    with pytest.raises(ValueError, match="alpha = 1"):
        rejects([0.1], alpha=1)
