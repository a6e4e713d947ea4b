"""What the displays of models share: a finished picture with its data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from pellucid.draw import svg
from pellucid.plot.display import Display
from pellucid.plot.legend_keys import panel_keys, shared_keys
from pellucid.plot.models.shared_legend import shared_svg, unnamed
from pellucid.plot.picture import Picture


class ModelDisplay(Display):
    """A display whose picture and data were computed when it was made."""

    # True: the panels form a grid with one legend, which narrow pages scroll instead of wrapping it.
    _one_grid: ClassVar[bool] = False

    def __init__(self, picture: Picture, columns: Mapping[str, Any]) -> None:
        panels = picture.panels
        self._keys = shared_keys(panels)
        if self._one_grid:  # matplotlib shows the legend in the first panel that has one
            first = next((k for k, panel in enumerate(panels) if panel_keys(panel)), 0)
            panels = tuple(p if k == first else unnamed(p) for k, p in enumerate(panels))
        self._picture = replace(picture, panels=panels)
        self._columns = dict(columns)

    def picture(self) -> Picture:
        return self._picture

    def columns(self) -> dict[str, Sequence[Any]]:
        return self._columns

    def svg(self) -> str:
        """The picture as a standalone SVG document, for light and dark backgrounds."""
        return self._wide_svg() if self._one_grid else super().svg()

    def _wide_svg(self, style: bool = True) -> str:
        return shared_svg(self._picture, self._keys, style)

    def figures(
        self, *, width: int | None = None, height: int | None = None, note: str | None = None,
        table: bool = True,
    ) -> list[str]:  # fmt: skip
        """As in `Display`; a grid with one legend is a single figure of its own size."""
        if not self._one_grid:
            return super().figures(width=width, height=height, note=note, table=table)
        return [svg.element("figure", self._content() if table else self._wide(), class_="pl")]

    def _wide(self) -> str:
        return self._wide_svg(style=False).replace("<svg", '<svg class="pl-wide"', 1)

    def _content(self) -> str:
        if not self._one_grid:
            return super()._content()
        return self._wide() + self._table()
