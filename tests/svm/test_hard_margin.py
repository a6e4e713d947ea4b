"""C=inf: whether rows can be divided does not depend on where 0 is."""

import numpy as np
import pytest

from pellucid.errors import DataError
from pellucid.svm import SVC


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e6])
def test_a_linear_margin_does_not_know_where_zero_is(rng, offset):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    X[:, 0] += np.where(y, 1, -1)
    near, far = (SVC(kernel="linear", C=np.inf).fit(X + at, y) for at in (0.0, offset))
    assert far.status_.ok and far.score(X + offset, y) == 1.0
    assert np.allclose(far.coef_, near.coef_, atol=0.01)
    y[:2] = 1 - y[:2]
    with pytest.raises(DataError, match="no boundary"):
        SVC(kernel="linear", C=np.inf).fit(X + offset, y)
