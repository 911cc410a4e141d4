"""All reports of a manifest: what is out of date and why, everything validated first, then made, each in its own process."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from analysis.errors import (
    ExecutionError,
    Fault,
    GatebookError,
    Incomplete,
    KernelDied,
    TimedOut,
    UsageError,
    plain,
)
from analysis.pipeline import folders, freshness, pool, provenance, quarto
from analysis.pipeline.formats import Renderer
from analysis.pipeline.freshness import Decision, Wanted
from analysis.pipeline.manifest import Job
from analysis.pipeline.processes import LINUX
from analysis.pipeline.state import State
from analysis.request import Request
from analysis.secrets import masked, secrets_of

Status = Literal["ok", "cached", "failed", "timeout", "kernel-died", "incomplete", "cancelled", "skipped"]
STATUSES: tuple[Status, ...] = get_args(Status)
MADE: frozenset[Status] = frozenset({"ok", "cached"})
WRITING = 30.0  # seconds beyond a report's limit in which it may still write down what it had


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a batch is run; none of it changes a number.

    Attributes
    ----------
    out
        The folder of all reports.
    jobs
        How many reports are made at a time.
    timeout, cell_timeout, batch_timeout
        Seconds for each report, each cell and the whole batch; None for no limit.
    exit_first
        Start nothing more after the first report that could not be made.
    forked
        Whether processes are forked from this one.
    """

    out: Path
    jobs: int = 1
    renderer: Renderer = "auto"
    force: bool = False
    timeout: float | None = None
    cell_timeout: float | None = None
    batch_timeout: float | None = None
    exit_first: bool = False
    forked: bool = LINUX


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A report of the manifest, what it is made from and what is to be done for it; ``faults`` say why it cannot be."""

    job: Job
    target: Path
    want: Wanted | None
    decision: Decision
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one report ended, for every summary.

    Attributes
    ----------
    gated
        Whether its verdict counts for the batch.
    verdict
        None where there is no report.
    """

    study: str
    label: str
    status: Status
    folder: Path
    gated: bool
    verdict: str | None = None
    message: str = ""
    reasons: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def key(self) -> str:
        """``study/label``."""
        return f"{self.study}/{self.label}"


def plan(jobs: Sequence[Job], settings: Settings, state: State) -> list[Planned]:
    """What is to be done for every report, in the order of the manifest; nothing is read but bytes to digest."""
    chosen = quarto.chosen(settings.renderer)
    return [_planned(job, settings, chosen, state) for job in jobs]


def validate(
    planned: Sequence[Planned], settings: Settings, stop: pool.Stop, *, begun: float | None = None
) -> list[Planned]:
    """Read and check the inputs of everything that is to be run; no kernel starts. Faults stand in what is returned.

    ``begun`` is when the batch began, by `time.monotonic`; now when None.
    """
    checked = _with_notebook_faults(planned)
    open_ = [i for i, one in enumerate(checked) if one.decision.action == "run" and not one.faults]
    arguments = [planned[i].job for i in open_]
    ended_all = pool.run(
        _faults,
        arguments,
        jobs=settings.jobs,
        stop=stop,
        deadline=_deadline(settings, begun),
        forked=settings.forked,
    )
    for position, ended in ended_all:
        one = checked[open_[position]]
        faults = ended.value
        if faults is None and not ended.stopped:
            faults = (
                Fault(what=f"reading the inputs ended with exit code {ended.exit_code}", fix="Too little memory?"),
            )
        checked[open_[position]] = replace(one, faults=tuple(faults or ()))
    return checked


