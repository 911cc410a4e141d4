"""The decomposition as tables: the paper's main table, the readings behind it, net change, noise and domains."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.present.format import level
from analysis.present.table import Table, TableColumn
from analysis.results import Gate
from analysis.sections import checks_table
from analysis.stats import FlagNull, breadth_ratio, keyed_stream, wilson
from analysis.stats.binomial import TIE

from .classes import Index
from .domains import Change, counts_by_domain
from .noise import at_least
from .parameters import Params

if TYPE_CHECKING:
    from .decomposition import Decomposition

GREEDY_ALONE = "greedy answers only: nothing was sampled"
IMPROVED, UNCHANGED, DETERIORATED = "improved", "no reliable change", "deteriorated"


def checks(gate: Gate) -> Table:
    """The gate clause by clause."""
    return checks_table(
        gate,
        "clause",
        empty="no rule was set",
        notes=("Observed is the upper bound of a share, or the upper end of a domain's interval.",),
    )


def main(found: Decomposition | None, params: Params) -> Table:
    """The paper's main table: a row a rule, published readings first."""
    sure = level(1 - params.alpha)
    rows: list[tuple[Any, ...]] = []
    if found is not None:
        rows += [_index_row(found, index) for index in (*found.published, found.index)]
        rows.append(_tests_row(found))
    return Table(
        id="main",
        title="What changed by every rule, on the analysable items.",
        columns=(
            TableColumn(key="rule", label="rule"),
            TableColumn(key="n", label="n", kind="count"),
            TableColumn(key="s_diff", label="S_diff", kind="number"),
            TableColumn(key="min_change", label="min Δp", kind="number"),
            TableColumn(key="min_samples", label="in samples", kind="count"),
            TableColumn(key="sem_baseline", label="baseline", kind="number", group="SEM"),
            TableColumn(key="sem_candidate", label="candidate", kind="number", group="SEM"),
            TableColumn(key="mean_diff", label="mean", kind="number", group="aggregate Δ"),
            TableColumn(key="mean_diff_interval", label=f"{sure} t interval", kind="interval", group="aggregate Δ"),
            TableColumn(key="improved", label="items", kind="count", group=IMPROVED),
            TableColumn(key="improved_share", label="share", kind="share", group=IMPROVED),
            TableColumn(key="improved_interval", label=f"{sure} Wilson", kind="interval", group=IMPROVED),
            TableColumn(key="unchanged", label="items", kind="count", group=UNCHANGED),
            TableColumn(key="unchanged_share", label="share", kind="share", group=UNCHANGED),
            TableColumn(key="deteriorated", label="items", kind="count", group=DETERIORATED),
            TableColumn(key="deteriorated_share", label="share", kind="share", group=DETERIORATED),
            TableColumn(key="deteriorated_interval", label=f"{sure} Wilson", kind="interval", group=DETERIORATED),
            TableColumn(key="strict", label=f"at {level(params.cut_conservative)}"),
            TableColumn(key="breadth", label="ratio", kind="share", group="breadth"),
            TableColumn(key="breadth_interval", label=f"{sure} bootstrap", kind="interval", group="breadth"),
        ),
        rows=tuple(rows),
        notes=(
            "Δ is candidate minus baseline, in shares of correct samples. Analysable: neither 0 nor 1 in both versions. min Δp: the "
            "smallest change that the rule flags; a dash where it differs between items.",
            f"At {level(params.cut_conservative)}: improved/no change/deteriorated by the stricter cut. Breadth: improved items over "
            "items with any positive change.",
        ),
        empty=GREEDY_ALONE,
    )


def readings(found: Decomposition | None) -> Table:
    """Where every standard error comes from."""
    rows = []
    for index in (*found.published, *found.corrected.values()) if found else ():
        one, two = index.spreads
        rows.append(
            (
                index.name,
                index.by,
                one.reliability,
                two.reliability,
                one.sd,
                two.sd,
                one.sem,
                two.sem,
                index.s_diff,
                index.problem or None,
            )
        )
    return Table(
        id="readings",
        title="Standard errors of a difference, and the populations behind them.",
        columns=(
            TableColumn(key="rule", label="reading"),
            TableColumn(key="by", label="reliability by"),
            TableColumn(key="r_baseline", label="baseline", kind="number", group="reliability"),
            TableColumn(key="r_candidate", label="candidate", kind="number", group="reliability"),
            TableColumn(key="sd_baseline", label="baseline", kind="number", group="SD"),
            TableColumn(key="sd_candidate", label="candidate", kind="number", group="SD"),
            TableColumn(key="sem_baseline", label="baseline", kind="number", group="SEM"),
            TableColumn(key="sem_candidate", label="candidate", kind="number", group="SEM"),
            TableColumn(key="s_diff", label="S_diff", kind="number"),
            TableColumn(key="problem", label="no index, because", kind="text"),
        ),
        rows=tuple(rows),
        notes=(
            "SEM = SD √(1 − reliability); S_diff = √(SEM² + SEM²). The published readings take the reliability over all items and "
            "the SD over the population named; the corrected ones take both over the same items.",
        ),
        empty=GREEDY_ALONE,
    )


