"""SVG elements as strings.

Invariant: every attribute and every text passes through `escape` here and nowhere else, so the
result is well-formed whatever the labels are.
"""

from __future__ import annotations

from collections.abc import Iterable

from pellucid.draw import label_text as words
from pellucid.draw.number import coordinate
from pellucid.draw.style import PALETTE, marker

FONT = 13
TITLE_FONT = 15
LINE = 17


def element(name: str, content: str = "", /, **attributes: object) -> str:
    """One element; `content` is markup. `text_anchor` means text-anchor, `class_` class.

    >>> element("rect", x=1.25, fill="none")
    '<rect x="1.2" fill="none"/>'
    """
    pairs = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{pairs}>{content}</{name}>" if content else f"<{name}{pairs}/>"


def _value(value: object) -> str:
    return coordinate(value) if isinstance(value, float) else words.escape(str(value))


def label(x: float, y: float, text: str, em: float = 1e9, **attributes: object) -> str:
    """Text at a point, shortened to `em`; a shortened text keeps the whole one as its title."""
    return cut_label(x, y, text, words.fit(text, em), **attributes)


def cut_label(x: float, y: float, text: str, shown: str, **attributes: object) -> str:
    """`shown` at a point; the whole text is its title if they differ."""
    whole = "" if shown == text else element("title", words.escape(text))
    return element("text", whole + words.escape(shown), x=float(x), y=float(y), **attributes)


def group(parts: Iterable[str], **attributes: object) -> str:
    content = "".join(parts)
    return element("g", content, **attributes) if content else ""


def series_group(index: int, parts: Iterable[str], **attributes: object) -> str:
    """A group in the colour of series `index`: children paint with currentColor."""
    i = index % len(PALETTE)
    return group(parts, class_=f"pl-c{i}", color=PALETTE[i], **attributes)


def segment(x1: float, y1: float, x2: float, y2: float, **attributes: object) -> str:
    return segments([(x1, y1, x2, y2)], **attributes)


def segments(lines: Iterable[tuple[float, float, float, float]], **attributes: object) -> str:
    """Straight lines as one element; empty without lines."""
    d = "".join(
        f"M{coordinate(a)} {coordinate(b)}L{coordinate(x)} {coordinate(y)}" for a, b, x, y in lines
    )
    return element("path", d=d, stroke="currentColor", fill="none", **attributes) if d else ""


def rectangle_path(x: float, y: float, width: float, height: float) -> str:
    """A rectangle as a piece of path data, so that many share one element."""
    h, v = coordinate(width), coordinate(height)
    return f"M{coordinate(x)} {coordinate(y)}h{h}v{v}h{coordinate(-width)}z"


def points(places: Iterable[tuple[float, float]], index: int, **attributes: object) -> str:
    """The marker of series `index` at every place, as one element; empty without places."""
    d = "".join(_marker(place, index) for place in places)
    return element("path", d=d, **_pen(index, attributes)) if d else ""


def points_with_tooltips(
    places: Iterable[tuple[float, float]], tooltips: Iterable[str], index: int, **attributes: object
) -> str:
    """As `points`, but one element with a tooltip per place."""
    parts = [
        element("path", element("title", words.escape(text)), d=_marker(place, index))
        for place, text in zip(places, tooltips, strict=True)
        if place[0] == place[0] and place[1] == place[1]
    ]
    return group(parts, **_pen(index, attributes))


def _marker(place: tuple[float, float], index: int) -> str:
    return f"M{coordinate(place[0])} {coordinate(place[1])}{marker(index)}"


def _pen(index: int, attributes: dict[str, object]) -> dict[str, object]:
    """How a marker is filled; the first one is a point drawn with a round pen."""
    if marker(index) != "h0":
        return {"fill": "currentColor", **attributes}
    pen = {"stroke": "currentColor", "stroke_width": "6.4", "stroke_linecap": "round"}
    return {"fill": "none", **pen, **attributes}
