"""The protocol from checked scores to the gate: every pair through the clauses, both methods, and the sentence on top."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.errors import Fault, ParameterError, plain
from analysis.inputs import Input
from analysis.present.format import level, plural
from analysis.present.prose import listed
from analysis.results import Check, Figure, Outcome, Verdict
from analysis.sections import gate_over

from . import evidence_tables, findings, tables
from .differences import Adjusted, Comparison, adjusted_claims, compare
from .gates import CLAUSES, Clause, corrected_clauses, instead, ordered, paper_clauses, verdict
from .parameters import Params
from .scores import Group, collect, pair_scores, pairs
from .tails import Draws, Scale, Tail, analyse, scale_of

FEWEST_PROMPTS = 2  # shared by a pair, for a difference to have a spread


@dataclass(frozen=True, slots=True, kw_only=True)
class PairUnit:
    """The unit of inference: two models under one scorer and condition.

    ``gates`` holds the clauses of the method that the gate reads, G1 to P2, each with value, limit, outcome and reason.
    """

    pair: tuple[str, str]
    scorer: str | None
    condition: str | None
    gates: Mapping[str, Clause]
    killed_by: str | None
    status: str
    verdict: Verdict
    reason: str
    instead: str
    status_paper: str
    status_corrected: str
    shared: int
    only_first: int
    only_second: int

    @property
    def name(self) -> str:
        """The pair in words, with scorer and condition."""
        group = ", ".join(part for part in (self.scorer, self.condition) if part)
        return f"{self.pair[0]} against {self.pair[1]}" + (f" ({group})" if group else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """Everything the tables are views of.

    ``pair_groups``, ``comparisons`` (None where nothing is shared) and ``units`` run in parallel.
    """

    groups: Sequence[Group]
    tails: Sequence[tuple[Group, Tail]]
    pair_groups: Sequence[Group]
    comparisons: Sequence[Comparison | None]
    units: Sequence[PairUnit]
    judged: Sequence[PairUnit]
    claims: Mapping[int, Adjusted]
    params: Params


def check(inputs: Mapping[str, Input], params: Params) -> str:
    """Find the faults that `decide` would, and say what would be judged.

    Raises
    ------
    InputError, ParameterError
        As `decide`.
    """
    groups = collect(inputs["scores"], params)
    for group in groups:
        for pair in pairs(list(group.values)):
            _is_logit(group, pair, params)
    apart = sum(
        len(pair_scores(group, *pair).one) < params.min_distinct
        for group in groups
        for pair in pairs(list(group.values))
    )
    models = {model: len(values) for group in groups for model, values in group.values.items()}
    count = sum(len(pairs(list(group.values))) for group in groups)
    lost = sum(sum(group.lost.values()) for group in groups)
    return (
        f"{plural(count, 'pair')} in {plural(len(groups), 'group')}: "
        f"{listed([f'{name} {n:,}' for name, n in models.items()], most=6)} scores; {lost:,} rows without a finite score; "
        f"{plural(apart, 'pair')} with fewer than {params.min_distinct} shared prompts"
    )


def decide(inputs: Mapping[str, Input], params: Params) -> Outcome:
    """Run every pair of every group through the gates and read the verdict over the required pairs.

    Raises
    ------
    InputError, ParameterError
        When the data do not fit; see `scores.collect`.
    """
    groups = collect(inputs["scores"], params)
    made: list[tuple[Group, tuple[str, str], Comparison | None]] = []
    tails: list[tuple[Group, Tail]] = []
    for group in groups:
        compared, own = _group(group, params)
        made += compared
        tails += [(group, tail) for tail in own]
    found = [comparison for _, _, comparison in made if comparison is not None]
    claims = dict(zip(map(id, found), adjusted_claims(found, params), strict=True))
    units = [_unit(group, pair, comparison, claims, params) for group, pair, comparison in made]
    protocol = Protocol(
        groups=groups,
        tails=tails,
        pair_groups=[group for group, _, _ in made],
        comparisons=[comparison for _, _, comparison in made],
        units=units,
        judged=_judged(units, params),
        claims=claims,
        params=params,
    )
    gate = gate_over([clause(unit) for unit in protocol.judged], "required pair")
    return Outcome(
        gate=gate,
        headline=headline(protocol.judged, params),
        units=tuple(units),
        tables=(
            tables.checks(gate),
            tables.gates(protocol),
            tables.instead(protocol),
            tables.clauses(protocol),
            tables.bulk(protocol),
            tables.scales(protocol),
            tables.fits(protocol),
            tables.estimators(protocol),
            tables.sizes(protocol),
            evidence_tables.false_positives(protocol),
            findings.what_holds_up(protocol),
            findings.warnings(protocol),
            evidence_tables.extremes(protocol),
            evidence_tables.scan(protocol),
            evidence_tables.qq(protocol),
            evidence_tables.mean_excesses(protocol),
            evidence_tables.waterfall(protocol),
            evidence_tables.power(protocol),
        ),
        figures=figures(protocol),
    )


def clause(unit: PairUnit) -> Check:
    """The clause of one required pair."""
    return Check(
        name=unit.name, observed=unit.status, relation="is", limit="PASS", verdict=unit.verdict, reason=unit.reason
    )


def headline(judged: Sequence[PairUnit], params: Params) -> str:
    """One honest sentence with its numbers."""
    if not judged:
        return "No required pair was found, so nothing was decided."
    count = {word: sum(unit.verdict == word for unit in judged) for word in ("pass", "refuse", "undecided")}
    killed = {clause: sum(unit.killed_by == clause for unit in judged) for clause in CLAUSES}
    stops = listed([f"{killed[clause]} at {clause}" for clause in CLAUSES if killed[clause]], most=7)
    text = (
        f"The tail shape tells {count['pass']} of {plural(len(judged), 'required pair')} apart beyond mean and tail mass "
        f"({params.method} method)"
    )
    if count["refuse"] or count["undecided"]:
        text += (
            f"; against {count['refuse']} the evidence speaks, {count['undecided']} stay undecided (killed: {stops})"
        )
    return text + "."


def figures(protocol: Protocol) -> dict[str, Figure]:
    """Titles and the sentences that stand for the figures; the drawings are in ``figures.py``."""
    params = protocol.params
    tails = [tail for _, tail in protocol.tails]
    fitted = [tail for tail in tails if tail.fit is not None]
    spread = [f"{tail.model} {tail.fit.xi:.2f}" for tail in fitted if tail.fit is not None]
    left = evidence_tables.pairs_left(protocol)
    texts = {
        "waterfall": (
            "Pairs that are left after each clause, by the published and by the corrected rules.",
            "Pairs left after "
            + listed([f"{name} {count}" for name, count in left], most=8)
            + " (method of the gate).",
        ),
        "stability": (
            "Tail index against the quantile of the threshold, with bootstrap bands at 1 − alpha; the first twelve tails.",
            f"ξ̂ at the threshold: {listed(spread, most=12)}." if spread else "No tail could be fitted.",
        ),
        "qq": (
            "Excesses against the quantiles of the fitted generalised Pareto law; the first twelve tails.",
            f"Quantile plots of {plural(len(fitted), 'tail')}.",
        ),
        "mean-excess": (
            "Mean excess over rising thresholds: a straight line where a generalised Pareto law holds; the first twelve tails.",
            f"Mean-excess plots of {plural(len(tails), 'tail')}.",
        ),
        "power": (
            "Power of the published P1 and P2 together against the number of exceedances.",
            f"Curves for differences of {listed([level(e) for e in evidence_tables.effects(params)])}; at a difference equal to the "
            f"floor ({level(params.floor)}) the power never exceeds one half, whatever the number of exceedances.",
        ),
    }
    return {key: Figure(title=title, alt=alt, file=f"figures/{key}.svg") for key, (title, alt) in texts.items()}


def _group(group: Group, params: Params) -> tuple[list[tuple[Group, tuple[str, str], Comparison | None]], list[Tail]]:
    """All pairs of a group, and each model's tail on its own prompts."""
    key = (group.scorer or "", group.condition or "")
    cache: dict[tuple[str, bytes, Scale], Tail] = {}

    def tail_of(model: str, raw: npt.NDArray[np.float64], items: bytes, draws: Draws, scale: Scale) -> Tail:
        if (model, items, scale) not in cache:
            cache[model, items, scale] = analyse(model, raw, params, scale=scale, draws=draws, key=key)
        return cache[model, items, scale]

    out: list[tuple[Group, tuple[str, str], Comparison | None]] = []
    for one, two in pairs(list(group.values)):
        shared = pair_scores(group, one, two)
        if len(shared.one) < FEWEST_PROMPTS:
            out.append((group, (one, two), None))
            continue
        draws = _draws(len(shared.one), shared.clusters, params, key)
        scale = scale_of([shared.one, shared.two], params, logit=_is_logit(group, (one, two), params))
        items = _prompts(group, one, two)
        first, second = (tail_of(m, v, items, draws, scale) for m, v in ((one, shared.one), (two, shared.two)))
        out.append((group, (one, two), compare(shared, first, second, params, group.name)))
    own = []
    for model in group.values:
        whole = pair_scores(group, model, model)
        draws = _draws(len(whole.one), whole.clusters, params, key)
        scale = scale_of([whole.one], params, logit=_is_logit(group, (model,), params))
        own.append(tail_of(model, whole.one, _prompts(group, model, model), draws, scale))
    return out, own


