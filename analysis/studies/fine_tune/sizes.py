"""How many items a comparison needs, or what the items there are can show."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, Field, model_validator

from analysis.parameters import CONFIG
from analysis.present.format import level, number, prob
from analysis.present.prose import Sentence
from analysis.present.table import Table, TableColumn
from analysis.stats import items_for_power, items_needed, mcnemar_power, minimum_detectable_effect

SIZES = (100, 200, 300, 500, 1000, 2000, 5000)


class SizeParams(BaseModel):
    """Questions about the number of items."""

    model_config = CONFIG

    gain: float = Field(0.08, ge=0, lt=1, description="share of items that only the candidate passes")
    loss: float = Field(0.03, ge=0, lt=1, description="share of items that only the baseline passes")
    margin: float = Field(0.0, gt=-1, lt=1, description="what the difference must exceed; negative is non-inferiority")
    alpha: float = Field(0.05, gt=0, lt=0.5, description="two-sided error rate")
    power: float = Field(0.80, gt=0, lt=1, description="probability of showing it")
    exact: bool = Field(False, description="items for the exact McNemar test, which asks for any difference")
    items: int | None = Field(None, ge=1, le=10**7, description="items there are: answers what they can detect")
    discordant: float | None = Field(
        None, gt=0, le=1, description="share of items that the two answer differently, for items"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.gain + self.loss > 1:
            raise ValueError(f"gain + loss = {self.gain + self.loss:g} must be at most 1")
        if self.gain + self.loss == 0:
            raise ValueError("gain and loss are both 0: no item tells the two apart")
        if self.exact and (self.margin != 0 or self.gain <= self.loss):
            raise ValueError(
                "exact plans McNemar's test, which asks for any difference: give a gain above the loss, and no margin"
            )
        if self.items is None and self.gain - self.loss <= self.margin:
            raise ValueError(
                f"gain − loss = {self.gain - self.loss:g} does not exceed margin = {self.margin:g}: no number of items shows it"
            )
        if (self.items is None) != (self.discordant is None):
            raise ValueError("items and discordant belong together")
        if self.power <= self.alpha:
            raise ValueError(f"power = {self.power:g} must be above alpha = {self.alpha:g}")
        return self


def size(params: SizeParams) -> tuple[Sentence, Table]:
    """The answer in a sentence, and what other numbers of items could show."""
    text = _detectable(params) if params.items is not None and params.discordant is not None else _needed(params)
    share = params.discordant or params.gain + params.loss
    rows = [
        (
            n,
            None if params.discordant else mcnemar_power(n, params.gain, params.loss, alpha=params.alpha, form="exact"),
            None if params.discordant else mcnemar_power(n, params.gain, params.loss, alpha=params.alpha, form="mid-p"),
            minimum_detectable_effect(n, share, alpha=params.alpha, power=params.power),
        )
        for n in sorted({*SIZES, *([params.items] if params.items else [])})
    ]
    return Sentence(text), Table(
        id="size",
        title="What a number of items can show.",
        columns=(
            TableColumn(key="items", label="items", kind="count"),
            TableColumn(key="exact", label="exact", kind="prob", group="power of McNemar"),
            TableColumn(key="mid_p", label="mid-p", kind="prob", group="power of McNemar"),
            TableColumn(key="mde", label="detectable difference", kind="number"),
        ),
        rows=tuple(rows),
        notes=("A dash: power needs gain and loss, detection their sum alone.",) if params.discordant else (),
    )


def _needed(params: SizeParams) -> str:
    what = f"gains of {level(params.gain)} and losses of {level(params.loss)} of the items"
    if params.exact:
        found = items_for_power(params.gain, params.loss, alpha=params.alpha, power=params.power, form="exact")
        return (
            f"{found.lasting:,} items show any difference by the exact McNemar test with power {level(params.power)} ({what}, two-sided "
            f"{level(params.alpha)})."
        )
    needed = items_needed(params.gain, params.loss, margin=params.margin, alpha=params.alpha, power=params.power)
    against = "above 0" if params.margin == 0 else f"above {number(params.margin)}"
    return f"{needed:,} items show a difference {against} with power {level(params.power)} ({what}, two-sided {level(params.alpha)})."


def _detectable(params: SizeParams) -> str:
    n, share = params.items or 1, params.discordant or 1.0
    effect = minimum_detectable_effect(n, share, alpha=params.alpha, power=params.power)
    if effect is None:
        return f"{n:,} items with {prob(share)} of them discordant cannot show any difference with power {level(params.power)}."
    return f"{n:,} items with {prob(share)} of them discordant detect a difference of {number(effect)} with power {level(params.power)}."
