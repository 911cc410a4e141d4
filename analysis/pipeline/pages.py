"""The pages of a site that are no report: one environment, one policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from analysis.pipeline.assets import texts
from analysis.pipeline.policy import content_policy
from analysis.study import share_folder


def page(
    template: str, *, style: Sequence[str], script: Sequence[str], shared_scripts: bool = False, **values: Any
) -> str:
    """Fill a template of ``templates/site``; everything that is filled in is text unless the template says otherwise.

    Parameters
    ----------
    style, script
        Files below ``templates`` that the page carries, one after the other.
    shared_scripts
        Whether it may also run scripts that lie beside it.
    """
    folder = share_folder() / "templates"
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    held = {"style": texts(style), "script": texts(script)}
    policy = content_policy(held["style"], held["script"], shared_scripts=shared_scripts)
    return environment.get_template(f"site/{template}").render(**held, policy=policy, **values)
