"""Render with Quarto, where it is installed: the same normalised notebook, in a project of its own."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from analysis.errors import Fault, MissingProgram, RenderError, plain
from analysis.pipeline.formats import Renderer
from analysis.study import share_folder

OLDEST = (1, 7)
HOW_TO_GET = "Install it (pip install 'gatebook[quarto]', or quarto.org), or use --renderer builtin."


def version() -> tuple[int, ...] | None:
    """The version of the ``quarto`` on the path; None when there is none that answers."""
    program = shutil.which("quarto")
    if program is None:
        return None
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    numbers = re.findall(r"\d+", done.stdout)
    return tuple(map(int, numbers[:3])) or None


def require() -> tuple[int, ...]:
    """The version, or an error that says how to get one.

    Raises
    ------
    MissingProgram
        Not installed, or too old.
    """
    found = version()
    if found is None:
        raise MissingProgram(Fault(what="quarto is not installed", fix=HOW_TO_GET))
    if found[:2] < OLDEST:
        raise MissingProgram(
            Fault(what=f"quarto {'.'.join(map(str, found))} is older than {'.'.join(map(str, OLDEST))}", fix=HOW_TO_GET)
        )
    return found


def chosen(renderer: Renderer) -> str:
    """The renderer that will be used; asking for a missing Quarto is an error, before anything runs.

    Raises
    ------
    MissingProgram
        Quarto was asked for by name and is not there.
    """
    if renderer == "builtin" or (renderer == "auto" and version() is None):
        return "builtin"
    return f"quarto {'.'.join(map(str, require()))}"


def render(notebook: Path, to: str) -> bytes:
    """Render a normalised notebook that lies on disk.

    Parameters
    ----------
    notebook
        The clean ``report.ipynb``; it is copied, never rewritten.
    to
        ``html`` or ``pdf`` (Quarto's Typst path).

    Raises
    ------
    MissingProgram, RenderError
        With Quarto's last lines.
    """
    require()
    with tempfile.TemporaryDirectory(prefix="gatebook-quarto-") as name:
        project = Path(name)
        shutil.copyfile(notebook, project / "report.ipynb")
        (project / "_quarto.yml").write_text(_settings(), encoding="utf-8", newline="\n")
        output = "html" if to == "html" else "typst"
        # never --execute, which rewrites the source; never -P, which is ignored
        command = ["quarto", "render", "report.ipynb", "--to", output]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        made = next(iter(sorted((project / "_site").rglob(f"report.{to}"))), None)
        if done.returncode or made is None:
            tail = plain(" ".join((done.stderr or done.stdout).split()[-60:]), width=600)
            missing = "" if done.returncode else f" and made no report.{to}"
            raise RenderError(
                Fault(file=notebook.name, what=f"quarto failed with exit code {done.returncode}{missing}: {tail}")
            )
        return made.read_bytes()


def _settings() -> str:
    """The shared settings, with this one notebook to render and everything in one file."""
    settings = (share_folder() / "_quarto.yml").read_text(encoding="utf-8")
    settings = re.sub(r"^  render:\n(?:    - .*\n)+", "  render:\n    - report.ipynb\n", settings, flags=re.MULTILINE)
    return settings.replace("embed-resources: false", "embed-resources: true")