def net(found: Decomposition | None, params: Params) -> Table:
    """The identity net = gains − losses, over all items and in every domain."""
    parts: list[Change] = []
    if found is not None:
        parts = [found.everything, *([found.analysable] if found.analysable else []), *found.parts]
    return Table(
        id="net",
        title="Net change as gains less losses, with what rounding leaves of the identity.",
        columns=(
            TableColumn(key="set", label="items"),
            TableColumn(key="n", label="n", kind="count"),
            TableColumn(key="baseline", label="baseline", kind="score", group="mean score"),
            TableColumn(key="candidate", label="candidate", kind="score", group="mean score"),
            TableColumn(key="gained", label="up", kind="count", group="items that moved"),
            TableColumn(key="lost", label="down", kind="count", group="items that moved"),
            TableColumn(key="gains", label="gains", kind="number"),
            TableColumn(key="losses", label="losses", kind="number"),
            TableColumn(key="net", label="net", kind="number"),
            TableColumn(key="residual", label="net − (gains − losses)", kind="number"),
        ),
        rows=tuple(
            (
                name_of(part),
                part.n,
                part.before,
                part.after,
                part.net.n_gained,
                part.net.n_lost,
                part.net.gains,
                part.net.losses,
                part.net.net,
                part.net.residual,
            )
            for part in parts
        ),
        notes=(
            "Gains and losses are sums of positive and negative changes over the number of items; they hold noise as well as change.",
            f"From {params.baseline} to {params.candidate}.",
        ),
        empty=GREEDY_ALONE,
    )


def noise(found: Decomposition | None) -> Table:
    """The churn of every rule beside what noise alone gives, on both denominators."""
    rows = []
    if found is not None:
        for index in (*found.published, found.index):
            p = None if index.null is None or index.flagged is None else at_least(index.null, index.flagged)
            rows.append(_noise_row(found, index.name, index.flagged, index.null, index.halves, p))
        classes = found.classes
        rows.append(_noise_row(found, tests_name(found), classes.flagged, classes.null, None, classes.p_noise))
    return Table(
        id="noise",
        title="Churn beside its noise floor: samples dealt to the versions at random, and two halves of one version.",
        columns=(
            TableColumn(key="rule", label="rule"),
            TableColumn(key="flagged", label="items", kind="count", group="churn"),
            TableColumn(key="churn_all", label="of all", kind="share", group="churn"),
            TableColumn(key="churn_analysable", label="of analysable", kind="share", group="churn"),
            TableColumn(key="null", label="items", kind="number", group="samples dealt at random"),
            TableColumn(key="null_all", label="of all", kind="share", group="samples dealt at random"),
            TableColumn(key="null_analysable", label="of analysable", kind="share", group="samples dealt at random"),
            TableColumn(key="p", label="p", kind="p_value", group="samples dealt at random"),
            TableColumn(key="halves_baseline", label="baseline", kind="number", group="halves of one version, items"),
            TableColumn(key="halves_candidate", label="candidate", kind="number", group="halves of one version, items"),
            TableColumn(key="halves_all", label="of all", kind="share", group="halves of one version, items"),
            TableColumn(
                key="halves_analysable", label="of analysable", kind="share", group="halves of one version, items"
            ),
        ),
        rows=tuple(rows),
        notes=(
            "Dealt at random: given an item's total the split is hypergeometric, so the expectation is exact; p is the probability of "
            "at least as many flags (for the tests: of p-values at the error rate, a level that the data did not choose). An item that did change has its total in the middle, where noise is largest, so this floor is "
            "on the high side.",
            "Halves have half of the samples: S_diff is stepped up by √2, which on the lattice of few samples can be off by half "
            "either way (calibration tables of the project). The shares are the mean of the two versions.",
            "A dash: halves hardly reach the level of the tests, and graded scores have no exact law for them.",
        ),
        empty=GREEDY_ALONE,
    )


def domains(found: Decomposition | None, params: Params) -> Table:
    """Domain by domain, by the method that the gate reads."""
    rows: list[tuple[Any, ...]] = []
    if found is not None and found.parts:
        direction = found.directions[params.method]
        counts: Any = [(None, None, None)] * len(found.parts)
        if direction is not None:
            counts = counts_by_domain(found.versions, direction).tolist()
        rows = [
            (
                name_of(part),
                part.n,
                *count,
                part.before,
                part.after,
                part.net.net,
                interval(part.interval),
                part.p,
                part.p_adjusted,
            )
            for part, count in zip(found.parts, counts, strict=True)
        ]
    together = level(1 - params.alpha)
    return Table(
        id="domains",
        title="Domain by domain.",
        columns=(
            TableColumn(key="domain", label="domain"),
            TableColumn(key="n", label="n", kind="count"),
            TableColumn(key="improved", label=IMPROVED, kind="count", group="items"),
            TableColumn(key="unchanged", label="no change", kind="count", group="items"),
            TableColumn(key="deteriorated", label=DETERIORATED, kind="count", group="items"),
            TableColumn(key="baseline", label="baseline", kind="score", group="mean score"),
            TableColumn(key="candidate", label="candidate", kind="score", group="mean score"),
            TableColumn(key="mean_diff", label="mean", kind="number", group="Δ"),
            TableColumn(key="interval", label="interval", kind="interval", group="Δ"),
            TableColumn(key="p", label="p", kind="p_value", group="Δ"),
            TableColumn(key="p_adjusted", label="adjusted", kind="p_value", group="Δ"),
        ),
        rows=tuple(rows),
        notes=(
            f"All items of the domain; classes by the {params.method} method. The t intervals hold together at {together} (Bonferroni), "
            "p-values of no mean change are adjusted by Holm. A dash: one item, or changes that do not vary.",
        ),
        empty=GREEDY_ALONE if found is None else "the data name no domains",
    )


