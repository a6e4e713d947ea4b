"""Input that linear and generative classifiers cannot use, or must not stumble over.

Every message names what is wrong and where, and says what works instead.
"""

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array
from sklearn.covariance import OAS

import pellucid.discriminant_analysis as discriminant
import pellucid.naive_bayes as naive
from pellucid.errors import ConvergenceWarning, DataError, ParameterError
from pellucid.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)

MODELS = [
    *(getattr(module, name) for module in (discriminant, naive) for name in module.__all__),
    *(LogisticRegression, LogisticRegressionCV, Perceptron, RidgeClassifier, SGDClassifier),
]
COUNTING = [naive.MultinomialNB, naive.ComplementNB, naive.PoissonNB]
X = np.random.default_rng(0).integers(0, 4, size=(30, 3)).astype(float)
Y = np.repeat(["a", "b", "c"], 10)


@pytest.mark.parametrize("Model", MODELS)
def test_one_class_is_named(Model):
    with pytest.raises(DataError, match=f"{Model.__name__} needs .* only one class: 'a'"):
        Model().fit(X, ["a"] * 30)


@pytest.mark.filterwarnings("ignore::pellucid.errors.ConvergenceWarning")
@pytest.mark.parametrize("Model", MODELS)
def test_a_class_with_one_row(Model):
    y = np.where(np.arange(30) < 15, "a", "b").astype(object)
    y[29] = "alone"
    model = Model().fit(X, y)
    assert model.classes_.tolist() == ["a", "alone", "b"]
    assert set(model.predict(X)) <= set(model.classes_)
    if hasattr(model, "predict_proba"):
        P = model.predict_proba(X)
        assert np.isfinite(P).all() and np.allclose(P.sum(axis=1), 1)


