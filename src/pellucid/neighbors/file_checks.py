"""Checks of a neighbour model that was read from a file, before its arrays reach the compiled loops.

Invariant: a tree is accepted only if its boxes are those of its rows, so a damaged file cannot hide a
neighbour.
"""

from typing import Any

import numpy as np

from pellucid.errors import ModelFileError
from pellucid.neighbors import distances, neighbor_search
from pellucid.persist.checks import valid_numbers
from pellucid.persist.fitted_state import expect_array, n_terms


def check(model: Any) -> None:
    """Raise `ModelFileError` unless rows, order, space and tree are consistent."""
    n, rows, space = (vars(model).get(key) for key in ("n_samples_fit_", "rows_", "space_"))
    _require(model, "n_samples_fit_", type(n) is int and n >= 1)
    expect_array(model, "order_", n, dtype=np.int64)
    _require(model, "order_", (model.order_ >= 0).all() and len(np.unique(model.order_)) == n)
    _require(model, "space_", type(space) is dict and type(space.get("kind")) is str)
    params = 2 if model.p is None else model.p
    metric, more = distances.effective(model.metric, params, model.metric_params)
    same = metric == vars(model).get("effective_metric_")
    _require(model, "metric", same and set(more) == set(model.effective_metric_params_))
    if metric == "precomputed":
        stored = isinstance(rows, tuple) and valid_numbers(rows, (n, n))
        good = stored or _is(rows, np.float64, (n, n))
        _require(model, "rows_", good and space["kind"] == "")
        return
    _check_space(model, space, metric)
    width = n_terms(model) + (metric == "cosine")
    if "mark" in space:
        width = int(space["owner"].max()) + 1
    if isinstance(rows, tuple):
        _require(model, "rows_", valid_numbers(rows, (n, width)))
    else:
        finite = space["kind"] == "gower" or (rows is not None and np.isfinite(rows).all())
        _require(model, "rows_", _is(rows, np.float64, (n, width)) and finite)
    if space["kind"]:
        _require(model, "space_", _is(space.get("centre"), np.float64, (width,)))
        _require(model, "space_", type(space.get("reach")) is float and space["reach"] > 0)
    _require(model, "tree_", "tree_" in vars(model))
    if model.tree_ is not None:
        _check_tree(model, model.tree_, rows, n)
    if model.algorithm == "lsh":
        _check_buckets(model, rows, n)


def _check_buckets(model: Any, rows: Any, n: int) -> None:
    from pellucid.neighbors import hashing

    recall, count = (vars(model).get(key) for key in ("recall_", "recall_neighbors_"))
    _require(model, "recall_", isinstance(recall, float) and 0 <= recall <= 1)
    _require(model, "recall_neighbors_", type(count) is int and count >= 0)
    parts = vars(model).get("buckets_")
    if parts is None:
        return
    named = type(parts) is dict and set(parts) == {"thresholds", "members", "starts", "probes"}
    _require(model, "buckets_", named and isinstance(rows, np.ndarray))
    bits, tables = hashing.n_bits(n), hashing.TABLES
    thresholds, members, starts = parts["thresholds"], parts["members"], parts["starts"]
    _require(
        model,
        "buckets_",
        _is(thresholds, np.float64, (tables * bits,))
        and np.isfinite(thresholds).all()
        and _is(members, np.int32, (tables * n,))
        and (np.sort(members.reshape(tables, n), axis=1) == np.arange(n)).all()
        and _is(starts, np.int64, (tables * 2**bits + 1,))
        and (starts[0], starts[-1]) == (0, tables * n)
        and (np.diff(starts) >= 0).all()
        and type(parts["probes"]) is int
        and parts["probes"] in hashing.PROBES,
    )


def _check_space(model: Any, space: dict, metric: Any) -> None:
    p, expected = n_terms(model), distances.KINDS[metric] if isinstance(metric, str) else ""
    good = space["kind"] == expected and type(space.get("p")) is float and space["p"] > 0
    for key, shape in (("shift", (p,)), ("scale", (p,)), ("basis", (p, p))):
        value = space.get(key, 0)
        good = good and (value is None or _is_finite(value, np.float64, shape))
    good = good and (metric != "gower" or space["scale"] is not None)
    if "panel" in space:
        good = good and type(space["panel"]) is int and 1 <= space["panel"] <= neighbor_search.PANEL
    if "direction" in space:
        good = good and metric == "cosine" and _is_finite(space["direction"], np.float64, (p + 1,))
    if "mark" in space or "owner" in space:
        good = good and metric == "hamming" and _is_finite(space.get("mark"), np.float64, (p,))
        owner: Any = space.get("owner")
        good = good and _is(owner, np.int64, (p,)) and np.array_equal(owner, model.schema_.owner)
    _require(model, "space_", good)


def _check_tree(model: Any, tree: Any, rows: Any, n: int) -> None:
    named = type(tree) is dict and set(tree) == {"order", "boxes", "least", "depth"}
    _require(model, "tree_", named and isinstance(rows, np.ndarray))
    depth = neighbor_search.tree_depth(n, model.leaf_size)
    _require(
        model,
        "tree_",
        type(tree["depth"]) is int
        and tree["depth"] == depth
        and _is(tree["order"], np.int32, (n,))
        and np.array_equal(np.sort(tree["order"]), np.arange(n))
        and _is(tree["boxes"], np.float64, (2 << depth, 2, rows.shape[1]))
        and _is(tree["least"], np.int32, (2 << depth,)),
    )
    X = neighbor_search.unpacked(rows, neighbor_search.tree_starts(n, depth))
    for level in range(depth + 1):
        starts, nodes = neighbor_search.tree_starts(n, level)[:-1], slice(1 << level, 2 << level)
        boxes = tree["boxes"][nodes]
        same = (boxes[:, 0] == np.minimum.reduceat(X, starts)).all()
        same = same and (boxes[:, 1] == np.maximum.reduceat(X, starts)).all()
        first = np.minimum.reduceat(tree["order"], starts)
        _require(model, "tree_", same and (tree["least"][nodes] == first).all())


def check_codes(model: Any) -> None:
    """`codes_` holds one class code per training row, ascending."""
    expect_array(model, "codes_", model.n_samples_fit_, dtype=np.int32)
    codes = model.codes_
    inside = codes[0] >= 0 and codes[-1] < len(model.classes_)
    _require(model, "codes_", inside and (np.diff(codes) >= 0).all())


def check_targets(model: Any) -> None:
    """`targets_` holds finite targets, one row per training row."""
    several = np.ndim(vars(model).get("targets_")) == 2
    expect_array(model, "targets_", model.n_samples_fit_, *[None] * several, finite=True)


def _is(array: Any, dtype: Any, shape: tuple[int, ...]) -> bool:
    return type(array) is np.ndarray and array.dtype == dtype and array.shape == shape


def _is_finite(array: Any, dtype: Any, shape: tuple[int, ...]) -> bool:
    return _is(array, dtype, shape) and bool(np.isfinite(array).all())


def _require(model: Any, what: str, good: Any) -> None:
    if not good:
        raise ModelFileError(f"the {what} of its {type(model).__name__} is missing or inconsistent")
