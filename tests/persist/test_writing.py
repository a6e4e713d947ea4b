"""Saving: whole files or none, the same bytes for the same model, refusals that name the culprit."""

import datetime
import os
import resource
import signal
import stat
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

from pellucid import persist
from pellucid.errors import CannotSaveError, ModelFileError, PellucidError
from pellucid.persist import container, encoder
from tests.persist.toys import Options, Pair, Toy, Unlisted


def fitted(value=1.0):
    model = Toy()
    model.values_, model.width_ = np.full(5, value), 5
    return model


class Text(str):
    pass


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (len, "code (len)"), (lambda x: x, "code"), (Toy, "code (Toy)"), (Toy().get_params, "code"),
        (Unlisted(), "the estimator tests.persist.toys.Unlisted, which is not one of Pellucid's"),
        (np.random.default_rng(0), "random generator; give an integer"),
        (np.random.RandomState(0), "random generator; give an integer"),
        (object(), "an object of type builtins.object"), ({Text("a")}, "members"),
        (Text("a"), "Text"), (1j, "builtins.complex"), (np.array([1j]), "complex128"),
        (np.longdouble(1), "longdouble" if np.dtype(np.longdouble).itemsize == 8 else "float128"),
        (np.zeros(2, "i4,f8"), "i4"), (np.ma.masked_array([1]), "MaskedArray"),
        (np.array([Text("a")], object), "Text"), ({Text("a"): 1}, "keys"),
        (np.array([len], object), "len"),
        (datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC), "time zone"),
        (np.zeros(1).view(np.recarray), "recarray"), (slice(1), "slice"), (bytearray(b"x"), "bytearray"),
    ],
)  # fmt: skip
def test_what_is_not_data_is_refused_by_name(tmp_path, value, words):
    places = {
        "the parameter 'options": Toy(options=value),
        "the parameter 'child.options.left": Toy(child=Toy(options=Pair(value))),
        "the parameter 'options.mode[1]['k']": Toy(options=Options([0, {"k": value}])),
        "the learned attribute 'value_": Toy(),
        "the parameter 'learners_[1].alpha": Toy(),
    }
    *_, learned, nested = places.values()
    learned.value_ = value
    nested.learners_ = [Toy(), Toy(alpha=value)]
    for place, model in places.items():
        with pytest.raises(CannotSaveError) as caught:
            persist.save(model, tmp_path / "m")
        assert "Cannot save Toy:" in str(caught.value)
        assert place in str(caught.value).replace('"', "'") and words in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_only_pellucids_estimators_are_saved(tmp_path):
    for value in (Unlisted(), Pair(1), [Toy()], None, len):
        with pytest.raises(CannotSaveError, match="not one of Pellucid's estimators"):
            persist.save(value, tmp_path / "m")


def test_values_that_contain_themselves_are_refused(tmp_path):
    value = []
    value.append(value)
    with pytest.raises(CannotSaveError, match="nested too deeply"):
        persist.save(Toy(options=value), tmp_path / "m")


def test_more_values_than_can_be_loaded_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "MAX_VALUES", 500)
    persist.save(Toy(options=[True] * 100), tmp_path / "m")
    before = (tmp_path / "m").read_bytes()
    with pytest.raises(CannotSaveError, match="more than 500 separate values"):
        persist.save(Toy(options=[1, 2.0] * 300), tmp_path / "m")
    monkeypatch.setattr(encoder, "MAX_ITEMS", 500)
    with pytest.raises(CannotSaveError, match="'options' makes more than 500 values"):
        persist.save(Toy(options=[0.5] * 501), tmp_path / "m")
    assert os.listdir(tmp_path) == ["m"] and (tmp_path / "m").read_bytes() == before


