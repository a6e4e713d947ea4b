"""What a comparison adds to a saved model: intervals, sets, thresholds, calibration."""

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid import conformal
from pellucid.app import cli
from pellucid.comparison import compare
from pellucid.comparison.analysis.additions import threshold
from pellucid.errors import ModelFileError, ParameterError, PellucidError
from pellucid.linear_model import RidgeClassifier
from pellucid.model_selection.metrics import METRICS


def numbers(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return pd.DataFrame(X, columns=list("abc")).assign(y=X[:, 0] + rng.standard_t(4, size=n))


def classes(n, seed=0, K=2):
    frame = numbers(n, seed)
    cuts = np.quantile(frame["y"], np.arange(1, K) / K)
    return frame.assign(y=np.array(list("uvwxyz"))[np.searchsorted(cuts, frame["y"])])


def test_bound_is_the_order_statistic():
    errors = np.arange(1.0, 20.0)  # 19 of them
    assert conformal.bound(errors, 0.9) == 18.0
    assert conformal.bound(errors, 0.95) == 19.0
    assert conformal.bound(errors, 0.96) == np.inf
    with pytest.raises(ParameterError, match="between 0 and 1"):
        conformal.bound(errors, 90)
    many = np.random.default_rng(0).random(123_457)
    assert len(conformal.kept(many)) == conformal.MOST
    for level in (0.5, 0.9, 0.99):
        exact, thinned = conformal.bound(np.sort(many), level), conformal.bound(
            conformal.kept(many), level)  # fmt: skip
        assert 0 <= thinned - exact + 1e-12 < 1e-3


@pytest.mark.parametrize("seed", range(2))
def test_intervals_cover_new_rows(seed, tmp_path):
    frame = numbers(500, seed)
    result = compare(frame, "y", models=["ridge", "tree"], effort="quick", jobs=1, test_size=0)
    new, model = numbers(4000, seed + 100), result.best_
    ends = model.predict_interval(new[list("abc")], 0.9)
    covered = ((ends[:, 0] <= new["y"]) & (new["y"] <= ends[:, 1])).mean()
    assert 0.87 < covered < 0.93
    assert 0.87 < result.data["intervals"]["coverage"] < 0.93
    path = result.save("tree", tmp_path / "tree.pellucid")
    tree = pellucid.load(path)
    wide = np.ptp(tree.predict_interval(new[list("abc")], 0.9), axis=1)
    assert wide.min() == pytest.approx(wide.max())
    assert wide[0] > np.ptp(ends[0])  # a worse model has wider intervals


def test_sets_cover_new_rows():
    result = compare(
        classes(500, K=3), "y", models=["logistic"], effort="quick", jobs=1, test_size=0
    )
    new, model = classes(4000, 7, K=3), result.best_
    sets = model.predict_set(new[list("abc")], 0.8)
    own = sets[np.arange(len(new)), np.searchsorted(model.classes_, new["y"])]
    assert 0.76 < own.mean() < 0.85
    assert sets.any(axis=1).all()
    assert 1 < sets.sum(axis=1).mean() < 3


def test_a_fit_has_no_intervals_and_forgets_those_of_a_comparison():
    frame = numbers(200)
    fresh = pellucid.linear_model.Ridge().fit(frame[list("abc")], frame["y"])
    assert not hasattr(fresh, "predict_interval")
    with pytest.raises(PellucidError, match="comparison"):
        conformal.interval(fresh, frame[list("abc")])
    model = compare(frame, "y", models=["ridge"], effort="quick", jobs=1).best_
    assert not hasattr(model.fit(frame[list("abc")], frame["y"]), "predict_interval")


def test_damaged_additions_are_refused(tmp_path):
    model = compare(classes(200), "y", models=["logistic"], effort="quick", jobs=1).best_
    path = tmp_path / "m.pellucid"
    for name, value in (
        ("unseen_errors_", np.array([2.0, 1.0])),
        ("unseen_errors_", np.array([-1.0, 1.0])),
        ("threshold_", np.float64(2.0)),
        ("calibration_", np.array([-1.0, 0.0, 0.0])),
    ):
        before = vars(model).get(name)
        setattr(model, name, value)
        model.save(path)
        with pytest.raises(ModelFileError):
            pellucid.load(path)
        vars(model).pop(name)
        if before is not None:
            setattr(model, name, before)


def test_the_threshold_has_the_lowest_cost(tmp_path, capsys):
    """Against all thresholds between the probabilities, and in the saved model and the command."""
    frame = classes(300, 3)
    for positive in ("u", "v"):
        result = compare(
            frame, "y", models=["logistic"], effort="quick", jobs=1, positive=positive,
            cost_miss=4, cost_false_alarm=1, out=tmp_path / positive,
        )  # fmt: skip
        plan, found = result.refitter.plan, result.predictions[result.recommended]
        p, y = found["proba"][:, 1], plan.dataset.y[found["rows"]]
        tried = np.linspace(0, 1, 2001)
        costs = [np.where(p >= t, y == 0, 4.0 * (y == 1)).mean() for t in tried]
        chosen = threshold(plan, found)
        assert chosen["cost"] <= min(costs) + 1e-12
        at = np.where(p >= chosen["threshold"], y == 0, 4.0 * (y == 1)).mean()
        assert at == pytest.approx(chosen["cost"])
        model, X = result.best_, frame[list("abc")]
        k = model.classes_.tolist().index(positive)
        expected = model.predict_proba(X)[:, k] >= chosen["threshold"]
        assert ((model.predict(X) == positive) == expected).all()
    frame.to_csv(tmp_path / "new.csv", index=False)
    capsys.readouterr()
    asked = ["predict", str(tmp_path / "v"), str(tmp_path / "new.csv"), "-q", "--interval", "0.9"]
    assert cli.run(asked) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "prediction,p_u,p_v,set"
    assert [line.split(",")[0] for line in lines[1:]] == model.predict(X).tolist()
    assert {line.split(",")[3] for line in lines[1:]} <= {"u", "v", "u|v", "v|u"}


def test_models_without_probabilities_are_calibrated(tmp_path):
    frame = classes(400, 5, K=3)
    names = ["ridge_classifier", "perceptron", "svm_linear", "svm_rbf"]
    result = compare(frame, "y", models=names, effort="quick", jobs=1, metric="log_loss")
    rows = {row["model"]: row for row in result.rows}
    base = rows["majority"]["metrics"]["log_loss"]
    assert all(rows[name]["metrics"]["log_loss"] < 0.95 * base for name in names)
    model = pellucid.load(result.save("ridge_classifier", tmp_path / "m.pellucid"))
    X, y = frame[list("abc")], frame["y"].to_numpy()
    codes = np.searchsorted(model.classes_, y)
    found = METRICS["log_loss"].compute(
        codes, model.predict_proba(X), np.ones(len(y)), np.arange(3)
    )
    assert found == pytest.approx(rows["ridge_classifier"]["metrics"]["log_loss"], rel=0.1)
    assert not hasattr(RidgeClassifier().fit(X, y), "predict_proba")
