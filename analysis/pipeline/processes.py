"""Processes that do not outlive who started them: death with the parent, orphans adopted, whole groups killed.

Linux does the first two; elsewhere those functions do nothing.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from pathlib import Path

LINUX = sys.platform == "linux"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36  # linux/prctl.h


def may_fork() -> bool:
    """Whether a fork of this process is safe: on Linux, and no other thread may hold a lock that the fork would wait for."""
    return LINUX and threading.active_count() == 1


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when ``parent``, which started it, is gone; at once where it is gone already."""
    if _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL) and os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent ends; false where the system cannot do that."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def kill_group(pid: int, number: int = signal.SIGKILL) -> None:
    """Send a signal to the process group that ``pid`` leads, or to ``pid`` alone where it leads none."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        try:
            os.killpg(pid, number)
        except (AttributeError, ProcessLookupError):  # no groups here, or it leads none yet
            os.kill(pid, number)


def children() -> set[int]:
    """Processes that this one started or adopted; empty where the system does not say."""
    own, found = str(os.getpid()), set()
    for entry in Path("/proc").glob("[0-9]*/stat") if LINUX else ():
        with contextlib.suppress(OSError):
            text = entry.read_text(encoding="utf-8", errors="replace")
            if text.rpartition(")")[2].split()[1] == own:  # proc(5): pid (name) state ppid …
                found.add(int(entry.parent.name))
    return found


def kill_orphans(known: set[int], *, all_of_them: bool) -> int:
    """Kill adopted processes; how many there were.

    Parameters
    ----------
    known
        Children that are not orphans.
    all_of_them
        Also those whose session leader still runs: a notebook at work may have set them free on purpose.
    """
    count = 0
    while orphans := {pid for pid in children() - known if all_of_them or not _is_led(pid)}:
        for pid in orphans:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in orphans:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        count += len(orphans)  # and look again: those that were killed may have left orphans of their own
    return count


def is_alive(pid: int) -> bool:
    """Whether a process of that number runs on this machine.

    >>> is_alive(os.getpid())
    True
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OSError, OverflowError):
        return True
    return True


def _is_led(pid: int) -> bool:
    try:
        return is_alive(os.getsid(pid))
    except ProcessLookupError:
        return False


def _prctl(option: int, value: int) -> bool:
    return LINUX and ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) == 0