def name_of(part: Change) -> str:
    """The set of items in words."""
    return part.name or "no domain"


def tests_name(found: Decomposition) -> str:
    """The rule of the item tests in words."""
    return f"{found.classes.name} with BH"


def interval(limits: tuple[float, float] | None) -> dict[str, float] | None:
    """A pair of limits as a cell."""
    return None if limits is None else {"low": limits[0], "high": limits[1]}


def smallest_change(index: Index, found: Decomposition) -> tuple[float | None, int | None]:
    """Smallest change that the index flags and, where all items have as many samples, in samples."""
    if index.s_diff is None:
        return None, None
    threshold = index.s_diff * found.params.cut
    samples = np.unique(np.concatenate([found.versions.baseline.n, found.versions.candidate.n]))
    if samples.size != 1 or not found.versions.binary:
        return None, None
    n = int(samples[0])
    steps = math.floor(threshold * n * (1 + TIE)) + 1
    return (steps / n, steps) if steps <= n else (None, None)


def _index_row(found: Decomposition, index: Index) -> tuple[Any, ...]:
    change, strict = index.change, index.strict
    least, steps = smallest_change(index, found)
    counts: tuple[int | None, ...] = (None, None, None)
    if change is not None:
        counts = (change.improved, change.unchanged, change.deteriorated)
    return (
        index.name,
        found.n_analysable,
        index.s_diff,
        least,
        steps,
        *(spread.sem for spread in index.spreads),
        *_aggregate(found),
        *_shares(counts, found),
        strict and f"{strict.improved}/{strict.unchanged}/{strict.deteriorated}",
        *(_breadth(change.improved, change.raised, index.name, found) if change else (None, None)),
    )


def _tests_row(found: Decomposition) -> tuple[Any, ...]:
    classes = found.classes
    raised = int((found.versions.candidate.p > found.versions.baseline.p)[found.rows].sum())
    counts = (classes.improved, found.n_analysable - classes.flagged, classes.deteriorated)
    return (
        tests_name(found),
        found.n_analysable,
        *(None,) * 5,
        *_aggregate(found),
        *_shares(counts, found),
        None,
        *_breadth(classes.improved, raised, tests_name(found), found),
    )


def _aggregate(found: Decomposition) -> tuple[float | None, dict[str, float] | None]:
    part = found.analysable
    return (None, None) if part is None else (part.net.net, interval(part.interval))


def _shares(counts: tuple[int | None, ...], found: Decomposition) -> tuple[Any, ...]:
    improved, unchanged, deteriorated = counts
    n = found.n_analysable
    if improved is None or unchanged is None or deteriorated is None or not n:
        return (None,) * 8
    sure = 1 - found.params.alpha
    up, down = (interval(wilson(k, n, level=sure)) for k in (improved, deteriorated))
    return improved, improved / n, up, unchanged, unchanged / n, deteriorated, deteriorated / n, down


def _breadth(
    improved: int, raised: int, rule: str, found: Decomposition
) -> tuple[float | None, dict[str, float] | None]:
    """Breadth ratio and its bootstrap interval, which would collapse where no raised item improved, or every one."""
    params = found.params
    if not raised:
        return None, None
    ratio, low, high = breadth_ratio(
        improved,
        raised,
        found.n_analysable,
        level=1 - params.alpha,
        n_resamples=params.bootstrap,
        rng=keyed_stream(params.seed, "breadth", rule),
    )
    return ratio, interval((low, high)) if 0 < improved < raised else None


def _noise_row(
    found: Decomposition,
    name: str,
    flagged: int | None,
    null: FlagNull | None,
    halves: tuple[FlagNull, FlagNull] | None,
    p: float | None,
) -> tuple[Any, ...]:
    n, m = found.versions.n_items, found.n_analysable
    if flagged is None:
        return name, *(None,) * 11
    churn = (flagged, flagged / n, flagged / m if m else None)
    if null is None or not m:
        return name, *churn, *(None,) * 8
    relabelled = (null.mean, null.mean / n, null.mean / m, p)
    if halves is None:
        return name, *churn, *relabelled, *(None,) * 4
    one, two = (half.mean for half in halves)
    mean = (one + two) / 2
    return name, *churn, *relabelled, one, two, mean / n, mean / m
