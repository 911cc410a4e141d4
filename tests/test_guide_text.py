"""The guide is true of the tool: its commands run, its files parse and fit, its links lead somewhere."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from analysis import yaml
from analysis.cli.options import ask
from analysis.errors import ParameterError
from analysis.layouts import Layout
from analysis.pipeline.manifest import Entry
from analysis.studies.fine_tune.rule import Decision
from tests.conftest import ROOT
from tests.pipeline.builds import COMMAND

GUIDE = ROOT / "templates" / "guide"
GENERATED = {"commands", "parameters", "schemas", "reproduced"}
PAGES = {
    path.stem: path.read_text(encoding="utf-8") for path in sorted(GUIDE.glob("*.md")) if path.stem not in GENERATED
}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LANGUAGES = {"sh", "console", "csv", "yaml", "python", "text"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|TBD)\b|lorem ipsum", re.IGNORECASE)
AT_A_TIME = min(4, os.cpu_count() or 1)


def blocks(page: str, language: str) -> list[str]:
    return [body for name, body in FENCE.findall(PAGES[page]) if name == language]


def prose(page: str) -> str:
    return FENCE.sub("", PAGES[page])


def commands(page: str) -> list[str]:
    """Every command line of the page's ``sh`` blocks."""
    text = "".join(blocks(page, "sh")).replace("\\\n", " ")
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def numbered(language: str) -> list[tuple[str, int]]:
    return [(page, number) for page in PAGES for number in range(len(blocks(page, language)))]


def followed(page: str, folder: Path) -> list[str]:
    """Do what a page says in a project of its own; what went wrong, in words."""
    environment = {**os.environ, "PATH": f"{Path(COMMAND[0]).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    project = folder / "decisions"

    def left(*command: str, cwd: Path = project) -> tuple[int, str]:
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, text=True, check=False, env=environment, timeout=180
        )
        return done.returncode, done.stdout + done.stderr

    code, said = left(*COMMAND, "init", "decisions", cwd=folder)
    wrong = [f"init: {code}\n{said}"] if code else []
    for line in commands(page):
        code, said = left("bash", "-c", line)
        if code not in ({0, 1, 2} if line.startswith("gatebook gate ") else {0}):
            wrong.append(f"{line}\nleft with {code}\n{said}")
    for body in blocks(page, "python"):
        code, said = left(sys.executable, "-W", "error", "-c", body)
        if code:
            wrong.append(f"{body}\nleft with {code}\n{said}")
    return wrong


@pytest.fixture(scope="module")
def followed_pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Future[list[str]]]:
    """Every page, a few at a time, the tutorials first, which take longest: each has a project of its own."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return {page: pool.submit(followed, page, tmp_path_factory.mktemp(page)) for page in reversed(PAGES)}


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_says_can_be_done(page: str, followed_pages: dict[str, Future[list[str]]]) -> None:
    wrong = followed_pages[page].result()
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_one_title_a_sentence_and_sections(page: str) -> None:
    lines = PAGES[page].splitlines()
    assert re.fullmatch(r"# \S.*", lines[0])
    assert (lines[1], lines[3]) == ("", "")
    assert re.fullmatch(r"[A-Z][^.]*\.", lines[2])
    assert re.findall(r"^(#+) ", prose(page), re.MULTILINE).count("#") == 1
    assert set(re.findall(r"^(#+) ", prose(page), re.MULTILINE)) == {"#", "##"}


@pytest.mark.parametrize("page", PAGES)
def test_every_fence_is_closed_and_says_what_it_holds(page: str) -> None:
    assert {name for name, _ in FENCE.findall(PAGES[page])} <= LANGUAGES
    assert "```" not in prose(page)


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_pages(page: str) -> None:
    links = re.findall(r"\]\(([^)]*)\)", prose(page))
    assert "../" not in "".join(links)
    assert {link.removesuffix(".html") for link in links} <= {*PAGES, *GENERATED}
    assert all(link.endswith(".html") for link in links)


def test_the_first_page_leads_to_every_other() -> None:
    links = re.findall(r"\]\(([^)]*)\.html\)", PAGES["index"])
    assert set(links) == {*PAGES, *GENERATED} - {"index"}
    assert len(links) == len(set(links))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_finished_text(page: str) -> None:
    text = prose(page)
    assert not UNFINISHED.search(text)
    assert not re.search(r"!\[|</?[a-z]+[ >]", re.sub(r"`[^`]*`", "", text))  # no pictures, no HTML


@pytest.mark.parametrize(("page", "number"), numbered("csv"))
def test_csv_has_a_header_and_full_rows(page: str, number: int) -> None:
    head, *rows = csv.reader(blocks(page, "csv")[number].splitlines(), strict=True)
    assert rows
    assert {len(row) for row in rows} == {len(head)}
    assert all(name == name.strip() for name in head)


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith("tutorial-")])
def test_the_shortest_file_of_a_tutorial_is_accepted(page: str, tmp_path: Path) -> None:
    (text,) = blocks(page, "csv")
    path = tmp_path / "mine.csv"
    path.write_text(text, encoding="utf-8")
    result = ask(page.removeprefix("tutorial-"), [str(path)], [], [], [], None, None).result
    assert result.gate.verdict == "undecided"


@pytest.mark.parametrize(("page", "number"), numbered("yaml"))
def test_yaml_is_what_the_tool_reads(page: str, number: int, tmp_path: Path) -> None:
    path = tmp_path / "a.yml"
    path.write_text(blocks(page, "yaml")[number], encoding="utf-8")
    held = yaml.load(path, ParameterError).values
    assert held
    if "reports" in held:
        for entry in held["reports"].values():
            Entry.model_validate(entry)
    elif "primary_metric" in held:
        Decision.model_validate({key: value for key, value in held.items() if key != "version"})
    elif "jobs" not in held and "study" not in held:
        for layout in [held, *held.get("inputs", {}).values()]:
            Layout.model_validate({key: value for key, value in layout.items() if key in Layout.model_fields})
