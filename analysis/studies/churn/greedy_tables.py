"""Greedy answers as tables: against the classes of the samples, and by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis.present.table import Table, TableColumn

from .greedy import CrossTable, Discordant

NO_GREEDY = "no greedy answers beside samples"
ROWS = ("gained", "lost", "no change")


def cross(crosses: Sequence[CrossTable]) -> Table:
    """Three by three: what the greedy answer did against what the samples say."""
    return Table(
        id="greedy",
        title="Greedy answers against the classes of the samples, items.",
        columns=(
            TableColumn(key="rule", label="classes by"),
            TableColumn(key="greedy", label="greedy answer"),
            TableColumn(key="improved", label="improved", kind="count", group="samples"),
            TableColumn(key="unchanged", label="no reliable change", kind="count", group="samples"),
            TableColumn(key="deteriorated", label="deteriorated", kind="count", group="samples"),
        ),
        rows=tuple(
            (table.rule, name, *(int(cell) for cell in cells))
            for table in crosses
            for name, cells in zip(ROWS, table.cells, strict=True)
        ),
        empty=NO_GREEDY,
    )


def agreement(crosses: Sequence[CrossTable]) -> Table:
    """Missed changes and false flags, each with its own denominator."""
    return Table(
        id="greedy-errors",
        title="What greedy answers miss and what they flag falsely, each over its own denominator.",
        columns=(
            TableColumn(key="rule", label="classes by"),
            TableColumn(key="missed", label="items", kind="fraction", group="changed, greedy the same"),
            TableColumn(key="missed_share", label="share", kind="share", group="changed, greedy the same"),
            TableColumn(
                key="false_of_flags", label="of greedy flags", kind="fraction", group="unchanged, greedy flags"
            ),
            TableColumn(key="false_of_flags_share", label="share", kind="share", group="unchanged, greedy flags"),
            TableColumn(
                key="flagged_of_unchanged", label="of unchanged", kind="fraction", group="unchanged, greedy flags"
            ),
            TableColumn(key="flagged_of_unchanged_share", label="share", kind="share", group="unchanged, greedy flags"),
            TableColumn(key="opposite", label="against the class", kind="count"),
        ),
        rows=tuple(
            (
                table.rule,
                *_share(table.missed, table.changed),
                *_share(table.false_flags, table.flags),
                *_share(table.false_flags, table.unchanged),
                table.opposite,
            )
            for table in crosses
        ),
        notes=(
            "Unchanged: no change by the rule; by the tests that is any change they do not see. The share of flags that are false says how "
            "far to trust a flag, the share of unchanged items that are flagged how often one raises an alarm. The paper prints the first "
            "under the name of the second.",
        ),
        empty=NO_GREEDY,
    )


def discordant(answers: Sequence[Discordant]) -> Table:
    """Gains and losses of greedy answers, exactly tested."""
    return Table(
        id="greedy-changes",
        title="Gained and lost greedy answers.",
        columns=(
            TableColumn(key="domain", label="items"),
            TableColumn(key="n", label="n", kind="count"),
            TableColumn(key="baseline", label="baseline", kind="score", group="mean score"),
            TableColumn(key="candidate", label="candidate", kind="score", group="mean score"),
            TableColumn(key="gained", label="gained", kind="count"),
            TableColumn(key="lost", label="lost", kind="count"),
            TableColumn(key="net", label="net", kind="number"),
            TableColumn(key="p", label="p", kind="p_value", group="exact McNemar"),
            TableColumn(key="p_adjusted", label="adjusted", kind="p_value", group="exact McNemar"),
        ),
        rows=tuple(
            (
                row.name or "no domain",
                row.n,
                row.before,
                row.after,
                row.gained,
                row.lost,
                (row.gained - row.lost) / row.n,
                row.p,
                row.p_adjusted,
            )
            for row in answers
        ),
        notes=("Adjusted by Holm over the domains. A domain has reversed only where its own test says so.",),
        empty="no greedy answers were given",
    )


def _share(k: int, n: int) -> tuple[Any, float | None]:
    return ({"k": k, "n": n}, k / n) if n else (None, None)
