"""Formulas: `pellucid.formula.ols("tip ~ total_bill + C(day)", table)` (extra `[formula]`).

A formula becomes columns by the package formulaic; the models are those of `linear_model`. The
parts: `columns` (of a table), `fitting`, `model` (what a fit gives), `design` (what makes columns
of new rows, and how a file holds it), `language` (the expressions that a file may hold).
"""

from pellucid.formula.fitting import glm, ols
from pellucid.formula.model import FormulaModel

__all__ = ["FormulaModel", "glm", "ols"]
