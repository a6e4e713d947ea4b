"""`describe` tells what a file holds without building it."""

import json
import subprocess
import sys
import textwrap

import numpy as np

import pellucid
from pellucid import persist
from pellucid.dummy import DummyClassifier
from tests.persist.toys import Toy


def test_a_real_model(tmp_path):
    X = {"age": [1.0, None, 3.0], "sex": ["f", "m", "f"]}
    import pyarrow

    table = pellucid.Table(kinds={"sex": "categorical"})
    model = DummyClassifier(table=table).fit(pyarrow.table(X), ["yes", "no", "no"])
    persist.save(model, tmp_path / "m", {"metric": {"accuracy": 0.5}})
    found = persist.describe(tmp_path / "m")
    assert found.estimator == "pellucid.dummy.DummyClassifier"
    assert found.parameters["strategy"] == "prior"
    assert found.parameters["table"]["kinds"] == {"sex": "categorical"}
    assert found.learned["classes_"] == ["no", "yes"] and found.learned["n_features_in_"] == 2
    assert found.columns == [
        {"name": "age", "kind": "number"},
        {"name": "sex", "kind": "categorical", "levels": ["f", "m"]},
    ]
    assert found.provenance["pellucid"] == pellucid.__version__
    assert found.provenance["metric"] == {"accuracy": 0.5}
    assert found.size == (tmp_path / "m").stat().st_size and found.format == persist.FORMAT
    json.dumps(vars(found))
    for word in ("DummyClassifier", "prior", "sex", "categorical", "accuracy", found.sha256):
        assert word in str(found)


def test_columns_without_names(tmp_path):
    DummyClassifier().fit(np.zeros((4, 3)), [0, 1, 1, 0]).save(tmp_path / "m")
    assert [c["name"] for c in persist.describe(tmp_path / "m").columns] == ["x0", "x1", "x2"]


def test_every_kind_of_value_is_shown(tmp_path):
    model = Toy(alpha=float("-inf"), options={1: (2, np.float32(0.5)), "k": [b"a", None, 2**80]})
    model.nan_, model.large_, model.short_ = float("nan"), np.zeros((30, 2)), np.arange(3)
    model.fortran_ = np.asfortranarray(np.zeros((2, 30)))
    model.long_, model.texts_ = list(range(1000)), tuple(f"é{i}" for i in range(500))
    model.labels_ = np.array(["ab", "é", ""])
    model.when_ = np.array(["2020-01-01"], "M8[D]")
    model.learners_ = [Toy(alpha=3)]
    persist.save(model, tmp_path / "m")
    found = persist.describe(tmp_path / "m")
    assert found.parameters["alpha"] == float("-inf")
    assert found.parameters["options"] == {"1": [2, 0.5], "k": ["61", None, 2**80]}
    assert found.learned["large_"] == "float64 array of shape (30, 2)"
    assert found.learned["fortran_"] == "float64 array of shape (2, 30)"
    assert found.learned["short_"] == [0, 1, 2] and found.learned["labels_"] == ["ab", "é", ""]
    assert found.learned["long_"][:2] == [0, 1] and found.learned["long_"][-1] == "... 1000 in all"
    assert found.learned["texts_"][3] == "é3" and found.learned["texts_"][-1] == "... 500 in all"
    assert found.learned["when_"] == "<M8[D] array of shape (1,)"
    assert found.learned["learners_"] == ["Toy(alpha=3, options=None, child=None)"]
    assert np.isnan(found.learned["nan_"])


def test_text_cannot_command_the_terminal(tmp_path):
    persist.save(Toy(options="\x1b[2Jgone\nlearned", child={"\x07": 1}), tmp_path / "m")
    text = str(persist.describe(tmp_path / "m"))
    assert "\x1b" not in text and "\x07" not in text and "gone\nlearned" not in text


def test_numpy_is_not_needed(tmp_path):
    DummyClassifier().fit([[1.0], [2.0]], ["a", "b"]).save(tmp_path / "m")
    code = """
        import sys
        from pellucid.persist import describe
        assert describe(sys.argv[1]).learned["classes_"] == ["a", "b"]
        assert not {"numpy", "safetensors"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), tmp_path / "m"], check=True)
