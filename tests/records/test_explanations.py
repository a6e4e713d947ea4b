"""Explanations, prototypes and summaries: checked when made, additive, readable, harmless."""

import dataclasses
import math
import subprocess
import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.errors import ParameterError
from pellucid.records import Explanation, Prototypes, SummaryTable
from pellucid.records.outcome import lead
from tests.draw.gallery import HOSTILE


def explanation(**changes):
    fields = {
        "base": np.array([-0.5]),
        "contributions": np.array([[[2.0], [1.25], [-0.5], [0.25]], [[-2.0], [1.0], [0.0], [0.0]]]),
        "prediction": np.array([[2.5], [-1.5]]),
        "columns": ["area", "texture", "symmetry", "age"],
        "classes": ("benign", "malignant"),
        "scale": "log-odds",
        "method": "linear",
    }
    return Explanation(**(fields | changes))


def three_classes(scale="log-odds"):
    contributions = np.arange(24.0).reshape(4, 2, 3) / 8
    base = np.array([1.0, 0.0, -1.0])
    prediction = base + contributions.sum(axis=1)
    return Explanation(base, contributions, prediction, ("x", "y"), "abc", scale, "sum")


def test_sentence_speaks_about_the_second_of_two_classes():
    text = str(explanation(values=[[1410, 3.5], [33, 4], ["a", None], [5, 6]], rows=[17, "last"]))
    assert text.splitlines() == [
        "row 17 -> malignant  p(malignant) 0.924  baseline 0.378  area 1410 (+2)  "
        "texture 33 (+1.25)  symmetry a (-0.5)  ...  -0.5 + contributions = 2.5 (log-odds of malignant)",
        "row last -> benign  p(malignant) 0.182  baseline 0.378  area 3.5 (-2)  texture 4 (+1)  "
        "symmetry  (+0)  ...  -0.5 + contributions = -1.5 (log-odds of malignant)",
    ]


def test_sentence_of_a_regression():
    text = str(explanation(classes=None, scale="response"))
    assert text.splitlines()[1] == (
        "row 1 -> -1.5  baseline -0.5  area (-2)  texture (+1)  symmetry (+0)  ...  "
        "-0.5 + contributions = -1.5 (response)"
    )


def test_long_explanations_are_cut_and_say_so():
    n = 25
    many = explanation(contributions=np.zeros((n, 4, 1)), prediction=np.full((n, 1), -0.5))
    assert str(many).splitlines()[-1] == "... and 15 more rows"
    assert "15 more rows" in many._repr_html_()
    none = explanation(contributions=np.zeros((0, 4, 1)), prediction=np.zeros((0, 1)))
    assert str(none) == "No rows to explain."
    assert none.is_additive()
    ET.fromstring(none._repr_html_())


def test_additivity_is_measured():
    good = explanation()
    assert good.gap() == 0
    assert good.is_additive()
    wrong = explanation(prediction=np.array([[2.5], [-1.25]]))
    assert wrong.gap() == 0.25
    assert not wrong.is_additive()
    first, second = str(wrong).splitlines()
    assert "+ contributions = 2.5" in first
    assert "+ contributions differ from -1.25" in second


def test_infinite_log_odds_add_up():
    certain = explanation(
        contributions=np.array([[[math.inf], [1.0], [0.0], [0.0]]]), prediction=[[math.inf]]
    )
    assert certain.is_additive()
    assert "p(malignant) 1 " in str(certain)
    lost = explanation(contributions=np.full((1, 4, 1), math.nan), prediction=[[1.0]])
    assert not lost.is_additive()


def test_frame_is_wide_and_keeps_the_users_names():
    frame = explanation(columns=["(row)", "texture", "(prediction)", "age"]).frame()
    assert list(frame) == [
        "((row))", "(class)", "(baseline)", "(row)", "texture", "(prediction)", "age",
        "((prediction))",
    ]  # fmt: skip
    assert frame["((row))"] == [0, 1]
    assert frame["(class)"] == ["malignant", "malignant"]
    assert frame["texture"] == [1.25, 1.0]
    assert frame["((prediction))"] == [2.5, -1.5]


def test_frame_has_one_line_per_row_and_class():
    record = three_classes()
    frame = record.frame()
    assert frame["(class)"] == list("abc") * 4
    assert frame["(row)"] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]
    total = np.add(np.add(frame["(baseline)"], frame["x"]), frame["y"])
    np.testing.assert_allclose(total, frame["(prediction)"])


@pytest.mark.parametrize("backend", ["pandas", "polars", "arrow"])
def test_frames_of_the_callers_choice(backend):
    module = pytest.importorskip({"arrow": "pyarrow"}.get(backend, backend))
    frame = explanation().frame(backend)
    assert type(frame).__module__.split(".")[0] == module.__name__
    assert len(frame) == 2


