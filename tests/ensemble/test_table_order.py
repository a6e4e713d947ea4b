"""Trees read the user's table as it lies in memory: rows or columns first, wide, with missing cells."""

import numpy as np
import pytest

from pellucid.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from pellucid.neighbors.base import tie_order
from pellucid.tree import DecisionTreeClassifier

MODELS = [
    DecisionTreeClassifier(max_depth=4, random_state=0),
    ExtraTreesClassifier(5, max_depth=3, random_state=0),
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    HistGradientBoostingClassifier(max_iter=5),
    RandomForestClassifier(5, max_depth=3, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("missing", [False, True])
def test_order_of_the_table_does_not_change_a_bit(model, missing):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 1_000))
    y = (X[:, 3] + 0.5 * X[:, 40] > 0).astype(int)
    model = model.fit(X, y)
    new = rng.normal(size=(2_100, 1_000))  # enough rows for packed trees
    if missing:
        new[rng.random(new.shape) < 0.2] = np.nan
    expected = model.predict_proba(np.asfortranarray(new))
    padded = np.empty((2_100, 1_003))
    padded[:, 2:-1] = new
    for same in (new, padded[:, 2:-1], new[::-1]):
        found = model.predict_proba(same)
        assert (found[::-1] if same.strides[0] < 0 else found).tobytes() == expected.tobytes()
    one_by_one = np.vstack([model.predict_proba(row[None]) for row in new[:20]])
    assert one_by_one.tobytes() == expected[:20].tobytes()


def test_missing_cells_of_columns_that_no_tree_looks_at_change_nothing():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 600))
    y = (X[:, 7] > 0).astype(int)
    for model in (
        RandomForestClassifier(5, max_depth=2, random_state=0).fit(X, y),
        HistGradientBoostingClassifier(max_iter=5).fit(X, y),
    ):
        new = rng.normal(size=(2_100, 600))
        expected = model.predict_proba(new)
        unused = model.feature_importances_ == 0
        assert unused.any()
        new[:, unused] = np.nan
        assert model.predict_proba(new).tobytes() == expected.tobytes()


@pytest.mark.parametrize("y", [[2.0, -1.0, 0.5], [1.0, 0.0, 1.0, -0.0, 0.0, 1.0]])
def test_neighbours_are_ordered_by_target_and_row(y):
    y = np.array(y)
    order = sorted(range(len(y)), key=lambda i: (y[i], i))
    assert tie_order(y, len(y)).tolist() == order
