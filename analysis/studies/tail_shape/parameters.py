"""What can be set in a tail-shape protocol; with a rule file, what was registered beforehand."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from analysis.parameters import CONFIG

MIN_DISTINCT = 30
MOST_STEPS = 200


class Params(BaseModel):
    """Parameters of a tail-shape protocol. The δ are on the scale after ``transform``."""

    model_config = CONFIG

    delta_mean: float = Field(0.10, gt=0, description="half width of the band for the mean difference (G1)")
    delta_tvar: float = Field(0.20, gt=0, description="half width of the band for the TVaR difference (G2)")
    tvar_level: float = Field(0.90, gt=0, lt=1, description="level of the tail value at risk (G2)")
    quantile: float = Field(0.95, gt=0, lt=1, description="quantile of the scores that is the threshold")
    scan: list[float] = Field(
        [0.95, 0.99], min_length=2, max_length=2, description="lowest and highest quantile of the scan"
    )
    scan_step: float = Field(0.01, ge=0.001, description="step of the scan in quantile")
    band: float = Field(0.02, ge=0.001, lt=1, description="how far around the threshold G5 looks, in quantile")
    stability_tolerance: float = Field(
        0.05, gt=0, description="largest change of the tail index that the paper's G5 allows"
    )
    n_star: Literal["paper-default", "power"] = Field(
        "paper-default", description="exceedances that G3 asks of each model: 500, or from effect, alpha and power"
    )
    effect: float = Field(0.10, ge=0.001, le=5, description="difference of the tail index that n_star power plans for")
    alpha: float = Field(0.05, ge=1e-4, lt=0.5, description="two-sided error rate of the tests")
    power: float = Field(0.80, gt=0, lt=1, description="power that n_star power plans for")
    floor: float = Field(0.10, ge=0, description="smallest difference of the tail index that matters (P2)")
    transform: Literal["auto", "none", "logit"] = Field("auto", description="auto: logit when all scores lie in [0, 1]")
    bootstrap: int = Field(2000, ge=200, le=100_000, description="resamples of prompts")
    gof_bootstrap: int = Field(999, ge=99, le=100_000, description="parametric resamples of the goodness-of-fit test")
    method: Literal["corrected", "paper"] = Field("corrected", description="whose outcomes the gate reads")
    direction: Literal["higher-is-worse", "lower-is-worse"] = Field(
        "higher-is-worse", description="which end of the scores is severe"
    )
    errors: Literal["stop", "exclude"] = Field("stop", description="what a row without a finite score does")
    condition: str | None = Field(None, description="the one condition to analyse; all, each by itself, when not set")
    max_tied: float = Field(0.01, ge=0, lt=1, description="share of tied exceedances that makes a pair undecided")
    min_distinct: int = Field(MIN_DISTINCT, ge=2, description="distinct exceedances that a fit needs")
    min_clusters: int = Field(30, ge=2, description="clusters that a resample of clusters needs")
    diagnose: bool = Field(False, description="evaluate the clauses behind the first failure too, marked so")
    require: Literal["all"] | list[list[str]] = Field(
        "all", description="pairs that the gate needs: all, or a list of two names"
    )
    seed: int = Field(0, ge=0, lt=2**63, description="seed of the resamples")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        low, high = self.scan
        if not 0 < low <= self.quantile <= high < 1:
            raise ValueError(f"scan = [{low:g}, {high:g}] must hold quantile = {self.quantile:g} and lie in (0, 1)")
        if not 0 < self.quantile - self.band < self.quantile + self.band < 1:
            raise ValueError(
                f"quantile = {self.quantile:g} ± band = {self.band:g} must lie in (0, 1); a band below {1 - self.quantile:g} does"
            )
        if self.power <= self.alpha:
            raise ValueError(f"power = {self.power:g} must be above alpha = {self.alpha:g}")
        if (high - low) / self.scan_step > MOST_STEPS:
            raise ValueError(f"scan_step = {self.scan_step:g} gives more than {MOST_STEPS} thresholds")
        if self.require != "all" and any(len(set(pair)) != 2 for pair in self.require):
            raise ValueError("require lists pairs of two different models")
        return self


class SizeParams(BaseModel):
    """Questions about the number of exceedances and prompts."""

    model_config = CONFIG

    effect: float = Field(0.10, ge=0.001, le=5, description="difference of the tail index to tell")
    xi: float = Field(0.0, gt=-0.5, lt=1, description="tail index to plan at")
    alpha: float = Field(0.05, gt=0, lt=0.5, description="two-sided error rate")
    power: float = Field(0.80, gt=0, lt=1, description="probability of telling it")
    quantile: float = Field(0.95, gt=0, lt=1, description="quantile that is the threshold")
    pairs: int = Field(1, ge=1, le=10_000, description="pairs that share the error rate (Bonferroni)")

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.power <= self.alpha:
            raise ValueError(f"power = {self.power:g} must be above alpha = {self.alpha:g}")
        return self
