"""Models that processes fit together: the same as one process that holds all rows."""

import copy
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

from pellucid.beyond_memory import digest
from pellucid.cluster import KMeans
from pellucid.data.sources.in_memory import from_table
from pellucid.decomposition import PCA
from pellucid.discriminant_analysis import (
    GaussianBayesClassifier,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from pellucid.dummy import DummyClassifier, DummyRegressor
from pellucid.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from pellucid.errors import DataError
from pellucid.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
)
from pellucid.naive_bayes import (
    BernoulliNB,
    CategoricalNB,
    ComplementNB,
    GaussianNB,
    MixedNB,
    MultinomialNB,
    PoissonNB,
)
from pellucid.parallel.shard import LEVELS, Shard, Tree, fold_all, within
from tests.shards import consecutive, fit_in_shards, in_turn

N = 2 * 2**16 + 5_000


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) * [1.0, 2.0, 0.01] + [0.0, 500.0, 0.0]
    group = rng.choice(["a", "b", "c"], N)
    eta = X[:, 0] - 0.3 * (X[:, 1] - 500) + (group == "a")
    late = np.where(np.arange(N) > N - 100, "rare", group)  # a level of the last process alone
    return {
        "x": np.where(rng.random(N) < 0.01, np.nan, X[:, 0]), "far": X[:, 1], "small": X[:, 2],
        "group": pa.array(late), "flag": (X[:, 2] > 0).astype(int), "count": rng.poisson(2.0, N),
        "y": eta + rng.normal(size=N), "label": np.where(eta + rng.logistic(size=N) > 1, "yes", "no"),
        "class": rng.integers(0, 3, N) + (eta > 3),
        "events": rng.poisson(np.exp(np.clip(eta / 4, -2, 2))),
        "w": rng.integers(1, 4, N), "share": rng.uniform(0.5, 2.0, N), "shift": 0.1 * X[:, 0],
    }  # fmt: skip


ALL = ["x", "far", "small", "group", "flag"]
COUNTS = ["flag", "count"]
SAME = [
    (LinearRegression(), ALL, "y", "share"),
    (LinearRegression(fit_intercept=False), ["x", "small"], "y", None),
    (Ridge(), ALL, "y", None),
    (RidgeClassifier(class_weight="balanced"), ALL, "class", None),
    (GaussianNB(), ALL, "label", "share"),
    (MixedNB(), [*ALL, "count"], "class", None),
    (CategoricalNB(), ["group", *COUNTS], "class", "share"),
    (BernoulliNB(), COUNTS, "label", "share"),
    (MultinomialNB(), COUNTS, "class", None),
    (ComplementNB(), COUNTS, "class", None),
    (PoissonNB(), COUNTS, "class", "w"),
    (LinearDiscriminantAnalysis(), ALL, "class", "w"),
    (QuadraticDiscriminantAnalysis(), ["x", "far", "small"], "class", None),
    (GaussianBayesClassifier(), ["x", "far"], "label", "share"),
    (DummyClassifier(), ALL, "class", "share"),
    (DummyRegressor(), ALL, "y", "share"),
    (PCA(2), ["far", "small", "flag"], None, None),
]  # fmt: skip


def fitted(model, columns, features, y=None, weights=None, offset=None, runs=None):
    assert model._shares_rows
    roles = [y, weights, offset]
    table = pa.table({name: columns[name] for name in [*features, *filter(None, roles)]})
    whole = copy.deepcopy(model)._learn(table, *roles)
    found, exchange = fit_in_shards(model, table, *roles, runs=runs or consecutive(N, 3))
    assert len({digest(one._learned()) for one in found}) == 1
    # What is exchanged does not grow with the rows: nothing near 8 bytes of a cell is sent.
    assert exchange.bytes < N * len(features)
    return whole, found[0]


@pytest.mark.filterwarnings("ignore:QuadraticDiscriminantAnalysis")
@pytest.mark.parametrize(
    ("model", "features", "y", "weights"), SAME, ids=lambda v: type(v).__name__
)
def test_processes_learn_the_same_bits(columns, model, features, y, weights):
    whole, found = fitted(model, columns, features, y, weights)
    assert digest(found._learned()) == digest(whole._learned())


NEAR = [
    (LogisticRegression(), "label", "share", None),
    (LogisticRegression(C=np.inf), "label", "w", None),
    (LogisticRegression(C=10.0, class_weight="balanced"), "class", None, None),
    (PoissonRegressor(alpha=0), "events", "share", "shift"),
    (PoissonRegressor(alpha=0.1), "events", None, None),
    (GammaRegressor(alpha=0), "share", None, None),
]


@pytest.mark.parametrize(("model", "y", "weights", "offset"), NEAR, ids=lambda v: type(v).__name__)
def test_processes_find_the_same_optimum(columns, model, y, weights, offset):
    whole, found = fitted(model, columns, ["x", "small", "group", "flag"], y, weights, offset)
    scale = np.abs(whole.coef_).max()
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(found.intercept_, whole.intercept_, rtol=1e-12, atol=1e-12 * scale)
    if "inference_" in vars(whole):
        errors = [np.linalg.norm(model.inference_["root"], axis=1) for model in (whole, found)]
        np.testing.assert_allclose(errors[1], errors[0], rtol=1e-10)


def test_the_number_of_processes_does_not_matter(columns):
    cuts = [consecutive(N, 1), consecutive(N, 2), in_turn(N, 2), in_turn(N, 3)]
    models = [fitted(LogisticRegression(), columns, ALL, "label", runs=runs)[1] for runs in cuts]
    assert len({digest(model._learned()) for model in models}) == 1


