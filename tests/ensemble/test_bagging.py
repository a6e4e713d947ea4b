"""Bagging: draws, learners of every kind, out-of-bag estimates, weights, threads, files."""

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier as PeerBagging

import pellucid
from pellucid import parallel
from pellucid.data import Table, datasets
from pellucid.dummy import DummyClassifier
from pellucid.ensemble import BaggingClassifier
from pellucid.ensemble.bootstrap_samples import Sampler, keys_of
from pellucid.errors import CannotSaveError, DataError, ParameterError
from pellucid.naive_bayes import GaussianNB
from pellucid.tree import DecisionTreeClassifier


def mixed(rng, n=300):
    """Numbers, levels and missing cells; three classes."""
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({
        "a": rng.normal(size=n), "b": rng.normal(size=n),
        "town": rng.choice(["Ulm", "Bonn", "Jena"], n), "c": rng.integers(0, 4, n).astype(float),
    })  # fmt: skip
    y = np.where(X["a"] + (X["town"] == "Ulm") > 0.5, "up", "down")
    y = np.where((X["b"] > 1) & (X["town"] != "Bonn"), "odd", y)
    X.loc[rng.random(n) < 0.1, "a"] = np.nan
    return X, y


def numbers(rng, n=300):
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + X[:, 1] ** 2 > 1).astype(int) + (X[:, 2] > 1)


def problem_of(X, y, w=None):
    model = BaggingClassifier()
    from pellucid.data import prepare

    return prepare(X, y, w, None, None, model._input_spec())[0].gathered()


def drawn(problem, seed, **options):
    settings = {"max_samples": None, "max_features": 1.0, "bootstrap": True,
                "bootstrap_features": False} | options  # fmt: skip
    return Sampler(problem, **settings).draw(np.random.default_rng(seed))


def test_bags_have_as_many_draws_as_samples(rng):
    X, y = numbers(rng)
    w = rng.integers(1, 5, 300).astype(float)
    whole = problem_of(X, y, w)
    bag = drawn(whole, 0)
    assert bag.weights.sum() == w.sum() and (bag.weights == np.floor(bag.weights)).all()
    assert drawn(whole, 0, max_samples=17).weights.sum() == 17
    assert drawn(whole, 0, max_samples=0.5).weights.sum() == int(w.sum() * 0.5)
    assert drawn(problem_of(X, y, w / 3), 0).weights.sum() == 300


@pytest.mark.parametrize("kind", ["unit", "integer", "many draws", "broken"])
def test_rows_are_drawn_in_proportion_to_weight(kind, rng):
    X, y = numbers(rng, 40)
    w = {
        "unit": np.ones(40),
        "integer": rng.integers(1, 4, 40) * 1.0,
        "many draws": rng.integers(50, 400, 40) * 1.0,
        "broken": rng.random(40) + 0.1,
    }[kind]
    problem = problem_of(X, y, w)
    bags = np.array([drawn(problem, seed).weights for seed in range(400)])
    expected = bags.sum(axis=1).mean() * problem.weights / problem.weights.sum()
    error = np.sqrt(expected / 400)  # of a mean of 400 nearly Poisson counts
    assert (np.abs(bags.mean(axis=0) - expected) < 4.5 * error).all()


def test_without_replacement_no_copy_comes_twice(rng):
    X, y = numbers(rng, 60)
    w = rng.integers(1, 4, 60).astype(float)
    problem = problem_of(X, y, w)
    bag = drawn(problem, 3, bootstrap=False, max_samples=0.5)
    assert (bag.weights <= problem.weights).all() and bag.weights.sum() == int(w.sum() / 2)
    np.testing.assert_array_equal(drawn(problem, 3, bootstrap=False).weights, problem.weights)
    broken = problem_of(X, y, w / 7)
    bag = drawn(broken, 3, bootstrap=False, max_samples=20)
    assert np.count_nonzero(bag.weights) == 20
    assert np.isin(bag.weights, [0, *broken.weights]).all()
    order = np.random.default_rng(3)
    rows = order.choice(60, 20, replace=False, shuffle=False)  # first the rows, then the columns
    np.testing.assert_array_equal(np.flatnonzero(bag.weights), np.sort(rows))
    few = drawn(broken, 3, bootstrap=False, max_samples=20, max_features=2)
    columns = order.choice(X.shape[1], 2, replace=False)
    np.testing.assert_array_equal(few.columns, np.sort(columns))
    with pytest.raises(ParameterError, match="max_samples"):
        drawn(problem, 3, bootstrap=False, max_samples=500)


