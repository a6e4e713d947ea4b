"""The specification that makes the columns of new rows: formulaic's object, or plain data.

Invariant: the plain form is data only, every expression in it belongs to the `language` that a file
may contain, and the specification restored from it gives the same columns as the original.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pellucid.errors import CannotSaveError, DataError, ModelFileError, PellucidError
from pellucid.formula.language import UnsafeExpression, columns_of, width_of

MAX_LEVELS = 10_000  # of one column: contrasts are a square matrix of that size
MAX_COLUMNS = 100_000  # of one term
METHODS = ("literal", "lookup", "python")
KINDS = ("categorical", "constant", "numerical", "unknown")
_ADVICE = (
    "A model file contains only data, so that loading it can never run code. Compute this column in "
    "the table before the fit."
)


class Design:
    """Both sides of a formula; `Design(left, right)` takes their plain forms.

    A side is a dict: `terms` (factors, scoped terms and columns of each term), `levels` (kind and
    categories of each factor), `states` (of the transforms, such as the mean that `center`
    subtracts).
    """

    def __init__(self, left: dict[str, Any], right: dict[str, Any]) -> None:
        for side in (left, right):
            _check_side(side)
        self._plain = {"left": left, "right": right}
        self._spec: Any = None

    @classmethod
    def of(cls, spec: Any) -> Design:
        """The design of a specification of formulaic."""
        design = cls.__new__(cls)
        design._plain, design._spec = {}, spec
        return design

    @property
    def spec(self) -> Any:
        """formulaic's specification: `spec.lhs` and `spec.rhs`."""
        if self._spec is None:
            try:
                from formulaic.model_spec import ModelSpecs
            except ImportError:
                need = "Formulas need formulaic: pip install 'pellucid[formula]'."
                raise PellucidError(need) from None
            left, right = _side(self._plain["left"]), _side(self._plain["right"])
            self._spec = ModelSpecs(lhs=left, rhs=right)
        return self._spec

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        """The plain forms of both sides, as stored in a model file."""
        if not self._plain:
            self._plain = {"left": _plain(self._spec.lhs), "right": _plain(self._spec.rhs)}
        return dict(self._plain)

    @property
    def terms(self) -> list[tuple[bool, list[str]]]:
        """For each term of the right side: whether it is the constant, and its columns' names."""
        if self._spec is None:
            right = self._plain["right"]["terms"]
            terms = [([f[:2] for f in factors], [*names]) for factors, _, names in right]
        else:
            parts = self._spec.rhs.structure
            terms = [
                ([(f.expr, f.eval_method.value) for f in part.term.factors], [*part.columns])
                for part in parts
            ]
        return [(factors == [("1", "literal")], names) for factors, names in terms]

    @property
    def has_constant(self) -> bool:
        """Whether the constant 1 is a term of the right side."""
        return any(constant for constant, _ in self.terms)

    @property
    def constant_alone(self) -> bool:
        """Whether the constant 1 is the only term of the right side."""
        return [constant for constant, _ in self.terms] == [True]

    @property
    def columns(self) -> list[str]:
        """The columns of the model: without the constant, unless it is the only term."""
        kept = self.terms if self.constant_alone else [t for t in self.terms if not t[0]]
        return [name for _, names in kept for name in names]

    def without_constant(self, matrix: Any) -> Any:
        """The columns of the right side without the constant, which is kept if it is the only one."""
        if not self.has_constant or self.constant_alone:
            return matrix.astype(float)
        if sum("Intercept" in names for _, names in self.terms) > 1:
            raise DataError(
                "The table has a column named 'Intercept', like the formula's constant. Rename it, or "
                "leave the constant out (0 + ...)."
            )
        return matrix.drop(columns="Intercept").astype(float)


# --- from a specification to plain data


def _plain(spec: Any) -> dict[str, Any]:
    terms = tuple(
        (
            tuple((f.expr, f.eval_method.value, f.kind.value) for f in part.term.factors),
            tuple(
                (tuple((s.factor.expr, bool(s.reduced)) for s in scoped.factors), scoped.scale)
                for scoped in part.scoped_terms
            ),
            tuple(map(str, part.columns)),
        )
        for part in spec.structure
    )
    for text, method, _ in {factor for term in terms for factor in term[0]}:
        try:
            _columns_used(text, method)
        except UnsafeExpression as error:
            raise CannotSaveError(
                f"Cannot save this formula model: {str(error)!r} is not among the expressions that a "
                f"model file may contain. {_ADVICE}"
            ) from None
    for name, state in spec.transform_state.items():
        if not _is_state(state):
            raise CannotSaveError(
                f"Cannot save this formula model: the fitted state of {name!r} is not plain numbers. "
                f"{_ADVICE}"
            )
    levels = {name: _levels(name, *state) for name, state in spec.encoder_state.items()}
    side = {"terms": terms, "levels": levels, "states": dict(spec.transform_state)}
    try:
        _check_side(side)  # `load` checks this too: fail before writing
    except ModelFileError as error:
        raise CannotSaveError(f"Cannot save this formula model: {error}.") from None
    return side


def _levels(name: str, kind: Any, state: dict[str, Any]) -> tuple[str, tuple[Any, ...] | None]:
    rest = state.keys() - {"categories", "contrasts"}
    levels = state.get("categories")
    if rest or not (levels is None or all(map(_is_level, levels))):
        raise CannotSaveError(
            f"Cannot save this formula model: the levels of {name!r} are not strings, numbers or "
            f"booleans. {_ADVICE}"
        )
    if levels is not None and len(levels) > MAX_LEVELS:
        raise CannotSaveError(
            f"Cannot save this formula model: {name!r} has {len(levels)} levels, but a model file can "
            f"contain at most {MAX_LEVELS} per column."
        )
    return kind.value, None if levels is None else tuple(levels)


