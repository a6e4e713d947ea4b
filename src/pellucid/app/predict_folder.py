"""`pellucid predict MODEL DATA -o FOLDER/`: a table of any size into Parquet files."""

from __future__ import annotations

import time
from typing import Any

from pellucid.app.commands.predict import known_levels
from pellucid.base import Estimator
from pellucid.beyond_memory import write_predictions
from pellucid.data.io.read import read
from pellucid.data.sources.find import source_of
from pellucid.errors import DataError, ParameterError
from pellucid.records.progress_line import ProgressLine


def predict_folder(
    fitted: Any, file: str, out: str, ids: tuple[str, ...], options: Any, level: int
) -> None:
    """Predict a table of any size into a folder of Parquet files; continues after a kill."""
    used = [flag for flag, given in options.items() if given]
    if used:
        raise ParameterError(f"{used[0]} is not available when --out is a folder.")
    if not isinstance(fitted, Estimator) or not hasattr(fitted, "predict"):
        raise DataError(f"a {type(fitted).__name__} cannot predict into a folder: name a file.")
    texts = [
        name
        for name, levels in known_levels(fitted).items()
        if levels and all(isinstance(level, str) for level in levels)
    ]
    line = ProgressLine.of_command(level)
    began = time.monotonic()

    def report(rows: int, n_rows: int) -> None:
        left = (time.monotonic() - began) * (n_rows / rows - 1)
        if line is not None:
            line({"source": "predict", "rows": rows, "n_rows": n_rows, "seconds_left": left})

    table = source_of(file, text=texts) or read(file, text=texts)
    try:
        write_predictions(fitted, table, out, ids, report)
    finally:
        if line is not None:
            line.end()
