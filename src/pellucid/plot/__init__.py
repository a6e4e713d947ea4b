"""Pictures of models and of their predictions: each with its data, as SVG, PNG, HTML or matplotlib.

A display has `frame()` (the data), `svg()`, `save("x.svg")`, `plot(ax)` for matplotlib, and is shown
by notebooks. Any estimator with `fit` and `predict` works.
"""

from pellucid.plot.display import (
    Display,
)
from pellucid.plot.evaluation.coefficients import (
    CoefficientPathDisplay,
    CoefficientsDisplay,
    PosteriorDisplay,
    coefficient_path,
    coefficients,
    posterior,
)
from pellucid.plot.evaluation.confusion import (
    ConfusionMatrixDisplay,
    confusion_matrix,
)
from pellucid.plot.evaluation.fit_history import (
    HistoryDisplay,
    history,
)
from pellucid.plot.evaluation.functions import (
    FunctionDisplay,
    impurities,
    links,
    losses,
)
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
from pellucid.plot.evaluation.score_curves import (
    LearningCurveDisplay,
    StagedErrorDisplay,
    ValidationCurveDisplay,
    learning_curve,
    staged_error,
    validation_curve,
)
from pellucid.plot.evaluation.thresholds import (
    ThresholdDisplay,
    threshold_curve,
)
from pellucid.plot.inspection.contributions import (
    BeeswarmDisplay,
    ContributionDependenceDisplay,
    WaterfallDisplay,
    beeswarm,
    dependence,
    waterfall,
)
from pellucid.plot.inspection.dependence_curves import (
    PartialDependenceDisplay,
    partial_dependence,
)
from pellucid.plot.inspection.importance_intervals import (
    PermutationImportanceDisplay,
    permutation_importance,
)

__all__ = [
    "BeeswarmDisplay",
    "CalibrationDisplay",
    "CoefficientPathDisplay",
    "CoefficientsDisplay",
    "ConfusionMatrixDisplay",
    "ContributionDependenceDisplay",
    "Display",
    "FunctionDisplay",
    "GainDisplay",
    "HistoryDisplay",
    "LearningCurveDisplay",
    "PartialDependenceDisplay",
    "PermutationImportanceDisplay",
    "PosteriorDisplay",
    "PrecisionRecallDisplay",
    "PredictionErrorDisplay",
    "ProbabilityHistogramDisplay",
    "ProjectionHistogramDisplay",
    "ResidualsDisplay",
    "RocCurveDisplay",
    "StagedErrorDisplay",
    "ThresholdDisplay",
    "ValidationCurveDisplay",
    "WaterfallDisplay",
    "beeswarm",
    "calibration",
    "coefficient_path",
    "coefficients",
    "confusion_matrix",
    "dependence",
    "gain",
    "history",
    "impurities",
    "learning_curve",
    "links",
    "losses",
    "observed_fitted",
    "partial_dependence",
    "permutation_importance",
    "posterior",
    "precision_recall",
    "probability_histogram",
    "projection_histogram",
    "residuals",
    "roc",
    "staged_error",
    "threshold_curve",
    "validation_curve",
    "waterfall",
]
