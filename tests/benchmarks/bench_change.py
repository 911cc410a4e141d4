"""Ratios of CPU time, one process: split halves, reliable change, its null and the exact tests against the plain way.

Run ``python tests/benchmarks/bench_change.py``. Peers are linear in splits, relabellings and items, so they are timed
on few and scaled to the stated work. Medians of interleaved repetitions of `time.process_time`, one thread; samples
are uint8, counting them is in the time, and memory is what is allocated beyond the samples, by `tracemalloc`.
"""

from __future__ import annotations

import os

if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"

import itertools
import math
import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from scipy.stats import boschloo_exact

from analysis.stats import (
    ChangeCounts,
    FlagNull,
    SplitHalf,
    change_counts,
    change_tests,
    flag_law,
    item_tests,
    joint_table,
    relabelling_null,
    split_half_reliability,
    standard_error_of_difference,
    standard_error_of_measurement,
)
from analysis.stats.item_counts import checked_pairs, distinct_columns

REPETITIONS = 5
K, CUT, S_DIFF = 10, 1.96, 0.15
SPLITS, PEER_SPLITS = 126, 3
RELABELLINGS = 10_000
SIZES = (2000, 100_000, 1_000_000)
LARGEST = 10_000_000
BLOCK = 100_000

Work = Callable[[], object]


def samples(n: int, dtype: type = np.uint8) -> tuple[np.ndarray, np.ndarray]:
    """Two versions of n items at uniform rates, without change."""
    rng = np.random.default_rng(0)
    both = np.empty((2, n, K), dtype=dtype)
    for start in range(0, n, BLOCK):
        rows = both[:, start : start + BLOCK]
        rows[:] = rng.random(rows.shape, dtype=np.float32) < rng.random((rows.shape[1], 1), dtype=np.float32)
    return both[0], both[1]


