"""predict_interval: statsmodels, exact quantiles, coverage by simulation."""

import numpy as np
import pytest
import scipy.stats

from pellucid.errors import DataError, ParameterError, PellucidError
from pellucid.linear_model import (
    GeneralizedLinearModel,
    LinearRegression,
    PoissonRegressor,
    TweedieRegressor,
)
from pellucid.linear_model._glm import distributions
from tests.oracles import peer_statsmodels


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 100.0, 0.01] + [0.0, 5000.0, 1.0]
    return X, X @ [1.0, 0.01, 50.0] + rng.normal(size=n), rng


def test_least_squares_as_in_statsmodels():
    X, y, rng = rows()
    new = X[:7] + rng.normal(size=(7, 3)) * [1, 100, 0.01]
    peer = peer_statsmodels.fitted(LinearRegression(), X, y)
    frame = peer.result_.get_prediction(peer._design(new)).summary_frame(alpha=0.1)
    model = LinearRegression().fit(X, y)
    for kind, names in (
        ("mean", ["mean_ci_lower", "mean_ci_upper"]),
        ("observation", ["obs_ci_lower", "obs_ci_upper"]),
    ):
        found = model.predict_interval(new, 0.9, kind=kind)
        np.testing.assert_allclose(found, frame[names].to_numpy(), rtol=1e-8)
    both = LinearRegression().fit(X, np.column_stack([y, 2 * y])).predict_interval(new)
    assert both.shape == (7, 2, 2)
    np.testing.assert_allclose(both[:, 1], 2 * both[:, 0], rtol=1e-10)


def test_weights_are_copies_or_precisions():
    X, y, rng = rows()
    w = rng.integers(1, 4, len(y)).astype(float)
    many = np.repeat(np.arange(len(y)), w.astype(int))
    one = LinearRegression().fit(X, y, w)
    np.testing.assert_allclose(
        one.predict_interval(X), LinearRegression().fit(X[many], y[many]).predict_interval(X),
        rtol=1e-10,
    )  # fmt: skip
    assert np.ptp(one.predict_interval(X, weights="precision")[0]) > np.ptp(
        one.predict_interval(X)[0]
    )


def test_columns_that_others_span():
    X, y, _ = rows()
    double = np.column_stack([X, X[:, 0] + X[:, 2]])
    found = LinearRegression().fit(double, y).predict_interval(double)
    np.testing.assert_allclose(found, LinearRegression().fit(X, y).predict_interval(X), rtol=1e-8)
    broken = double.copy()
    broken[3, 3] += 1
    with pytest.raises(DataError, match="Row 3 has no interval"):
        LinearRegression().fit(double, y).predict_interval(broken)


def test_mean_of_a_glm_as_in_statsmodels():
    X, _, rng = rows()
    counts = rng.poisson(np.exp(0.5 * X[:, 0] + 1)).astype(float)
    peer = peer_statsmodels.fitted(PoissonRegressor(alpha=0), X, counts)
    frame = peer.result_.get_prediction(peer._design(X)).summary_frame(alpha=0.05)
    found = PoissonRegressor(alpha=0).fit(X, counts).predict_interval(X, kind="mean")
    expected = frame[["mean_ci_lower", "mean_ci_upper"]].to_numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_distribution_functions_are_those_of_scipy():
    from pellucid.linear_model._glm.distributions import distribution
    from pellucid.numerics.objectives.families import FAMILIES, negative_binomial, tweedie

    y, mu, phi = np.array([0.5, 1.0, 2.0, 5.0]), np.array([0.8, 2.0, 3.0, 4.0]), 0.7
    stats = scipy.stats
    expected = {
        "poisson": stats.poisson.cdf(y, mu),
        "gamma": stats.gamma.cdf(y, 1 / phi, scale=phi * mu),
        "inverse_gaussian": stats.invgauss.cdf(y, mu * phi, scale=1 / phi),
        "normal": stats.norm.cdf(y, mu, np.sqrt(phi)),
    }
    for name, value in expected.items():
        found = distribution(FAMILIES[name](), 1).below(y, mu, phi)
        np.testing.assert_allclose(found, value, rtol=1e-10, err_msg=name)
    found = distribution(negative_binomial(0.5), 1).below(y, mu, 1.0)
    np.testing.assert_allclose(found, stats.nbinom.cdf(y, 2, 2 / (2 + mu)), rtol=1e-10)
    share = np.array([0.1, 0.5, 0.7, 0.9])
    for values in (y, y + 5, -y):  # all trials succeed, and impossible numbers of them, too
        found = distribution(FAMILIES["binomial"](), 8).below(values, share, 1.0)
        np.testing.assert_allclose(found, stats.binom.cdf(values, 8, share), rtol=1e-10)
    rng = np.random.default_rng(0)
    rate, scale = 2.0**0.5 / (0.7 * 0.5), 0.7 * 0.5 * 2.0**0.5
    drawn = np.array([rng.gamma(1.0, scale, k).sum() for k in rng.poisson(rate, 40_000)])
    found = distribution(tweedie(1.5), 1).below(y, np.full(4, 2.0), phi)
    np.testing.assert_allclose(found, [(drawn <= v).mean() for v in y], atol=0.01)


