"""Naive Bayes with one distribution per column."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.data.batches import empty
from pellucid.data.intake import RawTable
from pellucid.data.schema import CATEGORICAL, TEXT, Schema
from pellucid.errors import ModelFileError, ParameterError
from pellucid.naive_bayes.base import (
    LOWEST,
    MOST,
    NaiveBayes,
    against_others,
    level_chances,
    relevelled,
)
from pellucid.naive_bayes.categorical import count_levels
from pellucid.naive_bayes.column_distributions import KINDS, Given, by_position
from pellucid.naive_bayes.gaussian import (
    EXTREME,
    LARGEST,
    fill_unknown,
    merged_moments,
    pooled,
)
from pellucid.naive_bayes.support import FLAGS, check_column
from pellucid.naive_bayes.text_columns import (
    WORD_KINDS,
    Rows,
    beside_words,
    codes_of,
    count_words,
    log_chances,
    text_likelihood,
    word_shares,
)
from pellucid.numerics.class_moments import class_moments
from pellucid.parameters import Array, Either, Nothing, Real, Test
from pellucid.persist.fitted_state import expect_array
from pellucid.records import Explanation

HELD = {CATEGORICAL: "categories", TEXT: "text"}


class MixedNB(NaiveBayes):
    """Naive Bayes for any table: the class c that maximises

        log p(c) + sum_j log p_j(x_j | c)

    where each column has the distribution that suits it: categories are categorical, columns of 0
    and 1 Bernoulli, other numbers normal, the words of a text one multinomial, unless
    `distributions` says otherwise. Missing cells, levels and words not seen in training, and constant
    columns say nothing; nor do other numbers in a column that was taken for flags, or more successes
    than were seen, unless `distributions` said what can be: then they are refused.

    Parameters
    ----------
    distributions : dict {column: distribution}, optional
        "normal", "bernoulli", "poisson", ("binomial", number of trials), "binomial" (the number
        is the largest value seen), or "multinomial" (all columns so named are the counts of one
        multinomial) for columns of numbers; "multinomial words" or "bernoulli words" (which words
        occur) for text; by name or position.
    alpha : float >= 0, default=1.0
        Pseudo-count of every level and word, of both values of a flag, and of the overall mean of
        counts.
    var_smoothing : float >= 0, default=1e-9
        Share of its own variance that is added to the variance of a normal column in each class.
    priors : array of the chances of the classes, or None for their shares
    table : Table, optional
        Its `text` says which words count, and how: counts, presence or tf-idf.

    Attributes
    ----------
    distributions_ : the distribution of each column
    theta_ : (classes, columns), means (normal), chances (Bernoulli, binomial) or rates (Poisson);
        var_ : variances of normal columns
    level_log_prob_ : list of arrays (classes, levels or words), empty for columns of numbers; the
        levels and words are those of `schema_.levels`
    class_count_, class_prior_, classes_, present_
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.naive_bayes import MixedNB
    >>> X = [["red", 1.0], ["red", 1.2], ["blue", 3.0], ["blue", 3.1]]
    >>> model = MixedNB().fit(X, ["a", "a", "b", "b"])
    >>> model.distributions_
    ('categorical', 'normal')
    >>> model.predict([["red", None], [None, 2.9]]).tolist()
    ['a', 'b']
    """

    _layout = "codes"
    _takes_sparse = False
    _takes_text = True
    _prior_name = "priors"
    _parameters = {
        "distributions": Either(Nothing, Test(lambda v: isinstance(v, Mapping), "a dict")),
        "alpha": Real(0, None),
        "var_smoothing": Real(0, None),
        "priors": Either(Nothing, Array),
    }

    def __init__(
        self,
        *,
        distributions: Mapping[Any, Any] | None = None,
        alpha: float = 1.0,
        var_smoothing: float = 1e-9,
        priors: Any = None,
        table: Any = None,
    ) -> None:
        self.distributions = distributions
        self.alpha = alpha
        self.var_smoothing = var_smoothing
        self.priors = priors
        self.table = table

    # Learning -------------------------------------------------------------------------------------

    def _statistics(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        K, X, y, w = len(problem.classes), problem.table, problem.y, problem.weights
        fitted = self.__sklearn_is_fitted__()
        kinds = self._still_fit(problem) if fitted else self._chosen(problem)
        units = _units(problem.schema, kinds)
        A = np.ldexp(X, -units) if units.any() else X
        given = self._given(problem.schema)
        for j, kind in enumerate(kinds):
            most = given[j].trials if j in given else None
            check_column(X[:, j], kind, problem.schema.name(j), most, problem.position)
        lift = int(np.frexp(w.max())[1])
        found = class_moments(A, y, np.ldexp(w, -lift), K, "diagonal", holes=True)
        levels = [self._level_counts(problem, j, kind) for j, kind in enumerate(kinds)]
        numbers = problem.n_levels == 0  # means of codes mean nothing
        with np.errstate(over="ignore", invalid="ignore"):
            return {
                "class_count_": np.bincount(y, w, minlength=K),
                "present_": np.ldexp(found.total, lift),
                "centres_": found.mean * numbers,
                "spreads_": found.scatter * numbers / np.where(found.total > 0, found.total, 1.0),
                "trials_": _trials(np.nan_to_num(np.fmax.reduce(A, axis=0)) * numbers, given),
                "level_count_": levels,
                "units_": units,
                "distributions_": kinds,
            }

    def _level_counts(self, problem: Problem, j: int, kind: str) -> np.ndarray:
        """(K, levels) of a column of categories, (K, words) of a text."""
        y, w, K = problem.y, problem.weights, problem.n_classes
        if kind in WORD_KINDS:
            return count_words(kind, problem.words[j], y, w, K)
        if kind == "categorical":
            return count_levels(_level_codes(problem.X[:, j]), y, w, K, problem.n_levels[j])
        return np.zeros((K, 0))

    def _carried(self, schema: Schema) -> dict[str, Any]:
        names = ("class_count_", "present_", "centres_", "spreads_", "trials_", "units_")
        levels = zip(self.level_count_, self.schema_.levels, schema.levels)
        return {name: getattr(self, name) for name in names} | {
            "level_count_": [relevelled(*column) for column in levels]
        }

    def _merge(self, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        shift = old["units_"] - new["units_"]
        scaled = old | {
            "centres_": np.ldexp(old["centres_"], shift),
            "spreads_": np.ldexp(old["spreads_"], 2 * shift),
        }
        return new | merged_moments(scaled, new) | {
            "class_count_": old["class_count_"] + new["class_count_"],
            "trials_": np.maximum(np.ldexp(old["trials_"], shift), new["trials_"]),
            "level_count_": [a + b for a, b in zip(old["level_count_"], new["level_count_"])],
        }  # fmt: skip

    def _finish(self, sums: dict[str, Any], problem: Problem) -> dict[str, Any]:
        prior = self._given_prior(len(sums["class_count_"]), sums["class_count_"])
        sums = fill_unknown(sums)
        mean, variance = pooled(sums)
        theta, var = sums["centres_"].copy(), np.zeros_like(sums["centres_"])
        for j, kind in enumerate(sums["distributions_"]):
            theta[:, j] = self._parameter(kind, j, sums, mean[j])
            if kind == "normal":
                var[:, j] = sums["spreads_"][:, j] + self.var_smoothing * variance[j]
        block = [j for j, kind in enumerate(sums["distributions_"]) if kind == "multinomial"]
        if block:
            total = theta[:, block].sum(axis=1, keepdims=True)
            theta[:, block] = np.divide(
                theta[:, block], total, out=np.full_like(theta[:, block], 1 / len(block)),
                where=total > 0,
            )  # fmt: skip
        return sums | {
            "class_prior_": prior,
            "theta_": theta,
            "var_": var,
            "silent_": (variance == 0).astype(np.uint8),
            "level_log_prob_": [
                self._level_logs(kind, j, sums) for j, kind in enumerate(sums["distributions_"])
            ],
        }

    def _level_logs(self, kind: str, j: int, sums: dict[str, Any]) -> np.ndarray:
        counts = sums["level_count_"][j]
        if kind in WORD_KINDS:
            return log_chances(kind, counts, sums["present_"][:, j], self.alpha)
        with np.errstate(divide="ignore"):
            return np.log(level_chances(counts, self.alpha)) if counts.size else counts

    def _parameter(self, kind: str, j: int, sums: dict[str, Any], mean: float) -> np.ndarray:
        """Mean, chance or rate of column j in each class, with pseudo-counts."""
        total, rows, alpha = sums["centres_"][:, j], sums["present_"][:, j], self.alpha
        count = total * rows
        if kind == "bernoulli":
            return _share(count + alpha, rows + 2 * alpha, mean)
        if kind == "binomial":
            trials = max(sums["trials_"][j], 1.0)
            return _share(count + alpha, trials * rows + 2 * alpha, mean / trials)
        if kind == "poisson":
            return _share(count + alpha * mean, rows + alpha, mean)
        return count + alpha if kind == "multinomial" else total

    def _chosen(self, problem: Problem) -> tuple[str, ...]:
        schema = problem.schema
        given = self._given(schema)
        return tuple(
            self._fitting(given.get(j), kind, problem, j) for j, kind in enumerate(schema.kinds)
        )

    def _given(self, schema: Schema) -> dict[int, Given]:
        return by_position(self.distributions, schema.columns)

    @staticmethod
    def _fitting(given: Given | None, kind: str, problem: Problem, j: int) -> str:
        """The distribution of column j: as told, if its cells can have it."""
        word = None if given is None else given.kind
        if kind == TEXT and word in ("multinomial", "bernoulli"):
            word += " words"
        possible = {CATEGORICAL: KINDS[2:3], TEXT: WORD_KINDS}.get(
            kind, tuple(k for k in KINDS if k != "categorical" and k not in WORD_KINDS)
        )
        if word is not None and word not in possible:
            raise ParameterError(
                f"Column {problem.schema.name(j)!r} holds {HELD.get(kind, 'numbers')}, whose "
                f"distribution cannot be {word!r}. Choose from {list(possible)}, or say with "
                "Table(kinds=...) that the column holds something else."
            )
        if word is None and kind not in HELD:
            return "bernoulli" if _flags(problem.X[:, j]) else "normal"
        return word or possible[0]

    def _still_fit(self, problem: Problem) -> tuple[str, ...]:
        """A column of flags in earlier batches that now holds other numbers was normal all along."""
        given = self._given(problem.schema)
        kinds = list(self.distributions_)
        for j, kind in enumerate(problem.schema.kinds):
            if empty(self.schema_, j):  # what it holds was not known
                kinds[j] = self._fitting(given.get(j), kind, problem, j)
            elif kinds[j] == "bernoulli" and j not in given and not _flags(problem.X[:, j]):
                kinds[j] = "normal"
        return tuple(kinds)

    # Predicting -----------------------------------------------------------------------------------

    @property
    def _prior(self) -> np.ndarray:
        return self.class_prior_

    def _encode_table(self, rows: RawTable, quiet: bool = False, finite: bool = False) -> Any:
        codes = super()._encode_table(rows, quiet, finite)
        return beside_words(codes, self.schema_, rows, type(self).__name__)

    def _column(self, X: Any, j: int) -> np.ndarray:
        """(n, K) share of column j; a missing cell says nothing."""
        kind, x = self.distributions_[j], codes_of(X)[:, j]
        if kind in WORD_KINDS:
            return text_likelihood(kind, X, j, self.level_log_prob_[j])
        missing = np.isnan(x)
        if kind == "categorical":
            logs = np.maximum(self.level_log_prob_[j], LOWEST)
            table = np.vstack([logs.T, np.zeros(len(logs))])
            return table[np.where(missing, len(table) - 1, np.nan_to_num(x)).astype(np.int64)]
        if self.silent_[j] and kind != "multinomial":
            return np.zeros((len(x), len(self.classes_)))
        given = self._given(self.schema_).get(j)
        if kind == "bernoulli" and given is None:
            missing |= FLAGS.impossible(x, np.inf)
        else:
            most = None if given is None else given.trials
            check_column(x, kind, self.schema_.name(j), most)
            missing |= (kind == "binomial") & (x > self.trials_[j])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            parts = self._density(kind, np.ldexp(x, -self.units_[j])[:, None], j)
        parts = np.clip(parts, -LARGEST, LARGEST)
        parts[missing] = 0.0
        return parts

    def _density(self, kind: str, x: np.ndarray, j: int) -> np.ndarray:
        theta = self.theta_[:, j]
        if kind == "normal":
            var = np.maximum(self.var_[:, j], 1e-300)
            return -0.5 * ((x - theta) ** 2 / var + np.log(2 * np.pi * var))
        log = np.maximum(np.log(theta), LOWEST)
        x = np.minimum(x, MOST)
        if kind == "multinomial":
            return x * log
        if kind == "poisson":
            return x * log - theta
        trials = 1.0 if kind == "bernoulli" else self.trials_[j]
        return x * log + np.maximum(trials - x, 0.0) * np.maximum(np.log1p(-theta), LOWEST)

    def _log_likelihood(self, X: Any) -> np.ndarray:
        total = np.zeros((len(codes_of(X)), len(self.classes_)))
        for j in range(self.schema_.n_columns):
            total += self._column(X, j)
        return total

    def _column_likelihoods(self, X: Any) -> np.ndarray:
        return np.stack([self._column(X, j) for j in range(self.schema_.n_columns)], axis=1)

    def explain_words(self, X: Any) -> Explanation:
        """As `explain`, and each text column is split into the words that occur in these rows.

        What is left to the column itself is what the absent words say ("bernoulli words").
        """
        rows, names = self._encoded(X), list(self.schema_.columns)
        found = self._explain(rows)
        parts = [found["contributions"]]
        for j in rows.words if isinstance(rows, Rows) else ():
            used, shares = word_shares(
                self.distributions_[j], rows.words[j], self.level_log_prob_[j]
            )
            shares = against_others(shares)
            parts[0][:, j] -= shares.sum(axis=1)
            parts.append(shares)
            names += [f"{names[j]}:{self.schema_.levels[j][k]}" for k in used]
        return Explanation(
            found["base"], np.concatenate(parts, axis=1), found["prediction"], tuple(names),
            tuple(self.classes_.tolist()), found["scale"], found["method"],
        )  # fmt: skip

    def _check_state(self) -> None:
        K, d = len(self.classes_), self.schema_.n_columns
        for name in ("class_count_", "class_prior_"):
            expect_array(self, name, K)
        for name in ("theta_", "var_", "present_", "centres_", "spreads_"):
            expect_array(self, name, K, d)
        expect_array(self, "trials_", d)
        expect_array(self, "units_", d, dtype=np.int64)
        expect_array(self, "silent_", d, dtype=np.uint8)
        tables, kinds = vars(self).get("level_log_prob_"), vars(self).get("distributions_")
        if not isinstance(kinds, tuple) or len(kinds) != d or not set(kinds) <= set(KINDS):
            raise ModelFileError("its MixedNB has no distributions of its columns")
        for kind, held in zip(kinds, self.schema_.kinds):
            if (kind in WORD_KINDS, kind == "categorical") != (held == TEXT, held == CATEGORICAL):
                raise ModelFileError("the distributions of its MixedNB do not suit its columns")
        widths = [(K, int(n)) for n in self.schema_.n_levels]
        if not isinstance(tables, list) or [np.shape(t) for t in tables] != widths:
            raise ModelFileError("its MixedNB has no level_log_prob_ of the right shape")


def _flags(column: np.ndarray) -> bool:
    """Whether a column holds nothing but 0 and 1, and missing cells."""
    return bool(((column == 0) | (column == 1) | np.isnan(column)).all())


def _trials(largest: np.ndarray, given: dict[int, Given]) -> np.ndarray:
    """Of binomial columns: as told, else the largest value."""
    out = np.maximum(largest, 0.0)
    for j, told in given.items():
        out[j] = out[j] if told.trials is None else told.trials
    return out


def _level_codes(column: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(column), -1.0, column).astype(np.int64)


def _share(count: np.ndarray, total: np.ndarray, unknown: float) -> np.ndarray:
    return np.divide(count, total, out=np.full_like(count, unknown), where=total > 0)


def _units(schema: Any, kinds: tuple[str, ...]) -> np.ndarray:
    """Exponents of normal columns of extreme size, else 0."""
    e = np.frexp(np.maximum(np.abs(schema.low), np.abs(schema.high)))[1].astype(np.int64)
    normal = np.array([kind == "normal" for kind in kinds])
    return np.where(normal & (np.abs(e) > EXTREME), e, 0)
