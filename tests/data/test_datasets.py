"""Every built-in data set loads offline and is what it says it is."""

import json
import subprocess
import sys

import numpy as np
import pytest

from pellucid.data import datasets, synthetic
from pellucid.errors import DataError, ParameterError
from tests.oracles import shared

SHAPES = {
    "breast_cancer": (569, 30, "diagnosis"),
    "course": (20, 5, "like"),
    "course_ratings": (20, 5, "rating"),
    "diabetes": (442, 10, "progression"),
    "digits": (1797, 64, "digit"),
    "height_weight_foot": (8, 3, "sex"),
    "iris": (150, 4, "species"),
    "moons": (400, 2, "moon"),
    "penguins": (344, 7, "species"),
    "tips": (244, 6, "tip"),
    "two_gaussians": (1000, 2, "label"),
    "wine": (178, 13, "cultivar"),
    "xor": (400, 2, "label"),
    "xor_table": (4, 2, "y"),
}


def test_names():
    assert datasets.names() == sorted(SHAPES)


@pytest.mark.parametrize("name", SHAPES)
def test_shape_target_and_words(name):
    data = datasets.load(name)
    rows, columns, target = SHAPES[name]
    assert data.name == name
    assert data.table.shape == (rows, columns + 1)
    assert data.target == target and target not in data.features
    assert data.X.column_names == data.features
    assert data.y.shape == (rows,)
    regression = name in ("course_ratings", "diabetes", "tips", "xor_table")
    assert data.task == ("regression" if regression else "classification")
    assert len(data.description) > 20 and data.licence
    assert data.table.column(target).null_count == 0


def test_unknown_name_and_option():
    with pytest.raises(DataError, match=r"no data set 'pengins'. Did you mean 'penguins'\? Known:"):
        datasets.load("pengins")
    with pytest.raises(ParameterError, match="unexpected keyword argument 'rows'"):
        datasets.load("moons", rows=3)
    with pytest.raises(ParameterError, match="n must be a whole number"):
        datasets.load("moons", n=1)


def test_two_sets_only_import_scikit_learn():
    code = """
import json, sys
from pellucid.data import datasets
own = set(datasets.names()) - {"digits", "diabetes"}
for name in own:
    datasets.load(name)
print(json.dumps([name for name in ("sklearn", "pandas", "scipy") if name in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert json.loads(done.stdout) == []


def test_penguins_are_the_reference_rows():
    # The reference lists the rows in another order, without the year, and MALE for male.
    reference = shared.frame("penguins.csv")
    ours = datasets.load("penguins").table.to_pandas()[list(reference.columns)]
    ours["sex"] = ours["sex"].str.upper()
    kinds = ours.dtypes.to_dict()
    keys = list(reference.columns)
    pandas = pytest.importorskip("pandas")
    pandas.testing.assert_frame_equal(
        ours.sort_values(keys).reset_index(drop=True),
        reference.astype(kinds).sort_values(keys).reset_index(drop=True),
    )


def test_penguins_missing_cells():
    table = datasets.load("penguins").table
    assert [column.null_count for column in table.columns] == [0, 0, 2, 2, 2, 2, 11, 0]


def test_tips_are_the_reference():
    pandas = pytest.importorskip("pandas")
    ours = datasets.load("tips").table.to_pandas()
    reference = shared.frame("tips.csv")
    pandas.testing.assert_frame_equal(ours, reference.astype(ours.dtypes.to_dict()))


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits", "diabetes"])
def test_sklearns_sets_keep_their_values(name):
    sklearn_datasets = pytest.importorskip("sklearn.datasets")
    X, y = getattr(sklearn_datasets, f"load_{name}")(return_X_y=True)
    data = datasets.load(name)
    ours = np.column_stack([data.X.column(c).to_numpy() for c in data.features])
    np.testing.assert_array_equal(ours, X)
    bunch = getattr(sklearn_datasets, f"load_{name}")()
    assert data.features == [str(column) for column in bunch.feature_names]
    if name in ("iris", "wine", "breast_cancer"):
        assert data.y.tolist() == [str(bunch.target_names[code]) for code in y]
    if data.task == "classification":  # our labels are names: the partition must be theirs
        pairs = set(zip(data.y.tolist(), y.tolist()))
        assert len(pairs) == len(np.unique(y)) == len({label for label, _ in pairs})
    else:
        np.testing.assert_array_equal(data.y, y)


def test_bayes_error_of_two_gaussians():
    assert synthetic.bayes_error(0.4) == pytest.approx(0.0765564608, abs=5e-11)
    assert synthetic.bayes_error(0.5) == pytest.approx(0.0786496035, abs=5e-11)
    data = datasets.load("two_gaussians", n=200_000, p=0.4, random_state=1)
    x1, x2 = (data.X.column(c).to_numpy() for c in data.features)
    best = np.where(2 * x1 + 2 * x2 + np.log(0.4 / 0.6) > 0, 1, -1)
    error = np.mean(best != data.y)
    sd = np.sqrt(0.0766 * 0.9234 / 200_000)
    assert abs(error - data.facts["bayes_error"]) < 4 * sd
    assert abs(np.mean(data.y == 1) - 0.4) < 4 * np.sqrt(0.24 / 200_000)


@pytest.mark.parametrize("name", ["two_gaussians", "moons", "xor"])
def test_drawn_tables_depend_on_their_arguments_alone(name):
    a = datasets.load(name, n=50, random_state=3)
    assert a.table.equals(datasets.load(name, n=50, random_state=3).table)
    assert not a.table.equals(datasets.load(name, n=50, random_state=4).table)


def test_moons_without_noise_are_half_circles():
    made = synthetic.moons(n=101, noise=0.0)
    upper = made["moon"] == "upper"
    assert upper.sum() == 51
    centre = np.where(upper, 0.0, 1.0), np.where(upper, 0.0, 0.5)
    radius = np.hypot(made["x1"] - centre[0], made["x2"] - centre[1])
    np.testing.assert_allclose(radius, 1, atol=1e-12)
    assert made["x2"][upper].min() > -1e-12 and made["x2"][~upper].max() < 0.5 + 1e-12


def test_course_table():
    data = datasets.load("course")
    like = data.y == "like"
    assert like.sum() == 12
    ratings = datasets.load("course_ratings")
    assert np.array_equal(ratings.y >= 0, like) and ratings.X.equals(data.X)
    # (rows, likes) where the answer is yes, as in the worked example.
    expected = {
        "easy": (10, 6),
        "prerequisites": (11, 9),
        "same_lecturer": (10, 2),
        "labs": (10, 8),
        "morning": (9, 4),
    }
    for name, counts in expected.items():
        yes = data.X.column(name).to_numpy(zero_copy_only=False) == "yes"
        assert (yes.sum(), like[yes].sum()) == counts


def test_xor_columns_alone_say_nothing():
    made = synthetic.xor(n=400, noise=0.0)
    same = made["label"] == "same"
    for column in ("a", "b"):
        assert np.mean(same[made[column] == 1]) == np.mean(same[made[column] == 0]) == 0.5
    assert np.array_equal(same, made["a"] == made["b"])
