"""Flags of reliable change without and with true change, by simulation; not part of the normal run.

Run ``python tests/calibration/calibrate_change.py [repetitions]``. Prints Markdown tables with the seed and the date;
standard errors over the repetitions are in brackets.
"""

from __future__ import annotations

import datetime
import functools
import math
import os
import sys
from collections import defaultdict
from dataclasses import dataclass

if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"

import numpy as np
import scipy
from scipy.stats import binom

from analysis.stats import (
    RateMixture,
    analysable,
    benjamini_hochberg,
    change_tests,
    half_sample_null,
    item_reliability_from_counts,
    keyed_stream,
    rate_mixture,
    rejects,
    relabelling_null,
    reliable_change,
    split_half_reliability,
    standard_error_of_difference,
)
from analysis.studies.churn.true_rates import RESAMPLES, STEPS

SEED = 0
CUT, LEVEL = 1.96, 0.05
SPLITS = 1000
CHANGED = 0.2
INDICES = ("paper", "corrected")
TESTS = ("fisher", "boschloo", "mid-p", "score")
RATES_EVERY = 100
PAPER_EVERY, CHANGE_EVERY = 10, 5  # fewer repetitions where they cost more or are needed less
MIXTURE = "35% 0, 20% 1, rest uniform"
BETAS = {"uniform": (1, 1), "Beta(.5, .5)": (0.5, 0.5), "Beta(2, 2)": (2, 2), "Beta(.2, .2)": (0.2, 0.2)}
CASES = [(law, 2000, 10) for law in ("uniform", "Beta(.5, .5)", "Beta(2, 2)", "all .5", MIXTURE, "Beta(.2, .2)")]
CASES += [(MIXTURE, 300, 10), (MIXTURE, 2000, 5), (MIXTURE, 2000, 20)]


