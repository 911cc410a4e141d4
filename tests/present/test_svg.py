"""A drawing made smaller: everything that is seen is still there."""

import re
from xml.etree import ElementTree as ET

import altair as alt
import pandas as pd
import pytest

from analysis.present import chart
from analysis.present.svg import slim

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</text><script>alert(1)</script> & "quoted" <b>'


def around(body):
    return slim(f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{body}</svg>')


def inside(body):
    return re.sub(r"^<svg[^>]*>|</svg>$", "", around(body))


@pytest.fixture(scope="module")
def drawing():
    frame = pd.DataFrame({"x": range(40), "y": [i * i / 7 for i in range(40)], "kind": ["a", HOSTILE] * 20})
    points = alt.Chart(frame).mark_point(filled=True).encode(x="x:Q", y="y:Q", color="kind:N", tooltip=["x", "y"])
    spec = chart.styled(alt.layer(points), "Points.").to_dict()
    import vl_convert

    return vl_convert.vegalite_to_svg(spec)


def test_every_text_and_every_point_stays(drawing):
    before, after = ET.fromstring(drawing), ET.fromstring(slim(drawing))
    assert [node.text for node in after.iter(f"{SVG}text")] == [node.text for node in before.iter(f"{SVG}text")]
    assert HOSTILE in [node.text for node in after.iter(f"{SVG}text")]
    assert len(list(after.iter(f"{SVG}use"))) == 40
    assert len(slim(drawing)) < 0.4 * len(drawing)


def test_every_reference_has_its_target_and_every_id_is_one(drawing):
    root = ET.fromstring(slim(drawing))
    ids = [node.attrib["id"] for node in root.iter() if "id" in node.attrib]
    assert len(ids) == len(set(ids)) > 0
    used = re.findall(r'(?:url\(#|href="#)([^)"]+)', slim(drawing))
    assert set(used) <= set(ids)


def test_it_depends_on_the_drawing_alone(drawing):
    assert slim(drawing.replace("clip0", "clip17")) == slim(drawing.replace("clip0", "clip3"))


def test_numbers_are_rounded_to_a_hundredth_and_text_is_not():
    assert inside('<text x="1.23456" y="-0.0001">1.23456</text>') == '<text x="1.23" y="0">1.23456</text>'
    assert inside('<path d="M1e-7,2.0049A1,1,0,1,1,3.999,4" />') == '<path d="M0,2A1,1,0,1,1,4,4" />'


def test_what_is_shared_moves_to_a_group_of_its_own():
    lines = "".join(f'<line x2="{i}" stroke="red" />' for i in range(1, 4))
    shared = inside(f'<g fill="blue">{lines}<text>a</text></g>')
    moved = '<g stroke="red"><line x2="1" /><line x2="2" /><line x2="3" /></g>'
    assert shared == f'<g fill="blue">{moved}<text>a</text></g>'


def test_what_differs_stays_where_it_is():
    lines = '<line x2="1" stroke="red" /><line x2="2" stroke="blue" /><line x2="3" />'
    assert inside(f'<g fill="blue">{lines}</g>') == f'<g fill="blue">{lines}</g>'


def test_a_clip_keeps_its_name_and_its_user():
    clip = '<defs><clipPath id="clip9"><rect width="3" height="3" /></clipPath></defs><g clip-path="url(#clip9)"><rect width="5" height="5" /></g>'
    assert inside(clip) == clip.replace("clip9", "i0")


def test_nothing_that_is_not_seen_stays():
    assert (
        inside('<g class="x" aria-label="y" role="img"><g></g><path d="M0,0h0v0h0Z"/><path d="" display="none"/></g>')
        == ""
    )
