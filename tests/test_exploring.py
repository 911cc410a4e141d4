"""The next question in JupyterLab: other parameters, a part of a table, a linked chart; and the cells that invite to it."""

import itertools
import math
import shlex
from dataclasses import replace

import nbformat
import pandas as pd
import pytest
from nbclient import NotebookClient

from analysis.catalogue import STUDIES
from analysis.errors import ParameterError
from analysis.pipeline.invitation import invitation
from analysis.pipeline.workbench import working_copy
from analysis.present import chart, explore
from analysis.present.table import Table, TableColumn
from analysis.request import resolve
from analysis.session import open_report
from analysis.studies import recipe_card
from tests.conftest import collapsed

TABLE = Table(
    id="t",
    title="Things.",
    columns=(
        TableColumn(key="cell.model", label="Model"),
        TableColumn(key="score", label="Score", kind="score"),
        TableColumn(key="kind", label="Kind"),
    ),
    rows=(("a", 0.2, "x"), ("b", None, "y"), ("c", 0.9, "y"), ("d", 0.5, "x")),
)


@pytest.fixture
def session(tmp_path):
    pd.concat([collapsed("a", 0, 59), collapsed("b", 5, 59)]).to_csv(tmp_path / "runs.csv", index=False)
    names = {
        name: field.get_default(call_default_factory=True) for name, field in recipe_card.Params.model_fields.items()
    }
    files = {
        "data": {"runs": [str(tmp_path / "runs.csv")]},
        "layouts": None,
        "rule": None,
        "label": None,
        "out_dir": None,
    }
    return open_report(recipe_card.STUDY, {**names, **files})


def test_what_if_gives_the_verdicts_that_the_study_gives(session):
    found = session.what_if(failure_budget=[0.05, 0.1, 0.3], tau=[0.7])
    expected = [
        recipe_card.run(session.inputs, recipe_card.Params(failure_budget=budget, tau=0.7))
        for budget in (0.05, 0.1, 0.3)
    ]
    assert [row[-2:] for row in found.rows] == [(result.gate.verdict, result.headline) for result in expected]
    assert [row[0] for row in found.rows] == [0.05, 0.1, 0.3]
    assert explore.where(found, failure_budget=0.3).rows == found.rows[2:]
    assert len({row[-2] for row in found.rows}) > 1


def test_around_is_a_step_to_each_side(session):
    assert [row[0] for row in session.around("tau", 0.05).rows] == [0.65, 0.7, 0.75]
    assert [row[0] for row in session.around("failure_budget", 0.2).rows] == [0.1, 0.3]


def test_one_value_is_a_list_of_one(session):
    assert session.what_if(method="corrected").rows == session.what_if(method=["corrected"]).rows


@pytest.mark.parametrize("name", ["method", "claim"])
def test_a_parameter_that_is_no_number_has_nothing_around_it(session, name):
    with pytest.raises(ParameterError, match=f"{name}, or the step, is no number"):
        session.around(name, 1)


def test_an_unknown_parameter_is_said(session):
    for call in (lambda: session.what_if(taus=[0.5]), lambda: session.around("taus", 0.1)):
        with pytest.raises(ParameterError, match="Did you mean 'tau'"):
            call()


def test_where_and_top_keep_the_columns():
    assert explore.where(TABLE, kind="y").rows == (("b", None, "y"), ("c", 0.9, "y"))
    assert explore.where(TABLE, kind=["x", "y"], score=0.2).rows == (("a", 0.2, "x"),)
    assert [row[0] for row in explore.top(TABLE, by="score", n=2).rows] == ["c", "d"]
    assert [row[0] for row in explore.top(TABLE, by="score", smallest=True).rows] == ["a", "d", "c"]
    assert explore.where(TABLE, kind="z").texts() == []
    assert explore.where(TABLE, kind={"x"}).rows == explore.where(TABLE, kind="x").rows


@pytest.mark.parametrize("n", [0, -1, 1.5, "2"])
def test_a_number_of_rows_is_a_count(n):
    with pytest.raises(ValueError, match="give a whole number of rows"):
        explore.top(TABLE, by="score", n=n)


