"""The rows of the scorecard: a promise, the mark it must reach, and the cases that are tried for it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scorecard.runner import Case, Limits

USUAL = Limits()


@dataclass(frozen=True)
class Row:
    """One promise; `cases` is where to find the function share -> cases, as "module:function".

    A row without cases has a `module` with a function `check`, which gives its figures; or it has a
    `reason` why it is not tried yet.
    """

    number: int
    name: str
    promise: str
    mark: str
    cases: str = ""
    limits: Limits = USUAL
    module: str = ""
    reason: str = ""

    def find_cases(self) -> Callable[[float], Iterator[Case]]:
        """The function that gives the cases of a share of the full size."""
        module, _, name = self.cases.partition(":")
        found: Callable[[float], Iterator[Case]] = getattr(
            importlib.import_module(f"scorecard.checks.{module}"), name
        )
        return found


LATER = "joins when a local server is built"
ROWS = (
    Row(1, "check_estimator", "scikit-learn's checks of every class, none expected to fail",
        "0 failed", "protocol:common"),
    Row(2, "protocol", "checks that scikit-learn runs only on itself; every parameter is checked",
        "0 failed", "protocol:own"),
    Row(3, "least squares", "NIST StRD: coefficients and standard errors",
        ">= 13 digits (Filip 7.5)", "digits:least_squares"),
    Row(4, "likelihoods", "GLMs, logistic and softmax against high precision",
        ">= 12 digits, 10 of errors", "digits:likelihoods", Limits(300)),
    Row(5, "moments", "discriminants, naive Bayes, PCA, mixtures against high precision",
        ">= 12 digits", "digits:moments", Limits(300)),
    Row(6, "svm", "primal and dual objective of kernel machines", "relative gap <= 1e-8",
        "digits:kernel_machines"),
    Row(7, "trees", "splits of a brute-force oracle: NaN, categories, weights, ties", "all equal",
        "relations:trees"),
    Row(8, "scales", "offsets up to 1e10, units 2**-900 to 2**900", "<= 1 digit lost",
        "extremes:scales"),
    Row(9, "extremes", "extreme tables, targets and weights", "finite or refused, in 4 s",
        "extremes:grid", Limits(4)),
    Row(10, "random arrays", "any finite bits, subnormal and largest numbers",
        "finite or refused", "extremes:random_arrays", Limits(20)),
    Row(11, "diagnoses", "separation, collinearity, one class, one row, p > n", "all named",
        "diagnoses:problems"),
    Row(12, "categories", "unseen, empty, missing, reordered, many levels, mixed types",
        "the documented outcome", "diagnoses:categories"),
    Row(13, "weights", "weights are repetition; row and column order", "1e-12, bits where promised",
        "relations:weights"),
    Row(14, "threads", "1, 2 and 4 threads, five times", "equal bits", "relations:threads",
        Limits(300)),
    Row(15, "partitions", "8 partitionings of tables in memory, in Parquet, in polars, DuckDB and Dask",
        "the bits of the table in memory", "partitions:partitions", Limits(600)),
    Row(16, "workers", "Dask workers that are killed during a fit", "every fit ends, equal bits",
        "workers:kills", Limits(300)),
    Row(17, "files", "missing, truncated, corrupt tables; outputs that cannot be written",
        "the right error, nothing half-written", "faults:files"),
    Row(18, "kills", "kill -9 during a comparison, continued", "equal bytes", "faults:kills",
        Limits(600)),
    Row(19, "interrupts", "Ctrl-C or SIGTERM inside a fit", "returns within a second, unfitted",
        "faults:interrupts", Limits(120)),
    Row(20, "model files", "random bytes, bit flips, forged and sealed again, splices",
        "no code, crash or hang", "model_files:hostile", Limits(20, 4 << 30)),
    Row(21, "old files", "model files of every format version", "equal answers",
        "model_files:old"),
    Row(22, "server", "hostile requests", "refused or escaped", reason=LATER),
    Row(23, "mutants", "changed lines of the loops and solvers that a test notices",
        ">= 90 % killed", module="scorecard.mutants.card"),
    Row(24, "statistics", "false alarms, coverage and power of the comparison on simulated tables",
        "<= 5 %, 93-98 %, >= 3 x by folds", module="scorecard.statistics.card"),
)  # fmt: skip