def _is_logit(group: Group, models: Sequence[str], params: Params) -> bool:
    """Whether the scores of these models are analysed as logits; it depends on no other model."""
    probabilities = all(model in group.probabilities for model in models)
    if params.transform == "logit" and not probabilities:
        name = plain(group.name) or "the input"
        raise ParameterError(Fault(place="-p transform", what=f"logit needs scores in [0, 1]; {name} has others"))
    return params.transform != "none" and probabilities


def _draws(n: int, clusters: npt.NDArray[np.int64] | None, params: Params, key: tuple[str, ...]) -> Draws:
    return Draws(n=n, clusters=clusters, seed=params.seed, resamples=params.bootstrap, key=key)


def _prompts(group: Group, one: str, two: str) -> bytes:
    """A digest of the prompts that two models share, so that the same tail is made once."""
    shared = group.values[one].index.intersection(group.values[two].index).sort_values()
    return "\x1f".join(shared).encode()


def _unit(
    group: Group,
    pair: tuple[str, str],
    found: Comparison | None,
    claims: Mapping[int, Adjusted],
    params: Params,
) -> PairUnit:
    if found is None:
        return _incomparable(group, pair)
    by_method = {
        "paper": ordered(paper_clauses(found, params), params),
        "corrected": ordered(corrected_clauses(found, claims[id(found)], params), params),
    }
    gates, killed = by_method[params.method]
    decided = verdict(found, gates, killed, params)
    reason = (
        f"every clause is passed, but nothing can be said: {found.problem}"
        if found.problem
        else "every clause is passed"
    )
    if killed is not None:
        reason = f"KILL at {killed}: {gates[killed].reason} ({gates[killed].value})"
    return PairUnit(
        pair=pair,
        scorer=group.scorer,
        condition=group.condition,
        gates=gates,
        killed_by=killed,
        status=_status(killed),
        verdict=decided,
        reason=reason,
        instead=instead(found),
        status_paper=_status(by_method["paper"][1]),
        status_corrected=_status(by_method["corrected"][1]),
        shared=found.shared,
        only_first=found.only_one,
        only_second=found.only_two,
    )


