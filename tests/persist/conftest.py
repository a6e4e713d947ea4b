"""The toy classes belong to Pellucid throughout this folder."""

import pytest

from tests.persist import toys


@pytest.fixture(autouse=True, scope="session")
def _toys():
    with toys.registered():
        yield
