"""What noise alone flags: samples dealt to the versions at random, and two halves of one version."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from analysis.stats import (
    FlagNull,
    ItemTest,
    flag_law,
    graded_relabelling_null,
    half_sample_null,
    keyed_stream,
    relabelled_tests_null,
    relabelling_null,
)

from .parameters import Params
from .versions import Version

SMALLEST = 1e-12


def index_null(one: Version, two: Version, *, binary: bool, s_diff: float, params: Params) -> FlagNull:
    """Items that the index flags when the samples of both versions are dealt at random: exact for counts."""
    if binary:
        return relabelling_null(one.total, one.n, two.total, two.n, s_diff=s_diff, cut=params.cut)
    return _graded(_samples(one), _samples(two), s_diff=s_diff, params=params, key="versions")


def index_halves(version: Version, *, binary: bool, s_diff: float, params: Params) -> FlagNull:
    """Items that the same rule flags between two halves of one version, the standard error stepped up by √2."""
    stepped = math.sqrt(2) * s_diff
    if binary:
        return half_sample_null(version.total, version.n, s_diff=stepped, cut=params.cut)
    halves = [(scores[: len(scores) // 2], scores[len(scores) // 2 :]) for scores in _samples(version)]
    return _graded([a for a, _ in halves], [b for _, b in halves], s_diff=stepped, params=params, key=version.name)


def tests_null(one: Version, two: Version, *, test: ItemTest, level: float) -> FlagNull:
    """Items whose exact test reaches the level when the samples are dealt at random; counts only."""
    return relabelled_tests_null(one.total, one.n, two.total, two.n, test=test, level=level)


def at_least(null: FlagNull, flagged: int) -> float:
    """Probability that noise alone flags at least as many items, not below what the transform can tell from 0."""
    if not flagged:
        return 1.0
    counts, probability = flag_law(null)
    return float(np.clip(probability[counts >= flagged].sum(), SMALLEST, 1.0))


def _samples(version: Version) -> list[npt.NDArray[np.float64]]:
    """The scored samples of every item."""
    if version.scores is None:
        raise ValueError("graded scores come as samples")
    return [row[~np.isnan(row)] for row in version.scores]


def _graded(
    one: list[npt.NDArray[np.float64]],
    two: list[npt.NDArray[np.float64]],
    *,
    s_diff: float,
    params: Params,
    key: str,
) -> FlagNull:
    """The relabelling null over items, those with the same numbers of samples permuted together."""
    sizes = np.array([(len(a), len(b)) for a, b in zip(one, two, strict=True)])
    parts = []
    for n1, n2 in np.unique(sizes, axis=0):
        rows = np.flatnonzero((sizes == (n1, n2)).all(axis=1))
        parts.append(
            graded_relabelling_null(
                np.stack([one[i] for i in rows]),
                np.stack([two[i] for i in rows]),
                s_diff=s_diff,
                cut=params.cut,
                n_permutations=params.bootstrap,
                rng=keyed_stream(params.seed, "relabelling", key, str(n1), str(n2)),
            )
        )
    return FlagNull(
        n_items=sum(part.n_items for part in parts),
        improved=sum(part.improved for part in parts),
        deteriorated=sum(part.deteriorated for part in parts),
        mean=sum(part.mean for part in parts),
        variance=sum(part.variance for part in parts),
        probability=np.concatenate([part.probability for part in parts]),
        sizes=np.concatenate([part.sizes for part in parts]),
    )
