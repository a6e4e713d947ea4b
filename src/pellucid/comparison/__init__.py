"""Compare many models on one table. `pellucid.compare(table, target)` runs the whole comparison.

Packages in the order of a run: `planning` (settings, dataset, models, folds: all decisions before the
first fit), `checks` (of the data), `execution` (worker processes, journal, time limit), `analysis`
(leaderboard, intervals, test set). `run` carries out one run from start to end, with `final_fit` and
`result`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

from pellucid.comparison.planning.settings import documentation

if TYPE_CHECKING:
    from pathlib import Path

    from pellucid.comparison.result import Result

__all__ = ["compare"]


def compare(
    data: Any,
    target: Any = None,
    *,
    extra: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    force: bool = False,
    progress: bool | Callable[[dict[str, Any]], None] | None = None,
    task: str = "auto",
    metric: str = "auto",
    cv: int = 5,
    repeats: int = 1,
    test_size: float = 0.2,
    test: str | None = None,
    group: str | None = None,
    time: str | None = None,
    weights: str | None = None,
    id: str | Sequence[str] = (),
    encoding: str | None = None,
    drop: str | Sequence[str] = (),
    positive: str | None = None,
    models: str | Sequence[str] = (),
    exclude: str | Sequence[str] = (),
    peers: str | Sequence[str] = (),
    effort: str = "normal",
    time_limit: str | float | None = None,
    model_timeout: str | float | None = None,
    memory_limit: float | None = None,
    margin: float = 0.01,
    prefer: str = "simple",
    cost_false_alarm: float | None = None,
    cost_miss: float | None = None,
    intervals: str = "auto",
    seed: int = 0,
    select: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    jobs: int | None = None,
    **unknown: Any,
) -> Result:
    """Compare all suitable models on a table and recommend the simplest of the best.

    Parameters
    ----------
    data : dataframe, Arrow table, 2D array, path or str
        The table, the path of a file, or the name of a built-in data set.
    target : str or 1D array
        Name of the column to predict, or the values to predict. Built-in data sets have a default.
    extra : dict, default=None
        Further models with fit and predict by name, such as a scikit-learn pipeline. They receive
        the table in the container it came in.
    out : str or path, default=None
        Folder for the run (journal, results, model); None keeps everything in memory.
    force : bool, default=False
        Whether to replace a run in that folder.
    progress : bool or callable, default=None
        True shows progress (a live leaderboard on a terminal, otherwise a line per finished model),
        False shows none, None shows it in notebooks only. A function is called with every event.
    {settings}

    Returns
    -------
    Result
        `print` shows the leaderboard, `.leaderboard` is the same as a dataframe, `.best_` is the
        fitted recommended model, and `.report(path)` writes the report.
    """
    given = {name: value for name, value in locals().items() if name not in CALL}
    from pellucid.comparison.api import compare as run

    return run(data, target, given | unknown, extra, out, force, progress)


CALL = ("data", "target", "extra", "out", "force", "progress", "unknown")  # these are not settings
if compare.__doc__:  # python -OO removes docstrings
    compare.__doc__ = cleandoc(compare.__doc__).replace("{settings}", documentation())
