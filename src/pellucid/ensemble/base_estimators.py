"""Any classifier or regressor as a base estimator: how to seed it, fit it and predict with it.

Estimators of Pellucid learn from the `Problem` that was encoded once; trees share its sorted columns.
Others, with scikit-learn's interface, get the encoded matrix and class codes; so do a user's subclasses
that override a method which the first way does not call. If a bag lacks a class, the base estimator
sees the classes that are there, and the others have probability 0.
"""

import inspect
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Estimator
from pellucid.data import InputSpec, Problem, Schema
from pellucid.data.canonical import canonical_view
from pellucid.ensemble.bootstrap_samples import Bag
from pellucid.errors import DataError, ParameterError
from pellucid.protocol import always_has, copied
from pellucid.tree import DecisionTreeClassifier
from pellucid.tree.base import TreeModel
from pellucid.tree.nodes import Nodes

# Methods that the fast path does not call, or not by their public names.
_BYPASSED = (
    "fit", "predict", "predict_proba", "predict_log_proba", "decision_function",
    "_fit", "_grow", "_proba", "_predict", "_codes", "_scores",
)  # fmt: skip


@cache  # asked for every base estimator of every prediction
def _ways(cls: type) -> tuple[bool, bool]:
    """Whether a class is an estimator of Pellucid, and a tree, and overrides nothing of its own."""
    foreign = (owner for owner in cls.__mro__ if owner.__module__.partition(".")[0] != "pellucid")
    plain = not any(name in vars(owner) for owner in foreign for name in _BYPASSED)
    return issubclass(cls, Estimator) and plain, issubclass(cls, TreeModel) and plain


def is_ours(base: Any) -> bool:
    """Whether a base estimator is one of Pellucid, and no subclass overrides what it does."""
    return _ways(base.__class__)[0]


def is_tree(base: Any) -> bool:
    """Whether a base estimator is a tree of Pellucid, and no subclass overrides what it does."""
    return _ways(base.__class__)[1]


def input_spec_of(
    base: Any, owner: str, kind: str = "classifier", several: bool = False
) -> InputSpec:
    """What an ensemble of this base estimator needs from `prepare`; `several`: it accepts several
    targets if its base estimator does."""
    ours = isinstance(base, Estimator)
    tags = _tags(base)
    found = base._kind if ours else getattr(tags, "estimator_type", None)
    if found != kind and (ours or found is not None or not hasattr(base, "predict")):
        raise ParameterError(f"{owner} needs a {kind}. Got {base!r} instead.")
    if is_ours(base):
        rows = rows_for(base)
        spec = replace(base._input_spec(), owner=owner, rows=rows, table=base.table)
        if spec.layout == "codes":
            spec = replace(spec, takes_text=False)  # bags hold codes alone
        if kind == "classifier":
            return spec
        return replace(spec, target="several" if several and base._several_targets else "numbers")
    multi_output = base._several_targets if ours else tags and tags.target_tags.multi_output
    return InputSpec(
        owner=owner,
        target=_foreign_target(kind, several and bool(multi_output)),
        rows="canonical",
        takes_sparse=takes_sparse(base),
        min_rows=Estimator._min_rows,
    )


def _foreign_target(kind: str, several: bool) -> str:
    if kind == "classifier":
        return "classes"
    return "several" if several else "numbers"


def rows_for(base: Any) -> str:
    """`InputSpec.rows` of an ensemble: canonical rows, in the user's array if `base` can read it."""
    view = is_ours(base) and base._rows.endswith("view")
    return "canonical_view" if view else "canonical"


def _tags(base: Any) -> Any:
    """The tags of a foreign estimator; None for Pellucid's and for one that has none."""
    asked = getattr(base, "__sklearn_tags__", None)
    return None if asked is None or isinstance(base, Estimator) else asked()


def takes_sparse(base: Any) -> bool:
    if isinstance(base, Estimator):
        return base._takes_sparse
    tags = _tags(base)
    return tags is not None and tags.input_tags.sparse


def takes_weights(base: Any) -> bool:
    """Whether `fit` accepts weights."""
    return "sample_weight" in inspect.signature(base.fit).parameters


