"""A drawing made smaller without a visible change: what no picture shows goes, what repeats is written once."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from xml.etree import ElementTree as ET

CHART_MIME, CHART_SUFFIX = "application/vnd.gatebook.vega-lite+json", ".vl.json"
"""The type under which a drawing carries the chart it shows, and how the file of that chart ends: a site makes it live."""

_SVG = "http://www.w3.org/2000/svg"
_USED_BY = re.compile(r"url\(#([^)]+)\)")
_FRACTION = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?|-?\d+(?:\.\d+)?e-\d+")
_MOVE = re.compile(r"translate\(([^,()]+),([^,()]+)\)")
_GEOMETRY = ("d", "transform", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "dx", "dy", "r", "stroke-width")
_INHERITED = (
    "fill", "stroke", "stroke-width", "stroke-dasharray", "fill-opacity", "stroke-opacity",
    "text-anchor", "font-family", "font-size", "font-weight",
)  # fmt: skip
_UNSEEN = "M0,0h0v0h0Z"
_OFTEN = 3  # times that a shape stands before it is written once

ET.register_namespace("", _SVG)


def slim(drawing: str) -> str:
    """Cut an SVG drawing of Vega down to what is seen.

    Names for scripts and screen readers go (the picture has an alternative text as a whole), numbers are rounded to a
    hundredth of a pixel, properties that all children share move to their group, shapes that repeat become
    references, and ids are counted anew, so that they depend on the drawing alone.

    >>> slim('<svg xmlns="http://www.w3.org/2000/svg"><g class="a" aria-label="b"><path d="M0.1234,1"/></g></svg>')
    '<svg xmlns="http://www.w3.org/2000/svg"><path d="M0.12,1" /></svg>'
    """
    root = ET.fromstring(drawing)
    for node in root.iter():
        _strip(node)
    _prune(root)
    _count_ids(root)
    _refer(root)
    for node in list(root.iter(f"{{{_SVG}}}g")):
        _hoist(node)
    return ET.tostring(root, encoding="unicode")


def _strip(node: ET.Element) -> None:
    for name in [n for n in node.attrib if n in {"class", "role", "pointer-events"} or n.startswith("aria-")]:
        del node.attrib[name]
    if node.get("opacity") == "1":
        del node.attrib["opacity"]
    for name in _GEOMETRY:
        if name in node.attrib:
            node.set(name, _FRACTION.sub(_rounded, node.attrib[name]))
    if node.get("transform") == "translate(0,0)":
        del node.attrib["transform"]
    if node.tag == f"{{{_SVG}}}line":
        for name in [name for name in ("x1", "y1", "x2", "y2") if node.get(name) == "0"]:
            del node.attrib[name]


def _rounded(match: re.Match[str]) -> str:
    text = f"{float(match[0]):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _prune(node: ET.Element) -> None:
    """Drop shapes without an extent, and groups that hold nothing or say nothing."""
    kept: list[ET.Element] = []
    for child in node:
        _prune(child)
        if child.get("display") == "none" or (child.tag == f"{{{_SVG}}}path" and child.get("d") == _UNSEEN):
            continue
        if child.tag == f"{{{_SVG}}}g" and (not len(child) or not child.attrib):
            kept += list(child)
        else:
            kept.append(child)
    node[:] = kept


def _count_ids(root: ET.Element) -> None:
    names = {node.attrib["id"]: f"i{n}" for n, node in enumerate(root.findall(".//*[@id]"))}
    for node in root.iter():
        for key, value in node.attrib.items():
            if key == "id":
                node.set(key, names[value])
            elif "url(#" in value:
                node.set(key, _USED_BY.sub(lambda found: f"url(#{names.get(found[1], found[1])})", value))


def _refer(root: ET.Element) -> None:
    """Write a shape that stands often once, and move it into each place by reference."""
    paths = [node for node in root.iter(f"{{{_SVG}}}path") if _MOVE.fullmatch(node.get("transform", ""))]
    often = [d for d, n in Counter(node.attrib["d"] for node in paths).items() if n >= _OFTEN]
    names = {d: f"s{n}" for n, d in enumerate(often)}
    for node in paths:
        name = names.get(node.attrib["d"])
        place = _MOVE.fullmatch(node.attrib["transform"])
        if name is None or place is None:
            continue
        for key in ("d", "transform"):
            del node.attrib[key]
        node.tag = f"{{{_SVG}}}use"
        node.attrib = {"href": f"#{name}", "x": place[1], "y": place[2], **node.attrib}
    if names:
        shapes = ET.Element(f"{{{_SVG}}}defs")
        shapes.extend(ET.Element(f"{{{_SVG}}}path", {"id": name, "d": d}) for d, name in names.items())
        root.insert(0, shapes)


def _hoist(group: ET.Element) -> None:
    """Let runs of like children take from a group of their own what they share."""
    kept: list[ET.Element] = []
    for tag, run in itertools.groupby(group, key=lambda child: child.tag):
        children = list(run)
        shared = _shared(children) if len(children) >= _OFTEN and tag != f"{{{_SVG}}}g" else {}
        if not shared:
            kept += children
            continue
        for child in children:
            for name in shared:
                del child.attrib[name]
        inner = ET.Element(f"{{{_SVG}}}g", shared)
        inner.extend(children)
        kept.append(inner)
    group[:] = kept


def _shared(children: list[ET.Element]) -> dict[str, str]:
    first = children[0].attrib
    return {
        name: first[name]
        for name in _INHERITED
        if all(child.get(name) == first.get(name) for child in children) and name in first
    }
