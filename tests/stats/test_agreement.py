"""Agreement against published tables, statsmodels, irrCAC's printed results and explicit sums."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta
from scipy.stats import t as student
from statsmodels.stats.inter_rater import cohens_kappa
from statsmodels.stats.inter_rater import fleiss_kappa as statsmodels_fleiss

from analysis.stats import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    percent_agreement,
    rating_counts,
    rating_table,
    wilson,
)

ABSTRACTORS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]  # irrCAC, cont3x3abstractors
COHEN = [[44, 7, 9], [5, 20, 5], [1, 3, 6]]  # published-numbers I3, proportions times 100
# irrCAC, distrib.6raters: 15 patients, 6 psychiatrists, 5 categories
PSYCHIATRISTS = [
    [0, 0, 0, 6, 0], [0, 3, 0, 0, 3], [0, 1, 4, 0, 1], [0, 0, 0, 0, 6], [0, 3, 0, 3, 0],
    [2, 0, 4, 0, 0], [0, 0, 4, 0, 2], [2, 0, 3, 1, 0], [2, 0, 0, 4, 0], [0, 0, 0, 0, 6],
    [1, 0, 0, 5, 0], [1, 1, 0, 4, 0], [0, 3, 3, 0, 0], [1, 0, 0, 5, 0], [0, 2, 0, 3, 1],
]  # fmt: skip
# irrCAC, cac.raw4raters: 12 subjects, 4 raters, missing ratings
GAP = math.nan
FOUR_RATERS = [
    [1, 1, GAP, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [GAP, 5, 5, 5], [GAP, GAP, 1, 1], [GAP, GAP, 3, GAP],
]  # fmt: skip
# published-numbers I4: 10 subjects, 14 raters, 5 categories
FLEISS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def cohen(table, **options):
    return cohen_kappa(table, level=0.95, **options)


SQUARES = st.integers(2, 4).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 12), min_size=k, max_size=k), min_size=k, max_size=k)
).map(np.array).filter(lambda t: t.sum() > 1)  # fmt: skip


class TestCohen:
    def test_wikipedia(self):
        # published-numbers I1, I2
        tables = [[[20, 5], [10, 15]], [[45, 15], [25, 15]], [[25, 35], [5, 35]]]
        found = [cohen(table).coefficient for table in tables]
        assert found == pytest.approx([0.4, 0.1304, 0.2593], abs=1e-4)

    def test_cohen_1968(self):
        # published-numbers I3: kappa .492, weighted by the costs .348
        costs = [[0, 1, 3], [1, 0, 6], [3, 6, 0]]
        assert cohen(COHEN).coefficient == pytest.approx(0.492, abs=5e-4)
        weighted = cohen(COHEN, weights=costs)
        assert weighted.coefficient == pytest.approx(0.348, abs=5e-4)
        doubled = cohen(COHEN, weights=2 * np.array(costs))
        assert (doubled.coefficient, doubled.se) == pytest.approx((weighted.coefficient, weighted.se))

    def test_irrcac(self):
        # irrCAC README: kappa2.table(cont3x3abstractors); its interval has the t quantile of 99 degrees of freedom
        one = cohen(ABSTRACTORS, scale="linear")
        assert (one.coefficient, one.se) == pytest.approx((0.7964094, 0.05891072), abs=1e-7)
        assert (one.low, one.high) == pytest.approx((0.68, 0.913), abs=2e-3)
        assert one.high - one.coefficient == pytest.approx(1.959964 * one.se, rel=1e-6)

    @given(SQUARES, st.sampled_from(["identity", "linear", "quadratic"]))
    def test_statsmodels(self, table, weights):
        # statsmodels 0.15, with the variance of Fleiss, Cohen and Everitt
        one = cohen(table, weights=weights, scale="linear")
        if one.se is None:
            return
        peer = cohens_kappa(table, wt=None if weights == "identity" else weights)
        assert (one.coefficient, one.se) == pytest.approx((peer.kappa, peer.std_kappa), abs=1e-9)
        if peer.kappa_low > -1 and peer.kappa_upp < 1:
            assert (one.low, one.high) == pytest.approx((peer.kappa_low, peer.kappa_upp), abs=1e-9)

    @given(SQUARES, st.randoms(use_true_random=False))
    def test_raters_and_categories_change_places(self, table, random):
        order = random.sample(range(len(table)), len(table))
        one = cohen(table)
        for other in (cohen(table.T), cohen(table[np.ix_(order, order)])):
            for name in ("coefficient", "se", "low", "high"):
                assert getattr(other, name) == pytest.approx(getattr(one, name), abs=1e-9)
        if one.low is not None:
            assert -1 <= one.low <= one.coefficient <= one.high <= 1

    def test_the_logarithmic_interval(self):
        # 1 − (1 − κ) exp(± z SE/(1 − κ))
        one = cohen(ABSTRACTORS)
        rest = 1 - one.coefficient
        factor = math.exp(1.959964 * one.se / rest)
        assert (one.low, one.high) == pytest.approx((1 - rest * factor, 1 - rest / factor), abs=1e-6)
        many = cohen(1000 * np.array(ABSTRACTORS))
        linear = cohen(1000 * np.array(ABSTRACTORS), scale="linear")
        assert (many.low, many.high) == pytest.approx((linear.low, linear.high), abs=1e-4)

    def test_perfect_agreement_does_not_collapse(self):
        # chance .82; the exact limit of 0 disagreements of 100 is that of Clopper and Pearson
        one = cohen([[90, 0], [0, 10]])
        limit = beta.ppf(0.975, 1, 100)
        assert (one.coefficient, one.se, one.high) == (1, None, 1)
        assert one.low == pytest.approx(1 - limit / (1 - 0.82))
        assert "agree on every item" in one.reason
        few = cohen([[2, 0], [0, 1]])
        assert few.low < 0 < few.high  # three items say nothing

    def test_undefined_is_none(self):
        one = cohen([[90, 0], [0, 0]])
        assert (one.coefficient, one.low, one.expected) == (None, None, 1)
        assert "one category" in one.reason
        flat = cohen([[90, 10], [0, 0]])  # the second rater used one category: kappa is 0 whatever the first did
        assert (flat.coefficient, flat.se, flat.low) == (pytest.approx(0), None, None)
        assert "too little" in flat.reason

    def test_refusals(self):
        for table, shown in (([[1, 2]], "shape"), ([[0, 0], [0, 0]], "0 items"), ([[1, -1], [0, 2]], "-1")):
            with pytest.raises(ValueError, match=shown):
                cohen(table)
        with pytest.raises(ValueError, match="weights = 'cubic'"):
            cohen(COHEN, weights="cubic")
        with pytest.raises(ValueError, match="0 on the diagonal"):
            cohen(COHEN, weights=np.eye(3))
        with pytest.raises(ValueError, match="scale = 'logit'"):
            cohen(COHEN, scale="logit")
        with pytest.raises(ValueError, match="level = 95"):
            cohen_kappa(COHEN, level=95)


class TestSeveral:
    def test_wikipedia(self):
        # published-numbers I4
        assert fleiss_kappa(FLEISS, level=0.95).coefficient == pytest.approx(0.210, abs=5e-4)
        assert fleiss_kappa(FLEISS, level=0.95).coefficient == pytest.approx(statsmodels_fleiss(np.array(FLEISS)))

    def test_irrcac_distribution(self):
        # irrCAC README: fleiss.kappa.dist and gwet.ac1.dist(distrib.6raters)
        one = fleiss_kappa(PSYCHIATRISTS, level=0.95, scale="linear")
        assert (one.coefficient, one.se) == pytest.approx((0.4139265, 0.08119291), abs=1e-7)
        assert (one.observed, one.expected) == pytest.approx((0.5511111, 0.2340741), abs=1e-7)
        assert (one.low, one.high) == pytest.approx((0.24, 0.588), abs=5e-4)
        two = gwet_ac1(PSYCHIATRISTS, level=0.95, scale="linear")
        assert (two.coefficient, two.se, two.expected) == pytest.approx((0.4448007, 0.08418757, 0.1914815), abs=1e-7)
        assert (two.low, two.high) == pytest.approx((0.264, 0.625), abs=5e-4)

    def test_irrcac_missing_ratings(self):
        # irrCAC README: fleiss.kappa.raw and gwet.ac1.raw(cac.raw4raters); the last subject has one rating
        names, counts = rating_counts(FOUR_RATERS)
        assert names.tolist() == [1, 2, 3, 4, 5]
        one, two = (f(counts, level=0.95, scale="linear") for f in (fleiss_kappa, gwet_ac1))
        assert one.n == 11
        assert (one.coefficient, one.se) == pytest.approx((0.76117, 0.15302), abs=5e-6)
        assert (two.coefficient, two.se) == pytest.approx((0.77544, 0.14295), abs=5e-6)
        assert (one.low, two.low, one.high, two.high) == pytest.approx((0.424, 0.461, 1, 1), abs=5e-4)
        unrated = np.vstack([counts, np.zeros((3, 5), dtype=int)])
        assert fleiss_kappa(unrated, level=0.95) == fleiss_kappa(counts, level=0.95)

    @given(SQUARES)
    def test_two_raters_as_scott(self, table):
        # Fleiss' kappa of two raters is Scott's pi: chance from the pooled shares
        first, second = np.indices(table.shape).reshape(2, -1).repeat(table.ravel(), axis=1)
        counts = np.zeros((first.size, table.shape[0]), dtype=int)
        np.add.at(counts, (np.arange(first.size), first), 1)
        np.add.at(counts, (np.arange(first.size), second), 1)
        pooled = counts.sum(axis=0) / counts.sum()
        one = fleiss_kappa(counts, level=0.95)
        expected = (pooled**2).sum()
        assert one.expected == pytest.approx(expected)
        assert one.observed == pytest.approx(np.trace(table) / table.sum())
        if one.coefficient is not None:
            assert one.coefficient == pytest.approx((one.observed - expected) / (1 - expected))

    def test_large_samples_have_the_delta_method(self):
        # Gwet's error against a numerical derivative of the coefficient in the items' weights
        counts = np.array(PSYCHIATRISTS)
        n, h = len(counts), 1e-5

        def weighted(w):
            w = w / w.sum()
            pi = w @ (counts / 6)
            seen = w @ ((counts * (counts - 1)).sum(axis=1) / 30)
            return (seen - (pi**2).sum()) / (1 - (pi**2).sum())

        unit = np.eye(n) * h
        slope = np.array([(weighted(1 + e) - weighted(1 - e)) / (2 * h) for e in unit])
        assert fleiss_kappa(counts, level=0.95).se == pytest.approx(math.sqrt((slope**2).sum() * n / (n - 1)), rel=1e-6)

    def test_log_interval_and_quantile(self):
        one = fleiss_kappa(PSYCHIATRISTS, level=0.9)
        rest = 1 - one.coefficient
        assert one.low == pytest.approx(1 - rest * math.exp(student.ppf(0.95, 14) * one.se / rest))

    def test_edges(self):
        one = fleiss_kappa([[3, 0]] * 30 + [[0, 3]] * 10, level=0.95)
        assert (one.coefficient, one.se, one.high) == (1, None, 1)
        assert one.low == pytest.approx(1 - beta.ppf(0.975, 1, 40) / 0.375)  # chance .75² + .25²
        assert fleiss_kappa([[3, 0]] * 5, level=0.95).coefficient is None
        assert gwet_ac1([[3, 0]] * 5, level=0.95).coefficient == 1
        alike = fleiss_kappa([[2, 2]] * 5, level=0.95)
        assert (alike.coefficient, alike.low) == (pytest.approx(-1 / 3), None)
        with pytest.raises(ValueError, match="1 items with two labels"):
            fleiss_kappa([[2, 0], [1, 0]], level=0.95)
        with pytest.raises(ValueError, match="shape"):
            fleiss_kappa([[2], [1]], level=0.95)


class TestTables:
    def test_tables(self):
        names, table = rating_table(["b", "a", "b", "c"], ["b", "a", "a", "b"])
        assert names.tolist() == ["a", "b", "c"]
        assert table.tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 0]]
        frame = pd.DataFrame({"one": ["x", "y"], "two": ["x", None], "three": ["y", "y"]})
        assert rating_counts(frame.to_numpy())[1].tolist() == [[2, 1], [0, 2]]
        with pytest.raises(ValueError, match="item 1 lacks a label"):
            rating_table(frame["one"].to_numpy(dtype=object), frame["two"].to_numpy(dtype=object))
        with pytest.raises(ValueError, match="item 0 lacks a label"):
            rating_table([1.0, 2.0], [math.nan, 2.0])
        with pytest.raises(ValueError, match="shapes"):
            rating_table([1], [1, 2])
        for ratings in ([1, 2], [[None, None]]):
            with pytest.raises(ValueError, match="items and raters"):
                rating_counts(ratings)

    def test_percent_agreement(self):
        share, low, high = percent_agreement(ABSTRACTORS, level=0.95)
        assert share == 0.89
        assert (low, high) == wilson(89, 100, level=0.95)


class TestReal:
    @pytest.mark.real
    def test_pandalm(self, real_data):
        # published-numbers I6 and the README of the data: .8520 .8789 .8617, Fleiss .8642
        rows = pd.DataFrame(json.loads((real_data / "pandalm_human_judge" / "testset-v1.json").read_text()))
        labels = rows[["annotator1", "annotator2", "annotator3"]].to_numpy()
        pairs = [cohen(rating_table(labels[:, i], labels[:, j])[1]) for i, j in ((0, 1), (0, 2), (1, 2))]
        assert [one.coefficient for one in pairs] == pytest.approx([0.8520, 0.8789, 0.8617], abs=5e-5)
        several = fleiss_kappa(rating_counts(labels)[1], level=0.95)
        assert several.coefficient == pytest.approx(0.8642, abs=5e-5)
        assert several.n == 999
        assert several.low < min(one.coefficient for one in pairs)

    @pytest.mark.real
    @pytest.mark.parametrize(
        ("system", "kappa"),
        [("llama2orig", 0.9293), ("llama2new", 0.9258), ("mistralinstruct", 0.9195), ("mistralguard", 0.8923)],
    )
    def test_xstest(self, real_data, system, kappa):
        rows = pd.read_csv(real_data / "xstest_human_labels" / f"xstest_v2_completions_{system}.csv")
        table = rating_table(rows["annotation_1"].to_numpy(), rows["annotation_2"].to_numpy())[1]
        one = cohen(table)
        assert one.coefficient == pytest.approx(kappa, abs=5e-5)
        assert one.se == pytest.approx(cohens_kappa(table).std_kappa)
