"""Charts: one look, drawn to SVG without a browser when a report is made, live in JupyterLab."""

from __future__ import annotations

import importlib.util
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import unescape
from typing import Any, Literal

import altair as alt
import pandas as pd

from analysis.present.explore import place
from analysis.present.format import COMPOSITE, NUMERIC, visible
from analysis.present.svg import CHART_MIME, slim
from analysis.present.table import Table
from analysis.present.typeface import chart_font, embedded

INK, MUTED, GRID = "#1b1f24", "#5b6570", "#e3e6ea"
SERIES = ("#1f5fa8", "#c2571a", "#5a3d8a", "#2b7a62", "#8a1c4a")  # told apart by lightness too
STATUS = {
    "release-supported": ("#1f7a4d", "circle"),
    "unsupported": ("#8a6100", "triangle-up"),
    "not certifiable": ("#5b6570", "square"),
    "strong-unsupported": ("#a32020", "cross"),
}
PASS_ZONE, FAIL_ZONE = "#1f7a4d", "#c0392b"
_WHOLE = {"description", "title", "text"}
_OF_OBJECTS = {
    "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
    "__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__",
}  # fmt: skip
MOST_ASTRAL = 12  # characters, of which one is as wide as two
_WIDGET = "anywidget"


def use(*, interactive: bool) -> None:
    """Choose how charts show themselves from here on.

    Parameters
    ----------
    interactive
        True in JupyterLab: live charts without a network. False: an SVG drawing and its description.
    """
    alt.data_transformers.disable_max_rows()
    if interactive and importlib.util.find_spec(_WIDGET):
        alt.renderers.enable("jupyter", offline=True)
        return
    alt.renderers.register("gatebook", _static)
    alt.renderers.enable("gatebook")


def styled(chart: alt.LayerChart | alt.FacetChart | alt.VConcatChart | alt.HConcatChart, alt_text: str) -> Any:
    """A chart with the shared look and the sentence that stands for it."""
    family, _ = chart_font()
    return (
        chart.properties(description=alt_text)
        .configure(font=f"{family}, sans-serif", background="white", padding=4)
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=INK,
            titleColor=INK,
            titleFontWeight="normal",
            labelFontSize=11,
            titleFontSize=12,
            gridColor=GRID,
            domainColor=MUTED,
            tickColor=MUTED,
            labelLimit=260,
        )
        .configure_legend(
            labelColor=INK, titleColor=INK, titleFontWeight="normal", labelFontSize=11, titleFontSize=12, labelLimit=260
        )
        .configure_header(labelColor=INK, labelFontSize=11, titleColor=INK, labelLimit=220)
    )


def brushed(points: alt.Chart, *over: Literal["x", "y"], opacity: float = 1.0) -> alt.Chart:
    """Points of which a window can be drawn, where charts are live: those outside it fade, in every panel alike."""
    brush = alt.selection_interval(name="window", encodings=list(over))
    shown = alt.condition(brush, alt.value(opacity), alt.value(0.12))
    return points.encode(opacity=shown).add_params(brush)


def linked(table: Table, x: str, y: str, colour: str | None = None) -> Any:
    """Rows of a table as points, and beside them how many there are of each kind: a window over the points counts those in it.

    Parameters
    ----------
    x, y
        Keys of columns; a column of numbers is an axis, any other a list of names.
    colour
        Key of the column that is counted; None to count the values of ``y``.

    Raises
    ------
    KeyError
        With the columns that there are.

    Examples
    --------
    In a notebook: ``chart.linked(report.table("items"), x="p_baseline", y="p_candidate", colour="class_corrected")``.
    """
    first = [column.key for column in table.columns[:1] if column.kind not in COMPOSITE]
    keys = list(dict.fromkeys([*first, x, y, colour or y]))
    places = {key: place(table, key) for key in keys}
    # whatever a column is called, its field is a plain word
    fields = {key: f"column_{at}" for key, at in places.items()}
    kinds = {key: "Q" if table.columns[at].kind in NUMERIC else "N" for key, at in places.items()}
    frame = pd.DataFrame({fields[key]: [row[at] for row in table.rows] for key, at in places.items()})
    counted = colour or y
    window = alt.selection_interval(name="window")
    hue = alt.Color(f"{fields[counted]}:N", title=visible(counted), scale=alt.Scale(range=list(SERIES)))
    points = (
        alt.Chart(frame)
        .mark_point(filled=True, size=36)
        .encode(
            x=alt.X(f"{fields[x]}:{kinds[x]}", title=visible(x)),
            y=alt.Y(f"{fields[y]}:{kinds[y]}", title=visible(y)),
            color=alt.condition(window, hue, alt.value("#b8c0c8")),
            tooltip=[alt.Tooltip(f"{fields[key]}:{kinds[key]}", title=visible(key)) for key in keys],
        )
        .add_params(window)
        .properties(width=420, height=300)
    )
    bars = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X("count():Q", title="rows in the window"), y=alt.Y(f"{fields[counted]}:N", title=None), color=hue
        )
        .transform_filter(window)
        .properties(width=180)
    )
    return styled(alt.hconcat(points, bars), f"{table.title} {y} against {x}, and counts of {counted}.")


