"""A whole report, made once for all of these tests: what lies in its folder, and what hostile names do to it."""

import csv
import io
import json
import os
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import nbclient
import nbformat
import pytest
from pypdf import PdfReader

from analysis.cli.options import ask
from analysis.errors import ExecutionError, MissingProgram
from analysis.pipeline import execute, folders, quarto, report
from analysis.results import dumps

MODELS = ["<script>alert(1)</script>", "../..", "=cmd()", "🙂", "a" * 300, "NA", "007"]
LABEL = "=cmd() <script>alert(1)</script> ../.."
OPTIONS = ("splits=5",)
HOSTILE_LABELS = [
    *(
        "../..",
        "..",
        ".",
        "/etc/passwd",
        "a/b",
        "a\\b",
        "<script>",
        "=cmd()",
        "🙂",
        "🙃",
        "a" * 300,
        "a" * 301,
        "NA",
        "na",
    ),
    *(
        "007",
        "7",
        "CON",
        "con",
        "nul.txt",
        "LPT1",
        "",
        " ",
        "\x00",
        "a\x00b",
        ".hidden",
        "hidden",
        "-rf",
        "a b",
        "a\nb",
    ),
    *("nightly.failed", "x.old", "τ", "é", "e\u0301", "\u202egnp", "C:\\x", "~", "a:b", "%2e%2e", "a.", "a", "A"),
]


def runs_csv(folder):
    path = folder / "runs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file)
        out.writerow(["model", "budget", "seed", "score"])
        for number, model in enumerate(MODELS):
            out.writerows([model, "100", seed, 0.4 if seed < number % 3 else 0.9 - 0.001 * seed] for seed in range(25))
    return path


def asked(runs, label=LABEL):
    return ask("recipe-card", [str(runs)], [], OPTIONS, [], None, label)


def make(runs, out, label=LABEL, formats=("html",), timeout=120, **changes):
    given = asked(runs, label)
    options = report.Options(formats=formats, renderer="builtin", timeout=timeout)
    return report.make(given.request, replace(given.result, **changes), out, options)


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="session")
def runs(place):
    return runs_csv(place)


@pytest.fixture(scope="session")
def made(place, runs):
    return make(runs, place / "reports", formats=("html", "pdf"))


@pytest.fixture(scope="session")
def files(made):
    return files_of(made.folder)


