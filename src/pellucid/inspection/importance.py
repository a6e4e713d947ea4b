"""Permutation importance: how much worse a model scores when the cells of a column are shuffled."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data.opening import opened
from pellucid.data.targets import as_vector, check_lengths, weights_or_ones
from pellucid.errors import ParameterError, shown
from pellucid.inspection.cells import Cells
from pellucid.model_selection.metrics import metric
from pellucid.model_selection.scoring import score
from pellucid.parameters import Integer, Real
from pellucid.records import SummaryTable


@dataclass(frozen=True)
class PermutationImportance:
    """The result of `permutation_importance`.

    Attributes
    ----------
    names : the d columns, or the groups of columns.
    importances : (d, n_repeats), the score of the table minus that of the permuted one. A positive
        value means that the model needs the column.
    baseline : the score of the table as it is.
    scoring : name of the score.
    """

    names: tuple[str, ...]
    importances: np.ndarray
    baseline: float
    scoring: str

    @property
    def importances_mean(self) -> np.ndarray:
        """Mean over the repeats."""
        return np.asarray(self.importances.mean(axis=1))

    @property
    def importances_std(self) -> np.ndarray:
        """Standard deviation over the repeats (divisor n_repeats, as in scikit-learn)."""
        return np.asarray(self.importances.std(axis=1))

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Low and high ends of the t interval of the mean; NaN for a single repeat.

        It describes the randomness of the permutations, not that of the rows.
        """
        from scipy.special import stdtrit

        if not Real(0, 1, "neither").accepts(level):
            raise ParameterError(f"level must be in (0, 1). Got {shown(level)} instead.")
        repeats = self.importances.shape[1]
        if repeats < 2:
            nothing = np.full(len(self.names), np.nan)
            return nothing, nothing
        error = self.importances.std(axis=1, ddof=1) / np.sqrt(repeats)
        reach = stdtrit(repeats - 1, (1 + level) / 2) * error
        return self.importances_mean - reach, self.importances_mean + reach

    def summary(self, level: float = 0.95) -> SummaryTable:
        """One line per column or group, the most important first."""
        order = np.argsort(-self.importances_mean, kind="stable")
        parts = (self.importances_mean, self.importances_std, *self.interval(level))
        lines = np.column_stack(parts)[order].tolist()
        rows = tuple((self.names[j], *line) for j, line in zip(order, lines))
        header = (
            ("score", self.scoring),
            ("baseline", self.baseline),
            ("repeats", self.importances.shape[1]),
            ("level", level),
        )
        head = ("column", "importance", "std", "low", "high")
        return SummaryTable("Permutation importance", header, head, rows, ())

    def frame(self, backend: str | None = None) -> Any:
        return self.summary().frame(backend)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def __str__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return self.summary().html()


