"""`Result.leaderboard` is a data frame of the caller's kind."""

import importlib.util

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pellucid.comparison.planning.dataset import load_dataset
from pellucid.comparison.planning.settings import Settings
from pellucid.comparison.result import Result

X, Y = np.random.default_rng(0).normal(size=(20, 2)).T
COLUMNS = {"x": X.tolist(), "y": Y.tolist()}


def _path(folder):
    path = folder / "t.csv"
    pd.DataFrame(COLUMNS).to_csv(path, index=False)
    return str(path)


def _board(given):
    dataset = load_dataset(given, Settings.of({"target": "y"}))
    row = {"status": "ok", "params": {}, "reason": None, "mean": 1.0, "metrics": {"r2": 0.5}}
    rows = [row | {"model": name, "recommended": name == "ols"} for name in ("ols", "tree", "mean")]
    data = {"leaderboard": rows, "plan": {"metrics": ["r2"]}}
    return Result(data, {}, container=dataset.container).leaderboard


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_frame_gives_back_its_own_kind(kind):
    given = kind(COLUMNS)
    board = _board(given)
    assert type(board) is type(given)
    assert board.shape[0] == 3 and "recommended" in (
        board.column_names if kind is pa.table else board.columns
    )


@pytest.mark.parametrize(
    ("absent", "kind"),
    [((), pd.DataFrame), (("pandas",), pl.DataFrame), (("pandas", "polars"), pa.Table)],
)
def test_a_path_gives_the_frame_that_is_installed(tmp_path, monkeypatch, absent, kind):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in absent else find(name)
    )
    assert type(_board(_path(tmp_path))) is kind
