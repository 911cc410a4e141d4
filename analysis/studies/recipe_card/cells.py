"""From a table of reruns to cells: one array of scores per (cell, audit, dataset), or every fault with its line."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.errors import Fault, InputError, ParameterError, plain, raise_all
from analysis.inputs import Input
from analysis.schema import Column, Demanded, Schema

from .parameters import Params

RUNS = Schema(
    name="runs",
    measure="score",
    reads="reruns",
    columns=(
        Column(
            name="model",
            kind="text",
            help="The recipe's model",
            aliases=("model_name", "base_model", "name", "@key", "@file"),
        ),
        Column(
            name="budget", kind="text", help="Fine-tuning examples", aliases=("n", "n_train", "train_size", "examples")
        ),
        Column(
            name="seed",
            kind="text",
            help="What tells two reruns of a cell apart",
            required=True,
            aliases=("run", "run_id", "trial", "replicate", "random_seed", "dir", "id", "@index", "@row"),
        ),
        Column(
            name="score",
            kind="number",
            help="The final score of the rerun; empty when there is none",
            required=True,
            aliases=("accuracy", "acc", "f1", "value", "result", "test_score", "eval_score", "metric", "#1"),
        ),
        Column(
            name="status",
            kind="choice",
            help="How the rerun ended; anything but ok is a failure",
            choices=("ok", "crashed", "failed", "killed", "running"),
        ),
        Column(
            name="audit",
            kind="choice",
            help="Which audit the rerun belongs to",
            choices=("calibration", "target"),
        ),
        Column(name="dataset", kind="text", help="What the score was measured on"),
        Column(name="n_items", kind="number", help="Items behind the score", low=1),
        Column(name="batch", kind="text", help="Reruns that shared a machine or a day"),
        Column(name="config", kind="text", help="Digest or text of the settings; must not vary inside a cell"),
        Column(name="metric", kind="text", help="Name of the score"),
        Column(name="source", kind="text", help="Where the row comes from; shown on the page"),
    ),
)

COUNTS = Schema(
    name="counts",
    measure="k",
    columns=(
        Column(name="tau", kind="number", help="The bar", required=True, low=0, high=1),
        Column(name="k", kind="number", help="Reruns below the bar", required=True, low=0),
        Column(name="n", kind="number", help="Reruns", required=True, low=1),
        Column(name="audit", kind="choice", help="Which audit", choices=("calibration", "target")),
        Column(name="model", kind="text", help="Recipe", required=True),
        Column(name="dataset", kind="text", help="What was measured"),
        Column(name="pair", kind="text", help="The same text on the two audits that belong together"),
        Column(name="source", kind="text", help="Where the row comes from; shown on the page"),
    ),
)

NOT_RECIPE = frozenset(column.name for column in RUNS.columns) - {"model", "budget"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The reruns of one cell in one audit.

    Attributes
    ----------
    name
        The cell in words, unique: with the data set and what else tells audits of one cell apart.
    cell, claim
        The columns that name the cell, and those that the claim names, with their values.
    audit, dataset
        ``calibration`` or ``target``; None where no data set is named.
    scores
        float64, shape (n,), in the order of the seeds; NaN where a rerun has no score that counts.
    seeds
        The seed of every score, shape (n,).
    recipe
        Further columns that do not vary inside the cell.
    n_items
        Smallest number of items behind a score, None when not given.
    batches
        Number of distinct batches, None when not given.
    alike
        Seeds that differ from another one in spelling only, as 3 and 03 do.
    """

    name: str
    cell: Mapping[str, str]
    claim: Mapping[str, str]
    audit: str
    dataset: str | None
    scores: npt.NDArray[np.float64]
    seeds: tuple[str, ...]
    recipe: Mapping[str, str]
    n_items: int | None
    batches: int | None
    alike: int

    @property
    def without_score(self) -> int:
        """Reruns without a score that counts."""
        return int(np.isnan(self.scores).sum())


def cell_name(cell: Mapping[str, str]) -> str:
    """The values of a cell's columns, joined."""
    return " / ".join(cell.values())


def demands(params: Params) -> Demanded:
    """The columns that ``cell`` and ``claim`` name, a seed once in each, scores inside the range."""
    low, high = params.score_range
    return Demanded(
        key=(*params.cell, *(params.claim or {}), "audit", "dataset", "seed"),
        ranges={"score": (low, high)},
        range_hint="Correct it, or say what the range is: -p 'score_range=[LOW, HIGH]', with tau and bars in its units",
        columns=(*params.cell, *(name for name in params.claim or {} if name != "dataset")),
        hint="or name other columns for the cell: -p 'cell=[\"model\"]'.",
    )


def counts_demands(_params: Params) -> Demanded:
    """Published counts stand once for each model, data set, pair, audit and bar."""
    return Demanded(key=("model", "dataset", "pair", "audit", "tau"))


