"""Tasks in processes of their own, so many at a time: one may die, hang or be stopped without harm to the others.

A process is forked where that is safe (Linux), so that it starts with everything imported; elsewhere it is started afresh.
Each leads a process group, is given a time, and is never used again.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

from analysis.errors import EXIT_TERMINATED
from analysis.pipeline.processes import (
    LINUX,
    adopt_orphans,
    children,
    die_with_parent,
    is_alive,
    kill_group,
    kill_orphans,
)

T = TypeVar("T")
GRACE = 5.0  # seconds between asking a process to end and killing it
GLANCE = 1.0  # seconds at most without a look: a child of a task may hold the pipe that tells of its end
_TEMPORARY = re.compile(r"gatebook-(?:build|inputs)-(?P<pid>\d+)-\w+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended(Generic[T]):
    """How a task ended.

    Attributes
    ----------
    value
        What its function returned; None when its process ended without a word.
    stopped
        Why it was stopped: ``limit``, ``batch`` (its time was over) or ``user``; empty when it was not.
    started
        Whether it was begun at all.
    exit_code
        Of its process; minus the number of the signal that killed it.
    """

    value: T | None
    stopped: str = ""
    started: bool = True
    exit_code: int | None = None
    seconds: float = 0.0


@dataclass(slots=True)
class Stop:
    """What the user, or the caller, wants to end: ``draining`` starts nothing more, ``now`` ends what runs too."""

    draining: bool = False
    now: bool = False
    number: int = 0

    def heard(self, number: int) -> None:
        """A signal: the first interrupt drains, the second ends; a request to terminate ends at once."""
        self.now = self.now or self.draining or number != signal.SIGINT
        self.draining, self.number = True, number


@dataclass(slots=True)
class _Running:
    index: int
    process: Any
    pipe: Connection
    begun: float
    stopped: str = ""
    kill_at: float | None = None
    value: list[Any] = field(default_factory=list)


def run(
    function: Callable[[Any], T],
    arguments: Sequence[Any],
    *,
    jobs: int,
    stop: Stop,
    limit: float | None = None,
    deadline: float | None = None,
    order: Sequence[int] | None = None,
    forked: bool = LINUX,
) -> Iterator[tuple[int, Ended[T]]]:
    """Call ``function`` on every argument, each in a process, and say how each ended as it ends.

    Parameters
    ----------
    function
        Importable by name; it and the arguments are pickled where processes are not forked.
    jobs
        How many run at a time.
    stop
        Looked at between events; signals of this process are heard into it while this runs.
    limit
        Seconds for each.
    deadline
        Time of `time.monotonic` at which whatever runs is stopped.
    order
        In which they are started; as they stand when None.
    forked
        Whether processes are forked from this one.

    Yields
    ------
    (int, Ended)
        The position of the argument; every position once.
    """
    waiting = list(order if order is not None else range(len(arguments)))
    running: list[_Running] = []
    context = multiprocessing.get_context("fork" if forked else "spawn")
    adopting = forked and adopt_orphans()
    foreign = children()  # of whoever started us, such as the end of a shell's pipe: none of ours to kill
    gc.collect()
    gc.freeze()  # what is shared with the forks stays where it is
    try:
        with _heard(stop) as bell, _temporary():
            while waiting or running:
                over = deadline is not None and time.monotonic() > deadline
                if stop.draining or over:
                    for index in waiting:
                        yield index, Ended(value=None, started=False, stopped="user" if stop.draining else "batch")
                    waiting.clear()
                while waiting and len(running) < jobs:
                    running.append(_start(context, waiting.pop(0), function, arguments))
                now = time.monotonic()
                for one in running:
                    late = limit is not None and now - one.begun > limit
                    why = "user" if stop.now else "batch" if over else "limit" if late else ""
                    _end(one, why, now)
                if running:
                    _listen(running, bell, _until(running, now, limit, deadline))
                for one in [one for one in running if one.process.exitcode is not None]:
                    running.remove(one)
                    yield one.index, _ended(one)
                    if adopting:
                        kill_orphans(foreign | {other.process.pid for other in running}, all_of_them=not running)
    finally:
        for one in running:  # left early: by an error, or by the caller
            kill_group(one.process.pid)
            one.process.join()
        if adopting:
            kill_orphans(foreign, all_of_them=True)
        gc.unfreeze()


def _start(context: Any, index: int, function: Callable[[Any], T], arguments: Sequence[Any]) -> _Running:
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(function, arguments[index], writing, os.getpid()))
    process.start()
    writing.close()
    return _Running(index=index, process=process, pipe=reading, begun=time.monotonic())


def _work(function: Callable[[Any], T], argument: Any, pipe: Connection, parent: int) -> None:
    """In the new process: its own group, nothing of the terminal, gone with its parent."""
    if hasattr(os, "setsid"):
        os.setsid()
    die_with_parent(parent)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _terminated)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    pipe.send(function(argument))


def _terminated(_number: int, _frame: Any) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: what ran is being kept
    sys.exit(EXIT_TERMINATED)


def _end(one: _Running, why: str, now: float) -> None:
    """Ask a process to end where there is a reason, and kill it where it was asked long ago."""
    if why and not one.stopped:
        one.stopped, one.kill_at = why, now + GRACE
        kill_group(one.process.pid, signal.SIGTERM)
    elif one.kill_at is not None and now > one.kill_at:
        kill_group(one.process.pid)


def _until(running: Sequence[_Running], now: float, limit: float | None, deadline: float | None) -> float:
    """Seconds until somebody's time is over, or until it is worth looking at who has ended."""
    ends = [one.kill_at for one in running if one.kill_at is not None]
    if limit is not None:
        ends += [one.begun + limit for one in running if not one.stopped]
    if deadline is not None and now <= deadline:
        ends.append(deadline)
    return min(max(min(ends) - now, 0.0) + 0.01, GLANCE) if ends else GLANCE


