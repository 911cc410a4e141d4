"""Five release rules judged on reruns they did not see: every cell split many times, all cells pooled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats import RULES, hold_out, in_sample, keyed_stream, over_budget_count
from analysis.stats import HeldOut as Validated

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
    lengths = [len(scores) for scores, _ in prepared]
    large = [n for n in lengths if n > params.audit_size]
    sizes = _sizes(large)
    seen = [
        _split(cell, scores, failed, sizes, params) if len(scores) > params.audit_size else None
        for cell, (scores, failed) in zip(cells, prepared, strict=True)
    ]
    whole = [
        in_sample(scores, failed, tau=params.tau, budget=params.failure_budget, delta=params.delta).tolist()
        if len(scores)
        else [False] * len(RULES)
        for scores, failed in prepared
    ]
    over = [_is_over(failed, params) for _, failed in prepared]
    return HeldOut(
        cells=len(cells),
        split=len(large),
        held_out_sizes=tuple(sorted({n - params.audit_size for n in large})),
        sizes=sizes,
        records=tuple(
            _record(r, [ships[r] for ships in whole], over, [found for found in seen if found is not None], params)
            for r in range(len(RULES))
        ),
    )


def _split(
    cell: Cell,
    scores: npt.NDArray[np.float64],
    failed: npt.NDArray[np.bool_],
    sizes: Sequence[int],
    params: Params,
) -> Validated:
    labels = [part for pair in (*cell.cell.items(), *cell.claim.items()) for part in pair]
    return hold_out(
        scores,
        failed,
        tau=params.tau,
        budget=params.failure_budget,
        delta=params.delta,
        audit_size=params.audit_size,
        sizes=sizes,
        splits=params.splits,
        stream=keyed_stream(params.seed, *labels, cell.dataset or ""),
    )


def _record(
    r: int, ships: Sequence[bool], over: Sequence[bool], seen: Sequence[Validated], params: Params
) -> RuleRecord:
    """What one rule did: on all reruns of every cell, and on the splits of the cells that could be split."""
    rates: Counter[float] = Counter()
    shipped, bad = [], []
    for found in seen:
        counts = found.failures[found.ships[:, r]]
        shipped.append(len(counts))
        bad.append(int((counts >= over_budget_count(found.n_held_out, budget=params.failure_budget)).sum()))
        for k, times in zip(*np.unique(counts, return_counts=True), strict=True):
            rates[int(k) / found.n_held_out] += int(times)
    shares = [b / s for b, s in zip(bad, shipped, strict=True) if s]
    evidence = np.sum([found.evidence[:, r] for found in seen], axis=0) if seen else np.empty(0)
    return RuleRecord(
        rule=RULES[r],
        ships=sum(ships),
        over=sum(s and o for s, o in zip(ships, over, strict=True)),
        pooled=sum(bad) / sum(shipped) if sum(shipped) else None,
        per_cell=float(np.mean(shares)) if shares else None,
        shipped=tuple(evidence.tolist()),
        held_out=tuple(sorted(rates.items())),
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
