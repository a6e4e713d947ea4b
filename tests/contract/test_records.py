"""It shows its work: the optimiser's history, additive explanations, summaries, representations."""

import inspect
from html.parser import HTMLParser

import numpy as np
import pytest

from pellucid.records import Prototypes
from tests.contract.classes import applies_to, classifier, has, make, supervised, takes
from tests.contract.compare import fitted
from tests.contract.data import COLUMNS, frame, mixed, numbers

VOID = {"br", "hr", "img", "input", "meta", "link", "col", "wbr", "source", "area", "base"}
SAMPLES = {"binary": 2, "three classes": 3}


class Balance(HTMLParser):
    """Notes every tag that is closed without being open, or never closed."""

    def __init__(self):
        super().__init__()
        self.open, self.faults = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)


def assert_well_formed(html: str):
    assert isinstance(html, str)
    assert "<" in html
    parser = Balance()
    parser.feed(html)
    parser.close()
    assert not parser.faults, parser.faults
    assert not parser.open, parser.open
    assert "<script" not in html


@applies_to(takes("max_iter"))
def test_history_has_one_row_per_iteration(Model):
    model = fitted(Model, numbers(Model))
    history = model.history_
    assert isinstance(history, dict)
    assert {"iteration", "objective"} <= set(history)
    lengths = {name: np.shape(column) for name, column in history.items()}
    assert len(set(lengths.values())) == 1, lengths
    rows = len(history["iteration"])
    assert 1 <= rows <= 10_000
    assert all(column.dtype.kind in "fiu" for column in history.values())
    assert np.all(np.isfinite(history["objective"]))
    assert np.all(np.diff(history["iteration"]) >= 0)
    assert np.all(np.asarray(model.n_iter_) >= 1)


@applies_to(supervised)
def test_predictions_can_be_explained(Model):
    assert hasattr(make(Model), "explain")


@applies_to(has("explain"))
@pytest.mark.parametrize("table", ["binary", "three classes", "mixed"])
def test_explanations_add_up(Model, table):
    sample = mixed(Model) if table == "mixed" else numbers(Model, n_classes=SAMPLES[table])
    X = sample.X if table == "mixed" else frame(sample.X)
    model = fitted(Model, sample.with_X(X))
    explanation = model.explain(X)
    if isinstance(explanation, Prototypes):
        assert explanation.gap() <= 1e-10 * max(1.0, np.max(np.abs(explanation.prediction)))
        assert_explains_the_model(model, explanation, X)
        return
    K = 1 if not classifier(Model) or len(model.classes_) == 2 else len(model.classes_)
    if not supervised(Model) or np.ndim(sample.y) == 2:
        K = explanation.base.shape[0]
    assert explanation.base.shape == (K,)
    assert explanation.contributions.shape == (len(X), X.shape[1], K)
    assert explanation.prediction.shape == (len(X), K)
    assert list(explanation.columns) == list(X.columns)
    total = explanation.base + explanation.contributions.sum(axis=1)
    scale = max(1.0, np.max(np.abs(explanation.prediction)))
    assert np.max(np.abs(total - explanation.prediction)) <= 1e-10 * scale
    assert_explains_the_model(model, explanation, X)


def assert_explains_the_model(model, explanation, X):
    """What is explained is what the model says, on the scale that the explanation names."""
    assert explanation.scale in {"response", "link", "log-odds", "votes", "probability"}
    said = explanation.prediction
    if hasattr(model, "score_samples") and hasattr(model, "offset_"):  # an outlier detector
        expected = model.decision_function(X)
    elif not supervised(type(model)) and not hasattr(model, "transform"):  # a mixture: its shares
        expected = model.predict_proba(X)
        said = np.exp(said - said.max(axis=1, keepdims=True))
        said = said / said.sum(axis=1, keepdims=True)
    elif not supervised(type(model)):  # what a transformer says; minus its square for distances
        expected = model.transform(X)
        expected = -(expected**2) if hasattr(model, "cluster_centers_") else expected
    elif explanation.scale == "response":
        expected = np.asarray(model.predict(X))
    elif explanation.scale == "probability":
        expected = model.predict_proba(X)
        expected = expected[:, 1:] if said.shape[1] == 1 else expected
    elif explanation.scale == "link" and hasattr(model, "linear_predictor"):
        expected = model.linear_predictor(X)
    elif hasattr(model, "decision_function"):
        expected = model.decision_function(X)
    elif said.shape[1] == 1:
        odds = model.predict_proba(X)
        expected = np.log(odds[:, 1]) - np.log(odds[:, 0])
    else:
        best = model.classes_[np.argmax(said, axis=1)]
        assert np.mean(best == model.predict(X)) == 1
        return
    expected = expected.reshape(said.shape)
    scale = max(1.0, np.max(np.abs(expected)))
    assert np.max(np.abs(said - expected)) <= 1e-10 * scale


@applies_to(has("explain"))
def test_explanations_can_be_read(Model):
    sample = numbers(Model)
    model = fitted(Model, sample.with_X(frame(sample.X)))
    explanation = model.explain(frame(sample.X[:5]))
    assert str(explanation).strip()
    assert_well_formed(explanation._repr_html_())
    assert explanation.frame() is not None
    text = str(explanation) + explanation._repr_html_()
    if not isinstance(explanation, Prototypes):
        assert COLUMNS[0] in text


@applies_to(has("summary"))
def test_summaries_can_be_read(Model):
    for sample in (numbers(Model), mixed(Model)):
        summary = fitted(Model, sample).summary()
        assert str(summary).strip()
        assert_well_formed(summary._repr_html_())
        assert summary.frame() is not None


def test_representation_is_the_call(Model):
    """Only what differs from the default is shown, and the text makes the estimator again."""
    if all(
        p.default is not inspect.Parameter.empty
        for p in inspect.signature(Model).parameters.values()
    ):
        assert repr(Model()) == f"{Model.__name__}()"
    model = make(Model)
    text = repr(model)
    assert text.startswith(f"{Model.__name__}(")
    if "random_state" in model.get_params():
        assert "random_state=0" in text
    assert repr(fitted(Model, numbers(Model))) == text


def test_html_representation_is_well_formed(Model):
    assert_well_formed(make(Model)._repr_html_())
    sample = mixed(Model)
    strange = sample.X.rename(columns={"town": "<script>alert('x')</script>"})
    html = fitted(Model, sample.with_X(strange))._repr_html_()
    assert_well_formed(html)
    assert Model.__name__ in html
