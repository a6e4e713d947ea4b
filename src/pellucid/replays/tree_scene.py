"""A tree that grows node by node: the tree, the candidate splits, the rows of the node, the regions.

Nodes are identified by the path from the root, so that they keep their place while the tree grows and
is pruned.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid.draw import number
from pellucid.draw.label_text import clean
from pellucid.replays import prediction_maps
from pellucid.replays.panels import curves, letters, series, shortened, table
from pellucid.replays.recording import Recording
from pellucid.replays.row_plane import find_plane

MOST_NODES = 127  # of a tree that is drawn
CANDIDATES = 8  # rows of the table


def tree(recording: Recording) -> list[dict[str, Any]]:
    """The scene of one tree."""
    drawn = diagram(recording)
    panels = [*([] if drawn is None else [drawn]), *regions(recording)]
    if any("candidates" in step.event for step in recording.steps):
        panels.append(candidates(recording))
        if drawn is None:
            panels[-1]["note"] += f" A tree with more than {MOST_NODES} nodes is not drawn."
    if recording.is_classifier:
        panels.append(rows_by_side(recording))
    if recording.errors:
        label = "share of wrong labels" if recording.is_classifier else "root mean squared error"
        found = curves(
            "Error", recording.iterations, recording.errors, label, x_label="step", log=False
        )
        panels.append(found)
    return panels


def node_paths(nodes: Any) -> list[str]:
    """The path from the root to each node, as "L" and "R"."""
    found = [""] * len(nodes.feature)
    for k in range(len(nodes.feature)):
        if nodes.feature[k] >= 0:
            found[nodes.left[k]], found[nodes.right[k]] = found[k] + "L", found[k] + "R"
    return found


def condition(recording: Recording, nodes: Any, k: int) -> list[str]:
    """The condition to go left at a node, as two short lines."""
    schema = recording.final.schema_
    column = int(nodes.feature[k])
    name = clean(schema.name(column), 24)
    if nodes.set_start[k] != -1:
        levels = [clean(schema.levels[column][j], 12) for j in nodes.levels_left(k).tolist()]
        return [name, f"in {', '.join(levels[:4])}{' ...' if len(levels) > 4 else ''}"]
    if np.isinf(nodes.threshold[k]):
        return [name, "is present"]
    return [name, f"≤ {number(float(nodes.threshold[k]), 5)}"]


def diagram(recording: Recording) -> dict[str, Any] | None:
    """The tree of every step: a node is absent, a leaf or a split."""
    trees = recording.states("tree_")
    largest = max(trees, key=lambda nodes: len(nodes.feature))
    names = node_paths(largest)
    if len(names) > MOST_NODES or not _within(trees, names):
        return None
    place = {path: k for k, path in enumerate(names)}
    parts = []
    for nodes in trees:
        part = np.zeros(len(names), dtype=int)
        for k, path in enumerate(node_paths(nodes)):
            part[place[path]] = 2 if nodes.feature[k] >= 0 else 1
        parts.append(letters(part))
    now = [
        place[node_paths(nodes)[step.event["node"]]] if "node" in step.event else -1
        for step, nodes in zip(recording.steps, trees)
    ]
    return {
        "kind": "tree", "title": "The tree", "wide": True,
        "nodes": _nodes(recording, largest, names), "leaves": int((largest.feature < 0).sum()),
        "regression": not recording.is_classifier, "s": series(parts), "now": now,
        "legend": prediction_maps.class_legend(recording) if recording.is_classifier else [],
        "note": "A row that fulfils the condition goes left. The node of this step has a thick frame.",
    }  # fmt: skip


def _within(trees: list[Any], names: list[str]) -> bool:
    known = set(names)
    return all(known.issuperset(node_paths(nodes)) for nodes in trees)


def _nodes(recording: Recording, nodes: Any, names: list[str]) -> list[dict[str, Any]]:
    """Place, parent and texts of every node of the largest tree."""
    place = {path: k for k, path in enumerate(names)}
    leaves = [path for k, path in enumerate(names) if nodes.feature[k] < 0]
    x = {
        path: i / max(1, len(leaves) - 1) if len(leaves) > 1 else 0.5
        for i, path in enumerate(leaves)
    }
    for path in sorted(names, key=len, reverse=True):
        if path not in x:
            x[path] = (x[path + "L"] + x[path + "R"]) / 2
    low, high = float(nodes.value.min()), float(nodes.value.max())
    found = []
    for k, path in enumerate(names):
        value = nodes.value[k]
        if recording.is_classifier:
            total = value.sum() or 1.0
            share, says = value / total, recording.classes[int(value.argmax())]
        else:
            middle, reach = (low + high) / 2, (high - low) / 2 or 1.0
            share, says = (value[:1] - middle) / reach, number(float(value[0]), 4)
        found.append({
            "x": shortened(x[path], 4), "depth": len(path),
            "parent": place[path[:-1]] if path else -1, "share": shortened(share, 3), "says": says,
            "test": condition(recording, nodes, k) if nodes.feature[k] >= 0 else [],
            "rows": f"n = {int(nodes.n_samples[k])}",
        })  # fmt: skip
    return found


def inside(recording: Recording) -> list[np.ndarray]:
    """Which training rows reach the node of each step, and which of them go left: 0 no, 1 left (or
    a leaf), 2 right."""
    found = []
    for step, model in zip(recording.steps, recording.models):
        nodes, node = step.state["tree_"], int(step.event.get("node", 0))
        leaf = np.asarray(model.apply(recording.rows)).astype(int)
        path = node_paths(nodes)
        here, right = path[node], path[node] + "R"
        side = np.array([
            0 if not w.startswith(here) else 2 if w.startswith(right) else 1 for w in path
        ])  # fmt: skip
        found.append(side[leaf])
    return found


def regions(recording: Recording) -> list[dict[str, Any]]:
    """Predictions over the plane; rows that the step does not touch are faint."""
    plane = find_plane(recording)
    if plane is None:
        return []
    if not recording.is_classifier:
        return [prediction_maps.surface(recording, plane)] if recording.is_regressor else []
    faint = [letters(side[plane.drawn] > 0) for side in inside(recording)]
    note = "Rows outside the node of this step are faint."
    shown = {"in": {"s": series(faint)}}
    return [prediction_maps.regions(recording, plane, shown=shown, note=note)]


def candidates(recording: Recording) -> dict[str, Any]:
    """The best split of every column at the node, by falling gain."""
    rows = []
    for step in recording.steps:
        found = list(step.event.get("candidates") or [])[:CANDIDATES]
        rows.append([
            [
                clean(one["name"], 22), _place(one), shortened(one["gain"], 4),
                shortened(one["impurity_after"], 4), one["samples_left"], one["samples_right"],
            ]
            for one in found
        ])  # fmt: skip
    head = ["column", "best split", "gain", "impurity", "left", "right"]
    return table(
        "Candidate splits of this node", head, rows, first=True,
        note="The best split of each column, by falling gain, with the impurity after it and the rows "
        "on both sides. The tree makes the first one.",
    )  # fmt: skip


def _place(one: dict[str, Any]) -> str:
    if one.get("levels") is not None:
        levels = [clean(level, 12) for level in one["levels"][:4]]
        return "in " + ", ".join(levels) + (" ..." if len(one["levels"]) > 4 else "")
    if np.isinf(one["threshold"]):
        return "is present"
    return f"≤ {number(one['threshold'], 5)}"


def rows_by_side(recording: Recording) -> dict[str, Any]:
    """The rows of the node by class, on both sides of its split."""
    k, rows = len(recording.classes), []
    for step, side in zip(recording.steps, inside(recording)):
        split = step.event.get("kind") == "split"
        names = {1: "left", 2: "right"} if split else {1: "leaf"}
        rows.append([
            [name, int((side == part).sum()),
             *np.bincount(recording.codes[side == part], minlength=k).tolist()]
            for part, name in names.items()
        ])  # fmt: skip
    heads = [clean(name, 16) for name in recording.classes]
    wide = sum(len(head) + 2 for head in heads) > 40
    return table("Rows of this node", ["side", "rows", *heads], rows, wide=wide)
