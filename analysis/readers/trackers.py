"""Training runs out of experiment trackers: ``mlflow.search_runs`` as CSV or Parquet, and exports of W&B as CSV or JSON."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.errors import close_match, plain
from analysis.readers.account import Account
from analysis.readers.canonical import RERUNS, Rows
from analysis.readers.choices import ALL, Choices
from analysis.readers.json_records import loads
from analysis.readers.raw import RawTable, cell_text
from analysis.readers.tabular import raw_tables
from analysis.readers.values import mapping, number, score_cell

STATES = {"finished": "ok", "scheduled": "running"}  # the other states are called as in the table
MEANT = frozenset({"model", "budget", "seed", "task"})  # settings that mean the column of that name
SELECTED = re.compile(r"best|max|val", re.IGNORECASE)
WANDB_OWN = frozenset(
    {"ID", "Name", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep", "Group", "Job Type"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One training run; ``told`` is whether the export tells settings from results."""

    id: str
    state: str
    settings: Mapping[str, str]
    metrics: Mapping[str, str]
    told: bool = True


def mlflow(paths: Sequence[Path], account: Account) -> Iterator[RawTable]:
    """One row per run and metric. Parameters become columns; the configuration is all of them without the seed."""

    def run(_: Path, cells: Mapping[str, str]) -> Run:
        settings = {name.removeprefix("params."): cell for name, cell in cells.items() if name.startswith("params.")}
        metrics = {name.removeprefix("metrics."): cell for name, cell in cells.items() if name.startswith("metrics.")}
        return Run(id=cells.get("run_id", ""), state=cells.get("status", ""), settings=settings, metrics=metrics)

    yield from _reruns(paths, account, run)


def wandb(paths: Sequence[Path], account: Account) -> Iterator[RawTable]:
    """One row per run and metric. A CSV does not tell settings from results: the chosen metric is one, the rest are columns."""
    chosen = account.ask.choose.get("metric")
    wanted = set() if chosen == ALL else {chosen} if isinstance(chosen, str) else set(chosen or ())

    def run(path: Path, cells: Mapping[str, str]) -> Run:
        if "summary" in cells:
            name = cells.get("id") or cells.get("name", "")
            settings, summary = (_object(path, cells.get(key, "")) for key in ("config", "summary"))
            return Run(id=name, state=cells.get("state", ""), settings=settings, metrics=summary)
        rest = {name: cell for name, cell in cells.items() if name not in WANDB_OWN}
        seed = account.ask.choose.get("seed", "seed")
        metrics = {
            name: cell
            for name, cell in rest.items()
            if name in wanted or (not wanted and name != seed and number(cell) is not None)
        }
        settings = {name: cell for name, cell in rest.items() if name not in wanted}
        name = cells.get("ID") or cells.get("Name", "")
        return Run(id=name, state=cells.get("State", ""), settings=settings, metrics=metrics, told=False)

    account.note("W&B keeps the value that was logged last, which need not be the final test score")
    yield from _reruns(paths, account, run)


def _reruns(
    paths: Sequence[Path], account: Account, understood: Callable[[Path, Mapping[str, str]], Run]
) -> Iterator[RawTable]:
    choices = Choices(account.ask, "seed", metric="metric")
    first: dict[tuple[str, str], str] = {}
    for path in paths:
        with account.opened(path) as data:
            runs = [
                (place, understood(path, dict(zip(table.columns, cells, strict=True))))
                for table in raw_tables(data)
                for place, cells in zip(table.places, table.rows, strict=True)
            ]
        names = list(dict.fromkeys(name for _, run in runs for name in run.settings))
        seed = account.ask.choose.get("seed", "seed")
        if seed not in names:
            what = f"no setting is called {plain(repr(seed), width=60)}"
            account.fault(
                path,
                what,
                f"{close_match(str(seed), names)}. Say which tells reruns apart: --choose {account.ask.prefix}seed=NAME.",
            )
            continue
        metrics = list(dict.fromkeys(name for _, run in runs for name in run.metrics))
        metrics.sort(key=lambda name: _like_a_setting([run for _, run in runs], name))  # a question offers the first
        rows = Rows(path, account.named(path))
        for place, run in runs:
            settings = {name: cell for name, cell in run.settings.items() if name != seed}
            digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode(errors="backslashreplace")).hexdigest()[
                :12
            ]
            value = run.settings.get(str(seed), "")
            twice = first.setdefault((digest, value), f"{account.named(path)} {place}")
            if run.told and value and twice != f"{account.named(path)} {place}":
                what = (
                    f"seed {plain(repr(value), width=60)} with the same settings stands twice (first at {plain(twice)})"
                )
                account.fault(path, what, "Keep one of the two runs.", place)
            for metric in metrics:
                score = score_cell(run.metrics.get(metric, ""))
                choices.saw(metric, score=number(score))
                if choices.wants(metric):
                    state = run.state.lower()
                    cells = {_column(name, metric): cell for name, cell in settings.items()}
                    cells |= {"seed": value, "metric": metric, "score": score, "run_id": run.id}
                    cells |= {"status": STATES.get(state, state)} | ({"config": digest} if run.told else {})
                    rows.add(place, cells)
        yield rows.take(("seed", "score", "status", "metric"))
        for metric in metrics if "metric" in account.ask.choose else ():
            if choices.wants(metric) and (found := SELECTED.search(metric)):
                account.note(
                    f"the metric {plain(metric)} speaks of selection ({found.group()}): a score that was selected on the set it reports is too high"
                )
    account.choose(choices)
    account.close()


def _like_a_setting(runs: Sequence[Run], name: str) -> bool:
    """Whether a column that may be a setting or a result is there in every run, and mostly holds what others hold too."""
    cells = [run.metrics.get(name, "") for run in runs if not run.told]
    return bool(cells) and all(cells) and 2 * len(set(cells)) <= len(cells)


def _column(name: str, metric: str) -> str:
    """A setting's column; one that would hide a column of the table keeps its kind in the name."""
    return f"setting.{name}" if name == metric or (name in RERUNS.by_name and name not in MEANT) else name


def _object(path: Path, text: str) -> dict[str, str]:
    """A JSON object in a cell as texts by name."""
    return {name: cell_text(value) for name, value in mapping(loads(path, text) if text.strip() else {}).items()}
