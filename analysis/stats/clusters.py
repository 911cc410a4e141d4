"""Standard errors of a mean over items that come in groups.

Values are one number per item, a score or a paired difference candidate − baseline, in one unit throughout. Items
of one cluster (a subject, a document, a customer) may depend on each other, clusters may not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtrit

from analysis.stats.checks import checked_probability, checked_whole
from analysis.stats.draws import Stream, raw_words

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]
Names = NDArray[np.generic]
ClusterMethod = Literal["CR0", "CR1", "CR2"]

FEWEST_CLUSTERS = 6
WEBB_UNDER = 12  # clusters: two weights would leave fewer than 2,048 different resamples
FLAT = 1e-12  # what rounding leaves of cluster sums that are all zero, in the largest value times the largest cluster
TIE = 1e-9  # relative: equal weights in all clusters repeat the statistic itself
SAME = "the clusters' means do not differ: an interval of no width would claim to know the mean exactly"
WEBB = np.array([-math.sqrt(1.5), -1.0, -math.sqrt(0.5), math.sqrt(0.5), 1.0, math.sqrt(1.5)])
RADEMACHER = np.array([-1.0, 1.0])


@dataclass(frozen=True)
class ClusteredMean:
    """A mean with a standard error that allows for dependence within clusters.

    Attributes
    ----------
    n, n_clusters
        Items and clusters.
    mean, se, se_iid
        In the unit of the values; ``se_iid`` as if the items were independent, sd/√n with n − 1 below.
    df
        Degrees of freedom of the t interval: clusters − 1, or Satterthwaite's for CR2.
    low, high
        Ends of the interval; None with ``reason`` when the clusters' means do not differ.
    design_effect
        (se / se_iid)², how many times more items the same precision takes; None when no value differs.
    method
        ``CR0``, ``CR1`` or ``CR2``.
    reason
        Why a number is missing; None when none is.
    """

    n: int
    n_clusters: int
    mean: float
    se: float
    se_iid: float
    df: float
    low: float | None
    high: float | None
    design_effect: float | None
    method: ClusterMethod
    reason: str | None


def clustered_mean(
    values: ArrayLike,
    clusters: ArrayLike,
    *,
    level: float,
    method: ClusterMethod = "CR2",
    min_clusters: int = FEWEST_CLUSTERS,
) -> ClusteredMean:
    """Mean with its clustered standard error and t interval; for a paired comparison give the differences.

    Parameters
    ----------
    values
        Shape (n,), finite.
    clusters
        Shape (n,), the cluster of every value, numbers or text without gaps.
    level
        Confidence level in (0, 1).
    method
        ``CR0``: √(Σ_g (Σ_{i∈g} e_i)²)/n, without a correction; ``CR1``: times √(G/(G − 1)); ``CR2``: every
        cluster's sum over √(1 − n_g/n), so that the variance has no bias when the items are independent, with
        Satterthwaite's degrees of freedom.
    min_clusters
        Fewest clusters to accept, 2 or more; under it the error of the error is too large to be useful.

    Returns
    -------
    ClusteredMean

    Raises
    ------
    ValueError
        Values that are not finite, clusters with gaps or of another length, too few clusters, or an option that
        does not exist.

    Notes
    -----
    CR0 is Liang and Zeger (1986, Biometrika 73:13), for evaluations Miller (2024, arXiv 2411.00640); CR2 and
    its degrees of freedom Bell and McCaffrey (2002, Surv. Methodol. 28:169), whose matrix roots have a closed form
    for a mean. Of equally large clusters CR1 and CR2 are the same and both have G − 1 degrees of freedom; of unequal
    ones only CR2 covers .94 or more. Means of pass rates near 1 are skewed: at .95 CR2 covers .87 to .96
    (tests/calibration/pairs.md).

    Examples
    --------
    >>> d = [1, 1, 0, 0, -1, 0, 1, 1]
    >>> found = clustered_mean(d, [0, 0, 1, 1, 2, 2, 3, 3], level=0.95, method="CR0", min_clusters=4)
    >>> found.mean, round(found.se_iid, 5), round(found.se, 5), round(found.design_effect, 3)
    (0.375, 0.26305, 0.32476, 1.524)
    """
    sample, _, codes = checked_groups(values, clusters, "clusters")
    if method not in ("CR0", "CR1", "CR2"):
        raise ValueError(f"method = {method!r}: give CR0, CR1 or CR2")
    sizes, mean, sums, g = _cluster_sums(sample, codes, min_clusters)
    n = sample.size
    share = sizes / n
    scale = {"CR0": 1.0, "CR1": g / (g - 1)}.get(method, 1 / (1 - share))
    se = math.sqrt(float((scale * sums**2).sum())) / n
    se_iid = float(sample.std(ddof=1)) / math.sqrt(n)
    df = g - 1.0 if method != "CR2" else _satterthwaite(sizes)
    reach = float(stdtrit(df, (1 + checked_probability("level", level)) / 2)) * se
    flat = not sums.any()
    return ClusteredMean(
        n=n,
        n_clusters=g,
        mean=mean,
        se=se,
        se_iid=se_iid,
        df=df,
        low=None if flat else mean - reach,
        high=None if flat else mean + reach,
        design_effect=(se / se_iid) ** 2 if np.ptp(sample) > 0 else None,
        method=method,
        reason=SAME if flat else None,
    )


def wild_cluster_interval(
    values: ArrayLike,
    clusters: ArrayLike,
    *,
    level: float,
    rng: Stream,
    n_resamples: int = 9999,
    min_clusters: int = FEWEST_CLUSTERS,
) -> tuple[float, float] | None:
    """Interval of a mean by the wild cluster bootstrap: the values that its test does not reject.

    Parameters
    ----------
    values, clusters, level, min_clusters
        As in `clustered_mean`; at least 3 clusters, since 2 cannot reject at the usual levels.
    rng, n_resamples
        Generator or bit generator of 64-bit words, and resamples; 9,999 make p a multiple of 1/10,000.

    Returns
    -------
    tuple of float or None
        Lower and upper end; None when the clusters' means do not differ.

    Raises
    ------
    ValueError
        As in `clustered_mean`, or a level that the number of clusters or resamples cannot reach.

    Notes
    -----
    Cameron, Gelbach and Miller (2008, Rev. Econ. Stat. 90:414): the residuals under the tested mean are multiplied
    by one random weight per cluster, and the t statistics are compared in size. The weights are ±1, under 12
    clusters the six of Webb (2023, Can. J. Econ. 56:839). All resamples enter as quadratic functions of the tested
    mean, so that the search for the ends costs little.

    Examples
    --------
    >>> d, g = [1, 1, 0, 0, -1, 0, 1, 1, 0, 1, 1, 0], np.repeat(np.arange(6), 2)
    >>> low, high = wild_cluster_interval(d, g, level=0.95, rng=np.random.default_rng(1))
    >>> round(low, 2), round(high, 2)
    (-0.23, 1.01)
    """
    sample, _, codes = checked_groups(values, clusters, "clusters")
    sizes, mean, sums, g = _cluster_sums(sample, codes, max(3, min_clusters))
    draws = int(checked_whole("n_resamples", n_resamples, least=1))
    alpha = 1 - checked_probability("level", level)
    weights = WEBB if g < WEBB_UNDER else RADEMACHER
    if max(1 / (draws + 1), weights.size ** (1.0 - g)) >= alpha:
        raise ValueError(f"level = {level!r} with {g} clusters and {draws} resamples: no mean could be rejected")
    if not sums.any():
        return None
    words = raw_words(rng, draws * g) >> np.uint64(32)
    w = weights[(words * np.uint64(weights.size) >> np.uint64(32)).astype(np.intp)].reshape(draws, g)
    total, size, moment, square = (w @ np.stack([sums, sizes, sizes * sums, sizes**2], axis=1)).T
    own, cross, weight = (w**2 @ np.stack([sums**2, sizes * sums, sizes**2], axis=1)).T
    spread, n = float((sums**2).sum()), float(sample.size)

    def kept(shift: float) -> bool:
        """Whether mean + shift is not rejected, t*² >= t² with the denominators multiplied out."""
        drawn = total - shift * size
        moved = drawn / n
        variance = own - 2 * shift * cross + shift**2 * weight - 2 * moved * (moment - shift * square)
        variance += moved**2 * float((sizes**2).sum())
        beyond = int((drawn**2 * spread >= (shift * n) ** 2 * variance * (1 - TIE)).sum())
        return (1 + beyond) / (draws + 1) > alpha

    step = math.sqrt(spread) / n
    return mean - _edge(lambda shift: kept(-shift), step), mean + _edge(kept, step)


def design_effect(cluster_size: float, rho: float) -> float:
    """How many times clusters of one size raise the variance of a mean, 1 + (m − 1)ρ; of unequal sizes m = Σ m²/Σ m.

    Raises
    ------
    ValueError
        A size under 1, or a correlation of two items of a cluster over 1 or under −1/(m − 1).

    Notes
    -----
    Kish (1965, Survey Sampling).

    Examples
    --------
    >>> round(design_effect(10, 0.05), 2), round(design_effect(20, 0.02), 2)
    (1.45, 1.38)
    """
    if not 1 <= cluster_size < math.inf:
        raise ValueError(f"cluster_size = {cluster_size!r}: give 1 or more items per cluster")
    effect = 1 + (cluster_size - 1) * rho
    if not (effect >= 0 and rho <= 1):
        raise ValueError(f"rho = {rho!r}: give a correlation between −1/(cluster_size − 1) and 1")
    return effect


def _cluster_sums(sample: Floats, codes: Codes, min_clusters: int) -> tuple[Floats, float, Floats, int]:
    """Cluster sizes, the mean, the clusters' sums of residuals (exact zeros when flat) and the number of clusters."""
    least = int(checked_whole("min_clusters", min_clusters, least=2))
    sizes = np.bincount(codes).astype(np.float64)
    if sizes.size < least:
        raise ValueError(
            f"{sizes.size} clusters, fewer than min_clusters = {least}: their spread says too little about the error; "
            "name finer clusters, collect more, or lower min_clusters"
        )
    mean = float(sample.mean())
    sums: Floats = np.bincount(codes, sample - mean).astype(np.float64)
    if float(np.abs(sums).max()) <= FLAT * float(np.abs(sample).max()) * float(sizes.max()):
        sums = np.zeros(sizes.size)
    return sizes, mean, sums, sizes.size


