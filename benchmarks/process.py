"""Whole processes: import an estimator, print the help, load a model and predict one row.

Goals are seconds from the shell's point of view, with warm file caches; an editable install adds
some 50 ms that a wheel does not have. Where both sides print an answer, it must be the same.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace

from benchmarks.race import Row

_SETUP = """
import numpy as np
rng = np.random.default_rng(0)
X = rng.normal(size=(500, 10))
y = (X[:, 0] + X[:, 1] > 0).astype(int)
"""
_SAVE_OURS = f"""{_SETUP}
from pellucid.linear_model import LogisticRegression
LogisticRegression().fit(X, y).save("model.pellucid")
"""
_SAVE_PEER = f"""{_SETUP}
import joblib
from sklearn.linear_model import LogisticRegression
joblib.dump(LogisticRegression().fit(X, y), "model.joblib")
"""
_LOAD_OURS = """
import numpy as np
import pellucid
print(pellucid.load("model.pellucid").predict(np.ones((1, 10))))
"""
_LOAD_PEER = """
import joblib
import numpy as np
print(joblib.load("model.joblib").predict(np.ones((1, 10))))
"""
_MAIN = "from pellucid.app.cli import main; main()"


@dataclass(frozen=True)
class Command:
    """Two commands that do the same, run in a folder that `prepare` has filled.

    `same` asks for equal output.
    """

    name: str
    ours: tuple[str, ...]
    peer: tuple[str, ...]
    goal_seconds: float
    prepare: tuple[tuple[str, ...], ...] = ()
    same: bool = True

    @property
    def key(self) -> str:
        """`process/name`."""
        return f"process/{self.name}"


class _Stopped(Exception):
    """A command failed; the text is the status of the row."""


def _python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-c", code)


COMMANDS = (
    Command(
        name="import LogisticRegression",
        ours=_python("from pellucid.linear_model import LogisticRegression"),
        peer=_python("from sklearn.linear_model import LogisticRegression"),
        goal_seconds=0.5,
    ),
    Command(
        name="--help (peer: import sklearn)",
        ours=_python("import sys; sys.argv = ['pellucid', '--help']\n" + _MAIN),
        peer=_python("import sklearn"),
        goal_seconds=0.15,
        same=False,  # scikit-learn has no command
    ),
    Command(
        name="load a model, predict one row",
        ours=_python(_LOAD_OURS),
        peer=_python(_LOAD_PEER),
        goal_seconds=0.7,
        prepare=(_python(_SAVE_OURS), _python(_SAVE_PEER)),
    ),
)


def race(command: Command, repeat: int) -> Row:
    """Both commands alternately, best of `repeat`."""
    row = Row(
        workload=command.key,
        shape="process",
        action="run",
        peer="scikit-learn",
        answer="printed text" if command.same else "",
        goal_seconds=command.goal_seconds,
    )
    try:
        ours, peer = _raced(command, repeat)
    except _Stopped as stopped:
        return replace(row, status=str(stopped))
    return replace(row, ours_seconds=ours, peer_seconds=peer)


def _raced(command: Command, repeat: int) -> tuple[float, float]:
    best = [math.inf, math.inf]
    with tempfile.TemporaryDirectory() as folder:
        for preparation in command.prepare:
            _run(preparation, folder)
        for _ in range(repeat):
            said = []
            for side, job in enumerate((command.ours, command.peer)):
                seconds, output = _run(job, folder)
                best[side] = min(best[side], seconds)
                said.append(output)
            if command.same and said[0] != said[1]:
                raise _Stopped(f"mismatch: printed {said[0]!r}, peer {said[1]!r}")
    return best[0], best[1]


def _run(job: tuple[str, ...], folder: str) -> tuple[float, str]:
    start = time.perf_counter()
    done = subprocess.run(job, cwd=folder, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        absent = lines[-1].startswith(("ModuleNotFoundError", "ImportError"))
        reason = lines[-1].split(" (/")[0]  # without the path of the file
        raise _Stopped(f"{'not available' if absent else 'error'}: {reason}")
    return seconds, done.stdout
