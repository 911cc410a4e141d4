"""Options that mean the same in every command, and what they add up to."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from pydantic import BaseModel

    from analysis.inputs import Input
    from analysis.request import Request
    from analysis.results import StudyResult
    from analysis.study import Study

RENDERERS = click.Choice(["auto", "quarto", "builtin"])
LONGEST = 1e7  # seconds of a limit; clocks and polls take no more
WORTH_A_BAR = 20 << 20  # bytes; fewer are read in about a second

Command = TypeVar("Command", bound=Callable[..., Any])


class Seconds(click.FloatRange):
    """A limit in seconds: more than none, finite, and such as clocks can count."""

    def __init__(self) -> None:
        super().__init__(min=0, max=LONGEST, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number, or an error of use."""
        found = float(super().convert(value, param, ctx))
        if not math.isfinite(found):
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request with its inputs read and checked, nothing decided yet."""

    request: Request
    inputs: dict[str, Input]

    @property
    def study(self) -> Study:
        """The study that was asked for."""
        return self.request.study

    @property
    def params(self) -> BaseModel:
        """Its parameters."""
        return self.request.params

    @property
    def result(self) -> StudyResult:
        """Decide: the one implementation that the notebook runs too."""
        asked = self.request
        return asked.study.run(self.inputs, asked.params, rule=asked.rule, label=asked.label, layouts=asked.layouts)


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
    from analysis.request import resolve

    request = resolve(slug, data, maps, options, files, rule, label, chosen=chosen, accept_mismatch=accept_mismatch)
    with progress([path for named in request.data.values() for path in named], shown=shown) as advance:
        inputs = request.study.load(request.data, request.params, request.layouts, advance)
    return Asked(request=request, inputs=inputs)


@contextmanager
def progress(paths: Sequence[str], *, shown: bool) -> Iterator[Callable[[int], None]]:
    """A bar over the bytes of the files, on a terminal and where reading takes a while; nothing otherwise."""
    from analysis.readers.paths import expand
    from analysis.readers.remote import is_address

    paths = [path for path in paths if not is_address(path)]
    if not paths or not shown or not sys.stderr.isatty():
        yield lambda _count: None
        return
    size = sum(file.stat().st_size for file in expand(paths))
    if size < WORTH_A_BAR:
        yield lambda _count: None
        return
    with click.progressbar(length=size, label="reading", file=sys.stderr) as bar:
        yield bar.update


def report_module() -> Any:
    """What makes reports.

    Raises
    ------
    MissingProgram
        Without Jupyter.
    """
    from analysis.errors import Fault, MissingProgram

    try:
        from analysis.pipeline import report
    except ModuleNotFoundError as error:
        raise MissingProgram(
            Fault(
                what=f"making a report needs the package {error.name}",
                fix="Install it: pip install 'gatebook[report]'. The verdict alone needs nothing more: gatebook gate.",
            )
        ) from error
    return report
