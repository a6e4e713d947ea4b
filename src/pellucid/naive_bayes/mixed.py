"""Naive Bayes with a distribution for each column."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.batches import empty
from pellucid.data.schema import CATEGORICAL, TEXT, Schema
from pellucid.errors import ModelFileError, ParameterError
from pellucid.naive_bayes import class_counts, text_columns
from pellucid.naive_bayes.base import CLASS_PRIOR_ALPHA, NaiveBayes, against_others
from pellucid.naive_bayes.column_distributions import KINDS, Distribution, by_position
from pellucid.naive_bayes.gaussian import EXTREME, LARGEST, fill_unknown, merged_moments, pooled
from pellucid.naive_bayes.support import BINARY, check_column
from pellucid.numerics.class_moments import class_moments
from pellucid.parameters import Predicate, Real, learned, param, shared
from pellucid.persist.fitted_state import expect_array
from pellucid.records import Explanation

CONTENT = {CATEGORICAL: "categories", TEXT: "text"}


class MixedNB(NaiveBayes):
    """Naive Bayes for any table: the class c that maximises

        log p(c) + sum_j log p_j(x_j | c)

    where p_j is the distribution of column j: categorical for categories, Bernoulli for numbers that are
    all 0 or 1, normal for other numbers, multinomial for the words of a text. `distributions` can set
    others. Missing cells, levels and words that training did not contain, and constant columns are left
    out; so are, in prediction, numbers other than 0 and 1 in a column that became Bernoulli by default,
    and more successes than training contained if the number of trials was not given. All other values
    that a distribution cannot have raise an error. The `text` option of `table` determines which words
    count, and whether by count, presence or tf-idf.

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

    distributions: Mapping[Any, Any] | None = param(
        None,
        None | Predicate(lambda v: isinstance(v, Mapping), "a dict"),
        "Distributions of columns, as {name or position: distribution}. For numbers: 'normal', "
        "'bernoulli', 'poisson', 'binomial' (the number of trials is the largest value), ('binomial', "
        "trials), or 'multinomial' (all such columns are the counts of one multinomial). For text: "
        "'multinomial words' or 'bernoulli words' (which words occur). All other columns have the "
        "default of their kind.",
    )
    alpha: float = param(
        1.0,
        Real(0, None),
        "Pseudo-count of every level and word, of both values of a Bernoulli column, and of the overall "
        "mean of a Poisson column.",
    )
    var_smoothing: float = param(
        1e-9,
        Real(0, None),
        "Share of the variance of a normal column that is added to its variance in each class.",
    )
    priors: Any = shared.PRIORS
    class_prior_alpha: float = CLASS_PRIOR_ALPHA

    distributions_: tuple[str, ...] = learned("Distribution of each column.")
    theta_: np.ndarray = learned(
        "Parameters of number columns, shape (n_classes, n_columns): means (normal), probabilities "
        "(Bernoulli, binomial, multinomial) or rates (Poisson), in units of 2.0**units_."
    )
    var_: np.ndarray = learned("Variances of normal columns in units of 4.0**units_, 0 for others.")
    level_log_prob_: list[np.ndarray] = learned(
        "Logarithms of the probabilities of levels and words, one array (n_classes, n_levels) per "
        "column, in the order of `schema_.levels`; empty for numbers."
    )
    level_count_: list[np.ndarray] = learned(
        "Weight of each level and word, like `level_log_prob_`."
    )
    class_prior_: np.ndarray = learned("Prior probabilities of the classes.")
    present_: np.ndarray = learned("Weight of the cells that are not missing, by class and column.")
    centres_: np.ndarray = learned("Means of number columns in each class, divided by 2.0**units_.")
    spreads_: np.ndarray = learned(
        "Variances of number columns in each class, divided by 4.0**units_."
    )
    trials_: np.ndarray = learned("Number of trials of binomial columns, else the largest value.")
    units_: np.ndarray = learned(
        "Exponents of the powers of two that divide normal columns of extreme size; 0 for others."
    )
    silent_: np.ndarray = learned("1 for constant number columns, which have no influence, else 0.")

    _layout = "codes"
    _takes_sparse = False
    _takes_text = True
    _prior_name = "priors"

    # Learning -------------------------------------------------------------------------------------

    def _statistics(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        K, X, y, w = len(problem.classes), problem.table, problem.y, problem.weights
        kinds = self._kinds(problem, self.__sklearn_is_fitted__())
        units = _units(problem.schema, kinds)
        A = np.ldexp(X, -units) if units.any() else X
        given = self._given_distributions(problem.schema)
        for j, kind in enumerate(kinds):
            most = given[j].trials if j in given else None
            check_column(X[:, j], kind, problem.schema.name(j), most, problem.position)
        power = int(np.frexp(parallel.largest(w.max()))[1])
        found = class_moments(A, y, np.ldexp(w, -power), K, "diagonal", holes=True)
        levels = [self._level_counts(problem, j, kind) for j, kind in enumerate(kinds)]
        numbers = problem.n_levels == 0  # codes of levels have no mean
        with np.errstate(over="ignore", invalid="ignore"):
            return {
                "class_count_": parallel.count_rows(y, w, K),
                "present_": np.ldexp(found.total, power),
                "centres_": found.mean * numbers,
                "spreads_": found.scatter * numbers / np.where(found.total > 0, found.total, 1.0),
                "trials_": _trials(
                    parallel.largest(np.nan_to_num(np.fmax.reduce(A, axis=0))) * numbers, given
                ),
                "level_count_": levels,
                "units_": units,
                "distributions_": kinds,
            }

    def _level_counts(self, problem: Problem, j: int, kind: str) -> np.ndarray:
        """(K, levels) of a column of categories, (K, words) of a text."""
        y, w, K = problem.y, problem.weights, problem.n_classes
        if kind in text_columns.WORD_KINDS:
            return text_columns.count_words(kind, problem.words[j], y, w, K)
        if kind == "categorical":
            return class_counts.count_levels(
                _level_codes(problem.X[:, j]), y, w, K, problem.n_levels[j]
            )
        return np.zeros((K, 0))

    def _carried(self, schema: Schema) -> dict[str, Any]:
        names = ("class_count_", "present_", "centres_", "spreads_", "trials_", "units_")
        levels = zip(self.level_count_, self.schema_.levels, schema.levels)
        return {name: getattr(self, name) for name in names} | {
            "level_count_": [class_counts.match_levels(*column) for column in levels]
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
        prior = self._class_prior(sums["class_count_"])
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
        if kind in text_columns.WORD_KINDS:
            return text_columns.log_probabilities(kind, counts, sums["present_"][:, j], self.alpha)
        with np.errstate(divide="ignore"):
            return (
                np.log(class_counts.level_probabilities(counts, self.alpha))
                if counts.size
                else counts
            )

    def _parameter(self, kind: str, j: int, sums: dict[str, Any], mean: float) -> np.ndarray:
        """Mean, probability or rate of column j in each class, with pseudo-counts."""
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

    def _given_distributions(self, schema: Schema) -> dict[int, Distribution]:
        return by_position(self.distributions, schema.columns)

    @staticmethod
    def _distribution_of(given: Distribution | None, kind: str, problem: Problem, j: int) -> str:
        """The distribution of column j: the given one, if the column can have it, or the default."""
        name = None if given is None else given.kind
        if kind == TEXT and name in ("multinomial", "bernoulli"):
            name += " words"
        possible = {CATEGORICAL: KINDS[2:3], TEXT: text_columns.WORD_KINDS}.get(
            kind, tuple(k for k in KINDS if k != "categorical" and k not in text_columns.WORD_KINDS)
        )
        if name is not None and name not in possible:
            raise ParameterError(
                f"Column {problem.schema.name(j)!r} contains {CONTENT.get(kind, 'numbers')}, so its "
                f"distribution cannot be {name!r}. Choose one of {list(possible)}, or change the kind "
                "of the column with Table(kinds=...)."
            )
        if name is None and kind not in CONTENT:
            return "bernoulli" if _is_binary(problem.X[:, j]) else "normal"
        return name or possible[0]

    def _kinds(self, problem: Problem, fitted: bool) -> tuple[str, ...]:
        """Distributions of the columns; those of earlier batches stay, but a Bernoulli column becomes
        normal if it now contains other numbers.
        """
        given, kinds = self._given_distributions(problem.schema), []
        for j, kind in enumerate(problem.schema.kinds):
            before = self.distributions_[j] if fitted and not empty(self.schema_, j) else None
            if before is None:  # new, or missing in all earlier rows
                before = self._distribution_of(given.get(j), kind, problem, j)
            elif before == "bernoulli" and j not in given and not _is_binary(problem.X[:, j]):
                before = "normal"
            kinds.append(before)
        return tuple(kinds)

    # Predicting -----------------------------------------------------------------------------------

    def _column(self, X: Any, j: int) -> np.ndarray:
        """What column j adds to the log-likelihood, (n, K); 0 for a missing cell."""
        kind, x = self.distributions_[j], text_columns.codes_of(X)[:, j]
        if kind in text_columns.WORD_KINDS:
            return text_columns.text_likelihood(kind, X, j, self.level_log_prob_[j])
        missing = np.isnan(x)
        if kind == "categorical":
            return class_counts.level_likelihood(self.level_log_prob_[j], _level_codes(x))
        if self.silent_[j] and kind != "multinomial":
            return np.zeros((len(x), len(self.classes_)))
        given = self._given_distributions(self.schema_).get(j)
        if kind == "bernoulli" and given is None:
            missing |= BINARY.impossible(x, np.inf)
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
        log = np.maximum(np.log(theta), class_counts.LOWEST)
        x = np.minimum(x, class_counts.MOST)
        if kind == "multinomial":
            return x * log
        if kind == "poisson":
            return x * log - theta
        trials = 1.0 if kind == "bernoulli" else self.trials_[j]
        return x * log + np.maximum(trials - x, 0.0) * np.maximum(
            np.log1p(-theta), class_counts.LOWEST
        )

    def _log_likelihood(self, X: Any) -> np.ndarray:
        total = np.zeros((len(text_columns.codes_of(X)), len(self.classes_)))
        for j in range(self.schema_.n_columns):
            total += self._column(X, j)
        return total

    def _column_likelihoods(self, X: Any) -> np.ndarray:
        return np.stack([self._column(X, j) for j in range(self.schema_.n_columns)], axis=1)

    def explain_words(self, X: Any) -> Explanation:
        """Like `explain`, with each text column split into the words that occur in these rows.

        The contribution of the column itself is then that of the absent words ("bernoulli words").
        """
        rows, names = self._encoded(X), list(self.schema_.columns)
        found = self._explain(rows)
        parts = [found["contributions"]]
        for j in rows.words if isinstance(rows, text_columns.CodesAndWords) else ():
            used, shares = text_columns.word_terms(
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
            raise ModelFileError("the distributions_ of its MixedNB are missing or unknown")
        for kind, content in zip(kinds, self.schema_.kinds):
            if (kind in text_columns.WORD_KINDS, kind == "categorical") != (
                content == TEXT,
                content == CATEGORICAL,
            ):
                raise ModelFileError("the distributions_ of its MixedNB do not match its columns")
        widths = [(K, int(n)) for n in self.schema_.n_levels]
        if not isinstance(tables, list) or [np.shape(t) for t in tables] != widths:
            raise ModelFileError("the level_log_prob_ of its MixedNB have a wrong shape")


def _is_binary(column: np.ndarray) -> bool:
    """Whether a column contains only 0, 1 and missing cells."""
    return parallel.all_rows(((column == 0) | (column == 1) | np.isnan(column)).all())


def _trials(largest: np.ndarray, given: dict[int, Distribution]) -> np.ndarray:
    """Numbers of trials: the given ones, else the largest values."""
    out = np.maximum(largest, 0.0)
    for j, one in given.items():
        out[j] = out[j] if one.trials is None else one.trials
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
