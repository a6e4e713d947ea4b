"""Posteriors, discriminants and coefficients of R's lda, qda, naiveBayes, multinom, glm and glmnet.

MASS divides covariances by n - g (lda) and n_k - 1 (qda), e1071 variances by n - 1, where we and
scikit-learn divide by n: distances are scaled by that before they are compared.
"""

import numpy as np
import pandas
import pytest

from pellucid.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from pellucid.linear_model import LogisticRegression
from pellucid.naive_bayes import CategoricalNB, GaussianNB, MixedNB
from pellucid.numerics.objectives.losses import softmax
from tests.oracles import shared


def table(name):
    """X, y to learn from, and rows to judge by."""
    if name == "iris":
        data = shared.frame("r_iris.csv")
        X, y = data.iloc[:, :4].to_numpy(float), data.iloc[:, 4].to_numpy()
        return X, y, X, y
    if name == "crabs":
        data = shared.frame("mass_crabs.csv")
        X = data[["FL", "RW", "CL", "CW", "BD"]].to_numpy(float)
        y = (data["sp"] + data["sex"]).to_numpy()
        return X, y, X, y
    data = shared.frame("vowel.csv")
    known = (data["subset"] == "train").to_numpy()
    X, y = data.iloc[:, 2:].to_numpy(float), data["y"].to_numpy()
    return X[known], y[known], X[~known], y[~known]


def as_in_mass(model, X, n):
    """Posteriors with the divisors of MASS; all classes have n rows."""
    prior, g = np.log(model.priors_), len(model.priors_)
    if isinstance(model, LinearDiscriminantAnalysis):
        return softmax((model.decision_function(X) - prior) * (n - 1) / n + prior)
    log_det = np.array([np.log(values).sum() for values in model.scalings_])
    distance = -2 * (model.decision_function(X) - prior) - log_det
    assert distance.shape[1] == g
    return softmax(-0.5 * (distance * (n - 1) / n + log_det) + prior)


@pytest.mark.parametrize("name", ["iris", "crabs", "vowel"])
@pytest.mark.parametrize("kind", ["lda", "qda"])
def test_posteriors_and_errors_as_in_mass(name, kind):
    X, y, new, truth = table(name)
    result = shared.r_reference(f"lda_qda_{name}")["result"]
    Model = LinearDiscriminantAnalysis if kind == "lda" else QuadraticDiscriminantAnalysis
    model, n = Model().fit(X, y), int(result["counts"][0])
    np.testing.assert_allclose(model.means_, result["means"], rtol=1e-12)
    found = as_in_mass(model, new[:5], n)
    np.testing.assert_allclose(found, result[f"{kind}_posterior5"], rtol=1e-8, atol=1e-200)
    assert 1 - model.score(new, truth) == pytest.approx(result[f"{kind}_error"], abs=1e-12)
    if f"{kind}_misclassified_rows_1based" in result:
        wrong = np.flatnonzero(model.predict(X) != y) + 1
        assert wrong.tolist() == result[f"{kind}_misclassified_rows_1based"]
    if kind == "qda":
        ours = [np.log(v * n / (n - 1)).sum() for v in model.scalings_]
        np.testing.assert_allclose(ours, result["qda_ldet"], rtol=1e-9)


@pytest.mark.parametrize("name", ["iris", "crabs", "vowel"])
def test_discriminants_as_in_mass(name):
    X, y, new, _ = table(name)
    result = shared.r_reference(f"lda_qda_{name}")["result"]
    model = LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_allclose(model.explained_variance_ratio_, result["prop_trace"], rtol=1e-7)
    n, g = len(X), len(model.classes_)
    found = model.transform(new[:5]) * np.sqrt((n - g) / n)
    np.testing.assert_allclose(np.abs(found), np.abs(result["lda_x5"]), rtol=1e-6, atol=1e-9)


def test_given_priors_as_in_mass():
    X, y, *_ = table("iris")
    entry = shared.r_reference("lda_iris_prior_.2_.3_.5")
    model = LinearDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]).fit(X, y)
    found = as_in_mass(model, X[[70, 77, 83]], 50)
    np.testing.assert_allclose(found, entry["posterior_rows_71_78_84"], rtol=1e-9)
    assert int((model.predict(X) != y).sum()) == entry["n_errors"]


