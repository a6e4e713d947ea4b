"""The toy classes belong to Pellucid throughout this folder."""

import pytest

from pellucid import persist
from pellucid.errors import ModelFileError
from tests.persist import toys


@pytest.fixture(autouse=True, scope="session")
def _toys():
    with toys.registered():
        yield


@pytest.fixture
def outcome(tmp_path):
    """Load and describe bytes: the model, or None after a `ModelFileError`; all else is a failure."""
    path = tmp_path / "m"
    path.touch()

    def run(raw):
        with open(path, "r+b") as file:  # in place: emptying a file first would reach the disk
            file.write(raw)
            file.truncate()
        try:
            str(persist.describe(path))
        except ModelFileError as error:
            assert str(path) in str(error)
        try:
            return persist.load(path)
        except ModelFileError as error:
            assert str(path) in str(error)
            return None

    return run
