"""Every kind of page in a browser: silent, alone, accessible, light and dark, on a phone, on paper."""

import io
import re
import unicodedata
from collections import Counter
from html.parser import HTMLParser
from urllib.parse import unquote

import nbformat
import pytest
from pypdf import PdfReader

from tests.browser.conftest import EXAMPLES

REPORTS = {study: f"reports/{study}/{label}/index.html" for study, label in EXAMPLES.items()}
PAGES = [
    "index.html",
    "compare.html#a=reports/churn/churn-example&b=reports/churn/published",
    *REPORTS.values(),
    "reports/recipe-card/hostile/index.html",
    "reports/fine-tune/hostile-items/index.html",
    "reports/recipe-card/broken.failed/index.html",
    *(
        f"guide/{name}.html"
        for name in ("index", "input-formats", "tutorial-churn", "commands", "parameters", "reproduced")
    ),
]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def labels(made, study, kind):
    notebook = nbformat.read(made / "reports" / study / EXAMPLES[study] / "report.ipynb", as_version=4)
    return sum(
        bool(re.match(rf"#\| label: {kind}-", cell.source)) for cell in notebook.cells if cell.cell_type == "code"
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_it_is_silent_alone_and_accessible(site, visit, axe, name, scheme):
    opened = visit(site / name, scheme=scheme).read_through()
    opened.page.evaluate(axe)
    found = opened.page.evaluate(f"axe.run(document, {{runOnly: {RULES}}})")
    assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found["violations"]] == []
    assert len(found["passes"]) > 10
    assert (opened.said, opened.popped, opened.elsewhere()) == ([], [], [])
    ids = opened.page.evaluate("[...document.querySelectorAll('[id]')].map((node) => node.id)")
    assert [name for name, times in Counter(ids).items() if times > 1] == []
    assert opened.page.locator("h1").count() == 1
    ink, paper = opened.page.evaluate(
        "(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))"
    )
    brightness = [sum(map(int, re.findall(r"\d+", text)[:3])) for text in (ink, paper)]
    assert (brightness[0] > brightness[1]) == (scheme == "dark")


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_scrolls_one_way(site, visit, name):
    page = visit(site / name, width=360).read_through().page
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("study", EXAMPLES)
def test_tables_and_figures_are_all_there_and_say_what_they_are(made, site, visit, study):
    page = visit(site / REPORTS[study]).read_through().page
    assert page.locator("figure.gb-table-float").count() == labels(made, study, "tbl")
    assert page.locator("figure.gb-figure-float").count() == labels(made, study, "fig")
    assert page.locator("figure:not(:has(> figcaption))").count() == 0
    assert page.locator("figure.gb-table-float:not(:has(table))").count() == 0
    assert page.locator("th:not([scope])").count() == 0
    assert page.locator("img:not([alt]), img[alt='']").count() == 0
    names = page.locator("figcaption .gb-name").all_inner_texts()
    for noun in ("Table", "Figure"):
        own = [name for name in names if name.startswith(noun)]
        assert own == [f"{noun} {n}:" for n in range(1, len(own) + 1)]


@pytest.mark.parametrize("study", EXAMPLES)
def test_charts_are_live_in_the_site_and_drawn_in_the_folder(made, site, visit, study):
    figures = labels(made, study, "fig")
    page = visit(site / REPORTS[study]).read_through().page
    assert page.locator(".gb-is-live .gb-live svg").count() == figures
    assert page.locator("img.gb-chart:visible").count() == 0
    alone = visit(made / REPORTS[study]).read_through()
    assert alone.page.locator(".gb-live").count() == 0
    assert alone.page.locator("img.gb-chart:visible").count() == figures
    assert alone.page.evaluate("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")
    assert [url for url in alone.asked if not url.startswith("data:")] == [(made / REPORTS[study]).as_uri()]


