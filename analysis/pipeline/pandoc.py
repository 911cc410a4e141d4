"""Pandoc as a Lua interpreter: pieces of a report in, HTML or Typst markup out, one process a report."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from analysis.errors import Fault, MissingProgram, RenderError

_SECONDS = 120
_BAD_MATH = "Could not convert TeX math"


def run_filter(script: Path, payload: Mapping[str, Any]) -> Any:
    """Return what ``script`` answers to ``payload``; both sides speak JSON.

    Raises
    ------
    RenderError
        The script failed, or the text holds a TeX command that pandoc does not know.
    MissingProgram
        The package ``pypandoc-binary`` is not installed.
    """
    try:
        done = subprocess.run(
            [_program(), "lua", str(script)],
            input=json.dumps(payload).encode(),
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise RenderError(f"pandoc did not finish in {_SECONDS} s") from error
    said = done.stderr.decode(errors="replace")
    if done.returncode:
        raise RenderError(Fault(what=f"pandoc failed: {said.strip()[-500:]}"))
    if _BAD_MATH in said:
        raise RenderError(*dict.fromkeys(_math_fault(line) for line in said.splitlines() if _BAD_MATH in line))
    return json.loads(done.stdout)


def converted(text: str, source: str, target: str) -> str:
    """A text in another of pandoc's formats, without its last line break.

    Raises
    ------
    RenderError
        Pandoc failed.
    MissingProgram
        The package ``pypandoc-binary`` is not installed.
    """
    command = [_program(), "--from", source, "--to", target, "--wrap=none"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=_SECONDS, check=False)
    if done.returncode:
        raise RenderError(Fault(what=f"pandoc failed: {done.stderr.decode(errors='replace').strip()[-500:]}"))
    return done.stdout.decode().strip()


def _math_fault(line: str) -> Fault:
    formula = line.split(_BAD_MATH, 1)[1].strip().removesuffix(", rendering as TeX:")
    return Fault(what=f"TeX that pandoc does not know: {formula}", fix="use commands of amsmath")


@cache
def _program() -> str:
    try:
        import pypandoc  # noqa: PLC0415
    except ImportError as error:
        raise MissingProgram("pandoc is not installed: pip install 'gatebook[report]'") from error
    return str(pypandoc.get_pandoc_path())
