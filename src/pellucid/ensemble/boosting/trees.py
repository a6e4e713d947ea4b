"""The trees of a boosted model in one set of arrays, tree after tree, each in depth-first order.

Tree t has the nodes start[t] : start[t + 1] and adds the value of a leaf to output t % K. Links count
from the root of their tree. A row goes left as in `tree.nodes`. Invariant: the record checks itself,
so that rows cannot leave the arrays even if they come from a file.
"""

from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from pellucid import parallel
from pellucid.errors import DataError
from pellucid.tree import prediction
from pellucid.tree._boosted import Walkers
from pellucid.tree.nodes import Nodes

BLOCK = 2**11
WORTH_PACKING = 64  # rows
WORTH_SHARING = 2**17  # rows times trees that take more than a millisecond
_DTYPES = {
    "start": "int64", "feature": "int32", "threshold": "float64", "left": "int32",
    "right": "int32", "missing_left": "uint8", "set_start": "int32", "sets": "uint32",
    "value": "float64", "gain": "float64", "n_samples": "float64", "weight": "float64",
    "n_levels": "int32",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class BoostedTrees:
    """Arrays of all trees with m nodes in total over d columns and K outputs."""

    start: np.ndarray  # int64 (trees + 1,)
    feature: np.ndarray  # int32 (m,), -1 leaf
    threshold: np.ndarray  # float64 (m,), 0 at leaves and sets, inf: present | missing
    left: np.ndarray  # int32 (m,), -1 leaf
    right: np.ndarray  # int32 (m,), -1 leaf
    missing_left: np.ndarray  # uint8 (m,)
    set_start: np.ndarray  # int32 (m,), -1: no set
    sets: np.ndarray  # uint32
    # float64 (m,), with the learning rate; at inner nodes the mean of the leaves below
    value: np.ndarray
    # float64 (m,), decrease of the quadratic approximation, less a penalty for sets; 0 at leaves
    gain: np.ndarray
    n_samples: np.ndarray  # float64 (m,)
    weight: np.ndarray  # float64 (m,), sum of curvatures
    n_levels: np.ndarray  # int32 (d,), 0 for number columns
    n_outputs: int

    def __post_init__(self) -> None:
        for name, kind in _DTYPES.items():
            part = getattr(self, name)
            if not isinstance(part, np.ndarray) or part.dtype != kind or part.ndim != 1:
                raise DataError(f"boosted trees: {name} must be a vector of {kind}")
        m = len(self.feature)
        for name in _DTYPES:
            if name not in ("start", "sets", "n_levels") and len(getattr(self, name)) != m:
                raise DataError("boosted trees: the arrays have different numbers of nodes")
        lengths = np.diff(self.start)
        if type(self.n_outputs) is not int or self.n_outputs < 1 or len(self.start) < 1:
            raise DataError("boosted trees: there are no outputs")
        if self.start[0] != 0 or self.start[-1] != m or (lengths < 1).any():
            raise DataError("boosted trees: the trees do not fill the arrays")
        if len(lengths) % self.n_outputs:
            raise DataError("boosted trees: a round is not complete")
        self._check_links(lengths)
        self._check_sets()

    def _check_links(self, lengths: np.ndarray) -> None:
        inner = self.feature >= 0
        root = np.repeat(self.start[:-1], lengths)
        own = np.arange(len(self.feature)) - root
        length = np.repeat(lengths, lengths)
        left, right = self.left[inner], self.right[inner]
        if (
            (self.missing_left > 1).any()
            or np.isnan(self.threshold).any()
            or not np.isfinite(self.value).all()
            or (self.feature >= len(self.n_levels)).any()
            or (left != own[inner] + 1).any()
            or (right <= left).any()
            or (right >= length[inner]).any()
            or (self.left[~inner] != -1).any()
            or (self.right[~inner] != -1).any()
        ):
            raise DataError("boosted trees: the links do not form trees")
        links = np.concatenate((left, right)) + np.tile(root[inner], 2)
        once = np.bincount(links, minlength=len(self.feature))
        once[self.start[:-1]] += 1
        if (once != 1).any():
            raise DataError("boosted trees: the links do not form trees")

    def _check_sets(self) -> None:
        inner = self.feature >= 0
        if (self.n_levels < 0).any() or not len(self.n_levels):
            raise DataError("boosted trees: there are no columns")
        levels = np.where(inner, self.n_levels[np.where(inner, self.feature, 0)], 0)
        words = (levels.astype(np.int64) + 31) // 32
        if ((levels > 0) != (self.set_start >= 0)).any() or (
            self.set_start + words > len(self.sets)
        )[levels > 0].any():
            raise DataError("boosted trees: sets of levels are out of range")

    @property
    def n_trees(self) -> int:
        return len(self.start) - 1

    @property
    def n_rounds(self) -> int:
        return self.n_trees // self.n_outputs

    def tree(self, t: int) -> Nodes:
        """One tree as the `Nodes` of a regression tree."""
        part = slice(self.start[t], self.start[t + 1])
        share = self.gain[part] / max(self.gain[part].sum(), np.finfo(float).tiny)
        return Nodes(
            feature=self.feature[part].copy(), threshold=self.threshold[part].copy(),
            left=self.left[part].copy(), right=self.right[part].copy(),
            missing_left=self.missing_left[part].copy(), set_start=self.set_start[part].copy(),
            sets=self.sets, value=self.value[part, None].copy(),
            impurity=np.zeros(len(share)), decrease=share,
            n_samples=self.n_samples[part].astype(np.int64), weight=self.weight[part].copy(),
            n_levels=self.n_levels,
        )  # fmt: skip

    def importances(self) -> np.ndarray:
        """Share of the total gain that is due to the splits by each column; 0 without any split."""
        inner = self.feature >= 0
        sums = np.bincount(self.feature[inner], self.gain[inner], minlength=len(self.n_levels))
        return sums / sums.sum() if sums.sum() > 0 else sums

    def walkers(self, X: np.ndarray | None = None) -> Walkers:
        """The compiled view of the arrays; packed once if that is worth it for the rows of X."""
        if X is None or len(X) < WORTH_PACKING or not len(self.feature):
            return self._view()
        kept, missing = _PACKED.setdefault(self, {}), prediction.has_missing(X, [self.feature])
        if missing not in kept:
            walkers = self._view()
            walkers.pack(missing)
            kept[missing] = walkers
        return kept[missing]

    def _view(self) -> Walkers:
        return Walkers(
            self.start, self.feature, self.threshold, self.left, self.right, self.missing_left,
            self.set_start, self.sets, self.value, self.n_levels, self.n_outputs,
        )  # fmt: skip

    def add(
        self, X: np.ndarray, out: np.ndarray, walkers: Walkers, first: int, last: int
    ) -> np.ndarray:
        """out (n, K) += the trees of the rounds [first, last)."""
        K, n = self.n_outputs, len(X)
        trees = (first * K, last * K)
        _by_blocks(lambda a, b: walkers.add(X, a, b, *trees, out), n, n * (last - first) * K)
        return out

    def path(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(base (K,), contributions (n, d, K)): the sum of the values of the roots, and the changes
        of the values at the splits by each column."""
        base = self.value[self.start[:-1]].reshape(-1, self.n_outputs).sum(axis=0)
        out = np.zeros((len(X), X.shape[1], self.n_outputs))
        walkers = self.walkers()
        _by_blocks(lambda a, b: walkers.contributions(X, a, b, out), len(X), 2**20)
        return base, out

    def shap(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(base (K,), contributions (n, d, K)): Shapley values, branches averaged by samples."""
        base, out = np.zeros(self.n_outputs), np.zeros((len(X), X.shape[1], self.n_outputs))
        for k in range(self.n_outputs):
            own = range(k, self.n_trees, self.n_outputs)
            trees = [
                replace(self.tree(t), weight=self.n_samples[self.start[t] : self.start[t + 1]])
                for t in own
            ]
            if trees:
                values = [tree.value for tree in trees]
                found = prediction.shap(trees, values, np.ones(len(trees)), X)
                base[k], out[:, :, k] = found[0][0], found[1][:, :, 0]
        return base, out


# Packed views live as long as their trees but are not part of them: files and copies have none.
_PACKED: WeakKeyDictionary[BoostedTrees, dict[bool, Walkers]] = WeakKeyDictionary()


def _by_blocks(work: Any, n: int, steps: int) -> None:
    # Few rows with many trees are shared out in quarters, rounded to multiples of eight.
    size = max(64, -(-n // 32) * 8) if n <= BLOCK and steps >= WORTH_SHARING else BLOCK
    blocks = [(first, min(first + size, n)) for first in range(0, n, size)]
    parallel.map(lambda block: work(*block), blocks, None if steps >= 2**16 else 1)
