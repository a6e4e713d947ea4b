"""Parameters of estimators: one declaration each, from which constructor, checks and help are made.

`constraints` defines which values are accepted, `declarations` how a class declares its parameters and
learned attributes, `constructors` and `descriptions` make `__init__` and the docstring from them,
`shared` holds the declarations that many classes have in common.
"""

from pellucid.parameters import shared
from pellucid.parameters.constraints import (
    Array,
    Boolean,
    Choice,
    ClassWeight,
    Constraint,
    EstimatorInstance,
    Function,
    Ignored,
    Integer,
    Jobs,
    Predicate,
    RandomState,
    Real,
    TableOptions,
    Verbose,
    check,
    check_again,
    number_list,
)
from pellucid.parameters.constructors import Constructor, Docstring
from pellucid.parameters.declarations import (
    REQUIRED,
    Attribute,
    Parameter,
    accepted_of,
    attributes_of,
    changed,
    checks_of,
    learned,
    param,
    parameters_of,
    positional,
    take_declarations,
)

__all__ = [
    "REQUIRED",
    "Array",
    "Attribute",
    "Boolean",
    "Choice",
    "ClassWeight",
    "Constraint",
    "Constructor",
    "Docstring",
    "EstimatorInstance",
    "Function",
    "Ignored",
    "Integer",
    "Jobs",
    "Parameter",
    "Predicate",
    "RandomState",
    "Real",
    "TableOptions",
    "Verbose",
    "accepted_of",
    "attributes_of",
    "changed",
    "check",
    "check_again",
    "checks_of",
    "learned",
    "number_list",
    "param",
    "parameters_of",
    "positional",
    "shared",
    "take_declarations",
]
