import pytest

from tests.report.browser import CHROMIUM, Browser


@pytest.fixture(scope="session")
def browser():
    """One Chromium for all tests."""
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with Browser() as found:
        yield found
