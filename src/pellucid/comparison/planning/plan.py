"""Everything that is decided before the first fit: rows, folds, metric, models, limits.

The metric `auto` is the area under the ROC curve for two classes (it does not depend on a threshold)
and accuracy for more (every model has it). For numbers it is the root mean squared error (in the units
of the target) or, for small counts, the Poisson deviance: the variance of a count grows with its mean,
so a few large counts would dominate the squared error.
Invariant: a plan depends only on the table and the settings, never on the machine, so equal plans give
equal results.
"""

from __future__ import annotations

import hashlib
import pickle
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.comparison.checks.univariate import univariate_scores
from pellucid.comparison.planning import fold_choice
from pellucid.comparison.planning.dataset import Dataset
from pellucid.comparison.planning.peers import peers
from pellucid.comparison.planning.registry import BASELINES, Entry, chosen, words_read
from pellucid.comparison.planning.settings import Settings
from pellucid.comparison.planning.target import skewed, small_counts, whole_numbers
from pellucid.errors import DataError, ParameterError
from pellucid.model_selection.folds import holdout
from pellucid.model_selection.metrics import METRICS, Metric, metric

MIN_TEST = 10  # rows; the scores of a smaller test set mean little
FEW_ROWS = 3  # rows per level of a category: with fewer, levels identify the rows
STRONG_COLUMN = 0.2  # R2, or 2 AUC - 1, of a single column: such a category is kept
INNER_FOLDS = {"quick": 3, "normal": 3, "thorough": 5}
HALVING_FACTOR = 3  # of every three candidates, one goes on to the next inner fold
# With at most this many training rows, more settings of a portfolio go on, because differences on one
# small fold are mostly noise: of six settings three, then two. On 15 tables, that changed one choice
# in ten and no score measurably (thorough effort scores all settings on all folds).
FEW_FOR_HALVING = 2000
SMALL_TABLE_FACTOR = {"quick": 2, "normal": 2, "thorough": 1}
# Above this number of training rows, a search runs on a sample of the second number of rows.
LARGE_TABLE, SAMPLED_ROWS = 50_000, 20_000
TIMEOUT = {"quick": 120.0, "normal": 300.0, "thorough": 3600.0}
SHOWN = {
    "classification": (
        "roc_auc", "accuracy", "balanced_accuracy", "f1", "log_loss", "average_precision",
    ),
    "regression": ("rmse", "mae", "r2"),
    "counts": ("rmse", "poisson_deviance", "mae", "r2"),
}  # fmt: skip
AUTO_WHY = {
    "roc_auc": "two classes",
    "accuracy": "more than two classes",
    "rmse": "numeric target; it has the same units",
    "poisson_deviance": "small counts, whose variance grows with their mean",
}


@dataclass(frozen=True)
class Contender:
    """A model of the comparison: its registry entry (or the user's estimator) and its candidates."""

    id: str
    rank: int
    cost: float
    candidates: list[dict[str, Any]]
    entry: Entry | None = None
    estimator: Any = None
    skipped: str = ""  # why it does not run
    unsuitable: bool = False  # whether it is meant for tables of another kind
    dropped: tuple[str, ...] = ()  # columns that it cannot read, or would memorise
    note: str = ""
    max_candidates: int | None = None  # candidates to try, from the middle of the range; None: all
    halving_factor: int = HALVING_FACTOR  # 1/halving_factor of the candidates reach the next fold

    def make(self) -> Any:
        """The unfitted model."""
        return self.estimator if self.entry is None else self.entry.make()

    @property
    def blends(self) -> bool:
        """Whether it combines the other models."""
        return self.entry is not None and self.entry.blends

    @property
    def n_planned(self) -> int:
        """Number of candidates that a search tries."""
        return len(self.candidates) if self.max_candidates is None else self.max_candidates


