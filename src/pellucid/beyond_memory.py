"""Models and tables that do not fit into memory: fits below a ceiling, predictions in parts.

Invariant: parts of a prediction are cut by row numbers alone and each file appears whole or not at all,
so a prediction that was killed and resumed has the same bytes as one that ran through.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import pickle
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pellucid.data.opening import large_source, on_workers
from pellucid.errors import DataError, MemoryLimitError

Answer = TypeVar("Answer", bound=Callable[..., Any])
PART_ROWS = 2**18  # rows of a file of predictions
JOB = "_job.json"  # readers of data sets skip names that begin with _


def fit_elsewhere(
    model: Any, X: Any, roles: tuple[Any, Any, Any], options: dict[str, Any]
) -> tuple[Any, bool]:
    """Fit to a Dask frame or below the memory ceiling; otherwise the table to fit in memory.

    `roles`: y, weights and offset, or the names of their columns.
    """
    cluster = on_workers(X)
    if cluster is not None:
        fit_on_workers(model, cluster, roles, options)
        return X, True
    X, large = large_source(X, *roles)
    if large:
        fit_below_ceiling(model, X, functools.partial(model._learn_once, X, *roles, options))
    return X, large


def fit_below_ceiling(model: Any, source: Any, learn: Callable[..., Any]) -> None:
    """Let `learn` fit the model to a source that does not fit into memory; it keeps the report."""
    from pellucid.data.sources.streaming import streaming
    from pellucid.parallel.memory import MORE

    if model._substitute:
        raise MemoryLimitError(
            f"{source.name} does not fit into the allowed memory, and {type(model).__name__} needs the "
            f"whole table in memory. Use {substitute(model)}, fit a sample of the rows, or allow more "
            f"memory with {MORE}."
        )
    with streaming(source) as report:
        learn(report=report)


def substitute(model: Any) -> str:
    """What to use instead of a model that needs all rows in memory."""
    return model._substitute.format(kind=(model._kind or "").capitalize())


def fit_on_workers(
    model: Any, table: Any, roles: tuple[Any, Any, Any], options: dict[str, Any]
) -> None:
    """Let the workers of a Dask cluster fit the model: together if its fit is a sum over rows, so that
    they stay where they are; else one of them, which takes all rows.

    `roles`: names of the columns of y, weights and offset, or None.
    """
    model._check_parameters()
    _check_workers_can(model, roles)
    names = [name for role in roles for name in ([role] if isinstance(role, str) else role or [])]
    for name in names:
        table.require(name)
    warm = getattr(model, "warm_start", False)
    work = model._working_copy()
    if not warm:
        work._replace_learned({})
        model._replace_learned({})
    start = time.perf_counter()
    together = _shared(model) and all(given is None for given in options.values())
    fit = _fit_together if together else _fit_by_one
    learned, report = fit(table, names, work, roles, options)
    seconds = time.perf_counter() - start
    model._replace_learned(learned, {"source": "the Dask frame"} | report | {"seconds": seconds})
    model._warn()


def _shared(model: Any) -> bool:
    """Whether workers fit the model together. Rows that are dropped would move the blocks."""
    return model._shares_rows and (model.table is None or model.table.missing != "drop")


def _fit_together(
    table: Any, names: list[str], work: Any, roles: tuple[Any, Any, Any], options: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    from pellucid.data.sources.dask_fit import worker_fit

    learn = functools.partial(_learn_shard, work, roles, options)
    with worker_fit(table, names, roles[1], learn) as fit:
        return pickle.loads(fit.run()), fit.report


def _fit_by_one(
    table: Any, names: list[str], work: Any, roles: tuple[Any, Any, Any], options: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    from pellucid.data.sources.dask_one_worker import one_worker_fit

    learn = functools.partial(_learn_alone, work, roles, options)
    value, facts = one_worker_fit(table, names, learn)
    learned, report = pickle.loads(value)
    return learned, report | facts


def _check_workers_can(model: Any, roles: tuple[Any, Any, Any]) -> None:
    who = type(model).__name__
    if model._substitute:
        raise DataError(
            f"{who} with these parameters cannot be fitted by Dask workers: it needs all rows in the "
            f"memory of one machine. Use {substitute(model)}, or move the rows to this machine with "
            "pellucid.scan(frame, gather=True)."
        )
    for role, what in zip(roles, ("y", "sample_weight", "offset")):
        texts = isinstance(role, list) and all(isinstance(name, str) for name in role)
        if role is not None and not isinstance(role, str) and not texts:
            raise DataError(
                f"With a Dask frame, {what} must be the name of one of its columns, not a "
                f"{type(role).__name__}."
            )


def _learn_shard(
    model: Any, roles: tuple[Any, Any, Any], options: dict[str, Any], source: Any, rank: int
) -> tuple[bytes, str]:
    """On a worker: what the model learns from all rows, sent by the first worker, and its digest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the client warns
        model._learn(source, *roles, **options)
    learned = model._learned()
    return pickle.dumps(learned) if rank == 0 else b"", digest(learned)


