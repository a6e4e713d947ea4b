"""Linear models: the prediction is a function of one weighted sum of the columns."""

from pellucid.linear_model.bayesian_regression import BayesianRegression
from pellucid.linear_model.bayesian_ridge import BayesianRidge
from pellucid.linear_model.elastic_net import ElasticNet, ElasticNetCV
from pellucid.linear_model.glm import (
    GammaRegressor,
    GeneralizedLinearModel,
    PoissonRegressor,
    TweedieRegressor,
)
from pellucid.linear_model.lasso import Lasso, LassoCV
from pellucid.linear_model.linear_regression import LinearRegression
from pellucid.linear_model.log_target_ridge import LogTargetRidge
from pellucid.linear_model.logistic import LogisticRegression
from pellucid.linear_model.logistic_cv import LogisticRegressionCV
from pellucid.linear_model.paths import enet_path, lasso_path
from pellucid.linear_model.perceptron import Perceptron
from pellucid.linear_model.ridge import Ridge, RidgeClassifier
from pellucid.linear_model.ridge_cv import RidgeCV
from pellucid.linear_model.sgd_classifier import SGDClassifier
from pellucid.linear_model.sgd_regressor import SGDRegressor

__all__ = [
    "BayesianRegression",
    "BayesianRidge",
    "ElasticNet",
    "ElasticNetCV",
    "GammaRegressor",
    "GeneralizedLinearModel",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "LogTargetRidge",
    "LogisticRegression",
    "LogisticRegressionCV",
    "Perceptron",
    "PoissonRegressor",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "SGDClassifier",
    "SGDRegressor",
    "TweedieRegressor",
    "enet_path",
    "lasso_path",
]
