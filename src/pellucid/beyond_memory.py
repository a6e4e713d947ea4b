"""Models and tables that do not fit into memory: fits below a ceiling, predictions in parts.

Invariant: parts of a prediction are cut by row numbers alone and each file appears whole or not at all,
so a prediction that was killed and resumed has the same bytes as one that ran through.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.errors import DataError, MemoryLimitError

PART_ROWS = 2**18  # rows of a file of predictions
JOB = "_job.json"  # readers of data sets skip names that begin with _


def fit_below_ceiling(model: Any, source: Any, learn: Callable[[], Any]) -> None:
    """Let `learn` fit the model to a source that does not fit into memory; keeps the report."""
    from pellucid.data.sources.streaming import streaming

    if model._substitute:
        other = model._substitute.format(kind=(model._kind or "").capitalize())
        raise MemoryLimitError(
            f"{source.name} does not fit into the memory that is allowed, and "
            f"{type(model).__name__} needs the whole table in memory. Use {other}, fit a sample of the "
            "rows, or allow more memory with pellucid.set_memory."
        )
    with streaming(source) as report:
        learn()
    model._fit_report = report


def answer_in_parts(source: Any, answer: Callable[[Any], Any]) -> Any:
    """The answers for a source that does not fit into memory, which must themselves fit."""
    parts = [answer(table) for table in source.tables()]
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(own) for own in zip(*parts))
    return np.concatenate(parts)


def prediction_columns(model: Any, rows: Any) -> dict[str, Any]:
    """Output columns: `prediction` (or `prediction_0`, ...), and `p_<class>` for probabilities."""
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(rows)
        # Every classifier with probabilities predicts the most probable class, the first among equals.
        columns = {"prediction": model.classes_[shares.argmax(axis=1)]}
        for k, label in enumerate(model.classes_.tolist()):
            name = str(label).lower() if isinstance(label, bool) else label  # as CSV writes it
            columns[f"p_{name}"] = shares[:, k]
        return columns
    predicted = model.predict(rows)
    if predicted.ndim == 1:
        return {"prediction": predicted}
    return {f"prediction_{k}": predicted[:, k] for k in range(predicted.shape[1])}


def predict_to(
    model: Any, X: Any, folder: str | os.PathLike[str], copied: tuple[str, ...] = ()
) -> Path:
    """Write the predictions for X as Parquet files of `PART_ROWS` rows; files that exist are kept.

    `copied` names columns of X that stand beside the predictions.
    """
    from pellucid.data.io.write import write
    from pellucid.data.opening import source_behind
    from pellucid.data.sources.in_memory import from_table

    source = source_behind(X) or from_table(X)
    needed = getattr(model, "feature_names_in_", source.names)
    wanted = dict.fromkeys([*map(str, needed), *copied])
    source, place = source.select(list(wanted)), Path(folder)
    if source.n_rows is None:
        raise DataError(f"the rows of {source.name} are not counted yet.")
    missing = _resume(place, source, _job(model, source, copied))
    for number, part in enumerate(source.tables(PART_ROWS)):
        if number not in missing:
            continue
        columns = {name: part.column(name) for name in copied}
        made = prediction_columns(model, part.select(list(map(str, needed))))
        twice = [name for name in copied if name in made]
        if twice:
            raise DataError(f"the output already has a column {twice[0]!r}. Rename the column.")
        write({**columns, **made}, str(place / _name(number)), "parquet")
    return place


def _name(number: int) -> str:
    return f"part-{number:06d}.parquet"


def _job(model: Any, source: Any, copied: tuple[str, ...]) -> dict[str, Any]:
    """What the files of a folder belong to."""
    job = {"model": fingerprint(model.save), "rows": source.n_rows, "part_rows": PART_ROWS}
    return job | {"columns": source.names, "copied": list(copied), "source": repr(source.stamped)}


def _resume(place: Path, source: Any, job: dict[str, Any]) -> set[int]:
    """The parts that are still missing in the folder, which must be new or of the same job."""
    path, text = place / JOB, json.dumps(job, indent=1)
    if place.exists() and not place.is_dir():
        raise DataError(f"{place} is a file: give the path of a folder.")
    place.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise DataError(
            f"{place} holds predictions of another model or table. Remove it, or give another folder."
        )
    if not path.exists():
        if any(place.iterdir()):
            raise DataError(f"{place} is not empty: give a new folder for the predictions.")
        beside = place / f".{JOB}.{os.getpid()}"
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    parts = range(-(-source.n_rows // PART_ROWS))
    return {number for number in parts if not (place / _name(number)).exists()}


def fingerprint(save: Callable[[Path], None]) -> str:
    """SHA-256 of the file that `save` writes; "" for a model that no file can hold."""
    import hashlib
    import tempfile

    from pellucid.errors import CannotSaveError

    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(CannotSaveError):
        path = Path(folder) / "model"
        save(path)
        return hashlib.sha256(path.read_bytes()).hexdigest()
    return ""
