"""One cell audited: counts, bounds, both methods' statuses and what would change them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from analysis.present.format import level, number, prob
from analysis.results import Verdict
from analysis.stats import (
    anytime_evidence,
    anytime_floor,
    betting_upper,
    bonferroni,
    budget_p_value,
    clopper_pearson_lower,
    clopper_pearson_upper,
    holm,
    largest_certifiable_bar,
    posterior_over_budget,
    rejects,
    release_supported,
    sample_floor,
    strongly_unsupported,
)

from .cells import Cell, cell_name
from .parameters import Params

SUPPORTED = "release-supported"
UNSUPPORTED = "unsupported"
STRONG = "strong-unsupported"
NOT_CERTIFIABLE = "not certifiable"
NO_TARGET = "refused: no target audit"

VERDICTS: Mapping[str, Verdict] = {
    SUPPORTED: "pass",
    STRONG: "refuse",
    UNSUPPORTED: "undecided",
    NOT_CERTIFIABLE: "undecided",
    NO_TARGET: "undecided",
}
LETTERS = {SUPPORTED: "r", UNSUPPORTED: "u", STRONG: "s", NOT_CERTIFIABLE: "n", NO_TARGET: "–"}
NOISE_Z = 1.959963984540054  # two-sided 95 %


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a set of rules says of a cell: its status, and what stood in the way where the bound alone would release.

    ``cause`` is ``""``, ``looks``, ``family``, ``noise`` or ``chance``.
    """

    status: str
    cause: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellAudit:
    """The unit of inference: one cell in one audit.

    ``recipe`` holds further columns that do not vary inside the cell. ``n``, ``k`` and ``rate`` follow the parameter
    ``errors``; ``upper`` and ``lower`` are one-sided Clopper-Pearson bounds at ``delta``; ``floor`` is the number of
    reruns that zero failures need. ``status`` is what the gate reads; ``status_paper`` follows the published rule alone,
    ``status_corrected`` all corrections. ``still_needed`` counts further reruns without a failure from here when their
    number is fixed now, ``still_needed_anytime`` when it is not. ``near_bar`` counts reruns at or above the bar by less
    than test-set noise, ``upper_worst`` the bound with those as failures. ``upper_failure`` and ``upper_exclude`` are the
    bound under both readings of a rerun without a score. Undefined values are None and ``reason`` says why.
    """

    name: str
    cell: Mapping[str, str]
    recipe: Mapping[str, str]
    audit: str
    dataset: str | None
    n: int
    k: int
    rate: float | None
    upper: float | None
    lower: float | None
    floor: int
    status: str
    cause: str
    reason: str
    status_paper: str
    status_corrected: str
    still_needed: int | None
    still_needed_anytime: int | None
    without_score: int
    upper_failure: float | None
    upper_exclude: float | None
    near_bar: int | None
    upper_worst: float | None
    largest_bar: float | None
    mean: float | None
    sd: float | None
    shortfall: float | None
    shortfall_upper: float | None
    evidence: float
    anytime_floor: int
    posterior: float | None
    p_value: float | None
    p_adjusted: float | None


def audit_cells(cells: Sequence[Cell], judged: Sequence[bool], params: Params) -> list[CellAudit]:
    """Audit every cell; the family of the multiplicity adjustment is the cells that ``judged`` marks.

    Parameters
    ----------
    cells
        Cells with their scores.
    judged
        For every cell whether the gate reads it.
    """
    counts = [count(cell, params, params.tau) for cell in cells]
    near = [near_bar(cell, params) for cell in cells]
    worst = [(min(k + (extra or 0), n), n) for (k, n), extra in zip(counts, near, strict=True)]
    asked = _adjusted(counts, judged, params.family, params)
    family = params.family if params.family != "none" else "holm"
    corrected = _adjusted(counts, judged, family, params)
    corrected_worst = _adjusted(worst, judged, family, params)
    return [
        _audited(cell, counts[i], worst[i], (asked[i], corrected[i], corrected_worst[i]), params)
        for i, cell in enumerate(cells)
    ]


