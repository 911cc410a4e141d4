"""What the published method says and what holds up, point by point, and the warnings that these data give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.inputs import Input
from analysis.present.format import level, number, plural, prob
from analysis.present.prose import listed
from analysis.present.table import Table, TableColumn
from analysis.stats import (
    certification_power,
    largest_passing,
    noise_floor,
    over_budget_count,
    peeking_probability,
    sample_floor,
    two_point_two_sigma,
)

from . import published as paper
from .cells import Cell
from .parameters import Params
from .tables import Audit
from .units import SUPPORTED, CellAudit

SELECTED_NAMES = ("best", "max", "val")
PEEKED_TO = 200


def what_holds_up(audit: Audit) -> Table:
    """Every disputed point with the number that settles it, at the parameters of this report."""
    return Table(
        id="what-holds-up",
        title="What the published method says, what holds up, and which reading this report uses.",
        columns=(
            TableColumn(key="point", label="Point"),
            TableColumn(key="published", label="The paper says", kind="text"),
            TableColumn(key="holds", label="What holds up", kind="text"),
            TableColumn(key="here", label="In this report", kind="text"),
        ),
        rows=tuple(_points(audit)),
    )


def _points(audit: Audit) -> Iterator[tuple[str, str, str, str]]:
    params = audit.params
    eps, delta = params.failure_budget, params.delta
    n, held = paper.RERUNS, paper.RERUNS - params.audit_size
    exact = over_budget_count(n, budget=eps)
    yield (
        "Over budget",
        f"β̂ > ε is glossed as k ≥ {paper.OVER_BUDGET_COUNT} of {n}",
        f"at ε = {level(eps)} the first count over budget is {exact} of {n}",
        f"k ≥ {params.over_budget_count} as asked for" if params.over_budget_count else "the exact count, by fractions",
    )
    yield (
        "Transfer table",
        f"{paper.TRANSFERS_CLAIMED} recipes",
        f"{paper.TRANSFERS_PRINTED} are printed, {paper.TRANSFERS_REFUSED} of them refused on the target",
        "every pair in the data is shown",
    )
    low = [bar for bar in (params.tau, *params.bars) if params.chance_rate is not None and bar <= params.chance_rate]
    yield (
        "Bars at chance",
        "release-supported at τ = .50",
        "a constant predictor scores .50 on a balanced binary task; an r there says nothing about collapse",
        "chance_rate is not given: this cannot be checked"
        if params.chance_rate is None
        else f"chance rate {level(params.chance_rate)}; bars at or below it: "
        + listed([level(bar) for bar in dict.fromkeys(low)]),
    )
    floors = [sample_floor(budget=eps, delta=delta, failures=k) for k in range(5)]
    yield (
        "Sample floor",
        f"N ≥ {floors[0]} is enforced",
        f"that is the floor without a failure; with 1, 2, 3, 4 failures it is {listed(list(map(str, floors[1:])), most=4)}",
        "the floor without a failure decides not certifiable; still needed counts the failures seen",
    )
    yield (
        "Held-out failures",
        "the mean rule violates the budget 48.0 % of the time",
        "this is conditional on shipping and measured on a noisy held-out rate: a cell at β = ε/2 shows over budget on "
        f"{plural(held, 'held-out rerun')} with probability {prob(noise_floor(eps / 2, held, budget=eps))}"
        if held > 0
        else "this is conditional on shipping and measured on a noisy held-out rate",
        "pooled and per-cell shares, and the excess over the noise floor",
    )
    yield (
        "Audit sizes",
        f"N = {n} and {paper.TARGET_RERUNS}, ε = δ = .10",
        f"{sample_floor(budget=0.05, delta=0.05)} and {sample_floor(budget=0.10, delta=0.05)} are the zero-failure sizes for "
        f"(ε, δ) = (.05, .05) and (.10, .05); for (.10, .10) {sample_floor(budget=0.10, delta=0.10)} suffice",
        f"floor {floors[0]} at ε = {level(eps)}, δ = {level(delta)}",
    )
    yield (
        "Grid",
        f"{paper.CELLS} cells over {paper.MODELS} models",
        f"{paper.CELLS}/{paper.MODELS} is not whole: the grid is not full and not published",
        plural(len(audit.calibration), "calibration cell"),
    )
    yield _peeking(audit)
    yield _family(audit)
    yield (
        "What the bound says",
        "Pr[over budget | ship]",
        "the bound keeps Pr(ship and β > ε) ≤ δ, never Pr(β > ε | ship), which needs a prior",
        _posterior(audit.judged),
    )
    sizes = [cell.n for cell in audit.judged if cell.n]
    shown = max(sizes) if sizes else n
    power = certification_power((0.01, 0.02, 0.05), shown, budget=eps, delta=delta)
    yield (
        "Power",
        "not reported",
        f"a card of N = {shown} ships with probability {listed([prob(float(p)) for p in power])} at β = .01, .02 and .05",
        "the operating table",
    )
    yield _two_sigma(params)
    yield (
        "Severity",
        "only the count below τ",
        "two recipes with the same k may fail by little or collapse",
        "mean shortfall with a finite-sample upper bound beside every rate",
    )
    yield (
        "strong-unsupported",
        "named, never defined",
        "the one-sided lower bound at δ exceeds ε",
        f"with {n} reruns from k = {_first_strong(n, params)}",
    )
    yield (
        "Exchangeable reruns",
        "assumed",
        "reruns that share data, code or hardware are not independent draws of the recipe",
        _batches(audit.cells),
    )
    yield (
        "Shift",
        "refusal under task or domain shift",
        "this is a second audit; from the first alone only β_Q ≤ β_P + total variation distance follows",
        "a claim without a target audit is refused",
    )


def _peeking(audit: Audit) -> tuple[str, str, str, str]:
    params = audit.params
    eps, delta = params.failure_budget, params.delta
    first = sample_floor(budget=eps, delta=delta)
    to = max(first, paper.RERUNS)
    short = prob(peeking_probability(eps, first=first, last=to, budget=eps, delta=delta))
    long = prob(peeking_probability(eps, first=first, last=max(to, PEEKED_TO), budget=eps, delta=delta))
    return (
        "Looking after every rerun",
        "N is fixed",
        f"checking the bound after each rerun from {first} certifies a recipe at β = ε with probability {short} by {to} "
        f"reruns and {long} by {max(to, PEEKED_TO)}, not {level(delta)}",
        "the fixed-N bound, the e-value beside it"
        if params.looks == "fixed"
        else "the e-value, valid at any number of reruns",
    )


def _family(audit: Audit) -> tuple[str, str, str, str]:
    params = audit.params
    eps, delta = params.failure_budget, params.delta
    m = max(len(audit.judged), 1)
    paper_ships = sum(unit.status_paper == SUPPORTED for unit in audit.judged)
    holds = sum(unit.status_corrected == SUPPORTED for unit in audit.judged)
    return (
        "Many cells",
        f"each of {paper.CELLS} cells at δ = .10",
        f"up to {number(paper.CELLS * 0.10)} false cards are expected; Bonferroni needs "
        f"{sample_floor(budget=0.10, delta=0.10 / paper.CELLS)} reruns without a failure",
        f"{plural(m, 'required cell')} (Bonferroni floor {sample_floor(budget=eps, delta=delta / m)}): {paper_ships} supported as "
        f"published, {holds} by the corrected method",
    )


def _posterior(judged: Sequence[CellAudit]) -> str:
    supported = [unit.posterior for unit in judged if unit.status == SUPPORTED and unit.posterior is not None]
    if not supported:
        return "no cell is supported; the posterior under a uniform prior stands in the cards"
    return f"largest Pr(β > ε) of a supported cell under a uniform prior: {prob(max(supported))}"


def _two_sigma(params: Params) -> tuple[str, str, str, str]:
    high, low = paper.COLLAPSE
    sizes = (3, 5, 10, 22, 59)
    ships = [prob(two_point_two_sigma(11 / 59, n, high=high, low=low, tau=0.70)) for n in sizes]
    return (
        "b̄ − 2σ",
        "conservative",
        f"more evidence makes it refuse more: with 11 in 59 collapsed (.968 or .50, τ = .70) it ships with probability "
        f"{listed(ships, most=5)} at n = {listed(list(map(str, sizes)), most=5)}",
        "shown beside the other rules",
    )


def _first_strong(n: int, params: Params) -> str:
    from analysis.stats import strongly_unsupported  # noqa: PLC0415

    found = [k for k in range(n + 1) if strongly_unsupported(k, n, budget=params.failure_budget, delta=params.delta)]
    return str(found[0]) if found else "none"


def _batches(cells: Sequence[Cell]) -> str:
    known = [cell.batches for cell in cells if cell.batches is not None]
    if not known:
        return "no batch column is given: this cannot be checked"
    return f"between {min(known)} and {max(known)} batches a cell; the bound does not widen for them"


def warnings(audit: Audit, runs: Input) -> Table:
    """What a reader must know before believing the cards."""
    return Table(
        id="warnings",
        title="Warnings.",
        columns=(
            TableColumn(key="what", label="What"),
            TableColumn(key="where", label="Where"),
            TableColumn(key="sentence", label="Why it matters", kind="text"),
        ),
        rows=tuple(_warnings(audit, runs)),
        empty="none",
    )


def _warnings(audit: Audit, runs: Input) -> Iterator[tuple[str, str, str]]:
    params = audit.params
    names = {runs.sources.get("score", "score")}
    names |= set(runs.frame["metric"].unique()) if "metric" in runs.frame else set()
    for name in sorted(names):
        words = name.lower().replace("-", "_").replace(" ", "_").split("_")
        if any(word.startswith(SELECTED_NAMES) for word in words):
            yield (
                "selected score",
                name,
                "the name says best, max or val: a score that was chosen among checkpoints or on validation data is not "
                "what a rerun delivers",
            )
    if params.chance_rate is not None and params.tau <= params.chance_rate:
        yield (
            "bar at chance",
            f"τ = {level(params.tau)}",
            f"a constant predictor scores {level(params.chance_rate)}: passing this bar says nothing about collapse",
        )
    missing = [unit for unit in audit.units if unit.without_score]
    if missing:
        worst = max(missing, key=lambda unit: unit.without_score)
        yield (
            "reruns without a score",
            f"{plural(len(missing), 'cell')}, most in {worst.name}",
            f"{worst.without_score} there; they count as {'failures' if params.errors == 'failure' else 'not run'}: the upper "
            f"bound is {prob(worst.upper_failure)} as failures and {prob(worst.upper_exclude)} without them",
        )
    noisy = [unit for unit in audit.units if unit.indeterminate]
    if noisy:
        worst = max(noisy, key=lambda unit: unit.indeterminate or 0)
        yield (
            "scores within test-set noise of the bar",
            f"{plural(len(noisy), 'cell')}, most in {worst.name}",
            f"{worst.indeterminate} reruns there pass by less than the test set can tell; the corrected method counts them "
            "as failures",
        )
    shared = [cell for cell in audit.cells if cell.batches is not None and cell.batches < len(cell.scores)]
    if shared:
        yield (
            "shared batches",
            plural(len(shared), "cell"),
            f"reruns share batches (as few as {min(cell.batches or 0 for cell in shared)} in a cell): the bound takes reruns as "
            "exchangeable and is too narrow when batches differ",
        )
    equal = [unit for unit in audit.units if unit.n > 1 and unit.sd == 0]
    if equal:
        yield (
            "identical scores",
            listed([unit.name for unit in equal]),
            "all reruns have the same score: the seed may be ignored, or one run was copied",
        )
    short = audit.held_out.cells - audit.held_out.split
    if short:
        yield (
            "too few reruns to hold out",
            plural(short, "cell"),
            f"no more than {params.audit_size} reruns count there (audit_size); the held-out table leaves them out",
        )
    if all(
        largest_passing(unit.n, budget=params.failure_budget, delta=params.delta) is None
        for unit in audit.judged
        if unit.n
    ):
        yield (
            "nothing can be certified",
            "all required cells",
            f"every cell is below the floor of {sample_floor(budget=params.failure_budget, delta=params.delta)} reruns: no data "
            "of this size can support a release",
        )
