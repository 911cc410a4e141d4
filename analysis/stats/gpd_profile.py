"""The profile likelihood of a generalised Pareto law, for weighted samples that share their values.

With θ = ξ/σ the likelihood has one free argument: ξ(θ) = mean log(1 + θx) and σ = ξ/θ (Davison 1984; Grimshaw
1993, Technometrics 35:185). A(θ) = mean x² L(θx) with L(u) = (log(1 + u) − u)/u², B(θ) = mean x²/(1 + θx) and
m₁ = mean x give ξ = θσ, σ = m₁ + θA, and the score up to a positive factor as

    H(θ) = A + B − m₁² + θ m₁ (B − A) + θ² A B,

free of the spurious double zero of Grimshaw's h = θ² H = (1 + ξ) mean 1/(1 + θx) − 1 at θ = 0. A maximum is a downward crossing of H. The
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
NODES = 64
CHUNK = 4096  # values per table, so that a large sample needs no large table
SMALLEST = 1e-15  # of the mean; a value under it moves the bound of θ no further


class Maximum(NamedTuple):
    """Maximum of one likelihood: ξ, σ, its mean log-likelihood, and whether it lies on the boundary ξ = −1."""

    xi: float
    sigma: float
    mean_log_likelihood: float
    boundary: bool


class _Weighted(NamedTuple):
    """One weighted sample: 1 − x/max x, and the shares of its values times 1, x, x², x³."""

    x: Floats
    gap: Floats
    share: Floats
    line: Floats
    square: Floats
    cube: Floats
    m1: float


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


def score(theta: Floats, a: Floats, b: Floats, m1: Floats | float) -> Floats:
    """H(θ) of the module's docstring; its terms cancel for θ m₁ > 1."""
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
    bound = 2 * (m1.max() - x[0]) / max(x[0], SMALLEST) ** 2  # no crossing beyond it, Grimshaw 1993
    nodes = np.exp(np.linspace(math.log(1e-3 / (x[-1] * total.max())), math.log(bound + 2 / x[-1]), NODES))
    nodes = nodes[np.abs(nodes - 1 / x[-1]) > 1e-3]  # the sign of h next to its double zero is noise
    logs, inverses = np.zeros((2, len(weights), nodes.size))
    for start in range(0, x.size, CHUNK):
        part = x[start : start + CHUNK]
        v = (1 - part / x[-1])[:, None] + part[:, None] * nodes
        logs += weights[:, start : start + CHUNK] @ np.log(v)
        inverses += weights[:, start : start + CHUNK] @ (1 / v)
    height = (1 + logs / total[:, None]) * (inverses / total[:, None]) - 1  # h, of the sign of H
    falls = (height[:, :-1] > 0) & (height[:, 1:] <= 0)
    found = []
    for row, drops in enumerate(falls):
        best = Maximum(-1.0, float(x[-1]), -math.log(x[-1]), True)
        for place in np.flatnonzero(drops):
            used = weights[row] > 0
            one = _refine(_weighted(x[used], weights[row, used]), *np.log(nodes[place : place + 2]).tolist())
            if one.xi > -1 and one.mean_log_likelihood > best.mean_log_likelihood:
                best = one
        found.append(best)
    return found


def climb(x: Floats, weights: Floats, start: float) -> Maximum | None:
    """Crossing next to a start, for one weighted sample whose relatives have theirs there.

    Parameters
    ----------
    x
        Shape (n,), ascending, positive, of about unit mean.
    weights
        Shape (n,), positive.
    start
        Argument e > 0.

    Returns
    -------
    Maximum or None
        None where no downward crossing is near or the boundary has the larger likelihood: then `maximise`.
    """
    sample = _weighted(x, weights)

    def rising(s: float) -> bool:
        return _crossing(sample, s)[2] > 0

    inner = math.log(start)
    up = rising(inner)
    step = 0.25 if up else -0.25
    for _ in range(8):
        outer = inner + step
        if rising(outer) != up:
            found = _refine(sample, *sorted((inner, outer)))
            better = found.xi > -1 and found.mean_log_likelihood > -math.log(x[-1])
            return found if better else None
        inner, step = outer, 1.5 * step
    return None


def _weighted(x: Floats, weights: Floats) -> _Weighted:
    share = weights / weights.sum()
    line = share * x
    return _Weighted(x, 1 - x / x[-1], share, line, line * x, line * x * x, float(line.sum()))


def _refine(sample: _Weighted, a: float, b: float) -> Maximum:
    """Downward crossing between two values of log e, by Newton's method inside a bracket that shrinks."""
    s = (a + b) / 2
    xi = sigma = 0.0
    for _ in range(100):
        xi, sigma, height, steep = _crossing(sample, s)
        a, b = (s, b) if height > 0 else (a, s)
        step = -height / steep if steep < 0 else math.inf
        following = s + step if a < s + step < b else (a + b) / 2
        done = abs(following - s) < 1e-15 * max(1.0, abs(s)) or abs(step) < 1e-13
        s = following
        if done:
            break
    return Maximum(xi, sigma, -(math.log(sigma) + 1 + xi) if sigma > 0 else -math.inf, False)


def _crossing(sample: _Weighted, s: float) -> tuple[float, float, float, float]:
    """ξ, σ, H and dH/ds at s = log e; by h where the terms of H cancel, θ m₁ > 1."""
    x, m1 = sample.x, sample.m1
    e = math.exp(s)
    theta = e - 1 / float(x[-1])
    v = sample.gap + x * e
    inverse = 1 / v
    if theta * m1 > 1:
        xi, mean_inverse = float(sample.share @ np.log(v)), float(sample.share @ inverse)
        height = ((1 + xi) * mean_inverse - 1) / theta**2
        steep = (1 - mean_inverse) * mean_inverse / theta - (1 + xi) * float(sample.line @ inverse**2)
        return xi, xi / theta, height, (steep / theta**2 - 2 * height / theta) * e
    u = theta * x
    area, reach = float(sample.square @ log_remainder(u, v)), float(sample.square @ inverse)
    near = abs(theta) * m1 < 1e-3
    d_area = float(sample.cube @ (1 / 3 - u / 2)) if near else -(2 * area + reach) / theta
    d_reach = -float(sample.cube @ inverse**2)
    height = area + reach - m1 * m1 + theta * m1 * (reach - area) + theta * theta * area * reach
    steep = d_area + d_reach + m1 * (reach - area) + theta * m1 * (d_reach - d_area)
    steep += 2 * theta * area * reach + theta * theta * (d_area * reach + area * d_reach)
    sigma = m1 + theta * area
    return theta * sigma, sigma, height, steep * e
