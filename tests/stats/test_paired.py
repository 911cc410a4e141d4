"""Paired and independent proportions against published values, other programs and exact enumeration."""

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binom, binomtest, multinomial  # scipy 1.17
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar  # statsmodels 0.15
from statsmodels.stats.proportion import confint_proportions_2indep

from analysis.stats import (
    binary_bootstrap_quantile,
    mcnemar,
    newcombe_interval,
    newcombe_paired_interval,
    tango_interval,
)
from analysis.stats.paired import sum_law, tango_score

Z = 1.959963984540054


@st.composite
def pairs(draw, most=400):
    """Baseline only, candidate only, all items."""
    n = draw(st.integers(1, most))
    discordant = draw(st.integers(0, n))
    baseline_only = draw(st.integers(0, discordant))
    return baseline_only, discordant - baseline_only, n


class TestMcNemar:
    @pytest.mark.parametrize(
        ("gained", "lost", "p"),
        [
            (45, 58, 0.24),  # study-3 section C: physics of the public greedy files
            (57, 29, 0.003),  # economics
            (45, 11, 5.378e-06),  # data/real/README.md, validity_mmlu_16models: mini -> GPT-5.4
            (60, 30, 0.002060),
            (39, 14, 0.0008023),
            (19, 9, 0.08716),
        ],
    )
    def test_published(self, gained, lost, p):
        digits = {0.24: 5e-3, 0.003: 5e-4}.get(p, p * 5e-4)
        assert mcnemar(gained, lost).exact == pytest.approx(p, abs=digits)
        assert mcnemar(lost, gained).exact == mcnemar(gained, lost).exact

    @pytest.mark.parametrize(
        ("b", "c", "exact"),
        [
            (121, 59, 4.434e-6),  # published-numbers D1: statsmodels' test suite, after SAS
            (1, 9, 0.021484),  # D4, binomial tables
            (0, 6, 0.031250),
            (2, 10, 0.038574),
            (1, 2, 1.0),  # D5 and study-4 section D line 6: the guide's code
            (24, 41, 0.04635),  # study-4 section D line 9
        ],
    )
    def test_exact(self, b, c, exact):
        assert mcnemar(b, c).exact == pytest.approx(exact, rel=1e-3 if exact < 1e-3 else 0, abs=1e-5)

    def test_mid_p(self):
        # published-numbers D2 (Wikipedia); R contingencytables 3.1.0, McNemar_midP_test_paired_2x2, prints 0.034690
        found = mcnemar(6, 16)
        assert found.exact == pytest.approx(0.052479, abs=5e-7)
        assert found.mid_p == pytest.approx(0.034690, abs=5e-7)

    @given(st.integers(0, 300), st.integers(0, 300))
    def test_against_the_definitions(self, b, c):
        found = mcnemar(b, c)
        assert found == mcnemar(c, b)
        assert 0 < found.mid_p <= found.exact <= 1
        if b + c:
            assert found.exact == pytest.approx(statsmodels_mcnemar([[0, b], [c, 0]], exact=True).pvalue, abs=1e-12)
            # Fagerland, Lydersen and Laake (2013): tables further from even, and half of those as far
            k = np.arange(b + c + 1)
            distance, mass = np.abs(2 * k - b - c), binom.pmf(k, b + c, 0.5)
            as_far = distance == abs(b - c)
            assert found.mid_p == pytest.approx(mass[distance > abs(b - c)].sum() + mass[as_far].sum() / 2, abs=1e-12)

    @pytest.mark.parametrize("gained", [0, 1, 7, 20, 500])
    @pytest.mark.parametrize("lost", [1, 6, 20, 480])
    def test_scipy(self, gained, lost):
        expected = binomtest(gained, gained + lost).pvalue
        assert mcnemar(gained, lost).exact == pytest.approx(expected, rel=1e-10)

    def test_no_discordant_pair(self):
        # problems 40: huggingface/evaluate #795 and mlxtend #851 divide by zero
        assert mcnemar(0, 0).exact == mcnemar(0, 0).mid_p == 1.0

    @pytest.mark.parametrize("counts", [(-1, 2), (1.5, 2)])
    def test_refusals(self, counts):
        with pytest.raises(ValueError, match="baseline_only"):
            mcnemar(*counts)


