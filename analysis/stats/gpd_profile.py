"""The profile likelihood of a generalised Pareto law, for weighted samples that share their values.

With θ = ξ/σ the likelihood has one free argument: ξ(θ) = mean log(1 + θx) and σ = ξ/θ (Davison 1984; Grimshaw
1993, Technometrics 35:185). A(θ) = mean x² L(θx) with L(u) = (log(1 + u) − u)/u², B(θ) = mean x²/(1 + θx) and
m₁ = mean x give ξ = θσ, σ = m₁ + θA, and the score up to a positive factor as

    H(θ) = A + B − m₁² + θ m₁ (B − A) + θ² A B,

free of the spurious double zero of Grimshaw's h = θ² H at θ = 0. A maximum is a downward crossing of H. The
argument of every function is e = θ + 1/max x > 0. For ξ < −1 the likelihood is unbounded, so ξ = −1 with
σ = max x is compared with the best crossing. Values have about unit mean: every tolerance is free of scale.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SERIES = np.array([(-1.0) ** (k + 1) / (k + 2) for k in range(15)])  # of L, to 1e-19 for |u| < 0.05
NEAR = 0.05
NODES = 128
CHUNK = 4096  # values per table, so that a large sample needs no large table
FARTHEST = 1e30  # θ of a sample with a value next to zero


class Maximum(NamedTuple):
    """Maximum of one likelihood: ξ, σ, its mean log-likelihood, and whether it lies on the boundary ξ = −1."""

    xi: float
    sigma: float
    mean_log_likelihood: float
    boundary: bool


def log_remainder(u: Floats, v: Floats) -> Floats:
    """L(u) = (log(1 + u) − u)/u² from u and v = 1 + u, both of one shape; by its series next to 0."""
    near = np.abs(u) < NEAR
    safe = np.where(near, 1.0, u)
    out = (np.log(v) - u) / (safe * safe)
    if near.any():
        out[near] = np.polynomial.polynomial.polyval(u[near], SERIES)
    return np.asarray(out)


def score_parts(x: Floats, e: Floats) -> tuple[Floats, Floats]:
    """x² L(θx) and x²/(1 + θx) at every value and every e; shapes (n, k) for n values and k arguments.

    ``1 + θx`` is taken as ``(1 − x/max x) + ex``, which keeps its digits next to the end of the support.
    """
    v = (1 - x / x[-1])[:, None] + x[:, None] * e
    u = x[:, None] * (e - 1 / x[-1])
    square = (x * x)[:, None]
    return square * log_remainder(u, v), square / v


def score(theta: Floats, a: Floats, b: Floats, m1: Floats) -> Floats:
    """H(θ) of the module's docstring."""
    return a + b - m1 * m1 + theta * m1 * (b - a) + theta * theta * a * b


def maximise(x: Floats, weights: Floats) -> list[Maximum]:
    """Exact maximum of the likelihood of every weighted sample.

    Parameters
    ----------
    x
        Shape (n,), ascending, positive, of about unit mean.
    weights
        Shape (rows, n), 0 or more; every row has a positive weight at the last value and at another one.

    Returns
    -------
    list of Maximum
        One per row. Every downward crossing of H on a grid of log e is refined, the best one is kept.
    """
    total = weights.sum(axis=1)
    m1 = weights @ x / total
    bound = min(2 * (m1.max() - x[0]) / x[0] ** 2, FARTHEST)  # no crossing beyond it, Grimshaw 1993
    nodes = np.exp(np.linspace(math.log(1e-9 / (x[-1] * total.max())), math.log(bound + 2 / x[-1]), NODES))
    a, b = np.zeros((len(weights), NODES)), np.zeros((len(weights), NODES))
    for start in range(0, x.size, CHUNK):
        part = slice(start, start + CHUNK)
        table = score_parts(np.append(x[part], x[-1]), nodes)
        a += weights[:, part] @ table[0][:-1]
        b += weights[:, part] @ table[1][:-1]
    a, b = a / total[:, None], b / total[:, None]
    height = score(nodes - 1 / x[-1], a, b, m1[:, None])
    falls = (height[:, :-1] > 0) & (height[:, 1:] <= 0)
    found = []
    for row, drops in enumerate(falls):
        best = Maximum(-1.0, float(x[-1]), -math.log(x[-1]), True)
        for place in np.flatnonzero(drops):
            used = weights[row] > 0
            one = _refine(x[used], weights[row, used] / total[row], nodes[place], nodes[place + 1])
            if one.xi > -1 and one.mean_log_likelihood > best.mean_log_likelihood:
                best = one
        found.append(best)
    return found


def _refine(x: Floats, share: Floats, low: float, high: float) -> Maximum:
    """Downward crossing between two arguments e, by Newton's method in log e inside a bracket that shrinks."""
    m1 = float(share @ x)
    square, gap, shift = share * x * x, 1 - x / x[-1], 1 / x[-1]
    a, b = math.log(low), math.log(high)
    s = (a + b) / 2
    theta = area = 0.0
    for _ in range(100):
        e = math.exp(s)
        theta = e - shift
        v, u = gap + x * e, x * theta
        remainder = log_remainder(u, v)
        area, reach = float(square @ remainder), float(square @ (1 / v))
        near = np.abs(u) < 1e-3
        slope = np.where(near, 1 / 3 - u / 2, -(1 / v + 2 * remainder) / np.where(near, 1.0, u))
        d_area, d_reach = float((square * x) @ slope), -float((square * x) @ (1 / v**2))
        height = area + reach - m1 * m1 + theta * m1 * (reach - area) + theta * theta * area * reach
        steep = d_area + d_reach + m1 * (reach - area) + theta * m1 * (d_reach - d_area)
        steep += 2 * theta * area * reach + theta * theta * (d_area * reach + area * d_reach)
        a, b = (s, b) if height > 0 else (a, s)
        step = -height / (steep * e) if steep < 0 else math.inf
        following = s + step if a < s + step < b else (a + b) / 2
        done = abs(following - s) < 1e-15 * max(1.0, abs(s)) or abs(step) < 1e-13
        s = following
        if done:
            break
    sigma = m1 + theta * area
    xi = theta * sigma
    return Maximum(xi, sigma, -(math.log(sigma) + 1 + xi) if sigma > 0 else -math.inf, False)
