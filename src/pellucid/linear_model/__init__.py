"""Linear models: the prediction is a function of one weighted sum of the columns."""

from pellucid.linear_model.linear_regression import LinearRegression

__all__ = ["LinearRegression"]
