"""Asymptotic law of the Anderson-Darling statistic of a generalised Pareto law with both parameters fitted.

A² tends to Σ λⱼ χ²₁ (Choulakian and Stephens 2001, Technometrics 43:478; Stephens 1976, Ann. Statist. 4:357).
In the basis ψⱼ(t) = cⱼ √(t(1 − t)) Pⱼ'(2t − 1), cⱼ = 2 √((2j + 1)/(j(j + 1))), the kernel with known parameters
is diag(1/(j(j + 1))), and their estimation subtracts G I⁻¹ Gᵀ with Gⱼ = ∫ g(t) cⱼ Pⱼ'(2t − 1) dt, where g is the
derivative of F by (ξ, σ) and I the expected information (Smith 1985). Valid for ξ > −1/2.
"""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TABLE = Path(__file__).with_name("anderson_law.npz")
TERMS = 200
QUADRATURE = 1500
RECIPROCAL_GRID = np.linspace(0.2, 2.0, 73)  # of 1/(1 + ξ): ξ from 4 down to −1/2
STATISTIC_GRID = np.geomspace(0.02, 60.0, 181)
PATH = 97  # points on the path of integration


class Law(NamedTuple):
    """Eigenvalues of the law, shape (200,), descending, and the rest of its mean, added as a constant."""

    eigenvalues: Floats
    shift: float


def eigenvalue_law(xi: float) -> Law:
    """Law of A² at a shape, by quadrature in v with 1 − t = v⁶.

    Parameters
    ----------
    xi
        Shape, over −1/2 or equal to it (as the limit).

    Returns
    -------
    Law
        Its mean, ``eigenvalues.sum() + shift``, is exact to about 1e-9.
    """
    nodes, weights = np.polynomial.legendre.leggauss(QUADRATURE)
    v, dv = (nodes + 1) / 2, weights / 2
    s = v**6
    ds = 6 * v**5 * dv
    log_s = 6 * np.log(v)
    y = xi * log_s
    first = -np.where(np.abs(y) < 1e-6, log_s * (1 + y / 2), np.expm1(y) / (xi or 1.0))  # (1 − s^ξ)/ξ
    near = np.abs(y) < 1e-2
    remainder = np.where(near, _remainder(np.where(near, y, 0.0)), (1 + y - np.exp(y)) / np.where(near, 1.0, y * y))
    g = np.stack([s * log_s**2 * remainder, -s * first])  # by ξ and by σ at σ = 1; the sign is that of ∂F
    information = (1 + xi) * np.array([[1 + xi, -1.0], [-1.0, 2.0]])
    j = np.arange(1, TERMS + 1)
    scale = 2 * np.sqrt((2 * j + 1) / (j * (j + 1.0)))
    slopes = _legendre_slopes(1 - 2 * s)
    projected = (slopes * ds) @ g.T * scale[:, None]
    kernel = np.diag(1 / (j * (j + 1.0))) - projected @ information @ projected.T
    eigenvalues = np.maximum(np.linalg.eigvalsh(kernel)[::-1], 0.0)
    mean = 1 - float(np.sum(information * ((g / (s * (1 - s)) * ds) @ g.T)))
    return Law(eigenvalues, mean - float(eigenvalues.sum()))


def log_tail(law: Law, statistic: Floats) -> Floats:
    """Log P(A² > a) under a law.

    Parameters
    ----------
    law
        Eigenvalues and shift.
    statistic
        Shape (k,), positive.

    Returns
    -------
    ndarray of float64, shape (k,)
        Natural logarithms; relative error of the smaller tail about 1e-8.

    Notes
    -----
    The inversion integral along a path through the saddlepoint (Rice 1980, SIAM J. Sci. Stat. Comput.
    1:438), which unlike Imhof's (1961, Biometrika 48:419) keeps its digits in the far tails.
    """
    lam, out = law.eigenvalues[law.eigenvalues > 0], np.empty(statistic.size)
    mean = lam.sum()
    for i, a in enumerate(statistic - law.shift):
        if a <= 0:
            out[i] = 0.0
            continue
        t = _saddlepoint(lam, a, mean)
        # P(A² > a) = Im ∫ exp(K(z) − za)/(πz) dz on a path from the saddlepoint t that bends to the right,
        # where exp(−za) falls; for t < 0 the integral is minus P(A² < a)
        spread = 1 / math.sqrt(float(np.sum(2 * lam**2 / (1 - 2 * lam * t) ** 2)) + 1 / t**2)
        w = np.linspace(0.0, 6.0, PATH)
        y = np.sinh(w)
        z = t + spread * y * (1j + y / 4)
        exponent = -z * a
        for one in lam:
            exponent -= 0.5 * np.log(1 - 2 * one * z)
        base = float(exponent[0].real)
        value = np.imag(np.exp(exponent - base) / z * (1j + y / 2)) * spread * np.cosh(w) / np.pi
        integral = float((value.sum() - (value[0] + value[-1]) / 2) * (w[1] - w[0]))
        out[i] = math.log(integral) + base if t > 0 else math.log1p(integral * math.exp(base))
    return out


