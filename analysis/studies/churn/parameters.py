"""What can be set in a churn decomposition; with a rule file, what was written beforehand."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from analysis.parameters import CONFIG
from analysis.stats import ItemTest

BINS = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]


class Params(BaseModel):
    """Parameters of a churn decomposition. A change is candidate minus baseline, in shares of correct samples."""

    model_config = CONFIG

    baseline: str = Field("baseline", description="model that is the old version")
    candidate: str = Field("candidate", description="model that is the new version")
    method: Literal["corrected", "paper"] = Field("corrected", description="whose classes the gate reads")
    test: ItemTest = Field("boschloo", description="test of one item's change (corrected)")
    fdr: float = Field(0.05, ge=1e-6, lt=0.5, description="false discovery rate over the items (corrected)")
    cut: float = Field(1.96, gt=0, le=20, description="an index beyond it is a reliable change")
    cut_conservative: float = Field(2.58, gt=0, le=20, description="the stricter cut, shown beside it")
    population: Literal["analysable", "full"] = Field(
        "analysable", description="items that SD and reliability of the corrected index are both taken over"
    )
    reliability: Literal["icc", "split-half"] = Field("icc", description="reliability of the corrected index")
    known_reliability: list[float] | None = Field(
        None,
        min_length=2,
        max_length=2,
        description="reliability of baseline and candidate in the published index, when the samples to split are not there",
    )
    splits: int = Field(1000, ge=1, le=100_000, description="random split halves of the published index")
    min_valid: float = Field(0.6, ge=0, le=1, description="share of an item's attempts that must have a score")
    errors: Literal["exclude", "failure"] = Field("exclude", description="what an attempt without a score is")
    unmatched: Literal["refuse", "report"] = Field("refuse", description="what items of one version only do")
    bins: list[float] = Field(BINS, min_length=2, max_length=50, description="edges of the difficulty bins")
    moved: float = Field(
        0.2,
        ge=0.1,
        le=0.9,
        description="move of an item's true rate whose share of items is estimated, seen by a test or not",
    )
    max_deteriorated: float | None = Field(
        None, gt=0, lt=1, description="largest share of all items that may deteriorate; no gate when not set"
    )
    domain_floor: float | None = Field(
        None,
        ge=-1,
        le=1,
        description="smallest mean change that a domain may have, held against its whole interval; no gate when not set",
    )
    alpha: float = Field(0.05, ge=1e-4, lt=0.5, description="error rate of intervals, bounds and domain tests")
    bootstrap: int = Field(2000, ge=200, le=100_000, description="resamples, and relabellings of graded scores")
    seed: int = Field(42, ge=0, lt=2**32, description="seed of splits, resamples and relabellings")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.baseline == self.candidate:
            raise ValueError(f"baseline and candidate are both {self.baseline}: two versions are compared")
        if self.cut_conservative < self.cut:
            raise ValueError(f"cut_conservative = {self.cut_conservative:g} must not be below cut = {self.cut:g}")
        if self.bins[0] != 0 or self.bins[-1] != 1 or any(low >= high for low, high in pairwise(self.bins)):
            raise ValueError("bins must rise from 0 to 1")
        if self.known_reliability is not None and not all(0 < r < 1 for r in self.known_reliability):
            raise ValueError("known_reliability holds two numbers strictly between 0 and 1")
        return self


class SizeParams(BaseModel):
    """Questions about the number of samples an item needs."""

    model_config = CONFIG

    from_: float = Field(0.5, ge=0, le=1, description="the item's true rate in the baseline")
    to: float = Field(0.9, ge=0, le=1, description="its true rate in the candidate")
    k: int = Field(10, ge=1, le=199, description="samples of the item in each version")
    alpha: float = Field(0.05, ge=1e-12, lt=0.5, description="level of the item's test, what the family leaves of it")
    power: float = Field(0.80, gt=0, lt=1, description="probability of finding the change")
    test: ItemTest = Field("boschloo", description="test of one item's change")

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.from_ == self.to:
            raise ValueError(f"from and to are both {self.to:g}: an item that did not change cannot be found")
        if self.power <= self.alpha:
            raise ValueError(f"power = {self.power:g} must be above alpha = {self.alpha:g}")
        return self
