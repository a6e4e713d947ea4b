"""Targets and weights: any container in, float64 or class codes out, with errors that name rows."""

from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data.intake import is_frame
from pellucid.data.raw_column import is_missing
from pellucid.errors import DataConversionWarning, DataError, DataTypeError, shown, warn

# Weights whose sums and products with cells stay ordinary numbers.
LARGEST, SMALLEST = 1e290, 1e-290
# Integers from the smallest label to the largest, up to which codes need no sort.
MOST_COUNTED = 2**16


@dataclass(frozen=True)
class CodedLabels:
    """A column of labels as codes (int32, -1 = missing) of its distinct values."""

    codes: np.ndarray
    values: tuple[Any, ...]

    def distinct(self) -> np.ndarray:
        """The distinct values, as `as_vector` would give them."""
        cells = np.empty(len(self.values), dtype=object)
        cells[:] = self.values
        return _plain(cells)

    def __len__(self) -> int:
        return len(self.codes)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        cells = np.empty(len(self.values) + 1, dtype=object)
        cells[:-1] = self.values
        return _plain(cells[self.codes])


def target_name(y: Any) -> str:
    """What a picture calls the target: the name of its column or series, else "y"."""
    name = y if isinstance(y, str) else getattr(y, "name", None)
    return name if isinstance(name, str) and name else "y"


def as_vector(values: Any, what: str = "y") -> np.ndarray:
    """A NumPy array from a list, array or series; missing cells stay None or NaN."""
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.getmaskarray(values).any():
            row = int(np.argmax(np.ma.getmaskarray(values)))
            raise DataError(f"Input {what} contains NaN: row {row} is masked. Drop such rows.")
        return values.filled()
    if isinstance(values, np.ndarray):
        return _native(np.asarray(values))
    if hasattr(values, "tocsr"):
        raise DataTypeError(f"{what} is sparse: use {what}.toarray().ravel().")
    if is_frame(values):
        if not hasattr(values, "to_numpy"):  # Arrow tables
            return _plain(np.array([c.to_pylist() for c in values.columns], dtype=object).T)
        return _plain(values.to_numpy())
    if hasattr(values, "to_pylist"):  # Arrow arrays
        from pellucid.data.arrow import plain, plain_numbers

        values = plain(what, values)
        numbers = plain_numbers(values)
        return _plain(np.array(values.to_pylist(), dtype=object)) if numbers is None else numbers
    if hasattr(values, "to_numpy"):  # pandas and polars series
        return _plain(np.asarray(values.to_numpy()))
    scalar = isinstance(values, str | bytes | dict) or not hasattr(values, "__len__")
    if scalar and not hasattr(values, "__array__"):
        raise DataTypeError(f"{what} should be a 1d array, got {values!r} instead.")
    try:
        array = _native(np.asarray(values))
        # np.asarray writes ["a", nan] and [1, "a"] as text: keep the cells as they were given.
        given = not hasattr(values, "dtype") and not hasattr(values, "__array__")
        return _texts(list(values), array) if array.dtype.kind in "US" and given else array
    except ValueError as error:
        raise DataError(f"{what} is not a rectangular array: {error}") from None


def _native(values: np.ndarray) -> np.ndarray:
    """The array in the machine's byte order; NumPy's strings of any length as objects."""
    if values.dtype.kind == "T":
        return values.astype(object)
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def _texts(values: Any, array: np.ndarray) -> np.ndarray:
    cells = np.array(values, dtype=object)
    flat = cells.ravel()
    alike = all(isinstance(c, str) for c in flat) or all(isinstance(c, bytes) for c in flat)
    return array if alike and cells.shape == array.shape else cells


def _plain(values: np.ndarray) -> np.ndarray:
    """Objects that are all numbers or all bools become an array of those."""
    if values.dtype != object:
        return values
    flat = values.ravel()
    present = [v for v in flat if not is_missing(v)]
    if (
        present
        and all(isinstance(v, bool | np.bool_) for v in present)
        and len(present) == len(flat)
    ):
        return values.astype(bool)
    if present and all(isinstance(v, int | float | np.number) for v in present):
        numbers = [np.nan if is_missing(v) else v for v in flat]
        return np.array(numbers).reshape(values.shape)
    return values


