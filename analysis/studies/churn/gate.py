"""The gate: the budget for items that deteriorated, and the floor under every domain's mean change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analysis.present.format import level, number, plural, prob
from analysis.results import Check, Gate, Verdict
from analysis.sections import gate_over
from analysis.stats import clopper_pearson_lower, clopper_pearson_upper, mcnemar

from .classes import NEARLY_ALL
from .domains import Change
from .missing import worst, worst_means
from .tables import name_of
from .true_rates import Moved

if TYPE_CHECKING:
    from .decomposition import ChurnUnit, Decomposition

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
        checks += _floors(found, params.domain_floor)
    if not checks:
        return Gate(verdict="undecided", reason=NO_RULE, checks=())
    return gate_over(checks, "clause")


def _budget(found: Decomposition, limit: float) -> Check:
    """The share of all items that deteriorated, by the method of the gate, against its budget."""
    params, n = found.params, found.versions.n_items
    unit = next(unit for unit in found.units if unit.method == params.method)
    k, upper = unit.deteriorated, None
    if k is None or unit.improved is None or unit.status.startswith("not measurable"):
        verdict, reason = _undecided(unit.status)
    else:
        upper = float(clopper_pearson_upper(k, n, delta=params.alpha))
        seen = (
            f"{k:,} of {plural(n, 'item')} are flagged, upper bound {prob(upper)} at level {number(1 - params.alpha)}"
        )
        against, doubts = list(_noisy(found, unit)), [*_unseen(found, limit), *_missing(found, limit)]
        if clopper_pearson_lower(k, n, delta=params.alpha) > limit:
            refused = f"{seen}; the lower bound is above the budget too"
            verdict, reason = _undecided(f"{refused}, but {'; '.join(against)}") if against else ("refuse", refused)
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


def _noisy(found: Decomposition, unit: ChurnUnit) -> Iterator[str]:
    """Why flags may be noise."""
    if unit.status == "churn within noise":
        yield "samples dealt at random give as many flags"
    if _measured_once(found) and mcnemar(unit.deteriorated or 0, unit.improved or 0).exact > found.params.alpha:
        yield "nearly all repeats agree, so that an item was measured once, and as many items rose as fell"


def _measured_once(found: Decomposition) -> bool:
    pair = (found.versions.baseline, found.versions.candidate)
    return min(float(version.agree(binary=found.versions.binary).mean()) for version in pair) >= NEARLY_ALL


def _unseen(found: Decomposition, limit: float) -> Iterator[str]:
    """Why a count of flags may not show how many items fell."""
    params, rates, whole = found.params, found.rates, found.everything
    s_diff = found.published[0].s_diff
    if _measured_once(found):
        yield "nearly all repeats agree, so that an item was measured once"
    if params.method == "paper" and s_diff is not None and s_diff * params.cut >= 1:
        yield "no change is large enough for the published index to flag it"
    if params.method == "corrected" and found.classes.smallest > params.fdr * limit:
        yield (
            f"an item that fell from all correct to none would have p {prob(found.classes.smallest)}: too few samples to show a "
            "deterioration at this budget; sample every item more often"
        )
    if rates is None:
        yield "how many items fell unseen is not estimated (graded scores, or very many different counts)"
    elif rates.telling.fell_interval[1] > limit:
        moved = rates.telling
        yield (
            f"the share of items that truly fell by more than {level(moved.beyond)}, flagged or not, is estimated at {_range(moved)}: its upper "
            "end is above the budget"
        )
    if (whole.interval[1] if whole.interval else whole.net.net) < -limit:
        yield f"the mean fell by {number(-whole.net.net, 3)}, more than the budget allows if every such item fell from all to none"


def _missing(found: Decomposition, limit: float) -> Iterator[str]:
    """Whether what was not measured could break the budget."""
    versions, params = found.versions, found.params
    left = versions.unmatched
    if not left and not found.policies:
        return
    hidden = worst(versions, params)
    left += len(versions.matched_domains) - hidden.n
    bound = clopper_pearson_upper(hidden.deteriorated + left, hidden.n + left, delta=params.alpha)
    mean = 0.0 if hidden.net is None else hidden.net.net
    if bound > limit or mean < -limit:
        parts = [f"{plural(left, 'item')} were not compared"] if left else []
        lost = sum(version.missing for version in versions.matched)
        parts += [f"{plural(lost, 'attempt')} have no score"] if lost else []
        yield f"{' and '.join(parts)}; at the worst the bound is {prob(bound)} and the mean change {number(mean, 3)}"


def _estimated(found: Decomposition) -> str:
    if found.rates is None:
        return ""
    moved = found.rates.telling
    return f"; an estimated share of {_range(moved)} fell by more than {level(moved.beyond)}, seen or not"


def _range(moved: Moved) -> str:
    low, high = moved.fell_interval
    return f"{prob(moved.fell)} [{prob(low)}, {prob(high)}]"


def _floors(found: Decomposition, floor: float) -> list[Check]:
    """Every domain of the data, also those of which nothing was compared."""
    means = worst_means(found.versions)
    parts = {part.name: part for part in found.parts} or {"": found.everything}
    lost = bool(found.policies) or bool(found.versions.unmatched)
    checks = [_floor(part, floor, means.get(name) if lost else None) for name, part in parts.items()]
    for name in means:
        if name not in parts:
            reason = "no item of it was compared"
            checks.append(
                Check(
                    name=f"mean change of {name or 'no domain'}",
                    observed=None,
                    relation="≥",
                    limit=floor,
                    verdict="undecided",
                    reason=reason,
                )
            )
    return checks


def _floor(part: Change, floor: float, worst_mean: float | None) -> Check:
    """The mean change of a domain: shown when its whole interval reaches the floor, refused when it lies wholly under it."""
    name, observed = f"mean change of {name_of(part)}", None
    if part.interval is None:
        why = "one item" if part.n == 1 else f"the changes of its {part.n:,} items do not vary"
        verdict, reason = _undecided(f"{why}: there is no interval to hold against the floor")
    else:
        low, high = part.interval
        seen = f"mean change {number(part.net.net, 3)} of {plural(part.n, 'item')}, interval {number(low, 3)} to {number(high, 3)}"
        observed = high if high < floor else low
        if high < floor:
            verdict, reason = "refuse", f"{seen}, wholly under the floor"
        elif low < floor:
            verdict, reason = _undecided(f"{seen}: neither wholly under the floor nor wholly above it")
        elif worst_mean is not None and worst_mean < floor:
            verdict, reason = _undecided(f"{seen}, but with what was not measured it could be {number(worst_mean, 3)}")
        else:
            verdict, reason = "pass", seen
    return Check(name=name, observed=observed, relation="≥", limit=floor, verdict=verdict, reason=reason)
