"""How much data a question needs: one subcommand a study, its options made from the study's own model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from analysis.study import Study


class _Sizes(click.Group):
    """One subcommand per study in the catalogue."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from analysis.catalogue import STUDIES

        return [study.slug for study in STUDIES]

    def get_command(self, ctx: click.Context, name: str) -> click.Command:
        from analysis.catalogue import study

        return _command(study(name))


@click.command(cls=_Sizes, subcommand_metavar="STUDY [OPTIONS]")
def size() -> None:
    """How many reruns, exceedances, samples or items a question needs.

    \b
    Example:
      gatebook size recipe-card --budget 0.10 --delta 0.10 --failures 2
    """


def _command(study: Study) -> click.Command:
    from analysis.parameters import comment, describe

    options: list[click.Parameter] = [
        click.Option(
            [f"--{item.name.rstrip('_').replace('_', '-')}", item.name],  # from_ is --from
            metavar=item.type.split(" |")[0].upper(),
            help=f"{comment(item)}; default {item.default}.",
        )
        for item in describe(study.size_params)
    ]
    options.append(click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."))

    def answer(as_json: bool, **given: Any) -> int:
        from analysis.parameters import build, from_option
        from analysis.results import dumps

        texts = [f"{name}={value}" for name, value in given.items() if value is not None]
        params = build(study.size_params, [from_option(study.size_params, text, "--") for text in texts])
        sentence, table = study.size(params)
        if as_json:
            click.echo(dumps({"answer": str(sentence), "table": table.to_json()}), nl=False)
        else:
            click.echo(str(sentence))
            click.echo(table.to_text())
        return 0

    text = f"{study.question}\n\n\b\nExample:\n  gatebook size {study.slug}"
    return click.Command(study.slug, params=options, callback=answer, help=text)
