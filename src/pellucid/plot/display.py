"""The base of all displays: one set of numbers as a table, SVG, HTML page, PNG or matplotlib Axes."""

from __future__ import annotations

import functools
import inspect
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import numpy as np

from pellucid.data.io.whole_file import write_whole
from pellucid.draw import figure, svg
from pellucid.draw import label_text as words
from pellucid.draw.style import CSS, style_sheet
from pellucid.errors import ParameterError
from pellucid.plot import matplotlib_renderer, svg_renderer
from pellucid.plot.picture import Picture
from pellucid.records.frames import frame

Constructor = TypeVar("Constructor", bound=Callable[..., Any])

_PAGE_CSS = (
    "body{margin:1.2em;font:15px system-ui,sans-serif;color:#1b1b1f;background:#fff}"
    "@media(prefers-color-scheme:dark){body{color:#e9e9ee;background:#131317}}"
)


class Display(ABC):
    """A picture of a model or of its predictions.

    A subclass stores numbers and gives `picture` (what is drawn) and `columns` (the data as a table).

    Attributes
    ----------
    ax_ : the Axes of the last `plot`; a list of them if the picture has several panels.
    figure_ : the figure of the last `plot`.
    """

    ax_: Any
    figure_: Any

    @abstractmethod
    def picture(self) -> Picture:
        """The specification that both renderers draw."""

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """The data shown, as columns of equal length."""

    def frame(self, backend: str | None = None) -> Any:
        """The data shown, one row per mark.

        Parameters
        ----------
        backend : None for a plain dict of columns, "pandas", "polars" or "arrow".
        """
        return frame({name: _plain(values) for name, values in self.columns().items()}, backend)

    def svg(self) -> str:
        """The picture as a standalone SVG document, for light and dark backgrounds."""
        return svg_renderer.picture_svg(self.picture())

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture to a file; the suffix chooses the format.

        Parameters
        ----------
        path : ends in .svg, .html (a page with the data table, which loads nothing) or .png (drawn
            by matplotlib, which `pip install 'pellucid[plot]'` installs).
        """
        target = Path(path)
        writers: dict[str, Callable[[], str | bytes]] = {
            ".svg": self.svg,
            ".html": self._page,
            ".png": lambda: matplotlib_renderer.png_bytes(self.picture()),
        }
        if target.suffix.lower() not in writers:
            raise ParameterError(
                f"A picture can be saved as .svg, .png or .html. Got {str(path)!r} instead."
            )
        write_whole(target, writers[target.suffix.lower()]())
        return target

    def plot(self, ax: Any = None) -> Self:
        """Draw with matplotlib and return the display, with `ax_` and `figure_` set.

        Parameters
        ----------
        ax : the Axes to draw into; None makes a new figure. A picture of several panels takes a list
            with one Axes per panel, or divides a single one. Nothing is shown: call
            `matplotlib.pyplot.show()`.
        """
        self.figure_, self.ax_, _ = matplotlib_renderer.draw_picture(self.picture(), ax)
        return self

    def _repr_html_(self) -> str:
        """A static figure with its data as a table below, for notebooks."""
        return svg.element("figure", style_sheet() + self._content(), class_="pl")

    def figures(
        self, *, width: int | None = None, height: int | None = None, note: str | None = None,
        table: bool = True,
    ) -> list[str]:  # fmt: skip
        """One HTML figure per panel, for a page that has the style sheet of the pictures.

        Parameters
        ----------
        width, height : of each panel, in pixels; None keeps those of the display.
        note : replaces the notes below the panels.
        table : False leaves out the data table below the last panel, and the tooltips.
        """
        given = {"width": width, "height": height, "note": note}
        look: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        picture = self.picture()
        panels = tuple(replace(panel, tips=table, **look) for panel in picture.panels)
        drawn = svg_renderer.panels_svg(replace(picture, panels=panels))
        drawn[-1] += self._table() if table else ""
        return [svg.element("figure", panel, class_="pl") for panel in drawn]

    def _table(self) -> str:
        columns = self.frame()
        return figure.data_table(list(columns), list(zip(*columns.values())))

    def _content(self) -> str:
        picture = self.picture()
        panels = svg_renderer.panels_svg(picture)
        several = len(panels) > 1
        title = svg.element("p", words.escape(words.clean(picture.title)), class_="pl-title")
        inside = svg.element("div", "".join(panels), class_="pl-panels") if several else panels[0]
        return (title if several and picture.title else "") + inside + self._table()

    def _page(self) -> str:
        """A whole HTML page that needs no network."""
        picture = self.picture()
        title = words.escape(words.clean(picture.title or picture.kind))
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width,initial-scale=1">'
            f"<title>{title}</title><style>{_PAGE_CSS}{CSS}</style></head>"
            f'<body><figure class="pl">{self._content()}</figure></body></html>\n'
        )

    def __repr__(self) -> str:
        columns = self.columns()
        rows = len(next(iter(columns.values()), ()))
        return f"<{type(self).__name__}: {rows} rows of {', '.join(columns)}>"


def _plain(values: Any) -> list[Any]:
    """A list of Python objects, not of NumPy's scalars."""
    if isinstance(values, np.ndarray):
        return values.tolist()
    return [value.item() if hasattr(value, "item") else value for value in values]


def as_function(name: str, constructor: Constructor) -> Constructor:
    """A function of this name with the signature and the parameters of a display's constructor.

    Its docstring opens with the first line of the display's.
    """

    @functools.wraps(constructor)
    def function(*args: Any, **options: Any) -> Any:
        return constructor(*args, **options)

    display = getattr(constructor, "__self__", None)
    summary = (inspect.getdoc(display) or "").partition("\n")[0]
    signature = inspect.signature(constructor).replace(return_annotation=display)
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{summary}\n\n{inspect.getdoc(constructor)}"
    function.__signature__ = signature  # type: ignore[attr-defined]
    return cast(Constructor, function)
