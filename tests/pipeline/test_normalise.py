"""An executed notebook made clean: what is kept, what goes, what is refused."""

import ast
import base64
import json
from pathlib import Path

import nbformat
import pytest
from nbformat import v4
from ruamel.yaml import YAML

from analysis.errors import RenderError
from analysis.pipeline.html import render_html
from analysis.pipeline.normalise import drawings, label_of, normalise
from analysis.present.prose import Sentence
from tests.pipeline.notebooks import PNG

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
    names |= {"png": "image/png", "markdown": "text/markdown", "script": "application/javascript"}
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


def test_on_disk_every_text_is_a_list_of_its_lines(tmp_path):
    cell = code(TABLE, shown(html="<table>\n</table>", plain="t"), id="cards")
    nbformat.write(clean(cell, v4.new_markdown_cell("a\n\nb")), tmp_path / "report.ipynb")
    front, table, text = json.loads((tmp_path / "report.ipynb").read_text(encoding="utf-8"))["cells"]
    assert front["source"][0] == "---\n"
    assert front["source"][-1] == "---"
    assert table["source"][0] == "#| label: tbl-cards\n"
    assert table["outputs"][0]["data"]["text/html"] == ["<table>\n", "</table>"]
    assert text["source"] == ["a\n", "\n", "b"]


def test_front_matter_has_no_date_that_nobody_knows():
    assert "date" not in YAML(typ="safe").load(clean().cells[0].source.strip("-"))


def test_the_injected_cell_has_the_same_id_each_time():
    cells = [code(INJECTED, tags=["injected-parameters"], id=drawn) for drawn in ("4f2a91bc", "0d7e88aa")]
    one, two = (clean(cell) for cell in cells)
    assert one == two
    assert one.cells[1].id == "injected-parameters"


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


@pytest.mark.parametrize("text", ["@2024", "@_x", "@{any key}", "[@a; @b]", "-@a", "@ä", "@a.b", "@tbl-cards2"])
def test_every_form_of_a_citation_becomes_text(text):
    source = clean(v4.new_markdown_cell(f"See {text}."), code(TABLE)).cells[1].source
    assert source == f"See {text.replace('@', chr(92) + '@')}."


@pytest.mark.parametrize(
    "text", ["@tbl-cards: so", "@tbl-cards.", "@tbl-cards's", "[-@tbl-cards]", "@tbl-cards- or", "@", "a @ b"]
)
def test_a_reference_stays_whatever_follows_it(text):
    assert clean(v4.new_markdown_cell(text), code(TABLE)).cells[1].source == text


@pytest.mark.parametrize("text", ["``a ` @b``", "~~~\n@a\n\n@b\n~~~", "```r\n@a\n\n`x\n```", "`a\n@b`"])
def test_every_form_of_code_is_left_alone(text):
    assert clean(v4.new_markdown_cell(f"{text}\n\n@z")).cells[1].source == f"{text}\n\n\\@z"


def test_one_backtick_hides_nothing():
    assert clean(v4.new_markdown_cell("a ` b\n\n@c ` d")).cells[1].source == "a ` b\n\n\\@c ` d"


def test_markdown_that_a_cell_shows_refers_to_nothing_either():
    data = clean(code("x", shown(markdown="of @nobody, see @tbl-cards")), code(TABLE)).cells[1].outputs[0].data
    assert data["text/markdown"] == "of \\@nobody, see @tbl-cards"


def test_a_sentence_has_no_active_character_and_is_left_as_it_is():
    shows = Sentence("@nobody {{< env HOME >}} *x* <script>")._repr_mimebundle_()
    output = v4.new_output("display_data", data=shows)
    assert clean(code("x", output)).cells[1].outputs[0].data == shows
    assert shows["text/markdown"] == "\\@nobody \\{\\{&lt; env HOME &gt;\\}\\} \\*x\\* &lt;script&gt;"


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


def test_a_table_keeps_its_html_alone():
    data = (
        clean(code("x", shown(html="<TABLE><tr><td>1</td></tr></TABLE>", latex="t", plain="t")))
        .cells[1]
        .outputs[0]
        .data
    )
    assert sorted(data) == ["text/html", "text/plain"]


HTML_OBJECT = "<IPython.core.display.HTML object>"


def output_of(**data):
    cells = clean(code("x", shown(**data), id="here")).cells
    return cells[1].outputs[0].data if cells[1].outputs else None


def test_other_html_gets_a_markdown_twin_in_which_nothing_is_active():
    html = (
        "<p>It is <b>bold</b>, 3*4*5 of @nobody, $5 or $6</p><ul><li>{{&lt; env HOME &gt;}}</li></ul><p>&lt;i&gt;</p>"
    )
    data = output_of(html=html, plain=HTML_OBJECT)
    assert data["text/html"] == html
    assert data["text/markdown"] == (
        "It is **bold**, 3\\*4\\*5 of \\@nobody, \\$5 or \\$6\n\n- {{\\< env HOME \\>}}\n\n\\<i\\>"
    )
    assert "text/plain" not in data


def test_the_twin_of_foreign_html_holds_no_script_and_no_picture():
    data = output_of(html="<script>alert(1)</script><img src=https://x.example/a.png onerror=x><p>a</p>", plain="t")
    assert data["text/markdown"] == "a"


def test_a_twin_that_is_there_stays():
    assert output_of(html="<b>x</b>", markdown="**y**", plain=HTML_OBJECT)["text/markdown"] == "**y**"


def test_a_drawing_needs_no_twin():
    data = output_of(html="<div id=v></div><script>vega()</script>", svg="<svg/>", plain="alt.Chart(...)")
    assert sorted(data) == ["image/svg+xml", "text/html", "text/plain"]


