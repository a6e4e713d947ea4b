"""Compare many models on one table, honestly. `pellucid.compare(table, target)` does it all.

Rooms in the order of a run: `planning` (settings, data, models, folds: everything decided before the
first fit), `checks` (of the table), `execution` (worker processes, journal, time limit), `analysis`
(leaderboard, tests, test set). On top: `run` (one run from start to end), `final_fit`, `result`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

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
    effort: str = "normal",
    time_limit: str | float | None = None,
    model_timeout: str | float | None = None,
    memory_limit: float | None = None,
    margin: float = 0.01,
    prefer: str = "simple",
    seed: int = 0,
    select: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    jobs: int | None = None,
    **unknown: Any,
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
    task : "classification", "regression", or "auto": what kind of target it is
    metric : the score that ranks: one of ours, the name of a scikit-learn scorer, or "auto"
    cv : folds of the cross validation
    repeats : how often the folds are drawn anew
    test_size : share of the rows held out as the test set; 0 for none
    test : a file whose rows are the locked test part
    group : column of groups: rows of one group stay together
    time : column of times: the past predicts the future
    weights : column of weights: how often a row counts
    id : columns that only name a row: kept out of training
    encoding : of the file, such as "cp1252"; None finds it
    drop : columns to leave out
    positive : the class that two-class scores are about; None takes the last
    models : only these models, by id (`pellucid models` lists them): "logistic,forest" or a list
    exclude : all models but these
    effort : "quick", "normal" or "thorough": how many candidates are searched
    time_limit : stop after this time: seconds, or "90s", "10m", "1h"
    model_timeout : longest time for one model
    memory_limit : most memory of one model, in GB
    margin : share of the best model's gain over the baseline that counts as no difference
    prefer : "simple" recommends the simplest model that is as good as the best, "score" the best score
    seed : everything that is drawn depends on it
    select : only these checks of the data, by code or prefix
    ignore : not these checks
    jobs : processes at a time; None for one per CPU

    Returns
    -------
    Result
        `print` shows the leaderboard; `.leaderboard` is a frame, `.best_` the recommended model,
        fitted; `.report(path)` writes the report.
    """
    given = {name: value for name, value in locals().items() if name not in CALL}
    from pellucid.comparison.api import compare as run

    return run(data, target, given | unknown, extra, out, force, progress)


CALL = ("data", "target", "extra", "out", "force", "progress", "unknown")  # no settings