def count(cell: Cell, params: Params, tau: float) -> tuple[int, int]:
    """Failures and reruns at a bar: strictly below it, and by default every rerun without a score."""
    below = int((cell.scores < tau).sum())
    if params.errors == "failure":
        return below + cell.without_score, len(cell.scores)
    return below, len(cell.scores) - cell.without_score


def letter(k: int, n: int, params: Params) -> str:
    """The one-letter status of the published rule: r, u, s, or n where there are too few reruns."""
    return LETTERS[_published(k, n, params)]


def at_chance(tau: float, params: Params) -> bool:
    """Whether a constant predictor may reach a bar: it lies no more than the margin above the chance rate."""
    return params.chance_rate is not None and tau <= params.chance_rate + params.chance_margin


def near_bar(cell: Cell, params: Params) -> int | None:
    """Reruns at or above the bar whose 95 % Wilson interval on ``n_items`` items still holds the bar.

    None when the items behind a score are not given or scores are not proportions.
    """
    if cell.n_items is None or params.score_range != [0.0, 1.0]:
        return None
    half = NOISE_Z * math.sqrt(params.tau * (1 - params.tau) / cell.n_items)
    return int(((cell.scores >= params.tau) & (cell.scores < params.tau + half)).sum())


def unmeasured(like: Cell, params: Params) -> CellAudit:
    """The unit of a required cell that has no rerun in the audit that the gate reads: nothing is carried over."""
    empty = replace(
        like, audit="target" if params.claim else "calibration", dataset=None, scores=np.empty(0), n_items=None
    )
    unit = _audited(empty, (0, 0), (0, 0), (None, None, None), params)
    if params.claim is None:
        reason = "it has no calibration audit; a claim would read its target audit"
        return replace(unit, name=cell_name(like.cell), reason=reason)
    wanted = ", ".join(f"{name} = {value}" for name, value in params.claim.items())
    return replace(
        unit,
        name=f"{cell_name(like.cell)} on the target",
        status=NO_TARGET,
        status_paper=NO_TARGET,
        status_corrected=NO_TARGET,
        still_needed=None,
        still_needed_anytime=None,
        reason=f"the card is claimed for {wanted}, and no target audit has such reruns",
    )


def _adjusted(
    counts: Sequence[tuple[int, int]], judged: Sequence[bool], family: str, params: Params
) -> list[float | None]:
    """Adjusted p-values of the judged cells; None for the others, and for all when there is no family."""
    adjusted: list[float | None] = [None] * len(counts)
    members = [i for i, (_, n) in enumerate(counts) if judged[i] and n]
    if family == "none" or not members:
        return adjusted
    raw = [_p_value(*counts[i], params) for i in members]
    for i, p in zip(members, (holm if family == "holm" else bonferroni)(raw).tolist(), strict=True):
        adjusted[i] = p
    return adjusted


def _p_value(k: int, n: int, params: Params) -> float:
    """p-value of β > budget; 1/E where the reruns were looked at as they came, which is valid at any time."""
    if params.looks == "anytime":
        return min(1.0, 1 / anytime_evidence(k, n, budget=params.failure_budget))
    return budget_p_value(k, n, budget=params.failure_budget)


def _published(k: int, n: int, params: Params) -> str:
    """The status by the fixed-N bound alone, as the paper has it."""
    budget, delta = params.failure_budget, params.delta
    if n == 0:
        return NOT_CERTIFIABLE
    if strongly_unsupported(k, n, budget=budget, delta=delta):
        return STRONG
    if release_supported(k, n, budget=budget, delta=delta):
        return SUPPORTED
    return NOT_CERTIFIABLE if n < sample_floor(budget=budget, delta=delta) else UNSUPPORTED


