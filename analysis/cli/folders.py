"""Commands on reports that are there already: verify, compare."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from analysis.errors import VERDICT_EXIT, Fault, UsageError, plain

MARKS = {"same": "✓", "differs": "✕", "not checked": "?"}


@click.command()
@click.argument("folder", metavar="FOLDER")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
def verify(folder: str, as_json: bool) -> int:
    """Take every digest of a report again, decide again from its inputs, and say what differs. Nothing is executed.

    Leaves with 0 when all is as the report says, 1 when something differs, 2 when something could not be checked here.

    \b
    Example:
      gatebook verify reports/recipe-card/nightly
    """
    from dataclasses import asdict

    from analysis.pipeline.verify import verdict
    from analysis.pipeline.verify import verify as look
    from analysis.results import dumps

    findings = look(Path(folder))
    found = verdict(findings)
    if as_json:
        click.echo(dumps({"verdict": found, "findings": [asdict(one) for one in findings]}), nl=False)
        return VERDICT_EXIT[found]
    for one in findings:
        detail = f": {plain(one.detail, width=2000)}" if one.detail else ""
        click.echo(f"{MARKS[one.standing]} {one.standing:<11}  {one.what}{detail}")
    sentence = {
        "pass": "The report is what it says it is.",
        "undecided": "Nothing differs, but not everything could be checked here.",
        "refuse": "The report is not what its inputs and digests say.",
    }
    click.echo(sentence[found])
    return VERDICT_EXIT[found]


@click.command()
@click.argument("before", metavar="A")
@click.argument("after", metavar="[B]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print the changes as JSON.")
def compare(before: str, after: str | None, as_json: bool) -> int:
    """Two results side by side: report folders or result.json files. Of one folder alone, what its label was before.

    \b
    Example:
      gatebook compare reports/fine-tune/monday reports/fine-tune/tuesday
      gatebook compare reports/fine-tune/nightly    # its history, newest first
    """
    from analysis.comparison import compare as compared
    from analysis.results import dumps

    if after is None:
        return _history(Path(before), as_json=as_json)
    (one, record), (other, second) = _read(before), _read(after)
    found = compared(one, other, (record, second))
    if as_json:
        click.echo(dumps(found.to_json()), nl=False)
        return 0
    click.echo(f"{found.study}: {plain(found.labels[0])} → {plain(found.labels[1])}")
    click.echo(found.headline)
    for line in found.lines():
        click.echo(f"  {line}")
    return 0


def _read(text: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """A result, and the ``run.json`` beside it where there is one."""
    from analysis.pipeline import provenance
    from analysis.results import load

    path = Path(text)
    folder = path if path.is_dir() else path.parent
    return load(path / "result.json" if path.is_dir() else path), provenance.read(folder)


def _history(folder: Path, *, as_json: bool) -> int:
    from analysis.comparison import compare as compared
    from analysis.pipeline import folders
    from analysis.results import dumps, load

    if not folder.is_dir():
        raise UsageError(Fault(file=str(folder), what="is not a report folder", fix="Name a folder, or two results."))
    target = folder.resolve()
    results = [load(path) for path in (*folders.former(target), target / "result.json")]
    steps = [compared(one, other) for one, other in pairwise(results)]
    if as_json:
        click.echo(dumps([step.to_json() for step in reversed(steps)]), nl=False)
        return 0
    if not steps:
        click.echo(f"{plain(results[0]['label'])}: {results[0]['gate']['verdict']}; it has had no other result")
    for number, step in reversed(list(enumerate(steps, start=2))):
        click.echo(f"result {number} of {len(results)}: {step.headline}")
        for line in step.lines():
            click.echo(f"  {line}")
    return 0
