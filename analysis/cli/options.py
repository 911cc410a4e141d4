"""Options that mean the same in every command, and what they add up to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pydantic import BaseModel

    from analysis.inputs import Input
    from analysis.layouts import Layout
    from analysis.parameters import Given
    from analysis.results import StudyResult
    from analysis.rules import Rule
    from analysis.study import Study

WORTH_A_BAR = 20 << 20  # bytes; fewer are read in about a second

Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A study with everything that was asked of it, resolved; its inputs read and checked, nothing decided yet."""

    study: Study
    data: dict[str, list[str]]
    params: BaseModel
    layouts: dict[str, Layout]
    rule_path: Path | None
    rule: Rule | None
    label: str | None
    inputs: dict[str, Input]

    @property
    def result(self) -> StudyResult:
        """Decide: the one implementation that the notebook runs too."""
        return self.study.run(self.inputs, self.params, rule=self.rule, label=self.label, layouts=self.layouts)


def study_options(command: Command, *, required: bool = True) -> Command:
    """The options of every command that reads data."""
    for option in reversed(
        (
            click.argument("study", required=required),
            click.option(
                "--data", "data", multiple=True, metavar="[NAME=]PATH", help="An input: file, folder or pattern."
            ),
            click.option(
                "--map", "maps", multiple=True, metavar="COLUMN=SOURCE", help="Which column of the file is meant."
            ),
            click.option(
                "--choose",
                "chosen",
                multiple=True,
                metavar="KIND=NAME",
                help="Which metric, filter, task … of a log is meant; all for every one.",
            ),
            click.option("--accept-mismatch", is_flag=True, help="Read a log whose own totals do not fit, and say so."),
            click.option(
                "-p", "options", multiple=True, metavar="NAME=VALUE", help="A parameter; lists and objects are JSON."
            ),
            click.option("-f", "files", multiple=True, metavar="FILE", help="Parameters and column mappings, YAML."),
            click.option("--rule", metavar="RULE.yml", help="A decision rule that fixes parameters."),
            click.option("--label", metavar="NAME", help="Name of the report; derived when not given."),
            click.option("--no-progress", is_flag=True, help="No progress bar, also on a terminal."),
        )
    ):
        command = option(command)
    return command