def test_intervals_of_least_squares_cover():
    rng = np.random.default_rng(2)
    X, new, runs = rng.normal(size=(10, 2)) + 5, rng.normal(size=(1, 2)) + 5, 800
    hits = np.zeros(2)
    for _ in range(runs):
        mean = float(new[0] @ [1.0, 2.0])
        model = LinearRegression().fit(X, X @ [1.0, 2.0] + rng.normal(size=10))
        for j, (kind, truth) in enumerate((("mean", mean), ("observation", mean + rng.normal()))):
            low, high = model.predict_interval(new, 0.8, kind=kind)[0]
            hits[j] += low <= truth <= high
    assert np.abs(hits / runs - 0.8).max() < 4 * np.sqrt(0.16 / runs)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "identity"])
def test_new_binomial_shares(link):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4000, 2))
    y = (rng.uniform(size=4000) < 0.3).astype(float)
    model = GeneralizedLinearModel(family="binomial", link=link).fit(0.01 * X, y)
    new, share = np.zeros((1, 2)), float(model.predict(np.zeros((1, 2)))[0])
    for trials in (1, 7, 50):  # so many rows that the mean is as good as known
        found = model.predict_interval(new, 0.9, trials=trials)[0] * trials
        wanted = scipy.stats.binom.ppf([0.05, 0.95], trials, share)
        np.testing.assert_allclose(found, wanted, atol=1e-12)
    few = GeneralizedLinearModel(family="binomial", link=link).fit(X[:300], y[:300])
    wide = np.diff(few.predict_interval(X[:5], trials=200), axis=1)
    assert (wide > np.diff(scipy.stats.binom.ppf([0.025, 0.975], 200, 0.5)) / 200).any()


