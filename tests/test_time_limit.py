"""The limit of quick tests: listed outside CI, an error inside, and only the processor counts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = """
import time, subprocess, sys
import pytest, tests.conftest
tests.conftest.LIMIT = 0.1

def work(seconds=0.2):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

def test_busy():
    work()

def test_waits():
    time.sleep(0.2)

@pytest.mark.slow
def test_marked():
    work()

def test_busy_child():
    code = "import time\\nwhile time.process_time() < 0.2: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
"""


def run(folder, *more, **settings):
    (folder / "test_some.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = slow: slow\n")
    root = str(Path(__file__).parents[1])
    env = {k: v for k, v in os.environ.items() if k != "PELLUCID_TEST_LIMIT"} | settings
    env["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [env.get("PYTHONPATH")])])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.conftest",
        "-p",
        "no:cacheprovider",
        "-q",
        "--tb=short",
    ]
    return subprocess.run(
        [*command, *more, "test_some.py"], cwd=folder, env=env, capture_output=True, text=True
    )


@pytest.mark.parametrize("more", [[], ["-n", "1"]], ids=["here", "xdist"])
def test_outside_ci_slow_tests_are_listed_and_do_not_fail(tmp_path, more):
    done = run(tmp_path, *more)
    assert done.returncode == 0 and "4 passed" in done.stdout, done.stdout + done.stderr
    listed = done.stdout.partition("slow tests: more than ")[2]
    assert "test_some.py::test_busy\n" in listed and "test_some.py::test_busy_child\n" in listed
    assert "test_waits" not in listed and "test_marked" not in listed


def test_in_ci_slow_tests_fail(tmp_path):
    done = run(tmp_path, PELLUCID_TEST_LIMIT="0.1")
    assert done.returncode == 1 and "2 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "s of the processor, the limit is 0.1 s" in done.stdout
