"""What the papers print, recomputed: the column `ours` of data/published and the disputed points beside it.

`python -m tests.studies.published` writes both anew. What was taken from the papers (place, quantity, published, agrees) it keeps.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import binom, norm
from scipy.stats import t as student

from analysis.cli.options import ask
from analysis.results import StudyResult
from analysis.stats import (
    cost_per_success,
    exceedances_for_non_overlap,
    exceedances_needed,
    items_for_mean,
    items_for_power,
    items_needed,
    mcnemar_power,
    mean_interval,
    minimum_detectable_effect,
    non_overlap_level,
    over_budget_count,
    prompts_needed,
    reliable_change,
    sample_floor,
    samples_for_reliability,
    shape_difference_z,
    standard_error_of_difference,
    tango_interval,
    two_proportion_z,
    verdict_power,
    wilson,
)
from analysis.studies import fine_tune as guide
from analysis.studies import recipe_card as recipe
from analysis.studies.churn import findings as churn_paper
from analysis.studies.fine_tune import findings as guide_paper
from analysis.studies.recipe_card import published as card_paper
from analysis.studies.tail_shape import findings as tail_paper
from tests.conftest import ROOT

FOLDER = ROOT / "data" / "published"
EXAMPLES = ROOT / "data" / "examples"
COLUMNS = ("id", "place", "quantity", "published", "ours", "agrees")
DISPUTED = ("point", "published", "holds", "here")

WORDS = ("no", "one", "two", "three", "four", "five", "six")

Value = float | int | str
"""A float is compared to a relative 1e-9, a whole number or a text exactly."""


def path(slug: str, part: str = "") -> Path:
    """File of a study: its numbers, or with ``_disputed`` its disputed points."""
    return FOLDER / f"{slug.replace('-', '_')}{part}.csv"


def read(file: Path) -> list[dict[str, str]]:
    """Rows of a file as texts."""
    with file.open(encoding="utf-8", newline="") as open_file:
        return list(csv.DictReader(open_file))


@cache
def example(slug: str) -> StudyResult:
    """The study's own example, for churn the paper's Llama pair, with the defaults of every parameter."""
    folder = EXAMPLES / slug.replace("-", "_")
    data, options, files, rule = {
        "recipe-card": (
            [f"runs={folder / 'synthetic_runs.csv'}", f"counts={folder / 'published_counts.csv'}"],
            ["chance_rate=0.5"],  # of the balanced binary tasks
            [],
            None,
        ),
        "tail-shape": ([str(folder / "controls.csv.gz")], [], [], None),
        "churn": ([f"counts={folder / 'published_pair.csv.gz'}"], [], [str(folder / "published_pair.yml")], None),
        "fine-tune": (
            [f"{name}={folder / f'{name}.csv.gz'}" for name in ("items", "suites", "judgements", "human")],
            [],
            [],
            str(ROOT / "data" / "rules" / "fine_tune.yml"),
        ),
    }[slug]
    return ask(slug, data, [], options, files, rule, None).result


def rows(result: StudyResult, table: str) -> dict[object, dict[str, object]]:
    """Rows of a table by their first cell."""
    keys = [column.key for column in result.tables[table].columns]
    return {row[0]: dict(zip(keys, row, strict=True)) for row in result.tables[table].rows}


def span(ends: Iterable[float]) -> str:
    """Smallest and largest value that rounded inputs allow."""
    values = list(ends)
    return f"{min(values):.4g} to {max(values):.4g}"


def around(printed: float, digits: int) -> tuple[float, float]:
    """The numbers that round to what is printed lie between these two."""
    half = 0.5 * 10.0**-digits
    return printed - half, printed + half


def slug_of(name: str) -> str:
    """A name as part of an id."""
    return name.lower().replace(" ", "-").replace("→", "to")


# --- recipe card ---------------------------------------------------------------------------------------------


def recipe_card() -> dict[str, Value]:
    """Bounds of Tables 2 and 3 through the study, and what follows from the sizes that the paper gives."""
    result = example("recipe-card")
    found: dict[str, Value] = {}
    for model, *cells in result.tables["published-bar-sweep"].rows:
        for bar, cell in zip((50, 55, 60, 70), cells, strict=True):
            found[f"t2-{slug_of(model)}-{bar}"] = cell["upper"]
            if model == "DeBERTa-v3-base":
                found[f"t2-verdict-{cell['k']}-of-59"] = cell["status"]
    printed = [
        dict(zip(("model", "shift", "k", "upper", "k_target", "upper_target"), row[:6], strict=True))
        for row in result.tables["published-transfer"].rows
    ]
    for row in printed:
        name = f"t3-{slug_of(row['model'])}-{slug_of(row['shift'].replace(' → ', '-to-'))}"
        found[f"{name}-calibration"] = row["upper"]
        found[f"{name}-target"] = row["upper_target"]
    exact = over_budget_count(card_paper.RERUNS, budget=card_paper.BUDGET)
    working, low, high = card_paper.RERUNS - card_paper.COLLAPSED, 0.52, card_paper.COLLAPSE[0]
    return found | {
        "floor": f"N ≥ {sample_floor(budget=card_paper.BUDGET, delta=card_paper.DELTA)}",
        "models": card_paper.CELLS * card_paper.RERUNS,
        "splits": card_paper.CELLS * recipe.Params().splits,
        "f1-mean": (working * high + card_paper.COLLAPSED * low) / card_paper.RERUNS,
        "over-budget": f"k ≥ {exact} of {card_paper.RERUNS}",
        "t3-recipes": f"{WORDS[len(printed)]} recipes",
    }


# --- tail shape ----------------------------------------------------------------------------------------------


def tail_shape() -> dict[str, Value]:
    """Sizes and power from the paper's formula, its differences of ξ at the sizes that it had."""
    effect = tail_paper.PAPER_EFFECT
    needed = exceedances_needed(effect)
    apart = norm.isf(non_overlap_level(0.05) / 2)
    qwen, fished = shape_difference_z(0.095, 1500, 1500), shape_difference_z(0.139, 900, 900)
    return {
        "n-star": needed,
        "pilot-exceedances": round(2000 * (1 - tail_paper.PAPER_QUANTILE)),
        "pilot-ratio": span(big / small for big, small in product(around(0.28, 2), around(0.009, 3))),
        "q97-p1-p2": "passes" if fished > apart and effect < 0.139 else "fails",
        "qwen-llama-p1": "CIs do not overlap" if qwen > apart else "CIs overlap",
        "prompts": prompts_needed(needed, quantile=tail_paper.PAPER_QUANTILE),
        "power": float(verdict_power(effect, needed)),
        "n-star-p1": exceedances_for_non_overlap(effect),
    }


