"""Models and tables that do not fit into memory: fits below a ceiling, predictions in parts.

Invariant: parts of a prediction are cut by row numbers alone and each file appears whole or not at all,
so a prediction that was killed and resumed has the same bytes as one that ran through.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pellucid.errors import DataError, MemoryLimitError

Answer = TypeVar("Answer", bound=Callable[..., Any])
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


def fit_report(self: Any) -> dict[str, Any]:
    """Of a fit below a memory ceiling: rows, bytes and seconds of reading, memory and scratch."""
    if "_fit_report" not in vars(self):
        raise AttributeError("the table was in memory: there is no fit_report_.")
    return dict(vars(self)["_fit_report"])


def lazy_for_dask(method: Answer) -> Answer:
    """Let a method of a model answer lazily for a Dask frame."""

    @functools.wraps(method)
    def answer(self: Any, X: Any) -> Any:
        if type(X) is not np.ndarray and hasattr(type(X), "__dask_graph__"):
            return _answer_lazily(self, method.__name__, X)
        return method(self, X)

    return answer  # type: ignore[return-value]


def _answer_lazily(model: Any, method: str, X: Any) -> Any:
    """What a method of the model answers for a Dask frame, as a lazy Dask array."""
    from pellucid.data.sources.dask_frames import lazy_answer

    classes = vars(model).get("classes_")
    labels = classes is not None and method == "predict"
    width = len(classes) if classes is not None and not labels else None
    dtype = classes.dtype if classes is not None and labels else np.float64
    return lazy_answer(X, getattr(model, method), dtype, width)


def prediction_columns(model: Any, rows: Any) -> dict[str, Any]:
    """Output columns: `prediction` (or `prediction_0`, ...), and `p_<class>` for probabilities."""
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(rows)
        # Without a threshold, the most probable class is predicted, the first among equals.
        codes = shares.argmax(axis=1)
        if "threshold_" in vars(model):
            codes = (shares[:, 1] >= model.threshold_).astype(int)
        columns = {"prediction": model.classes_[codes]}
        for k, label in enumerate(model.classes_.tolist()):
            name = str(label).lower() if isinstance(label, bool) else label  # as CSV writes it
            columns[f"p_{name}"] = shares[:, k]
        return columns
    predicted = model.predict(rows)
    if predicted.ndim == 1:
        return {"prediction": predicted}
    return {f"prediction_{k}": predicted[:, k] for k in range(predicted.shape[1])}


def predict_to(
    self: Any, X: Any, folder: str | os.PathLike[str], *, copy: Sequence[str] = ()
) -> Path:
    """Write predictions and probabilities for a table of any size as Parquet files, with the columns of
    X that are named in `copy`. The same call continues a run that was killed.
    """
    from pellucid.data.io.write import write
    from pellucid.data.opening import source_behind
    from pellucid.data.sources.in_memory import from_table

    self._check_fitted()
    source = source_behind(X) or from_table(X)
    needed = [str(name) for name in getattr(self, "feature_names_in_", source.names)]
    source, place = source.select(list(dict.fromkeys([*needed, *copy]))), Path(folder)
    missing = _resume(place, source, _job(self, source, list(copy)))
    for number, part in enumerate(source.tables(PART_ROWS)):
        if number not in missing:
            continue
        made = prediction_columns(self, part.select(needed))
        twice = [name for name in copy if name in made]
        if twice:
            raise DataError(f"the output already has a column {twice[0]!r}. Rename the column.")
        columns = {name: part.column(name) for name in copy} | made
        write(columns, str(place / _name(number)), "parquet")
    return place


def _name(number: int) -> str:
    return f"part-{number:06d}.parquet"


def _job(model: Any, source: Any, copied: list[str]) -> dict[str, Any]:
    """What the files of a folder belong to."""
    job = {"model": fingerprint(model.save), "rows": source.n_rows, "part_rows": PART_ROWS}
    return job | {"columns": source.names, "copied": copied, "source": repr(source.stamped)}


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
