"""Checks of a neighbour model that was read from a file, before its arrays reach the compiled loops.

Invariant: a tree is accepted only if its boxes are those of its rows, so a damaged file cannot hide a
neighbour.
"""

from typing import Any

import numpy as np

from pellucid.errors import ModelFileError
from pellucid.neighbors import distances, neighbor_search
from pellucid.persist.checks import valid_numbers
from pellucid.persist.fitted_state import n_terms


def check(model: Any) -> None:
    """Raise `ModelFileError` unless rows, order, space and tree are consistent."""
    name, n = type(model).__name__, vars(model).get("n_samples_fit_")
    order, rows, space = (vars(model).get(key) for key in ("order_", "rows_", "space_"))
    _require(type(n) is int and n >= 1, name, "n_samples_fit_")
    _require(_is(order, np.int64, (n,)), name, "order_")
    _require(bool((order >= 0).all()) and len(np.unique(order)) == n, name, "order_")
    _require(type(space) is dict and type(space.get("kind")) is str, name, "space_")
    params = 2 if model.p is None else model.p
    metric, more = distances.effective(model.metric, params, model.metric_params)
    known = vars(model).get("effective_metric_")
    _require(metric == known and set(more) == set(model.effective_metric_params_), name, "metric")
    if metric == "precomputed":
        _require(_is(rows, np.float64, (n, n)) and space["kind"] == "", name, "rows_")
        return
    _check_space(name, model, space, metric)
    width = _width(model, space, metric)
    if isinstance(rows, tuple):
        _require(valid_numbers(rows, (n, width)), name, "rows_")
    else:
        finite = space["kind"] == "gower" or (rows is not None and np.isfinite(rows).all())
        _require(_is(rows, np.float64, (n, width)) and bool(finite), name, "rows_")
    if space["kind"]:
        _require(_is(space.get("centre"), np.float64, (width,)), name, "space_")
        _require(type(space.get("reach")) is float and space["reach"] > 0, name, "space_")
    _check_tree(model, rows, n)
    if model.algorithm == "lsh":
        _check_buckets(model, rows, n)


def _check_buckets(model: Any, rows: Any, n: int) -> None:
    from pellucid.neighbors import hashing

    name, parts = type(model).__name__, vars(model).get("buckets_")
    recall = vars(model).get("recall_")
    _require(type(recall) is float and 0 <= recall <= 1, name, "recall_")
    count = vars(model).get("recall_neighbors_")
    _require(type(count) is int and count >= 0, name, "recall_neighbors_")
    if parts is None:
        return
    wanted = {"thresholds", "members", "starts", "probes"}
    _require(type(parts) is dict and set(parts) == wanted, name, "buckets_")
    _require(isinstance(rows, np.ndarray), name, "buckets_")
    bits, tables = hashing.n_bits(n), hashing.TABLES
    _require(_is(parts["thresholds"], np.float64, (tables * bits,)), name, "buckets_")
    _require(bool(np.isfinite(parts["thresholds"]).all()), name, "buckets_")
    _require(_is(parts["members"], np.int32, (tables * n,)), name, "buckets_")
    every = np.sort(parts["members"].reshape(tables, n), axis=1)
    _require(bool((every == np.arange(n)).all()), name, "buckets_")
    starts = parts["starts"]
    _require(_is(starts, np.int64, (tables * 2**bits + 1,)), name, "buckets_")
    good = starts[0] == 0 and starts[-1] == tables * n and (np.diff(starts) >= 0).all()
    _require(bool(good), name, "buckets_")
    _require(type(parts["probes"]) is int and parts["probes"] in hashing.PROBES, name, "buckets_")