@pytest.mark.parametrize(
    "html", ["<style>p { color: red }</style>", "<!-- a --><script>init()</script>\n<STYLE></STYLE>"]
)
def test_html_that_shows_nothing_is_dropped(html):
    assert output_of(html=html, plain=HTML_OBJECT) is None


@pytest.mark.parametrize("html", ["<img src='data:image/png;base64,AA'>", "<div id=v></div><script>draw()</script>"])
def test_a_picture_that_is_html_only_is_refused(html):
    with pytest.raises(RenderError, match="cell here: an output is HTML without a text, which a PDF cannot show"):
        output_of(html=html, plain=HTML_OBJECT)


@pytest.mark.parametrize("plain", ["alt.Chart(...)", "alt.LayerChart(...)", " alt.VConcatChart(...)"])
@pytest.mark.parametrize("html", [{}, {"html": "<div></div><script src='https://cdn.example/vega'></script>"}])
def test_a_chart_without_a_drawing_is_refused(plain, html):
    with pytest.raises(RenderError, match=r"cell here: a chart has no drawing\. Call analysis\.present\.chart\.use"):
        output_of(plain=plain, **html)


def test_scripts_are_dropped():
    assert output_of(script="alert(1)", plain="<IPython.core.display.Javascript object>") is None


@pytest.mark.parametrize("data", [{"png": PNG}, {"markdown": "x"}, {"svg": "<svg/>"}, {"html": "<p>x</p>"}])
def test_no_output_is_called_after_its_class(data):
    kept = output_of(plain="<IPython.core.display.Something object>", **data)
    assert kept
    assert "IPython" not in json.dumps(kept)


def png(width, height):
    return base64.b64encode(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + width.to_bytes(4) + height.to_bytes(4)).decode()


@pytest.mark.parametrize(
    ("own", "size"),
    [((1, 1), (1, 1)), ((400, 300), (400, 300)), ((1152, 100), (576, 50)), ((100, 1536), (50, 768)), ((0, 0), (0, 0))],
)
def test_a_bitmap_says_its_size_and_none_is_larger_than_a_page(own, size):
    output = clean(code("x", shown(png=png(*own)))).cells[1].outputs[0]
    assert output.metadata == {"image/png": {"width": size[0], "height": size[1]}}


def test_the_size_that_a_notebook_gives_a_bitmap_stays():
    given = shown(png=PNG)
    given.metadata = {"image/png": {"width": 320, "height": 200}, "needs_background": "light"}
    assert clean(code("x", given)).cells[1].outputs[0].metadata == {"image/png": {"width": 320, "height": 200}}


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


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/srv/me/project/reports/churn/a", "."),
        ("/srv/me/project/reports/churn/a/log.txt", "./log.txt"),
        ("/srv/me/project/reports/churn/ab", "../ab"),
        ("/srv/me/project/runs.csv:3", "../../../runs.csv:3"),
        ("file:///srv/me/project.", "file://../../..."),
        ("/srv/me/.venv/lib/x.py", "../../../../.venv/lib/x.py"),
        ("/srv/men", "/srv/men"),
        ("/srv", "/srv"),
        ("/srv/srv/me/project", "/srv/srv/me/project"),
        ("/tmp/ipykernel_123/456.py:1: UserWarning: odd", "cell:1: UserWarning: odd"),
        ("C:\\Users\\me\\AppData\\Local\\Temp\\ipykernel_1\\2.py:7", "cell:7"),
    ],
)
def test_paths_of_this_machine_become_relative(path, told):
    place = Path("/srv/me/project/reports/churn/a")
    printed = v4.new_output("stream", name="stderr", text=f"see {path}\n")
    outputs = clean(code("x", printed, shown(plain=f"'{path}'")), folder=place).cells[1].outputs
    assert outputs[0].text == f"see {told}\n"
    assert outputs[1].data["text/plain"] == f"'{told}'"


def test_a_bitmap_is_not_searched_for_paths():
    text = f"{png(1, 1)}+/srv/me"
    data = clean(code("x", shown(png=text)), folder=Path("/srv/me/a")).cells[1].outputs[0].data
    assert data["image/png"] == text


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
    for given, process in ((first, 17), (second, 18)):
        warning = f"/tmp/ipykernel_{process}/{process}99.py:1: UserWarning: odd\n"
        given.cells.append(code("x", v4.new_output("stream", name="stderr", text=warning), id="warned"))
    one, two = (normalise(given, RESULT, title=TITLE, folder=HERE) for given in (first, second))
    assert one == two


def test_the_page_of_foreign_html_keeps_its_form():
    page = render_html(clean(code("x", shown(html="<p>It is <b>bold</b> @x</p>", plain=HTML_OBJECT))))
    assert "<p>It is <strong>bold</strong> @x</p>" in page
    assert "IPython.core" not in page


def test_drawings_are_found_by_the_name_of_their_figure():
    notebook = clean(code(FIGURE, shown(svg="<svg/>", plain="x")), code(TABLE, shown(plain="t")))
    assert drawings(notebook) == {"bounds": "<svg/>"}


def test_a_label_is_read_from_code_only():
    assert label_of(code("#| label: fig-a\nx")) == "fig-a"
    assert label_of(code('#| label: "fig-a"\nx')) == label_of(code("#| label: 'fig-a'\nx")) == "fig-a"
    assert label_of(code("x\ny = '#| label: fig-a'")) is None
    assert label_of(v4.new_markdown_cell("#| label: fig-a")) is None
