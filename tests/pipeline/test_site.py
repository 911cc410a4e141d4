"""The site: an index of the reports that are complete, and nothing that acts."""

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from urllib.parse import unquote

import pytest

from analysis.errors import ReportError, UsageError
from analysis.pipeline import guide, live, provenance
from analysis.pipeline.html import render_html
from analysis.pipeline.site import assemble, is_current
from tests.conftest import CHROMIUM
from tests.pipeline.notebooks import chart_cell, notebook

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "{{ 7*7 }}",
    "\x1b[31m\u202e🙂",
]


PAGE = render_html(notebook(chart_cell("fig-scores", "Scores", "Points.")))
CHART = {"description": "</script><script>alert(1)</script>", "data": {"values": [{"x": 1}]}, "mark": "point"}


def report(reports, name, verdict="pass", label=None, study="recipe-card", headline="3 of 59 cells."):
    folder = reports / study / name
    (folder / "tables").mkdir(parents=True)
    result = {
        "schema": "gatebook/result/1",
        "study": study,
        "label": name if label is None else label,
        "gate": {"verdict": verdict, "reason": "", "checks": [{"verdict": verdict}]},
        "headline": headline,
        "signature": "study=recipe-card",
        "rule": None,
        **{key: {} for key in ("parameters", "layouts", "tables", "figures")},
        **{key: [] for key in ("inputs", "units")},
    }
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    (folder / "index.html").write_text("<p>page</p>", encoding="utf-8")
    (folder / "tables" / "cards.csv").write_text("a\n", encoding="utf-8")
    (folder / "log.txt").write_text("/home/me\n", encoding="utf-8")
    (folder / "run.json").write_text("{}", encoding="utf-8")
    return folder


@pytest.fixture
def reports(tmp_path):
    return tmp_path / "reports"


@pytest.fixture
def site(tmp_path):
    return tmp_path / "_site"


def index(site):
    return (site / "index.html").read_text(encoding="utf-8")


def text(site):
    return " ".join(
        re.sub(
            r"<style>.*?</style>|<script>.*?</script>|<form.*?</form>|<[^>]+>", " ", index(site), flags=re.DOTALL
        ).split()
    )


def test_the_index_lists_reports_with_their_verdicts_in_words(reports, site):
    for name, verdict in [("a", "pass"), ("b", "refuse"), ("c", "undecided"), ("d", "pass")]:
        report(reports, name, verdict, headline=f"headline of {name}")
    entries = assemble([reports], site)
    assert [(entry.label, entry.verdict) for entry in entries] == [
        ("a", "pass"),
        ("b", "refuse"),
        ("c", "undecided"),
        ("d", "pass"),
    ]
    shown = text(site)
    assert "4 reports: 2 pass, 1 undecided, 1 refuse." in shown
    assert "✓ pass recipe-card · a headline of a" in shown
    assert "✕ refuse recipe-card · b headline of b" in shown
    assert "? undecided recipe-card · c headline of c" in shown


def test_every_link_leads_to_a_copy(reports, site):
    folder = report(reports, "a")
    (folder / "report.pdf").write_bytes(b"%PDF")
    assemble([reports], site)
    links = re.findall(r'<a href="([^"#]*)', index(site))
    of_reports = [f"reports/recipe-card/a/{name}" for name in ("index.html", "report.pdf", "result.json")]
    assert sorted(set(links)) == ["compare.html", "guide/index.html", *of_reports]
    assert all((site / link).is_file() for link in links)
    assert (site / "reports/recipe-card/a/tables/cards.csv").is_file()


def test_what_differs_between_runs_is_not_published(reports, site):
    report(reports, "a")
    assemble([reports], site)
    assert not list(site.rglob("log.txt")) + list(site.rglob("run.json"))


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_labels_are_text(reports, site, hostile):
    report(reports, "safe", label=hostile, headline=hostile)
    assemble([reports], site)
    assert set(re.findall(r"<([a-z]\w*)", index(site))) <= {
        *(
            "html",
            "head",
            "meta",
            "title",
            "style",
            "script",
            "link",
            "body",
            "main",
            "h1",
            "h2",
            "p",
            "ol",
            "li",
            "span",
        ),
        *("nav", "a", "form", "label", "input", "select", "option", "button"),
    }
    assert not re.search(r"<[^>]+ on\w+=", index(site))
    assert "\x1b" not in index(site)
    assert "\u202e" not in index(site)


def test_failed_and_incomplete_folders_are_not_published(reports, site):
    report(reports, "a")
    report(reports, "b.failed")
    report(reports, ".c-xyz")
    (report(reports, "d") / "index.html").unlink()
    (report(reports, "e") / "result.json").unlink()
    assert [entry.label for entry in assemble([reports], site)] == ["a"]
    assert [path.name for path in (site / "reports" / "recipe-card").iterdir()] == ["a"]


