"""Coverage of the shape's intervals and size of the tests, by simulation; not part of the normal run.

Run ``python tests/calibration/calibrate_tails.py [samples]``. Prints a Markdown table with the seed and the date.
Standard error of a share p over N samples: sqrt(p(1 - p)/N).
"""

from __future__ import annotations

import datetime
import os
import sys

if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"

import numpy as np
from scipy.stats import genpareto

from analysis.stats import (
    anderson_darling_bootstrap,
    anderson_darling_gpd,
    bootstrap_gpd,
    fit_gpd,
    keyed_stream,
    percentile_interval,
    profile_interval,
    resample_counts,
    scan_thresholds,
    threshold_stability,
)

SEED = 0
RESAMPLES = 500


def sample(label: str, i: int, xi: float, n: int) -> np.ndarray:
    rng = np.random.Generator(keyed_stream(SEED, label, str(xi), str(n), str(i)))
    return genpareto.ppf(rng.random(n), xi)


def coverage(samples: int) -> None:
    print("\n| n | xi | profile | percentile | normal | boundary fits |\n|---|---|---|---|---|---|")
    for n in (100, 300, 1500):
        for xi in (-0.3, -0.1, 0.0, 0.1, 0.3):
            held = np.zeros(3)
            boundary = 0
            for i in range(samples):
                x = sample("coverage", i, xi, n)
                fit = fit_gpd(x)
                boundary += fit.status == "boundary"
                draws, _ = bootstrap_gpd(x, RESAMPLES, rng=keyed_stream(SEED, "draws", str(xi), str(n), str(i)))
                se = fit.se_xi or 0.0
                ends = (
                    profile_interval(x, fit, level=0.95),
                    percentile_interval(draws, level=0.95),
                    (fit.xi - 1.96 * se, fit.xi + 1.96 * se),
                )
                held += [low <= xi <= high for low, high in ends]
            shares = " | ".join(f"{share:.3f}" for share in held / samples)
            print(f"| {n} | {xi} | {shares} | {boundary / samples:.3f} |", flush=True)


def anderson_darling(samples: int) -> None:
    print(
        "\n| n | xi | asymptotic law, 10/5/1 % | parametric bootstrap (B = 199), 5 % | not testable |\n|---|---|---|---|---|"
    )
    for n in (30, 100, 300, 1500):
        for xi in (-0.4, -0.2, 0.0, 0.3, 0.9):
            p, q, missing = [], [], 0
            for i in range(samples):
                x = sample("goodness", i, xi, n)
                fit = fit_gpd(x)
                found = anderson_darling_gpd(x, fit)
                if found.p_value is None or found.statistic is None:
                    missing += 1
                    continue
                p.append(found.p_value)
                stream = keyed_stream(SEED, "parametric", str(xi), str(n), str(i))
                q.append(anderson_darling_bootstrap(fit.xi, n, found.statistic, 199, rng=stream))
            law = "/".join(f"{100 * np.mean(np.array(p) <= level):.1f}" for level in (0.1, 0.05, 0.01))
            print(
                f"| {n} | {xi} | {law} | {100 * np.mean(np.array(q) <= 0.05):.1f} | {missing / samples:.3f} |",
                flush=True,
            )


def stability(samples: int) -> None:
    print(
        "\n| prompts | law | anchor | paper rule fails | joint test rejects (5 %) | equivalence form settles |\n|---|---|---|---|---|---|"
    )
    for n in (6000, 30_000):
        for xi in (-0.2, 0.0, 0.2):
            for anchor in (0.95, 0.97):
                fails = rejects = settles = 0
                for i in range(samples):
                    x = sample("stability", i, xi, n)
                    quantiles = np.round([anchor - 0.02, anchor - 0.01, anchor, anchor + 0.01, anchor + 0.02], 3)
                    keep = np.flatnonzero(np.quantile(x, quantiles[0]) < x)
                    stream = keyed_stream(SEED, "joint", str(xi), str(n), str(i))
                    counts = resample_counts(n, RESAMPLES, rng=stream, keep=keep)
                    scan = scan_thresholds(x, quantiles, counts, keep=keep)
                    found = threshold_stability(scan, anchor=anchor, band=0.02, tolerance=0.05, alpha=0.05)
                    if found.deviations:
                        fails += max(abs(found.deviations[0]), abs(found.deviations[-1])) >= 0.05
                    rejects += found.joint == "unstable"
                    settles += found.equivalence == "stable"
                print(
                    f"| {n} | GPD({xi}) | {anchor} | {fails / samples:.3f} | {rejects / samples:.3f} | {settles / samples:.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    print(f"seed {SEED}, {size} samples per row, {RESAMPLES} resamples, {datetime.datetime.now(datetime.UTC).date()}")
    coverage(size)
    anderson_darling(size)
    stability(size)
