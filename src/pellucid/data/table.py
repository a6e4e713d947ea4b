"""`Table`: how a model treats its table. One object, the same for every estimator."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pellucid.data.text import Options, Text
from pellucid.errors import ParameterError

KINDS = ("number", "categorical", "datetime", "text")
CHOICES = {
    "missing": ("indicator", "drop", "error"),
    "unseen": ("missing", "error"),
    "coding": ("auto", "reference", "onehot"),
}


@dataclass(repr=False)
class Table(Options):
    """What to do with missing values, unseen levels and the kinds of columns.

    Parameters
    ----------
    missing : {"indicator", "drop", "error"}
        "indicator": the one rule (trees learn the side, naive Bayes skips the cell, other matrix
        models use the training mean, or no word, plus an indicator column); "drop": training rows
        with a missing value are left out; "error": a missing value in training is an error that
        names the column.
    unseen : {"missing", "error"}
        A level that did not occur in training counts as missing, or is an error.
    kinds : dict of column name (or position) to kind, optional
        Overrides the kind read from the data: "number", "categorical", "datetime" or "text".
    text : Text, optional
        How free text becomes columns of words, for the models that take text.
    coding : {"auto", "reference", "onehot"}
        How levels become columns of a matrix. "auto": a reference level for unpenalised linear
        models, one column per level for all others.

    Examples
    --------
    >>> Table(missing="drop")
    Table(missing='drop')
    """

    missing: str = "indicator"
    unseen: str = "missing"
    kinds: Mapping[Any, str] | None = None
    coding: str = "auto"
    text: Any = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name, so that `table__missing` and `table__text__min_df` can be searched."""
        params = super().get_params()
        if deep and self.text is not None:
            params |= {f"text__{k}": v for k, v in self.text.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        inner = {name: value for name, value in params.items() if name.startswith("text__")}
        super().set_params(**{name: value for name, value in params.items() if name not in inner})
        if inner:
            self.text = Text() if self.text is None else self.text
            self.text.set_params(**{k.removeprefix("text__"): v for k, v in inner.items()})
        return self

    def check(self) -> "Table":
        """Raise a `ParameterError` unless every option is one of its choices."""
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ParameterError(
                    f"The {name!r} parameter of Table must be one of {list(choices)}. "
                    f"Got {getattr(self, name)!r} instead."
                )
        if self.text is not None and not isinstance(self.text, Text):
            raise ParameterError(
                f"The 'text' parameter of Table must be None or a Text. Got {self.text!r} instead."
            )
        if self.kinds is not None and not isinstance(self.kinds, Mapping):
            raise ParameterError(
                f"The 'kinds' parameter of Table must be a dict of columns to kinds. "
                f"Got {self.kinds!r} instead."
            )
        for column, kind in (self.kinds or {}).items():
            if kind not in KINDS:
                raise ParameterError(
                    f"The 'kinds' parameter of Table must map columns to one of {list(KINDS)}. "
                    f"Got {kind!r} for column {column!r} instead."
                )
        return self
