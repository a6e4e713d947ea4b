"""The implementation of `pellucid.compare(...)`."""

from __future__ import annotations

import importlib
import multiprocessing
import reprlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from pellucid.comparison.execution import run_folder as files
from pellucid.comparison.execution.worker_pool import warm_up
from pellucid.comparison.large_table import large_table
from pellucid.comparison.planning.prepare import prepare
from pellucid.comparison.planning.settings import Settings
from pellucid.comparison.result import Result
from pellucid.comparison.run import Run
from pellucid.errors import ParameterError, PellucidWarning, warn
from pellucid.names import PROGRESS


def compare(
    data: Any,
    target: Any,
    given: Mapping[str, Any],
    extra: Mapping[str, Any] | None,
    out: str | Path | None,
    force: bool,
    progress: bool | Callable[[dict[str, Any]], None] | None,
) -> Result:
    """`pellucid.compare`, with its settings by name in `given`.

    A warning says what the report or the folder of the result lacks.
    """
    began = time.monotonic()
    exit_if_reimported()
    refuse_unknown(given)
    refuse_invalid_extra(extra)
    warm_up(modules_of(extra or {}))
    named = isinstance(target, str) or target is None
    known = Settings.of({**given, **({"target": target} if isinstance(target, str) else {})})
    large = large_table(data, known) if named else None
    table = data if large is None else large.opened
    plan, findings = prepare(table, known, None if named else target, dict(extra or {}))
    with (
        event_listener(progress, plan) as on_event,
        tempfile.TemporaryDirectory(prefix="pellucid-run-") as temporary,
    ):
        # A subfolder, so that the run has no neighbours whose uses of the test set would count.
        where = f"{temporary}/run" if out is None else str(out)
        folder = files.new_folder(where, plan.dataset.name, force)
        result = Run(plan, folder, on_event, findings, began=began).run()
        if large is not None and result.complete and (folder / "model.pellucid").exists():
            result.notes[:] = [
                *large.opened.notes,
                large.refit(plan, result, folder),
                *result.notes,
            ]
        if out is None:  # the model is kept in memory
            saved = (folder / "model.pellucid").exists()
            model = result.best_ if saved else result.model
            result = replace(result, folder=None, model=model)
    if result.unwritten:
        what = f"The results could not be written to {result.folder}: {result.unwritten}."
        warn(what, PellucidWarning)
    for note in result.notes:
        warn(note[0].upper() + note[1:], PellucidWarning)
    return result


def exit_if_reimported() -> None:
    """Exit if a worker imports the user's script for a model in it: it must not compare again.

    It exits silently; the row of the model gives the reason why it has no score.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SystemExit(1)


def refuse_unknown(given: Mapping[str, Any]) -> None:
    """Raise an error that names an unknown parameter and lists all parameters."""
    from inspect import signature

    from pellucid.comparison import compare as public
    from pellucid.data.io.source import did_you_mean

    known = [name for name in signature(public).parameters if name != "unknown"]
    for name in given:
        if name not in known:
            raise ParameterError(
                f"compare has no parameter {name!r}.{did_you_mean(name, known)} It has "
                f"{', '.join(known)}. Pass your own models as extra={{'name': estimator}}."
            )


def refuse_invalid_extra(extra: Any) -> None:
    """Raise an error for models without a name and for objects that are not models."""
    if extra is None:
        return
    if not isinstance(extra, Mapping) or not all(isinstance(name, str) for name in extra):
        raise ParameterError(
            "extra must be a dict of models by name: {'mine': estimator}. "
            f"Got {reprlib.repr(extra)} instead."
        )
    for name, model in extra.items():
        able, a_class = hasattr(model, "fit") and hasattr(model, "predict"), isinstance(model, type)
        if not able or a_class:
            hint = f" Did you mean {model.__name__}()?" if able else ""
            raise ParameterError(
                f"extra model {name!r} must be an estimator with fit and predict. "
                f"Got {reprlib.repr(model)} instead.{hint}"
            )


@contextmanager
def event_listener(progress: Any, plan: Any) -> Iterator[Callable[[dict[str, Any]], None]]:
    """The function that is called with every event: the user's, a progress display, or none."""
    if progress is True or (progress is None and "IPython" in sys.modules):
        with importlib.import_module(PROGRESS).for_python(plan, progress is True) as board:
            yield board.update
    else:
        yield progress or (lambda event: None)


def modules_of(extra: Mapping[str, Any]) -> set[str]:
    """Modules of the user's models and of the models that they contain."""
    found, waiting = set(), list(extra.values())
    while waiting:
        model = waiting.pop()
        found.add(type(model).__module__)
        if hasattr(model, "get_params"):
            waiting += [v for v in model.get_params().values() if hasattr(v, "get_params")]
    return found
