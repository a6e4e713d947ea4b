"""Several panels with one legend above them, in a grid that does not wrap.

Invariant: the panels are those of the picture; only the names of their marks move to the legend.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace

from pellucid.draw import label_text as words
from pellucid.draw import legend, svg
from pellucid.draw.style import PICTURE_CSS
from pellucid.plot import svg_renderer
from pellucid.plot.picture import Mark, Panel, Picture, Points

_SIZE = re.compile(r' width="([\d.]+)" height="([\d.]+)"')


def shared_svg(picture: Picture, keys: list[legend.Key], style: bool = True) -> str:
    """One `<svg>`: title, one legend with these keys, and all panels without legends."""
    bare = replace(picture, title="", panels=tuple(map(unnamed, picture.panels)))
    grid = svg_renderer.picture_svg(bare, style=False)
    width, height = (float(v) for v in _SIZE.search(grid).groups())  # type: ignore[union-attr]
    parts: list[str] = []
    y = 0.0
    if picture.title:
        em = (width - 12) / 17
        parts.append(
            svg.label(6, 18, words.clean(picture.title), em, font_size=15, font_weight="600")
        )
        y = 24.0
    y = legend.draw(parts, keys, width - 12, 6.0, y)
    name = words.clean(picture.title or picture.kind)
    what = words.escape(svg_renderer.summary(picture))
    head = [svg.element("title", words.escape(name)), svg.element("desc", what)]
    if style:
        head.append(f"<style>{PICTURE_CSS}</style>")
    body = [*head, *parts, svg.group([grid], transform=f"translate(0 {y:g})")]
    total = math.ceil(y + height)
    return svg.element(
        "svg", "".join(body), xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width:g} {total}",
        width=f"{width:g}", height=total, role="img", aria_label=name,
        font_family="system-ui, sans-serif", font_size=svg.FONT, fill="currentColor",
    )  # fmt: skip


def unnamed(panel: Panel) -> Panel:
    """The panel without entries in the legend."""
    return replace(panel, marks=tuple(map(_nameless, panel.marks)))


def _nameless(mark: Mark) -> Mark:
    if isinstance(mark, Points):
        return replace(mark, name="", ends=())
    return replace(mark, name="") if getattr(mark, "name", "") else mark  # type: ignore[call-arg]
