"""The rounds of gradient boosting as steps for `pellucid.watching`.

Invariant: the state of a step holds the first trees of the fitted model, as views of its arrays;
gradients are those of the user's training rows, per unit of weight and on the original scale.
"""

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np

from pellucid.ensemble.boosting.trees import BoostedTrees
from pellucid.ensemble.stages import sampled_rows
from pellucid.records import Recorder

_WHOLE = ("start", "sets", "n_levels", "n_outputs")  # fields without an entry for each node


class Gradients:
    """Gradients of the loss at the raw predictions before each round, of rows that are kept."""

    def __init__(self, train: Any, rounds: int) -> None:
        position = train.problem.position
        place = np.arange(train.problem.n) if position is None else position
        rows = np.flatnonzero(place >= 0)
        some = sampled_rows(len(rows), rounds * len(train.raw))
        self.rows = rows if some is None else rows[some]
        self._place = place[self.rows]
        units = train.units
        self._exponent = units.loss_exponent - units.exponent
        self._train = train
        self.kept: list[np.ndarray] = []

    def keep(self) -> None:
        """Note the gradients of the next round."""
        train, place = self._train, self._place
        found = train.gradients[:, place, 0] / train.weights[place]
        with np.errstate(over="ignore", under="ignore"):
            found = np.ldexp(found, self._exponent)
        self.kept.append(found[0] if len(found) == 1 else found.T)

    def close(self) -> "Gradients":
        """Let go of the training rows."""
        del self._train
        return self


def first_rounds(trees: BoostedTrees, k: int) -> BoostedTrees:
    """The trees of the first k rounds."""
    if k == trees.n_rounds:
        return trees
    start = trees.start[: k * trees.n_outputs + 1]
    names = [field.name for field in fields(trees) if field.name not in _WHOLE]
    return replace(
        trees, start=start, **{name: getattr(trees, name)[: start[-1]] for name in names}
    )


def _state(trees: BoostedTrees, k: int) -> dict[str, Any]:
    return {"trees_": first_rounds(trees, k)}


def record(
    trees: BoostedTrees, history: dict[str, np.ndarray], gradients: Gradients, rounds: int
) -> None:
    """A step for what the last `rounds` rounds started from, then one for each of them."""
    recorder = Recorder("boosting", trees.n_rounds)
    rows = {int(k): i for i, k in enumerate(history["iteration"])}
    first = trees.n_rounds - rounds
    for k in range(first, trees.n_rounds + 1):
        numbers = {}
        if k in rows:
            numbers = {name: history[name][rows[k]] for name in history if name != "iteration"}

        def event(k: int = k) -> dict[str, Any]:
            if k == first:
                return {"round": k}
            new = [trees.tree(t) for t in range((k - 1) * trees.n_outputs, k * trees.n_outputs)]
            return {
                "round": k, "trees": new, "leaves": sum(tree.n_leaves for tree in new),
                "rows": gradients.rows, "gradients": gradients.kept[k - first - 1],
            }  # fmt: skip

        recorder.step(k, partial(_state, trees, k), event, _sentence, **numbers)


def _sentence(event: Mapping[str, Any], numbers: dict[str, float]) -> str:
    from pellucid.draw import number

    if "trees" not in event:
        what = (
            "its initial prediction" if event["round"] == 0 else f"{event['round']} earlier rounds"
        )
        text = f"Boosting starts from {what}"
    elif len(event["trees"]) > 1:
        text = f"Round {event['round']} adds {len(event['trees'])} trees, one for each class"
    else:
        text = f"Round {event['round']} adds a tree with {event['leaves']} leaves"
    if "objective" in numbers:
        text += f"; the training loss is {number(numbers['objective'], 4)}"
    if "validation_loss" in numbers:
        text += f" and the validation loss {number(numbers['validation_loss'], 4)}"
    return text + "."


def at_step(model: Any, state: dict[str, Any]) -> Any:
    """A copy of a fitted model after fewer rounds; scores by round end with the last of them."""
    copy, k = model._working_copy(), state["trees_"].n_rounds
    own = vars(copy)
    own.update(state, n_iter_=k)
    if k == model.trees_.n_rounds:
        return copy
    if "n_estimators_" in own:
        own["n_estimators_"] = k
        own["train_score_"] = own["train_score_"][:k]
        for name in ("oob_scores_", "oob_improvement_"):
            if own.get(name) is not None:
                own[name] = own[name][:k]
        if "oob_score_" in own and k:
            own["oob_score_"] = float(own["oob_scores_"][-1])
        return copy
    for name in ("train_score_", "validation_score_"):
        own[name] = own[name][: k + 1]
    return copy
