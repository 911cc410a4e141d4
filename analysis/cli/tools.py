"""Commands about the tool itself: studies, params, register, doctor."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import click

EXTRAS = {
    "report": ("papermill", "nbconvert", "altair", "vl_convert", "pypandoc", "typst", "nh3"),
    "formats": ("pyarrow", "zstandard"),
    "lab": ("jupyterlab", "anywidget"),
    "cloud": ("fsspec", "s3fs", "gcsfs"),
}
ADDS = {
    "report": "gatebook run and build: notebook, page and PDF",
    "formats": "Parquet, Arrow and .zst inputs, and logs of Inspect packed by zstandard",
    "lab": "JupyterLab with interactive charts",
    "cloud": "inputs by address: s3://, gs:// and whatever else fsspec reads",
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def studies(as_json: bool) -> int:
    """List the studies, their inputs and what they decide.

    \b
    Example:
      gatebook studies --json
    """
    from analysis.catalogue import STUDIES
    from analysis.results import dumps

    if as_json:
        click.echo(dumps([_as_json(study) for study in STUDIES]), nl=False)
        return 0
    for study in STUDIES:
        click.echo(f"{study.slug}: {study.question}")
        click.echo(f"  decides: {study.decides}")
        for spec in study.inputs:
            needed = ", ".join(column.name for column in spec.schema.columns if column.required)
            click.echo(
                f"  --data {spec.schema.name}=PATH{'' if spec.required else ' (optional)'}: {spec.help}; needs {needed}"
            )
    return 0


def _as_json(study: Any) -> dict[str, Any]:
    return {
        "study": study.slug,
        "title": study.title,
        "question": study.question,
        "decides": study.decides,
        "notebook": study.notebook,
        "inputs": [
            {
                "name": spec.schema.name,
                "required": spec.required,
                "help": spec.help,
                "columns": [
                    {"name": c.name, "kind": c.kind, "required": c.required, "help": c.help}
                    for c in spec.schema.columns
                ],
            }
            for spec in study.inputs
        ],
    }


@click.command()
@click.argument("study")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def params(study: str, as_json: bool) -> int:
    """List the parameters of a study: name, type, default, range and help.

    \b
    Example:
      gatebook params recipe-card
    """
    from dataclasses import asdict

    from analysis.catalogue import study as find
    from analysis.parameters import describe
    from analysis.results import dumps

    found = describe(find(study).params)
    if as_json:
        click.echo(dumps([asdict(item) for item in found]), nl=False)
        return 0
    for item in found:
        limits = f" ({item.range})" if item.range else ""
        click.echo(f"{item.name}: {item.type}{limits} = {json.dumps(item.default)}")
        click.echo(f"    {item.help}")
    return 0


@click.command()
@click.argument("rule", metavar="RULE.yml", required=False)
@click.option("--schema", is_flag=True, help="Print the JSON Schema of rules, for editors, and leave.")
def register(rule: str | None, schema: bool) -> int:
    """Lock a decision rule: its digest, the date and the git commit go into a file beside it.

    \b
    Example:
      gatebook register rules/recipe-card.yml
    """
    if schema:
        from analysis.schemas import rule_schema

        click.echo(rule_schema(), nl=False)
        return 0
    if rule is None:
        raise click.UsageError("name the rule: gatebook register RULE.yml")
    from analysis import rules, yaml
    from analysis.catalogue import STUDIES, study
    from analysis.errors import RuleError
    from analysis.pipeline.provenance import git_state

    path = Path(rule)
    values = yaml.load(path, RuleError).values
    clauses = next((known for known in STUDIES if known.rule_parameter is not None), None)
    found = clauses if clauses is not None and "study" not in values and "primary_metric" in values else None
    (found or study(str(values.get("study")))).resolve([], path)
    state = git_state(path.resolve().parent)
    click.echo(str(rules.register(path, commit=state["commit"] if state else None)))
    return 0


@click.command()
def doctor() -> int:
    """Say what works here, what each missing program would add, and how to get it. Always leaves with 0.

    \b
    Example:
      gatebook doctor
    """
    import analysis

    click.echo(f"gatebook {analysis.__version__}, Python {sys.version.split()[0]} at {sys.executable}")
    click.echo("ok       gate, check, size, params, studies, register, compare, verify")
    for extra, modules in EXTRAS.items():
        missing = [name for name in modules if importlib.util.find_spec(name) is None]
        if missing:
            click.echo(f"missing  {ADDS[extra]} (needs {', '.join(missing)}): pip install 'gatebook[{extra}]'")
        else:
            click.echo(f"ok       {ADDS[extra]}")
    _doctor_quarto()
    _doctor_shadow()
    return 0


def _doctor_quarto() -> None:
    from analysis.errors import MissingProgram
    from analysis.pipeline import quarto

    try:
        found = quarto.require()
        click.echo(f"ok       Quarto {'.'.join(map(str, found))}: --renderer quarto")
        for what in quarto.lacks(found):
            click.echo(f"lacks    Quarto: {what}")
    except MissingProgram as error:
        click.echo(f"missing  the Quarto renderer, never needed ({error.message()})")


def _doctor_shadow() -> None:
    import analysis

    own = Path(analysis.__file__).resolve().parent
    for name in ("analysis", "analysis.py"):
        here = (Path.cwd() / name).resolve()
        if here.exists() and here != own:
            click.echo(
                f"warning  ./{name} hides the package of that name in notebooks started here: rename it, or start Lab in "
                "another folder"
            )
