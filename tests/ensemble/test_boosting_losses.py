"""The gradients and the sum of the log loss that boosting computes row by row."""

import numpy as np
import pytest

from pellucid.tree import _gradients


@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 12.0, 60.0])
def test_log_loss_keeps_its_digits(scale, equal):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 1000).astype(float)
    raw = scale * np.abs(rng.normal(size=1000)) * (2 * y - 1)  # every row is predicted right
    weights = np.full(1000, 3.0) if equal else rng.uniform(0.1, 2.0, 1000)
    gradients = np.empty((1000, 2))
    total = _gradients.logistic_gradients(y, raw, weights, gradients, 0, 1000)
    losses = np.log1p(np.exp(-np.abs(raw)))
    assert total == pytest.approx(float(weights @ losses), rel=1e-13)
    p = 1.0 / (1.0 + np.exp(-raw))
    np.testing.assert_allclose(gradients[:, 0], weights * (p - y), rtol=1e-10, atol=1e-15)
    odds = np.exp(-np.abs(raw))
    np.testing.assert_allclose(gradients[:, 1], weights * odds / (1 + odds) ** 2, rtol=1e-14)
