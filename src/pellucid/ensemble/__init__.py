"""Models made of many models."""

from pellucid.ensemble.adaboost.classifier import AdaBoostClassifier
from pellucid.ensemble.adaboost.regressor import AdaBoostRegressor
from pellucid.ensemble.bagging.classifier import BaggingClassifier
from pellucid.ensemble.bagging.regressor import BaggingRegressor
from pellucid.ensemble.blend.classifier import BlendClassifier
from pellucid.ensemble.blend.regressor import BlendRegressor
from pellucid.ensemble.boosting.gradient_boosting import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
)
from pellucid.ensemble.boosting.hist_gradient_boosting import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from pellucid.ensemble.forest.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from pellucid.ensemble.forest.random_forest import RandomForestClassifier, RandomForestRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "BlendClassifier",
    "BlendRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