def _check_present(y: np.ndarray) -> None:
    if y.dtype.kind == "f":
        bad = ~np.isfinite(y)
    elif y.dtype == object:
        bad = np.array([is_missing(v) for v in y.ravel()]).reshape(y.shape)
    elif y.dtype.kind in "mM":
        bad = np.isnat(y)
    else:
        return
    if bad.any():
        rows = np.flatnonzero(bad.reshape(len(y), -1).any(axis=1))
        _refuse_rows(rows, "infinity" if y.dtype.kind == "f" and np.isinf(y).any() else "NaN")


def _refuse_rows(rows: np.ndarray, word: str) -> None:
    if rows.size:
        shown = ", ".join(map(str, rows[:5])) + (", ..." if rows.size > 5 else "")
        one = rows.size == 1
        raise DataError(
            f"Input y contains {word} in {f'row {shown}' if one else f'{rows.size} rows ({shown})'}. "
            f"Correct the target, or drop {'this row' if one else 'these rows'}."
        )


def _column_vector(y: np.ndarray, owner: str) -> np.ndarray:
    if y.ndim == 2 and y.shape[1] == 1:
        warn_of_column_vector()
        return y.ravel()
    return y


def warn_of_column_vector() -> None:
    """The warning is scikit-learn's too once that is loaded."""
    from pellucid._sklearn import as_theirs

    warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of "
        "y to (n_samples,), for example using ravel().",
        as_theirs(DataConversionWarning),
    )


def labels(y: Any, owner: str) -> tuple[np.ndarray, np.ndarray]:
    """Class codes (int32) and the sorted classes."""
    if isinstance(y, CodedLabels):
        _refuse_rows(np.flatnonzero(y.codes < 0), "NaN")
        codes, classes = labels(y.distinct(), owner)
        return codes[y.codes], classes
    y = _column_vector(as_vector(y), owner)
    if y.ndim != 1:
        raise DataError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    if y.dtype.kind == "c":
        raise DataError("Unknown label type: complex. Complex data not supported.")
    _check_present(y)
    if y.dtype.kind == "f" and (y != np.floor(y)).any():
        row = int(np.flatnonzero(y != np.floor(y))[0])
        raise DataError(
            f"Unknown label type: continuous. {owner} predicts classes, but y[{row}] = {y[row]}. "
            "Use a regressor, or turn y into classes first."
        )
    if y.dtype == object and not all(isinstance(v, str) for v in y):
        y = _same_type(y)
    if y.dtype.kind in "iu" and y.dtype != np.uint64 and y.size:
        lowest = int(y.min())
        span = int(y.max()) - lowest + 1
        if span <= MOST_COUNTED:
            return _counted(y, lowest, span)
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError:
        raise DataTypeError(
            f"y holds objects of type {type(y[0]).__name__}: labels are text, numbers or dates."
        ) from None
    return codes.astype(np.int32), classes


