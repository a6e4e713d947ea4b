"""What holds for every test: fixed seeds, a derandomised hypothesis, and five seconds at most.

A test without the mark `slow` should need at most five seconds of the processor, in its own process
and in those that it starts; time that other programs take does not count, nor do processes of earlier
tests that end in this one (so never more than the time on the clock). Slower ones are listed at the
end of the run. Where `PELLUCID_TEST_LIMIT` is set, as `.ci/run` does, it is the limit in seconds,
and a test that needs more fails.
"""

import gc
import os
import random
import signal
import time
import zlib

import hypothesis
import numpy as np
import pytest

from tests.contract import table

SEED = 20_240_229
STRICT = "PELLUCID_TEST_LIMIT" in os.environ
LIMIT = float(os.environ.get("PELLUCID_TEST_LIMIT", "5"))
seconds_key = pytest.StashKey[float]()

hypothesis.settings.register_profile("pellucid", derandomize=True, deadline=None)
hypothesis.settings.load_profile("pellucid")

# A shell starts its background jobs with Ctrl-C ignored, and their children inherit that: the tests that
# interrupt a process would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _seeded():
    """Global generators start equal in every test, whatever ran before it."""
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002 - other packages draw from the old global generator


@pytest.fixture
def rng(request):
    """A generator that depends on the test's name only, so tests can be added and reordered."""
    return np.random.default_rng([SEED, zlib.crc32(request.node.nodeid.encode())])


@pytest.fixture
def no_garbage_collection():
    """For a real Ctrl-C in the test's process: one that arrives in hypothesis' callback of the
    collector is printed and lost."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _processor_seconds():
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    began, clock = _processor_seconds(), time.perf_counter()
    try:
        return (yield)
    finally:
        used = _processor_seconds() - began
        item.stash[seconds_key] = min(used, time.perf_counter() - clock)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    seconds = item.stash.get(seconds_key, 0.0)
    unmarked = item.get_closest_marker("slow") is None
    if report.when == "call" and report.passed and unmarked and seconds > LIMIT:
        report.slow_seconds = (
            seconds  # travels from the workers of xdist to the process that prints
        )
        if STRICT:
            report.outcome = "failed"
            report.longrepr = (
                f"{item.nodeid} took {seconds:.1f} s of the processor, the limit is {LIMIT:g} s: "
                "make it smaller, or mark it with pytest.mark.slow (PELLUCID_TEST_LIMIT raises the "
                "limit)"
            )
    return report


# Here, because under xdist the process that prints reads only this conftest.
def pytest_terminal_summary(terminalreporter, exitstatus, config):
    """The table of the contract, and the tests that were slow without failing."""
    table.pytest_terminal_summary(terminalreporter, exitstatus, config)
    passed = terminalreporter.stats.get("passed", [])
    slow = [report for report in passed if hasattr(report, "slow_seconds")]
    if slow:
        terminalreporter.section(f"slow tests: more than {LIMIT:g} s of the processor")
        for report in sorted(slow, key=lambda report: -report.slow_seconds):
            terminalreporter.line(f"{report.slow_seconds:6.1f} s  {report.nodeid}")