def _learn_alone(
    model: Any, roles: tuple[Any, Any, Any], options: dict[str, Any], source: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """On a worker: what the model learns from all rows, and the report of a fit below the ceiling."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the client warns
        model._learn(source, *roles, **options)
    return model._learned(), {"rows": source.n_rows, **vars(model).get("_fit_report", {})}


def digest(value: Any) -> str:
    """A hash of the bits of what a model has learned."""
    import hashlib

    found = hashlib.sha256()

    def add(item: Any) -> None:
        found.update(type(item).__name__.encode())
        if isinstance(item, np.ndarray) and item.dtype != object:
            found.update(f"{item.dtype}{item.shape}".encode() + item.tobytes())
        elif isinstance(item, dict):
            for name in sorted(item, key=str):
                add(name)
                add(item[name])
        elif isinstance(item, list | tuple | np.ndarray):
            for entry in item:
                add(entry)
        elif dataclasses.is_dataclass(item):
            for own in dataclasses.fields(item):
                add(getattr(item, own.name))
        else:
            found.update(repr(item).encode())

    add(value)
    return found.hexdigest()


def answer_in_parts(source: Any, answer: Callable[[Any], Any]) -> Any:
    """The answers for a source that does not fit into memory; they may be in scratch files."""
    from pellucid.data.sources.streaming import below_ceiling
    from pellucid.parallel.memory import copy_into

    source = source if source.features is None else source.select(source.features)
    out: list[np.ndarray] = []
    start = 0
    with below_ceiling(source):
        for table in source.tables():
            found = answer(table)
            parts = found if isinstance(found, tuple) else (found,)
            out = out or [np.empty((source.n_rows, *part.shape[1:]), part.dtype) for part in parts]
            for own, part in zip(out, parts):
                copy_into(own[start : start + len(part)], part)
            start += table.num_rows
    return tuple(out) if isinstance(found, tuple) else out[0]


def fit_report(self: Any) -> dict[str, Any]:
    """How a fit below a memory ceiling or on Dask went: rows, passes, bytes, seconds, peak memory."""
    if "_fit_report" not in vars(self):
        raise AttributeError("the table was in memory: there is no fit_report_.")
    return dict(vars(self)["_fit_report"])


def lazy_for_dask(method: Answer) -> Answer:
    """Let a method of a model answer lazily for a Dask frame."""

    @functools.wraps(method)
    def answer(self: Any, X: Any, **more: Any) -> Any:
        lazy = type(X) is not np.ndarray and hasattr(type(X), "__dask_graph__")
        if lazy and all(given is None for given in more.values()):
            return _answer_lazily(self, method.__name__, X)
        return method(self, X, **more)

    return answer  # type: ignore[return-value]


def _answer_lazily(model: Any, method: str, X: Any) -> Any:
    """What a method of the model answers for a Dask frame, as a lazy Dask array."""
    from pellucid.data.sources.dask_frames import lazy_answer

    classes = vars(model).get("classes_")
    labels = classes is not None and method == "predict"
    width = len(classes) if classes is not None and not labels else None
    weights = vars(model).get("coef_")
    if model._kind == "regressor" and weights is not None and weights.ndim == 2:
        width = len(weights)  # one column for each target
    dtype = classes.dtype if classes is not None and labels else np.dtype(np.float64)
    dtype = np.dtype(np.int32) if model._kind == "clusterer" else dtype
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
    return write_predictions(self, X, folder, copy)


def write_predictions(
    model: Any,
    X: Any,
    folder: str | os.PathLike[str],
    copy: Sequence[str],
    report: Callable[[int, int], None] | None = None,
) -> Path:
    """`predict_to`; `report` gets the number of rows that are done, and of all rows."""
    from pellucid.data.io.write import write
    from pellucid.data.opening import source_behind
    from pellucid.data.sources.in_memory import from_table
    from pellucid.data.sources.streaming import below_ceiling

    model._check_fitted()
    source = source_behind(X) or from_table(X)
    needed = [str(name) for name in getattr(model, "feature_names_in_", source.names)]
    source, place = source.select(list(dict.fromkeys([*needed, *copy]))), Path(folder)
    missing = _resume(place, source, _job(model, source, list(copy)))
    with below_ceiling(source):
        for number, columns in _predicted_parts(
            model, source, needed, list(copy), missing, report or (lambda rows, n_rows: None)
        ):
            write(columns, str(place / _name(number)), "parquet")
    return place


def _predicted_parts(
    model: Any,
    source: Any,
    needed: list[str],
    copied: list[str],
    missing: set[int],
    report: Callable[[int, int], None],
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number and output columns of each missing part, predicted block by block."""
    from pellucid.data.sources.block_source import joined_columns

    blocks: list[dict[str, Any]] = []
    rows = _block_rows(len(source.names))
    for k, block in enumerate(source.tables(rows)):
        report(k * rows + block.num_rows, source.n_rows)
        number, place = divmod(k * rows, PART_ROWS)
        if number not in missing:
            continue
        made = prediction_columns(model, block.select(needed))
        twice = [name for name in copied if name in made]
        if twice:
            raise DataError(f"the output already has a column {twice[0]!r}. Rename the column.")
        blocks.append({name: block.column(name) for name in copied} | made)
        if place + rows >= PART_ROWS or k * rows + block.num_rows == source.n_rows:
            yield number, {n: joined_columns([own[n] for own in blocks]) for n in blocks[0]}
            blocks = []


def _block_rows(columns: int) -> int:
    """Rows that are predicted at once, a power of two: a function of the number of columns alone."""
    from pellucid.data.sources.block_source import CELLS

    return min(PART_ROWS, 2 ** max((CELLS // max(columns, 1)).bit_length() - 1, 8))


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
    for half in place.glob(".part-*.part"):  # left by a process that was killed
        half.unlink()
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
