"""The command ``gatebook``: the only place that prints, and the only one that maps errors to exit codes."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from analysis import ONE_THREAD
from analysis.errors import (
    EXIT_REPORT,
    EXIT_TERMINATED,
    EXIT_USAGE,
    GatebookError,
    exit_code_for,
    plain,
)

COMMANDS = {
    "init": ("analysis.cli.projects", "A new project that already runs."),
    "studies": ("analysis.cli.tools", "The studies, their inputs and what they decide."),
    "params": ("analysis.cli.tools", "The parameters of a study."),
    "check": ("analysis.cli.study", "Validate inputs, parameters and rule; start nothing."),
    "gate": ("analysis.cli.study", "The verdict and its exit code, without a notebook."),
    "run": ("analysis.cli.study", "Execute the notebook and render the report."),
    "convert": ("analysis.cli.convert", "Logs of evaluation tools as one canonical table."),
    "size": ("analysis.cli.sizes", "How much data a question needs."),
    "judge-sheet": ("analysis.cli.judging", "A blinded sheet of two systems' answers, for any judge."),
    "judge-resolve": ("analysis.cli.judging", "A judge's answers to a sheet, as judgements."),
    "build": ("analysis.cli.build", "All reports of a manifest: what is out of date, in parallel."),
    "site": ("analysis.cli.build", "Assemble the site from the reports."),
    "preview": ("analysis.cli.projects", "Serve the site on this machine."),
    "publish": ("analysis.cli.projects", "The site into a folder, as a Pages artifact, or by Quarto."),
    "lab": ("analysis.cli.projects", "JupyterLab on a working copy with this data and these parameters."),
    "verify": ("analysis.cli.folders", "Whether a report is what it says: digests, and the verdict from its inputs."),
    "compare": ("analysis.cli.folders", "Two results side by side, or what a label was before."),
    "register": ("analysis.cli.tools", "Lock a decision rule before the numbers are seen."),
    "doctor": ("analysis.cli.tools", "What works here, and how to get what is missing."),
}


class _Lazy(click.Group):
    """A group whose commands are imported when they are called: ``--help`` stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        from importlib import import_module

        command = getattr(import_module(COMMANDS[name][0]), name.replace("-", "_"))
        assert isinstance(command, click.Command)  # noqa: S101
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, n=1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"no command {plain(args[0])!r}.{guess} Known: {', '.join(COMMANDS)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # click would leave with 1, which is a refusal here
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return EXIT_REPORT

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from analysis import __version__

        click.echo(f"gatebook {__version__}")
        ctx.exit()


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]}, epilog="Exit codes: 0 pass · 1 refuse · 2 undecided · 3 wrong use or input · 4 a report could not be made · 130/143 stopped.")  # fmt: skip
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version, help="Show the version.")  # fmt: skip
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def gatebook(debug: bool) -> None:
    """Release decisions about language models: an executed notebook, a page, a PDF, a verdict and an exit code.

    \b
    Example:
      gatebook run recipe-card --data runs.csv --to html,pdf
    """


def main() -> NoReturn:
    """Run the command line and leave with the exit code of the contract; no user sees a bare traceback."""
    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)  # before numpy is imported
    signal.signal(signal.SIGTERM, _terminated)
    for stream, faulty in ((sys.stdout, "strict"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", newline="\n", errors=faulty)  # the same bytes on every machine
    sys.stdout = sys.stdout or Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  (closed by the caller; lives as long as we do)
    sys.stderr = sys.stderr or sys.stdout
    debug = "--debug" in sys.argv[1:]
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        _require_text(arguments)
        code = gatebook.main(arguments, prog_name="gatebook", standalone_mode=False)
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(EXIT_USAGE)
    except click.ClickException as error:
        message = plain(error.format_message(), width=2000)
        if "unexpected extra argument" in message:
            message += " Quote a pattern ('logs/*.json'), or repeat --data."
        _complain(message)
        sys.exit(EXIT_USAGE)
    except GatebookError as error:
        _complain(error.message(), debug)
        sys.exit(exit_code_for(error))
    except (KeyboardInterrupt, click.Abort) as error:
        _complain("stopped", debug)
        sys.exit(exit_code_for(KeyboardInterrupt() if isinstance(error, click.Abort) else error))
    except Exception as error:  # noqa: BLE001  (the last line before the user)
        if isinstance(error, OSError):  # a full disk or a missing right is no bug of ours
            _complain(plain(f"{error.filename or 'output'}: {error.strerror or error}", width=400), debug)
            sys.exit(EXIT_REPORT)
        _complain(
            f"unexpected {type(error).__name__}: {plain(error, width=400)}. Please report this; --debug shows more",
            debug,
        )
        sys.exit(EXIT_REPORT)


def _require_text(arguments: list[str]) -> None:
    """Refuse an argument whose bytes are not UTF-8: it could not be written into any result."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError as error:
            raise click.UsageError(f"the argument {argument!r} is not UTF-8") from error


def _terminated(_signal: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(EXIT_TERMINATED)


def _complain(message: str, debug: bool = False) -> None:
    if debug:
        traceback.print_exc()
    note(click.style("error: ", fg="red", bold=True) + message if _colour() else "error: " + message)


def note(text: str) -> None:
    """A line on stderr; where nobody can take it, the work and its exit code are worth more than the line."""
    try:
        click.echo(text, err=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _colour() -> bool:
    return sys.stderr.isatty() and "NO_COLOR" not in os.environ
