"""The rows of the scorecard: a promise, the mark it must reach, and the tests that check it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One promise; pytest runs `tests` with the -k expression `only`.

    A row without tests has a `module` whose function `check` prints and returns its figures.
    """

    name: str
    promise: str
    mark: str
    tests: tuple[str, ...] = ()
    only: str = ""
    module: str = ""


CONTRACT = "tests/contract"
ROWS = (
    Row("check_estimator", "scikit-learn's checks of every class, none expected to fail",
        "0 failed", (f"{CONTRACT}/test_scikit_learn.py",)),
    Row("protocol", "parameters, column names, set_output, routing, pickling", "0 failed",
        (f"{CONTRACT}/test_parameters.py", f"{CONTRACT}/test_composition.py",
         f"{CONTRACT}/test_signatures.py", f"{CONTRACT}/test_records.py")),
    Row("least squares", "NIST StRD: coefficients and standard errors",
        ">= 13 digits (Filip 7.5)", ("tests/linear_model/test_linear_regression.py",
                                     "tests/numerics/test_least_squares.py")),
    Row("likelihoods", "GLMs, logistic and softmax against high precision",
        ">= 12 digits, 10 of errors",
        ("tests/linear_model/test_glm.py", "tests/linear_model/test_logistic.py",
         "tests/linear_model/test_inference.py")),
    Row("moments", "discriminants, naive Bayes, PCA, mixtures against high precision",
        ">= 12 digits",
        ("tests/discriminant_analysis", "tests/naive_bayes", "tests/decomposition",
         "tests/mixture", "tests/numerics/test_moments.py")),
    Row("svm", "dual objective and gap", "relative gap <= 1e-8", ("tests/svm",)),
    Row("trees", "splits of a brute-force oracle: NaN, categories, weights, ties", "all equal",
        ("tests/tree/test_splits.py",)),
    Row("extremes", "scales, offsets, extreme tables, random finite arrays",
        "finite or refused", (f"{CONTRACT}/test_extremes.py",)),
    Row("diagnoses", "separation, collinearity, one class, one row, bad data", "all named",
        (f"{CONTRACT}/test_bad_data.py", "tests/linear_model/test_separation.py")),
    Row("categories", "unseen, empty, missing, reordered, many levels, mixed types",
        "the documented outcome",
        (f"{CONTRACT}/test_one_rule.py", f"{CONTRACT}/test_containers.py", "tests/data")),
    Row("weights", "weights are repetition; row and column order", "1e-12, bits where promised",
        (f"{CONTRACT}/test_weights.py", "tests/data/test_canonical.py")),
    Row("threads", "1, 2 and 4 threads", "equal bits",
        (f"{CONTRACT}/test_threads.py", "tests/parallel")),
    Row("files", "missing, truncated, corrupt, unreadable tables; outputs that cannot be written",
        "the right error, nothing half-written",
        ("tests/data/test_read.py", "tests/data/test_write.py", "tests/comparison/test_bad_input.py")),
    Row("kills", "kill -9 and Ctrl-C during a comparison, continued", "equal bytes",
        ("tests/comparison/test_interruption.py",)),
    Row("interrupts", "Ctrl-C inside a fit", "returns within a second, unfitted",
        ("tests/parallel",), "ctrl_c or interrupt"),
    Row("model files", "random bytes, bit flips, forged and sealed again", "no code, crash or hang",
        ("tests/persist/test_hostile.py", "tests/persist/test_models.py")),
    Row("old files", "model files of every format version", "equal bits",
        ("tests/persist/test_old_files.py",)),
    Row("statistics", "false alarms, coverage and power of the comparison on simulated tables",
        "<= 5 %, 93-98 %, >= 3 x by folds", module="scorecard.statistics.card"),
)  # fmt: skip
