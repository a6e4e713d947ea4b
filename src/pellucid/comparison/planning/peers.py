"""Models of other packages on the leaderboard: `--peers lightgbm,xgboost,catboost`, or any estimator.

LightGBM, XGBoost and CatBoost get categorical columns as their own kind of category and missing values
as they are, with their default settings. Any other estimator, named by its path
("sklearn.ensemble.HistGradientBoostingClassifier"), gets numbers: categories one-hot encoded, missing
values as the mean and an indicator column. Invariant: a peer is never saved; it runs in one thread like
every model.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np

from pellucid.data import InputSpec, prepare
from pellucid.data.encode import encode
from pellucid.data.intake import raw_table
from pellucid.errors import ParameterError

# Package: (class for classes, class for numbers, parameters).
KNOWN: dict[str, tuple[str, str, dict[str, Any]]] = {
    "lightgbm": ("LGBMClassifier", "LGBMRegressor", {"n_jobs": 1, "verbosity": -1}),
    "xgboost": ("XGBClassifier", "XGBRegressor", {"n_jobs": 1, "enable_categorical": True}),
    "catboost": (
        "CatBoostClassifier", "CatBoostRegressor",
        {"thread_count": 1, "verbose": False, "allow_writing_files": False},
    ),
}  # fmt: skip


@dataclass
class Peer:
    """An estimator of another package with the interface that a comparison uses."""

    path: str  # module and class
    classes: bool  # whether it predicts classes
    params: dict[str, Any] = field(default_factory=dict)
    random_state: Any = None

    @property
    def package(self) -> str:
        return self.path.partition(".")[0]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The seed, which a comparison sets."""
        return {"random_state": self.random_state}

    def set_params(self, **params: Any) -> Peer:
        """Set the seed."""
        self.random_state = params.get("random_state", self.random_state)
        return self

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Peer:
        """Encode the table and fit the estimator on class codes or numbers."""
        model = find(self.path)(**self.params)
        known = model.get_params()
        if "random_state" in known:
            model.set_params(random_state=self.random_state)
        own = self.package in KNOWN
        spec = InputSpec(
            owner=self.path, layout="codes" if own else "matrix", takes_sparse=False,
            target="classes" if self.classes else "numbers",
        )  # fmt: skip
        problem, _ = prepare(X, y, None, None, None, spec)
        self.schema_ = problem.schema
        if problem.classes is not None:
            self.classes_ = problem.classes
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        if self.package == "xgboost":
            kinds = ["c" if kind == "categorical" else "q" for kind in self.schema_.kinds]
            model.set_params(feature_types=kinds)
        self.model_ = model
        model.fit(self._table(problem.X), problem.y, **more, **self._fit_options())
        return self

    def _fit_options(self) -> dict[str, Any]:
        categorical = [j for j, kind in enumerate(self.schema_.kinds) if kind == "categorical"]
        if not categorical or self.package not in ("lightgbm", "catboost"):
            return {}
        name = "categorical_feature" if self.package == "lightgbm" else "cat_features"
        return {name: categorical}

    def _table(self, X: Any) -> Any:
        """Encoded rows as the package reads them: CatBoost wants integers in a table of objects."""
        if self.package != "catboost" or "categorical" not in self.schema_.kinds:
            return np.ascontiguousarray(X)
        out = X.astype(object)
        for j, kind in enumerate(self.schema_.kinds):
            if kind == "categorical":
                out[:, j] = np.where(np.isnan(X[:, j]), -1, X[:, j]).astype(np.int64)
        return out

    def _encoded(self, X: Any) -> Any:
        rows = self.schema_.align(raw_table(X, self.path), self.path)
        return self._table(encode(self.schema_, rows, False, self.path))

    def predict(self, X: Any) -> np.ndarray:
        """Labels or numbers."""
        found = np.asarray(self.model_.predict(self._encoded(X))).ravel()
        return self.classes_[found.astype(np.int64)] if hasattr(self, "classes_") else found

    def __getattr__(self, name: str) -> Any:
        if name != "predict_proba" or not hasattr(self.__dict__.get("model_"), "predict_proba"):
            raise AttributeError(name)
        return self._predict_proba

    def _predict_proba(self, X: Any) -> np.ndarray:
        found = np.asarray(self.model_.predict_proba(self._encoded(X)), dtype=float)
        return found / found.sum(axis=1, keepdims=True)  # some have single precision


def find(path: str) -> Any:
    """The class behind a path."""
    module, _, name = path.rpartition(".")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ParameterError(f"peer {path!r} cannot be imported: {error}.") from None
    if not isinstance(found, type) or not hasattr(found, "fit") or not hasattr(found, "predict"):
        raise ParameterError(f"peer {path!r} is not a class with fit and predict.")
    return found


def peers(names: tuple[str, ...], task: str) -> dict[str, tuple[Peer, str]]:
    """The peers by name, each with the reason why it cannot run, "" if it can."""
    found, classes = {}, task == "classification"
    for name in names:
        if name in KNOWN:
            one, other, params = KNOWN[name]
            path = f"{name}.{one if classes else other}"
            why = "" if find_spec(name) is not None else f"{name} is not installed"
            found[name] = Peer(path, classes, params), why
        elif "." in name:
            find(name)  # a wrong path is an error before the first fit
            found[name.rpartition(".")[2]] = Peer(name, classes), ""
        else:
            raise ParameterError(
                f"unknown peer {name!r}. Use {', '.join(KNOWN)}, or the path of an estimator such as "
                "sklearn.ensemble.RandomForestClassifier."
            )
    return found
