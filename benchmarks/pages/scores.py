"""Scores of our models and of their twins in other libraries, on real tables and in the same folds.

Built-in tables are always there. Others come from the reference folder (`PELLUCID_SHARED_DATA`, or the
nearest `shared/data`) and are left out without it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.accuracy import folder
from benchmarks.workload import ADAPTERS, OURS
from pellucid.base import Classifier

ONE_HOT = f"{OURS}, one-hot columns"
# Tables of the reference folder: the target, and columns that are left out.
FILES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "adult": ("adult.csv.gz", "income", ("subset",)),
    "bank marketing": ("bank_marketing.csv.gz", "y", ()),
    "car": ("car_evaluation.csv", "class", ()),
    "letter": ("letter.csv", "lettr", ()),
    "California housing": ("california_housing.csv.gz", "MedHouseVal", ()),
    "bike, daily": ("bike_day.csv", "cnt", ("instant", "dteday", "casual", "registered")),
    "MNIST": ("mnist_test10k.csv.gz", "digit", ()),
}
WORDS = ("adult", "bank marketing", "car")
NUMBERS = ("California housing", "bike, daily")


@dataclass(frozen=True)
class Contest:
    """A model of a page on a table; columns are standardised by their training rows if `scaled`."""

    estimator: str
    table: str
    params: Mapping[str, Any] = field(default_factory=dict)
    peers: tuple[str, ...] = ("scikit-learn",)
    scaled: bool = False
    rows: int = 2000
    folds: int = 5

    @property
    def name(self) -> str:
        """The class and the parameters that are set, but for the seed."""
        shown = [f"{k}={v!r}" for k, v in self.params.items() if k != "random_state"]
        return f"{self.estimator.split('.')[1]}({', '.join(shown)})"


def _on(estimator: str, *tables: str, **options: Any) -> list[Contest]:
    return [Contest(estimator, table, **options) for table in tables]


SEED = {"random_state": 0}
FEW = {"n_estimators": 50, "random_state": 0}
ROUNDS = {"max_iter": 100, "early_stopping": False}
BOOSTERS = ("scikit-learn", "LightGBM")
CONTESTS: dict[str, list[Contest]] = {
    "adaboost": _on("ensemble.AdaBoostClassifier", "breast_cancer", "wine", params=FEW),
    "bagging": _on("ensemble.BaggingClassifier", "breast_cancer", "wine", params=FEW),
    "bayesian_regression": _on("linear_model.BayesianRidge", "diabetes"),
    "decision_tree": [
        *_on("tree.DecisionTreeClassifier", "breast_cancer", "digits", params=SEED),
        *_on("tree.DecisionTreeRegressor", "diabetes", params={"max_depth": 3}),
    ],
    "discriminant_analysis": [
        *_on("discriminant_analysis.LinearDiscriminantAnalysis", "breast_cancer", "wine"),
        *_on("discriminant_analysis.QuadraticDiscriminantAnalysis", "iris", "wine"),
    ],
    "dummy": [
        *_on("dummy.DummyClassifier", "breast_cancer"),
        *_on("dummy.DummyRegressor", "diabetes"),
    ],
    "generalized_linear_models": _on(
        "linear_model.PoissonRegressor", "diabetes", params={"alpha": 0.0}, scaled=True
    ),
    "gradient_boosting": [
        *_on(
            *("ensemble.HistGradientBoostingClassifier", "breast_cancer", *WORDS),
            params=ROUNDS, peers=BOOSTERS,
        ),
        *_on(
            *("ensemble.HistGradientBoostingRegressor", "diabetes", *NUMBERS),
            params=ROUNDS, peers=BOOSTERS,
        ),
    ],
    "lasso": _on("linear_model.LassoCV", "diabetes"),
    "linear_regression": _on("linear_model.LinearRegression", "diabetes"),
    "logistic_regression": _on(
        *("linear_model.LogisticRegression", "breast_cancer", "digits", "wine"),
        params={"max_iter": 1000}, scaled=True,
    ),
    "naive_bayes": _on("naive_bayes.GaussianNB", "breast_cancer", "wine"),
    "nearest_neighbours": _on(
        "neighbors.KNeighborsClassifier", "breast_cancer", "digits", "wine", scaled=True
    ),
    "neural_network": _on(
        *("neural_network.MLPClassifier", "breast_cancer", "digits", "MNIST"),
        params={"hidden_layer_sizes": (64,), "max_iter": 30, "tol": 0.0, "random_state": 0},
        scaled=True,
    ),
    "perceptron": _on("linear_model.Perceptron", "breast_cancer", "wine", params=SEED, scaled=True),
    "random_forest": [
        *_on(
            *("ensemble.RandomForestClassifier", "breast_cancer", *WORDS, "letter"),
            params={"n_estimators": 100, "random_state": 0},
        ),
        *_on(
            *("ensemble.RandomForestRegressor", "diabetes", *NUMBERS),
            params={"n_estimators": 100, "random_state": 0},
        ),
        *_on(
            *("ensemble.ExtraTreesClassifier", *WORDS),
            params={"n_estimators": 100, "random_state": 0},
        ),
    ],
    "ridge": _on("linear_model.Ridge", "diabetes", params={"alpha": 0.1}),
    "svm": _on("svm.SVC", "breast_cancer", "digits", "wine", scaled=True),
}  # fmt: skip


def table(name: str, rows: int) -> tuple[Any, np.ndarray] | None:
    """Columns and target, levels as categories; None if the file is not here."""
    import pandas as pd

    if name not in FILES:
        from pellucid.data import datasets

        found = datasets.load(name)
        return found.X.to_pandas().iloc[:rows], np.asarray(found.y)[:rows]
    file, target, drop = FILES[name]
    place = folder()
    if place is None or not (place / file).is_file():
        return None
    frame = pd.read_csv(place / file)
    frame = frame.sample(min(rows, len(frame)), random_state=0)
    X = frame.drop(columns=[target, *drop])
    words = [c for c in X if not pd.api.types.is_numeric_dtype(X[c])]
    return X.astype(dict.fromkeys(words, "category")), frame[target].to_numpy()


def _contenders(contest: Contest, levels: bool) -> dict[str, Any]:
    module, name = contest.estimator.split(".")
    ours = getattr(importlib.import_module(f"pellucid.{module}"), name)(**contest.params)
    found = {OURS: ours}
    if levels and contest.peers == ("scikit-learn",):
        found[ONE_HOT] = ours
    return found | {
        peer: importlib.import_module(ADAPTERS[peer]).twin(ours) for peer in contest.peers
    }


def _folds(y: np.ndarray, count: int, classes: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    from pellucid.model_selection import KFold, StratifiedKFold

    kind = StratifiedKFold if classes else KFold
    return kind(count, shuffle=True, random_state=0).split(np.zeros((len(y), 1)), y)


def compete(contest: Contest) -> dict[str, Any] | None:
    """The scores of all contenders in all folds; None if the table is not here."""
    import pandas as pd

    found = table(contest.table, contest.rows)
    if found is None:
        return None
    X, y = found
    words = [c for c in X if isinstance(X[c].dtype, pd.CategoricalDtype)]
    wide = pd.get_dummies(X, columns=words, dtype=float)
    contenders = _contenders(contest, bool(words))
    classes = isinstance(contenders[OURS], Classifier)
    scores: dict[str, list[float]] = {who: [] for who in contenders}
    for train, test in _folds(y, contest.folds, classes):
        for who, model in contenders.items():
            own_levels = who == OURS or len(contest.peers) > 1  # boosting takes levels everywhere
            columns = X if own_levels or not words else wide
            learned, unseen = columns.iloc[train], columns.iloc[test]
            if contest.scaled:
                mean, spread = learned.mean(), learned.std(ddof=0)
                spread[spread == 0] = 1.0
                learned, unseen = (learned - mean) / spread, (unseen - mean) / spread
            scores[who].append(_score(model, learned, y[train], unseen, y[test], classes))
    return {
        "model": contest.name, "table": contest.table, "rows": len(y), "columns": X.shape[1],
        "metric": "accuracy" if classes else "R2", "scores": scores,
    }  # fmt: skip


def _score(model: Any, X: Any, y: Any, X_test: Any, y_test: Any, classes: bool) -> float:
    predicted = np.asarray(model.fit(X, y).predict(X_test))
    if classes:
        return float(np.mean(predicted == y_test))
    return float(1 - ((predicted - y_test) ** 2).mean() / y_test.var())


def embeddings(starts: int = 4) -> Iterator[dict[str, Any]]:
    """t-SNE of both libraries from the same starts: the divergence, and how far neighbours stay so."""
    from sklearn.manifold import TSNE as Peer
    from sklearn.manifold import trustworthiness

    from pellucid.manifold import TSNE

    for name in ("digits", "wine", "iris"):
        X = np.asarray(table(name, 10_000)[0], dtype=float)  # type: ignore[index]
        X = X[np.random.default_rng(0).permutation(len(X))[:150]]
        found: dict[str, dict[str, list[float]]] = {}
        for seed in range(starts):
            init = 1e-4 * np.random.default_rng(seed).normal(size=(len(X), 2))
            for who, kind in ((OURS, TSNE), ("scikit-learn", Peer)):
                model = kind(perplexity=20, init=init)
                points = model.fit_transform(X)
                for metric, value in (
                    ("trustworthiness", trustworthiness(X, points)),
                    ("divergence", model.kl_divergence_),
                ):
                    found.setdefault(metric, {}).setdefault(who, []).append(float(value))
        for metric, scores in found.items():
            yield {
                "model": "TSNE(perplexity=20)", "table": name, "rows": len(X),
                "columns": X.shape[1], "metric": metric, "scores": scores,
            }  # fmt: skip
