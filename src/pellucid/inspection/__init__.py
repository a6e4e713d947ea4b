"""Inspection of models through `fit` and `predict` only, so any scikit-learn estimator works."""

from pellucid.inspection.bootstrap import Bootstrap, bootstrap
from pellucid.inspection.dependence import (
    PartialDependence,
    individual_conditional_expectation,
    partial_dependence,
)
from pellucid.inspection.importance import PermutationImportance, permutation_importance

__all__ = [
    "Bootstrap",
    "PartialDependence",
    "PermutationImportance",
    "bootstrap",
    "individual_conditional_expectation",
    "partial_dependence",
    "permutation_importance",
]
