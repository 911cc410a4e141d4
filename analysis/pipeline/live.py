"""A report's page as it stands in a site: with the way back, and with charts that answer a pointer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.metadata import version
from pathlib import Path

from analysis.pipeline.policy import with_shared_script
from analysis.study import share_folder

SPECIFIED = ".vl.json"
"""How the file of a chart ends that a live chart is made from."""
_UP = "../../.."
_OURS = '<meta content="Gatebook" name="generator"/>'
_HEAD, _PAGE, _END = "</head>", '<div class="gb-page">', "</body>"


def bundle_name() -> str:
    """The name of the script that draws live charts, from the versions in it; it is made once a site."""
    import vl_convert  # noqa: PLC0415  (not needed where a site has no charts)

    versions = [version("vl-convert-python"), vl_convert.get_vega_version(), _mount()]
    return f"vega-{hashlib.sha256(json.dumps(versions).encode()).hexdigest()[:12]}.js"


@cache
def bundle() -> str:
    """Vega, Vega-Lite, vega-embed and what puts them into our pages: one script that fetches nothing."""
    import vl_convert  # noqa: PLC0415

    return str(vl_convert.javascript_bundle(_mount()))


def _mount() -> str:
    return (share_folder() / "templates" / "site" / "charts.js").read_text(encoding="utf-8")


def has_charts(figures: Path) -> bool:
    """Whether the charts of a report can be live."""
    return any(figures.glob(f"*{SPECIFIED}"))


def specifications(figures: Path) -> dict[str, str]:
    """The charts of a report folder, as JSON, by the name of the figure."""
    return {
        path.name.removesuffix(SPECIFIED): path.read_text(encoding="utf-8")
        for path in sorted(figures.glob(f"*{SPECIFIED}"))
    }


def in_site(page: str, inside: str, charts: Mapping[str, str], script: str | None) -> str:
    """A page with links to the rest of the site and, where ``script`` is named, its charts live.

    A page of another make, such as Quarto's, is left as it is.
    """
    if _OURS not in page:
        return page
    page = page.replace(_PAGE, _links(inside) + _PAGE, 1)
    allowed = with_shared_script(page)
    if not charts or script is None or allowed is None:
        return page
    page = allowed.replace(_HEAD, f'<script defer src="{_UP}/assets/{escape(script)}"></script>\n{_HEAD}', 1)
    blocks = "".join(
        f'<script type="application/json" data-figure="fig-{escape(name)}">{_inert(chart)}</script>\n'
        for name, chart in charts.items()
    )
    at = page.rindex(_END)
    return page[:at] + blocks + page[at:]


def _links(inside: str) -> str:
    links = {
        f"{_UP}/index.html": "All reports",
        f"{_UP}/compare.html#a={inside}": "Compare",
        f"{_UP}/guide/reading-a-report.html": "How to read it",
    }
    anchors = "".join(f'<a href="{escape(address)}">{words}</a>' for address, words in links.items())
    return f'<nav class="gb-site" aria-label="Site">{anchors}</nav>\n'


def _inert(chart: str) -> str:
    """JSON that cannot end the element it stands in."""
    return json.dumps(json.loads(chart), separators=(",", ":")).replace("<", "\\u003c")
