"""Watching changes no bit, the last state is the fitted model, and every step is a model."""

import warnings

import numpy as np

import pellucid
from pellucid.errors import ParameterError, PellucidWarning
from pellucid.parameters import Choice, parameters_of
from tests.contract.classes import applies_to, make, parameters, takes
from tests.contract.compare import answers, asks, assert_same_bits, fitted, learned
from tests.contract.data import numbers


def watched(Model, sample, **chosen):
    """The watch, the model and the warnings that nothing was recorded."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pellucid.watching() as watch:
            model = fitted(Model, sample, **chosen)
    return watch, model, [w for w in seen if "recorded no steps" in str(w.message)]


def choices(Model):
    """The defaults, and each other choice of a parameter that changes how a fit goes on."""
    yield {}
    for name in ("solver", "learning_rate", "average", "early_stopping", "standardize"):
        if name not in parameters(Model):
            continue
        for value in options(Model, name) or (True,):
            yield {name: value}


def options(Model, name):
    """The words that a parameter accepts."""
    check = parameters_of(Model)[name].check
    return check.options if isinstance(check, Choice) else ()


def assert_watched(Model, sample, **chosen):
    plain = fitted(Model, sample, **chosen)
    watch, model, silent = watched(Model, sample, **chosen)
    assert_same_bits(learned(plain), learned(model), f"{chosen} watched: ")
    assert [fit.source for fit in watch.fits] == [Model.__name__]
    steps = watch.fits[0].steps
    assert len(silent) == (not steps), chosen
    assert len(steps) <= 500
    if steps:
        last = {name: vars(model)[name] for name in steps[-1].state}
        assert_same_bits(last, steps[-1].state, f"{chosen} last state: ")
        assert_same_bits(answers(model, sample.X), answers(watch.model(-1), sample.X))
    return watch


def test_watching_changes_no_bit_and_ends_at_the_model(Model):
    assert_watched(Model, numbers(Model))


@applies_to(
    lambda Model: any(name in parameters(Model) for name in ("solver", "average", "standardize"))
)
def test_every_solver_can_be_watched(Model):
    sample = numbers(Model)
    for chosen in choices(Model):
        try:
            make(Model, **chosen).fit(sample.X, sample.y)
        except ParameterError:
            continue  # needs other parameters as well
        assert_watched(Model, sample, **chosen)


@applies_to(takes("solver"), lambda Model: "gd" in options(Model, "solver"))
def test_gradient_descent_is_recorded_step_by_step(Model):
    watch = assert_watched(Model, numbers(Model), solver="gd")
    kept = [step.iteration for step in watch.steps]
    assert kept[0] == 0 and len(kept) > 2
    assert kept == sorted(kept)


def test_every_step_is_a_model_that_answers_and_is_saved(Model, tmp_path):
    sample = numbers(Model)
    watch, model, _ = watched(Model, sample)
    steps = watch.steps
    for i in sorted({0, len(steps) // 2, len(steps) - 1} & set(range(len(steps)))):
        step, then = steps[i], watch.model(i)
        assert set(step.state) <= set(vars(model)), set(step.state) - set(vars(model))
        assert all(type(value) is float for value in step.numbers.values())
        assert step.sentence.endswith(".") and "  " not in step.sentence
        said = [ask(sample.X) for ask in asks(then)]
        then.save(tmp_path / "step.pellucid")
        loaded = pellucid.load(tmp_path / "step.pellucid")
        assert_same_bits(said, [ask(sample.X) for ask in asks(loaded)])
        if hasattr(then, "explain"):
            then.explain(sample.X[:2])
    assert_same_bits(learned(model), learned(fitted(Model, sample)), "models of steps changed it: ")


def test_states_share_no_memory_with_the_model(Model):
    """A state may be drawn, scaled or sorted in place."""
    watch, model, _ = watched(Model, numbers(Model))
    for step in watch.steps:
        for value in step.state.values():
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                value *= np.nan
    assert_same_bits(learned(model), learned(fitted(Model, numbers(Model))))


def test_a_frame_has_one_row_per_step(Model):
    watch, _, _ = watched(Model, numbers(Model))
    columns = watch.frame()
    assert list(columns)[:4] == ["fit", "source", "iteration", "objective"]
    assert {len(column) for column in columns.values()} == {len(watch.steps)}


def test_nothing_is_recorded_after_the_block(Model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PellucidWarning)
        with pellucid.watching() as watch:
            pass
        fitted(Model, numbers(Model))
    assert watch.fits == []
