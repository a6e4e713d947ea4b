"""`Problem`: what every family's `_fit` receives. Frozen: a fit never changes its input."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid import parallel
from pellucid.data import batches, canonical, encode, targets
from pellucid.data.intake import RawTable, raw_table
from pellucid.data.learn_schema import learn, named_kinds, shared_levels
from pellucid.data.row_view import RowView
from pellucid.data.schema import CATEGORICAL, TEXT, Schema
from pellucid.data.table import Table
from pellucid.errors import DataError, DataTypeError, ParameterError, shown
from pellucid.parallel.cached import cached_property
from pellucid.parallel.external import gather, take
from pellucid.parallel.memory import is_limited
from pellucid.parallel.shard import shard

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix


@dataclass(frozen=True)
class Problem:
    """Encoded rows of positive weight.

    X : matrix (n, p) float64, C order, or CSR; or codes (n, d) float64, F order, NaN = missing; with
        `rows` "user_view" codes in F or C order; with "canonical_view" a `RowView` of either.
    y : float64, int32 class codes, or None. weights : float64, always present.
    offset : float64 or None. classes : the labels behind the codes. schema : the columns.
    position : row of this problem for each row the user gave (-1: left out); None if they agree, or
        if a view was made without `positions`.
    words : beside codes, the words of each text column by position, CSR (n, words).
    """

    X: "np.ndarray | csr_array | csr_matrix | RowView"
    y: Any
    weights: np.ndarray
    schema: Schema
    offset: np.ndarray | None = None
    classes: np.ndarray | None = None
    position: np.ndarray | None = None
    words: dict[int, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def p(self) -> int:
        return self.X.shape[1]

    @property
    def n_classes(self) -> int:
        """0 if the target is not a class."""
        return 0 if self.classes is None else len(self.classes)

    @cached_property
    def counts(self) -> bool:
        """All weights are integers: then a count of rows is a sum of weights."""
        return _whole(self.weights)

    @property
    def total(self) -> float:
        """Number of rows that the weights stand for."""
        return _total(self.weights)

    @property
    def n_all(self) -> int:
        """Rows of all processes that share the table; `n` are here."""
        return parallel.total_rows(self.n)

    @property
    def unweighted(self) -> bool:
        return parallel.all_rows((self.weights == 1.0).all())

    @property
    def kinds(self) -> np.ndarray:
        """For codes: 1 where the column is categorical (uint8)."""
        return np.array([kind == CATEGORICAL for kind in self.schema.kinds], dtype=np.uint8)

    @property
    def n_levels(self) -> np.ndarray:
        """For codes: levels per column, 0 for numbers (int32)."""
        return self.schema.n_levels

    def take(
        self,
        rows: np.ndarray,
        weights: np.ndarray | None = None,
        position: np.ndarray | None = None,
    ) -> "Problem":
        """The problem on some of its rows; weights default to theirs."""
        return Problem(
            X=_gathered(self.X, rows, self.schema.layout == "codes"),
            y=None if self.y is None else take(self.y, rows),
            weights=take(self.weights, rows) if weights is None else weights,
            schema=self.schema,
            offset=None if self.offset is None else take(self.offset, rows),
            classes=self.classes,
            position=position,
            words={j: part[rows] for j, part in self.words.items()},
        )

    def user_rows(self) -> np.ndarray:
        """Row number in the user's table of each row; the first of several equal rows."""
        if self.position is None:
            return np.arange(self.n)
        seen = np.flatnonzero(self.position >= 0)[::-1]
        rows = np.empty(self.n, dtype=np.int64)
        rows[self.position[seen]] = seen
        return rows

    @property
    def table(self) -> "np.ndarray | csr_array | csr_matrix":
        """X of a problem whose rows are not a view."""
        assert not isinstance(self.X, RowView)
        return self.X

    def gathered(self) -> "Problem":
        """The problem with a copy of its rows in place of a view of them."""
        if not isinstance(self.X, RowView):
            return self
        X = _gathered(self.X.table, self.X.places, self.schema.layout == "codes")
        return replace(self, X=X)

    def in_order(self) -> "Problem":
        """The problem with a view of rows that stand in the order of the view."""
        if not isinstance(self.X, RowView) or not isinstance(self.X.table, np.ndarray):
            return self
        copy = _gathered(self.X.table, self.X.places, self.schema.layout == "codes")
        return replace(self, X=RowView(copy, np.arange(len(copy), dtype=np.int32)))

    def reweight(self, weights: np.ndarray) -> "Problem":
        """The same rows with other weights."""
        return replace(self, weights=weights)


FEW = 2**14  # cells that are gathered at once


def _whole(weights: np.ndarray) -> bool:
    """All are integers; block by block, because a model may need less memory than its weights."""
    blocks = (weights[rows] for rows in parallel.row_blocks(len(weights), 16))
    return parallel.all_rows(all(bool((w == np.floor(w)).all()) for w in blocks))


