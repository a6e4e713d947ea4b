"""Pseudo-counts of the classes: the rule of the estimate, with weights, in batches, and its limits."""

import numpy as np
import pytest

from pellucid.errors import ParameterError
from pellucid.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)

MODELS = [BernoulliNB, CategoricalNB, GaussianNB, MixedNB, MultinomialNB, PoissonNB]
X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
Y = np.array(["a", "a", "a", "b"])


def prior(model):
    return model.class_prior_ if hasattr(model, "class_prior_") else np.exp(model.class_log_prior_)


@pytest.mark.parametrize("Model", MODELS)
@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 20.0])
def test_the_prior_is_the_smoothed_share(Model, alpha):
    """Three rows to one: 3/4 without pseudo-counts, (3 + 1) / (4 + 2) with one for each class."""
    model = Model(class_prior_alpha=alpha).fit(X, Y)
    np.testing.assert_allclose(prior(model), (np.array([3, 1]) + alpha) / (4 + 2 * alpha), 1e-15)


@pytest.mark.parametrize("Model", MODELS)
def test_weights_count_as_rows_and_batches_add_up(Model):
    weights = np.array([2.0, 1.0, 0.0, 5.0])
    whole = Model(class_prior_alpha=1.0).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(prior(whole), [4 / 10, 6 / 10], 1e-15)
    if hasattr(Model, "partial_fit"):
        parts = Model(class_prior_alpha=1.0).partial_fit(X[:2], Y[:2], classes=["a", "b"])
        parts.partial_fit(X[2:], Y[2:])
        np.testing.assert_allclose(prior(parts), [4 / 6, 2 / 6], 1e-15)


@pytest.mark.parametrize("Model", MODELS)
def test_given_and_equal_priors_are_not_smoothed(Model):
    name = "priors" if Model in (GaussianNB, MixedNB) else "class_prior"
    model = Model(class_prior_alpha=3.0, **{name: [0.9, 0.1]}).fit(X, Y)
    np.testing.assert_allclose(prior(model), [0.9, 0.1], 1e-15)
    if name == "class_prior":
        equal = Model(class_prior_alpha=3.0, fit_prior=False).fit(X, Y)
        np.testing.assert_allclose(prior(equal), [0.5, 0.5], 1e-15)


def test_a_negative_pseudo_count_is_refused():
    with pytest.raises(ParameterError, match="class_prior_alpha"):
        GaussianNB(class_prior_alpha=-1.0).fit(X, Y)
