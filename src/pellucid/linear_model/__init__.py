"""Linear models: the prediction is a function of one weighted sum of the columns."""

from pellucid.linear_model.elastic_net import ElasticNet
from pellucid.linear_model.lasso import Lasso
from pellucid.linear_model.linear_regression import LinearRegression
from pellucid.linear_model.logistic import LogisticRegression
from pellucid.linear_model.paths import enet_path, lasso_path
from pellucid.linear_model.perceptron import Perceptron
from pellucid.linear_model.ridge import Ridge
from pellucid.linear_model.ridge_classifier import RidgeClassifier
from pellucid.linear_model.sgd_classifier import SGDClassifier

__all__ = [
    "ElasticNet",
    "Lasso",
    "LinearRegression",
    "LogisticRegression",
    "Perceptron",
    "Ridge",
    "RidgeClassifier",
    "SGDClassifier",
    "enet_path",
    "lasso_path",
]
