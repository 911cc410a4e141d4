"""A report's page as it stands in a site: with the way back, and with charts that answer a pointer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import quote

from analysis.errors import is_whole
from analysis.pipeline.policy import with_shared_script
from analysis.pipeline.provenance import versions
from analysis.present.svg import CHART_SUFFIX
from analysis.study import share_folder

_UP = "../../.."
_OURS = '<meta content="Gatebook" name="generator"/>'
_HEAD, _PAGE, _END = "</head>", '<div class="gb-page">', "</body>"


def bundle_name() -> str:
    """The name of the script that draws live charts: a digest of all that it is made from."""
    made_from = [*versions(["vl-convert-python"]).values(), _mount()]
    return f"vega-{hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:12]}.js"


@cache
def bundle() -> str:
    """Vega, Vega-Lite, vega-embed and what puts them into our pages: one script that fetches nothing, its digest at the end."""
    import vl_convert  # noqa: PLC0415  (not needed where a site has no charts, or has them already)

    script = str(vl_convert.javascript_bundle(_mount())).rstrip()
    return f"{script}\n{_ending(script)}"


def read_bundle(path: Path) -> str | None:
    """The script of an earlier site; None where it is not there, or not whole."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    script, _, end = text.rstrip("\n").rpartition("\n")
    return text if f"{end}\n" == _ending(script) else None


def _ending(script: str) -> str:
    return f"// sha256 {hashlib.sha256(script.encode()).hexdigest()}\n"


def _mount() -> str:
    return (share_folder() / "templates" / "site" / "charts.js").read_text(encoding="utf-8")


def has_charts(figures: Path) -> bool:
    """Whether the charts of a report can be live."""
    return any(figures.glob(f"*{CHART_SUFFIX}"))


def charts(figures: Path) -> dict[str, str]:
    """The charts of a report folder by the name of the figure, as JSON that cannot end the element it stands in."""
    found = {}
    for path in sorted(figures.glob(f"*{CHART_SUFFIX}")):
        try:
            chart = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue  # the drawing stays
        if isinstance(chart, dict) and is_whole(path.name):
            text = json.dumps(chart, separators=(",", ":"))
            found[path.name.removesuffix(CHART_SUFFIX)] = text.replace("<", "\\u003c")
    return found


def in_site(page: str, inside: str, charts: Mapping[str, str], script: str | None) -> str:
    """A page with links to the rest of the site and, where ``script`` is named, its charts live.

    A page of another make, such as Quarto's, or one that is not whole, is left as it is.
    """
    if not all(part in page for part in (_OURS, _HEAD, _PAGE, _END)):
        return page
    page = page.replace(_PAGE, _links(inside) + _PAGE, 1)
    allowed = with_shared_script(page)
    if not charts or script is None or allowed is None:
        return page
    page = allowed.replace(_HEAD, f'<script defer src="{_UP}/assets/{escape(script)}"></script>\n{_HEAD}', 1)
    blocks = "".join(
        f'<script type="application/json" data-figure="fig-{escape(name)}">{chart}</script>\n'
        for name, chart in charts.items()
    )
    at = page.rindex(_END)
    return page[:at] + blocks + page[at:]


def _links(inside: str) -> str:
    links = {
        f"{_UP}/index.html": "All reports",
        f"{_UP}/compare.html#a={quote(inside)}": "Compare",
        f"{_UP}/guide/reading-a-report.html": "How to read it",
    }
    anchors = "".join(f'<a href="{escape(address)}">{words}</a>' for address, words in links.items())
    return f'<nav class="gb-site" aria-label="Site">{anchors}</nav>\n'
