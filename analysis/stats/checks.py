"""Argument checks shared by the statistics: the numerics behind them assume clean input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

Counts = Sequence[int] | NDArray[np.integer]
LARGEST_N = 2**53


def checked_probability(name: str, value: float) -> float:
    """Return ``value`` when it lies strictly between 0 and 1.

    Raises
    ------
    ValueError
        Otherwise; the message names the argument and its value.
    """
    if not 0 < value < 1:
        raise ValueError(f"{name} = {value!r}: give a probability strictly between 0 and 1, such as 0.1")
    return float(value)


def checked_whole(name: str, value: ArrayLike, *, least: int) -> NDArray[np.int64]:
    """Return whole numbers of any shape as integers.

    Raises
    ------
    ValueError
        A value is not a whole number or is under ``least``; the message names the first one.
    """
    given = np.asarray(value)
    if given.dtype.kind not in "iuf":
        raise ValueError(f"{name} = {value!r}: give whole numbers")
    bad = ~((given >= least) & (given == np.floor(given)) & (given <= LARGEST_N))
    if bad.any():
        raise ValueError(f"{name} = {given[bad].flat[0]}: give a whole number of {least} or more")
    return given.astype(np.int64)


def checked_counts(k: ArrayLike, n: ArrayLike, *, least: int = 1) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Broadcast failures and runs against each other, as integers.

    Raises
    ------
    ValueError
        Not whole numbers, or not ``0 <= k <= n`` with ``n >= least``; the message names the first pair.
    """
    failures, runs = np.broadcast_arrays(checked_whole("k", k, least=0), checked_whole("n", n, least=least))
    bad = failures > runs
    if bad.any():
        raise ValueError(
            f"k = {failures[bad].flat[0]} failures of n = {runs[bad].flat[0]} runs: k cannot exceed n; "
            "count the failures among the same runs"
        )
    return failures, runs


def checked_rates(rate: ArrayLike) -> NDArray[np.float64]:
    """Return rates of any shape as floats.

    Raises
    ------
    ValueError
        A rate outside [0, 1]; the message names the first one.
    """
    rates = np.asarray(rate, dtype=np.float64)
    bad = ~((rates >= 0) & (rates <= 1))
    if bad.any():
        raise ValueError(f"rate = {rates[bad].flat[0]}: give probabilities between 0 and 1")
    return rates