def test_unknown_frames_are_refused():
    with pytest.raises(ParameterError, match="'backend'"):
        explanation().frame("excel")


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ParameterError, match="needs the package polars"):
        explanation().frame("polars")


def test_records_import_no_frame_package():
    code = (
        "import sys, numpy; from pellucid.records import SummaryTable;"
        "t = SummaryTable('t', {}, ['a'], [[1.0]]); str(t); t._repr_html_(); t.frame();"
        "print([m for m in ('pandas', 'polars', 'pyarrow', 'scipy', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("base", [[0.0]]),
        ("base", ["a"]),
        ("contributions", np.zeros((2, 3, 1))),
        ("contributions", np.zeros((2, 4, 2))),
        ("contributions", [[[1], [2]], [[3]]]),
        ("prediction", np.zeros((3, 1))),
        ("prediction", np.zeros((2, 1), dtype=complex)),
        ("columns", "area"),
        ("columns", [1, 2, 3, 4]),
        ("classes", ("a", "b", "c")),
        ("scale", "logit"),
        ("method", None),
        ("values", [[1, 2]]),
        ("values", [[1]] * 4),
        ("rows", [1]),
    ],
)
def test_wrong_explanations_are_refused(field, value):
    named = {"columns": r"columns|contributions"}.get(field, field)
    with pytest.raises(ParameterError, match=rf"The '({named})' field of Explanation must be"):
        explanation(**{field: value})


def test_explanations_cannot_be_changed():
    record = explanation()
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.scale = "link"
    with pytest.raises(ValueError, match="read-only"):
        record.base[0] = 1.0


def test_html_names_what_it_shows():
    def heads(record):
        return [th.text for th in ET.fromstring(record._repr_html_()).iter("th")][:5]

    assert heads(explanation())[:4] == ["row", "prediction", "p(malignant)", "baseline"]
    assert heads(explanation(scale="votes"))[2] == "votes(malignant)"
    assert heads(explanation(classes=None, scale="response"))[1:3] == ["response", "baseline"]


def test_html_escapes_names_from_the_table():
    n = len(HOSTILE)
    record = Explanation(
        [0.0], np.ones((1, n, 1)), [[float(n)]], [f"{h}{i}" for i, h in enumerate(HOSTILE)],
        (HOSTILE[0], HOSTILE[1]), "votes", HOSTILE[2], values=[[h] for h in HOSTILE], rows=[HOSTILE[0]],
    )  # fmt: skip
    markup = record._repr_html_()
    ET.fromstring(markup)
    assert "<script" not in markup
    assert "\x1b" not in str(record)
    assert len(str(record).splitlines()) == 1


@given(st.floats(-50, 50), st.floats(-50, 50))
def test_of_two_classes_the_second_is_spoken_of(base, total):
    outcome = lead(np.array([base]), np.array([total]), ("no", "yes"), "log-odds")
    assert outcome.label == ("yes" if total > 0 else "no")
    assert (outcome.of, outcome.k, outcome.total) == ("yes", 0, total)
    assert outcome.shown == pytest.approx(1 / (1 + math.exp(-total)))
    assert outcome.baseline == pytest.approx(1 / (1 + math.exp(-base)))


@pytest.mark.parametrize(
    ("scale", "label", "said"),
    [
        ("probability", "no", "no  p(yes) 0.25"),
        ("votes", "yes", "yes  votes(yes) 0.25"),
        ("link", "yes", "yes  link(yes) 0.25"),
    ],
)
def test_two_classes_on_other_scales(scale, label, said):
    outcome = lead(np.array([0.5]), np.array([0.25]), ("no", "yes"), scale)
    assert (outcome.label, outcome.of, outcome.shown, outcome.total) == (label, "yes", 0.25, 0.25)
    assert str(outcome) == said


def test_several_classes_share_probability():
    outcome = lead(np.zeros(3), np.log([1.0, 2.0, 1.0]), ("a", "b", "c"), "log-odds")
    assert (outcome.label, outcome.k) == ("b", 1)
    assert outcome.shown == pytest.approx(0.5)
    assert outcome.baseline == pytest.approx(1 / 3)
    sure = lead(np.zeros(2), np.array([-math.inf, math.inf]), ("a", "b"), "log-odds")
    assert sure.shown == 1
    assert str(three_classes("votes")).startswith("row 0 -> a 1.38  baseline 1")


def prototypes(**changes):
    fields = {
        "rows": np.array([[3, 9, 1], [4, -1, -1]]),
        "distances": [[0.1, 0.25, 0.3], [0.5, math.nan, math.nan]],
        "votes": [[[0.2], [0.2], [-0.4]], [[-1.0], [0.0], [0.0]]],
        "prediction": [[0.25], [-0.75]],
        "classes": ("no", "yes"),
        "scale": "votes",
        "method": "3 nearest neighbours",
        "base": [0.25],
    }
    return Prototypes(**(fields | changes))


