"""What the boosting models share: fitting by rounds, early stopping, stages, explanations.

Invariant: `trees_` and `baseline_` say everything; training objects do not survive.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem, prepare
from pellucid.data.opening import opened
from pellucid.data.targets import offset_values
from pellucid.ensemble.boosting.trees import BoostedTrees
from pellucid.errors import DataError, ParameterError, warn
from pellucid.persist.fitted_state import expect_array
from pellucid.records.recorder import joined
from pellucid.tree.base import WORTH_A_HOP
from pellucid.tree.explaining import TreesExplained


class Boosting(TreesExplained):
    """Family of boosted trees: raw prediction = baseline_ + sum of the trees' leaves (+ offset)."""

    _layout = "codes"
    _takes_sparse = False
    _rows = "canonical_view"
    trees_: BoostedTrees
    baseline_: np.ndarray
    # Validation rows that the user gave, while a fit runs.
    _given: tuple[Any, Any, Any, Any] | None = None

    def _in_order(self, problem: Problem) -> Problem:
        """The problem as the rounds take it: they need the bins of a view of the table only, but
        other models and earlier trees need the rows."""
        copied = self.warm_start or getattr(self, "init", None) is not None
        return problem.gathered() if copied else problem

    def _own_score(self, raw: np.ndarray, rows: Problem) -> float:
        """What `score` would say of rows with these raw predictions."""
        raise NotImplementedError

    def _check_target(self, problem: Problem) -> None:
        """Refuse values of y that the loss cannot take."""

    def _check_signs(self, settings: Any) -> None:
        """Refuse monotone constraints that the loss cannot keep."""

    def _begun(self, problem: Problem) -> Any:
        """A model that boosting starts from, fitted to the training rows; None: there is none."""
        return None

    def _initial(self, X: np.ndarray, model: Any, schema: Any) -> np.ndarray:
        """Raw predictions (n, K) of that model."""
        raise NotImplementedError

    def _boosted(
        self, problem: Problem, objective: Any, settings: Any, share: float
    ) -> tuple[Any, dict[str, Any]]:
        """Split off validation rows if they are needed, run the rounds: an `Outcome`, and what else
        was learned: the model that they started from, the seed of the split."""
        from pellucid.ensemble.boosting.rounds import boost
        from pellucid.ensemble.boosting.validation import split

        before = self._kept(settings.rounds)
        validation: Problem | None = None
        more: dict[str, Any] = {}
        if settings.patience is not None:
            if self._given is not None:
                validation = self._prepared(problem, *self._given)
            else:
                more["validation_seed_"] = self._split_seed(before is not None)
                problem, validation = split(problem, share, more["validation_seed_"])
        first = self._begun(problem) if before is None else vars(self).get("init_")
        if first is not None:
            problem = self._shifted_by(first, problem)
            validation = None if validation is None else self._shifted_by(first, validation)
        args = (objective, problem, settings, validation, before)
        more["init_"] = first
        if problem.n * problem.p < WORTH_A_HOP:
            return boost(*args), more
        return parallel.interruptible(boost, *args), more

    def _split_seed(self, continued: bool) -> np.ndarray:
        """What the choice of validation rows follows from. Rounds that are added to others hold the
        same rows back: any other ones were learned from before, and would judge too kindly."""
        if not continued:
            stream = parallel.stream(parallel.seed_sequence(self.random_state), "validation")
            return stream.integers(0, 2**63, 2)
        seed = self._earlier("validation_seed_")
        if seed is None:
            raise ParameterError(
                "With warm_start, early stopping needs rows that the earlier rounds did not see, but "
                "they saw all of them. Stop early from the first fit on, or fit without warm_start."
            )
        return seed

    def _shifted_by(self, first: Any, problem: Problem) -> Problem:
        """The problem with the first model's raw predictions as offsets, (n,) or (n, K)."""
        raw = self._initial(problem.table, first, problem.schema)
        raw = raw[:, 0] if raw.shape[1] == 1 else raw
        return replace(problem, offset=raw if problem.offset is None else raw + problem.offset)

    def _prepared(self, problem: Problem, X: Any, y: Any, weights: Any, offset: Any) -> Problem:
        """Validation rows by the columns and classes of the training rows."""
        X, y, weights, offset = opened(X, y, weights, offset)
        spec = replace(
            self._input_spec(), schema=problem.schema, classes=problem.classes, rows="user"
        )
        validation = prepare(X, y, weights, offset, self.table, spec)[0]
        self._check_target(validation)
        return validation

    def _kept(self, rounds: int) -> tuple[BoostedTrees, np.ndarray] | None:
        """Trees and start of the earlier fit, with `warm_start`."""
        if not self.warm_start or "trees_" not in self.__dict__:
            return None
        done = self.trees_.n_rounds
        if rounds < done:
            name = "max_iter" if hasattr(self, "max_iter") else "n_estimators"
            raise ParameterError(
                f"{name}={rounds} must be larger or equal to n_iter_={done} when warm_start==True"
            )
        if rounds == done:
            warn(f"Warm start without more rounds than the {done} before adds none.", UserWarning)
        return self.trees_, self.baseline_

    def _earlier(self, name: str) -> Any:
        """What the earlier fit learned, with `warm_start`; None if there is no such thing."""
        return vars(self).get(name) if self.warm_start and "trees_" in self.__dict__ else None

    def _whole_history(self, history: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        earlier = self._earlier("history_")
        return history if earlier is None else joined(earlier, history)

    def _seed(self, drawing: bool) -> np.random.SeedSequence | None:
        """The seed of a fit that draws; a fit that does not needs none."""
        return parallel.seed_sequence(self.random_state) if drawing else None

    # Using --------------------------------------------------------------------------------------

    def _start(self, X: np.ndarray) -> np.ndarray:
        """Raw predictions (n, K) before the first round."""
        out = np.repeat(self.baseline_[None, :], len(X), axis=0)
        first = vars(self).get("init_")
        return out if first is None else out + self._initial(X, first, self.schema_)

    def _raw(self, X: np.ndarray, offset: Any = None) -> np.ndarray:
        """Raw predictions (n, K)."""
        out = self._start(X)
        self.trees_.add(X, out, self.trees_.walkers(X), 0, self.trees_.n_rounds)
        return out if offset is None else out + offset_values(offset, len(X))[:, None]

    def _stages(self, X: Any, offset: Any = None) -> Iterator[np.ndarray]:
        """Raw predictions (n, K) after every round."""
        encoded = self._encoded(X)
        walkers = self.trees_.walkers(encoded)
        out = self._start(encoded)
        shift = 0.0 if offset is None else offset_values(offset, len(out))[:, None]
        for number in range(self.trees_.n_rounds):
            self.trees_.add(encoded, out, walkers, number, number + 1)
            yield out + shift

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of the whole gain that the divisions by each column bring; 0 without any."""
        self._check_fitted()
        return self.trees_.importances()

    def explain(self, X: Any, method: str = "path", *, offset: Any = None) -> Any:
        """Why the model says what it says, by `method` "path" or "shap" (see trees); an offset is a
        part of its own."""
        self._check_offset(offset)
        found = super().explain(X, method)
        if offset is None:
            return found
        return found.with_offset(offset_values(offset, len(found.prediction)))

    def _check_offset(self, offset: Any) -> None:
        """Refuse offsets where they mean nothing."""

    def _parts(self, X: np.ndarray, scale: str) -> dict[str, Any]:
        return {
            "base": self.baseline_ + self.trees_.bases(),
            "contributions": self.trees_.contributions(X),
            "prediction": self._raw(X),
            "scale": scale,
            "method": "changes of the mean prediction along the paths",
        }

    def _shap(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        base, contributions = self.trees_.shap(X)
        return self.baseline_ + base, contributions

    def _narrowed(self, base: np.ndarray, contributions: np.ndarray) -> dict[str, Any]:
        """Two classes have one output already."""
        return {"base": base, "contributions": contributions}

    def _check_boosted(self, outputs: int) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        expect_array(self, "baseline_", outputs, finite=True)
        trees = vars(self).get("trees_")
        if not isinstance(trees, BoostedTrees) or trees.n_outputs != outputs:
            raise DataError("the trees do not belong to this model's outputs")
        if not np.array_equal(trees.n_levels, self.schema_.n_levels):
            raise DataError("the trees do not belong to these columns")
        if vars(self).get("validation_seed_") is not None:
            expect_array(self, "validation_seed_", 2, dtype=np.int64)
        if vars(self).get("n_iter_", trees.n_rounds) != trees.n_rounds:
            raise DataError("the trees do not belong to this number of rounds")