def panels(charts: Sequence[Any], columns: int) -> alt.VConcatChart:
    """Charts in rows; a window that is drawn in one of them holds in all."""
    with warnings.catch_warnings():
        # said of a selection that several charts share, as is meant here
        warnings.filterwarnings(
            "ignore", message="Automatically deduplicated selection parameter", category=UserWarning
        )
        rows = [alt.hconcat(*charts[i : i + columns], spacing=14) for i in range(0, len(charts), columns)]
        return alt.vconcat(*rows, spacing=10)


def named(texts: Iterable[str], width: int | None = None) -> dict[str, str]:
    r"""What a chart calls each text: visible, short enough, and another name for another text.

    A name that Vega would look up in its own objects gets a blank behind it.

    >>> named(["a", "a\u202e", "constructor"])
    {'a': 'a', 'a\u202e': 'a (2)', 'constructor': 'constructor\xa0'}
    """
    found = dict.fromkeys(texts, "")
    names = {text: _cut(visible(text), width) + "\u00a0" * (text in _OF_OBJECTS) for text in found}
    taken = set()
    for text in sorted(names, key=lambda text: names[text] != text):  # what can stay as it is has its name first
        name, n = names[text], 1
        while name in taken:
            n += 1
            name = f"{names[text]} ({n})"
        taken.add(name)
        found[text] = name
    return found


def _seen(spec: dict[str, Any]) -> Any:
    """The specification with every text made visible: a control character is no XML, and takes the drawing with it."""
    return _mapped(spec, named(_texts(spec)))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, held in items:
            if key not in _WHOLE:
                yield from _texts(held)


def _mapped(value: Any, names: Mapping[str, str] | None) -> Any:
    """The value with its texts replaced; sentences and titles, which no label limit cuts, stay whole."""
    if isinstance(value, dict):
        return {key: _mapped(held, None if key in _WHOLE else names) for key, held in value.items()}
    if isinstance(value, list):
        return [_mapped(held, names) for held in value]
    if not isinstance(value, str):
        return value
    return visible(value) if names is None else names[value]


def _cut(text: str, width: int | None = None) -> str:
    """Text beyond the basic plane cut short: the drawing's own limit on a label would split such a character."""
    if any(ord(ch) > 0xFFFF for ch in text):
        width = min(width or MOST_ASTRAL, MOST_ASTRAL)
    return text if width is None or len(text) <= width else f"{text[: width - 1]}…"


def sentence(text: str) -> Any:
    """The text in place of a chart that has nothing to show."""
    note = (
        alt.Chart(pd.DataFrame({"text": [text]}))
        .mark_text(align="left", color=MUTED, fontSize=12)
        .encode(text="text:N", x=alt.value(0))
    )
    return styled(alt.layer(note).properties(width=460, height=40), text)


def _static(spec: dict[str, Any], **_: Any) -> dict[str, Any]:
    shown = _seen(spec)
    return {"image/svg+xml": svg(shown), CHART_MIME: shown, "text/plain": str(shown.get("description", ""))}


def svg(spec: dict[str, Any]) -> str:
    """Draw a Vega-Lite specification whose texts are visible; the same bytes on every machine, because the font travels with the drawing."""
    import vl_convert  # noqa: PLC0415  (heavy, and not needed in Lab)

    _, folder = chart_font()
    vl_convert.register_font_directory(str(folder))
    drawing = slim(vl_convert.vegalite_to_svg(spec))
    letters = "".join(sorted(set(re.sub(r"<[^>]*>", "", drawing))))
    head, body = drawing.split(">", 1)
    return f"{head}><style>{embedded(unescape(letters))}</style>{body}"
