"""Decompositions: principal components."""

from pellucid.decomposition.pca import PCA

__all__ = ["PCA"]