# --- churn ---------------------------------------------------------------------------------------------------


def changes(pair: str) -> np.ndarray:
    """Change of every analysable item, from the lattice that was recovered from the paper's figures."""
    table = pd.read_csv(EXAMPLES / "churn" / "published_lattices.csv").query("pair == @pair")
    return np.repeat(table["change"].to_numpy(), table["items"].to_numpy())


def classes(change: np.ndarray, *, s_diff: float, cut: float = 1.96) -> dict[str, int]:
    """Items per class at a standard error of a difference, and those that rose at all."""
    found = reliable_change(np.maximum(-change, 0), np.maximum(change, 0), s_diff=s_diff, cut=cut)
    return {
        "improved": found.improved,
        "unchanged": found.unchanged,
        "deteriorated": found.deteriorated,
        "raised": found.raised,
    }


def breadth_interval(improved: int, raised: int, n: int) -> tuple[float, float]:
    """Percentile interval of the breadth ratio over all resamples of the items: no draws, so no seed."""
    sizes = np.arange(1, n + 1)
    weights = binom.pmf(sizes, n, raised / n)
    kept = [(size, weight) for size, weight in zip(sizes, weights, strict=True) if weight > 1e-12]
    ratios = np.concatenate([np.arange(size + 1) / size for size, _ in kept])
    law = np.concatenate([weight * binom.pmf(np.arange(size + 1), size, improved / raised) for size, weight in kept])
    order = np.argsort(ratios, kind="stable")
    ends = np.searchsorted(np.cumsum(law[order]), [0.025, 0.975])
    return tuple(float(ratio) for ratio in ratios[order][ends])


def churn_pair(name: str, change: np.ndarray, s_diff: float) -> dict[str, Value]:
    """What the main table and the results file print for either pair, at its printed S_diff."""
    counts, strict = classes(change, s_diff=s_diff), classes(change, s_diff=s_diff, cut=2.58)
    n, raised = len(change), counts.pop("raised")
    found: dict[str, Value] = {f"{name}-items": n, f"{name}-breadth": counts["improved"] / raised}
    for kind, count in counts.items():
        found[f"{name}-{kind}"] = count
        found[f"{name}-{kind}-strict"] = strict[kind]
        found[f"{name}-{kind}-low"], found[f"{name}-{kind}-high"] = wilson(count, n, level=0.95)
    found[f"{name}-breadth-low"], found[f"{name}-breadth-high"] = breadth_interval(counts["improved"], raised, n)
    samples = next(k for k in range(1, 11) if classes(np.array([k / 10]), s_diff=s_diff)["improved"])
    return found | {f"{name}-min-samples": f"{samples} of {churn_paper.PAPER_K}"}


