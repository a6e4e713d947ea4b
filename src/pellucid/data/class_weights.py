"""Weights of classes: the one rule of every classifier that has `class_weight`."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import ParameterError, shown

LARGEST = 1e150  # times weights of rows it is still an ordinary number


def class_factors(class_weight: Any, rows: Any) -> np.ndarray:
    """One factor per class, by which the weights of its rows are multiplied.

    `rows` have class codes `y`, `weights`, and `classes`, the labels of the codes.
    "balanced" makes the weights of all classes that occur equal; classes that a dict leaves out
    have the factor 1.
    """
    assert rows.classes is not None
    labels = rows.classes.tolist()
    if class_weight is None:
        return np.ones(len(labels))
    totals = parallel.count_rows(rows.y, rows.weights, len(labels))
    if isinstance(class_weight, str):
        present = totals > 0  # a bag may lack a class
        return np.where(
            present, totals.sum() / (present.sum() * np.where(present, totals, 1.0)), 0.0
        )
    factors = np.array([_factor(label, class_weight.get(label, 1.0)) for label in labels])
    strange = [label for label in class_weight if label not in labels]
    if strange:
        raise ParameterError(
            f"The classes, {shown(strange)}, of class_weight are not among the labels {labels}."
        )
    if not (factors * totals > 0).any():
        raise ParameterError("class_weight leaves no row with a weight above 0.")
    return factors


def class_weighted(class_weight: Any, rows: Any) -> np.ndarray:
    """The weights of the rows, each times the factor of its class."""
    if class_weight is None:
        return rows.weights
    return rows.weights * class_factors(class_weight, rows)[rows.y]


def _factor(label: Any, given: Any) -> float:
    number = isinstance(given, int | float | np.number) and not isinstance(given, complex)
    if not number or not 0 <= given <= LARGEST:
        raise ParameterError(
            f"The 'class_weight' parameter must give finite weights >= 0, at most {LARGEST:g}. Got "
            f"{shown(given)} for class {shown(label)} instead."
        )
    return float(given)
