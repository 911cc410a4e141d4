"""What a reader accounts for beyond the rows: stated totals, digests, notes, and what stops it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from analysis.errors import Fault, InputError, plain, raise_all
from analysis.readers.choices import APART, KEEP, SETTINGS_KEY, Ask, Choices, cut
from analysis.readers.files import Advance, DataFile

TOLERANCE = 1e-6  # of a stated aggregate, relative; files round to six digits or more
MOST_FAULTS = 1000


class Account:
    """Filled by a reader while it yields rows.

    Attributes
    ----------
    digests
        SHA-256 of every file that was read.
    notes
        Sentences for the reconciliation line.
    faults
        What stops the reading, once all of it was seen.
    """

    def __init__(self, ask: Ask, advance: Advance | None = None, files: Sequence[Path] = ()) -> None:
        self.ask = ask
        self._names = distinct_names(files)
        self.digests: dict[Path, str] = {}
        self.notes: list[str] = []
        self.faults: list[Fault] = []
        self._advance = advance
        self._agreed: dict[str, int] = {}
        self._unscorable: set[tuple[Path, str]] = set()

    @contextmanager
    def opened(self, path: Path) -> Iterator[DataFile]:
        """A file whose digest is kept and whose bytes count as progress."""
        try:
            with DataFile(path, advance=self._advance) as data:
                yield data
        except InputError as error:
            faults = [replace(f, file=self.named(path)) if f.file == path.name else f for f in error.faults]
            raise InputError(*faults) from error
        except OSError as error:
            what = f"cannot be read ({plain(error.strerror or error)})"
            raise InputError(Fault(file=self.named(path), what=what, fix="Check the path.")) from error
        self.digests[path] = data.sha256

    def named(self, path: Path) -> str:
        """What a file is called in messages and in the table: its name, with folders where another is called so too."""
        return plain(self._names.get(path, path.name))

    def note(self, text: str) -> None:
        """Say something on the page, once."""
        if text not in self.notes:
            self.notes.append(text)

    def fault(self, path: Path, what: str, fix: str, place: str = "") -> None:
        """Stop once everything was seen; of very many faults the first are kept."""
        if len(self.faults) < MOST_FAULTS:
            self.faults.append(Fault(file=self.named(path), place=place, what=what, fix=fix))

    def agree(self, path: Path, what: str, stated: float | None, found: float | None, of: str = "") -> None:
        """Compare a total or an aggregate that a file states with what its rows give; ``of`` says which part of the file.

        A difference is a fault with both numbers, or a note where it was accepted; what is not stated is not compared.
        """
        if stated is None or not math.isfinite(stated):
            return
        if found is not None and math.isclose(stated, found, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            self._agreed[what] = self._agreed.get(what, 0) + 1
            return
        has = "none" if found is None else f"{found:.10g}"
        text = f"the file states {what}{of and ' of ' + of} {stated:.10g}, its rows give {has}"
        if self.ask.accept_mismatch:
            self.note(f"MISMATCH accepted in {self.named(path)}: {text}")
        else:
            self.fault(path, text, "It may be cut short or edited. --accept-mismatch reads it and says so on the page.")

    def doubt(self, path: Path, what: str) -> None:
        """What speaks against a file: a fault, or a note where it was accepted."""
        if self.ask.accept_mismatch:
            self.note(f"accepted in {self.named(path)}: {what}")
        else:
            self.fault(path, what, "--accept-mismatch reads it all the same and says so on the page.")

    def mixed(self, path: Path, what: str, first: Path, differ: str) -> None:
        """Two configurations in one arm: which is it about?"""
        option = f"--choose {self.ask.prefix}{SETTINGS_KEY}={APART}"
        fix = f"Give the runs of one configuration only; or say {option} to compare them as arms of their own."
        self.fault(path, f"{plain(what)} with other settings in {self.named(first)}: {plain(differ)}", fix)

    def unequal(self, task: str, models: Mapping[str, Mapping[str, str]]) -> None:
        """Say which settings of a task differ between the models that are compared on it."""
        first, *others = models.values() or [{}]
        for name in first:
            if any(other[name] != first[name] for other in others):
                held = ", ".join(
                    f"{plain(m, width=40)} {plain(s[name] or 'none', width=40)}" for m, s in models.items()
                )
                self.note(f"{name} of {plain(task, width=60)} differs between the models: {held}")

    def copied(self, path: Path, what: str) -> None:
        """Repeats that are copies are no further evidence, unless somebody says that they are."""
        if self.ask.choose.get("copies") == KEEP:
            self.note(f"copies kept as attempts: {what}")
            return
        option = f"--choose {self.ask.prefix}copies={KEEP}"
        fix = f"Run again without the cache; or say {option} to count them as attempts of their own."
        self.fault(path, f"{what}: as evidence that is one attempt (K = 1)", fix)

    def unscorable(self, path: Path, place: str, metric: str, cell: str) -> None:
        """A score that is a list or an object has no mean; said at its first row."""
        if (path, metric) in self._unscorable:
            return
        self._unscorable.add((path, metric))
        what = f"the metric {plain(metric, width=60)} holds {plain(cell, width=60)}, which is no score"
        self.fault(path, what, f"Choose another: --choose {self.ask.prefix}metric=NAME.", place)

    def choose(self, choices: Choices) -> None:
        """Ask what is left open, and say what was found."""
        names = [self.named(path) for path in self.digests]
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        self.faults += choices.faults("".join(names[:1]) + more)
        if found := choices.found():
            self.note(found)

    def close(self) -> None:
        """Say which stated totals were found again.

        Raises
        ------
        InputError
            With every fault.
        """
        raise_all(InputError, self.faults)
        if self._agreed:
            agreed = [f"{what} ({count})" if count > 1 else what for what, count in self._agreed.items()]
            self.note(f"stated and found again: {cut(agreed)}")


def told_apart(runs: Sequence[tuple[str, str, str]]) -> list[str]:
    """What tells the settings of every run from others of its arm: the date of the first run of them, nothing where all agree.

    Parameters
    ----------
    runs
        Arm, settings and date of every run.

    >>> told_apart([("m", "0-shot", "May"), ("m", "5-shot", "April"), ("m", "5-shot", "June"), ("n", "0-shot", "May")])
    ['May', 'April', 'April', '']
    """
    first: dict[str, dict[str, str]] = {}
    for arm, settings, date in sorted(runs, key=lambda run: run[2]):
        held = first.setdefault(arm, {})
        twin = f" #{len(held) + 1}" if date in held.values() else ""
        held.setdefault(settings, date + twin)
    return [first[arm][settings] if len(first[arm]) > 1 else "" for arm, settings, _ in runs]


def distinct_names(files: Sequence[Path]) -> dict[Path, str]:
    """The last parts of every path that no other path ends in, the same from wherever they are looked at.

    >>> list(distinct_names([Path("a/x.csv"), Path("b/x.csv"), Path("b/y.csv")]).values())
    ['a/x.csv', 'b/x.csv', 'y.csv']
    """
    names: dict[Path, str] = {}
    depth, left = 1, list(dict.fromkeys(files))
    whole = {path: (path.parent.resolve() / path.name).parts for path in left}
    while left:
        parts = {path: "/".join(whole[path][-depth:]) for path in left}
        counts = Counter(parts.values())
        alone = {path: name for path, name in parts.items() if counts[name] == 1 or depth >= len(whole[path])}
        names |= alone
        left = [path for path in left if path not in alone]
        depth += 1
    return {path: names[path] for path in files}
