"""What a fitted estimator says, and whether two say the same: to the bit, or to a tolerance."""

import dataclasses
import warnings
from functools import cache

import numpy as np

from pellucid.errors import DataError
from tests.contract.classes import classifier, make, weighted
from tests.contract.data import Sample, frame, mixed, numbers

METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "transform",
)


def fitted(Model: type, sample: Sample, weights=None, **chosen):
    """A new estimator fitted to the sample; weights only where the class takes them."""
    model = make(Model, **chosen)
    if weights is not None and weighted(Model):
        return model.fit(sample.X, sample.y, sample_weight=weights)
    return model.fit(sample.X, sample.y)


@dataclasses.dataclass(frozen=True)
class Example:
    """A model that many checks only ask, never change (they check that, too)."""

    sample: Sample
    model: object
    said: dict


@cache
def example(Model: type, kind: str = "numbers") -> Example:
    """The model fitted to one of the samples, once for all checks: numbers, binary, whole..."""
    sample = mixed(Model) if kind == "mixed" else numbers(Model)
    if kind == "whole":
        sample = sample.with_X(np.abs(np.round(sample.X)))
    if kind == "frame":
        sample = sample.with_X(frame(sample.X))
    if kind == "binary":
        sample = numbers(Model, n_classes=2)
    model = fitted(Model, sample)
    return Example(sample, model, answers(model, sample.X))


def answers(model, X) -> dict:
    """Everything the model says about X; what it learned, where it says nothing of new rows."""
    said = {name: plain(getattr(model, name)(X)) for name in METHODS if hasattr(model, name)}
    if hasattr(model, "score_samples"):
        said["score_samples"] = density(model, X)
    if not said and hasattr(model, "kneighbors"):
        said["kneighbors"] = model.kneighbors(X)[0]
    if not said and hasattr(model, "embedding_"):  # places of the learned rows, none for new ones
        said["embedding_"] = model.embedding_
    return said or learned(model)


def density(model, X) -> np.ndarray:
    """Log density of the rows; where none exists (a singular covariance), the error's words."""
    try:
        return model.score_samples(X)
    except DataError as error:
        return np.array(str(error))


def asks(model):
    """The methods that look at new rows."""
    names = ("predict", "predict_proba", "decision_function", "transform")
    return [getattr(model, name) for name in names if hasattr(model, name)]


def plain(value) -> np.ndarray:
    if hasattr(value, "toarray"):
        return value.toarray()
    return value.to_numpy() if hasattr(value, "to_numpy") else np.asarray(value)


def learned(model) -> dict:
    """What fit stored, by name; the order in which it was stored is of no consequence."""
    return {name: vars(model)[name] for name in sorted(vars(model)) if is_learned(name)}


def is_learned(name: str) -> bool:
    return name.endswith("_") and not name.startswith("__")


def difference(a, b, where: str = "") -> str:
    """The first place where a and b are not the same to the last bit; empty if there is none."""
    if type(a) is not type(b):
        return f"{where}: {type(a).__name__} {a!r} is not {type(b).__name__} {b!r}"
    if isinstance(a, np.ndarray):
        return array_difference(a, b, where)
    if isinstance(a, dict):
        if list(a) != list(b):
            return f"{where}: keys {list(a)} are not {list(b)}"
        return first(difference(a[key], b[key], f"{where}.{key}") for key in a)
    if isinstance(a, list | tuple):
        if len(a) != len(b):
            return f"{where}: {len(a)} entries are not {len(b)}"
        return first(difference(x, y, f"{where}[{i}]") for i, (x, y) in enumerate(zip(a, b)))
    if hasattr(a, "tocsr"):
        return array_difference(a.toarray(), b.toarray(), where)
    if dataclasses.is_dataclass(a) or hasattr(a, "__dict__"):
        return difference(fields(a), fields(b), where or type(a).__name__)
    same = a == b or (a != a and b != b)
    return "" if same else f"{where}: {a!r} is not {b!r}"


def fields(thing) -> dict:
    if dataclasses.is_dataclass(thing):
        return {field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)}
    # The order in which attributes were stored is of no consequence.
    if isinstance(thing, type):
        return {"class": thing.__qualname__}
    return dict(sorted(vars(thing).items()))


def first(texts) -> str:
    return next((text for text in texts if text), "")


def array_difference(a: np.ndarray, b: np.ndarray, where: str) -> str:
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{where}: {a.dtype}{a.shape} is not {b.dtype}{b.shape}"
    if a.dtype == object:
        return difference(a.tolist(), b.tolist(), where)
    if a.tobytes() == b.tobytes():
        return ""
    unequal = np.argwhere(~((a == b) | ((a != a) & (b != b))))
    if not len(unequal):
        return f"{where}: values agree, but not the sign of zero or the bits of nan"
    at = tuple(unequal[0])
    return f"{where}[{at}]: {a[at]!r} is not {b[at]!r} ({len(unequal)} of {a.size} cells differ)"


def assert_same_bits(a, b, what: str = "") -> None:
    found = difference(a, b)
    assert not found, f"{what}{found}"


def assert_close(a: dict, b: dict, model, tolerance: float = 1e-12) -> None:
    """Equal to `tolerance` of the largest number; labels wherever the model is not undecided."""
    assert a and list(a) == list(b)
    decided = margin(a) > 1e-9 if classifier(type(model)) else True
    for name in a:
        if a[name].dtype.kind not in "fc":
            keep = np.broadcast_to(decided, a[name].shape[:1]) if a[name].ndim else True
            assert np.array_equal(a[name][keep], b[name][keep]), name
            continue
        assert a[name].shape == b[name].shape, name
        with np.errstate(invalid="ignore"):
            gap = np.where(a[name] == b[name], 0.0, np.abs(a[name] - b[name]))
        scale = max(1.0, np.max(np.abs(a[name]), where=np.isfinite(a[name]), initial=0.0))
        worst = float(np.max(gap, initial=0.0))
        assert worst <= tolerance * scale, f"{name} differs by {worst:.3g} (scale {scale:.3g})"


def margin(said: dict) -> np.ndarray:
    """How far each row is from a tie between its two best classes."""
    for name in ("predict_proba", "decision_function"):
        if name in said:
            scores = said[name]
            if scores.ndim == 1:
                return np.abs(scores)
            best = np.sort(scores, axis=1)
            return best[:, -1] - best[:, -2] if best.shape[1] > 1 else np.full(len(best), np.inf)
    return np.full(len(next(iter(said.values()))), np.inf)


def quietly(function, *arguments, **named):
    """Call without regard to warnings: for checks of something else."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **named)
