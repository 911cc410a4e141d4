"""What is measured beside the primary metric: suites, judge and labels, latency and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.errors import Fault, InputError, natural_key, plain
from analysis.inputs import Input
from analysis.stats import (
    Agreement,
    CorrectedMean,
    CostPerSuccess,
    CostRatio,
    LengthAdjusted,
    LengthBaseline,
    PositionBias,
    ResolvedVerdicts,
    WinRate,
    amortised_cost,
    cohen_kappa,
    cost_per_success,
    cost_ratio,
    length_adjusted,
    length_only,
    position_bias,
    prediction_powered_mean,
    quantile_interval,
    rating_table,
    resolve_orders,
    win_rate,
)

from .comparisons import Comparison
from .parameters import Params
from .systems import DEFAULT_METRIC, Floats, Scores, TestSet, label_of_item, same_items, score_table

LABEL_SCORE = {"a": 0.0, "b": 1.0, "tie": 0.5}
NEITHER = 0.5
NEVER = 1e6  # times the largest latency
VERDICT = {"a": "A", "b": "B", "tie": "tie", "fail": "fail"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """What one judge said of candidate (B) against baseline (A).

    Attributes
    ----------
    n, n_both_orders
        Pairs judged, and those judged in both orders.
    resolved, wins, bias
        Verdicts that survive the swap; None where no pair was judged in both orders.
    length, adjusted
        What length alone explains; None without lengths.
    n_labels, n_given
        Human labels of pairs that have a verdict in both orders, and of any judged pair.
    agreement, corrected
        Kappa with the labels, and the win rate corrected by them; None where that is not defined.
    """

    name: str
    n: int
    n_both_orders: int
    resolved: ResolvedVerdicts | None
    wins: WinRate | None
    bias: PositionBias | None
    length: LengthBaseline | None
    adjusted: LengthAdjusted | None
    n_labels: int
    n_given: int
    agreement: Agreement | None
    corrected: CorrectedMean | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """Latency and cost of one system on the test set; None where they were not given for every scored item."""

    system: str
    p50: tuple[float, float | None, float | None] | None
    p95: tuple[float, float | None, float | None] | None
    cost: CostPerSuccess | None
    ratio: CostRatio | None
    input_tokens: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that clauses read."""

    test_set: TestSet
    comparisons: Sequence[Comparison]
    suites: Mapping[tuple[str, str], Scores]
    judges: Sequence[Judge]
    operations: Sequence[Operations]


def suites_of(given: Input | None, test_set: TestSet, params: Params) -> dict[tuple[str, str], Scores]:
    """Scores by suite and metric, systems as in the test set."""
    if given is None:
        return {}
    frame = given.frame
    systems = sorted(set(frame["model"]))
    metric = frame["metric"] if "metric" in frame else pd.Series(DEFAULT_METRIC, index=frame.index)
    out = {}
    for (suite, name), rows in frame.groupby([frame["suite"], metric], sort=True):
        scores = score_table(
            rows, systems, str(name), params, declared=False, name=f"suites, {plain(str(suite), width=60)}"
        )
        asked = [system for system in (test_set.candidate, *test_set.baselines) if system in systems]
        if asked:
            same_items(scores, asked, params, f"suites, {plain(str(suite), width=60)}")
        out[str(suite), str(name)] = scores
    return out


def same_pair(given: Input | None, test_set: TestSet) -> None:
    """Refuse verdicts on other systems than those that are compared, where the judgements name them.

    Raises
    ------
    InputError
        With the systems and the way out.
    """
    if given is None or not {"model_a", "model_b"} & set(given.frame.columns):
        return
    one, other = (given.frame[name] if name in given.frame else [None] * given.rows for name in ("model_a", "model_b"))
    pairs = list(dict.fromkeys(zip(one, other, strict=True)))
    if not any(any(pair) for pair in pairs):
        return
    shown = [f"{plain(a or 'no name', width=60)} against {plain(b or 'no name', width=60)}" for a, b in pairs]
    if len(pairs) > 1:
        what = f"verdicts on {len(pairs)} pairs of systems: {', '.join(shown[:3])}"
        fix = "Pick one: --choose judgements.baseline=NAME, or filter: in -f."
        raise InputError(Fault(file="judgements", what=what, fix=fix))
    a, b = pairs[0]
    if b not in {None, test_set.candidate} or a not in {None, *test_set.baselines}:
        what = f"verdicts on {shown[0]}; the candidate is {plain(test_set.candidate, width=60)}"
        fix = "B must be the candidate and A a baseline: --choose judgements.baseline=NAME, or values: {model_b: {OLD: NEW}} in -f."
        raise InputError(Fault(file="judgements", what=what, fix=fix))


def judges_of(given: Input | None, human: Input | None, params: Params) -> list[Judge]:
    """Every judge of the judgements, with the human labels of its pairs."""
    if given is None:
        return []
    frame = given.frame
    if human is not None and _labels(frame):
        what = "human labels stand beside the verdicts and in --data human"
        raise InputError(Fault(file="human", what=what, fix="Give them once."))
    names = frame["judge"] if "judge" in frame else pd.Series("judge", index=frame.index)
    labels = _labels(frame) if human is None else dict(zip(human.frame["item_id"], human.frame["winner"], strict=True))
    return [_judge(str(name), rows, labels, params) for name, rows in frame.groupby(names, sort=True)]


def _labels(judgements: pd.DataFrame) -> dict[str, str]:
    """Human labels that stand beside the verdicts."""
    return label_of_item(judgements, "human_winner", "judgements") if "human_winner" in judgements else {}