@dataclass(frozen=True)
class Plan:
    """All decisions of a comparison."""

    dataset: Dataset
    settings: Settings
    metric: Metric
    metric_why: str
    metrics: tuple[str, ...]  # all that are computed; the first one ranks the models
    train: np.ndarray  # rows of the dataset
    test: np.ndarray
    test_why: str  # how the test set was chosen, or why there is none
    folds: list[tuple[np.ndarray, np.ndarray]]  # rows of the dataset
    folds_name: str
    inner: int
    contenders: list[Contender]
    # Seconds for one model: wall-clock time if the user set it, else estimated work.
    model_timeout: float

    @property
    def running(self) -> list[Contender]:
        """The models that are not skipped."""
        return [c for c in self.contenders if not c.skipped]

    @property
    def blend(self) -> Contender | None:
        """The blend, if it runs."""
        return next((c for c in self.running if c.blends), None)

    @property
    def blended(self) -> list[Contender]:
        """The models that the blend may combine; those of other packages cannot be saved."""
        return [c for c in self.running if c.entry is not None and not c.blends]

    @property
    def ratio(self) -> float:
        """Number of test rows / number of training rows of a fold, on average."""
        return float(np.mean([len(test) / len(train) for train, test in self.folds]))

    @property
    def repeats(self) -> int:
        """Number of repetitions of the cross-validation; folds by time cannot be drawn again."""
        return 1 if self.folds_name == "time" else self.settings.repeats

    @property
    def n_fits(self) -> int:
        """Number of fits of the run: nested search, outer fits, and the final fit of each model."""
        return sum(len(self.folds) * self.fits_of_round(c, c.n_planned) + 1 for c in self.running)

    @property
    def search_rows(self) -> int:
        """Number of rows on which a search runs: all training rows, or a sample of a large table."""
        return SAMPLED_ROWS if len(self.train) > LARGE_TABLE else len(self.train)

    def work_of_round(self, contender: Contender, most: int) -> float:
        """Work of a round in fits on all training rows."""
        return 1 + (self.fits_of_round(contender, most) - 1) * self.search_rows / len(self.train)

    def fits_of_round(self, contender: Contender, most: int) -> int:
        """Number of fits of a round: the search over `most` candidates, and the best of them."""
        if most <= 1:
            return 1
        halving_factor = contender.halving_factor
        return 1 + sum(candidates_on_fold(most, f, halving_factor) for f in range(self.inner))

    def key(self) -> str:
        """Hash of everything that affects the scores; a resumed run must have the same."""
        parts = [
            self.dataset.sha256 + self.dataset.test_sha256,
            repr(sorted(self.settings.affecting_scores().items())),
        ]
        parts += [
            f"{c.id}:{c.candidates!r}:{c.max_candidates}:{c.skipped}" for c in self.contenders
        ]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def test_set_id(self) -> str:
        """Hash that identifies the test set: the same rows of the same table have the same one."""
        rows = self.dataset.rows[self.test].astype("<i8").tobytes()
        source = self.dataset.sha256
        if self.dataset.test_sha256:  # all rows of that file, whatever the training table
            source, rows = self.dataset.test_sha256, b""
        head = f"{source}:{self.dataset.target}:".encode()
        return hashlib.sha256(head + rows).hexdigest()


