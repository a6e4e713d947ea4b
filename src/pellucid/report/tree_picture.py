"""A decision tree as a drawing: questions in boxes, class bars in the leaves.

Invariant: every node that is drawn stands inside the picture and overlaps no other; below `DEEPEST`
levels or `WIDEST` leaves the rest is counted in words.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from pellucid.draw import svg
from pellucid.draw.number import number
from pellucid.draw.text import clean, escape
from pellucid.report.words import plural

DEEPEST, WIDEST = 4, 12
BOX, GAP, HIGH, LEVEL = 118, 10, 60, 98


def tree(found: dict[str, Any], classes: list[str]) -> Markup:
    """The upper levels of a tree; yes goes left, no goes right."""
    nodes = {node["id"]: node for node in found["nodes"]}
    if not nodes:
        return Markup("")
    root = found["nodes"][0]["id"]
    depth = _depth_that_fits(nodes, root)
    place: dict[Any, tuple[float, int]] = {}
    leaves = _place(nodes, root, 0, depth, place, [0])
    width = max(leaves * (BOX + GAP), 240)
    height = (1 + max(level for _, level in place.values())) * LEVEL
    parts = [_edge(nodes[i], place) for i in place] + [
        _node(nodes[i], *place[i], classes, i != root and level == depth)
        for i, (_, level) in place.items()
    ]
    hidden = len(nodes) - len(place)
    text = f"Decision tree with {plural(len(nodes), 'node')}, drawn to a depth of {depth}."
    picture = svg.element(
        "svg",
        svg.element("title", "Decision tree") + svg.element("desc", text) + "".join(parts),
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label="Decision tree",
        font_family="system-ui, sans-serif",
        font_size=11,
        fill="currentColor",
    )
    note = f'<p class="quiet">{plural(hidden, "further node")} below not drawn.</p>'
    return Markup(f'<div class="tree scroll">{picture}</div>{note if hidden else ""}')


def _inner(node: dict[str, Any]) -> bool:
    return node.get("left") is not None and node.get("right") is not None


def _depth_that_fits(nodes: dict[Any, dict[str, Any]], root: Any) -> int:
    """The deepest level with at most `WIDEST` leaves above or on it."""
    level, ended, depth = [root], 0, 0
    while depth < DEEPEST:
        below = [
            c for i in level if _inner(nodes[i]) for c in (nodes[i]["left"], nodes[i]["right"])
        ]
        ended += sum(not _inner(nodes[i]) for i in level)
        if not below or ended + len(below) > WIDEST:
            break
        level, depth = below, depth + 1
    return depth


def _place(
    nodes: dict[Any, dict[str, Any]],
    i: Any,
    level: int,
    depth: int,
    place: dict[Any, tuple[float, int]],
    used: list[int],
) -> int:
    """Leaves from left to right, parents above the middle of their children; returns leaves used."""
    node = nodes[i]
    if not _inner(node) or level == depth:
        place[i] = (used[0] * (BOX + GAP) + (BOX + GAP) / 2, level)
        used[0] += 1
        return used[0]
    for child in (node["left"], node["right"]):
        _place(nodes, child, level + 1, depth, place, used)
    place[i] = ((place[node["left"]][0] + place[node["right"]][0]) / 2, level)
    return used[0]


def _edge(node: dict[str, Any], place: dict[Any, tuple[float, int]]) -> str:
    x, level = place[node["id"]]
    out = []
    for child, word in ((node.get("left"), "yes"), (node.get("right"), "no")):
        if child in place and child is not None:
            a, below = place[child]
            y1, y2 = level * LEVEL + HIGH, below * LEVEL
            out.append(svg.segment(x, y1, a, y2, opacity="0.5"))
            at = (x + a) / 2 + (-14 if word == "yes" else 14)
            out.append(svg.label(at, (y1 + y2) / 2 + 4, word, text_anchor="middle", opacity="0.8"))
    return "".join(out)


def _node(node: dict[str, Any], x: float, level: int, classes: list[str], continues: bool) -> str:
    top, left = level * LEVEL, x - BOX / 2
    frame = svg.element(
        "rect", x=left, y=float(top) + 1, width=float(BOX), height=float(HIGH) - 2, rx=4,
        fill="none", stroke="currentColor", opacity="0.45",
    )  # fmt: skip
    first, second = _words(node)
    third = plural(int(node["rows"]), "row")
    third += " …" if node.get("cut") or (_inner(node) and continues) else ""
    em = BOX / 11 - 0.8
    title = svg.element("title", escape(f"{first} {second}, {third}".replace(" ,", ",")))
    lines = [
        svg.label(x, top + 15, first, em / 1.12, text_anchor="middle", font_weight="600"),
        svg.label(x, top + 29, second, em, text_anchor="middle") if second else "",
        svg.label(x, top + (43 if second else 32), third, em, text_anchor="middle", opacity="0.8"),
    ]
    return svg.group([title, frame, *lines, _bars(node, left, top + HIGH - 10, classes)])


def _words(node: dict[str, Any]) -> tuple[str, str]:
    """A question as its column and what is asked of it; a leaf as what it says."""
    if not _inner(node):
        return _says(node), ""
    asked, column = clean(node.get("test") or ""), clean(node.get("column") or "")
    if column and asked.startswith(column):
        return column, asked[len(column) :].strip().replace("<=", "≤")
    return asked, ""


def _says(node: dict[str, Any]) -> str:
    if node.get("label") is not None:
        return clean(node["label"])
    return number(node["value"][0], 4) if node.get("value") else ""


def _bars(node: dict[str, Any], left: float, top: float, classes: list[str]) -> str:
    """Shares of the classes side by side."""
    shares = node.get("value") or []
    total = sum(shares) if len(classes) > 1 and len(shares) == len(classes) else 0
    if not total:
        return ""
    out, at, whole = [], left + 5, BOX - 10
    for k, share in enumerate(shares):
        size = whole * share / total
        if size > 0.2:
            bar = svg.element("path", d=svg.rectangle_path(at, top, size, 5), fill="currentColor")
            out.append(svg.series_group(k, [bar]))
        at += size
    return "".join(out)