class TestTango:
    @pytest.mark.parametrize(
        ("b", "c", "n", "low", "high", "digits"),
        [
            (24, 41, 820, 0.00150, 0.04084, 1e-5),  # study-4 section D line 9
            (2, 12, 50, 0.0611, 0.3447, 5e-5),  # published-numbers D8
            (1, 0, 44, -0.1181, 0.0594, 5e-5),
            (16, 6, 161, -0.1240, -0.0054, 5e-5),  # R contingencytables 3.1.0, Tango_asymptotic_score_CI_paired_2x2
            (0, 0, 20, -0.161, 0.161, 5e-4),  # problems 37
            (0, 0, 200, -0.0188, 0.0188, 5e-5),
            (0, 0, 400, -0.0095, 0.0095, 5e-5),
        ],
    )
    def test_published(self, b, c, n, low, high, digits):
        assert tango_interval(b, c, n) == pytest.approx((low, high), abs=digits)

    def test_the_guide_cannot_pass_its_own_margin(self):
        # study-4 section D line 10 and inconsistency 1: 725 to 746 of 820, at best without a loss
        low = tango_interval(0, 21, 820)[0]
        assert low == pytest.approx(0.01681, abs=1e-5)
        assert low < 0.02
        assert 21 / 820 - Z * math.sqrt(21 / 820 * (1 - 21 / 820) / 820) == pytest.approx(0.01480, abs=1e-5)
        assert binary_bootstrap_quantile(0, 21, 820, q=0.025) == pytest.approx(0.0159, abs=1e-4)
        assert binary_bootstrap_quantile(0, 24, 820, q=0.025) == pytest.approx(0.0183, abs=1e-4)

    def test_net_gain_that_would_have_passed(self):
        # exact roots; the spec's "at least +27" is the Wald interval's answer
        wald = [c / 820 - Z * math.sqrt(c / 820 * (1 - c / 820) / 820) for c in range(40)]
        assert min(c for c in range(40) if wald[c] > 0.02) == 27
        assert min(c for c in range(40) if binary_bootstrap_quantile(0, c, 820, q=0.025) > 0.02) == 26
        assert min(c for c in range(40) if tango_interval(0, c, 820)[0] > 0.02) == 25

    @pytest.mark.parametrize(("b", "c", "n"), [(24, 41, 820), (2, 12, 50), (0, 21, 820), (3, 0, 11), (5, 6, 11)])
    def test_score_test_at_the_ends(self, b, c, n):
        # the restricted maximum found by a general minimiser instead of the closed form
        for end, side in zip(tango_interval(b, c, n, level=0.9), (1, -1), strict=True):

            def loss(p, end=end):
                cells = [(b, p), (c, p + end), (n - b - c, 1 - 2 * p - end)]
                return -sum(count * math.log(share) if count else 0.0 for count, share in cells)

            edges = max(0.0, -end) + 1e-12, (1 - end) / 2 - 1e-12
            p = minimize_scalar(loss, bounds=edges, method="bounded", options={"xatol": 1e-12}).x
            score = (c - b - n * end) / math.sqrt(n * (2 * p + end - end**2))
            assert score == pytest.approx(side * 1.6448536, abs=1e-4)

    @given(pairs())
    def test_swap_level_and_estimate(self, counts):
        b, c, n = counts
        low, high = tango_interval(b, c, n)
        assert tango_interval(c, b, n) == pytest.approx((-high, -low), abs=1e-15)
        assert -1 <= low <= (c - b) / n <= high <= 1
        assert low < high
        wide = tango_interval(b, c, n, level=0.99)
        assert wide[0] <= low <= high <= wide[1]

    @given(pairs(), st.floats(-0.9, 0.9))
    def test_interval_and_score_decide_alike(self, counts, difference):
        b, c, n = counts
        low, high = tango_interval(b, c, n)
        score = float(tango_score(b, c, n, difference=difference))
        if abs(abs(score) - Z) > 1e-9:
            assert (low > difference) == (score > Z)
            assert (high < difference) == (score < -Z)

    @given(pairs(most=60))
    def test_one_more_gain_moves_up(self, counts):
        b, c, n = counts
        if b + c < n:
            before, after = tango_interval(b, c, n), tango_interval(b, c + 1, n)
            assert after[0] > before[0]
            assert after[1] >= before[1]

    @pytest.mark.parametrize("n", [1, 7, 820, 10**7])
    def test_edges(self, n):
        # closed forms of the score equation: no discordant pair, and nothing but gains
        z2 = Z**2
        assert tango_interval(0, 0, n) == pytest.approx((-z2 / (n + z2), z2 / (n + z2)), rel=1e-9)
        assert tango_interval(0, n, n) == pytest.approx(((n - z2) / (n + z2), 1.0), rel=1e-9)

    def test_large_n_is_normal(self):
        n, b, c = 10**7, 300_000, 310_000
        half = Z * math.sqrt((b + c) / n - ((c - b) / n) ** 2) / math.sqrt(n)
        assert tango_interval(b, c, n) == pytest.approx((0.001 - half, 0.001 + half), abs=1e-7)

    @pytest.mark.parametrize(("gain", "loss"), [(0.08, 0.03), (0.05, 0.05), (0.2, 0.1), (0.02, 0.02), (0.3, 0.3)])
    def test_coverage_by_enumeration(self, gain, loss):
        n = 50
        b, c = np.array([(b, c) for b in range(n + 1) for c in range(n + 1 - b)]).T
        mass = multinomial.pmf(np.stack([b, c, n - b - c], axis=1), n, [loss, gain, 1 - gain - loss])
        covered = np.abs(tango_score(b, c, n, difference=gain - loss)) <= Z
        assert 0.945 < mass[covered].sum() < 0.99

    def test_refusals(self):
        with pytest.raises(ValueError, match="baseline_only = 3, candidate_only = 4 of n = 6"):
            tango_interval(3, 4, 6)
        with pytest.raises(ValueError, match="n = 0"):
            tango_interval(0, 0, 0)
        with pytest.raises(ValueError, match="level = 95"):
            tango_interval(1, 2, 6, level=95)


