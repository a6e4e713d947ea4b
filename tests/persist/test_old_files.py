"""Files of every format version load for ever, with equal bits and equal answers.

`python -m tests.persist.test_old_files` writes the files of the present format. Those of a released
version are never written again; a new format gets new files beside the old ones.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import pellucid
from pellucid.dummy import DummyClassifier, DummyRegressor
from pellucid.ensemble import HistGradientBoostingRegressor
from pellucid.linear_model import LinearRegression
from pellucid.naive_bayes import MultinomialNB
from pellucid.persist import FORMAT
from pellucid.persist.container import open_file
from pellucid.tree import DecisionTreeClassifier

FILES = Path(__file__).parent / "files"
ROWS = 40


def table():
    """Numbers with gaps and two categories, without any random numbers."""
    import pyarrow

    i = np.arange(ROWS)
    return pyarrow.table(
        {
            "length": ((i * 37) % 101) / 7.0,
            "größe": [None if k % 9 == 0 else float((k * 53) % 97) / 11 for k in i],
            "colour": [["red", "green", "blue"][k % 3] for k in i],
            "site": [None if k % 13 == 0 else f"s{(k * 7) % 35:02d}" for k in i],
        }
    )


def models():
    """One model of each kind of state: labels, arrays, text, and every record and option."""
    i = np.arange(ROWS)
    labels, number = np.array(["no", "oui", "så"])[(i * 11) % 7 % 3], ((i * 29) % 83) / 3.0
    options = pellucid.Table(kinds={"site": "categorical"})
    words = pellucid.Table(kinds={"colour": "text"}, text=pellucid.Text(mode="binary"))
    return {
        "dummy_classifier": DummyClassifier(strategy="prior", table=options).fit(table(), labels),
        "dummy_regressor": DummyRegressor(strategy="quantile", quantile=0.3).fit(table(), number),
        "linear_regression": LinearRegression().fit(table(), number),
        "decision_tree": DecisionTreeClassifier(random_state=0).fit(table(), labels),
        "boosting": HistGradientBoostingRegressor(max_iter=2, random_state=0).fit(table(), number),
        "words": MultinomialNB(table=words).fit(table(), labels),
        "formula": pellucid.formula.ols(
            "number ~ scale(length) * C(colour)", table().append_column("number", [number])
        ),
    }


def answers(model):
    """What the model says, in numbers whose text keeps every bit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {"predict": model.predict(table()).tolist()}
        if hasattr(model, "predict_proba"):
            found["predict_proba"] = model.predict_proba(table()).tolist()
    return found


@pytest.mark.parametrize("path", sorted(FILES.glob("*.pellucid")), ids=lambda path: path.stem)
def test_an_old_file_loads_and_answers_as_it_did(path, tmp_path):
    model = pellucid.load(path)
    expected = json.loads(path.with_suffix(".json").read_text())
    for method, answer in answers(model).items():
        if isinstance(answer[0], str) or "tree" in path.stem or "dummy" in path.stem:
            assert answer == expected[method]  # no sums: the same on every machine
        else:
            np.testing.assert_allclose(answer, expected[method], rtol=1e-13)


@pytest.mark.parametrize("path", sorted(FILES.glob("*.pellucid")), ids=lambda path: path.stem)
def test_nothing_of_an_old_file_is_lost(path, tmp_path):
    """Saved again, its arrays have equal bits; only the number of a leaf's column is -2, once -1."""
    pellucid.load(path).save(tmp_path / "m")
    old, new = open_file(path), open_file(tmp_path / "m")
    for name, tensor in old.tensors.items():
        again = new.tensors[name]
        assert (tensor.dtype, tensor.shape) == (again.dtype, again.shape)
        before, after = old.data[tensor.begin : tensor.end], new.data[again.begin : again.end]
        if name.endswith("tree_.feature"):
            columns = np.frombuffer(before, dtype=np.int32)
            before = np.where(columns == -1, -2, columns).astype(np.int32).tobytes()
        assert before == after


def test_every_format_has_files():
    found = {path.stem.partition("_")[0] for path in FILES.glob("*.pellucid")}
    assert found == {f"v{version}" for version in range(1, FORMAT + 1)}


def main():
    for name, model in models().items():
        path = FILES / f"v{FORMAT}_{name}.pellucid"
        model.save(path)
        path.with_suffix(".json").write_text(json.dumps(answers(model), indent=1) + "\n")


if __name__ == "__main__":
    main()