def test_the_same_model_gives_the_same_bytes(tmp_path):
    """Whatever the order in which attributes were set, in any process."""
    one, two = Toy(options={"b": 1, "a": 2}), Toy(options={"b": 1, "a": 2})
    one.a_, one.b_ = np.arange(3), "x"
    two.b_, two.a_ = "x", np.arange(6)[::2].copy() // 2
    persist.save(one, tmp_path / "one")
    persist.save(two, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    code = """
        import sys, numpy as np
        from pellucid import persist
        from tests.persist.toys import Toy, registered
        model = Toy(options={"b": 1, "a": 2})
        model.a_, model.b_ = np.arange(3), "x"
        with registered():
            persist.save(model, sys.argv[1])
    """
    for seed in "01":
        run = [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / seed)]
        subprocess.run(run, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
        assert (tmp_path / seed).read_bytes() == (tmp_path / "one").read_bytes()


def test_provenance_is_kept(tmp_path):
    persist.save(fitted(), tmp_path / "m", {"data_sha256": "ab", "metric": {"auc": 0.5, "n": 3}})
    found = persist.describe(tmp_path / "m").provenance
    assert found["data_sha256"] == "ab" and found["metric"] == {"auc": 0.5, "n": 3}
    assert set(found) == {"pellucid", "numpy", "python", "data_sha256", "metric"}
    with pytest.raises(CannotSaveError, match="provenance"):
        persist.save(fitted(), tmp_path / "n", {"metric": len})


def test_saving_leaves_the_model_alone(tmp_path):
    model = fitted()
    before = dict(vars(model))
    persist.save(model, tmp_path / "m")
    assert vars(model) == before and vars(model)["values_"] is before["values_"]


# --- the file system -------------------------------------------------------------------------


def test_the_mode_follows_the_umask_and_the_old_file(tmp_path):
    old = os.umask(0o027)
    try:
        persist.save(fitted(), tmp_path / "m")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o640
    (tmp_path / "m").chmod(0o604)
    persist.save(fitted(), tmp_path / "m")
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o604


def test_links_are_followed(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "m")
    persist.save(fitted(2.0), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert persist.load(tmp_path / "folder" / "m").values_[0] == 2


def test_any_name_and_the_present_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("m", "日本 é", "x" * 255, "-"):
        persist.save(fitted(), name)
        assert persist.load(name).width_ == 5


@pytest.mark.parametrize("place", ["absent/m", "file/m", "folder", "x" * 300, "pipe", "locked/m"])
def test_places_that_cannot_be_written(tmp_path, place):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "locked").mkdir(mode=0o500)
    os.mkfifo(tmp_path / "pipe")
    if place == "locked/m" and os.access(tmp_path / "locked", os.W_OK):
        pytest.skip("this user may write everywhere")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(
        PellucidError, match=r"Cannot save the model to .* Nothing was written"
    ) as e:
        persist.save(fitted(), tmp_path / place)
    assert isinstance(e.value.__cause__, OSError)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("step", ["_serialise", "_seal", "os.replace", "os.fsync", "os.chmod"])
@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_fault_at_any_step_leaves_the_old_file(tmp_path, monkeypatch, step, fault):
    persist.save(fitted(1.0), tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def fail(*args):
        raise fault

    monkeypatch.setattr(f"pellucid.persist.container.{step}", fail)
    expected = PellucidError if isinstance(fault, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        persist.save(fitted(2.0), tmp_path / "m")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["m"] and (tmp_path / "m").read_bytes() == before


def test_a_full_disk(tmp_path):
    """A limit on the size of files stops the write in the middle, as a full disk does."""
    model = fitted()
    persist.save(model, tmp_path / "m")
    model.values_, model.width_ = np.ones(100_000), 100_000
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
        with pytest.raises(PellucidError, match="too large"):
            persist.save(model, tmp_path / "m")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert os.listdir(tmp_path) == ["m"] and persist.load(tmp_path / "m").width_ == 5


def test_readers_see_whole_files_while_writers_replace_them(tmp_path):
    persist.save(fitted(0.0), tmp_path / "m")
    stop, faults = threading.Event(), []

    def read():
        while not stop.is_set():
            try:
                assert len(set(persist.load(tmp_path / "m").values_)) == 1
            except (ModelFileError, AssertionError) as error:
                faults.append(error)

    def write(value):
        for _ in range(20):
            persist.save(fitted(value), tmp_path / "m")

    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(float(k),)) for k in range(3)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert faults == [] and os.listdir(tmp_path) == ["m"]
