"""From a table of attempts to groups of severity scores: one vector a model, on named prompts, every loss counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.errors import Fault, InputError, ParameterError, close_match, plain
from analysis.inputs import Input
from analysis.readers.canonical import ITEM_NAMES, MODEL_NAMES, STATUS
from analysis.schema import Column, Demanded, Schema

from .parameters import Params

LARGEST = 1e100  # squares of larger scores have no float
ATTEMPT = "\x1f"  # parts prompt and attempt; no cell of a table holds it

SCORES = Schema(
    name="scores",
    measure="value",
    reads="attempts",
    columns=(
        Column(
            name="model",
            kind="text",
            help="What produced the output",
            required=True,
            aliases=(*MODEL_NAMES, "generator_2"),
        ),
        Column(
            name="item_id",
            kind="text",
            help="The prompt",
            required=True,
            aliases=(*ITEM_NAMES, "prompt", "seg_id", "@row", "@index"),
        ),
        Column(
            name="value",
            kind="number",
            help="Severity of the output",
            required=True,
            finite=False,
            aliases=("score", "severity", "loss", "nll", "surprisal", "#1"),
        ),
        STATUS,
        Column(name="attempt", kind="text", help="Tells several outputs for one prompt apart"),
        Column(name="scorer", kind="text", help="What gave the score; each scorer is analysed by itself"),
        Column(name="condition", kind="text", help="Under which condition; each is analysed by itself"),
        Column(name="cluster", kind="text", help="Prompts that belong together are resampled together"),
        Column(name="source", kind="text", help="Where the row comes from; shown on the page"),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The scores of all models under one scorer and condition.

    Attributes
    ----------
    values
        Model -> scores by prompt as they were given; prompts in one order for all models.
    probabilities
        Models whose scores all lie in [0, 1].
    lost
        Model -> rows without a finite score.
    """

    scorer: str | None
    condition: str | None
    values: Mapping[str, pd.Series]
    clusters: Mapping[str, str]
    probabilities: frozenset[str]
    lost: Mapping[str, int]

    @property
    def name(self) -> str:
        """Scorer and condition in words, empty when there is only one of each."""
        return ", ".join(part for part in (self.scorer, self.condition) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairScores:
    """Two models on the prompts that both have, in the order of the prompt ids.

    ``one`` and ``two`` are float64 of shape (n,); ``only_one`` and ``only_two`` count prompts that the other lacks.
    ``clusters`` are whole numbers of shape (n,), None where every prompt stands for itself.
    """

    names: tuple[str, str]
    one: npt.NDArray[np.float64]
    two: npt.NDArray[np.float64]
    only_one: int
    only_two: int
    clusters: npt.NDArray[np.int64] | None


def demands(params: Params) -> Demanded:
    """One row per model and prompt within scorer, condition and attempt."""
    columns = ("condition",) if params.condition is not None else ()
    return Demanded(columns=columns, key=("scorer", "condition", "model", "attempt", "item_id"))


def collect(scores: Input, params: Params) -> list[Group]:
    """Group the scores by scorer and condition, models and prompts sorted, so that the order of rows does not matter.

    Raises
    ------
    InputError
        Fewer than two models, or a row without a finite score where ``errors`` is stop.
    ParameterError
        When the condition asked for is not there.
    """
    frame = scores.frame
    bad = ~np.isfinite(frame["value"].to_numpy())
    if "status" in frame:
        bad |= ~frame["status"].isin(["", "scored"]).to_numpy()
    if bad.any() and params.errors == "stop":
        raise InputError(_lost_fault(scores, np.flatnonzero(bad)))
    text = {
        name: frame[name] if name in frame else pd.Series("", index=frame.index)
        for name in ("scorer", "condition", "attempt", "cluster")
    }
    table = pd.DataFrame(
        {
            "model": frame["model"],
            "item": np.where(text["attempt"] == "", frame["item_id"], frame["item_id"] + ATTEMPT + text["attempt"]),
            "cluster": np.where(
                text["cluster"] == "", np.where(text["attempt"] == "", "", frame["item_id"]), text["cluster"]
            ),
            "value": frame["value"],
            "scorer": text["scorer"],
            "condition": text["condition"],
            "bad": bad,
        }
    )
    if params.condition is not None:
        known = sorted(set(table["condition"]))
        if params.condition not in known:
            raise ParameterError(
                Fault(
                    place="-p condition",
                    what=f"no condition {plain(repr(params.condition))}",
                    fix=close_match(params.condition, known) + ".",
                )
            )
        table = table[table["condition"] == params.condition]
    _check_clusters(table)
    if table.loc[~table["bad"], "value"].abs().max() > LARGEST:
        what = f"a score is larger than {LARGEST:g}"
        raise InputError(
            Fault(file="scores", place="column value", what=what, fix="Divide all scores and bands by a common factor.")
        )
    groups = [
        _group(rows, (str(key[0]), str(key[1]))) for key, rows in table.groupby(["scorer", "condition"], sort=True)
    ]
    short = [group for group in groups if len(group.values) < 2]
    if short:
        have = ", ".join(plain(name) for name in short[0].values)
        where = f" ({plain(short[0].name)})" if short[0].name else ""
        raise InputError(
            Fault(
                file="scores",
                what=f"only the model {have} has scores{where}",
                fix="Two or more models on the same prompts are needed.",
            )
        )
    return groups


def pair_scores(group: Group, one: str, two: str) -> PairScores:
    """The prompts that two models share. Depends on nothing but the two."""
    first, second = group.values[one], group.values[two]
    shared = first.index.intersection(second.index).sort_values()
    labels = [group.clusters[item] for item in shared]
    clusters = None
    if any(labels):
        codes, _ = pd.factorize(np.array([label or f"\x00{item}" for label, item in zip(labels, shared, strict=True)]))
        clusters = codes.astype(np.int64)
    return PairScores(
        names=(one, two),
        one=first.loc[shared].to_numpy(dtype=float),
        two=second.loc[shared].to_numpy(dtype=float),
        only_one=len(first) - len(shared),
        only_two=len(second) - len(shared),
        clusters=clusters,
    )


def pairs(models: Sequence[str]) -> list[tuple[str, str]]:
    """All pairs in order."""
    return [(one, two) for i, one in enumerate(models) for two in models[i + 1 :]]


def _group(rows: pd.DataFrame, key: tuple[str, str]) -> Group:
    kept = rows[~rows["bad"]]
    values = {
        str(model): pd.Series(mine["value"].to_numpy(), index=mine["item"].to_numpy()).sort_index()
        for model, mine in kept.groupby("model", sort=True)
    }
    lost = rows[rows["bad"]].groupby("model").size()
    return Group(
        scorer=key[0] or None,
        condition=key[1] or None,
        values=values,
        clusters=dict(zip(kept["item"], kept["cluster"], strict=True)),
        probabilities=frozenset(model for model, series in values.items() if series.between(0, 1).all()),
        lost={str(model): int(count) for model, count in lost.items()},
    )


def _check_clusters(table: pd.DataFrame) -> None:
    """One prompt lies in one cluster, whichever model answered it."""
    counts = table.groupby(["scorer", "condition", "item"])["cluster"].nunique()
    split = counts[counts > 1]
    if len(split):
        item = str(split.index[0][2]).replace(ATTEMPT, ", attempt ")
        raise InputError(
            Fault(
                file="scores",
                place="column cluster",
                what=f"{len(split):,} prompts stand in more than one cluster, {plain(repr(item), width=60)} first",
                fix="Give every row of a prompt the same cluster, or none.",
            )
        )


def _lost_fault(scores: Input, rows: npt.NDArray[np.intp]) -> Fault:
    file, line = scores.place(int(rows[0]))
    return Fault(
        file=file,
        place=f"{line}, column value",
        what=f"{len(rows):,} of {scores.rows:,} rows {'has' if len(rows) == 1 else 'have'} no finite score, this one first",
        fix="Say what they mean: -p errors=exclude leaves them out, counted.",
    )
