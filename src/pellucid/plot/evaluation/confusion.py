"""The confusion matrix: true classes against predicted ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from pellucid.data.targets import weights_or_ones
from pellucid.draw.number import number
from pellucid.errors import ParameterError
from pellucid.metrics.classification import weights_by_class
from pellucid.plot.display import Display
from pellucid.plot.given_predictions import fitted_folds, label_pair, table
from pellucid.plot.picture import Axis, Heat, Panel, Picture

_NORMS = {
    None: "rows",
    "true": "share of each true class",
    "pred": "share of each predicted class",
    "all": "share of all rows",
}


class ConfusionMatrixDisplay(Display):
    """Counts of true (rows) against predicted (columns) classes.

    Parameters
    ----------
    matrix : (n_classes, n_classes), true classes by predicted ones.
    labels : names of the classes.
    normalize : None for counts; "true", "pred" or "all" for shares of the true class, of the
        predicted class or of all rows.

    Examples
    --------
    >>> display = ConfusionMatrixDisplay.from_predictions(["a", "b", "b"], ["a", "b", "a"])
    >>> display.matrix.tolist()
    [[1.0, 0.0], [1.0, 1.0]]
    """

    def __init__(self, matrix: Any, labels: Sequence[Any], normalize: str | None = None) -> None:
        if normalize not in _NORMS:
            raise ParameterError(
                f"normalize must be None, 'true', 'pred' or 'all'. Got {normalize!r} instead."
            )
        counts = np.asarray(matrix, dtype=float)
        if counts.shape != (len(labels), len(labels)):
            raise ParameterError(
                f"A confusion matrix of {len(labels)} classes must be {len(labels)} x "
                f"{len(labels)}. Got shape {counts.shape} instead."
            )
        self.matrix, self.labels, self.normalize = counts, [str(v) for v in labels], normalize

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, labels: Any = None, normalize: str | None = None,
        sample_weight: Any = None,
    ) -> Self:  # fmt: skip
        """From the predictions of a fitted classifier."""
        X, y = table(X, y)
        return cls.from_predictions(
            y, model.predict(X), labels=labels, normalize=normalize, sample_weight=sample_weight
        )

    @classmethod
    def from_cv(
        cls, model: Any, X: Any, y: Any, *, cv: Any = 5, labels: Any = None,
        normalize: str | None = None,
    ) -> Self:  # fmt: skip
        """From predictions of rows that the model was not trained on, summed over the folds of `cv`."""
        X, y = table(X, y)
        parts = [
            (truth, fit.predict(part)) for fit, part, truth, _ in fitted_folds(model, X, y, cv)
        ]
        truth, predicted = (np.concatenate(column) for column in zip(*parts))
        return cls.from_predictions(truth, predicted, labels=labels, normalize=normalize)

    @classmethod
    def from_predictions(
        cls, y_true: Any, y_pred: Any, *, labels: Any = None, normalize: str | None = None,
        sample_weight: Any = None,
    ) -> Self:  # fmt: skip
        """From true and predicted labels.

        `labels` chooses the classes and their order; rows of other classes are left out.
        """
        truth, predicted = label_pair(y_true, y_pred)
        seen = np.union1d(truth, predicted) if labels is None else np.asarray(labels)
        weights = weights_or_ones(sample_weight, len(truth))
        matrix = weights_by_class(truth, predicted, seen, weights)
        return cls(matrix, seen.tolist(), normalize)

    @property
    def values(self) -> np.ndarray:
        """The numbers shown: counts, or shares as `normalize` says; NaN for a class without rows."""
        totals = {
            "true": self.matrix.sum(axis=1, keepdims=True),
            "pred": self.matrix.sum(axis=0, keepdims=True),
            "all": self.matrix.sum(keepdims=True),
        }
        if self.normalize is None:
            return self.matrix
        total = totals[self.normalize]
        return np.divide(
            self.matrix, total, out=np.full(self.matrix.shape, np.nan), where=total > 0
        )

    def columns(self) -> dict[str, Any]:
        n = len(self.labels)
        found: dict[str, Any] = {
            "true": np.repeat(self.labels, n).tolist(),
            "predicted": self.labels * n,
            "rows": self.matrix.ravel().tolist(),
        }
        if self.normalize is not None:
            found["share"] = self.values.ravel().tolist()
        return found

    def picture(self) -> Picture:
        n, values = len(self.labels), self.values
        shares = self.normalize is not None
        texts = tuple(
            tuple("" if v != v else f"{v:.2f}" if shares else number(v) for v in row)
            for row in values.tolist()
        )
        accuracy = np.trace(self.matrix) / max(self.matrix.sum(), 1e-300)
        heat = Heat(values, texts, limits=(0.0, 1.0) if shares else (0.0, max(values.max(), 1e-9)))
        panel = Panel(
            (heat,),
            Axis("predicted class", names=tuple(self.labels)),
            Axis("true class", names=tuple(self.labels)),
            note=f"Shown: {_NORMS[self.normalize]}. Accuracy {accuracy:.3f}.",
            width=min(420 + 25 * max(0, n - 6), 760),
            height=max(100, min(34 * n, 480)),
        )
        return Picture((panel,), "Confusion matrix", "Confusion matrix")


def confusion_matrix(
    model: Any, X: Any, y: Any, *, cv: Any = None, labels: Any = None, normalize: str | None = None
) -> ConfusionMatrixDisplay:
    """True against predicted classes of a fitted classifier, or over the folds of `cv`.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"]
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> plot.confusion_matrix(model, X, y).frame()["rows"]
    [2.0, 0.0, 0.0, 2.0]
    """
    if cv is not None:
        return ConfusionMatrixDisplay.from_cv(
            model, X, y, cv=cv, labels=labels, normalize=normalize
        )
    return ConfusionMatrixDisplay.from_estimator(model, X, y, labels=labels, normalize=normalize)