def _read(k: int, n: int, params: Params, p_adjusted: float | None) -> Reading:
    """The published rule with the looks and the family that were asked for."""
    status = _published(k, n, params)
    if params.looks == "anytime" and n:
        budget, delta = params.failure_budget, params.delta
        strong = anytime_evidence(n - k, n, budget=1 - budget) >= 1 / delta
        if strong:
            return Reading(status=STRONG)
        if anytime_evidence(k, n, budget=budget) < 1 / delta:
            short = n < _anytime_floor(budget, delta, 0)
            cause = "looks" if status in {SUPPORTED, STRONG} else ""
            return Reading(status=NOT_CERTIFIABLE if short else UNSUPPORTED, cause=cause)
        status = SUPPORTED
    if status == SUPPORTED and _above(p_adjusted, params):
        return Reading(status=UNSUPPORTED, cause="family")
    return Reading(status=status)


def _correct(k: int, n: int, p_adjusted: float | None, p_worst: float | None, params: Params) -> Reading:
    """All corrections: the family, reruns near the bar as failures where that stops a release, a bar above chance."""
    reading = _read(k, n, params, p_adjusted)
    if reading.status != SUPPORTED:
        return reading
    if _above(p_worst, params):
        return Reading(status=UNSUPPORTED, cause="noise")
    return Reading(status=UNSUPPORTED, cause="chance") if at_chance(params.tau, params) else reading


def _above(p: float | None, params: Params) -> bool:
    return p is not None and not rejects([p], alpha=params.delta)[0]


def _audited(
    cell: Cell,
    counts: tuple[int, int],
    worst: tuple[int, int],
    adjusted: tuple[float | None, float | None, float | None],
    params: Params,
) -> CellAudit:
    (k, n), delta, budget = counts, params.delta, params.failure_budget
    corrected = _correct(k, n, adjusted[1], adjusted[2], params)
    gate = _read(k, n, params, adjusted[0]) if params.method == "paper" else corrected
    scored = cell.scores[~np.isnan(cell.scores)]
    below, whole = int((scored < params.tau).sum()), len(cell.scores)
    shortfalls = _shortfalls(cell, params)
    unit = CellAudit(
        name=cell.name,
        cell=cell.cell,
        recipe=cell.recipe,
        audit=cell.audit,
        dataset=cell.dataset,
        n=n,
        k=k,
        rate=k / n if n else None,
        upper=_upper(k, n, delta),
        lower=clopper_pearson_lower(k, n, delta=delta) if n else None,
        floor=sample_floor(budget=budget, delta=delta),
        status=gate.status,
        cause=gate.cause,
        reason="",
        status_paper=_published(k, n, params),
        status_corrected=corrected.status,
        still_needed=_still_needed(k, n, gate, params, sample_floor(budget=budget, delta=delta, failures=k)),
        still_needed_anytime=_still_needed(k, n, gate, params, _anytime_floor(budget, delta, k)),
        without_score=cell.without_score,
        upper_failure=_upper(below + cell.without_score, whole, delta),
        upper_exclude=_upper(below, len(scored), delta),
        near_bar=near_bar(cell, params),
        upper_worst=_upper(*worst, delta) if worst != counts else None,
        largest_bar=largest_certifiable_bar(scored, n, budget=budget, delta=delta) if n else None,
        mean=float(scored.mean()) if len(scored) else None,
        sd=_sd(scored),
        shortfall=float(shortfalls.mean()) if len(shortfalls) else None,
        shortfall_upper=_shortfall_upper(shortfalls, params),
        evidence=float(anytime_evidence(k, n, budget=budget)),
        anytime_floor=_anytime_floor(budget, delta, 0),
        posterior=posterior_over_budget(k, n, budget=budget) if n else None,
        p_value=_p_value(k, n, params) if n else None,
        p_adjusted=adjusted[1],
    )
    return replace(unit, reason=_reason(unit, params))