def _listen(running: Sequence[_Running], bell: socket.socket, seconds: float) -> None:
    """Wait until a process says something or ends, a signal is heard, or the time is over."""
    waiting: list[Any] = [bell, *(one.process.sentinel for one in running)]
    waiting += [one.pipe for one in running if not one.pipe.closed]
    for ready in wait(waiting, seconds):
        if ready is bell:
            bell.recv(4096)
    for one in running:
        if not one.pipe.closed and one.pipe.poll():
            try:
                one.value.append(one.pipe.recv())
            except (EOFError, OSError):
                one.pipe.close()


def _ended(one: _Running) -> Ended[Any]:
    while not one.pipe.closed:
        try:
            one.value.append(one.pipe.recv()) if one.pipe.poll() else one.pipe.close()
        except (EOFError, OSError):
            one.pipe.close()
    one.process.join()
    code = one.process.exitcode
    one.process.close()
    return Ended(
        value=one.value[0] if one.value else None,
        stopped=one.stopped,
        exit_code=code,
        seconds=time.monotonic() - one.begun,
    )


@contextmanager
def _heard(stop: Stop) -> Iterator[socket.socket]:
    """While this lasts signals are heard, not obeyed; the socket rings when one was."""
    ears, mouth = socket.socketpair()
    for end in (ears, mouth):
        end.setblocking(False)
    before = {
        number: signal.signal(number, lambda n, _frame: stop.heard(n)) for number in (signal.SIGINT, signal.SIGTERM)
    }
    was = signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
    try:
        yield ears
    finally:
        signal.set_wakeup_fd(was)
        for number, handler in before.items():
            signal.signal(number, handler)
        ears.close()
        mouth.close()


@contextmanager
def _temporary() -> Iterator[None]:
    """Everything temporary of all processes below one folder, which goes in the end, or with the next build."""
    for left in Path(tempfile.gettempdir()).glob("gatebook-*"):
        found = _TEMPORARY.fullmatch(left.name)
        if found and not is_alive(int(found["pid"])):
            shutil.rmtree(left, ignore_errors=True)
    before, was = os.environ.get("TMPDIR"), tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix=f"gatebook-build-{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        os.environ["TMPDIR"], tempfile.tempdir = folder, folder
        try:
            yield
        finally:
            tempfile.tempdir = was
            os.environ.pop("TMPDIR")
            if before is not None:
                os.environ["TMPDIR"] = before
