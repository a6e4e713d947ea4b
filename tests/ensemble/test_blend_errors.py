"""The error by which a blend chooses its parts."""

import numpy as np
import pytest

from pellucid.ensemble.blend.selection import root_mean_squared_error


def test_root_mean_squared_error(rng):
    y, z, share = rng.normal(size=9), rng.normal(size=9), np.full(9, 1 / 9)
    found = root_mean_squared_error(y, z, share)
    assert found == pytest.approx(np.sqrt(np.mean((y - z) ** 2)), rel=1e-14)
    assert root_mean_squared_error(y * 1e200, z * 1e200, share) == pytest.approx(found * 1e200)
    assert root_mean_squared_error(y, y, share) == 0.0
