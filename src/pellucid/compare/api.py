"""`pellucid.compare(...)`: the whole comparison from Python."""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pellucid.compare import folder as files
from pellucid.compare.crew import warm_up
from pellucid.compare.prepare import prepare
from pellucid.compare.result import Result
from pellucid.compare.session import Session
from pellucid.compare.settings import Settings
from pellucid.names import PROGRESS


def compare(
    data: Any,
    target: Any = None,
    *,
    extra: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: bool | Callable[[dict[str, Any]], None] | None = None,
    **settings: Any,
) -> Result:
    """Compare all suitable models on a table and recommend the simplest of the best.

    Parameters
    ----------
    data : dataframe, Arrow table, 2D array, path, or the name of a built-in data set
    target : name of the column to predict, or the values themselves
    extra : {name: estimator}
        Further models with fit and predict, such as a scikit-learn pipeline. They get the table in
        the container it came in.
    out : folder for the run (journal, results, model); None keeps everything in memory
    force : replace a run in that folder
    progress : True shows progress (a live board on a terminal, else a line per finished model),
        False none, None (the default) in notebooks only; a function is called with every event
    settings : test, encoding, metric, cv, repeats, test_size, group, time, weights, id, drop,
        positive, task, models, exclude, effort, time_limit, model_timeout, memory_limit, seed, jobs,
        select, ignore

    Returns
    -------
    Result
        `.leaderboard`, `.best_`, `.report(path)`.
    """
    warm_up(modules_of(extra or {}))
    named = isinstance(target, str) or target is None
    known = Settings.of({**settings, **({"target": target} if isinstance(target, str) else {})})
    plan, findings = prepare(data, known, None if named else target, dict(extra or {}))
    with hearing(progress, plan) as hear:
        if out is not None:
            folder = files.new_folder(str(out), plan.material.name, force)
            return Session(plan, folder, hear, findings).run()
        with tempfile.TemporaryDirectory(prefix="pellucid-run-") as temporary:
            # One level down: runs of other programs lie beside the temporary folder, not beside this.
            folder = files.new_folder(f"{temporary}/run", plan.material.name, force)
            return detached(Session(plan, folder, hear, findings).run())


@contextmanager
def hearing(progress: Any, plan: Any) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Who hears of the events: the user's function, a board, or nobody."""
    if progress is True or (progress is None and "IPython" in sys.modules):
        with importlib.import_module(PROGRESS).for_python(plan, progress is True) as board:
            yield board.hear
    else:
        yield progress or (lambda event: None)


def modules_of(extra: Mapping[str, Any]) -> set[str]:
    """Modules of the user's models and of the models inside them."""
    found, waiting = set(), list(extra.values())
    while waiting:
        model = waiting.pop()
        found.add(type(model).__module__)
        if hasattr(model, "get_params"):
            waiting += [v for v in model.get_params().values() if hasattr(v, "get_params")]
    return found


def detached(result: Result) -> Result:
    """The result with its model in memory, without its folder."""
    from dataclasses import replace

    path = None if result.folder is None else result.folder / "model.pellucid"
    model = result.best_ if path is not None and path.exists() else result.model
    return replace(result, folder=None, model=model)
