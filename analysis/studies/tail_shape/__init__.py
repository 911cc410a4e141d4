"""Tail-shape protocol: does the shape of the severity tail tell models apart beyond mean and tail mass, or is it noise?

>>> import numpy as np, pandas as pd
>>> rng = np.random.default_rng(1)
>>> frame = pd.DataFrame({"model": ["a"] * 400 + ["b"] * 400, "item_id": [*range(400)] * 2, "value": rng.exponential(size=800)})
>>> run({"scores": frame}, Params(bootstrap=200)).gate.verdict
'undecided'
"""

from __future__ import annotations

from collections.abc import Mapping

from analysis.results import StudyResult
from analysis.study import InputSpec, Study

from .parameters import Params, SizeParams
from .protocol import PairUnit, check, decide
from .scores import SCORES, demands
from .sizes import size


def files(_: StudyResult) -> Mapping[str, str]:
    """A tail-shape report has no files of its own."""
    return {}


STUDY = Study(
    slug="tail-shape",
    title="Tail-shape protocol",
    question="Does the shape of the severity tail tell these models apart beyond mean and tail mass, or is it noise?",
    decides="a pair passes when mean and tail mass are alike, the fits stand, and the tail indices differ by more than the floor",
    inputs=(
        InputSpec(
            schema=SCORES,
            help="one row per model and prompt: severity scores, higher is worse unless direction says otherwise",
            demands=demands,
        ),
    ),
    params=Params,
    decide=decide,
    check=check,
    notebook="tail_shape_protocol.ipynb",
    example={"scores": ("tail_shape/controls.csv.gz",)},
    files=files,
    size_params=SizeParams,
    size=size,
    next_questions=(
        (
            "Would another threshold decide otherwise?",
            "report.what_if(quantile=[0.9, 0.95], scan=[[0.9, 0.99]])",
        ),
        (
            'Which prompts lie furthest out in one tail? For one of them: `explore.where(report.table("extremes"), tail="…")`.',
            'explore.top(report.table("extremes"), by="excess")',
        ),
        (
            "How do the tails compare? Draw a window over the points.",
            'chart.linked(report.table("fits"), x="threshold", y="xi", colour="model")',
        ),
    ),
)

run = STUDY.run

__all__ = ["STUDY", "PairUnit", "Params", "SizeParams", "run"]
