"""Training runs as folders: ``FOLDER/<recipe>/<seed>/…``, where a seed without a result is a run that failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.errors import plain
from analysis.readers.account import Account, Choices
from analysis.readers.canonical import Rows
from analysis.readers.raw import RawTable
from analysis.readers.values import number


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
        if root:
            self._depth[root] = max(len(parts), self._depth.get(root, 0))
        self._seen[folder] = (recipe, parts[-1])
        return self._seen[folder]

    def without_result(self) -> list[Path]:
        """Every seed's folder below a given one that holds no result."""
        found = [
            folder
            for root, depth in self._depth.items()
            for folder in sorted(root.glob("/".join("*" * depth)))
            if folder.is_dir() and not folder.name.startswith(".")
        ]
        return [folder for folder in found if folder not in self._seen]


def seed_tables(
    runs: Sequence[SeedRun], folders: SeedFolders, choices: Choices, account: Account
) -> Iterator[RawTable]:
    """One row per training run, task and metric that is wanted; a run that lacks one, or holds no result, failed."""
    configs: dict[tuple[str, str], str] = {}  # a run that left nothing was one of its recipe
    for run in runs:
        for (task, metric), cells in run.results.items():
            choices.saw(task, metric, score=number(cells["score"]))
            configs.setdefault((run.recipe, task), cells.get("config", ""))
    wanted = [key for key in dict.fromkeys(key for run in runs for key in run.results) if choices.wants(*key)]
    for run in runs:
        rows = Rows(run.path, account.named(run.path))
        for task, metric in wanted or [("", "")]:
            own = {"model": run.recipe, "seed": run.seed, "task": task, "metric": metric}
            own["config"] = configs.get((run.recipe, task), "")
            lost = {"status": "failed", "reason": run.reason or "the result has no such metric"}
            rows.add(
                " ".join(filter(None, ["the result", plain(metric)])), {**own, **run.results.get((task, metric), lost)}
            )
        yield rows.take(("score",))
    for folder in folders.without_result():
        rows = Rows(folder, f"{folder.parent.name}/{folder.name}")
        recipe = folder.parent.name
        for task, metric in wanted:
            own = {"model": recipe, "seed": folder.name, "task": task, "metric": metric}
            own["config"] = configs.get((recipe, task), "")
            rows.add("the folder", own | {"status": "failed", "reason": "the folder holds no result"})
        account.note(f"no result in {plain(recipe)}/{plain(folder.name)}: a failed run")
        yield rows.take(("score",))
    account.choose(choices)
    account.close()
