"""One answer per item and version: what it gains and loses, and how far it agrees with the samples."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analysis.stats import holm, mcnemar

from .versions import Directions, Greedy, Rows, Versions


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossTable:
    """Greedy change against class, on the items that have both.

    Attributes
    ----------
    cells
        Shape (3, 3): gained, lost, same by improved, unchanged, deteriorated.
    missed, changed
        Changed items that the greedy answers show unchanged, of all changed items.
    false_flags, flags
        Greedy changes on items that did not change, of all greedy changes: a share of flags.
    unchanged
        Items that did not change; ``false_flags / unchanged`` is the share of unchanged items that are flagged.
    opposite
        Greedy changes against the direction of the item's class.
    """

    rule: str
    cells: npt.NDArray[np.int64]
    missed: int
    changed: int
    false_flags: int
    flags: int
    unchanged: int
    opposite: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Discordant:
    """Greedy answers of a set of items: gained, lost, and McNemar's exact p-value, adjusted over the domains."""

    name: str
    n: int
    before: float
    after: float
    gained: int
    lost: int
    p: float
    p_adjusted: float | None


def cross_table(rule: str, changed: Directions, direction: Directions) -> CrossTable:
    """Greedy change (1, −1, 0) against class, item by item."""
    cells = np.array(
        [[int(((changed == greedy) & (direction == sign)).sum()) for sign in (1, 0, -1)] for greedy in (1, -1, 0)]
    )
    return CrossTable(
        rule=rule,
        cells=cells,
        missed=int(cells[2, 0] + cells[2, 2]),
        changed=int(cells[:, 0].sum() + cells[:, 2].sum()),
        false_flags=int(cells[0, 1] + cells[1, 1]),
        flags=int(cells[:2].sum()),
        unchanged=int(cells[:, 1].sum()),
        opposite=int(cells[0, 2] + cells[1, 0]),
    )


def aligned(greedy: Greedy, versions: Versions) -> tuple[npt.NDArray[np.intp], Directions]:
    """Places in the compared items of the greedy items that are there, and how each greedy answer changed."""
    place = {key: i for i, key in enumerate(zip(versions.domains, versions.items, strict=True))}
    found = [(place[key], i) for i, key in enumerate(zip(greedy.domains, greedy.items, strict=True)) if key in place]
    where = np.array([at for at, _ in found], dtype=np.intp)
    rows = np.array([i for _, i in found], dtype=np.intp)
    return where, changed_sign(greedy)[rows]


def changed_sign(greedy: Greedy) -> Directions:
    """1 gained, −1 lost, 0 the same score."""
    return np.sign(greedy.after - greedy.before).astype(np.int8)


def discordant(greedy: Greedy) -> list[Discordant]:
    """All items first, then every domain when there are any, adjusted by Holm over the domains."""
    everything = _discordant("all items", greedy, np.ones(len(greedy.items), dtype=bool))
    names = list(dict.fromkeys(greedy.domains))
    if names == [""]:
        return [everything]
    parts = [_discordant(name, greedy, greedy.domains == name) for name in names]
    adjusted = holm([part.p for part in parts])
    return [everything, *(replace(part, p_adjusted=float(p)) for part, p in zip(parts, adjusted, strict=True))]


def _discordant(name: str, greedy: Greedy, rows: Rows) -> Discordant:
    changed = changed_sign(greedy)[rows]
    gained, lost = int((changed > 0).sum()), int((changed < 0).sum())
    return Discordant(
        name=name,
        n=int(rows.sum()),
        before=float(greedy.before[rows].mean()),
        after=float(greedy.after[rows].mean()),
        gained=gained,
        lost=lost,
        p=mcnemar(gained, lost).exact,
        p_adjusted=None,
    )
