"""Decision trees, grown exactly, with categories as sets and missing values."""

from pellucid.tree.decision_tree import DecisionTreeClassifier
from pellucid.tree.export import export_text

__all__ = ["DecisionTreeClassifier", "export_text"]
