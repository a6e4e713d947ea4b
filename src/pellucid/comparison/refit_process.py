"""Fitting the chosen model of a large comparison to all rows but the test set, in a fresh process.

The comparison holds its sample, results and pages of finished fits, which count towards the memory
ceiling of its own process. Invariant: the fit is the same in both places.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.data.opening import source_behind
from pellucid.data.sources.find import scan
from pellucid.data.sources.row_choice import without_rows
from pellucid.errors import DataError, PellucidError
from pellucid.parallel import get_threads
from pellucid.parallel.memory import get_memory

START = "import sys; from pellucid.comparison.refit_process import main; main(sys.argv[1])"


@dataclass(frozen=True)
class RefitJob:
    """An unfitted model and the rows to fit it to: all of the table at `path` but `held_out` and the
    `n_missing` rows without a target."""

    model: Any
    path: str | None
    held_out: np.ndarray  # sorted row numbers
    n_missing: int
    features: list[str]
    given: dict[str, Any]  # y and sample_weight, names of columns

    def run(self, source: Any) -> Any:
        """The fitted model."""
        rest = without_rows(source, self.held_out, self.given["y"], self.n_missing)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the leaderboard shows them already
            return self.model.fit(scan(rest, features=self.features), **self.given)

    def run_apart(self) -> Any:
        """The same by another process."""
        own = {"PELLUCID_MEMORY": str(get_memory()), "PELLUCID_NUM_THREADS": str(get_threads())}
        with tempfile.TemporaryDirectory(prefix="pellucid-") as folder:
            place = Path(folder) / "job.pickle"
            path = None if self.path is None else os.path.abspath(self.path)
            place.write_bytes(pickle.dumps(replace(self, path=path)))
            done = subprocess.run(
                [sys.executable, "-c", START, str(place)], env=os.environ | own, capture_output=True
            )
            if done.returncode:
                why = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
                raise DataError(f"The process of the refit ended early. {' '.join(why)}")
            found = pickle.loads(place.read_bytes())
        if isinstance(found, PellucidError):
            raise found
        return found


def main(name: str) -> None:
    """Run the job in a file, and leave there the fitted model or the error."""
    place = Path(name)
    job = pickle.loads(place.read_bytes())
    try:
        found = job.run(source_behind(job.path))
    except PellucidError as error:
        found = error
    place.write_bytes(pickle.dumps(found))