def ask(
    slug: str,
    data: Sequence[str],
    maps: Sequence[str],
    options: Sequence[str],
    files: Sequence[str],
    rule: str | None,
    label: str | None,
    *,
    chosen: Sequence[str] = (),
    accept_mismatch: bool = False,
    shown: bool = False,
) -> Asked:
    """Resolve options and read the inputs; every fault of the call is raised at once. ``shown`` allows a progress bar.

    Raises
    ------
    UsageError
        With all faults of parameters, rule, mappings and inputs.
    """
    from analysis.catalogue import study as find
    from analysis.errors import Fault, UsageError, raise_all
    from analysis.parameters import from_option
    from analysis.readers.paths import expand
    from analysis.study import parse_layouts

    study = find(slug)
    faults: list[Fault] = []

    def collected(step: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return step(*arguments)
        except UsageError as error:
            faults.extend(error.faults)
            return None

    paths: dict[str, list[str]] = {}
    for text in data:
        collected(_add_path, study, text, paths)
    for named in paths.values():
        collected(expand, named)
    given: list[Given] = []
    raw_layouts: dict[str, dict[str, Any]] = {}
    for name in files:
        collected(_add_file, study, name, given, raw_layouts)
    given += [read for option in options if (read := collected(from_option, study.params, option))]
    resolved = collected(study.resolve, given, Path(rule) if rule else None)
    for text in maps:
        collected(_add_map, study, text, raw_layouts)
    for text in chosen:
        collected(_add_choice, study, text, raw_layouts)
    for name in paths if accept_mismatch else ():
        raw_layouts.setdefault(name, {})["accept_mismatch"] = True
    layouts = collected(parse_layouts, raw_layouts, "column mapping")
    raise_all(UsageError, faults)
    params, rule_read = resolved
    with progress([path for named in paths.values() for path in named], shown=shown) as advance:
        inputs = study.load(paths, params, layouts, advance)
    return Asked(
        study=study,
        data=paths,
        params=params,
        layouts=layouts,
        rule_path=Path(rule) if rule else None,
        rule=rule_read,
        label=label,
        inputs=inputs,
    )


@contextmanager
def progress(paths: Sequence[str], *, shown: bool) -> Iterator[Callable[[int], None]]:
    """A bar over the bytes of the files, on a terminal and where reading takes a while; nothing otherwise."""
    from analysis.readers.paths import expand

    if not shown or not sys.stderr.isatty():
        yield lambda _count: None
        return
    size = sum(file.stat().st_size for file in expand(paths))
    if size < WORTH_A_BAR:
        yield lambda _count: None
        return
    with click.progressbar(length=size, label="reading", file=sys.stderr) as bar:
        yield bar.update


def _add_path(study: Study, text: str, paths: dict[str, list[str]]) -> None:
    """``[NAME=]PATH`` to the paths by input name; without a name it is the study's first input."""
    from analysis.errors import Fault, InputError

    names = [spec.schema.name for spec in study.inputs]
    name, equals, path = text.partition("=")
    if not equals or (name not in names and Path(text).exists()):
        name, path = names[0], text
    study.spec(name)
    if not path.strip():
        raise InputError(Fault(place=f"--data {text}", what="names no file", fix="Is a shell variable unset?"))
    paths.setdefault(name, []).append(path)


def _add_file(study: Study, name: str, given: list[Given], layouts: dict[str, dict[str, Any]]) -> None:
    """Parameters and layouts of a ``-f`` file. Layout keys at the top belong to the first input, others under ``inputs``."""
    from analysis import yaml
    from analysis.errors import Fault, ParameterError
    from analysis.layouts import Layout
    from analysis.parameters import Given

    main = study.inputs[0].schema.name
    document = yaml.load(Path(name), ParameterError)
    for key, value in document.values.items():
        if key in Layout.model_fields:
            layouts.setdefault(main, {})[key] = value
        elif key == "inputs":
            if not isinstance(value, dict) or not all(isinstance(layout, dict) for layout in value.values()):
                place = document.place(key)
                raise ParameterError(Fault(file=document.file, place=place, what="inputs must be NAME: {columns: …}"))
            for other, layout in value.items():
                study.spec(other)
                layouts.setdefault(other, {}).update(layout)
        else:
            source = f"{document.file}, {document.place(key)}"
            given.append(Given(name=key, value=value, source=source, text=True))


def _add_choice(study: Study, text: str, layouts: dict[str, dict[str, Any]]) -> None:
    """A ``--choose`` on top of the files; ``INPUT.KIND=NAME`` chooses for another input than the first."""
    from analysis.errors import Fault, ParameterError

    name, kind, value = _targeted(study, text)
    if not kind or not value:
        fix = "Write --choose metric=NAME; several are a list in -f."
        raise ParameterError(Fault(place=f"--choose {text}", what="is not KIND=NAME", fix=fix))
    choose = layouts.setdefault(name, {}).setdefault("choose", {})
    if not isinstance(choose, dict):
        raise ParameterError(Fault(place=f"--choose {text}", what="`choose` in the params file is not a mapping"))
    choose[kind] = value


def _targeted(study: Study, text: str) -> tuple[str, str, str]:
    """Input, target and value of ``[INPUT.]TARGET=VALUE``; without an input it is the study's first."""
    names = [spec.schema.name for spec in study.inputs]
    target, _, value = text.partition("=")
    prefix, dot, rest = target.partition(".")
    return (prefix, rest, value) if dot and prefix in names else (names[0], target, value)


def _add_map(study: Study, text: str, layouts: dict[str, dict[str, Any]]) -> None:
    """A ``--map`` on top of the files; ``INPUT.COLUMN=SOURCE`` maps another input than the first."""
    from analysis.errors import Fault, ParameterError

    name, target, source = _targeted(study, text)
    if not target or not source:
        raise ParameterError(
            Fault(place=f"--map {text}", what="is not COLUMN=SOURCE", fix="A mapping file is given with -f.")
        )
    columns = layouts.setdefault(name, {}).setdefault("columns", {})
    if not isinstance(columns, dict):
        raise ParameterError(Fault(place=f"--map {text}", what="`columns` in the params file is not a mapping"))
    columns[target] = source
