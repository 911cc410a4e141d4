"""What a reader is asked for, and what it accounts for beyond the rows: choices, stated totals, digests, notes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from analysis.errors import Fault, InputError, close_match, plain, raise_all
from analysis.readers.files import Advance, DataFile
from analysis.schema import Kind

ALL, KEEP = "all", "keep"
SETTINGS_KEY, APART = "settings", "apart"
MOST_FAULTS = 1000
MOST_SHOWN = 8  # choices or places in one message
TOLERANCE = 1e-6  # of a stated aggregate, relative; files round to six digits or more


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What somebody asks of a log.

    Attributes
    ----------
    table
        Which canonical table is wanted.
    choose
        What was chosen where a log holds several of a kind: ``{"metric": "acc"}``, a list of them, or ``all``.
    accept_mismatch
        Whether totals that a file states may differ from what it holds; the difference is stated then.
    roots
        Folders that were given; where a file lies below them can say recipe and seed.
    contents
        Digests by id of the files of every task, where ids do not agree between files and items go by their content.
    prefix
        What a choice begins with on the command line, so that it is that of the right input.
    """

    table: Kind = "attempts"
    choose: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    accept_mismatch: bool = False
    roots: Sequence[Path] = ()
    contents: Mapping[tuple[str, Path], Mapping[str, str]] = field(default_factory=dict)
    prefix: str = ""


class Again(Exception):
    """Raised when what a file holds further down changes how its rows must be read."""

    def __init__(self, ask: Ask) -> None:
        super().__init__()
        self.ask = ask


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
            self.note(f"stated and found again: {_cut(agreed)}")


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


class Choices:
    """Kinds of which a log may hold several, such as metrics: which are wanted, and what each holds.

    Every combination is counted with the mean of its scores, so that a question can list them. ``others`` are choices that
    the reader answers itself.
    """

    def __init__(self, ask: Ask, *others: str, **nouns: str) -> None:
        self.keys = tuple(nouns)
        self._others = others
        self._prefix = ask.prefix
        self._passed: dict[str, dict[str, None]] = {}
        known = {"copies": KEEP, SETTINGS_KEY: APART}
        self._odd = [(key, ask.choose[key], word) for key, word in known.items() if key in others and key in ask.choose]
        self._nouns = nouns
        self._chosen = {
            key: None if given == ALL else {given} if isinstance(given, str) else set(given)
            for key, given in ask.choose.items()
            if key not in others
        }
        self._seen: dict[tuple[str, ...], list[float]] = {}

    def wants(self, *values: str) -> bool:
        """Whether rows of this combination are wanted; what was not chosen is."""
        return all(
            key not in self._chosen or (wanted := self._chosen[key]) is None or value in wanted
            for key, value in zip(self.keys, values, strict=True)
        )

    def saw(self, *values: str, score: float | None) -> None:
        """Count a row of this combination."""
        held = self._seen.setdefault(values, [0, 0, 0.0])
        held[0] += 1
        if score is not None and math.isfinite(score):
            held[1] += 1
            held[2] += score

    def passes(self, key: str, value: str) -> bool:
        """Whether everything of this kind can be left out unread: something else was chosen."""
        wanted = self._chosen.get(key)
        if wanted is None or value in wanted:
            return False
        self._passed.setdefault(key, {})[value] = None
        return True

    def several(self, key: str) -> bool:
        """Whether more than one of a kind was chosen."""
        return key in self._chosen and len(self._chosen[key] or ("any", "other")) > 1

    def faults(self, files: str) -> list[Fault]:
        """A question for every kind with several values and no choice, and for every choice that is not there."""
        out = []
        for key, given, word in self._odd:
            if given != word:
                out.append(Fault(file=files, what=f"{key}={plain(given)} is no choice", fix=f"Known: {key}={word}."))
        for key in self._chosen.keys() - set(self.keys):
            known = ", ".join((*self.keys, *self._others))
            out.append(Fault(file=files, what=f"no choice is called {plain(key)}", fix=f"This format knows: {known}."))
        for position, key in enumerate(self.keys):
            wanted = self._chosen.get(key)
            seen = dict.fromkeys(values[position] for values in self._seen) | self._passed.get(key, {})
            if wanted is not None and not wanted:
                out.append(Fault(file=files, what=f"no {self._nouns[key]} is chosen", fix=f"{close_match('', seen)}."))
            missing = sorted((wanted or set()) - set(seen))
            if missing:
                what = f"no {self._nouns[key]} {plain(repr(missing[0]), width=60)}"
                out.append(Fault(file=files, what=what, fix=f"{close_match(missing[0], seen)}."))
            if key not in self._chosen and len(self._reachable(position)) > 1:
                what = f"holds {len(self._reachable(position))} {self._nouns[key]}s: {self._listed(position)}"
                first = next(iter(self._reachable(position)))
                named = first.isprintable() and " " not in first and "'" not in first
                choice = f"--choose {self._prefix}{key}={first if named else '…'}"
                more = (
                    "" if self._prefix else " (or a list in -f, or all)"
                )  # what a study cannot hold apart stands twice there
                out.append(Fault(file=files, what=what, fix=f"Say which is meant: {choice}{more}."))
        return out

    def found(self) -> str:
        """Kinds and values for the reconciliation line."""
        parts = []
        for position, key in enumerate(self.keys):
            seen = list(dict.fromkeys(values[position] for values in self._seen) | self._passed.get(key, {}))
            wanted = self._chosen.get(key)
            shown = [
                plain(value or "(none)", width=60) + ("" if wanted is None or value in wanted else " (left out)")
                for value in seen
            ]
            if seen != [""]:
                parts.append(f"{self._nouns[key]}s found: {_cut(shown)}")
        return "; ".join(parts)

    def _reachable(self, position: int) -> dict[str, None]:
        return dict.fromkeys(values[position] for values in self._seen if self.wants(*values))

    def _listed(self, position: int) -> str:
        """Every value with its rows and the mean of each metric under it."""
        held: dict[str, dict[str, list[float]]] = {}  # value -> last kind, the metric -> rows, scored, sum
        for values, counts in self._seen.items():
            if self.wants(*values):
                mine = held.setdefault(values[position], {}).setdefault(values[-1], [0, 0, 0.0])
                for index, count in enumerate(counts):
                    mine[index] += count
        out = []
        for value, metrics in held.items():
            rows, scored, total = max(metrics.values())
            mean = f", mean {total / scored:.4g}" if scored and len(metrics) == 1 else ""
            out.append(f"{plain(value or '(none)', width=60)} ({rows:,.0f} row{'s' * (rows != 1)}{mean})")
        return _cut(out)


def _cut(shown: Sequence[str]) -> str:
    more = f" and {len(shown) - MOST_SHOWN} more" if len(shown) > MOST_SHOWN else ""
    return ", ".join(shown[:MOST_SHOWN]) + more
