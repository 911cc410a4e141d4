"""init, preview, publish: a project from nothing to a site that people can read."""

import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request
from pathlib import Path

import nbclient
import nbformat
import pytest

from analysis.pipeline.manifest import load, schema_text
from tests.pipeline.builds import COMMAND, RUNS, files

STAMPED = '<html><head><meta name="gatebook-site" content="0"></head></html>'


@pytest.fixture
def site(tmp_path):
    """Something that says of itself that it is a site."""
    folder = tmp_path / "_site"
    (folder / "reports" / "churn" / "x").mkdir(parents=True)
    (folder / "index.html").write_text(STAMPED, encoding="utf-8")
    (folder / "reports" / "churn" / "x" / "index.html").write_text("a report", encoding="utf-8")
    return folder


def test_a_new_project_holds_what_is_promised_and_its_manifest_fits(gatebook, tmp_path):
    left = gatebook("init", "decisions")
    assert left.code == 0
    project = tmp_path / "decisions"
    assert {path.name for path in (project / "notebooks").iterdir()} == {
        *("recipe_card_audit.ipynb", "tail_shape_protocol.ipynb"),
        *("churn_decomposition.ipynb", "fine_tune_comparison.ipynb"),
    }
    for name in ("README.md", "reports.yml", "_quarto.yml", "index.qmd", ".gitignore", ".pre-commit-config.yaml"):
        assert (project / name).is_file()
    assert (project / ".github" / "workflows" / "reports.yml").is_file()
    assert (project / "reports.schema.json").read_text(encoding="utf-8") == schema_text()
    jobs = load(project / "reports.yml")
    assert [job.request.study.slug for job in jobs] == ["recipe-card", "tail-shape", "churn", "fine-tune"]
    assert gatebook("build", "-n", "--manifest", project / "reports.yml", "--out", project / "reports").code == 0


