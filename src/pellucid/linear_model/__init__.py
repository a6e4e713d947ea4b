"""Linear models: the prediction is a function of one weighted sum of the columns."""

from pellucid.linear_model.elastic_net import ElasticNet
from pellucid.linear_model.lasso import Lasso
from pellucid.linear_model.linear_regression import LinearRegression
from pellucid.linear_model.logistic import LogisticRegression
from pellucid.linear_model.paths import enet_path, lasso_path
from pellucid.linear_model.ridge import Ridge

__all__ = [
    "ElasticNet",
    "Lasso",
    "LinearRegression",
    "LogisticRegression",
    "Ridge",
    "enet_path",
    "lasso_path",
]
