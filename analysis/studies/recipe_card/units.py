"""One cell audited: counts, bounds, both methods' statuses and what would change them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from analysis.present.format import level, plural, prob
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
    mean_shortfall,
    posterior_over_budget,
    release_supported,
    sample_floor,
    strongly_unsupported,
)

from .cells import Cell
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
class CellAudit:
    """The unit of inference: one cell in one audit.

    ``recipe`` holds further columns that do not vary inside the cell. ``n``, ``k`` and ``rate`` follow the parameter ``errors``; ``upper`` and ``lower`` are one-sided Clopper-Pearson
    bounds at ``delta``; ``floor`` is the number of reruns that zero failures need; ``still_needed`` counts further
    reruns without a failure from here. ``upper_failure`` and ``upper_exclude`` are the bound under both readings of a
    rerun without a score. ``indeterminate`` counts reruns at or above the bar by less than test-set noise.
    Undefined values are None and ``reason`` says why.
    """

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
    reason: str
    status_paper: str
    status_corrected: str
    still_needed: int | None
    without_score: int
    upper_failure: float | None
    upper_exclude: float | None
    indeterminate: int | None
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

    @property
    def name(self) -> str:
        """The cell in words, with the audit where it is not the calibration."""
        words = " / ".join(self.cell.values())
        return words if self.audit == "calibration" else f"{words} on {self.dataset or 'the target'}"


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
    uncertain = [indeterminate(cell, params) for cell in cells]
    worst = [(min(k + (extra or 0), n), n) for (k, n), extra in zip(counts, uncertain, strict=True)]
    stricter = params.family if params.family != "none" else "holm"
    paper = _adjusted(counts, judged, params.family, params)
    corrected = _adjusted(worst, judged, stricter, params)
    return [_audited(cell, counts[i], worst[i], paper[i], corrected[i], params) for i, cell in enumerate(cells)]


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


def count(cell: Cell, params: Params, tau: float) -> tuple[int, int]:
    """Failures and reruns at a bar: strictly below it, and by default every rerun without a score."""
    below = int((cell.scores < tau).sum())
    if params.errors == "failure":
        return below + cell.without_score, len(cell.scores)
    return below, len(cell.scores) - cell.without_score


def letter(k: int, n: int, params: Params) -> str:
    """The one-letter status of the tables: r, u, s, or n where there are too few reruns."""
    return LETTERS[_status(k, n, params, p_adjusted=None)]


def refused(cell: Mapping[str, str], params: Params, like: Cell) -> CellAudit:
    """The unit of a cell whose claim has no audit: nothing was measured, so nothing is carried over."""
    empty = replace(like, cell=cell, audit="target", dataset=None, scores=np.empty(0), n_items=None)
    unit = _audited(empty, (0, 0), (0, 0), None, None, params)
    wanted = ", ".join(f"{name} = {value}" for name, value in (params.claim or {}).items())
    return replace(
        unit,
        status=NO_TARGET,
        status_paper=NO_TARGET,
        status_corrected=NO_TARGET,
        reason=f"the card is claimed for {wanted}, and no target audit has such reruns",
    )


def _audited(
    cell: Cell,
    counts: tuple[int, int],
    worst: tuple[int, int],
    p_paper: float | None,
    p_corrected: float | None,
    params: Params,
) -> CellAudit:
    (k, n), delta, budget = counts, params.delta, params.failure_budget
    paper = _status(k, n, params, p_adjusted=p_paper)
    corrected = _corrected(*worst, p_corrected, params)
    status = paper if params.method == "paper" else corrected
    upper = clopper_pearson_upper(k, n, delta=delta) if n else None
    lower = clopper_pearson_lower(k, n, delta=delta) if n else None
    scored = cell.scores[~np.isnan(cell.scores)]
    below, whole = int((scored < params.tau).sum()), len(cell.scores)
    needed = _still_needed(k, n, status, params)
    shortfalls = _shortfalls(cell, params)
    unit = CellAudit(
        cell=cell.cell,
        recipe=cell.recipe,
        audit=cell.audit,
        dataset=cell.dataset,
        n=n,
        k=k,
        rate=k / n if n else None,
        upper=upper,
        lower=lower,
        floor=sample_floor(budget=budget, delta=delta),
        status=status,
        reason="",
        status_paper=paper,
        status_corrected=corrected,
        still_needed=needed,
        without_score=cell.without_score,
        upper_failure=clopper_pearson_upper(below + cell.without_score, whole, delta=delta) if whole else None,
        upper_exclude=clopper_pearson_upper(below, len(scored), delta=delta) if len(scored) else None,
        indeterminate=indeterminate(cell, params),
        largest_bar=largest_certifiable_bar(scored, n, budget=budget, delta=delta) if n else None,
        mean=float(scored.mean()) if len(scored) else None,
        sd=_sd(scored),
        shortfall=_mean_shortfall(cell, params),
        shortfall_upper=_shortfall_upper(shortfalls, params),
        evidence=float(anytime_evidence(k, n, budget=budget)),
        anytime_floor=_anytime_floor(budget, delta, 0),
        posterior=posterior_over_budget(k, n, budget=budget) if n else None,
        p_value=_p_value(k, n, params) if n else None,
        p_adjusted=p_corrected,
    )
    return replace(unit, reason=_reason(unit, params))


def _sd(scored: npt.NDArray[np.float64]) -> float | None:
    """Standard deviation, ddof 1; exactly 0 for equal scores, which rounding would make a little more."""
    if len(scored) < 2:
        return None
    return float(scored.std(ddof=1)) if scored.min() < scored.max() else 0.0


def _status(k: int, n: int, params: Params, *, p_adjusted: float | None) -> str:
    budget, delta = params.failure_budget, params.delta
    if n == 0:
        return NOT_CERTIFIABLE
    if params.looks == "anytime":
        strong = anytime_evidence(n - k, n, budget=1 - budget) >= 1 / delta
        supported = anytime_evidence(k, n, budget=budget) >= 1 / delta
        floor = _anytime_floor(budget, delta, 0)
    else:
        strong = bool(strongly_unsupported(k, n, budget=budget, delta=delta))
        supported = bool(release_supported(k, n, budget=budget, delta=delta))
        floor = sample_floor(budget=budget, delta=delta)
    if strong:
        return STRONG
    if supported and (p_adjusted is None or p_adjusted <= delta):
        return SUPPORTED
    return NOT_CERTIFIABLE if n < floor else UNSUPPORTED


def _corrected(k: int, n: int, p_adjusted: float | None, params: Params) -> str:
    """The status after the corrections: a family adjustment, uncertain reruns as failures, a bar above chance."""
    status = _status(k, n, params, p_adjusted=p_adjusted)
    at_chance = params.chance_rate is not None and params.tau <= params.chance_rate
    return UNSUPPORTED if status == SUPPORTED and at_chance else status


def indeterminate(cell: Cell, params: Params) -> int | None:
    """Reruns at or above the bar whose 95 % Wilson interval on ``n_items`` items still holds the bar.

    None when the items behind a score are not given or scores are not proportions.
    """
    if cell.n_items is None or params.score_range != [0.0, 1.0]:
        return None
    half = NOISE_Z * math.sqrt(params.tau * (1 - params.tau) / cell.n_items)
    return int(((cell.scores >= params.tau) & (cell.scores < params.tau + half)).sum())


def _shortfalls(cell: Cell, params: Params) -> npt.NDArray[np.float64]:
    """How far below the bar each rerun stayed; a rerun without a score stays below by all there is."""
    worst = params.tau - params.score_range[0]
    known = np.maximum(params.tau - cell.scores, 0)
    if params.errors == "failure":
        return np.where(np.isnan(known), worst, known)
    filled: npt.NDArray[np.float64] = known[~np.isnan(known)]
    return filled


def _mean_shortfall(cell: Cell, params: Params) -> float | None:
    scored = cell.scores[~np.isnan(cell.scores)]
    missing = cell.without_score if params.errors == "failure" else 0
    if not len(scored) + missing:
        return None
    return mean_shortfall(scored, params.tau, low=params.score_range[0], missing=missing)


def _shortfall_upper(shortfalls: npt.NDArray[np.float64], params: Params) -> float | None:
    limit = params.tau - params.score_range[0]
    if not len(shortfalls) or limit <= 0:
        return None
    return float(betting_upper(shortfalls, limit=limit, delta=params.delta))


def _still_needed(k: int, n: int, status: str, params: Params) -> int | None:
    if status == SUPPORTED:
        return 0
    if status == STRONG:
        return None
    if params.looks == "anytime":
        floor = _anytime_floor(params.failure_budget, params.delta, k)
    else:
        floor = sample_floor(budget=params.failure_budget, delta=params.delta, failures=k)
    return max(floor - n, 0)


@lru_cache(maxsize=1024)
def _anytime_floor(budget: float, delta: float, failures: int) -> int:
    return anytime_floor(budget=budget, delta=delta, failures=failures)


def _reason(unit: CellAudit, params: Params) -> str:
    budget, tau = level(params.failure_budget), level(params.tau)
    counted = f"{unit.k} of {unit.n} reruns below {tau}"
    if unit.n == 0:
        return "no rerun with a score that counts"
    if unit.status == STRONG:
        return f"{counted}: even the lower bound {prob(unit.lower)} is above the budget {budget}"
    if unit.status == SUPPORTED:
        return f"{counted}: the upper bound {prob(unit.upper)} is within the budget {budget}"
    more = f"{plural(unit.still_needed or 0, 'more rerun')} without a failure would support it"
    if unit.status == NOT_CERTIFIABLE:
        floor = unit.anytime_floor if params.looks == "anytime" else unit.floor
        return f"{counted}: fewer than the {floor} reruns that even zero failures need; {more}"
    if unit.upper is not None and unit.upper <= params.failure_budget:
        return f"{counted}: within the budget alone (upper bound {prob(unit.upper)}), but not {_stricter(params)}"
    return f"{counted}: the upper bound {prob(unit.upper)} is above the budget {budget}; {more}"


def _stricter(params: Params) -> str:
    if params.looks == "anytime":
        return "when the number of reruns was not fixed beforehand"
    if params.method == "corrected" and params.chance_rate is not None and params.tau <= params.chance_rate:
        return "at a bar that chance reaches"
    return "after the adjustment over the required cells"
