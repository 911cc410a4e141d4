"""The judge's verdicts as tables: what survives the swap, position and length, and what people say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from analysis.inputs import Input
from analysis.present.format import level
from analysis.present.table import Table, TableColumn

if TYPE_CHECKING:
    from .comparison import Report

NO_JUDGE = "no judgements were given"
N_BINS = 5


def judge(found: Report) -> Table:
    """Verdicts in both orders: a win survives the swap or is undecided."""
    rows: list[tuple[Any, ...]] = []
    for j in found.evidence.judges:
        r, w, b = j.resolved, j.wins, j.bias
        if r is None or w is None or b is None:
            rows.append((j.name, j.n, j.n_both_orders, *(None,) * 11))
            continue
        rows.append(
            (
                j.name,
                j.n,
                j.n_both_orders,
                r.wins_b,
                r.wins_a,
                r.ties,
                r.undecided,
                r.failed,
                w.rate,
                _pair(w.low, w.high),
                w.p_value,
                {"k": b.consistent, "n": b.n},
                b.first_flips,
                b.second_flips,
            )
        )
    return Table(
        id="judge",
        title="The judge: verdicts that survive the swap of the answers.",
        columns=(
            TableColumn(key="judge", label="judge"),
            TableColumn(key="n", label="judged", kind="count", group="pairs"),
            TableColumn(key="both", label="both orders", kind="count", group="pairs"),
            TableColumn(key="wins", label="candidate", kind="count", group="verdict"),
            TableColumn(key="losses", label="baseline", kind="count", group="verdict"),
            TableColumn(key="ties", label="tie", kind="count", group="verdict"),
            TableColumn(key="undecided", label="undecided", kind="count", group="verdict"),
            TableColumn(key="failed", label="failed", kind="count", group="verdict"),
            TableColumn(key="rate", label="win rate", kind="prob"),
            TableColumn(key="interval", label=f"{level(found.params.level)} interval", kind="interval"),
            TableColumn(key="p", label="sign test p", kind="p_value"),
            TableColumn(key="consistent", label="consistent", kind="fraction"),
            TableColumn(key="first", label="first", kind="count", group="always the answer shown"),
            TableColumn(key="second", label="second", kind="count", group="always the answer shown"),
        ),
        rows=tuple(rows),
        notes=(
            "Undecided: the two orders disagree; it is not a tie. The win rate counts ties and undecided pairs as one half.",
            "A dash: no pair was judged in both orders, so that nothing survives a swap.",
        ),
        empty=NO_JUDGE,
    )


def calibration(found: Report) -> Table:
    """Length and human labels."""
    rows: list[tuple[Any, ...]] = []
    for j in found.evidence.judges:
        length, adjusted, kappa, corrected = j.length, j.adjusted, j.agreement, j.corrected
        rows.append(
            (
                j.name,
                None if length is None else {"k": length.longer_won, "n": length.n},
                None if length is None else length.accuracy,
                None if adjusted is None else adjusted.rate,
                None if adjusted is None else _pair(adjusted.low, adjusted.high),
                j.n_given,
                None if kappa is None else kappa.coefficient,
                None if kappa is None else _pair(kappa.low, kappa.high),
                None if corrected is None else corrected.estimate,
                None if corrected is None else _pair(corrected.low, corrected.high),
                _note(j.n_given, j.n_labels, kappa is None, adjusted.reason if adjusted is not None else None),
            )
        )
    sure = level(found.params.level)
    return Table(
        id="judge-calibration",
        title="The judge against length and against people.",
        columns=(
            TableColumn(key="judge", label="judge"),
            TableColumn(key="longer", label="pairs", kind="fraction", group="the longer answer won"),
            TableColumn(key="longer_share", label="share", kind="share", group="the longer answer won"),
            TableColumn(key="adjusted", label="win rate", kind="prob", group="at equal lengths"),
            TableColumn(key="adjusted_interval", label=sure, kind="interval", group="at equal lengths"),
            TableColumn(key="labels", label="labels", kind="count", group="people"),
            TableColumn(key="kappa", label="kappa", kind="number", group="people"),
            TableColumn(key="kappa_interval", label=sure, kind="interval", group="people"),
            TableColumn(key="corrected", label="win rate", kind="prob", group="corrected by people"),
            TableColumn(key="corrected_interval", label=sure, kind="interval", group="corrected by people"),
            TableColumn(key="note", label="note", kind="text"),
        ),
        rows=tuple(rows),
        notes=(
            "A judge that a rule of length alone would match has shown nothing about quality. Corrected: prediction-powered by the labels, which "
            "must be a random sample of the pairs.",
        ),
        empty=NO_JUDGE,
    )


def lengths(found: Report, judgements: Input | None) -> Table:
    """Wins by difference of length, for the chart."""
    rows: list[tuple[Any, ...]] = []
    if judgements is not None and {"len_a", "len_b"} <= set(judgements.frame.columns):
        frame = judgements.frame.dropna(subset=["len_a", "len_b"])
        frame = frame[frame["winner"].isin(["a", "b"])]
        if len(frame) >= N_BINS:
            gap = frame["len_b"] - frame["len_a"]
            bins = pd.qcut(gap, N_BINS, duplicates="drop")
            for span, part in frame.groupby(bins, observed=True):
                wins = int((part["winner"] == "b").sum())
                rows.append((float(span.left), float(span.right), len(part), wins, wins / len(part)))
    return Table(
        id="judge-length",
        title="Verdicts for the candidate by how much longer its answer is.",
        columns=(
            TableColumn(key="low", label="from", kind="number"),
            TableColumn(key="high", label="to", kind="number"),
            TableColumn(key="n", label="verdicts", kind="count"),
            TableColumn(key="wins", label="for the candidate", kind="count"),
            TableColumn(key="share", label="share", kind="share"),
        ),
        rows=tuple(rows),
        empty=NO_JUDGE if not found.evidence.judges else "the judgements have no lengths",
    )


def _note(given: int, labels: int, no_kappa: bool, reason: str | None) -> str | None:
    parts = [] if given else ["judge not calibrated: no human labels of its pairs"]
    if given and not labels:
        parts.append(f"{given:,} labels, none of a pair with verdicts in both orders")
    if labels and no_kappa:
        parts.append("kappa is not defined: too few labels, or all the same")
    if reason:
        parts.append(reason)
    return "; ".join(parts) or None


def _pair(low: float | None, high: float | None) -> dict[str, float] | None:
    return None if low is None or high is None else {"low": float(low), "high": float(high)}
