"""Arrays in scratch files: a ceiling that holds, forks, and reordering by buckets."""

import os
import subprocess
import sys

import numpy as np
import pytest

from pellucid.parallel import external, memory, passes, row_blocks
from pellucid.parallel import map as parallel_map

pytestmark = pytest.mark.skipif(os.name == "nt", reason="scratch files need POSIX")


@pytest.fixture
def small(monkeypatch):
    """A ceiling above what the process holds, with small buckets, and no large array in memory."""
    monkeypatch.setattr(memory, "BUDGET", 0)
    monkeypatch.setattr(memory, "LARGEST", 2**16)
    monkeypatch.setattr(memory, "SMALLEST", 2**16)
    monkeypatch.setattr(external, "PART", 2**16)
    memory.set_memory(memory.resident() + 400 * 10**6)
    with memory.ceiling(memory.get_memory()) as usage:
        yield usage
    memory.set_memory(None)


@pytest.mark.parametrize("ties", [False, True])
def test_sorting_by_buckets_is_stable(small, ties):
    rng = np.random.default_rng(0)
    few = rng.integers(0, 2**64, 5_000, dtype=np.uint64)
    keys = few[rng.integers(0, len(few), 60_000)]
    weights = rng.normal(size=len(keys)) if ties else None
    expected = np.argsort(keys, kind="stable") if weights is None else np.lexsort((weights, keys))
    np.testing.assert_array_equal(external.argsort(keys, weights), expected)


@pytest.mark.parametrize("shape", [(60_000,), (60_000, 3)])
def test_rows_are_gathered_and_scattered_by_buckets(small, shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    for rows in (rng.permutation(60_000), rng.integers(0, 60_000, 40_000), np.arange(9)):
        np.testing.assert_array_equal(external.take(X, rows), X[rows])
    order, out = rng.permutation(60_000), np.zeros(60_000)
    external.scatter(out, order, X.reshape(60_000, -1)[:, 0])
    np.testing.assert_array_equal(out[order], X.reshape(60_000, -1)[:, 0])


def test_a_forked_child_changes_its_own_copy(small):
    X = np.arange(100_000.0)
    child = os.fork()
    if child == 0:
        X[:] += 1
        os._exit(int(X[0] != 1 or X[-1] != 100_000))
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(X, np.arange(100_000.0))


def test_arrays_outlive_their_ceiling():
    memory.set_memory(memory.resident() + 400 * 10**6)
    with memory.ceiling(memory.get_memory()):
        X = np.ones(2**22)
    memory.set_memory(None)
    assert X.sum() == 2**22
    X[5] = 7
    assert X.copy()[5] == 7


CHILD = """
import numpy as np
from pellucid.parallel import memory
base = memory.resident()
limit = base + 100_000_000
with memory.ceiling(limit) as usage:
    a, b = np.zeros(12_000_000), np.zeros(12_000_000)   # 192 MB
    for step in range(2):
        a += 1.0                                        # whole arrays, no blocks
        b += 2 * a
    total = float(a.sum() + b.sum())
    assert a[::1_000_003].tolist() == [2.0] * 12
    print(int(usage.planned < limit), total)
with open("/proc/self/status") as lines:
    peak = next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
print(int(peak <= limit), int(usage.peak == peak), usage.scratch, usage.visited, peak - base)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="needs /proc")
def test_the_ceiling_holds_for_whole_arrays():
    done = subprocess.run(
        [sys.executable, "-c", CHILD], capture_output=True, text=True, check=True
    ).stdout.split()
    assert done[:2] == ["1", str(12_000_000 * (2 + 6.0))]
    assert done[2:4] == ["1", "1"], done
    assert int(done[4]) >= 192_000_000 and int(done[5]) > 2 * 192_000_000


def test_a_real_fault_still_ends_the_process():
    code = (
        "import ctypes, faulthandler\nfrom pellucid.parallel import memory\n"
        "faulthandler.enable()\n"
        "with memory.ceiling(memory.resident() + 10**9):\n    ctypes.string_at(8)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode < 0 and "Segmentation fault" in done.stderr


def test_passes_and_rows_are_counted():
    seen = []
    meter = passes.Meter(100_000, lambda **row: seen.append(row))
    with passes.metered(meter):
        for _ in range(3):
            parallel_map(lambda rows: None, row_blocks(100_000, 4))
        parallel_map(lambda k: None, range(5))
        parallel_map(lambda rows: None, row_blocks(90_000, 4))  # a tenth of the rows is held back
        parallel_map(lambda rows: None, row_blocks(10_000, 4))
    assert meter.passes == 4
    assert seen[-1]["number"] == 4 and seen[-1]["rows"] == seen[-1]["n_rows"] == 90_000
    full = [row for row in seen if row["rows"] == 100_000]
    assert [row["number"] for row in full[:3]] == [1, 2, 3] and full[0]["seconds_left"] == 0


@pytest.mark.parametrize("repeated", [False, True])
def test_the_order_of_keys_is_stable(repeated):
    keys = np.random.default_rng(0).integers(0, 2**63, 5000).astype(np.uint64)
    keys = keys % np.uint64(100) if repeated else keys
    assert (external.argsort(keys) == np.argsort(keys, kind="stable")).all()
