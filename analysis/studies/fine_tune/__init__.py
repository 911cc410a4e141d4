"""Fine-tune comparison: is the tuned model better than what could ship without it, paired, under a written rule?

>>> import pandas as pd
>>> frame = pd.DataFrame({"model": ["production"] * 400 + ["candidate"] * 400, "item_id": [*range(400)] * 2,
...                       "value": [0] * 80 + [1] * 320 + [1] * 400})
>>> run({"items": frame}, Params()).gate.verdict
'pass'
"""

from __future__ import annotations

from collections.abc import Mapping

from analysis.results import StudyResult
from analysis.study import InputSpec, Study

from .comparison import ComparisonUnit, check, decide
from .parameters import Params
from .schemas import (
    HUMAN,
    ITEMS,
    JUDGEMENTS,
    SUITES,
    TRAINING,
    human_demands,
    item_demands,
    judgement_demands,
    suite_demands,
    training_demands,
)
from .sizes import SizeParams, size


def files(_: StudyResult) -> Mapping[str, str]:
    """A fine-tune report has no files of its own."""
    return {}


STUDY = Study(
    slug="fine-tune",
    title="Fine-tune comparison",
    question="Is the tuned model better than what could ship without it, did it break anything, and does the written rule say ship?",
    decides="every clause of the written rule is shown by paired evidence; a contradicted clause refuses",
    inputs=(
        InputSpec(
            schema=ITEMS,
            help="one row per system, item and attempt on the frozen test set",
            demands=item_demands,
        ),
        InputSpec(
            schema=SUITES,
            help="the same for adjacent tasks and safety, by suite",
            required=False,
            demands=suite_demands,
        ),
        InputSpec(
            schema=JUDGEMENTS, help="a judge's verdicts in both orders", required=False, demands=judgement_demands
        ),
        InputSpec(schema=HUMAN, help="human labels of some of the judged pairs", required=False, demands=human_demands),
        InputSpec(schema=TRAINING, help="training texts, digests or groups", required=False, demands=training_demands),
    ),
    params=Params,
    decide=decide,
    check=check,
    notebook="fine_tune_comparison.ipynb",
    example={"items": ("fine_tune/items.csv.gz",)},
    files=files,
    size_params=SizeParams,
    size=size,
    rule_parameter="decision",
    next_questions=(
        (
            "Would another level of confidence, or the guide's method, decide otherwise?",
            'report.what_if(level=[0.9, 0.95, 0.99], method=["corrected", "paper"])',
        ),
        (
            'Which items did the candidate lose? All of them: `explore.where(report.table("items"), change=-1)`.',
            'explore.top(report.table("items"), by="change", smallest=True)',
        ),
        (
            "Where are they? Draw a window over the points.",
            'chart.linked(report.table("items"), x="change", y="slices")',
        ),
    ),
)

run = STUDY.run

__all__ = ["STUDY", "ComparisonUnit", "Params", "SizeParams", "run"]
