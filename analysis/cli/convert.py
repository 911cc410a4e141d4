"""The command that turns evaluation logs into a canonical table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from analysis.cli.options import progress

if TYPE_CHECKING:
    from analysis.layouts import Layout

TABLES = ("attempts", "reruns", "judgements")


@click.command()
@click.argument("format", metavar="FORMAT")
@click.argument("paths", nargs=-1, metavar="PATH...")
@click.option("-o", "out", required=True, metavar="FILE", help="The table: .csv .tsv .jsonl .parquet, also .gz .zst.")
@click.option("--filter", "filter_", metavar="F", help="Which filter of lm-eval is meant.")
@click.option("--metric", metavar="M", help="Which metric is meant.")
@click.option("--choose", "chosen", multiple=True, metavar="KIND=NAME", help="Which task, judge … is meant; all for every one.")  # fmt: skip
@click.option("--accept-mismatch", is_flag=True, help="Read a log whose own totals do not fit, and say so.")
@click.option("--table", type=click.Choice(TABLES), help="Which table; by default what the format gives first.")
@click.option("--map", "maps", multiple=True, metavar="COLUMN=SOURCE", help="Which column of the file is meant.")
@click.option("-f", "files", multiple=True, metavar="FILE", help="Column mappings, YAML.")
@click.option("--no-progress", is_flag=True, help="No progress bar, also on a terminal.")
def convert(format: str, paths: Sequence[str], out: str, no_progress: bool, table: Any, **given: Any) -> int:
    """Turn evaluation logs into the canonical table, and account for every row.

    FORMAT is lm-eval, inspect, promptfoo, alpaca-eval, fastchat, arena-hard, mlflow, wandb or tabular. The studies read the
    same files directly; a table is for looking, joining and keeping. Cells stand as they were in the log.

    \b
    Example:
      gatebook convert lm-eval logs/ --filter strict-match --metric exact_match -o attempts.parquet
    """
    from analysis.conversion import convert as converted
    from analysis.errors import Fault, UsageError, close_match, plain
    from analysis.readers.formats import NAMES

    if format not in NAMES:
        raise UsageError(Fault(what=f"no format {plain(repr(format), width=60)}", fix=f"{close_match(format, NAMES)}."))
    if not paths:
        raise UsageError(Fault(what="no file was given", fix=f"gatebook convert {format} PATH… -o FILE."))
    for place, name in [("-o", out), *(("PATH", path) for path in paths)]:
        if not name.strip():
            raise UsageError(Fault(place=place, what="names no file", fix="Is a shell variable unset?"))
    target = Path(out)
    if target.is_dir() or not target.parent.is_dir():
        what = "is a folder" if target.is_dir() else "lies in a folder that is not there"
        raise UsageError(Fault(place=f"-o {plain(out)}", what=what, fix="Name a file in a folder that is there."))
    layout = _layout(given)
    with progress(paths, shown=not no_progress) as advance:
        line = converted(format, paths, target, table=table, layout=layout, advance=advance)
    click.echo(line)
    click.echo(f"wrote {plain(out)}")
    return 0


def _layout(given: Mapping[str, Any]) -> Layout:
    """Mapping files, then options, as one layout; what a file says to a study is named and left."""
    from analysis import yaml
    from analysis.errors import Fault, ParameterError, raise_all
    from analysis.layouts import Layout
    from analysis.study import parse_layouts

    raw: dict[str, Any] = {"columns": {}, "choose": {}}
    left: list[str] = []
    for name in given["files"]:
        for key, value in yaml.load(Path(name), ParameterError).values.items():
            if key not in Layout.model_fields:
                left.append(key)
            elif isinstance(raw.get(key), dict) and isinstance(value, dict):
                raw[key] |= value
            else:
                raw[key] = value
    if "inputs" in left:
        fix = "Put the keys of the table that is meant at the top of a file."
        raise ParameterError(Fault(place="-f", what="`inputs` describes the inputs of a study", fix=fix))
    if left:
        click.echo(f"not used in a conversion: {', '.join(left)}", err=True)
    pairs = [("--map", "columns", text) for text in given["maps"]] + [
        ("--choose", "choose", t) for t in given["chosen"]
    ]
    faults = [
        Fault(place=f"{flag} {text}", what="is not NAME=VALUE") for flag, _, text in pairs if "=" not in text.strip("=")
    ]
    raise_all(ParameterError, faults)
    for _, key, text in pairs:
        target, _, value = text.partition("=")
        raw[key][target] = value
    for key, option in (("filter", "filter_"), ("metric", "metric")):
        if given[option] is not None:
            raw["choose"][key] = given[option]
    if given["accept_mismatch"]:
        raw["accept_mismatch"] = True
    return parse_layouts({"": raw}, "column mapping")[""]
