"""Held-out validation against a plain double loop on the same permutations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.stats import RULES, hold_out, in_sample, keyed_stream, permutations, release_supported

TENTH = {"budget": 0.1, "delta": 0.1}
LCL = RULES.index("bootstrap_lcl")


def mixture(n, rate, level, *, seed, spread=0.02, missing=0):
    rng = np.random.default_rng(seed)
    scores = np.where(rng.random(n) < rate, 0.5, level) + spread * rng.standard_normal(n)
    scores[:missing] = np.nan
    return scores


def mark(scores, tau):
    return ~(scores >= tau)


def plain_rules(scores, failed, tau, rng, draws):
    """The five rules as a reader would write them, one audit at a time."""
    seen = scores[~np.isnan(scores)]
    ships = [False, False, False, False, release_supported(int(failed.sum()), failed.size, **TENTH)]
    near = 1e-12
    if seen.size:
        ships[0] = seen.mean() >= tau - near
        ships[1] = np.median(seen) >= tau - near
        means = seen[rng.integers(0, seen.size, (draws, seen.size))].mean(axis=1)
        ships[2] = np.mean(means < tau - near) <= 0.1
    if seen.size > 1:
        ships[3] = seen.mean() - 2 * seen.std(ddof=1) >= tau - near
    return ships


CELLS = {
    "collapsing": mixture(59, 0.19, 0.968, seed=1),
    "near the bar": mixture(59, 0.0, 0.71, seed=2),
    "two modes": mixture(59, 0.3, 0.78, seed=3, spread=0.004),
    "missing": mixture(40, 0.1, 0.8, seed=4, missing=5),
    "lattice": np.round(mixture(30, 0.2, 0.75, seed=5), 1),
    "at the bar": np.full(24, 0.7),
    "under the bar": np.full(24, 0.6),
    "no score": np.full(24, np.nan),
}


@pytest.mark.parametrize("name", CELLS)
def test_plain_double_loop(name):
    tau, scores = 0.7, np.sort(CELLS[name])
    failed, n = mark(scores, tau), scores.size
    sizes, splits, audit = [1, 2, 5, 8, n // 2, n], 120, n // 2
    found = hold_out(
        scores,
        failed,
        tau=tau,
        **TENTH,
        audit_size=audit,
        sizes=sizes,
        splits=splits,
        stream=keyed_stream(0, name),
    )
    order = permutations(keyed_stream(0, name), splits, n)
    rng = np.random.default_rng(0)
    exact = [i for i in range(5) if i != LCL]
    for column, size in enumerate([*sizes, audit]):
        plain = np.array([plain_rules(scores[p[:size]], failed[p[:size]], tau, rng, 2000) for p in order])
        share = found.ships.mean(axis=0) if column == len(sizes) else found.evidence[column]
        np.testing.assert_allclose(share[exact], plain.mean(axis=0)[exact], atol=1e-12)
        # 2,000 draws decide close calls by chance; sizes under five have too few draws for a normal law
        assert share[LCL] == pytest.approx(plain[:, LCL].mean(), abs=0.05 if size >= 5 else 0.12)
        if column == len(sizes):
            np.testing.assert_array_equal(found.ships[:, exact], plain[:, exact])
    np.testing.assert_array_equal(found.failures, [failed[p[audit:]].sum() for p in order])
    assert found.n_held_out == n - audit


def run(scores, *, stream, splits=200, failed=None, tau=0.7):
    failed = mark(scores, tau) if failed is None else failed
    return hold_out(scores, failed, tau=tau, **TENTH, audit_size=30, sizes=[10, 22, 40], splits=splits, stream=stream)


def same(one, two):
    np.testing.assert_array_equal(one.ships, two.ships)
    np.testing.assert_array_equal(one.failures, two.failures)
    np.testing.assert_array_equal(one.evidence, two.evidence)


@given(st.randoms())
@settings(max_examples=10, deadline=None)
def test_row_order_does_not_matter(random):
    scores = mixture(59, 0.19, 0.9, seed=1, missing=3)
    failed = mark(scores, 0.7)
    failed[50] = True  # crashed after its score was written
    rows = list(range(59))
    random.shuffle(rows)
    same(
        run(scores, failed=failed, stream=keyed_stream(0, "c")),
        run(scores[rows], failed=failed[rows], stream=keyed_stream(0, "c")),
    )


def test_same_seed_twice_and_another_cell_between():
    scores = CELLS["collapsing"]
    alone = run(scores, stream=keyed_stream(0, "c"))
    run(CELLS["two modes"], stream=keyed_stream(0, "another"))
    same(alone, run(scores, stream=keyed_stream(0, "c")))
    assert not np.array_equal(alone.failures, run(scores, stream=keyed_stream(1, "c")).failures)


def test_more_splits_keep_the_first():
    scores = CELLS["collapsing"]
    few, many = (run(scores, stream=keyed_stream(0, "c"), splits=splits) for splits in (50, 400))
    np.testing.assert_array_equal(few.ships, many.ships[:50])
    np.testing.assert_array_equal(few.failures, many.failures[:50])


def test_unit_of_the_scores_does_not_matter():
    scores = CELLS["collapsing"]
    points = run(100 * scores, stream=keyed_stream(0, "c"), tau=70.0, failed=mark(scores, 0.7))
    same(run(scores, stream=keyed_stream(0, "c")), points)


def test_in_sample():
    for scores in CELLS.values():
        failed = mark(scores, 0.7)
        plain = plain_rules(scores, failed, 0.7, np.random.default_rng(0), 20_000)
        assert in_sample(scores, failed, tau=0.7, **TENTH).tolist() == plain


def test_first_figure_of_the_paper():
    # study-1 section A: RoBERTa-large n = 2000, k = 11 of 59: mean .884 ships at tau = .70, the card does not
    scores = np.array([0.5] * 11 + [0.97] * 48)
    shipped = dict(zip(RULES, in_sample(scores, scores < 0.7, tau=0.7, **TENTH), strict=True))
    assert scores.mean() == pytest.approx(0.884, abs=0.003)
    assert shipped["mean"]
    assert not shipped["card"]


def test_a_card_without_failures_needs_the_floor():
    scores = np.full(40, 0.9)
    at = hold_out(
        scores,
        scores < 0.7,
        tau=0.7,
        **TENTH,
        audit_size=21,
        sizes=[21, 22],
        splits=3,
        stream=keyed_stream(0),
    )
    assert at.evidence[:, RULES.index("card")].tolist() == [0, 1]
    assert not at.ships[:, RULES.index("card")].any()


def test_refusals():
    scores, good = np.array([0.5, 0.9, 0.8]), np.array([True, False, False])
    call = {"tau": 0.7, **TENTH, "audit_size": 2, "sizes": [1], "splits": 5, "stream": keyed_stream(0)}
    for wrong, shown in (
        ({"audit_size": 3}, "audit_size = 3 of 3 runs"),
        ({"sizes": [4]}, r"sizes = \[4\] of 3 runs"),
        ({"splits": 0}, "n_splits = 0"),
        ({"tau": float("inf")}, "tau = inf"),
        ({"tau": 0.85}, "score 0.8 at tau = 0.85 is not marked"),
        ({"budget": 0.0}, "budget = 0.0"),
    ):
        with pytest.raises(ValueError, match=shown):
            hold_out(scores, good, **(call | wrong))
    with pytest.raises(ValueError, match="one score and one boolean"):
        in_sample(scores, good[:2], tau=0.7, **TENTH)
