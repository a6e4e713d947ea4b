"""The perceptron."""

from typing import Any

import numpy as np

from pellucid.linear_model._sgd.base import WALKING, StochasticClassifier
from pellucid.parameters import Boolean, Choice, Either, Integer, Real


class Perceptron(StochasticClassifier):
    """Rosenblatt's perceptron: at every row on the wrong side of the plane, the plane moves,

        b <- b + eta0 y_i x_i,    b0 <- b0 + eta0 y_i    if y_i (b0 + x_i . b) <= 0

    until a pass makes no mistake, which must happen if a plane separates the classes (`converged_`
    says whether it did). More than two classes are class against the others.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet", None}, default=None
    alpha : float >= 0, default=0.0001
        Strength of the penalty.
    l1_ratio : float in [0, 1], default=0.15
        Share of absolute values in "elasticnet".
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Passes at most.
    tol : float or None, default=1e-3
        Stop when the loss has not fallen by it for `n_iter_no_change` passes; None makes all.
    shuffle : bool, default=True
        A new random order for every pass; False keeps the order of the rows.
    verbose : without effect; see `pellucid.watching`
    eta0 : float > 0, default=1.0
        Size of a move.
    n_jobs : int or None
    random_state : int, generator or None, default=0
    early_stopping : bool, default=False
        Judge by the accuracy on a held-back share, `validation_fraction`, of the rows.
    validation_fraction : float in (0, 1), default=0.1
    n_iter_no_change : int, default=5
    class_weight : dict {label: weight}, "balanced" or None
    warm_start : bool, default=False
    average : bool or int, default=False
        Use the mean of the coefficients over all steps, or from that step on.
    step : {"constant", "decreasing"}, default="constant"
        "decreasing": the k-th mistake moves the plane by eta0 / (k + 1).
    standardize : bool, default=False
        Walk over numbers of mean 0 and deviation 1 (seldom ones of sparse tables keep their 0);
        levels and words stay as they are. The coefficients are told for the user's columns; the
        penalty is on the weights per deviation then.
    table : Table, optional

    Attributes
    ----------
    coef_ : (1, terms), or (classes, terms), in the order of `terms_`; intercept_
    converged_ : whether the last pass made no mistake
    n_mistakes_ : mistakes of each pass
    n_iter_, t_, history_, status_, classes_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.linear_model import Perceptron
    >>> X, y = [[2.0, 1.0], [-1.0, -1.0], [1.0, -1.0]], ["+", "-", "-"]
    >>> model = Perceptron(shuffle=False).fit(X, y)
    >>> model.converged_, model.n_mistakes_.tolist()
    (True, [2, 0])
    """

    _exempt = {"representation_is_the_call": "random_state is 0 by default, so it is not shown"}
    _parameters = WALKING | {
        "penalty": Choice("l2", "l1", "elasticnet", None),
        "eta0": Real(0, None, "neither"),
        "average": Either(Boolean, Integer(0)),
        "step": Choice("constant", "decreasing"),
    }

    def __init__(
        self,
        *,
        penalty: str | None = None,
        alpha: float = 0.0001,
        l1_ratio: float = 0.15,
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        verbose: int = 0,
        eta0: float = 1.0,
        n_jobs: int | None = None,
        random_state: Any = 0,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        class_weight: Any = None,
        warm_start: bool = False,
        average: bool | int = False,
        step: str = "constant",
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.penalty = penalty
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.verbose = verbose
        self.eta0 = eta0
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.average = average
        self.step = step
        self.standardize = standardize
        self.table = table

    def _plan(self) -> dict[str, Any]:
        return {
            "loss": "perceptron", "schedule": self.step, "eta0": float(self.eta0), "power": 0.5,
            "epsilon": 0.1, "average_from": float(self.average), "until_right": not self.penalty,
        }  # fmt: skip

    def _extras(self, walkers: list[Any]) -> dict[str, Any]:
        passes = max(len(walker.history) for walker in walkers)
        mistakes = np.zeros(passes, dtype=np.int64)
        for walker in walkers:
            made = [int(row[1]) for row in walker.history]
            mistakes += np.array(made + made[-1:] * (passes - len(made)), dtype=np.int64)
        return {"n_mistakes_": mistakes, "converged_": bool(mistakes[-1] == 0)}
