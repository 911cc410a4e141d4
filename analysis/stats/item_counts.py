"""Counts of correct samples of an item in two versions: their checks, and their law given the total."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln

from analysis.stats.checks import checked_counts

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

CELLS = 4_000_000  # numbers at a time


def checked_pairs(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> Whole:
    """Counts of both versions as rows k₁, n₁, k₂, n₂, shape (4, items)."""
    counts = np.stack(np.broadcast_arrays(*checked_counts(k1, n1), *checked_counts(k2, n2)))
    if counts.ndim != 2 or counts.shape[1] == 0:
        raise ValueError(f"counts of shape {counts.shape[1:]}: give one dimension with an item per place")
    return counts


def checked_graded(scores: ArrayLike) -> Floats:
    """Graded scores, shape (items, samples); NaN where a sample is missing."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"scores of shape {values.shape}: give items × samples")
    if np.isinf(values).any():
        raise ValueError("a score is infinite: give finite scores, NaN where one is missing")
    return values


def split_law(s: Whole, n1: Whole, n2: Whole) -> Floats:
    """Law of the baseline count given the total: row i, column a is Hypergeometric(n₁ + n₂, s, n₁) at a."""
    s, n1, n2 = s[:, None], n1[:, None], n2[:, None]
    a = np.arange(int(n1.max()) + 1)
    rest = s - a
    possible = (a <= n1) & (rest >= 0) & (rest <= n2)
    x, y = np.where(possible, a, 0), np.where(possible, rest, 0)
    choose = log_choose(n1, x) + log_choose(n2, y) - log_choose(n1 + n2, s)
    law = np.where(possible, np.exp(choose), 0.0)
    return np.asarray(law / law.sum(axis=1, keepdims=True))


def distinct_columns(rows: Whole) -> tuple[Whole, NDArray[np.intp], Whole]:
    """Distinct columns, the place of every column among them, and how often each occurs."""
    sizes = [int(size) + 1 for size in rows.max(axis=1)]
    if math.prod(sizes) > 2**62:
        distinct, place, times = np.unique(rows, axis=1, return_inverse=True, return_counts=True)
        return distinct, place.reshape(-1), times
    key = rows[0].copy()
    for row, size in zip(rows[1:], sizes[1:], strict=True):
        key *= size
        key += row
    if math.prod(sizes) > CELLS:
        _, index, place, times = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
        return rows[:, index], place, times
    times = np.bincount(key, minlength=math.prod(sizes))
    there = np.flatnonzero(times)
    place = np.empty(times.size, dtype=np.intp)
    place[there] = np.arange(there.size)
    return np.stack(np.unravel_index(there, sizes)), place[key], times[there]


def distinct_totals(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> tuple[Whole, Whole]:
    """Distinct totals with their samples, rows k₁ + k₂, n₁, n₂, and how many items have each."""
    (first, m1, second, m2), _, times = distinct_columns(checked_pairs(k1, n1, k2, n2))
    groups, place, _ = distinct_columns(np.stack([first + second, m1, m2]))
    return groups, np.bincount(place, times).astype(np.int64)


def log_choose(n: Whole, k: Whole) -> Floats:
    """Logarithm of the binomial coefficient."""
    return np.asarray(-np.log1p(n) - betaln(n - k + 1, k + 1))