def _upper(k: int, n: int, delta: float) -> float | None:
    return clopper_pearson_upper(k, n, delta=delta) if n else None


def _sd(scored: npt.NDArray[np.float64]) -> float | None:
    """Standard deviation, ddof 1; exactly 0 for equal scores, which rounding would make a little more."""
    if len(scored) < 2:
        return None
    return float(scored.std(ddof=1)) if scored.min() < scored.max() else 0.0


def _shortfalls(cell: Cell, params: Params) -> npt.NDArray[np.float64]:
    """How far below the bar each rerun stayed; a rerun without a score stays below by all there is."""
    worst = params.tau - params.score_range[0]
    known = np.maximum(params.tau - cell.scores, 0)
    if params.errors == "failure":
        return np.where(np.isnan(known), worst, known)
    filled: npt.NDArray[np.float64] = known[~np.isnan(known)]
    return filled


def _shortfall_upper(shortfalls: npt.NDArray[np.float64], params: Params) -> float | None:
    limit = params.tau - params.score_range[0]
    if not len(shortfalls) or limit <= 0:
        return None
    return float(betting_upper(shortfalls, limit=limit, delta=params.delta))


def _still_needed(k: int, n: int, reading: Reading, params: Params, floor: int) -> int | None:
    """Reruns without a failure from here; None where more of them is not what is missing."""
    if reading.status == SUPPORTED:
        return 0
    if reading.status == STRONG or reading.cause in {"family", "noise", "chance"}:
        return None
    return max(floor - n, 0)


@lru_cache(maxsize=1024)
def _anytime_floor(budget: float, delta: float, failures: int) -> int:
    return anytime_floor(budget=budget, delta=delta, failures=failures)


def _reason(unit: CellAudit, params: Params) -> str:
    budget = level(params.failure_budget)
    counted = f"{unit.k} of {unit.n} reruns below {level(params.tau)}"
    if unit.n == 0:
        return "no rerun with a score that counts"
    if unit.status == SUPPORTED:
        return f"{counted}: the upper bound {prob(unit.upper)} is within the budget {budget}"
    if unit.status == STRONG and params.looks == "fixed":
        return f"{counted}: even the lower bound {prob(unit.lower)} is above the budget {budget}"
    if unit.status == STRONG:
        return f"{counted}: the evidence that the rate is above the budget {budget} holds at any number of reruns"
    if unit.cause:
        return f"{counted}: the bound {prob(unit.upper)} is within the budget {budget}, but {_obstacle(unit, params)}"
    anytime = params.looks == "anytime"
    needed = unit.still_needed_anytime if anytime else unit.still_needed
    total = unit.n + (needed or 0)
    more = f"{total} reruns with no further failure would support it" + (
        "" if anytime else ", if that number is fixed before looking"
    )
    if unit.status == NOT_CERTIFIABLE:
        floor = unit.anytime_floor if params.looks == "anytime" else unit.floor
        return f"{counted}: fewer than the {floor} reruns that even zero failures need; {more}"
    return f"{counted}: the upper bound {prob(unit.upper)} is above the budget {budget}; {more}"


def _obstacle(unit: CellAudit, params: Params) -> str:
    """What stands in the way of a cell whose bound alone is within the budget."""
    if unit.cause == "looks":
        return f"the e-value {number(unit.evidence)} is below {number(1 / params.delta)}, which a number not fixed beforehand needs"
    if unit.cause == "family":
        return f"not after the adjustment over the required cells (adjusted p {prob(unit.p_adjusted)})"
    if unit.cause == "noise":
        return (
            f"{unit.near_bar} of the reruns pass by less than the noise of the test set (bound {prob(unit.upper_worst)} with "
            "those as failures)"
        )
    return f"a constant predictor scores {level(params.chance_rate or 0.0)}: a bar at {level(params.tau)} shows no learning"
