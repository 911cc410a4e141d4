"""The page of the guide that lists all commands, read off the command line: ``python -m tests.commands_page`` writes it."""

import inspect
import re

import click

from analysis.cli import COMMANDS, gatebook
from tests.conftest import ROOT

PATH = ROOT / "templates" / "guide" / "commands.md"
HEAD = """# Commands

Every command with its options, as `gatebook COMMAND --help` prints them.
"""


def text() -> str:
    """The whole page."""
    context = click.Context(gatebook, info_name="gatebook")
    return "\n".join([HEAD, *(_section(name, context) for name in COMMANDS)])


def _section(name: str, parent: click.Context) -> str:
    command = gatebook.get_command(parent, name)
    context = click.Context(command, info_name=name, parent=parent)
    said = inspect.cleandoc(command.help or "")
    words, _, example = said.partition("\b\n")
    example = re.sub(r"^Example:\n", "", example)
    usage = " ".join(["gatebook", name, *command.collect_usage_pieces(context)])
    lines = [f"## {name}", "", words.strip(), "", "```text", usage, "```", ""]
    if example:
        lines += ["```console", inspect.cleandoc(example), "```", ""]
    records = [record for option in command.get_params(context) if (record := option.get_help_record(context))]
    lines += [f"- `{names}`: {_line(help_)}" for names, help_ in records if help_ and "--help" not in names]
    return "\n".join([*lines, ""])


def _line(help_: str) -> str:
    said = " ".join(help_.split())
    return re.sub(r"([\\`*_\[\]<>{}$|])", r"\\\1", said)


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
