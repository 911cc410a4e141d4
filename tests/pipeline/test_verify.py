"""gatebook verify and compare on real folders: what is as it was, what is not, and what cannot be known."""

import json

import pytest

from analysis.pipeline import folders
from analysis.results import dumps, load
from analysis.studies import recipe_card
from tests.conftest import collapsed
from tests.pipeline.builds import RUNS, Project


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    project = Project(tmp_path_factory.mktemp("verified")).short(1)
    assert project.run().code == 0
    return project


@pytest.fixture
def copy(built, tmp_path):
    return built.copied(tmp_path / "copy")


def verified(project, code):
    left = project.run("reports/recipe-card/r0", "--json", command="verify")
    assert left.code == code, left
    return {one["what"]: (one["standing"], one["detail"]) for one in json.loads(left.out)["findings"]}


def test_a_report_as_it_was_made_is_verified(copy):
    found = verified(copy, 0)
    # the notebook of this project is not the study's own, and gives the same result
    assert found["notebook code"] == ("same", "is another one here, and gives the same result")
    assert found["verdict"] == ("same", "pass, the same result.json to the byte")
    assert {standing for standing, _ in found.values()} == {"same"}
    left = copy.run("reports/recipe-card/r0", command="verify")
    assert left.out.splitlines()[-1] == "The report is what it says it is."


def test_a_page_that_was_changed_by_hand_is_named(copy):
    path = copy.report("r0") / "index.html"
    path.write_text(path.read_text(encoding="utf-8").replace("PASS", "pass"), encoding="utf-8")
    (copy.report("r0") / "tables" / "checks.csv").unlink()
    (copy.report("r0") / "more.txt").touch()
    found = verified(copy, 1)
    assert found["index.html"] == ("differs", "changed")
    assert found["tables/checks.csv"] == ("differs", "missing")
    assert found["more.txt"] == ("differs", "not of this report")


def test_an_input_that_changed_is_named_with_the_verdict_it_gives_now(copy):
    (copy.folder / "runs.csv").write_text(RUNS.replace("0.8", "0.1"), encoding="utf-8")
    found = verified(copy, 1)
    assert found["input runs.csv"] == ("differs", "has another digest")
    assert "went from pass to refuse" in found["verdict"][1]


def test_an_input_that_is_gone_is_no_proof_of_anything(copy):
    (copy.folder / "runs.csv").unlink()
    found = verified(copy, 2)
    assert found["inputs"][0] == "not checked"
    assert "no such file" in found["inputs"][1]


@pytest.mark.parametrize("folder", [".", "none", "reports"])
def test_what_is_no_report_is_said(copy, folder):
    left = copy.run(folder, command="verify")
    assert left.code == 3
    assert "is not a report folder" in left.err


def injected(source):
    return json.dumps({"cells": [{"metadata": {"tags": ["injected-parameters"]}, "source": source}]})


ODD = ["f()", "data = 5", "data = {'runs': 5}", "data = {'runs': [5]}", "rule = 5", "rule = 'a\\0'", "layouts = 5"]


@pytest.mark.parametrize("content", ["{}", "[]", "x", "[" * 200_000, *map(injected, ODD)], ids=range(4 + len(ODD)))
def test_a_notebook_that_was_broken_is_said(copy, content):
    (copy.report("r0") / "report.ipynb").write_text(content, encoding="utf-8")
    found = verified(copy, 1)
    assert found["report.ipynb"] == ("differs", "changed")
    assert found["inputs"][0] == "not checked"


def test_the_history_of_a_label(copy):
    left = copy.run("reports/recipe-card/r0", command="compare")
    assert (left.code, left.out) == (0, "r0: pass; it has had no other result\n")
    (copy.folder / "runs.csv").write_text(RUNS.replace("0.8", "0.1"), encoding="utf-8")
    assert copy.run().code == 0
    (copy.folder / "runs.csv").write_text(RUNS, encoding="utf-8")
    assert copy.run().code == 0
    left = copy.run("reports/recipe-card/r0", command="compare")
    heads = [line for line in left.out.splitlines() if line.startswith("result ")]
    assert [line.partition(":")[0] for line in heads] == ["result 3 of 3", "result 2 of 3"]
    assert "from refuse to pass" in heads[0]
    assert "from pass to refuse" in heads[1]
    steps = json.loads(copy.run("reports/recipe-card/r0", "--json", command="compare").out)
    assert [step["verdicts"] for step in steps] == [["refuse", "pass"], ["pass", "refuse"]]


def test_the_same_result_again_is_no_history(copy):
    assert copy.run("--force").code == 0
    assert not (copy.folder / "reports" / ".history").exists()


def test_two_folders_are_compared_with_their_code(copy, built):
    left = copy.run("reports/recipe-card/r0", built.report("r0"), command="compare")
    assert left.out.splitlines()[1] == "Nothing differs: both are pass."
    left = copy.run("reports/recipe-card/r0", copy.folder / "runs.csv", command="compare")
    assert left.code == 3
    assert "is not valid JSON" in left.err


@pytest.mark.parametrize(
    "changes",
    [
        {"study": "churn"},
        {"inputs": [{}]},
        {"inputs": [{"sha256": [1]}]},
        {"rule": {"source": 5, "sha256": 5, "written_before": []}},
        {"label": "a\ud800b"},
        {"parameters": {"tau": float("inf")}},
        {"units": [5]},
    ],
    ids=str,
)
@pytest.mark.parametrize("command", ["verify", "compare"])
def test_a_result_that_was_made_up_ends_in_a_sentence(copy, changes, command):
    path = copy.report("r0") / "result.json"
    held = json.loads(path.read_text(encoding="utf-8")) | changes
    path.write_text(json.dumps(held), encoding="utf-8")
    left = copy.run("reports/recipe-card/r0", command=command)
    assert left.code in {0, 1, 3}
    assert "unexpected" not in left.err
    assert "Traceback" not in left.err


@pytest.mark.parametrize(("key", "value"), [("observed", 10**400), ("limit", 10**400), ("relation", ["≤"])])
def test_a_clause_that_was_made_up_ends_in_a_sentence(copy, key, value):
    path = copy.report("r0") / "result.json"
    held = json.loads(path.read_text(encoding="utf-8"))
    held["gate"]["checks"][0][key] = value
    path.write_text(json.dumps(held), encoding="utf-8")
    for command in ("verify", "compare"):
        left = copy.run("reports/recipe-card/r0", command=command)
        assert "unexpected" not in left.err


def test_only_so_many_former_results_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(folders, "MOST_FORMER", 4)
    target, work = tmp_path / "reports" / "recipe-card" / "r0", tmp_path / "work"
    result = json.loads(
        dumps(recipe_card.run({"runs": collapsed("tiny", 0, 59)}, recipe_card.Params(tau=0.7)).to_json())
    )
    for number in range(10):
        work.mkdir()
        (work / "result.json").write_text(dumps({**result, "label": f"r{number}"}), encoding="utf-8")
        target.parent.mkdir(parents=True, exist_ok=True)
        folders.publish(work, target)
    kept = [load(path)["label"] for path in folders.former(target)]
    assert kept == ["r5", "r6", "r7", "r8"]
