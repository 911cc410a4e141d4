"""The decomposition from checked samples to the gate: what changed beyond noise, by both methods, and the sentence on top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from analysis.errors import plain
from analysis.inputs import Input
from analysis.present.format import level, number, plural, prob
from analysis.present.prose import listed, sentence_case
from analysis.results import Figure, Gate, Outcome
from analysis.stats import FlagNull, ReliableChange, TrueChange, analysable, true_change

from . import evidence_tables, findings, greedy_tables, hypotheses, items_tables, tables
from .classes import POPULATIONS, Index, ItemClasses, check_tables, corrected, published, tested
from .domains import Change, by_domain, counts_by_domain, overall
from .gate import gate_of
from .greedy import CrossTable, Discordant, aligned, cross_table, discordant
from .missing import Policy, policies
from .noise import at_least
from .parameters import Params
from .true_rates import FEWEST_ITEMS, TrueRates, estimate
from .versions import Directions, Greedy, Rows, Versions, collect, samples_of

FEWEST = 2  # items, for a variance
ONE_ANSWER = (
    "one answer per item and version: gains and losses can be counted, but not told from noise; sample every item again"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChurnUnit:
    """The unit of inference: the pair of versions by one method.

    ``improved``, ``unchanged`` and ``deteriorated`` add up to ``n_analysable``; ``churn_all`` and ``churn_analysable``
    divide the changed items by either denominator; ``noise_floor`` is the share of analysable items that the same rule
    flags when samples are dealt to the versions at random. ``net``, ``gains`` and ``losses`` are means over all items.
    """

    baseline: str
    candidate: str
    method: str
    n_items: int
    n_analysable: int
    s_diff: float | None
    improved: int | None
    unchanged: int | None
    deteriorated: int | None
    churn_all: float | None
    churn_analysable: float | None
    noise_floor: float | None
    net: float
    gains: float
    losses: float
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposition:
    """Everything the tables are views of.

    ``rows`` marks the analysable items; ``corrected`` and ``spread`` hold the corrected index and the true change by
    population, ``rates`` the estimated law of true rates; ``parts`` are the domains; ``directions`` hold the class of every item by method, ``crosses`` the greedy answers
    against the classes.
    """

    versions: Versions
    rows: Rows
    published: tuple[Index, Index]
    corrected: Mapping[str, Index]
    classes: ItemClasses
    everything: Change
    analysable: Change | None
    parts: tuple[Change, ...]
    spread: Mapping[str, TrueChange | None]
    rates: TrueRates | None
    policies: tuple[Policy, ...]
    directions: Mapping[str, Directions | None]
    crosses: tuple[CrossTable, ...]
    units: tuple[ChurnUnit, ChurnUnit]
    params: Params

    @property
    def index(self) -> Index:
        """The corrected index over the population that was chosen."""
        return self.corrected[self.params.population]

    @property
    def n_analysable(self) -> int:
        """Items that are neither at 0 nor at 1 in both versions."""
        return int(self.rows.sum())


def check(inputs: Mapping[str, Input], params: Params) -> str:
    """Find the faults that `decide` would, and say what would be compared.

    Raises
    ------
    InputError, ParameterError
        As `decide`.
    """
    versions, greedy = collect(inputs, params)
    said = []
    if versions is not None:
        if versions.binary:
            check_tables(versions.baseline, versions.candidate, params)
        said.append(
            f"{versions.n_items:,} items compared, {samples_of(versions.baseline)} and {samples_of(versions.candidate)} "
            f"samples each ({'correct or not' if versions.binary else 'graded'}); {versions.short + versions.unmatched:,} left out; "
            f"{versions.lost:,} attempts without a score"
        )
    if greedy is not None:
        said.append(f"{len(greedy.items):,} items with greedy answers of both versions")
    return f"{plain(params.baseline)} to {plain(params.candidate)}: " + "; ".join(said)


def decide(inputs: Mapping[str, Input], params: Params) -> Outcome:
    """Decompose the change between the two versions and read the gate.

    Raises
    ------
    InputError, ParameterError
        When the data do not fit; see `versions.collect`.
    """
    versions, greedy = collect(inputs, params)
    answers = tuple(discordant(greedy)) if greedy is not None else ()
    if versions is None:
        gate, text = Gate(verdict="undecided", reason=ONE_ANSWER, checks=()), greedy_headline(answers[0], params)
        return _outcome(None, params, gate, text, answers, greedy)
    found = decompose(versions, greedy, params)
    return _outcome(found, params, gate_of(found), headline(found), answers, greedy)


def _outcome(
    found: Decomposition | None,
    params: Params,
    gate: Gate,
    text: str,
    answers: tuple[Discordant, ...],
    greedy: Greedy | None,
) -> Outcome:
    """The tables and figures of a run; empty ones, with the reason, where there are greedy answers only."""
    return Outcome(
        gate=gate,
        headline=text,
        units=found.units if found else (),
        tables=(
            tables.checks(gate),
            tables.main(found, params),
            tables.readings(found),
            tables.net(found, params),
            tables.noise(found),
            evidence_tables.true_rates(found, params),
            tables.domains(found, params),
            evidence_tables.difficulty(found, params),
            greedy_tables.cross(found.crosses if found else ()),
            greedy_tables.agreement(found.crosses if found else ()),
            greedy_tables.discordant(answers),
            evidence_tables.sensitivity(found, params),
            evidence_tables.missing(found, params),
            hypotheses.hypotheses(found),
            evidence_tables.planner(found, params),
            findings.what_holds_up(found),
            findings.warnings(found, greedy, params),
            items_tables.changed(found, params),
            items_tables.items(found),
            items_tables.joint(found),
            items_tables.histogram(found),
        ),
        figures=figures(found),
    )


def decompose(versions: Versions, greedy: Greedy | None, params: Params) -> Decomposition:
    """Both methods, the net change, the domains and the greedy answers."""
    rows = analysable(versions.baseline.p, versions.candidate.p)
    everything = np.ones_like(rows)
    readings = published(versions, rows, params)
    indices = {name: corrected(versions, rows, params, population=name) for name in POPULATIONS}
    classes = tested(versions, rows, params)
    total = overall(versions, everything, "all items", params)
    by_rule = {index.name: _over_all(rows, index.change) for index in readings}
    by_rule[f"{classes.name} with BH"] = _over_all(rows, classes)
    return Decomposition(
        versions=versions,
        rows=rows,
        published=readings,
        corrected=indices,
        classes=classes,
        everything=total,
        analysable=overall(versions, rows, "analysable items", params) if rows.any() else None,
        parts=tuple(by_domain(versions, params)),
        spread={
            "analysable": _true_change(versions, rows, indices["analysable"]),
            "full": _true_change(versions, everything, indices["full"]),
        },
        rates=estimate(versions, params),
        policies=policies(versions, params),
        directions={"paper": by_rule[readings[0].name], "corrected": by_rule[f"{classes.name} with BH"]},
        crosses=_crosses(versions, greedy, by_rule),
        units=(
            _paper_unit(versions, rows, total, readings[0], params),
            _corrected_unit(versions, rows, total, indices[params.population], classes, params),
        ),
        params=params,
    )


def headline(found: Decomposition) -> str:
    """One honest sentence with its numbers."""
    versions, classes, net, index = found.versions, found.classes, found.everything.net, found.published[0]
    text = (
        f"From {versions.baseline.name} to {versions.candidate.name} the mean moves by {number(net.net)}: {number(net.gains)} "
        f"gained less {number(net.losses)} lost. {classes.flagged:,} of {plural(versions.n_items, 'item')} "
        f"({prob(classes.flagged / versions.n_items)}) changed reliably, {classes.improved:,} for the better and "
        f"{classes.deteriorated:,} for the worse ({classes.name}, false discovery rate {number(found.params.fdr)}"
        f"{_if_dealt(classes.null)})."
    )
    if found.rates is not None and versions.n_items >= FEWEST_ITEMS:
        moved = found.rates.telling
        text += (
            f" Seen or not, an estimated {prob(moved.rose)} {_limits(moved.rose_interval)} of all items rose and {prob(moved.fell)} "
            f"{_limits(moved.fell_interval)} fell by more than {level(moved.beyond)}."
        )
    if index.flagged is None:
        return f"{text} The published index says nothing: {index.problem}."
    return f"{text} The published index flags {index.flagged:,}{_if_dealt(index.null)}."


def _limits(interval: tuple[float, float]) -> str:
    return f"[{prob(interval[0])}, {prob(interval[1])}]"


def _if_dealt(null: FlagNull | None) -> str:
    return "" if null is None else f"; {number(null.mean, 3)} if samples were dealt at random"


def greedy_headline(whole: Discordant, params: Params) -> str:
    """What greedy answers alone can say."""
    return (
        f"From {params.baseline} to {params.candidate} greedy answers gain {whole.gained:,} and lose {whole.lost:,} of {whole.n:,} "
        f"items, net {number(whole.after - whole.before, 3)} (exact McNemar p {prob(whole.p)}); with one answer per item no "
        "item can be called changed."
    )


def figures(found: Decomposition | None) -> dict[str, Figure]:
    """Titles and the sentences that stand for the figures; the drawings are in ``figures.py``."""
    titles = {
        "scatter": "Scores of the analysable items in both versions, with the band of the published index.",
        "rci": "Published index of the analysable items, clipped at its ends.",
        "domains": "Share of every domain's items that improved, did not change or deteriorated.",
        "difficulty": "Changed items by baseline score, observed and with samples dealt to the versions at random.",
        "net": "What was gained and what was lost, and the net change that is left of them.",
    }
    texts = dict.fromkeys(titles, sentence_case(ONE_ANSWER) + ".") if found is None else _figure_texts(found)
    return {key: Figure(title=title, alt=texts[key], file=f"figures/{key}.svg") for key, title in titles.items()}


def _figure_texts(found: Decomposition) -> dict[str, str]:
    classes, net, index = found.classes, found.everything.net, found.published[0]
    return {
        "scatter": f"{found.n_analysable:,} items; {classes.improved:,} improved and {classes.deteriorated:,} deteriorated by "
        f"{tables.tests_name(found)}.",
        "rci": f"No index: {index.problem}."
        if index.change is None
        else f"{index.change.improved:,} items above the cut, {index.change.deteriorated:,} below minus the cut, "
        f"{index.change.unchanged:,} between.",
        "domains": _domain_text(found),
        "difficulty": f"Two panels, {index.name} and {tables.tests_name(found)}: shares of improved and deteriorated items in "
        f"{plural(len(found.params.bins) - 1, 'bin')} of the baseline score; the pale bars show what samples dealt at random give.",
        "net": f"Gained {number(net.gains, 3)}, lost {number(net.losses, 3)}, net {number(net.net, 3)}, over "
        f"{plural(net.n_items, 'item')}.",
    }


def _domain_text(found: Decomposition) -> str:
    direction = found.directions[found.params.method]
    if direction is None or not found.parts:
        return "No classes by domain."
    shares = [
        f"{tables.name_of(part)} {prob(up / part.n)} and {prob(down / part.n)}"
        for part, (up, _, down) in zip(found.parts, counts_by_domain(found.versions, direction), strict=True)
    ]
    return f"Improved and deteriorated shares: {listed(shares, most=8)}."


def _over_all(rows: Rows, classes: ReliableChange | ItemClasses | None) -> Directions | None:
    """Classes of the analysable items as classes of all items."""
    if classes is None:
        return None
    out = np.zeros(rows.size, dtype=np.int8)
    out[rows] = classes.direction
    return out


def _crosses(
    versions: Versions, greedy: Greedy | None, by_rule: Mapping[str, Directions | None]
) -> tuple[CrossTable, ...]:
    if greedy is None:
        return ()
    where, changed = aligned(greedy, versions)
    return tuple(cross_table(rule, changed, found[where]) for rule, found in by_rule.items() if found is not None)


def _true_change(versions: Versions, rows: Rows, index: Index) -> TrueChange | None:
    one, two = (spread.sem for spread in index.spreads)
    if one is None or two is None or rows.sum() < FEWEST:
        return None
    return true_change(versions.baseline.p[rows], versions.candidate.p[rows], sem_baseline=one, sem_candidate=two)


def _paper_unit(versions: Versions, rows: Rows, total: Change, index: Index, params: Params) -> ChurnUnit:
    change = index.change
    counts = None if change is None else (change.improved, change.deteriorated)
    p = None if index.null is None or index.flagged is None else at_least(index.null, index.flagged)
    return _unit(
        versions,
        rows,
        total,
        "paper",
        index.s_diff,
        counts,
        index.null,
        _status(index.flagged, p, index.problem, params),
    )


def _corrected_unit(
    versions: Versions, rows: Rows, total: Change, index: Index, classes: ItemClasses, params: Params
) -> ChurnUnit:
    counts = (classes.improved, classes.deteriorated)
    pair = (versions.baseline, versions.candidate)
    agree = all(version.agree(binary=versions.binary).all() for version in pair)
    problem = "the samples of every item agree in both versions, so that repeats measure once" if agree else ""
    status = _status(classes.flagged, classes.p_noise, problem, params)
    return _unit(versions, rows, total, "corrected", index.s_diff, counts, classes.null, status)


def _unit(
    versions: Versions,
    rows: Rows,
    total: Change,
    method: str,
    s_diff: float | None,
    counts: tuple[int, int] | None,
    null: FlagNull | None,
    status: str,
) -> ChurnUnit:
    n, flagged = int(rows.sum()), None if counts is None else sum(counts)
    return ChurnUnit(
        baseline=versions.baseline.name,
        candidate=versions.candidate.name,
        method=method,
        n_items=versions.n_items,
        n_analysable=n,
        s_diff=s_diff,
        improved=counts and counts[0],
        unchanged=None if flagged is None else n - flagged,
        deteriorated=counts and counts[1],
        churn_all=None if flagged is None else flagged / versions.n_items,
        churn_analysable=flagged / n if flagged is not None and n else None,
        noise_floor=null.mean / n if null is not None and n else None,
        net=total.net.net,
        gains=total.net.gains,
        losses=total.net.losses,
        status=status,
    )


def _status(flagged: int | None, p: float | None, problem: str, params: Params) -> str:
    if problem or flagged is None:
        return f"not measurable: {problem}"
    if not flagged:
        return "no item changed reliably"
    if p is None:
        return "items changed; graded scores have no noise floor for the tests"
    return "churn beyond noise" if p <= params.alpha else "churn within noise"