def churn() -> dict[str, Value]:
    """The main table, both readings of the abstract, and the shares of the greedy comparison."""
    llama, qwen = changes("Llama 3 to 3.1"), changes("Qwen 2.5 to 3")
    s_llama, s_qwen, every = churn_paper.PAPER_S_DIFF, 0.0548, churn_paper.PAPER_ITEMS
    found = churn_pair("llama", llama, s_llama) | churn_pair("qwen", qwen, s_qwen)
    changed_llama, changed_qwen = (
        found[f"{name}-improved"] + found[f"{name}-deteriorated"] for name in ("llama", "qwen")
    )

    main, sensitivity = rows(example("churn"), "main"), rows(example("churn"), "sensitivity")
    first, second = (sensitivity[f"published, {name} SD, cut 1.96"] for name in ("analysable", "full"))
    difficulty = example("churn").frames()["difficulty"].query("rule == 'published, full SD'")
    fallen = (difficulty["n"] * difficulty["deteriorated"]).to_numpy()

    k = np.arange(churn_paper.PAPER_K + 1)
    even = binom.pmf(k, churn_paper.PAPER_K, 0.5)
    flagged = np.abs(k[:, None] - k) >= int(str(found["llama-min-samples"]).split()[0])

    r, n = 0.1127, 431
    low, high = mean_interval(llama, level=0.95)
    sems = [around(0.0580, 4), around(0.0623, 4)]
    highest, lowest = (
        samples_for_reliability(value, churn_paper.PAPER_K, target=0.9) for value in churn_paper.PAPER_RELIABILITY
    )
    return found | {
        "llama-s-diff": span(standard_error_of_difference(one, other) for one, other in product(*sems)),
        "qwen-s-diff": standard_error_of_difference(0.0452, 0.0309),
        "llama-threshold": span(1.96 * value for value in around(s_llama, 4)),
        "qwen-threshold": 1.96 * s_qwen,
        "llama-mean": float(llama.mean()),
        "llama-mean-low": low,
        "llama-mean-high": high,
        "llama-mean-all": float(llama.sum()) / every,
        "qwen-mean-all": 0.0857 * len(qwen) / every,
        "llama-share-improved": found["llama-improved"] / len(llama),
        "llama-share-deteriorated": found["llama-deteriorated"] / len(llama),
        "llama-unchanged-all": 1 - second["churn_all"],
        "llama-unchanged-all-first": 1 - changed_llama / every,
        "llama-churn-all": second["churn_all"],
        "llama-churn-all-first": changed_llama / every,
        "qwen-unchanged-all": 1 - changed_qwen / every,
        "llama-median": second["median"],
        "llama-median-first": first["median"],
        "h3-z": two_proportion_z(changed_llama, len(llama), changed_qwen, len(qwen))[0],
        "cross-pair-p": float(2 * student.sf(r * np.sqrt((n - 2) / (1 - r**2)), n - 2)),
        "greedy-missed": churn_paper.PAPER_MISSED / churn_paper.PAPER_CHANGED,
        "greedy-false-of-flags": churn_paper.PAPER_FALSE / churn_paper.PAPER_FLAGS,
        "greedy-false-of-unchanged": churn_paper.PAPER_FALSE / churn_paper.PAPER_UNCHANGED,
        "samples-needed": f"K ≥ {highest}",
        "samples-needed-lowest": f"K ≥ {lowest}",
        "llama-s-diff-one-population": main["corrected index, analysable"]["s_diff"],
        "level-at-half": float((even[:, None] * even)[flagged].sum()),
        "fallen-from-high": float(fallen[2:].sum() / fallen.sum()),
    }


# --- fine-tune -----------------------------------------------------------------------------------------------


def snippet() -> dict[str, Value]:
    """The guide's eight items through the study, by the published method."""
    scores = {"production": [1, 0, 1, 1, 0, 1, 0, 1], "candidate": [1, 1, 1, 1, 0, 1, 1, 0]}
    items = pd.concat(pd.DataFrame({"model": name, "item_id": range(8), "value": own}) for name, own in scores.items())
    (unit,) = guide.run({"items": items}, guide.Params(method="paper")).units
    return {
        "snippet-mean": unit.mean_diff,
        "snippet-low": unit.ci_low,
        "snippet-high": unit.ci_high,
        "snippet-b": unit.baseline_only,
        "snippet-c": unit.candidate_only,
        "snippet-p": unit.p_exact,
    }