def operations_of(test_set: TestSet, params: Params) -> list[Operations]:
    """Latency and cost of every system, the candidate last, ratios against the reference."""
    costs = {system: _cost(test_set, system, params) for system in (*test_set.baselines, test_set.candidate)}
    return [_operations(test_set, system, costs, params) for system in costs]


def latency_quantile(
    test_set: TestSet, system: str, quantile: float, params: Params
) -> tuple[float, float | None, float | None] | None:
    """A quantile of the latency of a system's requests with its order-statistic interval; None where one has none."""
    values = test_set.latencies.get(system)
    if values is None or not values.size or np.isnan(values).any():
        return None
    never = float(values.max()) * NEVER + 1
    lacking = int((test_set.main.attempts[system] + test_set.main.lost[system] == 0).sum())
    asked = np.concatenate([values, np.full(lacking, never)])  # a request without a row may never have been answered
    low, high = quantile_interval(asked, quantile=quantile, level=params.level)
    point = float(np.quantile(asked, quantile, method="inverted_cdf"))
    if point >= never:
        return None
    return point, low, None if high is not None and high >= never else high


def _cost(test_set: TestSet, system: str, params: Params) -> Floats | None:
    values = test_set.measures.get("cost_usd", {}).get(system)
    if values is None:
        return None
    if system == test_set.candidate and params.volume is not None:
        return amortised_cost(values, fixed_cost=params.fixed_cost, volume=params.volume)
    return values


def _operations(test_set: TestSet, system: str, costs: Mapping[str, Floats | None], params: Params) -> Operations:
    success = test_set.main.values[system]
    bounded = test_set.main.low == 0.0 and test_set.main.high == 1.0
    own = costs[system]
    reference = costs[test_set.reference]
    cost, ratio = None, None
    if own is not None and bounded:
        here = ~np.isnan(success) & ~np.isnan(own)
        whole = not np.isnan(own[~np.isnan(success)]).any()
        if here.sum() > 1 and whole:
            cost = cost_per_success(own[here], success[here], level=params.level)
        if reference is not None and system != test_set.reference:
            base = test_set.main.values[test_set.reference]
            both = here & ~np.isnan(base) & ~np.isnan(reference)
            if both.sum() > 1 and whole and not np.isnan(reference[~np.isnan(base)]).any():
                ratio = cost_ratio(reference[both], base[both], own[both], success[both], level=params.level)
    tokens = test_set.measures.get("input_tokens", {}).get(system)
    return Operations(
        system=system,
        p50=latency_quantile(test_set, system, 0.5, params),
        p95=latency_quantile(test_set, system, 0.95, params),
        cost=cost,
        ratio=ratio,
        input_tokens=None if tokens is None or np.isnan(tokens).all() else float(np.nanmean(tokens)),
    )


def _judge(name: str, frame: pd.DataFrame, labels: Mapping[str, str], params: Params) -> Judge:
    items = sorted(set(frame["item_id"]), key=natural_key)
    by_order = {
        str(order): dict(zip(part["item_id"], part["winner"], strict=True)) for order, part in frame.groupby("order")
    }
    first, second = by_order.get("ab", {}), by_order.get("ba", {})
    both = [item for item in items if item in first and item in second]
    resolved, wins, bias, scores = None, None, None, np.empty(0)
    if both:
        one, two = ([VERDICT[side[item]] for item in both] for side in (first, second))
        resolved = resolve_orders(one, two)
        scores = resolved.score
        if resolved.failed == len(both):
            return Judge(
                name=name,
                n=len(items),
                n_both_orders=len(both),
                resolved=resolved,
                wins=None,
                bias=None,
                length=None,
                adjusted=None,
                n_labels=0,
                n_given=len(known_items(items, labels)),
                agreement=None,
                corrected=None,
            )
        wins, bias = win_rate(scores, level=params.level), position_bias(one, two, level=params.level)
    gap = _gaps(frame, both)
    known = [i for i, item in enumerate(both) if item in labels]
    human = np.array([LABEL_SCORE[labels[both[i]]] for i in known])
    agreement, corrected, n_usable = None, None, 0
    if known:
        judged = scores[known]
        usable = ~np.isnan(judged)
        n_usable = int(usable.sum())
        if usable.sum() > 1:
            names, table = rating_table(_words(judged[usable]), _words(human[usable]))
            agreement = cohen_kappa(table, level=params.level) if names.size > 1 else None
            rest = np.delete(scores, known)
            rest = rest[~np.isnan(rest)]
            if rest.size > 1:
                corrected = prediction_powered_mean(human[usable], judged[usable], rest, level=params.level)
    return Judge(
        name=name,
        n=len(items),
        n_both_orders=len(both),
        resolved=resolved,
        wins=wins,
        bias=bias,
        length=None if gap is None else length_only(scores, gap, level=params.level),
        adjusted=None if gap is None else length_adjusted(scores, gap, level=params.level),
        n_labels=n_usable,
        n_given=len(known_items(items, labels)),
        agreement=agreement,
        corrected=corrected,
    )


def known_items(items: list[str], labels: Mapping[str, str]) -> list[str]:
    """The items that people labelled."""
    return [item for item in items if item in labels]


def _gaps(frame: pd.DataFrame, items: list[str]) -> Floats | None:
    """Length of the candidate's answer minus the baseline's per item; None where a pair has no lengths."""
    if not items or not {"len_a", "len_b"} <= set(frame.columns):
        return None
    means = frame.groupby("item_id")[["len_a", "len_b"]].mean().loc[items]
    gap = (means["len_b"] - means["len_a"]).to_numpy(dtype=np.float64)
    return None if np.isnan(gap).any() else gap


def _words(scores: Floats) -> list[str]:
    """Scores as the labels that a person gives: the candidate, the baseline, or neither."""
    return ["B" if score > NEITHER else "A" if score < NEITHER else "tie" for score in scores]
