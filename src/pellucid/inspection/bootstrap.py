"""The bootstrap: how much a statistic, or a learned attribute, varies from sample to sample.

A resample draws as many rows (or whole groups) as there are, with replacement, and the statistic is
computed for each resample; the spread of these values estimates that of the statistic.

Invariant: a resample depends on the seed and its number alone, so results are equal for any number of
threads. A resample that fails raises an error with its number. Entries that a resample does not
determine, because it lacks their level or class or the reference level, are NaN, and are counted.
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
from pellucid.model_selection.copies import fresh
from pellucid.model_selection.rows import taken
from pellucid.parameters import Integer, Real
from pellucid.records import SummaryTable

Statistic = str | Callable[..., Any]
MANY_COPIES = 2**24  # above this number of rows, copies of a row are counted by a weight instead


@dataclass(frozen=True)
class Bootstrap:
    """The result of `bootstrap`: arrays of the shape of the statistic.

    `estimate` is the statistic of all rows, `replicates` (n_resamples, ...) are those of the
    resamples, `std_error` is their standard deviation, `low` and `high` are the percentile interval
    of `level`, and `bias` is the mean of the replicates minus the estimate. NaN are left out.
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
        return self._over_replicates(lambda values: values.var(axis=0, ddof=1))

    @property
    def bias(self) -> np.ndarray:
        return self._over_replicates(lambda values: values.mean(axis=0)) - self.estimate

    @property
    def low(self) -> np.ndarray:
        return self._over_replicates(lambda v: np.quantile(v, (1 - self.level) / 2, axis=0))

    @property
    def high(self) -> np.ndarray:
        return self._over_replicates(lambda v: np.quantile(v, (1 + self.level) / 2, axis=0))

    def _over_replicates(self, function: Callable[[np.ndarray], Any]) -> np.ndarray:
        """A function of the replicates, entry by entry if some are NaN."""
        if not np.isnan(self.replicates).any():
            return np.asarray(function(self.replicates))
        columns = self.replicates.reshape(len(self.replicates), -1).T
        finite = [column[~np.isnan(column)] for column in columns]
        values = [function(column) if len(column) > 1 else np.nan for column in finite]
        return np.array(values, dtype=float).reshape(self.estimate.shape)

    def _notes(self) -> tuple[str, ...]:
        note = "Percentile intervals do not correct for the bias of a penalty."
        missing = np.isnan(self.replicates).reshape(len(self.replicates), -1).sum(axis=0)
        listed = [f"{name} ({k})" for name, k in zip(self.names, missing.tolist()) if k]
        if not listed:
            return (note,)
        left_out = "Resamples left out because they lack a level, class or reference level: "
        return (note, left_out + ", ".join(listed) + ".")

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
    estimator : any estimator, which is cloned; None for a statistic of the rows themselves
    X, y : the rows as NumPy, SciPy sparse, pandas, polars or Arrow data, or a path. y, sample_weight,
        groups, offset and exposure may be names of columns, which are then removed from X
    statistic : the name of a learned attribute, or a function of the fitted estimator; without an
        estimator, a function of (X, y), or of X if y is None
    n_resamples : number of resamples, at least 2
    level : level of the intervals, between 0 and 1
    sample_weight : integer weights count copies of a row (for a binomial share: trials, which are
        drawn one by one); other weights stay with their rows, and the estimator must support them
    groups : the group of each row; rows of one group are drawn together
    random_state : seed or generator of the resamples
    n_jobs : number of threads; the result does not depend on it
    offset, exposure : arrays for the estimator's `fit`, one entry per row

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
    X = X.tocsr() if hasattr(X, "tocsr") else X  # other sparse formats cannot be indexed by rows
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    y = None if y is None else as_vector(y)
    if y is not None:
        check_lengths(n, len(y))
    extra = _fit_arguments(estimator, n, offset, exposure)
    groups = None if groups is None else _checked_groups(as_vector(groups, "groups"), n)
    weights_supported = _supports_weights(estimator)
    if sample_weight is not None and not weights_supported:
        rows = _copies(estimator, weights_or_ones(sample_weight, n))
        X, y, n, sample_weight = taken(X, rows), None if y is None else y[rows], len(rows), None
        extra = {name: values[rows] for name, values in extra.items()}
        groups = None if groups is None else groups[rows]
    if groups is None and _are_shares(estimator, y, sample_weight):
        rows, y, sample_weight = _trials(y, weights_or_ones(sample_weight, n))
        X, n, extra = taken(X, rows), len(rows), {k: values[rows] for k, values in extra.items()}
    draw = _resampler(n, sample_weight, groups, weights_supported)
    seed = parallel.seed_sequence(random_state)
    whole = _fitted(_seeded(estimator, seed, "whole"), X, y, sample_weight, extra)
    estimate, names = _value(whole, statistic, X, y), _names(whole, statistic)

    def one(number: int) -> np.ndarray:
        rows, weights = draw(parallel.stream(seed, "bootstrap", number))
        part, target = taken(X, rows), None if y is None else y[rows]
        try:
            drawn = {name: values[rows] for name, values in extra.items()}
            model = _fitted(_seeded(estimator, seed, number), part, target, weights, drawn)
            value = _value(model, statistic, part, target)
        except PellucidError as error:
            raise DataError(f"Resample {number} cannot be used: {error}") from error
        value = _aligned(value, estimate, model, whole, number)
        return _without_undetermined(value, statistic, model, whole)

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
        raise ParameterError(
            f"estimator must be an instance, {estimator.__name__}(), not the class."
        )
    if estimator is not None and not hasattr(estimator, "fit"):
        raise ParameterError(
            f"The estimator {shown(estimator)} has no fit method. For a function of the rows use "
            "bootstrap(None, X, y, function); for a formula model pass fit.model, fit.X, fit.y."
        )
    if estimator is None and isinstance(statistic, str):
        raise ParameterError("Without an estimator, the statistic must be a function of the rows.")