def make(
    planned: Sequence[Planned], settings: Settings, state: State, stop: pool.Stop, *, begun: float | None = None
) -> Iterator[tuple[int, Outcome]]:
    """Make what is out of date; yield the position of every report and how it ended, as it ends.

    ``begun`` is as in `validate`.
    """
    deadline = _deadline(settings, begun)
    work = []
    for position, one in enumerate(planned):
        if one.faults:
            yield position, _outcome(one, "skipped", message="; ".join(map(str, one.faults)))
        elif one.decision.action == "cached":
            record = provenance.read(one.target) or {}
            if folders.failed(one.target).exists():  # of a change that was taken back
                folders.forget_failure(one.target)
                state.end(one.job.key, "cached", 0.0)
            yield position, _outcome(one, "cached", verdict=record.get("verdict"))
        else:
            work.append(position)
    if not work:
        return
    if settings.forked and any(planned[position].decision.action == "run" for position in work):
        from analysis.pipeline import kernels  # noqa: PLC0415  (heavy, and not needed when everything is cached)

        kernels.preload()
    _warm(settings)
    known = [state.ended(planned[position].job.key) for position in work]
    longest_first = sorted(range(len(work)), key=lambda i: -(known[i] or ("", float("inf")))[1])
    ended_all = pool.run(
        _made,
        [(planned[position], settings) for position in work],
        jobs=settings.jobs,
        stop=stop,
        limit=None if settings.timeout is None else settings.timeout + WRITING,
        deadline=deadline,
        order=longest_first,
        forked=settings.forked,
    )
    for position, ended in ended_all:
        one = planned[work[position]]
        outcome = _read(one, ended, settings, by_user=bool(stop.number))
        state.end(one.job.key, outcome.status, ended.seconds)
        if settings.exit_first and outcome.status not in MADE:
            stop.draining = True
        yield work[position], outcome


def _deadline(settings: Settings, begun: float | None) -> float | None:
    if settings.batch_timeout is None:
        return None
    return (time.monotonic() if begun is None else begun) + settings.batch_timeout


def failed_before(job: Job, out: Path, state: State) -> bool:
    """Whether a report was not made the last time it was tried."""
    ended = state.ended(job.key)
    return folders.failed(out / job.key).exists() or (ended is not None and ended[0] not in MADE)


def named_faults(one: Planned) -> list[Fault]:
    """Its faults, each with the name of the report."""
    where = f"report {plain(one.job.name)}" + (f", {one.job.place}" if one.job.place else "")
    return [replace(fault, place=", ".join(part for part in (where, fault.place) if part)) for fault in one.faults]


def shard(jobs: Sequence[Job], number: int, count: int) -> list[Job]:
    """The part of the jobs that is machine ``number`` of ``count``: every job in exactly one part, parts of like size."""
    ranked = sorted(jobs, key=lambda job: job.key)
    mine = {job.key for job in ranked[number - 1 :: count]}
    return [job for job in jobs if job.key in mine]


def _with_notebook_faults(planned: Sequence[Planned]) -> list[Planned]:
    """What is wrong with notebooks of the user's own; each is looked at once."""
    own = {one.job.notebook for one in planned if one.decision.action != "cached" and not one.faults}
    own -= {one.job.request.study.notebook_path for one in planned}
    if not own:
        return list(planned)
    try:
        from analysis.pipeline import execute  # noqa: PLC0415  (heavy, and seldom needed)
    except ModuleNotFoundError:  # without Jupyter a plan can be told, and nothing be made
        return list(planned)
    faults: dict[Path, tuple[Fault, ...]] = {}
    for path in own:
        try:
            execute.declared(execute.read_notebook(path), path.name)
        except GatebookError as error:
            faults[path] = error.faults
    return [replace(one, faults=one.faults or faults.get(one.job.notebook, ())) for one in planned]


def _planned(job: Job, settings: Settings, chosen: str, state: State) -> Planned:
    target = settings.out / job.key
    try:
        want = freshness.wanted(
            job.request,
            target,
            label=job.request.label or "",
            notebook=job.notebook,
            formats=job.formats,
            renderer=chosen,
            state=state,
        )
    except UsageError as error:
        nothing = Decision(action="run")
        return Planned(job=job, target=target, want=None, decision=nothing, faults=error.faults)
    decision = Decision(action="run", reasons=("forced",)) if settings.force else freshness.decide(target, want)
    return Planned(job=job, target=target, want=want, decision=decision)


def _faults(job: Job) -> tuple[Fault, ...]:
    """In a process of its own: what is wrong with the inputs of a job."""
    request = job.request
    try:
        request.study.check(request.study.load(request.data, request.params, request.layouts), request.params)
    except GatebookError as error:
        return tuple(replace(fault, what=masked(fault.what, _hidden(request))) for fault in error.faults)
    except Exception as error:  # noqa: BLE001  (said with the others)
        said = masked(f"unexpected {type(error).__name__}: {error}", _hidden(request))
        return (Fault(what=plain(said, width=400), fix="Please report this."),)
    return ()


