"""What fitted boosting models share: raw predictions, stages, explanations, checks of model files.

raw prediction = baseline_ + prediction of `init_`, if there is one + sum of the trees' leaves (+ offset)
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pellucid.data.targets import offset_values
from pellucid.ensemble.boosting import initial_model
from pellucid.ensemble.boosting.trees import BoostedTrees
from pellucid.errors import DataError, ParameterError
from pellucid.persist.fitted_state import expect_array
from pellucid.tree import explaining


def _start(model: Any, X: np.ndarray) -> np.ndarray:
    """Raw predictions (n, K) before the first round."""
    out = np.repeat(model.baseline_[None, :], len(X), axis=0)
    init = vars(model).get("init_")
    if init is None:
        return out
    return out + initial_model.raw_predictions(init, X, model.schema_, model.loss)


def raw_predictions(model: Any, X: np.ndarray, offset: Any = None) -> np.ndarray:
    """Raw predictions (n, K) of encoded rows."""
    check_offset(model, offset)
    out, trees = _start(model, X), model.trees_
    trees.add(X, out, trees.walkers(X), 0, trees.n_rounds)
    return out if offset is None else out + offset_values(offset, len(X))[:, None]


def staged_raw_predictions(model: Any, X: Any, offset: Any = None) -> Iterator[np.ndarray]:
    """Raw predictions (n, K) of a table after every round."""
    check_offset(model, offset)
    encoded, trees = model._encoded(X), model.trees_
    walkers, out = trees.walkers(encoded), _start(model, encoded)
    shift = 0.0 if offset is None else offset_values(offset, len(out))[:, None]
    for number in range(trees.n_rounds):
        trees.add(encoded, out, walkers, number, number + 1)
        yield out + shift


def check_offset(model: Any, offset: Any) -> None:
    """Refuse an offset for more than two classes."""
    if offset is not None and len(vars(model).get("classes_", ())) > 2:
        raise ParameterError("offset needs two classes.")


def explain(self: Any, X: Any, method: str = "path", *, offset: Any = None) -> Any:
    """Explain each prediction by contributions of the columns of X, and of the offset.

    method="path" adds up the changes of the mean raw prediction at the splits that a row passes.
    method="shap" gives exact Shapley values: the mean effect of learning the value of a column,
    over all orders of the columns; unknown columns are averaged by the training samples of the
    branches. For both, `base + contributions.sum(axis=1) == prediction` holds for every row and
    class.
    """
    check_offset(self, offset)
    found = explaining.explain(self, X, method)
    if offset is None:
        return found
    return found.with_offset(offset_values(offset, len(found.prediction)))


def explanation_parts(model: Any, X: np.ndarray, method: str, scale: str) -> dict[str, Any]:
    """The parts of an explanation of raw predictions."""
    trees, along = model.trees_, "changes of the mean prediction along the paths"
    base, contributions = trees.shap(X) if method == "shap" else trees.path(X)
    base, init = model.baseline_ + base, vars(model).get("init_")
    if init is not None:
        first, more = initial_model.explained(init, X, model.schema_, model.loss)
        base, contributions = base + first, contributions + more
    return {
        "base": base,
        "contributions": contributions,
        "prediction": raw_predictions(model, X),
        "scale": scale,
        "method": explaining.SHAPLEY if method == "shap" else along,
    }


def at_step(self: Any, state: dict[str, Any]) -> Any:
    """The model after a recorded round."""
    from pellucid.ensemble.boosting import boosting_steps

    return boosting_steps.at_step(self, state)


def importances(self: Any) -> np.ndarray:
    """Share of the total gain that is due to the splits by each column; 0 without any split."""
    self._check_fitted()
    return self.trees_.importances()


def check_trees(model: Any) -> None:
    """Refuse learned arrays that do not belong together (model files)."""
    K = len(vars(model).get("classes_", ()))
    outputs = K if K > 2 else 1
    expect_array(model, "baseline_", outputs, finite=True)
    trees = vars(model).get("trees_")
    if not isinstance(trees, BoostedTrees) or trees.n_outputs != outputs:
        raise DataError("the trees do not belong to this model's outputs")
    if not np.array_equal(trees.n_levels, model.schema_.n_levels):
        raise DataError("the trees do not belong to these columns")
    if vars(model).get("validation_seed_") is not None:
        expect_array(model, "validation_seed_", 2, dtype=np.int64)
    if vars(model).get("n_iter_", trees.n_rounds) != trees.n_rounds:
        raise DataError("the trees do not belong to this number of rounds")
