"""Hyperparameter search by cross-validation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.data.targets import as_vector
from pellucid.errors import DataError, ParameterError, PellucidWarning, shown, warn
from pellucid.model_selection.copies import fresh
from pellucid.model_selection.cross_validation import cross_validate, fit_rows
from pellucid.model_selection.given_folds import folds_of
from pellucid.model_selection.grids import candidates
from pellucid.model_selection.rows import is_classifier, n_rows
from pellucid.model_selection.scorers import scorer
from pellucid.records import frames


@dataclass(frozen=True)
class SearchResult:
    """What a search tried, and what it chose. `best` is the number of the chosen candidate.

    `scores` has a row per candidate and a column per fold, in the units of the metric; NaN where a fit
    failed (`errors` says why). `model` is fitted with the chosen parameters on all rows.
    """

    candidates: list[dict[str, Any]]
    scores: np.ndarray
    best: int
    errors: dict[int, str]
    model: Any = None

    @property
    def params(self) -> dict[str, Any]:
        """The chosen parameters."""
        return self.candidates[self.best]

    @property
    def score(self) -> float:
        """The mean score of the chosen parameters over the folds."""
        return float(self.scores[self.best].mean())

    def frame(self, backend: str | None = None) -> Any:
        """The candidates with mean and standard deviation of their scores: a dict of columns, or
        "pandas", "polars" or "arrow".
        """
        names = list(dict.fromkeys(name for one in self.candidates for name in one))
        columns: dict[str, Any] = {n: [one.get(n) for one in self.candidates] for n in names}
        columns["mean_score"] = self.scores.mean(axis=1).tolist()
        columns["std_score"] = self.scores.std(axis=1).tolist()
        return frames.frame(columns, backend)


def search(
    model: Any,
    X: Any,
    y: Any,
    grid: Any,
    *,
    scoring: Any = None,
    cv: Any = None,
    groups: Any = None,
    params: dict[str, Any] | None = None,
    sample_weight: Any = None,
    refit: bool = True,
) -> SearchResult:
    """Score every combination of `grid` by cross-validation, and refit the best one on all rows.

    Parameters
    ----------
    model : any object with fit, predict, get_params and set_params
        It is copied and never changed.
    X, y : table and target
        Any table that the model accepts.
    grid : dict, or list of dicts
        Values of each parameter, as a list or as `Geometric(low, high, n)`; all combinations are
        tried. Parts of a composite model are named with two underscores (`table__missing`).
    scoring, cv, groups, params, sample_weight
        As in `cross_validate`. A metric where lower is better, such as "rmse", is minimised.
    refit : bool, default=True
        Fit the best combination on all rows.

    Returns
    -------
    SearchResult
        Equal scores choose the earlier candidate.

    Examples
    --------
    >>> from pellucid.data import datasets
    >>> from pellucid.linear_model import Ridge
    >>> from pellucid.model_selection import Geometric, search
    >>> tips = datasets.load("tips")
    >>> found = search(Ridge(), tips.X, tips.y, {"alpha": Geometric(1, 10000, 5)}, scoring="rmse")
    >>> found.params, round(found.score, 3)
    ({'alpha': 1000.0}, 1.009)
    """
    tried = _combinations(grid)
    chosen = scorer(scoring)
    splits = folds_of(cv, X, y, groups, classes=is_classifier(model))
    scores = np.full((len(tried), len(splits)), np.nan)
    errors: dict[int, Exception] = {}
    options = {"scoring": scoring, "cv": splits, "params": params, "error_score": "raise"}
    for c, combination in enumerate(tried):
        try:
            one = fresh(model, combination)
            found = cross_validate(one, X, y, sample_weight=sample_weight, **options)
            scores[c] = found["test_score"]
        except Exception as error:  # a candidate's failure is a result, reported to the user
            errors[c] = error
    best = _best(chosen.sign * scores.mean(axis=1), errors)
    fitted = None
    if refit:
        weight = None if sample_weight is None else as_vector(sample_weight, "sample_weight")
        fitted = fit_rows(fresh(model, tried[best]), X, y, np.arange(n_rows(X)), params, weight)
    failures = {c: f"{type(error).__name__}: {error}" for c, error in errors.items()}
    return SearchResult(tried, scores, best, failures, fitted)


def _best(means: np.ndarray, errors: dict[int, Exception]) -> int:
    """The first of the best candidates; an error if none could be scored."""
    if np.isnan(means).all():
        if errors:
            raise next(iter(errors.values()))
        raise DataError("No candidate has a score: the metric is undefined on a fold.")
    if errors:
        first = next(iter(errors.values()))
        warn(
            f"{len(errors)} of {len(means)} candidates failed and are left out. The first error: "
            f"{first}",
            PellucidWarning,
        )
    return int(np.nanargmax(means))


def _combinations(grid: Any) -> list[dict[str, Any]]:
    grids = [grid] if isinstance(grid, dict) else list(grid)
    if not grids or not all(isinstance(one, dict) for one in grids):
        raise ParameterError(
            f"grid must be a dict of lists, or a list of dicts. Got {shown(grid)}."
        )
    return [combination for one in grids for combination in candidates(one)]
