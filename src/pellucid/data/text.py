"""Free text as columns of words: the vocabulary is learned in `fit`, counted in `predict`.

A cell is lower-cased and cut into words; a missing cell has none of them, and a flag of its own if
cells were missing in training; a word outside the vocabulary does not count. Weights mean repetition
here too: frequencies are sums of weights.
"""

import re
from collections import Counter
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from pellucid.errors import ParameterError

_MODES = ("count", "binary", "tfidf")


class Options:
    """Options by name, as scikit-learn's searches read and set them; subclasses are dataclasses."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Options by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Self:
        """Set options by name."""
        valid = self.get_params(deep=False)
        for name, value in params.items():
            if name not in valid:
                raise ParameterError(
                    f"Invalid parameter {name!r} for {type(self).__name__}. Valid parameters are: "
                    f"{sorted(valid)}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        default = type(self)().get_params()
        given = self.get_params(deep=False).items()
        changed = [f"{name}={value!r}" for name, value in given if value != default[name]]
        return f"{type(self).__name__}({', '.join(changed)})"


@dataclass(repr=False)
class Text(Options):
    """How a text column becomes columns of words.

    Parameters
    ----------
    mode : {"count", "binary", "tfidf"}
        How often a word occurs, whether it occurs, or its count times log((1 + n) / (1 + df)) + 1,
        with every row scaled to length 1 (scikit-learn's tf-idf).
    stop_words : collection of words to leave out, or "english" for scikit-learn's list
    min_df, max_df : int (documents) or float in [0, 1] (share of documents)
        Words that occur in fewer or in more documents are left out.
    max_words : int, optional
        Keep only the words that occur most often, counted by occurrences in every mode.
    pattern : regular expression of one word

    Examples
    --------
    >>> Text(mode="binary", max_words=1000)
    Text(mode='binary', max_words=1000)
    """

    mode: str = "count"
    stop_words: Any = None
    min_df: int | float = 1
    max_df: int | float = 1.0
    max_words: int | None = 10_000
    pattern: str = r"\w\w+"

    def check(self) -> "Text":
        """Raise a `ParameterError` unless every option makes sense."""
        if self.mode not in _MODES:
            raise ParameterError(
                f"The 'mode' parameter of Text must be one of {list(_MODES)}. Got {self.mode!r} instead."
            )
        for name in ("min_df", "max_df"):
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (number and 0 <= value <= (1 if isinstance(value, float) else np.inf)):
                raise ParameterError(
                    f"The {name!r} parameter of Text must be a number of documents (an int of at "
                    "least 0) or a share of them (a float from 0 to 1). "
                    f"Got {value!r} instead."
                )
        if isinstance(self.stop_words, str) and self.stop_words != "english":
            raise ParameterError(
                "The 'stop_words' parameter of Text must be 'english', a collection of words or "
                f"None. Got {self.stop_words!r} instead."
            )
        if self.max_words is not None and not (
            isinstance(self.max_words, int) and self.max_words >= 1
        ):
            raise ParameterError(
                f"The 'max_words' parameter of Text must be at least 1. Got {self.max_words!r} instead."
            )
        try:
            re.compile(self.pattern)
        except (re.error, TypeError) as error:
            raise ParameterError(
                f"The 'pattern' parameter of Text must be a regular expression: {error}."
            ) from None
        return self


def _stop_words(given: Any) -> frozenset[str]:
    if given == "english":
        from pellucid._sklearn import english_stop_words

        return english_stop_words()
    return frozenset(given or ())


def documents(cells: np.ndarray, pattern: str) -> list[list[str]]:
    """The words of each cell, in order."""
    find = re.compile(pattern).findall
    return [find(cell.lower()) if cell is not None else [] for cell in cells]


def _limit(value: int | float, total: float) -> float:
    return value * total if isinstance(value, float) else value


def vocabulary(
    cells: np.ndarray, weights: np.ndarray, options: Text
) -> tuple[tuple[str, ...], np.ndarray]:
    """The kept words, sorted, and the weight of the documents that hold each."""
    counts: Counter[str] = Counter()
    frequency: Counter[str] = Counter()
    for words, weight in zip(documents(cells, options.pattern), weights, strict=True):
        for word, count in Counter(words).items():
            counts[word] += weight * count
            frequency[word] += weight
    total, stop = weights.sum(), _stop_words(options.stop_words)
    low, high = _limit(options.min_df, total), _limit(options.max_df, total)
    kept = [w for w in counts if low <= frequency[w] <= high and w not in stop]
    if options.max_words is not None and len(kept) > options.max_words:
        kept.sort(key=lambda word: (-counts[word], word))
        kept = kept[: options.max_words]
    kept.sort()
    return tuple(kept), np.array([frequency[word] for word in kept], dtype=float)


def word_entries(
    cells: np.ndarray, words: tuple[str, ...], weight: np.ndarray, mode: str, pattern: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries (rows, positions, values) of the words of a text column; `weight` is the idf."""
    where = {word: k for k, word in enumerate(words)}
    rows: list[int] = []
    positions: list[int] = []
    values: list[float] = []
    for i, document in enumerate(documents(cells, pattern)):
        found = Counter(where[word] for word in document if word in where)
        rows += [i] * len(found)
        positions += found.keys()
        values += found.values()
    row, position = np.array(rows, dtype=np.int64), np.array(positions, dtype=np.int64)
    value = np.array(values, dtype=np.float64)
    if mode == "binary":
        value = np.ones_like(value)
    elif mode == "tfidf":
        value *= weight[position]
        length = np.sqrt(np.bincount(row, value**2, minlength=len(cells)))
        value /= length[row]
    return row, position, value
