"""The browser of the tests of reports serves the tests of replays too."""

from tests.report.conftest import browser

__all__ = ["browser"]