class TestNewcombe:
    @pytest.mark.parametrize(
        ("table", "low", "high"),
        [
            ((36, 2, 12, 0), 0.0569, 0.3404),  # published-numbers D6: Newcombe 1998, Stat. Med. 17:2635
            ((20, 2, 12, 16), 0.0562, 0.3292),  # D7
            ((59, 16, 6, 80), -0.1186, -0.0046),  # R contingencytables 3.1.0, Newcombe_square_and_add_CI_paired_2x2
        ],
    )
    def test_paired(self, table, low, high):
        assert newcombe_paired_interval(*table) == pytest.approx((low, high), abs=5e-5)

    @given(st.integers(0, 80), st.integers(0, 80), st.integers(0, 80), st.integers(1, 80))
    def test_swap(self, a, b, c, d):
        low, high = newcombe_paired_interval(a, b, c, d)
        assert newcombe_paired_interval(a, c, b, d) == pytest.approx((-high, -low), abs=1e-15)
        assert newcombe_paired_interval(d, c, b, a) == pytest.approx((-high, -low), abs=1e-12)  # failures for passes
        assert -1 <= low <= (c - b) / (a + b + c + d) <= high <= 1

    def test_pairs_that_agree_are_narrower_than_independent_ones(self):
        # problems 36 (bnnr #390): the width must shrink with the correlation
        paired = newcombe_paired_interval(700, 20, 40, 60)
        apart = newcombe_interval(720, 820, 740, 820)
        assert paired[1] - paired[0] < 0.7 * (apart[1] - apart[0])

    @pytest.mark.parametrize(
        ("baseline", "candidate", "low", "high"),
        # Newcombe 1998, Stat. Med. 17:873, table II, method 10
        [
            ((48, 80), (56, 70), 0.0524, 0.3339),
            ((3, 10), (9, 10), 0.1705, 0.8090),
            ((0, 29), (5, 56), -0.0381, 0.1926),
            ((0, 20), (10, 10), 0.6791, 1.0000),
        ],
    )
    def test_independent(self, baseline, candidate, low, high):
        assert newcombe_interval(*baseline, *candidate) == pytest.approx((low, high), abs=5e-5)

    @given(st.integers(1, 200), st.integers(1, 200), st.data())
    def test_statsmodels(self, n1, n2, data):
        k1, k2 = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))
        peer = confint_proportions_2indep(k2, n2, k1, n1, method="newcomb", compare="diff")
        assert newcombe_interval(k1, n1, k2, n2) == pytest.approx(peer, abs=1e-9)

    def test_refusals(self):
        with pytest.raises(ValueError, match="neither = 0"):
            newcombe_paired_interval(0, 0, 0, 0)
        with pytest.raises(ValueError, match="baseline_only = -1"):
            newcombe_paired_interval(3, -1, 0, 0)
        with pytest.raises(ValueError, match="k = 3"):
            newcombe_interval(1, 2, 3, 2)


