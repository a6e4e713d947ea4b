"""Nearest neighbours: a row is predicted from the training rows near it."""

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
