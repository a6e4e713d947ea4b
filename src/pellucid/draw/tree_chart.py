"""Decision tree from left to right: the upper branch is yes, the lower one no."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

from pellucid.draw import legend, svg
from pellucid.draw.axes import BOLD, MARGIN, Panel
from pellucid.draw.chart_settings import Look, Settings, with_note
from pellucid.draw.figure import describe, finish
from pellucid.draw.label_text import clean
from pellucid.draw.label_text import width as printed
from pellucid.draw.number import number
from pellucid.draw.scale import Band
from pellucid.errors import ParameterError

NARROW, WIDE = 130.0, 320.0  # a node is as wide as its text, within these
GAP = 44.0  # room for the branches behind a node
ROW, TALL = 50.0, 40.0  # height of a leaf's row, and of a node in it
DETAIL = 15.0  # what a second line of text adds to both
BAR = 7.0
SMALL = 11
MOST_ROWS = 120


@dataclass(frozen=True)
class Node:
    """A split with two children, or a leaf."""

    text: str
    samples: float
    shares: tuple[float, ...]  # lengths of the parts of its bar; they sum to at most 1
    left: int = -1  # index of the child for yes; -1 for a leaf
    right: int = -1
    hidden: int = 0  # splits below it that are not drawn
    detail: str = ""  # a second line, e.g. impurity and class counts


def tree(
    nodes: Sequence[Node],
    classes: Sequence[object] = (),
    *,
    path: Collection[int] = (),
    **look: Unpack[Look],
) -> str:
    """Nodes with their bars; node 0 is the root, children come after their parents.

    Parameters
    ----------
    nodes : splits and leaves.
    classes : names of the parts of the bars, for the legend; none for numbers.
    path : indices of the nodes that are drawn bold, e.g. the path of one row.
    """
    levels, rows = places(nodes)
    n_rows = sum(node.left < 0 for node in nodes)
    if n_rows > MOST_ROWS:
        raise ParameterError(
            f"The tree has {n_rows} leaves, but a chart can show at most {MOST_ROWS}. Lower max_depth."
        )
    longest = max(printed(clean(node.text)) for node in nodes) * svg.FONT
    second = max(printed(clean(node.detail)) for node in nodes) * SMALL
    box = min(max(longest * 1.04 + 16, second + 16, NARROW), WIDE)
    more = DETAIL if second else 0.0
    width = 2 * MARGIN + (max(levels) + 1) * (box + GAP) - GAP
    cut = sum(node.hidden for node in nodes)
    notes = (
        [f"{cut} {'split' if cut == 1 else 'splits'} below the last column not shown."]
        if cut
        else []
    )
    settings = replace(with_note(Settings(**look), *notes), width=max(round(width), 260))
    panel = _panel(settings, n_rows * (ROW + more), [clean(name) for name in classes])
    middle = [(levels[i] * (box + GAP), (rows[i] + 0.5) * (ROW + more)) for i in range(len(nodes))]
    digits = max(len(number(node.samples)) for node in nodes)
    marks = [legend.hatch_definitions(max(len(classes), 1))]
    for i, node in enumerate(nodes):
        marks += _branches(i, node, middle, box, path)
    for i, node in enumerate(nodes):
        marks.append(_box(node, *middle[i], (box, TALL + more), digits, i in path))
    facts = [f"{sum(node.left >= 0 for node in nodes)} splits", f"{n_rows} leaves"]
    names = [clean(name) for name in classes]
    columns = ["node", "text", "samples", "yes", "no", *(["detail"] if more else [])]
    table = [
        (i, clean(n.text), n.samples, n.left, n.right, *([clean(n.detail)] if more else []))
        for i, n in enumerate(nodes)
    ]
    return finish(panel, marks, describe("Tree", facts, names), columns, table)


def places(nodes: Sequence[Node]) -> tuple[list[int], list[float]]:
    """Column and row of every node: leaves one below the other, a parent between its children."""
    levels, rows = [0] * len(nodes), [0.0] * len(nodes)
    waiting, used, order = [0], 0, []
    while waiting:
        i = waiting.pop()
        order.append(i)
        if nodes[i].left < 0:
            rows[i] = float(used)
            used += 1
            continue
        for child in (nodes[i].right, nodes[i].left):
            levels[child] = levels[i] + 1
            waiting.append(child)
    for i in reversed(order):
        if nodes[i].left >= 0:
            rows[i] = (rows[nodes[i].left] + rows[nodes[i].right]) / 2
    return levels, rows


def _panel(settings: Settings, height: float, names: Sequence[str]) -> Panel:
    parts: list[str] = []
    y = MARGIN
    if settings.title:
        y += svg.TITLE_FONT
        em = (settings.width - 2 * MARGIN) / svg.TITLE_FONT
        parts.append(
            svg.label(
                MARGIN, y, clean(settings.title), em, font_weight="600", font_size=svg.TITLE_FONT
            )
        )
        y += 4
    keys = [legend.Key(name, i, "fill") for i, name in enumerate(names)]
    y = legend.draw(parts, keys, settings.width - 2 * MARGIN, MARGIN, y) + 4
    bottom = y + height
    if settings.note:
        bottom += svg.LINE
        em = (settings.width - 2 * MARGIN) / svg.FONT
        parts.append(svg.label(MARGIN, bottom, clean(settings.note), em, opacity="0.8"))
    x_scale, y_scale = Band(1, 0.0, float(settings.width)), Band(1, 0.0, height)
    plot_width = settings.width - 2 * MARGIN
    return Panel(settings, x_scale, y_scale, MARGIN, y, plot_width, height, bottom + MARGIN, parts)


def _branches(
    i: int, node: Node, middle: Sequence[tuple[float, float]], box: float, path: Collection[int]
) -> list[str]:
    marks = []
    children = ((node.left, "yes"), (node.right, "no")) if node.left >= 0 else ()
    for child, answer in children:
        bold = i in path and child in path
        x, y = middle[i][0] + box, middle[i][1]
        x2, y2 = middle[child]
        d = f"M{x:.1f} {y:.1f}h{GAP * 0.3:.1f}V{y2:.1f}H{x2:.1f}"
        pen = {"stroke_width": "3" if bold else "1", "opacity": None if bold else "0.6"}
        marks.append(svg.element("path", d=d, stroke="currentColor", fill="none", **pen))
        marks.append(
            svg.label(
                x2 - 4, y2 - 4, answer, text_anchor="end", font_size=SMALL,
                font_weight="600" if bold else None,
            )
        )  # fmt: skip
    return marks


def _box(node: Node, x: float, y: float, size: tuple[float, float], digits: int, bold: bool) -> str:
    box, tall = size
    top, bottom = y - tall / 2, y + tall / 2
    frame = svg.element(
        "rect", x=x, y=top, width=box, height=tall, rx=4, fill="none", stroke="currentColor",
        stroke_width="2.5" if bold else "1", opacity=None if bold else "0.6",
        stroke_dasharray="4 3" if node.hidden else None,
    )  # fmt: skip
    count = number(node.samples)
    parts = [
        frame,
        svg.label(
            x + 7, top + 16, clean(node.text), (box - 14) / svg.FONT / (BOLD if node.left < 0 else 1),
            font_weight="600" if node.left < 0 else None,
        ),
        svg.label(x + box - 7, bottom - 6, count, text_anchor="end", font_size=SMALL, opacity="0.8"),
    ]  # fmt: skip
    if node.detail:
        em = (box - 14) / SMALL
        parts.append(
            svg.label(x + 7, top + 31, clean(node.detail), em, font_size=SMALL, opacity="0.8")
        )
    room = box - 14 - 7.5 * digits - 6
    at = x + 7
    for k, share in enumerate(node.shares):
        long = room * share
        if long > 0.05:
            d = svg.rectangle_path(at, bottom - 14, long, BAR)
            parts.append(svg.series_group(k, legend.fill_parts(k, d)))
        at += long
    return svg.group(parts)
