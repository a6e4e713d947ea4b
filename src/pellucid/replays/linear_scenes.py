"""Scenes of linear models: what moves, its path over the loss, coefficients and posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.draw.label_text import clean
from pellucid.replays.loss_surface import descent
from pellucid.replays.panels import DASHES, axis, chart, curves, dashed, series, shortened, span
from pellucid.replays.recording import Recording
from pellucid.replays.row_plane import find_plane
from pellucid.replays.supervised import MARGIN, predictions, progress

Panel = dict[str, Any]
LINES = 8  # coefficients that are drawn as lines


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
    penalty = penalties(recording)
    falls = penalty is not None
    at = np.array(recording.iterations, dtype=float) if penalty is None else penalty
    if penalty is None:
        x = axis(recording.unit, span(at, 0.02), whole=True)
    else:
        x = axis("penalty alpha", [penalty.max() * 1.1, penalty.min() / 1.1], log=True)
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


def penalties(recording: Recording) -> np.ndarray | None:
    """The penalty of each step, if the fit changes it: along a path, or from strong to the wanted one
    (then steps before the first known factor have it too, and later ones have the factor 1)."""
    given = [step.event.get("alpha") for step in recording.steps]
    factors = [step.event.get("penalty_factor") for step in recording.steps]
    known = [k for k, factor in enumerate(factors) if factor is not None]
    if known:
        alpha, first = recording.final.get_params(deep=False)["alpha"], factors[known[0]]
        given = [
            alpha * (first if k < known[0] else 1.0 if factor is None else factor)
            for k, factor in enumerate(factors)
        ]
    if any(alpha is None for alpha in given):
        return None
    found = np.array(given, dtype=float)
    return found if (found > 0).all() and len(np.unique(found)) > 1 else None


# Posteriors -------------------------------------------------------------------------------------


def bayesian(recording: Recording) -> list[Panel]:
    """Predictions, the posterior of two coefficients, and all coefficients."""
    panels = [*predictions(recording), *progress(recording), coefficients(recording)]
    panels.insert(1, posterior(recording))
    return panels


def posterior(recording: Recording) -> Panel:
    """Ellipses of one and two standard deviations around two coefficients, one of which may be the
    intercept."""
    names, values = coefficient_columns(recording)
    key = "covariance_" if recording.has("covariance_") else "sigma_"
    every = [np.asarray(matrix) for matrix in recording.states(key)]
    usable = min(len(names), len(every[0]))
    order = np.argsort(-np.abs(values[-1, :usable]), kind="stable")
    owner = np.asarray(recording.final.schema_.owner)
    chosen = [int(np.flatnonzero(owner == j)[0]) for j in recording.columns]
    pair = (chosen + [int(j) for j in order if j not in chosen])[:2]
    if len(pair) < 2:  # one coefficient and no covariance with the intercept
        deviation = np.array([float(matrix[0, 0]) ** 0.5 for matrix in every])
        lines = {"standard deviation": deviation}
        return curves("Posterior", recording.iterations, lines, names[0], x_label=recording.unit)
    shapes = []
    for row, matrix in zip(values[:, pair], every):
        factor = np.linalg.cholesky(matrix[np.ix_(pair, pair)] + 1e-300 * np.eye(2))
        shapes.append([*row, factor[0, 0], factor[1, 0], factor[1, 1]])
    found = np.array(shapes)
    late = found[len(found) // 5 :]  # the first ellipses are as wide as the prior
    reach = [late[:, 2], np.hypot(late[:, 3], late[:, 4])]
    limits = [
        span(np.concatenate([late[:, k] - 2 * reach[k], late[:, k] + 2 * reach[k]])) for k in (0, 1)
    ]
    marks = [
        {"m": "ellipses", "s": series([shortened(one)] for one in found)},
        {"m": "trail", "x": shortened(found[:, 0]), "y": shortened(found[:, 1]), "colour": 1},
    ]
    labels = [names[j] if names[j] == "intercept" else f"coefficient of {names[j]}" for j in pair]
    x, y = (axis(label, limits[k]) for k, label in enumerate(labels))
    note = "Ellipses are one and two posterior standard deviations; the line is the posterior mean."
    return chart("Posterior of two coefficients", x, y, marks, note=note)
