"""Pictures of high-dimensional tables: t-SNE."""

from pellucid.manifold.tsne import TSNE

__all__ = ["TSNE"]
