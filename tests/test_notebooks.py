"""The notebooks are thin: they are parsed here, and held to the rules of the house."""

import ast
import re
from functools import cache
from importlib import import_module

import nbformat
import pytest

from analysis.catalogue import STUDIES
from analysis.catalogue import study as find
from analysis.pipeline.normalise import label_of
from analysis.readers.paths import expand
from analysis.session import parameters_source
from analysis.study import share_folder

FOLDER = share_folder() / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
FREE = {"parameters", "setup"}  # cells that may hold more than one statement
FORBIDDEN = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.For, ast.While, ast.If, ast.IfExp, ast.Try),
    *(ast.With, ast.Match, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Delete, ast.Global),
)


def name_of(value):
    return getattr(value, "stem", None) or getattr(value, "slug", None)


@pytest.fixture(params=PATHS, ids=name_of)
def notebook(request):
    return nbformat.read(request.param, as_version=4)


@pytest.fixture(params=STUDIES, ids=name_of)
def study(request):
    return request.param


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def calls(notebook):
    return [cell for cell in code(notebook) if cell.id not in FREE]


def prose(source):
    """Markdown without headings, formulas and the years of citations."""
    text = re.sub(r"\$\$.*?\$\$|\$[^$\n]+(?:\n[^$\n]+)?\$", " ", source, flags=re.DOTALL)
    text = re.sub(r"^#{1,6} .*$", " ", text, flags=re.MULTILINE)
    return re.sub(r"(?<=[\s(])(1[6-9]|20)\d\d\b", " ", text)


def options(cell):
    return dict(re.findall(r"^#\| ([\w-]+): (.*)$", cell.source, flags=re.MULTILINE))


def test_every_study_has_its_notebook_and_every_notebook_its_study():
    assert [path.name for path in PATHS] == sorted(study.notebook for study in STUDIES)


def test_the_parameters_cell_is_that_of_the_study(study):
    cells = nbformat.read(FOLDER / study.notebook, as_version=4).cells
    tagged = [cell for cell in cells if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) == 1
    assert tagged[0].id == "parameters"
    assert tagged[0].source == parameters_source(study)


def test_nothing_is_defined_repeated_or_decided(notebook):
    found = [
        (cell.id, type(node).__name__)
        for cell in code(notebook)
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, FORBIDDEN)
    ]
    assert found == []


def test_only_the_package_and_pathlib_are_imported(notebook):
    for cell in code(notebook):
        for node in ast.walk(ast.parse(cell.source)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.split(".")[0] for name in names} <= {"analysis", "pathlib"}, cell.id
            assert not names or cell.id == "setup"


def test_a_cell_is_one_call(notebook):
    for cell in calls(notebook):
        body = ast.parse(cell.source).body
        assert len(body) == 1, cell.id
        assert isinstance(body[0], ast.Expr), cell.id
        assert isinstance(body[0].value, ast.Call | ast.Attribute), cell.id


def test_no_number_is_typed_into_a_call(notebook):
    numbers = [
        (cell.id, node.value)
        for cell in calls(notebook)
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Constant) and not isinstance(node.value, str)
    ]
    assert numbers == []


def test_no_number_is_typed_into_prose(notebook):
    markdown = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    assert [cell.id for cell in markdown if re.search(r"\d", prose(cell.source))] == []


@pytest.mark.parametrize(
    ("source", "left"),
    [
        ("We saw 3 of 59.", True),
        ("### The 3 gates", False),
        ("Holm (1979); $k = 3$ and\n\n$$\\int_0^1 x$$", False),
        ("It rose by 1979 points", False),  # a year is not told from a count
        ("Version 1.10", True),
    ],
)
def test_the_check_of_prose_sees_numbers(source, left):
    assert bool(re.search(r"\d", prose(source))) is left


def test_no_outputs_are_stored(notebook):
    assert [cell.id for cell in code(notebook) if cell.outputs or cell.execution_count is not None] == []


def test_metadata_says_python_and_nothing_else(notebook):
    assert notebook.metadata == {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    assert all(set(cell.metadata) <= {"tags"} for cell in notebook.cells)


def test_cell_ids_are_words(notebook):
    ids = [cell.id for cell in notebook.cells]
    assert [name for name in ids if not re.fullmatch(r"[a-z]+(-[a-z]+)*", name)] == []
    assert len(set(ids)) == len(ids)


def test_every_table_and_figure_is_labelled_and_described(notebook):
    for cell in calls(notebook):
        if "report.table(" in cell.source:
            assert set(options(cell)) == {"label", "tbl-cap"}, cell.id
            assert options(cell)["label"].startswith("tbl-"), cell.id
        elif "figures." in cell.source:
            assert set(options(cell)) == {"label", "fig-cap", "fig-alt"}, cell.id
            assert options(cell)["label"].startswith("fig-"), cell.id
        else:
            assert options(cell) == {}, cell.id
        for key, text in options(cell).items():
            assert key == "label" or re.fullmatch(r'"[^"]+"', text), cell.id


def test_labels_are_unique_and_references_known(notebook):
    labels = [label for cell in code(notebook) if (label := label_of(cell))]
    assert len(set(labels)) == len(labels)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert set(re.findall(r"@([\w-]+)", text)) <= set(labels)


def test_a_label_names_the_table_that_is_shown(notebook):
    for cell in calls(notebook):
        shown = re.search(r'report\.table\("([\w-]+)"\)', cell.source)
        assert not shown or label_of(cell) == f"tbl-{shown[1]}"


def of_the_example(study):
    return _result(study.slug)


@cache
def _result(slug):
    study = find(slug)
    data = {
        name: [str(share_folder() / "data" / "examples" / path) for path in paths]
        for name, paths in study.example.items()
    }
    assert all(expand(paths) for paths in data.values())
    params = study.params()
    return study.run(study.load(data, params), params)


def test_captions_are_the_titles_of_the_result(study):
    notebook = nbformat.read(FOLDER / study.notebook, as_version=4)
    result = of_the_example(study)
    titles = {f"tbl-{name}": table.title for name, table in result.tables.items()}
    titles |= {f"fig-{name}": figure.title for name, figure in result.figures.items()}
    captions = {
        label: options(cell)[f"{label[:3]}-cap"].strip('"') for cell in code(notebook) if (label := label_of(cell))
    }
    assert captions == {label: titles[label] for label in captions}
    assert {f"fig-{name}" for name in result.figures} <= set(captions)


def test_the_notebook_ends_by_saving_and_sets_nothing(notebook):
    assert code(notebook)[-1].source == "report.save(globals())"
    assert "out_dir: str | None = None" in code(notebook)[0].source


def test_the_notebook_is_valid_and_ends_with_a_line(notebook):
    nbformat.validate(notebook)
    for path in PATHS:
        text = path.read_bytes()
        assert text.endswith(b"}\n")
        assert b"\r" not in text


def test_no_figure_warns(study):
    figures = import_module(f"analysis.studies.{study.slug.replace('-', '_')}.figures")
    result = of_the_example(study)
    drawn = [getattr(figures, name.replace("-", "_"))(result) for name in result.figures]  # a warning is an error here
    assert all(chart.to_dict()["description"] for chart in drawn)
