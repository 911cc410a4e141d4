"""The user guide as part of the site: written pages, and the reference that is read off what is declared."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from analysis.catalogue import STUDIES
from analysis.parameters import describe
from analysis.pipeline.assets import texts
from analysis.pipeline.manifest import schema_text
from analysis.pipeline.pages import page
from analysis.pipeline.pandoc import run_filter
from analysis.present.format import number
from analysis.present.table import Table, TableColumn
from analysis.results import dumps
from analysis.schemas import rule_schema
from analysis.study import Study, share_folder, write_files

STYLE = ("html/theme.css", "html/page.css", "site/guide.css")
SCRIPT = ("html/page.js",)
_PARTS: Mapping[str, tuple[str, ...]] = {
    "Begin": ("index", "reading-a-report"),
    "Tutorials": ("tutorial-recipe-card", "tutorial-fine-tune", "tutorial-churn", "tutorial-tail-shape"),
    "How to": ("input-formats", "rules-and-verdicts", "many-reports", "own-notebook"),
    "Reference": ("commands", "parameters", "schemas", "reproduced"),
}


def write(folder: Path) -> None:
    """Write the guide into ``folder``."""
    write_files(folder, {**pages(), **{f"schemas/{name}": text for name, text in schemas().items()}})


@cache
def stamp() -> str:
    """A digest of all that the guide alone is made from: texts, schemas, styles, pandoc's scripts and this module."""
    digest = hashlib.sha256(dumps([sources(), schemas(), texts(STYLE), texts(SCRIPT)]).encode())
    for path in (*sorted((share_folder() / "templates" / "pandoc").iterdir()), Path(__file__)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def pages() -> Mapping[str, str]:
    """Every page of the guide by file name."""
    written = sources()
    titles = {name: text.split("\n", 1)[0].removeprefix("# ").strip() for name, text in written.items()}
    bodies = [{"kind": "prose", "body": text.partition("\n")[2]} for text in written.values()]
    answer = run_filter(
        share_folder() / "templates" / "pandoc" / "to_html.lua", {"names": {}, "pieces": bodies, "pages": True}
    )
    parts = {part: [(name, titles[name]) for name in names] for part, names in _PARTS.items()}
    return {
        f"{name}.html": page(
            "guide.html.j2",
            style=STYLE,
            script=SCRIPT,
            title=titles[name],
            name=name,
            parts=parts,
            body=body,
            toc=toc,
        )
        for (name, body, toc) in zip(written, answer["pieces"], answer["toc"], strict=True)
    }


@cache
def sources() -> Mapping[str, str]:
    """The markdown of every page by name, in the order of the contents."""
    made = {"parameters": _parameters, "schemas": _schemas, "reproduced": _reproduced}
    folder = share_folder() / "templates" / "guide"
    return {
        name: made[name]() if name in made else (folder / f"{name}.md").read_text(encoding="utf-8")
        for names in _PARTS.values()
        for name in names
    }


@cache
def schemas() -> Mapping[str, str]:
    """The JSON Schemas by file name."""
    package = files("analysis")
    return {
        "result.schema.json": (package / "result.schema.json").read_text(encoding="utf-8"),
        "reports.schema.json": schema_text(),
        "rule.schema.json": rule_schema(),
        "card.schema.json": (package / "studies" / "recipe_card" / "card.schema.json").read_text(encoding="utf-8"),
    }


def _parameters() -> str:
    lines = [
        "# Parameters",
        "",
        "What can be set in each study, with `-p NAME=VALUE`, in a file (`-f`), a rule or `reports.yml`.",
        "",
    ]
    for study in STUDIES:
        lines += [f"## {study.slug}", "", study.question, "", _table(study).to_markdown()]
    return "\n".join(lines)


def _table(study: Study) -> Table:
    rows = tuple(
        (item.name, item.type, dumps(item.default).strip(), item.range, item.help) for item in describe(study.params)
    )
    return _plain(("Parameter", "Type", "Default", "Range", "Meaning"), rows)


def _schemas() -> str:
    says = {
        "result.schema.json": "`result.json` of every report folder, and what `gatebook gate --json` prints.",
        "reports.schema.json": "`reports.yml`; `gatebook build --schema` prints it.",
        "rule.schema.json": "Decision rules and pre-registrations; `gatebook register --schema` prints it.",
        "card.schema.json": "`cards/*/card.json` of a recipe-card report.",
    }
    lines = [
        "# JSON Schemas",
        "",
        "The files that are read and written, as JSON Schema. An editor that knows the YAML language server completes and checks by "
        "the first line of a file: `# yaml-language-server: $schema=reports.schema.json`.",
        "",
    ]
    return "\n".join([*lines, *(f"- [{name}](schemas/{name}): {words}" for name, words in says.items()), ""])


def _reproduced() -> str:
    lines = [
        "# What we reproduce and what we dispute",
        "",
        "Numbers that the papers print and that can be computed again, from what they print or from the example data, beside ours; "
        "and every point where a paper and the arithmetic part. A number that two readings of the paper give stands once for each. "
        "The tests compute all of them anew and hold this page to them.",
        "",
    ]
    for study in STUDIES:
        numbers = list(_published(study, ""))
        agree = sum(row["agrees"] == "yes" for row in numbers)
        lines += [
            f"## {study.slug}",
            "",
            f"Of {len(numbers)} rows {agree} come out as printed and {len(numbers) - agree} do not.",
            "",
            _plain(
                ("Where", "What", "Published", "Ours", "Agrees"),
                tuple(
                    (row["place"], row["quantity"], row["published"], _short(row["ours"]), row["agrees"])
                    for row in numbers
                ),
            ).to_markdown(),
            "",
            f"### {study.slug}: disputed points",
            "",
            _plain(
                ("Point", "The paper says", "What holds up", "In the report"),
                tuple(tuple(row.values()) for row in _published(study, "_disputed")),
            ).to_markdown(),
        ]
    return "\n".join(lines)


def _published(study: Study, kind: str) -> Iterator[dict[str, str]]:
    path = share_folder() / "data" / "published" / f"{study.slug.replace('-', '_')}{kind}.csv"
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _short(text: str) -> str:
    """A number as reports print it; anything else as it stands."""
    try:
        return text if text.lstrip("-").isdigit() else number(float(text))
    except ValueError:
        return text


def _plain(heads: tuple[str, ...], rows: tuple[tuple[Any, ...], ...]) -> Table:
    columns = tuple(TableColumn(key=head.lower(), label=head, kind="text") for head in heads)
    return Table(id="reference", title="", columns=columns, rows=rows)
