"""Any classifier or regressor as a base learner: how to seed, fit and ask it.

Ours learn from the `Problem` that was encoded once; trees share its sorted columns. Foreign ones
(scikit-learn's protocol) get the encoded matrix and class codes. Where a bag lacks a class the
learner sees the classes that are there, and the others have probability 0.
"""

import inspect
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Classifier, Estimator
from pellucid.data import InputSpec, Problem, Schema
from pellucid.data.canonical import canonical_view
from pellucid.ensemble.bootstrap_samples import Bag
from pellucid.errors import DataError, ParameterError
from pellucid.protocol import always_has, copied
from pellucid.tree import DecisionTreeClassifier
from pellucid.tree.base import TreeModel
from pellucid.tree.nodes import Nodes


def input_spec_of(
    learner: Any, owner: str, kind: str = "classifier", several: bool = False
) -> InputSpec:
    """What a meta-estimator over a learner of this kind asks of `prepare`; `several`: it takes as many
    targets as its learner does."""
    ours = isinstance(learner, Estimator)
    tags = None if ours else learner.__sklearn_tags__()
    if (learner._kind if tags is None else tags.estimator_type) != kind:
        raise ParameterError(f"{owner} needs a {kind}. Got {learner!r} instead.")
    if tags is None:
        rows = rows_for(learner)
        spec = replace(learner._input_spec(), owner=owner, rows=rows, table=learner.table)
        if spec.layout == "codes":
            spec = replace(spec, takes_text=False)  # bags hold codes alone
        if kind == "classifier":
            return spec
        return replace(
            spec, target="several" if several and learner._several_targets else "numbers"
        )
    return InputSpec(
        owner=owner,
        target=_foreign_target(kind, several and tags.target_tags.multi_output),
        rows="canonical",
        takes_sparse=tags.input_tags.sparse,
        min_rows=Estimator._min_rows,
    )


def rows_for(learner: Any) -> str:
    """`InputSpec.rows` of an ensemble: canonical ones, in the user's array if the learner can use it."""
    view = isinstance(learner, Estimator) and learner._rows.endswith("view")
    return "canonical_view" if view else "canonical"


def _foreign_target(kind: str, several: bool) -> str:
    if kind == "classifier":
        return "classes"
    return "several" if several else "numbers"


def takes_sparse(learner: Any) -> bool:
    if isinstance(learner, Estimator):
        return learner._takes_sparse
    return learner.__sklearn_tags__().input_tags.sparse


def takes_weights(learner: Any) -> bool:
    """Whether `fit` takes weights."""
    return "sample_weight" in inspect.signature(learner.fit).parameters


