"""Declarations that many classes share, and the texts of attributes that many classes learn."""

from pellucid.parameters.constraints import (
    Array,
    Boolean,
    ClassWeight,
    Ignored,
    Jobs,
    RandomState,
    Real,
    TableOptions,
    Verbose,
)
from pellucid.parameters.declarations import param

CLASS_WEIGHT = param(
    None,
    ClassWeight,
    "Factors for the weights of the rows by class. 'balanced' gives every class the same total "
    "weight. A class with factor 0 is left out of the fit and is predicted with probability 0.",
)
COPY_X = param(True, Ignored("X is never changed.", Boolean))
FIT_INTERCEPT = param(
    True,
    Boolean,
    "Whether to fit an intercept. Without one, a row of zeros has the linear predictor 0.",
)
N_JOBS = param(
    None,
    Jobs,
    "Number of threads; -1 uses all CPUs, None the number of `pellucid.set_threads`. "
    "The results do not depend on it.",
)
NO_RANDOM_STATE = param(None, Ignored("no solver of this model draws random numbers.", RandomState))
PRIORS = param(
    None,
    None | Array,
    "Prior probabilities of the classes, in the order of `classes_`. None uses the shares of the "
    "classes in the training rows.",
)
RANDOM_STATE = param(
    None, RandomState, "Seed or generator of the random numbers. An int makes fits repeatable."
)
STANDARDIZE = param(
    False,
    Boolean,
    "Penalise the coefficients of numeric columns as if these were divided by their standard "
    "deviations; columns of categories stay 0 and 1. `coef_` is reported on the original scale.",
    last=True,
)
STEP = param(
    None,
    None | Real(0, None, "neither"),
    "Step size of the solver 'gd' along the gradient of the mean objective. None takes a step that "
    "cannot overshoot.",
    last=True,
)
TABLE = param(
    None,
    TableOptions,
    "How a table becomes numbers: kinds of columns, missing values, rare levels. None uses the "
    "default rules.",
    last=True,
)
VERBOSE = param(0, Ignored("nothing is printed; use `pellucid.watching` to follow a fit.", Verbose))
WARM_START = param(
    False, Boolean, "Whether to start from the result of the last fit instead of from scratch."
)

CLASSES = "Class labels in sorted order."
HISTORY = (
    "Diagnostics by iteration, as a dict of arrays of equal length: 'iteration', 'objective' and "
    "those of the solver."
)
N_ITER = "Number of iterations of the solver."
STATUS = "How the solver ended, with advice if it did not converge."
