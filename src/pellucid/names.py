"""The only list of public classes: lazy imports, model files, the contract suite and compare read it.

A family joins Pellucid by adding its names here.
"""

ESTIMATORS: dict[str, tuple[str, ...]] = {
}

# Frozen dataclasses that may occur inside a fitted model, and so inside a model file.
RECORDS: dict[str, tuple[str, ...]] = {
    "records": ("Status",),
}
