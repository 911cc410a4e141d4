"""Two models through the gates G1 to G5 and the claims P1 and P2, as published and as corrected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from analysis.present.format import level, number, prob
from analysis.results import Verdict
from analysis.stats import minimum_effect, rejects, tost

from .differences import Adjusted, Comparison, Interval
from .parameters import Params
from .tails import Tail

CLAUSES = ("G1", "G2", "G3", "G4", "G5", "P1", "P2")
SWALLOWED = 0.5  # share of the exceedances that a quantile should leave, below which more prompts do not help


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One clause: what was observed, its limit, and ``pass``, ``fail``, ``undecided`` or ``not evaluated``."""

    value: str
    limit: str
    outcome: str
    reason: str


def paper_clauses(found: Comparison, params: Params) -> dict[str, Clause]:
    """The published rules, each evaluated; the order and the first failure are applied by `ordered`."""
    one, two = found.one, found.two
    clauses = {
        "G1": _unless(found.bulk_problem(params), _inside(found.mean_paper, params.delta_mean, "mean", found, params)),
        "G2": _unless(found.mass_problem(params), _inside(found.tvar_paper, params.delta_tvar, "TVaR", found, params)),
        "G3": _sizes(found, "fail"),
    }
    p_values = [tail.p_value for tail in (one, two)]
    text = f"p {_p(one.p_value)}, {_p(two.p_value)}"
    good = all(p is not None and p > params.alpha for p in p_values)
    clauses["G4"] = Clause(
        value=text,
        limit=f"> {level(params.alpha)}",
        outcome="pass" if good else "fail",
        reason="both fits stand" if good else "a fit is rejected or cannot be tested",
    )
    moves = [_largest_move(tail, params) for tail in (one, two)]
    steady = all(move is not None and move < params.stability_tolerance for move in moves)
    moved = "ξ̂ moves more than the tolerance around the threshold"
    if None in moves:
        moved = "a side of the band has too few exceedances to be fitted"
    clauses["G5"] = Clause(
        value=", ".join("–" if move is None else number(move, 3) for move in moves),
        limit=f"< {level(params.stability_tolerance)}",
        outcome="pass" if steady else "fail",
        reason="ξ̂ moves less than the tolerance around the threshold" if steady else moved,
    )
    if one.percentile is None or two.percentile is None or found.xi is None:
        missing = Clause(value="–", limit="", outcome="fail", reason="no interval of ξ")
        return {**clauses, "P1": missing, "P2": missing}
    apart = one.percentile[1] < two.percentile[0] or two.percentile[1] < one.percentile[0]
    clauses["P1"] = Clause(
        value=f"{_ends(*one.percentile)} and {_ends(*two.percentile)}",
        limit="no overlap",
        outcome="pass" if apart else "fail",
        reason=f"the {_percent(1 - params.alpha)} intervals of ξ {'are apart' if apart else 'overlap'}",
    )
    size = abs(found.xi.estimate)
    clauses["P2"] = Clause(
        value=number(size, 3),
        limit=f"> {level(params.floor)}",
        outcome="pass" if size > params.floor else "fail",
        reason="the point difference is above the floor"
        if size > params.floor
        else "the point difference is at most the floor",
    )
    return clauses


