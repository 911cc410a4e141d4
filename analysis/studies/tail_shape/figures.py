"""The protocol as charts: views of the result's tables."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from analysis.present import chart
from analysis.present.format import visible
from analysis.results import StudyResult

from .gates import CLAUSES

MOST_PANELS = 12
COLUMNS = 3


def waterfall(result: StudyResult) -> Any:
    """Pairs left after each clause, by both methods."""
    frame = result.frames()["waterfall"]
    base = alt.Chart(frame).encode(
        x=alt.X("clause:N", sort=["start", *CLAUSES], title="after", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("left:Q", title="pairs left", axis=alt.Axis(tickMinStep=1)),
        xOffset=alt.XOffset("method:N", sort=["paper", "corrected"]),
        tooltip=["method", "clause", "left"],
    )
    bars = base.mark_bar().encode(
        color=alt.Color(
            "method:N",
            sort=["paper", "corrected"],
            title=None,
            scale=alt.Scale(domain=["paper", "corrected"], range=[chart.MUTED, chart.SERIES[0]]),
            legend=alt.Legend(orient="top"),
        )
    )
    numbers = base.mark_text(dy=-6, fontSize=10, color=chart.INK).encode(text="left:Q")
    return chart.styled(alt.layer(bars, numbers).properties(width=460, height=180), result.figures["waterfall"].alt)


def stability(result: StudyResult) -> Any:
    """ξ̂ against the quantile of the threshold, with its bootstrap band."""
    frame = result.frames()["scan"].dropna(subset=["xi"])
    names = frame["model"] if "group" not in frame else frame["group"] + ", " + frame["model"]
    frame = frame.assign(tail=names)
    anchor = pd.DataFrame({"q": [result.parameters["quantile"]]})

    def panel(rows: pd.DataFrame) -> Any:
        x = alt.X("quantile:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=4))
        return alt.layer(
            alt.Chart(rows.dropna(subset=["low", "high"]))
            .mark_area(color=chart.SERIES[0], opacity=0.18)
            .encode(x=x, y=alt.Y("low:Q", title=None), y2="high:Q"),
            alt.Chart(rows).mark_line(color=chart.SERIES[0]).encode(x=x, y="xi:Q"),
            chart.brushed(
                alt.Chart(rows)
                .mark_point(filled=True, size=18, color=chart.SERIES[0])
                .encode(x=x, y="xi:Q", tooltip=["tail", "quantile", "n_exc", "xi", "low", "high"]),
                "x",
            ),
            alt.Chart(anchor).mark_rule(color=chart.INK, strokeDash=[4, 3]).encode(x="q:Q"),
        )

    return _panels(result, "stability", frame, panel)


def qq(result: StudyResult) -> Any:
    """Excesses against the quantiles of their fitted law."""
    frame = result.frames()["qq"]

    def panel(rows: pd.DataFrame) -> Any:
        line = pd.DataFrame({"x": [0.0, float(rows["fitted"].max())]}).assign(y=lambda f: f["x"])
        return alt.layer(
            alt.Chart(line).mark_line(color=chart.MUTED, strokeWidth=1).encode(x=alt.X("x:Q", title=None), y="y:Q"),
            alt.Chart(rows)
            .mark_point(size=14, filled=True, color=chart.SERIES[0], opacity=0.9)
            .encode(
                x=alt.X("fitted:Q", title=None, axis=alt.Axis(tickCount=4)),
                y=alt.Y("observed:Q", title=None, axis=alt.Axis(tickCount=4)),
                tooltip=["tail", "fitted", "observed"],
            ),
        )

    return _panels(result, "qq", frame, panel)


def mean_excess(result: StudyResult) -> Any:
    """Mean excess over rising thresholds."""
    frame = result.frames()["mean-excess"]

    def panel(rows: pd.DataFrame) -> Any:
        line = (
            alt.Chart(rows)
            .mark_line(color=chart.SERIES[0], point=alt.OverlayMarkDef(size=14))
            .encode(
                x=alt.X("threshold:Q", title=None, axis=alt.Axis(tickCount=4)),
                y=alt.Y("mean_excess:Q", title=None, axis=alt.Axis(tickCount=4)),
                tooltip=["tail", "threshold", "mean_excess"],
            )
        )
        return alt.layer(line)

    return _panels(result, "mean-excess", frame, panel)


def power(result: StudyResult) -> Any:
    """Power of P1 and P2 together against the number of exceedances."""
    frame = result.frames()["power"]
    frame = frame.assign(effect=[f"difference {effect:g}" for effect in frame["effect"]])
    order = list(dict.fromkeys(frame["effect"]))
    lines = (
        alt.Chart(frame)
        .mark_line(point=alt.OverlayMarkDef(size=28))
        .encode(
            x=alt.X("n_exc:Q", title="exceedances of each model", scale=alt.Scale(type="log")),
            y=alt.Y("power:Q", title="probability that P1 and P2 pass", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "effect:N", sort=order, title=None, scale=alt.Scale(domain=order, range=list(chart.SERIES))
            ),
            strokeDash=alt.StrokeDash("effect:N", sort=order, title=None, scale=alt.Scale(domain=order)),
            tooltip=["effect", "n_exc", "power"],
        )
        .properties(width=460, height=200)
    )
    return chart.styled(alt.layer(lines), result.figures["power"].alt)


def _panels(result: StudyResult, name: str, frame: pd.DataFrame, panel: Any) -> Any:
    """One small chart a tail, the first twelve; a sentence where there is none."""
    tails = list(dict.fromkeys(frame["tail"]))[:MOST_PANELS]
    if not tails:
        return chart.sentence(result.figures[name].alt)
    charts = []
    for tail in tails:
        shown = visible(tail)
        title = alt.TitleParams(
            shown if len(shown) <= 34 else shown[:33] + "…",
            fontSize=11,
            fontWeight="normal",
            anchor="start",
            color=chart.INK,
        )
        charts.append(panel(frame[frame["tail"] == tail]).properties(width=165, height=95, title=title))
    return chart.styled(chart.panels(charts, COLUMNS), result.figures[name].alt)
