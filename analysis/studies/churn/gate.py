"""The gate: the budget for items that deteriorated, and the floor under every domain's mean change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.present.format import level, number, plural, prob
from analysis.results import Check, Gate, Verdict
from analysis.sections import gate_over
from analysis.stats import clopper_pearson_lower, clopper_pearson_upper

from .domains import Change

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
    params, versions = found.params, found.versions
    unit = next(unit for unit in found.units if unit.method == params.method)
    name = "share of items that deteriorated"
    if unit.deteriorated is None or unit.status.startswith("not measurable"):
        return Check(name=name, observed=None, relation="≤", limit=limit, verdict="undecided", reason=unit.status)
    k, n, left = unit.deteriorated, versions.n_items, versions.left_out
    upper = clopper_pearson_upper(k, n, delta=params.alpha)
    worst = clopper_pearson_upper(k + left, n + left, delta=params.alpha)
    seen = f"{k:,} of {plural(n, 'item')} deteriorated, upper bound {prob(upper)} at level {number(1 - params.alpha)}"
    verdict: Verdict
    if clopper_pearson_lower(k, n, delta=params.alpha) > limit:
        verdict, reason = "refuse", f"{seen}; the lower bound is above the budget too"
    elif upper > limit:
        verdict, reason = "undecided", f"{seen}: neither within the budget nor above it"
    elif params.method == "corrected" and found.classes.smallest > params.fdr * limit:
        verdict = "undecided"
        reason = (
            f"{seen}, but an item that fell from all correct to none would have p {prob(found.classes.smallest)}: too few samples to "
            "show a deterioration at this budget; sample every item more often"
        )
    elif worst > limit:
        verdict = "undecided"
        reason = f"{seen}, but {plural(left, 'item')} were not compared; if all deteriorated the bound is {prob(worst)}"
    else:
        verdict, reason = "pass", f"{seen}{_unseen(found)}"
    return Check(name=name, observed=float(upper), relation="≤", limit=limit, verdict=verdict, reason=reason)


def _unseen(found: Decomposition) -> str:
    """What a count of flags cannot know: how many items fell unseen."""
    if found.rates is None:
        return ""
    moved = found.rates.telling
    return f" (items that are flagged; an estimated share of {prob(moved.fell)} truly fell by more than {level(moved.beyond)})"


def _floor(part: Change, floor: float) -> Check:
    """The mean change of a domain against its floor: refused when its whole interval lies under it."""
    name = f"mean change of {part.name or 'items without a domain'}"
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
