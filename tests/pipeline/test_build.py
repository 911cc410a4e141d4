"""gatebook build: what is out of date and why, the same bytes however it is run, failures that explain themselves."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from xml.etree import ElementTree

import nbformat
import pytest

from tests.pipeline.builds import RUNS, Project, files, notebook


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Three reports, made; tests work on copies."""
    project = Project(tmp_path_factory.mktemp("built")).short(3)
    left = project.run("-j", 2)
    assert left.code == 0, left
    return project


@pytest.fixture
def copy(built, tmp_path):
    """A copy in which everything is up to date."""
    return built.copied(tmp_path / "copy")


def actions(plan):
    return {job["label"]: job["action"] for job in plan["jobs"]}


def reasons(plan, label="r0"):
    return next(job["reasons"] for job in plan["jobs"] if job["label"] == label)


# ---- what runs, and why


def test_a_second_build_does_nothing_and_says_so(copy):
    before = files(copy.folder)
    left = copy.run()
    assert left.code == 0
    assert left.out.splitlines()[-1].startswith("3 reports: 3 cached; verdicts: 3 pass")
    changed = {name for name, held in files(copy.folder).items() if before.get(name) != held}
    assert changed <= {"reports/summary.json", "reports/summary.md", "reports/junit.xml", "reports/.state.sqlite"}


def test_the_plan_of_what_is_up_to_date(copy):
    plan = copy.plan()
    assert plan == {
        "counts": {"run": 0, "cached": 3, "invalid": 0},
        "jobs": [{"label": f"r{i}", "study": "recipe-card", "action": "cached", "reasons": []} for i in range(3)],
    }


def test_a_plan_writes_nothing(tmp_path):
    project = Project(tmp_path).short(1)
    before = files(tmp_path)
    plan = project.plan()
    assert plan["counts"] == {"run": 1, "cached": 0, "invalid": 0}
    assert reasons(plan) == ["not made yet"]
    assert files(tmp_path) == before


def test_changed_bytes_of_an_input_run_exactly_its_reports(copy):
    text = (copy.folder / "reports.yml").read_text(encoding="utf-8")
    (copy.folder / "reports.yml").write_text(text.replace("data: runs.csv", "data: other.csv", 1), encoding="utf-8")
    (copy.folder / "other.csv").write_text(RUNS + "a,100,25,0.9\n", encoding="utf-8")
    plan = copy.plan()
    assert actions(plan) == {"r0": "run", "r1": "cached", "r2": "cached"}
    assert reasons(plan) == ["input bytes: other.csv"]


def test_a_touched_input_with_the_same_bytes_runs_nothing(copy):
    (copy.folder / "runs.csv").touch()
    assert copy.plan()["counts"]["cached"] == 3


@pytest.mark.parametrize("clock", [0, 4_000_000_000])
def test_times_decide_nothing(copy, clock):
    os.utime(copy.folder / "runs.csv", (clock, clock))
    assert copy.plan()["counts"]["cached"] == 3
    (copy.folder / "runs.csv").write_text(RUNS.replace("0.900", "0.901", 1), encoding="utf-8")
    os.utime(copy.folder / "runs.csv", (clock, clock))
    assert copy.plan()["counts"]["run"] == 3


def test_a_changed_parameter_is_named_with_both_values(copy):
    text = (copy.folder / "reports.yml").read_text(encoding="utf-8")
    (copy.folder / "reports.yml").write_text(text.replace("delta: 0.101", "delta: 0.2"), encoding="utf-8")
    plan = copy.plan()
    assert actions(plan) == {"r0": "run", "r1": "cached", "r2": "cached"}
    assert reasons(plan) == ["parameters: delta 0.101 → 0.2"]


def test_a_rule_is_a_component(copy):
    text = (copy.folder / "reports.yml").read_text(encoding="utf-8")
    rule = "version: 1\nstudy: recipe-card\ndecision_rule: mine\nparameters: {tau: 0.7}\n"
    (copy.folder / "rule.yml").write_text(rule, encoding="utf-8")
    (copy.folder / "reports.yml").write_text(
        text.replace("data: runs.csv", "data: runs.csv, rule: rule.yml", 1), encoding="utf-8"
    )
    assert reasons(copy.plan())[-1] == "rule"
    assert copy.run("r0").code == 0
    copy.run("rule.yml", command="register")
    assert reasons(copy.plan()) == ["rule: rule.yml"]