def _check_space(name: str, model: Any, space: dict, metric: Any) -> None:
    expected = distances.KINDS[metric] if isinstance(metric, str) else ""
    _require(space["kind"] == expected, name, "space_")
    _require(type(space.get("p")) is float and space["p"] > 0, name, "space_")
    p = n_terms(model)
    for key, shape in (("shift", (p,)), ("scale", (p,)), ("basis", (p, p))):
        _require(key in space, name, "space_")
        value = space[key]
        good = value is None or (_is(value, np.float64, shape) and np.isfinite(value).all())
        _require(bool(good), name, "space_")
    _require(metric != "gower" or space["scale"] is not None, name, "space_")
    if "direction" in space:
        good = metric == "cosine" and _is(space["direction"], np.float64, (p + 1,))
        _require(bool(good and np.isfinite(space["direction"]).all()), name, "space_")

    if "mark" in space or "owner" in space:
        owner, mark = np.asarray(space.get("owner")), np.asarray(space.get("mark"))
        good = metric == "hamming" and _is(owner, np.int64, (p,)) and _is(mark, np.float64, (p,))
        _require(bool(good and np.isfinite(mark).all()), name, "space_")
        _require(np.array_equal(owner, model.schema_.owner), name, "space_")


def _width(model: Any, space: dict, metric: Any) -> int:
    if "mark" in space:
        return int(space["owner"].max()) + 1
    return n_terms(model) + (1 if metric == "cosine" else 0)


def _check_tree(model: Any, rows: Any, n: int) -> None:
    tree, name = vars(model).get("tree_"), type(model).__name__
    if tree is None:
        return
    d = rows.shape[1]
    wanted = {"order", "boxes", "least", "depth"}
    _require(
        type(tree) is dict and set(tree) == wanted and isinstance(rows, np.ndarray), name, "tree_"
    )
    depth = neighbor_search.tree_depth(n, model.leaf_size)
    _require(type(tree["depth"]) is int and tree["depth"] == depth, name, "tree_")
    _require(_is(tree["order"], np.int32, (n,)), name, "tree_")
    _require(np.array_equal(np.sort(tree["order"]), np.arange(n)), name, "tree_")
    _require(_is(tree["boxes"], np.float64, (2 << depth, 2, d)), name, "tree_")
    _require(_is(tree["least"], np.int32, (2 << depth,)), name, "tree_")
    X = neighbor_search.unpacked(rows, neighbor_search.tree_starts(n, depth))
    for level in range(depth + 1):
        starts, nodes = neighbor_search.tree_starts(n, level)[:-1], slice(1 << level, 2 << level)
        boxes = tree["boxes"][nodes]
        same = (boxes[:, 0] == np.minimum.reduceat(X, starts)).all()
        same = same and (boxes[:, 1] == np.maximum.reduceat(X, starts)).all()
        first = np.minimum.reduceat(tree["order"], starts)
        _require(bool(same and (tree["least"][nodes] == first).all()), name, "tree_")


def check_codes(model: Any) -> None:
    """`codes_` holds one class code per training row, ascending."""
    codes, name, n = vars(model).get("codes_"), type(model).__name__, model.n_samples_fit_
    _require(_is(codes, np.int32, (n,)), name, "codes_")
    _require(codes[0] >= 0 and codes[-1] < len(model.classes_), name, "codes_")
    _require(bool((np.diff(codes) >= 0).all()), name, "codes_")


def check_targets(model: Any) -> None:
    """`targets_` holds finite targets, one row per training row."""
    y, name = vars(model).get("targets_"), type(model).__name__
    good = type(y) is np.ndarray and y.dtype == np.float64 and y.ndim in (1, 2)
    _require(
        good and len(y) == model.n_samples_fit_ and bool(np.isfinite(y).all()), name, "targets_"
    )


def _is(array: Any, dtype: Any, shape: tuple[int, ...]) -> bool:
    return type(array) is np.ndarray and array.dtype == dtype and array.shape == shape


def _require(good: bool, owner: str, what: str) -> None:
    if not good:
        raise ModelFileError(f"the {what} of its {owner} is missing or inconsistent")
