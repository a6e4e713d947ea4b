"""SVG charts, text and HTML tables, and estimator cards, from plain data.

Invariant: plain data in, a string out; equal input gives equal output; no estimator, no data frame
and no third-party package is known here.
"""

from .bar_chart import bar
from .estimator import estimator_card
from .heat_chart import heatmap
from .histogram_chart import histogram
from .interval_chart import intervals
from .line_chart import line
from .number import number
from .region_chart import regions
from .scatter_chart import scatter
from .style import style_sheet
from .table import html_table, text_table
from .tree_chart import Node, tree

__all__ = [
    "Node",
    "bar",
    "estimator_card",
    "heatmap",
    "histogram",
    "html_table",
    "intervals",
    "line",
    "number",
    "regions",
    "scatter",
    "style_sheet",
    "text_table",
    "tree",
]
