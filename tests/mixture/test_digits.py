"""A step of EM against 40 digits: at least 12 of ours are right, offsets and bad units included."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris

from pellucid.mixture import GaussianMixture
from tests.mixture import exact

TYPES = ("full", "tied", "diag", "spherical")
PLACES = {"plain": (0.0, 1.0), "offset 1e6": (1e6, 1.0), "offset 1e8": (1e8, 1.0),
          "unit 1e-8": (0.0, 1e-8), "unit 1e9": (3e9, 1e9)}  # fmt: skip
MEANS = [[5.0, 3.4, 1.5, 0.3], [5.9, 2.8, 4.2, 1.3], [6.6, 3.0, 5.5, 2.0]]
VARIANCES = [0.2, 0.15, 0.4, 0.1]


def start(kind, scale):
    variances = np.array(VARIANCES) * scale**2
    if kind == "spherical":
        variances = np.full(4, variances[0])
    A = np.diag(1 / variances)
    given = {"full": np.stack([A] * 3), "tied": A, "diag": np.tile(np.diag(A), (3, 1)),
             "spherical": np.full(3, A[0, 0])}  # fmt: skip
    return A, given[kind]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("place", PLACES)
def test_twelve_digits(kind, place):
    offset, scale = PLACES[place]
    X = load_iris().data[::2] * scale + offset
    w = np.arange(len(X)) % 3 + 1.0
    means, weights = np.array(MEANS) * scale + offset, [0.5, 0.3, 0.2]
    A, given = start(kind, scale)
    model = GaussianMixture(
        3, covariance_type=kind, reg_covar=0.0, max_iter=1,
        weights_init=weights, means_init=means, precisions_init=given,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one step is not enough, as asked
        model.fit(X, sample_weight=w)
    bound, shares, centres, covariances = exact.one_step(X, w, weights, means, [A] * 3, kind)
    assert exact.digits(model.lower_bound_, bound) >= 12
    assert exact.digits(model.weights_, shares) >= 12
    for ours, theirs in zip(model.means_, centres):
        assert exact.digits(ours, theirs) >= 12
    parts = ([model.covariances_], [covariances])
    for ours, theirs in zip(*((model.covariances_, covariances) if kind != "tied" else parts)):
        assert exact.digits(ours, theirs) >= 12