@pytest.mark.filterwarnings("ignore::pellucid.errors.ConvergenceWarning")
@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_constant_columns_say_nothing(Model, value):
    """Except where counts of columns share one total, and where a step takes every column along."""
    wide = np.column_stack([X, np.full(30, value)])
    model = Model().fit(wide, Y)
    scores = model.predict_proba(wide) if hasattr(model, "predict_proba") else None
    assert scores is None or np.isfinite(scores).all()
    if Model in (Perceptron, SGDClassifier, naive.MultinomialNB, naive.ComplementNB):
        return
    plain = Model().fit(X, Y)
    np.testing.assert_array_equal(model.predict(wide), plain.predict(X))
    if scores is not None:
        np.testing.assert_allclose(scores, plain.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("missing", [np.nan, None, pandas.NA, pandas.NaT])
def test_labels_with_missing_values_are_counted_and_named(Model, missing):
    y = Y.astype(object)
    y[[4, 17]] = missing
    with pytest.raises(DataError, match=r"y contains NaN in 2 rows \(4, 17\)\. Correct the target"):
        Model().fit(X, y)


@pytest.mark.parametrize("Model", COUNTING)
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_negative_counts_are_named(Model, form):
    bad = X.copy()
    bad[3, 1] = -1.5
    said = rf"(?s){Model.__name__}.*row 3, column 'x1' is -1.5\..*Use GaussianNB"
    with pytest.raises(DataError, match=said):
        Model().fit(form(bad), Y)
    with pytest.raises(DataError, match=said):
        Model().fit(form(X), Y).predict(form(bad))


def prior_name(Model):
    """What the parameter of the prior probabilities is called; None if there is none."""
    return next((n for n in ("priors", "class_prior") if n in Model().get_params()), None)


@pytest.mark.parametrize("Model", [Model for Model in MODELS if prior_name(Model)])
@pytest.mark.parametrize(
    "priors, said",
    [
        ([0.5, 0.6, 0.2], "sum to 1.3: divide them by their sum"),
        ([0.5, 0.5], "there are 3 classes"),
        ([-0.5, 0.5, 1.0], "non-negative"),
    ],
)
def test_impossible_priors(Model, priors, said):
    with pytest.raises(ParameterError, match=said):
        Model(**{prior_name(Model): priors}).fit(X, Y)


@pytest.mark.parametrize("model, works", [
    (LogisticRegression(solver="magic"), "'auto'.*'newton'"),
    (LogisticRegression(solver="newton", l1_ratio=0.5), "Use one of .*'cd'.*, or l1_ratio=0"),
    (LogisticRegression(solver="sgd", l1_ratio=1.0), "Use one of .*'cd'.*, or l1_ratio=0"),
    (LogisticRegression(solver="cd", C=np.inf), "Set C to a finite number"),
    (LogisticRegression(firth=True), "C=np.inf"),
    (LogisticRegressionCV(solver="lbfgs", l1_ratios=[1.0]), "Use one of .*'cd'"),
    (SGDClassifier("log_loss", learning_rate="pa1"), "works with loss 'hinge'"),
    (SGDClassifier(penalty="l3"), "'l2', 'l1', 'elasticnet'"),
    (Perceptron(penalty="l3"), "'l2', 'l1', 'elasticnet'"),
    (RidgeClassifier(solver="magic"), "'auto', 'svd'"),
    (discriminant.LinearDiscriminantAnalysis(shrinkage="auto"), "Use solver='lsqr' or solver='eigen'"),
    (discriminant.QuadraticDiscriminantAnalysis(shrinkage=0.1), "Use solver='eigen', or reg_param"),
    (discriminant.LinearDiscriminantAnalysis(
        solver="lsqr", shrinkage=0.1, covariance_estimator=OAS()
    ), "Set one of them to None"),
], ids=lambda value: str(value)[:40])  # fmt: skip
def test_pairs_that_do_not_go_together_say_what_works(model, works):
    with pytest.raises(ParameterError, match=works):
        model.fit(X, Y)


@pytest.mark.parametrize("labels, named", [((0, 1), "class 1"), (("no", "yes"), "class 'yes'")])
def test_columns_without_variance_are_named_with_the_users_label(labels, named):
    table = pandas.DataFrame(X[:20], columns=["age", "dose", "time"])
    table.loc[10:, "dose"] = 1.0
    y = np.repeat(labels, 10)
    for Model in (discriminant.QuadraticDiscriminantAnalysis, discriminant.GaussianBayesClassifier):
        with pytest.warns(ConvergenceWarning, match=rf"in {named} \(dose\): .* In these"):
            Model().fit(table, y)


IMPOSSIBLE = [
    *((discriminant.LinearDiscriminantAnalysis, {"solver": s}) for s in ("svd", "lsqr", "eigen")),
    (discriminant.QuadraticDiscriminantAnalysis, {}),
    (discriminant.GaussianBayesClassifier, {}),
    (naive.GaussianNB, {}),
    (naive.MixedNB, {}),
]


@pytest.mark.parametrize("Model, given", IMPOSSIBLE)
@pytest.mark.filterwarnings("ignore::pellucid.errors.ConvergenceWarning")
def test_a_class_of_prior_0_is_impossible_however_near_a_row_is(Model, given):
    rows = np.random.default_rng(1).normal(size=(60, 3)) + np.repeat(np.eye(3), 20, axis=0)
    y = np.repeat([0, 1, 2], 20)
    far = np.vstack([rows, 1e9 * rows])
    model = Model(priors=[0.0, 0.5, 0.5], **given).fit(rows, y)
    P = model.predict_proba(far)
    assert (P[:, 0] == 0).all() and 0 not in model.predict(far)
    assert model.explain(far).is_additive()
    two = Model(priors=[0.0, 1.0], **given).fit(rows, y > 0)
    assert (two.predict_proba(far) == [0.0, 1.0]).all() and two.predict(far).all()
    if hasattr(two, "decision_function"):
        scores = model.decision_function(far), two.decision_function(far)
        assert np.isfinite(scores[0]).all() and (scores[0].argmax(axis=1) > 0).all()
        assert (scores[1] > 0).all()


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_lda_names_columns_that_others_determine(solver):
    model = discriminant.LinearDiscriminantAnalysis(solver=solver)
    assert str(model.fit(X, Y).status_) == "Solved directly."
    status = model.fit(np.column_stack([X, X[:, 1], np.ones(30)]), Y).status_
    assert status.ok and "(x1, x3" in str(status)


def test_messages_show_plain_values():
    """Not np.int64(7), nor np.str_('x')."""
    bad = [
        (LogisticRegression(C=np.float64(-1)), "Got -1.0 instead"),
        (LogisticRegression(solver=np.str_("x")), "Got 'x' instead"),
        (LogisticRegression(class_weight={np.int64(7): 2}), r"The classes, \[7\], of class_weight"),
        (LogisticRegression(class_weight={"a": np.float32(-2)}), "Got -2.0 for class 'a'"),
        (LogisticRegressionCV(Cs=[np.float64(-1)]), r"Got \[-1.0\] instead"),
        (Perceptron(eta0=np.int64(0)), "Got 0 instead"),
        (naive.MixedNB(distributions={np.int64(9): "poisson"}), "names column 9"),
        (naive.CategoricalNB(min_categories=np.float64(2.5)), "integral type"),
    ]
    for model, message in bad:
        with pytest.raises(ParameterError, match=message) as said:
            model.fit(X, Y)
        assert "np." not in str(said.value)
    with pytest.raises(DataError, match=r"y holds label 'c', .* classes \['a', 'b'\]"):
        naive.GaussianNB().partial_fit(X, Y, classes=["a", "b"])
    assert LogisticRegression(solver=np.str_("newton")).fit(X, Y).status_.ok
    mixed = naive.MixedNB(distributions={np.int64(0): "poisson"}).fit(X, Y)
    assert mixed.distributions_[0] == "poisson"


@pytest.mark.parametrize("level", [np.float32(0.95), np.float64(0.95)])
def test_levels_may_be_numpy_numbers(level):
    y = np.arange(30) % 2
    model = LogisticRegression(C=np.inf).fit(X, y)
    found, expected = (model.predict_interval(X, level=v) for v in (level, 0.95))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert len(model.summary(level=level).rows) == 4
    with pytest.raises(ParameterError, match=r"level must be in \(0, 1\). Got 1.5 instead"):
        model.summary(level=np.float32(1.5))
