"""The elastic net, with given penalties or some chosen by cross-validation."""

from typing import Any

from pellucid.linear_model._lasso.base import L1Regressor, L1RegressorCV
from pellucid.parameters import Array, Real, param


class ElasticNet(L1Regressor):
    """Least squares with few and small coefficients: b and b0 minimise

        1/(2N) sum_i w_i (y_i - b0 - x_i . b)^2
            + alpha (l1_ratio sum_j |b_j| + (1 - l1_ratio)/2 sum_j b_j^2),     N = sum_i w_i

    The intercept b0 is never penalised. Found by coordinate descent on working sets, then solved
    exactly for the columns that remain; the duality gap proves how near the optimum is.

    Examples
    --------
    >>> from pellucid.linear_model import ElasticNet
    >>> X, y = [[1.0, 0.0], [2.0, 1.0], [3.0, 1.0], [4.0, 0.0]], [2.0, 3.0, 5.0, 8.0]
    >>> ElasticNet(alpha=0.5, l1_ratio=0.5).fit(X, y).coef_.round(6)
    array([1.5, 0. ])
    """

    l1_ratio: float = param(
        0.5,
        Real(0, 1, "both"),
        "Share of the L1 penalty: 1 is the lasso, 0 is ridge regression.",
        before="fit_intercept",
    )


class ElasticNetCV(L1RegressorCV):
    """The elastic net with the penalties that predict best: b and b0 minimise

        1/(2N) sum_i w_i (y_i - b0 - x_i . b)^2 + alpha (r |b|_1 + (1 - r) |b|^2 / 2)

    with N = sum_i w_i, for the alpha and l1_ratio r with the smallest mean squared error on left-out
    rows. Products of columns are computed once for all folds; every penalty starts from the last.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.linear_model import ElasticNetCV
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> y = 3 * X[:, 2] + np.random.default_rng(1).normal(size=60)
    >>> model = ElasticNetCV(l1_ratio=[0.1, 0.9]).fit(X, y)
    >>> model.l1_ratio_
    np.float64(0.9)
    """

    l1_ratio: Any = param(
        0.5,
        Real(0, 1, "both") | Array,
        "Share of the L1 penalty: 1 is the lasso, 0 is ridge regression. Of several shares the best "
        "is chosen.",
        before="eps",
    )
