"""How the items of several runs are matched: by id where the ids agree with the content, by content where they do not."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

from analysis.errors import natural_key
from analysis.readers.choices import Ask

SHOWN = 16  # hexadecimal digits of a digest that stands for an id


class Pairing:
    """Ids and digests of the items of every file; a position is never used.

    The harness gave wrong ids to documents that were chosen by ``--samples`` in no order (lm-evaluation-harness #4084), and
    a new version of a task puts other documents under the old ids. Inspect numbers samples by their position where the
    dataset has no ids.
    """

    def __init__(self, ask: Ask, files: int) -> None:
        self._ask = ask
        self._alone = files < 2  # nothing to pair with
        self._by_file: dict[tuple[str, Path], dict[str, str]] = {}
        self._bare: dict[Path, None] = {}  # files with items of which only the id is told
        self._ids: dict[tuple[str, Path], dict[str, list[str]]] = {}

    def saw(self, path: Path, task: str, item: str, digest: str) -> None:
        """Note an item of a file."""
        if self._alone:
            return
        if digest:
            self._by_file.setdefault((task, path), {})[item] = digest[:SHOWN]
        else:
            self._bare[path] = None

    def name(self, path: Path, task: str, item: str, digest: str) -> str:
        """What the item is called in the table; of items of one content the second is ``…#2``, in the order of their ids."""
        if not self._ask.contents or not digest:
            return item
        short = digest[:SHOWN]
        ids = self._twins(path, task).get(short, [item])
        rank = ids.index(item) if item in ids else 0
        return f"{short}#{rank + 1}" if rank else short

    def _twins(self, path: Path, task: str) -> dict[str, list[str]]:
        """Digest -> ids of a file, as they were found when it was read before."""
        if (task, path) not in self._ids:
            found: dict[str, list[str]] = {}
            for item, digest in self._ask.contents.get((task, path), {}).items():
                found.setdefault(digest, []).append(item)
            self._ids[task, path] = {digest: sorted(ids, key=natural_key) for digest, ids in found.items()}
        return self._ids[task, path]

    def again(self) -> Ask | None:
        """How to read once more when ids and content do not agree between files; None when they do."""
        return replace(self._ask, contents=self._by_file) if not self._ask.contents and self._moved() else None

    def notes(self, named: Callable[[Path], str]) -> list[str]:
        """What the reconciliation line says of it; ``named`` is what a file is called."""
        moved = self._moved()
        bare = [named(path) for path in self._bare]
        more = f" and {len(bare) - 1} more" if len(bare) > 1 else ""
        unverified = (
            [f"items of {bare[0]}{more} are paired by id, unverified: their content is not told"] if bare else []
        )
        if not moved:
            return unverified
        return [
            *unverified,
            f"{moved} id{'s' * (moved != 1)} stand for other content in another file: items are paired by content",
        ]

    def _moved(self) -> int:
        """Ids with two contents, and contents that two files hold under no common id."""
        by_id: dict[tuple[str, str], set[str]] = {}
        by_content: dict[tuple[str, str], set[frozenset[str]]] = {}
        for (task, _), digests in self._by_file.items():
            ids: dict[str, set[str]] = {}
            for item, digest in digests.items():
                by_id.setdefault((task, item), set()).add(digest)
                ids.setdefault(digest, set()).add(item)
            for digest, held in ids.items():
                by_content.setdefault((task, digest), set()).add(frozenset(held))
        moved = {key for key, held in by_id.items() if len(held) > 1}
        apart = ((task, found) for (task, _), found in by_content.items() if _apart(found))
        moved |= {(task, min(min(held) for held in found)) for task, found in apart}
        return len(moved)


def content_digest(parts: Sequence[str]) -> str:
    """Digest of the parts of an item; nothing where all of them are empty."""
    if not any(parts):
        return ""
    return hashlib.sha256("\x1f".join(parts).encode(errors="backslashreplace")).hexdigest()


def _apart(found: set[frozenset[str]]) -> bool:
    """Whether two of these sets have nothing in common."""
    return len(found) > 1 and any(one.isdisjoint(other) for one, other in combinations(found, 2))
