"""Every parameter of a public function is described in its docstring."""

import inspect

import pytest

from pellucid import metrics, model_selection, plot
from pellucid.parameters.function_help import HEAD, describe_parameters, undescribed

FUNCTIONS = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (metrics, model_selection, plot)
    for name in module.__all__
    if inspect.isfunction(getattr(module, name))
}


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_parameter_of_a_function_is_described(name):
    assert not undescribed(FUNCTIONS[name])


def described(text):
    def function(a, b=1, *, c=2, d=3):
        raise NotImplementedError

    function.__doc__ = text
    texts = {"a": "first.", "b": "second. " * 20, "d": "fourth."}
    describe_parameters({"__all__": ["function"], "function": function}, texts)
    return function


def test_entries_stand_first_and_what_is_described_stays():
    function = described(f"Does `b`.\n\n{HEAD}c, d : mine.\n")
    assert function.__doc__ == f"Does `b`.\n\n{HEAD}a : first.\nc, d : mine."
    assert not undescribed(function)


def test_a_new_section_stands_before_the_examples():
    function = described("Does it.\n\n>>> 1\n1")
    about, rest = function.__doc__.split(HEAD)
    assert about == "Does it.\n\n" and rest.endswith("d : fourth.\n\n>>> 1\n1")
    assert max(map(len, rest.splitlines())) <= 96
    assert undescribed(function) == ["c"]


def test_functions_of_plot_have_the_signature_of_their_constructor():
    constructor = plot.LearningCurveDisplay.from_estimator
    shown = inspect.signature(plot.learning_curve)
    assert shown.parameters == inspect.signature(constructor).parameters
    assert shown.return_annotation is plot.LearningCurveDisplay
    assert plot.learning_curve.__name__ == "learning_curve"