def shared_labels(codes: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The codes among the classes of all processes that share the rows."""
    found = parallel.everywhere(classes, np.union1d)
    return (codes, classes) if found is classes else (_place(classes, found)[codes], found)


def _place(own: np.ndarray, found: np.ndarray) -> np.ndarray:
    return np.searchsorted(found, own).astype(np.int32)


def _counted(y: np.ndarray, lowest: int, span: int) -> tuple[np.ndarray, np.ndarray]:
    """The same for integers in a short range, without sorting."""
    place = np.subtract(y, lowest, dtype=np.int64)
    present = np.zeros(span, dtype=bool)
    present[place] = True
    codes = (np.cumsum(present, dtype=np.int32) - 1)[place]
    return codes, (np.flatnonzero(present) + lowest).astype(y.dtype)


def _same_type(y: np.ndarray) -> np.ndarray:
    if any(isinstance(v, set | frozenset | list | dict) for v in y):
        raise DataTypeError(
            f"y holds objects of type {type(y[0]).__name__}: labels are text, numbers or dates."
        )
    types = sorted({type(v).__name__ for v in y})
    if len(types) == 1 or {"bool", "bool_"} >= set(types):
        return y
    raise DataTypeError(
        f"y mixes labels of several types ({', '.join(types)}): make them all text or all numbers."
    )


def offset_values(offset: Any, n: int | None, name: str = "offset") -> np.ndarray:
    """One finite number per row (of n, if that is known), added to the linear predictor."""
    values = as_vector(offset, name)
    if values.dtype.kind not in "fiub" or values.ndim != 1:
        raise DataError(f"{name} must be a vector of numbers, one per row.")
    if n is not None and len(values) != n:
        raise DataError(f"{name} has {len(values)} entries, X has {n} rows: one per row is needed.")
    values = values.astype(np.float64)
    if not np.isfinite(values).all():
        raise DataError(f"{name} is not finite in row {int(np.argmin(np.isfinite(values)))}.")
    return values


def numbers(y: Any, owner: str, several: bool = False) -> np.ndarray:
    """Target of a regressor: float64, one column unless `several` are allowed."""
    y = as_vector(y)
    if not several:
        y = _column_vector(y, owner)
    if y.ndim not in ((1, 2) if several else (1,)):
        raise DataError(f"y should be a 1d array, got an array of shape {y.shape} instead.")
    if y.dtype.kind == "c":
        raise DataError(f"Complex data not supported: y has dtype {y.dtype}.")
    if y.dtype.kind in "OUT":
        y = _parse(y, owner)
    elif y.dtype.kind not in "fiub":
        raise DataTypeError(f"y has dtype {y.dtype}: {owner} needs numbers.")
    y = y.astype(np.float64, copy=False)
    _check_present(y)
    return y


def _parse(y: np.ndarray, owner: str) -> np.ndarray:
    _check_present(y)
    try:
        return y.astype(np.float64)
    except (TypeError, ValueError):
        row = next(i for i, cell in enumerate(y.ravel()) if not _is_number(cell))
        raise DataError(
            f"y holds {shown(y.ravel()[row])} (row {row}), but {owner} predicts numbers. Use a "
            "classifier for classes."
        ) from None


def _is_number(cell: Any) -> bool:
    try:
        np.asarray(cell).astype(np.float64)
    except (TypeError, ValueError):
        return False
    return True


def check_lengths(n: int, n_target: int) -> None:
    """X and y must have the same number of rows."""
    if n != n_target:
        raise DataError(
            f"Found input variables with inconsistent numbers of samples: [{n}, {n_target}]. "
            "X and y must have the same number of rows."
        )


def known_classes(given: Any, before: np.ndarray | None) -> np.ndarray:
    """Labels of `partial_fit`: given with the first batch, the same in all later ones."""
    if given is None:
        if before is None:
            raise DataError("classes must be passed on the first call to partial_fit.")
        return before
    known = np.unique(as_vector(given, "classes"))
    if before is not None and not np.array_equal(known, before):
        raise DataError(
            f"`classes={known.tolist()}` is not the same as on last call to partial_fit, was: "
            f"{before.tolist()}"
        )
    return known


def weights_or_ones(weights: Any, n: int) -> np.ndarray:
    """Sample weights: float64, finite, not negative, not all zero."""
    if weights is None:
        return np.ones(n)
    if np.isscalar(weights) or (isinstance(weights, np.ndarray) and weights.ndim == 0):
        weights = np.full(n, weights)
    w = as_vector(weights, "sample_weight")
    if w.dtype == object and all(isinstance(cell, Real | Decimal) for cell in w.ravel()):
        w = w.astype(np.float64)
    if w.dtype.kind not in "fiub":
        raise DataTypeError(f"sample_weight has dtype {w.dtype}: weights are numbers.")
    if w.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar, got {w.ndim}D array.")
    if len(w) != n:
        raise DataError(
            f"sample_weight.shape == {w.shape}, expected ({n},)! There must be one weight per row."
        )
    w = w.astype(np.float64)
    if not np.isfinite(w).all():
        raise DataError(
            f"Input sample_weight contains NaN or infinity: row {int(np.argmin(np.isfinite(w)))}."
        )
    if (w < 0).any():
        row = int(np.argmax(w < 0))
        raise DataError(
            f"Negative values in data passed to `sample_weight`: row {row} has {w[row]}. "
            "Weights must be >= 0."
        )
    if not w.any():
        raise DataError("All sample weights are zero: no row counts. Give some a positive weight.")
    if w.max() > LARGEST / max(n, 1) or w[w > 0].min() < SMALLEST:
        raise DataError(
            f"Sample weights reach from {w[w > 0].min():g} to {w.max():g}: sums of such numbers are "
            "not exact. Divide them by a common factor."
        )
    return w
