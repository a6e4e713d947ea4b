"""`Transformer`: models that turn tables into other tables."""

from typing import Any, Self

import numpy as np

from pellucid import _sklearn
from pellucid.base import Estimator
from pellucid.data.opening import opened
from pellucid.data.to_frame import check_same_names, to_frame
from pellucid.errors import DataError


class Transformer(Estimator):
    """Turns tables into other tables with `_transform`; supports `set_output`."""

    _transforms = True

    def _transform(self, X: Any) -> np.ndarray:
        """The transformed encoded rows."""
        raise NotImplementedError

    def transform(self, X: Any) -> Any:
        """The transformed table, in the container chosen with `set_output`."""
        return self._wrap(self._answer(self._transform, X, direct=True), X)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, then transform the same table."""
        X, y = opened(X, y)
        return self.fit(X, y, **fit_params).transform(X)

    def _names_out(self) -> list[str]:
        return [f"{type(self).__name__.lower()}{k}" for k in range(self._n_features_out)]

    @property
    def _n_features_out(self) -> int:
        raise NotImplementedError

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the transformed columns."""
        self._check_fitted()
        if input_features is not None:
            check_same_names(np.asarray(input_features, dtype=object), self.schema_)
        return np.array(self._names_out(), dtype=object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Container of the output of `transform`: "default", "pandas" or "polars"."""
        if transform not in (None, "default", "pandas", "polars"):
            raise DataError(
                f"output config must be in ['default', 'pandas', 'polars'], got {transform!r}"
            )
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def _wrap(self, values: np.ndarray, X: Any) -> Any:
        own = self.__dict__.get("_sklearn_output_config", {}).get("transform")
        wanted = own or _sklearn.config("transform_output") or "default"
        if wanted == "default":
            return values
        return to_frame(values, self.get_feature_names_out(), X, wanted)