def test_columns_are_drawn(rng):
    X, y = numbers(rng)
    problem = problem_of(X, y)
    assert drawn(problem, 0).columns is None
    half = drawn(problem, 0, max_features=0.5).columns
    assert len(np.unique(half)) == 2
    again = [drawn(problem, seed, bootstrap_features=True).columns for seed in range(30)]
    assert any(len(np.unique(columns)) < 4 for columns in again)
    with pytest.raises(ParameterError, match="max_features"):
        drawn(problem, 0, max_features=5)


def test_bags_follow_from_the_seed(rng):
    X, y = numbers(rng)
    model = BaggingClassifier(n_estimators=3, random_state=5).fit(X, y)
    problem = problem_of(X, y)
    seed = parallel.seed_sequence(5)
    sampler = Sampler(problem, 1.0, 1.0, True, False)
    for key, tree in zip(keys_of(seed, 0, 3), model.estimators_, strict=True):
        bag = sampler.bag(int(key))
        alone = DecisionTreeClassifier().fit(problem.X, problem.y, bag.weights)
        np.testing.assert_array_equal(tree.tree_.threshold, alone.tree_.threshold)
        np.testing.assert_array_equal(tree.tree_.value, alone.tree_.value)
    assert not hasattr(model, "estimators_samples_")


def test_mean_of_the_learners(rng):
    X, y = numbers(rng)
    model = BaggingClassifier(n_estimators=4, random_state=0, max_features=2).fit(X, y)
    mean = np.mean(
        [
            tree.predict_proba(X[:, columns])
            for tree, columns in zip(model.estimators_, model.estimators_features_, strict=True)
        ],
        axis=0,
    )
    np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-15)


def test_whole_table_without_draws_is_the_learner_itself(rng):
    X, y = mixed(rng)
    model = BaggingClassifier(n_estimators=3, bootstrap=False).fit(X, y)
    np.testing.assert_array_equal(
        model.predict_proba(X), DecisionTreeClassifier().fit(X, y).predict_proba(X)
    )


def foreign_learners():
    from sklearn.linear_model import LogisticRegression, Perceptron
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier as Peer

    return {
        "weights and probabilities": GaussianNB(),
        "random": Peer(max_features=1),
        "no weights": KNeighborsClassifier(),
        "no probabilities": Perceptron(),
        "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    }


@pytest.mark.parametrize("kind", list(foreign_learners()))
@pytest.mark.parametrize("max_features", [1.0, 0.5])
def test_foreign_learners(kind, max_features, rng):
    X, y = mixed(rng)
    learner = foreign_learners()[kind]
    options = {"n_estimators": 4, "random_state": 0, "max_features": max_features}
    model = BaggingClassifier(learner, **options).fit(X, y)
    assert max_features < 1 or model.score(X, y) > 0.6
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-12)
    np.testing.assert_array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))
    twin = BaggingClassifier(learner, **options, n_jobs=1).fit(X, y)
    np.testing.assert_array_equal(shares, twin.predict_proba(X))


def test_foreign_learners_get_their_bags_as_weights_or_as_copies(rng):
    from sklearn.naive_bayes import GaussianNB

    class Copies(GaussianNB):
        """The same learner, to which weights cannot be given."""

        def fit(self, X, y):
            return super().fit(X, y)

    X, y = numbers(rng)
    by_weight = BaggingClassifier(GaussianNB(), n_estimators=3, random_state=1).fit(X, y)
    by_copies = BaggingClassifier(Copies(), n_estimators=3, random_state=1).fit(X, y)
    np.testing.assert_allclose(
        by_weight.predict_proba(X), by_copies.predict_proba(X), rtol=1e-6, atol=1e-9
    )
    with pytest.raises(DataError, match="takes no weights"):
        BaggingClassifier(Copies(), bootstrap=False).fit(X, y, rng.random(300))


