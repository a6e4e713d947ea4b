"""What a comparison adds to a saved model: intervals, sets, thresholds, calibration."""

from types import SimpleNamespace

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
    fold = np.random.default_rng(1).integers(0, 5, len(many))
    kept, sizes = conformal.kept(many, fold, 6)
    assert len(kept) <= conformal.MOST + 6
    assert sizes.sum() == len(kept)
    assert sizes[5] == 0
    for level in (0.5, 0.9, 0.99):
        assert 0 <= conformal.bound(kept, level) - conformal.bound(many, level) < 4e-3
    few, sizes = conformal.kept(many[:50], fold[:50], 5)  # all of few
    assert sorted(few) == sorted(many[:50])
    for k, part in enumerate(np.split(few, np.cumsum(sizes)[:-1])):
        assert part.tolist() == sorted(many[:50][fold[:50] == k])


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
    assert wide.mean() > np.ptp(ends, axis=1).mean()  # a worse model has wider intervals


def test_a_penalised_glm_has_the_intervals_of_its_errors():
    frame, new = numbers(300), numbers(2000, 100)
    frame["y"], new["y"] = np.exp(frame["y"] / 2), np.exp(new["y"] / 2)
    result = compare(frame, "y", models=["gamma"], effort="quick", jobs=1, test_size=0)
    model, X = result.best_, new[list("abc")]
    assert type(model).__name__ == "GammaRegressor"
    ends = model.predict_interval(X, 0.9)
    np.testing.assert_array_equal(ends, conformal.interval(model, X, 0.9))
    assert 0.86 < ((ends[:, 0] <= new["y"]) & (new["y"] <= ends[:, 1])).mean() < 0.94
    # The errors say nothing of a mean, of other trials or of what weights mean.
    for asked in ({"kind": "mean"}, {"trials": 5}, {"weights": "precision"}):
        with pytest.raises(PellucidError, match="alpha=0"):
            model.predict_interval(X, 0.9, **asked)


def one_per_fold(result, name, X, ask):
    """(rows, errors) what the model of each error's fold says, from fits of our own."""
    plan, fitter = result.refitter.plan, result.refitter
    found = result.predictions[name]
    K = len(plan.dataset.classes or ())
    out = np.empty((len(found["rows"]), len(X), K) if K else (len(found["rows"]), len(X)))
    for k, (train, _) in enumerate(plan.folds):
        model = fitter.contender(name).make().set_params(**fitter.by_fold[name][k]["tuned"])
        frame = pd.DataFrame({c: plan.dataset.table[c].to_pylist() for c in "abc"})
        labels = plan.dataset.y if plan.dataset.classes is None else np.array(
            plan.dataset.classes)[plan.dataset.y]  # fmt: skip
        out[found["fold"] == k] = ask(model.fit(frame.iloc[train], labels[train]), X)
    return out


def test_intervals_are_cv_plus():
    """Against the definition of Barber et al. (2021), one row and one error at a time."""
    frame, new = numbers(60), numbers(20, 5)[list("abc")]
    result = compare(frame, "y", models=["ridge"], effort="quick", jobs=1, test_size=0)
    assert result.data["intervals"]["method"] == "cv+"
    found = result.predictions["ridge"]
    errors = np.abs(result.refitter.plan.dataset.y[found["rows"]] - found["labels"])
    mu = one_per_fold(result, "ridge", new, lambda m, X: m.predict(X))
    for level in (0.5, 0.9):
        r = int(np.ceil(61 * level))
        low = [sorted(mu[:, j] - errors)[60 - r] for j in range(20)]
        high = [sorted(mu[:, j] + errors)[r - 1] for j in range(20)]
        np.testing.assert_allclose(
            result.best_.predict_interval(new, level), np.column_stack([low, high]), rtol=1e-8
        )
    assert np.isinf(result.best_.predict_interval(new, 0.99)).all()  # 60 rows are too few


@pytest.mark.parametrize("kind", ["smallest", "adaptive"])
def test_sets_are_cv_plus(kind, tmp_path):
    """Against the definition of Romano et al. (2020)."""
    frame, new = classes(90, K=3), classes(20, 5, K=3)[list("abc")]
    result = compare(frame, "y", models=["logistic"], effort="quick", jobs=1, test_size=0)
    model = pellucid.load(result.save("logistic", tmp_path / "m.pellucid"))
    found, y = result.predictions["logistic"], result.refitter.plan.dataset.y
    proba = one_per_fold(result, "logistic", new, lambda m, X: m.predict_proba(X))

    def score(p, c):
        return 1 - p[c] if kind == "smallest" else sum(p[p > p[c]]) + p[c] / 2

    errors = [score(p, y[row]) for p, row in zip(found["proba"], found["rows"])]
    for level in (0.5, 0.9):
        wanted = [
            [sum(e < score(proba[i, j], c) - 1e-7 for i, e in enumerate(errors)) < 91 * level
             for c in range(3)]
            for j in range(20)
        ]  # fmt: skip
        sets = model.predict_set(new, level, kind=kind, allow_empty=True)
        np.testing.assert_array_equal(sets, wanted)
        never = model.predict_set(new, level, kind=kind)
        top = model.predict_proba(new).argmax(axis=1)
        assert never[np.arange(20), top].all()
        never[np.arange(20), top] = sets[np.arange(20), top]
        np.testing.assert_array_equal(never, sets)
    with pytest.raises(ParameterError, match="kind must be"):
        model.predict_set(new, 0.9, kind="large")


