"""Ratios of CPU time, one process: paired intervals without resampling and exact power against the plain way.

Run ``python tests/benchmarks/bench_paired.py``. Peers are linear in their resamples and simulations, so they are timed
on few and scaled to the stated work. Medians of interleaved repetitions of `time.process_time`, one thread. Errors of
the ends are in standard errors, against a law that is known exactly.
"""

from __future__ import annotations

import os

if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"

import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np
from scipy.stats import bootstrap, norm
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from analysis.stats import (
    binary_bootstrap_quantile,
    items_for_power,
    mcnemar_power,
    paired_mean_interval,
    tango_interval,
)
from analysis.stats.paired import sum_law

REPETITIONS = 5
RESAMPLES = 10_000
ITEMS = 100_000
CLUSTERS = 5_000

Work = Callable[[], object]


def seconds(work: Work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def report(name: str, ours: Work, peer: Work | None = None, scale: float = 1.0, repetitions: int = REPETITIONS) -> None:
    ours()
    mine, theirs = [], []
    for _ in range(repetitions):
        mine.append(seconds(ours))
        if peer is not None:
            theirs.append(seconds(peer) * scale)
    a = statistics.median(mine)
    line = f"{name}\n    ours {a * 1e3:10.2f} ms"
    if theirs:
        b = statistics.median(theirs)
        line += f"    peer {b * 1e3:12.1f} ms    ratio {b / a:8.0f}x"
    print(line)


def scipy_percentile(diff: np.ndarray, n_resamples: int) -> Work:
    return lambda: bootstrap(
        (diff,), np.mean, n_resamples=n_resamples, method="percentile", batch=10, rng=np.random.default_rng(0)
    )


def graded() -> None:
    """Skewed graded differences on a fine lattice, whose exact bootstrap law is known."""
    whole = np.round(200 * np.random.default_rng(0).exponential(size=ITEMS))
    diff = whole / whole.max()
    few = 100
    peer = scipy_percentile(diff, few)
    for method in ("percentile", "bca", "studentised"):
        name = (
            f"{method} interval of a mean, n = {ITEMS:,}, against scipy.stats.bootstrap percentile, B = {RESAMPLES:,}"
        )
        report(name, lambda method=method: paired_mean_interval(diff, method=method), peer, RESAMPLES / few, 3)
    steps, counts = np.unique(whole.astype(np.int64), return_counts=True)
    first, mass = sum_law(steps, counts)
    exact = (first + np.searchsorted(np.cumsum(mass), [0.025, 0.975])) / ITEMS / whole.max()
    found = paired_mean_interval(diff)
    error = np.abs([found.low, found.high] - exact).max() / (diff.std() / np.sqrt(ITEMS))
    noise = np.sqrt(0.025 * 0.975 / RESAMPLES) / norm.pdf(norm.ppf(0.025))
    print(f"    error of the ends {error:.1e} standard errors; of {RESAMPLES:,} resamples {noise:.1e}")
    million = np.tile(diff, 10)
    tracemalloc.start()
    paired_mean_interval(million)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    report(
        f"percentile interval of a mean, n = {million.size:,} ({peak:.0f} MB at the peak)",
        lambda: paired_mean_interval(million),
    )


def binary() -> None:
    few, n = 100, ITEMS
    diff = np.repeat([-1.0, 0.0, 1.0], [3 * n // 100, 89 * n // 100, 8 * n // 100])
    report(
        f"binary pairs from their counts, n = {n:,}, against scipy.stats.bootstrap, B = {RESAMPLES:,}",
        lambda: binary_bootstrap_quantile(3 * n // 100, 8 * n // 100, n, q=[0.025, 0.975]),
        scipy_percentile(diff, few),
        RESAMPLES / few,
        3,
    )
    for size in (1_000, 10_000_000):
        b, c = 3 * size // 100, 8 * size // 100
        report(f"  n = {size:,}", lambda b=b, c=c, size=size: binary_bootstrap_quantile(b, c, size, q=[0.025, 0.975]))
        report("  Tango's interval", lambda b=b, c=c, size=size: tango_interval(b, c, size))


def clustered() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 40, CLUSTERS)
    codes = np.repeat(np.arange(CLUSTERS), sizes)
    diff = np.clip(rng.normal(0.01, 0.3, codes.size) + rng.normal(0, 0.1, CLUSTERS)[codes], -1, 1)
    edges = np.append(0, np.cumsum(sizes))
    few = 20

    def loop() -> None:
        for _ in range(few):
            drawn = rng.integers(0, CLUSTERS, CLUSTERS)
            np.concatenate([diff[edges[i] : edges[i + 1]] for i in drawn]).mean()

    report(
        f"ratio over {CLUSTERS:,} clusters of {codes.size:,} items, against joining drawn clusters, B = {RESAMPLES:,}",
        lambda: paired_mean_interval(diff, clusters=codes),
        loop,
        RESAMPLES / few,
        3,
    )
    ideal = paired_mean_interval(diff, clusters=codes)
    drawn = paired_mean_interval(diff, clusters=codes, n_resamples=100_000, rng=np.random.default_rng(0))
    se = (ideal.high - ideal.low) / 2 / norm.ppf(0.975)
    error = max(abs(ideal.low - drawn.low), abs(ideal.high - drawn.high)) / se
    print(f"    ends within {error:.1e} standard errors of 100,000 resamples, whose noise is 8.5e-03")


def power() -> None:
    few, rng = 500, np.random.default_rng(2)

    def simulate(n: int, gain: float, loss: float) -> Work:
        def work() -> None:
            for c, b, _ in rng.multinomial(n, [gain, loss, 1 - gain - loss], few):
                statsmodels_mcnemar([[0, b], [c, 0]], exact=True)

        return work

    for n, gain, loss in ((150, 0.15, 0.05), (100_000, 0.052, 0.05)):
        report(
            f"exact McNemar power, n = {n:,}, against 10,000 simulated tests of statsmodels (± .005)",
            lambda n=n, gain=gain, loss=loss: mcnemar_power(n, gain, loss),
            simulate(n, gain, loss),
            10_000 / few,
        )
    report("exact size for .8 at (.055, .05), 33,345 items", lambda: items_for_power(0.055, 0.05))


if __name__ == "__main__":
    graded()
    binary()
    clustered()
    power()
