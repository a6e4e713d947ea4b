"""Linear models: the prediction is a function of one weighted sum of the columns."""

from pellucid.linear_model.linear_regression import LinearRegression
from pellucid.linear_model.logistic import LogisticRegression
from pellucid.linear_model.ridge import Ridge

__all__ = ["LinearRegression", "LogisticRegression", "Ridge"]
