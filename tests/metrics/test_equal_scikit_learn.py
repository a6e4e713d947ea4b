"""Every metric equals scikit-learn's of the same name: random rows, weights, averages and classes."""

import inspect
import re
import warnings

import numpy as np
import pytest
import sklearn.metrics
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import metrics
from pellucid.errors import PellucidError, UndefinedMetricWarning

TOLERANCE = {"rtol": 1e-12, "atol": 1e-13, "equal_nan": True}
LABELS = ["accuracy_score", "zero_one_loss", "balanced_accuracy_score", "matthews_corrcoef"]
AVERAGED = ["precision_score", "recall_score", "f1_score", "jaccard_score"]
NUMBERS = [
    "mean_squared_error", "root_mean_squared_error", "mean_absolute_error", "r2_score",
    "mean_absolute_percentage_error", "median_absolute_error", "explained_variance_score",
    "mean_pinball_loss",
]  # fmt: skip
POSITIVE = [
    "mean_squared_log_error", "root_mean_squared_log_error", "mean_poisson_deviance",
    "mean_gamma_deviance", "mean_tweedie_deviance",
]  # fmt: skip


@st.composite
def cases(draw, classes=(2, 4)):
    """Rows with classes, predicted classes, scores, probabilities, numbers, and perhaps weights."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n, k = draw(st.integers(2, 30)), draw(st.integers(*classes))
    names = draw(st.sampled_from([np.arange(k), np.array(list("dbac"))[:k], np.arange(k) * 3 - 1]))
    proba = rng.dirichlet(np.ones(k), n)
    weights = [None, rng.integers(0, 3, n) + (np.arange(n) == 0), rng.random(n) + 0.1]
    return {
        "true": names[rng.integers(k, size=n)],
        "pred": names[rng.integers(k, size=n)],
        "codes": rng.integers(2, size=n),
        "score": rng.integers(0, 6, n) / 5,
        "proba": proba,
        "names": names,
        "y": rng.gamma(1, 1, n) + 0.01,
        "f": rng.gamma(1, 1, n) + 0.01,
        "weight": weights[draw(st.integers(0, 2))],
    }


def both(name, *args, **kwargs):
    """The values of ours and theirs; warnings are another test's business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(sklearn.metrics, name)(*args, **kwargs)
        ours = getattr(metrics, name)(*args, **kwargs)
    return ours, theirs


def agree(name, *args, **kwargs):
    ours, theirs = both(name, *args, **kwargs)
    pairs = zip(ours, theirs, strict=True) if isinstance(theirs, tuple) else [(ours, theirs)]
    for mine, other in pairs:
        assert (mine is None) == (other is None)
        if other is not None:
            np.testing.assert_allclose(mine, other, **TOLERANCE, err_msg=f"{name} {kwargs}")


@given(case=cases())
@settings(max_examples=40, deadline=None)
def test_labels(case):
    arguments, weight = (case["true"], case["pred"]), {"sample_weight": case["weight"]}
    for name in LABELS:
        agree(name, *arguments, **weight)
    agree("accuracy_score", *arguments, normalize=False, **weight)
    for normalize in (None, "true", "pred", "all"):
        agree("confusion_matrix", *arguments, normalize=normalize, **weight)
    agree("confusion_matrix", *arguments, labels=case["true"][:1], **weight)
    if len(np.union1d(*arguments)) > 1:
        for weights in (None, "linear", "quadratic"):
            agree("cohen_kappa_score", *arguments, weights=weights, **weight)


@given(case=cases(), zero=st.sampled_from([0, 1, np.nan, "warn"]))
@settings(max_examples=40, deadline=None)
def test_averages(case, zero):
    arguments = (case["true"], case["pred"])
    options = {"sample_weight": case["weight"], "zero_division": zero}
    for average in (None, "micro", "macro", "weighted"):
        for name in AVERAGED:
            if name == "jaccard_score" and zero != zero:  # theirs refuses NaN
                continue
            agree(name, *arguments, average=average, **options)
        agree("fbeta_score", *arguments, beta=0.5, average=average, **options)
        agree("precision_recall_fscore_support", *arguments, average=average, **options)
    present = np.union1d(*arguments)
    if len(present) == 2:
        for name in AVERAGED[:3]:
            agree(name, *arguments, pos_label=present[0], **options)
    chosen = case["names"][::-1][:2]
    agree("f1_score", *arguments, labels=chosen, average="macro", **options)


@given(case=cases(classes=(2, 2)))
@settings(max_examples=40, deadline=None)
def test_scores_of_two_classes(case):
    y, weight = case["codes"], {"sample_weight": case["weight"]}
    counted = np.ones(len(y)) if case["weight"] is None else case["weight"]
    agree("log_loss", y, case["proba"], labels=[0, 1], **weight)
    agree("brier_score_loss", y, case["score"], **weight)
    agree("average_precision_score", y, case["score"], **weight)
    for drop in (True, False):
        agree("precision_recall_curve", y, case["score"], drop_intermediate=drop, **weight)
    if counted[y == 0].sum() and counted[y == 1].sum():
        for drop in (True, False):
            agree("roc_curve", y, case["score"], drop_intermediate=drop, **weight)
        for limit in (None, 0.3, 1):
            agree("roc_auc_score", y, case["score"], max_fpr=limit, **weight)
        agree("roc_curve", y, case["score"], pos_label=0, **weight)


