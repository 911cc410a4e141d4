"""Held-out validation of release rules: would the runs that were kept back have honoured the decision.

One call handles one recipe cell. All splits and all audit sizes are prefixes of the same permutations, so
every rule follows from running sums; nothing loops over splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.binomial import passing_counts
from analysis.stats.checks import checked_probability, checked_whole
from analysis.stats.resampling import grouped_bootstrap_below, permutations

RULES = ("mean", "median", "bootstrap_lcl", "mean_2sd", "card")
"""The rules in the order of the recipe-card paper's table 1, the columns of every array here."""

LCL_LEVEL = 0.10  # the bootstrap rule's quantile, fixed in the paper whatever delta is
CANTELLI = 9.0  # P*(b̄* < τ) <= 1/(1 + t²) <= LCL_LEVEL once t² reaches this
NEAR = 1e-9  # in units of the largest distance to the bar: sums in another order reach the bar too
N_SUMS = 9  # scored, failed, under the bar, then three powers of the distance under and three over it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeldOut:
    """What the release rules decided on the audits of one cell, and what the held-out runs showed.

    Attributes
    ----------
    ships
        Bool, shape (splits, 5): whether each rule ships on the audit of each split; columns as in `RULES`.
    failures
        Int64, shape (splits,): failures among the held-out runs of each split.
    n_held_out
        Held-out runs of each split.
    evidence
        Float64, shape (sizes, 5): share of the splits in which each rule ships on an audit of each size.
    """

    ships: NDArray[np.bool_]
    failures: NDArray[np.int64]
    n_held_out: int
    evidence: NDArray[np.float64]


def hold_out(
    scores: ArrayLike,
    failed: ArrayLike,
    *,
    tau: float,
    budget: float,
    delta: float,
    audit_size: int,
    sizes: Sequence[int],
    splits: int,
    stream: np.random.PCG64,
) -> HeldOut:
    """Decide five release rules on random audits of one cell and count the failures held out.

    The rules: mean b̄ >= τ; median >= τ; bootstrap LCL, the 10 % point of the ideal bootstrap of the mean,
    >= τ; b̄ − 2 sd >= τ (ddof 1); the card, `release_supported` on the failures of the audit. The first four
    see only the runs of the audit that have a score and do not ship without one (the sd asks for two).

    Parameters
    ----------
    scores
        Shape (n,), final scores; NaN where a run has none. The order of the runs does not matter.
    failed
        Bool, shape (n,): under the bar, without a score, or otherwise counted as a failure.
    tau
        The bar, in the unit of the scores.
    budget, delta
        Probabilities in (0, 1).
    audit_size
        Runs in the audit, 1 to n − 1; the others are held out.
    sizes
        Audit sizes of the evidence curve, each 1 to n.
    splits
        Random splits, at least 1.
    stream
        Bit generator of the cell, see `keyed_stream`.

    Returns
    -------
    HeldOut

    Raises
    ------
    ValueError
        Shapes that differ, an infinite score, a run under the bar or without a score that is not marked as
        failed, or a size out of range.

    Notes
    -----
    A statistic within 1e-9 of the bar, in units of the largest distance of a score from it, reaches it. The
    bootstrap rule is settled where no score lies under the bar, where the mean does, and by Cantelli's
    inequality; else `grouped_bootstrap_below` decides.

    Examples
    --------
    >>> from analysis.stats.resampling import keyed_stream
    >>> scores = np.array([0.5] * 11 + [0.968] * 48)
    >>> seen = hold_out(scores, scores < 0.7, tau=0.7, budget=0.1, delta=0.1, audit_size=30,
    ...                 sizes=[22, 30], splits=1000, stream=keyed_stream(0, "roberta-large"))
    >>> seen.n_held_out, seen.ships[:, RULES.index("mean")].all()
    (29, np.True_)
    """
    runs = _run_table(scores, failed, tau)
    n = runs.shape[0]
    audit = int(checked_whole("audit_size", audit_size, least=1))
    asked = checked_whole("sizes", sizes, least=1)
    if audit >= n:
        raise ValueError(f"audit_size = {audit} of {n} runs: leave at least one run to hold out")
    if asked.ndim != 1 or asked.max(initial=1) > n:
        raise ValueError(f"sizes = {asked.tolist()} of {n} runs: give a list of sizes from 1 to {n}")
    order = permutations(stream, splits, n)
    columns = np.append(asked, audit)
    ships, counts = _decide(runs, order, columns, budget=budget, delta=delta)
    return HeldOut(
        ships=ships[:, -1],
        failures=(runs[:, 1].sum() - counts[:, -1]).astype(np.int64),
        n_held_out=n - audit,
        evidence=ships[:, :-1].mean(axis=0),
    )