def seeded(base: Any, seed: np.random.SeedSequence, number: int) -> Any:
    """A copy of the base estimator whose random states follow from (seed, number)."""
    twin = copied(base)
    names = sorted(
        name
        for name in twin.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    rng = parallel.stream(seed, "learner", number)  # the label is part of the seed
    states = rng.integers(0, 2**31 - 1, size=len(names)).tolist()
    return twin.set_params(**dict(zip(names, states))) if names else twin


def fit(base: Any, problem: Problem, bag: Bag, presorted: Any = None) -> Any:
    """Fit a base estimator to a bag; `presorted` is the sorted table, for our trees."""
    if is_tree(base):
        return _fit_tree(base, problem, bag, presorted)
    rows = np.flatnonzero(bag.weights)
    part = select(problem.take(rows, bag.weights[rows]), bag.columns)
    if part.classes is not None:
        part = _classes_present(part)
        if part.n_classes == 1:
            # Most estimators refuse a single class; a tree of one leaf predicts it.
            return _fit_leaf(part)
    if is_ours(base):
        return _fit_ours(base, part)
    return _fit_foreign(base, part)


def _fit_tree(base: Any, problem: Problem, bag: Bag, presorted: Any) -> Any:
    """Rows that were not drawn stay with weight 0, so that the sorted columns can be shared."""
    part = select(problem, bag.columns).reweight(bag.weights)
    if presorted is not None and bag.columns is not None:
        presorted = presorted.select(bag.columns)
    base._store(base._fit(part, presorted), part)
    return base


def fit_some_columns(
    base: Any, problem: Problem, weights: np.ndarray, columns: np.ndarray, presorted: Any
) -> Any:
    """A tree fitted to some columns only, stored as a tree over all columns."""
    part = select(problem, columns).reweight(weights)
    learned = base._fit(part, presorted.select(columns))
    nodes = learned["tree_"]
    feature = nodes.over_columns(columns)
    return store_tree(base, problem, replace(nodes, feature=feature, n_levels=problem.n_levels))


def store_tree(base: Any, problem: Problem, nodes: Nodes) -> Any:
    """A tree classifier whose tree was grown already, on all columns."""
    learned = {
        "tree_": nodes, "n_outputs_": 1, "max_features_": problem.p, "n_classes_": problem.n_classes
    }  # fmt: skip
    base._store(learned, problem)
    return base


def _fit_ours(base: Any, part: Problem) -> Any:
    base._check_parameters()
    base._check_problem(part)
    spec = base._input_spec()
    if spec.rows == "canonical_view":
        part = canonical_view(part, spec.positions)
    base._store(base._fit(part), part)
    return base


def _fit_leaf(part: Problem) -> Any:
    """A tree of one leaf, which reads no value of the table."""
    schema = replace(part.schema, layout="codes")
    X = np.zeros((part.n, schema.n_columns), order="F")
    leaf, part = DecisionTreeClassifier(), replace(part, X=X, schema=schema)
    leaf._store(leaf._fit(part), part)  # not `_learn`, which refuses a single class
    return leaf


def _fit_foreign(base: Any, part: Problem) -> Any:
    target = part.y if part.classes is None else part.classes[part.y]
    if takes_weights(base):
        return base.fit(part.X, target, sample_weight=part.weights)
    if not part.counts:
        raise DataError(
            f"{type(base).__name__} takes no weights, so non-integer weights need bootstrap=True. "
            "Use bootstrap=True, or integer weights."
        )
    rows = np.repeat(np.arange(part.n), part.weights.astype(np.int64))
    return base.fit(part.X[rows], target[rows])


def check_fitted(
    base: Any, expected: Any, columns: np.ndarray, schema: Schema, n_classes: int
) -> None:
    """Refuse a base estimator of a model file that does not fit an ensemble of `expected`; n_classes
    is 0 for regression."""
    codes = np.asarray(base.classes_) if n_classes else np.empty(0, dtype=np.int64)
    one_leaf = type(base) is DecisionTreeClassifier and len(codes) == 1  # see `fit`
    if type(base) is not type(expected) and not one_leaf:
        raise DataError("a base estimator is of another class than the ensemble expects")
    own, terms = base.schema_, len(_encoded_columns(schema, columns))
    same_levels = np.array_equal(own.n_levels, schema.n_levels[columns])
    same_form = one_leaf or (own.layout == schema.layout and len(own.owner) == terms)
    if not same_levels or not same_form:
        raise DataError("the columns of a base estimator do not belong to this table")
    if n_classes and (codes.dtype.kind != "i" or not np.isin(codes, np.arange(n_classes)).all()):
        raise DataError("the classes of a base estimator are not class codes of the ensemble")
    if (np.diff(codes) <= 0).any():
        raise DataError("the classes of a base estimator are not in order")


def predictions(base: Any, X: Any, columns: Any, schema: Schema) -> np.ndarray:
    """(n,) predicted numbers of encoded rows, or (n, targets)."""
    part = X if columns is None else X[:, _encoded_columns(schema, columns)]
    if not is_ours(base):
        found = np.asarray(base.predict(part), dtype=np.float64)
        return found.reshape(part.shape[0]) if found.size == part.shape[0] else found
    if base._layout == "codes" and base._rows != "user_view":
        part = np.asfortranarray(part)
    return base._predict(part)


def probabilities(base: Any, X: Any, columns: Any, schema: Schema, n_classes: int) -> np.ndarray:
    """(n, K) class probabilities of encoded rows; 0 and 1 if the base estimator has none.

    Base estimators were fitted on class codes, so `classes_` are the columns that they fill; all
    columns if it has none.
    """
    seen = getattr(base, "classes_", np.arange(n_classes))
    if len(seen) == 1:  # a single leaf may have another layout
        return np.tile(np.arange(n_classes) == seen[0], (X.shape[0], 1)).astype(float)
    part = X if columns is None else X[:, _encoded_columns(schema, columns)]
    if is_ours(base) and base._layout == "codes" and base._rows != "user_view":
        part = np.asfortranarray(part)
    if is_ours(base) and always_has(base, "_proba"):
        shares = base._proba(part)
    elif is_ours(base):
        shares = np.eye(len(seen))[base._codes(part)]
    elif hasattr(base, "predict_proba"):
        shares = base.predict_proba(part)
    else:
        shares = (np.asarray(base.predict(part))[:, None] == seen).astype(np.float64)
    if len(seen) == n_classes:
        return shares
    out = np.zeros((shares.shape[0], n_classes))
    out[:, np.asarray(seen, dtype=np.int64)] = shares
    return out


def scores(base: Any, X: Any, columns: Any, schema: Schema, n_classes: int) -> np.ndarray:
    """Decision scores (n,) for two classes, else (n, K).

    A class that the base estimator did not see gets its lowest score. If it saw one class only,
    this class has the score 1 (-1 for class 0 of two).
    """
    part = X if columns is None else X[:, _encoded_columns(schema, columns)]
    codes = np.asarray(base.classes_, dtype=np.int64)
    n = part.shape[0]
    if len(codes) == 1:
        if n_classes <= 2:
            return np.full(n, 2.0 * codes[0] - 1.0)
        return np.tile((np.arange(n_classes) == codes[0]).astype(np.float64), (n, 1))
    found = base._scores(part) if is_ours(base) else base.decision_function(part)
    if len(codes) == n_classes:
        return found
    if found.ndim == 1:
        found = np.stack((-found, found), axis=1)
    out = np.repeat(found.min(axis=1, keepdims=True), n_classes, axis=1)
    out[:, codes] = found
    return out


def coded(problem: Problem) -> Problem:
    """The problem whose labels are the class codes 0, 1, ..., as base estimators use them."""
    if problem.classes is None:
        return problem
    return replace(problem, classes=np.arange(len(problem.classes)))


def _classes_present(part: Problem) -> Problem:
    assert part.classes is not None
    seen, codes = np.unique(part.y, return_inverse=True)
    if len(seen) == len(part.classes):
        return part
    return replace(part, y=codes.astype(np.int32), classes=part.classes[seen])


def select(problem: Problem, columns: np.ndarray | None) -> Problem:
    """The problem on some of the user's columns."""
    if columns is None:
        return problem
    X = problem.X[:, _encoded_columns(problem.schema, columns)]
    if isinstance(X, np.ndarray):
        X = np.asarray(X, order="F" if problem.schema.layout == "codes" else "C")
    return replace(problem, X=X, schema=_part_of(problem.schema, columns))


def _encoded_columns(schema: Schema, columns: np.ndarray) -> np.ndarray:
    """Encoded columns of the user's columns; one that was drawn twice is repeated."""
    owner = schema.owner
    return np.concatenate([np.flatnonzero(owner == j) for j in columns])


def _part_of(schema: Schema, columns: np.ndarray) -> Schema:
    shares = [schema.level_shares(j) for j in columns if schema.levels[j]]
    names = None
    if schema.names is not None and len(np.unique(columns)) == len(columns):
        names = tuple(schema.names[j] for j in columns)
    return replace(
        schema,
        names=names,
        kinds=tuple(schema.kinds[j] for j in columns),
        levels=tuple(schema.levels[j] for j in columns),
        shares=np.concatenate(shares) if shares else np.empty(0),
        mean=schema.mean[columns],
        low=schema.low[columns],
        high=schema.high[columns],
        n_missing=schema.n_missing[columns],
    )