def test_code_of_the_notebook_is_a_component_and_its_prose_is_not(copy):
    path = copy.folder / "short.ipynb"
    made = nbformat.read(path, as_version=4)
    made.cells[0].source = "# A report\n\nIn better words."
    nbformat.write(made, path)
    plan = copy.plan()
    assert actions(plan) == {"r0": "render", "r1": "render", "r2": "render"}
    assert reasons(plan) == ["text of the notebook"]
    logs = [(copy.report(f"r{i}") / "log.txt").read_bytes() for i in range(3)]
    assert copy.run().code == 0
    assert [(copy.report(f"r{i}") / "log.txt").read_bytes() for i in range(3)] == logs  # nothing was executed
    assert "In better words." in (copy.report("r1") / "index.html").read_text(encoding="utf-8")
    assert copy.plan()["counts"]["cached"] == 3
    made.cells[-1].source += "\n"
    nbformat.write(made, path)
    assert reasons(copy.plan()) == ["notebook code"]


def test_the_environment_is_a_component(copy):
    path = copy.report("r0") / "run.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["environment"]["numpy"], record["components"]["environment"] = "1.26.4", "another"
    path.write_text(json.dumps(record), encoding="utf-8")
    (reason,) = reasons(copy.plan())
    assert reason.startswith("environment: numpy 1.26.4 → 2")


def test_the_code_of_the_package_is_a_component(copy):
    path = copy.report("r0") / "run.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["components"]["package"] = "another"
    path.write_text(json.dumps(record), encoding="utf-8")
    assert reasons(copy.plan()) == ["package code"]


def test_a_deleted_page_is_restored_without_executing(copy):
    before = copy.bytes()
    (copy.report("r0") / "index.html").unlink()
    assert actions(copy.plan())["r0"] == "render"
    log = (copy.report("r0") / "log.txt").read_bytes()
    assert copy.run().code == 0
    assert copy.bytes() == before
    assert (copy.report("r0") / "log.txt").read_bytes() == log


def test_another_format_is_rendered_from_what_ran(copy):
    text = (copy.folder / "reports.yml").read_text(encoding="utf-8")
    (copy.folder / "reports.yml").write_text(text.replace("0.101}", "0.101}, to: [html, pdf]"), encoding="utf-8")
    assert reasons(copy.plan()) == ["page code or formats"]
    assert copy.run().code == 0
    assert (copy.report("r0") / "report.pdf").read_bytes().startswith(b"%PDF")


def test_a_result_that_is_gone_is_made_again(copy):
    before = copy.bytes()
    (copy.report("r0") / "result.json").unlink()
    assert actions(copy.plan())["r0"] == "run"
    assert copy.run().code == 0
    assert copy.bytes() == before


def test_the_state_may_be_deleted_or_broken_at_any_time(copy):
    state = copy.folder / "reports" / ".state.sqlite"
    state.unlink()
    assert copy.plan()["counts"]["cached"] == 3
    state.write_bytes(b"no database" * 1000)
    assert copy.run().code == 0
    assert copy.plan()["counts"]["cached"] == 3


def test_force_makes_everything_again_with_the_same_bytes(copy):
    before = copy.bytes()
    left = copy.run("--force", "-j", 1)
    assert left.out.splitlines()[-1].startswith("3 reports: 3 ok")
    assert copy.bytes() == before


def test_one_report_alone_has_the_bytes_it_has_among_others(copy, built):
    shutil.rmtree(copy.folder / "reports")
    assert copy.run("r1", "-j", 4).code == 0
    held = files(copy.report("r1"))
    assert held == files(built.report("r1"))


def test_processes_started_afresh_give_the_same_bytes(copy, built):
    code = (
        "from pathlib import Path\n"
        "from analysis.pipeline import batch, manifest, pool\n"
        "from analysis.pipeline.state import State\n"
        "if __name__ == '__main__':\n"
        "    settings = batch.Settings(out=Path('reports'), force=True, forked=False)\n"
        "    with State(settings.out) as state:\n"
        "        planned = batch.plan(manifest.load(Path('reports.yml'), ['r1']), settings, state)\n"
        "        planned = batch.validate(planned, settings, pool.Stop())\n"
        "        print([one.status for _, one in batch.make(planned, settings, state, pool.Stop())])\n"
    )
    (copy.folder / "spawned.py").write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, "spawned.py"], cwd=copy.folder, capture_output=True, text=True, check=True)
    assert done.stdout == "['ok']\n"
    assert files(copy.report("r1")) == files(built.report("r1"))


