"""Training runs as folders: ``FOLDER/<recipe>/<seed>/…``, where a seed without a result is a run that failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.readers.account import Account
from analysis.readers.canonical import Rows
from analysis.readers.raw import RawTable


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

    def without_result(self, account: Account) -> Iterator[RawTable]:
        """A row for every seed's folder below a given one that holds no result: that run failed."""
        for root, depth in self._depth.items():
            pattern = "/".join("*" * depth)
            found = [path for path in sorted(root.glob(pattern)) if path.is_dir() and not path.name.startswith(".")]
            for folder in found:
                if folder in self._seen:
                    continue
                rows = Rows(folder)
                recipe = folder.parent.name
                cells = {
                    "model": recipe,
                    "seed": folder.name,
                    "status": "failed",
                    "reason": "the folder holds no result",
                }
                rows.add("the folder", cells)
                account.note(f"no result in {recipe}/{folder.name}: a failed run")
                yield rows.take(("score",))
