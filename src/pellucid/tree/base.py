"""What classification and regression trees share: growing from a problem, and looking inside."""

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Estimator
from pellucid.data import InputSpec, Problem, prepare
from pellucid.data.canonical import canonical
from pellucid.data.opening import opened
from pellucid.data.schema import DATETIME
from pellucid.data.targets import check_lengths, labels, numbers, weights_or_ones
from pellucid.errors import DataError, ParameterError, warn
from pellucid.parameters import REQUIRED, Choice, Real, learned, param, shared
from pellucid.records import is_watched
from pellucid.tree import explaining, formatting, prediction
from pellucid.tree import growth_parameters as growth
from pellucid.tree.criteria import CRITERIA
from pellucid.tree.nodes import Nodes
from pellucid.tree.tree_spec import LEVEL_RULES, TreeSpec, number_of_features

INTERRUPTIBLE_CELLS = 2**17  # from this size on, fits leave the main thread, so that Ctrl-C works


CANDIDATE = (
    "column", "threshold", "levels", "missing", "impurity before", "impurity after", "gain",
    "samples left", "samples right", "chosen",
)  # fmt: skip


def _line(candidate: dict[str, Any], kind: str) -> tuple[Any, ...]:
    """One line of the table of candidates; `kind` is that of the column."""
    levels, threshold = candidate["levels"], candidate["threshold"]
    if kind == DATETIME and np.isfinite(threshold):
        threshold = formatting.date(threshold)
    shown = None if levels is None else ", ".join(map(formatting.level, levels))
    rest = ("impurity_before", "impurity_after", "gain", "samples_left", "samples_right", "chosen")
    return (
        formatting.one_line(candidate["name"]), threshold, shown, candidate["missing"],
        *(candidate[name] for name in rest),
    )  # fmt: skip


def one_or_several(problem: Problem) -> Problem:
    """The problem with y (n,) for one target, also if it was a table with one column.

    Several targets of a row are contiguous, so that sums over rows are the same for any container.
    """
    if problem.y.ndim == 1:
        return problem
    if problem.y.shape[1] == 0:
        raise DataError("y has no columns. Give at least one target.")
    y = problem.y[:, 0] if problem.y.shape[1] == 1 else problem.y
    return replace(problem, y=np.ascontiguousarray(y))