def candidates_on_fold(n: int, fold: int, halving_factor: int = HALVING_FACTOR) -> int:
    """How many of n candidates reach an inner fold: a third of those before, two on the second fold.

    Of three candidates two are scored on all folds, and so are one or two.
    """
    fewest = 2 if fold < 2 or n <= 3 else 1
    return max(min(n, fewest), -(-n // halving_factor**fold))


def make_plan(dataset: Dataset, settings: Settings, extra: dict[str, Any] | None = None) -> Plan:
    """Make all decisions; whatever is impossible is an error here, before the first fit."""
    train, test, test_why = hold_out(dataset, settings)
    ranking, why = _metric(dataset, settings, dataset.y[train])
    folds, folds_name = _folds(dataset, settings, train, ranking)
    counts = dataset.classes is None and whole_numbers(dataset.y[train])
    shown = [name for name in SHOWN["counts" if counts else dataset.task] if name != ranking.name]
    return Plan(
        dataset=dataset,
        settings=settings,
        metric=ranking,
        metric_why=why,
        metrics=(ranking.name, *shown),
        train=train,
        test=test,
        test_why=test_why,
        folds=folds,
        folds_name=folds_name,
        inner=INNER_FOLDS[settings.effort],
        contenders=_contenders(dataset, settings, train, extra or {}),
        model_timeout=settings.model_timeout or TIMEOUT[settings.effort],
    )


def _metric(dataset: Dataset, settings: Settings, y: np.ndarray) -> tuple[Metric, str]:
    """The metric that ranks the models, and why; `y` is the target of the training rows."""
    if settings.metric == "auto":
        if dataset.classes is not None:
            name = "roc_auc" if len(dataset.classes) == 2 else "accuracy"
        else:
            name = "poisson_deviance" if small_counts(y) else "rmse"
        return METRICS[name], AUTO_WHY[name]
    found = metric(settings.metric)
    numbers = found.needs == "numbers"
    if found.needs != "model" and numbers != (dataset.task == "regression"):
        fitting = ", ".join(SHOWN[dataset.task])
        raise ParameterError(
            f"metric {found.name!r} cannot be used for {dataset.task}. Use one of {fitting}."
        )
    if found.name == "poisson_deviance" and (dataset.y < 0).any():
        raise ParameterError(
            "metric 'poisson_deviance' is for counts, but the target has negative values. Use one "
            f"of {', '.join(SHOWN['regression'])}."
        )
    return found, "as requested"


def hold_out(dataset: Dataset, settings: Settings) -> tuple[np.ndarray, np.ndarray, str]:
    """Training rows, rows of the test set, and how these were chosen (or why there are none)."""
    n = len(dataset.y)
    if dataset.n_test:
        cut = n - dataset.n_test
        return np.arange(cut), np.arange(cut, n), "the rows of the test file"
    share = settings.test_size
    if share == 0:
        return np.arange(n), np.empty(0, dtype=int), "none requested"
    if round(n * share) < MIN_TEST:
        return np.arange(n), np.empty(0, dtype=int), f"none: {n} rows are too few for a test set"
    train, test = holdout(
        dataset.y,
        share,
        settings.seed,
        groups=dataset.groups,
        time=dataset.times,
        stratify=dataset.classes is not None,
    )
    how = "stratified" if dataset.classes is not None else "drawn"
    if dataset.groups is not None:
        count = len(np.unique(dataset.groups[test]))
        how = "one whole group" if count == 1 else f"{count} whole groups"
    if not len(test):
        return train, test, "none: no class has enough rows for a test set"
    return train, test, "the latest rows" if dataset.times is not None else how


def _folds(
    dataset: Dataset, settings: Settings, train: np.ndarray, ranking: Metric
) -> tuple[list[tuple[np.ndarray, np.ndarray]], str]:
    split_by, values = dataset.split_by
    name = fold_choice.kind_of(split_by, dataset.classes is not None)
    y, own = dataset.y[train], None if values is None else values[train]
    splits = []
    for repeat in range(1 if name == "time" else settings.repeats):
        found = fold_choice.outer_splits(
            name, settings.cv, y, own, ranking.name, settings.seed, repeat
        )
        splits += [(train[a], train[b]) for a, b in found]
    if dataset.classes is not None:
        for fit_rows, _ in splits:
            if len(np.unique(dataset.y[fit_rows])) < 2:
                raise DataError(
                    "the training rows of a fold have only one class. The others have too few rows."
                )
    return splits, name


def _contenders(
    dataset: Dataset, settings: Settings, train: np.ndarray, extra: dict[str, Any]
) -> list[Contender]:
    unit, rare = deviation(dataset, train), _high_cardinality(dataset, settings, train)
    found = [
        _contender(entry, dataset, settings, train, unit, rare)
        for entry in chosen(dataset.task, settings.models, settings.exclude)
    ]
    # A model that does not suit the table is listed only if the user named it.
    found = [c for c in found if not (c.unsuitable and c.id not in settings.models)]
    taken = {c.id for c in found}
    for name, estimator in extra.items():
        if name in taken:
            raise ParameterError(f"extra model {name!r}: another model already has this name.")
        if not re.fullmatch(r"[\w.-]{1,60}", name) or name.startswith("."):
            raise ParameterError(
                f"extra model {name!r}: a name may contain only letters, digits, '_', '-' and '.'."
            )
        try:
            pickle.dumps(estimator)
        except Exception as error:
            raise DataError(
                f"extra model {name!r} cannot be pickled for a worker process ({error}). Define its "
                "class at the top level of a module."
            ) from None
        found.append(Contender(name, 9, 3.0, [{}], estimator=estimator))
    for name, (peer, why) in peers(settings.peers, dataset.task).items():
        if any(c.id == name for c in found):
            raise ParameterError(f"peer {name!r}: another model already has this name.")
        note = f"foreign: {peer.path}, never saved"
        found.append(Contender(name, 9, 4.0, [{}], estimator=peer, skipped=why, note=note))
    baseline = BASELINES[dataset.task]
    return sorted(found, key=lambda c: (c.id != baseline, c.cost, c.id))


def deviation(dataset: Dataset, train: np.ndarray) -> float:
    """Standard deviation of the target on the training rows, to two digits; 1 for classes."""
    y, w = dataset.y[train], dataset.weights[train]
    if dataset.classes is not None or not w.any():
        return 1.0
    spread = float(np.sqrt(np.average((y - np.average(y, weights=w)) ** 2, weights=w)))
    return float(f"{spread:.2g}") if 0 < spread < np.inf else 1.0


def _high_cardinality(dataset: Dataset, settings: Settings, train: np.ndarray) -> tuple[str, ...]:
    """Categorical columns with few training rows per level, which trees would memorise.

    The column that predicts held-out rows best is not among them: first names do predict sex.
    """
    found = []
    for name, column in dataset.raw("categorical").items():
        codes = column.values[train]
        present = codes[codes >= 0]
        if len(present) < FEW_ROWS * len(np.unique(present)):
            found.append(name)
    if found:
        known = univariate_scores(dataset, dataset.raw(), train, settings.seed)
        scores = {name: score for name, score in known.items() if score == score}
        best = max(scores, key=lambda name: scores[name], default="")
        strength = scores.get(best, 0.0)
        if dataset.classes is not None:
            strength = 2 * scores.get(best, 0.5) - 1
        found = [name for name in found if name != best or strength < STRONG_COLUMN]
    return tuple(found)


def _contender(
    entry: Entry, dataset: Dataset, settings: Settings, train: np.ndarray, unit: float,
    rare: tuple[str, ...],
) -> Contender:  # fmt: skip
    y = dataset.y[train]
    text = tuple(name for name, kind in dataset.kinds.items() if kind == "text")
    words = words_read(entry.model_class())
    dropped = () if entry.rank == 0 or words else text
    if entry.only == "text":  # it counts words; other numbers would dominate them
        dropped = tuple(name for name in dataset.kinds if name not in text)
    why = ""
    if entry.only == "text" and not text:
        why = "the table has no text column"
    elif entry.only == "counts" and not whole_numbers(y):
        why = "the target is not a count"
    elif entry.only in ("positive", "skewed") and not (y > 0).all():
        why = "the target is not always positive"
    elif entry.only == "skewed" and not skewed(y):
        why = "the target is not right-skewed"
    elif entry.blends and text:
        why = "cannot use text columns"
    elif dropped and len(dropped) == len(dataset.kinds):
        why = "cannot use text, and there are no other columns"
    elif entry.max_rows is not None and len(y) > entry.max_rows:
        why = f"too slow for {len(y)} rows (limit: {entry.max_rows})"
    elif not entry.weighted and (dataset.weights[train] != 1.0).any():
        why = "it does not support sample weights"
    dropped = dropped if not why else ()
    notes = []
    if dropped and entry.only == "text":
        notes.append(f"uses only {', '.join(text)} (text)")
    elif text and 0 < words < float("inf"):
        notes.append(f"uses the {words} most frequent words of {', '.join(text)}")
    elif dropped:
        notes.append(f"without {', '.join(dropped)} (text)")
    if len(y) > LARGE_TABLE and not why and len(entry.candidates(settings.effort)) > 1:
        notes.append(f"searched on a sample of {SAMPLED_ROWS} of {len(y)} rows")
    if entry.only == "skewed" and not why:
        notes.append(f"fitted to log({dataset.target}), because {dataset.target} is right-skewed")
    if entry.greedy and not why and 0 < len(rare) < len(dataset.kinds) - len(dropped):
        dropped += rare
        notes.append(f"without {', '.join(rare)} (fewer than {FEW_ROWS} rows per level)")
    few = entry.portfolio and len(y) <= FEW_FOR_HALVING
    return Contender(
        entry.id, entry.rank, entry.cost, entry.candidates(settings.effort, unit), entry,
        skipped=why, unsuitable=bool(why and entry.only), dropped=dropped,
        note="; ".join(notes),
        halving_factor=SMALL_TABLE_FACTOR[settings.effort] if few else HALVING_FACTOR,
    )  # fmt: skip
