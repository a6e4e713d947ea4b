"""Rules and pictures of trees say what the tree does."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from pellucid.errors import DataError, ParameterError
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_rules, export_svg

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
    assert f"{hidden} questions below" in picture


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
    with pytest.raises(ParameterError, match="lower max_depth"):
        export_svg(large, max_depth=100)


def test_a_leaf_alone():
    model = DecisionTreeRegressor().fit([[1.0], [1.0]], [2.0, 4.0])
    assert export_rules(model) == ["if anything then value: [3.00] (2 samples)"]
    assert "3.00" in _texts(export_svg(model))
