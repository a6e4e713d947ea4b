"""Cells that a distribution cannot have are refused in training and in prediction, by row and column."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from pellucid.errors import DataError, ParameterError
from pellucid.naive_bayes import BernoulliNB, ComplementNB, MixedNB, MultinomialNB, PoissonNB

X = np.array([[0, 1.0], [3, 0], [5, 1], [7, 1], [9, 0], [4, 0]])
Y = [0, 0, 0, 1, 1, 1]
CASES = [
    ("poisson", -3.0, "cells must be at least 0"),
    ("multinomial", -3.0, "cells must be at least 0"),
    ("binomial", -3.0, "cells must be 0, 1, 2"),
    ("binomial", 2.5, "cells must be 0, 1, 2"),
    (("binomial", 9), 10.0, r"0, 1, 2, ..., 9\."),
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
        DataError, match=rf"row 3, column 'visits' is {cell:g}, but.*{np.ravel(kind)[0]}.*{rule}"
    ):
        getattr(model, method)(new)
    if cell < 9:
        frame.loc[2, "visits"] = cell
        with pytest.raises(DataError, match=rf"row 2, column 'visits' is {cell:g}, but.*{kind}"):
            MixedNB(distributions={"visits": kind}).fit(frame, Y)


@pytest.mark.parametrize("cell", [-1.0, 0.5, 50.0])
def test_flags_are_0_or_1(cell):
    told = MixedNB(distributions={1: "bernoulli"})
    model = told.fit(X, Y)
    with pytest.raises(DataError, match=rf"row 1, column 'x1' is {cell:g}, but.*must be 0 or 1"):
        model.predict_proba([[4.0, np.nan], [4.0, cell]])
    bad = X.copy()
    bad[4, 1] = cell
    with pytest.raises(DataError, match=rf"row 4, column 'x1' is {cell:g}, but.*0 or 1"):
        told.fit(bad, Y)


def test_what_nobody_said_of_a_column_refuses_no_cell():
    """Training rows that happen to hold 0 and 1, or up to 9, do not say that 2 or 10 cannot be."""
    model = MixedNB(distributions={0: "binomial"}).fit(X, Y)
    assert model.distributions_ == ("binomial", "bernoulli")
    seen = model.predict_proba([[4.0, np.nan], [np.nan, 1.0]])
    assert np.array_equal(model.predict_proba([[4.0, 2.0], [10.0, 1.0]]), seen)
    assert model.explain([[4.0, 2.0]]).contributions[0, 1].tolist() == [0]


def test_the_number_of_trials_can_be_told():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    x = np.minimum(rng.binomial(10, np.where(y, 0.3, 0.45)), 8)[:, None]
    model = MixedNB(distributions={0: ("binomial", 10)}, alpha=0).fit(x, y)
    chances = np.array([x[y == c].mean() / 10 for c in (0, 1)])
    assert model.theta_[:, 0] == pytest.approx(chances, rel=1e-14)
    odds = np.diff(model.predict_log_proba([[6]]), axis=1)[0, 0]
    hand = np.diff(6 * np.log(chances) + 4 * np.log1p(-chances))[0]
    assert odds == pytest.approx(hand, rel=1e-12)
    batches = MixedNB(distributions={0: ("binomial", 10)}, alpha=0)
    batches.partial_fit(x[:90], y[:90], classes=[0, 1]).partial_fit(x[90:], y[90:])
    assert batches.theta_ == pytest.approx(model.theta_, rel=1e-13)
    for wrong in (0, 2.5, True, "ten"):
        with pytest.raises(ParameterError, match="number of trials"):
            MixedNB(distributions={0: ("binomial", wrong)}).fit(x, y)
    with pytest.raises(DataError, match="row 0, column 'x0' is 11"):
        model.predict([[11]])


@pytest.mark.parametrize("Model", [MultinomialNB, ComplementNB, PoissonNB])
def test_rows_are_the_users_own(Model):
    """Rows of weight 0 are left out of training, and counted nevertheless."""
    bad = X.copy()
    bad[4, 1] = -2
    for table in (bad, csr_array(bad)):
        with pytest.raises(DataError, match=r"Negative values.*row 4, column 'x1' is -2"):
            Model().fit(table, Y, sample_weight=[0, 1, 0, 1, 1, 1])
    with pytest.raises(DataError, match=r"row 4, column 'x1' is -2, but the distribution"):
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
        with pytest.raises(DataError, match="sum of the counts in column 'x1' exceeds"):
            Model().fit(np.array([[1, top], [2, 0], [3, top]]), [0, 1, 1])
