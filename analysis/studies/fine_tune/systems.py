"""From a table of attempts to systems on the same items: one score per system and item, every loss counted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.errors import Fault, InputError, ParameterError, close_match, natural_key, plain, raise_all
from analysis.inputs import Input
from analysis.present.format import plural
from analysis.present.prose import listed

from .parameters import Params

Floats = npt.NDArray[np.float64]
Rows = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.object_]

MEASURES = ("input_tokens", "output_tokens", "cost_usd", "latency_s", "output_chars")
DEFAULT_METRIC = "value"
SMALLEST, LARGEST = 1e-100, 1e100  # squares of other scores have no float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The scores of all systems on one metric of one set of items.

    Attributes
    ----------
    items
        Item ids, shape (items,), sorted.
    values
        System -> mean score of every item, NaN where the system has no attempt at it.
    attempts
        System -> attempts at every item.
    lost
        System -> attempts without a score, per item, whether they count as failures or not.
    counted
        Whether attempts without a score stand in ``values`` as the smallest possible score.
    unscored
        System -> attempts without a score, whatever became of them.
    binary
        Whether every attempt scores 0 or 1 and every system has one attempt at an item.
    low, high
        Smallest and largest possible score; None where it is not declared and not [0, 1].
    """

    metric: str
    items: Texts
    values: Mapping[str, Floats]
    attempts: Mapping[str, npt.NDArray[np.int64]]
    lost: Mapping[str, npt.NDArray[np.int64]]
    unscored: Mapping[str, int]
    counted: bool
    binary: bool
    low: float | None
    high: float | None

    @property
    def systems(self) -> tuple[str, ...]:
        """The systems that have any score."""
        return tuple(self.values)

    def at_worst(self, system: str, value: float) -> Floats:
        """Scores with every attempt that had none counted as ``value``."""
        n, lost = self.attempts[system], self.lost[system]
        scored = n - lost if self.counted else n
        total = np.nan_to_num(self.values[system]) * n
        if self.counted and self.low is not None:
            total = total - self.low * lost
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(scored + lost > 0, (total + value * lost) / (scored + lost), np.nan))

    def rate(self, system: str) -> float:
        """Mean score of a system over the items that it has."""
        return float(np.nanmean(self.values[system]))


@dataclass(frozen=True, slots=True, kw_only=True)
class TestSet:
    """The items table: scores by metric, and what else was measured on the same items.

    Attributes
    ----------
    measures
        Column -> system -> mean over an item's attempts, NaN where none was given.
    latencies
        System -> seconds of every request, NaN where none was given.
    clusters
        A label per item, "" where it stands for itself; None without a column.
    slices
        Column -> a label per item.
    seeds
        System -> training seed -> mean score, for the systems with more than one seed.
    checkpoints
        Training run -> the systems of the data that come from it, for the runs with more than one.
    """

    __test__ = False  # no test of pytest's

    candidate: str
    baselines: tuple[str, ...]
    scores: Mapping[str, Scores]
    primary: str
    measures: Mapping[str, Mapping[str, Floats]]
    latencies: Mapping[str, Floats]
    clusters: Texts | None
    groups: Texts | None
    texts: Texts | None
    hashes: Texts | None
    slices: Mapping[str, Texts]
    seeds: Mapping[str, Mapping[str, float]]
    checkpoints: Mapping[str, tuple[str, ...]]

    @property
    def main(self) -> Scores:
        """Scores of the primary metric."""
        return self.scores[self.primary]

    @property
    def reference(self) -> str:
        """The system that the results are compared with first."""
        return self.baselines[0]


def collect(items: Input, params: Params) -> TestSet:
    """The systems on their items.

    Raises
    ------
    InputError
        Fewer than two systems, items that some systems lack (unless they are reported), clusters or slices that differ
        between the rows of an item, or scores that need a declared range.
    ParameterError
        A candidate, baseline or metric that is not there.
    """
    frame = items.frame
    candidate, baselines = _chosen(frame, params)
    known = sorted(set(frame["metric"])) if "metric" in frame else []
    primary = _primary(known, params)
    systems = [candidate, *baselines]
    frame = frame[frame["model"].isin(systems)]
    scores = {
        metric: score_table(rows, systems, metric, params, declared=metric == primary)
        for metric, rows in _by_metric(frame, known or [primary])
    }
    same_items(scores[primary], systems, params, "items")
    order = list(scores[primary].items)
    rows = frame[frame["metric"] == primary] if "metric" in frame else frame
    return TestSet(
        candidate=candidate,
        baselines=baselines,
        scores=scores,
        primary=primary,
        measures=_measures(rows, systems, order, params),
        latencies={
            system: rows.loc[rows["model"] == system, "latency_s"].to_numpy(dtype=np.float64) for system in systems
        }
        if "latency_s" in rows
        else {},
        clusters=_per_item(frame, params.cluster, order) if params.cluster else _optional(frame, "cluster", order),
        groups=_optional(frame, "group", order),
        texts=_optional(frame, "text", order),
        hashes=_optional(frame, "item_hash", order),
        slices={
            name: column
            for name in frame.columns
            if name.startswith("slice") and (column := _optional(frame, name, order)) is not None
        },
        seeds=_seeds(rows, params),
        checkpoints=_checkpoints(items.frame),
    )