class TestBootstrapLaw:
    @pytest.mark.parametrize(
        ("b", "ties", "c", "low", "high"),
        # performance.md section 6 B, trinomial counts
        [(30, 900, 70, 0.021, 0.060), (5, 80, 15, 0.02, 0.19), (0, 95, 5, 0.01, 0.10), (2, 96, 2, -0.04, 0.04)],
    )
    def test_published(self, b, ties, c, low, high):
        found = binary_bootstrap_quantile(b, c, b + ties + c, q=[0.025, 0.975])
        assert found.tolist() == pytest.approx([low, high], abs=1e-12)

    @given(pairs(most=12), st.sampled_from([0.025, 0.1, 0.5, 0.9, 0.975]))
    def test_trinomial_enumerated(self, counts, q):
        b, c, n = counts
        losses, gains = np.array([(x, y) for x in range(n + 1) for y in range(n + 1 - x)]).T
        cells = np.stack([losses, gains, n - losses - gains], axis=1)
        mass = multinomial.pmf(cells, n, [b / n, c / n, (n - b - c) / n])
        below = np.cumsum(np.bincount(gains - losses + n, weights=mass, minlength=2 * n + 1))
        smallest = (int(np.argmax(below >= q - 1e-9)) - n) / n
        assert binary_bootstrap_quantile(b, c, n, q=q) == pytest.approx(smallest, abs=1e-12)

    @pytest.mark.parametrize("n", [20, 1000, 100_000, 10_000_000])
    def test_two_values_are_binomial(self, n):
        first, mass = sum_law(np.array([0, 1]), np.array([n - n // 10, n // 10]))
        at = first + np.arange(mass.size)
        np.testing.assert_allclose(np.cumsum(mass), binom.cdf(at, n, 0.1), atol=1e-12)

    @pytest.mark.parametrize("steps", [(-3, 0, 1, 7), (-1, 1), (0, 50), (-10, -9, 10)])
    @pytest.mark.parametrize("most", [1, 3, 40])
    def test_convolution(self, steps, most):
        counts = np.array([1 + (7 * i) % most for i in range(len(steps))])
        n, span = int(counts.sum()), steps[-1] - steps[0]
        single = np.bincount(np.array(steps) - steps[0], weights=counts / n, minlength=span + 1)
        law = np.ones(1)
        for _ in range(n):
            law = np.convolve(law, single)
        first, mass = sum_law(np.array(steps), counts)
        at = first - n * steps[0] + np.arange(mass.size)
        np.testing.assert_allclose(mass, law[at], atol=1e-14)
        assert law[np.setdiff1d(np.arange(law.size), at)].sum() < 1e-15

    @given(pairs())
    def test_swap(self, counts):
        b, c, n = counts
        found = binary_bootstrap_quantile(b, c, n, q=[0.021, 0.979])
        swapped = binary_bootstrap_quantile(c, b, n, q=[0.021, 0.979])
        np.testing.assert_allclose(found, -swapped[::-1], atol=1e-12)

    def test_ten_million_items(self):
        # performance.md section 7: at most 10 ms; a loose factor for a busy machine
        binary_bootstrap_quantile(300_000, 310_000, 10**7, q=[0.025, 0.975])
        start = time.process_time()
        low, high = binary_bootstrap_quantile(300_000, 310_000, 10**7, q=[0.025, 0.975])
        assert time.process_time() - start < 0.05
        half = Z * math.sqrt((0.061 - 1e-6) / 10**7)
        assert (low, high) == pytest.approx((0.001 - half, 0.001 + half), abs=2e-7)

    def test_all_resamples_of_five(self):
        diff = np.array([1, 1, 0, -1, 0])
        means = np.sort([np.mean(draw) for draw in itertools.product(diff, repeat=5)])
        for q in (0.025, 0.3, 0.975):
            assert binary_bootstrap_quantile(1, 2, 5, q=q) == pytest.approx(means[math.ceil(q * means.size) - 1])

    def test_refusals(self):
        with pytest.raises(ValueError, match=r"q = 1\.0"):
            binary_bootstrap_quantile(1, 2, 5, q=[0.5, 1.0])
        with pytest.raises(ValueError, match="of n = 2 items"):
            binary_bootstrap_quantile(1, 2, 2, q=0.5)
