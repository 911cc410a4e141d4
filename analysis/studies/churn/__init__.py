"""Churn decomposition: which items really changed between two versions, and how much opposing movement the net gain hides.

>>> import numpy as np, pandas as pd
>>> rng = np.random.default_rng(1)
>>> rate = np.repeat(rng.uniform(size=400), 10)
>>> frames = [
...     pd.DataFrame({"model": name, "item_id": np.repeat(range(400), 10), "attempt": [*range(10)] * 400,
...                   "value": (rng.uniform(size=4000) < rate).astype(int)})
...     for name in ("baseline", "candidate")
... ]
>>> run({"attempts": pd.concat(frames)}, Params(max_deteriorated=0.05)).gate.verdict
'pass'
"""

from __future__ import annotations

from collections.abc import Mapping

from analysis.results import StudyResult
from analysis.study import InputSpec, Study

from .decomposition import ChurnUnit, check, decide
from .parameters import Params, SizeParams
from .schemas import ATTEMPTS, COUNTS, GREEDY, attempts_demands, item_demands
from .sizes import size


def files(_: StudyResult) -> Mapping[str, str]:
    """A churn report has no files of its own."""
    return {}


STUDY = Study(
    slug="churn",
    title="Churn decomposition",
    question="Which items really changed between two versions, and how much opposing movement does the net gain hide?",
    decides="the share of items that deteriorated, flagged and estimated, is within its budget, and every domain's mean change lies above its floor",
    inputs=(
        InputSpec(
            schema=ATTEMPTS,
            help="one row per version, item and sample: correct or not, or a score in [0, 1]",
            required=False,
            demands=attempts_demands,
        ),
        InputSpec(
            schema=COUNTS,
            help="instead of attempts: one row per version and item, correct samples of all samples",
            required=False,
            demands=item_demands,
        ),
        InputSpec(
            schema=GREEDY,
            help="one answer per version and item, at temperature 0; beside samples or alone",
            required=False,
            demands=item_demands,
        ),
    ),
    params=Params,
    decide=decide,
    check=check,
    notebook="churn_decomposition.ipynb",
    example={"attempts": ("churn/samples.csv.gz",), "greedy": ("churn/greedy.csv.gz",)},
    files=files,
    size_params=SizeParams,
    size=size,
    next_questions=(
        (
            "Would another false discovery rate or the published method say otherwise?",
            'report.what_if(fdr=[0.01, 0.05, 0.1], method=["corrected", "paper"])',
        ),
        (
            'Which domains lost most? For one of them: `explore.where(report.table("items"), domain="…")`.',
            'explore.top(report.table("domains"), by="mean_diff", n=5, smallest=True)',
        ),
        (
            "Which items moved? Draw a window over the points.",
            'chart.linked(report.table("items"), x="p_baseline", y="p_candidate", colour="class_corrected")',
        ),
    ),
)

run = STUDY.run

__all__ = ["STUDY", "ChurnUnit", "Params", "SizeParams", "run"]
