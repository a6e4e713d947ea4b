"""The reference data are found, read whole and skipped with a reason when absent."""

import numpy as np
import pytest

from tests.oracles import shared


def test_absent_folder_skips_with_a_reason(monkeypatch, tmp_path):
    monkeypatch.setenv(shared.VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(pytest.skip.Exception, match=shared.VARIABLE):
        shared.frame("r_mtcars.csv")


def test_absent_file_skips_with_its_name(monkeypatch, tmp_path):
    monkeypatch.setenv(shared.VARIABLE, str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match=r"r_mtcars\.csv"):
        shared.path("r_mtcars.csv")


def test_csv_as_frame_and_as_columns():
    columns = shared.columns("r_mtcars.csv")
    assert list(columns) == list(shared.frame("r_mtcars.csv").columns)
    assert columns["mpg"].dtype == np.float64 and columns["mpg"].shape == (32,)


@pytest.mark.parametrize("name", shared.NIST_NAMES)
def test_nist_sets_are_consistent(name):
    nist = shared.nist(name)
    X = nist.design()
    assert X.shape == (nist.y.size, nist.estimate.size - nist.intercept)
    # The certified numbers themselves carry 14 digits or more of the exact solution.
    assert nist.digits(nist.estimate) > 14
    assert nist.digits(nist.estimate * (1 + 1e-6)) == pytest.approx(6, abs=0.1)
    assert nist.digits(np.full_like(nist.estimate, np.nan)) == 0
    residual = nist.y - X @ nist.estimate[int(nist.intercept) :]
    residual -= nist.estimate[0] if nist.intercept else 0
    df = nist.y.size - nist.estimate.size
    # Loose: a bare sum of powers loses most digits on Filip and the exact Wampler sets.
    scale = np.abs(X * nist.estimate[int(nist.intercept) :]).sum(axis=1).max()
    assert np.sqrt(residual @ residual / df) == pytest.approx(nist.residual_sd, abs=1e-10 * scale)


def test_computed_references():
    assert shared.r_reference("meta")["R"].startswith("R version")
    assert shared.statsmodels_reference("Lbw")
    with pytest.raises(KeyError, match="lm_mtcars"):
        shared.r_reference("lm_mt")
