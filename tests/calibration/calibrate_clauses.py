"""Coverage of the paired intervals and size of McNemar's tests and of the rule's clauses; not part of the normal run.

Run ``python tests/calibration/calibrate_clauses.py [samples]``. Prints Markdown tables with the seed and the date.
Pass or fail is summed over all tables of gains and losses but the rarest. Standard error of a share p over N samples,
for what is drawn: sqrt(p(1 - p)/N).
"""

from __future__ import annotations

import bisect
import datetime
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"

import numpy as np
import scipy
from scipy.stats import binom, norm

from analysis.stats import (
    keyed_stream,
    margin_power,
    mcnemar,
    mcnemar_power,
    paired_mean_interval,
    tango_interval,
)
from analysis.studies.fine_tune.clauses import evaluate
from analysis.studies.fine_tune.comparisons import compare
from analysis.studies.fine_tune.evidence import Evidence, operations_of
from analysis.studies.fine_tune.parameters import Params
from analysis.studies.fine_tune.rule import (
    CostRatioLimit,
    Decision,
    Guardrail,
    Latency,
    NotBelow,
    Operation,
    Primary,
    RateFloor,
    SliceFloor,
    SuiteDrop,
)
from analysis.studies.fine_tune.systems import Scores, TestSet

SEED = 0
LEVEL = 0.95
LEFT_OUT = 1e-5  # probability of the rarest tables, which are not summed
SAME = 1e-9  # an end that meets the truth to this covers it
BASE, OURS, SUITE, METRIC = "production", "candidate", "suite", "value"
METHODS: tuple[Literal["percentile", "bca", "studentised", "t"], ...] = ("percentile", "bca", "studentised", "t")
WAYS = ("paper", "corrected")

Floats = np.ndarray
Ends = tuple[float, float, bool]  # low, high, betting instead of the method
Law = list[tuple[tuple[int, int], float]]  # (losses, gains) or (count, 0), probability
Sizes = dict[str, Floats]  # method -> probability of shown, contradicted, not shown, not measured
OUTCOMES = ("shown", "contradicted", "not shown", "not measured")


def stream(*key: object) -> np.random.Generator:
    return np.random.Generator(keyed_stream(SEED, *map(str, key)))


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def table(title: str, columns: Iterable[str]) -> None:
    cells = list(columns)
    print(f"\n{title}\n\n{row(*cells)}\n|{'---|' * len(cells)}")


def pairs_law(n: int, gain: float, loss: float) -> Law:
    """Tables of losses and gains with their trinomial probabilities, the likeliest first."""
    lost = binom.pmf(np.arange(n + 1), n, loss)
    found = []
    for b in np.flatnonzero(lost > LEFT_OUT**2):
        given = lost[b] * binom.pmf(np.arange(n - b + 1), n - b, gain / (1 - loss))
        found += [((int(b), int(c)), float(given[c])) for c in np.flatnonzero(given > LEFT_OUT**2)]
    return likeliest(found)


def count_law(n: int, p: float) -> Law:
    mass = binom.pmf(np.arange(n + 1), n, p)
    return likeliest([((k, 0), float(mass[k])) for k in range(n + 1)])


def likeliest(found: Law) -> Law:
    found = sorted(found, key=lambda one: -one[1])
    enough = np.searchsorted(np.cumsum([mass for _, mass in found]), 1 - LEFT_OUT)
    return found[: int(enough) + 1]


def differences(n: int, lost: int, gained: int) -> Floats:
    return np.repeat([-1.0, 0.0, 1.0], [lost, n - lost - gained, gained])


def bootstrap(method: Literal["percentile", "bca", "studentised", "t"], diff: Floats, width: float = 1.0) -> Ends:
    found = paired_mean_interval(diff, level=LEVEL, method=method, score_range=(0.0, width))
    return found.low, found.high, found.method == "betting"