def score_table(
    rows: pd.DataFrame, systems: Sequence[str], metric: str, params: Params, *, declared: bool, name: str = "items"
) -> Scores:
    """Scores by system and item; an attempt without a score is a failure or left out, as ``errors`` says.

    ``declared`` says whether ``score_range`` is about this metric.
    """
    order = sorted(set(rows["item_id"]), key=natural_key)
    value = rows["value"].to_numpy(dtype=np.float64)
    bad = np.isnan(value)
    if "status" in rows:
        bad |= ~rows["status"].isin(["", "scored"]).to_numpy()
    seen = value[~bad]
    sizes = np.abs(seen[seen != 0])
    if sizes.size and not (sizes.min() >= SMALLEST and sizes.max() <= LARGEST):
        what = f"a score has a size outside {SMALLEST:g} to {LARGEST:g}"
        raise InputError(Fault(file=name, place="column value", what=what, fix="Rescale the scores."))
    low, high = _range(seen, params if declared else None)
    if bad.any() and params.errors == "failure":
        if low is None:
            raise InputError(
                Fault(
                    file=name,
                    what=f"{plural(int(bad.sum()), 'attempt')} without a score count as failures, and a failure has no number here",
                    fix=("Give score_range, its first number is a failure; or s" if declared else "S")
                    + "ay -p errors=exclude to leave them out.",
                )
            )
        value = np.where(bad, low, value)
    kept = ~np.isnan(value) & (~bad | (params.errors == "failure"))
    place = {item: i for i, item in enumerate(order)}
    code = np.fromiter((place[item] for item in rows["item_id"]), dtype=np.intp, count=len(rows))
    values, attempts, lost, failed = {}, {}, {}, {}
    for system in systems:
        mine = (rows["model"] == system).to_numpy()
        count = np.bincount(code[mine & kept], minlength=len(order))
        total = np.bincount(code[mine & kept], value[mine & kept], minlength=len(order))
        with np.errstate(invalid="ignore"):
            values[system] = np.where(count > 0, total / count, np.nan)
        attempts[system] = count.astype(np.int64)
        lost[system] = np.bincount(code[mine & bad], minlength=len(order)).astype(np.int64)
        failed[system] = int((mine & bad).sum())
    once = all(count.max(initial=0) <= 1 for count in attempts.values())
    return Scores(
        metric=metric,
        items=np.array(order, dtype=object),
        values=values,
        attempts=attempts,
        lost=lost,
        unscored=failed,
        counted=params.errors == "failure",
        binary=once and bool(np.isin(value[kept], (0.0, 1.0)).all()),
        low=low,
        high=high,
    )


def _chosen(frame: pd.DataFrame, params: Params) -> tuple[str, tuple[str, ...]]:
    models = sorted(set(frame["model"]))
    asked = params.baselines or params.rule.compare_against
    baselines = tuple(asked) if asked else tuple(name for name in models if name != params.candidate)
    faults = [
        Fault(
            place=f"-p {role}",
            what=f"no system {plain(repr(name), width=60)} in items",
            fix=close_match(name, models) + ".",
        )
        for role, name in [("candidate", params.candidate), *(("baselines", name) for name in baselines)]
        if name not in models
    ]
    raise_all(ParameterError, faults)
    if not baselines:
        what = f"one system only, {plain(params.candidate, width=60)}: there is nothing to compare it with"
        raise InputError(Fault(file="items", what=what, fix="Give the baselines' results on the same items too."))
    return params.candidate, baselines


def _primary(known: Sequence[str], params: Params) -> str:
    """The metric that is compared; where nobody named one, the only one that the data hold."""
    wanted = params.rule.primary_metric.name
    if not known or wanted in known:
        return wanted
    if params.decision is None and wanted == DEFAULT_METRIC and len(known) == 1 and known[0]:
        return known[0]
    fix = close_match(wanted, known) + ". Name it in the rule's primary_metric, or -p metric=NAME."
    raise ParameterError(
        Fault(place="primary_metric", what=f"no metric {plain(repr(wanted), width=60)} in items", fix=fix)
    )


def _by_metric(frame: pd.DataFrame, metrics: Sequence[str]) -> Iterable[tuple[str, pd.DataFrame]]:
    for metric in metrics:
        yield metric, frame[frame["metric"] == metric] if "metric" in frame else frame


