"""A secret parameter through a whole report: used in the notebook, in no file of the folder, in no message."""

import hashlib
from dataclasses import replace

import pytest
from pydantic import create_model

from analysis.errors import ExecutionError
from analysis.pipeline import folders, report
from analysis.request import resolve
from analysis.secrets import Secret, spellings
from analysis.studies import recipe_card
from tests.pipeline.builds import Project, notebook

WORD = 'sk&4711"very<secret'
SETUP = """
from dataclasses import replace
from pydantic import create_model
from analysis.secrets import Secret, spellings
from analysis.session import open_report
from analysis.studies import recipe_card
study = replace(recipe_card.STUDY, params=create_model("P", __base__=recipe_card.Params, token=(Secret | None, None)))
report = open_report(study, globals())
used = study.params(token=token).token.reveal()
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Make a report with a secret from a variable or a file, and a cell of its own."""
    monkeypatch.setenv("GATEBOOK_TEST_TOKEN", WORD)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token").write_text(WORD + "\n", encoding="utf-8")
    params = create_model("P", __base__=recipe_card.Params, token=(Secret | None, None))
    study = replace(recipe_card.STUDY, params=params)
    Project(tmp_path)

    def make(cell, source="env:GATEBOOK_TEST_TOKEN"):
        template = notebook(cell)
        template.cells[1].source += "\ntoken: str | None = None"
        template.cells[2].source = SETUP
        Project(tmp_path).write("secret", template)
        request = replace(
            resolve("recipe-card", ["runs.csv"], [], [], [], None, "r0"),
            study=study,
            params=params(token=Secret(source)),
        )
        inputs = study.load(request.data, request.params, {})
        expected = study.run(inputs, request.params, label="r0")
        options = report.Options(formats=("html",), renderer="builtin")
        return report.make(request, expected, tmp_path / "reports", options, notebook=tmp_path / "secret.ipynb")

    return make


def holding(folder):
    """Files that hold the secret, or half of it, in any spelling."""
    halves = [text.encode() for text in spellings([WORD, WORD[:10], WORD[-10:]])]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if any(half in path.read_bytes() for half in halves)]


@pytest.mark.parametrize(
    ("source", "named"), [("env:GATEBOOK_TEST_TOKEN", "env:GATEBOOK_TEST_TOKEN"), ("file:token", "file:../../../token")]
)
def test_a_secret_reaches_the_notebook_and_no_file(made, tmp_path, source, named):
    digest = hashlib.sha256(WORD.encode()).hexdigest()
    done = made(f"import hashlib; assert hashlib.sha256(used.encode()).hexdigest() == {digest!r}", source)
    assert holding(tmp_path / "reports") == []
    assert done.result["parameters"]["token"] == "***"
    assert named in (done.folder / "report.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("print(used)", "a secret stood in log.txt, an output of the notebook; it was replaced by"),
        ("from html import escape\nfrom IPython.display import HTML\nHTML(escape(used))", "an output of the notebook"),
        ("import pathlib; pathlib.Path('kept.txt').write_text(used)", "a secret stood in kept.txt"),
        ("raise ValueError(used)", r"ValueError: \*\*\*"),
        ("raise ValueError('x' * 375 + used)", "ValueError: x+"),
    ],
)
def test_a_secret_that_a_cell_tells_is_taken_out_and_not_published(made, tmp_path, cell, words):
    with pytest.raises(ExecutionError, match=words) as caught:
        made(cell)
    assert WORD not in str(caught.value)
    target = tmp_path / "reports" / "recipe-card" / "r0"
    assert not target.exists()
    assert (folders.failed(target) / "index.html").exists()
    assert holding(tmp_path / "reports") == []