# ---- validation


def test_everything_is_validated_before_anything_runs(tmp_path):
    project = Project(tmp_path).short(1)
    (tmp_path / "bad.csv").write_text("model,budget,seed,score\na,1,1,x\n", encoding="utf-8")
    (tmp_path / "worse.csv").write_text("nothing\n1\n", encoding="utf-8")
    with (tmp_path / "reports.yml").open("a", encoding="utf-8") as file:
        file.write("  bad: {study: recipe-card, data: bad.csv}\n  worse: {study: recipe-card, data: worse.csv}\n")
    left = project.run()
    assert left.code == 3
    assert "bad.csv, report bad, line 2, column score" in left.err
    assert "worse.csv, report worse" in left.err
    assert "--skip-invalid" in left.err
    assert not list((tmp_path / "reports").glob("*/*/result.json"))
    plan = project.plan()
    assert plan["counts"] == {"run": 1, "cached": 0, "invalid": 2}
    assert project.run("-n").code == 3
    left = project.run("--skip-invalid")
    assert left.code == 4
    assert project.statuses() == {"r0": "ok", "bad": "skipped", "worse": "skipped"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nope"], "no report is called nope"),
        (["--shard", "3/2"], "is not I/N"),
        (["--shard", "x"], "is not I/N"),
        (["--json"], "is the plan"),
        (
            ["--manifest", "none.yml"],
            "none.yml: is not there. Name it with --manifest, or begin a project: gatebook init DIR.",
        ),
        (["--out", " "], "is empty"),
        (["-j", "0"], "0 is not in the range"),
        (["--timeout", "-1"], "-1.0 is not in the range"),
        (["--timeout", "nan"], "nan is no number of seconds"),
        (["--batch-timeout", "inf"], "inf is not in the range"),
        (["--cell-timeout", "1e300"], "1e+300 is not in the range"),
        (["--site", "runs.csv"], "is not a folder"),
        (["--site", "runs.csv/x"], "is not a folder"),
        (["--site", "."], "is the folder that this is called from"),
        (["--out", "x", "--site", "x"], "cannot share a folder"),
    ],
)
def test_wrong_use_ends_in_a_sentence(tmp_path, arguments, words):
    left = Project(tmp_path).short(1).run(*arguments)
    assert left.code == 3
    assert words in left.err
    assert "Traceback" not in left.err


def test_a_notebook_that_is_none_is_said_before_anything_runs(tmp_path):
    project = Project(tmp_path).manifest(
        r0="data: runs.csv, notebook: none.ipynb", r1="data: runs.csv, notebook: runs.csv"
    )
    left = project.run()
    assert left.code == 3
    assert "none.ipynb" in left.err
    assert "is not a notebook" in left.err


# ---- shards


def test_shards_are_a_partition_and_their_site_is_the_whole(built, tmp_path):
    parts = []
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        project = Project(tmp_path / str(number)).short(3)
        assert project.run("--shard", f"{number}/2").code == 0
        assert not (project.folder / "_site").exists()
        assert (project.folder / "reports" / f"summary-{number}-of-2.json").exists()
        parts.append(project)
    made = [{path.name for path in project.report("").iterdir()} for project in parts]
    assert made[0] | made[1] == {"r0", "r1", "r2"}
    assert not made[0] & made[1]
    roots = [text for project in parts for text in ("--reports", project.folder / "reports")]
    assert parts[0].run(*roots, "--out", tmp_path / "merged", command="site").code == 0
    assert files(tmp_path / "merged" / "reports") == files(built.folder / "_site" / "reports")


