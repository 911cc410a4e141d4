"""The law of true rates: laws that are known, the likelihood's optimum, and the posterior by Bayes' rule in a loop."""

import numpy as np
import pytest
from scipy.stats import binom

from analysis.stats import posterior_change, rate_mixture


def drawn(before, after, k, seed):
    rng = np.random.default_rng(seed)
    return rng.binomial(k, before), k, rng.binomial(k, after), k


def test_shares_of_a_known_law():
    # 70 % of items at .5 in both versions, 20 % rise to .9, 10 % fall to .1; 4,000 items, 20 samples
    before = np.full(4000, 0.5)
    after = np.repeat([0.5, 0.9, 0.1], [2800, 800, 400])
    law = rate_mixture(*drawn(before, after, 20, seed=1))
    assert law.share(beyond=0.2) == pytest.approx((0.20, 0.10), abs=0.015)
    assert law.weight.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("kind", ["uniform", "often 0 or 1"])
def test_no_change_is_not_made_into_one(kind):
    rng = np.random.default_rng(2)
    p = rng.uniform(size=2000) if kind == "uniform" else np.r_[np.zeros(700), np.ones(400), rng.uniform(size=900)]
    assert max(rate_mixture(*drawn(p, p, 10, seed=3)).share(beyond=0.2)) < 0.01


def test_no_other_law_on_the_grid_is_more_likely():
    # optimality of a maximum-likelihood mixture (Lindsay 1983, Ann. Stat. 11:86): no point's mean likelihood ratio above 1
    k1, n, k2, _ = counts = drawn(np.linspace(0, 1, 300), np.linspace(1, 0, 300), 8, seed=4)
    law = rate_mixture(*counts, points=9, steps=20_000)
    one, two = binom.pmf(k1[:, None], n, law.rates), binom.pmf(k2[:, None], n, law.rates)
    density = np.einsum("ia,ib,ab->i", one, two, law.weight)
    gradient = np.einsum("ia,ib->ab", one / density[:, None], two) / k1.size
    assert gradient.max() < 1 + 5e-3
    assert (gradient * law.weight).sum() == pytest.approx(1, abs=1e-9)


def test_posterior_is_bayes_rule():
    counts = drawn(np.linspace(0, 1, 60), np.linspace(0.5, 1, 60), 6, seed=5)
    law = rate_mixture(*counts, points=6)
    rose, fell = posterior_change(law, *counts, beyond=0.3)
    for i in range(0, 60, 7):
        joint = {
            (a, b): binom.pmf(counts[0][i], 6, a) * binom.pmf(counts[2][i], 6, b) * law.weight[x, y]
            for x, a in enumerate(law.rates)
            for y, b in enumerate(law.rates)
        }
        total = sum(joint.values())
        assert rose[i] == pytest.approx(sum(w for (a, b), w in joint.items() if b - a > 0.3 + 1e-9) / total, abs=1e-12)
        assert fell[i] == pytest.approx(sum(w for (a, b), w in joint.items() if a - b > 0.3 + 1e-9) / total, abs=1e-12)


def test_swapped_versions_mirror():
    k1, n, k2, _ = drawn(np.linspace(0, 1, 200), np.linspace(0.2, 0.8, 200), 10, seed=6)
    one, other = rate_mixture(k1, n, k2, n), rate_mixture(k2, n, k1, n)
    np.testing.assert_allclose(one.weight, other.weight.T, atol=1e-9)
    assert one.share(beyond=0.1) == pytest.approx(other.share(beyond=0.1)[::-1], abs=1e-9)


def test_a_change_of_exactly_the_threshold_is_not_beyond_it():
    law = rate_mixture([0, 0], 50, [10, 10], 50, points=11)
    assert law.share(beyond=0.1)[0] > 0.9
    assert law.share(beyond=0.3)[0] < 0.01


def test_starting_from_a_law_ends_at_the_same_law():
    counts = drawn(np.linspace(0, 1, 400), np.linspace(0, 1, 400) ** 2, 10, seed=7)
    law = rate_mixture(*counts)
    again = rate_mixture(*counts, start=law)
    assert again.share(beyond=0.2) == pytest.approx(
        law.share(beyond=0.2), abs=0.01
    )  # single weights are badly determined


def test_refusals():
    with pytest.raises(ValueError, match="points"):
        rate_mixture([1], 2, [1], 2, points=1)
    with pytest.raises(ValueError, match="beyond"):
        posterior_change(rate_mixture([1], 2, [1], 2), [1], 2, [1], 2, beyond=1.0)
    with pytest.raises(ValueError):
        rate_mixture([3], 2, [1], 2)
