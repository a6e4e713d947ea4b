"""Models made of many models."""

from pellucid.ensemble.bagging import BaggingClassifier

__all__ = ["BaggingClassifier"]
