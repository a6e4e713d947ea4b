"""`KMeans`: `seeding` chooses the starting centers, `lloyd` runs the iterations."""

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Clusterer
from pellucid.beyond_memory import lazy_for_dask
from pellucid.cluster.row_distances import RowTable, exponent, many_products
from pellucid.data import Problem
from pellucid.data.canonical import row_hash
from pellucid.data.encode import encode
from pellucid.data.intake import RawTable, raw_table
from pellucid.data.opening import opened
from pellucid.data.problem import InputSpec
from pellucid.data.row_view import RowView
from pellucid.errors import DataError, warn
from pellucid.numerics.row_blocks import divided
from pellucid.parallel.shard import shard
from pellucid.parameters import (
    Array,
    Choice,
    Function,
    Integer,
    Real,
    learned,
    param,
    positional,
    shared,
)
from pellucid.records import Solution, Status, converting, is_watched, unwatched
from pellucid.transformer import Transformer

# Rows are copied into their order, because reading them at random takes up to 1.7 times as long,
# unless that copy is large: this many bytes, of rows wider than the other arrays of a fit.
LARGE, WIDE = 1 << 26, 8
# A later start replaces the best one only if its inertia is lower by more than rounding error.
ROUNDING_MARGIN = 1.0 - 1e-12


