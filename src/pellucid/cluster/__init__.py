"""Clustering: k-means."""

from pellucid.cluster.kmeans import KMeans

__all__ = ["KMeans"]