def failed_clauses(systems: dict[object, dict[str, object]], lowest: dict[str, float]) -> str:
    """Clauses for which the guide's table has numbers and that the tuned model does not meet."""
    tuned, production = systems["candidate"], systems["production"]
    met = {
        "primary metric": min(lowest.values()) > guide_paper.GUIDE_MARGIN,
        "safety": tuned["safety"] >= production["safety"],
        "p95": tuned["p95"] <= 1.2,
        "cost": tuned["cost_ratio"] <= 0.70,
    }
    failed = [name for name, holds in met.items() if not holds]
    return f"{failed[0]} only" if len(failed) == 1 else " and ".join(failed) or "none"


def fine_tune() -> dict[str, Value]:
    """The guide's plan by its formulas, its table by the example's items, its verdict by its own rule."""
    gain, loss = guide_paper.GUIDE_GAIN, guide_paper.GUIDE_LOSS
    n, tuned = guide_paper.GUIDE_N, guide_paper.GUIDE_TUNED
    discordant = gain + loss
    systems = rows(example("fine-tune"), "results")
    found: dict[str, Value] = {
        f"{system}-{name}": row[key]
        for system, row in systems.items()
        for name, key in (("accuracy", "score"), ("safety", "safety"), ("p95", "p95"), ("cost", "cost"))
    }
    lowest = {
        name: tango_interval(0, tuned - correct, n)[0]
        for name, correct in (("prompt", guide_paper.GUIDE_PROMPTED), ("retrieval", guide_paper.GUIDE_RETRIEVAL))
    }
    before, after = (
        cost_per_success([paid / 1000] * 100, [1] * passed + [0] * (100 - passed), level=0.95).cost
        for paid, passed in ((4.00, 86), (1.20, 91))
    )
    between = int(0.064 * n)
    return (
        found
        | snippet()
        | {
            "quantiles": float(norm.ppf(0.975) + norm.ppf(0.80)),
            "items": items_needed(gain, loss),
            "power-exact": mcnemar_power(guide_paper.GUIDE_ITEMS, gain, loss, form="exact"),
            "items-exact": items_for_power(gain, loss, form="exact").lasting,
            "mde": minimum_detectable_effect(500, discordant),
            "items-three-points": items_needed((discordant + 0.03) / 2, (discordant - 0.03) / 2),
            "items-miller": items_for_mean(0.03, omega2=1 / 9),
            "cost-production": before,
            "cost-tuned": after,
            "cost-ratio": after / before,
            "items-margin": items_needed(gain, loss, margin=guide_paper.GUIDE_MARGIN),
            "lower-prompt": lowest["prompt"],
            "lower-retrieval": lowest["retrieval"],
            "verdict": failed_clauses(systems, lowest),
            "interval-high": f"+{100 * between / n:.2f} or +{100 * (between + 1) / n:.2f}",
        }
    )


# --- files ---------------------------------------------------------------------------------------------------

STUDIES: dict[str, Callable[[], dict[str, Value]]] = {
    "recipe-card": recipe_card,
    "tail-shape": tail_shape,
    "churn": churn,
    "fine-tune": fine_tune,
}


@cache
def recompute(slug: str) -> dict[str, Value]:
    """Every number of a study by its id."""
    return {key: value.item() if isinstance(value, np.generic) else value for key, value in STUDIES[slug]().items()}


def disputed(slug: str) -> list[tuple[str, ...]]:
    """The study's points of what holds up, at its defaults."""
    return [tuple(row) for row in example(slug).tables["what-holds-up"].rows]


def write(file: Path, header: Iterable[str], lines: Iterable[Iterable[object]]) -> None:
    """A file of one row a line."""
    with file.open("w", encoding="utf-8", newline="") as open_file:
        csv.writer(open_file, lineterminator="\n").writerows([header, *lines])


def main() -> None:
    """Write `ours` and the disputed points of every study anew."""
    for slug in STUDIES:
        ours = recompute(slug)
        kept = read(path(slug))
        if missing := {row["id"] for row in kept} ^ ours.keys():
            print(f"{path(slug).name}: in one of file and code only: {', '.join(sorted(missing))}")
        lines = [[(row | {"ours": ours.get(row["id"], "")})[name] for name in COLUMNS] for row in kept]
        write(path(slug), COLUMNS, lines)
        write(path(slug, "_disputed"), DISPUTED, disputed(slug))


if __name__ == "__main__":
    main()
