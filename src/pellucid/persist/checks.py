"""Checks of the single parts of an untrusted tree: each gives the part or a `ModelFileError`."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np

from pellucid.errors import ModelFileError
from pellucid.persist.tree_reader import get, parsed

_TIME = r"<[Mm]8(\[[0-9]{0,9}(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?"
SCALAR = re.compile(rf"\|b1|[|<][iu]1|<[iu][248]|<f[248]|{_TIME}")
VIEW = re.compile(rf"{_TIME}|<U[0-9]{{1,9}}|\|S[0-9]{{1,9}}")

# Words that are found in linear time: atoms of fixed length, then one that may repeat. Whatever
# could fail after a repetition (groups, a second repetition) can be made to try for years.
_ATOM = r"(?:\\[wWdDsS]|\\[^\w\s]|\[\^?(?:\\[wWdDsS]|\\[^\w\s]|[^\[\]\\])+\]|[^\\\[\](){}*+?|^$])"
_TIMES = r"(?:[*+?]|\{[0-9]{1,2}(?:,[0-9]{0,2})?\})"
_WORD = rf"(?:{_ATOM}(?:\{{[0-9]\}})?)*{_ATOM}{_TIMES}?"
PATTERN = re.compile(rf"(?:\(\?u\))?(?:{_WORD}|\\b{_WORD}(?:\\b)?)")


def is_quick(pattern: Any) -> bool:
    """Whether a regular expression is of the form that no text can make slow."""
    if type(pattern) is not str or len(pattern) > 64 or not PATTERN.fullmatch(pattern):
        return False
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def dtype_of(text: str, allowed: re.Pattern[str]) -> np.dtype:
    """The NumPy type of a name that matches `allowed`."""
    if not allowed.fullmatch(text):
        raise ModelFileError(f"it holds data of the unknown type {text[:40]!r}")
    dtype: np.dtype = parsed(np.dtype, text)
    return dtype


def shape_of(tree: dict[str, Any]) -> tuple[int, ...]:
    """The shape of an array of labels or a sparse matrix."""
    shape = get(tree, "shape", list)
    if len(shape) > 32 or not all(type(k) is int and 0 <= k < 1 << 48 for k in shape):
        raise ModelFileError("it holds an array of impossible shape")
    return tuple(shape)


def checked_bool(array: np.ndarray) -> np.ndarray:
    """The array; truth values must be 0 or 1."""
    if array.dtype == np.bool_ and array.view(np.uint8).max(initial=0) > 1:
        raise ModelFileError("it holds truth values that are neither true nor false")
    return array


def reinterpreted(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Ticks as dates; characters along the last axis as text."""
    if dtype.kind in "Mm":
        if array.dtype != np.int64:
            raise ModelFileError("it holds dates of the wrong type")
        return array.view(dtype)
    unit = np.dtype("<u4") if dtype.kind == "U" else np.dtype("u1")
    width = dtype.itemsize // unit.itemsize
    if array.dtype != unit or not array.ndim or not width or array.shape[-1] != width:
        raise ModelFileError("it holds text of the wrong type")
    if dtype.kind == "U" and array.max(initial=0) > 0x10FFFF:
        raise ModelFileError("it holds text with impossible characters")
    return array.view(dtype)[..., 0] if array.size else np.empty(array.shape[:-1], dtype)


def is_simple(value: Any) -> bool:
    """True for what a label may be."""
    return value is None or isinstance(
        value, bool | int | float | str | bytes | np.generic | datetime.date
    )


def is_key(value: Any) -> bool:
    """True for what a dictionary's key may be: simple values and tuples of them."""
    return all(map(is_key, value)) if type(value) is tuple else is_simple(value)


def valid_csr(data: Any, indices: Any, indptr: Any, shape: tuple[int, ...]) -> bool:
    """True if the parts of a sparse matrix fit together, so that its loops stay in bounds."""
    arrays = all(type(part) is np.ndarray and part.ndim == 1 for part in (data, indices, indptr))
    if not arrays or len(shape) != 2 or data.dtype.kind not in "biuf":
        return False
    if not {indices.dtype, indptr.dtype} <= {np.dtype("<i4"), np.dtype("<i8")}:
        return False
    if len(indptr) != shape[0] + 1 or len(data) != len(indices) or indptr[0] != 0:
        return False
    inside = not len(indices) or (indices.min() >= 0 and indices.max() < shape[1])
    return bool(inside and indptr[-1] == len(data) and (indptr[1:] >= indptr[:-1]).all())


def valid_numbers(parts: tuple[Any, ...], shape: tuple[int, ...]) -> bool:
    """True if (data, indices, indptr) are a sparse matrix of finite float64."""
    if len(parts) != 3 or not valid_csr(*parts, shape):
        return False
    return bool(parts[0].dtype == np.float64 and np.isfinite(parts[0]).all())
