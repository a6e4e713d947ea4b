"""SVG charts, text and HTML tables, and estimator cards, from plain data.

Invariant: plain data in, a string out; equal input gives equal output; this package depends on no
estimator, no data frame and no third-party package.
"""

from pellucid.draw.bar_chart import bar
from pellucid.draw.estimator import estimator_card
from pellucid.draw.line_chart import line
from pellucid.draw.number import number
from pellucid.draw.style import style_sheet
from pellucid.draw.text_table import html_table, text_table
from pellucid.draw.tree_chart import Node, tree

__all__ = [
    "Node",
    "bar",
    "estimator_card",
    "html_table",
    "line",
    "number",
    "style_sheet",
    "text_table",
    "tree",
]