def test_our_learners_and_decision_scores(rng):
    from sklearn.linear_model import LogisticRegression

    X, y = numbers(rng)
    assert BaggingClassifier(DummyClassifier(), random_state=0).fit(X, y).score(X, y) > 0.4
    assert not hasattr(BaggingClassifier(), "decision_function")
    for target in (y, y > 0):
        model = BaggingClassifier(LogisticRegression(), n_estimators=3, random_state=0)
        model.fit(X, target)
        mean = np.mean([own.decision_function(X) for own in model.estimators_], axis=0)
        np.testing.assert_allclose(model.decision_function(X), mean, atol=1e-12)


def test_not_a_classifier():
    from sklearn.linear_model import Ridge

    for learner in (Ridge(), pellucid.dummy.DummyRegressor()):
        with pytest.raises(ParameterError, match="classifier"):
            BaggingClassifier(learner).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ParameterError, match="'max_depth' parameter of DecisionTreeClassifier"):
        BaggingClassifier(DecisionTreeClassifier(max_depth=0)).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("kind", ["tree", "bayes", "logistic"])
def test_rare_classes_keep_probabilities_whole(kind, rng):
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB

    learner = {"tree": None, "bayes": GaussianNB(), "logistic": LogisticRegression()}[kind]
    X = rng.normal(size=(12, 2))
    y = np.array(["often"] * 10 + ["rare", "rarer"])
    model = BaggingClassifier(learner, n_estimators=15, random_state=0).fit(X, y)
    shares = model.predict_proba(X)
    assert shares.shape == (12, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-12)
    if kind == "logistic":
        assert model.decision_function(X).shape == (12, 3)
        two = BaggingClassifier(learner, n_estimators=15, random_state=0).fit(X, y == "rare")
        assert two.decision_function(X).shape == (12,)


def test_weights_are_repetition(rng):
    X, y = mixed(rng)
    w = rng.integers(0, 4, len(y))
    again = rng.permutation(np.repeat(np.arange(len(y)), w))  # the order of rows is no matter
    for options in (
        {}, {"max_samples": 0.3, "max_features": 2}, {"bootstrap": False, "max_samples": 0.4},
        {"estimator": DecisionTreeClassifier(max_features=1, min_samples_leaf=3)},
        {"estimator": DecisionTreeClassifier(class_weight="balanced", min_samples_leaf=3)},
    ):  # fmt: skip
        model = BaggingClassifier(n_estimators=3, random_state=0).set_params(**options)
        weighted = model.fit(X, y, w).predict_proba(X)
        repeated = model.fit(X.iloc[again], y[again]).predict_proba(X)
        np.testing.assert_array_equal(weighted, repeated)


def test_equal_bits_for_any_number_of_jobs(rng):
    X, y = mixed(rng)
    shares = [
        BaggingClassifier(n_estimators=7, random_state=3, n_jobs=jobs, max_features=3)
        .fit(X, y)
        .predict_proba(X)
        for jobs in (1, 2, 4)
    ]
    np.testing.assert_array_equal(shares[0], shares[1])
    np.testing.assert_array_equal(shares[0], shares[2])


def test_out_of_bag_estimate(rng):
    X, y = mixed(rng, 600)
    model = BaggingClassifier(n_estimators=60, random_state=0, oob_score=True).fit(X, y)
    fresh_X, fresh_y = mixed(rng, 2000)
    assert model.oob_score_ == pytest.approx(model.score(fresh_X, fresh_y), abs=0.06)
    assert model.oob_decision_function_.shape == (600, 3)
    np.testing.assert_allclose(model.oob_decision_function_.sum(axis=1), 1, atol=1e-12)
    right = model.classes_[model.oob_decision_function_.argmax(axis=1)] == y
    assert model.oob_score_ == pytest.approx(right.mean())


