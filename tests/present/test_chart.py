"""Names in charts: each thing keeps a name of its own, and none takes the drawing with it."""

from xml.etree import ElementTree as ET

import altair as alt
import pandas as pd
import pytest

from analysis.present import chart

SVG = "{http://www.w3.org/2000/svg}"
OF_OBJECTS = ["constructor", "toString", "valueOf", "hasOwnProperty", "__proto__", "isPrototypeOf"]


def drawn(names):
    """Stacked bars by name with a legend, as several of our figures are."""
    frame = pd.DataFrame([{"name": name, "kind": kind, "n": 1} for name in names for kind in ("gained", "lost")])
    bars = alt.Chart(frame).mark_bar().encode(y="name:N", x="n:Q", color="kind:N", tooltip=["name", "n"])
    return ET.fromstring(chart.svg(chart._seen(chart.styled(alt.layer(bars), "Bars.").to_dict())))


def bars(root):
    return [
        node for node in root.iter(f"{SVG}path") if node.get("d", "").startswith("M0,0h") or "h" in node.get("d", "")
    ]


@pytest.mark.parametrize("name", OF_OBJECTS)
def test_a_name_of_javascript_is_a_name(name):
    usual, other = drawn(["plain", "b"]), drawn([name, "b"])
    assert len(bars(other)) == len(bars(usual))
    assert name in [(node.text or "").strip("\xa0") for node in other.iter(f"{SVG}text")]


def test_names_that_are_cut_alike_stay_apart():
    one, two = "\U0001f680 coding hard set A", "\U0001f680 coding hard set B"
    texts = [node.text for node in drawn([one, two]).iter(f"{SVG}text")]
    assert len({text for text in texts if text.startswith("\U0001f680")}) == 2
    assert len(set(chart.named(["x" * 90 + "a", "x" * 90 + "b"], width=80).values())) == 2


def test_what_looks_alike_stays_apart_and_what_can_stay_stays():
    assert chart.named(["a\u202e", "a", "b"]) == {"a\u202e": "a (2)", "a": "a", "b": "b"}
    assert chart.named(["bar\u202e", "bar"])["bar"] == "bar"


def test_sentences_and_titles_are_whole():
    text = "\U0001f680 " + "words " * 20
    spec = {"description": text, "data": {"values": [{"name": text}]}, "encoding": {"x": {"title": text}}}
    seen = chart._seen(spec)
    assert seen["description"] == seen["encoding"]["x"]["title"] == text
    assert len(seen["data"]["values"][0]["name"]) == chart.MOST_ASTRAL
