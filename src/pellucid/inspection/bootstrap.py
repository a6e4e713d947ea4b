"""The bootstrap: how much a statistic, or a learned attribute, varies from sample to sample.

Rows (or whole groups) are drawn again with replacement, as many as there are, and the statistic is
computed anew for each draw; the spread of these values estimates that of the statistic.

Invariant: a draw depends on (seed, its number) alone, so results are equal for any number of
threads; every draw counts, and one that fails is an error that says which. What a draw does not
determine (a level or class that it lacks, or that others are compared with) is NaN in it, and counted.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data.opening import opened
from pellucid.data.targets import as_vector, check_lengths, weights_or_ones
from pellucid.errors import DataError, ParameterError, PellucidError, shown
from pellucid.model_selection.search import fresh
from pellucid.parameters import Integer, Real
from pellucid.records import SummaryTable

Statistic = str | Callable[..., Any]
MANY_COPIES = 2**24  # samples beyond which copies of a row are not made, but counted by a weight


@dataclass(frozen=True)
class Bootstrap:
    """What `bootstrap` returns: arrays of the shape of the statistic.

    `estimate` is the statistic of the sample itself, `replicates` (n_resamples, ...) those of the
    draws, `std_error` their standard deviation, `low` and `high` the percentile interval of `level`,
    `bias` the mean of the draws less the estimate. NaN among the replicates are left out.
    """

    estimate: np.ndarray
    replicates: np.ndarray
    level: float
    names: tuple[str, ...]

    @property
    def std_error(self) -> np.ndarray:
        return np.sqrt(self.variance)

    @property
    def variance(self) -> np.ndarray:
        return self._of_draws(lambda values: values.var(axis=0, ddof=1))

    @property
    def bias(self) -> np.ndarray:
        return self._of_draws(lambda values: values.mean(axis=0)) - self.estimate

    @property
    def low(self) -> np.ndarray:
        return self._of_draws(lambda v: np.quantile(v, (1 - self.level) / 2, axis=0))

    @property
    def high(self) -> np.ndarray:
        return self._of_draws(lambda v: np.quantile(v, (1 + self.level) / 2, axis=0))

    def _of_draws(self, function: Callable[[np.ndarray], Any]) -> np.ndarray:
        """A function of the draws, entry by entry where some do not determine one."""
        if not np.isnan(self.replicates).any():
            return np.asarray(function(self.replicates))
        columns = self.replicates.reshape(len(self.replicates), -1).T
        known = [column[~np.isnan(column)] for column in columns]
        values = [function(column) if len(column) > 1 else np.nan for column in known]
        return np.array(values, dtype=float).reshape(self.estimate.shape)

    def _notes(self) -> tuple[str, ...]:
        note = "Percentile intervals; a biased estimate (a penalty) stays biased in its resamples."
        unknown = np.isnan(self.replicates).reshape(len(self.replicates), -1).sum(axis=0)
        listed = [f"{name} ({k})" for name, k in zip(self.names, unknown.tolist()) if k]
        if not listed:
            return (note,)
        lacking = (
            "Resamples that lack its level or class, or what it is compared with, do not count: "
        )
        return (note, lacking + ", ".join(listed) + ".")

    def summary(self) -> SummaryTable:
        """One line per entry of the statistic."""
        parts = (self.estimate, self.std_error, self.low, self.high, self.bias)
        columns = np.column_stack([np.ravel(part) for part in parts]).tolist()
        rows = tuple((name, *line) for name, line in zip(self.names, columns))
        header = (("resamples", len(self.replicates)), ("level", self.level))
        head = ("entry", "estimate", "std error", "low", "high", "bias")
        return SummaryTable("Bootstrap", header, head, rows, self._notes())

    def frame(self, backend: str | None = None) -> Any:
        return self.summary().frame(backend)

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().html()


def bootstrap(
    estimator: Any,
    X: Any,
    y: Any = None,
    statistic: Statistic = "coef_",
    *,
    n_resamples: int = 1000,
    level: float = 0.95,
    sample_weight: Any = None,
    groups: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    offset: Any = None,
    exposure: Any = None,
) -> Bootstrap:
    """Variance and percentile interval of a learned attribute, or of any statistic.

    Parameters
    ----------
    estimator : any estimator (it is cloned), or None for a statistic of the rows themselves
    X, y : the rows; NumPy, SciPy sparse, pandas, polars or Arrow, or a path. y, sample_weight,
        groups, offset and exposure may be names of columns, which are taken out of X
    statistic : the name of a learned attribute, or a function: of the fitted estimator, or, without
        an estimator, of (X, y), of (X) if y is None
    n_resamples : int >= 2; level : float in (0, 1)
    sample_weight : whole numbers are numbers of copies (of a binomial share: trials, which are
        drawn one by one); other weights, which the estimator must take, stay with their rows
    groups : rows of one group are drawn together
    random_state, n_jobs : the result does not depend on n_jobs
    offset, exposure : arrays that the estimator's `fit` takes, one entry per row

    Examples
    --------
    >>> import numpy as np
    >>> found = bootstrap(None, np.arange(20.0), statistic=np.mean, random_state=0)
    >>> bool(found.low < 9.5 < found.high)
    True
    """
    _check(n_resamples, level, estimator, statistic)
    given = (y, sample_weight, groups, offset, exposure)
    X, y, sample_weight, groups, offset, exposure = opened(X, *given)
    X = X.tocsr() if hasattr(X, "tocsr") else X  # other sparse tables have no rows to take
    n = _rows(X)
    y = None if y is None else as_vector(y)
    if y is not None:
        check_lengths(n, len(y))
    more = _more(estimator, n, offset, exposure)
    groups = None if groups is None else _known(as_vector(groups, "groups"), n)
    weighable = _takes_weights(estimator)
    if sample_weight is not None and not weighable:
        rows = _copies(estimator, weights_or_ones(sample_weight, n))
        X, y, n, sample_weight = taken(X, rows), None if y is None else y[rows], len(rows), None
        more = {name: values[rows] for name, values in more.items()}
        groups = None if groups is None else groups[rows]
    if groups is None and _are_shares(estimator, y, sample_weight):
        rows, y, sample_weight = _trials(y, weights_or_ones(sample_weight, n))
        X, n, more = taken(X, rows), len(rows), {k: values[rows] for k, values in more.items()}
    draw = _drawer(n, sample_weight, groups, weighable)
    seed = parallel.seed_sequence(random_state)
    whole = _fitted(_seeded(estimator, seed, "whole"), X, y, sample_weight, more)
    estimate, names = _value(whole, statistic, X, y), _names(whole, statistic)

    def one(number: int) -> np.ndarray:
        rows, weights = draw(parallel.stream(seed, "bootstrap", number))
        part, target = taken(X, rows), None if y is None else y[rows]
        try:
            also = {name: values[rows] for name, values in more.items()}
            model = _fitted(_seeded(estimator, seed, number), part, target, weights, also)
            value = _value(model, statistic, part, target)
        except PellucidError as error:
            raise DataError(f"Resample {number} cannot be used: {error}") from error
        value = _aligned(value, estimate, model, whole, number)
        return _determined(value, statistic, model, whole)

    with parallel.using(n_jobs):
        replicates = np.stack(parallel.map(one, list(range(n_resamples))))
    if len(names) != estimate.size:
        names = tuple(map(str, range(estimate.size)))
    return Bootstrap(estimate, replicates, float(level), names)


def _check(n_resamples: int, level: float, estimator: Any, statistic: Any) -> None:
    if not Integer(2).accepts(n_resamples):
        raise ParameterError(f"n_resamples must be an int >= 2. Got {shown(n_resamples)} instead.")
    if not Real(0, 1, "neither").accepts(level):
        raise ParameterError(f"level must be in (0, 1). Got {shown(level)} instead.")
    if not isinstance(statistic, str) and not callable(statistic):
        raise ParameterError(
            "statistic must be a learned attribute's name or a function. Got "
            f"{shown(statistic)} instead."
        )
    if isinstance(estimator, type):
        raise ParameterError(f"Give an instance, {estimator.__name__}(), not the class.")
    if estimator is not None and not hasattr(estimator, "fit"):
        raise ParameterError(
            f"Got {shown(estimator)}, which has no fit. A function of the rows is a statistic: "
            "bootstrap(None, X, y, function). Of a model of a formula take fit.model, fit.X, fit.y."
        )
    if estimator is None and isinstance(statistic, str):
        raise ParameterError("Without an estimator the statistic is a function of the rows.")


def _rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def taken(X: Any, rows: np.ndarray) -> Any:
    """These rows of a table, in the container it came in."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "take") and hasattr(X, "schema") and not hasattr(X, "lazy"):  # Arrow
        return X.take(rows)
    if isinstance(X, list | tuple):
        return [X[i] for i in rows]
    return X[rows]


