"""Checks of support vector machines that were read from a file, before their arrays are used."""

from typing import Any

import numpy as np

from pellucid.errors import ModelFileError
from pellucid.persist.checks import valid_numbers
from pellucid.persist.fitted_state import expect_array, expect_number, n_terms


def check_support_vectors(model: Any) -> None:
    """Raise `ModelFileError` if the support vectors and their places are inconsistent."""
    m, p, precomputed = len(model.support_), n_terms(model), model.kernel == "precomputed"
    expect_array(model, "support_", None, dtype=np.int32)
    expect_number(model, "gamma_", 0.0)
    expect_array(model, "centre_", 0 if precomputed else p, finite=True)
    expect_array(model, "scale_", p if len(model.scale_) else 0, finite=True)
    if not isinstance(model.vectors_, tuple):
        expect_array(model, "vectors_", m, 0 if precomputed else p, finite=True)
    elif not valid_numbers(model.vectors_, (m, p)):
        raise ModelFileError("the arrays of its sparse support vectors are inconsistent")
    if m and not 0 <= model.support_.min() <= model.support_.max() < model.shape_fit_[0]:
        raise ModelFileError("one of its support vectors is not a row of its training table")


def check_single(model: Any) -> None:
    """Raise `ModelFileError` if a model with one decision function is inconsistent."""
    m = len(model.support_)
    expect_array(model, "dual_coef_", 1, m, finite=True)
    expect_array(model, "intercept_", 1, finite=True)
    expect_array(model, "n_support_", 1, dtype=np.int32)
    if model.n_support_[0] != m:
        raise ModelFileError("its n_support_ is not the number of its support vectors")
    check_support_vectors(model)
