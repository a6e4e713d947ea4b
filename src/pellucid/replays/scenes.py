"""Which panels show a fit: one scene per kind of state, the first that matches.

A scene is a function of the recording that returns its panels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.replays import prediction_maps
from pellucid.replays.cluster_scenes import embedding, kmeans, mixture
from pellucid.replays.ensemble_scenes import ensemble
from pellucid.replays.linear_scenes import bayesian, linear
from pellucid.replays.panels import curves, matrices
from pellucid.replays.recording import Recording
from pellucid.replays.row_plane import find_plane
from pellucid.replays.supervised import MARGIN, predictions, progress, supervised
from pellucid.replays.tree_scene import tree

Panel = dict[str, Any]
Scene = Callable[[Recording], list[Panel]]


def panels_of(recording: Recording) -> list[Panel]:
    """The panels of the first scene whose parts of the state every step has."""
    for names, scene in SCENES:
        if recording.has(*names):
            return scene(recording)
    return supervised(recording)


# Support vector machines ------------------------------------------------------------------------


def support_vectors(recording: Recording) -> list[Panel]:
    """Regions with their margin, and rings around the support vectors of each step."""
    plane = find_plane(recording)
    if plane is None or not recording.is_classifier:
        return supervised(recording)
    place = {int(row): k for k, row in enumerate(plane.drawn)}
    on = [
        sorted(place[int(row)] for row in np.unique(rows) if int(row) in place)
        for rows in recording.states("support_")
    ]
    shown = {"on": {"s": on}}
    margin = len(recording.classes) == 2
    note = MARGIN if margin else ""
    regions = prediction_maps.regions(
        recording, plane, title="Classes and support vectors", shown=shown, margin=margin,
        legend=[["support vector", "ink", "ring"]], note=note,
    )  # fmt: skip
    counts = np.array([len(np.unique(rows)) for rows in recording.states("support_")], dtype=float)
    support = curves(
        "Support vectors", recording.iterations, {"rows": counts}, "support vectors", log=False
    )
    return [regions, *progress(recording), support]


# Networks ---------------------------------------------------------------------------------------


def network(recording: Recording) -> list[Panel]:
    """Predictions, loss and the weights of every layer."""
    panels = [*predictions(recording), *progress(recording)]
    layers = [[np.asarray(w) for w in weights] for weights in recording.states("coefs_")]
    sizes = [w.shape for w in layers[0]]
    if sum(a * b for a, b in sizes) <= 4000:
        shown = {f"{a} x {b}": [weights[k] for weights in layers] for k, (a, b) in enumerate(sizes)}
        if len(shown) < len(sizes):
            shown = {
                f"layer {k + 1}": [weights[k] for weights in layers] for k in range(len(sizes))
            }
        found = matrices("Weights by layer", shown, wide=sum(b for _, b in sizes) > 30)
        found["note"] = (
            "One row per input and one column per unit of a layer. Colours run from "
            f"{-found['largest']:.3g} to {found['largest']:.3g}; the page colour is 0."
        )
        return [*panels, found]
    norms = {
        f"layer {k + 1}": np.array([np.linalg.norm(weights[k]) for weights in layers])
        for k in range(len(sizes))
    }
    return [*panels, curves("Size of the weights", recording.iterations, norms, "Frobenius norm")]


SCENES: tuple[tuple[tuple[str, ...], Scene], ...] = (
    (("embedding_",), embedding),
    (("cluster_centers_",), kmeans),
    (("means_", "covariances_"), mixture),
    (("tree_",), tree),
    (("coefs_", "intercepts_"), network),
    (("support_",), support_vectors),
    (("coef_", "covariance_"), bayesian),
    (("coef_", "sigma_"), bayesian),
    (("coef_",), linear),
    (("estimators_",), ensemble),
    (("trees_",), ensemble),
)