def _incomparable(group: Group, pair: tuple[str, str]) -> PairUnit:
    """The unit of two models that share no prompts, or only one."""
    shared = pair_scores(group, *pair)
    what = f"the two models share {plural(len(shared.one), 'prompt')}"
    gates = {name: Clause(value="–", limit="", outcome="not evaluated", reason="killed at G1") for name in CLAUSES}
    gates["G1"] = Clause(value="–", limit="", outcome="undecided", reason=what)
    return PairUnit(
        pair=pair,
        scorer=group.scorer,
        condition=group.condition,
        gates=gates,
        killed_by="G1",
        status="KILL at G1",
        verdict="undecided",
        reason=f"KILL at G1: {what}",
        instead="nothing: there are no prompts to compare on",
        status_paper="KILL at G1",
        status_corrected="KILL at G1",
        shared=len(shared.one),
        only_first=shared.only_one,
        only_second=shared.only_two,
    )


def _status(killed: str | None) -> str:
    return "PASS" if killed is None else f"KILL at {killed}"


def _judged(units: Sequence[PairUnit], params: Params) -> list[PairUnit]:
    if isinstance(params.require, str):
        return list(units)
    chosen: list[PairUnit] = []
    for wanted in params.require:
        matches = [unit for unit in units if set(unit.pair) == set(wanted)]
        if not matches:
            known = listed([" and ".join(unit.pair) for unit in units], most=6)
            raise ParameterError(
                Fault(place="-p require", what=f"no pair {plain(wanted)}", fix=f"Pairs: {plain(known)}.")
            )
        chosen += [unit for unit in matches if unit not in chosen]
    return chosen
