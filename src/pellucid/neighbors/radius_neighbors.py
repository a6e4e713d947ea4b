"""`RadiusNeighborsClassifier` and `RadiusNeighborsRegressor`: all rows within a radius vote."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from pellucid.base import Classifier, Regressor
from pellucid.data import Problem
from pellucid.errors import DataError, ModelFileError, ParameterError, shown
from pellucid.neighbors import vote_weights
from pellucid.neighbors.base import METRIC_PARAMETERS, WEIGHTS, WithinRadius, tie_order
from pellucid.neighbors.ragged import Lists
from pellucid.parameters import Choice, Either, Nothing, Real, Test
from pellucid.records import Prototypes

ENTRIES = 2**23  # neighbours held at once while rows are predicted, at 32 bytes each
_LABEL = Test(
    lambda v: isinstance(v, str | int | float | np.generic) and v == v, "a label of the classes"
)


class RadiusVotes(WithinRadius):
    """What the two models share: shares of the vote of the rows within the radius."""

    _parameters = {
        "radius": Real(0, None, "left"),
        "weights": WEIGHTS,
        **METRIC_PARAMETERS,
        "beta": Real(0, None, "neither"),
    }

    def _voters(self, X: Any) -> tuple[Lists, np.ndarray]:
        """The neighbours of encoded rows and their shares."""
        lists = self._within(self._placed(X), self.radius)
        return lists, vote_weights.shares_of_lists(self.weights, lists, self.beta)

    def _in_parts(self, X: Any, say: Callable[[Any, int], np.ndarray]) -> np.ndarray:
        """say(voters, first row) part by part: lists of all rows at once might fill the memory."""
        size = max(1, ENTRIES // self.n_samples_fit_)
        firsts = range(0, X.shape[0], size)
        return np.concatenate([say(self._voters(X[i : i + size]), i) for i in firsts])

    def _alone(self, lists: Lists, first: int, advice: str) -> DataError:
        row = first + int(np.argmin(lists.counts))
        return DataError(
            f"No neighbors found for test sample {row}: no training row lies within "
            f"radius={self.radius:g}. Use a larger radius{advice}."
        )

    def _prototypes(self, found: Any, targets: np.ndarray, said: np.ndarray) -> Prototypes:
        """Lists of unequal length, filled up with -1; rows without neighbours have `others`."""
        lists, shares = found
        n, width = len(lists.counts), max(int(lists.counts.max(initial=0)), 1)
        rows, distances = np.full((n, width), -1), np.full((n, width), np.nan)
        spoken = np.zeros((n, width, said.shape[1]))
        at = lists.owners, np.arange(len(lists.rows)) - np.repeat(lists.starts[:-1], lists.counts)
        rows[at], distances[at] = self.order_[lists.rows], lists.distances
        spoken[at] = shares[:, None] * targets[lists.rows]
        alone = (lists.counts == 0)[:, None]
        classes = tuple(self.classes_.tolist()) if "classes_" in vars(self) else None
        return Prototypes(
            rows=rows, distances=distances, votes=spoken, prediction=said, classes=classes,
            scale="response" if classes is None else "probability",
            method=f"neighbours within {self.radius:g}", others=np.where(alone, said, 0.0),
        )  # fmt: skip


class RadiusNeighborsClassifier(RadiusVotes, Classifier):
    """Class shares among all training rows within a radius.

    p(c | x) = sum of w(d_j) over rows j of class c with d_j <= radius / sum of w(d_j) over all of them.
    A row without neighbours is an error that names it, unless `outlier_label` says what it is.

    Parameters
    ----------
    radius : float, default=1.0
    weights : {"uniform", "distance", "exp", "rational"}, None or callable, default="uniform"
        As in `KNeighborsClassifier`; a callable sees one row (1, k) at a time.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute", "lsh"}, default="auto"
        All find the same rows; "lsh" is searched exactly too, with a warning.
    leaf_size : int, default=30
    p : float, default=2
    metric : str or callable(a, b), default="minkowski"
    outlier_label : label, "most_frequent" or None
        Class of rows without neighbours.
    metric_params : dict or None
    n_jobs : int or None
    standardize : bool, default=False
        Divide numbers by their standard deviations first; levels stay 0 and 1.
    beta : float, default=1.0
        Of the weights "exp" and "rational".
    table : Table, optional

    Attributes
    ----------
    classes_, n_samples_fit_, effective_metric_, effective_metric_params_, outputs_2d_
    outlier_label_ : class of rows without neighbours, or None.
    rows_, order_, tree_, space_, codes_ : the training rows as they are searched.
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.neighbors import RadiusNeighborsClassifier
    >>> model = RadiusNeighborsClassifier(1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[1.5]])
    array([0])
    """

    # Some rows of generic checks lie too far apart for radius 1.
    _check_params = {"radius": 1.5, "outlier_label": "most_frequent"}
    _parameters = RadiusVotes._parameters | {
        "outlier_label": Either(Choice("most_frequent"), Nothing, _LABEL)
    }

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        outlier_label: Any = None,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        standardize: bool = False,
        beta: float = 1.0,
        table: Any = None,
    ) -> None:
        self.radius = radius
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.outlier_label = outlier_label
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.standardize = standardize
        self.beta = beta
        self.table = table

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows, in the order in which ties are decided."""
        return self._learn(X, y)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._memorise(problem) | {
            "codes_": problem.y[tie_order(problem.y, problem.n)],
            "outputs_2d_": False,
            "outlier_label_": self._outlier(problem),
        }

    def _outlier(self, problem: Problem) -> Any:
        classes, label = problem.classes, self.outlier_label
        assert classes is not None
        if label is None:
            return None
        if isinstance(label, str) and label == "most_frequent" and label not in classes.tolist():
            return classes.tolist()[int(np.bincount(problem.y).argmax())]
        if label not in classes.tolist():
            raise ParameterError(
                "The 'outlier_label' parameter of RadiusNeighborsClassifier must be one of the "
                f"classes {classes.tolist()}. Got {shown(label)} instead."
            )
        return label

    def _shares(self, found: Any, first: int = 0) -> np.ndarray:
        lists, shares = found
        K, m = len(self.classes_), len(lists.counts)
        out = np.bincount(lists.owners * K + self.codes_[lists.rows], shares, m * K).reshape(m, K)
        alone = lists.counts == 0
        if alone.any():
            if self.outlier_label_ is None:
                raise self._alone(lists, first, ", or outlier_label")
            out[alone, self.classes_.tolist().index(self.outlier_label_)] = 1.0
        return out / out.sum(axis=1, keepdims=True)

    def _proba(self, X: Any) -> np.ndarray:
        return self._in_parts(X, self._shares)

    def _explain(self, X: Any) -> Any:
        """The neighbours and their shares of the vote."""
        found, K = self._voters(X), len(self.classes_)
        keep = slice(1, None) if K == 2 else slice(None)
        targets = (self.codes_[:, None] == np.arange(K)).astype(float)[:, keep]
        return self._prototypes(found, targets, self._shares(found)[:, keep])

    def _check_state(self) -> None:
        from pellucid.neighbors.file_checks import check_codes

        super()._check_state()
        check_codes(self)
        label = vars(self).get("outlier_label_")
        if label is not None and label not in self.classes_.tolist():
            raise ModelFileError("its RadiusNeighborsClassifier has an outlier_label_ of no class")