@pytest.mark.parametrize("there", [True, False])
def test_no_report_is_wrong_use(reports, site, there):
    if there:
        report(reports, "a.failed")
    with pytest.raises(UsageError, match="holds no report"):
        assemble([reports], site)
    assert not site.exists()


def test_the_index_asks_for_nothing(reports, site):
    report(reports, "a")
    assemble([reports], site)
    shown = re.sub(r"<script>.*?</script>", "", index(site), flags=re.DOTALL)
    assert not re.search(r"https?:|//|@import|url\(|<script|<img| src=", shown)
    assert re.findall(r"<link [^>]*>", shown) == ['<link rel="icon" href="data:,">']
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', index(site))[1])
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_a_rebuild_removes_what_vanished_and_leaves_nothing_beside(reports, site):
    report(reports, "a")
    gone = report(reports, "b")
    assemble([reports], site)
    assert (site / "reports/recipe-card/b/index.html").exists()
    gone.rename(gone.with_name("b.failed"))
    assemble([reports], site)
    assert [path.name for path in (site / "reports/recipe-card").iterdir()] == ["a"]
    assert sorted(path.name for path in site.parent.iterdir()) == ["_site", "reports"]


def test_two_sites_of_the_same_reports_are_equal(reports, site):
    report(reports, "b")
    report(reports, "a")
    assemble([reports], site)
    first = index(site)
    assemble([reports], site)
    assert index(site) == first


def test_a_folder_that_is_not_a_site_is_never_replaced(reports, tmp_path):
    report(reports, "a")
    mine = tmp_path / "docs"
    mine.mkdir()
    (mine / "thesis.tex").write_text("years of work", encoding="utf-8")
    with pytest.raises(UsageError, match=r"docs.*thesis\.tex"):
        assemble([reports], mine)
    assert (mine / "thesis.tex").exists()


@pytest.mark.parametrize("out", [".", "..", "reports", "reports/recipe-card", "reports/site"])
def test_the_site_never_takes_the_place_of_its_reports(reports, tmp_path, monkeypatch, out):
    folder = report(reports, "a")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        assemble([reports.relative_to(tmp_path)], Path(out))
    assert (folder / "index.html").exists()


def test_an_empty_folder_and_an_old_site_are_taken(reports, site):
    report(reports, "a")
    site.mkdir()
    assemble([reports], site)
    assemble([reports], site)
    assert (site / "index.html").exists()


def test_a_broken_result_is_named(reports, site):
    folder = report(reports, "a")
    (folder / "result.json").write_text('{"schema": "gatebook/result/1"', encoding="utf-8")
    with pytest.raises(UsageError, match=r"result\.json: is not valid JSON"):
        assemble([reports], site)


def test_what_failed_on_one_machine_and_was_made_on_another_was_made(tmp_path, site):
    made, lost = tmp_path / "one", tmp_path / "two"
    report(made, "a")
    (report(lost, "a.failed") / "error.txt").write_text("no", encoding="utf-8")
    (report(lost, "b.failed") / "error.txt").write_text("no", encoding="utf-8")
    assert [(entry.label, entry.verdict) for entry in assemble([lost, made], site)] == [("b", "failed"), ("a", "pass")]


def test_a_report_whose_last_run_failed_is_listed_as_both(reports, site):
    report(reports, "a")
    (report(reports, "a.failed") / "error.txt").write_text("no", encoding="utf-8")
    assert [entry.verdict for entry in assemble([reports], site)] == ["failed", "pass"]


# ---- the filter, in a browser


def parameters(folder, started, *rows):
    path = folder / "result.json"
    held = json.loads(path.read_text(encoding="utf-8"))
    held["tables"] = {"parameters": {"rows": [list(row) for row in rows]}}
    path.write_text(json.dumps(held), encoding="utf-8")
    record = {"schema": "gatebook/run/1", "components": {}, "files": {}, "environment": {}, "verdict": "pass"}
    (folder / "run.json").write_text(json.dumps({**record, "started": started}), encoding="utf-8")


