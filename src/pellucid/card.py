"""The card of an estimator in a notebook: parameters, a few learned facts, the loss curve."""

from typing import Any

import numpy as np

from pellucid import draw
from pellucid.protocol import signature


def card(model: Any) -> str:
    """HTML of an estimator, fitted or not."""
    fitted = model.__sklearn_is_fitted__()
    return draw.estimator_card(
        type(model).__name__,
        model.get_params(deep=False),
        {name: p.default for name, p in signature(type(model)).items()},
        fitted,
        _facts(model) if fitted else {},
        _chart(model),
    )


def _facts(model: Any) -> dict[str, Any]:
    learned = vars(model)
    facts: dict[str, Any] = {"columns": model.n_features_in_}
    if "classes_" in learned:
        more = ", ..." if len(model.classes_) > 10 else ""
        facts["classes"] = ", ".join(map(str, model.classes_[:10])) + more
    if learned.get("n_iter_") is not None:
        facts["iterations"] = int(np.max(model.n_iter_))
    missing = model.schema_.n_missing
    if missing.any():
        facts["missing in training"] = ", ".join(
            f"{model.schema_.name(j)} ({missing[j]:g})" for j in np.flatnonzero(missing)[:10]
        )
    return facts


def _chart(model: Any) -> str | None:
    history = vars(model).get("history_")
    if not history or len(history["iteration"]) < 2:
        return None
    return draw.line(
        {"objective": (history["iteration"], history["objective"])},
        title="Objective by iteration",
        x_label="iteration",
        y_label="objective",
    )
