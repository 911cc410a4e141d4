"""The protocol as tables: gates pair by pair, fits model by model, bulk and sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analysis.present.format import level, number
from analysis.present.table import Table, TableColumn
from analysis.results import WORST_FIRST, Gate
from analysis.stats import cramer_von_mises_gpd, fit_pwm, fit_zhang_stephens, prompts_needed, tvar_from_fit

from .differences import Interval
from .gates import CLAUSES, SWALLOWED, corrected_clauses, paper_clauses
from .tails import LAW_EXCEEDANCES, LAW_XI, Tail, point_fit

if TYPE_CHECKING:
    from .protocol import PairUnit, Protocol

NOTHING = "no pair shares prompts"


def checks(gate: Gate) -> Table:
    """The gate pair by pair."""
    return Table(
        id="checks",
        title="The gate, pair by pair.",
        columns=(
            TableColumn(key="name", label="Required pair"),
            TableColumn(key="observed", label="Status"),
            TableColumn(key="verdict", label="Verdict", kind="status"),
            TableColumn(key="reason", label="Reason", kind="text"),
        ),
        rows=tuple(
            (c.name, c.observed, c.verdict, c.reason)
            for c in sorted(gate.checks, key=lambda check: WORST_FIRST.index(check.verdict))
        ),
        empty="no required pair was found",
    )


def gates(protocol: Protocol) -> Table:
    """Pair by clause, with what killed the pair."""
    return Table(
        id="gates",
        title="Every pair through the clauses, in order; a dash stands behind the first that is not passed: not evaluated.",
        columns=(
            *pair_columns(protocol),
            *(TableColumn(key=name, label=name) for name in CLAUSES),
            TableColumn(key="killed_by", label="killed by"),
            TableColumn(key="paper", label="paper", group="status"),
            TableColumn(key="corrected", label="corrected", group="status"),
        ),
        rows=tuple(
            (
                *pair_cells(protocol, unit),
                *(
                    None if unit.gates[name].outcome == "not evaluated" else unit.gates[name].outcome
                    for name in CLAUSES
                ),
                unit.killed_by,
                unit.status_paper,
                unit.status_corrected,
            )
            for unit in protocol.units
        ),
        notes=(
            "G1 mean and G2 TVaR alike, G3 enough exceedances, G4 the generalised Pareto law fits, G5 the tail index does not "
            "hang on the threshold; then P1 the tail indices differ and P2 by more than the floor.",
            f"The clauses are those of the {protocol.params.method} method; the table of clauses shows both.",
        ),
        empty=NOTHING,
    )


def instead(protocol: Protocol) -> Table:
    """What can be said of every pair without a claim about its shape."""
    return Table(
        id="instead",
        title="What can be concluded without a claim about the shape.",
        columns=(
            *pair_columns(protocol),
            TableColumn(key="status", label="status"),
            TableColumn(key="instead", label="mean, tail mass and exceedances", kind="text"),
        ),
        rows=tuple((*pair_cells(protocol, unit), unit.status, unit.instead) for unit in protocol.units),
        empty=NOTHING,
    )


def clauses(protocol: Protocol) -> Table:
    """Every clause by both methods, side by side."""
    rows: list[tuple[Any, ...]] = []
    for unit, found in zip(protocol.units, protocol.comparisons, strict=True):
        if found is None:
            continue
        paper = paper_clauses(found, protocol.params)
        corrected = corrected_clauses(found, protocol.claims[id(found)], protocol.params)
        for name in CLAUSES:
            one, two = paper[name], corrected[name]
            rows.append((*pair_cells(protocol, unit), name, one.value, one.outcome, two.value, two.outcome, two.reason))
    return Table(
        id="clauses",
        title="Each clause by the published and by the corrected rule, as if it stood alone.",
        columns=(
            *pair_columns(protocol),
            TableColumn(key="clause", label="clause"),
            TableColumn(key="paper_value", label="observed", group="paper"),
            TableColumn(key="paper_outcome", label="outcome", group="paper"),
            TableColumn(key="corrected_value", label="observed", group="corrected"),
            TableColumn(key="corrected_outcome", label="outcome", group="corrected"),
            TableColumn(key="corrected_reason", label="reason", kind="text", group="corrected"),
        ),
        rows=tuple(rows),
        empty=NOTHING,
    )


def fits(protocol: Protocol) -> Table:
    """Model by model, on the scale of the analysis and beside it on the other one."""
    sure = level(1 - protocol.params.alpha)
    rows = []
    for group, tail in protocol.tails:
        rows.append((*group_cells(protocol, group.name), tail.model, *_fit_cells(tail)))
        if tail.model in group.probabilities:
            rows.append((*group_cells(protocol, group.name), tail.model, *_other_scale(tail, protocol)))
    return Table(
        id="fits",
        title="Generalised Pareto fits to the exceedances of each model.",
        columns=(
            *group_columns(protocol),
            TableColumn(key="model", label="model"),
            TableColumn(key="scale", label="scale"),
            TableColumn(key="threshold", label="threshold", kind="number"),
            TableColumn(key="n_exc", label="n_exc", kind="count"),
            TableColumn(key="xi", label="ξ̂", kind="number"),
            TableColumn(key="xi_low", label="low", kind="number", group=f"ξ, profile {sure}"),
            TableColumn(key="xi_high", label="high", kind="number", group=f"ξ, profile {sure}"),
            TableColumn(key="p_low", label="low", kind="number", group="percentile"),
            TableColumn(key="p_high", label="high", kind="number", group="percentile"),
            TableColumn(key="sigma", label="σ̂", kind="number"),
            TableColumn(key="se_sigma", label="SE", kind="number"),
            TableColumn(key="a2", label="A²", kind="number"),
            TableColumn(key="p_law", label="law", kind="p_value", group="p of A²"),
            TableColumn(key="p_bootstrap", label="bootstrap", kind="p_value", group="p of A²"),
            TableColumn(key="problem", label="no statement, because", kind="text"),
        ),
        rows=tuple(rows),
        notes=(
            f"Threshold: the {level(protocol.params.quantile)} quantile, exceedances strictly above it. Profile-likelihood "
            "intervals hold their level better than percentile intervals.",
            f"p of A²: the asymptotic law counts where at least {LAW_EXCEEDANCES} exceedances stand and ξ̂ ≥ {number(LAW_XI)}, the "
            "parametric bootstrap otherwise; the other one is the cross-check.",
            "On the logit scale a power tail at the bound becomes exponential whatever its index: its shape moves into σ, so "
            "compare σ there. A tail index does not survive a monotone transform.",
        ),
    )


def estimators(protocol: Protocol) -> Table:
    """The tail index by other estimators, another distance, and the tail mass that the fit implies."""
    params = protocol.params
    rows = []
    for group, tail in protocol.tails:
        if tail.fit is None:
            continue
        excess = tail.values[tail.values > tail.threshold] - tail.threshold
        implied = None
        if params.tvar_level >= 1 - tail.n_exc / tail.n:
            implied = tvar_from_fit(tail.fit, threshold=tail.threshold, n=tail.n, level=params.tvar_level)
        rows.append(
            (
                *group_cells(protocol, group.name),
                tail.model,
                tail.fit.xi,
                fit_pwm(excess)[0],
                fit_zhang_stephens(excess)[0],
                cramer_von_mises_gpd(excess, tail.fit),
                tail.tvar,
                implied,
            )
        )
    return Table(
        id="estimators",
        title="The same tails by other estimators and another distance.",
        columns=(
            *group_columns(protocol),
            TableColumn(key="model", label="model"),
            TableColumn(key="xi", label="likelihood", kind="number", group="ξ̂"),
            TableColumn(key="xi_pwm", label="weighted moments", kind="number", group="ξ̂"),
            TableColumn(key="xi_zs", label="Zhang–Stephens", kind="number", group="ξ̂"),
            TableColumn(key="w2", label="W²", kind="number"),
            TableColumn(key="tvar", label="scores", kind="number", group="TVaR"),
            TableColumn(key="tvar_fit", label="fit", kind="number", group="TVaR"),
        ),
        rows=tuple(rows),
        notes=(
            f"W²: Cramér-von Mises distance. TVaR at {level(params.tvar_level)}; a fit implies it only from "
            "its own threshold up.",
        ),
        empty="no tail could be fitted",
    )


def bulk(protocol: Protocol) -> Table:
    """Mean and tail mass, model by model and as differences."""
    rows = []
    for unit, found in zip(protocol.units, protocol.comparisons, strict=True):
        if found is None:
            continue
        rows.append(
            (
                *pair_cells(protocol, unit),
                found.shared,
                found.one.mean,
                found.two.mean,
                *_interval(found.mean),
                found.one.tvar,
                found.two.tvar,
                *_interval(found.tvar),
                found.above.estimate,
            )
        )
    return Table(
        id="bulk",
        title="What can be said without the shape: means, TVaR and exceedance rates on shared prompts.",
        columns=(
            *pair_columns(protocol),
            TableColumn(key="shared", label="prompts", kind="count"),
            TableColumn(key="mean_first", label="first", kind="number", group="mean"),
            TableColumn(key="mean_second", label="second", kind="number", group="mean"),
            TableColumn(key="mean_diff", label="difference", kind="number", group="mean"),
            TableColumn(key="mean_low", label="low", kind="number", group="mean"),
            TableColumn(key="mean_high", label="high", kind="number", group="mean"),
            TableColumn(key="tvar_first", label="first", kind="number", group="TVaR"),
            TableColumn(key="tvar_second", label="second", kind="number", group="TVaR"),
            TableColumn(key="tvar_diff", label="difference", kind="number", group="TVaR"),
            TableColumn(key="tvar_low", label="low", kind="number", group="TVaR"),
            TableColumn(key="tvar_high", label="high", kind="number", group="TVaR"),
            TableColumn(key="above", label="share above", kind="prob"),
        ),
        rows=tuple(rows),
        notes=(
            f"Differences are first minus second. Means and TVaR at {level(protocol.params.tvar_level)} with intervals of level "
            f"{level(1 - 2 * protocol.params.alpha)}, by resampling prompts, the same prompts for both models.",
            "Share above: scores of the first model above the threshold of the second.",
            *_logit_note(protocol),
        ),
        empty=NOTHING,
    )


def _logit_note(protocol: Protocol) -> tuple[str, ...]:
    if not any(tail.scale == "logit" for _, tail in protocol.tails):
        return ()
    return ("Scores in [0, 1] are compared as logits, and so are their means, TVaR and bands (transform).",)


def scales(protocol: Protocol) -> Table:
    """Shape and scale as differences: after a logit the shape of a power tail lies in the scale."""
    rows = []
    for unit, found in zip(protocol.units, protocol.comparisons, strict=True):
        if found is not None:
            nothing = (None, None, None)
            rows.append(
                (
                    *pair_cells(protocol, unit),
                    found.one.scale,
                    *(_interval(found.xi) if found.xi else nothing),
                    *(_interval(found.log_sigma) if found.log_sigma else nothing),
                    found.problem or None,
                )
            )
    return Table(
        id="scales",
        title="Differences of shape and scale between the two tails, first minus second.",
        columns=(
            *pair_columns(protocol),
            TableColumn(key="scale", label="on"),
            TableColumn(key="xi", label="estimate", kind="number", group="ξ difference"),
            TableColumn(key="xi_low", label="low", kind="number", group="ξ difference"),
            TableColumn(key="xi_high", label="high", kind="number", group="ξ difference"),
            TableColumn(key="log_sigma", label="estimate", kind="number", group="log σ ratio"),
            TableColumn(key="log_sigma_low", label="low", kind="number", group="log σ ratio"),
            TableColumn(key="log_sigma_high", label="high", kind="number", group="log σ ratio"),
            TableColumn(key="problem", label="no statement, because", kind="text"),
        ),
        rows=tuple(rows),
        notes=(
            f"Basic bootstrap intervals of level {level(1 - protocol.params.alpha)} from paired resamples of prompts; a dash where there is "
            "no regular fit.",
        ),
        empty=NOTHING,
    )


def sizes(protocol: Protocol) -> Table:
    """Exceedances there are, needed, and the prompts that would give them."""
    rows = []
    for unit, found in zip(protocol.units, protocol.comparisons, strict=True):
        if found is not None:
            swallowed = found.least < SWALLOWED * found.expected
            needed = None if swallowed else prompts_needed(found.needed, quantile=protocol.params.quantile)
            rows.append(
                (*pair_cells(protocol, unit), found.least, found.needed, found.shared, needed, found.one.clusters)
            )
    return Table(
        id="sizes",
        title="Exceedances there are, exceedances that G3 asks for, and the prompts that would give them.",
        columns=(
            *pair_columns(protocol),
            TableColumn(key="n_exc", label="n_exc", kind="count"),
            TableColumn(key="n_star", label="N*", kind="count"),
            TableColumn(key="prompts", label="there are", kind="count", group="prompts"),
            TableColumn(key="prompts_needed", label="needed", kind="count", group="prompts"),
            TableColumn(key="clusters", label="clusters", kind="count"),
        ),
        rows=tuple(rows),
        notes=(
            "A dash under needed: ties swallow the exceedances, and more prompts would not help. A dash under clusters: every "
            "prompt stands for itself.",
        ),
        empty=NOTHING,
    )


def _fit_cells(tail: Tail) -> tuple[Any, ...]:
    fit = tail.fit
    return (
        tail.scale,
        tail.threshold,
        tail.n_exc,
        fit.xi if fit else None,
        *(tail.profile or (None, None)),
        *(tail.percentile or (None, None)),
        fit.sigma if fit else None,
        fit.se_sigma if fit else None,
        tail.a2,
        tail.p_law,
        tail.p_bootstrap,
        tail.problem or None,
    )


def _other_scale(tail: Tail, protocol: Protocol) -> tuple[Any, ...]:
    """The same scores on the scale that is not analysed: point fit and A² by the law."""
    logit = tail.scale == "raw"
    fit, a2, p_law = point_fit(tail.raw, protocol.params, logit=logit)
    empty = (None,) * 4
    return (
        "logit" if logit else "raw",
        None,
        fit.n if fit else 0,
        fit.xi if fit else None,
        *empty,
        fit.sigma if fit else None,
        fit.se_sigma if fit else None,
        a2,
        p_law,
        None,
        None,
    )


def _interval(found: Interval) -> tuple[float, float, float]:
    return found.estimate, found.low, found.high


def group_columns(protocol: Protocol) -> tuple[TableColumn, ...]:
    """Scorer and condition, where there are several."""
    several = any(group.name for group in protocol.groups)
    return (TableColumn(key="group", label="scorer, condition"),) if several else ()


def group_cells(protocol: Protocol, name: str) -> tuple[str, ...]:
    """The cells under `group_columns`."""
    return (name,) if group_columns(protocol) else ()


def pair_columns(protocol: Protocol) -> tuple[TableColumn, ...]:
    """Group and the two models."""
    return (
        *group_columns(protocol),
        TableColumn(key="pair", label="first – second"),
    )


def pair_cells(protocol: Protocol, unit: PairUnit) -> tuple[str, ...]:
    """The cells under `pair_columns`."""
    name = ", ".join(part for part in (unit.scorer, unit.condition) if part)
    return (*group_cells(protocol, name), " – ".join(unit.pair))