def test_adaptive_sets_cover_no_more_than_they_should():
    """A third of the rows has the less probable of two classes."""
    rng = np.random.default_rng(0)
    p = rng.uniform(0.5, 0.85, size=4000)
    y = (rng.uniform(size=4000) > p).astype(int)
    scores = conformal.class_scores(np.column_stack([p, 1 - p]), "adaptive")
    reach = conformal.bound(scores[np.arange(2000), y[:2000]], 0.9)
    inside = scores[2000:] <= reach
    assert 0.88 < inside[np.arange(2000), y[2000:]].mean() < 0.92
    assert inside.sum(axis=1).mean() < 1.9


def test_the_models_of_the_folds_are_an_option(tmp_path):
    """Stored or not, the prediction is the same."""
    frame, new = numbers(120), numbers(5, 3)[list("abc")]
    ask = {"models": ["ridge"], "effort": "quick", "jobs": 1, "out": tmp_path / "run"}
    full = compare(frame, "y", **ask)
    size = (tmp_path / "run" / "model.pellucid").stat().st_size
    assert len(full.best_.fold_models_) == 5
    plain = compare(frame, "y", **ask, intervals="plain", force=True)
    assert plain.data["intervals"]["method"] == "plain"
    assert (tmp_path / "run" / "model.pellucid").stat().st_size < size / 2
    np.testing.assert_array_equal(full.best_.predict(new), plain.best_.predict(new))
    middle, ends = plain.best_.predict(new), plain.best_.predict_interval(new)
    np.testing.assert_allclose(ends[:, 1] - middle, middle - ends[:, 0])
    assert full.best_.predict_interval(new) != pytest.approx(ends, rel=1e-12)
    frame = frame.assign(when=pd.date_range("2020", periods=120))
    later = compare(frame, "y", models=["ridge"], effort="quick", jobs=1, time="when")
    assert later.data["intervals"]["method"] == "plain"  # later rows cannot be exchanged


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
    with pytest.raises(PellucidError, match=r"pellucid\.compare"):
        conformal.interval(fresh, frame[list("abc")])
    model = compare(frame, "y", models=["ridge"], effort="quick", jobs=1).best_
    assert not hasattr(model.fit(frame[list("abc")], frame["y"]), "predict_interval")


def test_damaged_additions_are_refused(tmp_path):
    model = compare(classes(200), "y", models=["logistic"], effort="quick", jobs=1).best_
    path = tmp_path / "m.pellucid"
    for name, value in (
        ("unseen_errors_", model.unseen_errors_[::-1].copy()),
        ("unseen_errors_", model.unseen_errors_ - 1.0),
        ("adaptive_errors_", model.unseen_errors_[1:].copy()),
        ("fold_sizes_", model.fold_sizes_[:-1].copy()),
        ("fold_models_", model.fold_models_[:-1]),
        (
            "fold_models_",
            [*model.fold_models_[:-1], pellucid.linear_model.Ridge().fit([[0], [1]], [0, 1])],
        ),
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
        at = np.where(p >= chosen["threshold"], y == 0, 4.0 * (y == 1)).mean()
        assert at <= min(costs) + 1e-12
        assert at <= chosen["cost"] <= 1.2 * at  # by thresholds of the other folds
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


def test_the_cost_is_that_of_rows_which_did_not_choose_the_threshold():
    """With probabilities of pure noise, a threshold chosen on the same rows would seem to save."""
    rng = np.random.default_rng(0)
    gains, seeming = [], []
    for _ in range(40):
        p, y, fold = rng.uniform(size=100), rng.integers(0, 2, 100), np.arange(100) % 5
        found = {"rows": np.arange(100), "fold": fold, "proba": np.column_stack([1 - p, p])}
        settings = SimpleNamespace(cost_false_alarm=1.0, cost_miss=1.0)
        dataset = SimpleNamespace(classes=["u", "v"], y=y, weights=np.ones(100))
        chosen = threshold(SimpleNamespace(settings=settings, dataset=dataset), found)
        gains.append(min(y.mean(), 1 - y.mean()) - chosen["cost"])  # over one class for all
        seeming.append(min(y.mean(), 1 - y.mean()) - ((p >= chosen["threshold"]) != y).mean())
    assert np.mean(gains) < 0 < np.mean(seeming)


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


def test_models_without_probabilities_are_searched_by_their_log_loss():
    """Classes that only a flexible machine separates: the first candidate is much too stiff."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2))
    frame = pd.DataFrame(X, columns=list("ab")).assign(
        y=np.where((X**2).sum(axis=1) > 1.4, "u", "v")
    )
    result = compare(frame, "y", models=["svm_rbf"], jobs=1, cv=2, metric="log_loss", test_size=0)
    first = result.refitter.contender("svm_rbf").candidates[0]
    assert result.refitter.params("svm_rbf")["C"] > first["C"]
    rows = {row["model"]: row["mean"] for row in result.rows}
    assert rows["svm_rbf"] < 0.5 * rows["majority"]