def seeded(learner: Any, seed: np.random.SeedSequence, number: int) -> Any:
    """A copy of the learner whose random states follow from (seed, number)."""
    twin = copied(learner)
    names = sorted(
        name
        for name in twin.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    rng = parallel.stream(seed, "learner", number)
    states = rng.integers(0, 2**31 - 1, size=len(names)).tolist()
    return twin.set_params(**dict(zip(names, states))) if names else twin


def fit(learner: Any, problem: Problem, bag: Bag, presorted: Any = None) -> Any:
    """Fit a learner to a bag; `presorted` is the sorted table, for our trees."""
    if isinstance(learner, TreeModel):
        return _fit_tree(learner, problem, bag, presorted)
    rows = np.flatnonzero(bag.weights)
    part = select(problem.take(rows, bag.weights[rows]), bag.columns)
    if part.classes is not None:
        part = _classes_present(part)
        if part.n_classes == 1:
            # One class says nothing to most learners: a tree of one leaf says it for all.
            return _fit_leaf(part)
    if isinstance(learner, Estimator):
        return _fit_ours(learner, part)
    return _fit_foreign(learner, part)


def _fit_tree(learner: Any, problem: Problem, bag: Bag, presorted: Any) -> Any:
    """All rows stay, those not drawn with weight 0, so that the sorted columns can be shared."""
    part = select(problem, bag.columns).reweight(bag.weights)
    if presorted is not None and bag.columns is not None:
        presorted = presorted.select(bag.columns)
    learner._store(learner._fit(part, presorted), part)
    return learner


def fit_some_columns(
    learner: Any, problem: Problem, weights: np.ndarray, columns: np.ndarray, presorted: Any
) -> Any:
    """A tree that looks at some columns only, as a tree over all of them."""
    part = select(problem, columns).reweight(weights)
    learned = learner._fit(part, presorted.select(columns))
    nodes = learned["tree_"]
    feature = np.append(columns, -1)[nodes.feature].astype(np.int32)
    return store_tree(learner, problem, replace(nodes, feature=feature, n_levels=problem.n_levels))


def store_tree(learner: Any, problem: Problem, nodes: Nodes) -> Any:
    """A tree classifier whose tree is grown already, from all columns."""
    learned = {
        "tree_": nodes, "n_outputs_": 1, "max_features_": problem.p, "n_classes_": problem.n_classes
    }  # fmt: skip
    learner._store(learned, problem)
    return learner


def _fit_ours(learner: Any, part: Problem) -> Any:
    learner._check_parameters()
    learner._check_problem(part)
    spec = learner._input_spec()
    if spec.rows == "canonical_view":
        part = canonical_view(part, spec.positions)
    learner._store(learner._fit(part), part)
    return learner


def _fit_leaf(part: Problem) -> Any:
    """A tree of one leaf; it looks at no cell, whatever form they have."""
    schema = replace(part.schema, layout="codes")
    X = np.zeros((part.n, schema.n_columns), order="F")
    leaf, part = DecisionTreeClassifier(), replace(part, X=X, schema=schema)
    leaf._store(leaf._fit(part), part)  # not `_learn`: for the user one class is an error
    return leaf


def _fit_foreign(learner: Any, part: Problem) -> Any:
    target = part.y if part.classes is None else part.classes[part.y]
    if takes_weights(learner):
        return learner.fit(part.X, target, sample_weight=part.weights)
    if not part.counts:
        raise DataError(
            f"{type(learner).__name__} takes no weights, and without bootstrap the weights of the "
            "rows are not drawn: use bootstrap=True, or weights that are integers."
        )
    rows = np.repeat(np.arange(part.n), part.weights.astype(np.int64))
    return learner.fit(part.X[rows], target[rows])


def check_fitted(
    learner: Any, asked: Any, columns: np.ndarray, schema: Schema, n_classes: int
) -> None:
    """Refuse a learner of a model file that cannot answer for an ensemble over `asked`; n_classes
    is 0 for numbers."""
    codes = np.asarray(learner.classes_) if n_classes else np.empty(0, dtype=np.int64)
    one_leaf = type(learner) is DecisionTreeClassifier and len(codes) == 1  # see `fit`
    if type(learner) is not type(asked) and not one_leaf:
        raise DataError("a learner is of another kind than the ensemble's")
    own, terms = learner.schema_, len(_encoded_columns(schema, columns))
    same_levels = np.array_equal(own.n_levels, schema.n_levels[columns])
    same_form = one_leaf or (own.layout == schema.layout and len(own.owner) == terms)
    if not same_levels or not same_form:
        raise DataError("a learner's columns do not belong to this table")
    if n_classes and (codes.dtype.kind != "i" or not np.isin(codes, np.arange(n_classes)).all()):
        raise DataError("a learner's classes are not codes of the ensemble's")
    if (np.diff(codes) <= 0).any():
        raise DataError("a learner's classes are not in order")


def predictions(learner: Any, X: Any, columns: Any, schema: Schema) -> np.ndarray:
    """(n,) predicted numbers of encoded rows, or (n, targets)."""
    part = X if columns is None else X[:, _encoded_columns(schema, columns)]
    if not isinstance(learner, Estimator):
        said = np.asarray(learner.predict(part), dtype=np.float64)
        return said.reshape(part.shape[0]) if said.size == part.shape[0] else said
    if learner._layout == "codes" and learner._rows != "user_view":
        part = np.asfortranarray(part)
    return learner._predict(part)


def probabilities(learner: Any, X: Any, columns: Any, schema: Schema, n_classes: int) -> np.ndarray:
    """(n, K) class probabilities of encoded rows; votes where the learner has none.

    Learners were fitted on class codes, so their `classes_` say which columns are theirs.
    """
    if len(learner.classes_) == 1:  # it may be a leaf over columns in another form
        return np.tile(np.arange(n_classes) == learner.classes_[0], (X.shape[0], 1)).astype(float)
    part = X if columns is None else X[:, _encoded_columns(schema, columns)]
    if (
        isinstance(learner, Estimator)
        and learner._layout == "codes"
        and learner._rows != "user_view"
    ):
        part = np.asfortranarray(part)
    if isinstance(learner, Classifier) and always_has(learner, "_proba"):
        shares = learner._proba(part)
    elif isinstance(learner, Classifier):
        shares = np.eye(len(learner.classes_))[learner._codes(part)]
    elif hasattr(learner, "predict_proba"):
        shares = learner.predict_proba(part)
    else:
        shares = (learner.predict(part)[:, None] == learner.classes_).astype(np.float64)
    if len(learner.classes_) == n_classes:
        return shares
    out = np.zeros((shares.shape[0], n_classes))
    out[:, np.asarray(learner.classes_, dtype=np.int64)] = shares
    return out


def has_scores(learner: Any) -> bool:
    """Whether the learner has decision scores."""
    return hasattr(learner, "decision_function")


def scores(learner: Any, X: Any, columns: Any, schema: Schema, n_classes: int) -> np.ndarray:
    """Decision scores (n,) for two classes, else (n, K).

    A class that the learner did not see has its lowest score; a learner that saw one class only
    says 1 for it (-1 for class 0 of two).
    """
    part = X if columns is None else X[:, _encoded_columns(schema, columns)]
    codes = np.asarray(learner.classes_, dtype=np.int64)
    n = part.shape[0]
    if len(codes) == 1:
        if n_classes <= 2:
            return np.full(n, 2.0 * codes[0] - 1.0)
        return np.tile((np.arange(n_classes) == codes[0]).astype(np.float64), (n, 1))
    found = (
        learner._scores(part)
        if isinstance(learner, Classifier)
        else learner.decision_function(part)
    )
    if len(codes) == n_classes:
        return found
    if found.ndim == 1:
        found = np.stack((-found, found), axis=1)
    out = np.repeat(found.min(axis=1, keepdims=True), n_classes, axis=1)
    out[:, codes] = found
    return out


def coded(problem: Problem) -> Problem:
    """The problem whose labels are the class codes 0, 1, ..., so learners name them alike."""
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
    """Encoded columns of the user's columns; a column that is drawn twice comes twice."""
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
