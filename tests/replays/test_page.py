"""One offline page: nothing from elsewhere, small, safe with any names, and clear errors."""

import base64
import hashlib
import html
import re

import numpy as np
import pytest

import pellucid
from pellucid.cluster import KMeans
from pellucid.data.datasets import load
from pellucid.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from pellucid.errors import DataError, DataTypeError, ParameterError, PellucidError
from pellucid.linear_model import LinearRegression, LogisticRegression, Perceptron
from pellucid.mixture import GaussianMixture
from pellucid.naive_bayes import GaussianNB
from pellucid.neural_network import MLPClassifier
from pellucid.replays import page, replay_fit
from pellucid.svm import SVC
from pellucid.tree import DecisionTreeClassifier
from tests.contract.classes import public_classes
from tests.replays.pages import panel, unpacked

pytestmark = pytest.mark.filterwarnings("ignore::pellucid.PellucidWarning")
IRIS, PENGUINS = load("iris"), load("penguins")
X, Y = [[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "yes"]
MODELS = [
    DecisionTreeClassifier(),
    GradientBoostingClassifier(),
    AdaBoostClassifier(),
    RandomForestClassifier(n_estimators=100, random_state=0),
    LogisticRegression(solver="gd", max_iter=500, tol=0),
    Perceptron(max_iter=20, random_state=0),
    KMeans(3, random_state=0),
    GaussianMixture(3, random_state=0),
    SVC(),
    MLPClassifier(hidden_layer_sizes=(16,), max_iter=400, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_ordinary_fits_make_small_pages_without_addresses(model):
    made = pellucid.replay(model, PENGUINS.X, PENGUINS.y)
    text = made.html()
    assert len(text.encode()) <= 300_000
    assert not re.search(r"https?:|(?:src|href)=|url\(|@import|\bimport\(|fetch\(", text)
    assert unpacked(text) == made.frames
    assert len(set(map(len, (made.frames["sentences"], *made.frames["numbers"].values())))) == 1
    assert text == pellucid.replay(model, PENGUINS.X, PENGUINS.y).html(), "equal fits, equal bytes"


def test_a_page_that_would_be_large_is_thinned(monkeypatch):
    model = LogisticRegression(solver="gd", max_iter=300, tol=0)
    whole = pellucid.replay(model, IRIS.X, IRIS.y)
    assert len(whole.frames["sentences"]) == 301
    (note,) = whole.frames["notes"]
    assert note.startswith("Stopped after 300 iterations (max_iter) before convergence")
    monkeypatch.setattr(replay_fit, "BUDGET", len(page.packed(whole.frames)) // 2)
    made = pellucid.replay(model, IRIS.X, IRIS.y)
    assert len(page.packed(made.frames)) <= replay_fit.BUDGET
    steps = made.frames["numbers"]["iteration"]
    assert 40 <= len(steps) < 301 and (steps[0], steps[-1]) == (0, 300)
    assert made.frames["notes"] == [f"{len(steps)} of 301 steps are shown, evenly spaced.", note]


def test_the_player_is_small():
    assert (page.ROOT / "player.js").stat().st_size <= 40_000


def test_the_policy_allows_only_our_style_and_script():
    text = pellucid.replay(KMeans(2, random_state=0), X * 5).html()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', text).group(1))
    for kind in ("style", "script"):
        body = re.search(rf"<{kind}>(.*?)</{kind}>", text, re.S).group(1)
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert " style=" not in text and " onclick=" not in text


def test_names_cannot_become_code():
    bad = "</script><script>window.hacked=1</script><b>&\"'"
    import pyarrow as pa

    rng = np.random.default_rng(0)
    table = pa.table({bad: rng.normal(size=30), "x": rng.normal(size=30)})
    labels = [bad if k % 2 else "other" for k in range(30)]
    made = pellucid.replay(LogisticRegression(), table, labels, title=bad)
    assert made.html().count("<script") == 2 and "<b>" not in made.html()
    shown = made._repr_html_()
    assert shown.count("<iframe") == 1 and "<script" not in shown


def test_a_notebook_gets_a_frame_of_its_own():
    made = pellucid.replay(LogisticRegression(), X, Y, title="A & B")
    shown = made._repr_html_()
    found = re.fullmatch(
        r'<iframe srcdoc="([^"]*)" title="A &amp; B" sandbox="allow-scripts" .*></iframe>',
        shown,
        re.S,
    )
    assert html.unescape(found.group(1)) == made.html()
    assert repr(made) == f"Replay('A & B', {len(made.frames['sentences'])} steps)"


def test_save_is_all_or_nothing(tmp_path):
    made = pellucid.replay(LogisticRegression(), X, Y)
    path = tmp_path / "fit.html"
    made.save(path)
    assert path.read_text("utf-8") == made.html() and list(tmp_path.iterdir()) == [path]
    with pytest.raises(PellucidError, match=r"cannot write .*fit\.html"):
        made.save(tmp_path / "absent" / "fit.html")
    with pytest.raises(
        ParameterError, match=r"Use a path that ends in \.html instead of .*fit\.png"
    ):
        made.save(tmp_path / "fit.png")
    path.unlink()
    path.mkdir()
    with pytest.raises(PellucidError, match="cannot write"):
        made.save(path)
    assert list(tmp_path.iterdir()) == [path]


# What may be replayed ---------------------------------------------------------------------------


def test_a_model_is_cloned_and_its_replay_equals_that_of_its_watch():
    model = LogisticRegression(solver="gd", max_iter=20)
    made = pellucid.replay(model, IRIS.X, IRIS.y)
    assert not hasattr(model, "coef_")
    with pellucid.watching() as watch:
        model.fit(IRIS.X, IRIS.y)
    for given in (watch, watch.fits[0], model):
        assert pellucid.replay(given, IRIS.X, IRIS.y).frames == made.frames


def test_the_last_of_several_fits_is_shown():
    with pellucid.watching() as watch:
        LogisticRegression().fit(X, Y)
        Perceptron().fit(X, Y)
    made = pellucid.replay(watch, X, Y)
    assert made.frames["title"] == "Perceptron, step by step"
    assert made.frames["notes"] == ["2 fits were recorded; this is the last one."]


def test_the_target_may_be_a_column_and_the_table_a_path(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "\n".join(f"{k},{2 * k + k % 3}" for k in range(20)))
    made = pellucid.replay(LinearRegression(solver="gd"), path, "b")
    assert panel(made.frames, "The fitted curve")["y"]["label"] == "b"


def test_steps_are_thinned_evenly_and_the_page_says_so():
    model = LogisticRegression(solver="gd", max_iter=100, tol=0)
    made = pellucid.replay(model, IRIS.X, IRIS.y, max_steps=11)
    steps = made.frames["numbers"]["iteration"]
    assert len(steps) <= 11 and steps[0] == 0 and steps[-1] == 100
    assert made.frames["notes"][0] == f"{len(steps)} of 101 steps are shown, evenly spaced."
    with pellucid.watching() as watch:
        model.fit(IRIS.X, IRIS.y)
    made = pellucid.replay(watch, IRIS.X, IRIS.y, max_steps=11)
    assert made.frames["numbers"]["iteration"] == list(range(0, 101, 10))


@pytest.mark.parametrize("name", sorted(public_classes()))
def test_every_model_is_replayed_or_says_why_not(name):
    cls = public_classes()[name]
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 3)), np.arange(40) % 2 + 1
    model = cls(**getattr(cls, "_check_params", {}))
    try:
        made = pellucid.replay(model, X, y)
    except PellucidError as error:
        assert re.fullmatch(
            rf"{name} recorded no steps: .*\. There is nothing to replay\.", str(error)
        )
        return
    assert made.frames["panels"] and all(made.frames["sentences"])
    assert len(made.html().encode()) <= 300_000


# Errors -----------------------------------------------------------------------------------------


def test_errors_say_what_to_do():
    with pytest.raises(PellucidError, match=r"GaussianNB recorded no steps: .* nothing to replay"):
        pellucid.replay(GaussianNB(), X, Y)
    with pellucid.watching() as watch:
        pass
    with pytest.raises(PellucidError, match="Nothing was recorded"):
        pellucid.replay(watch, X, Y)
    with pytest.raises(ParameterError, match=r"must be an estimator of Pellucid.* Got int"):
        pellucid.replay(3, X, Y)
    with pytest.raises(ParameterError, match="'max_steps' parameter must be at least 2"):
        pellucid.replay(LogisticRegression(), X, Y, max_steps=1)
    with pellucid.watching() as watch:
        LogisticRegression().fit(X, Y)
    with pytest.raises(DataError, match="needs y, the target of the fit"):
        pellucid.replay(watch, X)
    with pytest.raises(DataError, match=r"X has 2 columns, .* fitted on 1"):
        pellucid.replay(watch, [[1.0, 2.0]] * 4, Y)
    from scipy.sparse import csr_array

    with pytest.raises(DataTypeError, match=r"replay needs a dense table. Use X.toarray\(\)"):
        pellucid.replay(LogisticRegression(), csr_array(np.eye(4)), Y)


def test_errors_of_columns():
    model = LogisticRegression()
    with pytest.raises(
        ParameterError, match=r"the table has no column 'length'\. Its columns are 'island'"
    ):
        pellucid.replay(model, PENGUINS.X, PENGUINS.y, columns=["length"])
    with pytest.raises(DataError, match="column 'island' holds categories"):
        pellucid.replay(model, PENGUINS.X, PENGUINS.y, columns=["island", "body_mass_g"])
    with pytest.raises(ParameterError, match="one or two columns"):
        pellucid.replay(model, PENGUINS.X, PENGUINS.y, columns=[1, 2, 3])


def test_other_rows_than_those_of_the_fit_are_refused():
    with pellucid.watching() as watch:
        SVC().fit(IRIS.X, IRIS.y)
    with pytest.raises(DataError, match=r"used row \d+, but X has 5 rows"):
        pellucid.replay(watch, IRIS.X.slice(0, 5), IRIS.y[[0, 60, 120, 1, 2]])
