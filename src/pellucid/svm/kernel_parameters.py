"""Parameters and learned attributes that SVC, SVR and OneClassSVM share."""

from pellucid.parameters import CLASS_WEIGHT as SHARED_CLASS_WEIGHT
from pellucid.parameters import (
    STANDARDIZE,
    VERBOSE,
    Boolean,
    Choice,
    Either,
    Function,
    Ignored,
    Integer,
    Nothing,
    Real,
    param,
)
from pellucid.svm import kernels

KERNEL = param(
    "rbf",
    Either(Choice(*kernels.NAMES), Function),
    "Kernel of two rows: 'linear' x'z, 'poly' (gamma x'z + coef0)**degree, 'rbf' "
    "exp(-gamma |x - z|**2), 'sigmoid' tanh(gamma x'z + coef0). With 'precomputed' X is the kernel "
    "matrix. A function gets two tables and returns the kernel of all pairs of their rows.",
)
DEGREE = param(3, Integer(0), "Degree of the kernel 'poly'.")
GAMMA = param(
    "scale",
    Either(Choice("scale", "auto"), Real(0, None, "neither")),
    "Factor gamma of the kernels 'rbf', 'poly' and 'sigmoid'. 'scale' is 1 / (number of columns x "
    "variance of all cells), 'auto' is 1 / number of columns.",
)
COEF0 = param(
    0.0, Real(None, None, "neither"), "Constant term of the kernels 'poly' and 'sigmoid'."
)
TOL = param(
    1e-3,
    Real(0, None, "neither"),
    "Largest accepted violation of the optimality conditions.",
)
SHRINKING = param(True, Ignored("the working sets always leave out rows at their bounds.", Boolean))
CLASS_WEIGHT = SHARED_CLASS_WEIGHT.replace(
    description="Factors for the weights of the rows by class. 'balanced' gives every class the same "
    "total weight."
)
CACHE_SIZE = param(
    200, Real(0, None, "neither"), "Megabytes of memory for rows of the kernel matrix."
)
QUIET = VERBOSE.replace(default=False)
MAX_ITER = param(
    -1,
    Integer(-1),
    "Largest number of solver steps. -1 allows ten million, or 100 per row if that is more.",
)
MAX_TIME = param(
    None,
    Either(Nothing, Real(0, None, "neither")),
    "Largest number of seconds of the solver. A fit that needs more keeps what it has and warns.",
    last=True,
)
SCALED = STANDARDIZE.replace(
    description="Subtract the means of the columns and divide numbers by their standard deviations "
    "before the kernel is computed. Columns of categories, missing-value indicators and words are not "
    "divided; large sparse tables are not centred."
)

SUPPORT = "Row numbers of the support vectors in the training table, shape (n_support,)."
N_SUPPORT_ONE = "Number of support vectors, shape (1,)."
INTERCEPT = "Intercept of the decision function, shape (1,)."
SHAPE_FIT = "Numbers of rows and encoded columns of the training table."
FIT_STATUS = "0 if the solver converged, otherwise 1."
HISTORY = (
    "Diagnostics after each working set: 'objective' (of the dual), 'violation' of the optimality "
    "conditions and 'duality_gap'."
)
