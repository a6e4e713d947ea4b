"""What holds for every test: fixed seeds, a derandomised hypothesis, and five seconds at most.

A test without the mark `slow` that needs more than `PELLUCID_TEST_LIMIT` seconds (default 5) fails.
The smaller of wall-clock and processor seconds of the call counts, so that neither a busy machine
nor many threads turn a quick test red. `.ci/run` sets a larger limit for slow machines.
"""

import os
import random
import time
import zlib

import hypothesis
import numpy as np
import pytest

# Here, because under xdist the process that prints reads only this conftest.
from tests.contract.table import pytest_terminal_summary  # noqa: F401

SEED = 20_240_229
LIMIT = float(os.environ.get("PELLUCID_TEST_LIMIT", "5"))
seconds_key = pytest.StashKey[float]()

hypothesis.settings.register_profile("pellucid", derandomize=True, deadline=None)
hypothesis.settings.load_profile("pellucid")


@pytest.fixture(autouse=True)
def _seeded():
    """Global generators start equal in every test, whatever ran before it."""
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002 - other packages draw from the old global generator


@pytest.fixture
def rng(request):
    """A generator that depends on the test's name only, so tests can be added and reordered."""
    return np.random.default_rng([SEED, zlib.crc32(request.node.nodeid.encode())])


def _processor_seconds():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    wall, processor = time.perf_counter(), _processor_seconds()
    try:
        return (yield)
    finally:
        wall, processor = time.perf_counter() - wall, _processor_seconds() - processor
        item.stash[seconds_key] = min(wall, processor)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    seconds = item.stash.get(seconds_key, 0.0)
    unmarked = item.get_closest_marker("slow") is None
    if report.when == "call" and report.passed and unmarked and seconds > LIMIT:
        report.outcome = "failed"
        report.longrepr = (
            f"{item.nodeid} took {seconds:.1f} s, the limit is {LIMIT:g} s: make it smaller, or "
            "mark it with pytest.mark.slow (PELLUCID_TEST_LIMIT raises the limit on slow machines)"
        )
    return report