def rates(law: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """True rate of every item."""
    if law == "all .5":
        return np.full(n, 0.5)
    if law == MIXTURE:
        kind = rng.random(n)
        return np.where(kind < 0.35, 0.0, np.where(kind < 0.55, 1.0, rng.random(n)))
    return rng.beta(*BETAS[law], n)


def changed(p: np.ndarray, delta: float, rng: np.random.Generator) -> np.ndarray:
    """A fifth of the items moves by delta, half up and half down, as far as 0 and 1 allow."""
    moved = rng.permutation(p.size)[: round(CHANGED * p.size)]
    shift = np.zeros(p.size)
    shift[moved[::2]], shift[moved[1::2]] = delta, -delta
    return np.clip(p + shift, 0.0, 1.0)


@dataclass(frozen=True)
class Pair:
    """Two versions of the same items: samples (items x K), correct counts, shares, and which items are analysable."""

    samples: list[np.ndarray]
    counts: list[np.ndarray]
    shares: list[np.ndarray]
    keep: np.ndarray
    k: int


def pair(before: np.ndarray, after: np.ndarray, k: int, rng: np.random.Generator) -> Pair:
    samples = [(rng.random((p.size, k)) < p[:, None]).astype(np.uint8) for p in (before, after)]
    counts = [correct.sum(axis=1, dtype=np.int64) for correct in samples]
    shares = [count / k for count in counts]
    return Pair(samples, counts, shares, analysable(*shares), k)


def stream(*key: object) -> np.random.Generator:
    return np.random.Generator(keyed_stream(SEED, *map(str, key)))


@functools.cache
def p_values(test: str, k: int) -> np.ndarray:
    """p-value of every pair of counts, shape (k + 1, k + 1)."""
    first, second = np.indices((k + 1, k + 1)).reshape(2, -1)
    return change_tests(first, k, second, k, test=test).reshape(k + 1, k + 1)


def paper_error(runs: Pair) -> float:
    """S_diff of the paper: split halves over all items, SD over the analysable ones."""
    sems = []
    for correct, share in zip(runs.samples, runs.shares, strict=True):
        r = split_half_reliability(correct, splits=SPLITS, rng=np.random.RandomState(42)).median
        sems.append(share[runs.keep].std(ddof=1) * math.sqrt(1 - r))
    return standard_error_of_difference(*sems)


def corrected_error(runs: Pair) -> float:
    """S_diff of the corrected mode: reliability and SD over the analysable items."""
    found = [item_reliability_from_counts(count[runs.keep], runs.k) for count in runs.counts]
    return standard_error_of_difference(*(one.sem for one in found))


def by_index(runs: Pair, s_diff: float) -> np.ndarray:
    """Directions by the index; 0 where an item is not analysable."""
    return np.where(runs.keep, reliable_change(*runs.shares, s_diff=s_diff, cut=CUT).direction, 0)


def by_test(runs: Pair, test: str) -> np.ndarray:
    """Directions by a test at .05 without adjustment."""
    p = p_values(test, runs.k)[runs.counts[0], runs.counts[1]]
    return np.where(runs.keep & (p <= LEVEL), np.sign(runs.counts[1] - runs.counts[0]), 0)


def by_adjusted_test(runs: Pair, test: str) -> np.ndarray:
    """Directions by a test and Benjamini-Hochberg over the analysable items."""
    first, second = (count[runs.keep] for count in runs.counts)
    flagged = rejects(benjamini_hochberg(p_values(test, runs.k)[first, second]), alpha=LEVEL)
    direction = np.zeros(runs.keep.size, dtype=np.int64)
    direction[runs.keep] = flagged * np.sign(second - first)
    return direction


def shown(values: list[float], digits: int) -> str:
    """Mean and its standard error; a small mean in scientific form."""
    mean, error = np.mean(values), np.std(values, ddof=1) / math.sqrt(len(values))
    if mean == error == 0:
        return "0"
    return f"{mean:.{'1e' if mean < 10 ** (1 - digits) else f'{digits}f'}} ({error:.0e})"


def table(title: str, columns: list[str]) -> None:
    print(f"\n{title}\n\n{row(*columns)}\n|{'---|' * len(columns)}")


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def no_change(repetitions: int) -> None:
    adjusted = []
    table(
        "Two runs of one model without adjustment: share of all items flagged / of analysable items flagged.",
        ["difficulty", "n", "K", "analysable", "S_diff paper, corrected", "paper RCI", "corrected RCI",
         "Fisher <= .05", "Boschloo <= .05"],
    )  # fmt: skip
    for case in CASES:
        seen = without_change(*case, repetitions)
        shares = [f"{shown(seen[f'{name}, all'], 4)} / {shown(seen[name], 4)}" for name in INDICES + TESTS[:2]]
        errors = ", ".join(f"{np.mean(seen[f'S_diff {name}']):.4f}" for name in INDICES)
        print(row(*case, f"{np.mean(seen['analysable']):.3f}", errors, *shares), flush=True)
        flagged = [seen[f"{test} + BH"] for test in TESTS]
        found = [f"{shown(share, 5)} / {shown([float(one > 0) for one in share], 4)}" for share in flagged]
        adjusted.append(row(*case, *found))
    table(
        "The same with Benjamini-Hochberg at .05 over the analysable items: share of them flagged / share of "
        "repetitions with any flag, which is the false discovery rate.",
        ["difficulty", "n", "K", *(f"{test} + BH" for test in TESTS)],
    )
    print("\n".join(adjusted), flush=True)


def without_change(law: str, n: int, k: int, repetitions: int) -> dict[str, list[float]]:
    """Shares flagged per repetition, of the analysable items and of all."""
    seen: dict[str, list[float]] = defaultdict(list)
    for i in range(repetitions):
        rng = stream("no change", law, n, k, i)
        p = rates(law, n, rng)
        runs = pair(p, p, k, rng)
        seen["analysable"].append(runs.keep.mean())
        errors = {"corrected": corrected_error(runs)}
        if i < repetitions // PAPER_EVERY:
            errors["paper"] = paper_error(runs)
        flags = {name: by_index(runs, s_diff) for name, s_diff in errors.items()}
        flags |= {test: by_test(runs, test) for test in TESTS[:2]}
        flags |= {f"{test} + BH": by_adjusted_test(runs, test) for test in TESTS}
        for name, s_diff in errors.items():
            seen[f"S_diff {name}"].append(s_diff)
        for name, flag in flags.items():
            seen[name].append((flag != 0).sum() / runs.keep.sum())
            seen[f"{name}, all"].append((flag != 0).mean())
    return seen


def power(repetitions: int) -> None:
    table(
        "A fifth of 2,000 items changes by +-delta, as far as 0 and 1 allow: share of the truly changed flagged with "
        "the right sign / share of flags that are on unchanged items.",
        ["difficulty", "K", "delta", "truly changed", "paper RCI", "corrected RCI", "boschloo + BH"],
    )
    for law in (MIXTURE, "uniform"):
        for k in (10, 30):
            for delta in (0.2, 0.4, 0.6, 0.8):
                right, wrong = with_change(law, k, delta, repetitions)
                names = (*INDICES, "boschloo")
                cells = [
                    f"{shown(right[name], 3)} / {shown(wrong[name], 3)}" if name in right else "-" for name in names
                ]
                print(row(law, k, delta, f"{np.mean(right['truly']):.3f}", *cells), flush=True)


def with_change(law: str, k: int, delta: float, repetitions: int) -> tuple[dict[str, list[float]], ...]:
    """Power and share of false flags per repetition; the paper's rule for 10 samples only."""
    right: dict[str, list[float]] = defaultdict(list)
    wrong: dict[str, list[float]] = defaultdict(list)
    for i in range(repetitions):
        rng = stream("change", law, k, delta, i)
        before = rates(law, 2000, rng)
        after = changed(before, delta, rng)
        runs, sign = pair(before, after, k, rng), np.sign(after - before)
        flags = {"corrected": by_index(runs, corrected_error(runs)), "boschloo": by_adjusted_test(runs, "boschloo")}
        if k == 10:
            flags["paper"] = by_index(runs, paper_error(runs))
        right["truly"].append((sign != 0).mean())
        for name, flag in flags.items():
            right[name].append((flag == sign)[sign != 0].mean())
            wrong[name].append((flag != 0)[sign == 0].sum() / max(1, (flag != 0).sum()))
    return right, wrong


def rerun_flags(p: np.ndarray, k: int, s_diff: float) -> float:
    """Expected flags between two runs of one version, by the binomial law."""
    least = math.floor(CUT * s_diff * k * (1 + 1e-12)) + 1
    law = binom.pmf(np.arange(k + 1), k, p[:, None])
    beyond = law[:, ::-1].cumsum(axis=1)[:, ::-1]
    return float(2 * (law[:, : k + 1 - least] * beyond[:, least:]).sum())


def noise(repetitions: int) -> None:
    table(
        "Flags of the corrected RCI among 2,000 items, a fifth changed by +-delta. Noise: what the binomial law expects "
        "between the baseline and a second run of it, at the same S_diff; then the two nulls, and their ratios to it.",
        ["difficulty", "K", "delta", "flagged", "of them on unchanged items", "noise", "relabelling null",
         "half-sample null, sqrt(2) S_diff", "relabelling / noise", "half-sample / noise"],
    )  # fmt: skip
    for law in (MIXTURE, "uniform", "Beta(.5, .5)"):
        for k in (10, 20):
            for delta in (0.0, 0.4):
                seen = np.array([noise_flags(law, k, delta, i) for i in range(repetitions)]).T
                cells = [shown(list(values), 1) for values in seen]
                ratios = [shown(list(values / seen[2]), 3) for values in seen[3:]]
                print(row(law, k, delta, *cells, *ratios), flush=True)


def noise_flags(law: str, k: int, delta: float, i: int) -> tuple[float, ...]:
    rng = stream("noise", law, k, delta, i)
    before = rates(law, 2000, rng)
    after = changed(before, delta, rng)
    runs = pair(before, after, k, rng)
    s_diff = corrected_error(runs)
    flag = by_index(runs, s_diff) != 0
    return (
        float(flag.sum()),
        float(flag[before == after].sum()),
        rerun_flags(before, k, s_diff),
        relabelling_null(runs.counts[0], k, runs.counts[1], k, s_diff=s_diff, cut=CUT).mean,
        half_sample_null(runs.counts[0], k, s_diff=math.sqrt(2) * s_diff, cut=CUT).mean,
    )


MOVED = {  # true changes of 1,000 items with uniform rates in the baseline
    "no change": lambda p, rng: p,
    "20 % by ±.4": lambda p, rng: changed(p, 0.4, rng),
    "half by −.3": lambda p, rng: np.where(np.arange(p.size) % 2, np.clip(p - 0.3, 0, 1), p),
    "normal, SD .25": lambda p, rng: np.clip(p + rng.normal(0, 0.25, p.size), 0, 1),
}


def moved_items(repetitions: int) -> None:
    table(
        "The law of true rates: items that fell by more than .2, estimate and the range over resamples of items that the page shows",
        ["true change", "K", "true share", "mean estimate", "range holds the true share"],
    )
    for name, change in MOVED.items():
        for k in (3, 10, 30):
            found = []
            for i in range(repetitions):
                rng = stream("moved", name, k, i)
                before = rng.uniform(size=1000)
                after = change(before, rng)
                counts = (rng.binomial(k, before), np.full(1000, k), rng.binomial(k, after), np.full(1000, k))
                law = rate_mixture(*counts)
                low, high = np.quantile(resampled_falls(counts, law, rng), [0.025, 0.975])
                truth = float((after - before < -0.2).mean())
                found.append((truth, law.share(beyond=0.2)[1], low <= truth <= high))
            truths, estimates, held = zip(*found, strict=True)
            print(
                row(name, k, shown(list(truths), 3), shown(list(estimates), 3), shown([float(h) for h in held], 2)),
                flush=True,
            )


def resampled_falls(counts: tuple[np.ndarray, ...], law: RateMixture, rng: np.random.Generator) -> list[float]:
    draws = (rng.integers(0, counts[0].size, counts[0].size) for _ in range(RESAMPLES))
    return [rate_mixture(*(c[rows] for c in counts), start=law, steps=STEPS).share(beyond=0.2)[1] for rows in draws]


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    print(
        f"numpy {np.__version__}, scipy {scipy.__version__}\n\nseed {SEED}, {size} repetitions per row without change "
        f"({size // PAPER_EVERY} of the paper's RCI), {size // CHANGE_EVERY} with change and in the last table, "
        f"{SPLITS} random splits, {datetime.datetime.now(datetime.UTC).date()}"
    )
    no_change(size)
    power(size // CHANGE_EVERY)
    noise(size // CHANGE_EVERY)
    moved_items(size // RATES_EVERY)
