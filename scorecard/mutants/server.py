"""Runs tests in forked children of one process that has imported what they need.

`python -m scorecard.mutants.server` first says which places the imports reach. Then it reads requests
from its standard input, one JSON object a line: `active` (number of the mutant, 0 for none), `tests`
(arguments of pytest), `seconds` (limit of processor time) and `record` (file for what each test reached,
or null). It answers with `code` and `failed`. With the argument `cold` nothing of Pellucid is imported
before the fork, for mutants of what runs at import.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, TextIO

from scorecard.mutants.sites import FAMILIES

HEAVY = ("numpy", "scipy.optimize", "scipy.sparse", "scipy.stats", "sklearn.linear_model",
         "sklearn.ensemble", "sklearn.utils.estimator_checks", "pandas", "polars", "pyarrow",
         "hypothesis", "pytest")  # fmt: skip
FLAGS = ("-x", "-q", "-n0", "-p", "no:cacheprovider", "--no-header", "--tb=no")


class Recorder:
    """A pytest plugin: the first test that fails; with `file`, the places that each test reaches."""

    def __init__(self, file: TextIO | None) -> None:
        self.file, self.failed, self.passed, self.began = file, "", False, 0.0

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        from mutant_switch import SEEN  # type: ignore[import-not-found]

        self.passed, self.began = False, time.process_time()
        if self.file:
            SEEN.raw = bytes(len(SEEN))

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed = report.passed if report.when == "call" else self.passed
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        from mutant_switch import SEEN

        if self.file and self.passed:
            places = [i for i, byte in enumerate(SEEN.raw) if byte]
            seconds = round(time.process_time() - self.began, 3)
            self.file.write(
                json.dumps({"test": nodeid, "seconds": seconds, "places": places}) + "\n"
            )


def run(request: dict[str, Any]) -> dict[str, Any]:
    """The answer of a forked child that runs the tests."""
    with tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if not child:
            _child(request, output)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        output.seek(0)
        return {"code": code, "failed": output.read()}


def _child(request: dict[str, Any], output: TextIO) -> None:
    """Never returns: the tests, then the end of the process."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_CPU, (request["seconds"], request["seconds"] + 5))
    os.environ["PELLUCID_MUTANT"] = str(request["active"])
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    import mutant_switch
    import pytest

    mutant_switch.activate(request["active"])
    code = 70
    try:
        file = open(request["record"], "w", encoding="utf-8") if request["record"] else None  # noqa: SIM115
        recorder = Recorder(file)
        flags = [flag for flag in FLAGS if flag != "-x" or not file]
        code = int(pytest.main([*flags, "-m", "not slow", *request["tests"]], plugins=[recorder]))
        output.write(recorder.failed)
        output.flush()
        if file:
            file.close()
    finally:
        os._exit(code)


def _import_all(package: str) -> None:
    """A package and all its modules."""
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        importlib.import_module(found.name)


def main() -> None:
    """Serve requests until the input ends."""
    sys.path.insert(0, str(Path.cwd()))
    answers = os.fdopen(os.dup(1), "w")
    warm, seen = "cold" not in sys.argv, []
    for name in HEAVY:
        importlib.import_module(name)
    if warm:
        from mutant_switch import SEEN

        for family in FAMILIES:
            _import_all(f"pellucid.{family}")
        seen = [i for i, byte in enumerate(SEEN.raw) if byte]
    answers.write(json.dumps(seen) + "\n")
    answers.flush()
    for line in sys.stdin:
        request = json.loads(line)
        if warm:
            for file in sorted({test.split("::")[0] for test in request["tests"]}):
                with contextlib.suppress(Exception):  # the child meets it again, as a failed test
                    importlib.import_module(file.removesuffix(".py").replace("/", "."))
        answers.write(json.dumps(run(request)) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
