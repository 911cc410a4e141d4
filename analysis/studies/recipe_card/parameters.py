"""What can be set in a recipe-card audit."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from analysis.parameters import CONFIG

LARGEST = 1e9  # a score beyond this is not one
OUTCOMES = frozenset({"seed", "score", "status", "audit", "n_items", "batch", "config"})
"""Columns that no cell and no claim may name: choosing by the outcome of a rerun certifies anything."""


class Params(BaseModel):
    """Parameters of a recipe-card audit; probabilities and scores are in the units of the data, never percent."""

    model_config = CONFIG

    tau: float = Field(0.70, description="the bar: a rerun that scores strictly below it is a failure")
    failure_budget: float = Field(
        0.10, ge=1e-4, le=0.999, description="largest rerun failure rate that may ship (epsilon)"
    )
    delta: float = Field(0.10, ge=1e-9, le=0.5, description="one-sided error rate of the bound")
    bars: list[float] = Field(
        [0.50, 0.55, 0.60, 0.70], min_length=1, max_length=12, description="bars of the sweep table"
    )
    cell: list[str] = Field(["model", "budget"], min_length=1, description="columns that name a recipe cell")
    claim: dict[str, str] | None = Field(
        None, description="what the card is for, such as {'dataset': 'IMDB'}: the gate reads that target audit"
    )
    require: Literal["all"] | list[dict[str, str]] = Field(
        "all", description="cells that the gate needs: all, or a list of column values"
    )
    errors: Literal["failure", "exclude"] = Field("failure", description="what a rerun without a score counts as")
    method: Literal["paper", "corrected"] = Field("paper", description="whose statuses the gate reads")
    family: Literal["none", "bonferroni", "holm"] = Field(
        "none", description="adjustment over the required cells (the corrected method uses holm for none)"
    )
    looks: Literal["fixed", "anytime"] = Field(
        "fixed", description="fixed: the number of reruns was set beforehand; anytime: it was not"
    )
    audit_size: int = Field(30, ge=2, description="reruns in the audit half of the held-out validation")
    splits: int = Field(1000, ge=1, le=100_000, description="random splits per cell in the held-out validation")
    seed: int = Field(0, ge=0, lt=2**63, description="seed of the random splits")
    chance_rate: float | None = Field(
        None, description="score of a constant predictor, such as the majority-class rate"
    )
    chance_margin: float = Field(
        0.02, ge=0, description="a bar must lie more than this above chance_rate (the paper's collapsed runs reach .52)"
    )
    score_range: list[float] = Field([0.0, 1.0], min_length=2, max_length=2, description="lowest and highest score")
    over_budget_count: int | None = Field(
        None, ge=1, description="failures that count as over budget, in place of the exact count (8 replays the paper)"
    )

    @model_validator(mode="after")
    def _inside_the_range(self) -> Self:
        low, high = self.score_range
        if not -LARGEST <= low < high <= LARGEST:
            raise ValueError(f"score_range must rise within ± {LARGEST:g}, got [{low:g}, {high:g}]")
        if self.score_range != [0.0, 1.0] and not {"tau", "bars"} <= self.model_fields_set:
            raise ValueError(
                "score_range was changed, so tau and bars must be given in its units; their defaults are for [0, 1]"
            )
        chance = [] if self.chance_rate is None else [self.chance_rate]
        for name, values in (("tau", [self.tau]), ("bars", self.bars), ("chance_rate", chance)):
            outside = [value for value in values if not low <= value <= high]
            if outside:
                raise ValueError(f"{name} = {outside[0]:g} is outside score_range [{low:g}, {high:g}]")
        for name, columns in (("cell", self.cell), ("claim", list(self.claim or {}))):
            if OUTCOMES & set(columns):
                raise ValueError(
                    f"{name} cannot name {sorted(OUTCOMES & set(columns))[0]}: it tells reruns apart, not recipes"
                )
        if self.claim is not None and not all(
            value.strip() for value in (*self.claim, *self.claim.values(), *([""] if not self.claim else []))
        ):
            raise ValueError("claim names nothing; leave it out, or name a column and its value")
        if len(set(self.cell)) < len(self.cell):
            raise ValueError("cell names a column twice")
        if len(set(self.bars)) < len(self.bars):
            raise ValueError("bars names a bar twice")
        return self


class SizeParams(BaseModel):
    """Questions about the number of reruns."""

    model_config = CONFIG

    budget: float = Field(0.10, ge=1e-4, le=0.999, description="largest rerun failure rate that may ship (epsilon)")
    delta: float = Field(0.10, ge=1e-9, le=0.5, description="one-sided error rate of the bound")
    failures: int = Field(0, ge=0, le=1000, description="failures to allow for")
    rate: float | None = Field(None, ge=0, lt=1, description="true failure rate to plan for, with --power")
    power: float | None = Field(None, gt=0, lt=1, description="probability that the card ships at that rate")

    @model_validator(mode="after")
    def _both_or_neither(self) -> Self:
        if (self.rate is None) != (self.power is None):
            raise ValueError("rate and power go together")
        if self.rate is not None and self.rate >= self.budget:
            raise ValueError(
                f"rate = {self.rate:g} is not below the budget {self.budget:g}: no number of reruns is enough"
            )
        return self
