"""The numbers of a drawn picture, read back from SVG paths and from matplotlib's artists."""

import re
import xml.etree.ElementTree as ET

import numpy as np

from pellucid.plot import svg_renderer

NAMESPACE = "{http://www.w3.org/2000/svg}"


def parsed(display):
    """The root of the SVG; fails unless it is well-formed, has a title and loads nothing."""
    text = display.svg()
    root = ET.fromstring(text)
    assert root.tag == f"{NAMESPACE}svg"
    assert root.find(f"{NAMESPACE}title").text
    assert root.find(f"{NAMESPACE}desc").text
    links = re.findall(r'(?:href|src)="([^"]*)"', text)
    assert all(link.startswith(("data:", "#")) for link in links)
    assert "style=" not in text
    return root


def texts(root):
    """Every text that is drawn."""
    return ["".join(node.itertext()) for node in root.iter(f"{NAMESPACE}text")]


def area_of(panel):
    """The plot of a panel with its scales, as the SVG places it."""
    from pellucid.draw.chart_settings import Settings

    settings = Settings(
        title=panel.title, x_label=panel.x.label, y_label=panel.y.label, note=panel.note,
        width=panel.width, height=panel.height,
    )  # fmt: skip
    return svg_renderer._layout(panel, settings)


def pixels(d):
    """Pairs of absolute coordinates in the data of a path that has only M and L."""
    found = [float(v) for v in re.findall(r"-?\d+\.?\d*", d)]
    return np.reshape(found, (-1, 2))


def line_data(ax):
    """(x, y) of every line of an Axes."""
    return [np.column_stack(line.get_data()) for line in ax.get_lines()]