def p_value(statistic: float, xi: float) -> float:
    """P(A² > statistic) at a shape, from the table that travels with the package.

    Parameters
    ----------
    statistic
        A², positive and finite.
    xi
        Shape, −1/2 or over it; the law at 4 stands for those above.

    Returns
    -------
    float
        Probability within 1e-6 of the eigenvalue law.
    """
    if statistic >= STATISTIC_GRID[-1]:
        return 0.0
    if statistic <= STATISTIC_GRID[0]:
        return 1.0
    table = _table()
    step = RECIPROCAL_GRID[1] - RECIPROCAL_GRID[0]
    row, row_weight = _cubic(max((1 / (1 + xi) - RECIPROCAL_GRID[0]) / step, 0.0), RECIPROCAL_GRID.size)
    ratio = math.log(STATISTIC_GRID[-1] / STATISTIC_GRID[0])
    place = math.log(statistic / STATISTIC_GRID[0]) / ratio * (STATISTIC_GRID.size - 1)
    column, column_weight = _cubic(place, STATISTIC_GRID.size)
    return min(1.0, math.exp(float(row_weight @ table[row : row + 4, column : column + 4] @ column_weight)))


def write_table(path: Path) -> None:
    """Compute the table of log P(A² > a) and write it; the shipped file was made by this function."""
    rows = [log_tail(eigenvalue_law(float(1 / r - 1)), STATISTIC_GRID) for r in RECIPROCAL_GRID]
    np.savez_compressed(path, log_tail=np.array(rows))


@functools.cache
def _table() -> Floats:
    with np.load(TABLE) as stored:
        return np.asarray(stored["log_tail"])


def _cubic(place: float, size: int) -> tuple[int, Floats]:
    """First of four neighbours of a place on a grid, and their weights (Lagrange's cubic)."""
    first = min(max(int(place) - 1, 0), size - 4)
    t = place - first - 1
    return first, np.array([t * (t - 1) * (2 - t) / 6, (t + 1) * (t - 1) * (t - 2) / 2,
                            (t + 1) * t * (2 - t) / 2, (t + 1) * t * (t - 1) / 6])  # fmt: skip


def _remainder(y: Floats) -> Floats:
    """(1 + y − eʸ)/y² next to 0."""
    return np.asarray(np.polynomial.polynomial.polyval(y, [-1 / math.factorial(k + 2) for k in range(8)]))


def _legendre_slopes(z: Floats) -> Floats:
    """Derivatives of the Legendre polynomials of degree 1 to 200 at z, shape (200, n)."""
    before, value = np.ones_like(z), z.copy()
    slope_before, slope = np.zeros_like(z), np.ones_like(z)
    out = [slope]
    for k in range(1, TERMS):
        before, value = value, ((2 * k + 1) * z * value - k * before) / (k + 1)
        slope_before, slope = slope, slope_before + (2 * k + 1) * before
        out.append(slope)
    return np.array(out)


def _saddlepoint(lam: Floats, a: float, mean: float) -> float:
    """Where the slope of K(t) − ta − log|t| vanishes, on the side of 0 that the smaller tail lies on."""
    side = 1.0 if a > mean else -1.0
    low, high = (0.0, 0.5 / lam[0]) if side > 0 else (-0.5 / lam[-1] - 1e6 / a, 0.0)
    for _ in range(200):
        t = (low + high) / 2
        slope = float(np.sum(lam / (1 - 2 * lam * t))) - a - 1 / t
        low, high = (t, high) if slope < 0 else (low, t)
    return (low + high) / 2