def corrected_clauses(found: Comparison, claims: Adjusted, params: Params) -> dict[str, Clause]:
    """The corrected rules: three-valued equivalence, joint stability, the interval of the difference."""
    clauses = {
        "G1": _unless(found.bulk_problem(params), _equivalent(found.mean, params.delta_mean, "mean", found, params)),
        "G2": _unless(found.mass_problem(params), _equivalent(found.tvar, params.delta_tvar, "TVaR", found, params)),
        "G3": _sizes(found, "undecided"),
        "G4": _goodness(found, params),
        "G5": _stability(found, params),
    }
    if found.problem or found.xi is None:
        reason = found.problem or "no interval of ξ"
        missing = Clause(value="–", limit="", outcome="undecided", reason=reason)
        return {**clauses, "P1": missing, "P2": missing}
    ends = _ends(found.xi.low, found.xi.high)
    within = -params.floor < found.xi.low and found.xi.high < params.floor
    shown = claims.equal is not None and bool(rejects([claims.equal], alpha=params.alpha)[0])
    clauses["P1"] = Clause(
        value=f"ξ difference {number(found.xi.estimate, 3)} {ends}, p {_p(claims.equal)} after Holm",
        limit=f"p ≤ {level(params.alpha)}",
        outcome="pass" if shown else "fail" if within else "undecided",
        reason="the tail indices differ"
        if shown
        else f"the difference lies wholly within ± {level(params.floor)}"
        if within
        else "a difference is not shown, nor excluded",
    )
    reached = minimum_effect(found.xi.low, found.xi.high, floor=params.floor) if params.floor else "reached"
    sure = claims.minimum is not None and bool(rejects([claims.minimum], alpha=params.alpha)[0])
    outcome = {"reached": "pass" if sure else "undecided", "excluded": "fail", "undecided": "undecided"}[reached]
    clauses["P2"] = Clause(
        value=f"{ends}, p {_p(claims.minimum)} after Holm",
        limit=f"beyond ± {level(params.floor)}",
        outcome=outcome,
        reason={
            "pass": "the whole interval lies beyond the floor",
            "fail": "the whole interval lies within the floor",
            "undecided": "the interval straddles the floor, or does not stay beyond it after the adjustment over pairs",
        }[outcome],
    )
    return clauses


def ordered(clauses: Mapping[str, Clause], params: Params) -> tuple[dict[str, Clause], str | None]:
    """Apply the order: what stands behind the first clause that is not passed is not evaluated, or marked as diagnosis."""
    out: dict[str, Clause] = {}
    killed: str | None = None
    for name in CLAUSES:
        clause = clauses[name]
        if killed is None:
            out[name] = clause
            killed = None if clause.outcome == "pass" else name
        elif params.diagnose:
            out[name] = replace(clause, reason=f"diagnosis only: {clause.reason}")
        else:
            out[name] = Clause(value="–", limit=clause.limit, outcome="not evaluated", reason=f"killed at {killed}")
    return out, killed


def verdict(found: Comparison, clauses: Mapping[str, Clause], killed: str | None, params: Params) -> Verdict:
    """Pass, or what the clause that killed the pair says: refuse where the evidence speaks against, else undecided.

    A tail about which nothing can be said never passes, whatever the published rules make of it.
    """
    if killed is None:
        return "undecided" if found.problem else "pass"
    if params.method == "corrected":
        return "refuse" if clauses[killed].outcome == "fail" else "undecided"
    within = found.xi is not None and -params.floor < found.xi.low and found.xi.high < params.floor
    tails = (found.one, found.two)
    against = {
        "G1": not found.bulk_problem(params)
        and tost(found.mean_paper.low, found.mean_paper.high, band=params.delta_mean) == "different",
        "G2": not found.mass_problem(params)
        and tost(found.tvar_paper.low, found.tvar_paper.high, band=params.delta_tvar) == "different",
        "G3": False,
        "G4": any(tail.p_value is not None and tail.p_value <= params.alpha for tail in tails),
        "G5": any(tail.stability.joint == "unstable" for tail in tails),
        "P1": within,
        "P2": within,
    }
    return "refuse" if against[killed] and not (found.problem and killed not in {"G1", "G2"}) else "undecided"


def instead(found: Comparison) -> str:
    """What can be concluded when a claim about the shape cannot."""
    one, two = found.pair
    return (
        f"{one} minus {two} on {found.shared:,} shared prompts: mean {_signed(found.mean)}, TVaR {_signed(found.tvar)}; {prob(found.above.estimate)} of the scores of {one} lie above the threshold of {two} "
        f"({_ends(found.above.low, found.above.high)})"
    )


def _unless(problem: str, clause: Clause) -> Clause:
    return replace(clause, outcome="undecided", reason=problem) if problem else clause


def _inside(found: Interval, band: float, what: str, of: Comparison, params: Params) -> Clause:
    inside = -band <= found.low and found.high <= band
    return Clause(
        value=f"{number(found.estimate, 3)} {_ends(found.low, found.high)}",
        limit=f"± {level(band)}",
        outcome="pass" if inside else "fail",
        reason=f"the {_percent(1 - params.alpha)} interval of the {_difference(what, of)} lies {'inside' if inside else 'not inside'} the band",
    )


