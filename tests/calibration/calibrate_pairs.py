"""Coverage of the 95 % intervals of the comparison study, by simulation; not part of the normal run.

Run ``python tests/calibration/calibrate_pairs.py [samples]``. Prints Markdown tables with the seed and the date.
Standard error of a share p over N samples: sqrt(p(1 - p)/N).
"""

from __future__ import annotations

import datetime
import math
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable

if __name__ == "__main__":
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1"

import numpy as np
import scipy
from scipy.stats import norm

from analysis.stats import (
    bootstrap_cost_ratio,
    clustered_mean,
    cohen_kappa,
    cost_per_success,
    cost_ratio,
    fleiss_kappa,
    gwet_ac1,
    keyed_stream,
    prediction_powered_mean,
    rogan_gladen,
    wild_cluster_interval,
    wilson,
)

SEED = 0
LEVEL = 0.95
WILD_EVERY, WILD_RESAMPLES = 4, 999  # fewer samples where they cost more
BOOTSTRAP_EVERY, BOOTSTRAP_RESAMPLES = 20, 1000

Ends = tuple[float | None, float | None]
Seen = dict[str, list[tuple[bool, bool, float, bool]]]  # truth under and above, width, no interval at all


def stream(*key: object) -> np.random.Generator:
    return np.random.Generator(keyed_stream(SEED, *map(str, key)))


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def table(title: str, columns: Iterable[str]) -> None:
    cells = list(columns)
    print(f"\n{title}\n\n{row(*cells)}\n|{'---|' * len(cells)}")


def note(seen: Seen, method: str, ends: Ends | None, truth: float) -> None:
    """An end that is missing is infinite; without both there is no interval."""
    low, high = ends or (None, None)
    low_end, high_end = -math.inf if low is None else low, math.inf if high is None else high
    seen[method].append((truth < low_end, truth > high_end, high_end - low_end, low is None and high is None))


def shares(seen: Seen, method: str, *, width: bool = True) -> str:
    """Covered, of those the truth lies under and above, and the median width; of the samples with an interval."""
    under, above, widths, none = (np.array(column) for column in zip(*seen[method], strict=True))
    there = ~none.astype(bool)
    if not there.any():
        return "-"
    cell = f"{1 - under[there].mean() - above[there].mean():.3f} ({under[there].mean():.3f}, {above[there].mean():.3f})"
    cell += f" {np.median(widths[there]):.3g}" if width else ""
    return cell + (f", none {none.mean():.3f}" if none.mean() > 0.0005 else "")


def sizes_of(kind: str, g: int) -> np.ndarray:
    """Cluster sizes: 20 each; lognormal quantiles with sd 1 of the logarithm; or one cluster as large as all others."""
    if kind == "lognormal":
        return np.maximum(2, np.round(20 * np.exp(norm.ppf((np.arange(g) + 0.5) / g)))).astype(int)
    sizes = np.full(g, 20)
    if kind == "one of half":
        sizes[0] = 20 * (g - 1)
    return sizes


def clusters(samples: int) -> None:
    methods = ("CR0", "CR1", "CR2", "wild")
    table(
        f"Mean over clusters: covered (truth under, above) and median width; the wild bootstrap of {WILD_RESAMPLES} "
        f"resamples in every {WILD_EVERY}th sample. Pass/fail: rates of clusters from Beta(9.5, .5).",
        ["clusters", "sizes", "law", "df of CR2", *methods],
    )
    laws = {"normal, rho 0": 0.0, "normal, rho .3": 0.3, "pass/fail at .95": None}
    for g in (5, 14, 57):
        for kind in ("equal", "lognormal", "one of half"):
            codes = np.repeat(np.arange(g), sizes_of(kind, g))
            for law, rho in laws.items():
                seen: Seen = defaultdict(list)
                df = 0.0
                for i in range(samples):
                    rng = stream("clusters", g, kind, law, i)
                    if rho is None:
                        values, truth = (rng.random(codes.size) < rng.beta(9.5, 0.5, g)[codes]).astype(float), 0.95
                    else:
                        values = math.sqrt(rho) * rng.standard_normal(g)[codes]
                        values, truth = values + math.sqrt(1 - rho) * rng.standard_normal(codes.size), 0.0
                    for method in methods[:3]:
                        one = clustered_mean(values, codes, level=LEVEL, method=method, min_clusters=5)
                        note(seen, method, (one.low, one.high), truth)
                        df = one.df
                    if i % WILD_EVERY == 0:
                        ends = wild_cluster_interval(
                            values, codes, level=LEVEL, rng=rng, n_resamples=WILD_RESAMPLES, min_clusters=5
                        )
                        note(seen, "wild", ends, truth)
                print(row(g, kind, law, f"{df:.1f}", *(shares(seen, m) for m in methods)), flush=True)


