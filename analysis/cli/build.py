"""Commands on many reports: the site."""

from __future__ import annotations

from pathlib import Path

import click

from analysis.errors import plain


@click.command()
@click.option("--reports", default="reports", show_default=True, metavar="DIR", help="Folder of all reports.")
@click.option("--out", default="_site", show_default=True, metavar="DIR", help="Where the site goes.")
def site(reports: str, out: str) -> int:
    """Assemble the site: an index of all reports with their verdicts. It opens from disk and asks for nothing.

    \b
    Example:
      gatebook site
    """
    from analysis.errors import Fault, MissingProgram

    try:
        from analysis.pipeline.site import assemble
    except ModuleNotFoundError as error:
        raise MissingProgram(
            Fault(what=f"the site needs the package {error.name}", fix="Install it: pip install 'gatebook[report]'.")
        ) from error
    for entry in assemble(Path(reports), Path(out)):
        click.echo(f"{entry.verdict:<10} {entry.study}  {plain(entry.label)}")
    click.echo(f"{Path(out) / 'index.html'}")
    return 0
