"""`Problem`: what every family's `_fit` receives. Frozen: a fit never changes its input."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import batches, canonical, encode, targets
from pellucid.data.intake import Intake, intake
from pellucid.data.learn_schema import learn, named_kinds
from pellucid.data.schema import CATEGORICAL, TEXT, Schema
from pellucid.data.table import Table
from pellucid.errors import DataError, DataTypeError, ParameterError, shown


@dataclass(frozen=True)
class Problem:
    """Encoded rows of positive weight.

    X : matrix (n, p) float64, C order, or CSR; or codes (n, d) float64, F order (or C order, if the
        estimator takes them by rows), NaN = missing.
    y : float64, int32 class codes, or None. weights : float64, always present.
    offset : float64 or None. classes : the labels behind the codes. schema : the columns.
    position : row of this problem for each row the user gave (-1: left out); None if they agree.
    words : beside codes, the words of each text column by position, CSR (n, words).
    """

    X: Any
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
        """0 where the target is no class."""
        return 0 if self.classes is None else len(self.classes)

    @cached_property
    def counts(self) -> bool:
        """All weights are integers: then a count of rows is a sum of weights."""
        return _whole(self.weights)

    @property
    def total(self) -> float:
        """Number of rows that the weights stand for."""
        return float(self.weights.sum()) if self.counts else float(self.n)

    @property
    def unweighted(self) -> bool:
        return bool((self.weights == 1.0).all())

    @property
    def kinds(self) -> np.ndarray:
        """For codes: 1 where the column is categorical (uint8)."""
        return np.array([kind == CATEGORICAL for kind in self.schema.kinds], dtype=np.uint8)

    @property
    def n_levels(self) -> np.ndarray:
        """For codes: levels per column, 0 for numbers (int32)."""
        return self.schema.n_levels

    def take(self, rows: np.ndarray, weights: np.ndarray | None = None) -> "Problem":
        """The problem on some of its rows; weights default to theirs."""
        return replace(
            self,
            X=_gathered(self.X, rows, self.schema.layout == "codes"),
            y=None if self.y is None else self.y[rows],
            weights=self.weights[rows] if weights is None else weights,
            offset=None if self.offset is None else self.offset[rows],
            position=None,
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

    def reweight(self, weights: np.ndarray) -> "Problem":
        """The same rows with other weights."""
        return replace(self, weights=weights)


def _whole(weights: np.ndarray) -> bool:
    """All are integers; block by block, because a model may need less memory than its weights."""
    blocks = (weights[rows] for rows in parallel.row_blocks(len(weights), 16))
    return all(bool((w == np.floor(w)).all()) for w in blocks)


def _total(weights: np.ndarray) -> float:
    """How many rows these are: the sum of weights that are counts."""
    return float(weights.sum()) if _whole(weights) else float(len(weights))


def _gathered(X: Any, rows: np.ndarray, by_columns: bool) -> Any:
    """Some rows of a table, by position or mask, in the layout it has."""
    if not isinstance(X, np.ndarray):
        return X[rows]
    rows = np.flatnonzero(rows) if rows.dtype == bool else rows
    out = np.empty((len(rows), X.shape[1]), order="F" if by_columns else "C")

    def one_column(j: int) -> None:
        np.take(X[:, j], rows, out=out[:, j], mode="wrap")  # "wrap" needs no buffer

    def one_block(block: slice) -> None:
        np.take(X, rows[block], axis=0, out=out[block], mode="wrap")

    if by_columns:
        parallel.map(one_column, range(X.shape[1]))
    else:
        parallel.map(one_block, parallel.row_blocks(*out.shape))
    return out


@dataclass(frozen=True)
class Wishes:
    """What an estimator asks of `prepare`: its layout, its target, its habits."""

    owner: str
    layout: str = "matrix"
    coding: str = "onehot"
    target: str = "none"  # "classes", "numbers", "several", "none"
    takes_sparse: bool = True
    takes_text: bool = False
    canonical_rows: bool = False
    min_rows: int = 1
    classes: np.ndarray | None = None  # known labels, for partial_fit and warm starts
    schema: Schema | None = None  # a learned schema, for partial_fit and warm starts
    declared: bool = False  # keep levels that only the dtype declares, for partial_fit
    seen: float | None = None  # weight of the rows behind `schema`, which later batches extend
    table: Table | None = None  # of a meta-estimator's learner
    by_rows: bool = False  # codes may stay in row order


def prepare(
    X: Any, y: Any, weights: Any, offset: Any, table: Table | None, wishes: Wishes
) -> tuple[Problem, Intake]:
    """Check everything once, learn the schema, encode: the way from a user's table to a Problem."""
    if table is not None and wishes.table is not None:
        raise ParameterError(
            f"{wishes.owner} and its estimator both have a 'table': give it to one of them."
        )
    options = (table or wishes.table or Table()).check()
    rows = intake(X, wishes.owner)
    if options.kinds and rows.sparse is not None:
        raise DataTypeError(
            "Table(kinds=...) is for tables with columns of several kinds; sparse X holds numbers. "
            "Give the dense table, or leave kinds out."
        )
    if options.kinds:
        rows = rows.with_kinds(named_kinds(rows, options.kinds))
    target, classes = _target(y, rows.n_rows, wishes)
    w = targets.weights_or_ones(weights, rows.n_rows)
    shift = None if offset is None else targets.offset_values(offset, rows.n_rows)
    left_out = 0.0
    if options.missing != "indicator":
        given, w = w, _without_missing(rows, w, options.missing, wishes.owner)
        left_out = _total(given[w != given])
    used, position = rows, None
    if not w.all():  # weight 0 means absent: such rows teach no level, no class, no mean
        keep = w > 0
        position = np.where(keep, np.cumsum(keep) - 1, -1)
        used, w = rows.take(keep), w[keep]
        target = None if target is None else target[keep]
        shift = None if shift is None else shift[keep]
        if wishes.target == "classes" and wishes.classes is None:
            target, classes = _seen(target, classes)
    _check_enough(used, w, wishes)
    grows = wishes.declared and wishes.seen is not None
    finite = wishes.schema is None or grows  # looked through while learning
    schema, used = _schema(used, w, options, wishes, grows)
    if grows and wishes.schema is not None:  # of all batches
        left_out += wishes.schema.left_out
    if left_out != schema.left_out:
        schema = replace(schema, left_out=left_out)
    encoded = encode.encode(
        schema, used, wishes.takes_sparse, wishes.owner, finite, by_rows=wishes.by_rows
    )
    words = encode.words(schema, used) if wishes.layout == "codes" else {}
    problem = Problem(encoded, target, w, schema, shift, classes, position, words)
    return (canonical.canonical(problem) if wishes.canonical_rows else problem), rows