def permutation_importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scoring: str | Callable[..., float] | None = None,
    n_repeats: int = 5,
    groups: Mapping[str, Any] | None = None,
    random_state: Any = None,
    sample_weight: Any = None,
    n_jobs: int | None = None,
) -> PermutationImportance:
    """The decrease of a fitted model's score when the cells of a column are shuffled.

    The cells of the given table are permuted, not encoded columns, so a category or a text counts as
    one column. The permutations are scikit-learn's for the same `random_state`. Correlated columns
    replace each other: permute them together as one of the `groups`.

    Parameters
    ----------
    estimator : a fitted estimator with `predict`
    X, y : rows that were not used in the fit; y and sample_weight may be names of columns
    scoring : None for the estimator's own `score`, the name of a metric, or a function of
        (estimator, X, y). Of metrics such as "rmse", the negative value is the score
    n_repeats : number of permutations of each column
    groups : {"name": [columns]}, which are permuted together; columns in no group stay alone
    random_state : seed or generator of the permutations
    sample_weight : weights of the rows in the score
    n_jobs : number of threads; the result does not depend on it

    Examples
    --------
    >>> from pellucid.linear_model import LinearRegression
    >>> X = [[0.0, 5.0], [1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]
    >>> y = [0.0, 1.0, 2.0, 3.0]
    >>> found = permutation_importance(LinearRegression().fit(X, y), X, y, random_state=0)
    >>> bool(found.importances_mean[1] == 0 < found.importances_mean[0])
    True
    """
    if not Integer(1).accepts(n_repeats):
        raise ParameterError(f"n_repeats must be an int >= 1. Got {shown(n_repeats)} instead.")
    X, y, sample_weight = opened(X, y, sample_weight)
    cells, y = Cells(X), as_vector(y)
    check_lengths(cells.n, len(y))
    w = None if sample_weight is None else weights_or_ones(sample_weight, cells.n)
    parts = _parts(cells, groups)
    name, scored = _scorer(estimator, scoring, y, w)
    baseline = scored(cells.X)
    permutations = _permutations(cells.n, n_repeats, random_state)

    def one(task: tuple[list[int], np.ndarray]) -> float:
        columns, rows = task
        return baseline - scored(cells.composed(None, dict.fromkeys(columns, rows)))

    tasks = [(columns, rows) for columns in parts.values() for rows in permutations]
    with parallel.using(n_jobs):
        drops = parallel.map(one, tasks)
    return PermutationImportance(
        tuple(parts), np.reshape(drops, (len(parts), n_repeats)), baseline, name
    )


def _parts(cells: Cells, groups: Mapping[str, Any] | None) -> dict[str, list[int]]:
    """Name -> positions of the columns that are permuted together."""
    named = {str(name): cells.positions(columns) for name, columns in (groups or {}).items()}
    grouped = [j for columns in named.values() for j in columns]
    twice = [cells.names[j] for j in grouped if grouped.count(j) > 1]
    if twice:
        raise ParameterError(f"The column {twice[0]!r} is in the groups more than once.")
    alone = {name: [j] for j, name in enumerate(cells.names) if j not in grouped}
    clash = [name for name, columns in named.items() if name in alone or not columns]
    if clash:
        raise ParameterError(
            f"The group {clash[0]!r} is empty or has the name of a column. Rename or fill it."
        )
    return named | alone


def _scorer(
    estimator: Any, scoring: Any, y: np.ndarray, w: np.ndarray | None
) -> tuple[str, Callable[[Any], float]]:
    """The name of a score, and the score as a function of the table."""
    weights = {} if w is None else {"sample_weight": w}
    if isinstance(scoring, str):
        chosen, ones = metric(scoring), np.ones(len(y)) if w is None else w
        name = scoring if chosen.greater_is_better else f"-{scoring}"
        return name, lambda X: float(chosen.sign * score(estimator, X, y, ones, chosen))
    if scoring is None:
        if not hasattr(estimator, "score"):
            raise ParameterError(f"{type(estimator).__name__} has no score method. Give `scoring`.")
        return "score", lambda X: float(estimator.score(X, y, **weights))
    if not callable(scoring):
        raise ParameterError(
            f"scoring must be None, the name of a metric or a function. Got {shown(scoring)} instead."
        )
    name = getattr(scoring, "__name__", "score")
    return name, lambda X: float(scoring(estimator, X, y, **weights))


def _permutations(n: int, repeats: int, random_state: Any) -> list[np.ndarray]:
    """scikit-learn's permutations: each shuffles the one before, the same for every column."""
    if isinstance(random_state, np.random.Generator):
        seed = int(random_state.integers(2**31))
    elif isinstance(random_state, np.random.RandomState):
        seed = int(random_state.randint(2**31))
    else:
        parallel.seed_sequence(0 if random_state is None else random_state)  # checks the value
        source = np.random if random_state is None else np.random.RandomState(random_state)
        seed = int(source.randint(2**31))
    rng, order, rows, found = np.random.RandomState(seed), np.arange(n), np.arange(n), []
    for _ in range(repeats):
        rng.shuffle(order)
        rows = rows[order]
        found.append(rows)
    return found
