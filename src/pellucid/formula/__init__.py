"""Formulas: `pellucid.formula.ols("tip ~ total_bill + C(day)", table)` (extra `[formula]`).

The package formulaic turns a formula into columns; the models are those of `linear_model`. The
modules: `columns` (from a table to columns), `fitting`, `model` (the fitted model), `design` (the
specification that makes the columns of new rows, and its form in a model file), `language` (the
expressions that a model file may contain).
"""

from pellucid.formula.fitting import glm, ols
from pellucid.formula.model import FormulaModel

__all__ = ["FormulaModel", "glm", "ols"]