def test_different_reports_of_one_label_are_not_merged(copy, built, tmp_path):
    (copy.report("r0") / "result.json").write_text(
        (copy.report("r0") / "result.json").read_text(encoding="utf-8") + " ", encoding="utf-8"
    )
    roots = [text for project in (copy, built) for text in ("--reports", project.folder / "reports")]
    left = copy.run(*roots, "--out", tmp_path / "merged", command="site")
    assert left.code == 3
    assert "is not the report that" in left.err


# ---- failures


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """One good report among every kind of bad one."""
    project = Project(tmp_path_factory.mktemp("failing"))
    bad = {
        "raises": notebook("print('before <b>')", "raise ValueError('<script>alert(1)</script> no')"),
        "killed": notebook("import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
        "leaves": notebook("import sys; sys.exit(0)"),
        "swallows": notebook("try:\n    raise ValueError\nexcept BaseException:\n    pass", save=False),
        "hangs": notebook("import time; time.sleep(600)"),
        "changes": notebook("delta = 0.5"),
    }
    for name, made in bad.items():
        project.write(name, made)
    reports = {name: f"data: runs.csv, notebook: {name}.ipynb" for name in bad}
    project.manifest(good="data: runs.csv, notebook: short.ipynb", **reports)
    project.left = project.run("-j", 4, "--cell-timeout", 4)
    return project


def test_the_batch_goes_on_and_names_every_failure(failing):
    assert failing.left.code == 4
    assert failing.statuses() == {
        "good": "ok",
        "raises": "failed",
        "killed": "kernel-died",
        "leaves": "incomplete",
        "swallows": "incomplete",
        "hangs": "timeout",
        "changes": "failed",
    }
    assert failing.leftovers() == []


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("raises", "recipe-card/raises, cell 7: ValueError: <script>alert(1)</script> no"),
        (
            "killed",
            "recipe-card/killed, cell 6 (between-1): the kernel died (SIGKILL). The system may have run out of memory",
        ),
        ("swallows", "recipe-card/swallows: the notebook wrote no result.json"),
        ("hangs", "recipe-card/hangs, cell 6 (between-1): stopped after a cell's time limit of 4 s"),
        ("changes", "a later cell changed delta from 0.1 to 0.5"),
    ],
)
def test_a_failure_says_where_and_why(failing, label, words):
    assert words in failing.summary()[label]["message"]
    assert words in failing.left.err


def test_a_failure_has_a_page_with_the_failing_cell_first(failing):
    page = (failing.report("raises.failed") / "index.html").read_text(encoding="utf-8").partition("<main")[2]
    order = ["NOT MADE", "What failed", "cell 7 (between-2)", "raise ValueError(", "Traceback", "Parameters", "Inputs"]
    order += ["of the log", "What ran before"]
    places = [page.index(words) for words in order]
    assert places == sorted(places)
    assert "<script>alert" not in page
    assert "before &lt;b&gt;" in page


def test_the_site_lists_what_could_not_be_made_first(failing):
    index = (failing.folder / "_site" / "index.html").read_text(encoding="utf-8")
    assert "1 report: 1 pass, 0 undecided, 0 refuse. 6 could not be made." in index
    assert index.index("raises.failed/index.html") < index.index("good/index.html")
    assert (failing.folder / "_site/reports/recipe-card/raises.failed/index.html").exists()


def test_summaries_for_programs_and_people(failing):
    suite = ElementTree.parse(failing.folder / "reports" / "junit.xml").getroot()
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures"), suite.get("skipped")) == (
        "7",
        "6",
        "0",
        "0",
    )
    assert {case.get("name"): [child.get("type") for child in case] for case in suite} == {
        "good": [],
        "raises": ["failed"],
        "killed": ["kernel-died"],
        "leaves": ["incomplete"],
        "swallows": ["incomplete"],
        "hangs": ["timeout"],
        "changes": ["failed"],
    }
    markdown = (failing.folder / "reports" / "summary.md").read_text(encoding="utf-8")
    assert markdown.startswith("### Gatebook: 7 reports: 1 ok, 2 failed, 1 timeout, 1 kernel-died, 2 incomplete")
    assert "<script>" not in markdown