@pytest.fixture
def filtered(reports, site):
    """Labels that the index shows for an address, as a browser that ran its script says."""
    parameters(report(reports, "a", "pass"), "2026-11-01T03:00:00+00:00", ("tau", "0.8", "0.7"), ("delta", "0.1", ""))
    parameters(
        report(reports, "b", "refuse", headline="<b>twelve</b> cells"),
        "2026-11-20T03:00:00+00:00",
        ("tau", "0.85", "0.7"),
    )
    parameters(report(reports, "c", "pass", study="churn", label=HOSTILE[1]), "2026-11-30T03:00:00+00:00")
    assemble([reports], site)

    def show(fragment):
        address = f"{(site / 'index.html').as_uri()}#{fragment}"
        command = [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--virtual-time-budget=2000",
            "--dump-dom",
            address,
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        shown = re.findall(r"<li ([^>]*)>.*?· ([^<]*)</a>", done.stdout, re.DOTALL)
        return [unescape(label) for attributes, label in shown if "hidden" not in attributes]

    return show


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here")
@pytest.mark.parametrize(
    ("fragment", "labels"),
    [
        ("", ["c", "a", "b"]),
        ("study=recipe-card", ["a", "b"]),
        ("verdict=refuse", ["b"]),
        ("since=2026-11-20", ["c", "b"]),
        ("words=twelve", ["b"]),
        ("words=tau%3D0.8", ["a"]),  # not 0.85
        ("words=delta%3D0.1", []),  # a default
        ("words=tau%3D0.85+twelve&verdict=refuse&study=recipe-card", ["b"]),
        ("words=nothing", []),
        ("study=nope", ["c", "a", "b"]),  # no such choice
        ("words=%3Cimg+src%3Dx", []),
        ("verdict=%3Cscript%3E", ["c", "a", "b"]),
    ],
)
def test_the_filter_is_what_the_address_says(filtered, fragment, labels):
    assert [{HOSTILE[1]: "c"}.get(label, label) for label in filtered(fragment)] == labels


def test_without_a_script_everything_is_there(reports, site):
    report(reports, "a")
    assemble([reports], site)
    assert '<form id="filters" class="filters" hidden>' in index(site)
    assert " hidden" not in re.search(r"<li [^>]*>", index(site))[0]


# ---- what the site adds to the pages of reports


def charted(reports, name):
    folder = report(reports, name)
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    (folder / "figures").mkdir()
    (folder / "figures" / "scores.vl.json").write_text(json.dumps(CHART), encoding="utf-8")
    return folder


def in_site(site, name):
    return (site / "reports" / "recipe-card" / name / "index.html").read_text(encoding="utf-8")


def test_live_charts_share_one_script_and_carry_their_data(reports, site):
    charted(reports, "a")
    charted(reports, "b")
    assemble([reports], site)
    (script,) = (site / "assets").iterdir()
    assert script.name == live.bundle_name()
    for name in "ab":
        page = in_site(site, name)
        assert f'<script defer src="../../../assets/{script.name}"></script>' in page
        (held,) = re.findall(r'<script type="application/json" data-figure="fig-scores">(.*?)</script>', page)
        assert json.loads(held) == CHART


def test_the_page_in_the_report_folder_stays_by_itself(reports, site):
    folder = charted(reports, "a")
    assemble([reports], site)
    assert (folder / "index.html").read_text(encoding="utf-8") == PAGE


def test_a_page_of_another_make_is_copied_as_it_is(reports, site):
    report(reports, "a")
    assemble([reports], site)
    assert in_site(site, "a") == "<p>page</p>"
    assert not (site / "assets").exists()


def test_the_policy_of_a_page_with_live_charts_lets_only_the_shared_script_in(reports, site):
    charted(reports, "a")
    assemble([reports], site)
    before, after = (re.search(r"default-src [^>]*?form-action 'none'", page)[0] for page in (PAGE, in_site(site, "a")))
    (own,) = re.findall(r"script-src ('sha256-[^']+')", before)
    assert after == before.replace(own, f"{own} 'self'")


def test_a_second_site_takes_the_script_of_the_first(reports, site, monkeypatch):
    charted(reports, "a")
    assemble([reports], site)
    monkeypatch.setattr(live, "bundle", lambda: pytest.fail("made again"))
    charted(reports, "b")
    assemble([reports], site)
    assert len(list((site / "assets").iterdir())) == 1


@pytest.mark.parametrize("hostile", HOSTILE, ids=range(len(HOSTILE)))
def test_a_summary_is_one_call_with_texts(reports, site, hostile):
    report(reports, "safe", label=hostile, headline=hostile)
    assemble([reports], site)
    said = (site / "reports/recipe-card/safe/summary.js").read_text(encoding="utf-8")
    call = re.fullmatch(r"gatebookSummary\((.*)\);\n", said)
    folder, held = json.loads(f"[{call[1]}]")
    assert folder == "reports/recipe-card/safe"
    assert held["verdict"] == "pass"
    assert said.isascii()
    assert "<" not in said


def test_every_report_that_was_made_can_be_compared(reports, site):
    report(reports, "a")
    failure = report(reports, "b.failed")
    (failure / "error.txt").write_text("no", encoding="utf-8")
    assemble([reports], site)
    page = (site / "compare.html").read_text(encoding="utf-8")
    assert re.findall(r'<option value="(reports/[^"]*)"', page) == ["reports/recipe-card/a"] * 2


# ---- when a site has to be made again


def recorded(folder):
    record = {"schema": provenance.SCHEMA, "components": {}, "environment": {}, "verdict": "pass"}
    record["files"] = provenance.digests(folder)
    (folder / "run.json").write_text(json.dumps(record), encoding="utf-8")


@pytest.fixture
def standing(reports, site):
    recorded(charted(reports, "a"))
    assemble([reports], site)
    assert is_current([reports], site)
    return site


@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "compare.html",
        "guide/commands.html",
        "reports/recipe-card/a/index.html",
        "reports/recipe-card/a/summary.js",
        ".files.json",
        "assets",
    ],
)
@pytest.mark.parametrize("spoil", ["delete", "empty"])
def test_what_is_lost_of_a_site_is_noticed_and_made_again(reports, standing, name, spoil):
    path = standing / name if name != "assets" else next((standing / "assets").iterdir())
    was = path.read_bytes()
    path.unlink() if spoil == "delete" else path.write_text("", encoding="utf-8")
    assert not is_current([reports], standing)
    assemble([reports], standing)
    assert path.read_bytes() == was
    assert is_current([reports], standing)


