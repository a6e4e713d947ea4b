"""The rounds of AdaBoost: their history, and their steps for `pellucid.watching`.

Invariant: the history does not depend on being watched; row weights are those of the user's rows, per
unit of sample weight, so that their sum by sample weight is 1.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.data.weighted_sampling import copies_of
from pellucid.ensemble.stages import sampled_rows
from pellucid.records import Recorder


def user_weights(given: Problem, used: Problem) -> Callable[[np.ndarray], np.ndarray]:
    """A function from the weights of the rounds' rows to those of the user's rows; `used` may have a
    row for each sample of `given`."""
    copies = None if used.n == given.n else copies_of(given.weights)
    own = None if copies is None else np.repeat(np.arange(given.n), copies)
    position = given.position

    def convert(w: np.ndarray) -> np.ndarray:
        sums = w if own is None else np.bincount(own, w, minlength=given.n)
        each = sums / given.weights
        return each if position is None else np.where(position < 0, 0.0, each[position])

    return convert


class RoundSteps:
    """Collects the rounds; `score(predictions, weights)` is the training score after a round."""

    def __init__(
        self, source: str, rounds: int, to_user: Callable[[np.ndarray], np.ndarray], n: int,
        score: Callable[[np.ndarray, float], float] | None,
    ) -> None:  # fmt: skip
        self._recorder = Recorder(source, rounds)
        self._to_user, self._score = to_user, score
        self._rows = sampled_rows(n, rounds)

    def add(
        self, state: dict[str, Any], w: np.ndarray, predicted: np.ndarray, objective: float
    ) -> None:
        """Note a round: the ensemble after it, the weights of its rows and its predictions."""
        k = len(state["estimators_"])
        error, weight = (
            float(state[f"estimator_{name}_"][k - 1]) for name in ("errors", "weights")
        )
        numbers = {"objective": objective, "error": error, "weight": weight}
        self._recorder.add(iteration=k, objective=objective, error=error, weight=weight)
        if not self._recorder.watched:
            return
        if self._score is not None:
            numbers["train_score"] = self._score(predicted, weight)
        one = state["estimators_"][-1]

        def event() -> dict[str, Any]:
            shown = self._to_user(w)
            rows = np.arange(len(shown)) if self._rows is None else self._rows
            own = {"round": k, "estimator": one, "rows": rows, "row_weights": shown[rows]}
            return own | {"error": error, "weight": weight}

        kept = state | {"estimators_": list(state["estimators_"])}
        self._recorder.step(k, kept, event, _sentence, **numbers)

    def history(self) -> dict[str, np.ndarray]:
        return self._recorder.history()


def _sentence(event: Mapping[str, Any], numbers: dict[str, float]) -> str:
    from pellucid.draw import number

    text = (
        f"Round {event['round']}: the base estimator has the weighted error "
        f"{number(event['error'], 4)} and gets the weight {number(event['weight'], 4)}"
    )
    if "train_score" in numbers:
        score = number(numbers["train_score"], 4)
        text += f"; the score of the ensemble on the training rows is {score}"
    return text + "."
