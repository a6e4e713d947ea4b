"""From a user's table to a `Problem`: schema, the one rule for categories and missing values."""

from pellucid.data.problem import InputSpec, Problem, prepare
from pellucid.data.schema import Schema
from pellucid.data.table import Table
from pellucid.data.text import Text

__all__ = ["InputSpec", "Problem", "Schema", "Table", "Text", "prepare"]
