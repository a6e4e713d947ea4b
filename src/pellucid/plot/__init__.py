"""Pictures of models and of their predictions: each with its data, as SVG, PNG, HTML or matplotlib.

A display has `frame()` (the data), `svg()`, `save("x.svg")`, `plot(ax)` for matplotlib, and is shown
by notebooks. Any estimator with `fit` and `predict` works.
"""

from pellucid.plot.confusion import ConfusionMatrixDisplay, confusion_matrix
from pellucid.plot.display import Display

__all__ = ["ConfusionMatrixDisplay", "Display", "confusion_matrix"]
