"""The lasso, with a given penalty or one chosen by cross-validation: most coefficients become 0."""

from typing import Any

from pellucid.linear_model._lasso.base import L1Regressor, L1RegressorCV
from pellucid.parameters import changed


class Lasso(L1Regressor):
    """Least squares from few columns: b and b0 minimise

        1/(2N) sum_i w_i (y_i - b0 - x_i . b)^2 + alpha sum_j |b_j|,     N = sum_i w_i

    The intercept b0 is never penalised. Found by coordinate descent on working sets, then solved
    exactly for the columns that remain; the duality gap proves how near the optimum is.

    Examples
    --------
    >>> from pellucid.linear_model import Lasso
    >>> model = Lasso(alpha=0.25).fit([[1.0], [2.0], [3.0], [4.0]], [2.0, 3.0, 5.0, 8.0])
    >>> model.coef_.round(12), round(model.intercept_, 12)
    (array([1.8]), np.float64(0.0))
    """

    copy_X: bool = changed(after="precompute")

    l1_ratio = 1.0


class LassoCV(L1RegressorCV):
    """The lasso with the penalty that predicts best: b and b0 minimise

        1/(2N) sum_i w_i (y_i - b0 - x_i . b)^2 + alpha sum_j |b_j|,     N = sum_i w_i

    for the alpha with the smallest mean squared error on left-out rows. Products of columns are
    computed once for all folds; every penalty starts from the solution of the last.

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.linear_model import LassoCV
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> y = 3 * X[:, 2] + np.random.default_rng(1).normal(size=60)
    >>> int(np.abs(LassoCV().fit(X, y).coef_).argmax())
    2
    """

    copy_X: bool = changed(after="tol")
    verbose: Any = changed(default=False)

    l1_ratio = 1.0
