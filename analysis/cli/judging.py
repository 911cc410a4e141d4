"""Blinded sheets for any judge, and the judgements back from them: judge-sheet, judge-resolve."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    import pandas as pd

    from analysis.errors import Fault
    from analysis.layouts import Layout

MAP_HELP = "Which column of the file is meant."


@click.command()
@click.option("--data", "data", multiple=True, required=True, metavar="PATH", help="Outputs, one row per system and item: model, item_id, output, and prompt if the judge is to see it. File, folder or pattern.")  # fmt: skip
@click.option("--baseline", required=True, metavar="SYSTEM", help="System A, as the data call it.")
@click.option("--candidate", required=True, metavar="SYSTEM", help="System B, as the data call it.")
@click.option("-o", "--out", required=True, metavar="SHEET.csv", help="The sheet, for the judge.")
@click.option("--key", required=True, metavar="KEY.csv", help="What the rows mean; the judge never sees it.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of row ids and their sequence. Who knows it and the data can make the key again.")  # fmt: skip
@click.option("--map", "maps", multiple=True, metavar="COLUMN=SOURCE", help=MAP_HELP)
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
def judge_sheet(
    data: tuple[str, ...],
    baseline: str,
    candidate: str,
    out: str,
    key: str,
    seed: int,
    maps: tuple[str, ...],
    force: bool,
) -> int:
    """Make a sheet for a judge, a person or a model: two responses side by side, no names, every item in both orders.

    The sheet has the columns row, prompt, response_1 and response_2. The answers are a file with the columns row and
    winner: 1, 2, tie, or fail where there is no verdict; judge-resolve turns them into judgements. No model is called.

    A cell that a spreadsheet would run as a formula (it starts with =, +, -, @, a tab or a carriage return) has an
    apostrophe before it, in the sheet and in the key; so has one that starts so after apostrophes. Nothing else is changed.

    \b
    Example:
      gatebook judge-sheet --data outputs.csv --baseline production --candidate tuned -o sheet.csv --key key.csv
    """
    from analysis.errors import UsageError, plain, raise_all
    from analysis.inputs import read
    from analysis.present.format import plural
    from analysis.present.prose import listed

    layout, faults = _layout(maps)
    faults += _unfit({"-o": out, "--key": key}, {"--data": data}, force=force)
    raise_all(UsageError, faults)

    import numpy as np

    from analysis.studies.fine_tune.sheets import OUTPUTS, as_given, blind_pairs

    outputs = read(data, as_given(OUTPUTS), layout=layout)
    sheet = blind_pairs(outputs, (baseline, candidate), rng=np.random.default_rng(seed))
    _write({key: _csv(sheet.key, safe=True), out: _csv(sheet.rows, safe=True)})
    click.echo(
        f"Wrote {plural(len(sheet.rows), 'row')} for {plural(sheet.n_items, 'item')}, each in both orders, to {plain(out)}, "
        f"and what they mean to {plain(key)}; give the judge {plain(out)} alone."
    )
    if sheet.n_named:
        click.echo(
            f"warning: {plural(sheet.n_named, 'output')} of {2 * sheet.n_items:,} contain{'s' * (sheet.n_named == 1)} the name "
            f"of a system, so the judge may know who speaks: {plain(listed(sheet.named_items, most=5))}",
            err=True,
        )
    return 0


@click.command()
@click.option("--key", required=True, metavar="KEY.csv", help="The key that judge-sheet wrote with the sheet.")
@click.option("--answers", required=True, metavar="PATH", help="What the judge said: row, winner, and judge where there are several, each of whom answers every row.")  # fmt: skip
@click.option("-o", "--out", required=True, metavar="JUDGEMENTS.csv", help="The judgements, an input of fine-tune.")
@click.option("--missing", type=click.Choice(["refuse", "fail"]), default="refuse", show_default=True, help="Rows without an answer: refuse them, or count them as failures of the judge.")  # fmt: skip
@click.option("--map", "maps", multiple=True, metavar="COLUMN=SOURCE", help=f"{MAP_HELP[:-1]} (of the answers).")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
def judge_resolve(key: str, answers: str, out: str, missing: str, maps: tuple[str, ...], force: bool) -> int:
    """Turn a judge's answers to a sheet into judgements: who won, whatever the place.

    A winner is 1 or 2 (also "Response 1", "response_1"), tie, or fail. A is the baseline, B the candidate. A win counts
    only when it survives the swap: that is decided where the judgements are read, in gate and run. They hold the item ids
    as they were, so that they match the items: a spreadsheet may run an id that starts like a formula.

    \b
    Example:
      gatebook judge-resolve --key key.csv --answers answers.csv -o judgements.csv
      gatebook gate fine-tune --data items.csv --data judgements=judgements.csv
    """
    from dataclasses import replace

    from analysis.errors import UsageError, plain, raise_all
    from analysis.inputs import read
    from analysis.present.format import plural

    layout, faults = _layout(maps)
    faults += _unfit({"-o": out}, {"--key": [key], "--answers": [answers]}, force=force)
    raise_all(UsageError, faults)

    from analysis.studies.fine_tune.sheets import ANSWERS, KEY, as_given, resolve, unescaped

    sheet_key = read([key], as_given(KEY))
    sheet_key = replace(sheet_key, frame=sheet_key.frame.map(unescaped))
    said = read([answers], as_given(ANSWERS), layout=layout)
    judgements = resolve(sheet_key, said, missing="fail" if missing == "fail" else "refuse")
    _write({out: _csv(judgements, safe=False)})
    n_items, n_judges = judgements["item_id"].nunique(), judgements["judge"].nunique()
    failed = int((judgements["winner"] == "fail").sum())
    silent = len(judgements) - int((said.frame["winner"].str.strip() != "").sum())
    click.echo(
        f"Wrote {plural(len(judgements), 'judgement')} of {plural(n_items, 'item')} by {plural(n_judges, 'judge')} to "
        f"{plain(out)}: A is {plain(sheet_key.frame['baseline'].iat[0])}, B is {plain(sheet_key.frame['candidate'].iat[0])}; "
        f"{failed:,} failed" + (f", {silent:,} of them without an answer." if silent else ".")
    )
    return 0


def _layout(maps: Sequence[str]) -> tuple[Layout, list[Fault]]:
    """The column mapping of ``--map`` options, and those that are none."""
    from analysis.errors import Fault
    from analysis.layouts import Layout

    columns, faults = {}, []
    for text in maps:
        target, _, source = text.partition("=")
        if target and source:
            columns[target] = source
        else:
            faults.append(Fault(place=f"--map {text}", what="is not COLUMN=SOURCE", fix="Write --map item_id=id."))
    return Layout(columns=columns), faults


def _unfit(targets: Mapping[str, str], sources: Mapping[str, Sequence[str]], *, force: bool) -> list[Fault]:
    """What speaks against reading and writing these files, by the option that names each."""
    from analysis.errors import Fault, UsageError
    from analysis.readers.paths import expand

    faults: list[Fault] = []
    taken: dict[Path, str] = {}
    for option, names in sources.items():
        for name in names:
            try:
                if not name.strip():
                    raise UsageError(Fault(place=option, what="names no file", fix="Is a shell variable unset?"))
                taken |= dict.fromkeys((file.resolve() for file in expand([name])), option)
            except UsageError as error:
                faults += error.faults
    for option, name in targets.items():
        place = f"{option} {name}"
        path = Path(name)
        if not name.strip():
            faults.append(Fault(place=option, what="names no file", fix="Is a shell variable unset?"))
        elif path.suffix.lower() != ".csv":
            faults.append(Fault(place=place, what="is no .csv file", fix="Nothing else is written: name it so."))
        elif path.is_dir() or not path.parent.is_dir():
            what = "is a folder" if path.is_dir() else "lies in a folder that is not there"
            faults.append(Fault(place=place, what=what, fix="Name a file in a folder that is there."))
        elif path.resolve() in taken:
            faults.append(Fault(place=place, what=f"is the file of {taken[path.resolve()]} too", fix="Name another."))
        elif path.exists() and not force:
            faults.append(Fault(place=place, what="is there already", fix="Name another file, or add --force."))
        taken.setdefault(path.resolve(), option)
    return faults


def _csv(frame: pd.DataFrame, *, safe: bool) -> str:
    """The frame as CSV, text quoted; ``safe`` keeps a spreadsheet from running a cell."""
    import csv
    import io

    from analysis.studies.fine_tune.sheets import escaped

    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)  # a bare \r would break the line
    writer.writerow(frame.columns)
    for row in frame.itertuples(index=False):
        writer.writerow([escaped(cell) if safe and isinstance(cell, str) else cell for cell in row])
    return buffer.getvalue()


def _write(files: Mapping[str, str]) -> None:
    """Every file beside its place, then all renamed in this sequence: no half file, and none when one cannot be written."""
    from analysis.errors import Fault, ReportError, plain

    beside = {name: Path(name).with_name(f".gatebook-{os.getpid()}-{i}") for i, name in enumerate(files)}
    try:
        for name, text in files.items():
            beside[name].write_bytes(text.encode())
        for name in files:
            beside[name].replace(name)
    except OSError as error:
        raise ReportError(Fault(file=name, what=f"cannot be written ({plain(error.strerror)})")) from error
    finally:
        for path in beside.values():
            path.unlink(missing_ok=True)
