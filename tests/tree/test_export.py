"""Rules and pictures of trees say what the tree does."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from sklearn.datasets import load_iris

from pellucid.ensemble import RandomForestClassifier
from pellucid.errors import DataError, ParameterError
from pellucid.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    export_rules,
    export_svg,
    export_text,
    formatting,
)
from pellucid.tree.export import drawn_nodes

SVG = "{http://www.w3.org/2000/svg}"


def _frame(n=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "height": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "colour": rng.choice(["red", "green", "<blue>"], n),
        }
    )
    y = np.where((frame.colour == "red") | (frame.height > 0.5), "yes", "no")
    return frame, y


def _follows(rule, row):
    """Whether a row fits the conditions of a rule."""
    for part in re.match("if (.*) then", rule)[1].split(" and "):
        absent = part.endswith("or missing)")
        name, sign, value = re.match(
            r"\(?(\S+) (<=|> |in|is) (.*?)( or missing\))?$", part
        ).groups()[:3]
        cell = row[name]
        if sign == "is":
            fits = pd.isna(cell) == (value == "missing")
        elif pd.isna(cell):
            fits = absent
        elif sign == "in":
            fits = cell in value.strip("{}").split(", ")
        else:
            fits = cell <= float(value) if sign == "<=" else cell > float(value)
        if not fits:
            return False
    return True


def test_every_row_follows_one_rule_and_it_predicts():
    frame, y = _frame()
    model = DecisionTreeClassifier().fit(frame, y)
    rules = export_rules(model, decimals=17)
    assert len(rules) == model.get_n_leaves()
    for (_, row), predicted in zip(frame.iterrows(), model.predict(frame)):
        own = [rule for rule in rules if _follows(rule, row)]
        assert len(own) == 1
        assert f"class: {predicted} (" in own[0]


def _texts(picture):
    return ["".join(e.itertext()) for e in ET.fromstring(picture).iter(f"{SVG}text")]


def test_picture_shows_questions_answers_and_counts():
    frame, y = _frame()
    model = DecisionTreeClassifier().fit(frame, y)
    texts = _texts(export_svg(model, max_depth=10))
    inner = (model.tree_.feature >= 0).sum()
    assert sum(t.startswith(("height", "colour")) for t in texts) == inner
    assert texts.count("yes") + texts.count("no") >= 2 * inner + model.get_n_leaves()
    assert any("<blue>" in t for t in texts)
    for n in model.tree_.n_samples:
        assert str(n) in texts


def test_branches_below_the_depth_are_one_box():
    frame, y = _frame()
    rng = np.random.default_rng(1)
    model = DecisionTreeRegressor().fit(frame, rng.normal(size=len(y)))
    picture = export_svg(model, max_depth=2)
    boxes = list(ET.fromstring(picture).iter(f"{SVG}rect"))
    depths = model.tree_.depths()
    assert len(boxes) == (depths <= 2).sum()
    cut = ((depths == 2) & (model.tree_.feature >= 0)).sum()
    assert sum("stroke-dasharray" in box.attrib for box in boxes) == cut > 0
    hidden = ((depths >= 2) & (model.tree_.feature >= 0)).sum()
    assert f"{hidden} splits below" in picture


@pytest.mark.parametrize("row", [0, 7, 31])
def test_the_way_of_a_row_is_bold(row):
    frame, y = _frame()
    model = DecisionTreeClassifier().fit(frame, y)
    picture = ET.fromstring(export_svg(model, max_depth=50, row=frame[row : row + 1]))
    bold = [k for k, b in enumerate(picture.iter(f"{SVG}rect")) if b.get("stroke-width") == "2.5"]
    assert bold == sorted(model.decision_path(frame[row : row + 1]).indices.tolist())


def test_wrong_requests_are_named():
    frame, y = _frame()
    model = DecisionTreeClassifier().fit(frame, y)
    with pytest.raises(DataError, match="one row"):
        export_svg(model, row=frame[:2])
    rng = np.random.default_rng(0)
    large = DecisionTreeRegressor().fit(rng.normal(size=(400, 2)), rng.normal(size=400))
    with pytest.raises(ParameterError, match="Lower max_depth"):
        export_svg(large, max_depth=100)


def test_a_leaf_alone():
    model = DecisionTreeRegressor().fit([[1.0], [1.0]], [2.0, 4.0])
    assert export_rules(model) == ["if anything then value: [3.00] (2 samples)"]
    assert "3.00" in _texts(export_svg(model))


def test_small_numbers_keep_their_digits():
    X = pd.DataFrame({"rate": [1e-6, 2e-6, 3e-6, 4e-6]})
    model = DecisionTreeRegressor().fit(X, [1e-5, 2e-5, 3e-5, 4e-5])
    rules = export_rules(model)
    assert rules[1] == "if rate <= 2.5e-06 and rate >  1.5e-06 then value: [2e-05] (1 samples)"
    for (_, row), predicted in zip(X.iterrows(), model.predict(X)):
        own = [rule for rule in rules if _follows(rule, row)]
        assert len(own) == 1 and f"[{predicted:.3g}]" in own[0]
    assert "2.5e-06" in export_text(model) and "2.5e-06" in export_svg(model)


@pytest.mark.parametrize("shift", [0.0, 1e6, -3e12])
def test_thresholds_of_a_path_look_different(shift):
    x = shift + np.arange(5) * 1e-3
    model = DecisionTreeRegressor().fit(x[:, None], np.arange(5.0))
    for rule in export_rules(model, feature_names=["x"]):
        shown = re.findall(r"x (?:<=|> ) (\S+)", rule)
        assert len(shown) == len(set(shown))


def test_plain_numbers_have_two_places():
    model = DecisionTreeRegressor(max_depth=1).fit([[1.0], [2.0], [1000.0]], [0.0, 0.0, 1234.5678])
    assert export_rules(model) == [
        "if x0 <= 501.00 then value: [0.00] (2 samples)",
        "if x0 >  501.00 then value: [1234.57] (1 samples)",
    ]


def test_hostile_names_stay_readable():
    X = pd.DataFrame({"a\nb": ["a, b", "", "}", "plain", "tab\there"] * 4})
    y = ["odd\nclass", "x", "odd\nclass", "x", "x"] * 4
    model = DecisionTreeClassifier().fit(X, y)
    text = export_text(model)
    assert all(line.startswith("|") for line in text.splitlines())
    assert '{"a, b", "}"}' in text and "odd\\nclass" in text
    assert {'""', "plain", '"tab\\there"'} == set(
        re.search(r"in \{(\S*, plain, .*|.*plain.*)\}", text)[1].split(", ")
    )
    assert all("\n" not in rule for rule in export_rules(model))


@pytest.mark.parametrize("function", [export_text, export_rules, export_svg])
def test_what_is_no_tree_is_named(function):
    forest = RandomForestClassifier(2, random_state=0).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ParameterError, match=r"type RandomForestClassifier.* Use one of its"):
        function(forest)
    with pytest.raises(ParameterError, match=r"needs a fitted .* type int"):
        function(5)
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ParameterError, match="'decimals' parameter"):
        function(tree, decimals=-1)


def test_depths_below_zero_are_refused():
    tree = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ParameterError, match="'max_depth' parameter of export_text"):
        export_text(tree, max_depth=-1)


def test_trees_deeper_than_the_stack_of_python():
    n = 1500
    model = DecisionTreeRegressor().fit(np.arange(n * 1.0)[:, None], np.exp(-np.arange(n) / 3.0))
    assert model.get_depth() > 1000
    rules = export_rules(model)
    assert len(rules) == model.get_n_leaves()
    assert max(rule.count(" and ") for rule in rules) == model.get_depth() - 1
    lines = export_text(model, max_depth=5000).splitlines()
    assert len(lines) == model.tree_.n_nodes - 1 + model.get_n_leaves()


@pytest.mark.parametrize("argument", ["feature_names", "class_names"])
@pytest.mark.parametrize("value", [5, True, "name"])
def test_names_must_be_a_list(argument, value):
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(
        ParameterError, match=f"'{argument}' parameter of export_text must be a list"
    ):
        export_text(model, **{argument: value})


def test_dates_are_shown_as_dates():
    days = pd.DataFrame({"d": pd.date_range("2020-01-01", periods=4, freq="D")})
    model = DecisionTreeClassifier().fit(days, [0, 0, 1, 1])
    assert export_text(model).splitlines()[0] == "|--- d <= 2020-01-02 12:00"
    noon = pd.DataFrame({"d": pd.to_datetime(["2020-01-01 12:00", "2020-01-02 12:00"])})
    assert "d <= 2020-01-02 then" in export_rules(DecisionTreeClassifier().fit(noon, [0, 1]))[0]
    assert formatting.date(0.5 + 1 / 86400) == "1970-01-01 12:00:01"
    assert formatting.date(1.5 / 86400) == "1970-01-01 00:00:01.500"
    assert formatting.date(1e9) == "day 1000000000"


def test_columns_without_names_are_called_as_in_scikit_learn():
    X, y = load_iris(return_X_y=True)
    theirs = sklearn.tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    ours = DecisionTreeClassifier(max_depth=2).fit(X[:, [3, 2, 1, 0]], y)
    assert export_text(ours).startswith("|--- feature_0 <= 0.80\n")
    assert "feature_3" in sklearn.tree.export_text(theirs)


@pytest.mark.parametrize("shift", [0.0, -7.0, 1e3])
def test_bars_of_a_regression_tree_go_from_the_lowest_to_the_highest_mean(shift):
    model = DecisionTreeRegressor().fit([[0.0], [1.0], [2.0]], np.array([1.0, 2.0, 5.0]) + shift)
    boxes, numbers, _ = drawn_nodes(
        model, feature_names=None, class_names=None, max_depth=10, decimals=2
    )
    means = model.tree_.value[:, 0]
    expected = (means - means.min()) / (means.max() - means.min())
    bars = [boxes[numbers[i]].shares[0] for i in range(len(means))]
    np.testing.assert_allclose(bars, expected, atol=1e-12)
