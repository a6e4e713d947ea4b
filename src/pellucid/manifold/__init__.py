"""Embeddings of high-dimensional tables in the plane: t-SNE."""

from pellucid.manifold.tsne import TSNE

__all__ = ["TSNE"]