def two_raters(samples: int) -> None:
    table(
        "Cohen's kappa of two raters with the same share p of the first category: covered (truth under, above), "
        "median width, and samples without an interval. Rarer: mean number of items with a label of that category.",
        ["n", "p", "kappa", "rarer", "all agree", "log", "linear"],
    )
    for n, p in ((150, 0.5), (150, 0.2), (150, 0.05), (40, 0.5), (40, 0.2)):
        for kappa in (0.2, 0.4, 0.6, 0.8, 0.95):
            off = p * (1 - p) * (1 - kappa)
            law = np.array([[p - off, off], [off, 1 - p - off]])
            rng = stream("kappa", n, p, kappa)
            seen: Seen = defaultdict(list)
            drawn = rng.multinomial(n, law.ravel(), size=samples).reshape(-1, 2, 2)
            for counts in drawn:
                for scale in ("log", "linear"):
                    one = cohen_kappa(counts, level=LEVEL, scale=scale)
                    note(seen, scale, (one.low, one.high), kappa)
            agree = (drawn[:, 0, 1] + drawn[:, 1, 0] == 0).mean()
            cells = [shares(seen, scale) for scale in ("log", "linear")]
            print(row(n, p, kappa, f"{n * (p + off):.0f}", f"{agree:.3f}", *cells), flush=True)


def three_raters(samples: int) -> None:
    table(
        "Three raters of 150 items, each of whom sees the truth with probability a and else guesses by the shares of "
        "the categories (Fleiss' kappa a squared): covered (truth under, above) and median width.",
        ["first category", "kappa", "Fleiss, log", "Fleiss, linear", "AC1", "AC1, log", "AC1, linear"],
    )
    for p in (0.5, 0.1):
        for kappa in (0.4, 0.6, 0.8, 0.95):
            agreed = kappa + (1 - kappa) * (p * p + (1 - p) ** 2)
            chance = 2 * p * (1 - p)
            truth = {fleiss_kappa: kappa, gwet_ac1: (agreed - chance) / (1 - chance)}
            seen: Seen = defaultdict(list)
            for i in range(samples):
                rng = stream("fleiss", p, kappa, i)
                own, guess = rng.random((150, 1)) < p, rng.random((150, 3)) < p
                first = np.where(rng.random((150, 3)) < math.sqrt(kappa), own, guess).sum(axis=1)
                for coefficient, value in truth.items():
                    for scale in ("log", "linear"):
                        one = coefficient(np.stack([first, 3 - first], axis=1), level=LEVEL, scale=scale)
                        note(seen, f"{coefficient.__name__} {scale}", (one.low, one.high), value)
            cells = [shares(seen, f"{f.__name__} {scale}") for f in truth for scale in ("log", "linear")]
            print(row(p, kappa, *cells[:2], f"{truth[gwet_ac1]:.3f}", *cells[2:]), flush=True)


def paid(success: np.ndarray, cv: float, extra: float, rng: np.random.Generator) -> np.ndarray:
    """Lognormal costs with a coefficient of variation; a success costs 1 + extra times a failure."""
    sd = math.sqrt(math.log(1 + cv * cv))
    return np.asarray((1 + extra * success) * np.exp(sd * rng.standard_normal(success.shape) - sd * sd / 2))


def costs(samples: int) -> None:
    methods = ("score", "fieller", "delta")
    table(
        "Cost per success: covered (truth under, above) and samples without an interval. A success costs 1 + extra "
        "times a failure, cv is the coefficient of variation of either.",
        ["n", "rate", "successes", "cv", "extra", *methods, "fieller without an upper limit"],
    )
    for n, rate in ((200, 0.02), (500, 0.01), (500, 0.02), (500, 0.05), (150, 0.5), (820, 0.9), (200, 0.98)):
        for cv, extra in ((0.0, 0.0), (0.5, 2.0), (0.5, -0.7), (1.5, 0.0)):
            seen: Seen = defaultdict(list)
            for i in range(samples):
                rng = stream("cost", n, rate, cv, extra, i)
                success = rng.random(n) < rate
                cost = paid(success, cv, extra, rng)
                for method in methods:
                    one = cost_per_success(cost, success, level=LEVEL, method=method)
                    note(seen, method, (one.low, one.high), 1000 * (1 + extra * rate) / rate)
            cells = [shares(seen, method, width=False) for method in methods]
            open_ended = np.mean([math.isinf(width) and not none for _, _, width, none in seen["fieller"]])
            print(row(n, rate, f"{n * rate:.0f}", cv, extra, *cells, f"{open_ended:.3f}"), flush=True)


