"""An executed notebook made clean: what is kept, what goes, what is refused."""

import ast
import json
from pathlib import Path

import nbformat
import pytest
from nbformat import v4
from ruamel.yaml import YAML

from analysis.errors import RenderError
from analysis.pipeline.normalise import drawings, label_of, normalise

HERE = Path("/runs/here")
TITLE = 'Recipe: "cards" # 1'
HEADLINE = 'Refused: 3 of "59" # cells\nfail — @here, 🙂 and \\n'
RESULT = {
    "study": "recipe-card",
    "label": "a: b #c",
    "signature": "study=recipe-card method=paper params=abc123",
    "gate": {"verdict": "refuse"},
    "headline": HEADLINE,
    "tables": {"cards": {"title": 'Cards: "all" # of them'}},
    "figures": {"bounds": {"title": "Bounds: a chart", "alt": "Bounds of 36 cells: 12 above the budget"}},
}
TABLE = '#| label: tbl-cards\n#| tbl-cap: "typed"\nreport.table("cards")'
FIGURE = '#| label: fig-bounds\n#| fig-cap: "typed"\n#| fig-alt: "typed"\nfigures.bounds(report.result)'
INJECTED = (
    '# Parameters\ndata = {"runs": ["../../runs.csv"]}\ntau = 0.7\nlabel = "it\'s 007"\nrule = None\nout_dir = "."\n'
)


def code(source, *outputs, tags=(), **fields):
    cell = v4.new_code_cell(source, outputs=list(outputs), execution_count=1, metadata={"tags": list(tags)})
    cell.metadata.update(
        papermill={"start_time": "2026-11-30T09:00:00", "duration": 0.1, "status": "completed"},
        execution={"iopub.status.busy": "2026-11-30T09:00:00"},
    )
    cell.update(fields)
    return cell


def shown(**data):
    names = {"html": "text/html", "latex": "text/latex", "plain": "text/plain", "svg": "image/svg+xml"}
    return v4.new_output(
        "execute_result", data={names[key]: value for key, value in data.items()}, metadata={"a": 1}, execution_count=1
    )


def executed(*cells):
    return v4.new_notebook(
        cells=list(cells),
        metadata={
            "papermill": {"input_path": "/home/me/in.ipynb", "start_time": "2026-11-30T09:00:00"},
            "kernelspec": {"name": "my_env", "display_name": "Mine", "language": "python"},
            "language_info": {"name": "python", "version": "3.11.7"},
            "widgets": {},
        },
    )


def clean(*cells, folder=None, result=RESULT):
    return normalise(executed(*cells), result, title=TITLE, folder=folder or HERE)


def source_of(notebook, cell_id):
    return next(cell.source for cell in notebook.cells if cell.id == cell_id)


def test_front_matter_stands_first_and_says_what_was_given():
    first = clean(v4.new_markdown_cell("text")).cells[0]
    assert first.cell_type == "raw"
    assert first.source.startswith("---\n")
    assert first.source.endswith("\n---")
    fields = YAML(typ="safe").load(first.source.strip("-"))
    assert fields == {
        "title": f"{TITLE}: a: b #c",
        "subtitle": RESULT["signature"],
        "categories": ["recipe-card", "refuse"],
        "description": HEADLINE.replace("\n", "\\n"),
        "verdict": "refuse",
        "study": "recipe-card",
        "label": "a: b #c",
    }


@pytest.mark.parametrize(
    "text", ['"', "'", ": ", "# x", "---", "no", "007", "[a]", "&a", "!x", "\x00", "🙂", "</script>"]
)
def test_front_matter_is_text_whatever_the_label_says(text):
    source = clean(result={**RESULT, "label": text, "headline": text}).cells[0].source
    assert len(source.splitlines()) == 9
    assert YAML(typ="safe").load(source.strip("-"))["label"] == text.replace("\x00", "\\x00")


def test_no_times_and_no_foreign_metadata_are_left():
    notebook = clean(code(INJECTED, tags=["injected-parameters"]), code("x", tags=["remove-cell", "other"]))
    assert notebook.metadata == {
        "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
        "language_info": {"name": "python"},
    }
    assert [cell.metadata for cell in notebook.cells] == [
        {},
        {"tags": ["injected-parameters", "remove-cell"]},
        {"tags": ["remove-cell"]},
    ]
    assert "2026" not in json.dumps(notebook)


def test_no_empty_tags_are_left():
    assert clean(code("x")).cells[1].metadata == {}


def test_output_metadata_is_removed():
    assert clean(code("x", shown(plain="1"))).cells[1].outputs[0].metadata == {}


def test_the_result_is_a_valid_notebook_that_survives_the_disk(tmp_path):
    notebook = clean(code(TABLE, shown(plain="1"), id="cards"), v4.new_markdown_cell("a\n\nb"))
    nbformat.validate(notebook)
    nbformat.write(notebook, tmp_path / "report.ipynb")
    assert nbformat.read(tmp_path / "report.ipynb", as_version=4) == notebook


def test_parameter_cells_are_removed_from_the_page():
    notebook = clean(code("tau: float = 0.7", tags=["parameters"]), code(INJECTED, tags=["injected-parameters"]))
    assert all("remove-cell" in cell.metadata["tags"] for cell in notebook.cells[1:])


