"""Pictures of models and of their predictions: each with its data, as SVG, PNG, HTML or matplotlib.

A display has `frame()` (the data), `svg()`, `save("x.svg")`, `plot(ax)` for matplotlib, and is shown
by notebooks. Any estimator with `fit` and `predict` works.
"""

from pellucid.parameters.function_help import describe_parameters
from pellucid.plot.display import Display
from pellucid.plot.evaluation.bars import BarsDisplay, bars
from pellucid.plot.evaluation.coefficients import (
    CoefficientPathDisplay,
    CoefficientsDisplay,
    PosteriorDisplay,
    coefficient_path,
    coefficients,
    posterior,
)
from pellucid.plot.evaluation.confusion import ConfusionMatrixDisplay, confusion_matrix
from pellucid.plot.evaluation.fit_history import HistoryDisplay, history
from pellucid.plot.evaluation.functions import FunctionDisplay, impurities, links, losses
from pellucid.plot.evaluation.histograms import (
    HistogramDisplay,
    ProbabilityHistogramDisplay,
    ProjectionHistogramDisplay,
    histogram,
    probability_histogram,
    projection_histogram,
)
from pellucid.plot.evaluation.model_scores import ScoresDisplay, scores
from pellucid.plot.evaluation.probabilities import CalibrationDisplay, calibration
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
from pellucid.plot.evaluation.thresholds import ThresholdDisplay, threshold_curve
from pellucid.plot.given_predictions import PARAMETERS
from pellucid.plot.inspection.contribution_displays import (
    BeeswarmDisplay,
    ContributionDependenceDisplay,
    WaterfallDisplay,
    beeswarm,
    dependence,
    waterfall,
)
from pellucid.plot.inspection.dependence_curves import PartialDependenceDisplay, partial_dependence
from pellucid.plot.inspection.importance_intervals import (
    PermutationImportanceDisplay,
    permutation_importance,
)
from pellucid.plot.models.cell_displays import (
    CellsDisplay,
    EllipsesDisplay,
    SilhouetteDisplay,
    cells,
    ellipses,
    silhouette,
)
from pellucid.plot.models.component_displays import (
    BiplotDisplay,
    EmbeddingDisplay,
    ScreeDisplay,
    biplot,
    embedding,
    scree,
)
from pellucid.plot.models.fit_display import FitDisplay, fit
from pellucid.plot.models.gallery_display import GalleryDisplay, gallery
from pellucid.plot.models.importance_display import ImportancesDisplay, importances
from pellucid.plot.models.loss_displays import (
    DescentDisplay,
    LossSurfaceDisplay,
    descent,
    loss_surface,
)
from pellucid.plot.models.margin_display import MarginDisplay, margin
from pellucid.plot.models.network_display import NetworkDisplay, network
from pellucid.plot.models.region_displays import RegionsDisplay, SurfaceDisplay, regions, surface
from pellucid.plot.models.scatter_displays import (
    PairsDisplay,
    Scatter3DDisplay,
    ScatterDisplay,
    pairs,
    scatter,
    scatter3d,
)
from pellucid.plot.models.tree_display import TreeDisplay, tree

__all__ = [
    "BarsDisplay",
    "BeeswarmDisplay",
    "BiplotDisplay",
    "CalibrationDisplay",
    "CellsDisplay",
    "CoefficientPathDisplay",
    "CoefficientsDisplay",
    "ConfusionMatrixDisplay",
    "ContributionDependenceDisplay",
    "DescentDisplay",
    "Display",
    "EllipsesDisplay",
    "EmbeddingDisplay",
    "FitDisplay",
    "FunctionDisplay",
    "GainDisplay",
    "GalleryDisplay",
    "HistogramDisplay",
    "HistoryDisplay",
    "ImportancesDisplay",
    "LearningCurveDisplay",
    "LossSurfaceDisplay",
    "MarginDisplay",
    "NetworkDisplay",
    "PairsDisplay",
    "PartialDependenceDisplay",
    "PermutationImportanceDisplay",
    "PosteriorDisplay",
    "PrecisionRecallDisplay",
    "PredictionErrorDisplay",
    "ProbabilityHistogramDisplay",
    "ProjectionHistogramDisplay",
    "RegionsDisplay",
    "ResidualsDisplay",
    "RocCurveDisplay",
    "Scatter3DDisplay",
    "ScatterDisplay",
    "ScoresDisplay",
    "ScreeDisplay",
    "SilhouetteDisplay",
    "StagedErrorDisplay",
    "SurfaceDisplay",
    "ThresholdDisplay",
    "TreeDisplay",
    "ValidationCurveDisplay",
    "WaterfallDisplay",
    "bars",
    "beeswarm",
    "biplot",
    "calibration",
    "cells",
    "coefficient_path",
    "coefficients",
    "confusion_matrix",
    "dependence",
    "descent",
    "ellipses",
    "embedding",
    "fit",
    "gain",
    "gallery",
    "histogram",
    "history",
    "importances",
    "impurities",
    "learning_curve",
    "links",
    "loss_surface",
    "losses",
    "margin",
    "network",
    "observed_fitted",
    "pairs",
    "partial_dependence",
    "permutation_importance",
    "posterior",
    "precision_recall",
    "probability_histogram",
    "projection_histogram",
    "regions",
    "residuals",
    "roc",
    "scatter",
    "scatter3d",
    "scores",
    "scree",
    "silhouette",
    "staged_error",
    "surface",
    "threshold_curve",
    "tree",
    "validation_curve",
    "waterfall",
]

describe_parameters(globals(), PARAMETERS)
