from typing import Any

import numpy as np

class Draft:
    def __init__(self, size: int) -> None: ...
    def __len__(self) -> int: ...
    def segment(self, i: int) -> tuple[int, int, bool, float, int, int]: ...
    def close(self, i: int) -> None: ...

class Gathered:
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    set_start: np.ndarray
    sets: np.ndarray
    counts: np.ndarray
    cost: np.ndarray
    decrease: np.ndarray
    rows: np.ndarray
    weight: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    like: np.ndarray
    starts: np.ndarray
    word_starts: np.ndarray

def survey(w: np.ndarray) -> tuple[bool, bool, bool, float]: ...
def gather(
    drafts: list[Draft], attach: np.ndarray, n_levels: np.ndarray, bounded: bool = False
) -> Gathered: ...

class Workspace:
    def __init__(
        self,
        X: np.ndarray,
        lists: np.ndarray,
        kinds: np.ndarray,
        n_levels: np.ndarray,
        repeated: np.ndarray,
        missing: np.ndarray,
        labels: np.ndarray | None,
        target: np.ndarray | None,
        weights: np.ndarray | None,
        packed: np.ndarray | None,
        k_log_k: np.ndarray | None,
        n_classes: int,
        criterion: int,
        limits: tuple[Any, ...],
        stop: np.ndarray,
        places: np.ndarray | None = None,
        members: np.ndarray | None = None,
        target_place: np.ndarray | None = None,
        signs: np.ndarray | None = None,
        binned: Any = None,
        spare: list | None = None,
        n_targets: int = 1,
    ) -> None: ...
    def root(self, key: int) -> Draft: ...
    def branch(self, draft: Draft, i: int) -> Draft: ...
    def subtree(self, draft: Draft) -> None: ...
    def search(
        self, draft: Draft, i: int, first: int, last: int, splits: np.ndarray, known: np.ndarray
    ) -> None: ...
    def search_drawn(self, draft: Draft, i: int, splits: np.ndarray) -> None: ...
    def choose(self, draft: Draft, i: int, splits: np.ndarray) -> bool: ...
    def divide(self, draft: Draft, i: int) -> bool: ...
    def partition(self, draft: Draft, i: int, first: int, last: int) -> None: ...
    def split_bytes(self) -> int: ...

def preorder(left: np.ndarray, right: np.ndarray) -> np.ndarray: ...
def depths(left: np.ndarray, right: np.ndarray) -> np.ndarray: ...
def keep_rows(order: np.ndarray, wanted: np.ndarray, lists: np.ndarray) -> None: ...
def draw_counts(key: int, draws: int, counts: np.ndarray) -> None: ...
def grow_bags(
    work: Workspace, bags: np.ndarray, keys: np.ndarray, n_levels: np.ndarray, bounded: bool
) -> Gathered | None: ...
