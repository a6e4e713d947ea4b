"""Warnings name the user's line, however deep and in whichever thread they arise."""

import threading
import warnings

import numpy as np
import pytest

from pellucid import parallel
from pellucid.cluster import KMeans
from pellucid.ensemble import BaggingClassifier
from pellucid.errors import (
    ConvergenceWarning,
    DataConversionWarning,
    PellucidWarning,
    UnseenLevelWarning,
    warn,
)
from pellucid.linear_model import LinearRegression, LogisticRegression
from pellucid.tree import DecisionTreeClassifier
from tests.source_tree import PACKAGE, ROOT, source_files

X = np.arange(12.0).reshape(6, 2)
Y = [0, 1, 0, 1, 1, 0]
TOWNS = np.array([["a"], ["b"], ["c"]] * 2, dtype=object)
FEW = {"n_clusters": 3, "random_state": 0}


def fitted(model):
    return model.fit(TOWNS, Y)


CASES = {
    "unseen, codes": (
        UnseenLevelWarning,
        lambda: fitted(DecisionTreeClassifier()).predict([["z"]]),
    ),
    "unseen, matrix": (
        UnseenLevelWarning,
        lambda: fitted(LogisticRegression()).predict_proba([["z"]]),
    ),
    "column vector": (
        DataConversionWarning,
        lambda: DecisionTreeClassifier().fit(X, np.reshape(Y, (-1, 1))),
    ),
    "iterations": (
        ConvergenceWarning,
        lambda: LogisticRegression(solver="gd", max_iter=1).fit(X, Y),
    ),
    "fit": (ConvergenceWarning, lambda: KMeans(**FEW).fit(np.zeros((6, 2)))),
    "fit_predict": (ConvergenceWarning, lambda: KMeans(**FEW).fit_predict(np.zeros((6, 2)))),
    "fit_transform": (ConvergenceWarning, lambda: KMeans(**FEW).fit_transform(np.zeros((6, 2)))),
    "n_init": (RuntimeWarning, lambda: KMeans(2, init=X[:2], n_init=5).fit(X)),
    "score": (UserWarning, lambda: LinearRegression().fit(X, Y).score(X[:1], Y[:1])),
    "oob": (
        UserWarning,
        lambda: BaggingClassifier(n_estimators=1, oob_score=True, random_state=0).fit(X, Y),
    ),
}


@pytest.mark.parametrize(("category", "call"), CASES.values(), ids=CASES)
def test_a_warning_names_the_line_of_the_user(category, call):
    with pytest.warns(category) as caught:
        call()
    assert [w.filename for w in caught] == [__file__]


def test_a_worker_thread_without_a_user_warns_all_the_same():
    names = {"warn": warn, "PellucidWarning": PellucidWarning, "__name__": "pellucid.deep"}
    with pytest.warns(PellucidWarning, match="deep") as caught:
        thread = threading.Thread(target=exec, args=("warn('deep', PellucidWarning)", names))
        thread.start()
        thread.join()
    assert len(caught) == 1
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        parallel.interruptible(warn, "deep", PellucidWarning)
    assert [w.category for w in heard] == [PellucidWarning]


def test_there_is_one_door():
    doors = [p for p in source_files(".py") if "warnings.warn(" in p.read_text()]
    assert doors == [PACKAGE / "errors.py"], [str(p.relative_to(ROOT)) for p in doors]
