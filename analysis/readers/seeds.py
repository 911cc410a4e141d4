"""Training runs as folders: ``FOLDER/<recipe>/<seed>/…``, where a seed without a result is a run that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.errors import plain
from analysis.readers.account import Account
from analysis.readers.canonical import Rows
from analysis.readers.choices import Ask, Choices
from analysis.readers.raw import RawTable
from analysis.readers.values import number

MOST_NAMED = 8
FOLDERS, SKIP, FAILED = "folders", "skip", "failed"
"""What folders without a result are that are not named like a seed."""


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

    def __init__(self, ask: Ask) -> None:
        self._roots = [root.resolve() for root in ask.roots]
        self._asked = ask.choose.get(FOLDERS)
        self._seen: dict[Path, tuple[str, str]] = {}
        self._depth: dict[Path, int] = {}
        self._homes: dict[str, Path] = {}

    def place(self, folder: Path, path: Path, account: Account) -> tuple[str, str]:
        """Recipe and seed of a result in ``folder``; a fault when the folders do not say."""
        folder = folder.resolve()
        root = next((root for root in self._roots if folder.is_relative_to(root)), None)
        if root is None:
            account.note("files and patterns do not show training runs that left no result: give their folder")
        parts = folder.relative_to(root).parts if root else folder.parts[-2:]
        if not parts or len(parts) > 2:
            fix = "Give the folder above: FOLDER/<recipe>/<seed>/, or convert the results and add a column seed."
            account.fault(path, "its folder names no seed", fix)
            return "", ""
        recipe = parts[0] if len(parts) == 2 else folder.parent.name
        if root and self._depth.setdefault(root, len(parts)) != len(parts):
            fix = "Give folders of one depth: FOLDER/<recipe>/<seed>/ or FOLDER/<seed>/."
            account.fault(path, "lies at another depth than the results before it", fix)
        home = self._homes.setdefault(recipe, folder.parent)
        if home != folder.parent:
            fix = "Give the folder above both, or rename one."
            account.fault(path, f"the recipe {plain(recipe)} lies in two folders", fix)
        self._seen[folder] = (recipe, parts[-1])
        return self._seen[folder]

    def without_result(self, account: Account) -> list[Path]:
        """Every seed's folder below a given one that holds no result; what may be none is asked about, or said.

        A folder is named like a seed when it differs in its digits only from one of its recipe that holds a result, or of
        any recipe where its own holds none.
        """
        shapes: dict[Path, set[str]] = {}
        for seen in self._seen:
            shapes.setdefault(seen.parent, set()).add(_shape(seen.name))
        anywhere = set().union(*shapes.values()) if shapes else set()
        found: list[Path] = []
        odd: list[Path] = []
        links: list[Path] = []
        for folder in self._folders():
            if folder.is_symlink() or folder.parent.is_symlink():
                links.append(folder)
            elif _shape(folder.name) in shapes.get(folder.parent, anywhere):
                found.append(folder)
            else:
                odd.append(folder)
        unsure = [folder for folder in odd if re.search(r"\d", folder.name)]
        if unsure and self._asked not in {SKIP, FAILED}:
            option = f"--choose {account.ask.prefix}{FOLDERS}"
            fix = f"Are they training runs? {option}={FAILED} counts them as failed, {option}={SKIP} passes over them."
            named = plain(f"{unsure[0].parent.name}/{unsure[0].name}", width=60)
            more = f" and {len(unsure) - 1} more" if len(unsure) > 1 else ""
            account.fault(
                unsure[0].parent, f"{named}{more} hold no result, and are not named like a seed of the recipe", fix
            )
        elif self._asked == FAILED:
            found += unsure
        passed = [folder for folder in odd if folder not in found and (folder not in unsure or self._asked == SKIP)]
        for what, folders in (("no seeds by their names, and passed over", passed), ("links passed over", links)):
            if folders:
                names = ", ".join(plain(f"{one.parent.name}/{one.name}", width=60) for one in folders[:MOST_NAMED])
                more = f" and {len(folders) - MOST_NAMED} more" if len(folders) > MOST_NAMED else ""
                account.note(f"{what}: {names}{more}")
        return found

    def _folders(self) -> Iterator[Path]:
        """Folders at the depth of the seeds that hold no result."""
        for root, depth in self._depth.items():
            for folder in sorted(root.glob("/".join("*" * depth))):
                hidden = any(part.startswith(".") for part in folder.relative_to(root).parts)
                held = any(seen.is_relative_to(folder) for seen in self._seen)
                if folder.is_dir() and not hidden and not held:
                    yield folder


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
