"""Net change over all items and domain by domain: gains less losses, intervals, and the family's adjustment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from analysis.stats import NetChange, association, holm, mean_interval, net_change

from .parameters import Params
from .versions import Directions, Floats, Rows, Texts, Versions

LARGEST_RESIDUAL = 1e-15  # of an identity between means in [0, 1]
SMALLEST_SPREAD = 1e-12  # of changes that vary


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The change of a set of items.

    Attributes
    ----------
    before, after
        Mean scores of both versions.
    net
        Gains, losses and what is left of the identity.
    interval
        Of the mean change over items; None where the changes do not vary or there is one item.
    p, p_adjusted
        Student's test of no mean change, and the same adjusted by Holm over the domains; None like the interval.
    """

    name: str
    n: int
    before: float
    after: float
    net: NetChange
    interval: tuple[float, float] | None
    p: float | None
    p_adjusted: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """χ² of domain by class, its degrees of freedom, p-value, Cramér's V and the least expected count."""

    chi2: float
    df: int
    p: float
    v: float
    least: float


def overall(versions: Versions, rows: Rows, name: str, params: Params) -> Change:
    """The change of some of the items."""
    one, two = versions.baseline.p[rows], versions.candidate.p[rows]
    return _change(name, one, two, level=1 - params.alpha)


def by_domain(versions: Versions, params: Params) -> list[Change]:
    """The change of every domain; intervals hold together (Bonferroni), p-values are adjusted (Holm)."""
    names = domain_names(versions)
    if len(names) == 1 and names[0] == "":
        return []
    level = 1 - params.alpha / len(names)
    one, two = versions.baseline.p, versions.candidate.p
    changes = [_change(name, one[rows], two[rows], level=level) for name, rows in _rows_of(versions.domains)]
    there = {i: change.p for i, change in enumerate(changes) if change.p is not None}
    adjusted = dict(zip(there, holm(list(there.values())), strict=True)) if there else {}
    return [
        replace(change, p_adjusted=float(adjusted[i])) if i in adjusted else change for i, change in enumerate(changes)
    ]


def domain_names(versions: Versions) -> list[str]:
    """Domains in the order of the items."""
    return list(dict.fromkeys(versions.domains))


def counts_by_domain(versions: Versions, direction: Directions, among: Rows | None = None) -> npt.NDArray[np.int64]:
    """Improved, unchanged and deteriorated items per domain, shape (domains, 3); ``direction`` over the items ``among``."""
    names = domain_names(versions)
    place = {name: i for i, name in enumerate(names)}
    labels = versions.domains if among is None else versions.domains[among]
    codes = np.fromiter((place[name] for name in labels), dtype=np.intp, count=len(labels))
    return np.bincount(codes * 3 + (1 - direction.astype(np.intp)), minlength=3 * len(names)).reshape(-1, 3)


def _rows_of(labels: Texts) -> list[tuple[str, npt.NDArray[np.intp]]]:
    """Every label in its order of appearance with the places that hold it."""
    places: dict[str, list[int]] = {}
    for i, label in enumerate(labels):
        places.setdefault(label, []).append(i)
    return [(label, np.array(rows)) for label, rows in places.items()]


def association_of(counts: Sequence[Sequence[int]] | npt.NDArray[np.int64]) -> Association | None:
    """Domain by class; None where fewer than two of either hold any item."""
    table = np.asarray(counts)
    if table.ndim != 2 or min((table.sum(axis=1) > 0).sum(), (table.sum(axis=0) > 0).sum()) < 2:
        return None
    chi2, df, p, v = association(table)
    there = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    least = float((np.outer(there.sum(axis=1), there.sum(axis=0)) / there.sum()).min())
    return Association(chi2=chi2, df=df, p=p, v=v, least=least)


def _change(name: str, one: Floats, two: Floats, *, level: float) -> Change:
    net = net_change(one, two)
    if abs(net.residual) > LARGEST_RESIDUAL:
        raise ArithmeticError(f"net {net.net!r} is not gains {net.gains!r} less losses {net.losses!r} ({name})")
    delta = two - one
    interval, p = None, None
    if len(delta) > 1 and np.ptp(delta) > SMALLEST_SPREAD:
        low, high = mean_interval(delta, level=level)
        interval = max(low, -1.0), min(high, 1.0)
        t = float(delta.mean()) / (float(delta.std(ddof=1)) / math.sqrt(len(delta)))
        p = float(2 * stdtr(len(delta) - 1, -abs(t)))
    return Change(
        name=name,
        n=len(delta),
        before=float(one.mean()),
        after=float(two.mean()),
        net=net,
        interval=interval,
        p=p,
        p_adjusted=None,
    )
