"""Given kernels: pairs of rows that no inner product can have are named at any size."""

import numpy as np
import pytest

from pellucid.errors import DataError
from pellucid.svm import kernel_checks


@pytest.mark.parametrize("whole", [0, 4000])
def test_a_pair_that_no_inner_product_has_is_named(whole, monkeypatch):
    monkeypatch.setattr(kernel_checks, "WHOLE", whole)
    monkeypatch.setattr(kernel_checks, "CELLS", 5000)  # several blocks
    K = np.diag(np.linspace(1, 1000, 2100))
    kernel_checks.check_kernel(K)
    K[900, 7] = K[7, 900] = -200.0
    with pytest.raises(DataError, match=r"K\[7, 900\] = -200 is too large.* at most -") as told:
        kernel_checks.check_kernel(K)
    said = float(str(told.value).split("at most ")[1].split(")")[0])
    assert said == pytest.approx(np.linalg.eigvalsh(K[np.ix_([7, 900], [7, 900])])[0], rel=0.01)
    K[900, 7] = K[7, 900] = 0.0
    K[3, 3] = -1.0
    with pytest.raises(DataError, match=r"K\[3, 3\] < 0.*at most -1\)"):
        kernel_checks.check_kernel(K)


def test_2100_rows_are_accepted_only_with_proof():
    """Three rows, each pair of which is possible."""
    K = np.diag(np.linspace(1, 1000, 2100))
    K[:3, :3] = [[1.0, -0.9, -0.9], [-0.9, 1.0, -0.9], [-0.9, -0.9, 1.0]]
    with pytest.raises(DataError, match=r"its smallest eigenvalue is -0\.8"):
        kernel_checks.check_kernel(K)
