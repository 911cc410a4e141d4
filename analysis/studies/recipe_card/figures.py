"""The audit as charts: views of the result, nothing is computed here that a table does not hold."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pandas as pd

from analysis.present import chart
from analysis.present.format import visible
from analysis.results import StudyResult

from .rule_tables import RULE_NAMES
from .units import CellAudit

MOST_ROWS = 60
MOST_PANELS = 12
RULE_ORDER = [name for name, _ in RULE_NAMES.values()]


def bounds(result: StudyResult) -> Any:
    """k/N of every calibration cell with its one-sided bounds against the budget."""
    budget = result.parameters["failure_budget"]
    units = [unit for unit in result.units if unit.audit == "calibration" and unit.n]
    units = sorted(units, key=lambda unit: -(unit.upper or 0))[:MOST_ROWS]
    names = chart.named([unit.name for unit in units], width=80)
    frame = pd.DataFrame(
        {
            "cell": [names[unit.name] for unit in units],
            "rate": [unit.rate for unit in units],
            "lower": [unit.lower for unit in units],
            "upper": [unit.upper for unit in units],
            "status": [unit.status for unit in units],
            "counts": [f"{unit.k}/{unit.n}" for unit in units],
            "budget": budget,
        }
    )
    shown = [status for status in chart.STATUS if status in set(frame["status"])]
    colour = alt.Color(
        "status:N",
        title="status",
        scale=alt.Scale(domain=shown, range=[chart.STATUS[status][0] for status in shown]),
        legend=alt.Legend(orient="top", symbolLimit=0),
    )
    shape = alt.Shape(
        "status:N",
        title="status",
        scale=alt.Scale(domain=shown, range=[chart.STATUS[status][1] for status in shown]),
    )
    y = alt.Y("cell:N", sort=None, title=None, axis=alt.Axis(grid=False))
    base = alt.Chart(frame)
    layers = alt.layer(
        base.mark_rule(strokeWidth=2).encode(
            y=y,
            x=alt.X("lower:Q", title="rerun failure rate", scale=alt.Scale(domain=[0, 1])),
            x2="upper:Q",
            color=colour,
            tooltip=["cell", "counts", "rate", "lower", "upper", "status"],
        ),
        chart.brushed(
            base.mark_point(filled=True, size=55).encode(
                y=y,
                x="rate:Q",
                color=colour,
                shape=shape,
                tooltip=["cell", "counts", "rate", "lower", "upper", "status"],
            ),
            "y",
        ),
        base.mark_text(align="left", dx=6, fontSize=10, color=chart.MUTED).encode(y=y, x="upper:Q", text="counts:N"),
        base.mark_rule(color=chart.INK, strokeDash=[4, 3]).encode(x="mean(budget):Q"),
    ).properties(width=460, height=max(14 * len(units), 40))
    return chart.styled(layers, result.figures["bounds"].alt)


def reruns(result: StudyResult) -> Any:
    """Histogram of the reruns of the widest cells, with the bar, the mean and the Gaussian it would imply."""
    tau = result.parameters["tau"]
    units = [unit for unit in result.units if unit.audit == "calibration" and unit.sd is not None]
    units = sorted(units, key=lambda unit: (-(unit.sd or 0), unit.name))[:MOST_PANELS]
    bins = result.frames()["reruns"]
    panels = [_panel(unit, bins[bins["cell"] == unit.name], tau) for unit in units]
    if not panels:
        return chart.sentence(result.figures["reruns"].alt)
    rows = [alt.hconcat(*panels[i : i + 3], spacing=14) for i in range(0, len(panels), 3)]
    return chart.styled(alt.vconcat(*rows, spacing=10), result.figures["reruns"].alt)


def _panel(unit: CellAudit, bins: pd.DataFrame, tau: float) -> Any:
    low, high = float(bins["low"].min()), float(bins["high"].max())
    left, right = min(low, tau) - 0.03, max(high, tau) + 0.03
    width = float((bins["high"] - bins["low"]).iloc[0])
    scale = alt.Scale(domain=[left, right], nice=False)
    layers = [
        alt.Chart(bins)
        .mark_bar(color=chart.SERIES[0], opacity=0.85)
        .encode(
            x=alt.X("low:Q", scale=scale, title=None, axis=alt.Axis(grid=False, tickCount=4)),
            x2="high:Q",
            y=alt.Y("reruns:Q", title=None, axis=alt.Axis(tickCount=3)),
            y2=alt.datum(0),
            tooltip=["cell", "low", "high", "reruns"],
        ),
        alt.Chart(pd.DataFrame({"x": [tau]}))
        .mark_rule(color=chart.FAIL_ZONE, strokeDash=[4, 3])
        .encode(x=alt.X("x:Q", scale=scale)),
        alt.Chart(pd.DataFrame({"x": [unit.mean]})).mark_rule(color=chart.INK).encode(x=alt.X("x:Q", scale=scale)),
    ]
    if unit.sd:
        peak = unit.n * width / (unit.sd * math.sqrt(2 * math.pi))
        curve = pd.DataFrame({"x": [left + (right - left) * i / 80 for i in range(81)]})
        curve["y"] = [peak * math.exp(-(((x - unit.mean) / unit.sd) ** 2) / 2) for x in curve["x"]]
        layers.append(
            alt.Chart(curve)
            .mark_line(color=chart.MUTED, strokeWidth=1.2, clip=True)
            .encode(x=alt.X("x:Q", scale=scale), y="y:Q")
        )
    name = visible(unit.name)
    title = alt.TitleParams(
        [name if len(name) <= 34 else name[:33] + "…", f"{unit.k} of {unit.n} below the bar"],
        fontSize=11,
        fontWeight="normal",
        anchor="start",
        color=chart.INK,
    )
    return alt.layer(*layers).properties(width=170, height=78, title=title)


def held_out(result: StudyResult) -> Any:
    """Held-out failure rates of the shipped splits, rule by rule, with their means and the zone over budget."""
    budget = result.parameters["failure_budget"]
    frame = result.frames()["held-out"]
    if frame.empty:
        return chart.sentence(result.figures["held-out"].alt)
    total = frame.groupby("rule")["splits"].transform("sum")
    frame = frame.assign(share=frame["splits"] / total, weighted=frame["rate"] * frame["splits"] / total)
    means = frame.groupby("rule", as_index=False)["weighted"].sum().rename({"weighted": "mean"}, axis="columns")
    order = [rule for rule in RULE_ORDER if rule in set(frame["rule"])]
    y = alt.Y("rule:N", sort=order, title=None, axis=alt.Axis(grid=False))
    right = min(1.0, max(2.5 * budget, float(frame["rate"].max()) + 0.05))
    x = alt.X("rate:Q", title="held-out failure rate", scale=alt.Scale(domain=[-0.03, right], nice=False))
    zone = pd.DataFrame({"from": [budget], "to": [right]})
    layers = alt.layer(
        alt.Chart(zone)
        .mark_rect(color=chart.FAIL_ZONE, opacity=0.10)
        .encode(x=alt.X("from:Q", title="held-out failure rate"), x2="to:Q"),
        alt.Chart(frame)
        .mark_circle(color=chart.SERIES[0], opacity=0.75)
        .encode(
            x=x,
            y=y,
            size=alt.Size(
                "share:Q",
                title="share of shipped splits",
                scale=alt.Scale(range=[4, 420]),
                legend=alt.Legend(orient="top"),
            ),
            tooltip=["rule", "rate", "splits"],
        ),
        alt.Chart(means)
        .mark_point(shape="diamond", filled=True, size=110, color=chart.INK, opacity=1)
        .encode(x="mean:Q", y=y),
    ).properties(width=460, height=170)
    return chart.styled(layers, result.figures["held-out"].alt)


def evidence(result: StudyResult) -> Any:
    """Cells shipped against audit size, one line a rule."""
    frame = result.frames()["evidence"]
    if frame.empty:
        return chart.sentence(result.figures["evidence"].alt)
    lines = (
        alt.Chart(frame)
        .mark_line(point=alt.OverlayMarkDef(size=28))
        .encode(
            x=alt.X("size:Q", title="audit size N′"),
            y=alt.Y("shipped:Q", title="cells shipped"),
            color=alt.Color(
                "rule:N",
                sort=RULE_ORDER,
                title=None,
                scale=alt.Scale(domain=RULE_ORDER, range=list(chart.SERIES)),
                legend=alt.Legend(orient="right", symbolLimit=0),
            ),
            strokeDash=alt.StrokeDash("rule:N", sort=RULE_ORDER, title=None, scale=alt.Scale(domain=RULE_ORDER)),
            shape=alt.Shape("rule:N", sort=RULE_ORDER, title=None, scale=alt.Scale(domain=RULE_ORDER)),
            tooltip=["rule", "size", "shipped"],
        )
        .properties(width=460, height=230)
    )
    return chart.styled(alt.layer(lines), result.figures["evidence"].alt)
