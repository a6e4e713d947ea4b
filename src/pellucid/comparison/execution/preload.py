"""Modules that the fork server imports once for all workers.

Importing this module has that effect, so that a new worker starts its first fit within milliseconds.
Packages of models are imported with the first task that needs them. A module that cannot be imported
is skipped here; the worker that needs it reports the error as the reason of its failure.
"""

import importlib
import os
import pkgutil
import sys
from contextlib import suppress
from functools import cache

if "numpy" not in sys.modules:  # workers use one BLAS thread each
    os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

PACKAGES = (
    "scipy.linalg", "scipy.special", "scipy.sparse", "threadpoolctl", "numpy.random",
    "numpy.lib.format", "zipfile",
)  # fmt: skip
OURS = (
    "pellucid.comparison", "pellucid.data", "pellucid.dummy", "pellucid.model_selection",
    "pellucid.numerics", "pellucid.parallel", "pellucid.records",
)  # fmt: skip


@cache
def load_package(name: str) -> None:
    """Import all modules of a package once, so that no fit has to wait for them."""
    with suppress(ImportError):
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
            if ".dask_" in found.name:  # no worker of a comparison reads from a cluster
                continue
            with suppress(ImportError):
                importlib.import_module(found.name)


def load_all() -> None:
    """Import the numerical packages, the shared packages of Pellucid and the baselines.

    Importing all models would delay the first result.
    """
    for name in PACKAGES:
        with suppress(ImportError):
            importlib.import_module(name)
    for name in OURS:
        load_package(name)
    from pellucid.parallel import one_blas_thread

    with one_blas_thread():  # finds the BLAS libraries once
        pass


load_all()