def _takes_weights(estimator: Any) -> bool:
    return estimator is not None and "sample_weight" in inspect.signature(estimator.fit).parameters


def _copies(estimator: Any, w: np.ndarray) -> np.ndarray:
    """Rows, each as often as its weight says, for what takes no weights."""
    if not (w == np.floor(w)).all():
        who = "A statistic of the rows" if estimator is None else type(estimator).__name__
        raise ParameterError(
            f"{who} takes no sample_weight: only whole weights, which are numbers of copies, are "
            "possible."
        )
    if w.sum() > MANY_COPIES:
        raise ParameterError(
            f"sample_weight stands for {w.sum():.3g} rows: too many to copy for what takes no "
            "weights."
        )
    return np.repeat(np.arange(len(w)), w.astype(np.int64))


def _are_shares(estimator: Any, y: Any, weights: Any) -> bool:
    """Whether y are shares of successes, and weights their numbers of trials."""
    if getattr(estimator, "family", None) != "binomial" or weights is None or y.dtype.kind != "f":
        return False
    hits = weights_or_ones(weights, len(y)) * y
    return bool(np.any((y > 0) & (y < 1)) and np.all(np.abs(hits - np.rint(hits)) < 1e-6))


def _trials(y: np.ndarray, trials: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of successes, then rows of failures: what is drawn are trials, not copies of a share."""
    hits = np.rint(trials * y)
    rows = np.tile(np.arange(len(y)), 2)
    return rows, np.repeat([1.0, 0.0], len(y)), np.append(hits, trials - hits)


def _known(groups: np.ndarray, n: int) -> np.ndarray:
    """Groups of the rows, of which none is missing."""
    check_lengths(n, len(groups))
    missing = np.flatnonzero([g is None or g != g for g in groups.tolist()])
    if len(missing):
        raise DataError(f"groups has a missing value in row {missing[0]}.")
    return groups


def _drawer(
    n: int, weights: Any, groups: Any, weighable: bool
) -> Callable[..., tuple[np.ndarray, Any]]:
    """generator -> row numbers and their weights (None: each counts once)."""
    w = weights_or_ones(weights, n)
    copies = bool((w == np.floor(w)).all())
    if groups is not None:
        codes = np.unique(groups, return_inverse=True)[1]
        members = [np.flatnonzero(codes == g) for g in range(int(codes.max()) + 1)]

        def by_group(rng: np.random.Generator) -> tuple[np.ndarray, Any]:
            chosen = rng.integers(0, len(members), len(members))
            rows = np.concatenate([members[g] for g in chosen])
            return rows, None if weights is None else w[rows]

        return by_group
    if copies and weights is not None:
        if weighable and w.sum() > MANY_COPIES:
            return lambda rng: _counted(rng.multinomial(int(w.sum()), w / w.sum()))
        all_rows = np.repeat(np.arange(n), w.astype(np.int64))
        return lambda rng: (all_rows[rng.integers(0, len(all_rows), len(all_rows))], None)

    def by_row(rng: np.random.Generator) -> tuple[np.ndarray, Any]:
        rows = rng.integers(0, n, n)
        return rows, None if weights is None else w[rows]

    return by_row


def _counted(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = np.flatnonzero(times)
    return rows, times[rows].astype(float)


def _more(estimator: Any, n: int, offset: Any, exposure: Any) -> dict[str, np.ndarray]:
    """What else `fit` is given, by row."""
    given = {"offset": offset, "exposure": exposure}
    more = {name: as_vector(v, name) for name, v in given.items() if v is not None}
    for name, values in more.items():
        if estimator is None:
            raise ParameterError(f"Without an estimator there is nothing that takes {name}.")
        if name not in inspect.signature(estimator.fit).parameters:
            raise ParameterError(f"{type(estimator).__name__} takes no {name}.")
        check_lengths(n, len(values))
    return more


def _seeded(estimator: Any, seed: np.random.SeedSequence, number: int | str) -> Any:
    """A copy whose random states, where the user left them open, follow from (seed, number)."""
    if estimator is None:
        return None
    left = [name for name, value in estimator.get_params().items()
            if value is None and name.split("__")[-1] == "random_state"]  # fmt: skip
    states = parallel.stream(seed, "model", number).integers(0, 2**31 - 1, len(left)).tolist()
    return fresh(estimator, dict(zip(sorted(left), states)))


def _fitted(model: Any, X: Any, y: Any, weights: Any, more: dict[str, np.ndarray]) -> Any:
    given = more if weights is None else more | {"sample_weight": weights}
    return None if model is None else model.fit(X, y, **given)


def _value(model: Any, statistic: Statistic, X: Any, y: Any) -> np.ndarray:
    if isinstance(statistic, str):
        if not hasattr(model, statistic):
            learned = sorted(k for k in vars(model) if k.endswith("_") and not k.startswith("_"))
            raise ParameterError(
                f"{type(model).__name__} has no attribute {statistic!r}; it has {', '.join(learned)}."
            )
        return _numbers(getattr(model, statistic), statistic)
    if model is not None:
        return np.asarray(statistic(model), dtype=float)
    return np.asarray(statistic(X) if y is None else statistic(X, y), dtype=float)


def _numbers(value: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ParameterError(f"{name!r} is no number or array of numbers.") from None


def _names(model: Any, statistic: Statistic) -> tuple[str, ...]:
    if statistic == "coef_":
        return tuple(map(str, getattr(model, "terms_", getattr(model, "feature_names_in_", ()))))
    return (str(statistic),) if isinstance(statistic, str) else ("statistic",)


def _aligned(
    value: np.ndarray, estimate: np.ndarray, model: Any, whole: Any, number: int
) -> np.ndarray:
    """A draw may lack levels of a category: with a penalty their coefficients are 0 in it. Without a
    class it compares the others with each other alone: it says nothing of values by class."""
    if value.shape == estimate.shape:
        return value
    if len(getattr(model, "classes_", ())) < len(getattr(whole, "classes_", ())):
        return np.full(estimate.shape, np.nan)
    mine, all_terms = getattr(model, "terms_", ()), getattr(whole, "terms_", ())
    if value.ndim and value.shape[-1] == len(mine) and estimate.shape[-1] == len(all_terms):
        full = np.zeros(estimate.shape)
        for j, term in enumerate(mine):
            if term in all_terms:
                full[..., all_terms.index(term)] = value[..., j]
        return full
    raise DataError(
        f"The statistic has shape {estimate.shape} on all rows but {value.shape} in resample "
        f"{number}: a level is missing there. Give a statistic of fixed shape."
    )


def _determined(value: np.ndarray, statistic: Statistic, model: Any, whole: Any) -> np.ndarray:
    """NaN for coefficients that compare with a level that the draw lacks, or are of such a level."""
    schema = getattr(whole, "schema_", None)
    named = statistic in ("coef_", "intercept_")
    if not named or schema is None or schema.coding != "reference" or schema.plain:
        return value
    lacking = [_lacking(model.schema_, schema, j) for j in range(schema.n_columns)]
    if statistic == "intercept_":
        return np.full_like(value, np.nan) if any(None in levels for levels in lacking) else value
    out, mine = value.copy(), set(model.terms_)
    for k, ((j, _, level), term) in enumerate(zip(schema.blocks(), schema.terms)):
        if term not in mine or None in lacking[j] or level in lacking[j]:
            out[..., k] = np.nan
    return out


def _lacking(mine: Any, all_rows: Any, j: int) -> set[Any]:
    """Levels of column j that a draw has no row of; None stands for the one compared with."""
    levels = all_rows.levels[j] if all_rows.kinds[j] == "categorical" else ()
    drawn = {v for v, share in zip(mine.levels[j], mine.level_shares(j)) if share > 0}
    lacking = {level for level in levels if level not in drawn}
    return lacking | {None} if levels and levels[0] in lacking else lacking
