"""Metrics: a mapping of the rows to a space, followed by one of the compiled distances.

Invariant: `learn` reads the training rows once and returns plain arrays; `place` maps any encoded rows
to the same space, where the order of raw distances is the order of the metric; `finish` turns raw
distances into those of the metric.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data.canonical import canonical
from pellucid.errors import DataError, ParameterError, shown

# The compiled distances, by their number in lanes.h.
RAW = {"squared": 0, "manhattan": 1, "chebyshev": 2, "minkowski": 3, "hamming": 4, "gower": 5}
ALIASES = {"l2": "euclidean", "l1": "manhattan", "cityblock": "manhattan", "infinity": "chebyshev"}
KINDS = {
    "euclidean": "squared",
    "sqeuclidean": "squared",
    "cosine": "squared",
    "mahalanobis": "squared",
    "manhattan": "manhattan",
    "chebyshev": "chebyshev",
    "minkowski": "minkowski",
    "hamming": "hamming",
    "gower": "gower",
}
CLOSE = 0.05  # directions that differ by less from their mean are taken relative to it
CELLS = 2**20  # of sparse rows that are dense at a time
LARGEST_P = 32  # largest finite order p: powers of 1e-9 do not underflow
NAMES = (*KINDS, *ALIASES, "precomputed")
ARGUMENTS = {"minkowski": ("p", "w"), "mahalanobis": ("V", "VI"), "euclidean": ("w",)}


def effective(metric: Any, p: float, params: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
    """The metric without aliases, and its own parameters; Minkowski of order 1, 2, inf by name."""
    given = dict(params or {})
    if callable(metric):
        return metric, given
    name = ALIASES.get(metric, metric)
    strange = sorted(set(given) - set(ARGUMENTS.get(name, ())))
    if strange:
        known = ", ".join(ARGUMENTS.get(name, ())) or "none"
        raise ParameterError(
            f"The 'metric_params' parameter must be a dict of parameters of metric {metric!r} "
            f"({known}). Got {shown(strange[0])} instead."
        )
    if name != "minkowski":
        return name, given
    order = float(given.pop("p", p))
    if not order > 0:
        raise ParameterError(f"The order p of metric 'minkowski' must be positive. Got {order}.")
    named = {1.0: "manhattan", 2.0: "euclidean", np.inf: "chebyshev"}
    if order in named and ("w" not in given or order == 2.0):
        return named[order], given
    if order == np.inf:
        raise ParameterError(
            "metric_params['w'] has no meaning for p=inf, because the largest difference is not a sum. "
            "Scale the columns instead."
        )
    if order > LARGEST_P:
        raise ParameterError(
            f"The order p of metric 'minkowski' must be at most {LARGEST_P}, or inf (chebyshev), "
            f"which is close to it. Got {order:g}: powers of small differences would underflow, so that "
            "different rows would seem equal."
        )
    return "minkowski", {"p": order, **given}


def learn(X: Any, problem: Any, metric: Any, params: dict[str, Any], standardize: bool) -> dict:
    """The space of a metric, learned from training rows: scales, directions, ranges."""
    space: dict[str, Any] = {"kind": KINDS.get(metric, "") if isinstance(metric, str) else ""}
    space |= {"p": float(params.get("p", 2.0)), "shift": None, "scale": None, "basis": None}
    p = X.shape[1]
    if metric == "gower":
        if standardize:
            raise ParameterError(
                "The 'standardize' parameter must be False for metric 'gower', which divides "
                "columns by their ranges. Got True instead."
            )
        return space | {"scale": _ranges(X, problem.kinds)}
    if standardize or metric in ("mahalanobis", "cosine"):  # sums over rows in canonical order
        problem = canonical(problem)
        X = problem.X
    if standardize:
        space |= _standard(X, problem.weights, problem.schema.measured)
    if params.get("w") is not None:
        w = np.asarray(params["w"], dtype=float)
        if w.shape != (p,) or not (np.isfinite(w) & (w >= 0)).all():
            raise ParameterError(f"metric_params['w'] must be {p} finite numbers of at least 0.")
        scale = np.ones(p) if space["scale"] is None else space["scale"]
        space["scale"] = scale * w ** (1.0 / space["p"])
        space["shift"] = _origin(X) if space["shift"] is None else space["shift"]
    if metric == "mahalanobis":
        space |= _directions(place(space, X), problem.weights, params, space["shift"])
    if metric == "cosine":
        space |= _common_direction(place(space, X))
    if metric == "hamming" and not problem.schema.plain:
        space |= _marks(problem.schema)
    return space


def _marks(schema: Any) -> dict[str, Any]:
    """The user's column of each encoded one, and random factors: the sum over the encoded columns of a
    user's column differs where its cells differ. Missing numbers are far from all others.
    """
    roles = [role for _, role, _ in schema.blocks()]
    random = parallel.stream(parallel.seed_sequence(0), "marks").uniform(1.0, 2.0, len(roles))
    known = {"value": 1.0, "indicator": 2.0**1000}
    mark = np.array([known.get(role, value) for role, value in zip(roles, random)])
    return {"owner": schema.owner.astype(np.int64), "mark": mark}


def _ranges(X: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Inverse ranges of numbers, 0 for categories, -1 for constant columns."""
    scale = np.zeros(X.shape[1])
    for f in range(X.shape[1]):
        x = X[~np.isnan(X[:, f]), f]
        if not x.size or x.min() == x.max():
            scale[f] = -1.0
        elif not kinds[f]:
            half = 0.5 * x.max() - 0.5 * x.min()
            scale[f] = 0.5 / max(half, 1e-307)
    return scale