def test_prototypes_add_up_and_speak():
    record = prototypes()
    assert record.is_additive()
    assert str(record).splitlines() == [
        "row 0 -> yes  votes(yes) 0.25  training row 1 at 0.3 (-0.4)  training row 3 at 0.1 (0.2)  "
        "training row 9 at 0.25 (0.2)  votes 0.25 by 3 rows",
        "row 1 -> no  votes(yes) -0.75  training row 4 at 0.5 (-1)  votes -0.75 by 1 rows",
    ]
    assert not prototypes(base=[0.5]).is_additive()
    assert prototypes(base=[0.5], others=[[-0.25], [-0.25]]).is_additive()
    ET.fromstring(record._repr_html_())


def test_prototypes_name_the_rows_they_explain():
    record = prototypes(explained=(17, 5))
    assert [line.split(" -> ")[0] for line in str(record).splitlines()] == ["row 17", "row 5"]
    assert record.frame()["row"] == [17, 17, 17, 5]
    with pytest.raises(ValueError, match="explained"):
        prototypes(explained=(17,))


def test_prototypes_as_a_frame_leave_out_what_is_not_there():
    frame = prototypes().frame()
    assert frame["row"] == [0, 0, 0, 1]
    assert frame["prototype"] == [3, 9, 1, 4]
    assert frame["vote"] == [0.2, 0.2, -0.4, -1.0]
    several = prototypes(
        votes=np.zeros((2, 3, 2)), prediction=np.zeros((2, 2)), base=np.zeros(2), classes="ab"
    )
    assert list(several.frame())[3:] == ["vote for a", "vote for b"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("rows", [[-2, 0, 0], [0, 0, 0]]),
        ("rows", [1, 2]),
        ("distances", np.zeros((2, 2))),
        ("votes", np.zeros((2, 3))),
        ("prediction", np.zeros((2, 2))),
        ("others", np.zeros(2)),
        ("classes", "abc"),
        ("scale", "gini"),
    ],
)
def test_wrong_prototypes_are_refused(field, value):
    with pytest.raises(ParameterError, match=rf"The '{field}' field of Prototypes must be"):
        prototypes(**{field: value})


def summary(**changes):
    fields = {
        "title": "Ordinary least squares",
        "header": {"rows": 569, "R²": 0.8765432},
        "columns": ["term", "coef", "p"],
        "rows": [
            ["intercept", 12.5, 1e-16],
            ["age", np.float64(0.033), 0.0034],
            ["twin", None, None],
        ],
        "notes": ["'twin' is a combination of other columns."],
    }
    return SummaryTable(**(fields | changes))


def test_summary_text():
    assert str(summary()).splitlines() == [
        "Ordinary least squares",
        "rows  569",
        "R²    0.8765",
        "",
        "term         coef       p",
        "---------  ------  ------",
        "intercept  12.500   1e-16",
        "age         0.033  0.0034",
        "twin",
        "'twin' is a combination of other columns.",
    ]
    assert repr(summary()) == str(summary())


def test_summary_frame_is_not_rounded():
    assert summary().frame()["coef"] == [12.5, 0.033, None]
    frame = summary().frame("polars")
    assert frame["p"].to_list() == [1e-16, 0.0034, None]


def test_summary_html_is_escaped():
    record = summary(
        title=HOSTILE[0], header={HOSTILE[0]: HOSTILE[1]}, notes=[HOSTILE[0]],
        rows=[[h, 1.0, None] for h in HOSTILE],
    )  # fmt: skip
    ET.fromstring(record._repr_html_())
    assert "<script" not in record._repr_html_()
    assert "<style" not in record.html(style=False)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("title", None),
        ("header", [("a",)]),
        ("header", {1: 2}),
        ("header", {"a": [1]}),
        ("columns", ["term", "term", "p"]),
        ("columns", "abc"),
        ("rows", [["a", 1.0]]),
        ("rows", [["a", 1.0, [2]]]),
        ("notes", "one note"),
        ("notes", [1]),
    ],
)
def test_wrong_summaries_are_refused(field, value):
    with pytest.raises(ParameterError, match=rf"The '{field}' field of SummaryTable must be"):
        summary(**{field: value})


def test_a_chance_near_one_is_not_called_certain():
    said = str(Explanation([0.0], [[[12.0]]], [[12.0]], ["a"], ("no", "yes"), "log-odds", "linear"))
    assert said.startswith("row 0 -> yes  p(yes) >0.999  baseline 0.5")
