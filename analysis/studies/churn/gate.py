"""The gate: the budget for items that deteriorated, and the floor under every domain's mean change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analysis.present.format import level, number, plural, prob
from analysis.results import Check, Gate, Verdict
from analysis.sections import gate_over
from analysis.stats import clopper_pearson_lower, clopper_pearson_upper

from .domains import Change
from .missing import worst
from .tables import name_of

if TYPE_CHECKING:
    from .decomposition import Decomposition

NO_RULE = (
    "no rule was set: give max_deteriorated or domain_floor, best in a rule that is locked before the samples are drawn"
)


def gate_of(found: Decomposition) -> Gate:
    """The budget and the floor of the domains; undecided when neither was set."""
    params = found.params
    checks = []
    if params.max_deteriorated is not None:
        checks.append(_budget(found, params.max_deteriorated))
    if params.domain_floor is not None:
        checks += [_floor(part, params.domain_floor) for part in found.parts or (found.everything,)]
    if not checks:
        return Gate(verdict="undecided", reason=NO_RULE, checks=())
    return gate_over(checks, "clause")


def _budget(found: Decomposition, limit: float) -> Check:
    """The share of all items that deteriorated, by the method of the gate, against its budget."""
    params, n = found.params, found.versions.n_items
    unit = next(unit for unit in found.units if unit.method == params.method)
    k, upper = unit.deteriorated, None
    if k is None or unit.status.startswith("not measurable"):
        verdict, reason = _undecided(unit.status)
    else:
        upper = float(clopper_pearson_upper(k, n, delta=params.alpha))
        seen = (
            f"{k:,} of {plural(n, 'item')} are flagged, upper bound {prob(upper)} at level {number(1 - params.alpha)}"
        )
        doubts = [*_unseen(found, limit), *_missing(found, limit)]
        if clopper_pearson_lower(k, n, delta=params.alpha) > limit:
            verdict, reason = "refuse", f"{seen}; the lower bound is above the budget too"
        elif upper > limit:
            verdict, reason = _undecided(f"{seen}: neither within the budget nor above it")
        elif doubts:
            verdict, reason = _undecided(f"{seen}, but {'; '.join(doubts)}")
        else:
            verdict, reason = "pass", seen + _estimated(found)
    name = "share of items that deteriorated"
    return Check(name=name, observed=upper, relation="≤", limit=limit, verdict=verdict, reason=reason)


def _undecided(reason: str) -> tuple[Verdict, str]:
    return "undecided", reason


def _unseen(found: Decomposition, limit: float) -> Iterator[str]:
    """Why a count of flags may not show how many items fell."""
    params, rates = found.params, found.rates
    if params.method == "paper":
        return
    if found.classes.smallest > params.fdr * limit:
        yield (
            f"an item that fell from all correct to none would have p {prob(found.classes.smallest)}: too few samples to show a "
            "deterioration at this budget; sample every item more often"
        )
    if rates is not None and rates.telling.fell_interval[1] > limit:
        moved = rates.telling
        low, high = moved.fell_interval
        yield (
            f"an estimated share of {prob(moved.fell)} [{prob(low)}, {prob(high)}] truly fell by more than {level(moved.beyond)}, most of "
            "them unseen by a test of one item"
        )


def _missing(found: Decomposition, limit: float) -> Iterator[str]:
    """Whether what was not measured could break the budget."""
    left, params = found.versions.unmatched, found.params
    hidden = worst(found.versions, params)
    if not left and not found.policies:
        return
    bound = clopper_pearson_upper(hidden.deteriorated + left, hidden.n + left, delta=params.alpha)
    if bound > limit:
        parts = [f"{plural(left, 'item')} were not compared"] if left else []
        lost = sum(version.missing for version in found.versions.matched)
        parts += [f"{plural(lost, 'attempt')} have no score"] if lost else []
        yield f"{' and '.join(parts)}; at the worst the bound is {prob(bound)}"


def _estimated(found: Decomposition) -> str:
    if found.rates is None:
        return ""
    moved = found.rates.telling
    low, high = moved.fell_interval
    return f"; an estimated share of {prob(moved.fell)} [{prob(low)}, {prob(high)}] fell by more than {level(moved.beyond)}, seen or not"


def _floor(part: Change, floor: float) -> Check:
    """The mean change of a domain against its floor: refused when its whole interval lies under it."""
    name = f"mean change of {name_of(part)}"
    if part.interval is None:
        why = "one item" if part.n == 1 else f"the changes of its {part.n:,} items do not vary"
        reason = f"{why}: there is no interval to hold against the floor"
        return Check(name=name, observed=None, relation="≥", limit=floor, verdict="undecided", reason=reason)
    low, high = part.interval
    seen = f"mean change {number(part.net.net, 3)} of {plural(part.n, 'item')}, interval {number(low, 3)} to {number(high, 3)}"
    if high < floor:
        return Check(
            name=name,
            observed=high,
            relation="≥",
            limit=floor,
            verdict="refuse",
            reason=f"{seen}, wholly under the floor",
        )
    reason = seen if low >= floor else f"{seen}: not wholly under the floor"
    return Check(name=name, observed=high, relation="≥", limit=floor, verdict="pass", reason=reason)
