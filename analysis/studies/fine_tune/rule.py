"""The written decision rule: clauses in a form that a machine can evaluate, none of them netted against another."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from analysis.parameters import CONFIG


class TestSet(BaseModel):
    """The frozen test set; a digest or a number of items that does not match is an input error."""

    __test__ = False  # no test of pytest's
    model_config = CONFIG

    name: str | None = None
    items: int | None = Field(None, ge=1)
    sha256: str | None = None


class Primary(BaseModel):
    """The interval of the paired difference lies above ``margin`` against every baseline; a negative one is non-inferiority."""

    model_config = CONFIG

    name: str
    margin: float = 0.0
    against: Literal["all"] | list[str] = "all"


class RateFloor(BaseModel):
    """A share of passed items of the candidate is at least a limit."""

    model_config = CONFIG

    kind: Literal["rate-floor"]
    metric: str
    at_least: float = Field(ge=0, le=1)


class SliceFloor(BaseModel):
    """No slice with enough items has its whole interval below minus ``drop``."""

    model_config = CONFIG

    kind: Literal["slice-floor"]
    min_items: int = Field(50, ge=2)
    drop: float = Field(gt=0)


class SuiteDrop(BaseModel):
    """A suite drops by no more than ``drop``, and the upper bound of the drop stays under ``upper``."""

    model_config = CONFIG

    kind: Literal["suite-drop"]
    suite: str
    drop: float = Field(ge=0)
    upper: float = Field(gt=0)


class NotBelow(BaseModel):
    """A rate on a suite is not below that of the reference; with a margin it is non-inferior."""

    model_config = CONFIG

    kind: Literal["not-below"]
    suite: str
    metric: str | None = None
    reference: str
    margin: float | None = Field(None, gt=0)


class JudgeCalibrated(BaseModel):
    """The judge's verdicts are held against at least so many human labels."""

    model_config = CONFIG

    kind: Literal["judge-calibrated"]
    labels: int = Field(ge=1)


class Latency(BaseModel):
    """A quantile of the candidate's latency is within a limit in seconds."""

    model_config = CONFIG

    kind: Literal["latency"]
    quantile: float = Field(0.95, gt=0, lt=1)
    at_most_s: float = Field(gt=0)


class CostRatioLimit(BaseModel):
    """The candidate's cost per 1,000 successes is within a share of the reference's."""

    model_config = CONFIG

    kind: Literal["cost-per-1000-successes"]
    at_most_ratio: float = Field(gt=0)


Guardrail = Annotated[RateFloor | SliceFloor | SuiteDrop | NotBelow | JudgeCalibrated, Field(discriminator="kind")]
Operation = Annotated[Latency | CostRatioLimit, Field(discriminator="kind")]


class Decision(BaseModel):
    """A decision rule: the primary metric, guardrails and operations, and what happens otherwise."""

    model_config = CONFIG

    decision_rule: str
    test_set: TestSet | None = None
    compare_against: list[str] | None = Field(None, min_length=1)
    primary_metric: Primary
    guardrails: list[Guardrail] = []
    operations: list[Operation] = []
    otherwise: str
