"""One estimator that is fitted in two threads at once learns from each table what it would alone."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, current_thread

import numpy as np
import pytest

from pellucid.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from pellucid.linear_model import LinearRegression
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.contract.compare import assert_same_bits

MODELS = [
    AdaBoostClassifier(n_estimators=4, random_state=0),
    AdaBoostRegressor(n_estimators=4, random_state=0),
    BaggingClassifier(n_estimators=4, oob_score=True, random_state=0),
    BaggingRegressor(n_estimators=4, random_state=0),
    DecisionTreeClassifier(class_weight="balanced"),
    DecisionTreeRegressor(ccp_alpha="cv"),
    ExtraTreesClassifier(4, class_weight="balanced", random_state=0),
    GradientBoostingClassifier(n_estimators=4, subsample=0.7, random_state=0),
    GradientBoostingRegressor(n_estimators=4, init=LinearRegression(), loss="huber"),
    HistGradientBoostingClassifier(
        max_iter=4, class_weight="balanced", subsample=0.7, random_state=0
    ),
    HistGradientBoostingRegressor(max_iter=4, max_features=0.5, random_state=0),
    RandomForestClassifier(4, class_weight="balanced", min_samples_leaf=2, random_state=0),
    RandomForestRegressor(4, oob_importances=True, random_state=0),
]


def tables(classes):
    """Two tables that differ in rows and shares of classes; the second has validation rows."""
    for seed, cut in ((0, 0.0), (1, 1.0)):
        X = np.random.default_rng(seed).normal(size=(80, 4))
        z = X[:, 0] + X[:, 1] ** 2
        yield X, (z > cut).astype(int) if classes else z


def paused(model, started: Barrier, first_is_done: Event):
    """The same estimator, whose fits begin together; that of thread "b" ends second."""

    class Paused(type(model)):
        def _fit(self, problem, **more):
            started.wait()
            learned = super()._fit(problem, **more)
            started.wait()
            if current_thread().name.startswith("b"):
                first_is_done.wait()
            return learned

    return Paused(**model.get_params(deep=False))


@pytest.mark.filterwarnings("ignore:.*rows were drawn for every base")
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_each_fit_gives_what_it_gives_alone(model):
    classes = model._kind == "classifier"
    (Xa, ya), (Xb, yb) = tables(classes)
    more = {"X_val": Xa, "y_val": ya} if type(model).__name__.startswith("Hist") else {}
    alone_a = model.fit(Xa, ya)._learned()
    alone_b = model.fit(Xb, yb, **more)._learned()
    done = Event()
    both = paused(model, Barrier(2, timeout=30), done)
    keys = set(vars(both))
    with (
        ThreadPoolExecutor(1, thread_name_prefix="a") as one,
        ThreadPoolExecutor(1, thread_name_prefix="b") as other,
    ):
        a = one.submit(both.fit, Xa, ya)
        b = other.submit(both.fit, Xb, yb, **more)
        try:
            assert_same_bits(alone_a, a.result()._learned())
        finally:
            done.set()
        assert_same_bits(alone_b, b.result()._learned())
    assert {name for name in vars(both) if not name.endswith("_")} == keys