def test_what_has_no_order_is_said_and_what_is_no_number_is_left_out():
    mixed = replace(TABLE, rows=(("a", 1, "x"), ("b", "c", "y")))
    with pytest.raises(ValueError, match="the values of score have no order"):
        explore.top(mixed, by="score")
    undefined = replace(TABLE, rows=(("a", 1.0, "x"), ("b", math.nan, "y"), ("c", 3.0, "y")))
    assert [row[0] for row in explore.top(undefined, by="score").rows] == ["c", "a"]


@pytest.mark.parametrize(
    "call",
    [
        lambda: explore.where(TABLE, nope=1),
        lambda: explore.top(TABLE, by="nope"),
        lambda: chart.linked(TABLE, x="score", y="nope"),
    ],
)
def test_an_unknown_column_is_answered_with_the_columns(call):
    with pytest.raises(KeyError, match=r"no column 'nope' of single values; it has cell\.model, score, kind"):
        call()


def test_a_cell_of_several_values_cannot_be_sorted_by():
    columns = (TableColumn(key="a", label="A"), TableColumn(key="b", label="B", kind="interval"))
    table = Table(id="t", title="T", columns=columns, rows=(("x", {"low": 0, "high": 1}),))
    with pytest.raises(KeyError, match="no column 'b' of single values; it has a"):
        explore.top(table, by="b")


def test_a_linked_chart_counts_what_its_window_holds():
    spec = chart.linked(TABLE, x="score", y="cell.model", colour="kind").to_dict()
    points, bars = spec["hconcat"]
    (window,) = spec["params"]
    assert window["select"] == {"type": "interval"}
    assert points["encoding"]["x"] == {"field": "column_1", "type": "quantitative", "title": "score"}
    assert points["encoding"]["y"] == {"field": "column_0", "type": "nominal", "title": "cell.model"}
    assert bars["transform"] == [{"filter": {"param": window["name"]}}]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.slug)
def test_every_working_copy_runs_to_its_last_answer(study, tmp_path):
    path = working_copy(resolve(study.slug, [], [], [], [], None, None), tmp_path)
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.id == "setup":
            cell.source = cell.source.replace("interactive=out_dir is None", "interactive=False")
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    answers = [cell for cell in notebook.cells if cell.id.startswith("answer-")]
    assert len(answers) == len(study.next_questions)
    assert all(cell.outputs for cell in answers)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_the_invitation_asks_for_the_same_result_from_the_reports_folder(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        frame = collapsed(name, 3, 59).rename(columns={"score": "f1"})
        frame.to_csv(tmp_path / name / "my runs.csv", index=False)
    monkeypatch.chdir(tmp_path)
    data = ["one/my runs.csv", "two/my runs.csv"]
    asked = resolve("recipe-card", data, ["score=f1"], ["tau=0.8", 'claim={"dataset": "IMDB"}'], [], None, None)
    folder = tmp_path / "reports" / "recipe-card" / "x"
    folder.mkdir(parents=True)
    said = invitation(asked, folder)
    assert str(tmp_path) not in said
    blocks = [line.strip() for line in said.splitlines() if line.startswith("    ")]
    (folder / "mapping.yml").write_text(blocks[1], encoding="utf-8")
    words = shlex.split(blocks[0])
    assert words[:3] == ["gatebook", "lab", "recipe-card"]
    monkeypatch.chdir(folder)
    given = {flag: [b for a, b in itertools.pairwise(words) if a == flag] for flag in ("--data", "-p", "-f")}
    again = resolve("recipe-card", given["--data"], [], given["-p"], given["-f"], None, None)
    assert (again.params, again.layouts) == (asked.params, asked.layouts)
    assert again.data == {"runs": [f"../../../{path}" for path in data]}


def test_an_address_stays_an_address(tmp_path):
    asked = resolve("recipe-card", ["memory://bucket/runs.csv"], [], [], [], None, None)
    assert "--data runs=memory://bucket/runs.csv" in invitation(asked, tmp_path)