class RadiusNeighborsRegressor(RadiusVotes, Regressor):
    """Mean of the targets of all training rows within a radius.

    y(x) = sum of w(d_j) y_j / sum of w(d_j) over rows j with d_j <= radius. A row without neighbours is
    an error that names it: there is no number to give.

    Parameters
    ----------
    radius : float, default=1.0
    weights : {"uniform", "distance", "exp", "rational"}, None or callable, default="uniform"
        As in `KNeighborsClassifier`; a callable sees one row (1, k) at a time.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute", "lsh"}, default="auto"
        All find the same rows; "lsh" is searched exactly too, with a warning.
    leaf_size : int, default=30
    p : float, default=2
    metric : str or callable(a, b), default="minkowski"
    metric_params : dict or None
    n_jobs : int or None
    standardize : bool, default=False
        Divide numbers by their standard deviations first; levels stay 0 and 1.
    beta : float, default=1.0
        Of the weights "exp" and "rational".
    table : Table, optional

    Attributes
    ----------
    n_samples_fit_, effective_metric_, effective_metric_params_
    rows_, order_, tree_, space_, targets_ : the training rows as they are searched.
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.neighbors import RadiusNeighborsRegressor
    >>> model = RadiusNeighborsRegressor(1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0, 1, 1])
    >>> model.predict([[1.5]])
    array([0.5])
    """

    _target = "several"
    _several_targets = True
    # Some rows of generic checks lie too far apart for radius 1; near ones must count more.
    _check_params = {"radius": 50.0, "weights": "distance"}

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        standardize: bool = False,
        beta: float = 1.0,
        table: Any = None,
    ) -> None:
        self.radius = radius
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.standardize = standardize
        self.beta = beta
        self.table = table

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows, in the order in which ties are decided."""
        return self._learn(X, y)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._memorise(problem) | {"targets_": problem.y[tie_order(problem.y, problem.n)]}

    def _means(self, found: Any, first: int = 0) -> np.ndarray:
        lists, shares = found
        if not lists.counts.all():
            raise self._alone(lists, first, "")
        y = self.targets_.reshape(self.n_samples_fit_, -1)[lists.rows]
        return np.add.reduceat(shares[:, None] * y, lists.starts[:-1], axis=0)

    def _predict(self, X: Any) -> np.ndarray:
        means = self._in_parts(X, self._means)
        return means[:, 0] if self.targets_.ndim == 1 else means

    def _explain(self, X: Any) -> Any:
        """The neighbours and what each adds to the mean."""
        found = self._voters(X)
        y = self.targets_.reshape(self.n_samples_fit_, -1)
        return self._prototypes(found, y, self._means(found))

    def _check_state(self) -> None:
        from pellucid.neighbors.file_checks import check_numbers

        super()._check_state()
        check_numbers(self)
