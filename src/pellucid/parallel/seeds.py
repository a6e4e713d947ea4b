"""Random streams: a task's numbers depend on the seed and the task's own name, on nothing else.

Invariant: neither the number of threads, nor the partition, nor the order in which tasks run
changes a stream.
"""

from __future__ import annotations

import functools
import hashlib
from typing import TypeAlias

import numpy as np

from pellucid.errors import ParameterError
from pellucid.parallel.shard import of_first_rows

RandomState: TypeAlias = (
    "int | np.random.RandomState | np.random.Generator | np.random.SeedSequence | None"
)


def _words(source: np.random.RandomState | np.random.Generator) -> np.ndarray:
    draw = source.randint if isinstance(source, np.random.RandomState) else source.integers
    return draw(0, 2**32, size=4, dtype=np.uint32)


def seed_sequence(random_state: RandomState) -> np.random.SeedSequence:
    """The one seed of a fit. A RandomState or Generator advances; None draws from NumPy's own.

    >>> seed_sequence(7).entropy
    7
    """
    if isinstance(random_state, np.random.SeedSequence):
        return random_state
    if random_state is None or random_state is np.random:
        random_state = np.random.mtrand._rand  # as in scikit-learn: np.random.seed governs None
    if isinstance(random_state, np.random.RandomState | np.random.Generator):
        source = random_state
        # Processes that share the rows of a table draw the same numbers: those of the first one.
        words = of_first_rows(lambda: _words(source))
        return np.random.SeedSequence([int(word) for word in words])
    if (
        not isinstance(random_state, bool)
        and hasattr(random_state, "__index__")
        and random_state >= 0
    ):
        return np.random.SeedSequence(int(random_state))
    raise ParameterError(
        "The 'random_state' parameter must be an int >= 0, a numpy RandomState or Generator, "
        f"or None. Got {random_state!r} instead."
    )


def stream(seed: np.random.SeedSequence, *task: int | str) -> np.random.Generator:
    """The generator of one task, named by ints >= 0 and strings.

    >>> seed = seed_sequence(0)
    >>> float(stream(seed, "tree", 3).random()) == float(stream(seed, "tree", 3).random())
    True
    """
    key = tuple(seed.spawn_key) + tuple(_word(part) for part in task)
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed.entropy, spawn_key=key)))


@functools.lru_cache(maxsize=256)
def _word(part: int | str) -> int:
    if isinstance(part, str):
        return int.from_bytes(hashlib.blake2b(part.encode(), digest_size=16).digest(), "little")
    return int(part)