def _equivalent(found: Interval, band: float, what: str, of: Comparison, params: Params) -> Clause:
    word = tost(found.low, found.high, band=band)
    return Clause(
        value=f"{number(found.estimate, 3)} {_ends(found.low, found.high)}",
        limit=f"± {level(band)}",
        outcome={"equivalent": "pass", "different": "fail", "undecided": "undecided"}[word],
        reason=f"the {_percent(1 - 2 * params.alpha)} interval of the {_difference(what, of)} "
        + {
            "equivalent": "lies inside the band",
            "different": "lies wholly outside the band",
            "undecided": "straddles the band",
        }[word],
    )


def _sizes(found: Comparison, short: str) -> Clause:
    enough = found.least >= found.needed
    return Clause(
        value=f"{found.one.independent:,}, {found.two.independent:,}",
        limit=f"≥ {found.needed:,}",
        outcome="pass" if enough else short,
        reason="enough exceedances" if enough else _shortage(found),
    )


def _shortage(found: Comparison) -> str:
    """What is missing: exceedances, or, where ties swallow them, a scale that has them."""
    if found.problem and found.least < SWALLOWED * found.expected:
        return found.problem
    missing = found.needed - found.least
    return f"{missing:,} more {'exceedance is' if missing == 1 else 'exceedances are'} needed"


def _goodness(found: Comparison, params: Params) -> Clause:
    text = f"p {_p(found.one.p_value)}, {_p(found.two.p_value)}"
    limit = f"> {level(params.alpha)}"
    if found.problem:
        return Clause(value=text, limit=limit, outcome="undecided", reason=found.problem)
    p_values = [tail.p_value for tail in (found.one, found.two)]
    if any(p is None for p in p_values):
        return Clause(value=text, limit=limit, outcome="undecided", reason="a fit cannot be tested")
    good = all(p is not None and p > params.alpha for p in p_values)
    return Clause(
        value=text,
        limit=limit,
        outcome="pass" if good else "fail",
        reason="both fits stand" if good else "the generalised Pareto law is rejected",
    )


def _stability(found: Comparison, params: Params) -> Clause:
    words = [tail.stability.joint for tail in (found.one, found.two)]
    p_values = [tail.stability.p_value for tail in (found.one, found.two)]
    word = "unstable" if "unstable" in words else "undecidable" if "undecidable" in words else "stable"
    if found.problem:
        word = "undecidable"
    return Clause(
        value=f"p {_p(p_values[0])}, {_p(p_values[1])}",
        limit=f"> {level(params.alpha)}",
        outcome={"stable": "pass", "unstable": "fail", "undecidable": "undecided"}[word],
        reason=found.problem
        or {
            "stable": "ξ̂ does not move more than its resamples around the threshold",
            "unstable": "ξ̂ moves more around the threshold than chance allows",
            "undecidable": "not every threshold of the band has a regular fit",
        }[word]
        + f" (equivalence form: {_worst_form(found)})",
    )


def _worst_form(found: Comparison) -> str:
    """The equivalence form of both tails, which needs far more data: the worse of the two."""
    forms = [tail.stability.equivalence for tail in (found.one, found.two)]
    return next(form for form in ("unstable", "undecidable", "stable") if form in forms)


def _largest_move(tail: Tail, params: Params) -> float | None:
    """Max |ξ̂(q ± band) − ξ̂(q)|, the published rule of G5."""
    by_quantile = dict(zip(np.round(tail.scan.quantiles, 10).tolist(), tail.scan.fits, strict=True))
    anchor = by_quantile.get(round(params.quantile, 10))
    ends = [round(params.quantile + sign * params.band, 10) for sign in (-1, 1)]
    fits = [by_quantile[q] for q in ends if q in by_quantile]
    if anchor is None or len(fits) < 2 or any(fit is None for fit in fits):
        return None
    return max(abs(fit.xi - anchor.xi) for fit in fits if fit is not None)


def _difference(what: str, of: Comparison) -> str:
    return f"{what} difference" + (" of the logits" if of.one.scale == "logit" else "")


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _p(value: float | None) -> str:
    return prob(value)


def _ends(low: float, high: float) -> str:
    return f"[{number(low, 3)}, {number(high, 3)}]"


def _signed(found: Interval) -> str:
    return f"{number(found.estimate, 3)} {_ends(found.low, found.high)}"
