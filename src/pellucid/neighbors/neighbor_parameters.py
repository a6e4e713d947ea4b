"""Declarations of the neighbour models that predict: weights of the neighbours, targets."""

import numpy as np

from pellucid.parameters import Choice, Function, Real, param

RADIUS = Real(0, None, "left") | Choice(np.inf)
_WEIGHTS = Choice("uniform", "distance", "exp", "rational", None) | Function
_RULES = (
    "Weight of a neighbour at distance d: 'uniform' or None 1, 'distance' 1 / d (if some d are 0, only "
    "these rows count), 'exp' exp(-beta d), 'rational' 1 / (1 + d**beta). "
)
WEIGHTS = param(
    "uniform", _WEIGHTS, _RULES + "A function gets all distances, shape (n, k).", before="algorithm"
)
RADIUS_WEIGHTS = WEIGHTS.replace(
    description=_RULES + "A function gets the distances of one row at a time, shape (1, k)."
)
BETA = param(
    1.0,
    Real(0, None, "neither"),
    "Parameter of the weights 'exp' and 'rational'.",
    after="standardize",
)
RADIUS_ALGORITHM = (
    "How to search. All values find the same rows. 'ball_tree' uses the KD-tree, and 'lsh' searches "
    "exactly, with a warning."
)

CODES = "Class codes of the training rows, in ascending order: positions in `classes_`."
TARGETS = "Targets of the training rows, in ascending order."
OUTPUTS_2D = "Always False: there is one target."

# `predict(None)` predicts the training rows by the others.
NONE_IS_A_TABLE = {
    "bad_table_is_refused_by_prediction[nothing]": "None is the training table, as in scikit-learn"
}