def test_only_what_failed_is_run_again(failing, tmp_path):
    project = failing.copied(tmp_path / "copy")
    for name in ("raises", "killed", "leaves", "swallows", "hangs", "changes"):
        shutil.copy(project.folder / "short.ipynb", project.folder / f"{name}.ipynb")
    plan = project.plan("--rerun", "failed")
    assert sorted(job["label"] for job in plan["jobs"]) == [
        "changes",
        "hangs",
        "killed",
        "leaves",
        "raises",
        "swallows",
    ]
    assert set(reasons(plan, "raises")) == {"failed the last time"}
    left = project.run("--rerun", "failed")
    assert left.code == 0
    assert left.out.splitlines()[-1].startswith("6 reports: 6 ok")
    assert not list(project.report("").glob("*.failed"))
    assert project.run("--rerun", "failed").out.startswith("0 reports")


def test_the_first_failure_stops_a_batch_that_wants_it(tmp_path):
    project = Project(tmp_path)
    project.write("raises", notebook("raise ValueError('no')"))
    rest = {f"r{i}": f"data: runs.csv, notebook: short.ipynb, params: {{delta: 0.{i + 1:03d}}}" for i in range(4)}
    project.manifest(bad="data: runs.csv, notebook: raises.ipynb", **rest)
    assert project.run("-x", "-j", 1).code == 4
    assert project.statuses() == {"bad": "failed", **dict.fromkeys(rest, "skipped")}


def test_an_earlier_report_outlives_a_failure(copy):
    before = files(copy.report("r0"))
    copy.write("short", notebook("raise ValueError('no')"))
    assert copy.run().code == 4
    assert files(copy.report("r0")) == before
    assert (copy.report("r0.failed") / "index.html").exists()


# ---- time


def test_a_report_over_its_limit_is_stopped_with_what_ran(tmp_path):
    project = Project(tmp_path)
    project.write("hangs", notebook("print('so far')", "import time; time.sleep(600)"))
    project.manifest(r0="data: runs.csv, notebook: hangs.ipynb", r1="data: runs.csv, notebook: short.ipynb")
    start = time.monotonic()
    assert project.run("--timeout", 4, "-j", 2).code == 4
    assert time.monotonic() - start < 40
    assert project.statuses() == {"r0": "timeout", "r1": "ok"}
    assert "so far" in (project.report("r0.failed") / "index.html").read_text(encoding="utf-8")


def test_a_batch_over_its_limit_keeps_what_was_made(tmp_path):
    project = Project(tmp_path)
    project.write("hangs", notebook("import time; time.sleep(600)"))
    hanging = "data: runs.csv, notebook: hangs.ipynb"
    project.manifest(r0="data: runs.csv, notebook: short.ipynb", r1=hanging, r2=f"{hanging}, params: {{delta: 0.2}}")
    assert project.run("-j", 1, "--batch-timeout", 8).code == 4
    assert project.statuses() == {"r0": "ok", "r1": "timeout", "r2": "skipped"}
    assert project.leftovers() == []


# ---- gates


def test_the_worst_verdict_is_the_code_when_asked(tmp_path):
    project = Project(tmp_path)
    params = "notebook: short.ipynb, data: runs.csv, params:"
    project.manifest(good=f"{params} {{tau: 0.5}}", bad=f"{params} {{tau: 0.95}}, gate: false")
    assert project.run().code == 0
    assert project.run("--gate").code == 0  # what is not gated does not count
    project.manifest(good=f"{params} {{tau: 0.5}}", bad=f"{params} {{tau: 0.95}}")
    assert project.run("--gate").code == 1
    suite = ElementTree.parse(tmp_path / "reports" / "junit.xml").getroot()
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")


# ---- inputs elsewhere


def test_inputs_by_address_are_fetched_and_their_bytes_decide(tmp_path):
    project = Project(tmp_path)
    store = tmp_path / "store"
    store.mkdir()
    (store / "runs.csv").write_text(RUNS, encoding="utf-8")
    project.manifest(r0=f"data: 'file://{store}/runs.csv', notebook: short.ipynb")
    assert project.run().code == 0
    assert f"file://{store}/runs.csv" in (project.report("r0") / "report.ipynb").read_text(encoding="utf-8")
    assert project.plan()["counts"]["cached"] == 1
    (store / "runs.csv").write_text(RUNS + "a,100,25,0.9\n", encoding="utf-8")
    assert reasons(project.plan()) == ["input bytes: runs.csv"]
    (store / "runs.csv").unlink()
    left = project.run()
    assert left.code == 3
    assert "nothing is there" in left.err


