"""The law of the flags when versions are mere labels, and of two halves of one version.

k of n samples of an item are correct in a version; a change is candidate − baseline. Given the total s = k₁ + k₂, a
relabelled baseline count is hypergeometric, so no permutation has to be drawn for counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.binomial import TIE
from analysis.stats.change import direction_of
from analysis.stats.checks import checked_counts, checked_probability, checked_whole
from analysis.stats.draws import Stream, raw_words
from analysis.stats.item_counts import CELLS, checked_graded, distinct_totals, split_law
from analysis.stats.item_tests import ItemTest, change_tests

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

REACH = 12  # standard deviations of the flagged count on either side; beyond lies under 1e-30


@dataclass(frozen=True)
class FlagNull:
    """Flagged items when every item's samples are dealt to the versions at random.

    Attributes
    ----------
    n_items
        Items, independent of each other.
    improved, deteriorated
        Expected items per class.
    mean, variance
        Of the number of flagged items, improved or deteriorated.
    probability, sizes
        Shape (groups,), flag probabilities and the number of items that have them.
    """

    n_items: int
    improved: float
    deteriorated: float
    mean: float
    variance: float
    probability: Floats
    sizes: Whole


def relabelling_null(
    k_baseline: ArrayLike,
    n_baseline: ArrayLike,
    k_candidate: ArrayLike,
    n_candidate: ArrayLike,
    *,
    s_diff: float,
    cut: float = 1.96,
) -> FlagNull:
    """Items that the reliable change index flags when versions are mere labels of the samples, exactly.

    Parameters
    ----------
    k_baseline, n_baseline, k_candidate, n_candidate
        Shape (items,), as in `change_tests`; the samples may differ between items and versions.
    s_diff, cut
        Standard error of a difference in shares, and the cut, as in `reliable_change`; both stay as they are,
        so that the null is about this rule.

    Returns
    -------
    FlagNull

    Raises
    ------
    ValueError
        Counts that are not whole or do not fit, or a standard error or cut that is not positive.

    Notes
    -----
    Given s of n₁ + n₂ samples correct, the baseline has Hypergeometric(n₁ + n₂, s, n₁). To swap the versions of an
    item instead leaves the size of its change as it is and tests nothing about noise. An item that did change has
    its total in the middle, where noise is largest: this expects more flags than noise alone gives, so what is seen
    beyond it is change. The time depends on distinct totals only.

    Examples
    --------
    >>> null = relabelling_null([5, 0, 10], 10, [7, 0, 1], 10, s_diff=0.106)
    >>> round(null.mean, 4), round(null.variance, 4)
    (0.5397, 0.374)
    """
    groups, sizes = distinct_totals(k_baseline, n_baseline, k_candidate, n_candidate)
    law = split_law(*groups)
    direction = relabelled_by_index(*groups, threshold=checked_threshold(s_diff, cut))
    return _null((law * (direction > 0)).sum(axis=1), (law * (direction < 0)).sum(axis=1), sizes)


def relabelled_tests_null(
    k_baseline: ArrayLike,
    n_baseline: ArrayLike,
    k_candidate: ArrayLike,
    n_candidate: ArrayLike,
    *,
    test: ItemTest,
    level: float,
) -> FlagNull:
    """Items whose test reaches a level when versions are mere labels of the samples, exactly.

    Parameters
    ----------
    k_baseline, n_baseline, k_candidate, n_candidate, test
        As in `change_tests`.
    level
        Of one test, a probability: for a family, the largest p-value that was rejected in it.

    Returns
    -------
    FlagNull

    Raises
    ------
    ValueError
        As in `change_tests`, or a level outside (0, 1).

    Examples
    --------
    >>> round(relabelled_tests_null([5, 0, 10], 10, [7, 0, 1], 10, test="fisher", level=0.05).mean, 4)
    0.0252
    """
    groups, sizes = distinct_totals(k_baseline, n_baseline, k_candidate, n_candidate)
    law = split_law(*groups)
    direction = relabelled_by_test(*groups, test=test, level=level)
    return _null((law * (direction > 0)).sum(axis=1), (law * (direction < 0)).sum(axis=1), sizes)


def half_sample_null(k: ArrayLike, n: ArrayLike, *, s_diff: float, cut: float = 1.96) -> FlagNull:
    """Items that the same rule flags between two random halves of one version's samples: no change at all.

    Parameters
    ----------
    k, n
        Shape (items,), correct and all samples, ``n >= 2``; an odd sample goes to the second half.
    s_diff, cut
        As in `relabelling_null`. A half has half of the samples: √2 ``s_diff`` makes up for it on average, though not on
        the lattice of few samples, and the same ``s_diff`` flags more.

    Returns
    -------
    FlagNull

    Raises
    ------
    ValueError
        As in `relabelling_null`, or fewer than two samples.

    Examples
    --------
    >>> half_sample_null([5, 10], 10, s_diff=0.106).mean
    0.2...
    """
    return relabelling_null(*halved(k, n), s_diff=s_diff, cut=cut)


def halved(k: ArrayLike, n: ArrayLike) -> tuple[Whole, Whole, Whole, Whole]:
    """One version's samples as those of two versions, for a null: any split of them has the same law.

    Parameters and errors as in `half_sample_null`.

    Returns
    -------
    tuple of ndarray
        Counts and samples of both halves, in the order of `relabelling_null`.

    Examples
    --------
    >>> [part.tolist() for part in halved([3, 1], 5)]
    [[2, 1], [2, 2], [1, 0], [3, 3]]
    """
    correct, samples = checked_counts(k, n, least=2)
    first = samples // 2
    taken = np.minimum(correct, first)
    return taken, first, correct - taken, samples - first


def graded_relabelling_null(
    baseline: ArrayLike, candidate: ArrayLike, *, s_diff: float, n_permutations: int, rng: Stream, cut: float = 1.96
) -> FlagNull:
    """`relabelling_null` for graded scores: the same permutations of the samples for all items.

    Parameters
    ----------
    baseline, candidate
        Shapes (items, n₁) and (items, n₂), scores in one unit, none missing.
    s_diff, cut
        As in `relabelling_null`, in the unit of the scores.
    n_permutations
        Permutations, at least 1; more of them leave the first ones as they were.
    rng
        Generator or bit generator.

    Returns
    -------
    FlagNull
        Estimated flag probabilities; the variance is that of items permuted independently of each other.

    Raises
    ------
    ValueError
        Scores missing or infinite, different numbers of items, or an argument out of range.

    Examples
    --------
    >>> scores = [[0.1, 0.2, 0.3], [0.5, 0.5, 0.5]]
    >>> graded_relabelling_null(scores, scores, s_diff=0.2, n_permutations=100, rng=np.random.PCG64(1)).mean
    0.0
    """
    first, second = checked_graded(baseline), checked_graded(candidate)
    if first.shape[0] != second.shape[0]:
        raise ValueError(f"{first.shape[0]} and {second.shape[0]} items: give the same items of both versions")
    scores = np.concatenate([first, second], axis=1)
    if np.isnan(scores).any():
        raise ValueError("a score is missing: permutations need the same samples of every item")
    n1, n = first.shape[1], scores.shape[1]
    draws = int(checked_whole("n_permutations", n_permutations, least=1))
    place = np.argsort(raw_words(rng, draws * n).reshape(draws, n), axis=1, kind="stable")
    weight = np.where(place < n1, -1 / n1, 1 / (n - n1)).T
    threshold = checked_threshold(s_diff, cut) * (1 + TIE) + 1e-12 * float(np.abs(scores).max())
    up, down = np.empty(scores.shape[0]), np.empty(scores.shape[0])
    step = max(1, CELLS // draws)
    for start in range(0, scores.shape[0], step):
        rows = slice(start, start + step)
        delta = scores[rows] @ weight
        up[rows], down[rows] = (delta > threshold).mean(axis=1), (delta < -threshold).mean(axis=1)
    return _null(up, down, np.ones(up.size, dtype=np.int64))


def flag_law(null: FlagNull) -> tuple[Whole, Floats]:
    """Law of the number of flagged items: a sum of independent binomials, by the discrete Fourier transform.

    Parameters
    ----------
    null
        From `relabelling_null` or its likes.

    Returns
    -------
    tuple of ndarray
        Shape (m,) each: counts one after another, and their probabilities, which sum to 1; what lies outside
        is not listed. ``probability[counts >= seen].sum()`` is a p-value.

    Notes
    -----
    Hong (2013, Comput. Stat. Data Anal. 59:41), on 12 standard deviations around the mean only, so that the time
    does not grow with the items. Absolute error about 1e-16 times the number of items.

    Examples
    --------
    >>> counts, probability = flag_law(half_sample_null([5, 5], 10, s_diff=0.2))
    >>> counts[:3].tolist(), probability[:3].round(4).tolist()
    ([0, 1, 2], [0.6299, 0.3275, 0.0426])
    """
    reach = math.ceil(REACH * math.sqrt(null.variance)) + 60
    first = max(0, math.floor(null.mean) - reach)
    size = min(null.n_items - first + 1, 2 * reach + 1)
    angle = 2 * np.pi * np.arange(size // 2 + 1) / size
    turn = np.exp(1j * angle)
    size_log, phase = np.zeros(angle.size), -first * angle
    with np.errstate(divide="ignore"):
        for q, m in zip(null.probability, null.sizes, strict=True):
            factor = 1 + q * (turn - 1)
            size_log += m * np.log(np.abs(factor))
            phase += m * np.angle(factor)
    law = np.fft.irfft(np.exp(size_log) * np.exp(-1j * phase), size)
    return np.arange(first, first + size), np.clip(law, 0.0, 1.0)


def relabelled_by_index(s: Whole, n1: Whole, n2: Whole, *, threshold: float) -> NDArray[np.int8]:
    """Class of the change for every baseline count a, shape of `split_law`."""
    a = np.arange(int(n1.max()) + 1)
    return direction_of((s[:, None] - a) / n2[:, None] - a / n1[:, None], threshold=threshold)


def relabelled_by_test(s: Whole, n1: Whole, n2: Whole, *, test: ItemTest, level: float) -> NDArray[np.int8]:
    """Class of the change by the test at a level for every baseline count a, shape of `split_law`; 0 where impossible."""
    a = np.arange(int(n1.max()) + 1)
    rest = s[:, None] - a
    possible = (a <= n1[:, None]) & (rest >= 0) & (rest <= n2[:, None])
    k1, k2 = np.broadcast_to(a, rest.shape)[possible], rest[possible]
    m1, m2 = (np.broadcast_to(n[:, None], rest.shape)[possible] for n in (n1, n2))
    reached = change_tests(k1, m1, k2, m2, test=test) <= checked_probability("level", level) * (1 + TIE)
    direction = np.zeros(rest.shape, dtype=np.int8)
    direction[possible] = np.sign(k2 * m1 - k1 * m2) * reached
    return direction


def _null(up: Floats, down: Floats, sizes: Whole) -> FlagNull:
    flagged = np.minimum(up + down, 1.0)  # the sum of a law may pass 1 in its last digit
    return FlagNull(
        n_items=int(sizes.sum()),
        improved=float(up @ sizes),
        deteriorated=float(down @ sizes),
        mean=float(flagged @ sizes),
        variance=float((flagged * (1 - flagged)) @ sizes),
        probability=flagged,
        sizes=sizes,
    )


def checked_threshold(s_diff: float, cut: float) -> float:
    """The smallest change that the index does not flag."""
    for name, value in (("s_diff", s_diff), ("cut", cut)):
        if not 0 < value < math.inf:
            raise ValueError(f"{name} = {value!r}: give a positive number")
    return s_diff * cut
