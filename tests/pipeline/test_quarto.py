"""The Quarto renderer: against a stand-in of the program, and against the program where it is installed."""

import base64
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatch
from html import unescape
from pathlib import Path
from urllib.parse import quote

import nbformat
import pytest
from nbformat import v4
from pypdf import PdfReader
from ruamel.yaml import YAML

from analysis.catalogue import STUDIES
from analysis.cli import main
from analysis.cli.options import ask
from analysis.errors import MissingProgram, RenderError
from analysis.pipeline import execute, quarto
from analysis.pipeline import report as reports
from analysis.pipeline.normalise import normalise
from analysis.present.prose import markdown
from analysis.study import share_folder
from tests.pipeline.notebooks import HOSTILE, code, display, prose, report, table_cell
from tests.pipeline.notebooks import notebook as made_of

STAND_IN = """#!{python}
import json, pathlib, shutil, sys
here = pathlib.Path(__file__).parent
if sys.argv[1:] == ["--version"]:
    print("{version}")
    sys.exit({version_code})
folder = pathlib.Path()
seen = {{"argv": sys.argv[1:], "files": sorted(p.name for p in folder.iterdir()), "folder": str(folder.resolve())}}
(here / "seen.json").write_text(json.dumps(seen))
shutil.copy("_quarto.yml", here)
shutil.copy("report.ipynb", here)
with (here / "folders.txt").open("a") as known:
    print(folder.resolve(), file=known)
if {code}:
    print("much talk " * 200, "\\x1b[31mERROR: unknown label @tbl-x", file=sys.stderr)
    sys.exit({code})
kind = {{"html": "html", "typst": "pdf"}}[sys.argv[sys.argv.index("--to") + 1]]
site = pathlib.Path("_site")
site.mkdir()
if {makes}:
    page = here / "page.html"
    (site / ("report." + kind)).write_bytes(page.read_bytes() if page.exists() else b"made " + kind.encode())
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


def test_another_renderer_is_offered_only_where_one_is_chosen(no_programs):
    offer = ", or use --renderer builtin."
    with pytest.raises(MissingProgram) as chosen:
        quarto.chosen("quarto")
    with pytest.raises(MissingProgram) as needed:  # as `publish quarto` does, which has no --renderer
        quarto.require()
    assert str(chosen.value).endswith(offer)
    assert "renderer" not in str(needed.value)
    assert str(needed.value).endswith("quarto.org).")


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


def test_every_render_has_a_folder_of_its_own_that_is_gone_after(stand_in, notebook):
    folder = stand_in()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: quarto.render(notebook, "html"), range(4))) == [b"made html"] * 4
    used = (folder / "folders.txt").read_text(encoding="utf-8").split()
    assert len(set(used)) == 4
    assert not [path for path in used if Path(path).exists()]


def test_a_failed_render_leaves_no_folder(stand_in, notebook):
    folder = stand_in(code=1)
    with pytest.raises(RenderError):
        quarto.render(notebook, "pdf")
    assert not Path((folder / "folders.txt").read_text(encoding="utf-8").strip()).exists()


def test_what_quarto_gets_is_the_same_each_time(stand_in, notebook):
    folder = stand_in()
    seen = []
    for _ in range(2):
        quarto.render(notebook, "pdf")
        seen.append((folder / "report.ipynb").read_bytes())
    assert seen[0] == seen[1]


@pytest.mark.parametrize(
    "text",
    ["@nobody", "<script>alert(1)</script>", "{{< env HOME >}}", "*b* `c` $x$ [l](x)", "a: b # c", "\"q\" \\ 's'"],
)
def test_titles_are_text_to_quarto_too(stand_in, tmp_path, text):
    folder = stand_in()
    path = tmp_path / "report.ipynb"
    nbformat.write(made_of(prose("## A"), title=text, subtitle=text, description=text, label=text), path)
    quarto.render(path, "html")
    first = nbformat.read(folder / "report.ipynb", as_version=4).cells[0].source
    fields = YAML(typ="safe").load(first.strip("-"))
    assert [fields[key] for key in ("title", "subtitle", "description")] == [markdown(text)] * 3
    assert not re.search(r"(?<!\\)[@*`$<{]", fields["title"])
    assert fields["label"] == text
    assert fields["categories"] == ["recipe-card"]


def test_everything_but_the_titles_reaches_quarto_unchanged(stand_in, notebook):
    folder = stand_in()
    quarto.render(notebook, "html")
    got, given = (nbformat.read(path, as_version=4) for path in (folder / "report.ipynb", notebook))
    assert got.cells[1:] == given.cells[1:]
    assert got.metadata == given.metadata


CELLS = {
    "not executed": [code(executed=False)],
    "failed with ValueError": [code(v4.new_output("error", ename="ValueError", evalue="x", traceback=[]))],
    "tbl-a has no caption": [table_cell("tbl-a", "", ["m"], [["x"]])],
    "'tbl-a' is used twice": [table_cell("tbl-a", "A", ["m"], [["x"]]) for _ in range(2)],
    "fig-a has no alternative text": [code(display(svg="<svg/>"), label="fig-a", fig_cap="A")],
}


@pytest.mark.parametrize("said", CELLS)
def test_what_the_built_in_renderer_refuses_is_refused_before_quarto_starts(stand_in, tmp_path, said):
    folder = stand_in()
    nbformat.write(made_of(*CELLS[said]), tmp_path / "report.ipynb")
    with pytest.raises(RenderError, match=said):
        quarto.render(tmp_path / "report.ipynb", "html")
    assert not (folder / "seen.json").exists()


@pytest.mark.parametrize(
    ("found", "lacking"),
    [((1, 7, 34), ["1.9", "1.10"]), ((1, 8), ["1.9", "1.10"]), ((1, 9, 2), ["1.10"]), ((1, 10, 18), []), ((2, 0), [])],
)
def test_an_older_version_says_what_it_lacks(found, lacking):
    assert [re.search(r"needs ([\d.]+)", words)[1] for words in quarto.lacks(found)] == lacking


@pytest.mark.parametrize(("version", "lacks"), [("1.7.34", True), ("1.10.18", False)])
def test_a_failure_of_an_older_version_says_what_it_lacks(stand_in, notebook, version, lacks):
    stand_in(version, code=1)
    with pytest.raises(RenderError) as caught:
        quarto.render(notebook, "pdf")
    assert ("callouts in a PDF without a network (needs 1.9)" in caught.value.message()) is lacks


# ---- pages that load nothing

REQUIRE = (
    '<script src="https://cdnjs.cloudflare.com/require.min.js" integrity="sha512-x" crossorigin="anonymous"></script>'
)
JQUERY = '<script src="https://cdnjs.cloudflare.com/jquery.min.js" data-relocate-top="true"></script>'
DEFINE = (
    '<script type="application/javascript" data-relocate-top="true">define(\'jquery\', [],function() '
    "{return window.jQuery;})</script>"
)
STRIPPED = [
    REQUIRE + "\n" + JQUERY,
    DEFINE,
    '<script src="https://polyfill.io/v3/polyfill.min.js?features=es6"></script>',
    '<script\n  type="text/javascript"\n  src="https://cdn.jsdelivr.net/npm/mathjax@3/es5/tex-chtml-full.js"\n></script>',
    "<SCRIPT SRC='HTTP://CDN.EXAMPLE/x.js'></SCRIPT >",
    "<script src=//cdn.example/x.js></script>",
    '<script async src=" https://cdn.example/x.js"> </script>',
    '<script src="ht\ntps:\\\\cdn.example/x.js"></script>',
    '<script src="https&#58;//cdn.example/x.js"></script>',
    '<link href="https://fonts.example/css2?family=Lato" rel="stylesheet">',
    "<LINK REL='StyleSheet' HREF='//fonts.example/x.css' />",
    '<link rel="preconnect" href="https://fonts.example" crossorigin>',
    '<link rel="icon" href="https://x.example/favicon.ico">',
]
KEPT = [
    '<a href="https://quarto.org">Quarto</a> <svg><a xlink:href="https://x.example"><text>x</text></a></svg>',
    '<link rel="canonical" href="https://x.example/report.html"><meta property="og:url" content="https://x.example">',
    '<script>const about = "<link rel=stylesheet href=https://x.example/x.css>"; // https://x.example</script>',
    '<script src="data:text/javascript,1"></script><link rel="stylesheet" href="data:text/css,a%7B%7D">',
    "<style>/* url(https://x.example) */ a { background: url(\"data:image/svg+xml,%3csvg xmlns='http://www.w3.org/2000/svg'/%3e\") }</style>",
    '<img src="data:image/png;base64,//8=" srcset="data:image/png;base64,//8= 2x" alt="url(https://x.example)">',
    '<svg xmlns="http://www.w3.org/2000/svg"><use href="#a"/><path fill="url(#b)"/></svg>',
    "<!-- <script src='https://x.example/x.js'></script> -->",
    "<pre>&lt;script src=&quot;https://x.example/x.js&quot;&gt;&lt;/script&gt;</pre>",
]
LOADED = {
    '<img src="https://x.example/a.png">': "https://x.example/a.png",
    "<IMG SRC=//x.example/b.png>": "//x.example/b.png",
    '<img srcset="data:image/png;base64,AA 1x, https://x.example/c.png 2x">': "https://x.example/c.png",
    '<source srcset="//x.example/d.webp">': "//x.example/d.webp",
    '<video poster="http://x.example/e.jpg"></video>': "http://x.example/e.jpg",
    '<iframe src="https://x.example/f"></iframe>': "https://x.example/f",
    '<iframe srcdoc="&lt;img src=https://x.example/g&gt;"></iframe>': "https://x.example/g",
    '<object data="https://x.example/h"></object>': "https://x.example/h",
    '<svg><image xlink:href="https://x.example/i"/></svg>': "https://x.example/i",
    '<svg><image href="https://x.example/j"/></svg>': "https://x.example/j",
    "<style>@import url('https://x.example/k.css');</style>": "https://x.example/k.css",
    '<style>@IMPORT "https://x.example/l.css";</style>': "https://x.example/l.css",
    "<style>a { src: URL( //x.example/m.woff2 ) }</style>": "//x.example/m.woff2",
    '<p style="background: url(&quot;https://x.example/n&quot;)">x</p>': "https://x.example/n",
    f'<link rel="stylesheet" href="data:text/css,{quote("@import url(https://x.example/o)")}">': "https://x.example/o",
    f'<link rel="stylesheet" href="data:text/css;base64,{base64.b64encode(b"a{b:url(//x.example/p)}").decode()}">': "//x.example/p",
    '<base href="https://x.example/q/">': "https://x.example/q/",
    '<meta http-equiv="Refresh" content="0; URL=https://x.example/r">': "https://x.example/r",
    '<script src="https://x.example/s.js">': "https://x.example/s.js",
    '<input type="image" src="file:///etc/t">': "file:///etc/t",
}


def page(body):
    return f"<!DOCTYPE html>\n<html><head>\n</head><body>\n<p>one</p>{body}<p>two é</p>\n</body></html>\n"


@pytest.fixture
def rendered(stand_in, notebook):
    folder = stand_in()

    def render(text):
        (folder / "page.html").write_bytes(text.encode())
        return quarto.render(notebook, "html").decode()

    return render


@pytest.mark.parametrize("tags", STRIPPED)
def test_tags_that_load_from_elsewhere_are_taken_out_of_the_page(rendered, tags):
    left = rendered(page(tags))
    assert left.replace("\n", "") == page("").replace("\n", "")


def test_all_such_tags_go_at_once_and_nothing_else(rendered):
    both = [piece for pair in zip(STRIPPED, KEPT, strict=False) for piece in pair]
    kept = KEPT[: len(both) // 2]
    assert rendered(page("".join(both))).replace("\n", "") == page("".join(kept)).replace("\n", "")


@pytest.mark.parametrize("tags", KEPT)
def test_what_loads_nothing_from_elsewhere_stays_to_the_byte(rendered, tags):
    assert rendered(page(tags)) == page(tags)


@pytest.mark.parametrize("tags", LOADED)
def test_a_page_that_would_still_load_something_is_an_error_that_names_it(rendered, tags):
    with pytest.raises(RenderError) as caught:
        rendered(page(REQUIRE + tags))
    assert caught.value.message() == (
        f"report.ipynb: quarto's page loads {LOADED[tags]}. Embed it in the notebook, or use --renderer builtin."
    )


def test_everything_that_would_be_loaded_is_named_once(rendered):
    with pytest.raises(RenderError) as caught:
        rendered(page("".join([*LOADED][:3]) * 2))
    assert [str(fault.what).split()[-1] for fault in caught.value.faults] == [*LOADED.values()][:3]


# ---- the settings


def test_the_settings_are_those_of_the_contract():
    read = settings()
    assert read["project"]["type"] == "website"
    assert read["project"]["output-dir"] == "_site"
    assert read["project"]["render"]
    assert read["execute"] == {"enabled": False, "echo": False, "warning": False}
    assert read["number-sections"] is True
    assert read["format"]["html"]["toc"] is True
    assert sorted(read["format"]["html"]["theme"]) == ["dark", "light"]
    assert {"text": "#show figure: set block(breakable: true)"} in read["format"]["typst"]["include-in-header"]


@pytest.mark.parametrize(
    "name",
    ["tables/cards.csv", "tables/cards.json", "tables/cards.tex", "figures/bounds.svg", "figures/bounds.vl.json"],
)
def test_the_files_beside_a_page_are_resources_of_the_website(name):
    resources = settings()["project"]["resources"]
    assert any(fnmatch(f"reports/recipe-card/nightly/{name}", pattern) for pattern in resources)


def test_what_is_rendered_is_listed_and_not_found():
    assert settings()["project"]["render"] == ["index.qmd", "reports/**/report.ipynb"]


def test_math_and_themes_of_the_website_need_no_network():
    html = settings()["format"]["html"]
    assert html["html-math-method"] == "mathml"
    # of the themes that Quarto ships, most ask fonts.googleapis.com for a font, cosmo and darkly among them
    assert html["theme"] == {"light": "default", "dark": "slate"}


def test_the_listing_shows_fields_that_every_report_has():
    listing = YAML(typ="safe").load((share_folder() / "index.qmd").read_text(encoding="utf-8").split("---")[1])[
        "listing"
    ]
    assert listing["contents"] in settings()["project"]["render"]
    gate = {"verdict": "pass"}
    result = {
        "study": "churn",
        "label": "a",
        "signature": "s",
        "gate": gate,
        "headline": "h",
        "tables": {},
        "figures": {},
    }
    first = normalise(v4.new_notebook(), result, title="T", folder=Path("/x")).cells[0].source
    assert {*listing["fields"], listing["sort"].split()[0]} <= set(YAML(typ="safe").load(first.strip("-")))


def test_captions_of_the_studies_read_the_same_as_markdown():
    for study in STUDIES:
        for cell in nbformat.read(study.notebook_path, as_version=4).cells:
            for caption in re.findall(r'^#\| (?:tbl|fig)-cap: "(.*)"$', cell.source, flags=re.MULTILINE):
                assert markdown(caption) == caption, (study.slug, cell.id)


def test_no_rendered_file_stands_beside_one_of_the_same_name():
    root = share_folder()
    for path in (root / "notebooks").glob("*.ipynb"):
        assert not [other for other in path.parent.glob(f"{path.stem}.*") if other != path]


# ---- the program itself


def present_or_skipped():
    if shutil.which("quarto") is None:
        if os.environ.get("GATEBOOK_REQUIRE_QUARTO") == "1":
            pytest.fail("quarto is required and not on the path")
        pytest.skip("quarto is not installed")


@pytest.mark.parametrize(
    ("required", "left"), [("1", pytest.fail.Exception), ("0", pytest.skip.Exception), ("", pytest.skip.Exception)]
)
def test_a_quarto_that_is_required_and_missing_is_a_failure(no_programs, monkeypatch, required, left):
    monkeypatch.setenv("GATEBOOK_REQUIRE_QUARTO", required)
    with pytest.raises(left):
        present_or_skipped()


@pytest.fixture(scope="session")
def real_quarto():
    present_or_skipped()


def words(text):
    """Text without what typesetting changes: blanks, hyphens, the shape of quotes, dashes and dots."""
    text = text.translate({ord(curly): plain for curly, plain in zip("“”‘’", "\"\"''", strict=True)})
    return re.sub(r"[\s\u00ad\u200b\u2010-\u2014-]", "", text.replace("…", "..."))


def captions(html):
    found = re.findall(r"<figcaption[^>]*>(.*?)</figcaption>", html, flags=re.DOTALL)
    return [words(unescape(re.sub(r"<[^>]+>", "", caption))) for caption in found]


def pdf_pages(pdf):
    return PdfReader(io.BytesIO(pdf)).pages


def pdf_words(pdf):
    return words("".join(page.extract_text() for page in pdf_pages(pdf)))


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
        assert quarto.offline(text, "report.ipynb") == text
    else:
        assert page.startswith(b"%PDF")


@needs_quarto
def test_two_pdfs_of_quarto_hold_the_same_pages(real_quarto, notebook):
    texts = [[page.extract_text() for page in pdf_pages(quarto.render(notebook, "pdf"))] for _ in range(2)]
    assert texts[0] == texts[1]
    assert "item-90" in "".join(texts[0])


@needs_quarto
def test_two_pages_of_quarto_are_equal(real_quarto, notebook):
    assert quarto.render(notebook, "html") == quarto.render(notebook, "html")


@needs_quarto
def test_every_row_of_a_long_table_is_in_quartos_pdf(real_quarto, notebook):
    text = pdf_words(quarto.render(notebook, "pdf"))
    assert [number for number in range(1, 91) if f"item{number:02d}" not in text] == []


@needs_quarto
def test_quarto_sets_sixteen_columns_inside_the_page(real_quarto, tmp_path):
    head = ["model", *(f"c{i}" for i in range(15))]
    cell = table_cell("tbl-w", "Wide", head, [["m", *["0.1234"] * 15]] * 5)
    nbformat.write(made_of(cell), tmp_path / "report.ipynb")
    places = []

    def note(text, cm, tm, font, size):
        places.append((round(tm[5] * cm[3] + cm[5]), tm[4] * cm[0] + cm[4], text.strip()))

    pages = pdf_pages(quarto.render(tmp_path / "report.ipynb", "pdf"))
    for page in pages:
        page.extract_text(visitor_text=note)
    shown = [(line, left) for line, left, text in places if text]
    assert max(left for _, left in shown) < float(pages[0].mediabox.width)
    assert words("".join(text for _, _, text in places)).count("0.1234") == 75


@needs_quarto
@pytest.mark.parametrize("to", ["html", "pdf"])
def test_hostile_titles_are_text_in_quartos_output(real_quarto, tmp_path, to):
    text = "@nobody <script>alert(1)</script> {{< env HOME >}} *b* `c` $x$"
    nbformat.write(made_of(prose("## A"), title=text, subtitle=text, description=text), tmp_path / "report.ipynb")
    made = quarto.render(tmp_path / "report.ipynb", to)
    if to == "html":
        assert b"<script>alert(1)" not in made
        title = re.search(r'<h1 class="title"[^>]*>(.*?)</h1>', made.decode(), flags=re.DOTALL)[1]
        assert words(unescape(re.sub(r"<[^>]+>", "", title))) == words(text)
    else:
        assert words(text) in pdf_words(made)


@needs_quarto
def test_hostile_cells_are_text_in_quartos_pdf(real_quarto, notebook):
    assert words(HOSTILE) in pdf_words(quarto.render(notebook, "pdf"))


@needs_quarto
def test_the_listing_of_a_quarto_website_shows_every_report(real_quarto, notebook, tmp_path):
    project = tmp_path / "project"
    project.mkdir()
    for name in ("_quarto.yml", "index.qmd"):
        shutil.copyfile(share_folder() / name, project / name)
    for label in ("one", "two"):
        folder = project / "reports" / "recipe-card" / label
        (folder / "tables").mkdir(parents=True)
        (folder / "tables" / "cards.tex").write_text("x", encoding="utf-8")
        nbformat.write(made_of(*report().cells[1:], title=f"Report {label}", verdict="refuse"), folder / "report.ipynb")
    done = subprocess.run(
        ["quarto", "render", "--to", "html"], cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    listing = (project / "_site" / "index.html").read_text(encoding="utf-8")
    for label in ("one", "two"):
        assert f"Report {label}" in listing
        assert f"reports/recipe-card/{label}/report.html" in listing
        made = project / "_site" / "reports" / "recipe-card" / label
        assert (made / "report.html").exists()
        assert (made / "tables" / "cards.tex").exists()
    assert "refuse" in listing


@pytest.fixture(scope="session", params=STUDIES, ids=lambda study: study.slug)
def example(real_quarto, request, tmp_path_factory):
    """The report that the built-in renderer makes of a study's example."""
    study = request.param
    data = [
        f"{name}={share_folder() / 'data' / 'examples' / path}"
        for name, paths in study.example.items()
        for path in paths
    ]
    asked = ask(study.slug, data, [], [], [], None, "example")
    options = reports.Options(formats=("html", "pdf"), renderer="builtin")
    return reports.make(asked.request, asked.result, tmp_path_factory.mktemp(study.slug), options).folder


@needs_quarto
def test_quartos_page_of_an_example_has_the_numbers_and_captions_of_the_built_in(example):
    page = quarto.render(example / "report.ipynb", "html").decode()
    expected = captions((example / "index.html").read_text(encoding="utf-8"))
    assert len(expected) > 5
    assert captions(page) == expected


@needs_quarto
def test_quartos_pdf_of_an_example_has_the_numbers_and_captions_of_the_built_in(example):
    text = pdf_words(quarto.render(example / "report.ipynb", "pdf"))
    expected = captions((example / "index.html").read_text(encoding="utf-8"))
    assert [caption for caption in expected if caption not in text] == []
    assert "alt.Chart(" not in text
    assert "IPython.core" not in text
    assert all(caption in pdf_words((example / "report.pdf").read_bytes()) for caption in expected)
