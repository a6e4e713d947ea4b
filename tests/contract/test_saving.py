"""A model that was saved, pickled or copied answers like the fitted one, to the last bit."""

import copy
import io
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import pellucid
from pellucid.errors import CannotSaveError, ModelFileError, NotFittedError
from tests.contract.classes import applies_to, classifier, make, parameters
from tests.contract.compare import answers, assert_same_bits, fitted, learned
from tests.contract.data import class_count, frame, mixed, numbers

TABLES = {
    "array": numbers,
    "frame": lambda Model: framed(numbers(Model)),
    "mixed": mixed,
}


def framed(sample):
    return sample.with_X(frame(sample.X))


def saved_and_loaded(model, folder):
    path = folder / "model.pellucid"
    model.save(path)
    return pellucid.load(path)


@pytest.mark.parametrize("table", TABLES)
def test_saved_model_is_the_same(Model, table, tmp_path):
    sample = TABLES[table](Model)
    model = fitted(Model, sample)
    expected, inside = answers(model, sample.X), copy.deepcopy(learned(model))
    loaded = saved_and_loaded(model, tmp_path)
    assert type(loaded) is Model
    assert_same_bits(expected, answers(loaded, sample.X))
    assert_same_bits(inside, learned(loaded))
    assert_same_bits(inside, learned(model), "saving changed the model: ")
    assert repr(loaded) == repr(model)
    assert_same_bits(simple(model.get_params()), simple(loaded.get_params()))


def simple(params: dict) -> dict:
    """Nested estimators are other objects; their own parameters are in the list too."""
    return {name: value for name, value in params.items() if not hasattr(value, "get_params")}


@applies_to(classifier)
def test_labels_survive_saving(Model, tmp_path):
    sample = numbers(Model)
    words = np.array(["ja", "nej", "måske ✓"])[: class_count(Model, 3)]
    for forms in (words, words.astype(object), np.array([True, False, False]), np.arange(3.0)):
        model = fitted(Model, sample.with_y(forms[sample.y]))
        loaded = saved_and_loaded(model, tmp_path)
        assert_same_bits(model.classes_, loaded.classes_)
        assert_same_bits(model.predict(sample.X), loaded.predict(sample.X))


def test_saving_twice_writes_the_same_bytes(Model, tmp_path):
    model = fitted(Model, mixed(Model))
    files = [tmp_path / "a.pellucid", tmp_path / "b.pellucid"]
    for path in files:
        model.save(path)
    pellucid.load(files[0]).save(tmp_path / "c.pellucid")
    first = files[0].read_bytes()
    assert files[1].read_bytes() == first
    assert (tmp_path / "c.pellucid").read_bytes() == first


def test_damaged_file_is_refused(Model, tmp_path):
    path = tmp_path / "model.pellucid"
    fitted(Model, numbers(Model)).save(path)
    good = path.read_bytes()
    flipped = bytearray(good)
    flipped[-3] ^= 64
    for bad in (good[:-5], bytes(flipped), b"", good[:40]):
        path.write_bytes(bad)
        with pytest.raises(ModelFileError):
            pellucid.load(path)


def test_unfitted_model_is_not_saved(Model, tmp_path):
    with pytest.raises(NotFittedError):
        make(Model).save(tmp_path / "model.pellucid")
    assert not list(tmp_path.iterdir())


def test_saving_over_a_file_is_all_or_nothing(Model, tmp_path):
    """What cannot be saved leaves the old file as it was."""
    path = tmp_path / "model.pellucid"
    model = fitted(Model, numbers(Model))
    model.save(path)
    before = path.read_bytes()
    model.note_ = lambda: None
    with pytest.raises(CannotSaveError, match="note_"):
        model.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.pellucid"]


@pytest.mark.parametrize("way", ["pickle", "deepcopy", "joblib"])
def test_copies_are_the_same(Model, way):
    sample = mixed(Model)
    model = fitted(Model, sample)
    expected = answers(model, sample.X)
    twin = COPIES[way](model)
    assert_same_bits(expected, answers(twin, sample.X))
    assert_same_bits(learned(model), learned(twin))
    unfitted = COPIES[way](make(Model))
    assert repr(unfitted) == repr(make(Model))
    assert not learned(unfitted)


def through_joblib(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "deepcopy": copy.deepcopy,
    "joblib": through_joblib,
}


def test_clone_is_unfitted_and_equal(Model):
    model = fitted(Model, numbers(Model), table=pellucid.Table(unseen="error"))
    twin = clone(model)
    assert type(twin) is Model
    assert not learned(twin)
    assert repr(twin) == repr(model)
    assert twin.table is not model.table
    sample = numbers(Model)
    assert_same_bits(answers(model, sample.X), answers(twin.fit(sample.X, sample.y), sample.X))


def test_fitting_again_forgets_the_first_fit(Model):
    first, second = mixed(Model), numbers(Model, n=40, p=3, seed=8)
    twice = fitted(Model, first).fit(second.X, second.y)
    once = fitted(Model, second)
    assert_same_bits(learned(once), learned(twice))


def test_fit_leaves_parameters_alone(Model):
    model = make(Model)
    before = model.get_params()
    model.fit(numbers(Model).X, numbers(Model).y)
    after = model.get_params()
    assert list(before) == list(after)
    assert all(before[name] is after[name] for name in before)


def test_set_params_and_fit_is_a_new_estimator(Model):
    """No parameter is read before fit."""
    sample = numbers(Model)
    model = make(Model)
    plain = Model(**dict.fromkeys(parameters(Model)))
    plain.set_params(**model.get_params(deep=False))
    assert_same_bits(
        answers(model.fit(sample.X, sample.y), sample.X),
        answers(plain.fit(sample.X, sample.y), sample.X),
    )
