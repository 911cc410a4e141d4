"""The guide: what is read off the tool says what the tool is, and every page is written."""

import csv
import json
import re
from html import unescape

import jsonschema
import pytest

from analysis.catalogue import STUDIES
from analysis.parameters import describe
from analysis.pipeline import guide
from tests import commands_page
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def pages():
    return guide.pages()


def words(html):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_the_page_of_commands_says_what_the_command_line_says():
    assert commands_page.PATH.read_text(encoding="utf-8") == commands_page.text(), (
        "write it: python -m tests.commands_page"
    )


def test_every_text_of_the_folder_is_a_page(pages):
    texts = {path.stem for path in (ROOT / "templates" / "guide").glob("*.md")}
    assert {f"{name}.html" for name in texts | {"parameters", "schemas", "reproduced"}} == set(pages)


def test_every_page_has_its_title_and_its_place_in_the_contents(pages):
    for name, page in pages.items():
        (title,) = re.findall(r"<h1>(.*?)</h1>", page)
        assert f'<a href="{name}" aria-current="page">{title}</a>' in page
        assert page.count('aria-current="page"') == 1
        assert len(re.findall(r'<li><a href="[a-z-]+\.html"', page.split("</nav>")[1])) == len(pages)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.slug)
def test_every_parameter_is_in_the_reference(pages, study):
    said = words(pages["parameters.html"])
    for item in describe(study.params):
        assert f"{item.name} {item.type}" in said
        assert item.help in said


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.slug)
def test_every_published_number_and_disputed_point_is_shown(pages, study):
    said = words(pages["reproduced.html"])
    name = study.slug.replace("-", "_")
    for kind, columns in (
        ("", ("place", "quantity", "published")),
        ("_disputed", ("point", "published", "holds", "here")),
    ):
        with (ROOT / "data" / "published" / f"{name}{kind}.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) > 5
        for row in rows:
            assert " ".join(" ".join(row[column].split()) for column in columns) in said


def test_the_schemas_are_schemas_and_are_listed(pages):
    for name, text in guide.schemas().items():
        schema = json.loads(text)
        jsonschema.validators.validator_for(schema).check_schema(schema)
        assert f'<a href="schemas/{name}">{name}</a>' in pages["schemas.html"]


def test_it_is_written_with_its_schemas(tmp_path, pages):
    guide.write(tmp_path)
    held = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert held == {*pages, *(f"schemas/{name}" for name in guide.schemas())}


def test_no_page_holds_a_style_or_a_script_of_its_own(pages):
    for page in pages.values():
        assert page.count("<script>") == page.count("<style>") == 1
        assert " style=" not in page
