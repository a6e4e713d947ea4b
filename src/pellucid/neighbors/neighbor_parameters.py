"""Parameters and learned attributes that several neighbour models share."""

import numpy as np

from pellucid.neighbors import distances
from pellucid.parameters import (
    STANDARDIZE,
    Choice,
    Either,
    Function,
    Integer,
    Nothing,
    Predicate,
    Real,
    param,
)

_COUNT = (
    "How to search. All but 'lsh' find the same rows; 'ball_tree' uses the KD-tree. 'lsh' "
    "(locality-sensitive hashing) finds most of them: `recall_` is the share that it finds. The search "
    "is exact where hashing would not be faster, and for more than the fitted `n_neighbors`."
)
ALGORITHM = param("auto", Choice("auto", "ball_tree", "kd_tree", "brute", "lsh"), _COUNT)
RADIUS_ALGORITHM = ALGORITHM.replace(
    description="How to search. All values find the same rows. 'ball_tree' uses the KD-tree, and "
    "'lsh' searches exactly, with a warning."
)
LEAF_SIZE = param(
    30,
    Integer(1),
    "Leaf size of the KD-tree: a leaf holds at most 8 * leaf_size rows, and never more than 256.",
)
P = param(
    2,
    Either(Real(0, None, "neither"), Choice(np.inf), Nothing),
    "Order of the metric 'minkowski', at most 32 or inf. 1 is 'manhattan', 2 is 'euclidean', inf is "
    "'chebyshev'. None is 2.",
)
METRIC = param(
    "minkowski",
    Either(Choice(*distances.NAMES), Function),
    "Distance between two rows. 'hamming' is the share of the table's columns that differ; two missing "
    "cells are equal. 'mahalanobis' estimates the covariance of the training rows with Ledoit and "
    "Wolf's shrinkage, unless `metric_params` gives it. 'gower' is for mixed columns: it uses ranges "
    "and categories and leaves missing cells out; all other metrics use the mean of the column and an "
    "indicator for missing numbers. With 'precomputed' X contains the distances. A function gets two "
    "rows and returns a number.",
)
METRIC_PARAMS = param(
    None,
    Either(
        Predicate(lambda v: isinstance(v, dict) and all(isinstance(k, str) for k in v), "a dict"),
        Nothing,
    ),
    "Further arguments of the metric: 'p' and 'w' of 'minkowski', 'w' of 'euclidean', 'V' (the "
    "covariance) or 'VI' (its inverse) of 'mahalanobis', or the arguments of a metric function.",
)
SCALED = STANDARDIZE.replace(
    description="Divide numbers by their standard deviations before distances are computed; columns of "
    "categories stay 0 and 1."
)
_WEIGHTS = Either(Choice("uniform", "distance", "exp", "rational", None), Function)
_RULES = (
    "Weight of a neighbour at distance d: 'uniform' or None 1, 'distance' 1 / d (if some d are 0, only "
    "these rows count), 'exp' exp(-beta d), 'rational' 1 / (1 + d**beta). "
)
WEIGHTS = param("uniform", _WEIGHTS, _RULES + "A function gets all distances, shape (n, k).")
RADIUS_WEIGHTS = WEIGHTS.replace(
    description=_RULES + "A function gets the distances of one row at a time, shape (1, k)."
)
BETA = param(
    1.0,
    Real(0, None, "neither"),
    "Parameter of the weights 'exp' and 'rational'.",
    last=True,
)

CODES = "Class codes of the training rows, in ascending order: positions in `classes_`."
TARGETS = "Targets of the training rows, in ascending order."
OUTPUTS_2D = "Always False: there is one target."