class Page(HTMLParser):
    """Tags, and the text of everything that is shown."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.text, self._skip = [], "", 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._skip += tag in {"script", "style"}

    def handle_endtag(self, tag):
        self._skip -= tag in {"script", "style"}

    def handle_data(self, data):
        if not self._skip:
            self.text += data


@pytest.fixture(scope="session")
def page(files):
    return Page(files["index.html"].decode())


# ---- the folder


def test_the_folder_holds_what_is_promised_and_nothing_else(made, files):
    result = made.result
    expected = {"report.ipynb", "index.html", "report.pdf", "result.json", "run.json", "log.txt"}
    expected |= {f"tables/{name}.{suffix}" for name in result["tables"] for suffix in ("csv", "json", "tex")}
    expected |= {f"figures/{name}.{suffix}" for name in result["figures"] for suffix in ("svg", "vl.json")}
    cards = {name for name in files if name.startswith("cards/")}
    assert set(files) - cards == expected
    assert len(cards) == 2 * len(MODELS)


def test_nothing_lies_beside_the_folder(made):
    assert [path.name for path in made.folder.parent.iterdir()] == [made.folder.name]


def test_the_notebook_and_the_gate_give_the_same_result_to_the_byte(runs, files):
    assert files["result.json"] == dumps(asked(runs).result.to_json()).encode()


def test_two_runs_give_the_same_bytes(place, runs, files):
    again = files_of(make(runs, place / "elsewhere", formats=("html", "pdf")).folder)
    assert {name for name in files | again if files.get(name) != again.get(name)} <= {"run.json", "log.txt"}


@pytest.mark.parametrize("name", ["report.ipynb", "index.html", "result.json"])
def test_no_absolute_path_and_no_time_is_told(name, place, files):
    text = files[name].decode()
    assert str(place) not in text
    assert str(Path.home()) + "/" not in text
    assert not re.search(r"\b20\d\d-\d\d-\d\d[T ]\d\d:\d\d", text)


def test_no_file_but_the_log_and_the_run_knows_where_it_was_made(place, files):
    assert [name for name, held in files.items() if str(place).encode() in held and name != "log.txt"] == []


def test_every_json_is_strict(files):
    def refuse(constant):
        raise AssertionError(constant)

    names = [name for name in files if name.endswith((".json", ".ipynb"))]
    assert {"result.json", "run.json", "report.ipynb", "tables/cards.json", "figures/bounds.vl.json"} < set(names)
    for name in names:
        json.loads(files[name], parse_constant=refuse)


def test_every_file_of_text_ends_its_lines_alike(files):
    assert [name for name, held in files.items() if name != "report.pdf" and b"\r" in held] == []


def test_run_json_tells_what_may_differ(files):
    run = json.loads(files["run.json"])
    assert run["schema"] == "gatebook/run/1"
    assert run["renderer"] == "builtin"
    assert run["environment"]["papermill"]
    assert all(cell["seconds"] is not None for cell in run["cells"])
    assert [cell["cell"] for cell in run["cells"]][:3] == ["parameters", "injected-parameters", "setup"]


# ---- hostile names


def test_hostile_names_are_text_on_the_page(page):
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert len(scripts) == 1
    assert "src" not in scripts[0]
    for model in MODELS:
        assert model in page.text.replace("\u200b", "").replace("\u00ad", "")
    assert LABEL in page.text


def test_the_page_asks_for_nothing(page):
    fetched = [value for _, held in page.tags for key, value in held.items() if key in {"src", "srcset", "data"}]
    fetched += [held["href"] for tag, held in page.tags if tag == "link"]
    assert fetched
    assert all(value.startswith(("#", "data:")) for value in fetched)


def test_every_link_of_the_page_leads_inside_it_or_to_a_file_beside_it(page, files):
    links = [held["href"] for tag, held in page.tags if tag == "a" and "href" in held]
    beside = {link for link in links if not link.startswith("#")}
    assert {"tables/cards.csv", "tables/cards.json", "tables/cards.tex", "figures/bounds.svg"} < beside
    assert beside <= set(files)


def test_hostile_names_are_text_in_the_pdf(files):
    text = "".join(page.extract_text() for page in PdfReader(io.BytesIO(files["report.pdf"])).pages)
    packed = re.sub(r"[\s\u200b\u00ad-]", "", text)
    for model in ["<script>alert(1)</script>", "../..", "=cmd()", "NA", "007", "a" * 100]:
        assert model.replace("-", "") in packed
    assert "alt.Chart(" not in text
    assert "IPython.core" not in text


def test_no_table_cell_is_a_formula(files):
    for name in [name for name in files if name.startswith("tables/") and name.endswith(".csv")]:
        rows = list(csv.reader(io.StringIO(files[name].decode())))
        assert rows
        assert len({len(row) for row in rows}) == 1
        unsafe = [
            cell for row in rows for cell in row if cell.startswith(("=", "@", "\t")) or re.match(r"[+-][^\d.]", cell)
        ]
        assert unsafe == []


def test_tables_keep_the_names_as_they_are(files):
    with io.StringIO(files["tables/cards.csv"].decode()) as text:
        cells = {cell.removeprefix("'") for row in csv.reader(text) for cell in row}
    assert set(MODELS) <= cells


def test_every_card_has_a_folder_of_its_own_inside(files):
    folders = {name.split("/")[1] for name in files if name.startswith("cards/")}
    assert len(folders) == len(MODELS)
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,79}", folder) for folder in folders)


def test_hostile_names_do_not_draw(files):
    for name in [name for name in files if name.endswith(".svg")]:
        assert b"<script" not in files[name]


@pytest.mark.parametrize("label", HOSTILE_LABELS, ids=lambda label: ascii(label)[:20])
def test_a_label_never_leaves_the_folder(label):
    name = folders.folder_name(label)
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,119}", name)
    assert not name.endswith((".", ".failed"))
    assert name.split(".")[0] not in {"con", "nul", "lpt1", "prn", "aux"}


def test_different_labels_have_different_folders():
    names = [folders.folder_name(label) for label in HOSTILE_LABELS]
    assert len(set(names)) == len(HOSTILE_LABELS)


def test_an_honest_label_keeps_its_name():
    assert folders.folder_name("nightly-2026.11") == "nightly-2026.11"


# ---- again, by hand


def test_the_report_runs_again_from_its_folder_and_writes_nothing(made, files):
    notebook = nbformat.read(made.folder / "report.ipynb", as_version=4)
    headline = next(cell for cell in notebook.cells if cell.id == "headline").outputs[0].data["text/plain"]
    client = nbclient.NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(made.folder)}}
    )
    client.execute()
    again = {cell.id: cell for cell in notebook.cells}
    assert again["headline"].outputs[0].data["text/plain"] == headline
    assert "Nothing was written" in again["save"].outputs[0].data["text/plain"]
    assert files_of(made.folder) == files


# ---- failures


@pytest.fixture
def earlier(tmp_path):
    folder = tmp_path / "recipe-card" / "nightly"
    folder.mkdir(parents=True)
    (folder / "result.json").write_text("earlier", encoding="utf-8")
    return folder


def test_a_failing_run_keeps_the_earlier_report_and_what_it_had(runs, tmp_path, earlier):
    with pytest.raises(ExecutionError, match=r"recipe-card/nightly, .*time limit of 0\.2 s"):
        make(runs, tmp_path, label="nightly", timeout=0.2)
    assert files_of(earlier) == {"result.json": b"earlier"}
    failed = earlier.with_name("nightly.failed")
    assert sorted(path.name for path in earlier.parent.iterdir()) == ["nightly", "nightly.failed"]
    assert "time limit" in (failed / "error.txt").read_text(encoding="utf-8")
    assert (failed / "log.txt").exists()


def test_a_second_failure_replaces_the_first(runs, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise ExecutionError("second")

    failed = tmp_path / "recipe-card" / "nightly.failed"
    failed.mkdir(parents=True)
    (failed / "stale").touch()
    monkeypatch.setattr(execute, "execute", fail)
    with pytest.raises(ExecutionError, match="second"):
        make(runs, tmp_path, label="nightly")
    assert sorted(files_of(failed)) == ["error.txt", "index.html"]
    assert files_of(failed)["error.txt"] == b"second\n"


@pytest.mark.parametrize(
    ("error", "said"), [(KeyboardInterrupt(), "stopped"), (SystemExit(143), "stopped"), (OSError("no room"), "no room")]
)
def test_whatever_stops_a_run_is_noted(runs, tmp_path, monkeypatch, error, said):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(execute, "execute", fail)
    with pytest.raises(type(error)):
        make(runs, tmp_path, label="nightly")
    assert said in (tmp_path / "recipe-card" / "nightly.failed" / "error.txt").read_text(encoding="utf-8")


def test_a_label_that_looks_like_a_failure_of_another_is_safe(runs, tmp_path, earlier, monkeypatch):
    def fail(*_, **__):
        raise ExecutionError("no")

    other = earlier.with_name(folders.folder_name("nightly.failed"))
    other.mkdir()
    monkeypatch.setattr(execute, "execute", fail)
    with pytest.raises(ExecutionError):
        make(runs, tmp_path, label="nightly")
    assert files_of(earlier.with_name("nightly.failed"))["error.txt"] == b"no\n"
    assert other.exists()


def test_a_notebook_that_disagrees_with_the_library_is_refused(runs, tmp_path):
    with pytest.raises(ExecutionError, match="the notebook and the library disagree on headline"):
        make(runs, tmp_path, label="nightly", headline="something else")


def test_a_notebook_without_a_result_is_refused(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(execute, "execute", lambda filled, **_: filled)
    with pytest.raises(ExecutionError, match=r"recipe-card/nightly: the notebook wrote no result\.json"):
        make(runs, tmp_path, label="nightly")


def test_a_later_success_replaces_the_report_and_clears_the_failure(runs, tmp_path, earlier, made, monkeypatch):
    earlier.with_name("nightly.failed").mkdir()

    def finished(filled, *, folder, **_):
        shutil.copyfile(made.folder / "log.txt", folder / "log.txt")
        for name, text in asked(runs, "nightly").result.files().items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        return nbformat.v4.new_notebook()

    monkeypatch.setattr(execute, "execute", finished)
    done = make(runs, tmp_path, label="nightly")
    assert json.loads((earlier / "result.json").read_bytes())["label"] == "nightly"
    assert [path.name for path in done.folder.parent.iterdir()] == ["nightly"]
    assert (done.folder.stat().st_mode & 0o755) == 0o755


def test_a_missing_renderer_is_said_before_anything_runs(runs, tmp_path, monkeypatch):
    monkeypatch.setattr(quarto, "version", lambda: None)
    given = asked(runs)
    request = given.request
    with pytest.raises(MissingProgram, match="quarto is not installed"):
        report.make(request, given.result, tmp_path / "out", report.Options(formats=("html",), renderer="quarto"))
    assert not (tmp_path / "out").exists()


def test_what_a_killed_run_left_is_swept(tmp_path):
    # 4194304 is above the largest process number of Linux
    host, kept = folders._HOST, f".nightly-{folders._HOST}-{os.getpid()}-ab1c"
    elsewhere = ".nightly-a1b2c3-4194305-ab1c"  # of another machine on the same disk
    for name in (f".nightly-{host}-4194305-ab1c", kept, elsewhere, f"nightly-{host}-4194305-ab1c"):
        (tmp_path / name).mkdir()
    folders._sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {kept, elsewhere, f"nightly-{host}-4194305-ab1c"}