def test_nothing_is_overwritten(gatebook, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("precious", encoding="utf-8")
    left = gatebook("init", "mine")
    assert left.code == 3
    assert "is not empty: it holds notes.txt" in left.err
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    assert gatebook("init", tmp_path / "mine" / "notes.txt").code == 3
    assert gatebook("init", " ").code == 3


def test_a_site_is_copied_whole_and_replaced(gatebook, site, tmp_path):
    assert gatebook("publish", "www").code == 0
    assert files(tmp_path / "www") == {**files(site), ".nojekyll": b""}
    (site / "reports" / "churn" / "x" / "index.html").unlink()
    assert gatebook("publish", "www").code == 0
    assert files(tmp_path / "www") == {**files(site), ".nojekyll": b""}


def test_what_is_no_site_is_neither_published_nor_replaced(gatebook, site, tmp_path):
    left = gatebook("publish", "www", "--site", ".")
    assert (left.code, "is not a site of reports" in left.err) == (3, True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "index.html").write_text("mine", encoding="utf-8")
    left = gatebook("publish", "full")
    assert left.code == 3
    assert (tmp_path / "full" / "index.html").read_text(encoding="utf-8") == "mine"
    assert gatebook("publish", "_site/inside").code == 3
    assert gatebook("publish", "_site/a.tar").code == 3


def test_an_artifact_has_the_same_bytes_each_time_and_tells_nothing_of_the_machine(gatebook, site, tmp_path):
    assert gatebook("publish", "artifact.tar").code == 0
    first = (tmp_path / "artifact.tar").read_bytes()
    os.utime(site / "index.html", (0, 0))
    assert gatebook("publish", "artifact.tar").code == 0
    assert (tmp_path / "artifact.tar").read_bytes() == first
    with tarfile.open(tmp_path / "artifact.tar") as archive:
        assert {(one.uid, one.mtime, one.uname) for one in archive} == {(0, 0, "")}
        assert "reports/churn/x/index.html" in archive.getnames()


def test_quarto_publishes_a_finished_site(gatebook, site, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert gatebook("publish", "quarto").code == 4
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "quarto"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nprint('1.9.1')\nopen('asked', 'a').write(' '.join(sys.argv[1:]) + '|')\n",
        encoding="utf-8",
    )
    program.chmod(0o755)
    assert gatebook("publish", "quarto").code == 0
    asked = Path("asked").read_text(encoding="utf-8")
    assert asked.split("|")[1] == "publish gh-pages _site --no-render --no-prompt --no-browser"


def test_a_preview_is_served_on_this_machine_only(site):
    with subprocess.Popen(
        [*COMMAND, "preview"], cwd=site.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        address = process.stdout.readline().split()[0]
        assert address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(f"{address}reports/churn/x/") as answer:
            assert answer.read() == b"a report"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "Traceback" not in err


def test_a_port_that_is_taken_is_said(gatebook, site):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        left = gatebook("preview", "--port", taken.getsockname()[1])
    assert left.code == 3
    assert "cannot be used" in left.err


# ---- the workbench


def executed(path):
    """The headline of a working copy that ran where it lies."""
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, resources={"metadata": {"path": str(path.parent)}}, kernel_name="python3"
    )
    client.execute()
    return next(cell for cell in notebook.cells if cell.id == "headline").outputs[0].data["text/plain"]


def test_a_working_copy_opens_with_what_was_asked_for(gatebook, tmp_path):
    (tmp_path / "my runs.csv").write_text(RUNS, encoding="utf-8")
    left = gatebook("lab", "recipe-card", "--data", "my runs.csv", "-p", "tau=0.5", "--no-open")
    assert (left.code, left.out) == (0, "explore/recipe_card_audit.ipynb\n")
    path = tmp_path / "explore" / "recipe_card_audit.ipynb"
    source = next(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.id == "injected-parameters")
    assert "tau = 0.5" in source
    assert "../my runs.csv" in source
    assert str(tmp_path) not in path.read_text(encoding="utf-8")
    asked = gatebook("gate", "recipe-card", "--data", "my runs.csv", "-p", "tau=0.5", "--json")
    assert json.loads(asked.out)["headline"] in executed(path)
    assert sorted(file.name for file in tmp_path.rglob("*") if file.is_file()) == [
        "my runs.csv",
        "recipe_card_audit.ipynb",
    ]


def test_without_data_it_is_the_example_and_nothing_is_overwritten(gatebook, tmp_path):
    for name in ("churn_decomposition", "churn_decomposition-2", "churn_decomposition-3"):
        assert gatebook("lab", "churn", "--no-open").out == f"explore/{name}.ipynb\n"
    assert executed(tmp_path / "explore" / "churn_decomposition.ipynb")


def test_lab_is_opened_on_the_copy_with_this_interpreter(gatebook, monkeypatch):
    called = []
    monkeypatch.setattr("analysis.cli.projects.importlib.util.find_spec", lambda _name: True)
    monkeypatch.setattr(
        subprocess, "run", lambda command, **_: called.append(command) or subprocess.CompletedProcess(command, 0)
    )
    assert gatebook("lab", "churn").code == 0
    assert gatebook("lab").code == 0
    assert called == [
        [sys.executable, "-m", "jupyter", "lab", path] for path in ("explore/churn_decomposition.ipynb", ".")
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--data", "x.csv"], 3, "no study was named"),
        (["chrun"], 3, "Did you mean 'churn'?"),
        (["churn", "-p", "k=1"], 3, "unknown parameter k"),
        (["churn", "--data", "none.csv"], 3, "no such file"),
    ],
)
def test_wrong_use_of_the_workbench_ends_in_a_sentence(gatebook, tmp_path, arguments, code, words):
    left = gatebook("lab", *arguments, "--no-open")
    assert left.code == code
    assert words in left.err
    assert not (tmp_path / "explore").exists()


def test_a_missing_lab_is_said(gatebook, monkeypatch):
    monkeypatch.setattr("analysis.cli.projects.importlib.util.find_spec", lambda _name: None)
    left = gatebook("lab", "churn")
    assert left.code == 4
    assert "pip install 'gatebook[lab]'" in left.err
