"""What makes a report out of date: the code behind a page is all of it, and nothing but it."""

import ast
from pathlib import Path

import pytest

from analysis.pipeline import freshness

PIPELINE = Path(freshness.__file__).parent
APART = {
    "execute.py",
    "failure.py",
    "folders.py",
    "formats.py",
    "freshness.py",
    "kernels.py",
    "state.py",
}  # no page depends on them


def imported(name):
    """Modules of the pipeline that a module imports when it is imported."""
    found = set()
    for node in ast.parse((PIPELINE / name).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module == "analysis.pipeline":
            found |= {f"{alias.name}.py" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("analysis.pipeline."):
            found.add(f"{node.module.removeprefix('analysis.pipeline.')}.py")
    return found


def behind(*names):
    found, left = set(), set(names)
    while left:
        found |= left
        left = {other for name in left - APART for other in imported(name)} - found
    return found


def test_all_that_a_page_is_made_by_counts_and_nothing_else():
    assert (
        behind("html.py", "pdf.py", "quarto.py", "normalise.py", "invitation.py", "provenance.py") - APART
        == freshness.PAGE_CODE
    )


@pytest.mark.parametrize("name", ["index.html", "report.pdf", "figures/bounds.svg"])
def test_pages_and_drawings_come_from_the_outputs(name):
    assert freshness.PAGES.fullmatch(name)


@pytest.mark.parametrize(
    "name", ["figures/bounds.vl.json", "result.json", "tables/cards.csv", "report.ipynb", "x/index.html"]
)
def test_anything_else_comes_from_a_run(name):
    assert not freshness.PAGES.fullmatch(name)
