"""Displays of fitted models and of tables."""

from pellucid.plot.models.cell_displays import (
    CellsDisplay,
    EllipsesDisplay,
    SilhouetteDisplay,
    cells,
    ellipses,
    silhouette,
)
from pellucid.plot.models.component_displays import (
    BiplotDisplay,
    EmbeddingDisplay,
    ScreeDisplay,
    biplot,
    embedding,
    scree,
)
from pellucid.plot.models.fit_display import FitDisplay, fit
from pellucid.plot.models.gallery_display import GalleryDisplay, gallery
from pellucid.plot.models.importance_display import ImportancesDisplay, importances
from pellucid.plot.models.loss_displays import (
    DescentDisplay,
    LossSurfaceDisplay,
    descent,
    loss_surface,
)
from pellucid.plot.models.margin_display import MarginDisplay, margin
from pellucid.plot.models.network_display import NetworkDisplay, network
from pellucid.plot.models.region_displays import (
    RegionsDisplay,
    SurfaceDisplay,
    regions,
    surface,
)
from pellucid.plot.models.scatter_displays import (
    PairsDisplay,
    Scatter3DDisplay,
    ScatterDisplay,
    pairs,
    scatter,
    scatter3d,
)
from pellucid.plot.models.tree_display import TreeDisplay, tree

__all__ = [
    "BiplotDisplay",
    "CellsDisplay",
    "DescentDisplay",
    "EllipsesDisplay",
    "EmbeddingDisplay",
    "FitDisplay",
    "GalleryDisplay",
    "ImportancesDisplay",
    "LossSurfaceDisplay",
    "MarginDisplay",
    "NetworkDisplay",
    "PairsDisplay",
    "RegionsDisplay",
    "Scatter3DDisplay",
    "ScatterDisplay",
    "ScreeDisplay",
    "SilhouetteDisplay",
    "SurfaceDisplay",
    "TreeDisplay",
    "biplot",
    "cells",
    "descent",
    "ellipses",
    "embedding",
    "fit",
    "gallery",
    "importances",
    "loss_surface",
    "margin",
    "network",
    "pairs",
    "regions",
    "scatter",
    "scatter3d",
    "scree",
    "silhouette",
    "surface",
    "tree",
]