def test_a_folder_is_watched_with_its_empty_folders(tmp_path):
    project = Project(tmp_path).manifest(r0="data: data/, notebook: short.ipynb")
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "runs.csv").rename(tmp_path / "data" / "deep" / "runs.csv")
    assert project.run().code == 0
    assert project.plan()["counts"]["cached"] == 1
    (tmp_path / "data" / "seed-7").mkdir()  # in a folder of seeds, a run that left nothing
    assert project.plan()["counts"]["run"] == 1


# ---- what attacks found


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("data: ''", "a path is empty"),
        ("data: '{d}', grid: {d: ['']}", "a path is empty"),
        ("data: runs.csv, rule: ''", "a path is empty"),
        ("data: runs.csv, rows: doubled.csv", "the column delta stands twice"),
        ("data: runs.csv, rows: nameless.csv", "a column has no name"),
        ("data: runs.csv, rows: fifo", "is not a regular file"),
        ("data: runs.csv, notebook: fifo", "is not a regular file"),
        ("data: runs.csv, notebook: /dev/zero", "is not a regular file"),
        ('data: runs.csv, rule: "a\\0b"', "holds a character that is no text"),
        ('data: runs.csv, rows: "a\\ud800b"', "holds a character that is no text"),
        ("data: runs.csv, notebook: deep.ipynb", "is not a notebook"),
        ("data: runs.csv, notebook: old.ipynb", "is of nbformat 3"),
        ("data: runs.csv, notebook: bare.ipynb", "no cell is tagged `parameters`"),
    ],
)
def test_odd_manifests_end_in_a_sentence_before_anything_runs(tmp_path, entry, words):
    project = Project(tmp_path)
    for name, text in {"doubled.csv": "delta,delta\n0.2,0.1\n", "nameless.csv": "delta, \n0.2,0.1\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "deep.ipynb").write_text("[" * 200_000, encoding="utf-8")
    (tmp_path / "old.ipynb").write_text(
        '{"nbformat": 3, "nbformat_minor": 0, "cells": [], "metadata": {}}', encoding="utf-8"
    )
    project.write("bare", nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1")]))
    project.manifest(r0=entry)
    left = project.run(timeout=30)
    assert left.code == 3, left
    assert words in left.err
    assert "unexpected" not in left.err
    assert not list((tmp_path / "reports").glob("*/*/result.json"))


def test_a_site_never_takes_the_place_of_something_else(copy):
    for name in ("pub/reports/thesis.txt", "srv/reports/recipe-card/mine/data.csv"):
        path = copy.folder / name
        path.parent.mkdir(parents=True)
        path.write_text("precious", encoding="utf-8")
        left = copy.run("--force", "--site", name.partition("/")[0])
        assert left.code == 3
        assert "which is not part of a site" in left.err
        assert path.read_text(encoding="utf-8") == "precious"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")  # noqa: PTH110
@pytest.mark.parametrize(
    ("arguments", "command", "code"),
    [(["--force"], "build", 0), (["--manifest", "none"], "build", 3), (["/none"], "verify", 3)],
)
def test_a_stderr_that_takes_nothing_changes_no_exit_code(copy, arguments, command, code):
    with open("/dev/full", "w", encoding="utf-8") as full:  # noqa: PTH123
        process = copy.start(*arguments, command=command)
        process.communicate(timeout=60)
        done = subprocess.run(process.args, cwd=copy.folder, stdout=subprocess.PIPE, stderr=full, check=False)
    assert (process.returncode, done.returncode) == (code, code)


@pytest.mark.parametrize(
    "content",
    [
        "[" * 200_000,
        "{}",
        '{"schema": "gatebook/run/1", "components": {}, "environment": {}, "files": {"a\\u0000b": 5}, "verdict": "pass"}',
        '{"schema": "gatebook/run/1", "components": {}, "environment": {}, "files": {}, "verdict": ["x"]}',
    ],
)
def test_a_damaged_record_is_no_report(copy, content):
    (copy.report("r0") / "run.json").write_text(content, encoding="utf-8")
    assert actions(copy.plan()) == {"r0": "run", "r1": "cached", "r2": "cached"}
    assert copy.run("reports/recipe-card/r0", command="verify").code == 3


@pytest.mark.parametrize(
    "script", ["CREATE TABLE digests (a, b); INSERT INTO digests VALUES (1, 2)", "CREATE VIEW outcomes AS SELECT 1"]
)
def test_a_state_of_another_shape_stops_nothing(copy, script):
    state = copy.folder / "reports" / ".state.sqlite"
    state.unlink()
    with contextlib.closing(sqlite3.connect(state)) as database:
        database.executescript(script)
    assert copy.run("--force", "r0").code == 0
    assert copy.run().code == 0


def test_a_damaged_notebook_of_a_report_runs_again(copy):
    before = copy.bytes()
    path = copy.report("r0") / "report.ipynb"
    path.write_bytes(b"x" * path.stat().st_size)
    (copy.report("r0") / "index.html").unlink()
    assert copy.run().code == 0
    assert copy.bytes() == before


def test_cells_without_ids_have_the_same_bytes_each_time(copy):
    path = copy.folder / "short.ipynb"
    held = json.loads(path.read_text(encoding="utf-8"))
    for cell in held["cells"]:
        del cell["id"]
    path.write_text(json.dumps({**held, "nbformat_minor": 4}), encoding="utf-8")
    assert copy.run().code == 0
    before = copy.bytes()
    assert copy.run("--force").code == 0
    assert copy.bytes() == before
    held["cells"][0]["source"] = ["# Other words"]
    path.write_text(json.dumps({**held, "nbformat_minor": 4}), encoding="utf-8")
    assert set(actions(copy.plan()).values()) == {"render"}
    assert copy.run().code == 0


def test_a_broken_result_of_another_report_is_named_and_the_others_are_told(copy):
    (copy.report("r0") / "result.json").write_text("{", encoding="utf-8")
    left = copy.run("r1", "--force")
    assert left.code == 3
    assert "recipe-card/r0/result.json: is not valid JSON" in left.err
    assert "Make it again, or delete the folder" in left.err
    assert "ok          pass       recipe-card/r1" in left.out


def test_a_result_that_was_damaged_is_no_history(copy):
    (copy.report("r0") / "result.json").write_text("{", encoding="utf-8")
    assert copy.run().code == 0
    assert copy.run("reports/recipe-card/r0", command="compare").code == 0
    assert not (copy.folder / "reports" / ".history").exists()


def test_a_failure_of_a_change_that_was_taken_back_is_forgotten(copy):
    text = (copy.folder / "short.ipynb").read_bytes()
    copy.write("short", notebook("raise ValueError('no')"))
    assert copy.run().code == 4
    (copy.folder / "short.ipynb").write_bytes(text)
    left = copy.run()
    assert left.code == 0
    assert "cached" in left.out
    assert not list(copy.report("").glob("*.failed"))
    assert copy.run("--rerun", "failed").out.startswith("0 reports")


def test_something_in_the_way_of_a_report_leaves_nothing_behind(copy):
    (copy.folder / "reports" / ".history").write_text("mine", encoding="utf-8")
    (copy.folder / "runs.csv").write_text(RUNS + "a,100,25,0.9\n", encoding="utf-8")
    assert copy.run().code == 4
    assert copy.leftovers() == []


def test_the_reports_may_lie_inside_the_data(tmp_path):
    project = Project(tmp_path).manifest(r0="data: ., notebook: short.ipynb")
    (tmp_path / ".ipynb_checkpoints").mkdir()
    assert project.run().code == 0
    assert project.plan()["counts"]["cached"] == 1
    assert project.run().code == 0


def test_a_reader_beside_the_command_is_left_alone(copy):
    # bash makes the command the parent of what reads its output
    code = "from analysis.cli import main; main()"
    line = f'exec "{sys.executable}" -c "{code}" build --force > >(sleep 1; cat > seen.txt)'
    done = subprocess.run(
        ["bash", "-c", line], cwd=copy.folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    for _ in range(100):
        if (copy.folder / "seen.txt").exists() and "3 ok" in (copy.folder / "seen.txt").read_text(encoding="utf-8"):
            break
        time.sleep(0.05)
    assert "3 reports: 3 ok" in (copy.folder / "seen.txt").read_text(encoding="utf-8")
