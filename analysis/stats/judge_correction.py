"""A judge's mean or rate corrected by human labels of some of the items."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from analysis.stats.binomial import wilson
from analysis.stats.checks import checked_counts, checked_probability
from analysis.stats.paired import tango_interval

FLAT = 1e-12


@dataclass(frozen=True)
class CorrectedMean:
    """A judge's mean or rate corrected by human labels.

    Attributes
    ----------
    estimate, low, high
        In the unit of the labels; None with ``reason`` where the labels do not identify them.
    se
        Standard error; None with ``reason``, and of `rogan_gladen`, whose interval has none.
    judged, human
        Uncorrected means: the judge's and that of the human labels.
    lam
        Weight of the judge, 1 in the original method; None of `rogan_gladen`.
    method
        ``t``, ``score`` or ``lang-reiczigel``: how the interval was made.
    reason
        Why a number is missing; None otherwise.
    """

    estimate: float | None
    low: float | None
    high: float | None
    se: float | None
    judged: float
    human: float
    lam: float | None
    method: Literal["t", "score", "lang-reiczigel"]
    reason: str | None


def prediction_powered_mean(
    human: ArrayLike,
    judge: ArrayLike,
    judge_unlabelled: ArrayLike,
    *,
    level: float,
    lam: float | None = 1.0,
    method: Literal["t", "score"] | None = None,
) -> CorrectedMean:
    """Mean of what humans would say about all items, from a judge of all and human labels of some.

    Parameters
    ----------
    human, judge
        Shape (n,), human labels and the judge's of the same items, drawn at random.
    judge_unlabelled
        Shape (N,), the judge's labels of the other items.
    level
        Confidence level in (0, 1).
    lam
        λ, the weight of the judge: 1 as published first, 0 for the human labels alone, None for the λ in [0, 1] that
        minimises the estimated variance.
    method
        ``t``: the estimate ± Student's quantile with n − 1 degrees of freedom times SE; ``score``, for labels 0 and 1
        and λ = 1: Wilson's and Tango's intervals of the two terms put together, which does not collapse when the
        judge is never wrong. By default ``score`` where it applies.

    Returns
    -------
    CorrectedMean
        λ mean(unlabelled) + mean(human − λ judge); with ``t`` no interval, and ``reason``, when the corrections do
        not vary.

    Raises
    ------
    ValueError
        Fewer than two labelled or unlabelled items, labels that are not finite, different numbers of human labels and
        of the judge's, or ``score`` where it does not apply.

    Notes
    -----
    Angelopoulos et al. (2023, Science 382:669) with λ = 1; λ from Angelopoulos, Duchi and Zrnic (2023,
    arXiv 2311.01453). Terms put together as in Zou and Donner (2008, Stat. Med. 27:1693). With 150 labels
    both methods cover .94 to .96; the estimated λ covers .91 to .93 where nine of ten human labels or more are the same
    (tests/calibration/pairs.md).

    Examples
    --------
    >>> found = prediction_powered_mean([1, 0, 1, 1], [1, 1, 1, 1], [1, 0, 1, 1, 1, 0], level=0.95)
    >>> round(found.estimate, 4), round(found.se, 4), found.method
    (0.4167, 0.327, 'score')
    """
    y, f, rest = (np.asarray(values, dtype=np.float64) for values in (human, judge, judge_unlabelled))
    if y.ndim != 1 or y.shape != f.shape or rest.ndim != 1 or min(y.size, rest.size) < 2:
        raise ValueError(
            f"labels of shapes {y.shape}, {f.shape} and {rest.shape}: give two items or more of either kind"
        )
    if not all(np.isfinite(values).all() for values in (y, f, rest)):
        raise ValueError("a label is not finite: leave out items that the judge or the human failed on")
    quantile = (1 + checked_probability("level", level)) / 2
    n, m = y.size, rest.size
    if lam is None:
        spread = float(np.concatenate([f, rest]).var(ddof=1))
        covariance = float(((y - y.mean()) * f).mean())
        lam = min(max(covariance / ((1 + n / m) * spread), 0.0), 1.0) if spread > 0 else 0.0
    rectifier = y - lam * f
    first, second = lam * float(rest.mean()), float(rectifier.mean())
    estimate, judged = first + second, float(np.concatenate([f, rest]).mean())
    se = math.sqrt(lam**2 * float(rest.var(ddof=1)) / m + float(rectifier.var(ddof=1)) / n)
    binary = lam == 1 and all(np.isin(values, [0.0, 1.0]).all() for values in (y, f, rest))
    if method == "score" and not binary:
        raise ValueError(f"method = 'score' with lam = {lam!r}: it needs labels of 0 and 1 and lam = 1; take 't'")
    if method == "score" or (method is None and binary):
        l1, u1 = wilson(int(rest.sum()), m, level=level)
        l2, u2 = tango_interval(int((rectifier < 0).sum()), int((rectifier > 0).sum()), n, level=level)
        low, high = estimate - math.hypot(first - l1, second - l2), estimate + math.hypot(u1 - first, u2 - second)
        return CorrectedMean(estimate, max(low, 0.0), min(high, 1.0), se, judged, float(y.mean()), lam, "score", None)
    if float(np.ptp(rectifier)) <= FLAT * max(1.0, float(np.abs(y).max())):
        reason = "judge and human differ by the same on every label: the error of the correction is not known"
        return CorrectedMean(estimate, None, None, None, judged, float(y.mean()), lam, "t", reason)
    reach = float(stdtrit(n - 1, quantile)) * se
    return CorrectedMean(estimate, estimate - reach, estimate + reach, se, judged, float(y.mean()), lam, "t", None)


def rogan_gladen(
    positives: int,
    n: int,
    *,
    true_positives: int,
    human_positives: int,
    true_negatives: int,
    human_negatives: int,
    level: float,
) -> CorrectedMean:
    """Rate of positives corrected for the judge's sensitivity and specificity on human labels.

    Parameters
    ----------
    positives, n
        Items that the judge called positive, of all it judged; not the labelled ones.
    true_positives, human_positives
        Items that judge and human call positive, of those that the human calls positive.
    true_negatives, human_negatives
        The same of negatives.
    level
        Confidence level in (0, 1).

    Returns
    -------
    CorrectedMean
        (p + specificity − 1)/(sensitivity + specificity − 1) within [0, 1]; None with ``reason`` when humans gave only
        one kind of label or the judge is no better than chance.

    Raises
    ------
    ValueError
        Counts that are not whole or do not fit, or a level outside (0, 1).

    Notes
    -----
    Rogan and Gladen (1978, Am. J. Epidemiol. 107:71); interval of Lang and Reiczigel (2014, Prev. Vet. Med. 113:13).
    For labels of a sample of the same items `prediction_powered_mean` is more precise; this one also serves when the
    labels come from elsewhere, as long as the judge errs there as here.

    Examples
    --------
    >>> found = rogan_gladen(300, 850, true_positives=45, human_positives=50, true_negatives=90,
    ...                      human_negatives=100, level=0.95)
    >>> round(found.estimate, 4), round(found.low, 3), round(found.high, 3)
    (0.3162, 0.24, 0.392)
    """
    k, trials = checked_counts(
        [positives, true_positives, true_negatives], [n, human_positives, human_negatives], least=0
    )
    z = float(ndtri((1 + checked_probability("level", level)) / 2))
    if not trials[0]:
        raise ValueError("n = 0: give at least one judged item")
    judged, human = positives / n, human_positives / max(human_positives + human_negatives, 1)

    def missing(reason: str) -> CorrectedMean:
        return CorrectedMean(None, None, None, None, judged, human, None, "lang-reiczigel", reason)

    if not trials.all():
        return missing("the human labels are all of one kind: how often the judge misses the other is not known")
    p, sensitivity, specificity = k / trials
    added = np.array([z * z / 2, 1.0, 1.0])
    sizes = trials + 2 * added
    q, se, sp = (k + added) / sizes
    if min(sensitivity + specificity, se + sp) <= 1:
        return missing("the judge is no better than chance on the human labels: the rate cannot be recovered")
    centre = (q + sp - 1) / (se + sp - 1)
    error = np.array([q * (1 - q), centre**2 * se * (1 - se), (1 - centre) ** 2 * sp * (1 - sp)]) / sizes
    reach = z * math.sqrt(float(error.sum())) / (se + sp - 1)
    shift = 2 * z * z * (centre * se * (1 - se) / sizes[1] - (1 - centre) * sp * (1 - sp) / sizes[2])
    estimate, low, high = (
        float(np.clip(value, 0, 1))
        for value in (
            (p + specificity - 1) / (sensitivity + specificity - 1),
            centre + shift - reach,
            centre + shift + reach,
        )
    )
    return CorrectedMean(estimate, low, high, None, judged, human, None, "lang-reiczigel", None)