def _total(weights: np.ndarray) -> float:
    """How many rows these are: the sum of weights that are counts."""
    if _whole(weights):
        return float(parallel.sum_rows(weights))
    return float(parallel.total_rows(len(weights)))


def _gathered(X: Any, rows: np.ndarray, by_columns: bool) -> Any:
    """Some rows of a table, by position or mask, in the layout it has."""
    if not isinstance(X, np.ndarray) or (X.size <= FEW and not by_columns):
        return X[rows]
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    out = np.empty((len(rows), X.shape[1]), order="F" if by_columns else "C")
    if is_limited():
        for source, target in zip(X.T, out.T) if X.flags.f_contiguous else [(X, out)]:
            gather(source, rows, target)
        return out

    def one_column(j: int) -> None:
        np.take(X[:, j], rows, out=out[:, j], mode="wrap")  # "wrap" needs no buffer

    def one_block(block: slice) -> None:
        np.take(X, rows[block], axis=0, out=out[block], mode="wrap")

    if by_columns:
        parallel.map(one_column, range(X.shape[1]))
    else:
        parallel.map(one_block, parallel.row_blocks(*out.shape))
    return out


# Which rows a fit sees. "user": the user's rows in their order. "canonical": equal rows merged, in the
# order of their hashes, copied. Both "_view"s use the user's own array where that is possible, without
# a copy: "user_view" takes codes in C order too, "canonical_view" gets a `RowView`.
ROWS = ("user", "user_view", "canonical", "canonical_view")


@dataclass(frozen=True)
class InputSpec:
    """What an estimator needs from `prepare`: layout, target, rows."""

    owner: str
    layout: str = "matrix"
    coding: str = "onehot"
    target: str = "none"  # "classes", "numbers", "several", "none"
    takes_sparse: bool = True
    takes_text: bool = False
    rows: str = "user"  # one of `ROWS`
    positions: bool = False  # with a canonical view: whether `Problem.position` is needed
    min_rows: int = 1
    classes: np.ndarray | None = None  # known labels, for partial_fit and warm starts
    schema: Schema | None = None  # a learned schema, for partial_fit and warm starts
    declared: bool = False  # keep levels that only the dtype declares, for partial_fit
    seen: float | None = None  # weight of the rows behind `schema`, which later batches extend
    table: Table | None = None  # of the base estimator of an ensemble


def prepare(
    X: Any, y: Any, weights: Any, offset: Any, table: Table | None, spec: InputSpec
) -> tuple[Problem, RawTable]:
    """Check everything once, learn the schema, encode: the way from a user's table to a Problem.

    Rows with a memo give the same problem again for the same target, weights, options and needs.
    """
    if isinstance(X, RawTable) and X.memo is not None and spec.schema is None:
        key = ("problem", repr(table), repr(spec))
        return X.remembered(
            key, (y, weights, offset), lambda: _prepare(X, y, weights, offset, table, spec)
        )
    return _prepare(X, y, weights, offset, table, spec)


def _prepare(
    X: Any, y: Any, weights: Any, offset: Any, table: Table | None, spec: InputSpec
) -> tuple[Problem, RawTable]:
    if table is not None and spec.table is not None:
        raise ParameterError(
            f"{spec.owner} and its estimator both have a 'table': give it to one of them."
        )
    options = (table or spec.table or Table()).check()
    rows = shared_levels(raw_table(X, spec.owner))
    if options.kinds and rows.sparse is not None:
        raise DataTypeError(
            "Table(kinds=...) is for tables with columns of several kinds; sparse X holds numbers. "
            "Give the dense table, or leave kinds out."
        )
    if options.kinds:
        rows = rows.with_kinds(named_kinds(rows, options.kinds))
    target, classes = _target(y, rows.n_rows, spec)
    w = targets.weights_or_ones(weights, rows.n_rows)
    shift = None if offset is None else targets.offset_values(offset, rows.n_rows)
    left_out = 0.0
    if options.missing != "indicator":
        given, w = w, _without_missing(rows, w, options.missing, spec.owner)
        left_out = _total(given[w != given])
    used, position = rows, None
    if not w.all():  # weight 0 means absent: such a row adds no level, no class, nothing to a mean
        keep = w > 0
        position = np.where(keep, np.cumsum(keep) - 1, -1)
        used, w = rows.take(keep), w[keep]
        target = None if target is None else target[keep]
        shift = None if shift is None else shift[keep]
        if spec.target == "classes" and spec.classes is None:
            target, classes = _seen(target, classes)
    _check_enough(used, w, spec)
    grows = spec.declared and spec.seen is not None
    finite = spec.schema is None or grows  # checked while the schema is learned
    schema, used = _schema(used, w, options, spec, grows)
    if grows and spec.schema is not None:  # of all batches
        left_out += spec.schema.left_out
    if left_out != schema.left_out:
        schema = replace(schema, left_out=left_out)
    # Below a ceiling codes are copied column after column: columns are what their models read.
    view = spec.rows.endswith("view") and not (is_limited() and spec.layout == "codes")
    sparse = spec.takes_sparse and shard() is None  # sums of sparse rows are not exchanged
    encoded = encode.encode(schema, used, sparse, spec.owner, finite, view=view)
    words = encode.words(schema, used) if spec.layout == "codes" else {}
    problem = Problem(encoded, target, w, schema, shift, classes, position, words)
    if spec.rows == "canonical":
        problem = canonical.canonical(problem)
    elif spec.rows == "canonical_view" and not (shard() is not None and spec.layout == "codes"):
        problem = canonical.canonical_view(problem, spec.positions)
        if (
            is_limited() and spec.layout == "matrix"
        ):  # a view would read rows from all over the file
            problem = problem.in_order()
    return problem, rows


