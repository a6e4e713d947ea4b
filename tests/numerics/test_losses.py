"""Every loss, link, family and penalty against finite differences and its definition."""

import numpy as np
import pytest

from pellucid.numerics.objectives import families, links, losses
from pellucid.numerics.objectives.penalties import Penalty

Y = {
    "count": [0.0, 1.0, 3.0, 7.0],
    "positive": [0.2, 1.0, 3.0, 7.0],
}
Z = np.array([-2.3, -1.13, -0.41, 0.27, 0.83, 1.71, 2.6])


def slope(function, z, h=1e-5):
    """Fourth-order central difference."""
    far, near = function(z + 2 * h) - function(z - 2 * h), function(z + h) - function(z - h)
    return (8 * near - far) / (12 * h)


@pytest.mark.parametrize("name", ["gamma", "poisson"])
def test_loss_derivatives(name):
    loss = getattr(losses, name)()
    assert loss.name == name
    y, z = (grid.ravel() for grid in np.meshgrid(Y[loss.domain], Z))
    np.testing.assert_allclose(
        loss.gradient(y, z), slope(lambda t: loss.value(y, t), z), rtol=1e-7, atol=1e-8
    )
    np.testing.assert_allclose(
        loss.curvature(y, z), slope(lambda t: loss.gradient(y, t), z), rtol=1e-7, atol=1e-8
    )
    assert np.all(loss.value(y, z) >= -1e-15)


@pytest.mark.parametrize("link", sorted(links.LINKS))
def test_link_derivatives_and_inverse(link):
    entry = links.LINKS[link]
    low, high = np.clip(entry.domain, -3, 3)
    mu = np.linspace(low, high, 13)[1:-1]
    eta = entry.link(mu)
    np.testing.assert_allclose(entry.inverse(eta), mu, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(
        entry.derivative(eta), slope(entry.inverse, eta), rtol=1e-6, atol=1e-9
    )
    np.testing.assert_allclose(
        entry.second_derivative(eta), slope(entry.derivative, eta), rtol=1e-6, atol=1e-9
    )


ARGUMENTS = {"tweedie": [(1.5,), (2.7,), (-0.5,)], "negative_binomial": [(0.7,)]}


@pytest.mark.parametrize("link", sorted(links.LINKS))
@pytest.mark.parametrize("name", sorted(families.FAMILIES))
def test_family_with_every_link(name, link):
    for arguments in ARGUMENTS.get(name, [()]):
        family = families.FAMILIES[name](*arguments)
        low = max(links.LINKS[link].domain[0], 0.0 if name != "normal" else -3.0)
        high = min(links.LINKS[link].domain[1], 1.0 if name == "binomial" else 4.0)
        mu = np.linspace(low, high, 9)[1:-1]
        loss = families.glm_loss(family, link)
        for y in (0.3, 0.8) if name == "binomial" else (0.5, 2.0):
            y, eta = np.full_like(mu, y), loss.link.link(mu)
            check_glm(loss, y, eta)
        assert families.glm_loss(family).link.name == family.canonical


def check_glm(loss, y, eta):
    h = 1e-5
    np.testing.assert_allclose(
        loss.gradient(y, eta), slope(lambda t: loss.value(y, t), eta, h), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        loss.curvature(y, eta), slope(lambda t: loss.gradient(y, t), eta, h), rtol=1e-5, atol=1e-6
    )
    assert np.all(loss.expected(y, eta) >= 0)
    at_mean = loss.link.inverse(eta)
    np.testing.assert_allclose(loss.value(at_mean, eta), 0, atol=1e-12)
    np.testing.assert_allclose(loss.curvature(at_mean, eta), loss.expected(at_mean, eta), rtol=1e-9)


@pytest.mark.parametrize("name", ["poisson", "gamma", "tweedie", "inverse_gaussian", "binomial"])
def test_deviances_equal_the_peer(name):
    metrics = pytest.importorskip("sklearn.metrics")
    power = {"poisson": 1, "gamma": 2, "tweedie": 1.5, "inverse_gaussian": 3}
    y, mu = np.array([0.5, 2.0, 3.0]), np.array([1.0, 0.7, 3.5])
    family = families.FAMILIES[name](*ARGUMENTS.get(name, [()])[0])
    if name == "binomial":
        y, mu = np.array([0.0, 1.0, 1.0]), np.array([0.2, 0.3, 0.9])
        theirs = metrics.log_loss(y, mu)
    else:
        theirs = metrics.mean_tweedie_deviance(y, mu, power=power[name]) / 2
    np.testing.assert_allclose(family.half_deviance(y, mu).mean(), theirs, rtol=1e-12)


def test_softmax_of_vectors():
    np.testing.assert_allclose(
        losses.softmax(np.array([[1.0, 1.0], [0.0, 1.0]])),
        [[0.5, 0.5], [0.2689414214, 0.7310585786]],
        atol=1e-10,
    )
    Z = np.random.default_rng(0).normal(size=(5, 4))
    np.testing.assert_allclose(losses.softmax(Z + 100), losses.softmax(Z), rtol=1e-12)
    assert not np.allclose(losses.softmax(2 * Z), losses.softmax(Z))
    np.testing.assert_allclose(np.exp(losses.log_softmax(Z)), losses.softmax(Z), rtol=1e-14)
    assert losses.log_softmax(np.array([[0.0, 2000.0]]))[0, 0] == -2000.0


PENALTIES = {
    "none": Penalty(),
    "l1": Penalty(0.7, 1.0),
    "l2": Penalty(np.array([0.5, 0.0, 2.0, 1.0, 1.0])),
    "elastic_net": Penalty(0.7, 0.3),
}


@pytest.mark.parametrize("name", sorted(PENALTIES))
def test_proximal_map_minimises(name):
    penalty, w, step = PENALTIES[name], np.array([-2.0, -0.1, 0.05, 0.6, 3.0]), 0.8
    best = penalty.prox(w, step)

    def objective(v):
        return penalty.value(v) + np.sum((v - w) ** 2) / (2 * step)

    for j in range(5):
        for move in (-1e-4, 1e-4):
            other = best.copy()
            other[j] += move
            assert objective(other) > objective(best)
