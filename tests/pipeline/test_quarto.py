"""The Quarto renderer: against a stand-in of the program, and against the program where it is installed."""

import json
import os
import shutil
import stat
import sys
from pathlib import Path

import nbformat
import pytest
from ruamel.yaml import YAML

from analysis.cli import main
from analysis.errors import MissingProgram, RenderError
from analysis.pipeline import execute, quarto
from analysis.study import share_folder
from tests.pipeline.notebooks import report

STAND_IN = """#!{python}
import json, pathlib, shutil, sys
here = pathlib.Path(__file__).parent
if sys.argv[1:] == ["--version"]:
    print("{version}")
    sys.exit({version_code})
seen = {{"argv": sys.argv[1:], "files": sorted(p.name for p in pathlib.Path().iterdir())}}
(here / "seen.json").write_text(json.dumps(seen))
shutil.copy("_quarto.yml", here)
if {code}:
    print("much talk " * 200, "\\x1b[31mERROR: unknown label @tbl-x", file=sys.stderr)
    sys.exit({code})
kind = {{"html": "html", "typst": "pdf"}}[sys.argv[sys.argv.index("--to") + 1]]
site = pathlib.Path("_site")
site.mkdir()
if {makes}:
    (site / ("report." + kind)).write_text("made " + kind)
"""
needs_quarto = pytest.mark.quarto


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    def install(version="1.7.34", code=0, makes=True, version_code=0):
        folder = tmp_path / "bin"
        folder.mkdir()
        script = folder / "quarto"
        script.write_text(
            STAND_IN.format(python=sys.executable, version=version, code=code, makes=makes, version_code=version_code),
            encoding="utf-8",
        )
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
        return folder

    return install


@pytest.fixture
def notebook(tmp_path):
    path = tmp_path / "report.ipynb"
    clean = report()
    for cell in clean.cells:
        cell.source = cell.source.replace("@nobody", "\\@nobody")  # as normalise leaves it
    nbformat.write(clean, path)
    return path


@pytest.fixture
def no_programs(tmp_path, monkeypatch):
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def settings():
    return YAML(typ="safe").load((share_folder() / "_quarto.yml").read_text(encoding="utf-8"))


# ---- without it


def test_without_quarto_there_is_no_version(no_programs):
    assert quarto.version() is None


