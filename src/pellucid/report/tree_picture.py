"""A decision tree of a summary as `plot.TreeDisplay`: its upper levels.

Invariant: a chart has at most `WIDEST` leaves; a branch that is cut off shows how many splits follow.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from pellucid import plot
from pellucid.draw.label_text import clean
from pellucid.draw.number import number
from pellucid.draw.tree_chart import Node
from pellucid.report.pictures import figure

DEEPEST, WIDEST = 4, 16


def tree(found: dict[str, Any], classes: list[str], table: bool = True) -> Markup:
    """The upper levels of a tree; the path of one row is bold if it is known."""
    nodes = {node["id"]: node for node in found["nodes"]}
    if not nodes:
        return Markup("")
    order = _drawn(nodes, found["nodes"][0]["id"])
    places = {i: k for k, i in enumerate(order)}
    ends = [node["value"][0] for node in nodes.values() if node.get("value")]
    boxes = [_box(nodes[i], nodes, places, classes, ends) for i in order]
    path = [places[i] for i in found.get("way") or () if i in places]
    note = f"Bold: path of row {found['row']}." if path and "row" in found else ""
    display = plot.TreeDisplay.from_nodes(boxes, classes, path=path, note=note)
    return Markup('<div class="tree scroll">{}</div>').format(figure(display, table))


def _inner(node: dict[str, Any]) -> bool:
    return node.get("left") is not None and node.get("right") is not None


def _drawn(nodes: dict[Any, dict[str, Any]], root: Any) -> list[Any]:
    """Nodes level by level while they fit; parents come before their children."""
    out, level, ended = [root], [root], 0
    for _ in range(DEEPEST):
        inner = [nodes[i] for i in level if _inner(nodes[i])]
        below = [child for node in inner for child in (node["left"], node["right"])]
        ended += len(level) - len(inner)
        if not below or ended + len(below) > WIDEST:
            break
        out += below
        level = below
    return out


def _box(
    node: dict[str, Any],
    nodes: dict[Any, dict[str, Any]],
    places: dict[Any, int],
    classes: list[str],
    ends: list[float],
) -> Node:
    split = _inner(node) and node["left"] in places
    hidden = 0 if split else _splits_below(node, nodes)
    text = _condition(node) if split else _prediction(node)
    return Node(
        text=text, samples=float(node["rows"]), shares=_shares(node, classes, ends),
        left=places[node["left"]] if split else -1, right=places[node["right"]] if split else -1,
        hidden=hidden,
    )  # fmt: skip


def _splits_below(node: dict[str, Any], nodes: dict[Any, dict[str, Any]]) -> int:
    """The number of splits in a subtree, as far as the summary has them."""
    if not _inner(node):
        return int(bool(node.get("cut")))
    below = (nodes[node[side]] for side in ("left", "right") if node[side] in nodes)
    return 1 + sum(_splits_below(child, nodes) for child in below)


def _condition(node: dict[str, Any]) -> str:
    return clean(node.get("test") or "").replace("<=", "≤")


def _prediction(node: dict[str, Any]) -> str:
    if node.get("label") is not None:
        return clean(node["label"])
    return number(node["value"][0], 4) if node.get("value") else ""


def _shares(node: dict[str, Any], classes: list[str], ends: list[float]) -> tuple[float, ...]:
    """Class shares; for regression the position between the lowest and the highest value of the tree."""
    value = node.get("value") or []
    if classes and len(value) == len(classes) and sum(value) > 0:
        return tuple(max(0.0, v) / sum(value) for v in value)
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    return ((value[0] - low) / (high - low),) if value and high > low and not classes else ()
