"""Everything that can go wrong, in one flat tree, and the exit code of each.

::

    GatebookError
    ├── UsageError            3   wrong command, parameter, rule or input: nothing was decided
    │   ├── InputError            a data file that does not fit
    │   ├── ParameterError        a parameter that is unknown or out of range
    │   └── RuleError             a rule or pre-registration file that does not fit
    └── ReportError           4   the report could not be made
        ├── MissingProgram        something optional is not installed
        ├── ExecutionError        the notebook did not run to its end
        │   ├── TimedOut              a cell, the report or the batch was over its time limit
        │   ├── KernelDied            the process that ran the cells ended by itself
        │   └── Incomplete            it ended as if all were well, without what it should have left
        └── RenderError           the page or the PDF could not be made
"""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

SHOWN = 20  # faults printed in full; the rest is counted
LONGEST_NUMBER = 18  # digits of an id that is sorted as a number
MOST_NAMES, MOST_COMPARED = 30, 5000  # of a list of known names, and of those looked through for a near one


def plain(text: object, *, width: int = 200) -> str:
    r"""Text that is safe on a terminal: control and direction characters are shown, long text is cut.

    >>> plain("a\x1b[31mred")
    'a\\x1b[31mred'
    """
    out = "".join(
        ch if unicodedata.category(ch) not in {"Cc", "Cf", "Cs", "Zl", "Zp"} else ch.encode("unicode_escape").decode()
        for ch in str(text)
    )
    return out if len(out) <= width else out[: width - 1] + "…"


def close_match(name: str, known: Iterable[str]) -> str:
    """``Did you mean 'threshold'?`` with the known names after it.

    >>> close_match("treshold", ["threshold", "seed"])
    "Did you mean 'threshold'? Known: seed, threshold"
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names[:MOST_COMPARED], n=1)
    guess = f"Did you mean {near[0]!r}? " if near else ""
    more = f" and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return f"{guess}Known: {', '.join(plain(other, width=60) for other in names[:MOST_NAMES]) or 'none'}{more}"


def natural_key(text: str) -> tuple[bool, int, str]:
    """Sorting key of ids: whole numbers by size, then words by letter.

    >>> sorted(["10", "9", "b", "a10"], key=natural_key)
    ['9', '10', 'a10', 'b']
    """
    whole = text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER
    return (not whole, int(text) if whole else 0, text)


def is_whole(text: str) -> bool:
    r"""Whether the text can be written as UTF-8: half a surrogate pair, as broken JSON or a shell may pass, cannot.

    >>> is_whole("τ"), is_whole("\ud800")
    (True, False)
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong: where it is, what it is and the way out."""

    what: str
    fix: str = ""
    file: str = ""
    place: str = ""  # "line 7", "record 3", "column score"

    def __str__(self) -> str:
        where = ", ".join(plain(part) for part in (self.file, self.place) if part)
        text = f"{where}: {self.what}" if where else self.what
        return f"{text}. {self.fix}" if self.fix else text


class GatebookError(Exception):
    """The root: carries every fault of one call, so that all are shown at once."""

    def __init__(self, *faults: Fault | str) -> None:
        self.faults: tuple[Fault, ...] = tuple(f if isinstance(f, Fault) else Fault(what=f) for f in faults)
        super().__init__(self.message())

    def message(self) -> str:
        """All faults, one a line; after the first twenty the rest is counted."""
        lines = [str(fault) for fault in self.faults[:SHOWN]]
        if len(self.faults) > SHOWN:
            lines.append(f"… and {len(self.faults) - SHOWN} more")
        return "\n".join(lines)


class UsageError(GatebookError):
    """Wrong use, or input that does not fit: nothing was decided."""


class InputError(UsageError):
    """A data file that does not fit its schema."""


class ParameterError(UsageError):
    """A parameter that is unknown, of the wrong type or out of range."""


class RuleError(UsageError):
    """A rule or pre-registration file that does not fit."""


class ReportError(GatebookError):
    """A report could not be executed or rendered."""


class MissingProgram(ReportError):
    """An optional package or program is not installed; the message says how to get it."""


class ExecutionError(ReportError):
    """The notebook did not run to its end."""


class TimedOut(ExecutionError):
    """A cell, the report or the batch was over its time limit."""


class KernelDied(ExecutionError):
    """The process that ran the cells ended by itself."""


class Incomplete(ExecutionError):
    """The run ended as if all were well, without what it should have left."""


class RenderError(ReportError):
    """The page or the PDF could not be made."""


EXIT_PASS, EXIT_REFUSE, EXIT_UNDECIDED, EXIT_USAGE, EXIT_REPORT = 0, 1, 2, 3, 4
EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143
VERDICT_EXIT = {"pass": EXIT_PASS, "refuse": EXIT_REFUSE, "undecided": EXIT_UNDECIDED}


def exit_code_for(error: BaseException) -> int:
    """The exit code of an error; anything unexpected is 4, never 1.

    >>> exit_code_for(InputError("empty file")), exit_code_for(RenderError("no font")), exit_code_for(KeyError("x"))
    (3, 4, 4)
    """
    if isinstance(error, UsageError):
        return EXIT_USAGE
    if isinstance(error, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    return EXIT_REPORT


def raise_all(error: type[GatebookError], faults: Iterable[Fault]) -> None:
    """Raise ``error`` with all faults when there are any."""
    found = tuple(faults)
    if found:
        raise error(*found)
