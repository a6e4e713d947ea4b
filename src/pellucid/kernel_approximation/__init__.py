"""Columns whose inner products approximate a kernel."""

from pellucid.kernel_approximation.nystroem import Nystroem

__all__ = ["Nystroem"]