def _warm(settings: Settings) -> None:
    """What every process would find out anew."""
    from analysis.pipeline import report  # noqa: PLC0415, F401  (heavy, and not needed when everything is cached)

    provenance.host(settings.out.resolve())
    provenance.environment()
    provenance.page_environment()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Word:
    """What the process of a report says in the end."""

    status: Status
    verdict: str | None = None
    message: str = ""


def _made(task: tuple[Planned, Settings]) -> _Word:
    """In a process of its own: make one report."""
    from analysis.pipeline import kernels, report  # noqa: PLC0415

    one, settings = task
    spare = kernels.Spare() if settings.forked and one.decision.action == "run" else None
    request, want = one.job.request, one.want
    assert want is not None  # noqa: S101  (what has faults is not made)
    try:
        if one.decision.action == "render":
            chosen = quarto.chosen(settings.renderer)
            again = report.render_again(
                request, one.target, one.job.formats, want, notebook=one.job.notebook, renderer=chosen
            )
            if again is not None:
                return _Word(status="ok" if again.new else "cached", verdict=again.result["gate"]["verdict"])
        inputs = request.study.load(request.data, request.params, request.layouts)
        expected = request.study.run(
            inputs, request.params, rule=request.rule, label=request.label, layouts=request.layouts
        )
        del inputs
        options = report.Options(
            formats=one.job.formats,
            renderer=settings.renderer,
            timeout=settings.timeout,
            cell_timeout=settings.cell_timeout,
        )
        made = report.make(
            request, expected, settings.out, options,
            want=want, notebook=one.job.notebook, spare=spare, again=settings.force,
        )  # fmt: skip
        return _Word(status="ok" if made.new else "cached", verdict=made.result["gate"]["verdict"])
    except GatebookError as error:
        return _Word(status=_status(error), message=masked(error.message(), _hidden(request)))
    except OSError as error:
        return _Word(
            status="failed", message=plain(f"{error.filename or 'output'}: {error.strerror or error}", width=400)
        )
    except Exception as error:  # noqa: BLE001  (the batch goes on)
        said = masked(f"unexpected {type(error).__name__}: {error}", _hidden(request))
        return _Word(status="failed", message=plain(said, width=400))


def _hidden(request: Request) -> list[str]:
    """Values of secrets, as far as they can be read."""
    found = []
    for secret in secrets_of(request.params).values():
        with contextlib.suppress(GatebookError):
            found.append(secret.reveal())
    return found


def _status(error: GatebookError) -> Status:
    kinds: tuple[tuple[type[ExecutionError], Status], ...] = (
        (TimedOut, "timeout"),
        (KernelDied, "kernel-died"),
        (Incomplete, "incomplete"),
    )
    return next((status for kind, status in kinds if isinstance(error, kind)), "failed")


def _read(one: Planned, ended: pool.Ended[_Word], settings: Settings, *, by_user: bool) -> Outcome:
    """What became of a report, from what its process said or left unsaid."""
    word = ended.value
    if word is not None:
        return _outcome(one, word.status, verdict=word.verdict, message=word.message, seconds=ended.seconds)
    if not ended.started:
        if ended.stopped == "batch":
            return _outcome(one, "skipped", message=f"the batch was over its {settings.batch_timeout:g} s")
        if not by_user:
            return _outcome(one, "skipped", message="an earlier report could not be made")
        return _outcome(one, "cancelled", message="stopped before it began")
    if ended.stopped == "user":
        return _outcome(one, "cancelled", message="stopped while it ran", seconds=ended.seconds)
    if ended.stopped:
        limit = settings.timeout if ended.stopped == "limit" else settings.batch_timeout
        whose = "the report's" if ended.stopped == "limit" else "the batch's"
        return _outcome(one, "timeout", message=f"stopped after {whose} limit of {limit:g} s", seconds=ended.seconds)
    code = ended.exit_code or 0
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    message = f"its process {how} without a word; the system may have run out of memory"
    return _outcome(one, "incomplete", message=message, seconds=ended.seconds)


def _outcome(one: Planned, status: Status, **more: Any) -> Outcome:
    request = one.job.request
    folder = one.target if status in MADE else folders.failed(one.target)
    return Outcome(
        study=request.study.slug,
        label=request.label or "",
        status=status,
        folder=folder,
        gated=one.job.gated,
        reasons=one.decision.reasons,
        **more,
    )