@pytest.mark.parametrize("link", ["log", "sqrt", "inverse"])
def test_new_normal_values_of_any_link(link):
    """Where the link bends little: those of least squares; below 0 where the noise reaches."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(8, 1))
    y = 1000 + X[:, 0] + rng.normal(size=8)
    model = GeneralizedLinearModel(family="normal", link=link).fit(X, y)
    wanted = LinearRegression().fit(X, y).predict_interval(X) - 1000
    np.testing.assert_allclose(model.predict_interval(X) - 1000, wanted, atol=0.03)
    y = np.full(100, 2.0) + 5 * rng.normal(size=100)
    model = GeneralizedLinearModel(family="normal", link=link).fit(rng.normal(size=(100, 1)), y)
    low, high = model.predict_interval(np.zeros((1, 1)), 0.9)[0]
    assert low < np.quantile(y, 0.1) < 0 < np.quantile(y, 0.9) < high


def test_new_counts_with_exposure():
    rng = np.random.default_rng(3)
    X, time = rng.normal(size=(200, 1)), rng.uniform(0.5, 4, 200)
    y = rng.poisson(time * np.exp(0.3 * X[:, 0] + 1)).astype(float)
    model = PoissonRegressor(alpha=0).fit(X, y, exposure=time)
    ends = model.predict_interval(X, 0.9, exposure=time)
    assert (ends == np.floor(ends)).all()
    assert 0.85 < np.mean((ends[:, 0] <= y) & (y <= ends[:, 1])) < 0.99
    double = model.predict_interval(X, kind="mean", exposure=2 * time)
    np.testing.assert_allclose(double, 2 * model.predict_interval(X, kind="mean", exposure=time))


def test_what_cannot_be_is_said():
    X, y, _ = rows()
    with pytest.raises(PellucidError, match="need alpha=0"):
        PoissonRegressor(alpha=1).fit(X, np.abs(y)).predict_interval(X)
    model = LinearRegression().fit(X, y)
    with pytest.raises(ParameterError, match="level"):
        model.predict_interval(X, 95)
    with pytest.raises(ParameterError, match="kind"):
        model.predict_interval(X, kind="new")
    with pytest.raises(PellucidError, match="degrees of freedom"):
        LinearRegression().fit(X[:4], y[:4]).predict_interval(X)
    with pytest.raises(PellucidError, match=r"power 2\.5"):
        TweedieRegressor(power=2.5, alpha=0).fit(X, np.abs(y) + 1).predict_interval(X)


@pytest.mark.parametrize("scale", [1.0, 1e12])
def test_undetermined_rows_are_found_in_any_units(scale):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50))
    X = np.column_stack([scale * a, b, b])
    model = LinearRegression().fit(X, b + rng.normal(size=50))
    assert np.isfinite(model.predict_interval(X)).all()
    with pytest.raises(DataError, match="Row 0 has no interval"):
        model.predict_interval([[0.0, 1.0, -100.0]])


@pytest.mark.parametrize(("family", "link"), [
    ("gamma", "inverse"), ("inverse_gaussian", "inverse_square"), ("poisson", "identity"),
    ("poisson", "sqrt"), ("normal", "inverse"),
])  # fmt: skip
def test_means_next_to_an_edge_lie_in_their_own_interval(family, link):
    from pellucid.linear_model._inference.intervals import mean_ends
    from pellucid.numerics.objectives.families import FAMILIES, GLMLoss
    from pellucid.numerics.objectives.links import LINKS

    loss = GLMLoss(FAMILIES[family](), LINKS[link])
    eta = np.array([0.1, 2.0, 0.1])
    ends = mean_ends(loss, eta, np.array([0.3, 0.3, 0.05]))
    for row, low, high in ((0, -0.2, 0.4), (1, 1.7, 2.3), (2, 0.05, 0.15)):
        inside = np.linspace(low, high, 201)
        inside = inside[inside > 0] if family != "normal" and link != "sqrt" else inside
        means = loss.link.inverse(inside)
        assert ends[row, 0] <= means.min() and means.max() <= ends[row, 1]
    np.testing.assert_allclose(ends[1], np.sort(loss.link.inverse(np.array([1.7, 2.3]))))
    expected = {
        "inverse": [2.5, np.inf] if family == "gamma" else [-np.inf, np.inf],
        "inverse_square": [0.4**-0.5, np.inf], "identity": [0, 0.4], "sqrt": [0, 0.16],
    }  # fmt: skip
    np.testing.assert_allclose(ends[0], expected[link])


def test_observations_of_a_mean_that_may_be_infinite():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (40, 1))
    y = rng.gamma(2, 1 / (0.05 + 0.3 * (X[:, 0] - 1)) / 2)
    model = GeneralizedLinearModel(family="gamma").fit(X, y)
    new = [[0.95], [1.5]]
    ends = model.predict_interval(new)
    mean = model.predict_interval(new, kind="mean")
    assert np.isinf(mean[0, 1]) and np.isinf(ends[0, 1]) and np.isfinite([*ends[1], *mean[1]]).all()
    assert (mean[:, 0] < model.predict(new)).all() and (model.predict(new) < mean[:, 1]).all()


def test_tweedie_of_many_amounts():
    from pellucid.linear_model._glm.distributions import _compound

    many = np.array([[9e4]])
    assert _compound(np.array([[1e9]]), many, 0.3, 1.5)[0, 0] == pytest.approx(1.0, abs=1e-12)
    for power, phi, mu in ((1.5, 0.05, 30.0), (1.1, 0.02, 12.0), (1.9, 0.01, 5.0)):
        deviation = np.sqrt(phi * mu**power)
        y = mu + deviation * np.array([[-2.0], [-0.3], [0.0], [1.0], [3.0]])
        rate = mu ** (2 - power) / (phi * (2 - power))
        shape, scale = (2 - power) / (power - 1), phi * (power - 1) * mu ** (power - 1)
        k = np.arange(1, int(rate + 15 * np.sqrt(rate) + 50))
        exact = scipy.stats.poisson.pmf(k, rate) @ scipy.special.gammainc(
            k[:, None] * shape, y[:, 0] / scale
        )
        assert rate > 200 or power == 1.1
        found = _compound(y, np.array([[mu]]), phi, power)[:, 0]
        np.testing.assert_allclose(found, exact, rtol=1e-10)
    X = np.random.default_rng(1).normal(size=(100, 1))
    y = np.exp(10 + 0.3 * X[:, 0]) * np.random.default_rng(2).gamma(500, 1 / 500, 100)
    model = TweedieRegressor(power=1.5, alpha=0).fit(X, y)
    low, high = model.predict_interval(X).T
    assert ((low < y) & (y < high)).mean() > 0.88


@pytest.mark.parametrize("rows", [4, 10, 60])
@pytest.mark.parametrize("family", ["normal", "gamma", "inverse_gaussian"])
def test_nearly_equal_observations_are_those_of_least_squares(family, rows):
    """Far from 0 every family is normal and every link straight: Student's t, for any rows."""
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(rows, 2)), rng.normal(size=rows)
    model = GeneralizedLinearModel(family=family, link="log")
    for far in (1e6, 1e9, 1e10):
        wanted = LinearRegression().fit(X, noise).predict_interval(X)
        found = model.fit(X, far + noise).predict_interval(X) - far
        np.testing.assert_allclose(found, wanted, atol=2e-3 if rows == 4 else 3e-4)