def seconds(work: Work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def report(name: str, ours: Work, peers: list[tuple[Work, float]]) -> None:
    """Print the medians; a peer is a sum of works, each with the factor that scales it."""
    ours()
    mine, theirs = [], []
    for _ in range(REPETITIONS):
        mine.append(seconds(ours))
        theirs.append(sum(seconds(peer) * scale for peer, scale in peers))
    a = statistics.median(mine)
    if not peers:
        print(f"{name}\n    ours {a * 1e3:10.2f} ms", flush=True)
        return
    b = statistics.median(theirs)
    print(f"{name}\n    ours {a * 1e3:10.2f} ms    peer {b * 1e3:12.1f} ms    ratio {b / a:8.0f}x", flush=True)


def counts_of(correct: np.ndarray) -> np.ndarray:
    return np.einsum("ij->i", correct.view(np.uint8))  # several times as fast as sum(axis=1) on short rows


def halves() -> np.ndarray:
    chosen = [(0, *rest) for rest in itertools.combinations(range(1, K), K // 2 - 1)]
    mask = np.zeros((SPLITS, K), dtype=bool)
    np.put_along_axis(mask, np.array(chosen), values=True, axis=1)
    return mask


def reliable(first: np.ndarray, second: np.ndarray) -> tuple[list[SplitHalf], ChangeCounts]:
    """All split halves of both versions, S_diff from them, and the classes from the joint table."""
    found = [split_half_reliability(correct) for correct in (first, second)]
    table = joint_table(counts_of(first), counts_of(second), n_baseline=K, n_candidate=K)
    p = np.arange(K + 1) / K
    sems = [
        standard_error_of_measurement(math.sqrt(np.cov(p, fweights=items)), half.mean)
        for items, half in zip((table.sum(axis=1), table.sum(axis=0)), found, strict=True)
    ]
    return found, change_counts(table, s_diff=standard_error_of_difference(*sems), cut=CUT)


def plain_halves(correct: np.ndarray, masks: np.ndarray) -> np.ndarray:
    r = [np.corrcoef(correct[:, mask].mean(axis=1), correct[:, ~mask].mean(axis=1))[0, 1] for mask in masks]
    return 2 * np.array(r) / (1 + np.array(r))


def plain_classes(first: np.ndarray, second: np.ndarray, r: tuple[float, float]) -> tuple[int, int]:
    p = [correct.mean(axis=1) for correct in (first, second)]
    rci = (p[1] - p[0]) / math.hypot(*(x.std(ddof=1) * math.sqrt(1 - one) for x, one in zip(p, r, strict=True)))
    return int((rci > CUT).sum()), int((rci < -CUT).sum())


def reliability() -> None:
    few = halves()[:PEER_SPLITS]
    for n, dtype in ((SIZES[0], np.uint8), (SIZES[1], np.uint8), (SIZES[2], np.uint8), (SIZES[2], np.bool_)):
        first, second = samples(n, dtype)
        found, classes = reliable(first, second)
        r = (found[0].mean, found[1].mean)
        off = np.abs(found[0].coefficients[:PEER_SPLITS] - plain_halves(first, few)).max()
        same = plain_classes(first, second, r) == (classes.improved, classes.deteriorated)

        def peer(first: np.ndarray = first, second: np.ndarray = second) -> None:
            plain_halves(first, few)
            plain_halves(second, few)

        report(
            f"all {SPLITS} split halves and the RCI classes, {n:,} items x {K} x 2 {np.dtype(dtype)}, "
            f"against np.corrcoef per split ({PEER_SPLITS} timed, scaled)",
            lambda first=first, second=second: reliable(first, second),
            [
                (peer, SPLITS / PEER_SPLITS),
                (lambda first=first, second=second, r=r: plain_classes(first, second, r), 1),
            ],
        )
        print(f"    coefficients within {off:.0e}, classes {'equal' if same else 'DIFFERENT'}")


def null_of(k1: np.ndarray, k2: np.ndarray) -> FlagNull:
    null = relabelling_null(k1, K, k2, K, s_diff=S_DIFF, cut=CUT)
    flag_law(null)
    return null


def counting(k1: np.ndarray, k2: np.ndarray) -> None:
    """The part of the null that reads the items."""
    pairs = checked_pairs(k1, K, k2, K)
    distinct_columns(np.stack([pairs[0] + pairs[2], pairs[1], pairs[3]]))


def relabelling() -> None:
    for n in SIZES:
        first, second = samples(n)
        k1, k2 = counts_of(first), counts_of(second)
        pooled = np.concatenate([first, second], axis=1)
        few = max(1, SIZES[1] // n)
        rng = np.random.default_rng(0)

        def peer(pooled: np.ndarray = pooled, few: int = few, rng: np.random.Generator = rng) -> None:
            for _ in range(few):
                dealt = rng.permuted(pooled, axis=1)
                delta = dealt[:, K:].mean(axis=1) - dealt[:, :K].mean(axis=1)
                (np.abs(delta) > CUT * S_DIFF).sum()

        report(
            f"null of the flagged count, {n:,} items, against {RELABELLINGS:,} relabellings ({few} timed, scaled)",
            lambda k1=k1, k2=k2: null_of(k1, k2),
            [(peer, RELABELLINGS / few)],
        )
        read = statistics.median(seconds(lambda k1=k1, k2=k2: counting(k1, k2)) for _ in range(REPETITIONS))
        print(f"    of it counting {read * 1e3:10.2f} ms")


def tests() -> None:
    few = 10
    for n in SIZES:
        k1, k2 = (counts_of(correct) for correct in samples(n))

        def ours(k1: np.ndarray = k1, k2: np.ndarray = k2) -> np.ndarray:
            item_tests._boschloo_table.cache_clear()  # a second call would only look them up
            return change_tests(k1, K, k2, K, test="boschloo")

        def peer(k1: np.ndarray = k1, k2: np.ndarray = k2) -> None:
            for a, b in zip(k1[:few].tolist(), k2[:few].tolist(), strict=True):
                boschloo_exact([[a, b], [K - a, K - b]])

        name = f"Boschloo per item, {n:,} items"
        if n == SIZES[0]:
            report(f"{name}, against scipy boschloo_exact ({few} timed, scaled)", ours, [(peer, n / few)])
        else:
            report(name, ours, [])


def peak(work: Work) -> float:
    """Most megabytes allocated at once."""
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most / 1e6


def memory() -> None:
    first, second = samples(LARGEST)
    print(f"{LARGEST:,} items x {K} x 2, samples {(first.nbytes + second.nbytes) / 1e6:.0f} MB; peak beyond them")
    k1, k2 = counts_of(first), counts_of(second)
    works: dict[str, Work] = {
        "split halves": lambda: split_half_reliability(first),
        "split halves, table and classes": lambda: reliable(first, second),
        "relabelling null": lambda: null_of(k1, k2),
        "Boschloo": lambda: change_tests(k1, K, k2, K, test="boschloo"),
    }
    for name, work in works.items():
        print(f"    {name:32} {peak(work):8.0f} MB {seconds(work) * 1e3:8.0f} ms", flush=True)


if __name__ == "__main__":
    reliability()
    relabelling()
    tests()
    memory()
