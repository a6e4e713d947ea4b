"""Inspection of models through `fit` and `predict` only, so any scikit-learn estimator works."""

from pellucid.inspection.bootstrap import Bootstrap, bootstrap

__all__ = ["Bootstrap", "bootstrap"]