def test_asking_for_a_missing_quarto_leaves_with_4_before_any_kernel(no_programs, tmp_path, monkeypatch, capsys):
    def started(*_, **__):
        raise AssertionError("a kernel was started")

    runs = tmp_path / "runs.csv"
    runs.write_text("model,budget,seed,score\n" + "".join(f"a,1,{i},0.9\n" for i in range(22)), encoding="utf-8")
    monkeypatch.setattr(execute, "execute", started)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    out = tmp_path / "reports"
    command = ["gatebook", "run", "recipe-card", "--data", str(runs), "--renderer", "quarto", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 4
    assert capsys.readouterr().err.startswith(
        "error: quarto is not installed. Install it (pip install 'gatebook[quarto]'"
    )
    assert not out.exists()


def test_a_quarto_that_does_not_answer_counts_as_missing(stand_in):
    stand_in(version_code=1)
    with pytest.raises(MissingProgram, match="not installed"):
        quarto.require()


@pytest.mark.parametrize("version", ["1.6.43", "0.9", "1.3.450"])
def test_a_version_that_is_too_old_says_so(stand_in, version):
    stand_in(version)
    with pytest.raises(MissingProgram, match=rf"quarto {version} is older than 1\.7"):
        quarto.require()


@pytest.mark.parametrize(
    ("version", "read"), [("1.7.34", (1, 7, 34)), ("1.10.18", (1, 10, 18)), ("99.9.9", (99, 9, 9))]
)
def test_a_version_is_read_as_numbers(stand_in, version, read):
    stand_in(version)
    assert quarto.require() == read


# ---- with a stand-in


@pytest.mark.parametrize(("to", "output"), [("html", "html"), ("pdf", "typst")])
def test_the_page_comes_from_a_project_of_its_own(stand_in, notebook, to, output):
    folder = stand_in()
    before = notebook.read_bytes()
    assert quarto.render(notebook, to) == f"made {to}".encode()
    seen = json.loads((folder / "seen.json").read_text(encoding="utf-8"))
    assert seen["argv"] == ["render", "report.ipynb", "--to", output]
    assert seen["files"] == ["_quarto.yml", "report.ipynb"]
    assert notebook.read_bytes() == before
    assert [path.name for path in notebook.parent.iterdir() if path.name.startswith("_")] == []


def test_nothing_is_executed_and_nothing_is_quiet(stand_in, notebook):
    folder = stand_in()
    quarto.render(notebook, "html")
    argv = json.loads((folder / "seen.json").read_text(encoding="utf-8"))["argv"]
    assert not {"--execute", "-P", "--execute-params", "--quiet"} & set(argv)
    used = YAML(typ="safe").load((folder / "_quarto.yml").read_text(encoding="utf-8"))
    assert used["execute"]["enabled"] is False


def test_the_project_renders_this_one_notebook_into_one_file(stand_in, notebook):
    folder = stand_in()
    quarto.render(notebook, "html")
    used = YAML(typ="safe").load((folder / "_quarto.yml").read_text(encoding="utf-8"))
    assert used["project"]["render"] == ["report.ipynb"]
    assert used["format"]["html"]["embed-resources"] is True
    shared = settings()
    assert {**used, "project": 0, "format": 0} == {**shared, "project": 0, "format": 0}
    assert used["format"]["typst"] == shared["format"]["typst"]


def test_a_failure_shows_the_code_and_the_last_words(stand_in, notebook):
    stand_in(code=7)
    with pytest.raises(RenderError) as caught:
        quarto.render(notebook, "html")
    message = caught.value.message()
    assert message.startswith("report.ipynb: quarto failed with exit code 7: ")
    assert "ERROR: unknown label @tbl-x" in message
    assert "\x1b" not in message
    assert len(message) < 700


def test_success_without_a_page_is_a_failure(stand_in, notebook):
    stand_in(makes=False)
    with pytest.raises(RenderError, match=r"exit code 0 and made no report\.pdf"):
        quarto.render(notebook, "pdf")


# ---- the settings


def test_the_settings_are_those_of_the_contract():
    read = settings()
    assert read["project"]["type"] == "website"
    assert read["project"]["output-dir"] == "_site"
    assert read["project"]["render"]
    assert {"reports/**/*.csv", "reports/**/*.json"} <= set(read["project"]["resources"])
    assert read["execute"] == {"enabled": False, "echo": False, "warning": False}
    assert read["number-sections"] is True
    assert read["format"]["html"]["toc"] is True
    assert sorted(read["format"]["html"]["theme"]) == ["dark", "light"]
    assert {"text": "#show figure: set block(breakable: true)"} in read["format"]["typst"]["include-in-header"]


def test_no_rendered_file_stands_beside_one_of_the_same_name():
    root = share_folder()
    for path in (root / "notebooks").glob("*.ipynb"):
        assert not [other for other in path.parent.glob(f"{path.stem}.*") if other != path]


# ---- the program itself


@pytest.fixture
def real_quarto():
    if shutil.which("quarto") is None:
        if os.environ.get("GATEBOOK_REQUIRE_QUARTO") == "1":
            pytest.fail("quarto is required and not on the path")
        pytest.skip("quarto is not installed")


@needs_quarto
@pytest.mark.parametrize("to", ["html", "pdf"])
def test_quarto_renders_the_normalised_notebook(real_quarto, notebook, to):
    before = notebook.read_bytes()
    page = quarto.render(notebook, to)
    assert notebook.read_bytes() == before
    if to == "html":
        text = page.decode()
        assert "Bounds by cell: a chart" in text
        assert "secret_call" not in text
    else:
        assert page.startswith(b"%PDF")


@needs_quarto
def test_two_pdfs_of_quarto_hold_the_same_pages(real_quarto, notebook):
    pypdf = pytest.importorskip("pypdf")
    texts = []
    for number in range(2):
        path = Path(notebook.parent / f"{number}.pdf")
        path.write_bytes(quarto.render(notebook, "pdf"))
        texts.append([page.extract_text() for page in pypdf.PdfReader(path).pages])
    assert texts[0] == texts[1]
    assert "item-90" in "".join(texts[0])