@pytest.mark.parametrize("family", ["normal", "gamma", "inverse_gaussian"])
def test_constant_observations(family):
    X = np.random.default_rng(0).normal(size=(20, 2))
    model = GeneralizedLinearModel(family=family, link="log").fit(X, np.full(20, 7.0))
    np.testing.assert_allclose(model.predict_interval(X), 7.0, rtol=1e-14)
    table = model.summary()
    assert "y is constant" in str(table) and dict(table.header)["dispersion"] == 0


@pytest.mark.parametrize(("family", "phi", "error"), [
    ("poisson", 1.0, 0.1), ("gamma", 0.01, 0.5), ("gamma", 1.0, 0.5), ("normal", 2.0, 1.0),
])  # fmt: skip
def test_observations_whose_mean_is_the_larger_doubt(family, phi, error):
    """Against draws: the average over means must not show its nodes."""
    from pellucid.linear_model._glm.observations import observation_ends
    from pellucid.numerics.objectives.families import FAMILIES, glm_loss

    rng, eta = np.random.default_rng(0), 12.0 if family == "poisson" else 1.0
    mean = np.exp(eta + error * rng.normal(size=400_000))
    draws = {
        "poisson": lambda: rng.poisson(mean),
        "gamma": lambda: rng.gamma(1 / phi, phi * mean),
        "normal": lambda: mean + np.sqrt(phi) * rng.normal(size=mean.shape),
    }[family]()
    loss = glm_loss(FAMILIES[family](), "log")
    ends = observation_ends(loss, np.array([eta]), np.array([error]), phi, np.inf, 0.9, 1)[0]
    outside = [np.mean(draws < ends[0]), np.mean(draws > ends[1])]
    np.testing.assert_allclose(outside, 0.05, atol=0.0015)


def test_precision_weights_leave_fewer_degrees_of_freedom():
    X, y, rng = rows()
    w = rng.integers(1, 6, len(y)).astype(float)
    own, plain = GeneralizedLinearModel().fit(X, y, w), LinearRegression().fit(X, y, w)
    for weights in ("frequency", "precision"):
        np.testing.assert_allclose(
            own.predict_interval(X, weights=weights), plain.predict_interval(X, weights=weights),
            rtol=1e-9,
        )  # fmt: skip
    with pytest.raises(ParameterError, match="weights must be"):
        own.predict_interval(X, weights="rows")


@pytest.mark.parametrize("rate", [0.3, 5.0, 60.0, 190.0, 400.0])
def test_the_compound_distribution_has_all_its_probability(rate):
    """A Poisson number of gamma amounts: no amount at 0, all of it far out, its mean in between."""
    power, mu = 1.5, 2.0
    phi = mu ** (2 - power) / (rate * (2 - power))
    deviation = np.sqrt(phi * mu**power)
    y = np.concatenate([[0.0], np.linspace(1e-9, mu + 40 * deviation, 20_001)])
    F = distributions._compound(y, np.array(mu), np.array(phi), power)
    assert F[0] == pytest.approx(np.exp(-rate), rel=1e-9) and F[-1] == pytest.approx(1.0, rel=1e-9)
    assert (np.diff(F) >= -1e-12).all()
    mean = ((1.0 - F[1:]) * np.diff(y)[-1]).sum()
    assert mean == pytest.approx(mu, abs=2 * np.diff(y)[-1])