def covered(ends: Iterable[Ends], mass: Floats, truth: float) -> str:
    """Covered (truth under, above), the mean width, and how often betting stood in."""
    low, high, betting = np.array(list(ends)).T
    mass = mass / mass.sum()
    under, above, stood_in = (
        float(mass @ hit) for hit in (truth < low - SAME, truth > high + SAME, betting.astype(bool))
    )
    cell = f"{1 - under - above:.3f} ({under:.3f}, {above:.3f}) {mass @ (high - low):.3g}"
    return cell + (f", betting {stood_in:.3f}" if stood_in > 0.0005 else "")


def pass_or_fail(_: int) -> None:
    table(
        "Pass or fail, exactly summed: covered (truth under, above), mean width, and the probability of samples in "
        "which betting stands in for the method.",
        ["n", "gain, loss", "Tango", *METHODS],
    )
    for gain, loss in ((0.08, 0.03), (0.02, 0.02), (0.01, 0.0), (0.3, 0.2)):
        for n in (20, 50, 100, 300, 1000):
            law = pairs_law(n, gain, loss)
            mass = np.array([weight for _, weight in law])
            cells = [covered([(*tango_interval(b, c, n, level=LEVEL), False) for (b, c), _ in law], mass, gain - loss)]
            for method in METHODS:
                ends = [bootstrap(method, differences(n, b, c)) for (b, c), _ in law]
                cells.append(covered(ends, mass, gain - loss))
            print(row(n, f"{gain}, {loss}", *cells), flush=True)


LATTICE = np.array([[0.05, 0.1, 0.2, 0.35, 0.3], [0.03, 0.07, 0.15, 0.35, 0.4]])


def on_lattice(rng: np.random.Generator, n: int) -> Floats:
    """Two scores of 1 to 5; the candidate's is the baseline's on half of the items, else its own."""
    one, two = (rng.choice(np.arange(1.0, 6.0), n, p=law) for law in LATTICE)
    return np.where(rng.random(n) < 0.5, 0.0, two - one)


GRADED: Mapping[str, tuple[float, float, Callable[[np.random.Generator, int], Floats]]] = {  # truth, width of the range
    "normal, sd .3": (0.05, 9.0, lambda rng, n: rng.normal(0.05, 0.3, n)),
    "exponential, sd .3": (0.0, 9.0, lambda rng, n: rng.exponential(0.3, n) - 0.3),
    "1 to 5, half tied": (float((LATTICE[1] - LATTICE[0]) @ np.arange(1, 6)) / 2, 4.0, on_lattice),
}


def graded(samples: int) -> None:
    table(
        f"Graded differences, {samples} samples: covered (truth under, above), mean width, and the share of samples "
        "in which betting stands in for the method.",
        ["n", "law", *METHODS],
    )
    for law, (truth, width, draw) in GRADED.items():
        for n in (20, 100, 1000):
            drawn = [draw(stream("graded", law, n, i), n) for i in range(samples)]
            cells = [
                covered([bootstrap(method, diff, width) for diff in drawn], np.ones(samples), truth)
                for method in METHODS
            ]
            print(row(n, law, *cells), flush=True)


def constant(_: int) -> None:
    table(
        "Differences of −.4 (scores in [0, 1]) but for a rare other value, exactly summed; betting in all samples: "
        "probability of a constant sample, covered (truth under, above) and mean width.",
        ["n", "rare", "its probability", "constant", "betting"],
    )
    for n in (20, 100, 1000):
        for rare, p in ((-1.0, 0.0), (-1.0, 0.01), (1.0, 0.01), (1.0, 0.1)):
            law = count_law(n, p)
            ends = [bootstrap("bca", np.repeat([-0.4, rare], [n - k, k])) for (k, _), _ in law]
            cell = covered(
                [(low, high, False) for low, high, _ in ends], np.array([m for _, m in law]), rare * p - 0.4 * (1 - p)
            )
            assert all(betting for _, _, betting in ends)
            print(row(n, rare if p else "none", p, f"{(1 - p) ** n:.3f}", cell), flush=True)