def _supports_weights(estimator: Any) -> bool:
    return estimator is not None and "sample_weight" in inspect.signature(estimator.fit).parameters


def _copies(estimator: Any, w: np.ndarray) -> np.ndarray:
    """Row numbers, each repeated by its weight, for estimators without weights."""
    if not (w == np.floor(w)).all():
        user = "A statistic of the rows" if estimator is None else type(estimator).__name__
        raise ParameterError(
            f"{user} does not support sample_weight. Only integer weights, which count copies of a "
            "row, can be used."
        )
    if w.sum() > MANY_COPIES:
        raise ParameterError(
            f"sample_weight counts {w.sum():.3g} copies of rows: too many to store for an estimator or "
            "statistic without weights."
        )
    return np.repeat(np.arange(len(w)), w.astype(np.int64))


def _are_shares(estimator: Any, y: Any, weights: Any) -> bool:
    """Whether y holds shares of successes, and weights their numbers of trials."""
    if getattr(estimator, "family", None) != "binomial" or weights is None or y.dtype.kind != "f":
        return False
    hits = weights_or_ones(weights, len(y)) * y
    return bool(np.any((y > 0) & (y < 1)) and np.all(np.abs(hits - np.rint(hits)) < 1e-6))


def _trials(y: np.ndarray, trials: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of successes, then rows of failures, so that trials are drawn and not copies of a share."""
    hits = np.rint(trials * y)
    rows = np.tile(np.arange(len(y)), 2)
    return rows, np.repeat([1.0, 0.0], len(y)), np.append(hits, trials - hits)


def _checked_groups(groups: np.ndarray, n: int) -> np.ndarray:
    """The groups, after checks of their number and of missing values."""
    check_lengths(n, len(groups))
    missing = np.flatnonzero([g is None or g != g for g in groups.tolist()])
    if len(missing):
        raise DataError(f"groups has a missing value in row {missing[0]}.")
    return groups


def _resampler(
    n: int, weights: Any, groups: Any, weights_supported: bool
) -> Callable[..., tuple[np.ndarray, Any]]:
    """A function of a generator that draws row numbers and their weights (None: each counts once)."""
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
        if weights_supported and w.sum() > MANY_COPIES:
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


def _fit_arguments(estimator: Any, n: int, offset: Any, exposure: Any) -> dict[str, np.ndarray]:
    """Further arguments of `fit`, with one entry per row."""
    given = {"offset": offset, "exposure": exposure}
    found = {name: as_vector(v, name) for name, v in given.items() if v is not None}
    for name, values in found.items():
        if estimator is None:
            raise ParameterError(f"{name} needs an estimator; got None.")
        if name not in inspect.signature(estimator.fit).parameters:
            raise ParameterError(f"{type(estimator).__name__}.fit has no argument {name!r}.")
        check_lengths(n, len(values))
    return found


def _seeded(estimator: Any, seed: np.random.SeedSequence, number: int | str) -> Any:
    """A clone whose random states, if they are None, are derived from (seed, number)."""
    if estimator is None:
        return None
    unset = [name for name, value in estimator.get_params().items()
            if value is None and name.split("__")[-1] == "random_state"]  # fmt: skip
    states = parallel.stream(seed, "model", number).integers(0, 2**31 - 1, len(unset)).tolist()
    return fresh(estimator, dict(zip(sorted(unset), states)))


def _fitted(model: Any, X: Any, y: Any, weights: Any, extra: dict[str, np.ndarray]) -> Any:
    options = extra if weights is None else extra | {"sample_weight": weights}
    return None if model is None else model.fit(X, y, **options)


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
        raise ParameterError(f"{name!r} is not a number or an array of numbers.") from None


def _names(model: Any, statistic: Statistic) -> tuple[str, ...]:
    if statistic == "coef_":
        return tuple(map(str, getattr(model, "terms_", getattr(model, "feature_names_in_", ()))))
    return (str(statistic),) if isinstance(statistic, str) else ("statistic",)


def _aligned(
    value: np.ndarray, estimate: np.ndarray, model: Any, whole: Any, number: int
) -> np.ndarray:
    """The value of a resample in the shape of the estimate.

    If the resample lacks levels of a category, their coefficients are 0, as with a penalty. If it
    lacks a class, values by class are not comparable, and all are NaN.
    """
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
        f"{number}: a level is missing there. Use a statistic of fixed shape."
    )


def _without_undetermined(
    value: np.ndarray, statistic: Statistic, model: Any, whole: Any
) -> np.ndarray:
    """NaN for coefficients whose level, or reference level, is not in the resample."""
    schema = getattr(whole, "schema_", None)
    is_coefficient = statistic in ("coef_", "intercept_")
    if not is_coefficient or schema is None or schema.coding != "reference" or schema.plain:
        return value
    missing = [_missing_levels(model.schema_, schema, j) for j in range(schema.n_columns)]
    if statistic == "intercept_":
        return np.full_like(value, np.nan) if any(None in levels for levels in missing) else value
    out, mine = value.copy(), set(model.terms_)
    for k, ((j, _, level), term) in enumerate(zip(schema.blocks(), schema.terms)):
        if term not in mine or None in missing[j] or level in missing[j]:
            out[..., k] = np.nan
    return out


def _missing_levels(mine: Any, all_rows: Any, j: int) -> set[Any]:
    """Levels of column j that no row of a resample has; None stands for the reference level."""
    levels = all_rows.levels[j] if all_rows.kinds[j] == "categorical" else ()
    drawn = {v for v, share in zip(mine.levels[j], mine.level_shares(j)) if share > 0}
    missing = {level for level in levels if level not in drawn}
    return missing | {None} if levels and levels[0] in missing else missing
