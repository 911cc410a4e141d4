"""Means over items that were attempted several times: what items and attempts add to the variance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from analysis.stats.checks import checked_probability
from analysis.stats.clusters import FLAT, Floats, Names, checked_groups


@dataclass(frozen=True)
class NestedMean:
    """A mean over items with several attempts each, or the mean of paired differences of two versions.

    Attributes
    ----------
    n
        Items, each with the same weight whatever its attempts.
    attempts
        Attempts in all; of a difference, of both versions.
    mean, se
        Mean of the items' means or differences and its standard error, √((ω² + Σ σ²/K)/n).
    low, high
        t interval with n − 1 degrees of freedom; None with ``reason`` when no two items differ.
    omega2
        ω², variance over items of the expected score or difference, what more attempts do not reduce. Without bias,
        hence below 0 when the items differ less than their attempts explain. None with ``reason`` when no item of
        a version has two attempts: only the sum of the components is then known.
    noise
        σ²/K summed over the versions: the rest of the variance of an item's mean or difference. None as ``omega2``.
    sigma2
        σ² of every version, mean over items of the variance of one attempt; None where no item has two.
    item_values
        Shape (items,), means or differences in the order of the sorted item names, what `clustered_mean` takes.
    reason
        Why a number is missing; None when none is.
    """

    n: int
    attempts: int
    mean: float
    se: float
    low: float | None
    high: float | None
    omega2: float | None
    noise: float | None
    sigma2: tuple[float | None, ...]
    item_values: Floats
    reason: str | None


def nested_mean(values: ArrayLike, items: ArrayLike, *, level: float) -> NestedMean:
    """Mean of items with one or several attempts each, and what items and attempts add to its variance.

    Parameters
    ----------
    values, items
        Shape (attempts,), finite scores and the item of every attempt; items may differ in their number.
    level
        Confidence level in (0, 1).

    Returns
    -------
    NestedMean

    Raises
    ------
    ValueError
        Fewer than two items, scores that are not finite, or items with gaps or of another length.

    Notes
    -----
    Miller (2024, arXiv 2411.00640). The variance of the items' means estimates ω² + σ²/K whatever the
    numbers of attempts; an item attempted once takes its σ² from the mean of the others.

    Examples
    --------
    >>> found = nested_mean([1, 1, 0, 1, 0, 0, 0, 0], [0, 0, 1, 1, 2, 2, 3, 3], level=0.95)
    >>> found.mean, round(found.se, 4), found.sigma2, found.noise, round(found.omega2, 4)
    (0.375, 0.2394, (0.125,), 0.0625, 0.1667)
    """
    _, means, counts, noise, sigma2 = _by_item(values, items)
    return _nested(means, int(counts.sum()), [noise], [sigma2], level)


def nested_difference(
    baseline: ArrayLike,
    baseline_items: ArrayLike,
    candidate: ArrayLike,
    candidate_items: ArrayLike,
    *,
    level: float,
) -> NestedMean:
    """Mean paired difference candidate − baseline over items attempted any number of times by either version.

    Parameters
    ----------
    baseline, baseline_items, candidate, candidate_items
        Scores and items as in `nested_mean`, of one version each; both versions need the same items.
    level
        Confidence level in (0, 1).

    Returns
    -------
    NestedMean
        Of the differences; ``sigma2`` has the baseline's first.

    Raises
    ------
    ValueError
        As in `nested_mean`, or items that only one version has.

    Notes
    -----
    Miller (2024): ω² + σ_A²/K_A + σ_B²/K_B over n. The standard error holds in any case; its components
    take the attempts of the two versions at an item as independent.

    Examples
    --------
    >>> found = nested_difference([1, 0, 0, 0], [0, 1, 2, 3], [1, 1, 1, 0, 1, 0], [0, 1, 1, 2, 2, 3], level=0.95)
    >>> found.mean, round(found.se, 4), found.sigma2, found.omega2 is None
    (0.375, 0.2394, (None, 0.25), True)
    """
    names, first, first_counts, first_noise, first_sigma2 = _by_item(baseline, baseline_items)
    others, second, second_counts, second_noise, second_sigma2 = _by_item(candidate, candidate_items)
    if names.size != others.size or (names != others).any():
        alone = np.setxor1d(names, others)
        raise ValueError(f"{alone.size} items are in one version only, such as {alone[0]}: give the same items of both")
    attempts = int(first_counts.sum() + second_counts.sum())
    return _nested(second - first, attempts, [first_noise, second_noise], [first_sigma2, second_sigma2], level)


def _nested(
    values: Floats, attempts: int, noise: list[float | None], sigma2: list[float | None], level: float
) -> NestedMean:
    n, mean = values.size, float(values.mean())
    if n < 2:
        raise ValueError(f"{n} item: give at least two")
    flat = float(np.ptp(values)) <= FLAT * float(np.abs(values).max())
    variance = 0.0 if flat else float(values.var(ddof=1))
    reach = float(stdtrit(n - 1, (1 + checked_probability("level", level)) / 2)) * math.sqrt(variance / n)
    known = [part for part in noise if part is not None]
    total = sum(known) if len(known) == len(noise) else None
    reasons = ["no two items differ: an interval of no width would claim to know the mean exactly"] if flat else []
    if total is None:
        reasons.append("no item of a version has two attempts: the variance of an attempt cannot be told apart")
    return NestedMean(
        n=n,
        attempts=attempts,
        mean=mean,
        se=math.sqrt(variance / n),
        low=None if flat else mean - reach,
        high=None if flat else mean + reach,
        omega2=None if total is None else variance - total,
        noise=total,
        sigma2=tuple(sigma2),
        item_values=values,
        reason="; ".join(reasons) or None,
    )


def _by_item(values: ArrayLike, items: ArrayLike) -> tuple[Names, Floats, Floats, float | None, float | None]:
    """Item names, means and attempts, the mean of σ²/K over items and that of σ²; None without two attempts."""
    sample, names, codes = checked_groups(values, items, "items")
    counts = np.bincount(codes).astype(np.float64)
    means = np.bincount(codes, sample) / counts
    squares = np.bincount(codes, (sample - means[codes]) ** 2)
    repeated = counts > 1
    if not repeated.any():
        return names, means, counts, None, None
    within = squares / np.maximum(counts - 1, 1)
    sigma2 = float(within[repeated].mean())
    return names, means, counts, float((np.where(repeated, within, sigma2) / counts).mean()), sigma2
