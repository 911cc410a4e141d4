"""How well raters agree beyond chance: kappa of two raters, of several, and intervals that do not collapse.

A table of two raters counts items by the first rater's category (rows) and the second's (columns); a table of
several raters counts, per item (rows), the raters that chose a category (columns).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from analysis.stats.binomial import clopper_pearson_lower, wilson
from analysis.stats.checks import checked_probability, checked_whole
from analysis.stats.clusters import checked_labels

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Names = NDArray[np.generic]
Weights = Literal["identity", "linear", "quadratic"]
Scale = Literal["log", "linear"]

FLAT = 1e-12
ALL_AGREE = (
    "the raters agree on every item: the standard error is 0 and says nothing; the lower end is where the share of "
    "disagreements reaches its exact binomial limit"
)
ONE_CATEGORY = "every label is of one category: agreement by chance is certain, kappa is not defined"
ONE_SIDED = "the labels vary too little to estimate an error: a rater used one category, or all items look alike"


@dataclass(frozen=True)
class Agreement:
    """A coefficient of agreement beyond chance.

    Attributes
    ----------
    n
        Items.
    observed, expected
        Agreement seen, and that of independent raters with the same habits: probabilities, weighted if asked.
    coefficient
        (observed − expected)/(1 − expected), at most 1; None with ``reason`` when every label is the same.
    se
        Large-sample standard error of the coefficient; None with ``reason`` when it cannot be estimated.
    low, high
        Ends of the interval; None with ``reason`` when there is no error to build it on.
    reason
        Why a number is missing or the interval is of another kind; None otherwise.
    """

    n: int
    observed: float
    expected: float
    coefficient: float | None
    se: float | None
    low: float | None
    high: float | None
    reason: str | None


def rating_table(first: ArrayLike, second: ArrayLike) -> tuple[Names, Counts]:
    """Categories and the table of two raters' labels of the same items.

    Parameters
    ----------
    first, second
        Shape (items,), labels of any one type, an item per place.

    Returns
    -------
    tuple of ndarray
        Sorted categories that either rater used, shape (k,), and counts, shape (k, k).

    Raises
    ------
    ValueError
        No labels, labels of different shapes, or a missing one.

    Examples
    --------
    >>> names, table = rating_table(["a", "b", "b"], ["a", "a", "b"])
    >>> names.tolist(), table.tolist()
    (['a', 'b'], [[1, 0], [1, 1]])
    """
    one, two = np.asarray(first), np.asarray(second)
    if one.ndim != 1 or one.shape != two.shape or not one.size:
        raise ValueError(f"labels of shapes {one.shape} and {two.shape}: give one dimension, an item per place")
    labels, gaps = checked_labels(np.concatenate([one, two]))
    if gaps.any():
        place = int(gaps.argmax()) % one.size
        raise ValueError(f"item {place} lacks a label: leave out items that a rater did not label")
    names, codes = np.unique(labels, return_inverse=True)
    k = names.size
    return names, np.bincount(codes[: one.size] * k + codes[one.size :], minlength=k * k).reshape(k, k)


def rating_counts(ratings: ArrayLike) -> tuple[Names, Counts]:
    """Categories and the table of several raters' labels: per item the raters of every category.

    Parameters
    ----------
    ratings
        Shape (items, raters), labels of one type; None or NaN where a rater did not label an item.

    Returns
    -------
    tuple of ndarray
        Sorted categories, shape (k,), and counts, shape (items, k).

    Raises
    ------
    ValueError
        Not two dimensions, or no label at all.

    Examples
    --------
    >>> names, counts = rating_counts([[1, 1, 2], [2, 2, float("nan")]])
    >>> names.tolist(), counts.tolist()
    ([1.0, 2.0], [[2, 1], [0, 2]])
    """
    labels, gaps = checked_labels(ratings)
    if labels.ndim != 2 or gaps.all():
        raise ValueError(f"ratings of shape {labels.shape}: give items and raters, and at least one label")
    names, codes = np.unique(labels[~gaps], return_inverse=True)
    k, rows = names.size, np.nonzero(~gaps)[0]
    return names, np.bincount(rows * k + codes, minlength=labels.shape[0] * k).reshape(-1, k)


def percent_agreement(table: ArrayLike, *, level: float) -> tuple[float, float, float]:
    """Share of items on which two raters agree, with its Wilson interval; it ignores agreement by chance.

    Parameters
    ----------
    table
        Shape (k, k), items by the two raters' categories.
    level
        Confidence level in (0, 1).

    Returns
    -------
    tuple of float
        Share, lower and upper end, probabilities.

    Raises
    ------
    ValueError
        A table that is not square or has no item, or a level outside (0, 1).

    Examples
    --------
    >>> [round(value, 3) for value in percent_agreement([[20, 5], [10, 15]], level=0.95)]
    [0.7, 0.562, 0.809]
    """
    counts = _checked_square(table)
    agreed, n = int(np.trace(counts)), int(counts.sum())
    return agreed / n, *wilson(agreed, n, level=level)


def cohen_kappa(
    table: ArrayLike, *, level: float, weights: Weights | ArrayLike = "identity", scale: Scale = "log"
) -> Agreement:
    """Cohen's kappa of two raters, plain or weighted, with its large-sample interval.

    Parameters
    ----------
    table
        Shape (k, k), items by the first rater's category and the second's, in the same order.
    level
        Confidence level in (0, 1).
    weights
        ``identity`` counts every disagreement alike; ``linear`` and ``quadratic`` by the distance of the categories
        or its square; or an array of shape (k, k), the cost of every disagreement, 0 on the diagonal.
    scale
        ``log``: the interval is symmetric in log(1 − kappa) and stays under 1; ``linear``: kappa ± z · SE.

    Returns
    -------
    Agreement
        At perfect agreement the interval is (1 − u/(1 − expected), 1) with u the exact binomial upper limit of the
        share of disagreements, and ``reason`` says so.

    Raises
    ------
    ValueError
        A table that is not square, of one category or empty, weights that do not fit, or a level outside (0, 1).

    Notes
    -----
    Cohen (1960, Educ. Psychol. Meas. 20:37; 1968, Psychol. Bull. 70:213); the standard error is that of Fleiss,
    Cohen and Everitt (1969, Psychol. Bull. 72:323). Of 150 items the logarithmic interval covers .94 to .96 and the
    linear one .88 to .95; with about ten items in the rarer category and kappa under .5 both cover too little, .82 at
    kappa .2 (tests/calibration/pairs.md).

    Examples
    --------
    >>> found = cohen_kappa([[20, 5], [10, 15]], level=0.95)
    >>> round(found.coefficient, 3), round(found.se, 3), round(found.low, 3), round(found.high, 3)
    (0.4, 0.127, 0.092, 0.604)
    """
    counts = _checked_square(table)
    n = int(counts.sum())
    p = counts / n
    w = _agreement_weights(counts.shape[0], weights)
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    observed, expected = float((w * p).sum()), float(rows @ w @ columns)
    spread = w * (1 - expected) - ((w @ columns)[:, None] + rows @ w) * (1 - observed)
    variance = float((p * spread**2).sum()) - (observed * expected - 2 * expected + observed) ** 2
    z = float(ndtri((1 + checked_probability("level", level)) / 2))
    return _result(n, observed, expected, variance / n / max(1 - expected, FLAT) ** 4, z, level, scale)


def fleiss_kappa(counts: ArrayLike, *, level: float, scale: Scale = "log") -> Agreement:
    """Fleiss' kappa of two or more raters, who need not be the same for every item, with its interval.

    Parameters
    ----------
    counts
        Shape (items, k), raters of every category per item, as `rating_counts` returns it. Raters per item may
        differ; items with one label count for the categories' shares only, items with none not at all.
    level
        Confidence level in (0, 1).
    scale
        As in `cohen_kappa`, with the t quantile of items − 1 degrees of freedom.

    Returns
    -------
    Agreement
        At perfect agreement as in `cohen_kappa`, with u of the items that are not unanimous.

    Raises
    ------
    ValueError
        Counts that are not whole, fewer than two items with two labels, or a level outside (0, 1).

    Notes
    -----
    Fleiss (1971, Psychol. Bull. 76:378); the standard error, not that of the hypothesis kappa = 0, is the linearised
    one of Gwet (2021, Educ. Psychol. Meas. 81:781). It is over items: other raters are another question.

    Examples
    --------
    >>> found = fleiss_kappa([[3, 0], [0, 3], [2, 1], [3, 0], [0, 3], [1, 2]], level=0.95)
    >>> round(found.coefficient, 3), round(found.se, 3)
    (0.556, 0.281)
    """
    return _several(counts, level, scale, "fleiss")


def gwet_ac1(counts: ArrayLike, *, level: float, scale: Scale = "log") -> Agreement:
    """Gwet's AC1, which stays near the observed agreement where one category is rare and kappa falls.

    Parameters, results and errors as in `fleiss_kappa`.

    Notes
    -----
    Gwet (2008, Br. J. Math. Stat. Psychol. 61:29): chance agrees with probability Σ π(1 − π)/(k − 1).

    Examples
    --------
    >>> rare = [[3, 0]] * 17 + [[2, 1]] * 3
    >>> round(gwet_ac1(rare, level=0.95).coefficient, 2), round(fleiss_kappa(rare, level=0.95).coefficient, 2)
    (0.89, -0.05)
    """
    return _several(counts, level, scale, "ac1")


def _several(counts: ArrayLike, level: float, scale: Scale, chance: Literal["fleiss", "ac1"]) -> Agreement:
    table = checked_whole("counts", counts, least=0)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError(f"counts of shape {table.shape}: give items and at least two categories")
    table = table[table.sum(axis=1) > 0]
    raters = table.sum(axis=1)
    paired = raters > 1
    n, m = raters.size, int(paired.sum())
    if m < 2:
        raise ValueError(f"{m} items with two labels or more: give at least two")
    shares = table / raters[:, None]
    seen = np.where(paired, (table * (table - 1)).sum(axis=1) / np.maximum(raters * (raters - 1), 1), 0.0)
    category = shares.mean(axis=0)
    toward = category if chance == "fleiss" else (1 - category) / (category.size - 1)
    observed, expected = float(seen.sum()) / m, float(category @ toward)
    rest = max(1 - expected, FLAT)
    coefficient = (observed - expected) / rest
    part = n / m * (seen - expected * paired) / rest
    part = part - 2 * (1 - coefficient) * (shares @ toward - expected) / rest
    variance = float(((part - coefficient) ** 2).sum()) / (n * (n - 1))
    t = float(stdtrit(n - 1, (1 + checked_probability("level", level)) / 2))
    return _result(m, observed, expected, variance, t, level, scale)


def _result(
    n: int, observed: float, expected: float, variance: float, quantile: float, level: float, scale: Scale
) -> Agreement:
    """The coefficient with its interval, and what stands in for it where the standard error is 0."""
    if scale not in ("log", "linear"):
        raise ValueError(f"scale = {scale!r}: give log or linear")
    if 1 - expected <= FLAT:
        return Agreement(n, observed, expected, None, None, None, None, ONE_CATEGORY)
    coefficient = (observed - expected) / (1 - expected)
    rest = 1 - coefficient
    if 1 - observed <= FLAT:
        most = 1 - clopper_pearson_lower(n, n, delta=(1 - level) / 2)
        return Agreement(n, 1.0, expected, 1.0, None, 1 - most / (1 - expected), 1.0, ALL_AGREE)
    if variance <= FLAT:
        return Agreement(n, observed, expected, coefficient, None, None, None, ONE_SIDED)
    se = math.sqrt(variance)
    if scale == "linear":
        low, high = coefficient - quantile * se, coefficient + quantile * se
    else:
        factor = math.exp(quantile * se / rest)
        low, high = 1 - rest * factor, 1 - rest / factor
    return Agreement(n, observed, expected, coefficient, se, max(low, -1.0), min(high, 1.0), None)


def _agreement_weights(k: int, weights: Weights | ArrayLike) -> Floats:
    """Agreement per pair of categories, 1 on the diagonal, 0 for the worst disagreement."""
    if isinstance(weights, str):
        powers = {"identity": 0, "linear": 1, "quadratic": 2}
        if weights not in powers:
            raise ValueError(f"weights = {weights!r}: give identity, linear, quadratic or an array of costs")
        gap = np.abs(np.subtract.outer(np.arange(k), np.arange(k))).astype(np.float64)
        cost = np.where(gap > 0, gap ** powers[weights], 0.0)
    else:
        cost = np.asarray(weights, dtype=np.float64)
        if cost.shape != (k, k) or not (np.isfinite(cost) & (cost >= 0)).all() or np.diag(cost).any() or not cost.any():
            raise ValueError(
                f"weights of shape {cost.shape}: give the costs of {k} by {k} disagreements, 0 or more, 0 on the diagonal"
            )
    return np.asarray(1 - cost / cost.max())


def _checked_square(table: ArrayLike) -> Counts:
    counts = checked_whole("table", table, least=0)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or counts.shape[0] < 2 or not counts.any():
        raise ValueError(
            f"table of shape {counts.shape} with {counts.sum()} items: give the same categories, two or more, in rows "
            "and columns, and at least one item"
        )
    return counts