def _standard(X: Any, weights: np.ndarray, measured: np.ndarray) -> dict[str, Any]:
    """Divide numbers by their standard deviation; levels and indicators keep their unit."""
    from pellucid.numerics.column_scaling import deviations

    with np.errstate(over="ignore", invalid="ignore"):
        deviation = deviations(X, weights)[1]
    return {"shift": _origin(X), "scale": 1.0 / np.where(measured, deviation, 1.0)}


def _directions(X: Any, weights: np.ndarray, params: dict, shift: Any) -> dict[str, Any]:
    """B with |B'(a - b)|**2 = (a - b)' V^-1 (a - b), computed in units of the columns' standard
    deviations, so that the distance does not depend on units. An estimated V is shrunk towards
    uncorrelated columns.
    """
    p = X.shape[1]
    moved = {"shift": _origin(X)} if shift is None else {}
    if params.get("VI") is not None:
        unit, values, vectors = _in_units(_matrix(params["VI"], p, "VI"))
        if values[0] < -1e-12 * abs(values[-1]):
            raise DataError("metric_params['VI'] is not positive semi-definite.")
        basis = unit[:, None] * (vectors * np.sqrt(np.maximum(values, 0.0)))
    elif params.get("V") is not None:
        unit, values, vectors = _in_units(_matrix(params["V"], p, "V"))
        if values[0] <= p * np.finfo(float).eps * values[-1]:
            raise DataError("metric_params['V'] is not positive definite.")
        basis = vectors / np.sqrt(values) / unit[:, None]
    else:
        basis = _estimated_directions(X, weights)
    return {"basis": np.ascontiguousarray(basis)} | moved


