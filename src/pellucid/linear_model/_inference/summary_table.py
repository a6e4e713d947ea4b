"""The tables that `summary()` shows: estimates, standard errors, tests and confidence intervals.

`estimates.py` makes one record, `Estimates`, for each kind of model; `summarise` makes the table from
it. In all arrays the intercept comes last.

Invariant: classical errors need no data, robust ones need the rows of the fit. Nothing is shown where
theory has no answer: there are no standard errors with a penalty, nor for coefficients that are
aliased or grow without limit (NaN, and a note with the reason).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

from pellucid.errors import ParameterError, shown
from pellucid.linear_model._inference.intervals import check_level, check_weights
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.sandwich import KINDS
from pellucid.records import SummaryTable

ERRORS = ("classical", *KINDS)
COLUMNS = ("term", "coef", "std error", "t", "p", "low", "high")
SHRUNK = (
    "The coefficients are shrunk by a penalty, so theory gives no standard errors or p-values. "
    "pellucid.inspection.bootstrap(model, X, y, 'coef_') shows how much they vary from sample "
    "to sample (it does not remove the bias); an unpenalised model has standard errors."
)
FEW_GROUPS = (
    "There are too few groups to test all terms together, so the Wald test has no value. The tests of "
    "single terms are valid."
)


@dataclass(frozen=True)
class Request:
    """The arguments of `summary()`."""

    errors: str = "classical"
    X: Any = None
    y: Any = None
    sample_weight: Any = None
    offset: Any = None
    groups: Any = None
    weights: str = "frequency"
    level: float = 0.95

    def check(self) -> None:
        if self.errors not in ERRORS:
            raise ParameterError(
                f"errors must be one of {ERRORS}. Got {shown(self.errors)} instead."
            )
        check_weights(self.weights)
        check_level(self.level)
        if self.errors != "classical" and (self.X is None or self.y is None):
            raise ParameterError(
                f"{self.errors} standard errors need the training rows, which a fitted model does not "
                "keep. Pass them again: summary(errors=..., X=X, y=y)."
            )
        if (self.errors == "clustered") != (self.groups is not None):
            raise ParameterError("errors='clustered' needs groups=, and no other errors use it.")

    def counts_copies(self, weights: np.ndarray) -> bool:
        """Whether a weight is a number of copies, which must be whole."""
        return self.weights == "frequency" and bool((weights == np.floor(weights)).all())

    def n_rows(self, copies: float, rows: float) -> float:
        """The number of rows: with copies, or each row once."""
        return copies if self.weights == "frequency" else rows


@dataclass(frozen=True)
class Estimates:
    """What a table shows of q targets, or of q differences between classes.

    coef : (q, p + 1), as fitted; values : as shown, NaN if aliased; errors : classical, NaN if unknown
    dof : degrees of freedom of Student's t; inf for the normal distribution
    loss : of a GLM or of least squares; None for logistic models, whose q parts are one fit
    head, facts, tail : entries of the header; `facts` are those of each part, or of the one fit
    """

    title: str
    prefixes: list[str]
    coef: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    rank: int
    dof: float
    loss: GLMLoss | None
    head: list[tuple[str, Any]]
    facts: list[dict[str, Any]]
    tail: list[tuple[str, Any]]
    notes: list[str]


def summarise(
    model: Any, request: Request, estimates: Callable[[Any, Request], Estimates | SummaryTable]
) -> SummaryTable:
    """The table of a fitted model; `estimates` returns a table itself if there are no errors."""
    request.check()
    found = estimates(model, request)
    if isinstance(found, SummaryTable):
        return found
    errors, dof = found.errors, found.dof
    tests: list[dict[str, float]] = [{} for _ in found.facts]
    if request.errors != "classical":
        from pellucid.linear_model._inference.robust import robust_errors

        errors, dof, tests = robust_errors(model, request, found)
    header = list(found.head)
    parts = [""] if found.loss is None else found.prefixes
    for prefix, facts, test in zip(parts, found.facts, tests):
        header += [(prefix + name, value) for name, value in (facts | test).items()]
    rows: list[tuple] = []
    for prefix, values, error in zip(found.prefixes, found.values, errors):
        lines = list(zip([*model.terms_, "intercept"], estimate_lines(values, error, dof, request)))
        lines = [lines[-1], *lines[:-1]] if model.fit_intercept else lines[:-1]
        rows += [(prefix + name, *line) for name, line in lines]
    few_groups = any(np.isnan(value) for test in tests for value in test.values())
    notes = (*found.notes, FEW_GROUPS) if few_groups else tuple(found.notes)
    columns = tuple("z" if np.isinf(dof) and c == "t" else c for c in COLUMNS)
    return SummaryTable(found.title, (*header, *found.tail), columns, tuple(rows), notes)


def estimate_lines(
    estimate: np.ndarray, errors: np.ndarray, dof: float, request: Request
) -> list[tuple[float, ...]]:
    """(coef, standard error, t, p, low, high) of each coefficient; dof may be inf."""
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(errors == 0, np.nan, estimate / errors)  # a perfect fit is no evidence
        p = 2 * stdtr(dof, -np.abs(t)) if dof > 0 else np.full_like(t, np.nan)
        t_reach = stdtrit(dof, (1 + request.level) / 2) if dof > 0 else np.nan
        reach = t_reach * errors
        lines = np.column_stack([estimate, errors, t, p, estimate - reach, estimate + reach])
    return [tuple(line) for line in lines.tolist()]


def missing_notes(schema: Any) -> list[str]:
    """Missing values in training, by column."""
    found = [
        f"{schema.name(j)}: {count:g}" for j, count in enumerate(schema.n_missing) if count > 0
    ]
    notes = [f"Missing values in training ({'; '.join(found)})."] if found else []
    if schema.left_out:
        notes.append(f"Rows left out because of a missing value: {schema.left_out:g}.")
    return notes


def penalised_summary(
    model: Any, facts: dict[str, Any], note: str = SHRUNK, parts: Sequence[str] = ()
) -> SummaryTable:
    """Estimates alone, and the reason: with a penalty theory gives no standard errors.

    `parts` are the names of the rows of `coef_`, if there are several; else they are numbered.
    """
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    parts = parts or [f"target {k}" for k in range(len(coef))]
    rows = []
    for k, line in enumerate(coef):
        prefix = f"{parts[k]}: " if len(coef) > 1 else ""
        b0 = float(intercept[min(k, len(intercept) - 1)])
        names = ["intercept", *model.terms_] if model.fit_intercept else list(model.terms_)
        values = [b0, *line.tolist()] if model.fit_intercept else line.tolist()
        rows += [(prefix + name, value) for name, value in zip(names, values)]
    notes = (note, *missing_notes(model.schema_))
    status = vars(model).get("status_")
    if status is not None and not status.ok:
        notes = (str(status), *notes)
    return SummaryTable(
        type(model).__name__, tuple(facts.items()), ("term", "coef"), tuple(rows), notes
    )