def mcnemar_size(n: int, p: float, form: Literal["exact", "mid_p"]) -> float:
    """Probability of a p-value of .05 or less when gains and losses have the probability p each."""
    size = 0.0
    for d, mass in enumerate(binom.pmf(np.arange(n + 1), n, 2 * p)):
        if mass > LEFT_OUT**3:
            p_values = [getattr(mcnemar(b, d - b), form) for b in range(d // 2 + 1)]
            fewer = bisect.bisect_right(p_values, 1 - LEVEL)
            size += mass * min(1.0, 2 * binom.cdf(fewer - 1, d, 0.5))
    return size


def mcnemar_sizes(_: int) -> None:
    table(
        "McNemar's test at .05 with equal probabilities of a gain and a loss, exactly summed, and what mcnemar_power "
        "says of the same.",
        ["p_gain = p_loss", "n", "exact", "mid-p", "exact, mcnemar_power", "mid-p, mcnemar_power"],
    )
    for p in (0.01, 0.055, 0.15):
        for n in (50, 200, 338, 820):
            own = [mcnemar_size(n, p, form) for form in ("exact", "mid_p")]
            theirs = [mcnemar_power(n, p, p), mcnemar_power(n, p, p, form="mid-p")]
            print(row(p, n, *(f"{size:.4f}" for size in (*own, *theirs))), flush=True)


def scores(one: Floats, two: Floats) -> Scores:
    """One attempt of both systems at every item, pass or fail."""
    values, n = {BASE: one, OURS: two}, one.size
    return Scores(
        metric=METRIC,
        items=np.array([f"{i:05d}" for i in range(n)], dtype=object),
        values=values,
        attempts={system: np.ones(n, dtype=np.int64) for system in values},
        lost={system: np.zeros(n, dtype=np.int64) for system in values},
        counted=True,
        unscored=dict.fromkeys(values, 0),
        binary=True,
        low=0.0,
        high=1.0,
    )


def outcomes(n: int, lost: int, gained: int) -> Scores:
    diff = differences(n, lost, gained)
    return scores((diff < 0).astype(float), (diff > 0).astype(float))


def held_of(main: Scores, **more: Mapping[str, object]) -> TestSet:
    columns: dict[str, Mapping[str, object]] = {"measures": {}, "latencies": {}, "slices": {}}
    return TestSet(
        candidate=OURS,
        baselines=(BASE,),
        scores={METRIC: main},
        primary=METRIC,
        clusters=None,
        groups=None,
        texts=None,
        hashes=None,
        seeds={},
        checkpoints={},
        **(columns | more),  # type: ignore[arg-type]
    )


def rule(*guardrails: Guardrail, operations: Iterable[Operation] = (), margin: float = 0.0) -> Params:
    decision = Decision(
        decision_rule="one clause",
        primary_metric=Primary(name=METRIC, margin=margin),
        guardrails=list(guardrails),
        operations=list(operations),
        otherwise="keep",
    )
    return Params(decision=decision, level=LEVEL)


def sizes(law: Law, params: Params, make: Callable[[int, int], Evidence]) -> Sizes:
    """Probability of every outcome of the rule's last clause, by both methods."""
    found = {way: np.zeros(len(OUTCOMES)) for way in WAYS}
    for counts, mass in law:
        evidence = make(*counts)
        for way in WAYS:
            found[way][OUTCOMES.index(evaluate(evidence, params, way)[-1].outcome)] += mass
    total = sum(mass for _, mass in law)
    return {way: share / total for way, share in found.items()}


def evidence(main: Scores, **more: object) -> Evidence:
    parts = {"comparisons": [], "suites": {}, "judges": [], "operations": []} | more
    return Evidence(test_set=held_of(main), **parts)  # type: ignore[arg-type]


def show(clause: str, at: str, n: int | str, found: Sizes, samples: int = 0) -> None:
    """Probabilities of shown and contradicted; of what is drawn with their standard errors."""

    def cell(p: float) -> str:
        return f"{p:.4f}" + (f" ({math.sqrt(p * (1 - p) / samples):.4f})" if samples else "")

    none = found["corrected"][3]
    cells = [cell(found[way][i]) for i in (0, 1) for way in WAYS]
    print(row(clause, at, n, *cells, f"{none:.4f}" if none > 0 else "0"), flush=True)


TINY = outcomes(2, 0, 1)


def primary(_: int) -> None:
    for margin, pairs in ((0.02, ((0.02, 0.0), (0.05, 0.03), (0.08, 0.06))), (-0.02, ((0.01, 0.03),))):
        params = rule(margin=margin)
        for gain, loss in pairs:
            for n in (300, 820):

                def make(b: int, c: int, n: int = n, params: Params = params) -> Evidence:
                    main = outcomes(n, b, c)
                    return evidence(main, comparisons=[compare(main, BASE, OURS, params, clusters=None)])

                found = sizes(pairs_law(n, gain, loss), params, make)
                show(f"primary, margin {margin:g}", f"gain {gain}, loss {loss}", n, found)


def rate_floor(_: int) -> None:
    params = rule(RateFloor(kind="rate-floor", metric=METRIC, at_least=0.995))
    for n in (820, 2000):

        def make(k: int, _: int, n: int = n) -> Evidence:
            return evidence(outcomes(n, 0, k))

        show("rate-floor .995", "rate .995", n, sizes(count_law(n, 0.995), params, make))


def slice_floor(_: int) -> None:
    """The slices are independent: one is summed, the others, without a discordant pair, make up their number."""
    drop, n, parts = 0.05, 100, 5
    params = rule(SliceFloor(kind="slice-floor", drop=drop))
    labels = {"slice": np.repeat(np.array(list("abcde"), dtype=object), n)}

    def make(b: int, c: int) -> Evidence:
        diff = np.append(differences(n, b, c), np.zeros((parts - 1) * n))
        main = scores((diff < 0).astype(float), (diff > 0).astype(float))
        return Evidence(test_set=held_of(main, slices=labels), comparisons=[], suites={}, judges=[], operations=[])

    at, level = sizes(pairs_law(n, 0.03, 0.08), params, make), sizes(pairs_law(n, 0.05, 0.05), params, make)
    for what, dropped in (("one slice at −.05, four at 0", 1), ("all five at −.05", parts)):
        found = {}
        for way in WAYS:
            none = (1 - at[way][1]) ** dropped * (1 - level[way][1]) ** (parts - dropped)
            found[way] = np.array([none, 1 - none, 0.0, 0.0])
        show("slice-floor .05", what, f"5 x {n}", found)


def on_suite(params: Params, n: int, gain: float, loss: float) -> Sizes:
    return sizes(
        pairs_law(n, gain, loss), params, lambda b, c: evidence(TINY, suites={(SUITE, METRIC): outcomes(n, b, c)})
    )


def suite_drop(_: int) -> None:
    for drop in (0.02, 0.05):
        params = rule(SuiteDrop(kind="suite-drop", suite=SUITE, drop=drop, upper=0.05))
        for n in (100, 300, 820):
            what = f"suite-drop {drop:g}, upper .05"
            show(what, "gain 0.02, loss 0.07", n, on_suite(params, n, 0.02, 0.07))


def not_below(_: int) -> None:
    for margin, pairs in ((0.02, ((0.0, 0.02), (0.03, 0.05))), (None, ((0.005, 0.005), (0.03, 0.03)))):
        params = rule(NotBelow(kind="not-below", suite=SUITE, reference=BASE, margin=margin))
        for gain, loss in pairs:
            for n in (100, 300, 820):
                what = "not-below, " + (f"margin {margin:g}" if margin else "no margin")
                show(what, f"gain {gain}, loss {loss}", n, on_suite(params, n, gain, loss))


def latency(_: int) -> None:
    """The outcome hangs on how many values lie under the limit, the true p95 of a lognormal law, only."""
    limit = math.exp(float(norm.ppf(0.95)))
    params = rule(operations=[Latency(kind="latency", at_most_s=limit)])
    for n in (60, 100, 820):

        def make(k: int, _: int, n: int = n) -> Evidence:
            ranks = np.append(0.95 * (np.arange(k) + 0.5) / n, 0.95 + 0.05 * (np.arange(n - k) + 0.5) / n)
            held = held_of(TINY, latencies={OURS: np.exp(norm.ppf(ranks))})
            return Evidence(test_set=held, comparisons=[], suites={}, judges=[], operations=[])

        show("latency p95", "p95 at the limit", n, sizes(count_law(n, 0.95), params, make))


def cost(samples: int) -> None:
    for n, one, two, cv in (
        (820, 0.86, 0.91, 0.3),
        (820, 0.86, 0.91, 1.5),
        (200, 0.3, 0.4, 1.5),
        (200, 0.05, 0.1, 1.5),
        (500, 0.01, 0.02, 1.5),
    ):
        params = rule(operations=[CostRatioLimit(kind="cost-per-1000-successes", at_most_ratio=0.3 * one / two)])

        def make(
            i: int, _: int, n: int = n, law: tuple[float, ...] = (one, two, cv), params: Params = params
        ) -> Evidence:
            one, two, cv = law
            rng = stream("cost", n, *law, i)
            hard, sd = rng.standard_normal((1, n)), math.sqrt(math.log(1 + cv * cv))
            passed = norm.cdf(math.sqrt(0.5) * (hard + rng.standard_normal((2, n)))) < np.array([[one], [two]])
            paid = np.exp(sd * math.sqrt(0.5) * (rng.standard_normal((1, n)) + rng.standard_normal((2, n))))
            held = held_of(scores(*passed.astype(float)), measures={"cost_usd": {BASE: paid[0], OURS: 0.3 * paid[1]}})
            return Evidence(test_set=held, comparisons=[], suites={}, judges=[], operations=operations_of(held, params))

        found = sizes([((i, 0), 1 / samples) for i in range(samples)], params, make)
        show("cost ratio", f"rates {one}, {two}, cv {cv}", n, found, samples)


CLAUSES: tuple[Callable[[int], None], ...] = (primary, rate_floor, slice_floor, suite_drop, not_below, latency, cost)


def clauses(samples: int) -> None:
    ends = [f"{outcome}, {way}" for outcome in OUTCOMES[:2] for way in WAYS]
    table(
        "Every clause with the truth on its limit: probability of shown and of contradicted; exactly summed but for "
        f"the cost ratio, of {samples} samples (standard error). Nominal for either: .025 by the corrected method.",
        ["clause", "truth", "n", *ends, "not measured, corrected"],
    )
    for clause in CLAUSES:
        clause(samples)


def largest_size(n: int, margin: float, level: float) -> tuple[float, float]:
    """The largest probability of an interval above the true difference, and the rarer of gains and losses there."""
    rare = np.arange(0.0, 0.2001, 0.005)
    gains, losses = rare + max(margin, 0.0), rare + max(-margin, 0.0)
    sizes = [margin_power(n, *rates, margin=margin, level=level) for rates in zip(gains, losses, strict=True)]
    return max(sizes), float(rare[int(np.argmax(sizes))])


def worst(_: int) -> None:
    levels = (LEVEL, 0.99)
    table(
        "Tango's interval wholly above the true difference, exactly summed: the largest probability over the rarer of "
        "gains and losses from 0 to .2 in steps of .005 (where). Wholly under a difference is above its negative. "
        "Level .99 is that of each of five slices; nominal (1 - level)/2.",
        ["difference", "n", *(f"level {level}, nominal {(1 - level) / 2:.3f}" for level in levels)],
    )
    for margin in (-0.05, -0.02, -0.01, 0.0, 0.01, 0.02, 0.05):
        for n in (50, 100, 300, 820):
            found = [largest_size(n, margin, level) for level in levels]
            print(row(margin, n, *(f"{size:.4f} ({rare:g})" for size, rare in found)), flush=True)


PARTS: tuple[Callable[[int], None], ...] = (pass_or_fail, graded, constant, mcnemar_sizes, worst, clauses)

if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(
        f"numpy {np.__version__}, scipy {scipy.__version__}\n\nseed {SEED}, {size} samples per row that is drawn, "
        f"tables of a total probability of {LEFT_OUT:g} left out of the sums, nominal coverage {LEVEL}, "
        f"{datetime.datetime.now(datetime.UTC).date()}"
    )
    for part in PARTS:
        part(size)
