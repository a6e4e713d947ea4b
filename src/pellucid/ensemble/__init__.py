"""Models made of many models."""

from pellucid.ensemble.adaboost import AdaBoostClassifier
from pellucid.ensemble.adaboost_regressor import AdaBoostRegressor
from pellucid.ensemble.bagging import BaggingClassifier
from pellucid.ensemble.bagging_regressor import BaggingRegressor
from pellucid.ensemble.extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from pellucid.ensemble.gradient_boosting_classifier import GradientBoostingClassifier
from pellucid.ensemble.gradient_boosting_regressor import GradientBoostingRegressor
from pellucid.ensemble.hist_gradient_boosting_classifier import HistGradientBoostingClassifier
from pellucid.ensemble.hist_gradient_boosting_regressor import HistGradientBoostingRegressor
from pellucid.ensemble.random_forest import RandomForestClassifier, RandomForestRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