def _schema(
    rows: Intake, w: np.ndarray, options: Table, wishes: Wishes, grows: bool
) -> tuple[Schema, Intake]:
    """The schema of these rows, or of earlier ones (and these), and the rows in its order."""
    if wishes.schema is not None:
        rows = wishes.schema.align(rows, wishes.owner)
        if not grows:
            return wishes.schema, rows
        assert wishes.seen is not None
        schema = batches.grown_schema(wishes.schema, wishes.seen, rows, w, options)
    else:
        coding = wishes.coding if options.coding == "auto" else options.coding
        if grows:
            schema = batches.first_schema(rows, w, options, wishes.layout, coding)
        else:
            schema = learn(rows, w, options, wishes.layout, coding, wishes.declared)
    _check_text(schema, wishes)
    return schema, rows


def _check_text(schema: Schema, wishes: Wishes) -> None:
    if TEXT in schema.kinds and not wishes.takes_text:
        name = schema.name(schema.kinds.index(TEXT))
        readers = {"classes": "MixedNB or LogisticRegression", "numbers": "SGDRegressor"}
        other = f", or use {readers[wishes.target]}" if wishes.target in readers else ""
        raise DataError(
            f"column {name!r} holds free text, which {wishes.owner} cannot use. Drop it, or make it "
            f"a category with Table(kinds={{{name!r}: 'categorical'}}){other}."
        )


def _check_enough(rows: Intake, weights: np.ndarray, wishes: Wishes) -> None:
    if _total(weights) < wishes.min_rows:
        raise DataError(
            f"Found array with {rows.n_rows} sample(s) (shape={(rows.n_rows, rows.n_columns)}) "
            f"while a minimum of {wishes.min_rows} is required by {wishes.owner}: 1 sample is not "
            "enough."
        )


def _target(y: Any, n: int, wishes: Wishes) -> tuple[Any, np.ndarray | None]:
    if wishes.target == "none":
        return None, None
    if y is None:
        raise DataError(
            f"{wishes.owner} requires y to be passed, but the target y is None. Give fit(X, y)."
        )
    classes = None
    if wishes.target == "classes":
        target, classes = targets.labels(y, wishes.owner)
        if wishes.classes is not None:
            target, classes = _known(classes[target], wishes.classes)
    else:
        target = targets.numbers(y, wishes.owner, several=wishes.target == "several")
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


def _without_missing(rows: Intake, w: np.ndarray, rule: str, owner: str) -> np.ndarray:
    by_column = rows.missing_cells()
    missing = np.logical_or.reduce(by_column) & (w > 0)
    if not missing.any():
        return w
    if rule == "error":
        counts = {rows.name(j): int(m[w > 0].sum()) for j, m in enumerate(by_column)}
        told = [f"{name!r} ({count})" for name, count in counts.items() if count]
        named = ", ".join(told[:5]) + f" and {len(told) - 5} more columns" * (len(told) > 5)
        raise DataError(
            f"Input X contains NaN in {named}: {int(missing.sum())} of {len(w)} rows have missing "
            f"values (first: row {int(np.argmax(missing))}). {owner} was told Table(missing='error')."
        )
    if missing.sum() == (w > 0).sum():
        raise DataError("Every row has a missing value: Table(missing='drop') leaves none.")
    return np.where(missing, 0.0, w)
