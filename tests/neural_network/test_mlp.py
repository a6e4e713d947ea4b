"""MLPClassifier and MLPRegressor: worked examples, scikit-learn's steps, stopping, divergence."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import sklearn.neural_network
from sklearn.datasets import load_breast_cancer, load_iris, make_regression

import pellucid
from pellucid import parallel
from pellucid.errors import ConvergenceWarning, DataError, ModelFileError, ParameterError
from pellucid.linear_model import LinearRegression, LogisticRegression
from pellucid.neural_network import Dense, MLPClassifier, MLPRegressor, Network, training
from pellucid.neural_network.training import Trainer, TrainingOptions
from tests.oracles import shared

SK = {
    MLPClassifier: sklearn.neural_network.MLPClassifier,
    MLPRegressor: sklearn.neural_network.MLPRegressor,
}


def quiet(model, *data, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data, **more)


def standard(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def split(n, seed=123):
    state = np.random.RandomState(seed)
    test = state.choice(np.arange(n), int(n * 0.25), replace=False)
    return np.setdiff1d(np.arange(n), test), test


def book_network(inputs, loss, output, seed):
    """Eight rectifiers; W1, c1, W2, c2 drawn in this order, divided by 5."""
    state = np.random.RandomState(seed)
    network = Network(inputs, [Dense(8, "relu"), Dense(1, output)], loss)
    W1, c1, W2, c2 = (state.randn(*shape) / 5 for shape in ((8, inputs), (8,), (1, 8), (1,)))
    for part, value in zip([*network.coefs, *network.intercepts], [W1.T, W2.T, c1, c2]):
        part[...] = value
    return network


def descend(network, X, y, step, epochs):
    options = TrainingOptions(solver="gd", rate=step, epochs=epochs, tol=0.0, patience=np.inf)
    Trainer(network, X, y[:, None].astype(float), np.ones(len(X)), options).run(
        parallel.seed_sequence(0)
    )
    return network


STEPS = [1000, pytest.param(5000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("steps", STEPS)
def test_breast_cancer_by_the_book(steps):
    X, y = load_breast_cancer(return_X_y=True)
    X = standard(X)
    train, test = split(len(X))
    assert test[:5].tolist() == [333, 273, 201, 178, 85]
    network = book_network(30, "log", "logistic", 123)
    descend(network, X[train], y[train], 1e-4 * len(train), steps)
    right = ((network.scores(X[test])[:, 0] > 0) == y[test]).sum()
    assert right == 140


@pytest.mark.parametrize("steps", STEPS)
def test_boston_by_the_book_is_better_than_least_squares(steps):
    table = shared.frame("boston.csv").to_numpy(dtype=float)
    X, y = standard(table[:, :-1]), table[:, -1]
    train, test = split(len(X))
    assert test[:5].tolist() == [410, 85, 280, 422, 199]
    network = book_network(13, "squared", "identity", 0)
    descend(network, X[train], y[train], 1e-5 * 2 * len(train), steps)
    found = ((network.predict(X[test])[:, 0] - y[test]) ** 2).mean()
    line = LinearRegression().fit(X[train], y[train])
    assert ((line.predict(X[test]) - y[test]) ** 2).mean() == pytest.approx(24.9456, abs=1e-4)
    assert found == pytest.approx(16.38 if steps == 1000 else 18.38, abs=0.01)


def test_toy_network_of_the_course():
    model = quiet(
        MLPClassifier((5, 2), solver="lbfgs", alpha=1e-5, random_state=1), [[0, 0], [1, 1]], [0, 1]
    )
    assert model.predict([[2, 2], [-1, -2]]).tolist() == [1, 0]
    assert [W.shape for W in model.coefs_] == [(2, 5), (5, 2), (2, 1)]


# scikit-learn ----------------------------------------------------------------------------------

ITERATED = {
    "adam": {"solver": "adam", "beta_1": 0.8},
    "sgd": {"solver": "sgd", "momentum": 0.0},
    "momentum": {"solver": "sgd", "nesterovs_momentum": False},
    "nesterov": {"solver": "sgd", "learning_rate_init": 0.05},
    "invscaling": {"solver": "sgd", "learning_rate": "invscaling", "learning_rate_init": 0.3},
}


def data(Model):
    if Model is MLPRegressor:
        X, y = make_regression(80, 4, n_targets=1, noise=1.0, random_state=0)
        return X, y / 50
    X, y = load_iris(return_X_y=True)
    return standard(X), y


def start_like(monkeypatch, Peer, options, X, y):
    """Let networks begin where the peer begins: where it is after steps of no length."""
    still = {"solver": "sgd", "learning_rate_init": 1e-300, "max_iter": 1}
    start = quiet(Peer(**options | still), X, y)
    monkeypatch.setattr(
        Network, "draw", lambda self, rng: [
            part.__setitem__(..., value)
            for part, value in zip([*self.coefs, *self.intercepts], [*start.coefs_, *start.intercepts_])
        ],
    )  # fmt: skip


@pytest.mark.parametrize("way", ITERATED)
@pytest.mark.parametrize("batch", [1000, 32])
@pytest.mark.parametrize("Model", [MLPClassifier, MLPRegressor])
def test_steps_are_those_of_scikit_learn(monkeypatch, Model, batch, way):
    """From the same start in the same order: the same path to ten digits, the last, smaller batch
    of each pass included. So on any table both differ by their random draws alone.
    """
    X, y = data(Model)
    w = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    options = {
        "hidden_layer_sizes": (6, 4), "activation": "tanh", "batch_size": min(batch, len(X)),
        "max_iter": 25,
        "alpha": 0.1, "shuffle": False, "random_state": 0, "tol": 0.0,
    } | ITERATED[way]  # fmt: skip
    start_like(monkeypatch, SK[Model], options, X, y)
    theirs, ours = quiet(SK[Model](**options), X, y, w), quiet(Model(**options), X, y, w)
    for a, b in zip([*ours.coefs_, *ours.intercepts_], [*theirs.coefs_, *theirs.intercepts_]):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(ours.loss_curve_, theirs.loss_curve_, rtol=1e-10)
    assert ours.n_iter_ == theirs.n_iter_


@pytest.mark.parametrize("Model", [MLPClassifier, MLPRegressor])
def test_lbfgs_is_as_good_as_scikit_learns(Model):
    X, y = data(Model)
    options = {
        "hidden_layer_sizes": 5,
        "solver": "lbfgs",
        "alpha": 1.0,
        "activation": "tanh",
        "max_iter": 1000,
    }
    ours = [quiet(Model(**options, random_state=k), X, y).best_loss_ for k in range(4)]
    theirs = [quiet(SK[Model](**options, random_state=k), X, y).loss_ for k in range(4)]
    assert min(ours) <= min(theirs) * 1.01


def test_poisson_loss_is_that_of_scikit_learn(rng):
    X = rng.normal(size=(300, 3))
    y = rng.poisson(np.exp(0.3 + np.abs(X[:, 0])))
    options = {"hidden_layer_sizes": 4, "solver": "lbfgs", "alpha": 0.01, "max_iter": 500}
    ours = [quiet(MLPRegressor("poisson", **options, random_state=k), X, y) for k in range(3)]
    theirs = [quiet(SK[MLPRegressor]("poisson", **options, random_state=k), X, y) for k in range(3)]
    assert min(m.best_loss_ for m in ours) <= min(m.loss_ for m in theirs) * 1.01
    assert (ours[0].predict(X) > 0).all() and ours[0].out_activation_ == "exp"


def test_no_hidden_layer_is_logistic_regression():
    X, y = load_iris(return_X_y=True)
    X = standard(X)
    model = quiet(
        MLPClassifier((), solver="lbfgs", alpha=1.0, tol=1e-9, max_iter=2000, random_state=0), X, y
    )
    line = LogisticRegression(C=1.0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), line.predict_proba(X), atol=1e-5)


def test_several_targets(rng):
    X = rng.normal(size=(200, 2))
    Y = np.column_stack([np.abs(X[:, 0]), X[:, 1] ** 2])
    model = quiet(
        MLPRegressor(hidden_layer_sizes=20, solver="lbfgs", random_state=0, max_iter=500), X, Y
    )
    assert model.predict(X).shape == (200, 2) and model.score(X, Y) > 0.98
    explanation = model.explain(X[:7])
    assert explanation.contributions.shape == (7, 2, 2)
    model.alpha, model.max_iter = 0.0, 1  # the loss counts both targets
    start = quiet(
        MLPRegressor(hidden_layer_sizes=3, solver="lbfgs", alpha=0, max_iter=1, random_state=0),
        X,
        Y,
    )
    expected = ((start.predict(X) - Y) ** 2).sum(axis=1).mean() / 2
    assert start.loss_ == pytest.approx(expected, rel=1e-9)


# Stopping and divergence -----------------------------------------------------------------------


def test_divergence_names_layer_and_step():
    X, y = make_regression(100, 5, random_state=0)
    model = MLPRegressor(
        hidden_layer_sizes=(8, 4), solver="sgd", learning_rate_init=1e6, random_state=0
    )
    with pytest.warns(
        ConvergenceWarning, match=r"diverged in step \d+ \(epoch \d+\).* layer \d.*Lower"
    ):
        model.fit(X, y)
    assert model.status_.code == "diverged"
    assert np.isfinite(model.predict(X)).all() and np.isfinite(model.history_["objective"]).all()


def test_divergence_without_a_step_size_speaks_of_none(rng):
    X = rng.normal(size=(40, 3))
    model = MLPRegressor(hidden_layer_sizes=5, solver="lbfgs", random_state=0)
    with pytest.warns(ConvergenceWarning, match="diverged in step 1 .* kept. Standardize the col"):
        model.fit(X * 1e160, X[:, 0] * 1e160)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("more", [{}, {"max_iter": 8}, {"early_stopping": True}])
def test_a_loss_that_ends_far_above_its_start_has_not_converged(rng, more):
    """Nothing is lost: the parameters before the epoch of the least loss are kept."""
    X = rng.normal(size=(60, 3))
    options = {"hidden_layer_sizes": 20, "random_state": 0}
    model = MLPRegressor(**options, learning_rate_init=1e3, **more)
    words = r"rose from .* smallest was .* in epoch \d+\. From step \d+ on, .* layer [12] .*Lower"
    with pytest.warns(ConvergenceWarning, match=words):
        model.fit(X, X[:, 0] ** 2)
    kept = "with the best validation score" if "early_stopping" in more else "before step 1"
    assert f"The parameters {kept} are kept." in model.status_.message
    assert model.status_.code == "diverged"
    assert model.loss_curve_[-1] > 2 * model.loss_curve_[0] >= 2 * model.loss_
    start = quiet(MLPRegressor(**options, learning_rate_init=1e-300, max_iter=1), X, X[:, 0] ** 2)
    for kept, drawn in zip(model.coefs_, start.coefs_):
        np.testing.assert_array_equal(kept, drawn)
    model = MLPRegressor(**options, learning_rate_init=0.01, max_iter=2000)
    assert model.fit(X, X[:, 0] ** 2).status_.ok


def test_slow_divergence_does_not_take_what_was_learned(rng):
    """The loss falls, then a rate that is too large for where it arrived lets it grow tenfold."""
    X = rng.normal(size=(200, 5))
    y = X[:, 0] + 0.1 * rng.normal(size=200)
    model = MLPRegressor(hidden_layer_sizes=8, solver="lbfgs", random_state=0, max_iter=60)
    good = quiet(model, X, y).score(X, y)
    model.set_params(solver="sgd", learning_rate_init=2.0, momentum=0.5, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="diverged"):
        model.fit(X, y)
    assert model.score(X, y) >= good - 1e-3


def test_a_class_that_weighs_nothing_is_absent(rng):
    """Small batches may hold no other rows."""
    X = rng.normal(size=(100, 3))
    y = (X[:, 0] > 0.5).astype(int)
    for more in ({}, {"early_stopping": True}):
        model = MLPClassifier(4, batch_size=3, max_iter=3, class_weight={0: 0, 1: 1}, **more)
        assert np.isfinite(quiet(model.set_params(random_state=0), X, y).loss_)
    y = (np.arange(100) == 7).astype(int)
    with pytest.raises(DataError, match="validation set is too small: 0 of 100"):
        model.fit(X, y)


def test_dropout_is_refused_where_no_step_heeds_it(rng):
    X = rng.normal(size=(40, 3))
    model = MLPRegressor(hidden_layer_sizes=4, solver="lbfgs", dropout=0.5, random_state=0)
    with pytest.raises(ParameterError, match=r"'dropout' .* 0 for solver='lbfgs'"):
        model.fit(X, X[:, 0])
    X = np.zeros((200_000, 1))
    model.set_params(solver="gd", max_iter=1)
    with pytest.raises(ParameterError, match=r"'dropout' .* batches of more than"):
        model.set_params(shuffle=False).fit(X, X[:, 0])


def test_noise_after_a_warm_start_is_no_divergence(rng):
    X = rng.normal(size=(60, 3))
    model = MLPRegressor(hidden_layer_sizes=20, random_state=0, warm_start=True, batch_size=10)
    model.set_params(learning_rate_init=0.01, max_iter=3000)
    for _ in range(3):
        assert model.fit(X, X[:, 0]).status_.ok


@pytest.mark.parametrize("options", [{"solver": "lbfgs"}, {"early_stopping": True}])
def test_nothing_that_is_kept_of_a_hopeless_fit_is_infinite(rng, options):
    X, y = rng.normal(size=(40, 3)), 1e300 * rng.normal(size=40)
    model = quiet(MLPRegressor(hidden_layer_sizes=4, max_iter=6, random_state=0, **options), X, y)
    for name in (
        "loss_",
        "loss_curve_",
        "best_loss_",
        "validation_scores_",
        "best_validation_score_",
    ):
        value = getattr(model, name)
        assert value is None or np.isfinite(value).all(), name
    assert np.isfinite(model.history_["objective"]).all()
    assert np.isfinite(model.predict(X)).all()


def test_divergence_keeps_the_parameters_before_the_epoch():
    X, y = make_regression(50, 3, random_state=0)
    options = {"hidden_layer_sizes": 4, "solver": "gd", "random_state": 0}
    model = quiet(MLPRegressor(**options, learning_rate_init=1e300), X, y)
    start = quiet(MLPRegressor(**options, learning_rate_init=1e-300, max_iter=1), X, y)
    assert all((a == b).all() for a, b in zip(model.coefs_, start.coefs_))


def test_early_stopping_judges_by_rows_that_were_not_learned(rng):
    X = rng.normal(size=(120, 3))
    X = np.concatenate([X, X[:60]])  # of two equal rows one may judge, the other teach
    y = (X[:, 0] > 0).astype(int)
    seen = {}

    class Spy(MLPClassifier):
        def _validation_score(self, network, X, Y, w):
            seen["held"], seen["weights"] = X, w
            return super()._validation_score(network, X, Y, w)

    model = quiet(Spy(early_stopping=True, random_state=0, validation_fraction=0.2), X, y)
    held, w = seen["held"], seen["weights"]
    sizes = np.bincount(y)
    assert w.sum() == sum(round(0.2 * m) for m in sizes)
    twice = {row.tobytes() for row in X[:60]}
    assert all(k == 1 or (k == 2 and row.tobytes() in twice) for row, k in zip(held, w))
    assert 1 in [k for row, k in zip(held, w) if row.tobytes() in twice]
    assert model.best_validation_score_ == max(model.validation_scores_)
    assert model.best_loss_ is None
    found = model.score(held, (held[:, 0] > 0).astype(int), sample_weight=w)
    assert found == pytest.approx(model.best_validation_score_)


@pytest.mark.parametrize("kind", [MLPClassifier, MLPRegressor])
def test_early_stopping_judges_repeated_rows_as_fresh_ones(kind, rng):
    """Few different rows with labels of both kinds: what is held back must not be what lacks."""
    X = rng.integers(0, 2, (600, 2)).astype(float)
    y = (rng.random(600) < 0.15 + 0.7 * X[:, 0]).astype(int)
    model = quiet(kind(early_stopping=True, random_state=0, learning_rate_init=0.02), X, y)
    fresh = rng.integers(0, 2, (5000, 2)).astype(float)
    truth = model.score(fresh, (rng.random(5000) < 0.15 + 0.7 * fresh[:, 0]).astype(int))
    assert truth > 0.4
    assert model.best_validation_score_ == pytest.approx(truth, abs=0.13)


def test_too_few_rows_to_judge_by_are_named(rng):
    with pytest.raises(DataError, match="validation set is too small"):
        MLPRegressor(early_stopping=True).fit(rng.normal(size=(8, 2)), np.arange(8.0))


@pytest.mark.parametrize("schedule", ["constant", "adaptive"])
def test_stops_when_the_loss_stalls(schedule):
    X, y = data(MLPClassifier)
    model = MLPClassifier(5, solver="sgd", learning_rate=schedule, learning_rate_init=0.5, tol=1e-2,
                          max_iter=2000, random_state=0).fit(X, y)  # fmt: skip
    assert model.status_.code == "converged"
    rates = model.history_["learning_rate"]
    assert (rates[-1] <= 1e-6) == (schedule == "adaptive")


def test_too_few_passes_are_said():
    X, y = data(MLPClassifier)
    with pytest.warns(ConvergenceWarning, match=r"Maximum iterations \(2\)"):
        MLPClassifier(max_iter=2, random_state=0).fit(X, y)


# Options of our own ----------------------------------------------------------------------------


def test_batches_of_partial_fit_continue_the_walk():
    X, y = data(MLPClassifier)
    options = {"hidden_layer_sizes": 5, "batch_size": 32, "random_state": 3}
    parts = MLPClassifier(**options)
    for _ in range(4):
        parts.partial_fit(X, y, classes=[0, 1, 2])
    whole = quiet(MLPClassifier(**options, max_iter=4), X, y)
    assert all((a == b).all() for a, b in zip(parts.coefs_, whole.coefs_))
    assert parts.n_iter_ == 4 and parts.loss_curve_ == whole.loss_curve_


def test_other_numbers_of_targets_are_named():
    X, y = data(MLPRegressor)
    model = MLPRegressor(hidden_layer_sizes=3, random_state=0).partial_fit(X, y)
    with pytest.raises(
        DataError, match=r"1 output\(s\), but these targets need 2\. Fit a new model"
    ):
        model.partial_fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize("options", [{"solver": "lbfgs"}, {"early_stopping": True}])
def test_batches_need_a_stochastic_solver(options):
    X, y = data(MLPRegressor)
    with pytest.raises(ParameterError, match="partial_fit"):
        MLPRegressor(**options).partial_fit(X, y)


def test_warm_start_goes_on():
    X, y = data(MLPRegressor)
    model = quiet(
        MLPRegressor(
            hidden_layer_sizes=6, solver="lbfgs", max_iter=5, warm_start=True, random_state=0
        ),
        X,
        y,
    )
    first = model.loss_
    quiet(model, X, y)
    assert model.loss_ < first
    with pytest.raises(DataError, match="Fit a new model"):
        model.set_params(hidden_layer_sizes=7).fit(X, y)


def test_standardising_inside_is_standardising_outside():
    X, y = load_breast_cancer(return_X_y=True)
    one = quiet(
        MLPClassifier(8, max_iter=20, standardize=True, shuffle=False, random_state=0), X, y
    )
    other = quiet(MLPClassifier(8, max_iter=20, shuffle=False, random_state=0), standard(X), y)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(standard(X)), atol=1e-9)


def test_levels_keep_their_unit(rng):
    """Only numbers are divided by their deviation; flags of missing cells are no numbers."""
    x, level = rng.normal(5, 100, size=80), np.where(rng.random(80) < 0.1, "rare", "usual")
    x[:3] = np.nan
    model = MLPRegressor(hidden_layer_sizes=4, max_iter=5, standardize=True, random_state=0)
    quiet(model, pd.DataFrame({"x": x, "l": level}), np.nan_to_num(x))
    filled = np.where(np.isnan(x), np.nanmean(x), x)
    np.testing.assert_allclose(model.scale_, [filled.std(), 1, 1, 1], rtol=1e-12)
    rare = np.mean(level == "rare")
    np.testing.assert_allclose(model.shift_, [filled.mean(), 3 / 80, rare, 1 - rare], rtol=1e-12)


def test_targets_are_standardised_too(rng):
    X = rng.normal(size=(150, 3))
    y = 1e6 + 1e4 * np.abs(X[:, 0])
    model = quiet(
        MLPRegressor(standardize=True, solver="lbfgs", hidden_layer_sizes=10, random_state=0), X, y
    )
    assert model.score(X, y) > 0.97
    explanation = model.explain(X)
    total = explanation.base + explanation.contributions.sum(axis=1)
    np.testing.assert_allclose(total[:, 0], model.predict(X), rtol=1e-12)


def test_sparse_tables_are_dense_tables():
    from scipy import sparse

    X, y = data(MLPClassifier)
    X = np.where(X > 0.3, X, 0.0)
    options = {"hidden_layer_sizes": 7, "max_iter": 15, "random_state": 0}
    one = quiet(MLPClassifier(**options), X, y)
    other = quiet(MLPClassifier(**options), sparse.csr_array(X), y)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-10)


def test_single_precision_is_close():
    X, y = data(MLPClassifier)
    options = {"hidden_layer_sizes": 10, "max_iter": 40, "random_state": 0}
    one, other = (quiet(MLPClassifier(**options, dtype=t), X, y) for t in ("float64", "float32"))
    assert other.coefs_[0].dtype == np.float32
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-3)


def test_dropout_drops(rng):
    X, y = data(MLPClassifier)
    options = {
        "hidden_layer_sizes": 10,
        "max_iter": 60,
        "learning_rate_init": 0.05,
        "random_state": 0,
    }
    models = [quiet(MLPClassifier(**options, dropout=p), X, y) for p in (0.0, 0.5, 0.5)]
    assert models[1].loss_ > models[0].loss_  # harder to learn
    assert (models[1].coefs_[0] == models[2].coefs_[0]).all()  # but by the seed alone
    assert models[1].score(X, y) > 0.7


def test_large_batches_have_equal_bits_for_any_number_of_threads(rng):
    X = rng.normal(size=(40_000, 6))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    found = []
    for threads in (1, 2):
        pellucid.set_threads(threads)
        try:
            model = quiet(MLPClassifier(8, solver="gd", max_iter=3, random_state=0), X, y)
            found.append(np.concatenate([model.coefs_[0].ravel(), model.predict_proba(X)[:, 0]]))
        finally:
            pellucid.set_threads(None)
    assert found[0].tobytes() == found[1].tobytes()


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_parts_of_a_batch_are_the_batch_on_any_number_of_threads(rng, monkeypatch, dropout):
    X, w = rng.normal(size=(450, 300)), rng.integers(1, 4, 450)
    y = (X[:, :3].sum(axis=1) > 0).astype(int) + (X[:, 4] > 1)
    options = {"batch_size": 256, "max_iter": 2, "dropout": dropout, "random_state": 0}
    assert training._parts(200, 80_000) == 1 and training._parts(300, 800_000) == 4
    monkeypatch.setattr(training, "PART_WORK", 5e6)
    assert training._parts(256, 60_000) == 2
    found = []
    for threads, most in ((1, 8), (2, 8), (2, 1)):
        monkeypatch.setattr(training, "MOST_PARTS", most)
        pellucid.set_threads(threads)
        try:
            model = quiet(MLPClassifier(200, **options), X, y, sample_weight=w)
        finally:
            pellucid.set_threads(None)
        found.append(np.concatenate([W.ravel() for W in (*model.coefs_, *model.intercepts_)]))
    assert found[0].tobytes() == found[1].tobytes()
    np.testing.assert_allclose(found[0], found[2], rtol=1e-9, atol=1e-12)


def test_class_weights_move_the_boundary():
    X, y = load_breast_cancer(return_X_y=True)
    options = {
        "hidden_layer_sizes": 4,
        "solver": "lbfgs",
        "alpha": 10,
        "standardize": True,
        "random_state": 0,
    }
    plain, heavy = (quiet(MLPClassifier(**options, class_weight=c), X, y) for c in (None, {0: 50}))
    assert (heavy.predict(X) == 0).sum() > (plain.predict(X) == 0).sum()
    with pytest.raises(ParameterError, match="class_weight"):
        MLPClassifier(class_weight={7: 1.0}).fit(X, y)


# Explanations ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("hidden", "digits"), [((9,), 1e-6), ((9, 7), 2e-3)])
@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic"])
def test_explanations_are_integrated_gradients(hidden, digits, activation):
    X, y = data(MLPRegressor)
    model = quiet(
        MLPRegressor(
            hidden_layer_sizes=hidden, activation=activation, solver="lbfgs", random_state=0
        ),
        X,
        y,
    )
    explanation = model.explain(X[:5])
    total = explanation.base + explanation.contributions.sum(axis=1)
    assert np.abs(total - explanation.prediction).max() < 1e-10
    base, points = X.mean(axis=0), (np.arange(20_000) + 0.5) / 20_000
    step = 1e-6
    for i in range(5):
        way = base + points[:, None] * (X[i] - base)
        for j in range(X.shape[1]):
            move = step * (np.arange(X.shape[1]) == j)
            slope = (model.predict(way + move) - model.predict(way - move)).mean() / (2 * step)
            found = explanation.contributions[i, j, 0]
            assert found == pytest.approx(
                slope * (X[i, j] - base[j]), abs=max(digits, 1e-3 * (activation == "relu"))
            )


@pytest.mark.parametrize("hidden", [(), (9,), (9, 7)])
@pytest.mark.parametrize("Model", [MLPClassifier, MLPRegressor])
def test_explanations_add_up_in_single_precision_too(Model, hidden):
    X, y = data(Model)
    model = quiet(
        Model(hidden_layer_sizes=hidden, dtype="float32", max_iter=20, random_state=0), X, y
    )
    explanation = model.explain(X)
    total = explanation.base + explanation.contributions.sum(axis=1)
    assert np.abs(total - explanation.prediction).max() < 1e-10
    if Model is MLPRegressor:
        np.testing.assert_allclose(explanation.prediction[:, 0], model.predict(X), atol=1e-4)


def test_explanations_add_up_beside_a_far_row(rng):
    """The training mean is far from all rows but one: nothing of theirs may be rounded away."""
    X = rng.normal(size=(30, 3))
    X[-1] = 1e200
    model = quiet(
        MLPRegressor(hidden_layer_sizes=(4, 3), activation="tanh", random_state=0), X, X[:, 0] > 0
    )
    explanation = model.explain(X)
    total = explanation.base + explanation.contributions.sum(axis=1)
    np.testing.assert_allclose(total, explanation.prediction, atol=1e-6)
    np.testing.assert_allclose(explanation.prediction[:, 0], model.predict(X), atol=1e-12)


# What it refuses -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hidden_layer_sizes": (3, 0)}, "hidden_layer_sizes.*ints > 0"),
        ({"hidden_layer_sizes": -1}, "hidden_layer_sizes"),
        ({"hidden_layer_sizes": 2.5}, "hidden_layer_sizes"),
        ({"learning_rate_init": 0.0}, "learning_rate_init"),
        ({"solver": "newton"}, "solver"),
        ({"dropout": 1.0}, "dropout"),
        ({"dtype": "float16"}, "dtype"),
    ],
)
def test_wrong_parameters_are_named(options, words):
    X, y = data(MLPClassifier)
    with pytest.raises(ParameterError, match=words):
        MLPClassifier(**options).fit(X, y)


def test_negative_counts_are_named(rng):
    with pytest.raises(DataError, match=r"poisson.*not negative.*-2"):
        MLPRegressor("poisson").fit(rng.normal(size=(5, 1)), [1, 2, -2, 0, 1])


def test_one_column_of_labels(rng):
    with pytest.raises(DataError, match="1d array"):
        MLPClassifier().fit(rng.normal(size=(6, 2)), np.eye(2)[[0, 1, 0, 1, 0, 1]].astype(int))


def test_verbose_prints_nothing(capsys):
    X, y = data(MLPClassifier)
    quiet(MLPClassifier(max_iter=3, verbose=True, random_state=0), X, y)
    assert capsys.readouterr() == ("", "")


def test_larger_batches_than_the_table_are_all_rows():
    X, y = data(MLPClassifier)
    options = {"hidden_layer_sizes": 3, "max_iter": 5, "random_state": 0}
    one = quiet(MLPClassifier(**options, batch_size=10_000), X, y)
    other = quiet(MLPClassifier(**options, batch_size=150), X, y)
    np.testing.assert_allclose(one.coefs_[0], other.coefs_[0], rtol=1e-12)


@pytest.mark.parametrize("n_levels", [3, 300])
def test_numbers_far_from_0_are_centred_beside_many_levels(n_levels):
    """300 levels make the encoded table sparse; a year must not keep its distance from 0 there."""
    rng = np.random.default_rng(0)
    year, level = rng.normal(2000.0, 10.0, 900), rng.integers(0, n_levels, 900)
    X = pd.DataFrame({"year": year, "level": [f"v{k}" for k in level]})
    model = quiet(MLPRegressor(hidden_layer_sizes=16, standardize=True, random_state=0), X, year)
    assert model.score(X, year) > 0.99
    said = model.explain(X[:3])
    np.testing.assert_allclose(
        said.base + said.contributions.sum(axis=1), said.prediction, rtol=1e-9
    )


IMAGES = [("mnist_test10k.csv.gz", "digit"), ("fashion_mnist_10k.csv.gz", "label")]


@pytest.fixture(scope="module", params=IMAGES, ids=["digits", "clothes"])
def images(request):
    name, target = request.param
    table = shared.frame(name).drop(columns="subset", errors="ignore")
    return table.drop(columns=target).to_numpy(dtype=float) / 255, table[target].to_numpy()


def parts(X, y, seed, rows):
    """Training and test part of a table of images."""
    train, test = split(len(X), seed)
    train = np.random.default_rng(seed).permutation(train)[:rows]
    return (X[train], y[train]), (X[test], y[test])


@pytest.mark.slow
def test_images_are_told_apart_as_by_scikit_learn_from_the_same_start(monkeypatch, images):
    """Equal settings, start and batches: every answer is the same, so accuracy is not below."""
    train, test = parts(*images, 0, 3000)
    options = {"hidden_layer_sizes": 64, "max_iter": 8, "shuffle": False, "random_state": 0}
    start_like(monkeypatch, SK[MLPClassifier], options, *train)
    ours, theirs = (quiet(M(**options), *train) for M in (MLPClassifier, SK[MLPClassifier]))
    np.testing.assert_array_equal(ours.predict(test[0]), theirs.predict(test[0]))
    assert ours.score(*test) == theirs.score(*test) > 0.7


@pytest.mark.slow
def test_images_are_told_apart_as_well_as_by_scikit_learn(images):
    """Own starts and batches: the mean of the paired differences is not below 0 beyond its noise.

    By hand, 30 splits of 2000 rows, 12 epochs: +.0010 +- .0009 (digits), +.0003 +- .0016 (clothes).
    """
    scores = []
    for k in range(6):
        train, test = parts(*images, k, 1000)
        scores.append([
            quiet(M(hidden_layer_sizes=64, max_iter=10, random_state=k), *train).score(*test)
            for M in (MLPClassifier, SK[MLPClassifier])
        ])  # fmt: skip
    gains = np.subtract(*np.transpose(scores))
    noise = gains.std(ddof=1) / np.sqrt(len(gains))
    assert gains.mean() >= -scipy.stats.t.ppf(0.99, len(gains) - 1) * noise
    assert noise < 0.005  # or the comparison would tell nothing


@pytest.mark.parametrize("classes", [2, 3])
def test_rows_of_the_user_are_scored_by_their_log_likelihood(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    y = np.digitize(X[:, 0], [0.0] if classes == 2 else [-0.5, 0.5])
    model = MLPClassifier(max_iter=1, early_stopping=True, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X[:60], y[:60], X_val=X[60:], y_val=y[60:])
    own = model.predict_log_proba(X[60:])[np.arange(30), y[60:]].mean()
    assert model.validation_scores_[0] == pytest.approx(own, rel=1e-12)


def test_layers_of_another_precision_are_refused(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = MLPRegressor(max_iter=300, random_state=0).fit(X, X[:, 0])
    for name in ("coefs_", "intercepts_"):
        parts = getattr(model, name)
        setattr(model, name, [part.astype(np.float32) for part in parts])
        model.save(tmp_path / "m")
        with pytest.raises(ModelFileError, match="shapes do not match"):
            pellucid.load(tmp_path / "m")
        setattr(model, name, parts)
