"""What the papers print against what comes out: every row of data/published, recomputed."""

from __future__ import annotations

import math
import re

import pytest

from tests.studies import published
from tests.studies.published import COLUMNS, DISPUTED, STUDIES, Value

WRITE = "`python -m tests.studies.published` writes data/published anew: read the difference before you keep it"
ROWS = {slug: published.read(published.path(slug)) for slug in STUDIES}
PRINTED = re.compile(
    r"(?P<relation>[<>≤≥])?\s*(?P<about>≈)?\s*(?P<sign>[+−])?\$?(?P<number>[\d,]*\.?\d+)\s*(?P<unit>%|pt|s|×)?"
)
RANGE = re.compile(r"(\S+) to (\S+)")


def numbers(text: str) -> tuple[float, float] | None:
    """One number, or the two ends of a range, as smallest and largest; None for words."""
    parts = RANGE.fullmatch(text)
    try:
        low, high = (float(part) for part in (parts.groups() if parts else (text, text)))
    except ValueError:
        return None
    return low, high


def agrees(printed: str, ours: str) -> bool:
    """Whether ours, rounded to the digits that are printed, is what is printed; words must be the same words.

    A range agrees where a number of it does. Percentages and points are shares here. The trailing zeros of an approximate number,
    as in ≈ 950 and 30×, are no digits.
    """
    found, ends = PRINTED.fullmatch(printed), numbers(ours)
    if found is None or ends is None:
        return printed == ours
    number = found["number"].replace(",", "")
    value = float(number) * (-1 if found["sign"] == "−" else 1)
    low, high = (end * (100 if found["unit"] in ("%", "pt") else 1) for end in ends)
    if found["relation"]:
        return {"<": high < value, "≤": high <= value, ">": low > value, "≥": low >= value}[found["relation"]]
    digits = len(number.partition(".")[2])
    if "." not in number and (found["about"] or found["unit"] == "×"):
        digits = len(number.rstrip("0")) - len(number)
    half = 0.5 * 10.0**-digits * (1 + 1e-9)
    return low <= value + half and high >= value - half


def same(ours: str, value: Value) -> bool:
    return math.isclose(float(ours), value, rel_tol=1e-9) if isinstance(value, float) else ours == str(value)


@pytest.mark.parametrize(
    ("printed", "ours", "expected"),
    [
        (".038", "0.03828", True),
        (".038", "0.03851", False),
        ("1.000", "1.0", True),
        ("12.3 %", "0.12345", True),
        ("12.3 %", "0.1236", False),
        ("+1.6 pt", "0.01645", True),
        ("−10.40", "-10.4043", True),
        ("−10.40", "10.4043", False),
        ("$4.65", "4.6512", True),
        ("1,570", "1570", True),
        ("1,570", "1569", False),
        ("≈ 950", "952", True),
        ("≈ 950", "957", False),
        ("950", "952", False),
        ("30×", "28.95 to 33.53", True),
        ("> +2.0 pt", "0.0197", False),
        ("> +2.0 pt", "0.0201", True),
        (".0852", "0.08505 to 0.08519", True),
        (".0853", "0.08505 to 0.08519", False),
        ("42 of 59", "42 of 59", True),
        ("k ≥ 8 of 59", "k ≥ 6 of 59", False),
    ],
)
def test_printed_forms(printed: str, ours: str, expected: bool) -> None:
    assert agrees(printed, ours) is expected


@pytest.mark.parametrize("slug", STUDIES)
def test_the_file_is_whole(slug: str) -> None:
    rows = ROWS[slug]
    assert {tuple(row) for row in rows} == {COLUMNS}
    assert len({row["id"] for row in rows}) == len(rows)
    assert all(row[name] for row in rows for name in COLUMNS), WRITE
    assert {row["agrees"] for row in rows} == {"yes", "no"}


@pytest.mark.parametrize("slug", STUDIES)
def test_ours_is_what_comes_out(slug: str) -> None:
    ours = published.recompute(slug)
    assert {row["id"] for row in ROWS[slug]} == ours.keys(), (
        "a row and its line in tests/studies/published.py come together"
    )
    differ = {row["id"]: (row["ours"], ours[row["id"]]) for row in ROWS[slug] if not same(row["ours"], ours[row["id"]])}
    assert not differ, WRITE


@pytest.mark.parametrize(("slug", "row"), [pytest.param(s, r, id=f"{s}-{r['id']}") for s in STUDIES for r in ROWS[s]])
def test_agreement_is_as_said(slug: str, row: dict[str, str]) -> None:
    assert agrees(row["published"], row["ours"]) is (row["agrees"] == "yes"), (
        f"{slug}, {row['place']}, {row['quantity']}: {row['published']} is printed, {row['ours']} comes out"
    )


@pytest.mark.parametrize("slug", STUDIES)
def test_disputed_points_are_those_of_the_report(slug: str) -> None:
    kept = published.read(published.path(slug, "_disputed"))
    assert {tuple(row) for row in kept} == {DISPUTED}
    assert [tuple(row.values()) for row in kept] == published.disputed(slug), WRITE
