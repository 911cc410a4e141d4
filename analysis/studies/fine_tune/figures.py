"""The comparison as charts: views of the result's tables."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from analysis.present import chart
from analysis.results import StudyResult

MOST_SLICES = 30
GAINED, LOST = chart.SERIES[0], chart.SERIES[1]


def forest(result: StudyResult) -> Any:
    """Paired differences with their intervals, both methods, and the margin."""
    frame = result.frames()["differences"]
    names = chart.named(frame["baseline"])
    rows = [
        {"baseline": names[row["baseline"]], "method": method, "difference": row["mean_diff"], **row[method]}
        for _, row in frame.iterrows()
        for method in ("paper", "corrected")
        if isinstance(row[method], dict)
    ]
    if not rows:
        return chart.sentence(result.figures["forest"].alt)
    decision = result.parameters["decision"]
    margin = float(decision["primary_metric"]["margin"]) if decision else 0.0
    return chart.styled(_intervals(pd.DataFrame(rows), "baseline", margin, "method"), result.figures["forest"].alt)


def slices(result: StudyResult) -> Any:
    """Slices with the intervals that hold together, the first thirty."""
    frame = result.frames()["slices"].head(MOST_SLICES)
    names = chart.named(frame["slice"])
    rows = [
        {"slice": names[row["slice"]], "method": "together", "difference": row["mean_diff"], **row["together"]}
        for _, row in frame.iterrows()
        if isinstance(row["together"], dict)
    ]
    if not rows:
        return chart.sentence(result.figures["slices"].alt)
    return chart.styled(_intervals(pd.DataFrame(rows), "slice", 0.0, "method"), result.figures["slices"].alt)


def cost_latency(result: StudyResult) -> Any:
    """Cost per 1,000 successes against p95, a point a system."""
    frame = result.frames()["operations"].dropna(subset=["p95", "cost"])
    if frame.empty:
        return chart.sentence(result.figures["cost-latency"].alt)
    frame = frame[["system", "p95", "cost"]].assign(system=frame["system"].map(chart.named(frame["system"])))
    base = alt.Chart(frame).encode(
        x=alt.X("p95:Q", title="p95 latency, s", scale=alt.Scale(zero=True)),
        y=alt.Y("cost:Q", title="cost per 1,000 successes", scale=alt.Scale(zero=True)),
        tooltip=["system", "p95", "cost"],
    )
    points = base.mark_point(filled=True, size=80, color=GAINED)
    names = base.mark_text(align="left", dx=8, fontSize=11, color=chart.INK).encode(text="system:N")
    return chart.styled(alt.layer(points, names).properties(width=420, height=200), result.figures["cost-latency"].alt)


def judge_length(result: StudyResult) -> Any:
    """Verdicts for the candidate by how much longer its answer is."""
    frame = result.frames()["judge-length"]
    if frame.empty:
        return chart.sentence(result.figures["judge-length"].alt)
    frame = frame.assign(
        span=[f"{low:.0f} to {high:.0f}" for low, high in zip(frame["low"], frame["high"], strict=True)]
    )
    bars = (
        alt.Chart(frame)
        .mark_bar(color=GAINED)
        .encode(
            x=alt.X(
                "span:N", sort=None, title="characters longer than the baseline's answer", axis=alt.Axis(labelAngle=0)
            ),
            y=alt.Y("share:Q", title="verdicts for the candidate", scale=alt.Scale(domain=[0, 1])),
            tooltip=["span", "n", "wins", "share"],
        )
    )
    half = alt.Chart(pd.DataFrame({"y": [0.5]})).mark_rule(color=chart.INK, strokeDash=[4, 3]).encode(y="y:Q")
    return chart.styled(alt.layer(bars, half).properties(width=460, height=180), result.figures["judge-length"].alt)


def flips(result: StudyResult) -> Any:
    """Items gained and lost against every baseline."""
    frame = result.frames()["flips"]
    if frame.empty:
        return chart.sentence(result.figures["flips"].alt)
    frame = frame.assign(baseline=frame["baseline"].map(chart.named(frame["baseline"])))
    bars = (
        alt.Chart(frame)
        .mark_bar()
        .encode(
            x=alt.X("items:Q", title="items"),
            y=alt.Y("baseline:N", sort=None, title=None),
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=["gained", "lost"], range=[GAINED, LOST]),
                legend=alt.Legend(orient="top"),
            ),
            tooltip=["baseline", "kind", "items"],
        )
    )
    height = max(60, 30 * frame["baseline"].nunique())
    return chart.styled(alt.layer(bars).properties(width=420, height=height), result.figures["flips"].alt)


def _intervals(frame: pd.DataFrame, name: str, margin: float, by: str) -> Any:
    """A line and a point per row, with the margin as a rule."""
    order = list(dict.fromkeys(frame[name]))
    y = alt.Y(f"{name}:N", sort=order, title=None)
    offset = alt.YOffset(f"{by}:N")
    color = alt.Color(
        f"{by}:N",
        title=None,
        scale=alt.Scale(domain=list(dict.fromkeys(frame[by])), range=[chart.MUTED, GAINED][-frame[by].nunique() :]),
        legend=alt.Legend(orient="top") if frame[by].nunique() > 1 else None,
    )
    base = alt.Chart(frame)
    lines = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="candidate minus baseline"), x2="high:Q", y=y, yOffset=offset, color=color
    )
    points = chart.brushed(
        base.mark_point(filled=True, size=60).encode(
            x="difference:Q", y=y, yOffset=offset, color=color, tooltip=[name, by, "difference", "low", "high"]
        ),
        "x",
    )
    rule = alt.Chart(pd.DataFrame({"at": [margin]})).mark_rule(color=chart.INK, strokeDash=[4, 3]).encode(x="at:Q")
    height = max(60, 34 * len(order))
    return alt.layer(lines, points, rule).properties(width=420, height=height)
