"""A site with every kind of page, made by the command, and Debian's Chromium to read it with."""

import functools
import json
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest
from nbformat import v4
from playwright.sync_api import sync_playwright

from analysis.pipeline.execute import read_notebook
from analysis.studies import recipe_card
from tests.conftest import CHROMIUM, ROOT, reruns
from tests.pipeline.builds import COMMAND

EXAMPLES = {
    "recipe-card": "example",
    "tail-shape": "controls",
    "churn": "churn-example",
    "fine-tune": "fine-tune-example",
}
HOSTILE = [
    "<script>window.pwned=1</script>",
    '"><img src=x onerror=window.pwned=2>',
    "javascript:window.pwned=3",
    "[x](javascript:window.pwned=4)",
    "<svg onload=window.pwned=5>",
    "</script><script>window.pwned=6</script>",
    "<style>*{display:none}</style>",
    "{{ 7*7 }}${window.pwned=7}",
    '=HYPERLINK("http://example.invalid")',
    "\u202eevil\u2066name",
    "' onmouseover='window.pwned=8",
    "<iframe src=http://example.invalid>",
]


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """The folder with ``reports`` and ``_site``."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    folder = tmp_path_factory.mktemp("site")
    pd.concat([reruns(name, [0.5] * (i % 3) + [0.9] * 30) for i, name in enumerate(HOSTILE)]).to_csv(
        folder / "runs.csv", index=False
    )
    items = pd.DataFrame(
        [
            {
                "model": model,
                "item_id": f"{HOSTILE[i % len(HOSTILE)]} {i}",
                "value": int((i + shift) % 5 > 0),
                "slice.s": HOSTILE[i % 4],
            }
            for shift, model in enumerate(["candidate", *HOSTILE[:2]])
            for i in range(120)
        ]
    )
    items.to_csv(folder / "items.csv", index=False)
    broken = read_notebook(recipe_card.STUDY.notebook_path)
    broken.cells.insert(4, v4.new_code_cell("raise ValueError('<script>window.pwned=9</script>')", id="broken"))
    (folder / "broken.ipynb").write_text(json.dumps(broken), encoding="utf-8")
    examples = (
        (ROOT / "reports.yml").read_text(encoding="utf-8").replace("data/examples", str(ROOT / "data" / "examples"))
    )
    (folder / "reports.yml").write_text(
        examples.replace("data/rules", str(ROOT / "data" / "rules"))
        + "  hostile: {study: recipe-card, data: runs.csv}\n"
        + "  hostile-items: {study: fine-tune, data: items.csv}\n"
        + "  broken: {study: recipe-card, data: runs.csv, notebook: broken.ipynb}\n",
        encoding="utf-8",
    )
    done = subprocess.run([*COMMAND, "build"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 4, done.stderr  # one cannot be made, as it should be
    assert (folder / "_site" / "index.html").exists(), done.stderr
    return folder


@pytest.fixture(scope="session")
def site(made):
    """The folder of the site."""
    return made / "_site"


@pytest.fixture(scope="module")  # its event loop ends with the module: notebooks that run later want one of their own
def chromium(made):
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page that was opened, with all that it said, asked for and popped up."""

    def __init__(self, context, address):
        self.said, self.asked, self.popped, self.failed = [], [], [], []
        self.page = context.new_page()
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("response", lambda response: self.failed.append(response.url) if response.status >= 400 else None)
        self.page.on("dialog", lambda dialog: (self.popped.append(dialog.message), dialog.dismiss()))
        self.page.goto(address)

    def elsewhere(self):
        return [url for url in self.asked if not url.startswith(("file:", "data:", "http://127.0.0.1"))]

    def read_through(self):
        """Scroll to the end, so that every chart comes to life."""
        height = self.page.evaluate("document.documentElement.scrollHeight")
        for at in range(0, height, 700):
            self.page.evaluate(f"scrollTo(0, {at})")
            self.page.wait_for_timeout(15)
        self.page.wait_for_timeout(150)
        waiting = (
            "document.querySelectorAll('script[data-figure]').length > document.querySelectorAll('.gb-is-live').length"
        )
        for _ in range(100):
            if not self.page.evaluate(waiting):
                break
            self.page.wait_for_timeout(100)
        return self


@pytest.fixture
def visit(chromium):
    """``visit(path, scheme="dark", width=360, …)``: open a file."""
    contexts = []

    def opened(place, *, scheme="light", width=1200, **options):
        context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        path, _, fragment = str(place).partition("#")
        address = path if path.startswith("http") else Path(path).as_uri()
        return Visit(context, address + (f"#{fragment}" if fragment else ""))

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def axe():
    """The script of axe-core."""
    spec = find_spec("axe_playwright_python")
    return (Path(spec.submodule_search_locations[0]) / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def served(made):
    """The address of the site below a path, over http on this machine."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_arguments):
            pass

    root = made / "served" / "some" / "path"
    root.parent.mkdir(parents=True)
    root.symlink_to(made / "_site")
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=made / "served"))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/some/path"
    server.shutdown()
    server.server_close()
    thread.join()
