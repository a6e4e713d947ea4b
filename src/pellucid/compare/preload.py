"""What the fork server loads once for all children: the numerical packages and every family.

Importing this module is its whole purpose. A family that cannot be imported is passed over here:
the child that needs it reports the error as the reason of its own failure.
"""

import contextlib
import importlib

from pellucid.compare import bench, job, portrait  # noqa: F401
from pellucid.names import ESTIMATORS

PACKAGES = ("scipy.linalg", "scipy.special", "scipy.sparse", "threadpoolctl")

for name in (*PACKAGES, *ESTIMATORS):
    with contextlib.suppress(ImportError):
        module = importlib.import_module(name)
        for class_name in ESTIMATORS.get(name, ()):
            getattr(module, class_name)
