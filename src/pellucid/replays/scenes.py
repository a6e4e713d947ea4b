"""Which panels show a fit: one scene per kind of state, the first that matches.

A scene is a function of the recording that returns its panels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.draw.label_text import clean
from pellucid.replays import prediction_maps
from pellucid.replays.cluster_scenes import embedding, kmeans, mixture
from pellucid.replays.ensemble_scenes import boosted, ensemble
from pellucid.replays.loss_surface import descent
from pellucid.replays.panels import DASHES, axis, chart, curves, dashed, matrices, shortened, span
from pellucid.replays.plane import find_plane
from pellucid.replays.recording import Recording
from pellucid.replays.supervised import predictions, progress, supervised
from pellucid.replays.tree_scene import tree

Panel = dict[str, Any]
Scene = Callable[[Recording], list[Panel]]
MARGIN = "The dashed lines are the margin: the scores -1 and 1."
LINES = 8  # coefficients that are drawn as lines


def panels_of(recording: Recording) -> list[Panel]:
    """The panels of the first scene whose parts of the state every step has."""
    for names, scene in SCENES:
        if recording.has(*names):
            return scene(recording)
    return supervised(recording)


# Linear models ----------------------------------------------------------------------------------


def linear(recording: Recording) -> list[Panel]:
    """The plane or line that moves, its path over the loss, and the coefficients."""
    more = causes(recording)
    if recording.fit.source == "LinearSVC" and len(recording.classes) == 2:
        more |= {"margin": True, "note": MARGIN}
    panels = predictions(recording, **more)
    path = descent(recording)
    if path is not None:
        panels.append(path)
    return [*panels, *progress(recording), coefficients(recording)]


def causes(recording: Recording) -> dict[str, Any]:
    """The row that caused each update, as rings around points."""
    rows = [step.event.get("row") for step in recording.steps]
    plane = find_plane(recording)
    if plane is None or all(row is None for row in rows):
        return {}
    place = {int(row): k for k, row in enumerate(plane.drawn)}
    on = [[place[int(row)]] if row is not None and int(row) in place else [] for row in rows]
    return {"shown": {"on": {"s": on}}, "legend": [["row of this update", "ink", "ring"]]}


def coefficients(recording: Recording) -> Panel:
    """Coefficients by iteration, or along the penalty where that is what changes."""
    names, values = coefficient_columns(recording)
    scale = np.abs(values).max(axis=0)
    chosen = np.sort(np.argsort(-scale, kind="stable")[:LINES])
    penalty = np.array([step.event.get("alpha", 0.0) for step in recording.steps], dtype=float)
    falls = (penalty > 0).all() and len(np.unique(penalty)) > 1
    at = penalty if falls else np.array(recording.iterations, dtype=float)
    if falls:
        x = axis("penalty alpha", [penalty.max() * 1.1, penalty.min() / 1.1], log=True)
    else:
        x = axis("iteration", span(at, 0.02), whole=True)
    marks = [
        {"m": "trail", "x": shortened(at), "y": shortened(values[:, j]), "colour": k, **dashed(k)}
        for k, j in enumerate(chosen)
    ]
    legend = [[names[j], k, DASHES[k % 5] or "line"] for k, j in enumerate(chosen)]
    left = len(names) - len(chosen)
    more = {"note": f"The {LINES} largest of {len(names)} coefficients."} if left else {}
    title = "Coefficients as the penalty falls" if falls else "Coefficients"
    y = axis("coefficient", span(values[:, chosen], zero=True))
    return chart(title, x, y, marks, legend=legend, **more)


def coefficient_columns(recording: Recording) -> tuple[list[str], np.ndarray]:
    """Names and values (steps, coefficients), the intercept last unless it is always 0."""
    coefs = np.array([np.atleast_2d(c) for c in recording.states("coef_")])
    steps, many, d = coefs.shape
    terms = [clean(term, 30) for term in recording.final.terms_][:d]
    if len(terms) != d:
        terms = [f"b{j}" for j in range(d)]
    groups = recording.classes if many == len(recording.classes) > 1 else range(many)
    names = [f"{term}, {k}" if many > 1 else term for k in groups for term in terms]
    values = coefs.reshape(steps, -1)
    if recording.has("intercept_"):
        start = np.array([np.atleast_1d(b) for b in recording.states("intercept_")])
        if start.any() and start.shape[1] == many:
            names += [f"intercept, {k}" if many > 1 else "intercept" for k in groups]
            values = np.hstack([values, start.reshape(steps, -1)])
    return names, values


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
        found = matrices("Weights by layer", shown, wide=True)
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
    (("coef_",), linear),
    (("estimators_",), ensemble),
    (("trees_",), boosted),
)