def test_normal_columns_as_in_e1071():
    X, y, *_ = table("iris")
    entry = shared.r_reference("naiveBayes_gaussian_iris")
    model = GaussianNB(var_smoothing=0).fit(X, y)
    for j, pairs in enumerate(entry["mean_sd"].values()):
        found = np.column_stack([model.theta_[:, j], np.sqrt(model.var_[:, j] * 50 / 49)])
        np.testing.assert_allclose(found, pairs, rtol=1e-12)
    assert int((model.predict(X) != y).sum()) == entry["n_errors"]


@pytest.mark.parametrize("alpha", [0, 3])
@pytest.mark.parametrize("Model", [CategoricalNB, MixedNB])
def test_votes_with_gaps_as_in_e1071(Model, alpha):
    data = shared.frame("house_votes84.csv")
    entry = shared.r_reference(f"naiveBayes_categorical_votes_laplace{alpha}")
    X, y = data.drop(columns="Class"), data["Class"].to_numpy()
    model = Model(alpha=alpha).fit(X, y)
    assert model.classes_.tolist() == entry["classes"]
    np.testing.assert_allclose(model.predict_proba(X[:10]), entry["posterior10"], rtol=1e-9)
    assert int((model.predict(X) != y).sum()) == entry["n_errors"]
    chances = model.feature_log_prob_ if Model is CategoricalNB else model.level_log_prob_
    np.testing.assert_allclose(np.exp(chances[0]), entry["V1"], rtol=1e-12)


def test_softmax_of_levels_as_in_multinom():
    data = shared.frame("mass_housing.csv")
    entry = shared.r_reference("multinom_housing")
    levels = {
        "Infl": ["Low", "Medium", "High"], "Cont": ["Low", "High"],
        "Type": ["Tower", "Apartment", "Atrium", "Terrace"],
    }  # fmt: skip
    X = pandas.DataFrame({
        name: pandas.Categorical(data[name], categories=levels[name], ordered=True)
        for name in ("Infl", "Type", "Cont")
    })  # fmt: skip
    model = LogisticRegression(C=np.inf).fit(X, data["Sat"], sample_weight=data["Freq"])
    B = np.column_stack([model.intercept_, model.coef_])
    high, low, medium = B  # classes in sorted order
    np.testing.assert_allclose([medium - low, high - low], entry["coef_medium_high"], atol=2e-5)
    assert 2 * model.history_["objective"][-1] == pytest.approx(entry["deviance"], rel=1e-9)


def test_spam_as_in_glm():
    """57 raw columns; some probabilities are as good as 0 or 1."""
    data = shared.frame("spambase.csv")
    test = shared.frame("spambase_esl_traintest.csv").iloc[:, 0].to_numpy() == 1
    entry = shared.r_reference("glm_spam_esl")
    X, y = data.iloc[:, :57].to_numpy(float), data.iloc[:, 57].to_numpy()
    model = LogisticRegression(C=np.inf).fit(X[~test], y[~test])
    assert 2 * model.history_["objective"][-1] == pytest.approx(entry["deviance"], rel=1e-8)
    assert 1 - model.score(X[test], y[test]) == entry["test_error"]


def test_softmax_lasso_as_in_glmnet():
    """Columns divided by their deviation; glmnet stops at about four digits."""
    X, y, *_ = table("iris")
    entry = shared.r_reference("glmnet_multinomial_iris_ungrouped")
    spread = X.std(axis=0)
    for k, strength in enumerate(entry["lambda"]):
        model = LogisticRegression(C=1 / (150 * strength), l1_ratio=1.0, tol=1e-9)
        model.fit(X / spread, y)
        expected = np.array([entry["coef_by_class"][label][k] for label in model.classes_])
        np.testing.assert_allclose(model.coef_ / spread, expected[:, 1:], rtol=5e-3, atol=2e-3)
        middle = model.intercept_ - model.intercept_.mean()
        np.testing.assert_allclose(middle, expected[:, 0], rtol=5e-3, atol=5e-3)
