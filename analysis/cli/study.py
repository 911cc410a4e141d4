"""Commands on one study: check, gate, run."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analysis.cli.options import RENDERERS, Seconds, ask, report_module, study_options
from analysis.errors import VERDICT_EXIT, Fault, UsageError, plain

if TYPE_CHECKING:
    from collections.abc import Mapping

ACCEPTED = ("MISMATCH accepted", "accepted in")  # as `analysis.readers.account` writes them
MARKS = {"pass": "✓", "refuse": "✕", "undecided": "?"}


@click.command()
@study_options
def check(study: str, label: str | None, **given: Any) -> int:
    """Validate inputs, parameters and rule, and account for every row. No kernel starts.

    \b
    Example:
      gatebook check recipe-card --data runs.csv -p tau=0.8
    """
    asked = ask(study, label=label, **_asked(given))
    for name, read in asked.inputs.items():
        click.echo(f"{name}: ok")
        click.echo(f"  {read.reconciliation}")
    click.echo("parameters: ok")
    if asked.request.rule is not None:
        click.echo(f"rule: ok ({asked.request.rule.name})")
    click.echo(asked.study.check(asked.inputs, asked.params))
    return 0


@click.command()
@partial(study_options, required=False)
@click.option("--from", "stored", metavar="RESULT.json", help="Read the verdict of a result that is there already.")
@click.option("--json", "as_json", is_flag=True, help="Print result.json, byte for byte as run writes it.")
@click.option("--summary", is_flag=True, help="Print a Markdown block for a pull request.")
def gate(study: str | None, label: str | None, stored: str | None, as_json: bool, summary: bool, **given: Any) -> int:
    """Decide, and leave with the verdict's exit code: 0 pass, 1 refuse, 2 undecided. No kernel starts.

    \b
    Example:
      gatebook gate recipe-card --data runs.csv -p tau=0.8 --json
    """
    from analysis.results import dumps, load

    if as_json and summary:
        raise UsageError(Fault(place="--json --summary", what="are two answers", fix="Ask for one of them."))
    if stored is not None and not stored.strip():
        raise UsageError(Fault(place="--from", what="names no file", fix="Is a shell variable unset?"))
    if stored is not None:
        if study is not None or label is not None or any(given[name] for name in given if name != "no_progress"):
            raise UsageError(
                Fault(place="--from", what="reads a finished result", fix="Leave the study and the data out.")
            )
        result: Mapping[str, Any] = load(Path(stored))
    elif study is None:
        raise UsageError(
            Fault(what="no study was named", fix="gatebook gate STUDY --data …, or gatebook gate --from FILE.")
        )
    else:
        result = ask(study, label=label, **_asked(given)).result.to_json()
    if as_json:
        click.echo(dumps(result), nl=False)
    elif summary:
        click.echo(_summary(result))
    else:
        _show(result)
    return VERDICT_EXIT[result["gate"]["verdict"]]


@click.command()
@study_options
@click.option("--out", default="reports", show_default=True, metavar="DIR", help="Folder of all reports.")
@click.option("--to", "to", default="html", show_default=True, metavar="html,pdf", help="What to render.")
@click.option("--renderer", type=RENDERERS, default="auto", show_default=True)
@click.option("--timeout", type=Seconds(), metavar="S", help="Limit for the whole notebook.")
@click.option("--cell-timeout", type=Seconds(), metavar="S", help="Limit for each cell.")
@click.option("--gate", "gated", is_flag=True, help="Leave with the verdict's exit code.")
@click.option("-q", "--quiet", is_flag=True, help="Print the folder only.")
def run(
    study: str,
    label: str | None,
    out: str,
    to: str,
    renderer: Any,
    timeout: float | None,
    cell_timeout: float | None,
    gated: bool,
    quiet: bool,
    no_progress: bool,
    **given: Any,
) -> int:
    """Execute the study's notebook through papermill and render it.

    \b
    Example:
      gatebook run recipe-card --data runs.csv --label nightly --to html,pdf
    """
    from analysis.pipeline.formats import FORMATS

    formats = [part.strip() for part in to.split(",") if part.strip()]
    unknown = [part for part in formats if part not in FORMATS]
    if unknown or not formats:
        raise UsageError(Fault(place=f"--to {plain(to)}", what="is not a format", fix=f"Known: {','.join(FORMATS)}."))
    if not out.strip():
        raise UsageError(Fault(place="--out", what="names no folder", fix="Is a shell variable unset?"))
    asked = ask(study, label=label, **_asked(given | {"no_progress": no_progress or quiet}))
    reports = report_module()
    options = reports.Options(
        formats=formats,
        renderer=renderer,
        timeout=timeout,
        cell_timeout=cell_timeout,
        progress=sys.stderr.isatty() and not quiet and not no_progress,
        say=lambda line: None if quiet else click.echo(f"{asked.study.slug}: {line}", err=True),
    )
    report = reports.make(asked.request, asked.result, Path(out), options)
    if quiet:
        click.echo(str(report.folder))
    else:
        _show(report.result)
        click.echo(f"renderer: {report.renderer}")
        for name in sorted(path.name for path in report.folder.iterdir()):
            click.echo(f"  {report.folder / name}")
    return VERDICT_EXIT[report.result["gate"]["verdict"]] if gated else 0


def _asked(given: dict[str, Any]) -> dict[str, Any]:
    names = ("data", "maps", "chosen", "accept_mismatch", "options", "files", "rule")
    return {name: given[name] for name in names} | {"shown": not given["no_progress"]}


def _show(result: Mapping[str, Any]) -> None:
    from analysis.session import standing

    verdict = result["gate"]["verdict"]
    click.echo(f"{MARKS[verdict]} {verdict}  {result['study']}  {plain(result['label'])}")
    click.echo(plain(result["headline"], width=2000))
    click.echo(plain(result["gate"]["reason"], width=2000))
    click.echo(standing(result["rule"]))
    for note in _accepted(result):
        click.echo(f"warning: {plain(note, width=400)}", err=True)
    for what, where, why in result["tables"].get("warnings", {}).get("rows", []):
        click.echo(f"warning: {plain(what)} ({plain(where)}): {plain(why, width=400)}", err=True)


def _accepted(result: Mapping[str, Any]) -> list[str]:
    """What speaks against the inputs and was accepted: it stands with their rows on the page, and with every verdict."""
    notes = [part for note in result["tables"]["inputs"]["notes"] for part in note.rstrip(".").split("; ")]
    return [note for note in notes if note.startswith(ACCEPTED)]


def _summary(result: Mapping[str, Any]) -> str:
    from analysis.present.prose import markdown
    from analysis.session import standing

    checks = result["gate"]["checks"]
    tally = ", ".join(f"{sum(c['verdict'] == v for c in checks)} {v}" for v in ("pass", "undecided", "refuse"))
    lines = [
        f"### {MARKS[result['gate']['verdict']]} {result['gate']['verdict']}: {markdown(result['study'])} {markdown(result['label'])}",
        "",
        markdown(result["headline"]),
        "",
        f"Checks: {tally}. {markdown(standing(result['rule']))}",
        "",
        *(line for note in _accepted(result) for line in (f"Warning: {markdown(note)}.", "")),
        f"`{plain(result['signature'])}`",
    ]
    return "\n".join(lines)
