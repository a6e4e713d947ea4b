"""Categories with few rows per level: who leaves them out."""

import numpy as np
import pandas as pd

from pellucid.comparison.planning.dataset import load_dataset
from pellucid.comparison.planning.plan import make_plan
from pellucid.comparison.planning.settings import Settings


def test_a_category_of_few_rows_per_level_stays_if_it_says_most(rng):
    """First names tell the sex; tickets tell less than other columns do."""

    def dropped(table):
        known = Settings.of({"target": "y"})
        plan = make_plan(load_dataset(table, known), known)
        return {c.id for c in plan.contenders if "name" in c.dropped}

    name = rng.permutation(np.r_[np.repeat(np.arange(200), 2), np.arange(100)])
    y = np.where(rng.integers(0, 2, 200)[name] == 1, "f", "m")
    table = pd.DataFrame({"name": [f"n{k}" for k in name], "y": y})
    table["x"] = (table.y == "f") + 1.5 * rng.normal(size=500)
    trees = {"tree", "adaboost", "bagging", "forest"}
    assert not dropped(table)
    assert dropped(table.assign(y=rng.permutation(table.y))) == trees  # it says nothing
    assert dropped(table.assign(x=(table.y == "f") + 0.3 * rng.normal(size=500))) == trees