def _schema(
    rows: RawTable, w: np.ndarray, options: Table, spec: InputSpec, grows: bool
) -> tuple[Schema, RawTable]:
    """The schema of these rows, or of earlier ones (and these), and the rows in its order."""
    if spec.schema is not None:
        rows = spec.schema.align(rows, spec.owner)
        if not grows:
            return spec.schema, rows
        assert spec.seen is not None
        schema = batches.grown_schema(spec.schema, spec.seen, rows, w, options)
    else:
        coding = spec.coding if options.coding == "auto" else options.coding
        if grows:
            schema = batches.first_schema(rows, w, options, spec.layout, coding)
        else:
            schema = learn(rows, w, options, spec.layout, coding, spec.declared)
    _check_text(schema, spec)
    return schema, rows


def _check_text(schema: Schema, spec: InputSpec) -> None:
    if TEXT in schema.kinds and not spec.takes_text:
        name = schema.name(schema.kinds.index(TEXT))
        readers = {"classes": "MixedNB or LogisticRegression", "numbers": "SGDRegressor"}
        other = f", or use {readers[spec.target]}" if spec.target in readers else ""
        raise DataError(
            f"column {name!r} holds free text, which {spec.owner} cannot use. Drop it, or make it "
            f"a category with Table(kinds={{{name!r}: 'categorical'}}){other}."
        )


def _check_enough(rows: RawTable, weights: np.ndarray, spec: InputSpec) -> None:
    n_rows = parallel.total_rows(rows.n_rows)
    if n_rows < spec.min_rows and _total(weights) < spec.min_rows:
        raise DataError(
            f"Found array with {rows.n_rows} sample(s) (shape={(rows.n_rows, rows.n_columns)}) "
            f"while a minimum of {spec.min_rows} is required by {spec.owner}: 1 sample is not "
            "enough."
        )


def _target(y: Any, n: int, spec: InputSpec) -> tuple[Any, np.ndarray | None]:
    if spec.target == "none":
        return None, None
    if y is None:
        raise DataError(
            f"{spec.owner} requires y to be passed, but the target y is None. Call fit(X, y)."
        )
    classes = None
    if spec.target == "classes":
        target, classes = targets.shared_labels(*targets.labels(y, spec.owner))
        if spec.classes is not None:
            target, classes = _known(classes[target], spec.classes)
    else:
        target = targets.numbers(y, spec.owner, several=spec.target == "several")
    targets.check_lengths(n, len(target))
    return target, classes


def _known(y: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    strange = ~np.isin(y, classes)
    if strange.any():
        raise DataError(
            f"y holds label {shown(y[strange][0])}, which is not among classes {classes.tolist()}."
        )
    return np.searchsorted(classes, y).astype(np.int32), classes


def _seen(codes: Any, classes: Any) -> tuple[np.ndarray, np.ndarray]:
    """Classes that only occur in rows of weight 0 do not exist."""
    seen, codes_seen = np.unique(codes, return_inverse=True)
    if len(seen) == len(classes):
        return codes, classes
    return codes_seen.astype(np.int32), classes[seen]


def _without_missing(rows: RawTable, w: np.ndarray, rule: str, owner: str) -> np.ndarray:
    by_column = rows.missing_cells()
    missing = np.logical_or.reduce(by_column) & (w > 0)
    if not missing.any():
        return w
    if rule == "error":
        counts = {rows.name(j): int(m[w > 0].sum()) for j, m in enumerate(by_column)}
        found = [f"{name!r} ({count})" for name, count in counts.items() if count]
        named = ", ".join(found[:5]) + f" and {len(found) - 5} more columns" * (len(found) > 5)
        raise DataError(
            f"Input X contains NaN in {named}: {int(missing.sum())} of {len(w)} rows have missing "
            f"values (first: row {int(np.argmax(missing))}). Table(missing='error') forbids them."
        )
    if missing.sum() == (w > 0).sum():
        raise DataError(
            "Every row has a missing value, so Table(missing='drop') drops all of them."
        )
    return np.where(missing, 0.0, w)
