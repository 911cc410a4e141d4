"""The decomposition as charts: views of the result's tables."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from analysis.present import chart
from analysis.present.format import visible
from analysis.results import StudyResult

from .classes import PUBLISHED
from .items_tables import WORDS
from .tables import DETERIORATED, IMPROVED, UNCHANGED

KINDS = (IMPROVED, UNCHANGED, DETERIORATED)
COLORS = {IMPROVED: chart.SERIES[0], UNCHANGED: "#b8c0c8", DETERIORATED: chart.SERIES[1]}
SHAPES = {IMPROVED: "triangle-up", UNCHANGED: "circle", DETERIORATED: "triangle-down"}
MOST_DOMAINS = 30


def scatter(result: StudyResult) -> Any:
    """Score in the candidate against score in the baseline, with the band of the published index."""
    frame = result.frames()["joint"]
    if frame.empty:
        return chart.sentence(result.figures["scatter"].alt)
    words = dict(zip(WORDS.values(), KINDS, strict=True))
    corner = frame["baseline"].eq(frame["candidate"]) & frame["baseline"].isin([0.0, 1.0])
    frame = frame[~corner].assign(kind=frame["class"].map(words))
    unit = alt.Scale(domain=[0, 1])
    points = (
        alt.Chart(frame)
        .mark_point(filled=True)
        .encode(
            x=alt.X("baseline:Q", title=f"{_name(result, 'baseline')}: share correct", scale=unit),
            y=alt.Y("candidate:Q", title=f"{_name(result, 'candidate')}: share correct", scale=unit),
            size=alt.Size("items:Q", title="items", scale=alt.Scale(range=[12, 320])),
            color=_kinds("kind"),
            shape=alt.Shape("kind:N", sort=KINDS, title=None, scale=_scale(SHAPES)),
            tooltip=["baseline", "candidate", "class", "items"],
        )
    )
    layers = [*_band(result), chart.brushed(points, "x", "y", opacity=0.75)]
    return chart.styled(alt.layer(*layers).properties(width=340, height=320), result.figures["scatter"].alt)


def rci(result: StudyResult) -> Any:
    """Histogram of the published index, with both cuts."""
    frame = result.frames()["histogram"]
    if frame.empty:
        return chart.sentence(result.figures["rci"].alt)
    bars = (
        alt.Chart(frame)
        .mark_bar(color=chart.SERIES[0])
        .encode(
            x=alt.X("low:Q", bin="binned", title="reliable change index"),
            x2="high:Q",
            y=alt.Y("items:Q", title="items"),
            tooltip=["low", "high", "items"],
        )
    )
    cut = float(result.parameters["cut"])
    rule = alt.Chart(pd.DataFrame({"at": [-cut, cut]})).mark_rule(color=chart.INK, strokeDash=[4, 3]).encode(x="at:Q")
    return chart.styled(alt.layer(bars, rule).properties(width=460, height=180), result.figures["rci"].alt)


def domains(result: StudyResult) -> Any:
    """Heat map of domain by class, the first thirty domains."""
    frame = result.frames()["domains"].dropna(subset=["improved"]).head(MOST_DOMAINS)
    if frame.empty:
        return chart.sentence(result.figures["domains"].alt)
    frame = frame.rename(columns={"unchanged": UNCHANGED, "improved": IMPROVED, "deteriorated": DETERIORATED})
    frame["domain"] = frame["domain"].map(chart.named(frame["domain"]))
    order = list(frame["domain"])
    long = frame.melt(id_vars=["domain", "n"], value_vars=list(KINDS), var_name="kind", value_name="items")
    long = long.assign(share=long["items"].astype(float) / long["n"].astype(float))
    base = alt.Chart(long).encode(
        x=alt.X("kind:N", sort=KINDS, title=None, axis=alt.Axis(labelAngle=0, orient="top")),
        y=alt.Y("domain:N", sort=order, title=None),
        tooltip=["domain", "kind", "items", alt.Tooltip("share:Q", format=".3f")],
    )
    cells = base.mark_rect().encode(
        color=alt.Color("share:Q", title="share", scale=alt.Scale(scheme="blues", domain=[0, 1]))
    )
    numbers = base.mark_text(fontSize=11).encode(
        text=alt.Text("share:Q", format=".2f"),
        color=alt.condition("datum.share > 0.55", alt.value("white"), alt.value(chart.INK)),
    )
    height = max(60, 26 * len(order))
    return chart.styled(alt.layer(cells, numbers).properties(width=380, height=height), result.figures["domains"].alt)


def difficulty(result: StudyResult) -> Any:
    """Improved and deteriorated shares by baseline score, beside samples dealt at random; published above, tests below."""
    frame = result.frames()["difficulty"]
    frame = frame[frame["rule"] != PUBLISHED[1]]
    if frame.empty:
        return chart.sentence(result.figures["difficulty"].alt)
    rows = []
    for source, names in (("observed", (IMPROVED, DETERIORATED)), ("random", ("null_improved", "null_deteriorated"))):
        for kind, column in zip((IMPROVED, DETERIORATED), names, strict=True):
            name = kind if source == "observed" else f"{kind}, dealt at random"
            rows.append(frame.assign(kind=name, share=frame[column])[["rule", "bin", "kind", "share"]])
    long = pd.concat(rows).dropna(subset=["share"])
    order = [IMPROVED, f"{IMPROVED}, dealt at random", DETERIORATED, f"{DETERIORATED}, dealt at random"]
    colors = [COLORS[IMPROVED], "#9fb8d6", COLORS[DETERIORATED], "#e6bda2"]
    panels = [
        alt.layer(
            alt.Chart(long[long["rule"] == rule])
            .mark_bar()
            .encode(
                x=alt.X("bin:N", sort=None, title="baseline score", axis=alt.Axis(labelAngle=0)),
                y=alt.Y("share:Q", title="share of the bin"),
                xOffset=alt.XOffset("kind:N", sort=order),
                color=alt.Color(
                    "kind:N",
                    sort=order,
                    title=None,
                    scale=alt.Scale(domain=order, range=colors),
                    legend=alt.Legend(orient="top", columns=2),
                ),
                tooltip=["rule", "bin", "kind", alt.Tooltip("share:Q", format=".3f")],
            )
        ).properties(width=460, height=130, title=_panel_title(rule))
        for rule in dict.fromkeys(long["rule"])
    ]
    return chart.styled(alt.vconcat(*panels, spacing=14), result.figures["difficulty"].alt)


def net(result: StudyResult) -> Any:
    """Gains and losses as opposing bars, with the net change that is left of them."""
    frame = result.frames()["net"].head(MOST_DOMAINS)
    if frame.empty:
        return chart.sentence(result.figures["net"].alt)
    frame = frame.assign(losses=-frame["losses"], set=frame["set"].map(chart.named(frame["set"])))
    order = list(frame["set"])
    long = frame.melt(id_vars=["set", "n"], value_vars=["gains", "losses"], var_name="kind", value_name="change")
    y = alt.Y("set:N", sort=order, title=None)
    bars = (
        alt.Chart(long)
        .mark_bar()
        .encode(
            x=alt.X("change:Q", title="change of the mean score"),
            y=y,
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=["gains", "losses"], range=[COLORS[IMPROVED], COLORS[DETERIORATED]]),
                legend=alt.Legend(orient="top"),
            ),
            tooltip=["set", "n", "kind", "change"],
        )
    )
    left = (
        alt.Chart(frame)
        .mark_point(filled=True, shape="diamond", size=90, color=chart.INK)
        .encode(x="net:Q", y=y, tooltip=["set", "net"])
    )
    height = max(60, 28 * len(order))
    return chart.styled(alt.layer(bars, left).properties(width=420, height=height), result.figures["net"].alt)


def _band(result: StudyResult) -> list[Any]:
    """The diagonal, and the lines beyond which the published index calls a change reliable."""
    reading = result.frames()["readings"].iloc[0]
    reach = None if pd.isna(reading["s_diff"]) else float(reading["s_diff"]) * float(result.parameters["cut"])
    lines = []
    for shift in (0.0,) if reach is None or reach >= 1 else (-reach, 0.0, reach):
        x = [max(0.0, -shift), min(1.0, 1 - shift)]
        ends = pd.DataFrame({"x": x, "y": [at + shift for at in x]})
        dash = [4, 3] if shift else [1, 0]
        lines.append(
            alt.Chart(ends).mark_line(color=chart.MUTED, strokeDash=dash, strokeWidth=1).encode(x="x:Q", y="y:Q")
        )
    return lines


def _panel_title(rule: str) -> Any:
    return alt.TitleParams(rule, fontSize=11, fontWeight="normal", anchor="start", color=chart.INK)


def _kinds(field: str) -> Any:
    return alt.Color(f"{field}:N", sort=KINDS, title=None, scale=_scale(COLORS))


def _scale(values: dict[str, str]) -> Any:
    return alt.Scale(domain=list(values), range=list(values.values()))


def _name(result: StudyResult, role: str) -> str:
    shown = visible(result.parameters[role])
    return shown if len(shown) <= 40 else shown[:39] + "…"
