"""`SVC`: the widest margin between classes, in the space of a kernel."""

from inspect import signature
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.data.class_weights import class_factors
from pellucid.errors import DataError, ModelFileError, ParameterError
from pellucid.parameters import (
    Boolean,
    Choice,
    ClassWeight,
    RandomState,
    Real,
)
from pellucid.protocol import available_if
from pellucid.records import Recorder, Solution, Status
from pellucid.svm import multiclass
from pellucid.svm.explain import linear_parts, pair_parts, speakers
from pellucid.svm.kernel_base import KERNEL_PARAMETERS, KernelMachine, n_rows, scaled


class SVC(KernelMachine, Classifier):
    """Support vector classifier: minimise 1/2 |w|**2 + sum_i C_i max(0, 1 - y_i (w f(x_i) + b)).

    f is the map of the kernel, C_i = C times the weight of the row and of its class. The dual is solved
    by steps on pairs of multipliers until no pair violates the conditions by more than `tol`; several
    classes are divided pair by pair, or each from all others.

    Parameters
    ----------
    C : float, default=1.0
        Price of a violated margin; inf is the hard margin, and rows that no margin divides are an error.
    kernel : {"linear", "poly", "rbf", "sigmoid", "precomputed"} or callable(X, Z), default="rbf"
    degree : int, default=3
    gamma : {"scale", "auto"} or float, default="scale"
        "scale" is 1 / (columns x variance of all cells), "auto" 1 / columns.
    coef0 : float, default=0.0
    shrinking : bool, default=True
        Accepted for compatibility: working sets always leave out rows at their bounds.
    tol : float, default=1e-3
    cache_size : float, default=200
        Megabytes for rows of the kernel matrix.
    class_weight : dict {label: weight}, "balanced" or None
    verbose : bool, default=False
        Accepted for compatibility; see `pellucid.watching`.
    max_iter : int, default=-1
        Steps allowed per machine; -1 allows ten million, or a hundred per row.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        What `decision_function` shows of machines for pairs: one column per class, or per pair.
    break_ties : bool, default=False
        Accepted for compatibility: equal votes are always decided by the decision function.
    random_state : int, generator or None
        Accepted for compatibility: nothing is drawn.
    max_time : float or None
        Seconds allowed per machine; a fit that needs more keeps what it has and says so.
    standardize : bool, default=False
        Subtract the means of the columns and divide numbers by their standard deviations first (levels,
        flags of missing cells and words keep their unit; large sparse tables are only divided).
    multi_class : {"ovo", "ovr"}, default="ovo"
        How several classes are learned: a machine for each pair of classes, which vote; or one for each
        class against all others, the largest score wins (more rows per machine, one score per class).
    calibrate : bool, default=False
        Offer `predict_proba`: softmax(slope x scores + biases), fitted to scores of rows that their
        machine has not seen (5 folds); then `predict` is the most probable class.
    table : Table, optional

    Attributes
    ----------
    support_, support_vectors_, n_support_ : rows that carry the boundary, class by class.
    dual_coef_ : (classes - 1, support vectors), multipliers with their signs; with
        `multi_class="ovr"` (classes, support vectors).
    intercept_, coef_ (linear kernel), class_weight_, classes_, shape_fit_, fit_status_
    n_iter_ : steps per machine.
    history_ : dual objective, violation of the conditions and duality gap after each working set.
    status_ : how the solver ended.
    calibration_ : slope and biases of the probabilities, with `calibrate`.
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.svm import SVC
    >>> model = SVC(kernel="linear", C=float("inf")).fit([[0, 0], [2, 2], [-1, 0], [3, 3]], [0, 1, 0, 1])
    >>> model.coef_.round(6), model.intercept_.round(6)
    (array([[0.5, 0.5]]), array([-1.]))
    """

    _parameters = {
        "C": Real(0, None, "right"),
        **KERNEL_PARAMETERS,
        "class_weight": ClassWeight,
        "decision_function_shape": Choice("ovr", "ovo"),
        "break_ties": Boolean,
        "random_state": RandomState,
        "multi_class": Choice("ovo", "ovr"),
        "calibrate": Boolean,
    }

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: int = 3,
        gamma: Any = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: bool = False,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        max_time: float | None = None,
        standardize: bool = False,
        multi_class: str = "ovo",
        calibrate: bool = False,
        table: Any = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.max_time = max_time
        self.standardize = standardize
        self.multi_class = multi_class
        self.calibrate = calibrate
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the margin; weight k counts as k equal rows."""
        return self._learn(X, y, weights=sample_weight)

    def __new__(cls, *args: Any, **given: Any) -> Self:
        if "probability" in given:
            raise ParameterError(
                "SVC has no 'probability' parameter: the probabilities of scikit-learn's contradict "
                "its predictions. Use calibrate=True: predict is then the most probable class."
            )
        return super().__new__(cls)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        learned = self._machine(problem)
        if self.calibrate:
            from pellucid.svm.calibration import calibration

            learned["calibration_"] = calibration(self, problem)
        return learned

    def _machine(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        K, factors = len(problem.classes), class_factors(self.class_weight, problem)
        weights = problem.weights * factors[problem.y]
        X, facts = self._prepared(problem, weights)
        recorder = Recorder("SVC")
        limits = self._limits(weights)
        parts = self._parts(K)
        found = parallel.interruptible(
            self._solve_parts, X, problem.y, limits, parts, facts["gamma_"], recorder
        )
        _check_separable(found, parts, problem.classes)
        rows, dual, offsets, counts = multiclass.gathered(problem.y, parts, found, K)
        sign = -1.0 if K == 2 else 1.0  # for two classes, positive scores mean the second one
        worst = next((one.status for one in found if not one.status.ok), found[0].status)
        learned = facts | self._supported(problem, X, rows) | {
            "dual_coef_": sign * dual,
            "intercept_": sign * offsets,
            "n_support_": counts,
            "n_iter_": np.array([one.n_iter for one in found], dtype=np.int32),
            "class_weight_": factors,
            "shape_fit_": (n_rows(problem), problem.p),
            "fit_status_": 0 if worst.ok else 1,
            "history_": recorder.history(),
            "status_": Status(worst.code, worst.message, worst.suggestion),
        }  # fmt: skip
        return self._unmoved(learned, multiclass.unpacked(learned["dual_coef_"], counts).T)

    def _n_matrices(self, problem: Problem) -> float:
        """One for each class, or K (K - 1) / 2 of about 2 n / K rows."""
        assert problem.classes is not None
        K = len(problem.classes)
        return K if self.multi_class == "ovr" and K > 2 else 2.0 * (K - 1) / K

    def _parts(self, K: int) -> list[tuple[int, int]]:
        """The machines for K classes."""
        if self.multi_class == "ovr" and self.decision_function_shape == "ovo" and K > 2:
            raise ParameterError(
                "decision_function_shape='ovo' shows one column per pair of classes, but "
                "multi_class='ovr' learns one machine per class. Use multi_class='ovo', or "
                "decision_function_shape='ovr'."
            )
        return multiclass.machines(K, self.multi_class)

    def _solve_parts(
        self, X: Any, y: np.ndarray, limits: np.ndarray, parts: list, gamma: float, recorder: Any
    ) -> list[Solution]:
        def one(machine: tuple[int, int]) -> Solution:
            rows = multiclass.rows_of(y, machine)
            n = len(rows)
            part = X if n == len(y) else X[np.ix_(rows, rows)] if self._pairwise else X[rows]
            own = Recorder(f"SVC {machine[0]} {machine[1]}")
            found = self._minimum(
                part, gamma, own, np.isinf(self.C),
                signs=np.where(y[rows] == machine[0], 1.0, -1.0), linear=-np.ones(n),
                limits=limits[rows], start=np.zeros(n), base=np.arange(n),
            )  # fmt: skip
            return Solution((rows, *found.x), found.status, own.history(), found.n_iter)

        found = [one(parts[0])] if len(parts) == 1 else parallel.map(one, parts)
        steps = 0
        for number, solution in enumerate(found):
            names = ("iteration", "objective", "violation", "duality_gap")
            for i, value, wrong, gap in zip(*(solution.history[name] for name in names)):
                recorder.add(
                    iteration=steps + int(i), objective=value, violation=wrong, duality_gap=gap,
                    pair=number,
                )  # fmt: skip
            steps += solution.n_iter
        return found

    # Using --------------------------------------------------------------------------------------

    @available_if(lambda self: self.calibrate, "Fit it with calibrate=True.")
    def _proba(self, X: Any) -> np.ndarray:
        from pellucid.numerics.platt import probabilities

        return probabilities(self._finite(self._scores(X)), self.calibration_)

    def _machines(self, X: Any) -> np.ndarray:
        """Scores of the machines (n, machines): positive for the first (two classes: second)."""
        return self._sums(X, self._coefficients()) + self.intercept_

    def _coefficients(self) -> np.ndarray:
        """(support vectors, machines): what each support vector says in each machine."""
        return multiclass.unpacked(self.dual_coef_, self.n_support_)

    def _by_rest(self) -> bool:
        """Whether each class has a machine of its own."""
        return len(self.dual_coef_) == len(self.classes_)

    def _scores(self, X: Any) -> np.ndarray:
        scores, K = self._machines(X), len(self.classes_)
        if K == 2:
            return scores[:, 0]
        return scores if self._by_rest() else multiclass.by_class(scores, K)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: (n,) for two classes, else one column per class, or per pair of classes."""
        several = len(self.classes_) > 2 if "classes_" in vars(self) else False
        ask = self._machines if several and self.decision_function_shape == "ovo" else self._scores
        return self._answer(ask, X)

    def _linear_weights(self) -> np.ndarray:
        return scaled(np.asarray((self._vectors().T @ self._coefficients()).T), self.scale_)

    def _explain(self, X: Any) -> Any:
        """Contributions of columns (linear kernel), else the support vectors that speak."""
        if self.kernel != "linear":
            return speakers(self, X)
        if len(self.classes_) == 2 or self._by_rest():
            return linear_parts(self, X, self._scores(X), "votes")
        return pair_parts(self, X)

    def _check_state(self) -> None:
        """Refuse arrays that do not belong together (model files)."""
        from pellucid.persist.fitted_state import expect_array

        K, m = len(self.classes_), len(self.support_)
        if K < 2:
            raise ModelFileError("its SVC has fewer than two classes")
        parts = len(multiclass.machines(K, self.multi_class))
        rest = self.multi_class == "ovr" and K > 2
        expect_array(self, "dual_coef_", K if rest else K - 1, m, finite=True)
        expect_array(self, "intercept_", parts, finite=True)
        expect_array(self, "n_support_", K, dtype=np.int32)
        if (self.n_support_ < 0).any() or self.n_support_.sum() != m:
            raise ModelFileError("its SVC has other support vectors than its classes count")
        self._check_vectors()
        if self.calibrate:
            expect_array(self, "calibration_", K + 1, finite=True)
            if self.calibration_[0] < 0:
                raise ModelFileError("its probabilities fall where its scores rise")


def _check_separable(found: list[Solution], parts: list, classes: np.ndarray) -> None:
    """Name the classes that a hard margin (C=inf) cannot divide."""
    for (first, second), one in zip(parts, found):
        if one.status.code == "not_separable":
            label = repr(classes.tolist()[first])
            other = "the rest" if second == multiclass.REST else repr(classes.tolist()[second])
            raise DataError(
                "C=inf asks for a margin that no row violates, but no boundary of this kernel divides "
                f"class {label} from {other}. Give a finite C, or a kernel that bends more."
            )


# `__new__` speaks about arguments, it takes none: the parameters are those of `__init__`.
setattr(  # noqa: B010
    SVC,
    "__signature__",
    signature(SVC.__init__).replace(
        parameters=list(signature(SVC.__init__).parameters.values())[1:]
    ),
)
