"""Pictures of models and of their predictions: each with its data, as SVG, PNG, HTML or matplotlib.

A display has `frame()` (the data), `svg()`, `save("x.svg")`, `plot(ax)` for matplotlib, and is shown
by notebooks. Any estimator with `fit` and `predict` works.
"""

from pellucid.plot.display import Display
from pellucid.plot.evaluation.confusion import ConfusionMatrixDisplay, confusion_matrix
from pellucid.plot.evaluation.probabilities import (
    CalibrationDisplay,
    ProbabilityHistogramDisplay,
    ProjectionHistogramDisplay,
    calibration,
    probability_histogram,
    projection_histogram,
)
from pellucid.plot.evaluation.ranking_curves import (
    GainDisplay,
    PrecisionRecallDisplay,
    RocCurveDisplay,
    gain,
    precision_recall,
    roc,
)
from pellucid.plot.evaluation.residuals import (
    PredictionErrorDisplay,
    ResidualsDisplay,
    observed_fitted,
    residuals,
)
from pellucid.plot.evaluation.thresholds import ThresholdDisplay, threshold_curve

__all__ = [
    "CalibrationDisplay",
    "ConfusionMatrixDisplay",
    "Display",
    "GainDisplay",
    "PrecisionRecallDisplay",
    "PredictionErrorDisplay",
    "ProbabilityHistogramDisplay",
    "ProjectionHistogramDisplay",
    "ResidualsDisplay",
    "RocCurveDisplay",
    "ThresholdDisplay",
    "calibration",
    "confusion_matrix",
    "gain",
    "observed_fitted",
    "precision_recall",
    "probability_histogram",
    "projection_histogram",
    "residuals",
    "roc",
    "threshold_curve",
]
