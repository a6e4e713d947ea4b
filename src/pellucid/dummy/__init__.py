"""Baselines of every comparison: the majority class and the mean."""

from pellucid.dummy.classifier import DummyClassifier
from pellucid.dummy.regressor import DummyRegressor

__all__ = ["DummyClassifier", "DummyRegressor"]