def _satterthwaite(sizes: Floats) -> float:
    """Degrees of freedom of CR2 for independent items, (tr B)² / tr B² with B the covariance of the scaled sums."""
    n = float(sizes.sum())
    scaled = sizes**2 / (1 - sizes / n)
    off_diagonal = (float(scaled.sum()) ** 2 - float((scaled**2).sum())) / n**2
    return n**2 / (float((sizes**2).sum()) + off_diagonal)


def _edge(kept: Callable[[float], bool], step: float) -> float:
    """Largest shift that is kept, by doubling and bisection; a step of one standard error always is."""
    low, high = 0.0, step
    while kept(high):
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if kept(middle) else (low, middle)
    return low


def checked_labels(labels: ArrayLike) -> tuple[Names, NDArray[np.bool_]]:
    """Labels as numbers or text, objects as text, and where one is missing."""
    names = np.asarray(labels)
    if names.dtype.kind == "O":
        gaps = [label is None or (isinstance(label, float) and math.isnan(label)) for label in names.ravel().tolist()]
        return names.astype(str), np.array(gaps, dtype=bool).reshape(names.shape)
    return names, np.isnan(names) if names.dtype.kind in "fmM" else np.zeros(names.shape, dtype=bool)


def checked_groups(values: ArrayLike, groups: ArrayLike, name: str) -> tuple[Floats, Names, Codes]:
    """Finite values, the sorted names of their groups and the place of every value's group among them."""
    sample = np.asarray(values, dtype=np.float64)
    labels, gaps = checked_labels(groups)
    if sample.ndim != 1 or sample.shape != labels.shape or not sample.size:
        raise ValueError(f"values of shape {sample.shape} and {name} of shape {labels.shape}: give one of each per row")
    if not np.isfinite(sample).all():
        raise ValueError(f"a value is {sample[~np.isfinite(sample)][0]}: leave out what was not measured")
    if gaps.any():
        raise ValueError(f"{name}: row {int(gaps.argmax())} has none; name one for every row or leave the row out")
    if labels.dtype.kind in "iu" and labels.min() >= 0 and labels.max() < 4 * labels.size:  # without sorting
        present = np.bincount(labels) > 0
        return sample, np.flatnonzero(present), (np.cumsum(present) - 1)[labels]
    names, codes = np.unique(labels, return_inverse=True)
    return sample, names, codes
