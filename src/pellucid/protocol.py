"""scikit-learn's estimator protocol, written out so that scikit-learn need not be imported.

Parameters (`get_params`, `set_params`, clone, repr), tags, metadata routing, fittedness. Nothing
here depends on data or models.
"""

import copy
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, dataclass_transform

from pellucid import _sklearn, parameters
from pellucid.errors import NotFittedError, ParameterError

_ROUTED = (
    "fit", "partial_fit", "predict", "predict_proba", "predict_log_proba", "decision_function",
    "score", "transform", "inverse_transform",
)  # fmt: skip
_NOT_ROUTED = ("self", "X", "y")


_SIGNATURES: dict[Any, dict[str, inspect.Parameter]] = {}


def signature(cls: Any) -> dict[str, inspect.Parameter]:
    """Constructor parameters of a class, in order."""
    if cls not in _SIGNATURES:
        params = inspect.signature(cls.__init__).parameters
        _SIGNATURES[cls] = {name: p for name, p in params.items() if name != "self"}
    return _SIGNATURES[cls]


_Method = TypeVar("_Method", bound=Callable[..., Any])


class _ConditionalMethod:
    """The descriptor behind `available_if`."""

    def __init__(
        self, method: Callable[..., Any], needs: str | Callable[[Any], bool], reason: str
    ) -> None:
        self.method, self.needs, self.reason = method, needs, reason
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        model = owner if instance is None else instance
        if isinstance(self.needs, str):
            available = hasattr(model, self.needs)
        else:
            available = instance is None or self.needs(instance)
        if not available:
            name, reason = self.method.__name__, self.reason
            if isinstance(self.needs, str):  # the method that is missing may say why
                reason = getattr(inspect.getattr_static(owner, self.needs, self), "reason", reason)
            text = f"{getattr(owner, '__name__', owner)} has no {name}. {reason}"
            raise AttributeError(text, name=name, obj=model)
        return self.method if instance is None else self.method.__get__(instance, owner)


def available_if(
    needs: str | Callable[[Any], bool], reason: str = ""
) -> Callable[[_Method], _Method]:
    """A method that an object has only on a condition; otherwise access is an `AttributeError`.

    needs : the name of another method that the class or the object must have, or a function of the
        object (the class itself then always has the method). reason : a sentence for the error.
    """
    return lambda method: _ConditionalMethod(method, needs, reason)  # type: ignore[return-value]


def always_has(model: Any, name: str) -> bool:
    """Whether the class of the model has the method `name` on no condition."""
    return inspect.isfunction(inspect.getattr_static(type(model), name, None))


class _SetRequest:
    """Methods such as `set_fit_request(sample_weight=True)`."""

    def __init__(self, method: str, names: tuple[str, ...]) -> None:
        self.method, self.names = method, names

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self

        def set_request(**kwargs: Any) -> Any:
            unknown = sorted(set(kwargs) - set(self.names))
            if unknown:
                raise TypeError(
                    f"Unexpected args: {set(unknown)}. Accepted arguments are: {set(self.names)}"
                )
            if not _sklearn.config("enable_metadata_routing"):
                raise RuntimeError(
                    "This method is only available when metadata routing is enabled. You can "
                    "enable it using sklearn.set_config(enable_metadata_routing=True)."
                )
            requests = copy.deepcopy(instance.__dict__.get("_requests", {}))
            given = {name: value for name, value in kwargs.items() if value != "$UNCHANGED$"}
            requests.setdefault(self.method, {}).update(given)
            instance._requests = requests
            return instance

        set_request.__name__ = f"set_{self.method}_request"
        parameters_ = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default="$UNCHANGED$")
                       for n in self.names]  # fmt: skip
        set_request.__signature__ = inspect.Signature(parameters_)  # type: ignore[attr-defined]
        return set_request