def same_items(scores: Scores, systems: Sequence[str], params: Params, name: str) -> None:
    """Refuse items that some of the systems lack, unless they are to be reported; a system without any is left aside.

    Raises
    ------
    InputError
        With the counts and a few of the items.
    """
    here = {system: ~np.isnan(scores.values[system]) for system in systems}
    here = {system: mine for system, mine in here.items() if mine.any()} if name != "items" else here
    if not np.logical_and.reduce(list(here.values())).any():
        what = "no item has a score of every system"
        raise InputError(Fault(file=name, what=what, fix="Compare systems on the same items."))
    somewhere = np.logical_or.reduce(list(here.values()))
    lacking = somewhere & ~np.logical_and.reduce(list(here.values()))
    if lacking.any() and params.unmatched == "refuse":
        counts = [
            f"{plain(system, width=60)} lacks {int((somewhere & ~mine).sum()):,}"
            for system, mine in here.items()
            if (somewhere & ~mine).any()
        ]
        names = listed([plain(item, width=40) for item in scores.items[lacking][:5]], most=5)
        raise InputError(
            Fault(
                file=name,
                what=f"{plural(int(lacking.sum()), 'item')} not scored for every system: {listed(counts, most=6)}; such as {names}",
                fix="Give every system every item, or say -p unmatched=report to compare what is shared, with the worst case beside it.",
            )
        )


def _range(seen: Floats, params: Params | None) -> tuple[float | None, float | None]:
    if params is not None and params.score_range is not None:
        low, high = params.score_range
        if seen.size and not (low <= seen.min() and seen.max() <= high):
            what = f"a score is {float(seen.min() if seen.min() < low else seen.max()):g}, score_range is {low:g} to {high:g}"
            raise InputError(Fault(file="items", what=what, fix="Widen it, or look at the score."))
        return low, high
    inside = not seen.size or (seen.min() >= 0 and seen.max() <= 1)
    return (0.0, 1.0) if inside else (None, None)


def _measures(
    rows: pd.DataFrame, systems: Sequence[str], order: Sequence[str], params: Params
) -> dict[str, dict[str, Floats]]:
    out: dict[str, dict[str, Floats]] = {}
    frame = rows.assign(_place=pd.Categorical(rows["item_id"], categories=list(order)).codes)
    for name in MEASURES:
        if name not in frame:
            continue
        groups = frame.groupby(["model", "_place"])[name]
        means = groups.mean()[groups.count() == groups.size()]
        out[name] = {}
        for system in systems:
            column = np.full(len(order), np.nan)
            if system in means.index.get_level_values(0):
                mine = means.loc[system].dropna()
                column[mine.index.to_numpy()] = mine.to_numpy()
            out[name][system] = column
    if "cost_usd" not in out and params.prices is not None and {"input_tokens", "output_tokens"} <= out.keys():
        price = params.prices
        out["cost_usd"] = {
            system: (out["input_tokens"][system] * price.input + out["output_tokens"][system] * price.output) / 1e6
            for system in systems
        }
    return out


def _seeds(rows: pd.DataFrame, params: Params) -> dict[str, dict[str, float]]:
    """Mean score by training seed; attempts without a score as ``errors`` says."""
    if "seed" not in rows:
        return {}
    fill = 0.0 if params.errors == "failure" else np.nan
    value = rows["value"].fillna(fill)
    table = pd.DataFrame({"model": rows["model"], "seed": rows["seed"], "value": value}).dropna()
    out: dict[str, dict[str, float]] = {}
    for system, part in table.groupby("model"):
        means = part.groupby("seed")["value"].mean()
        out[str(system)] = dict(zip(map(str, means.index), map(float, means), strict=True))
    return {system: by_seed for system, by_seed in out.items() if len(by_seed) > 1}


def _checkpoints(frame: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    if "run_id" not in frame:
        return {}
    pairs = frame.loc[frame["run_id"] != "", ["run_id", "model"]].drop_duplicates()
    return {str(run): tuple(part["model"]) for run, part in pairs.groupby("run_id") if len(part) > 1}


def _optional(frame: pd.DataFrame, name: str, order: Sequence[str]) -> Texts | None:
    if name not in frame or not frame[name].astype(bool).any():
        return None
    return _per_item(frame, name, order)


def _per_item(frame: pd.DataFrame, name: str, order: Sequence[str]) -> Texts:
    labels = label_of_item(frame, name, "items")
    return np.array([labels.get(item, "") for item in order], dtype=object)


def label_of_item(frame: pd.DataFrame, name: str, file: str) -> dict[str, str]:
    """The one text that a column holds for every item; items without one are left out.

    Raises
    ------
    InputError
        When the rows of an item disagree.
    """
    pairs = frame.loc[frame[name] != "", ["item_id", name]].drop_duplicates()
    twice = pairs[pairs["item_id"].duplicated()]
    if len(twice):
        what = f"{plural(len(twice), 'item')} with two values of {plain(name)}, {plain(repr(twice['item_id'].iloc[0]), width=60)} first"
        raise InputError(
            Fault(file=file, place=f"column {plain(name)}", what=what, fix="Give every row of an item the same.")
        )
    return dict(zip(pairs["item_id"], pairs[name], strict=True))