def test_out_of_bag_copies_are_samples_of_their_own(rng):
    """Every row occurs twice: a bag may hold one of them, as in scikit-learn; both have one answer."""
    X = np.repeat(rng.normal(size=(200, 2)), 2, axis=0)
    y = np.repeat(rng.integers(0, 2, 200), 2)
    model = BaggingClassifier(n_estimators=80, random_state=0, oob_score=True).fit(X, y)
    peer = PeerBagging(n_estimators=80, random_state=0, oob_score=True).fit(X, y)
    assert model.oob_score_ == pytest.approx(peer.oob_score_, abs=0.03)
    np.testing.assert_array_equal(*model.oob_decision_function_.reshape(200, 2, 2).swapaxes(0, 1))


def test_rows_in_every_bag_have_no_estimate(rng):
    X, y = numbers(rng, 20)
    model = BaggingClassifier(n_estimators=1, random_state=0, oob_score=True)
    with pytest.warns(UserWarning, match="drawn for every base estimator"):
        model.fit(X, y)
    absent = np.isnan(model.oob_decision_function_).all(axis=1)
    assert 0 < absent.sum() < 20
    w = np.ones(20)
    w[3] = 0
    with pytest.warns(UserWarning, match="drawn for every base estimator"):
        assert np.isnan(model.fit(X, y, w).oob_decision_function_[3]).all()
    for wrong in ({"bootstrap": False}, {"warm_start": True}):
        with pytest.raises(ParameterError, match="Out of bag"):
            BaggingClassifier(oob_score=True, **wrong).fit(X, y)


def test_warm_start_adds_learners(rng):
    X, y = mixed(rng)
    model = BaggingClassifier(n_estimators=3, random_state=0, warm_start=True).fit(X, y)
    first = list(model.estimators_)
    model.set_params(n_estimators=6).fit(X, y)
    assert model.estimators_[:3] == first and len(model.estimators_) == 6
    whole = BaggingClassifier(n_estimators=6, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))
    with pytest.warns(UserWarning, match="without increasing"):
        model.fit(X, y)
    with pytest.raises(ParameterError, match="warm_start"):
        model.set_params(n_estimators=2).fit(X, y)


def test_explanation_adds_up(rng):
    X, y = mixed(rng)
    for options in ({}, {"max_features": 0.5}, {"bootstrap_features": True}):
        model = BaggingClassifier(n_estimators=4, random_state=0, **options).fit(X, y)
        parts = model._explain(model._encoded(X))
        total = parts["base"] + parts["contributions"].sum(axis=1)
        np.testing.assert_allclose(total, model.predict_proba(X), atol=1e-13)
    from sklearn.naive_bayes import GaussianNB

    with pytest.raises(ParameterError, match="explain"):
        BaggingClassifier(GaussianNB(), n_estimators=2).fit(X, y).explain(X)


def test_saved_and_loaded(rng, tmp_path):
    X, y = mixed(rng)
    model = BaggingClassifier(n_estimators=4, random_state=0, max_features=2).fit(X, y)
    model.save(tmp_path / "bag.pellucid")
    back = pellucid.load(tmp_path / "bag.pellucid")
    np.testing.assert_array_equal(model.predict_proba(X), back.predict_proba(X))
    back.estimators_features_[0] = np.array([0, 9])
    with pytest.raises(DataError):
        back._check_state()
    from sklearn.naive_bayes import GaussianNB

    foreign = BaggingClassifier(GaussianNB(), n_estimators=2).fit(X, y)
    with pytest.raises(CannotSaveError):
        foreign.save(tmp_path / "foreign.pellucid")


def test_verbose_prints_nothing(rng, capsys):
    X, y = numbers(rng)
    BaggingClassifier(n_estimators=2, verbose=3).fit(X, y)
    assert capsys.readouterr() == ("", "")


