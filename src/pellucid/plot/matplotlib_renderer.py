"""A picture drawn with matplotlib, which is imported only here and only when it is asked for.

Invariant: nothing outside the given Axes changes, and nothing is shown. matplotlib's own style (fonts,
sizes, dark backgrounds) applies; colours, dashes and markers of series are those of the SVG.
"""

from __future__ import annotations

import textwrap
import warnings
from typing import Any

import numpy as np

from pellucid.draw import label_text as words
from pellucid.draw.heat_chart import STRONGEST, heat_keys, heat_limits
from pellucid.draw.number import number
from pellucid.draw.style import PALETTE
from pellucid.errors import ParameterError, PellucidError, PellucidWarning, warn
from pellucid.plot.colours import colour_of, value_limits
from pellucid.plot.extents import panel_limits
from pellucid.plot.matplotlib_marks import LONGEST, draw, legend_text
from pellucid.plot.picture import Axis, Heat, Panel, Picture, Points, Regions

INCH = 100.0  # pixels of a panel per inch of a figure
NOTE_WIDTH = 60  # characters
MANY_KEYS = 6  # more stand beside the plot


def require() -> None:
    """Raise unless matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise PellucidError(
            "This picture needs matplotlib, which is not installed. Install it with "
            "`pip install 'pellucid[plot]'`, or save the picture as .svg or .html."
        ) from error


def draw_picture(picture: Picture, ax: Any = None) -> tuple[Any, Any, list[Any]]:
    """Draw into `ax`, or into a new figure of pyplot; returns (figure, ax, the Axes of the panels)."""
    require()
    if ax is None:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=_size(picture), layout="constrained")
        panels = _grid(figure, picture)
        ax = panels[0] if len(panels) == 1 else panels
    else:
        panels = _given(picture, ax)
        figure = panels[0].figure
    for panel, target in zip(picture.panels, panels):
        draw_panel(panel, target, picture.title if len(picture.panels) == 1 else "")
    return figure, ax, panels


def png_bytes(picture: Picture, dpi: int = 200) -> bytes:
    """The picture as a PNG file, from a figure that pyplot does not know."""
    require()
    from io import BytesIO

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=_size(picture), layout="constrained")
    FigureCanvasAgg(figure)
    single = len(picture.panels) == 1
    for panel, target in zip(picture.panels, _grid(figure, picture)):
        draw_panel(panel, target, picture.title if single else "")
    if picture.title and not single:
        figure.suptitle(picture.title)
    buffer = BytesIO()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        figure.savefig(buffer, format="png", dpi=dpi, metadata={"Software": None})
    if any("missing from font" in str(each.message) for each in heard):
        warn(
            "The font of matplotlib lacks some characters of the labels; the PNG shows boxes in "
            'their place. Set matplotlib.rcParams["font.family"], or save as .svg.',
            PellucidWarning,
        )
    return buffer.getvalue()


def _shape(picture: Picture) -> tuple[int, int]:
    columns = min(max(picture.columns, 1), len(picture.panels))
    return -(-len(picture.panels) // columns), columns


def _size(picture: Picture) -> tuple[float, float]:
    rows, columns = _shape(picture)
    width = max(panel.width * (1.5 if _many_names(panel) else 1) for panel in picture.panels)
    height = max(panel.height for panel in picture.panels)
    return columns * width * 1.2 / INCH, rows * (height + 130) * 1.2 / INCH


def _many_names(panel: Panel) -> bool:
    """Whether the legend stands beside the plot and needs room there."""
    return len({getattr(mark, "name", "") for mark in panel.marks} - {""}) > MANY_KEYS


def _grid(figure: Any, picture: Picture) -> list[Any]:
    axes = figure.subplots(*_shape(picture), squeeze=False).ravel()
    for unused in axes[len(picture.panels) :]:
        unused.set_axis_off()
    return list(axes[: len(picture.panels)])


def _given(picture: Picture, ax: Any) -> list[Any]:
    """The caller's Axes: one per panel, or one that is divided among the panels."""
    n = len(picture.panels)
    if isinstance(ax, (list, tuple, np.ndarray)):
        axes = list(np.ravel(np.asarray(ax, dtype=object)))
        if len(axes) != n:
            raise ParameterError(f"This picture needs {n} Axes. Got {len(axes)} instead.")
        return axes
    if not hasattr(ax, "inset_axes"):
        raise ParameterError(f"ax must be a matplotlib Axes or a list of Axes. Got {ax!r} instead.")
    if n == 1:
        return [ax]
    ax.set_axis_off()
    rows, columns = _shape(picture)
    width, height = 1 / columns, 1 / rows
    return [
        ax.inset_axes(
            (
                (i % columns + 0.12) * width,
                1 - (i // columns + 0.85) * height,
                width * 0.8,
                height * 0.65,
            )
        )
        for i in range(n)
    ]


def draw_panel(panel: Panel, ax: Any, title: str = "") -> None:
    """Axes, marks, legend and note of one panel."""
    for mark in panel.marks:
        draw(mark, ax, panel)
    x, y = panel_limits(panel)
    _axis(ax.xaxis, panel.x, ax.set_xscale)
    _axis(ax.yaxis, panel.y, ax.set_yscale)
    ax.set_xlim(*x)
    ax.set_ylim(*(y[::-1] if panel.y.names is not None else y))
    if panel.equal:
        ax.set_aspect("equal", adjustable="box")
    if panel.title or title:
        ax.set_title(words.clean(panel.title or title))
    keys = _keys(panel, ax)
    if keys:
        image = any(isinstance(mark, (Heat, Regions)) for mark in panel.marks)
        beside = image or len(keys) > MANY_KEYS
        place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1)} if beside else {}
        texts = [legend_text(key.get_label()) for key in keys]
        ax.legend(handles=keys, labels=texts, fontsize="small", **place)
    if panel.note:
        _note(panel, ax)
    at_right = {"transform": ax.get_yaxis_transform(), "va": "center", "fontsize": "small"}
    for i, text in enumerate(panel.right_texts):
        ax.text(1.01, i, text, **at_right)


