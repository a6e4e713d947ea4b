"""Scikit-learn's own checks: those of `check_estimator`, and those it runs only on itself.

No check is expected to fail. One is read differently on purpose: columns in another order are
matched by name, where scikit-learn refuses them.
"""

import contextlib
import functools
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from sklearn import config_context
from sklearn.utils import estimator_checks

from tests.contract.classes import (
    applies_to,
    clusterer,
    has,
    make,
    parameters,
    public_classes,
    tags,
)
from tests.contract.compare import fitted
from tests.contract.data import frame, numbers

# Upstream runs its checks under the same filter: their data are chosen for shape alone.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CLUSTERING = (
    estimator_checks.check_clusterer_compute_labels_predict,
    estimator_checks.check_clustering,
    functools.partial(estimator_checks.check_clustering, readonly_memmap=True),
)
TRANSFORMING = (
    estimator_checks.check_transformer_get_feature_names_out,
    estimator_checks.check_transformer_get_feature_names_out_pandas,
    estimator_checks.check_get_feature_names_out_error,
    estimator_checks.check_set_output_transform,
    estimator_checks.check_set_output_transform_pandas,
    estimator_checks.check_global_output_transform_pandas,
    estimator_checks.check_set_output_transform_polars,
    estimator_checks.check_global_set_output_transform_polars,
)


def checks_of(Model):
    """(check, estimator) pairs: the common ones and those that go by scikit-learn's mixins."""
    estimator = Model(**getattr(Model, "_check_params", {}))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*does not inherit from.*BaseEstimator")
        for instance, check in estimator_checks.estimator_checks_generator(estimator):
            yield check, instance
    more = CLUSTERING if clusterer(Model) else ()
    if hasattr(estimator, "transform"):
        more += TRANSFORMING
    for check in more:
        yield functools.partial(check, Model.__name__), estimator


def title(check) -> str:
    """The name of the check, and its keywords: check_clustering(readonly_memmap=True)."""
    keywords = {}
    while isinstance(check, functools.partial) or hasattr(check, "__wrapped__"):
        keywords |= getattr(check, "keywords", {})
        check = check.func if isinstance(check, functools.partial) else check.__wrapped__
    inside = ",".join(f"{key}={value}" for key, value in keywords.items())
    return f"{check.__name__}({inside})" if inside else check.__name__


def pytest_generate_tests(metafunc):
    if "scikit_learns_check" not in metafunc.fixturenames:
        return
    array_api = os.environ.get("SCIPY_ARRAY_API") == "1"
    metafunc.parametrize(
        ("Model", "scikit_learns_check"),
        [
            pytest.param(Model, (check, instance), id=f"{name}-{title(check)}")
            for name, Model in public_classes().items()
            for check, instance in checks_of(Model)
            # needs an environment variable set before SciPy is imported: a test below sets it
            if array_api or "array_api" not in title(check)
        ],
    )


def test_check_estimator(Model, scikit_learns_check):
    check, instance = scikit_learns_check
    with warnings.catch_warnings():
        # scikit-learn's classes, made here as partners, may warn about their own future
        warnings.simplefilter("ignore", FutureWarning)
        check(instance)


def test_columns_are_matched_by_name(Model, monkeypatch):
    """check_dataframe_column_names_consistency, with columns in another order accepted."""
    upstream = estimator_checks.raises

    def raises(kind, match="", **more):
        if "in\\ the\\ same\\ order" in match:
            return contextlib.nullcontext()
        return upstream(kind, match=match, **more)

    monkeypatch.setattr(estimator_checks, "raises", raises)
    estimator_checks.check_dataframe_column_names_consistency(Model.__name__, make(Model))


def test_columns_are_matched_by_name_would_notice():
    """The rewritten expectation above still stands on the words scikit-learn uses."""
    source = Path(estimator_checks.__file__).read_text(encoding="utf-8")
    assert "Feature names must be in the same order as they were in fit." in source


def copying(Model) -> bool:
    return bool({"copy", "copy_X"} & set(parameters(Model)))


@applies_to(copying)
def test_read_only_input_may_be_used_in_place(Model):
    name = "copy" if "copy" in parameters(Model) else "copy_X"
    estimator_checks.check_inplace_ensure_writeable(Model.__name__, make(Model, **{name: False}))


@pytest.mark.slow
def test_array_api_dispatch():
    """The array API checks need SciPy imported under a flag: one process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    run = subprocess.run(
        [*command, "-k", "array_api and not dispatch"],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout[-4000:]
    assert f"{len(public_classes())} passed" in run.stdout


def test_tags_tell_the_truth(Model):
    """Missing values are accepted everywhere; the kind of estimator is what the class says."""
    found = tags(Model)
    assert found.input_tags.allow_nan
    kind = {"classifier": "classifier_tags", "regressor": "regressor_tags"}
    if found.estimator_type in kind:
        assert getattr(found, kind[found.estimator_type]) is not None
    with config_context(enable_metadata_routing=True):
        assert make(Model).get_metadata_routing() is not None


@applies_to(has("transform", "get_feature_names_out"))
def test_feature_names_out_follow_the_output(Model):
    sample = numbers(Model)
    model = fitted(Model, sample.with_X(frame(sample.X)))
    width = model.transform(frame(sample.X)).shape[1]
    assert len(model.get_feature_names_out()) == width