def _in_units(V: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Powers of two near the square roots of the diagonal, and the eigenvalues and eigenvectors of the
    matrix divided by them; the division does not round.
    """
    unit = np.ldexp(1.0, np.frexp(np.diag(V))[1] // 2)
    return unit, *np.linalg.eigh(V / unit / unit[:, None])


def _estimated_directions(X: Any, weights: np.ndarray) -> np.ndarray:
    from pellucid.numerics.covariance import ledoit_wolf

    units = _standard(X, weights, np.ones(X.shape[1], dtype=bool))
    with np.errstate(all="ignore"):
        V = ledoit_wolf(place({"kind": "", "basis": None} | units, X), weights)[0]
    values, vectors = np.linalg.eigh(V)
    values = np.maximum(values, values[-1] * 1e-12) if values[-1] > 0 else np.ones(len(V))
    return units["scale"][:, None] * (vectors / np.sqrt(values))


def _common_direction(X: Any) -> dict[str, Any]:
    """The mean direction if all rows point almost the same way, else nothing.

    The differences of such directions are small; relative to the mean they keep their digits.
    """
    if not isinstance(X, np.ndarray):
        U = _sparse_unit(X)
        mean = np.asarray(U.mean(axis=0)).ravel()
        if np.abs(U.data - mean[U.indices]).max() > 2.0 * CLOSE:
            return {}
        X = X.toarray()
    U = _unit(X)
    mean = U.mean(axis=0)
    close = float(np.abs(U - mean).max()) < CLOSE
    return {"direction": mean} if close else {}


def _origin(X: Any) -> np.ndarray | None:
    """A point between the rows. Cells minus it can be scaled and rotated without losing the digits of
    their differences. It is the middle of the range, or of the interquartile range if an outlier makes
    the first useless, or 0.
    """
    if not isinstance(X, np.ndarray):
        return None
    origin = _exact_steps(X, X.min(axis=0), X.max(axis=0))
    rest = np.flatnonzero(np.isnan(origin))
    if rest.size:
        low, high = np.percentile(X[:, rest], [25, 75], axis=0, method="lower")
        origin[rest] = np.nan_to_num(_exact_steps(X[:, rest], low, high))
    return origin


def _exact_steps(X: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The middle of low and high as a multiple of a power of two above their distance; NaN for columns
    where subtracting it would lose digits: a difference is rounded, and larger than the cell itself.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        step = np.ldexp(1.0, np.frexp(0.5 * high - 0.5 * low)[1])
        origin = step * np.round((0.5 * high + 0.5 * low) / np.maximum(step, 1e-300))
        moved = X - origin
        # The difference is exact if both terms can be recovered from it (Knuth's two-sum).
        exact = (moved + origin == X) & (X - moved == origin)
        good = (exact | (np.abs(moved) <= np.abs(X))).all(axis=0)
    return np.where(good & np.isfinite(origin), origin, np.nan)


def _matrix(values: Any, p: int, name: str) -> np.ndarray:
    V = np.asarray(values, dtype=float)
    if V.shape != (p, p) or not np.isfinite(V).all() or not np.allclose(V, V.T):
        raise DataError(f"metric_params[{name!r}] must be a symmetric matrix of shape {(p, p)}.")
    return V


def place(space: dict[str, Any], X: Any, metric: Any = None) -> Any:
    """Encoded rows in the space of the metric, dense (C order) or CSR."""
    dense = isinstance(X, np.ndarray)
    shift, scale, basis = space["shift"], space["scale"], space["basis"]
    if space["kind"] == "gower":
        return np.ascontiguousarray(X)
    if not dense and (basis is not None or "direction" in space):
        X, dense = X.toarray(), True
    if shift is not None and dense:
        X = X - shift
    if scale is not None:
        X = X * scale if dense else type(X)(X.multiply(scale))
    if basis is not None:
        X = _rotated(X, basis)
    if "mark" in space:
        X = _by_column(X, space["owner"], space["mark"])
    if metric == "cosine":
        X = _unit(X, space.get("direction")) if dense else _sparse_unit(X)
    return np.ascontiguousarray(X) if dense else X


def _by_column(X: Any, owner: np.ndarray, mark: np.ndarray) -> Any:
    """One number for each column of the user's table, from its encoded columns."""
    d = int(owner.max()) + 1
    if not isinstance(X, np.ndarray):
        sums = type(X)((mark, (np.arange(len(mark)), owner)), shape=(len(mark), d))
        return type(X)(X @ sums)
    out = np.zeros((len(X), d))
    for j, column in enumerate(owner):
        out[:, column] += mark[j] * X[:, j]
    return out


def _rotated(X: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """X times the basis, with the same operations for each row: equal rows stay equal at any position,
    which matrix products do not guarantee.
    """
    out = np.zeros((len(X), basis.shape[1]))
    for first in range(0, len(X), 256):
        rows, part = X[first : first + 256], out[first : first + 256]
        for j in range(X.shape[1]):
            part += rows[:, j : j + 1] * basis[j]
    return out


def _unit(X: np.ndarray, direction: np.ndarray | None = None) -> np.ndarray:
    """Rows of length 1, minus `direction`. A row of zeros has a direction of its own, at distance 1
    from all others.
    """
    X = np.ldexp(X, -np.frexp(np.abs(X).max(axis=1, keepdims=True))[1])  # without rounding
    if direction is not None:
        X = X.astype(np.longdouble)
    length = np.sqrt((X * X).sum(axis=1, keepdims=True))
    U = np.hstack([X / np.where(length > 0, length, 1.0), (length == 0).astype(X.dtype)])
    return U if direction is None else (U - direction).astype(float)


def _sparse_unit(X: Any) -> Any:
    """The same for a sparse table, with the same bits, some dense rows at a time."""
    from scipy.sparse import csr_array, vstack

    some = max(1, CELLS // X.shape[1])
    rows = [csr_array(_unit(X[i : i + some].toarray())) for i in range(0, X.shape[0], some)]
    return csr_array(vstack(rows, format="csr"))


def finish(space: dict[str, Any], metric: Any, raw: np.ndarray, d: int) -> np.ndarray:
    """Distances of the metric from raw ones."""
    if metric == "sqeuclidean":
        return raw
    if metric == "cosine":
        return np.minimum(0.5 * raw, 2.0)
    if metric == "hamming":
        return raw / d
    if space["kind"] == "squared":
        return np.sqrt(raw)
    if space["kind"] == "minkowski":
        return raw ** (1.0 / space["p"])
    return raw


def raw_radius(space: dict[str, Any], metric: Any, radius: float, d: int, power: int = 0) -> float:
    """A raw distance, of rows divided by 2**power, that no row within `radius` exceeds.

    It may be slightly too large, but never too small.
    """
    twice = 2 if metric == "sqeuclidean" else 1
    with np.errstate(over="ignore", under="ignore"):
        own = np.ldexp(np.float64(radius), -twice * power)
        raw = {"cosine": 2.0 * own, "sqeuclidean": own, "hamming": own * d}.get(metric)
        if raw is None:
            raw = own ** {"squared": 2.0, "minkowski": space["p"]}.get(space["kind"], 1.0)
        return float(raw * (1.0 + 1e-12))
