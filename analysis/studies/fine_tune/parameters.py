"""What can be set in a fine-tune comparison; the decision rule is one of them."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import BaseModel, Field, model_validator

from analysis.parameters import CONFIG

from .rule import Decision, Primary

RULE_LEVEL = 0.95


class Prices(BaseModel):
    """Currency per million tokens."""

    model_config = CONFIG

    input: float = Field(ge=0, le=1e6)
    output: float = Field(ge=0, le=1e6)


class Params(BaseModel):
    """Parameters of a fine-tune comparison. A difference is candidate minus baseline, in the unit of the scores."""

    model_config = CONFIG

    candidate: str = Field("candidate", description="the tuned system")
    baselines: list[str] | None = Field(
        None,
        min_length=1,
        description="what could ship without it, the reference first; every other system when not set",
    )
    decision: Decision | None = Field(
        None, description="the decision rule; superior to every baseline, and nothing else, when not set"
    )
    metric: str = Field("value", description="the metric that is compared, where the rule names none")
    level: float = Field(0.95, gt=0.5, lt=1, description="level of the two-sided intervals")
    method: Literal["corrected", "paper"] = Field("corrected", description="whose outcomes the gate reads")
    errors: Literal["failure", "exclude"] = Field("failure", description="what an attempt without a score is")
    unmatched: Literal["refuse", "report"] = Field("refuse", description="what items that some systems lack do")
    cluster: str | None = Field(None, description="column of the items that belong together")
    min_clusters: int = Field(6, ge=2, description="clusters that an interval needs")
    score_range: list[float] | None = Field(
        None,
        min_length=2,
        max_length=2,
        description="smallest and largest possible score; [0, 1] where all scores lie in it",
    )
    prices: Prices | None = Field(
        None, description="currency per million input and output tokens, where no cost is given"
    )
    fixed_cost: float = Field(0.0, ge=0, le=1e12, description="training and hosting of the candidate per period")
    volume: float | None = Field(None, ge=1e-3, description="requests per period, over which the fixed cost is spread")
    bootstrap: int | None = Field(
        None, ge=1000, le=1_000_000, description="resamples; the ideal bootstrap when not set"
    )
    judge_family: str | None = Field(None, description="model family of the judge")
    candidate_family: str | None = Field(None, description="model family of the candidate")
    teacher_family: str | None = Field(None, description="model family that made the training data")
    seed: int = Field(0, ge=0, lt=2**63, description="seed of the resamples")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        named = self.decision.compare_against if self.decision is not None else None
        for what, names in (("baselines", self.baselines), ("compare_against", named)):
            if names is not None and self.candidate in names:
                raise ValueError(f"the candidate {self.candidate} is among the baselines ({what})")
            if names is not None and len(set(names)) < len(names):
                raise ValueError(f"{what} names a system twice")
        if self.decision is not None and self.baselines is not None and self.baselines != named:
            raise ValueError("baselines differ from what the rule compares against: leave them out, the rule decides")
        if self.decision is not None:
            if self.level < RULE_LEVEL:
                raise ValueError(f"level = {self.level:g}: a written rule is read at {RULE_LEVEL:g} or more")
            if any(getattr(clause, "reference", None) == self.candidate for clause in self.decision.guardrails):
                raise ValueError(f"a clause holds the candidate {self.candidate} against itself")
        if self.score_range is not None and not self.score_range[0] < self.score_range[1]:
            raise ValueError("score_range is a smallest and a larger score")
        if self.fixed_cost > 0 and self.volume is None:
            raise ValueError("fixed_cost needs volume: the requests it is spread over")
        return self

    @property
    def rule(self) -> Decision:
        """The decision rule, or the default one."""
        if self.decision is not None:
            return self.decision
        return Decision(
            decision_rule="superior to every baseline",
            primary_metric=Primary(name=self.metric),
            otherwise="do not ship",
        )