def in_sample(scores: ArrayLike, failed: ArrayLike, *, tau: float, budget: float, delta: float) -> NDArray[np.bool_]:
    """Decide the five release rules on all runs of a cell.

    Parameters and errors as in `hold_out`.

    Returns
    -------
    ndarray of bool, shape (5,)
        Columns as in `RULES`.

    Examples
    --------
    >>> scores = np.array([0.5] * 11 + [0.968] * 48)
    >>> in_sample(scores, scores < 0.7, tau=0.7, budget=0.1, delta=0.1).tolist()
    [True, True, True, False, False]
    """
    runs = _run_table(scores, failed, tau)
    everything = np.arange(runs.shape[0])[None]
    ships, _ = _decide(runs, everything, np.array([runs.shape[0]]), budget=budget, delta=delta)
    return np.asarray(ships[0, 0])


def _run_table(scores: ArrayLike, failed: ArrayLike, tau: float) -> NDArray[np.float64]:
    """Per run, in the order of the scores, what the running sums add up; shape (n, N_SUMS)."""
    values, marks = np.asarray(scores, dtype=np.float64), np.asarray(failed)
    if values.ndim != 1 or values.size == 0 or marks.shape != values.shape or marks.dtype != np.bool_:
        raise ValueError(
            f"scores of shape {values.shape} and failed of shape {marks.shape}, {marks.dtype}: "
            "give one score and one boolean per run"
        )
    if not np.isfinite(tau) or np.isinf(values).any():
        raise ValueError(f"tau = {tau!r} and all scores must be finite; use NaN for a run without a score")
    unmarked = ~marks & ~(values >= tau)
    if unmarked.any():
        raise ValueError(
            f"a run with score {values[unmarked][0]} at tau = {tau!r} is not marked as failed; "
            "mark every run under the bar or without a score"
        )
    order = np.lexsort((marks, values))
    values, marks = values[order], marks[order]
    scored = ~np.isnan(values)
    distance = np.where(scored, values - tau, 0.0)
    distance /= np.abs(distance).max() or 1.0
    low = np.minimum(distance, 0.0)
    high = np.maximum(distance, 0.0)
    return np.stack(
        [scored, marks, distance < 0, low, low**2, low**3, high, high**2, high**3], axis=1, dtype=np.float64
    )


def _decide(
    runs: NDArray[np.float64],
    order: NDArray[np.intp],
    sizes: NDArray[np.int64],
    *,
    budget: float,
    delta: float,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Decisions (splits, sizes, 5) and failures (splits, sizes) of the audits, prefixes of ``order``."""
    checked_probability("budget", budget)
    checked_probability("delta", delta)
    last = sizes - 1
    sums = np.empty((N_SUMS, order.shape[0], sizes.size))
    for running, values in zip(sums, runs.T, strict=True):
        running[...] = np.cumsum(values[order], axis=1)[:, last]
    scored, failures, under = sums[:3]
    some = scored > 0
    count = np.maximum(scored, 1.0)
    mean = (sums[3] + sums[6]) / count
    square = sums[4] + sums[7]
    reaches = some & (mean >= -NEAR)
    scatter = np.maximum(square - count * mean**2, 0.0)
    sd = np.sqrt(scatter / np.maximum(count - 1, 1.0))
    ships = np.stack(
        [
            reaches,
            some & _median_reaches(runs, order, last, scored, under),
            reaches,
            (scored > 1) & (mean - 2 * sd >= -NEAR),
            failures <= passing_counts(sizes, budget, delta),
        ],
        axis=-1,
    )
    settled = ~reaches | (under == 0) | ((count * mean) ** 2 >= CANTELLI * scatter)
    for column in range(sizes.size):
        rows = np.flatnonzero(~settled[:, column])
        if rows.size:
            picked = sums[:, rows, column]
            low = picked[2:6]
            high = np.concatenate([picked[:1] - picked[2:3], picked[6:9]])
            ships[rows, column, 2] = grouped_bootstrap_below(low, high) <= LCL_LEVEL
    return ships, failures


def _median_reaches(
    runs: NDArray[np.float64],
    order: NDArray[np.intp],
    last: NDArray[np.int64],
    scored: NDArray[np.float64],
    under: NDArray[np.float64],
) -> NDArray[np.bool_]:
    """Whether the median of the scored runs of each prefix reaches the bar.

    Only when exactly half of them lie under it do the two values next to the bar matter.
    """
    is_scored, is_under = runs[:, 0] > 0, runs[:, 2] > 0
    best_under = np.maximum.accumulate(np.where(is_under, runs[:, 3], -np.inf)[order], axis=1)[:, last]
    worst_over = np.minimum.accumulate(np.where(is_scored & ~is_under, runs[:, 6], np.inf)[order], axis=1)[:, last]
    split_evenly = (2 * under == scored) & (scored > 0)
    middle = np.where(split_evenly, best_under, -1.0) + np.where(split_evenly, worst_over, 0.0)
    return (2 * under < scored) | (middle >= -NEAR)