@pytest.mark.parametrize("study", EXAMPLES)
def test_without_a_script_it_can_be_read(site, visit, study):
    page = visit(site / REPORTS[study], java_script_enabled=False).page
    assert page.locator("img.gb-chart").first.is_visible()
    assert page.locator(".gb-toc a").first.is_visible()
    assert page.locator("table").first.is_visible()


def test_a_pointer_is_told_the_numbers(site, visit):
    page = visit(site / REPORTS["churn"]).read_through().page
    page.locator("#fig-net .gb-live path").first.scroll_into_view_if_needed()
    page.locator("#fig-net .mark-rect path").first.hover()
    page.wait_for_selector("#vg-tooltip-element.visible")
    assert "items" in page.locator("#vg-tooltip-element").inner_text()


def test_a_window_over_points_fades_the_others(site, visit):
    page = visit(site / REPORTS["churn"]).read_through().page
    points = page.locator("#fig-scatter .mark-symbol.role-mark path")
    page.locator("#fig-scatter").scroll_into_view_if_needed()
    faded = "[...document.querySelectorAll('#fig-scatter .mark-symbol.role-mark path')].filter((p) => p.getAttribute('opacity') === '0.12').length"
    assert page.evaluate(faded) == 0
    box = page.locator("#fig-scatter .gb-live svg").bounding_box()
    page.mouse.move(box["x"] + 90, box["y"] + 60)
    page.mouse.down()
    page.mouse.move(box["x"] + 160, box["y"] + 130, steps=6)
    page.mouse.up()
    page.wait_for_timeout(200)
    assert 0 < page.evaluate(faded) < points.count()


def test_the_keyboard_is_enough(site, visit):
    page = visit(site / REPORTS["fine-tune"]).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "gb-skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.locator("#gb-theme").focus()
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("Enter")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    assert page.locator("#gb-theme").get_attribute("aria-pressed") == "true"
    unreachable = "[...document.querySelectorAll('.gb-scroll')].filter((node) => node.scrollWidth > node.clientWidth && node.tabIndex < 0).length"
    assert page.evaluate(unreachable) == 0


@pytest.mark.parametrize("study", EXAMPLES)
def test_the_items_are_two_clicks_from_the_verdict(site, visit, study):
    page = visit(site / "index.html").page
    page.get_by_role("link", name=f"{study} · {EXAMPLES[study]}", exact=True).click()
    links = page.locator("main p a[href^='#tbl-']").evaluate_all(
        "nodes => nodes.map((node) => node.getAttribute('href'))"
    )
    wanted = {
        "recipe-card": "#tbl-worst-reruns",
        "churn": "#tbl-changed",
        "fine-tune": "#tbl-changed",
        "tail-shape": "#tbl-extremes",
    }
    assert wanted[study] in links
    page.locator(f"main p a[href='{wanted[study]}']").first.click()
    assert page.url.endswith(wanted[study])
    assert page.locator(f"{wanted[study]} tbody tr").count() > 0


@pytest.mark.parametrize("study", EXAMPLES)
def test_on_paper_no_row_is_cut(site, visit, study):
    page = visit(site / REPORTS[study]).read_through().page
    rows = page.evaluate(
        "[...document.querySelectorAll('figure tbody tr')].map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    pages = [
        squeezed(sheet.extract_text()) for sheet in PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True))).pages
    ]
    assert len(rows) > 50
    cut = [
        row
        for row in rows
        if not any(all(squeezed(word) in sheet for text in row for word in text.split()) for sheet in pages)
    ]
    assert cut == []
    assert sum("All reports" in sheet for sheet in pages) == 0


def squeezed(text):
    """Without blanks, ligatures, hyphens at line ends, and the sign that a style puts before a verdict."""
    return re.sub(r"[\s✓✕?\u200b\u00ad-]", "", unicodedata.normalize("NFKC", text))


