"""Commands around a project: init, preview, publish, lab."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import click

from analysis.cli.options import report_module, study_options
from analysis.errors import EXIT_REPORT, Fault, MissingProgram, UsageError, plain


@click.command()
@click.argument("folder", metavar="DIR")
def init(folder: str) -> int:
    """Lay out a new project that already runs: notebooks, example data, rules, reports.yml, a recipe for CI.

    \b
    Example:
      gatebook init decisions && cd decisions && gatebook build
    """
    from analysis.pipeline.project import lay_out

    if not folder.strip():
        raise UsageError(Fault(place="DIR", what="is empty", fix="Is a shell variable unset?"))
    for name in lay_out(Path(folder)):
        click.echo(f"{Path(folder) / name}")
    click.echo(f"next: cd {plain(folder)} && gatebook build && gatebook preview")
    return 0


@click.command()
@click.option("--site", "site_", default="_site", show_default=True, metavar="DIR", help="The site to show.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Port.  [default: a free one]")
def preview(site_: str, port: int) -> int:
    """Serve the site on this machine only, until Ctrl-C.

    \b
    Example:
      gatebook preview
    """
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    from analysis.pipeline.project import require_site

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = partial(Quiet, directory=str(require_site(Path(site_))))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        what = f"cannot be used ({plain(error.strerror)})"
        raise UsageError(Fault(place=f"--port {port}", what=what, fix="Leave it out, or name another.")) from error
    with server:
        click.echo(f"http://127.0.0.1:{server.server_port}/  (Ctrl-C ends it)")
        server.serve_forever()
    return 0


@click.command()
@click.argument("target", metavar="TARGET")
@click.option("--site", "site_", default="_site", show_default=True, metavar="DIR", help="The site to publish.")
def publish(target: str, site_: str) -> int:
    """Publish the site: into a folder, as a GitHub Pages artifact (TARGET.tar), or with `quarto publish` (TARGET quarto).

    \b
    Example:
      gatebook publish /srv/www/decisions
      gatebook publish artifact.tar    # for actions/upload-artifact, name github-pages
      gatebook publish quarto          # to the gh-pages branch, where Quarto is installed
    """
    from analysis.pipeline import project

    if not target.strip():
        raise UsageError(Fault(place="TARGET", what="is empty", fix="Is a shell variable unset?"))
    site = project.require_site(Path(site_))
    if target == "quarto":
        project.publish_by_quarto(site)
        click.echo("published by quarto: gh-pages")
    elif target.endswith(".tar"):
        click.echo(str(project.pack(site, Path(target))))
    else:
        click.echo(str(project.copy_site(site, Path(target)) / "index.html"))
    return 0


@click.command()
@partial(study_options, required=False)
@click.option("--out", default="explore", show_default=True, metavar="DIR", help="Where working copies go.")
@click.option("--no-open", is_flag=True, help="Write the working copy and say where; open nothing.")
def lab(study: str | None, label: str | None, out: str, no_open: bool, **given: Any) -> int:
    """Open JupyterLab on a working copy of a study's notebook, with this data and these parameters in place.

    Without a study it opens on this folder; without data the copy has the study's example.

    \b
    Example:
      gatebook lab recipe-card --data runs.csv -p tau=0.8
    """
    report_module()
    opened = "."
    if study is not None:
        from analysis.pipeline.workbench import working_copy
        from analysis.request import resolve

        request = resolve(
            study,
            given["data"],
            given["maps"],
            given["options"],
            given["files"],
            given["rule"],
            label,
            chosen=given["chosen"],
            accept_mismatch=given["accept_mismatch"],
        )
        opened = str(working_copy(request, Path(out)))
        click.echo(opened)
    elif any(given[name] for name in given if name != "no_progress"):
        raise UsageError(Fault(what="no study was named", fix="gatebook lab STUDY --data …, or gatebook lab alone."))
    if no_open:
        return 0
    if importlib.util.find_spec("jupyterlab") is None:
        raise MissingProgram(Fault(what="JupyterLab is not installed", fix="Install it: pip install 'gatebook[lab]'."))
    done = subprocess.run([sys.executable, "-m", "jupyter", "lab", opened], check=False)
    return EXIT_REPORT if done.returncode else 0
