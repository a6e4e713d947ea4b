"""The only door to scikit-learn. Everything here is lazy: importing Pellucid never imports it.

Errors and warnings are Pellucid's own; once the user's program has loaded scikit-learn, they are
also instances of scikit-learn's, so that code written for it catches them.
"""

import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

_TWINS = {"NotFittedError", "ConvergenceWarning", "DataConversionWarning"}


def _back(ours: type, args: tuple[Any, ...]) -> Any:
    return ours(*args)


@cache
def _twin(ours: type) -> type:
    theirs = getattr(sys.modules["sklearn.exceptions"], ours.__name__)
    # Pickled as ours: the twin exists only in this process.
    body = {
        "__reduce__": lambda self: (_back, (ours, self.args)),
        "__module__": ours.__module__,
        "__doc__": ours.__doc__,
    }
    return type(ours.__name__, (ours, theirs), body)


def as_theirs(ours: type) -> Any:
    """`ours`, or its twin that is scikit-learn's class too if scikit-learn is loaded."""
    if ours.__name__ in _TWINS and "sklearn.exceptions" in sys.modules:
        return _twin(ours)
    return ours


def config(name: str) -> Any:
    """One of scikit-learn's global settings, None while it is not loaded."""
    sklearn = sys.modules.get("sklearn")
    return sklearn.get_config().get(name) if sklearn is not None else None


def tags(facts: dict[str, Any]) -> Any:
    """A `sklearn.utils.Tags` from our plain facts."""
    from sklearn.utils import (
        ClassifierTags,
        InputTags,
        RegressorTags,
        Tags,
        TargetTags,
        TransformerTags,
    )

    kind = facts["kind"]
    regressor = RegressorTags(poor_score=facts["poor_score"])
    transformer = TransformerTags(preserves_dtype=["float64"])
    return Tags(
        estimator_type=kind,
        target_tags=TargetTags(
            required=kind in ("classifier", "regressor"),
            single_output=True,
            multi_output=facts["several_targets"],
            positive_only=facts["positive_target"],
        ),
        classifier_tags=ClassifierTags(
            multi_class=facts["multi_class"], poor_score=facts["poor_score"]
        )
        if kind == "classifier"
        else None,
        regressor_tags=regressor if kind == "regressor" else None,
        transformer_tags=transformer if facts["transforms"] else None,
        input_tags=InputTags(
            sparse=facts["sparse"], allow_nan=True, positive_only=facts["positive_only"],
            pairwise=facts["pairwise"],  # `categorical` would make scikit-learn's checks easier
        ),
        non_deterministic=False,
    )  # fmt: skip


def metadata_request(owner: Any, requests: dict[str, dict[str, Any]]) -> Any:
    """A `MetadataRequest` holding {method: {parameter: alias}}."""
    from sklearn.utils.metadata_routing import MetadataRequest

    request = MetadataRequest(owner=owner)
    for method, params in requests.items():
        for param, alias in params.items():
            getattr(request, method).add_request(param=param, alias=alias)
    return request


def _with_params(model: Any, params: Mapping[str, Any]) -> Any:
    """The model with those parameters that it has."""
    return model.set_params(**{k: v for k, v in params.items() if k in model.get_params()})


def fitted_tree(
    name: str, params: Mapping[str, Any], nodes: Mapping[str, np.ndarray], values: np.ndarray,
    depth: int, learned: Mapping[str, Any],
) -> Any:  # fmt: skip
    """A fitted tree of the class `name`. nodes: arrays by scikit-learn's names; values: (nodes, targets,
    classes); learned: attributes of the estimator."""
    import sklearn.tree
    from sklearn.tree._tree import NODE_DTYPE, Tree

    model = _with_params(getattr(sklearn.tree, name)(), params)
    records = np.zeros(len(values), dtype=NODE_DTYPE)
    for field, array in nodes.items():
        records[field] = array
    n_targets, n_classes = values.shape[1:]
    counts = np.full(n_targets, n_classes, dtype=np.intp)
    model.tree_ = Tree(learned["n_features_in_"], counts, n_targets)
    state = {"max_depth": depth, "node_count": len(values), "nodes": records}
    model.tree_.__setstate__(state | {"values": np.ascontiguousarray(values)})
    vars(model).update(learned)
    return model


def fitted_forest(
    name: str, params: Mapping[str, Any], trees: list[tuple[Any, ...]], learned: Mapping[str, Any]
) -> Any:
    """A fitted forest of the class `name`; trees: (nodes, values, depth, learned) of `fitted_tree`."""
    import sklearn.ensemble

    model = _with_params(getattr(sklearn.ensemble, name)(), params)
    model.estimator_ = _with_params(clone(model.estimator), params)
    member = type(model.estimator_).__name__
    model.estimators_ = [fitted_tree(member, params, *tree) for tree in trees]
    vars(model).update(learned)
    return model


def splitter_router(owner: Any, own: Any, cv: Any) -> Any:
    """A `MetadataRouter` that also passes arguments of `fit` on to the splitter."""
    from sklearn.model_selection import check_cv
    from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

    mapping = MethodMapping().add(caller="fit", callee="split")
    router = MetadataRouter(owner=owner).add_self_request(own)
    return router.add(splitter=check_cv(cv), method_mapping=mapping)


def base_router(owner: Any, own: Any, base: Any) -> Any:
    """A `MetadataRouter` to a base estimator that says whether it wants weights; otherwise `own`."""
    from sklearn.utils.metadata_routing import (
        MetadataRequest,
        MetadataRouter,
        MethodMapping,
        get_routing_for_object,
    )

    asked = get_routing_for_object(base)
    if isinstance(asked, MetadataRequest) and asked.fit.requests.get("sample_weight") is None:
        return own
    mapping = MethodMapping().add(caller="fit", callee="fit")
    return MetadataRouter(owner=owner).add(estimator=base, method_mapping=mapping)


def split_arguments(owner: Any, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `fit` that the splitter of `owner` gets."""
    from sklearn.utils.metadata_routing import process_routing

    return dict(process_routing(owner, "fit", **given).splitter.split)


def english_stop_words() -> frozenset[str]:
    """scikit-learn's list of English stop words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    return ENGLISH_STOP_WORDS


def scorer(name: str) -> Any:
    """A scikit-learn scorer by name."""
    from sklearn.metrics import get_scorer

    return get_scorer(name)


def clone(value: Any) -> Any:
    """scikit-learn's clone, for foreign estimators."""
    from sklearn.base import clone as sklearn_clone

    return sklearn_clone(value, safe=False)


def datasets() -> Any:
    """The module `sklearn.datasets`."""
    import sklearn.datasets

    return sklearn.datasets


def data_file(name: str) -> Path | None:
    """A file of scikit-learn's data sets, found without importing it; None if it lies elsewhere."""
    found = find_spec("sklearn")
    for place in (found.submodule_search_locations or []) if found else []:
        path = Path(place, "datasets", "data", name)
        if path.is_file():
            return path
    return None