def test_penguins():
    """Fifty trees: 80 of the 83 test rows of this split, or more."""
    pytest.importorskip("pandas")
    frame = datasets.load("penguins").table.to_pandas().drop(columns="year").dropna()
    frame = frame.sort_values("species", kind="stable").reset_index(drop=True)
    test = np.random.RandomState(1).choice(np.arange(333), 83, replace=False)
    train = np.setdiff1d(np.arange(333), test)
    X, y = frame.drop(columns="species"), frame["species"]
    for seed in range(3):
        model = BaggingClassifier(n_estimators=50, random_state=seed)
        model.fit(X.iloc[train], y.iloc[train])
        assert (model.predict(X.iloc[test]) == y.iloc[test]).sum() >= 80


def test_penguins_by_naive_bayes():
    """Fifty Gaussian naive Bayes on the same split: 76 of 83, 77 with some draws."""
    pandas = pytest.importorskip("pandas")
    frame = datasets.load("penguins").table.to_pandas().drop(columns="year").dropna()
    frame = frame.sort_values("species", kind="stable").reset_index(drop=True)
    test = np.random.RandomState(1).choice(np.arange(333), 83, replace=False)
    train = np.setdiff1d(np.arange(333), test)
    X = pandas.get_dummies(frame.drop(columns="species"), drop_first=True).astype(float)
    for seed in range(2):
        model = BaggingClassifier(GaussianNB(), n_estimators=50, random_state=seed)
        model.fit(X.iloc[train], frame.species.iloc[train])
        right = (model.predict(X.iloc[test]) == frame.species.iloc[test]).sum()
        assert right in (76, 77)


def test_bags_of_one_class_are_saved_for_every_form_of_table(rng, tmp_path):
    """Such a bag gets a leaf instead of a learner; numbers, categories and sparse tables alike."""
    from scipy.sparse import csr_array

    from pellucid.linear_model import LogisticRegression

    y = np.repeat(["no", "yes"], [11, 1])
    towns = np.repeat([["a", "b"], ["c", "d"]], 6, axis=0).astype(object)
    for X in (rng.normal(size=(12, 2)), towns, csr_array(rng.normal(size=(12, 60)))):
        model = BaggingClassifier(LogisticRegression(), n_estimators=9, random_state=0).fit(X, y)
        kinds = {type(learner) for learner in model.estimators_}
        assert kinds == {LogisticRegression, DecisionTreeClassifier}
        model.save(tmp_path / "m")
        back = pellucid.load(tmp_path / "m")
        np.testing.assert_array_equal(model.predict_proba(X), back.predict_proba(X))
        np.testing.assert_array_equal(model.decision_function(X), back.decision_function(X))


def test_forged_learners_are_refused(rng, tmp_path):
    from pellucid.linear_model import LogisticRegression

    X, y = mixed(rng)
    model = BaggingClassifier(n_estimators=3, random_state=0).fit(X, y)
    learner = model.estimators_[0]
    other = BaggingClassifier(LogisticRegression(), n_estimators=3, random_state=0).fit(X, y)
    narrow = BaggingClassifier(n_estimators=1, random_state=0, max_features=1).fit(X, y)
    for strange in (other.estimators_[0], narrow.estimators_[0]):
        model.estimators_[0] = strange
        with pytest.raises(DataError, match="a base estimator"):
            model._check_state()
    model.estimators_[0] = learner
    model._check_state()


def test_the_table_of_the_learner_is_asked():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"k": [1, 2, 3, 1, 2, 3] * 4, "v": range(24)})
    y = [0, 1] * 12
    learner = DecisionTreeClassifier(table=Table(kinds={"k": "categorical"}))
    model = BaggingClassifier(learner, n_estimators=2, random_state=0).fit(X, y)
    assert model.schema_.kinds == ("categorical", "number")
    with pytest.raises(ParameterError, match="both have a 'table'"):
        BaggingClassifier(learner, n_estimators=2, table=Table()).fit(X, y)
