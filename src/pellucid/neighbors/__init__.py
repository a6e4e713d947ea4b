"""Nearest neighbours: rows are predicted by the training rows near them."""

from pellucid.neighbors.k_neighbors import KNeighborsClassifier, KNeighborsRegressor
from pellucid.neighbors.nearest_neighbors import NearestNeighbors
from pellucid.neighbors.radius_neighbors import RadiusNeighborsClassifier, RadiusNeighborsRegressor

__all__ = [
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "NearestNeighbors",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
]
