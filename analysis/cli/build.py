"""Commands on many reports: build, site."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analysis.cli import note
from analysis.cli.options import RENDERERS, Seconds, report_module
from analysis.errors import (
    EXIT_INTERRUPTED,
    EXIT_REPORT,
    EXIT_TERMINATED,
    EXIT_USAGE,
    VERDICT_EXIT,
    Fault,
    MissingProgram,
    ReportError,
    UsageError,
    plain,
)

if TYPE_CHECKING:
    from analysis.pipeline.batch import Outcome, Planned


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]…")
@click.option("--manifest", default="reports.yml", show_default=True, metavar="FILE", help="What is to be made.")
@click.option("--out", default="reports", show_default=True, metavar="DIR", help="Folder of all reports.")
@click.option("--site", "site_", default="_site", show_default=True, metavar="DIR", help="Where the site goes.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), metavar="N", help="Reports at a time.  [default: cores]")
@click.option("-n", "--dry-run", is_flag=True, help="Say what would be made and why; validate it; make nothing.")
@click.option("--json", "as_json", is_flag=True, help="With -n: the plan as JSON.")
@click.option("-x", "--exit-first", is_flag=True, help="Start nothing more once a report could not be made.")
@click.option("--force", is_flag=True, help="Make everything, also what is up to date.")
@click.option("--rerun", type=click.Choice(["failed"]), help="Only what was not made the last time.")
@click.option("--skip-invalid", is_flag=True, help="Leave out what does not validate, and make the others.")
@click.option("--shard", metavar="I/N", help="Make part I of N of the reports, without the site.")
@click.option("--renderer", type=RENDERERS, default="auto", show_default=True)
@click.option("--timeout", type=Seconds(), metavar="S", help="Limit for each report.")
@click.option("--cell-timeout", type=Seconds(), metavar="S", help="Limit for each cell.")
@click.option("--batch-timeout", type=Seconds(), metavar="S", help="Limit for all of it; what runs then is stopped.")
@click.option("--gate", "gated", is_flag=True, help="Leave with the code of the worst verdict.")
@click.option("--schema", is_flag=True, help="Print the JSON Schema of the manifest, for editors, and leave.")
@click.option("-q", "--quiet", is_flag=True, help="Print the last line only.")
def build(
    names: tuple[str, ...],
    manifest: str,
    out: str,
    site_: str,
    jobs: int | None,
    dry_run: bool,
    as_json: bool,
    exit_first: bool,
    force: bool,
    rerun: str | None,
    skip_invalid: bool,
    shard: str | None,
    renderer: Any,
    timeout: float | None,
    cell_timeout: float | None,
    batch_timeout: float | None,
    gated: bool,
    schema: bool,
    quiet: bool,
) -> int:
    """Make all reports of a manifest that are out of date, in parallel, then the site.

    \b
    Example:
      gatebook build -j 4
      gatebook build -n        # what would run, and why
    """
    from analysis.pipeline import batch, pool
    from analysis.pipeline.manifest import load, schema_text
    from analysis.pipeline.processes import may_fork
    from analysis.pipeline.state import State

    if schema:
        click.echo(schema_text(), nl=False)
        return 0
    if as_json and not dry_run:
        raise UsageError(
            Fault(place="--json", what="is the plan", fix="Ask for it with -n; a build writes summary.json.")
        )
    for option, folder in (("--out", out), ("--site", site_), ("--manifest", manifest)):
        if not folder.strip():
            raise UsageError(Fault(place=option, what="is empty", fix="Is a shell variable unset?"))
    if not Path(manifest).exists():
        fix = "Name it with --manifest, or begin a project: gatebook init DIR."
        raise UsageError(Fault(file=manifest, what="is not there", fix=fix))
    begun = time.monotonic()
    settings = batch.Settings(
        out=Path(out),
        jobs=jobs or _cores(),
        renderer=renderer,
        force=force,
        timeout=timeout,
        cell_timeout=cell_timeout,
        batch_timeout=batch_timeout,
        exit_first=exit_first,
    )
    chosen = load(Path(manifest), names)
    part = _part(shard)
    if part is not None:
        chosen = batch.shard(chosen, *part)
    if not dry_run:
        _writable(settings.out)
    stop = pool.Stop()
    with State(settings.out) as state:
        if rerun == "failed":
            chosen = [job for job in chosen if batch.failed_before(job, settings.out, state)]
        planned = batch.plan(chosen, settings, state)
        settings = replace(settings, forked=may_fork())  # asking a store for its files may have started a thread
        if not dry_run and any(one.decision.action != "cached" for one in planned):
            report_module()
            if part is None:
                _site_module().require_replaceable(settings.out, Path(site_))
        open_ = sum(one.decision.action == "run" for one in planned)
        if open_ and not quiet:
            note(f"reading the inputs of {open_:,} of {len(planned):,} reports")
        planned = batch.validate(planned, settings, stop, begun=begun)
        if stop.number:
            return _stopped(stop.number)
        if dry_run:
            return _show_plan(planned, as_json=as_json)
        invalid = [fault for one in planned for fault in batch.named_faults(one)]
        if invalid and not skip_invalid:
            more = Fault(what="nothing was made", fix="Mend it, or make the others with --skip-invalid.")
            raise UsageError(*invalid, more)
        outcomes: list[Outcome | None] = [None] * len(planned)
        for count, (position, outcome) in enumerate(batch.make(planned, settings, state, stop, begun=begun), start=1):
            outcomes[position] = outcome
            if not quiet and outcome.status != "cached":
                _tell(outcome, f"[{count}/{len(planned)}]")
            if stop.draining and not stop.now and stop.number and not quiet:
                note("stopping when what runs is done; once more stops it now")
    done = [outcome for outcome in outcomes if outcome is not None]
    return _finish(done, settings.out, site_, time.monotonic() - begun, part, gated, quiet, stop.number)


@click.command()
@click.option(
    "--reports", default=("reports",), show_default=True, multiple=True, metavar="DIR", help="Folder of all reports."
)
@click.option("--out", default="_site", show_default=True, metavar="DIR", help="Where the site goes.")
def site(reports: tuple[str, ...], out: str) -> int:
    """Assemble the site: an index of all reports with their verdicts. It opens from disk and asks for nothing.

    \b
    Example:
      gatebook site
      gatebook site --reports shard-1 --reports shard-2   # merge what several machines made
    """
    for entry in _assemble(reports, out):
        click.echo(f"{entry.verdict:<10} {entry.study}  {plain(entry.label)}")
    click.echo(f"{Path(out) / 'index.html'}")
    return 0


def _site_module() -> Any:
    try:
        from analysis.pipeline import site as module
    except ModuleNotFoundError as error:
        raise MissingProgram(
            Fault(what=f"the site needs the package {error.name}", fix="Install it: pip install 'gatebook[report]'.")
        ) from error
    return module


def _assemble(reports: Sequence[str], out: str, *, if_current: bool = True) -> list[Any]:
    """Assemble the site; where it stands as it would be made, only ``if_current``."""
    made, named = _site_module(), [Path(folder) for folder in reports]
    return [] if not if_current and made.is_current(named, Path(out)) else made.assemble(named, Path(out))


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _part(text: str | None) -> tuple[int, int] | None:
    """``I/N`` as numbers."""
    if text is None:
        return None
    number, slash, count = text.partition("/")
    if slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count):
        return int(number), int(count)
    raise UsageError(Fault(place=f"--shard {plain(text)}", what="is not I/N", fix="Such as 2/8: the second of eight."))


def _writable(out: Path) -> None:
    """Find out before anything runs that nothing could be written."""
    import tempfile

    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out) as file:
            file.write(b"0" * 65536)
            file.flush()
    except OSError as error:
        raise ReportError(
            Fault(file=str(out), what=f"cannot be written ({plain(error.strerror or error)})", fix="Choose --out DIR.")
        ) from error


def _show_plan(planned: Sequence[Planned], *, as_json: bool) -> int:
    from analysis.results import dumps

    jobs = [
        {
            "label": one.job.request.label,
            "study": one.job.request.study.slug,
            "action": "invalid" if one.faults else one.decision.action,
            "reasons": [str(fault) for fault in one.faults] or list(one.decision.reasons),
        }
        for one in planned
    ]
    found = [job["action"] for job in jobs]
    counts = {action: found.count(action) for action in ("run", "cached", "invalid")}
    if "render" in found:
        counts["render"] = found.count("render")
    if as_json:
        click.echo(dumps({"counts": counts, "jobs": jobs}), nl=False)
    else:
        for job in jobs:
            reasons = plain("; ".join(job["reasons"]), width=2000)  # type: ignore[arg-type]
            click.echo(
                f"{job['action']:<8} {job['study']}/{plain(job['label'])}" + (f"  ({reasons})" if reasons else "")
            )
        click.echo(", ".join(f"{number} {action}" for action, number in counts.items()))
    return EXIT_USAGE if "invalid" in found else 0


def _stopped(number: int) -> int:
    note("stopped; the next build goes on from here")
    return EXIT_INTERRUPTED if number == signal.SIGINT else EXIT_TERMINATED


def _tell(outcome: Outcome, prefix: str) -> None:
    verdict = f"  {outcome.verdict}" if outcome.verdict else ""
    note(f"{prefix} {outcome.status:<11} {outcome.seconds:6.1f} s  {plain(outcome.key)}{verdict}")
    if outcome.message:
        note(f"    {plain(outcome.message, width=1000)}")
        page = outcome.folder / "index.html"
        if page.exists():
            note(f"    {page}")


def _finish(
    outcomes: Sequence[Outcome],
    out: Path,
    site_: str,
    seconds: float,
    part: tuple[int, int] | None,
    gated: bool,
    quiet: bool,
    number: int,
) -> int:
    """Summaries, site and exit code."""
    from analysis.pipeline import summaries
    from analysis.pipeline.batch import MADE

    suffix = f"-{part[0]}-of-{part[1]}" if part else ""
    summaries.write(outcomes, out, seconds=seconds, gated=gated, suffix=suffix)
    if not quiet:
        for one in outcomes:
            click.echo(f"{one.status:<11} {one.verdict or '–':<10} {plain(one.key)}")
    click.echo(f"{summaries.sentence(outcomes)} ({seconds:.1f} s)")
    if part is None and any(out.glob("*/*/index.html")):
        _assemble([str(out)], site_, if_current=False)
    if number:
        return _stopped(number)
    if any(one.status not in MADE for one in outcomes):
        return EXIT_REPORT
    counted = [one.verdict for one in outcomes if one.gated]
    if gated:
        return next((VERDICT_EXIT[word] for word in ("refuse", "undecided") if word in counted), 0)
    return 0
