"""Float32 tables: the same predictions as their float64 copy, without making one."""

import numpy as np
import pytest

from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
from pellucid.errors import DataError
from pellucid.linear_model import BayesianRidge, Lasso, LogisticRegression, Ridge
from pellucid.svm import LinearSVC

MODELS = [
    Ridge(), Lasso(alpha=0.2), BayesianRidge(), LogisticRegression(), LinearSVC(),
    LinearDiscriminantAnalysis(),
]  # fmt: skip


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("n", [50, 9000])
def test_same_bits_as_float64(model, n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 6)).astype(np.float32)
    y = X[:, 0] - X[:, 1] + rng.normal(size=9000)
    y = (y > 0).astype(int) if model._kind == "classifier" else y
    model.fit(X, y)
    wide = X[:n].astype(np.float64)
    np.testing.assert_array_equal(model.predict(X[:n]), model.predict(wide))
    if hasattr(model, "decision_function"):
        found = model.decision_function(X[:n])
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, model.decision_function(wide))
    for bad in (np.inf, np.nan):
        X[3, 2] = bad
        if np.isnan(bad):
            with_missing = model.predict(X[:n])
            np.testing.assert_array_equal(with_missing, model.predict(X[:n].astype(float)))
        else:
            with pytest.raises(DataError, match="row 3"):
                model.predict(X[:n])
