"""Decision trees, grown exactly, with categories as sets and missing values."""

from pellucid.tree.decision_tree import DecisionTreeClassifier
from pellucid.tree.export import export_rules, export_svg, export_text
from pellucid.tree.regression_tree import DecisionTreeRegressor

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "export_rules",
    "export_svg",
    "export_text",
]
