"""A class declares its parameters once; constructor, checks and help follow from the declarations."""

import inspect
import pickle
import pydoc
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from pellucid.base import Regressor
from pellucid.ensemble import ExtraTreesClassifier, RandomForestClassifier
from pellucid.errors import ParameterError
from pellucid.linear_model import Lasso
from pellucid.parameters import (
    REQUIRED,
    Choice,
    Ignored,
    Integer,
    Real,
    attributes_of,
    changed,
    learned,
    param,
    parameters_of,
    positional,
    shared,
)


class Mean(Regressor):
    """Predicts a multiple of the mean of y.

    Examples
    --------
    >>> Mean(2.0).factor
    2.0
    """

    tol: float = param(1e-4, Real(0, None), "Nothing is smaller than this.")
    factor: float = positional(
        default=1.0, check=Real(0, 10, "both"), description="Multiple.", kw_only=False
    )
    n_jobs: int | None = shared.N_JOBS
    own: bool = param(False, Choice(False), "One of our own parameters.", last=True)
    copy: bool = param(True, Ignored("nothing is copied.", Choice(True, False)))

    mean_: float = learned("Weighted mean of y.")

    def fit(self, X: Any, y: Any) -> "Mean":
        return self._learn(X, y)

    def _fit(self, problem):
        return {"mean_": float(problem.y.mean())}

    def _predict(self, X):
        return np.full(X.shape[0], self.factor * self.mean_)

    @property
    def double_(self) -> float:
        """Twice the mean.

        More that help does not show.
        """
        return 2 * self.mean_


class Median(Mean):
    """Predicts otherwise."""

    factor: float = positional(
        default=3.0, check=Real(0, 10, "both"), description="Another.", kw_only=False
    )
    tol: float = changed(default=0.5)
    extra: int = param(7, Integer(0), "One more parameter.", after="tol")
    first: int = param(6, Integer(0), "One before the others.", before="tol")
    late: int = param(8, Integer(0), "One more of our own.", last=True)


class Needy(Regressor):
    """Has a parameter without default."""

    size: int = param(REQUIRED, Integer(1), "Number of parts.")


def names(cls: type) -> list[str]:
    return list(inspect.signature(cls).parameters)


def test_signature_is_that_of_the_declarations():
    parameters = inspect.signature(Mean).parameters
    assert names(Mean) == ["factor", "tol", "n_jobs", "copy", "own", "table"]
    kinds = [p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters.values()]
    assert kinds == [True, False, False, False, False, False]
    assert [p.default for p in parameters.values()] == [1.0, 1e-4, None, True, False, None]
    assert parameters["n_jobs"].annotation == int | None
    assert "__signature__" not in vars(Mean) and inspect.isfunction(Mean.__init__)
    assert Mean.__init__.__qualname__ == "Mean.__init__"
    assert Mean.__init__.__module__ == __name__


def test_subclasses_inherit_change_and_add():
    assert names(Median) == [
        "factor",
        "first",
        "tol",
        "extra",
        "n_jobs",
        "copy",
        "late",
        "own",
        "table",
    ]
    model = Median(4.0, extra=9)
    assert (model.factor, model.tol, model.extra, model.late) == (4.0, 0.5, 9, 8)
    found = parameters_of(Median)
    assert found["tol"].description == parameters_of(Mean)["tol"].description
    assert found["tol"].check == Real(0, None)
    assert found["factor"].description == "Another."
    assert parameters_of(Mean)["tol"].default == 1e-4
    assert ExtraTreesClassifier().bootstrap is False
    assert RandomForestClassifier().bootstrap is True
    forest = names(RandomForestClassifier)
    forest.remove("splitter")  # extra trees have one way to split
    assert names(ExtraTreesClassifier) == forest


def test_arguments_are_stored_untouched():
    given = [1, 2]
    model = Mean(factor=given)
    assert model.factor is given
    assert vars(model) == {
        "factor": given, "tol": 1e-4, "n_jobs": None, "copy": True, "own": False, "table": None
    }  # fmt: skip
    with pytest.raises(TypeError, match=r"Mean\.__init__\(\) got an unexpected keyword .*'alhpa'"):
        Mean(alhpa=1)
    with pytest.raises(TypeError, match="positional"):
        Mean(1.0, 1e-3)
    with pytest.raises(TypeError, match=r"missing 1 required keyword-only argument: 'size'"):
        Needy()


