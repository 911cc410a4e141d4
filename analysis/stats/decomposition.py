"""What the net gain hides: gains against losses, and true change against noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from analysis.stats.change import checked_pair, standard_error_of_difference
from analysis.stats.checks import checked_whole
from analysis.stats.draws import Stream, percentile_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NetChange:
    """The net change as what was gained less what was lost, per item.

    Attributes
    ----------
    n_items, n_gained, n_lost
        Items, and those with a positive or negative change, however small.
    net
        Mean change, from the means of the two versions.
    gains, losses
        Sums of the positive and of the negative changes over ``n_items``, both 0 or more.
    residual
        net − (gains − losses), what rounding leaves of an identity: under 1e-15 of the unit.
    """

    n_items: int
    n_gained: int
    n_lost: int
    net: float
    gains: float
    losses: float
    residual: float


@dataclass(frozen=True)
class TrueChange:
    """Variance of the changes apart from sampling noise.

    Attributes
    ----------
    observed, noise
        Variance of the observed changes (n − 1 below) and the part that resampling the same items gives.
    true
        observed − noise; negative when the changes vary less than noise alone.
    signal
        true / observed; None when no change varies.
    rms
        Root mean square of the true changes about 0; None when noise explains the changes wholly.
    """

    observed: float
    noise: float
    true: float
    signal: float | None
    rms: float | None


def net_change(p_baseline: ArrayLike, p_candidate: ArrayLike) -> NetChange:
    """Net change, gains and losses, each summed on its own and without rounding in between.

    Parameters
    ----------
    p_baseline, p_candidate
        Shape (items,), finite, in one unit, at least one item.

    Returns
    -------
    NetChange
        Per item. The parts of domains add up to the whole when weighted by their items.

    Raises
    ------
    ValueError
        No items, scores that are not finite, or different shapes.

    Examples
    --------
    >>> change = net_change([0.1, 0.5, 0.9], [0.6, 0.4, 0.7])
    >>> round(change.net, 12), round(change.gains, 12), round(change.losses, 12), abs(change.residual) < 1e-15
    (0.066666666667, 0.166666666667, 0.1, True)
    """
    first, second = checked_pair(p_baseline, p_candidate)
    up, down = second > first, second < first
    net = (math.fsum(second) - math.fsum(first)) / first.size
    gains = math.fsum(second[up] - first[up]) / first.size
    losses = math.fsum(first[down] - second[down]) / first.size
    return NetChange(
        n_items=first.size,
        n_gained=int(up.sum()),
        n_lost=int(down.sum()),
        net=net,
        gains=gains,
        losses=losses,
        residual=net - (gains - losses),
    )


def true_change(
    p_baseline: ArrayLike, p_candidate: ArrayLike, *, sem_baseline: float, sem_candidate: float
) -> TrueChange:
    """Variance of the true changes: that of the observed ones less the error of both versions.

    Parameters
    ----------
    p_baseline, p_candidate
        Shape (items,), finite, in one unit, at least two items.
    sem_baseline, sem_candidate
        Standard errors of measurement over the same items, as `item_reliability` gives them.

    Returns
    -------
    TrueChange

    Raises
    ------
    ValueError
        Fewer than two items, scores that are not finite, or a standard error under 0.

    Notes
    -----
    Var(Δ) = Var(Δ̂) − mean[p̂₁(1 − p̂₁)/(n₁ − 1) + p̂₂(1 − p̂₂)/(n₂ − 1)]. Unbiased when the error is; the share of
    signal belongs to the set of items, not to any one of them.

    Examples
    --------
    >>> change = true_change([0.2, 0.5, 0.8], [0.7, 0.5, 0.4], sem_baseline=0.15, sem_candidate=0.15)
    >>> round(change.observed, 4), round(change.noise, 4), round(change.signal, 3)
    (0.2033, 0.045, 0.779)
    """
    first, second = checked_pair(p_baseline, p_candidate)
    if first.size < 2:
        raise ValueError(f"{first.size} item: a variance needs at least two")
    delta = second - first
    noise = standard_error_of_difference(sem_baseline, sem_candidate) ** 2
    observed = float(delta.var(ddof=1))
    square = float((delta**2).mean()) - noise
    return TrueChange(
        observed=observed,
        noise=noise,
        true=observed - noise,
        signal=1 - noise / observed if observed > 0 else None,
        rms=math.sqrt(square) if square > 0 else None,
    )


def regressed_score(p: ArrayLike, *, reliability: float, mean: float | None = None) -> Floats:
    """Score that an item is expected to have in new samples of the same version, μ + r (p − μ).

    Parameters
    ----------
    p
        Shape (items,), finite.
    reliability
        Of p over these items, in [0, 1]; 0 predicts the mean for every item.
    mean
        μ, the mean of ``p`` when None.

    Returns
    -------
    ndarray of float64, shape (items,)
        ``regressed_score(p) - p`` is the change that regression to the mean alone produces.

    Raises
    ------
    ValueError
        Scores that are not finite or a reliability outside [0, 1].

    Notes
    -----
    Kelley (1927); for the index Hageman and Arrindell (1999, Behav. Res. Ther. 37:1169).

    Examples
    --------
    >>> regressed_score([0.0, 0.5, 1.0], reliability=0.8)
    array([0.1, 0.5, 0.9])
    """
    score = checked_pair(p, p)[0]
    if not 0 <= reliability <= 1:
        raise ValueError(f"reliability = {reliability!r}: give one in [0, 1]")
    centre = float(score.mean()) if mean is None else mean
    return np.asarray(centre + reliability * (score - centre))


def breadth_ratio(
    improved: int, raised: int, n_items: int, *, level: float, n_resamples: int, rng: Stream
) -> tuple[float, float, float]:
    """Share of the items with any positive change that improved reliably, with its bootstrap interval over items.

    Parameters
    ----------
    improved, raised, n_items
        Items, ``improved <= raised <= n_items``, ``raised >= 1``.
    level
        Confidence level in (0, 1).
    n_resamples
        Resamples of items, at least 1; those without a raised item are left out.
    rng
        Generator or bit generator.

    Returns
    -------
    tuple of float
        Ratio, lower and upper percentile limit, probabilities.

    Raises
    ------
    ValueError
        Counts that do not fit, or an argument out of range.

    Notes
    -----
    A resample of items has multinomial numbers of improved, of otherwise raised and of other items.

    Examples
    --------
    >>> [round(x, 2) for x in breadth_ratio(321, 461, 952, level=0.95, n_resamples=2000, rng=np.random.PCG64(1))]
    [0.7, 0.65, 0.74]
    """
    if not 0 <= improved <= raised <= n_items or raised < 1:
        raise ValueError(
            f"{improved} improved of {raised} raised of {n_items} items: give counts that nest, raised >= 1"
        )
    draws = int(checked_whole("n_resamples", n_resamples, least=1))
    generator = rng if isinstance(rng, np.random.Generator) else np.random.Generator(rng)
    parts = np.array([improved, raised - improved, n_items - raised]) / n_items
    found = generator.multinomial(n_items, parts, size=draws)
    any_raised = found[:, 0] + found[:, 1] > 0
    low, high = percentile_interval(found[any_raised, 0] / found[any_raised, :2].sum(axis=1), level=level)
    return improved / raised, float(low), float(high)