@dataclass_transform(
    eq_default=False,
    kw_only_default=True,
    field_specifiers=(parameters.positional, parameters.learned),
)
class SklearnEstimator:
    """What scikit-learn expects of any estimator.

    Subclasses declare their parameters and learned attributes, see `pellucid.parameters`; the
    constructor and the sections of the docstring are made from the declarations.
    """

    _declared: ClassVar[dict[str, Any]] = {}
    # Arguments a class needs to pass generic checks on tiny data; the reason stands beside them.
    _check_params: ClassVar[dict[str, Any]] = {}
    # Facts for the tags.
    _kind: ClassVar[str | None] = None
    _transforms: ClassVar[bool] = False
    _several_targets: ClassVar[bool] = False
    _positive_only: ClassVar[bool] = False
    _multi_class: ClassVar[bool] = True
    _poor_score: ClassVar[bool] = False
    if TYPE_CHECKING:  # facts that may depend on parameters: a class attribute or a property

        @property
        def _positive_target(self) -> bool: ...
        @property
        def _pairwise(self) -> bool: ...
        @property
        def _takes_sparse(self) -> bool: ...
    else:
        _positive_target, _pairwise, _takes_sparse = False, False, True

    def __init_subclass__(cls, task: bool = False, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._declare()
        if task:  # its subclasses may take other arguments
            return
        for method in _ROUTED:
            function = getattr(cls, method, None)
            if function is None or not callable(function):
                continue
            routed = tuple(
                name for name, p in inspect.signature(function).parameters.items()
                if name not in _NOT_ROUTED and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
            )  # fmt: skip
            if routed:
                setattr(cls, f"set_{method}_request", _SetRequest(method, routed))

    # Parameters -------------------------------------------------------------------------------

    @classmethod
    def _declare(cls) -> None:
        """Make the constructor and the docstring, unless the class writes its own constructor."""
        cls._declared = parameters.take_declarations(cls)
        if "__init__" in vars(cls):
            return
        if cls._declared:
            cls.__init__ = parameters.Constructor(cls)  # type: ignore[assignment]
        if cls.__doc__:
            cls.__doc__ = parameters.Docstring(cls.__doc__)  # type: ignore[assignment]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; with `deep`, those of nested objects as `name__parameter`."""
        out: dict[str, Any] = {}
        for name in sorted(signature(type(self))):
            value = getattr(self, name)
            out[name] = value
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                out.update({f"{name}__{k}": v for k, v in value.get_params().items()})
        return out

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name, nested ones as `name__parameter`."""
        nested: dict[str, dict[str, Any]] = {}
        valid = sorted(signature(type(self)))
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in valid:
                raise ParameterError(
                    f"Invalid parameter {name!r} for estimator {self}. "
                    f"Valid parameters are: {valid!r}."
                )
            if rest:
                nested.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, inner in nested.items():
            target = getattr(self, name)
            if target is None and name == "table":
                from pellucid.data import Table

                self.table = target = Table()
            target.set_params(**inner)
        return self

    def _check_parameters(self) -> None:
        cls: Any = type(self)
        table, accepted = parameters.checks_of(cls), parameters.accepted_of(cls)
        parameters.check_again(cls.__name__, vars(self), table, accepted)

    def __repr__(self) -> str:
        default = {name: p.default for name, p in signature(type(self)).items()}
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name in default
            if repr(getattr(self, name, None)) != repr(default[name])
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_clone__(self) -> Any:
        params = {name: copied(value) for name, value in self.get_params(deep=False).items()}
        twin = type(self)(**params)
        for name in ("_requests", "_sklearn_output_config"):
            if name in self.__dict__:
                setattr(twin, name, copy.deepcopy(self.__dict__[name]))
        return twin

    # Tags, routing, fittedness ------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        facts = {
            "kind": self._kind, "transforms": self._transforms, "sparse": self._takes_sparse,
            "several_targets": self._several_targets, "positive_target": self._positive_target,
            "positive_only": self._positive_only, "multi_class": self._multi_class,
            "pairwise": self._pairwise, "poor_score": self._poor_score,
        }  # fmt: skip
        return _sklearn.tags(facts)

    def get_metadata_routing(self) -> Any:
        """The metadata that each method requests."""
        return self._requested()

    def _requested(self) -> Any:
        requests: dict[str, dict[str, Any]] = {}
        for method in _ROUTED:
            setter = getattr(type(self), f"set_{method}_request", None)
            if isinstance(setter, _SetRequest):
                requests[method] = dict.fromkeys(setter.names)
        for method, given in self.__dict__.get("_requests", {}).items():
            requests.setdefault(method, {}).update(given)
        return _sklearn.metadata_request(self, requests)

    def _learned(self) -> dict[str, Any]:
        """Attributes set by fit: those that are declared. A subclass may set others before it."""
        cls: Any = type(self)
        declared = parameters.attributes_of(cls)
        return {k: v for k, v in vars(self).items() if k in declared}

    def _not_learned(self) -> dict[str, Any]:
        """All other attributes: parameters, and what a subclass sets before fit."""
        cls: Any = type(self)
        declared, own = parameters.attributes_of(cls), vars(self)
        if "_fit_report" not in own and own.keys().isdisjoint(declared):
            return own
        return {k: v for k, v in own.items() if k not in declared and k != "_fit_report"}

    def _check_fitted(self) -> None:
        if "n_features_in_" not in self.__dict__:
            raise _sklearn.as_theirs(NotFittedError)(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with "
                "appropriate arguments before using this estimator."
            )

    def __getattr__(self, name: str) -> Any:
        """Called for what is absent: without learned attributes, the model is not fitted, or another
        thread has begun to fit it again.
        """
        if name.endswith("_") and not name.startswith("_"):
            self._check_fitted()
        return object.__getattribute__(self, name)  # the error of a plain object, or of a property

    def __sklearn_is_fitted__(self) -> bool:
        return "n_features_in_" in self.__dict__


def copied(value: Any) -> Any:
    """A parameter for a clone: nested estimators are cloned, the rest copied."""
    if value is None or type(value) in (bool, int, float, str):  # most are, and ensembles copy many
        return value
    if hasattr(value, "__sklearn_clone__") and not isinstance(value, type):
        return value.__sklearn_clone__()
    if hasattr(value, "get_params") and hasattr(value, "fit") and not isinstance(value, type):
        return _sklearn.clone(value)
    if type(value) in (list, tuple):
        return type(value)(copied(v) for v in value)
    return copy.deepcopy(value)
