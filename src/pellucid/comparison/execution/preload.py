"""What the fork server loads once for all children; families come with the first order for one.

Importing this module is its whole purpose: a child that finds everything loaded begins its first
fit a few milliseconds after it was asked for. Something that cannot be imported is passed over here;
the child that needs it reports the error as the reason of its own failure.
"""

import importlib
import os
import pkgutil
import sys
from contextlib import suppress
from functools import cache

if "numpy" not in sys.modules:  # children compute on one thread: none need be made and forked
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
    """Import all modules of a package once, so that no fit pays for it."""
    with suppress(ImportError):
        package = importlib.import_module(name)
        for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
            with suppress(ImportError):
                importlib.import_module(found.name)


def load_all() -> None:
    """Import the numerical packages and all that families stand on; of families the baselines'.

    With all families the first row of the board would wait for them.
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
