"""`SVC`: support vector classification with a kernel."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.data.class_weights import class_factors
from pellucid.errors import DataError, ModelFileError, ParameterError
from pellucid.parameters import Boolean, Choice, Ignored, RandomState, Real, changed, learned, param
from pellucid.persist.fitted_state import expect_array
from pellucid.protocol import available_if
from pellucid.records import Recorder, Solution, Status, converting, is_watched, unwatched
from pellucid.svm import contributions, multiclass
from pellucid.svm.kernel_base import KernelSVM, n_rows, scaled
from pellucid.svm.multiclass import CLASS_FACTORS

UNDER_WAY = Status("ok", "This binary problem is being solved.")


class SVC(KernelSVM, Classifier):
    """Support vector classifier: minimise 1/2 |w|**2 + sum_i C_i max(0, 1 - y_i (w f(x_i) + b)).

    f is the feature map of the kernel and C_i is C times the weights of the row and of its class. The
    dual problem is solved by steps on pairs of multipliers until no pair violates the optimality
    conditions by more than `tol`. More than two classes become binary problems: one for each pair of
    classes, or one for each class against all others.

    Examples
    --------
    >>> from pellucid.svm import SVC
    >>> model = SVC(kernel="linear", C=float("inf")).fit([[0, 0], [2, 2], [-1, 0], [3, 3]], [0, 1, 0, 1])
    >>> model.coef_.round(6), model.intercept_.round(6)
    (array([[0.5, 0.5]]), array([-1.]))
    """

    C: float = param(
        1.0,
        Real(0, None, "right"),
        "Cost of a violation of the margin; a smaller C is a stronger penalty on w. `np.inf` allows no "
        "violation: fit raises an error if the kernel cannot separate the classes.",
        before="kernel",
    )
    tol: float = changed(after="shrinking")
    class_weight: Any = CLASS_FACTORS.replace(after="cache_size")
    max_iter: int = changed(
        description="Largest number of solver steps in each binary problem. -1 allows ten million, or "
        "100 per row if that is more."
    )
    probability: Any = param(
        "deprecated",
        Boolean | Choice("deprecated"),
        "Older name of `calibrate`, kept for code that was written for scikit-learn. 'deprecated' "
        "means that it is not given.",
        after="shrinking",
    )
    decision_function_shape: str = param(
        "ovr",
        Choice("ovr", "ovo"),
        "Columns of `decision_function` for more than two classes: one per class ('ovr') or one per "
        "pair of classes ('ovo').",
    )
    break_ties: bool = param(
        False, Ignored("the decision function always decides between equal votes.", Boolean)
    )
    random_state: Any = param(
        None, Ignored("the solver, and the folds of `calibrate`, are deterministic.", RandomState)
    )
    max_time: float | None = changed(
        description="Largest number of seconds of the solver in each binary problem. A fit that needs "
        "more keeps what it has and warns."
    )
    multi_class: str = param(
        "ovo",
        Choice("ovo", "ovr"),
        "How more than two classes are learned. 'ovo' solves one binary problem for each pair of "
        "classes, and the pairs vote. 'ovr' solves one for each class against all others, and the "
        "largest score wins.",
        after="standardize",
    )
    calibrate: bool = param(
        False,
        Boolean,
        "Whether to provide `predict_proba`: softmax(slope x scores + biases), fitted to the scores of "
        "5-fold cross-validation. `predict` is then the most probable class.",
        after="multi_class",
    )

    support_: np.ndarray = learned(
        "Row numbers of the support vectors in the training table, class by class, shape (n_support,)."
    )
    dual_coef_: np.ndarray = learned(
        "Signed multipliers of the support vectors, shape (n_classes - 1, n_support), or "
        "(n_classes, n_support) with `multi_class='ovr'` and more than two classes."
    )
    intercept_: np.ndarray = learned("Intercept of each binary problem, shape (n_problems,).")
    n_support_: np.ndarray = learned("Number of support vectors of each class.")
    n_iter_: np.ndarray = learned("Number of solver steps in each binary problem.")
    class_weight_: np.ndarray = learned("Factor of the weights of each class.")
    calibration_: np.ndarray = learned(
        "Slope, then the bias of each class, of the probabilities; only with `calibrate=True`, or "
        "from a comparison."
    )

    @property
    def _calibrates(self) -> bool:
        return bool(self.calibrate) or (
            Boolean.accepts(self.probability) and bool(self.probability)
        )

    def _fit(self, problem: Problem) -> dict[str, Any]:
        """Adds the calibration, which refits the model without calibrating it."""
        learned = self._solve(problem)
        if self._calibrates:
            from pellucid.svm.calibration import calibration

            kernel = self._kernel_matrix(problem) if self._pairwise else None
            with unwatched():
                learned["calibration_"] = calibration(problem, kernel, self._scores_after)
        return learned

    def _scores_after(self, problem: Problem, X: Any) -> np.ndarray:
        """Scores of the encoded rows X by a copy of this model that is fitted to `problem`."""
        model = type(self)(**self.get_params(deep=False))
        vars(model).update(model._solve(problem), classes_=problem.classes)
        return model._finite(model._scores(X))

    def _solve(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        K, factors = len(problem.classes), class_factors(self.class_weight, problem)
        weights = problem.weights * factors[problem.y]
        X, facts = self._prepared(problem, weights)
        recorder = Recorder("SVC")
        limits = self._limits(weights)
        pairs = self._pairs(K)

        def machine(found: list[Solution]) -> dict[str, Any]:
            return self._machine(problem, X, facts, pairs, found)

        found = parallel.interruptible(
            self._solve_pairs, X, problem.y, limits, pairs, facts["gamma_"], recorder, machine
        )
        _check_separable(found, pairs, problem.classes)
        worst = next((one.status for one in found if not one.status.ok), found[0].status)
        return facts | machine(found) | {
            "n_iter_": np.array([one.n_iter for one in found], dtype=np.int32),
            "class_weight_": factors,
            "shape_fit_": (n_rows(problem), problem.p),
            "fit_status_": 0 if worst.ok else 1,
            "history_": recorder.history(),
            "status_": Status(worst.code, worst.message, worst.suggestion),
        }  # fmt: skip

    def _machine(
        self, problem: Problem, X: Any, facts: dict[str, Any], pairs: list, found: list[Solution]
    ) -> dict[str, Any]:
        """Support vectors, coefficients and intercepts; pairs that are not solved yet have none."""
        K = problem.n_classes
        waiting = [multiclass.unsolved(problem.y, pair) for pair in pairs[len(found) :]]
        rows, dual, offsets, counts = multiclass.packed(problem.y, pairs, found + waiting, K)
        sign = -1.0 if K == 2 else 1.0  # for two classes, positive scores mean the second one
        learned = self._supported(problem, X, rows) | {
            "dual_coef_": sign * dual,
            "intercept_": sign * offsets,
            "n_support_": counts,
        }
        by_pair = multiclass.unpacked(learned["dual_coef_"], counts).T
        return self._for_raw_rows(learned, facts["centre_"], by_pair)

    def _n_matrices(self, problem: Problem) -> float:
        """One for each class, or K (K - 1) / 2 of about 2 n / K rows each."""
        assert problem.classes is not None
        K = len(problem.classes)
        return K if self.multi_class == "ovr" and K > 2 else 2.0 * (K - 1) / K

    def _pairs(self, K: int) -> list[tuple[int, int]]:
        """The binary problems of K classes."""
        if self.multi_class == "ovr" and self.decision_function_shape == "ovo" and K > 2:
            raise ParameterError(
                "decision_function_shape='ovo' returns one column per pair of classes, but "
                "multi_class='ovr' learns one score per class. Use multi_class='ovo', or "
                "decision_function_shape='ovr'."
            )
        return multiclass.binary_problems(K, self.multi_class)

    def _solve_pairs(
        self, X: Any, y: np.ndarray, limits: np.ndarray, pairs: list, gamma: float, recorder: Any,
        machine: Callable[[list[Solution]], dict[str, Any]],
    ) -> list[Solution]:  # fmt: skip
        solved: list[Solution] = []  # while somebody watches, the pairs are solved in their order

        def one(pair: tuple[int, int]) -> Solution:
            rows = multiclass.rows_of(y, pair)
            n = len(rows)
            part = X if n == len(y) else X[np.ix_(rows, rows)] if self._pairwise else X[rows]
            before = list(solved)

            def attributes(at: Any) -> dict[str, Any]:
                return machine(
                    [*before, Solution((rows, at["a"], None, at["rho"]), UNDER_WAY, {}, 0)]
                )

            with converting(attributes):
                own = Recorder(f"SVC {pair[0]} {pair[1]}")
            found = self._minimum(
                part, gamma, own, np.isinf(self.C), first=sum(done.n_iter for done in solved),
                facts={"pair": pair, "number": pairs.index(pair) + 1, "pairs": len(pairs)},
                signs=np.where(y[rows] == pair[0], 1.0, -1.0), linear=-np.ones(n),
                limits=limits[rows], start=np.zeros(n), base=np.arange(n),
            )  # fmt: skip
            return Solution((rows, *found.x), found.status, own.history(), found.n_iter)

        if is_watched():
            for pair in pairs:
                solved += [one(pair)]
        elif len(pairs) == 1:
            solved.append(one(pairs[0]))
        else:
            solved += parallel.map(one, pairs)
        found, steps = solved, 0
        for number, solution in enumerate(found):
            names = ("iteration", "objective", "violation", "duality_gap")
            for i, value, violation, gap in zip(*(solution.history[name] for name in names)):
                recorder.add(
                    iteration=steps + int(i), objective=value, violation=violation, duality_gap=gap,
                    pair=number,
                )  # fmt: skip
            steps += solution.n_iter
        return found

    # Using --------------------------------------------------------------------------------------

    @available_if(
        lambda self: self._calibrates or "calibration_" in vars(self), "Fit it with calibrate=True."
    )
    def _proba(self, X: Any) -> np.ndarray:
        from pellucid.numerics.platt import probabilities

        return probabilities(self._finite(self._scores(X)), self.calibration_)

    def _pair_scores(self, X: Any) -> np.ndarray:
        """Scores of the binary problems (n, problems): positive for the first class of each.

        With two classes they are positive for the second.
        """
        return self._sums(X, self._coefficients()) + self.intercept_

    def _coefficients(self) -> np.ndarray:
        """Coefficient of each support vector in each binary problem: (vectors, problems)."""
        return multiclass.unpacked(self.dual_coef_, self.n_support_)

    def _one_vs_rest(self) -> bool:
        """Whether each class has a score of its own."""
        return len(self.dual_coef_) == len(self.classes_)

    def _scores(self, X: Any) -> np.ndarray:
        scores, K = self._pair_scores(X), len(self.classes_)
        if K == 2:
            return scores[:, 0]
        return scores if self._one_vs_rest() else multiclass.votes(scores, K)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores: (n,) for two classes, else one column per class, or per pair of classes."""
        several = len(self.classes_) > 2 if "classes_" in vars(self) else False
        by_pair = several and self.decision_function_shape == "ovo"
        return self._answer(self._pair_scores if by_pair else self._scores, X)

    def _linear_weights(self) -> np.ndarray:
        return scaled(np.asarray((self._vectors().T @ self._coefficients()).T), self.scale_)

    def _explain(self, X: Any) -> Any:
        """Contributions of columns (linear kernel), else the most influential support vectors."""
        single = len(self.classes_) == 2 or self._one_vs_rest()
        if self.kernel != "linear":
            return self._explain_vectors(X, single)
        base, parts = self._linear_terms(X)
        if single:
            return contributions.linear_parts(base, parts, self._scores(X), "votes")
        scores = self._pair_scores(X)
        if self.decision_function_shape == "ovo":
            pairs = tuple(f"{a} over {b}" for a, b in combinations(self.classes_, 2))
            found = contributions.linear_parts(base, parts, scores, "votes")
            return found | {"classes": pairs}
        return contributions.vote_parts(base, parts, scores, self._scores(X))

    def _explain_vectors(self, X: Any, single: bool) -> Any:
        """The support vectors with the largest terms, for and against each class.

        If each class has a `single` score, a term is coefficient x kernel, on the scale of the decision
        function. For pairs of classes it is the sum of these over the pairs of a class, and `others`
        contains what the counting of votes adds.
        """
        K = len(self.classes_)

        def terms(X: Any) -> np.ndarray:
            found = self._values(X)[:, :, None] * self._coefficients()  # (n, vectors, problems)
            return found if single else multiclass.class_terms(found, K)

        vectors = contributions.SupportVectors(self.support_, terms, self._support_distances)
        prediction = self._scores(X).reshape(X.shape[0], -1)
        base, classes = self.intercept_ if single else np.zeros(K), tuple(self.classes_.tolist())
        return contributions.largest_terms(vectors, X, prediction, base, classes, "votes")

    def _check_state(self) -> None:
        K, m = len(self.classes_), len(self.support_)
        if K < 2:
            raise ModelFileError("its SVC has fewer than two classes")
        problems = len(multiclass.binary_problems(K, self.multi_class))
        rest = self.multi_class == "ovr" and K > 2
        expect_array(self, "dual_coef_", K if rest else K - 1, m, finite=True)
        expect_array(self, "intercept_", problems, finite=True)
        expect_array(self, "n_support_", K, dtype=np.int32)
        if (self.n_support_ < 0).any() or self.n_support_.sum() != m:
            raise ModelFileError("the n_support_ of its SVC do not count its support vectors")
        self._check_vectors()
        if self._calibrates:
            expect_array(self, "calibration_", K + 1, finite=True)
            if self.calibration_[0] < 0:
                raise ModelFileError("the calibration_ of its SVC has a negative slope")


def _check_separable(found: list[Solution], pairs: list, classes: np.ndarray) -> None:
    """Raise an error that names the classes if C=inf and they cannot be separated."""
    for (first, second), one in zip(pairs, found):
        if one.status.code == "not_separable":
            label = repr(classes.tolist()[first])
            other = "the rest" if second == multiclass.REST else repr(classes.tolist()[second])
            raise DataError(
                "C=inf allows no row inside the margin, but no boundary of this kernel separates class "
                f"{label} from {other}. Use a finite C, or a more flexible kernel."
            )