def test_declarations_are_no_attributes():
    model = Mean()
    for name in ("mean_", "double_"):
        assert not hasattr(model, name)
    for name in ("factor", "tol", "n_jobs", "mean_", "n_features_in_", "table"):
        assert not hasattr(Mean, name)
    assert not hasattr(Lasso(), "coef_") and not hasattr(Lasso, "alpha")


def test_scikit_learns_ways():
    model = Mean(2.0, tol=0.1)
    assert list(model.get_params()) == sorted(names(Mean))
    assert repr(model) == "Mean(factor=2.0, tol=0.1)"
    assert repr(clone(model)) == repr(pickle.loads(pickle.dumps(model))) == repr(model)
    assert model.set_params(factor=3.0).factor == 3.0
    with pytest.raises(ValueError, match="Invalid parameter 'alhpa'"):
        model.set_params(alhpa=1)
    fitted = pickle.loads(pickle.dumps(model.fit([[0.0], [1.0]], [1.0, 3.0])))
    assert fitted.predict([[5.0]]) == 6.0


@pytest.mark.parametrize(
    ("given", "words"),
    [({"factor": 11.0}, "a float in the range [0, 10]"), ({"copy": 1}, "one of {True, False}")],
)
def test_checks_are_those_of_the_declarations(given, words):
    (name, value), *_ = given.items()
    with pytest.raises(ParameterError) as caught:
        Mean(**given).fit([[0.0], [1.0]], [1.0, 3.0])
    assert (
        str(caught.value) == f"The '{name}' parameter of Mean must be {words}. Got {value} instead."
    )


HELP = """\
Predicts a multiple of the mean of y.

Parameters
----------
factor : float in [0, 10], default=1.0
    Multiple.
tol : float in [0, inf), default=0.0001
    Nothing is smaller than this.
n_jobs : int other than 0 or None, default=None
    Number of threads; -1 uses all CPUs, None the number of `pellucid.set_threads`. The results
    do not depend on it.
copy : {True, False}, default=True
    No effect: nothing is copied.
own : False, default=False
    One of our own parameters.
table : pellucid.Table or None, default=None
"""


def test_docstring_has_the_sections():
    text = Mean.__doc__
    assert text.startswith(HELP)
    attributes, examples = text.split("\nAttributes\n----------\n")[1].split(
        "\nExamples\n--------\n"
    )
    assert attributes.startswith(
        "mean_ : float\n    Weighted mean of y.\ndouble_ : float\n    Twice the mean.\nn_features_in_"
    )
    assert "feature_names_in_ : ndarray\n" in attributes
    assert examples == ">>> Mean(2.0).factor\n2.0"
    assert Mean().__doc__ == text and "Predicts otherwise." in Median.__doc__
    assert "Nothing is smaller than this." in pydoc.plain(pydoc.render_doc(Mean))


def test_attributes_of_a_class_come_before_those_of_its_bases():
    found = list(attributes_of(Lasso))
    assert found.index("dual_gap_") < found.index("intercept_") < found.index("schema_")
    assert "exactly 0" in attributes_of(Lasso)["coef_"].description


def test_abstract_classes_cost_nothing():
    """The constructor is compiled, and the docstring written, when somebody looks."""

    class Fresh(Mean):
        """New."""

        extra: int = param(1, Integer(0), "One more parameter.")

    assert type(vars(Fresh)["__init__"]).__name__ == "Constructor"
    assert type(vars(Fresh)["__doc__"]).__name__ == "Docstring"
    Fresh()
    assert inspect.isfunction(vars(Fresh)["__init__"])


def test_scikit_learn_accepts_the_constructor():
    from sklearn.utils import estimator_checks as checks

    for check in (
        checks.check_parameters_default_constructible,
        checks.check_get_params_invariance,
        checks.check_set_params,
        checks.check_no_attributes_set_in_init,
    ):
        check("Mean", Mean())
