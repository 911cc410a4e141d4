"""reports.yml: every report and grid as jobs, every fault at once, labels that come from values."""

import json

import pytest

from analysis.pipeline.manifest import ManifestError, load, schema_text

RUNS = "model,budget,seed,score\n" + "".join(f"{m},100,{i},0.9\n" for m in ("a", "b") for i in range(25))


@pytest.fixture
def manifest(tmp_path):
    """Write a manifest beside some data, and load it."""
    for name in ("runs", "a", "b"):
        (tmp_path / f"{name}.csv").write_text(RUNS, encoding="utf-8")

    def write(text, *names, **files):
        for name, content in files.items():
            (tmp_path / f"{name}.csv").write_text(content, encoding="utf-8")
        (tmp_path / "reports.yml").write_text(text, encoding="utf-8")
        return load(tmp_path / "reports.yml", names)

    return write


def refused(manifest, *arguments, **options):
    with pytest.raises(ManifestError) as caught:
        manifest(*arguments, **options)
    return str(caught.value)


ONE = "reports:\n  nightly: {study: recipe-card, data: runs.csv, params: {tau: 0.8}}\n"
GRID = "reports:\n  g: {study: recipe-card, data: runs.csv, grid: {tau: [0.7, 0.80], delta: [0.1, 0.05]}}\n"


def test_one_report_is_one_job(manifest):
    (job,) = manifest(ONE)
    assert (job.key, job.formats, job.request.params.tau) == ("recipe-card/nightly", ("html",), 0.8)


def test_paths_are_relative_to_the_manifest_wherever_it_is_called_from(manifest, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    (job,) = manifest(ONE)
    assert job.request.data == {"runs": [str(tmp_path / "runs.csv")]}


def test_a_grid_is_every_combination(manifest):
    jobs = manifest(GRID)
    assert [(job.request.params.tau, job.request.params.delta) for job in jobs] == [
        (0.7, 0.1),
        (0.7, 0.05),
        (0.8, 0.1),
        (0.8, 0.05),
    ]
    assert [job.key for job in jobs][:2] == ["recipe-card/g-tau-0.7-delta-0.1", "recipe-card/g-tau-0.7-delta-0.05"]


def test_labels_do_not_depend_on_order_or_on_other_rows(manifest):
    whole = {job.key for job in manifest(GRID)}
    turned = {job.key for job in manifest(GRID.replace("[0.7, 0.80]", "[0.80, 0.7]"))}
    fewer = {job.key for job in manifest(GRID.replace("[0.7, 0.80]", "[0.80]"))}
    assert turned == whole
    assert fewer < whole


def test_a_value_may_stand_in_a_path_and_is_no_parameter_then(manifest, tmp_path):
    jobs = manifest('reports:\n  g: {study: recipe-card, data: "{arm}.csv", grid: {arm: [a, b], tau: [0.7]}}\n')
    assert [job.request.data["runs"] for job in jobs] == [[str(tmp_path / "a.csv")], [str(tmp_path / "b.csv")]]
    assert [job.key for job in jobs] == ["recipe-card/g-arm-a-tau-0.7", "recipe-card/g-arm-b-tau-0.7"]


def test_rows_of_a_csv_are_reports(manifest):
    text = "reports:\n  g: {study: recipe-card, data: runs.csv, rows: grid.csv}\n"
    jobs = manifest(text, grid="tau,delta\n0.7,0.1\n0.8,\n")
    assert [(job.place, job.request.params.tau, job.request.params.delta) for job in jobs] == [
        ("grid.csv line 2", 0.7, 0.1),
        ("grid.csv line 3", 0.8, 0.1),
    ]
    assert len(manifest(text, grid="tau\n0.7\n")) == 1


def test_exclusions_are_left_out(manifest):
    jobs = manifest(GRID.replace("0.05]}}", '0.05]}, exclude: [{tau: "0.7"}, {tau: "0.80", delta: "0.1"}]}'))
    assert [job.key for job in jobs] == ["recipe-card/g-tau-0.80-delta-0.05"]


def test_some_reports_may_be_named(manifest):
    text = ONE + "  other: {study: recipe-card, data: nowhere.csv}\n"
    assert [job.name for job in manifest(text, "nightly")] == ["nightly"]
    assert "no report is called nightl. Did you mean 'nightly'?" in refused(manifest, text, "nightl")


def test_every_fault_of_the_file_is_said_at_once(manifest):
    text = (
        "reprots: {}\nreports:\n  a: {study: recipe-crad, data: runs.csv}\n  b: {data: runs.csv}\n"
        "  c: {study: recipe-card, data: nowhere.csv, params: {treshold: 1, delta: 7}}\n"
        "  d: {study: recipe-card, data: runs.csv, titel: x, to: [docx]}\n"
    )
    message = refused(manifest, text)
    for words in (
        "reports.yml, line 1: no key reprots. Did you mean 'reports'?",
        "report a: no study 'recipe-crad'",
        "report b: study is missing",
        "nowhere.csv",
        "unknown parameter treshold",
        "delta = '7'",
        "report d: no key titel",
    ):
        assert words in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "names no report"),
        ("reports: {}", "names no report"),
        ("reports: {a: x}", "is no mapping"),
        ("reports: {a: {study: recipe-card, data: runs.csv, grid: {tau: []}}}", "the axis tau has no value"),
        ("reports: {a: {study: recipe-card, data: runs.csv, rows: none.csv}}", "none.csv"),
        ("reports: {a: {study: recipe-card, data: runs.csv, to: [docx]}}", "docx is no format"),
        ('reports: {a: {study: recipe-card, data: "{arm}.csv"}}', "{arm} stands for an axis that is not there"),
        ("reports: {a: {study: recipe-card, data: runs.csv, grid: {t: [1]}}}", "unknown parameter t"),
        (
            "reports: {a: {study: recipe-card, data: runs.csv, grid: {tau: [0.7]}, exclude: [{tau: '0.7'}]}}",
            "stands for no report",
        ),
    ],
)
def test_what_does_not_fit_ends_in_a_sentence(manifest, text, words):
    assert words in refused(manifest, text)


