"""Columns whose inner products are nearly those of a kernel."""

from pellucid.kernel_approximation.nystroem import Nystroem

__all__ = ["Nystroem"]