def _note(panel: Panel, ax: Any) -> None:
    """The note below the name of the x axis, where no label can cover it."""
    text = textwrap.fill(words.clean(panel.note, 400), NOTE_WIDTH)
    if panel.x.ticks:
        ax.set_xlabel("\n".join(filter(None, [ax.get_xlabel(), text])))
    else:
        ax.text(0, -0.02, text, transform=ax.transAxes, va="top")


def _axis(axis: Any, spec: Axis, set_scale: Any) -> None:
    axis.set_label_text(words.clean(spec.label))
    if spec.log:
        set_scale("log", nonpositive="mask")
    if spec.dates:
        axis.axis_date()
    if not spec.ticks:
        axis.set_visible(False)
        axis.axes.set_frame_on(False)
    if spec.names is not None:
        shown = [words.clean(name, LONGEST) for name in spec.names]
        crowded = axis.axis_name == "x" and sum(map(len, shown)) > 45
        turn = {"rotation": 40, "ha": "right"} if crowded else {}
        axis.set_ticks(range(len(shown)), shown, **turn)


def _keys(panel: Panel, ax: Any) -> list[Any]:
    """Artists of the legend: the named ones, each name once, and patches for the colours of numbers."""
    from matplotlib.patches import Patch

    handles, labels = ax.get_legend_handles_labels()
    seen: dict[str, Any] = {}
    for handle, label in zip(handles, labels):
        seen.setdefault(label, handle)
    keys = list(seen.values())
    for mark in panel.marks:
        if isinstance(mark, Heat) and (mark.texts == () or panel.y.names is None):
            ends = heat_limits([list(row) for row in mark.values], mark.limits, mark.diverging)
            keys += [
                Patch(color=PALETTE[key.index], alpha=STRONGEST, label=key.label)
                for key in heat_keys(*ends, mark.diverging)
            ]
        if isinstance(mark, Points) and mark.values:
            low, high = value_limits(mark.values)
            keys += [Patch(color=colour_of(v, low, high), label=number(v)) for v in (low, high)]
    return keys