class TreeModel(Estimator):
    """Family of single trees; `tree_` holds the grown `Nodes`."""

    criterion: str = param(REQUIRED, Choice(*CRITERIA), "Impurity or loss that splits reduce.")
    splitter: str = param(
        "best",
        Choice("best", "random", "hist", "auto"),
        "How a split of a column is sought: 'best' compares all of them, 'random' draws one "
        "threshold or set of levels, 'hist' compares at most 254 thresholds, 'auto' is 'hist' from "
        "2^18 rows on and 'best' below.",
    )
    max_depth: int | None = growth.MAX_DEPTH
    min_samples_split: float = growth.MIN_SAMPLES_SPLIT
    min_samples_leaf: float = growth.MIN_SAMPLES_LEAF
    min_weight_fraction_leaf: float = growth.MIN_WEIGHT_FRACTION_LEAF
    max_features: Any = growth.MAX_FEATURES
    random_state: Any = shared.RANDOM_STATE.replace(
        description="Seed or generator of the columns, thresholds and sets of levels that are drawn. "
        "An int makes fits repeatable."
    )
    max_leaf_nodes: int | None = growth.MAX_LEAF_NODES
    min_impurity_decrease: float = growth.MIN_IMPURITY_DECREASE
    ccp_alpha: Any = growth.CCP_ALPHA.replace(
        check=Real(0, None) | Choice("cv"),
        description="Penalty for each leaf in cost-complexity pruning: subtrees that save less "
        "impurity per leaf are removed. 0 does not prune; 'cv' takes the largest penalty whose "
        "10-fold cross-validated loss is within one standard error of the lowest.",
    )
    monotonic_cst: Any = growth.MONOTONIC_CST
    max_split_loss: float | None = param(
        None,
        Real(0, None) | None,
        "Largest weighted impurity of the two parts for which a split is made. None sets no limit.",
        after="table",
    )
    categories: str = param(
        "auto",
        Choice(*LEVEL_RULES),
        "How a categorical column is split: 'auto' into two sets of levels, 'one_vs_rest' one level "
        "from all others, 'apart' every level from every other one. The last is stored as a chain of "
        "two-way splits that counts as one for `max_depth`; pruning may join levels again.",
        after="max_split_loss",
    )

    tree_: Nodes = learned(
        "The tree as plain arrays of its nodes: feature, threshold, left, right, value and others."
    )
    n_outputs_: int = learned("Number of targets; 1 for a classifier.")
    max_features_: int = learned("Number of columns drawn at each node.")
    ccp_alpha_: float = learned(
        "Penalty for each leaf that cross-validation chose, with ccp_alpha='cv'."
    )
    cv_path_: dict = learned(
        "Penalties that cross-validation compared, with ccp_alpha='cv': a dict of the arrays 'alpha', "
        "'loss' (mean loss) and 'error' (its standard error)."
    )

    _layout = "codes"
    _rows = "user_view"
    _reads_rows = True
    _invariant = ("weight scale", "column scale")
    _in_forest: ClassVar[bool] = False  # True for a copy that `estimators_` of a forest returns

    @property
    def _substitute(self) -> str:
        return "" if self.splitter in ("hist", "auto") else "splitter='hist'"

    def _grow(self, problem: Problem, presorted: Any = None) -> Nodes:
        """The whole tree; `presorted` is the sorted table if it exists already."""
        from pellucid.tree.fit_tree import grow_tree

        if problem.n * problem.p < INTERRUPTIBLE_CELLS:
            return grow_tree(TreeSpec.of(self), problem, presorted)
        return parallel.interruptible(grow_tree, TreeSpec.of(self), problem, presorted)

    def _fit(self, problem: Problem, presorted: Any = None) -> dict[str, Any]:
        problem = one_or_several(problem)
        if self.ccp_alpha == "cv" and presorted is None:
            problem = canonical(problem)  # so that folds do not depend on the order of the rows
        nodes = grown = self._grow(problem, presorted)
        more: dict[str, Any] = {}
        if self.ccp_alpha == "cv":
            from pellucid.tree.pruning_validation import cross_validated

            spec = TreeSpec.of(self)
            nodes, more = parallel.interruptible(cross_validated, spec, problem, nodes)
        elif self.ccp_alpha > 0:
            from pellucid.tree.pruning import prune

            nodes = prune(nodes, self.ccp_alpha)
        if is_watched():
            from pellucid.tree import growth_steps

            facts = (type(self).__name__, TreeSpec.of(self), problem)
            growth_steps.record(*facts, grown, nodes, problem.classes)
        if problem.classes is not None:
            more["n_classes_"] = len(problem.classes)
        return more | {
            "tree_": nodes,
            "n_outputs_": 1 if problem.y.ndim == 1 else problem.y.shape[1],
            "max_features_": number_of_features(self.max_features, problem.p),
        }

    explain = explaining.explain
    to_sklearn = explaining.to_sklearn

    def _explain(self, X: np.ndarray, method: str = "path") -> dict[str, Any]:
        values = prediction.values(self.tree_, X)
        two = "classes_" in vars(self) and values.shape[1] == 2
        parts = explaining.contributions(
            method, [self.tree_], [self.tree_.value], np.ones(1), X, two
        )
        along = f"changes of the {self._value_name()} along the path"
        return parts | {
            "prediction": values[:, 1:] if two else values,
            "scale": "probability" if "classes_" in vars(self) else "response",
            "method": explaining.SHAPLEY if method == "shap" else along,
        }

    def _value_name(self) -> str:
        """What a node predicts, in words."""
        raise NotImplementedError

    def _check_tree(self, n_values: int) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        if not isinstance(self.tree_, Nodes) or self.tree_.value.shape[1] != n_values:
            raise DataError("the tree does not belong to these classes or targets")
        if not np.array_equal(self.tree_.n_levels, self.schema_.n_levels):
            raise DataError("the tree does not belong to these columns")
        path = vars(self).get("cv_path_")
        if path is not None and (
            not isinstance(path, dict)
            or set(path) != {"alpha", "loss", "error"}
            or len({np.shape(part) for part in path.values()}) != 1
            or np.ndim(path["alpha"]) != 1
        ):
            raise DataError("the cross-validation path is not a table of penalties and losses")

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of the impurity decrease that is due to each column; all 0 for a single leaf."""
        self._check_fitted()
        return self.tree_.importances()

    def apply(self, X: Any) -> np.ndarray:
        """Number of the leaf that each row ends in."""
        encoded = self._encoded(X)
        return prediction.apply(self.tree_, encoded).astype(np.int64)

    def decision_path(self, X: Any) -> Any:
        """CSR matrix (rows, nodes), 1 where the row passes the node."""
        from scipy.sparse import csr_matrix

        encoded = self._encoded(X)
        indices, indptr = prediction.paths(self.tree_, encoded)
        ones = np.ones(len(indices), dtype=np.int64)
        return csr_matrix((ones, indices, indptr), shape=(len(indptr) - 1, self.tree_.n_nodes))

    def get_depth(self) -> int:
        """Edges on the longest path from the root to a leaf."""
        self._check_fitted()
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        self._check_fitted()
        return self.tree_.n_leaves

    def prune(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, *, node: int | None = None
    ) -> Self:
        """Prune the fitted tree in place: by validation rows, or at one node.

        With X and y, every branch is removed that does not lower the loss on these rows (wrong
        labels, or squared or absolute error); of equally good trees the smallest one is kept. With
        `node`, this node becomes a leaf. Nodes are numbered anew afterwards.
        """
        from pellucid.tree.pruning import collapse
        from pellucid.tree.pruning_validation import exponent_of, losses, reduced_error

        self._check_fitted()
        if self._in_forest:
            warn(
                "This tree is a copy from `estimators_` of a forest. Pruning it does not change the "
                "forest.",
                UserWarning,
            )
        if (node is None) == (X is None):
            raise ParameterError("prune needs either validation rows X and y, or node=.")
        if node is not None:
            self.tree_ = collapse(self.tree_, [self._split_node(node)])
            return self
        X, y, sample_weight = opened(X, y, sample_weight)
        encoded, target = self._encoded(X), self._target_codes(y)
        check_lengths(len(encoded), len(target))
        w = weights_or_ones(sample_weight, len(target))
        exponent = exponent_of(self.criterion, target, self.tree_.value)
        as_leaf, _ = losses(self.tree_, encoded, target, w, self.criterion, exponent)
        self.tree_ = collapse(self.tree_, reduced_error(self.tree_, as_leaf))
        return self

    def _split_node(self, node: Any) -> int:
        """The number of a node that is split, checked."""
        number = self._node_number(node, "prune", "a split node")
        if self.tree_.feature[number] < 0:
            raise ParameterError(f"prune got node={number}, which is a leaf already.")
        return number

    def _node_number(self, node: Any, method: str, kind: str) -> int:
        whole = isinstance(node, int | np.integer) and not isinstance(node, bool)
        if not whole or not 0 <= node < self.tree_.n_nodes:
            raise ParameterError(
                f"The 'node' parameter of {method} must be the number of {kind}, an int in the "
                f"range [0, {self.tree_.n_nodes - 1}]. Got {node!r} instead."
            )
        return int(node)

    def _target_codes(self, y: Any) -> np.ndarray:
        """The target as numbers, or as codes of the known classes, -1 for any other label."""
        if "classes_" not in vars(self):
            return self._target_numbers(numbers(y, type(self).__name__, several=True))
        codes, classes = labels(y, type(self).__name__)
        known = {label: k for k, label in enumerate(self.classes_.tolist())}
        found = np.array([known.get(label, -1) for label in classes.tolist()])
        if (found < 0).all():
            raise DataError(
                f"No label of y is a class of this tree. y contains {classes.tolist()[0]!r}, but the "
                f"classes are {', '.join(repr(label) for label in list(known)[:5])}."
            )
        return found[codes]

    def _target_numbers(self, y: np.ndarray) -> np.ndarray:
        """Targets in the shape of the fit: (n,) for one target, otherwise (n, targets)."""
        given = 1 if y.ndim == 1 else y.shape[1]
        if given != self.n_outputs_:
            raise DataError(
                f"y has {given} targets, but this tree was fitted on {self.n_outputs_}."
            )
        return y.ravel() if given == 1 else y

    def pruning_table(self) -> Any:
        """The trees of the cost-complexity path from the fitted tree to its root, as a table."""
        from pellucid.records import SummaryTable
        from pellucid.tree.pruning import path_leaves, pruning_path, weakest_links

        self._check_fitted()
        alphas, impurities = pruning_path(self.tree_)
        leaves = path_leaves(self.tree_, weakest_links(self.tree_))
        header: tuple[tuple[str, Any], ...] = (
            ("leaves", self.tree_.n_leaves),
            ("depth", self.tree_.depth),
        )
        if "ccp_alpha_" in vars(self):
            header += (("ccp_alpha chosen by cross-validation", self.ccp_alpha_),)
        rows = tuple(
            (f"{k}", float(a), int(n), float(i))
            for k, (a, n, i) in enumerate(zip(alphas, leaves, impurities))
        )
        return SummaryTable("Pruning path", header, ("tree", "alpha", "leaves", "impurity"), rows)

    def candidates(self, node: int, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """The best split of every column at a node of the fitted tree, as a table by falling gain.

        X, y and `sample_weight` are the rows that the tree was grown on; other rows give the table of
        those that reach the node. A line has the threshold (values up to it go left) or the levels
        that go left, the side of missing values, the impurity of the node, the weighted impurity of
        the two parts, the gain (the difference of both) and the samples of each part. The split
        that the tree made is marked as chosen; it is not the best one if columns or thresholds were
        drawn. Limits on leaves hold; a leaf of the tree shows the splits that other limits forbade. The
        table is empty if no split reduces anything, because all targets of the node are equal.

        Examples
        --------
        >>> from pellucid.tree import DecisionTreeClassifier
        >>> X, y = [[1.5, 7.0], [1.7, 9.0], [2.3, 8.0], [2.7, 9.0]], ["a", "a", "b", "b"]
        >>> table = DecisionTreeClassifier().fit(X, y).candidates(0, X, y).frame()
        >>> table["column"], table["threshold"], [round(gain, 3) for gain in table["gain"]]
        (['x0', 'x1'], [2.0, 7.5], [0.5, 0.167])
        """
        from pellucid.records import SummaryTable
        from pellucid.tree.candidates import NodeSearch

        self._check_fitted()
        number = self._node_number(node, "candidates", "a node")
        X, y, sample_weight = opened(X, y, sample_weight)
        spec = replace(self._input_spec(), schema=self.schema_, min_rows=1)
        problem = prepare(X, y, sample_weight, None, self.table, spec)[0]
        problem = self._with_known_classes(one_or_several(problem))
        found = NodeSearch.of(TreeSpec.of(self), self.tree_, problem).table(number)
        lines = tuple(_line(one, self.schema_.kinds[one["column"]]) for one in found)
        header = (("node", number), ("impurity", float(self.tree_.impurity[number])))
        return SummaryTable("Candidate splits", header, CANDIDATE, lines)

    def _with_known_classes(self, problem: Problem) -> Problem:
        """The problem with the class codes of this tree."""
        if problem.classes is None:
            return problem
        codes = np.searchsorted(self.classes_, problem.classes).clip(max=len(self.classes_) - 1)
        strange = self.classes_[codes] != problem.classes
        if strange.any():
            raise DataError(
                f"y contains the label {problem.classes[strange].tolist()[0]!r}, which is not a class "
                "of this tree."
            )
        return replace(problem, y=codes[problem.y].astype(np.int32), classes=self.classes_)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Penalties at which branches are pruned, and the impurity of the leaves that remain.

        A dict whose entries are also attributes: `ccp_alphas[k]` is the lowest `ccp_alpha` that gives
        the k-th smaller tree, with the total impurity `impurities[k]` of its leaves.
        """
        from pellucid.tree.pruning import PruningPath, pruning_path

        self._check_parameters()
        X, y, sample_weight = opened(X, y, sample_weight)
        spec: InputSpec = self._input_spec()
        problem = one_or_several(prepare(X, y, sample_weight, None, self.table, spec)[0])
        alphas, impurities = pruning_path(self._grow(problem))
        return PruningPath(ccp_alphas=alphas, impurities=impurities)