def test_injected_values_are_kept_but_for_the_folder_to_write_to():
    notebook = clean(code(INJECTED, tags=["injected-parameters"], id="injected-parameters"))
    namespace = {
        line.targets[0].id: ast.literal_eval(line.value)
        for line in ast.parse(source_of(notebook, "injected-parameters")).body
    }
    assert namespace == {
        "data": {"runs": ["../../runs.csv"]},
        "tau": 0.7,
        "label": "it's 007",
        "rule": None,
        "out_dir": None,
    }


def test_captions_and_alternative_texts_come_from_the_result():
    notebook = clean(code(TABLE, id="cards"), code(FIGURE, id="bounds"))
    assert source_of(notebook, "cards").split("\n") == [
        "#| label: tbl-cards",
        '#| tbl-cap: "Cards: \\"all\\" # of them"',
        'report.table("cards")',
    ]
    assert source_of(notebook, "bounds").split("\n") == [
        "#| label: fig-bounds",
        '#| fig-cap: "Bounds: a chart"',
        '#| fig-alt: "Bounds of 36 cells: 12 above the budget"',
        "figures.bounds(report.result)",
    ]


def test_a_label_that_stands_twice_is_refused():
    with pytest.raises(RenderError, match="the label tbl-cards stands twice"):
        clean(code(TABLE), code(TABLE))


@pytest.mark.parametrize("label", ["tbl-nothing", "fig-cards", "tbl-bounds", "cards", "tbl-"])
def test_a_label_that_the_result_does_not_know_is_refused(label):
    with pytest.raises(RenderError, match=rf"cell here: the result has nothing called {label}"):
        clean(code(f"#| label: {label}\nx", id="here"))


def test_stray_at_words_become_text_and_references_stay():
    text = "See @tbl-cards and (@fig-bounds); mail me@example.org, \\@done, `@code`, @param and @tbl-cards-old."
    notebook = clean(v4.new_markdown_cell(text), code(TABLE), code(FIGURE))
    assert notebook.cells[1].source == (
        "See @tbl-cards and (@fig-bounds); mail me@example.org, \\@done, `@code`, \\@param and \\@tbl-cards-old."
    )


def test_the_heading_that_is_the_title_is_taken_out():
    notebook = clean(v4.new_markdown_cell("# Recipe-card audit"), v4.new_markdown_cell("# Title\n\nWhy.\n\n## Next"))
    assert [cell.source for cell in notebook.cells[1:]] == ["Why.\n\n## Next"]


def test_code_in_the_narrative_is_left_alone():
    text = "Why.\n\n```python\n# a comment\n@decorated\n```\n\nUse `x @y` or @z."
    assert clean(v4.new_markdown_cell(text)).cells[1].source == text.replace("or @z", "or \\@z")


def test_latex_is_dropped_where_html_holds_a_table():
    both = clean(code("x", shown(html="<table></table>", latex="\\begin{table}", plain="t"))).cells[1].outputs[0]
    assert sorted(both.data) == ["text/html", "text/plain"]
    alone = clean(code("x", shown(html="<b>x</b>", latex="$x$", plain="t"))).cells[1].outputs[0]
    assert "text/latex" in alone.data


def test_the_path_of_the_run_is_not_told(tmp_path):
    place = str(tmp_path / "sub")
    outputs = [
        v4.new_output("stream", name="stdout", text=f"reading {place}/runs.csv\n"),
        v4.new_output("stream", name="stderr", text=f"{place}: odd\n"),
        shown(plain=f"PosixPath('{place}')", html=f"<p>{place}</p>"),
    ]
    notebook = clean(code("x", *outputs), folder=tmp_path)
    assert str(tmp_path) not in json.dumps(notebook)
    assert notebook.cells[1].outputs[0].text == "reading ./sub/runs.csv\n"


def test_an_error_output_is_refused():
    failed = v4.new_output("error", ename="ValueError", evalue="x", traceback=[])
    with pytest.raises(RenderError, match="the notebook holds an error: ValueError"):
        clean(code("x", failed))


def test_the_executed_notebook_is_not_touched():
    given = executed(code(INJECTED, tags=["injected-parameters"]), code("x", shown(plain="1")))
    before = json.dumps(given)
    normalise(given, RESULT, title=TITLE, folder=HERE)
    assert json.dumps(given) == before


def test_two_passes_over_equal_runs_are_equal():
    first, second = executed(code(TABLE, id="cards")), executed(code(TABLE, id="cards"))
    second.cells[0].metadata["papermill"]["duration"] = 9.9
    place = HERE
    one, two = (normalise(given, RESULT, title=TITLE, folder=place) for given in (first, second))
    assert one == two


def test_drawings_are_found_by_the_name_of_their_figure():
    notebook = clean(code(FIGURE, shown(svg="<svg/>", plain="x")), code(TABLE, shown(plain="t")))
    assert drawings(notebook) == {"bounds": "<svg/>"}


def test_a_label_is_read_from_code_only():
    assert label_of(code("#| label: fig-a\nx")) == "fig-a"
    assert label_of(code("x\ny = '#| label: fig-a'")) is None
    assert label_of(v4.new_markdown_cell("#| label: fig-a")) is None
