"""The data behind the figures, and which of the paper's three false positives each pair shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.present.format import level, number, prob
from analysis.present.table import Table, TableColumn
from analysis.stats import gpd_quantile, mean_excess, percentile_interval, verdict_power

from .differences import Comparison
from .gates import CLAUSES, corrected_clauses, ordered, paper_clauses
from .parameters import Params
from .tables import NOTHING, group_cells, group_columns, pair_cells, pair_columns
from .tails import Tail, point_fit

if TYPE_CHECKING:
    from .protocol import Protocol

QQ_POINTS = 60
EXTREMES = 5  # prompts a tail
MEAN_EXCESS_POINTS = 30
POWER_SIZES = (100, 200, 300, 500, 700, 1000, 1570, 2000, 3000, 5000, 10000, 20000)


def false_positives(protocol: Protocol) -> Table:
    """Sample-size illusion, bounded support, threshold fishing: which of them a pair shows."""
    rows = []
    for unit, group, found in zip(protocol.units, protocol.pair_groups, protocol.comparisons, strict=True):
        if found is not None:
            rows.append(
                (
                    *pair_cells(protocol, unit),
                    _illusion(found, protocol),
                    _bounded(found, set(found.pair) <= group.probabilities, protocol),
                    _fishing(found, protocol),
                )
            )
    return Table(
        id="false-positives",
        title="Which of the three ways to a false tail difference each pair shows.",
        columns=(
            *pair_columns(protocol),
            TableColumn(key="illusion", label="sample-size illusion", kind="text"),
            TableColumn(key="bounded", label="bounded support", kind="text"),
            TableColumn(key="fishing", label="threshold fishing", kind="text"),
        ),
        rows=tuple(rows),
        empty=NOTHING,
    )


def scan(protocol: Protocol) -> Table:
    """Model by quantile: the fit and its bootstrap band."""
    sure = 1 - protocol.params.alpha
    rows: list[tuple[Any, ...]] = []
    for group, tail in protocol.tails:
        for j, q in enumerate(tail.scan.quantiles):
            fit, draws = tail.scan.fits[j], tail.scan.xi[:, j]
            usable = len(draws) > 0 and bool(np.isfinite(draws).all())
            band = percentile_interval(draws, level=sure) if usable else (None, None)
            rows.append(
                (
                    *group_cells(protocol, group.name),
                    tail.model,
                    q,
                    tail.scan.thresholds[j],
                    tail.scan.n_exc[j],
                    fit.xi if fit else None,
                    *band,
                    fit.sigma if fit else None,
                )
            )
    return Table(
        id="scan",
        title="Tail index at every threshold of the scan.",
        columns=(
            *group_columns(protocol),
            TableColumn(key="model", label="model"),
            TableColumn(key="quantile", label="quantile", kind="level"),
            TableColumn(key="threshold", label="threshold", kind="number"),
            TableColumn(key="n_exc", label="n_exc", kind="count"),
            TableColumn(key="xi", label="ξ̂", kind="number"),
            TableColumn(key="low", label="low", kind="number", group=f"bootstrap {level(sure)}"),
            TableColumn(key="high", label="high", kind="number", group=f"bootstrap {level(sure)}"),
            TableColumn(key="sigma", label="σ̂", kind="number"),
        ),
        rows=tuple(rows),
    )


def qq(protocol: Protocol) -> Table:
    """Excesses against the quantiles of their fit, thinned."""
    rows: list[tuple[Any, ...]] = []
    for group, tail in protocol.tails:
        if tail.fit is None:
            continue
        excess = np.sort(tail.values[tail.values > tail.threshold]) - tail.threshold
        at = (np.arange(1, len(excess) + 1) - 0.5) / len(excess)
        theory = gpd_quantile(at, xi=tail.fit.xi, sigma=tail.fit.sigma)
        keep = np.unique(np.linspace(0, len(excess) - 1, QQ_POINTS).astype(int))
        name = _figure_name(protocol, group.name, tail)
        rows += [(name, float(theory[i]), float(excess[i])) for i in keep]
    return Table(
        id="qq",
        title="Excesses against the quantiles of the fitted law.",
        columns=(
            TableColumn(key="tail", label="tail"),
            TableColumn(key="fitted", label="fitted", kind="number"),
            TableColumn(key="observed", label="observed", kind="number"),
        ),
        rows=tuple(rows),
        empty="no tail could be fitted",
    )


def extremes(protocol: Protocol) -> Table:
    """The prompts behind each tail: the most severe scores of every model."""
    rows: list[tuple[Any, ...]] = []
    for group, tail in protocol.tails:
        scores = group.values[tail.model].sort_index()  # as the tail has them
        order = np.argsort(-tail.values, kind="stable")[:EXTREMES]
        name = _figure_name(protocol, group.name, tail)
        rows += [
            (name, str(scores.index[i]), float(scores.iloc[i]), float(tail.values[i] - tail.threshold))
            for i in order
            if tail.values[i] > tail.threshold
        ]
    return Table(
        id="extremes",
        title="The prompts furthest in each tail.",
        columns=(
            TableColumn(key="tail", label="Tail"),
            TableColumn(key="item", label="Prompt"),
            TableColumn(key="score", label="Score as given", kind="number"),
            TableColumn(key="excess", label="Over the threshold", kind="number"),
        ),
        rows=tuple(rows),
        notes=(f"Up to {EXTREMES} prompts a tail, the most severe first; excesses on the scale of the analysis.",),
        empty="no score is over a threshold",
    )


def mean_excesses(protocol: Protocol) -> Table:
    """Mean excess over rising thresholds."""
    rows: list[tuple[Any, ...]] = []
    for group, tail in protocol.tails:
        levels = np.linspace(0.5, 0.995, MEAN_EXCESS_POINTS)
        thresholds = np.unique(np.quantile(tail.values, levels))
        thresholds = thresholds[thresholds < tail.values.max()]
        if not len(thresholds):
            continue
        means = mean_excess(tail.values, thresholds)
        name = _figure_name(protocol, group.name, tail)
        rows += [(name, float(u), float(e)) for u, e in zip(thresholds, means, strict=True)]
    return Table(
        id="mean-excess",
        title="Mean excess over the threshold.",
        columns=(
            TableColumn(key="tail", label="tail"),
            TableColumn(key="threshold", label="threshold", kind="number"),
            TableColumn(key="mean_excess", label="mean excess", kind="number"),
        ),
        rows=tuple(rows),
        empty="the scores are constant",
    )


def waterfall(protocol: Protocol) -> Table:
    """Pairs left after each clause, by both methods."""
    rows = [(method, name, left) for method in ("paper", "corrected") for name, left in _left(protocol, method)]
    return Table(
        id="waterfall",
        title="Pairs left after each clause.",
        columns=(
            TableColumn(key="method", label="method"),
            TableColumn(key="clause", label="clause"),
            TableColumn(key="left", label="pairs left", kind="count"),
        ),
        rows=tuple(rows),
    )


def power(protocol: Protocol) -> Table:
    """Power of P1 and P2 together as published."""
    params = protocol.params
    rows = [
        (effect, n, float(verdict_power(effect, n, alpha=params.alpha, floor=params.floor or 1e-9)))
        for effect in effects(params)
        for n in POWER_SIZES
    ]
    return Table(
        id="power",
        title="Power of P1 and P2 together, as published.",
        columns=(
            TableColumn(key="effect", label="difference of ξ", kind="level"),
            TableColumn(key="n_exc", label="n_exc", kind="count"),
            TableColumn(key="power", label="power", kind="prob"),
        ),
        rows=tuple(rows),
    )


def effects(params: Params) -> list[float]:
    """Differences of ξ whose power is drawn: the floor, and once, twice and three times the planned effect."""
    return sorted({params.floor, *(k * params.effect for k in (1, 2, 3))} - {0.0})


def pairs_left(protocol: Protocol) -> list[tuple[str, int]]:
    """Pairs left after each clause by the method of the gate."""
    return _left(protocol, protocol.params.method)


def _left(protocol: Protocol, method: str) -> list[tuple[str, int]]:
    params = protocol.params
    killed: list[str | None] = []
    for found in protocol.comparisons:
        if found is None:
            killed.append("G1")
            continue
        clauses = (
            paper_clauses(found, params)
            if method == "paper"
            else corrected_clauses(found, protocol.claims[id(found)], params)
        )
        killed.append(ordered(clauses, params)[1])
    left = len(killed)
    out = [("start", left)]
    for name in CLAUSES:
        left -= killed.count(name)
        out.append((name, left))
    return out


def _illusion(found: Comparison, protocol: Protocol) -> str:
    if found.xi is None:
        return "no difference of ξ to judge"
    size = number(abs(found.xi.estimate), 3)
    if abs(found.xi.estimate) > protocol.params.floor and found.least < found.needed:
        return f"yes: a difference of {size} on {found.least:,} exceedances, where {found.needed:,} are asked for"
    return f"no: difference {size} on {found.least:,} exceedances"


def _bounded(found: Comparison, unit_interval: bool, protocol: Protocol) -> str:
    """Raw fits that a bound spoils, and whether the logit heals them."""
    spoilt, healed = [], []
    for tail in (found.one, found.two):
        p = tail.p_value
        bad = bool(tail.problem) or (p is not None and p <= protocol.params.alpha)
        if tail.scale == "raw" and not bad:
            continue
        if unit_interval:
            own = point_fit(tail.raw, protocol.params, logit=False)
            other = point_fit(tail.raw, protocol.params, logit=True)
            if own[2] is None or own[2] <= protocol.params.alpha:
                spoilt.append(f"{tail.model} raw p {prob(own[2])}")
                if other[2] is not None and other[2] > protocol.params.alpha:
                    healed.append(tail.model)
        elif bad and tail.fit is not None and tail.fit.xi < 0:
            spoilt.append(
                f"{tail.model} ξ̂ {number(tail.fit.xi, 3)}, {prob(tail.at_maximum)} of exceedances at the largest"
            )
    if not spoilt:
        return "no"
    return f"yes: {'; '.join(spoilt)}" + (f"; the logit heals {' and '.join(healed)}" if healed else "")


def _fishing(found: Comparison, protocol: Protocol) -> str:
    """Thresholds of the scan at which the percentile intervals part and the point difference passes the floor."""
    one, two, params = found.one.scan, found.two.scan, protocol.params
    hits, here = [], False
    if not len(one.xi):
        return "too few exceedances to scan"
    for j, q in enumerate(one.quantiles):
        fit_one, fit_two = one.fits[j], two.fits[j]
        if (
            fit_one is None
            or fit_two is None
            or not (np.isfinite(one.xi[:, j]).all() and np.isfinite(two.xi[:, j]).all())
        ):
            continue
        ends = [percentile_interval(draws[:, j], level=1 - params.alpha) for draws in (one.xi, two.xi)]
        apart = ends[0][1] < ends[1][0] or ends[1][1] < ends[0][0]
        if apart and abs(fit_one.xi - fit_two.xi) > params.floor:
            hits.append(q)
            here = here or abs(q - params.quantile) < 1e-9
    if not hits:
        return "no threshold of the scan shows a difference"
    shown = f"{len(hits)} of {len(one.quantiles)} thresholds show a difference"
    unstable = "unstable" in (found.one.stability.joint, found.two.stability.joint)
    if len(hits) < len(one.quantiles) and (unstable or not here):
        return f"yes: {shown}" + ("" if here else ", not the one that was set")
    return f"no: {shown}"


def _figure_name(protocol: Protocol, group: str, tail: Tail) -> str:
    parts = [part for part in (group, tail.model, tail.scale if tail.scale == "logit" else "") if part]
    return ", ".join(parts)
