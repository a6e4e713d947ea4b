"""`RadiusNeighborsClassifier`, `RadiusNeighborsRegressor`: predictions from rows within a radius."""

from typing import Any

import numpy as np

from pellucid.base import Classifier, Regressor
from pellucid.data import Problem
from pellucid.errors import ModelFileError, ParameterError, shown
from pellucid.neighbors import neighbor_parameters
from pellucid.neighbors.queries import RadiusQueries
from pellucid.neighbors.votes import RadiusVotes
from pellucid.parameters import Choice, Predicate, changed, learned, param, positional

_LABEL = Predicate(
    lambda v: isinstance(v, str | int | float | np.generic) and v == v, "a label of the classes"
)


class RadiusNeighborsClassifier(RadiusQueries, Classifier):  # type: ignore[misc]  # no weights
    """Class shares among all training rows within a radius.

    p(c | x) = sum of w(d_j) over rows j of class c with d_j <= radius / sum of w(d_j) over all of them.
    A row without neighbours raises an error that names it, unless `outlier_label` gives its class.

    Examples
    --------
    >>> from pellucid.neighbors import RadiusNeighborsClassifier
    >>> model = RadiusNeighborsClassifier(1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[1.5]])
    array([0])
    """

    _exempt = neighbor_parameters.NONE_IS_A_TABLE

    radius: float = positional(
        default=1.0,
        check=neighbor_parameters.RADIUS,
        description="Largest distance of the training rows that vote.",
        kw_only=False,
    )
    weights: Any = neighbor_parameters.RADIUS_WEIGHTS
    algorithm: str = changed(description=neighbor_parameters.RADIUS_ALGORITHM)
    outlier_label: Any = param(
        None,
        Choice("most_frequent") | None | _LABEL,
        "Class of rows without neighbours. None raises an error for such a row.",
        after="metric",
    )
    beta: float = neighbor_parameters.BETA

    codes_: np.ndarray = learned(neighbor_parameters.CODES)
    outputs_2d_: bool = learned(neighbor_parameters.OUTPUTS_2D)
    outlier_label_: Any = learned("Class of rows without neighbours, or None.")

    # Some rows of generic checks lie too far apart for radius 1.
    _check_params = {"radius": 1.5, "outlier_label": "most_frequent"}

    def _fit(self, problem: Problem) -> dict[str, Any]:
        outlier = {"outputs_2d_": False, "outlier_label_": self._outlier(problem)}
        return self._memorise(problem) | outlier

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

    def _class_shares(self, votes: RadiusVotes, first: int = 0) -> np.ndarray:
        if self.outlier_label_ is None:
            self._check_neighbors(votes, first, ", or set outlier_label")
            return votes.class_shares(self.codes_, len(self.classes_), None)
        default = self.classes_.tolist().index(self.outlier_label_)
        return votes.class_shares(self.codes_, len(self.classes_), default)

    def _proba(self, X: Any) -> np.ndarray:
        return self._in_parts(X, self._class_shares)

    def _explain(self, X: Any) -> Any:
        votes, method = self._radius_votes(X), f"neighbours within {self.radius:g}"
        return self._explain_classes(votes, self._class_shares(votes), method=method)

    def _check_state(self) -> None:
        """Checks `outlier_label_` too."""
        super()._check_state()
        known = [None, *self.classes_.tolist()]
        if "outlier_label_" not in vars(self) or self.outlier_label_ not in known:
            raise ModelFileError(
                "the outlier_label_ of its RadiusNeighborsClassifier is not a class"
            )


class RadiusNeighborsRegressor(RadiusQueries, Regressor):  # type: ignore[misc]  # no weights
    """Mean of the targets of all training rows within a radius.

    y(x) = sum of w(d_j) y_j / sum of w(d_j) over rows j with d_j <= radius. A row without neighbours
    raises an error that names it, because it has no prediction.

    Examples
    --------
    >>> from pellucid.neighbors import RadiusNeighborsRegressor
    >>> model = RadiusNeighborsRegressor(1.0).fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 0, 1, 1])
    >>> model.predict([[1.5]])
    array([0.5])
    """

    _exempt = neighbor_parameters.NONE_IS_A_TABLE

    radius: float = positional(
        default=1.0,
        check=neighbor_parameters.RADIUS,
        description="Largest distance of the training rows whose targets are averaged.",
        kw_only=False,
    )
    weights: Any = neighbor_parameters.RADIUS_WEIGHTS
    algorithm: str = changed(description=neighbor_parameters.RADIUS_ALGORITHM)
    beta: float = neighbor_parameters.BETA

    targets_: np.ndarray = learned(neighbor_parameters.TARGETS)

    _target = "several"
    _several_targets = True
    # Some rows of generic checks lie too far apart for radius 1; near ones must count more.
    _check_params = {"radius": 50.0, "weights": "distance"}

    def _means(self, votes: RadiusVotes, first: int = 0) -> np.ndarray:
        self._check_neighbors(votes, first)
        return votes.means(self._target_table())

    def _predict(self, X: Any) -> np.ndarray:
        means = self._in_parts(X, self._means)
        return means[:, 0] if self.targets_.ndim == 1 else means

    def _explain(self, X: Any) -> Any:
        """The neighbours and what each adds to the mean."""
        votes = self._radius_votes(X)
        return votes.prototypes(
            self.order_, self._target_table(), self._means(votes), classes=None, scale="response",
            method=f"neighbours within {self.radius:g}",
        )  # fmt: skip
