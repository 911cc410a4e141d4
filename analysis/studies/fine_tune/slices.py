"""Differences by slice, and the slices that what is missing may hide."""

from __future__ import annotations

import numpy as np

from .comparisons import Interval, cluster_labels, distinct_rows, interval_of
from .parameters import Params
from .systems import TestSet


def slices_of(
    test_set: TestSet, min_items: int, params: Params, *, together: bool
) -> list[tuple[str, int, float, Interval]]:
    """Slices with enough paired items: name, items, mean difference from the reference, interval."""
    scores = test_set.main
    one, two = scores.values[test_set.reference], scores.values[test_set.candidate]
    both = ~np.isnan(one) & ~np.isnan(two)
    parts = [
        (f"{column.removeprefix('slice.').removeprefix('slice_')} = {value}", (two - one)[rows & both], rows & both)
        for column in test_set.slices
        for value, rows in distinct_rows(test_set, column)
        if (rows & both).sum() >= min_items
    ]
    sure = 1 - (1 - params.level) / len(parts) if together and parts else params.level
    out = []
    for label, diff, rows in parts:
        labels = cluster_labels(test_set.clusters, rows)
        interval = interval_of(diff, labels, scores, params, ("slice", label), level=sure)
        out.append((label, int(rows.sum()), float(diff.mean()), interval))
    return out


def hidden_falls(test_set: TestSet, min_items: int, drop: float, params: Params) -> list[str]:
    """Slices that could lie wholly below minus the drop if all that was not scored spoke against the candidate."""
    scores = test_set.main
    if scores.low is None or scores.high is None:
        return []
    before, after = scores.at_worst(test_set.reference, scores.high), scores.at_worst(test_set.candidate, scores.low)
    change = np.where(np.isnan(after), scores.low, after) - np.where(np.isnan(before), scores.high, before)
    missing = np.isnan(scores.values[test_set.candidate]) | np.isnan(scores.values[test_set.reference])
    missing |= (scores.lost[test_set.candidate] + scores.lost[test_set.reference]) > 0
    out = []
    for column in test_set.slices:
        for value, rows in distinct_rows(test_set, column):
            if rows.sum() >= min_items and (rows & missing).any():
                interval = interval_of(change[rows], None, scores, params, ("hidden", column, value))
                if interval.high is not None and interval.high < -drop:
                    out.append(value)
    return out
