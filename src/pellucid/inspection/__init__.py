"""Looking at fitted models from outside: they speak only fit and predict, so any estimator will do."""

from pellucid.inspection.bootstrap import Bootstrap, bootstrap

__all__ = ["Bootstrap", "bootstrap"]
