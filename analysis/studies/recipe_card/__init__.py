"""Recipe-card audit: may this training recipe be rerun and shipped, knowing that reruns sometimes collapse?

>>> import pandas as pd
>>> frame = pd.DataFrame({"model": "tiny", "budget": 500, "seed": range(22), "score": 0.9})
>>> run({"runs": frame}, Params()).gate.verdict
'pass'
"""

from __future__ import annotations

from analysis.study import InputSpec, Study

from .audit import check, decide
from .cards import files
from .cells import COUNTS, RUNS, counts_demands, demands
from .parameters import Params, SizeParams
from .sizes import size
from .units import CellAudit

STUDY = Study(
    slug="recipe-card",
    title="Recipe-card audit",
    question="May this training recipe be rerun and shipped, knowing that reruns sometimes collapse?",
    decides="a cell ships when the exact upper bound on its rerun failure rate is within the budget",
    inputs=(
        InputSpec(
            schema=RUNS, help="one row per training run: seed, score and the columns of the cell", demands=demands
        ),
        InputSpec(
            schema=COUNTS,
            help="failure counts published elsewhere, recomputed beside yours",
            required=False,
            demands=counts_demands,
        ),
    ),
    params=Params,
    decide=decide,
    check=check,
    notebook="recipe_card_audit.ipynb",
    example={"runs": ("recipe_card/synthetic_runs.csv",), "counts": ("recipe_card/published_counts.csv",)},
    files=files,
    size_params=SizeParams,
    size=size,
    next_questions=(
        (
            "Would another bar or another budget decide otherwise?",
            "report.what_if(tau=[0.6, 0.7, 0.8], failure_budget=[0.05, 0.1])",
        ),
        (
            "Which cells stand highest above the budget?",
            'explore.top(report.table("cards"), by="upper", n=5)',
        ),
        (
            "Which reruns failed, and do they fall far below the bar? Draw a window over the points.",
            'chart.linked(report.table("failures"), x="score", y="cell", colour="audit")',
        ),
    ),
)

run = STUDY.run

__all__ = ["STUDY", "CellAudit", "Params", "SizeParams", "run"]
