"""Parameters and learned attributes that SVC, SVR and OneClassSVM share."""

from typing import Any

import numpy as np

from pellucid.base import Estimator
from pellucid.parameters import (
    Boolean,
    Choice,
    Function,
    Ignored,
    Integer,
    Real,
    learned,
    param,
    shared,
)
from pellucid.records import Status
from pellucid.svm import kernels


class KernelParameters(Estimator):
    """A support vector machine with a kernel, as its user sees it."""

    kernel: Any = param(
        "rbf",
        Choice(*kernels.NAMES) | Function,
        "Kernel of two rows: 'linear' x'z, 'poly' (gamma x'z + coef0)**degree, 'rbf' "
        "exp(-gamma |x - z|**2), 'sigmoid' tanh(gamma x'z + coef0). With 'precomputed' X is the kernel "
        "matrix. A function gets two tables and returns the kernel of all pairs of their rows.",
    )
    degree: int = param(3, Integer(0), "Degree of the kernel 'poly'.")
    gamma: Any = param(
        "scale",
        Choice("scale", "auto") | Real(0, None, "neither"),
        "Factor gamma of the kernels 'rbf', 'poly' and 'sigmoid'. 'scale' is 1 / (number of columns x "
        "variance of all cells), 'auto' is 1 / number of columns.",
    )
    coef0: float = param(
        0.0, Real(None, None, "neither"), "Constant term of the kernels 'poly' and 'sigmoid'."
    )
    tol: float = param(
        1e-3, Real(0, None, "neither"), "Largest accepted violation of the optimality conditions."
    )
    shrinking: bool = param(
        True, Ignored("the working sets always leave out rows at their bounds.", Boolean)
    )
    cache_size: float = param(
        200, Real(0, None, "neither"), "Megabytes of memory for rows of the kernel matrix."
    )
    verbose: bool = shared.VERBOSE.replace(default=False)
    max_iter: int = param(
        -1,
        Integer(-1),
        "Largest number of solver steps. -1 allows ten million, or 100 per row if that is more.",
    )
    max_time: float | None = param(
        None,
        None | Real(0, None, "neither"),
        "Largest number of seconds of the solver. A fit that needs more keeps what it has and warns.",
        last=True,
    )
    standardize: bool = shared.STANDARDIZE.replace(
        description="Subtract the means of the columns and divide numbers by their standard deviations "
        "before the kernel is computed. Columns of categories, missing-value indicators and words are "
        "not divided; large sparse tables are not centred."
    )

    support_: np.ndarray = learned(
        "Row numbers of the support vectors in the training table, shape (n_support,)."
    )
    dual_coef_: np.ndarray = learned("Coefficients of the support vectors, shape (1, n_support).")
    intercept_: np.ndarray = learned("Intercept of the decision function, shape (1,).")
    n_support_: np.ndarray = learned("Number of support vectors, shape (1,).")
    n_iter_: Any = learned("Number of solver steps.")
    shape_fit_: tuple[int, int] = learned(
        "Numbers of rows and encoded columns of the training table."
    )
    fit_status_: int = learned("0 if the solver converged, otherwise 1.")
    history_: dict[str, np.ndarray] = learned(
        "Diagnostics after each working set: 'objective' (of the dual), 'violation' of the optimality "
        "conditions and 'duality_gap'."
    )
    status_: Status = learned(shared.STATUS)
    vectors_: Any = learned(
        "Support vectors as the kernel sees them; for a sparse table, the arrays of a CSR matrix."
    )
    centre_: np.ndarray = learned("Values subtracted from the scaled columns, shape (n_terms,).")
    scale_: np.ndarray = learned("Factors of the columns, shape (n_terms,); empty if not scaled.")
    gamma_: float = learned("Value of `gamma` that the kernel uses.")
