"""SVG charts, text and HTML tables, and estimator cards, from plain data.

Invariant: plain data in, a string out; equal input gives equal output; this package depends on no
estimator, no data frame and no third-party package.
"""

from pellucid.draw.bar_chart import bar
from pellucid.draw.estimator import estimator_card
from pellucid.draw.heat_chart import heatmap
from pellucid.draw.histogram_chart import histogram
from pellucid.draw.line_chart import line
from pellucid.draw.number import number
from pellucid.draw.region_chart import regions
from pellucid.draw.scatter_chart import scatter
from pellucid.draw.style import style_sheet
from pellucid.draw.text_table import html_table, text_table
from pellucid.draw.tree_chart import Node, tree

__all__ = [
    "Node",
    "bar",
    "estimator_card",
    "heatmap",
    "histogram",
    "html_table",
    "line",
    "number",
    "regions",
    "scatter",
    "style_sheet",
    "text_table",
    "tree",
]
