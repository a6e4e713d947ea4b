"""A finished chart: the picture, a description for screen readers, and its data as a table.

Invariant: the figure is well-formed XML, loads nothing from the network and has no style attributes,
so that a strict content security policy allows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from pellucid.draw import label_text as words
from pellucid.draw import svg
from pellucid.draw.axes import Panel
from pellucid.draw.dates import date
from pellucid.draw.number import coordinate, number
from pellucid.draw.points import evenly
from pellucid.draw.style import PICTURE_CSS, style_sheet
from pellucid.draw.text_table import html_table

TABLE_ROWS = 50
TABLE_COLUMNS = 20
TABLE_CELLS = 300
EDGE = 5  # pixels around the plot in which a mark on its edge is still seen


def finish(
    panel: Panel,
    marks: Iterable[str],
    summary: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    clip: bool = False,
) -> str:
    """The figure, or the bare picture if `settings.table` is off."""
    settings = panel.settings
    markup = picture(panel, marks, summary, clip)
    if not settings.table:
        sheet = f"<style>{PICTURE_CSS}</style>" if settings.style else ""
        return markup.replace("</desc>", "</desc>" + sheet, 1)
    style = style_sheet() if settings.style else ""
    return svg.element("figure", style + markup + data_table(columns, rows), class_="pl")


def data_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """The data as a table; of large data an even sample, whose size the heading gives."""
    places = [0, *evenly(range(1, len(columns)), TABLE_COLUMNS)]
    shown = evenly(rows, min(TABLE_ROWS, max(TABLE_CELLS // len(places), 2)))
    parts = []
    if len(shown) < len(rows):
        parts.append(f"{len(shown)} of {len(rows)} rows")
    if len(places) < len(columns):
        parts.append(f"{len(places) - 1} of {len(columns) - 1} columns")
    heading = f"Data ({', '.join(parts)})" if parts else "Data"
    cells = [[row[j] for j in places] for row in shown]
    table = html_table([columns[j] for j in places], cells, style=False)
    return svg.element("details", svg.element("summary", heading) + table)


def picture(panel: Panel, marks: Iterable[str], summary: str, clip: bool) -> str:
    """The picture alone, with its title and description."""
    settings = panel.settings
    title = words.clean(settings.title) or summary.split(".")[0]
    content = "".join(marks) or svg.label(
        panel.plot_width / 2, panel.plot_height / 2, "no data", text_anchor="middle", opacity="0.8"
    )
    if clip:
        content = _clipped(content, panel.plot_width, panel.plot_height)
    body = [
        svg.element("title", words.escape(title)),
        svg.element("desc", words.escape(summary)),
        *panel.parts,
        svg.group([content], transform=f"translate({panel.left:.1f} {panel.top:.1f})"),
    ]
    height = math.ceil(panel.height)
    return svg.element(
        "svg",
        "".join(body),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {settings.width} {height}",
        width=settings.width,
        height=height,
        role="img",
        aria_label=title,
        font_family="system-ui, sans-serif",
        font_size=svg.FONT,
        fill="currentColor",
    )


def _clipped(content: str, width: float, height: float) -> str:
    """Marks inside the plot; lines and markers on its edge are drawn whole."""
    place = {"x": -EDGE, "y": -EDGE, "width": width + 2 * EDGE, "height": height + 2 * EDGE}
    view = f"{-EDGE} {-EDGE} {coordinate(width + 2 * EDGE)} {coordinate(height + 2 * EDGE)}"
    return svg.element("svg", content, **place, viewBox=view, overflow="hidden")


def describe(kind: str, facts: Iterable[str], names: Sequence[str] = ()) -> str:
    """A description of the chart for screen readers."""
    sentences = [kind, *(fact for fact in facts if fact)]
    if names:
        shown = ", ".join(names[:10])
        more = f" and {len(names) - 10} more" if len(names) > 10 else ""
        sentences.append(f"Series: {shown}{more}")
    return ". ".join(sentences) + "."


def span(name: str, low: float, high: float, dates: bool = False) -> str:
    ends = [shown(value, dates) for value in (low, high)]
    return f"{words.clean(name)} from {ends[0]} to {ends[1]}"


def shown(value: float, dates: bool) -> str:
    """A number, or the date that it is."""
    return date(value) if dates else number(value)
