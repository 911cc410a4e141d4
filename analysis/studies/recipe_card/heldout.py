"""Five release rules judged on reruns they did not see: every cell split many times, all cells pooled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import RULES, hold_out, in_sample, keyed_stream, over_budget_count

from .cells import Cell
from .parameters import Params

MOST_SIZES = 27  # points on the evidence curve
SMALLEST_AUDIT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRecord:
    """One release rule over all cells.

    Attributes
    ----------
    ships, over
        Cells the rule ships on all their reruns; those of them whose failure count is over budget.
    pooled, per_cell
        Held-out share of shipped splits that are over budget: over all shipped splits, and averaged over the cells
        that were ever shipped. None when nothing was shipped or no cell could be split.
    shipped
        Mean number of cells shipped at each audit size of the evidence curve.
    held_out
        (held-out failure rate, number of shipped splits), ascending.
    """

    rule: str
    ships: int
    over: int
    pooled: float | None
    per_cell: float | None
    shipped: tuple[float, ...]
    held_out: tuple[tuple[float, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """The five rules, and on what they were judged: ``cells`` in all, ``split`` of them large enough to be split."""

    cells: int
    split: int
    held_out_sizes: tuple[int, ...]
    sizes: tuple[int, ...]
    records: tuple[RuleRecord, ...]


def validate(cells: Sequence[Cell], params: Params) -> HeldOut:
    """Judge the rules on calibration cells. A cell is split when more than ``audit_size`` of its reruns count."""
    prepared = [_prepared(cell, params) for cell in cells]
    splittable = [len(scores) > params.audit_size for scores, _ in prepared]
    sizes = _sizes([len(scores) for (scores, _), big in zip(prepared, splittable, strict=True) if big])
    shipped = np.zeros((len(sizes), len(RULES)))
    bad = np.zeros((len(cells), len(RULES)))
    all_shipped = np.zeros((len(cells), len(RULES)))
    rates: list[Counter[float]] = [Counter() for _ in RULES]
    ships = np.zeros((len(cells), len(RULES)), dtype=bool)
    for i, (cell, (scores, failed)) in enumerate(zip(cells, prepared, strict=True)):
        if not len(scores):
            continue
        ships[i] = in_sample(scores, failed, tau=params.tau, budget=params.failure_budget, delta=params.delta)
        if not splittable[i]:
            continue
        stream = keyed_stream(params.seed, *(part for pair in cell.cell.items() for part in pair), cell.dataset or "")
        found = hold_out(
            scores,
            failed,
            tau=params.tau,
            budget=params.failure_budget,
            delta=params.delta,
            audit_size=params.audit_size,
            sizes=sizes,
            splits=params.splits,
            stream=stream,
        )
        shipped += found.evidence
        limit = over_budget_count(found.n_held_out, budget=params.failure_budget)
        for r in range(len(RULES)):
            counts = found.failures[found.ships[:, r]]
            all_shipped[i, r] = len(counts)
            bad[i, r] = int((counts >= limit).sum())
            for k, times in zip(*np.unique(counts, return_counts=True), strict=True):
                rates[r][int(k) / found.n_held_out] += int(times)
    over = np.array([_is_over(failed, params) for _, failed in prepared], dtype=bool)
    records = tuple(
        RuleRecord(
            rule=rule,
            ships=int(ships[:, r].sum()),
            over=int((ships[:, r] & over).sum()),
            pooled=_share(bad[:, r].sum(), all_shipped[:, r].sum()),
            per_cell=_mean_share(bad[:, r], all_shipped[:, r]),
            shipped=tuple(shipped[:, r].tolist()),
            held_out=tuple(sorted(rates[r].items())),
        )
        for r, rule in enumerate(RULES)
    )
    held_out_sizes = sorted(
        {len(s) - params.audit_size for (s, _), big in zip(prepared, splittable, strict=True) if big}
    )
    return HeldOut(
        cells=len(cells),
        split=sum(splittable),
        held_out_sizes=tuple(held_out_sizes),
        sizes=sizes,
        records=records,
    )


def _prepared(cell: Cell, params: Params) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    scores = cell.scores
    if params.errors == "exclude":
        scores = scores[~np.isnan(scores)]
    return scores, ~(scores >= params.tau)


def _sizes(lengths: Sequence[int]) -> tuple[int, ...]:
    """Audit sizes of the evidence curve: evenly spread up to two fewer than the smallest cell."""
    if not lengths or min(lengths) - 2 < SMALLEST_AUDIT:
        return ()
    return tuple(np.unique(np.linspace(SMALLEST_AUDIT, min(lengths) - 2, MOST_SIZES).astype(int)).tolist())


def _is_over(failed: npt.NDArray[np.bool_], params: Params) -> bool:
    limit = params.over_budget_count or over_budget_count(max(len(failed), 1), budget=params.failure_budget)
    return int(failed.sum()) >= limit


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def _mean_share(part: npt.NDArray[np.float64], whole: npt.NDArray[np.float64]) -> float | None:
    ever = whole > 0
    return float((part[ever] / whole[ever]).mean()) if ever.any() else None
