"""How to go on from a report: the command that opens its notebook in JupyterLab, with all of it in place."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote
from typing import Any

from pydantic import BaseModel

from analysis.parameters import changed
from analysis.pipeline.freshness import seen, seen_from
from analysis.present.format import visible
from analysis.request import Request
from analysis.secrets import Secret


def invitation(request: Request, folder: Path) -> str:
    """The command in markdown, with paths as seen from the report's own folder; a secret is left out.

    Parameters
    ----------
    folder
        The folder of the report, or one beside it.
    """
    given = [
        f"--data {quote(f'{name}={path}')}" for name, paths in request.data.items() for path in seen_from(paths, folder)
    ]
    fixed = {item.name for item in request.rule.given} if request.rule else set()
    for name, value in changed(request.params).items():
        if name not in fixed and not isinstance(value, Secret):
            given.append(f"-p {quote(f'{name}={_written(value)}')}")
    if request.rule_path:
        given.append(f"--rule {quote(seen(request.rule_path, folder))}")
    layouts = {name: layout.model_dump(mode="json", exclude_defaults=True) for name, layout in request.layouts.items()}
    command = " ".join(["gatebook lab", request.study.slug, *given, *(["-f mapping.yml"] if layouts else [])])
    lines = ["In the folder of this report, this opens it in JupyterLab, to go on from:", "", f"    {visible(command)}"]
    if layouts:
        text = json.dumps({"inputs": layouts})
        lines += ["", "with this in `mapping.yml`:", "", f"    {visible(text)}"]
    return "\n".join(lines)


def _written(value: Any) -> str:
    value = value.model_dump(mode="json", exclude_defaults=True) if isinstance(value, BaseModel) else value
    return value if isinstance(value, str) else json.dumps(value)