@given(case=cases(classes=(3, 4)))
@settings(max_examples=40, deadline=None)
def test_scores_of_several_classes(case):
    y, proba, weight = case["true"], case["proba"], {"sample_weight": case["weight"]}
    names = np.sort(case["names"])
    agree("log_loss", y, proba, labels=names, **weight)
    agree("log_loss", y, proba, labels=names, normalize=False, **weight)
    agree("brier_score_loss", y, proba, labels=names, **weight)
    counted = np.ones(len(y)) if case["weight"] is None else case["weight"]
    if all(counted[y == name].sum() for name in names):
        for average in ("macro", "weighted", "micro", None):
            agree("roc_auc_score", y, proba, multi_class="ovr", average=average, **weight)
            agree("average_precision_score", y, proba, average=average, **weight)
        for average in ("macro", "weighted"):
            agree("roc_auc_score", y, proba, multi_class="ovo", average=average)


@given(case=cases())
@settings(max_examples=40, deadline=None)
def test_numbers(case):
    y, f, weight = case["y"], case["f"], {"sample_weight": case["weight"]}
    for name in NUMBERS + POSITIVE:
        agree(name, y, f, **weight)
    agree("max_error", y, f)
    agree("mean_pinball_loss", y, f, alpha=0.1, **weight)
    for power in (-1.5, 0, 1, 1.5, 2, 3):
        agree("mean_tweedie_deviance", y, f, power=power, **weight)
    both_columns = np.column_stack([y, f]), np.column_stack([f, f])
    for multioutput in ("raw_values", "uniform_average", [0.3, 0.7]):
        for name in NUMBERS:
            agree(name, *both_columns, multioutput=multioutput, **weight)
    agree("r2_score", *both_columns, multioutput="variance_weighted", **weight)
    agree("r2_score", np.ones(len(y)), f, force_finite=False, **weight)
    agree("r2_score", np.ones(len(y)), f, **weight)


@given(case=cases())
@settings(max_examples=15, deadline=None)
def test_the_report_is_the_same_text(case):
    for options in ({}, {"digits": 4}, {"labels": case["true"][:1]}, {"zero_division": 1}):
        ours, theirs = both("classification_report", case["true"], case["pred"], **options)
        assert ours == re.sub(r"\.0$", "", theirs, flags=re.M)  # counts without weights are whole


@pytest.mark.parametrize("name", metrics.__all__)
def test_the_call_form_is_theirs(name):
    ours = inspect.signature(getattr(metrics, name)).parameters.values()
    theirs = inspect.signature(getattr(sklearn.metrics, name)).parameters
    for parameter in ours:
        assert parameter.name in theirs
        if parameter.name != "y_proba":  # theirs has a default while a name is deprecated
            assert parameter.default == theirs[parameter.name].default
            assert parameter.kind == theirs[parameter.name].kind


@pytest.mark.parametrize(
    ("name", "arguments", "options", "text"),
    [
        ("accuracy_score", ([1, 2], [1, 2, 3]), {}, "2 rows and y_pred has 3"),
        ("accuracy_score", ([], []), {}, "no rows"),
        ("accuracy_score", (["a"], [1]), {}, "contains text"),
        ("accuracy_score", ([[1, 0], [0, 1]], [[1, 0], [0, 1]]), {}, "several labels"),
        ("f1_score", ([1, 2, 3], [1, 2, 3]), {}, "needs two classes"),
        ("f1_score", (["a", "b"], ["a", "b"]), {}, "pos_label must be one of"),
        ("f1_score", ([0, 1], [0, 1]), {"average": "samples"}, "average must be one of"),
        ("precision_score", ([0, 1], [0, 1]), {"zero_division": 2}, "zero_division must be"),
        ("confusion_matrix", ([0, 1], [0, 1]), {"labels": [7]}, "None of the labels"),
        ("log_loss", ([1, 1], [0.5, 0.5]), {}, "only one class"),
        ("log_loss", ([0, 1], [0.5, 1.5]), {}, "between 0 and 1"),
        ("brier_score_loss", (["a", "b"], [0.5, 0.5]), {}, "set pos_label"),
        ("roc_curve", (["a", "b"], [0.5, 0.5]), {}, "set pos_label"),
        ("roc_auc_score", ([0, 1, 2], np.eye(3)), {}, "multi_class"),
        ("roc_auc_score", ([0, 1], [np.nan, 1]), {}, "NaN or infinity"),
        ("mean_squared_error", ([1, 2], [1, np.inf]), {}, "row 1"),
        ("mean_poisson_deviance", ([1, 2], [1, 0]), {}, "predictions above 0"),
        ("r2_score", ([1, 2], [1, 2]), {"sample_weight": [1, -1]}, "Negative values"),
    ],
)
def test_wrong_arguments_are_named(name, arguments, options, text):
    with pytest.raises(PellucidError, match=text):
        getattr(metrics, name)(*arguments, **options)


@pytest.mark.parametrize("container", ["pandas", "polars", "arrow", "list"])
def test_any_container(container):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    made = {"pandas": pd.Series, "polars": pl.Series, "arrow": pa.array, "list": list}[container]
    y, f = made(["a", "b", "b"]), made(["a", "b", "a"])
    assert metrics.accuracy_score(y, f) == 2 / 3
    assert metrics.confusion_matrix(y, f).tolist() == [[1, 0], [1, 1]]
    assert metrics.mean_absolute_error(made([1.0, 2.0]), made([1.0, 4.0])) == 1.0


def test_undefined_values_warn_once():
    with pytest.warns(UndefinedMetricWarning, match="never predicted"):
        assert metrics.precision_score([0, 1], [0, 0]) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert metrics.precision_score([0, 1], [0, 0], zero_division=1) == 1


def test_metrics_do_not_import_scikit_learn():
    import subprocess
    import sys

    code = (
        "import sys, pellucid.metrics as m; m.f1_score([1], [1]); print('sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
