"""`pellucid fit`: one model from the command line, also for a table that does not fit into memory."""

import io
import json
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import pellucid
from pellucid.app import cli
from pellucid.app.commands.fit import as_text
from pellucid.linear_model import Ridge
from pellucid.parallel import memory
from pellucid.records.progress_line import ProgressLine


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "w": np.ones(20_000), "y": X @ [1.0, 2.0, 3.0]})
    parquet.write_table(table, "t.parquet")
    yield table
    pellucid.set_memory(None)


def test_fit_saves_the_model_that_python_fits(table, capsys, monkeypatch):
    call = ["fit", "Ridge", "t.parquet", "-t", "y", "--features", "a,b", "--set", "alpha=0.5"]
    assert cli.run([*call, "--weight", "w", "-o", "m.pellucid"]) == 0
    assert "Ridge on 2 columns saved to m.pellucid" in capsys.readouterr().out
    twin = Ridge(alpha=0.5).fit(table.select(["a", "b"]), table["y"].to_numpy())
    assert (pellucid.load("m.pellucid").coef_ == twin.coef_).all()
    monkeypatch.setattr("pellucid.data.sources.find.COPIES", 10**9)
    limit = str(memory.resident() + 400 * 10**6)
    assert cli.run([*call, "-o", "n.pellucid", "--memory", limit, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 20_000
    assert (pellucid.load("n.pellucid").coef_ == twin.coef_).all()


def test_a_fit_below_the_ceiling_is_told_in_80_columns():
    facts = {"model": "LinearDiscriminantAnalysis", "columns": 20, "path": "model.pellucid"}
    facts |= {"rows": 20_000_000, "seconds": 141.23, "peak_memory": 559_400_000}
    lines = as_text(facts | {"memory_limit": 600_000_000, "scratch_bytes": 3_680_000_000})
    assert lines.splitlines() == [
        "LinearDiscriminantAnalysis on 20 columns saved to model.pellucid",
        "20,000,000 rows in 141.2 s. Memory: 559 MB of 600 MB. Scratch files: 3.68 GB.",
    ]
    assert all(len(line) <= 80 for line in lines.splitlines())


def test_a_terminal_shows_progress_of_large_fits_and_predictions(table, monkeypatch):
    monkeypatch.setattr("pellucid.data.sources.find.COPIES", 10**9)
    for name in ("CI", "TERM"):
        monkeypatch.delenv(name, raising=False)
    limit = str(memory.resident() + 400 * 10**6)
    said = []
    calls = [
        ["fit", "Ridge", "t.parquet", "-t", "y", "-o", "m.pellucid", "--memory", limit],
        ["predict", "m.pellucid", "t.parquet", "-o", "out/", "--memory", limit],
    ]
    for call in [*calls, [*calls[0], "-q"]]:
        stream = io.StringIO()
        monkeypatch.setattr(ProgressLine, "for_stderr", lambda: ProgressLine(stream))  # noqa: B023
        assert cli.run(call) == 0
        said.append(stream.getvalue())
    assert re.search(r"\rRidge  pass \d+ \(\d+% of 20,000 rows, \d+ s left\)", said[0])
    assert said[1].rpartition("\r")[2] == "predict  100% of 20,000 rows, 0 s left\n"
    assert said[2] == ""


def test_fit_says_what_is_wrong(table, capsys):
    assert cli.run(["fit", "Rigde", "t.parquet", "-t", "y"]) == 2
    assert "Did you mean 'Ridge'" in capsys.readouterr().err
    assert cli.run(["fit", "HistGradientBoosting", "t.parquet", "-t", "y"]) == 2
    said = capsys.readouterr().err
    assert "'HistGradientBoostingClassifier' or 'HistGradientBoostingRegressor'?" in said
    assert cli.run(["fit", "Ridge", "t.parquet"]) == 2
    assert "name its column with -t" in capsys.readouterr().err
    assert cli.run(["fit", "Ridge", "t.parquet", "-t", "y", "--memory", "lots"]) == 2
    assert "2GB" in capsys.readouterr().err
