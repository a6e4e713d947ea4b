"""`Result`: what a comparison found, as plain data, with the recommended model.

`results.json` (schema 2) holds no clock, path or host: the same table, settings and versions give
the same bytes. What depends on the moment (seconds, openings of the test part) is in `timings.json`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pellucid.comparison.execution.journal import plain
from pellucid.names import REPORT

if TYPE_CHECKING:
    from pellucid.comparison.execution.refit import Keeper

SCHEMA = 2


def to_json(value: Any) -> str:
    """The text of results.json: sorted keys, one line per entry of the leaderboard's lists."""
    return json.dumps(plain(value), ensure_ascii=False, indent=1, sort_keys=True) + "\n"


@dataclass(frozen=True, repr=False)
class Result:
    """A finished (or stopped) comparison; printed, it is the leaderboard with its verdict.

    data : the content of results.json
    timings : the content of timings.json
    predictions : {model: {"rows", "labels", "proba" or "scores"}}, out-of-fold, rows of the table
    portraits : {model: what the model fitted on all training rows shows of itself}
    folder : the run folder, None if it was temporary
    notes : what a report will lack, and why; scores and models are not affected by it
    keeper : the table and the settings that `save` fits a model with
    unwritten : why files of the results could not be written to the folder, "" if all are there
    """

    data: dict[str, Any]
    timings: dict[str, Any]
    predictions: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    portraits: dict[str, dict[str, Any]] = field(default_factory=dict)
    folder: Path | None = None
    container: str = "arrow"
    model: Any = None
    finish: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    keeper: Keeper | None = None
    unwritten: str = ""

    @property
    def complete(self) -> bool:
        """Whether every model had its turn."""
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
        from pellucid.errors import NotFittedError

        if self.model is not None:
            return self.model
        path = None if self.folder is None else self.folder / "model.pellucid"
        if path is None or not path.exists():
            why = self.finish.get("saved") or "the comparison was stopped before one was fitted"
            raise NotFittedError(f"there is no model: {why}.")
        from pellucid.persist import load

        return load(path)

    def save(self, model: str, path: str | Path) -> Path:
        """Save a model of the board to `path`, fitted on all training rows with the settings that its
        own search chose, and return the path.

        The file holds what `best_` would be if that model had been recommended. The test part is not
        opened: its scores are those of the recommended model.
        """
        from pellucid.errors import ParameterError

        if self.keeper is None:
            raise ParameterError(
                "this result no longer holds its table. Save a model of its run folder with "
                f"'pellucid compare --resume RUN --use {model}'."
            )
        return self.keeper.save(model, path)

    @property
    def leaderboard(self) -> Any:
        """The leaderboard as a data frame of the caller's kind.

        pandas for a pandas table, polars for polars, Arrow for Arrow. For a path, a data set or an
        array: pandas if it is installed, else polars, else an Arrow table.
        """
        from pellucid.records.frames import frame

        return frame(board_columns(self.data), self._backend())

    def report(self, path: str | Path, rows: bool = True) -> Path:
        """Write the report to `path` (.html, .md or .json) and return its path.

        `rows=False` leaves out every single row of the table.
        """
        import importlib

        return importlib.import_module(REPORT).write_report(self, Path(path), rows)

    def __repr__(self) -> str:
        import importlib

        return importlib.import_module(REPORT).board(self)

    def _repr_html_(self) -> str:
        import importlib

        return importlib.import_module(REPORT).card(self)

    def _backend(self) -> str | None:
        from importlib.util import find_spec

        if self.container in ("pandas", "polars", "arrow"):
            return self.container
        return next((name for name in ("pandas", "polars") if find_spec(name)), "arrow")


def board_columns(data: dict[str, Any]) -> dict[str, list[Any]]:
    """Columns of leaderboard.csv and of `.leaderboard`."""
    rows = data["leaderboard"]
    metrics = data["plan"]["metrics"]
    out: dict[str, list[Any]] = {
        "model": [row["model"] for row in rows],
        "status": [row["status"] for row in rows],
        "mean": [row.get("mean") for row in rows],
        "ci_low": [row.get("ci", [None, None])[0] for row in rows],
        "ci_high": [row.get("ci", [None, None])[1] for row in rows],
        "p": [row.get("p") for row in rows],
        "p_holm": [row.get("p_holm") for row in rows],
        "as_good": [bool(row.get("as_good")) for row in rows],
        "recommended": [row["recommended"] for row in rows],
    }
    for name in metrics:
        out[name] = [row.get("metrics", {}).get(name) for row in rows]
    out["params"] = [json.dumps(plain(row["params"] or {}), sort_keys=True) for row in rows]
    out["reason"] = [row["reason"] for row in rows]
    return out
