"""Inspection of models through `fit` and `predict` only, so any scikit-learn estimator works."""

from pellucid.inspection.bootstrap import Bootstrap, bootstrap
from pellucid.inspection.counterfactual import Counterfactual, Counterfactuals, counterfactuals
from pellucid.inspection.dependence import (
    PartialDependence,
    individual_conditional_expectation,
    partial_dependence,
)
from pellucid.inspection.importance import PermutationImportance, permutation_importance
from pellucid.inspection.representatives import RepresentativeRows, prototypes

__all__ = [
    "Bootstrap",
    "Counterfactual",
    "Counterfactuals",
    "PartialDependence",
    "PermutationImportance",
    "RepresentativeRows",
    "bootstrap",
    "counterfactuals",
    "individual_conditional_expectation",
    "partial_dependence",
    "permutation_importance",
    "prototypes",
]
