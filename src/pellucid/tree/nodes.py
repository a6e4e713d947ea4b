"""A grown tree as plain arrays, in depth-first order, left before right: node 0 is the root.

A row goes left at a node with a number column if x <= threshold, with a categorical column if its
level is in the node's set, which is stored as bits or as a list of levels, whichever is shorter; a
missing value goes left if missing_left is 1. A left child is the next node, a right child comes
later. Invariant: `Nodes` checks all this itself, so that rows cannot leave the arrays even if they
come from a file; only trees that were just grown are not checked.
"""

from dataclasses import dataclass

import numpy as np

from pellucid.errors import DataError
from pellucid.tree import _apply, _node_buffer

LEAF = np.int32(-2)  # `feature` of a leaf, as in scikit-learn
_DTYPES = {
    "feature": "int32", "threshold": "float64", "left": "int32", "right": "int32",
    "missing_left": "uint8", "set_start": "int32", "sets": "uint32", "value": "float64",
    "impurity": "float64", "decrease": "float64", "n_samples": "int64", "weight": "float64",
    "n_levels": "int32",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Nodes:
    """The arrays of one tree with m nodes over d columns."""

    feature: np.ndarray  # int32 (m,), LEAF at leaves
    threshold: np.ndarray  # float64 (m,), 0 at leaves and sets, inf: present | missing
    left: np.ndarray  # int32 (m,), -1 leaf
    right: np.ndarray  # int32 (m,), -1 leaf
    missing_left: np.ndarray  # uint8 (m,)
    # int32 (m,), -1: no set; s >= 0: bits from word s; s < -1: list at -2 - s.
    set_start: np.ndarray
    # uint32. Bits: k % 32 of word s + k // 32 says that level k goes left. A list: its length, then
    # the levels, ascending, that do not go where missing values go (`_level_sets`).
    sets: np.ndarray
    value: np.ndarray  # float64 (m, K) class frequencies, or (m, targets) means or median
    impurity: np.ndarray  # float64 (m,)
    decrease: np.ndarray  # float64 (m,), share of the cost of the root that the split saves
    n_samples: np.ndarray  # int64 (m,), sum of weights where these are integers, else rows
    weight: np.ndarray  # float64 (m,)
    n_levels: np.ndarray  # int32 (d,), 0 for number columns

    def __post_init__(self) -> None:
        for name, kind in _DTYPES.items():
            part = getattr(self, name)
            if not isinstance(part, np.ndarray) or part.dtype != kind:
                raise DataError(f"a tree's {name} must be an array of {kind}")
        m = len(self.feature) if self.feature.ndim == 1 else 0
        vectors = (
            self.threshold, self.left, self.right, self.missing_left, self.set_start,
            self.impurity, self.decrease, self.n_samples, self.weight,
        )  # fmt: skip
        if m < 1 or any(v.shape != (m,) for v in vectors) or self.value.ndim != 2:
            raise DataError("the arrays of a tree have different numbers of nodes")
        if len(self.value) != m or self.sets.ndim != 1 or self.n_levels.ndim != 1:
            raise DataError("the arrays of a tree have wrong shapes")
        if not np.isfinite(self.value).all():
            raise DataError("the values of a tree are not finite")
        self._check_links()
        self._check_sets()
        if (self.feature == -1).any():  # files of earlier versions
            object.__setattr__(self, "feature", np.where(self.feature < 0, LEAF, self.feature))

    def _check_links(self) -> None:
        inner, numbers = self.feature >= 0, np.arange(len(self.feature))
        if (self.missing_left > 1).any() or np.isnan(self.threshold).any():
            raise DataError("a threshold or a side of a tree is not valid")
        links = np.concatenate((self.left[inner], self.right[inner]))
        # Only links within the tree are counted: others, in a forged file, could take much memory.
        once = np.bincount(links[(links > 0) & (links <= numbers[-1])], minlength=len(numbers))
        late = (self.left[inner] == numbers[inner] + 1) & (self.right[inner] > numbers[inner])
        if (
            (self.feature < LEAF).any()
            or (self.feature >= len(self.n_levels)).any()
            or not late.all()
            or (links > numbers[-1]).any()
            or (once[1:] != 1).any()
            or (self.left[~inner] != -1).any()
            or (self.right[~inner] != -1).any()
        ):
            raise DataError("the links of a tree do not form a tree")

    def _check_sets(self) -> None:
        inner = self.feature >= 0
        levels = np.where(inner, self.n_levels[np.where(inner, self.feature, 0)], 0)
        first = self.set_start.astype(np.int64)
        lists = -2 - first[first < -1]
        inside = bool((lists < len(self.sets)).all())
        words = (levels.astype(np.int64) + 31) // 32
        if inside and len(lists):
            first[first < -1], words[self.set_start < -1] = lists, self.sets[lists].astype(int) + 1
        if (
            not inside
            or (self.n_levels < 0).any()
            or ((levels > 0) != self.has_set).any()
            or (first + words > len(self.sets))[levels > 0].any()
        ):
            raise DataError("the sets of levels of a tree are out of range")

    @property
    def has_set(self) -> np.ndarray:
        """Nodes that are split by levels."""
        return self.set_start != -1

    @property
    def n_nodes(self) -> int:
        return len(self.feature)

    # scikit-learn's names for the same arrays.
    node_count = n_nodes
    children_left = property(lambda self: self.left)
    children_right = property(lambda self: self.right)
    n_node_samples = property(lambda self: self.n_samples)
    weighted_n_node_samples = property(lambda self: self.weight)
    missing_go_to_left = property(lambda self: self.missing_left)
    max_depth = property(lambda self: self.depth)
    n_features = property(lambda self: len(self.n_levels))

    @property
    def n_leaves(self) -> int:
        return int((self.feature < 0).sum())

    @property
    def depth(self) -> int:
        """Edges on the longest path from the root to a leaf."""
        return int(self.depths().max())

    def depths(self) -> np.ndarray:
        """Depth of every node (int32)."""
        return _apply.depths(self.left, self.right)

    def importances(self) -> np.ndarray:
        """Share of the total decrease that is due to the splits by each column; 0 without any split."""
        inner = self.feature >= 0
        sums = np.bincount(self.feature[inner], self.decrease[inner], minlength=len(self.n_levels))
        return sums / sums.sum() if sums.sum() > 0 else sums

    def compute_feature_importances(self, normalize: bool = True) -> np.ndarray:
        """scikit-learn's name for `importances`; with normalize=False in units of the impurity."""
        if normalize:
            return self.importances()
        inner = self.feature >= 0
        saved = self.impurity[0] * self.decrease[inner]
        return np.bincount(self.feature[inner], saved, minlength=self.n_features)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Leaf of each row of an array of numbers; a column of levels holds their codes."""
        from pellucid.tree import prediction

        return prediction.apply(self, self._numbers(X)).astype(np.int64)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Value of the leaf of each row, (rows, classes or targets)."""
        return self.value[self.apply(X)]

    def _numbers(self, X: np.ndarray) -> np.ndarray:
        X = np.asfortranarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_features:
            raise DataError(f"This tree needs a table of {self.n_features} columns.")
        return X

    def over_columns(self, columns: np.ndarray) -> np.ndarray:
        """`feature` of the same tree in a table where its columns have these numbers."""
        return np.append(columns, (LEAF, LEAF))[self.feature].astype(np.int32)

    def levels_left(self, node: int) -> np.ndarray:
        """Codes of the levels that go left at a node with a set."""
        codes, first = np.arange(self.n_levels[self.feature[node]]), int(self.set_start[node])
        if first < -1:
            leave = self.sets[-1 - first :][: self.sets[-2 - first]]
            return codes[np.isin(codes, leave) != bool(self.missing_left[node])]
        words = self.sets[self.set_start[node] + codes // 32]
        return codes[(words >> (codes % 32).astype(np.uint32) & 1).astype(bool)]


def assemble(
    parts: list,
    attach: list[int],
    n_levels: np.ndarray,
    scale: "Scale",
    y: np.ndarray,
    bounded: bool = False,
) -> Nodes:
    """One tree from a trunk and its branches; branch k grows out of node attach[k] of the trunk.

    `bounded`: values are brought between the bounds that monotone constraints gave the nodes.
    """
    found = _node_buffer.gather(parts, np.array(attach, dtype=np.int32), n_levels, bounded)
    return trees(found, n_levels, scale, y)[0]


def trees(
    found: "_node_buffer.Gathered", n_levels: np.ndarray, scale: "Scale", y: np.ndarray
) -> list[Nodes]:
    """The gathered trees as `Nodes`, each a slice of common arrays. If all targets of a node are
    equal, its value is that number to the last bit."""
    weight, starts = found.weight, found.starts.tolist()
    value = scale.value(found.counts, weight, found.lower, found.upper)
    same = found.like >= 0
    if not scale.classes and not len(found.lower):
        value[same] = y[found.like[same]].reshape(-1, value.shape[1])
    found.feature[found.feature < 0] = LEAF
    # The gathered arrays are changed in place, because copies of many large trees take long.
    root = found.cost[found.starts[:-1]].repeat(np.diff(found.starts))
    decrease = np.divide(found.decrease, root, out=found.decrease, where=root > 0)
    decrease[root <= 0] = 0.0
    if scale.counts:
        found.rows[:] = weight
    arrays = {
        "feature": found.feature,
        "threshold": found.threshold,
        "left": found.left,
        "right": found.right,
        "missing_left": found.missing_left,
        "set_start": found.set_start,
        "value": value,
        "impurity": scale.impurity(np.divide(found.cost, weight, out=found.cost)),
        "decrease": decrease,
        "n_samples": found.rows,
        "weight": np.ldexp(weight, scale.w_exponent) if scale.w_exponent else weight,
    }
    return [
        _unchecked(
            sets=found.sets[found.word_starts[k] : found.word_starts[k + 1]],
            n_levels=n_levels,
            **{name: array[starts[k] : starts[k + 1]] for name, array in arrays.items()},
        )
        for k in range(len(starts) - 1)
    ]


def _unchecked(**arrays: np.ndarray) -> Nodes:
    """Nodes of just grown arrays without checks, which would take as long as growing a small tree."""
    nodes = object.__new__(Nodes)
    nodes.__dict__.update(arrays)
    return nodes


@dataclass(frozen=True)
class Scale:
    """The conversion from growing units: weights were divided by 2**w_exponent, and a numeric target
    was (y - shift) / 2**exponent; costs grow with this power of the target. Costs of several targets
    were added up; the impurity is their mean."""

    classes: bool
    counts: bool  # weights are counts of samples
    w_exponent: int = 0
    shift: float | np.ndarray = 0.0  # (targets,) if there are several
    exponent: int = 0
    power: int = 2
    n_targets: int = 1

    def value(
        self, counts: np.ndarray, weight: np.ndarray, lower: np.ndarray, upper: np.ndarray
    ) -> np.ndarray:
        """Class frequencies or means, in place of the class weights or scaled means."""
        if self.classes:
            # Sums of integers do not depend on their order: the weight is that of all classes.
            total = weight if self.counts else counts.sum(axis=1)
            shares = np.divide(counts, total[:, None], out=counts)
            if len(lower):
                second = np.clip(shares[:, 1], lower, upper)
                return np.stack((1.0 - second, second), axis=1)
            return shares
        if len(lower):
            counts = np.clip(counts, lower[:, None], upper[:, None])
        with np.errstate(over="ignore"):  # a mean next to the largest float may round to infinity
            return np.ldexp(counts, self.exponent) + self.shift

    def impurity(self, impurity: np.ndarray) -> np.ndarray:
        if self.classes:
            return impurity
        with np.errstate(over="ignore"):  # a variance beyond 1e308 is infinite, the tree is not
            return np.ldexp(impurity / self.n_targets, self.power * self.exponent)