BOOSTED = {
    "regressor": (HistGradientBoostingRegressor(max_iter=3, early_stopping=False), "y", "w"),
    "poisson": (
        HistGradientBoostingRegressor(loss="poisson", max_iter=2, random_state=0), "events", None,
    ),
    "shares": (
        HistGradientBoostingRegressor(loss="gamma", max_iter=2, early_stopping=False), "share", "w",
    ),
    "three classes": (
        HistGradientBoostingClassifier(max_iter=2, early_stopping=False), "class", "share",
    ),
    "classes": (
        HistGradientBoostingClassifier(max_iter=2, class_weight="balanced", random_state=0),
        "class", "share",
    ),
    "columns": (
        HistGradientBoostingClassifier(
            max_iter=2, max_features=0.5, early_stopping=False, random_state=0
        ),
        "label", None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOOSTED)
def test_processes_boost_the_same_trees(columns, name):
    model, y, weights = BOOSTED[name]
    table = pa.table({c: columns[c] for c in [*ALL, y, *([weights] if weights else [])]})
    digests, sent = set(), []
    trees = model.max_iter * (4 if "classes" in name else 1)
    for runs in (consecutive(N, 1), consecutive(N, 3), in_turn(N, 2)):
        found, exchange = fit_in_shards(model, table, y, weights, None, runs=runs)
        digests |= {digest(one._learned()) for one in found}
        sent.append(exchange.bytes / len(runs))
        assert exchange.passes < 64 + 25 * trees  # thresholds of all columns share passes
    assert len(digests) == 1
    # Histograms travel, rows do not: what a process sends does not depend on its number of rows.
    np.testing.assert_allclose(sent, sent[0], rtol=0.05)
    whole = copy.deepcopy(model)._learn(table, y, weights, None)
    if not model.early_stopping:  # validation rows are others than in one process
        expected = whole._learned()
        np.testing.assert_allclose(
            found[0].history_["objective"], expected.pop("history_")["objective"], rtol=1e-13
        )
        assert digest({**found[0]._learned(), "history_": None}) == digest(
            {**expected, "history_": None}
        )
    last = whole.history_["objective"][-1]
    assert found[0].history_["objective"][-1] == pytest.approx(last, rel=0.05)


def test_validation_rows_of_processes_leave_every_class_in_training(columns):
    y = np.zeros(N, dtype=int)
    y[:3] = 1
    table = pa.table({"x": columns["small"], "y": y})
    for seed in range(3):
        model = HistGradientBoostingClassifier(max_iter=1, random_state=seed)
        found, _ = fit_in_shards(model, table, "y", None, None, runs=consecutive(N, 2))
        assert len(found[0].validation_score_) == 2
        assert np.isfinite(found[0].baseline_).all()


def test_boosting_that_needs_quantiles_or_samples_is_not_shared():
    for given in ({"loss": "absolute_error"}, {"subsample": 0.5}, {"scoring": "r2"}):
        assert not HistGradientBoostingRegressor(**given)._shares_rows


def test_validation_rows_of_the_user_are_refused(columns):
    table = pa.table({"x": columns["small"], "y": columns["y"]})
    here = Shard(((0, N),), N, 1, lambda label, value: [value])
    with within(here), pytest.raises(DataError, match="X_val and y_val cannot be used by Dask"):
        HistGradientBoostingRegressor().fit(
            from_table(table), "y", X_val=[[0.0], [1.0]], y_val=[0.0, 1.0]
        )


def test_processes_without_a_seed_draw_the_same(columns):
    table = pa.table({"x": columns["small"], "far": columns["far"]})
    found, _ = fit_in_shards(KMeans(2, n_init=1), table, runs=consecutive(N, 2))
    assert digest(found[0]._learned()) == digest(found[1]._learned())


def test_the_tree_of_sums_does_not_depend_on_who_holds_the_rows():
    rng = np.random.default_rng(0)
    step, n = 2**14, 2 ** LEVELS[1] * 2 + 3 * 2**16 + 7
    rows = range(0, n, step)
    parts = rng.normal(size=len(rows)) * 10.0 ** rng.integers(-8, 8, len(rows))

    def fold(tree, runs):
        for row, part in zip(rows, parts.tolist()):
            if any(first <= row < last for first, last in runs):
                tree.add(row, part)
        return tree

    total = fold(Tree(float.__add__), [(0, n)]).total()
    assert total != sum(parts.tolist())  # another order of summation would show
    for size, cut in product((1, 2, 3, 7), (consecutive, in_turn)):
        held = []
        for runs in cut(n, size):
            here = Shard(runs, n, 1, lambda label, value: [])
            tree = fold(Tree(float.__add__, here), runs)
            tree.total()
            held.append(tree.pieces)
        assert cut is in_turn or max(map(len, held)) <= 2 * 64 + 2
        here = Shard(((0, n),), n, 1, lambda label, value, held=held: held)
        assert fold_all("sum", Tree(float.__add__, here), float.__add__, here) == total


def test_processes_scale_clusters_by_the_largest_cell_of_all():
    """In the unit of the last processes the squares of the first one would overflow."""
    x, v = np.random.default_rng(3).normal(size=(2, N))
    x *= 2.0**-900
    x[:1000:97] = np.nan
    v[5000:] *= 2.0**-900
    table = pa.table({"x": x, "v": v})
    start = np.array([[0.0, -1.0, 0.0], [0.0, 1.0, 0.0]])
    model = KMeans(2, init=start, n_init=1, max_iter=300)
    whole = copy.deepcopy(model)._learn(table)
    found, _ = fit_in_shards(model, table, runs=consecutive(N, 3))
    assert whole.inertia_ > 100
    np.testing.assert_allclose(found[0].cluster_centers_, whole.cluster_centers_, atol=1e-12)
    assert found[0].inertia_ == pytest.approx(whole.inertia_)
