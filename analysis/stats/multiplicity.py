"""Adjusted p-values of a family of tests: one number per test, compared with the family's level."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.binomial import TIE
from analysis.stats.checks import checked_probability


def bonferroni(p: ArrayLike) -> NDArray[np.float64]:
    """Bonferroni-adjusted p-values, min(1, m p): control of any false rejection under any dependence.

    Parameters
    ----------
    p
        Shape (m,), p-values in [0, 1].

    Returns
    -------
    ndarray of float64, shape (m,)
        In the order of ``p``.

    Raises
    ------
    ValueError
        A p-value outside [0, 1] or missing, or more than one dimension.

    Examples
    --------
    >>> bonferroni([0.01, 0.04, 0.5]).round(2).tolist()
    [0.03, 0.12, 1.0]
    """
    values = _checked(p)
    return np.minimum(values.size * values, 1.0)


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Holm's step-down adjusted p-values (Holm 1979, Scand. J. Stat. 6:65): as Bonferroni, never weaker.

    Parameters, returns and errors as in `bonferroni`.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.5]).round(2).tolist()
    [0.03, 0.08, 0.5]
    """
    values = _checked(p)
    order = np.argsort(values, kind="stable")
    stepped = np.maximum.accumulate(np.arange(values.size, 0, -1) * values[order])
    return _in_place_of(order, np.minimum(stepped, 1.0))


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """Step-up adjusted p-values for the false discovery rate (Benjamini and Hochberg 1995).

    J. R. Stat. Soc. B 57:289; for independent or positively dependent tests. For screening, not for release.

    Parameters, returns and errors as in `bonferroni`.

    Examples
    --------
    >>> benjamini_hochberg([0.01, 0.04, 0.5]).round(2).tolist()
    [0.03, 0.06, 0.5]
    """
    values = _checked(p)
    order = np.argsort(values, kind="stable")
    scaled = values.size / np.arange(1, values.size + 1) * values[order]
    stepped = np.minimum.accumulate(scaled[::-1])[::-1]
    return _in_place_of(order, np.minimum(stepped, 1.0))


def benjamini_yekutieli(p: ArrayLike) -> NDArray[np.float64]:
    """Benjamini-Hochberg values times Σ 1/i: the false discovery rate under any dependence.

    Benjamini and Yekutieli (2001, Ann. Stat. 29:1165). Parameters, returns and errors as in `bonferroni`.

    Examples
    --------
    >>> benjamini_yekutieli([0.01, 0.04, 0.5]).round(3).tolist()
    [0.055, 0.11, 0.917]
    """
    values = _checked(p)
    return np.minimum(benjamini_hochberg(values) * (1 / np.arange(1, values.size + 1)).sum(), 1.0)


def rejects(adjusted: ArrayLike, *, alpha: float) -> NDArray[np.bool_]:
    """Which adjusted p-values reach the family's level; within 1e-12 (relative) counts as reached.

    Parameters
    ----------
    adjusted
        Shape (m,), adjusted p-values in [0, 1].
    alpha
        Level of the family, a probability in (0, 1).

    Returns
    -------
    ndarray of bool, shape (m,)

    Raises
    ------
    ValueError
        An argument out of range.

    Examples
    --------
    >>> rejects(holm([0.01, 0.04, 0.5]), alpha=0.05).tolist()
    [True, False, False]
    """
    reached: NDArray[np.bool_] = _checked(adjusted) <= checked_probability("alpha", alpha) * (1 + TIE)
    return reached


def _in_place_of(order: NDArray[np.intp], ranked: NDArray[np.float64]) -> NDArray[np.float64]:
    """Undo a sort: ``ranked[i]`` goes back to position ``order[i]``."""
    original = np.empty_like(ranked)
    original[order] = ranked
    return original


def _checked(p: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(p, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"p-values of shape {values.shape}: give one dimension, a p-value per test")
    bad = ~((values >= 0) & (values <= 1))
    if bad.any():
        raise ValueError(f"a p-value is {values[bad][0]}: leave out tests that were not made")
    return values
