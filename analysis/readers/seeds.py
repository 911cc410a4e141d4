"""Training runs as folders: ``FOLDER/<recipe>/<seed>/…``, where a seed without a result is a run that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.errors import plain
from analysis.readers.account import Account
from analysis.readers.canonical import Rows
from analysis.readers.choices import Choices
from analysis.readers.raw import RawTable
from analysis.readers.values import number

MOST_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRun:
    """One training run: recipe and seed, and its results by task and metric; ``reason`` says why there are none."""

    path: Path
    recipe: str
    seed: str
    results: Mapping[tuple[str, str], Mapping[str, str]]
    reason: str = ""


class SeedFolders:
    """Which recipe and seed a file belongs to, by the folders between the given one and the file."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self._roots = [root.resolve() for root in roots]
        self._seen: dict[Path, tuple[str, str]] = {}
        self._depth: dict[Path, int] = {}

    def place(self, folder: Path, path: Path, account: Account) -> tuple[str, str]:
        """Recipe and seed of a result in ``folder``; a fault when the folders do not say."""
        folder = folder.resolve()
        root = next((root for root in self._roots if folder.is_relative_to(root)), None)
        parts = folder.relative_to(root).parts if root else folder.parts[-2:]
        if not parts or len(parts) > 2:
            fix = "Give the folder above: FOLDER/<recipe>/<seed>/, or convert the results and add a column seed."
            account.fault(path, "its folder names no seed", fix)
            return "", ""
        recipe = parts[0] if len(parts) == 2 else folder.parent.name
        if root and self._depth.setdefault(root, len(parts)) != len(parts):
            fix = "Give folders of one depth: FOLDER/<recipe>/<seed>/ or FOLDER/<seed>/."
            account.fault(path, "lies at another depth than the results before it", fix)
        self._seen[folder] = (recipe, parts[-1])
        return self._seen[folder]

    def without_result(self, account: Account) -> list[Path]:
        """Every seed's folder below a given one that holds no result; folders that are not named like a seed are said.

        A folder is named like a seed when it differs from one that holds a result in its digits only.
        """
        shapes = {_shape(folder.name) for folder in self._seen}
        found: list[Path] = []
        passed: list[Path] = []
        for root, depth in self._depth.items():
            for folder in sorted(root.glob("/".join("*" * depth))):
                parts = folder.relative_to(root).parts
                steps = [root.joinpath(*parts[: i + 1]) for i in range(len(parts))]
                if (
                    not folder.is_dir()
                    or any(part.startswith(".") for part in parts)
                    or any(map(Path.is_symlink, steps))
                ):
                    continue
                if folder in self._seen or any(seen.is_relative_to(folder) for seen in self._seen):
                    continue
                (found if _shape(folder.name) in shapes else passed).append(folder)
        if passed:
            names = ", ".join(plain(f"{folder.parent.name}/{folder.name}", width=60) for folder in passed[:MOST_NAMED])
            more = f" and {len(passed) - MOST_NAMED} more" if len(passed) > MOST_NAMED else ""
            account.note(f"no seeds by their names, and passed over: {names}{more}")
        return found


def _shape(name: str) -> str:
    """A name with every number as one sign."""
    return re.sub(r"\d+", "#", name)


def seed_tables(
    runs: Sequence[SeedRun], folders: SeedFolders, choices: Choices, account: Account
) -> Iterator[RawTable]:
    """One row per training run, task and metric that is wanted; a run that lacks one, or holds no result, failed."""
    seeds: dict[tuple[str, str], list[SeedRun]] = {}  # a run may have left a file per task
    configs: dict[tuple[str, str], str] = {}  # a run that left nothing was one of its recipe
    seen: dict[tuple[str, str, str, str], SeedRun] = {}
    for run in runs:
        seeds.setdefault((run.recipe, run.seed), []).append(run)
        for (task, metric), cells in run.results.items():
            choices.saw(task, metric, score=number(cells["score"]))
            configs.setdefault((run.recipe, task), cells.get("config", ""))
            first = seen.setdefault((run.recipe, run.seed, task, metric), run)
            if first is not run:
                what = f"states {plain(metric)} of {plain(task)} again, after {account.named(first.path)}"
                account.fault(run.path, what, "Keep one result of a training run.")
    wanted = [key for key in dict.fromkeys(key for run in runs for key in run.results) if choices.wants(*key)]
    for (recipe, seed), own in seeds.items():
        for run in own:
            rows = Rows(run.path, account.named(run.path))
            for task, metric in wanted or [("", "")]:
                if (found := run.results.get((task, metric))) is not None:
                    rows.add(f"the result {plain(metric)}", {**_named(recipe, seed, task, metric, configs), **found})
                elif run is own[0] and (recipe, seed, task, metric) not in seen:
                    lost = {"status": "failed", "reason": run.reason or "the result has no such metric"}
                    rows.add("the result", _named(recipe, seed, task, metric, configs) | lost)
            yield rows.take(("score",))
    for folder in folders.without_result(account):
        recipe = folder.parent.name
        rows = Rows(folder, f"{recipe}/{folder.name}")
        for task, metric in wanted:
            lost = {"status": "failed", "reason": "the folder holds no result"}
            rows.add("the folder", _named(recipe, folder.name, task, metric, configs) | lost)
        account.note(f"no result in {plain(recipe)}/{plain(folder.name)}: a failed run")
        yield rows.take(("score",))
    account.choose(choices)
    account.close()


def _named(recipe: str, seed: str, task: str, metric: str, configs: Mapping[tuple[str, str], str]) -> dict[str, str]:
    return {"model": recipe, "seed": seed, "task": task, "metric": metric, "config": configs.get((recipe, task), "")}
