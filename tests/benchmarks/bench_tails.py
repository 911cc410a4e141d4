"""Ratios of CPU time, one process: tail fits, their bootstrap, goodness of fit and TVaR against the peers.

Run ``python tests/benchmarks/bench_tails.py``. Peers are linear in the number of resamples, so they are timed on few
and scaled to the stated work. Medians of interleaved repetitions of `time.process_time`, one thread.
"""

from __future__ import annotations

import os

if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"

import statistics
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from scipy.stats import bootstrap, genpareto, goodness_of_fit

from analysis.stats import (
    anderson_darling_bootstrap,
    anderson_darling_gpd,
    bootstrap_gpd,
    fit_gpd,
    keyed_stream,
    profile_interval,
    resample_counts,
    resampled_tvar,
    scan_thresholds,
    tail_items,
)
from analysis.stats.anderson_law import p_value

REPETITIONS = 3


def grid(n: int, xi: float) -> np.ndarray:
    p = (np.arange(1, n + 1) - 0.5) / n
    return -np.log1p(-p) if xi == 0 else ((1 - p) ** -xi - 1) / xi


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def report(name: str, ours: Callable[[], object], peer: Callable[[], object] | None, scale: float = 1.0) -> None:
    ours()
    mine, theirs = [], []
    for _ in range(REPETITIONS):
        mine.append(seconds(ours))
        if peer is not None:
            theirs.append(seconds(peer) * scale)
    a = statistics.median(mine)
    if not theirs:
        print(f"{name}\n    ours {a * 1e3:10.2f} ms")
        return
    b = statistics.median(theirs)
    print(f"{name}\n    ours {a * 1e3:10.2f} ms    peer {b * 1e3:12.1f} ms    ratio {b / a:8.0f}x", flush=True)


def refits(n: int, xi: float) -> None:
    x = grid(n, xi)
    counts = resample_counts(n, 8, rng=keyed_stream(1))

    def peer() -> None:
        for row in counts:
            genpareto.fit(np.repeat(x, row), floc=0)

    report(
        f"1,000 bootstrap refits of {n} exceedances, xi = {xi}, against scipy genpareto.fit(floc=0)",
        lambda: bootstrap_gpd(x, 1000, rng=keyed_stream(0)),
        peer,
        1000 / len(counts),
    )


def scan() -> None:
    values = grid(30_000, 0.1)
    quantiles = np.round(np.linspace(0.95, 0.99, 41), 3)

    def ours() -> None:
        keep = np.flatnonzero(np.quantile(values, 0.95) < values)
        scan_thresholds(
            values, quantiles, resample_counts(values.size, 1000, rng=keyed_stream(0), keep=keep), keep=keep
        )

    few = 8

    def peer() -> None:
        for q in quantiles[::8]:
            excess = values[np.quantile(values, q) < values] - np.quantile(values, q)
            for row in resample_counts(excess.size, few, rng=keyed_stream(1)):
                genpareto.fit(np.repeat(excess, row), floc=0)

    report("scan of 41 thresholds x 1,000 refits, against a scipy loop", ours, peer, 41 / 6 * 1000 / few)
    if find_spec("pyextremes") is None:
        print("    pyextremes is not installed")
        return
    import pandas as pd
    from pyextremes import plot_parameter_stability

    series = pd.Series(values, index=pd.date_range("1900-01-01", periods=values.size, freq="D"))
    some = [float(np.quantile(values, q)) for q in (0.95, 0.97, 0.99)]

    def extremes(samples: int) -> float:
        """CPU seconds with those of the children, over which it spreads its resamples."""
        import matplotlib.pyplot as plt

        before = os.times()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plot_parameter_stability(series, thresholds=np.array(some), r="1D", alpha=0.95, n_samples=samples)
        plt.close("all")
        after = os.times()
        return sum(after[:4]) - sum(before[:4])

    mine = statistics.median(seconds(ours) for _ in range(REPETITIONS))
    # the difference leaves out what it spends on starting processes
    theirs = statistics.median((extremes(500) - extremes(100)) / 400 for _ in range(REPETITIONS)) * 1000 * 41 / 3
    print("the same, against pyextremes plot_parameter_stability")
    print(f"    ours {mine * 1e3:10.2f} ms    peer {theirs * 1e3:12.1f} ms    ratio {theirs / mine:8.0f}x", flush=True)


def goodness() -> None:
    x = genpareto.rvs(0.2, size=1500, random_state=np.random.default_rng(0))
    fit = fit_gpd(x)
    a2 = anderson_darling_gpd(x, fit).statistic

    def peer() -> None:
        goodness_of_fit(
            genpareto, x, known_params={"loc": 0}, statistic="ad", n_mc_samples=10, rng=np.random.default_rng(0)
        )

    report(
        "Anderson-Darling, 1,000 parametric refits of 1,500, against scipy goodness_of_fit",
        lambda: anderson_darling_bootstrap(fit.xi, 1500, a2, 1000, rng=keyed_stream(0)),
        peer,
        1000 / 11,  # it fits the sample too
    )
    loops = 1000
    start = time.process_time()
    for _ in range(loops):
        p_value(a2, fit.xi)
    print(f"p-value by the asymptotic law\n    ours {(time.process_time() - start) / loops * 1e6:10.2f} us")
    report("one fit of 1,500 exceedances, against scipy", lambda: fit_gpd(x), lambda: genpareto.fit(x, floc=0))
    report("one profile interval of 1,500 exceedances", lambda: profile_interval(x, fit, level=0.95), None)


def tail_means() -> None:
    n, level, resamples, few = 30_000, 0.9, 2000, 5
    rng = np.random.default_rng(0)
    shared = rng.standard_normal(n)
    models = [shared + 0.7 * rng.standard_normal(n) for _ in range(4)]

    def ours() -> list[np.ndarray]:
        keep = np.unique(np.concatenate([tail_items(x, level=level) for x in models]))
        counts = resample_counts(n, resamples, rng=keyed_stream(0), keep=keep)
        draws = [resampled_tvar(x[keep], counts, level=level, n=n) for x in models]
        return [np.quantile(draws[i] - draws[j], [0.05, 0.95]) for i in range(4) for j in range(i)]

    size = int(n * (1 - level))

    def difference(a: np.ndarray, b: np.ndarray, axis: int = -1) -> np.ndarray:
        tails = [np.partition(x, n - size, axis=axis)[..., n - size :].mean(axis=axis) for x in (a, b)]
        return tails[0] - tails[1]

    def peer() -> None:
        for i in range(4):
            for j in range(i):
                bootstrap(
                    (models[i], models[j]), difference, paired=True, vectorized=True, n_resamples=few,
                    method="percentile", rng=np.random.default_rng(0),
                )  # fmt: skip

    report(
        "TVaR differences, 4 models, 6 pairs, n = 30,000, 2,000 resamples, against scipy.bootstrap",
        ours,
        peer,
        resamples / few,
    )


if __name__ == "__main__":
    for n, xi in ((1500, 0.2), (1500, -0.2), (300, 0.2), (300, -0.3)):
        refits(n, xi)
    scan()
    goodness()
    tail_means()