def test_a_damaged_script_is_not_carried_on(reports, standing):
    (script,) = (standing / "assets").iterdir()
    whole = script.read_text(encoding="utf-8")
    script.write_text(whole.replace("vega", "vogo", 1), encoding="utf-8")
    assemble([reports], standing)
    assert script.read_text(encoding="utf-8") == whole


@pytest.mark.parametrize("name", ["listing.py", "live.py", "pages.py", "policy.py", "guide.py"])
def test_other_code_of_the_site_makes_another_site(reports, standing, monkeypatch, name):
    read = Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * (path.name == name))
    guide.stamp.cache_clear()
    try:
        assert not is_current([reports], standing)
    finally:
        guide.stamp.cache_clear()


@pytest.mark.parametrize("text", ["not JSON", "[1]", "[" * 100_000, "null"])
def test_a_chart_that_is_no_chart_leaves_the_drawing(reports, site, text):
    folder = charted(reports, "a")
    (folder / "figures" / "scores.vl.json").write_text(text, encoding="utf-8")
    assemble([reports], site)
    assert "application/json" not in in_site(site, "a")
    assert 'class="gb-chart"' in in_site(site, "a")


# ---- folders that somebody changed by hand


def test_a_page_that_is_cut_short_is_put_in_as_it_is(reports, site):
    folder = charted(reports, "a")
    (folder / "index.html").write_text(PAGE[: len(PAGE) // 2], encoding="utf-8")
    assemble([reports], site)
    assert in_site(site, "a") == PAGE[: len(PAGE) // 2]


@pytest.mark.parametrize("value", [10**400, -(10**400)])
def test_a_number_that_no_float_holds_is_shown(reports, site, value):
    folder = report(reports, "a")
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    result["gate"]["checks"] = [{"name": "x", "observed": value, "relation": "is", "limit": None, "verdict": "pass"}]
    columns = [{"key": key, "label": key, "kind": "number", "unit": ""} for key in ("name", "value")]
    result["tables"] = {"parameters": {"title": "", "columns": columns, "rows": [[value, value]], "notes": []}}
    (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
    assemble([reports], site)
    assert (site / "reports/recipe-card/a/summary.js").is_file()


def test_a_file_that_cannot_be_copied_is_named(reports, site):
    folder = report(reports, "a")
    (folder / "tables" / "gone.csv").symlink_to("nowhere")
    with pytest.raises(ReportError, match=r"gone\.csv.*cannot be put into the site"):
        assemble([reports], site)


def test_a_folder_with_odd_characters_is_linked(reports, site):
    report(reports, "a #1?x=1&b=2%20+c")
    assemble([reports], site)
    links = re.findall(r'<a href="(reports[^"]*)"', index(site))
    assert links
    assert all((site / unquote(unescape(link))).is_file() for link in links)


def test_a_site_that_cannot_take_its_place_leaves_the_old_one(reports, site, monkeypatch):
    report(reports, "a")
    assemble([reports], site)
    rename = Path.rename

    def once(path, target):
        if Path(target) == site and not path.name.endswith(".old"):
            raise PermissionError(13, "no", str(path))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", once)
    with pytest.raises(ReportError):
        assemble([reports], site)
    assert (site / "index.html").is_file()
