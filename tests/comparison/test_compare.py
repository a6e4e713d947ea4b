"""The whole comparison: every model listed, honest order, equal results however it is run."""

import inspect
import pydoc
import re

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.comparison.planning.prepare import prepare
from pellucid.comparison.planning.registry import entries
from pellucid.comparison.planning.settings import BY_NAME, Settings
from pellucid.errors import ParameterError
from pellucid.report.summary import summarise
from tests.comparison.troublemakers import Troublemaker


@pytest.fixture(scope="module")
def penguins():
    """One small comparison for all tests of this module."""
    return pellucid.compare("penguins", models="tree", effort="quick", cv=3)


def test_every_model_that_was_asked_for_is_listed(penguins):
    assert {row["model"] for row in penguins.rows} == {"majority", "tree"}
    assert all(row["status"] == "ok" for row in penguins.rows)
    assert penguins.complete


def test_the_better_model_is_recommended_and_kept(penguins):
    assert penguins.recommended == "tree"
    assert penguins.best_.predict(penguins_table())[0] in ("Adelie", "Chinstrap", "Gentoo")


def test_the_test_part_is_scored_for_the_recommended_model_only(penguins):
    test = penguins.data["test"]
    assert test["model"] == "tree" and test["rows"] == 69
    low, high = test["intervals"]["accuracy"]
    assert low < test["metrics"]["accuracy"] <= high
    assert penguins.timings["openings"] == 1


def penguins_table():
    from pellucid.data.datasets import load

    return load("penguins").X


def test_the_registry_lists_only_what_exists():
    assert {"majority", "tree"} <= {entry.id for entry in entries("classification")}
    assert {"mean", "ols"} <= {entry.id for entry in entries("regression")}
    for task in ("classification", "regression"):
        assert all(entry.make() is not None for entry in entries(task))


def test_progress_can_be_shown_from_python(capsys):
    pellucid.compare("penguins", models="majority", cv=2, progress=True)
    # Its final fit may end before its last fold does.
    assert re.search(r"majority           (scored|done  )  0\.4", capsys.readouterr().err)


def test_a_result_shows_itself(penguins, tmp_path):
    frame = penguins.leaderboard
    assert frame["model"][0] == "tree" and {"mean", "ci_low", "p_holm"} <= set(frame.columns)
    assert "<table" in penguins._repr_html_() and "tree" in penguins._repr_html_()
    path = penguins.report(tmp_path / "r.json")
    import json

    summary = json.loads(path.read_text())
    assert set(summary["cards"]) == {"majority", "tree"} and summary["learned"]["tree"]["tree"]
    assert summary["learned"]["tree"]["importances"]["columns"] == penguins.data["data"]["features"]
    with pytest.raises(ParameterError, match="a report must end in"):
        penguins.report(tmp_path / "r.pdf")


def test_a_printed_result_is_the_board_of_the_terminal(penguins):
    told = str(penguins)
    assert told == repr(penguins) and told.startswith("LEADERBOARD  accuracy, nested 3-fold CV")
    assert "<- recommended" in told and "TEST SET" in told and "{" not in told
    assert max(map(len, told.splitlines())) <= 100


def test_the_call_names_its_parameters():
    """What `help` and completion show is the table of settings, with its defaults."""
    parameters = inspect.signature(pellucid.compare).parameters
    for name, setting in BY_NAME.items():
        assert parameters[name].default == setting.default, name
        assert f"\n{name} : " in pellucid.compare.__doc__, name
    called = {"data", "extra", "out", "force", "progress", "unknown"}
    assert set(parameters) == called | set(BY_NAME)
    assert "time_limit : seconds, or text, default=None" in pydoc.plain(
        pydoc.render_doc(pellucid.compare)
    )


@pytest.mark.parametrize(("options", "message"), [
    ({"estimators": {}}, "no parameter 'estimators'. It has data, target, .*Pass your own .* extra="),
    ({"modells": "tree"}, "Did you mean 'models'"),
    ({"extra": [1]}, r"extra must be a dict of models by name: {'mine': estimator}. Got \[1\] instead"),
    ({"extra": {"a": 1}}, "extra model 'a' must be an estimator with fit and predict. Got 1"),
    ({"extra": {"a": Troublemaker}}, r"Did you mean Troublemaker\(\)"),
])  # fmt: skip
def test_a_wrong_call_is_told_what_is_right(options, message):
    with pytest.raises(ParameterError, match=message):
        pellucid.compare("iris", **options)


@pytest.mark.slow
def test_any_estimator_of_scikit_learn_takes_part():
    """Also with labels in its parameters, and it comes back fitted."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    frame = load_iris()
    weights = {"setosa": 1.0, "versicolor": 2.0, "virginica": 1.0}
    mine = make_pipeline(StandardScaler(), LogisticRegression(class_weight=weights))
    result = pellucid.compare(frame, "species", models="majority", cv=3, extra={"mine": mine})
    row = next(row for row in result.rows if row["model"] == "mine")
    assert row["status"] == "ok" and row["mean"] > 0.9 and result.recommended == "mine"
    assert (result.best_.predict(frame.drop(columns="species")) == frame.species).mean() > 0.9
    assert result.data["test"]["metrics"]["accuracy"] > 0.8
    assert "<table" in result._repr_html_()


def load_iris():
    from pellucid.data.datasets import load

    return load("iris").table.to_pandas()


def test_a_table_in_memory_is_repeated_from_python(rng):
    table = pd.DataFrame({"x": rng.normal(size=40), "y": np.tile([True, False], 20)})
    result = pellucid.compare(
        table, "y", models=["majority"], cv=2, extra={"mine": Troublemaker()}, repeats=2
    )
    summary = summarise(result)
    command = summary["reproduce"]["command"]
    assert command.startswith("pellucid.compare(table, ") and "target='y'" in command
    assert command.endswith("extra={'mine': ...})")
    assert summary["plan"]["ratio"] == 1.0  # of two folds, however often they are drawn


def test_a_target_of_its_own_and_an_array(rng):
    X = rng.normal(size=(60, 3))
    result = pellucid.compare(X, X[:, 0] * 2 + rng.normal(size=60) * 0.1, models="ols", cv=5)
    assert result.recommended == "ols" and result.data["data"]["task"] == "regression"
    assert result.best_.predict(X).shape == (60,)


def test_what_only_judges_the_scores_is_told_but_does_not_bind_a_continued_run():
    usual, other = (
        prepare("iris", Settings.of({"models": "lda", **more}))[0]
        for more in ({}, {"margin": 0.05, "prefer": "score"})
    )
    assert usual.key() == other.key()
    verdict = usual.settings.affecting_results().keys() - usual.settings.affecting_scores().keys()
    assert verdict == {"margin", "prefer", "intervals"}
    assert other.settings.affecting_results() == usual.settings.affecting_results() | {
        "margin": 0.05,
        "prefer": "score",
    }
    assert (
        "margin" not in usual.settings.affecting_scores()
        and "seed" in usual.settings.affecting_scores()
    )
    with pytest.raises(ParameterError, match="margin must be a number from 0 to"):
        Settings.of({"margin": 0.9})
    with pytest.raises(ParameterError, match="prefer must be one of simple, score"):
        Settings.of({"prefer": "fast"})
