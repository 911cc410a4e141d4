"""Ratios of CPU time, one process: exact bounds and held-out validation against the plain way.

Run ``python tests/benchmarks/bench_stats.py``. Peers are linear in their loops, so they are timed on few and
scaled to the stated work. Medians of interleaved repetitions of `time.process_time`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.stats import binomtest

from analysis.stats import (
    clopper_pearson_lower,
    clopper_pearson_upper,
    hold_out,
    keyed_stream,
    permutations,
    release_supported,
)

REPETITIONS = 5
N_CELLS, N_RUNS, SPLITS, AUDIT, TAU = 36, 59, 1000, 30, 0.7
SIZES = list(range(5, 58, 2))
PEER_SPLITS = 2


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def report(name: str, ours: Callable[[], object], peer: Callable[[], object], scale: float) -> None:
    ours()
    mine, theirs = [], []
    for _ in range(REPETITIONS):
        mine.append(seconds(ours))
        theirs.append(seconds(peer) * scale)
    a, b = statistics.median(mine), statistics.median(theirs)
    print(f"{name}\n    ours {a * 1e3:10.2f} ms    peer {b * 1e3:12.1f} ms    ratio {b / a:8.0f}x")


def bounds() -> None:
    k = np.arange(10_001)
    few = k[::400]

    def ours() -> None:
        clopper_pearson_lower(k, 10_000, delta=0.05)
        clopper_pearson_upper(k, 10_000, delta=0.05)

    def peer() -> None:
        for count in few:
            binomtest(int(count), 10_000).proportion_ci(0.9, method="exact")

    report(
        "10,001 Clopper-Pearson intervals, n = 10,000, against binomtest().proportion_ci",
        ours,
        peer,
        k.size / few.size,
    )


def cells() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    rates = [0.0, 0.02, 0.05, 0.1, 0.19, 0.4]
    levels = [0.9, 0.75]
    return [
        np.where(rng.random(N_RUNS) < rates[i % 6], 0.5, levels[i % 2]) + 0.02 * rng.standard_normal(N_RUNS)
        for i in range(N_CELLS)
    ]


def plain_audit(scores: np.ndarray, rng: np.random.Generator) -> list[bool]:
    means = scores[rng.integers(0, scores.size, (2000, scores.size))].mean(axis=1)
    return [
        bool(scores.mean() >= TAU),
        bool(np.median(scores) >= TAU),
        bool(np.quantile(means, 0.1) >= TAU),
        bool(scores.mean() - 2 * scores.std(ddof=1) >= TAU),
        release_supported(int((scores < TAU).sum()), scores.size, budget=0.1, delta=0.1),
    ]


def validation(sizes: list[int], name: str) -> None:
    grid = cells()

    def ours() -> None:
        for i, scores in enumerate(grid):
            hold_out(
                scores, scores < TAU, tau=TAU, budget=0.1, delta=0.1, audit_size=AUDIT, sizes=sizes,
                splits=SPLITS, stream=keyed_stream(0, str(i)),
            )  # fmt: skip

    def peer() -> None:
        rng = np.random.default_rng(0)
        for i, scores in enumerate(grid):
            for order in permutations(keyed_stream(0, str(i)), PEER_SPLITS, N_RUNS):
                for size in [*sizes, AUDIT]:
                    plain_audit(scores[order[:size]], rng)
                (scores[order[AUDIT:]] < TAU).sum()

    report(name, ours, peer, SPLITS / PEER_SPLITS)


if __name__ == "__main__":
    bounds()
    validation([], "hold-out, 36 cells x 1,000 splits x 5 rules, against a loop with 2,000-draw bootstraps")
    validation(SIZES, "the same with an evidence curve of 27 sizes")
