"""A fitted model in plain data: its parameters, weights, importances, path of the solver."""

from __future__ import annotations

from typing import Any


def portrait(bench: Any, fitted: Any, job: Any) -> dict[str, Any]:
    """What a fitted model shows of itself."""
    return {}