def test_zero_rows_are_an_error(manifest):
    text = "reports:\n  g: {study: recipe-card, data: runs.csv, rows: grid.csv}\n"
    assert "stands for no report" in refused(manifest, text, grid="tau\n")


def test_a_row_of_another_width_is_named(manifest):
    text = "reports:\n  g: {study: recipe-card, data: runs.csv, rows: grid.csv}\n"
    assert "grid.csv" in refused(manifest, text, grid="tau,delta\n0.7\n")


def test_labels_that_collide_are_found_before_anything_runs(manifest):
    text = "reports:\n  g: {study: recipe-card, data: runs.csv, rows: grid.csv}\n"
    assert "g grid.csv line 2 and g grid.csv line 3 would both be recipe-card/g-tau-0.7" in refused(
        manifest, text, grid="tau\n0.7\n0.7\n"
    )


def test_a_grid_that_is_too_large_is_refused_before_it_is_made(manifest):
    values = ", ".join(map(str, range(400)))
    text = f"reports: {{a: {{study: recipe-card, data: runs.csv, grid: {{x: [{values}], y: [{values}]}}}}}}"
    assert "stands for 160,000 reports" in refused(manifest, text)


def test_the_schema_for_editors_is_the_one_that_ships():
    from pathlib import Path

    import analysis

    assert (Path(analysis.__file__).parent / "pipeline" / "reports.schema.json").read_text(
        encoding="utf-8"
    ) == schema_text()


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        (ONE, True),
        (GRID, True),
        ("reports:\n  x: {study: nope, data: a.csv}\n", False),
        ("reports:\n  x: {study: churn, data: a.csv, params: {tau: 1}}\n", False),
        ("reports:\n  x: {study: churn, data: {samples: a.csv}}\n", False),
        ("reports:\n  x: {study: churn, data: a.csv, to: [docx]}\n", False),
        ("reports:\n  x: {study: churn}\n", False),
        ("reports: {}\n", False),
        ("reporst: {}\n", False),
    ],
)
def test_an_editor_sees_what_the_command_would_refuse(text, fits):
    from jsonschema import Draft202012Validator
    from ruamel.yaml import YAML

    found = list(Draft202012Validator(json.loads(schema_text())).iter_errors(YAML(typ="safe").load(text)))
    assert (found == []) == fits


def test_an_address_is_no_path_below_the_manifest(manifest):
    (job,) = manifest('reports:\n  x: {study: recipe-card, data: "s3://bucket/{m}.csv", grid: {m: [a]}}\n')
    assert job.request.data == {"runs": ["s3://bucket/a.csv"]}


def test_verdicts_and_notebooks_of_ones_own(manifest, tmp_path):
    (job,) = manifest("reports:\n  x: {study: recipe-card, data: runs.csv, gate: false, notebook: my.ipynb}\n")
    assert (job.gated, job.notebook) == (False, tmp_path / "my.ipynb")
