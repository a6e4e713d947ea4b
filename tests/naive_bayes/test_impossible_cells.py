"""Cells that a distribution cannot have are refused in training and in prediction, by row and column."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from pellucid.errors import DataError
from pellucid.naive_bayes import BernoulliNB, ComplementNB, MixedNB, MultinomialNB, PoissonNB

X = np.array([[0, 1.0], [3, 0], [5, 1], [7, 1], [9, 0], [4, 0]])
Y = [0, 0, 0, 1, 1, 1]
CASES = [
    ("poisson", -3.0, "counts are 0 or more"),
    ("multinomial", -3.0, "counts are 0 or more"),
    ("binomial", -3.0, "successes are 0, 1, 2"),
    ("binomial", 2.5, "successes are 0, 1, 2"),
    ("binomial", 10.0, r"0, 1, 2, ..., 9 \(the largest one in training\)"),
]


@pytest.mark.parametrize(("kind", "cell", "rule"), CASES)
@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "predict_joint_log_proba", "explain"]
)
def test_prediction_refuses_what_training_refuses(kind, cell, rule, method):
    frame = pd.DataFrame(X, columns=["visits", "flag"])
    model = MixedNB(distributions={"visits": kind}).fit(frame, Y)
    new = pd.DataFrame({"visits": [4.0, np.nan, 3.0, cell], "flag": [0.0, 1, np.nan, 0]})
    assert np.isfinite(model.predict_proba(new[:3])).all()
    with pytest.raises(
        DataError, match=rf"row 3, column 'visits' holds {cell:g}\..*{kind}.*{rule}"
    ):
        getattr(model, method)(new)
    if cell < 9:
        frame.loc[2, "visits"] = cell
        with pytest.raises(DataError, match=rf"row 2, column 'visits' holds {cell:g}\..*{kind}"):
            MixedNB(distributions={"visits": kind}).fit(frame, Y)


@pytest.mark.parametrize("cell", [-1.0, 0.5, 50.0])
@pytest.mark.parametrize("told", [None, {1: "bernoulli"}])
def test_flags_are_0_or_1(cell, told):
    model = MixedNB(distributions=told).fit(X, Y)
    assert model.distributions_[1] == "bernoulli"
    with pytest.raises(DataError, match=rf"row 1, column 'x1' holds {cell:g}\..*flags are 0 or 1"):
        model.predict_proba([[4.0, np.nan], [4.0, cell]])
    if told:
        bad = X.copy()
        bad[4, 1] = cell
        with pytest.raises(DataError, match=rf"row 4, column 'x1' holds {cell:g}\..*0 or 1"):
            MixedNB(distributions=told).fit(bad, Y)


@pytest.mark.parametrize("Model", [MultinomialNB, ComplementNB, PoissonNB])
def test_rows_are_the_users_own(Model):
    """Rows of weight 0 are left out of training, and counted nevertheless."""
    bad = X.copy()
    bad[4, 1] = -2
    for table in (bad, csr_array(bad)):
        with pytest.raises(DataError, match=r"Negative values.*row 4, column 'x1' holds -2"):
            Model().fit(table, Y, sample_weight=[0, 1, 0, 1, 1, 1])
    with pytest.raises(DataError, match=r"row 4, column 'x1' holds -2\. Its distribution"):
        MixedNB(distributions={1: "poisson"}).fit(bad, Y, sample_weight=[0, 1, 0, 1, 1, 1])


@pytest.mark.parametrize("cell", [1e150, 1e300, 1.7e308])
def test_counts_of_any_size(cell):
    """The class of the higher rate, and never a tie because both are out of range."""
    told = MixedNB(distributions={0: "poisson"})
    shares = MixedNB(distributions={0: "multinomial", 1: "multinomial"})
    for model in (told, shares, PoissonNB(), MultinomialNB(), ComplementNB()):
        fitted = model.fit(X, Y)
        assert fitted.predict_proba([[cell, 1.0]]).tolist() == [[0, 1]]
    for Model in (PoissonNB, MultinomialNB):
        fitted = Model().fit(csr_array(X), Y)
        assert fitted.predict_proba(csr_array([[cell, 1.0]])).tolist() == [[0, 1]]
    flags = BernoulliNB().fit(X, Y)
    assert (flags.predict_proba([[cell, 1.0]]) == flags.predict_proba([[1.0, 1.0]])).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("Model", [MultinomialNB, ComplementNB, PoissonNB])
def test_counts_whose_sum_is_no_float_are_named(Model):
    for top in (1e308, 1.79e308):  # the sum of each class is one, or is none
        with pytest.raises(DataError, match="counts in column 'x1' are too large to be added up"):
            Model().fit(np.array([[1, top], [2, 0], [3, top]]), [0, 1, 1])