class KMeans(Clusterer, Transformer):
    """k-means: centers C and labels that minimise sum_i w_i |x_i - C[label_i]|**2.

    Runs Lloyd's algorithm from one or more starts and keeps the result with the smallest inertia.
    Both values of `algorithm` give the same labels and centers, to the last bit.

    Examples
    --------
    >>> from pellucid.cluster import KMeans
    >>> X = [[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]]
    >>> model = KMeans(2, init=[[0, 0], [9, 9]]).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.cluster_centers_
    array([[ 1.,  2.],
           [10.,  2.]])
    >>> model.predict([[0, 0], [12, 3]])
    array([0, 1], dtype=int32)
    """

    n_clusters: int = positional(
        default=8, check=Integer(1), description="Number of clusters.", kw_only=False
    )
    init: Any = param(
        "k-means++",
        Choice("k-means++", "random") | Function | Array,
        "Starting centers: greedy k-means++, random rows, a function (X, n_clusters, random_state) that "
        "returns them, or the centers themselves as an array (n_clusters, n_columns).",
    )
    n_init: Any = param(
        "auto",
        Choice("auto") | Integer(1),
        "Number of starts; the one with the smallest inertia is kept. 'auto' is 10 for random starts "
        "and functions, else 1.",
    )
    max_iter: int = param(300, Integer(1), "Largest number of iterations of one start.")
    tol: float = param(
        1e-4,
        Real(0, None, "left"),
        "Stop when the sum of the squared movements of the centers is at most `tol` times the mean "
        "variance of the columns.",
    )
    verbose: int = shared.VERBOSE
    random_state: Any = shared.RANDOM_STATE
    copy_x: bool = shared.COPY_X
    algorithm: str = param(
        "lloyd",
        Choice("lloyd", "elkan"),
        "Which bounds on distances are kept: 'lloyd' keeps two per row; 'elkan' keeps one more per four "
        "centers, which saves distances and costs memory. The results are the same to the last bit.",
    )

    cluster_centers_: np.ndarray = learned(
        "Centers, shape (n_clusters, n_encoded_columns), in the order of `terms_`."
    )
    inertia_: float = learned("Weighted sum of the squared distances of the rows to their centers.")
    n_iter_: int = learned("Number of iterations of the best start.")
    history_: dict[str, np.ndarray] = learned(
        "Diagnostics of the best start by iteration, as a dict of arrays of equal length: objective, "
        "number of rows that changed their cluster, squared movement of the centers."
    )
    status_: Status = learned("How the best start ended, with advice if it did not converge.")

    _rows = "canonical_view"
    _shares_rows = property(lambda self: not callable(self.init) and str(self.init) != "random")

    def _input_spec(self) -> InputSpec:
        return replace(super()._input_spec(), positions=True)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the centers. `y` is ignored; a row of weight k counts as k identical rows."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        if problem.total < self.n_clusters:
            raise DataError(
                f"n_samples={problem.total:g} should be >= n_clusters={self.n_clusters}."
            )
        X = _placed(problem.X)
        dense = isinstance(X, np.ndarray | RowView)
        bounded = dense and problem.schema.plain
        cells = X.table if isinstance(X, RowView) else X
        power = exponent(*(problem.schema.low, problem.schema.high) if bounded else (cells,))
        power = parallel.everywhere(power, max)
        with (
            parallel.one_blas_thread(),
            converting(lambda state: _attributes(state, power, problem)),
        ):
            best = self._best_run(_divided(X, power), problem, power)
        found = dict(zip(("C", "labels", "inertia"), best.x))
        learned = _attributes(found, power, problem)
        squares = {name: _ldexp(best.history[name], 2 * power) for name in ("objective", "shift")}
        if not np.isfinite(learned["inertia_"]):
            raise DataError(
                "The sum of squared distances exceeds the largest float64. Divide the columns by a "
                f"power of ten: their values reach {np.ldexp(1.0, power - 1):.0e}."
            )
        return learned | {
            "n_iter_": best.n_iter,
            "history_": best.history | squares,
            "status_": self._status(best, found["labels"]),
        }

    def _best_run(self, X: Any, problem: Problem, power: int) -> Solution:
        """The result with the smallest inertia over all starts; ties go to the first."""
        from pellucid.cluster import seeding
        from pellucid.cluster.lloyd import Lloyd

        table = RowTable(X, self.n_clusters)
        tol = self.tol * table.variance(problem.weights) if self.tol > 0 else 0.0
        hashes = None if shard() is None else _hashes(problem.X)
        by_panel = self.algorithm == "elkan"
        run = Lloyd(table, problem.weights, self.max_iter, tol, by_panel, hashes)
        seed = parallel.seed_sequence(self.random_state)
        best: Solution | None = None
        first, starts = np.zeros(0), self._n_starts()
        for i in range(starts):
            rng = parallel.stream(seed, "start", i)
            init = self.init
            if not isinstance(init, str) and not callable(init):
                init = np.ldexp(seeding.checked(init, self.n_clusters, table.d), -power)
            C = seeding.start(init, table, problem.weights, self.n_clusters, rng, hashes)
            with unwatched() if starts > 1 else contextlib.nullcontext():
                found = run.solve(C)
            if best is None or found.x[2] < ROUNDING_MARGIN * best.x[2]:
                best, first = found, C
        assert best is not None
        # Who watches sees the best of several starts, which takes the same way again.
        return run.solve(first) if starts > 1 and is_watched() else best

    def _n_starts(self) -> int:
        if isinstance(self.init, str) or callable(self.init):
            default = 1 if isinstance(self.init, str) and self.init == "k-means++" else 10
            return default if self.n_init == "auto" else self.n_init
        if self.n_init not in ("auto", 1):
            warn(
                "Explicit initial center position passed: performing only one init in KMeans "
                f"instead of n_init={self.n_init}.",
                RuntimeWarning,
            )
        return 1

    def _status(self, best: Solution, labels: np.ndarray) -> Status:
        found = len(parallel.everywhere(np.unique(labels), np.union1d))
        if found == self.n_clusters:
            return best.status
        return Status(
            "few_clusters",
            f"Number of distinct clusters ({found}) found smaller than n_clusters "
            f"({self.n_clusters}). Possibly due to duplicate points in X.",
            f"Use n_clusters={found}; the other centers are copies of these.",
        )

    def _check_state(self) -> None:
        """Reject a model file whose centers the compiled loops could not read."""
        from pellucid.persist.fitted_state import expect_array, n_terms

        expect_array(self, "cluster_centers_", None, n_terms(self), finite=True)
        if not len(self.cluster_centers_):
            raise DataError("it has no cluster centers")

    def _after_fit(self, rows: RawTable) -> None:
        labels = vars(self).get("labels_")
        if labels is not None and (labels < 0).any():  # rows of weight 0 get a label too
            super()._after_fit(rows)

    def _scaled(self, X: Any, power: int) -> tuple[RowTable, np.ndarray]:
        """Rows and centers, divided by 2**power."""
        C = np.ascontiguousarray(np.ldexp(self.cluster_centers_, -power))
        return RowTable(divided(X, power), len(C)), C

    def _assign(self, X: Any) -> np.ndarray:
        # Squared distances of very distant rows overflow: all centers count as equally near to them.
        rows, C = self._scaled(X, exponent(self.cluster_centers_))
        return rows.label(C)

    @lazy_for_dask
    def predict(self, X: Any) -> np.ndarray:
        """Label of the nearest center of each row; ties go to the lowest label."""
        self._check_fitted()
        X = opened(X)[0]
        labels = self._labels_in_one_pass(X) if self.schema_.plain else None
        return self._assign(self._encoded(X)) if labels is None else labels

    def _labels_in_one_pass(self, X: Any) -> np.ndarray | None:
        """Labels of a dense table, checked for NaN and infinity in the same pass; None if the pass
        did not check every row, or found one that is not finite.
        """
        owner = type(self).__name__
        rows = self.schema_.align(raw_table(X, owner), owner)
        if rows.dense is None or many_products(*self.cluster_centers_.shape):
            return None
        power = exponent(self.cluster_centers_)  # single precision may have no room for it
        encoded = encode(self.schema_, rows, True, owner, finite=True, narrow=power == 0)
        table, C = self._scaled(encoded, power)
        labels, finite = table.label_and_check(C)
        return labels if finite else None

    def _transform(self, X: Any) -> np.ndarray:
        """Distances to the centers."""
        power = exponent(self.cluster_centers_)
        rows, C = self._scaled(X, power)
        out = _ldexp(np.sqrt(rows.distances(C)), power)
        overflowed = np.flatnonzero(~np.isfinite(out).all(axis=1))
        if overflowed.size:
            power = exponent(X[overflowed], self.cluster_centers_)
            rows, C = self._scaled(X[overflowed], power)
            out[overflowed] = _ldexp(np.sqrt(rows.distances(C)), power)
        return out

    def _explain(self, X: Any) -> dict[str, Any]:
        """The negative squared distance to each center as a sum over the columns."""
        dense = X if isinstance(X, np.ndarray) else X.toarray()
        squares = (dense[:, :, None] - self.cluster_centers_.T) ** 2
        return {
            "base": np.zeros(len(self.cluster_centers_)),
            "contributions": -squares,
            "prediction": -(self._transform(X) ** 2),
            "scale": "response",
            "method": "negative squared distances to the centers",
        }

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The negative weighted sum of squared distances to the nearest centers."""
        from pellucid.data.targets import weights_or_ones

        encoded = self._encoded(X)
        power = exponent(self.cluster_centers_)
        rows, C = self._scaled(encoded, power)
        squared = rows.own_distances(C, rows.label(C))
        return -float(_ldexp(squared @ weights_or_ones(sample_weight, rows.n), 2 * power))


def _placed(X: Any) -> Any:
    """A view that the loops read in place if its copy would be large; else a copy in its order."""
    if not isinstance(X, RowView):
        return X
    table = X.table
    readable = isinstance(table, np.ndarray) and table.flags.c_contiguous
    return X if readable and table.nbytes >= LARGE and table.shape[1] >= WIDE else X[:]


def _divided(X: Any, power: int) -> Any:
    if isinstance(X, RowView) and power:
        return RowView(divided(X.table, power), X.places)
    return divided(X, power)


def _attributes(state: Mapping[str, Any], power: int, problem: Problem) -> dict[str, Any]:
    """The state of an iteration as learned attributes."""
    labels, place = state["labels"], problem.position
    if place is not None:  # rows that were left out have no label
        labels = np.where(place < 0, np.int32(-1), labels[place])
    found = {
        "cluster_centers_": np.ldexp(state["C"], power),
        "inertia_": float(_ldexp(state["inertia"], 2 * power)),
    }
    # Labels of rows that other processes hold stay there.
    return found if shard() is not None else found | {"labels_": labels}


def _hashes(X: Any) -> np.ndarray:
    """Hashes of canonical rows, which ascend; k-means on several processes needs a dense table."""
    table = X.table if isinstance(X, RowView) else X
    if parallel.any_row(not isinstance(table, np.ndarray)):
        raise DataError("k-means on several processes needs columns without very many levels.")
    hashes = row_hash(table)
    return hashes[X.places] if isinstance(X, RowView) else hashes


def _ldexp(values: Any, power: int) -> Any:
    """values * 2**power; infinity where it overflows."""
    with np.errstate(over="ignore"):
        return np.ldexp(values, power)