# --- from plain data to a specification


def _side(plain: dict[str, Any]) -> Any:
    from formulaic import ModelSpec
    from formulaic.formula import SimpleFormula
    from formulaic.materializers.base import EncodedTermStructure
    from formulaic.parser.types import Factor, Term

    structure = []
    for factors, scoped, columns in plain["terms"]:
        made = {f[0]: Factor(f[0], eval_method=f[1], kind=f[2]) for f in factors}
        terms = [_scoped(parts, scale, made) for parts, scale in scoped]
        structure.append(EncodedTermStructure(Term(made.values()), terms, list(columns)))
    return ModelSpec(
        formula=SimpleFormula([part.term for part in structure], _ordering="none"),
        materializer="pandas",
        output="pandas",
        structure=structure,
        transform_state=dict(plain["states"]),
        encoder_state={
            name: (Factor.Kind(kind), {} if levels is None else {"categories": list(levels)})
            for name, (kind, levels) in plain["levels"].items()
        },
    )


def _scoped(parts: Any, scale: Any, made: dict[str, Any]) -> Any:
    from formulaic.materializers.types import EvaluatedFactor, ScopedFactor, ScopedTerm
    from formulaic.utils.variables import Variable

    factors = []
    for text, reduced in parts:
        read = _columns_used(text, made[text].eval_method.value)
        variables = {Variable(name, roles=("value",), source="data") for name in read}
        evaluated = EvaluatedFactor(made[text], values=None, variables=variables)
        factors.append(ScopedFactor(evaluated, reduced=reduced))
    return ScopedTerm(factors, scale=scale)


# --- checks of the contents of a file


def _columns_used(text: str, method: str) -> tuple[str, ...]:
    """The columns that a factor uses."""
    if method == "lookup":
        return (text,)
    if method == "literal":
        if not _is_literal(text):
            raise UnsafeExpression(text[:80])
        return ()
    return columns_of(text)


def _is_literal(text: str) -> bool:
    try:
        return len(text) < 50 and math.isfinite(float(text))
    except ValueError:
        return False


def _is_number(value: Any) -> bool:
    return type(value) in (bool, int, float) or isinstance(
        value, np.bool_ | np.integer | np.floating
    )


def _is_level(value: Any) -> bool:
    return type(value) is str or _is_number(value)


def _is_state(value: Any, depth: int = 0) -> bool:
    """Whether a value is a number, a string, an array of numbers, or a list or dict of these."""
    if value is None or _is_level(value):
        return True
    if type(value) is np.ndarray:
        return value.dtype.kind in "fiub" and value.size <= MAX_COLUMNS
    if type(value) is dict:
        return depth < 4 and all(
            type(key) in (str, int) and _is_state(item, depth + 1) for key, item in value.items()
        )
    return (
        type(value) in (list, tuple) and depth < 4 and all(_is_state(v, depth + 1) for v in value)
    )


def _check_side(side: Any) -> None:
    """Check that terms, levels and states fit each other, and that all expressions are safe."""
    if type(side) is not dict or set(side) != {"terms", "levels", "states"}:
        raise ModelFileError("its formula lacks a side")
    levels, states = side["levels"], side["states"]
    if type(levels) is not dict or type(states) is not dict or type(side["terms"]) is not tuple:
        raise ModelFileError("one side of its formula has no valid terms")
    for name, entry in levels.items():
        if not (type(name) is str and type(entry) is tuple and len(entry) == 2):
            raise ModelFileError("its formula has levels without a column name")
        kind, own = entry
        known = own is None or (
            type(own) is tuple and len(own) <= MAX_LEVELS and all(map(_is_level, own))
        )
        if kind not in KINDS or not known or (own is not None and len(set(own)) < len(own)):
            raise ModelFileError("its formula has invalid levels")
    if not all(type(s) is dict and _is_state(s) for s in states.values()):
        raise ModelFileError("its formula has a fitted state that is not plain numbers")
    if not side["terms"]:
        raise ModelFileError("one side of its formula has no terms")
    for term in side["terms"]:
        _check_term(term, levels)


def _check_term(term: Any, levels: dict[str, Any]) -> None:
    if type(term) is not tuple or [type(part) for part in term] != [tuple] * 3:
        raise ModelFileError("its formula has an incomplete term")
    factors, scoped, columns = term
    if not all(type(f) is tuple and [type(part) for part in f] == [str] * 3 for f in factors):
        raise ModelFileError("its formula has a term with invalid factors")
    sizes = {}
    for text, method, kind in factors:
        if method not in METHODS or kind not in KINDS:
            raise ModelFileError("its formula has a factor of an unknown kind")
        try:
            _columns_used(text, method)
        except UnsafeExpression:
            raise ModelFileError(
                f"its formula has {text[:80]!r}, which a model file may not contain"
            ) from None
        own = levels.get(text, (kind, None))[1]
        sizes[text] = max(len(own or ()), width_of(text) if method == "python" else 1)
    for part in scoped:
        if type(part) is not tuple or len(part) != 2 or not _is_number(part[1]):
            raise ModelFileError("its formula has a term that is not scaled by a number")
        pairs = part[0]
        fits = type(pairs) is tuple and all(
            type(pair) is tuple and len(pair) == 2 and type(pair[1]) is bool for pair in pairs
        )
        if not fits or not all(type(t) is str and t in sizes for t, _ in pairs):
            raise ModelFileError("its formula has a term that refers to factors of another term")
        if math.prod(sizes[text] for text, _ in pairs) > MAX_COLUMNS:
            raise ModelFileError("its formula has a term with too many columns")
    if not all(type(name) is str for name in columns) or len(columns) > MAX_COLUMNS:
        raise ModelFileError("its formula has columns without names")
