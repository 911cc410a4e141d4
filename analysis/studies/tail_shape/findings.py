"""What the published protocol says and what holds up, and the warnings that these data give."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from analysis.present.format import level, number, plural, prob
from analysis.present.prose import listed
from analysis.present.table import Table
from analysis.sections import disputed_points, warnings_table
from analysis.stats import (
    exceedances_for_non_overlap,
    exceedances_needed,
    interval_level_for_non_overlap,
    non_overlap_level,
    prompts_needed,
    verdict_power,
)

if TYPE_CHECKING:
    from .protocol import Protocol

Row = tuple[str, str, str, str]
PAPER_PROMPTS, PAPER_QUANTILE, PAPER_EFFECT, PAPER_POWER = 30_000, 0.95, 0.10, 0.80


def what_holds_up(protocol: Protocol) -> Table:
    """Every disputed point with the number that settles it."""
    return disputed_points((point(protocol) for point in POINTS), "protocol")


def _sizes(protocol: Protocol) -> Row:
    needed = exceedances_needed(PAPER_EFFECT)
    prompts = prompts_needed(needed, quantile=PAPER_QUANTILE)
    there = round(PAPER_PROMPTS * (1 - PAPER_QUANTILE))
    return (
        "Sample size (G3)",
        f"{PAPER_PROMPTS:,} prompts at the {level(PAPER_QUANTILE)} quantile; power target {needed:,}",
        f"these give {there:,} exceedances, fewer than {needed:,}; {prompts:,} prompts are needed",
        f"N* = {_needed(protocol)} ({protocol.params.n_star})",
    )


def _needed(protocol: Protocol) -> str:
    found = next((c for c in protocol.comparisons if c is not None), None)
    return f"{found.needed:,}" if found else "not evaluated"


def _power(protocol: Protocol) -> Row:
    n = exceedances_needed(PAPER_EFFECT)
    joint = verdict_power(PAPER_EFFECT, n)
    alone = exceedances_for_non_overlap(PAPER_EFFECT)
    return (
        "Power of P1 and P2",
        f"power {level(PAPER_POWER)} at a difference of {level(PAPER_EFFECT)} with {n:,} exceedances",
        f"together they have {prob(float(joint))}, because P2 asks the estimate to pass the floor that the effect equals; P1 alone "
        f"needs {alone:,}",
        "P1 by the interval of the difference, P2 by a test of the minimum effect"
        if protocol.params.method == "corrected"
        else "as published; the corrected outcome stands beside it",
    )


def _overlap(_: Protocol) -> Row:
    return (
        "Overlapping intervals (P1)",
        "95 % intervals of the two indices that do not overlap",
        f"that is a test at level {number(float(non_overlap_level(0.05)), 2)}; intervals of level "
        f"{prob(float(interval_level_for_non_overlap(0.05)))} would give .05",
        "corrected: the interval of the difference, by paired resamples, after Holm over pairs",
    )


def _bands(_: Protocol) -> Row:
    return (
        "Equivalence (G1, G2)",
        "a 95 % interval inside the band is called a TOST",
        "that has level .025; a test at .05 uses the 90 % interval, and straddling is not the same as different",
        "corrected: equivalent, different or undecided",
    )


def _goodness(_: Protocol) -> Row:
    return (
        "Goodness of fit (G4)",
        "A² with p > .05, null distribution not stated",
        "with both parameters estimated A² is far smaller than for a known law, whose tabulated point almost never rejects",
        "the asymptotic law with estimated parameters, or a parametric bootstrap with refits",
    )


def _stability(protocol: Protocol) -> Row:
    return (
        "Threshold stability (G5)",
        f"ξ̂ moves by less than {level(protocol.params.stability_tolerance)} within {level(protocol.params.band)} of quantile",
        "the rule ignores n: at high quantiles a tail of exactly this law fails it often (calibration tables of the project)",
        "a joint bootstrap of the largest standardised move; the published rule kills, but only the bootstrap refuses",
    )


def _logit(_: Protocol) -> Row:
    return (
        "Logit as a remedy",
        "after the logit A² passes and ξ̂ ≈ 0",
        "a power tail at the bound has ξ = 0 after the logit by construction; its shape moves into σ",
        "raw and logit fits side by side, the scales compared",
    )


def _support(_: Protocol) -> Row:
    return (
        "Bounded support",
        "the generalised Pareto law assumes unbounded support",
        "with ξ < 0 it ends at −σ/ξ; what fails is the shape of a saturated sample and the regularity of the estimate below −½",
        "such tails never pass: undecided with their reason, by either method",
    )


def _reach(protocol: Protocol) -> Row:
    judged = protocol.judged
    early = sum(unit.killed_by in {"G1", "G2"} for unit in judged)
    return (
        "What is tested at all",
        "five of six pairs fail G1 or G2, so tail shape adds nothing",
        "pairs that fail G1 or G2 are too different (or undecided) in bulk; their shape was never tested",
        f"{early} of {plural(len(judged), 'required pair')} end at G1 or G2",
    )


POINTS: tuple[Callable[[Protocol], Row], ...] = (
    _sizes,
    _power,
    _overlap,
    _bands,
    _goodness,
    _stability,
    _logit,
    _support,
    _reach,
)


def warnings(protocol: Protocol) -> Table:
    """One row a warning."""
    rows = (*_lost(protocol), *_unmatched(protocol), *_saturated(protocol), *_chosen(protocol), *_moved(protocol))
    return warnings_table(rows)


def _lost(protocol: Protocol) -> Iterator[tuple[str, str, str]]:
    for group in protocol.groups:
        if group.lost:
            counts = listed([f"{model} {count:,}" for model, count in group.lost.items()], most=6)
            yield ("rows without a finite score", group.name or "scores", f"left out: {counts}")


def _unmatched(protocol: Protocol) -> Iterator[tuple[str, str, str]]:
    for unit in protocol.units:
        if unit.only_first or unit.only_second:
            yield (
                "prompts that only one model has",
                unit.name,
                f"{unit.only_first:,} only in the first, {unit.only_second:,} only in the second; {unit.shared:,} are compared",
            )


def _saturated(protocol: Protocol) -> Iterator[tuple[str, str, str]]:
    for group, tail in protocol.tails:
        if tail.saturated > protocol.params.max_tied:
            yield (
                "scores at the severe end",
                ", ".join(part for part in (tail.model, group.name) if part),
                f"{prob(tail.saturated)} of the scores lie within a thousandth of the range from it: a capped or saturated scale bends "
                "the tail",
            )


def _chosen(protocol: Protocol) -> Iterator[tuple[str, str, str]]:
    """Groups whose scale the data chose."""
    if protocol.params.transform == "auto":
        hit = [group for group in protocol.groups if group.probabilities]
        if hit:
            yield (
                "compared as logits",
                listed([group.name or "all scores" for group in hit], most=6),
                "all scores lie in [0, 1], so that the logit was chosen (transform auto): the bands are on that scale",
            )


def _moved(protocol: Protocol) -> Iterator[tuple[str, str, str]]:
    hit = [tail for _, tail in protocol.tails if tail.moved]
    if hit:
        yield (
            "scores of exactly 0 or 1",
            listed([f"{tail.model} {tail.moved:,}" for tail in hit], most=6),
            "they have no logit and were moved inside, by half the distance of the nearest score from that bound",
        )