def collect(runs: Input, params: Params) -> list[Cell]:
    """Group the reruns into cells, in an order that does not depend on the order of the rows.

    Raises
    ------
    InputError
        Mixed settings in a cell.
    """
    frame = runs.frame
    faults: list[Fault] = []
    keys = [*params.cell, *(name for name in (params.claim or {}) if name not in params.cell)]
    blank = pd.Series("", index=frame.index)
    audit = frame["audit"].replace("", "calibration") if "audit" in frame else blank.replace("", "calibration")
    # grouped by values, not by names: a column of the file may be called anything
    by = [*(frame.get(name, blank) for name in keys), audit, frame.get("dataset", blank)]
    grouped = frame.groupby([column.to_numpy() for column in by], sort=False)
    cells = []
    for key, rows in grouped:
        faults += _config_faults(runs, rows)
        named = dict(zip(keys, map(str, key), strict=False))
        cells.append(_cell(rows, named, str(key[-2]), str(key[-1]), params))
    raise_all(InputError, faults)
    ordered = sorted(
        cells, key=lambda c: (c.audit, *(natural(v) for v in (*c.cell.values(), c.dataset or "", *c.claim.values())))
    )
    return [replace(cell, name=_unique_name(cell, ordered)) for cell in ordered]


def required(cells: Sequence[Cell], params: Params) -> list[Mapping[str, str]]:
    """The cells that the gate reads, in order.

    Raises
    ------
    ParameterError
        When ``require`` names a column or a value that no cell has.
    """
    distinct: list[Mapping[str, str]] = []
    for cell in cells:
        if cell.cell not in distinct:
            distinct.append(cell.cell)
    if isinstance(params.require, str):
        return sorted(distinct, key=lambda cell: tuple(map(natural, cell.values())))
    faults = []
    chosen: list[Mapping[str, str]] = []
    for wanted in params.require:
        matches = [cell for cell in distinct if all(cell.get(name) == value for name, value in wanted.items())]
        if not matches:
            known = "; ".join(plain(cell_name(cell), width=60) for cell in distinct[:8])
            faults.append(Fault(place="-p require", what=f"no cell matches {plain(wanted)}", fix=f"Cells: {known}."))
        chosen += [cell for cell in matches if cell not in chosen]
    raise_all(ParameterError, faults)
    return chosen


def _cell(rows: pd.DataFrame, named: Mapping[str, str], audit: str, dataset: str, params: Params) -> Cell:
    rows = rows.iloc[sorted(range(len(rows)), key=lambda i: natural(str(rows["seed"].iloc[i])))]
    scores = rows["score"].to_numpy(dtype=float, copy=True)
    if "status" in rows:
        scores[~rows["status"].isin(["", "ok"]).to_numpy()] = math.nan
    varying = {*NOT_RECIPE, *named}
    recipe = {
        name: str(rows[name].iloc[0]) for name in rows.columns if name not in varying and rows[name].nunique() == 1
    }
    items = rows["n_items"].min() if "n_items" in rows else math.nan
    return Cell(
        name="",
        cell={name: named[name] for name in params.cell},
        claim={name: named[name] for name in params.claim or {}},
        audit=audit,
        dataset=dataset or None,
        scores=scores,
        seeds=tuple(map(str, rows["seed"])),
        recipe=recipe,
        n_items=None if math.isnan(items) else int(items),
        batches=rows["batch"].nunique() if "batch" in rows else None,
        alike=len(rows) - rows["seed"].map(folded).nunique(),
    )


def _unique_name(cell: Cell, cells: Sequence[Cell]) -> str:
    """The cell's values; with the data set where it has several audits, with the claim's columns where that is not enough."""
    name = cell_name(cell.cell)
    alike = [other for other in cells if other.cell == cell.cell and other.audit == cell.audit]
    if cell.audit == "target":
        name += f" on {cell.dataset or 'the target'}"
    elif len({other.dataset for other in alike}) > 1:
        name += f" on {cell.dataset or 'no data set'}"
    if len([other for other in alike if other.dataset == cell.dataset]) > 1:
        name += f" ({', '.join(f'{key} = {value}' for key, value in cell.claim.items())})"
    return name


def _config_faults(runs: Input, rows: pd.DataFrame) -> list[Fault]:
    if "config" not in rows or rows["config"].nunique() == 1:
        return []
    first = rows["config"].iloc[0]
    row = next(row for row, config in zip(rows.index, rows["config"], strict=True) if config != first)
    file, line = runs.place(row)
    return [
        Fault(
            file=file,
            place=f"{line}, column config",
            what=f"{plain(repr(rows['config'][row]), width=60)} differs from {plain(repr(first), width=60)} in the same cell",
            fix="Reruns of a cell share all settings but the seed; add the column that differs to `cell`.",
        )
    ]


def folded(text: str) -> str:
    """A spelling that near-duplicates share: case, width and accents of letters aside, numbers by their value.

    >>> folded("BERT"), folded("03"), folded("500.0")
    ('bert', '3.0', '500.0')
    """
    try:
        return str(float(text))
    except ValueError:
        return unicodedata.normalize("NFKC", text).casefold().replace(" ", "")


def natural(text: str) -> tuple[int, float, str]:
    """Numbers in order of size, then text."""
    try:
        value = float(text)
    except ValueError:
        return (1, 0.0, text)
    return (0, value, text) if math.isfinite(value) else (1, 0.0, text)