def ratios(samples: int) -> None:
    table(
        "Ratio of two systems' costs per success on the same items, costs and outcomes correlated: covered (truth "
        f"under, above). Percentile bootstrap of {BOOTSTRAP_RESAMPLES} resamples in every {BOOTSTRAP_EVERY}th sample.",
        ["n", "rates", "cv", "Fieller", "without an upper limit", "bootstrap"],
    )
    for n, one, two in ((820, 0.86, 0.91), (150, 0.95, 0.97), (200, 0.3, 0.4), (200, 0.05, 0.1), (500, 0.01, 0.02)):
        for cv in (0.3, 1.5):
            seen: Seen = defaultdict(list)
            for i in range(samples):
                rng = stream("ratio", n, one, two, cv, i)
                hard = rng.standard_normal((1, n))
                score = norm.cdf(math.sqrt(0.5) * (hard + rng.standard_normal((2, n))))
                success = score < np.array([[one], [two]])
                cost = paid(np.zeros((2, n)), cv / 2, 0.0, rng) * paid(np.zeros(n), cv / 2, 0.0, rng)
                columns = cost[0], success[0], cost[1], success[1]
                found = cost_ratio(*columns, level=LEVEL)
                note(seen, "Fieller", (found.low, found.high), one / two)
                if i % BOOTSTRAP_EVERY == 0 and found.ratio is not None:
                    ends = bootstrap_cost_ratio(*columns, level=LEVEL, rng=rng, n_resamples=BOOTSTRAP_RESAMPLES)
                    note(seen, "bootstrap", ends, one / two)
            open_ended = np.mean([math.isinf(width) and not none for _, _, width, none in seen["Fieller"]])
            cells = [shares(seen, method, width=False) for method in ("Fieller", "bootstrap")]
            print(row(n, f"{one}, {two}", cv, cells[0], f"{open_ended:.3f}", cells[1]), flush=True)


def judges(samples: int) -> None:
    methods = ("score", "t", "tuned", "human", "rogan-gladen")
    table(
        "Rate that humans would find in all items, from their labels of some and a judge's of all: covered (truth "
        "under, above), median width, and samples without an interval. Tuned: lambda estimated; human: Wilson's "
        "interval of the human labels alone.",
        ["labels", "others", "rate", "sensitivity, specificity", *methods],
    )
    for n, m in ((150, 850), (40, 760)):
        for rate in (0.5, 0.9, 0.97):
            for sensitivity, specificity in ((0.7, 0.7), (0.9, 0.8), (0.97, 0.97)):
                seen: Seen = defaultdict(list)
                for i in range(samples):
                    rng = stream("judge", n, rate, sensitivity, i)
                    human = rng.random(n + m) < rate
                    judge = rng.random(n + m) < np.where(human, sensitivity, 1 - specificity)
                    y, f, rest = human[:n].astype(float), judge[:n].astype(float), judge[n:].astype(float)
                    for method, options in (("score", {}), ("t", {"method": "t"}), ("tuned", {"lam": None})):
                        one = prediction_powered_mean(y, f, rest, level=LEVEL, **options)
                        note(seen, method, (one.low, one.high), rate)
                    note(seen, "human", wilson(int(y.sum()), n, level=LEVEL), rate)
                    both, neither = int((human & judge)[:n].sum()), int((~human & ~judge)[:n].sum())
                    known = {"true_positives": both, "human_positives": int(y.sum())}
                    known |= {"true_negatives": neither, "human_negatives": n - int(y.sum())}
                    one = rogan_gladen(int(rest.sum()), m, level=LEVEL, **known)
                    note(seen, "rogan-gladen", (one.low, one.high), rate)
                cells = [shares(seen, method) for method in methods]
                print(row(n, m, rate, f"{sensitivity}, {specificity}", *cells), flush=True)


PARTS: tuple[Callable[[int], None], ...] = (clusters, two_raters, three_raters, costs, ratios, judges)

if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    print(
        f"numpy {np.__version__}, scipy {scipy.__version__}\n\nseed {SEED}, {size} samples per row, nominal coverage "
        f"{LEVEL}, {datetime.datetime.now(datetime.UTC).date()}"
    )
    for part in PARTS:
        part(size)
