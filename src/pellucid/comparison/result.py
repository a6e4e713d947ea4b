"""`Result`: the results of a comparison as plain data, with the recommended model.

`results.json` (schema 2) contains no times, paths or host names: the same table, settings and versions
give the same bytes. Times and the number of uses of the test set are in `timings.json`.
"""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.comparison.execution.journal import plain
from pellucid.errors import NotFittedError, ParameterError
from pellucid.names import REPORT

if TYPE_CHECKING:
    from pellucid.comparison.execution.refit import Refitter

SCHEMA = 2


def to_json(value: Any) -> str:
    """The text of results.json: sorted keys, one line per entry of the leaderboard's lists."""
    return json.dumps(plain(value), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


@dataclass(frozen=True, repr=False)
class Result:
    """A finished (or stopped) comparison; `print` shows the leaderboard and the recommendation.

    data : the content of results.json
    timings : the content of timings.json
    predictions : {model: {"rows", "labels", "proba" or "scores"}}, out-of-fold, rows of the dataset
    model_details : {model: description of the model fitted on all training rows}
    folder : the run folder, None if it was temporary
    notes : what the report lacks, and why; scores and models are not affected
    refitter : the table and the parameters with which `save` fits a model
    unwritten : why the results could not be written to the folder, "" if they were
    """

    data: dict[str, Any]
    timings: dict[str, Any]
    predictions: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    model_details: dict[str, dict[str, Any]] = field(default_factory=dict)
    folder: Path | None = None
    container: str = "arrow"
    model: Any = None
    finish: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    refitter: Refitter | None = None
    unwritten: str = ""

    @property
    def complete(self) -> bool:
        """Whether the run finished without being stopped."""
        return self.data["complete"]

    @property
    def recommended(self) -> str | None:
        """Name of the recommended model."""
        return self.data["recommended"]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The leaderboard as dicts, best first."""
        return self.data["leaderboard"]

    @cached_property
    def best_(self) -> Any:
        """The recommended model, fitted on all training rows."""
        if self.model is not None:
            return self.model
        path = None if self.folder is None else self.folder / "model.pellucid"
        if path is None or not path.exists():
            why = self.finish.get("saved") or "the comparison was stopped before one was fitted"
            raise NotFittedError(f"there is no fitted model: {why}.")
        from pellucid.persist import load

        return load(path)

    def save(self, model: str, path: str | Path) -> Path:
        """Fit a model of the leaderboard on all training rows, save it to `path` and return the path.

        Its parameters are those that its search chose, so the file contains what `best_` would be if
        this model had been recommended. The test set is not used again.
        """
        if self.refitter is None:
            raise ParameterError(
                "this result no longer has its table. Save a model from its run folder with "
                f"'pellucid compare --resume RUN --use {model}'."
            )
        return self.refitter.save(model, path)

    @property
    def leaderboard(self) -> Any:
        """The leaderboard as a dataframe of the same library as the data.

        For a path, a built-in data set or an array it is a pandas dataframe if pandas is installed,
        else polars, else an Arrow table.
        """
        from importlib.util import find_spec

        from pellucid.records.frames import frame

        backend = self.container
        if backend not in ("pandas", "polars", "arrow"):
            backend = next((name for name in ("pandas", "polars") if find_spec(name)), "arrow")
        return frame(board_columns(self.data), backend)

    def report(self, path: str | Path, rows: bool = True) -> Path:
        """Write the report to `path` (.html, .md or .json) and return its path.

        `rows=False` leaves out all individual rows of the table.
        """
        return importlib.import_module(REPORT).write_report(self, Path(path), rows)

    def __repr__(self) -> str:
        return importlib.import_module(REPORT).board(self)

    def _repr_html_(self) -> str:
        return importlib.import_module(REPORT).card(self)


def board_columns(data: dict[str, Any]) -> dict[str, list[Any]]:
    """Columns of leaderboard.csv and of `.leaderboard`."""
    rows = data["leaderboard"]
    out: dict[str, list[Any]] = {
        name: [row.get(name) for row in rows] for name in ("model", "status", "mean")
    }
    for end, name in enumerate(("ci_low", "ci_high")):
        out[name] = [row.get("ci", [None, None])[end] for row in rows]
    out |= {name: [row.get(name) for row in rows] for name in ("p", "p_holm")}
    out["as_good"] = [bool(row.get("as_good")) for row in rows]
    out["recommended"] = [row["recommended"] for row in rows]
    for name in data["plan"]["metrics"]:
        out[name] = [row.get("metrics", {}).get(name) for row in rows]
    out["params"] = [json.dumps(plain(row["params"] or {}), sort_keys=True) for row in rows]
    out["reason"] = [row["reason"] for row in rows]
    return out