@pytest.mark.parametrize(
    "name",
    [
        "reports/recipe-card/hostile/index.html",
        "reports/fine-tune/hostile-items/index.html",
        "reports/recipe-card/broken.failed/index.html",
    ],
)
def test_hostile_data_run_nothing(made, site, visit, name):
    for place in (site / name, made / name):
        opened = visit(place).read_through()
        for part in opened.page.locator("main td, main th, main a").all()[:200]:
            part.dispatch_event("mouseover")
        opened.page.wait_for_timeout(100)
        assert opened.page.evaluate("window.pwned") is None
        assert (opened.popped, opened.elsewhere(), opened.said) == ([], [], [])
        assert (
            opened.page.locator(
                "main iframe, main script, main [onerror], main [onload], main a[href^='javascript']"
            ).count()
            == 0
        )


def test_hostile_names_are_read_as_they_are_on_index_and_comparison(site, visit):
    for place in (
        site / "index.html",
        f"{site}/compare.html#a=reports/recipe-card/hostile&b=reports/recipe-card/example",
    ):
        opened = visit(place)
        opened.page.wait_for_timeout(300)
        assert opened.page.evaluate("window.pwned") is None
        assert (opened.popped, opened.said) == ([], [])
    assert "<img src=x onerror=window.pwned=2>" in opened.page.locator("#tables").inner_text()


def test_a_comparison_lives_in_its_address(site, visit):
    page = visit(site / "compare.html").page
    assert page.locator("#sentence").inner_text() == "Choose two reports."
    page.select_option("select[name=a]", "reports/churn/churn-example")
    page.select_option("select[name=b]", "reports/churn/published")
    page.wait_for_function("document.querySelectorAll('#tables table').length === 5")
    said = page.locator("#sentence").inner_text()
    assert said.startswith("Both say undecided; ")
    page.reload()
    page.wait_for_function("document.querySelectorAll('#tables table').length === 5")
    assert page.locator("#sentence").inner_text() == said
    page.click("#swap")
    assert page.locator("select[name=a]").input_value() == "reports/churn/published"


def test_a_comparison_loads_no_report_that_is_not_offered(site, visit):
    opened = visit(f"{site}/compare.html#a=../../evil&b=http://example.invalid/x")
    opened.page.wait_for_timeout(200)
    assert [url for url in opened.asked if "evil" in url.partition("#")[0] or "example" in url.partition("#")[0]] == []
    assert opened.page.locator("#sentence").inner_text() == "Choose two reports."


def test_the_filter_of_the_index_is_kept_in_the_address(site, visit):
    page = visit(site / "index.html").page
    total = page.locator("li[data-study]").count()
    page.select_option("select[name=study]", "churn")
    assert page.locator("li[data-study]:visible").count() == 2 < total
    assert page.url.endswith("#study=churn")
    page.reload()
    assert page.locator("li[data-study]:visible").count() == 2
    page.get_by_role("link", name="churn · published", exact=True).click()
    page.go_back()
    assert page.locator("li[data-study]:visible").count() == 2


@pytest.mark.parametrize("name", PAGES)
def test_it_works_below_a_path(served, visit, name):
    opened = visit(f"{served}/{name}").read_through()
    assert (opened.failed, opened.said, opened.elsewhere()) == ([], [], [])


class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.targets, self.ids = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        held = dict(attrs)
        if "id" in held:
            self.ids.add(held["id"])
        if tag == "a" and held.get("href"):
            self.targets.append(held["href"])


def test_every_link_of_the_site_leads_somewhere(site):
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    assert len(pages) > 20
    dead = []
    for path, links in pages.items():
        for target in links.targets:
            if re.match(r"(https?|mailto):", target):
                continue
            file, _, fragment = target.partition("#")
            found = (path.parent / unquote(file)).resolve() if file else path
            if not found.is_file() or (fragment and "=" not in fragment and unquote(fragment) not in pages[found].ids):
                dead.append((path.relative_to(site).as_posix(), target))
    assert dead == []
