"""Render with Quarto, where it is installed: the same normalised notebook, in a project of its own."""

from __future__ import annotations

import base64
import binascii
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import nbformat

from analysis.errors import Fault, MissingProgram, RenderError, plain, raise_all
from analysis.pipeline.document import read_report
from analysis.pipeline.formats import Renderer
from analysis.present.prose import markdown
from analysis.study import share_folder

OLDEST = (1, 7)
HOW_TO_GET = "Install it (pip install 'gatebook[quarto]', or quarto.org)"

_LATER = (
    ((1, 9), "callouts in a PDF without a network"),
    ((1, 10), "alternative texts of figures in a PDF"),
)
_PROSE = {"title", "subtitle", "description"}  # front matter that Quarto reads as markdown
_FETCHED = {
    *("stylesheet", "preload", "modulepreload", "prefetch", "prerender", "preconnect", "dns-prefetch"),
    *("icon", "apple-touch-icon", "mask-icon", "manifest"),
}  # kinds of <link> that load
_ADDRESS = {"src", "poster", "background", "xlink:href"}  # attributes that load, whatever the tag
_ADDRESS_OF = {"image": "href", "use": "href", "feimage": "href", "base": "href", "object": "data"}
_STYLED = ("style", "fill", "stroke", "filter", "mask", "clip-path")  # attributes that are CSS
_CSS = re.compile(
    r"""(?:@import\s*(?:url\(\s*)?|url\(\s*|image-set\(\s*)["']?\s*([^"')\s;]+)""",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(r"//|(?!data:|blob:|about:|javascript:)[a-z][a-z0-9+.-]*:")


def version() -> tuple[int, ...] | None:
    """The version of the ``quarto`` on the path; None when there is none that answers."""
    program = shutil.which("quarto")
    if program is None:
        return None
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    numbers = re.findall(r"\d+", done.stdout)
    return tuple(map(int, numbers[:3])) or None


def require(instead: str = "") -> tuple[int, ...]:
    """The version, or an error that says how to get one, or what to do ``instead``.

    Raises
    ------
    MissingProgram
        Not installed, or too old.
    """
    found, fix = version(), f"{HOW_TO_GET}{instead}."
    if found is None:
        raise MissingProgram(Fault(what="quarto is not installed", fix=fix))
    if found[:2] < OLDEST:
        what = f"quarto {'.'.join(map(str, found))} is older than {'.'.join(map(str, OLDEST))}"
        raise MissingProgram(Fault(what=what, fix=fix))
    return found


def lacks(found: Sequence[int]) -> tuple[str, ...]:
    """What a version that can be used cannot do, with the version that can.

    >>> lacks((1, 9, 2)), lacks((1, 10, 18))
    (('alternative texts of figures in a PDF (needs 1.10)',), ())
    """
    return tuple(f"{what} (needs {'.'.join(map(str, needed))})" for needed, what in _LATER if tuple(found[:2]) < needed)


def chosen(renderer: Renderer) -> str:
    """The renderer that will be used; asking for a missing Quarto is an error, before anything runs.

    Raises
    ------
    MissingProgram
        Quarto was asked for by name and is not there.
    """
    if renderer == "builtin" or (renderer == "auto" and version() is None):
        return "builtin"
    return f"quarto {'.'.join(map(str, require(', or use --renderer builtin')))}"


def render(notebook: Path, to: str) -> bytes:
    """Render a normalised notebook that lies on disk.

    Parameters
    ----------
    notebook
        The clean ``report.ipynb``; it is copied, never rewritten.
    to
        ``html`` or ``pdf`` (Quarto's Typst path).

    Raises
    ------
    MissingProgram, RenderError
        What the built-in renderer refuses too, Quarto's last lines, or what the page would load from elsewhere.
    """
    found = require()
    copy = _copy(notebook)
    with tempfile.TemporaryDirectory(prefix="gatebook-quarto-") as name:
        project = Path(name)
        nbformat.write(copy, project / "report.ipynb")
        (project / "_quarto.yml").write_text(_settings(), encoding="utf-8", newline="\n")
        output = "html" if to == "html" else "typst"
        # never --execute, which rewrites the source; never -P, which is ignored
        command = ["quarto", "render", "report.ipynb", "--to", output]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        made = next(iter(sorted((project / "_site").rglob(f"report.{to}"))), None)
        if done.returncode or made is None:
            tail = plain(" ".join((done.stderr or done.stdout).split()[-60:]), width=600)
            missing = "" if done.returncode else f" and made no report.{to}"
            what = f"quarto failed with exit code {done.returncode}{missing}: {tail}"
            later = "; ".join(lacks(found))
            raise RenderError(
                Fault(file=notebook.name, what=what, fix=f"This version lacks: {later}." if later else "")
            )
        page = made.read_bytes()
    return offline(page.decode(), notebook.name).encode() if to == "html" else page


def offline(page: str, name: str) -> str:
    """A page without the tags that load scripts and styles from elsewhere.

    Quarto adds requirejs and jQuery for every HTML output, and leaves their addresses when it cannot embed them.

    Raises
    ------
    RenderError
        It would still load something; all of it is named.

    Examples
    --------
    >>> offline('<SCRIPT src="//cdn.example/x.js"></SCRIPT><a href="https://x.example">x</a>', "report.ipynb")
    '<a href="https://x.example">x</a>'
    """
    for start, end in reversed(_Loads(page).cuts):
        page = page[:start] + page[end:]
    left = dict.fromkeys(_Loads(page).addresses)
    fix = "Embed it in the notebook, or use --renderer builtin."
    raise_all(
        RenderError, (Fault(file=name, what=f"quarto's page loads {plain(address)}", fix=fix) for address in left)
    )
    return page


class _Loads(HTMLParser):
    """What a page loads from elsewhere: all addresses, and the places of the tags that can be cut out."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cuts: list[tuple[int, int]] = []
        self.addresses: list[str] = []
        self._page = page
        self._lines = [0, *(found.end() for found in re.finditer("\n", page))]
        self._script = 0
        self._foreign = False
        self._text: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        held = {name: value or "" for name, value in reversed(attrs)}  # of two of one name the first counts
        found = list(_addresses(tag, held))
        self.addresses += found
        self._text = []
        if tag == "script":
            self._script, self._foreign = self._at(), bool(found)
        if tag == "link" and found and not held["href"].startswith("data:"):
            start = self._at()
            self.cuts.append((start, start + len(self.get_starttag_text() or "")))

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        text = "".join(self._text)
        if tag == "style":
            self.addresses += _in_css(text)
        # requirejs is gone, and with it what calls it
        if tag == "script" and (self._foreign or re.match(r"\s*define\(\s*['\"]jquery['\"]", text)):
            self.cuts.append((self._script, self._page.index(">", self._at()) + 1))

    def _at(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column


def _addresses(tag: str, held: Mapping[str, str]) -> Iterator[str]:
    """What one tag loads from elsewhere; a link that waits for a click loads nothing."""
    if tag == "a":
        held = {"style": held.get("style", "")}
    if tag == "link":
        kind = set(held.get("rel", "").lower().split())
        address = held.get("href", "") if kind & _FETCHED else ""
        yield from filter(_elsewhere, [address])
        yield from _in_css(_decoded(address)) if address.lower().startswith("data:text/css") else ()
    named = [held[name] for name in held if name in _ADDRESS or name == _ADDRESS_OF.get(tag)]
    if tag == "script" and "href" in held:  # in SVG
        named.append(held["href"])
    for name in ("srcset", "imagesrcset"):
        named += [word.strip(",") for word in held.get(name, "").split()]
    if tag == "meta" and held.get("http-equiv", "").lower() == "refresh":
        named += re.findall(r"url\s*=\s*['\"]?([^'\"]+)", held.get("content", ""), re.IGNORECASE)
    yield from filter(_elsewhere, named)
    for name in _STYLED:
        yield from _in_css(held.get(name, ""))
    if "srcdoc" in held:
        yield from _Loads(held["srcdoc"]).addresses


def _elsewhere(address: str) -> bool:
    """Whether a browser would leave the page for it; it reads addresses without blanks and with any slash."""
    head = re.sub(r"[\t\n\r]", "", address[:500]).strip("".join(map(chr, range(33)))).replace("\\", "/")
    return _ELSEWHERE.match(head.lower()) is not None


def _in_css(style: str) -> list[str]:
    return [
        address for address in _CSS.findall(re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)) if _elsewhere(address)
    ]


def _decoded(address: str) -> str:
    head, _, body = address.partition(",")
    if not head.lower().endswith(";base64"):
        return unquote(body)
    try:
        return base64.b64decode(body).decode("utf-8", "replace")
    except binascii.Error:
        return ""


def _copy(notebook: Path) -> nbformat.NotebookNode:
    """The notebook as Quarto shall have it: checked as for the built-in renderer, titles as text and not as markdown."""
    copy = nbformat.read(notebook, as_version=4)
    read_report(copy)
    lines = copy.cells[0].source.split("\n")
    copy.cells[0].source = "\n".join(map(_as_text, lines))
    return copy


def _as_text(line: str) -> str:
    key, _, value = line.partition(": ")
    return f"{key}: {json.dumps(markdown(json.loads(value)), ensure_ascii=False)}" if key in _PROSE else line


def _settings() -> str:
    """The shared settings, with this one notebook to render and everything in one file."""
    settings = (share_folder() / "_quarto.yml").read_text(encoding="utf-8")
    settings = re.sub(r"^  render:\n(?:    - .*\n)+", "  render:\n    - report.ipynb\n", settings, flags=re.MULTILINE)
    return settings.replace("embed-resources: false", "embed-resources: true")
