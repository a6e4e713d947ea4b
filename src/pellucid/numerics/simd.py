"""Compiled loops that are built twice, plainly and with four lanes (AVX2): which one runs here.

Invariant: both builds give equal bits, so the choice is only a matter of speed.
"""

from importlib import import_module
from types import ModuleType

from pellucid.numerics._loops import cpu_has_avx2


def builds(plain: ModuleType) -> list[ModuleType]:
    """The builds of a module that this machine can run, the plain one first."""
    return [plain, import_module(f"{plain.__name__}_avx2")] if cpu_has_avx2() else [plain]


def fastest(plain: ModuleType) -> ModuleType:
    """The build to use."""
    return builds(plain)[-1]
