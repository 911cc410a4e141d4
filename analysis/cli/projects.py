"""Commands around a project: init, preview, publish."""

from __future__ import annotations

from pathlib import Path

import click

from analysis.errors import Fault, UsageError, plain


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
    from functools import partial
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
