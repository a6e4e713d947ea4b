"""Fits by several processes that share the rows, played by threads: what a cluster does, without one."""

import copy
import pickle
import threading
from contextvars import copy_context
from functools import partial
from itertools import pairwise

import pyarrow as pa

from pellucid.data.sources.in_memory import from_table
from pellucid.parallel.shard import Shard, runs_of, unit_rows, within


def consecutive(total, parts):
    """Runs of rows for each of some processes: neighbours stay together."""
    units, unit = -(-total // unit_rows(total, parts)), unit_rows(total, parts)
    ends = [round(k * units / parts) for k in range(parts + 1)]
    return [runs_of(list(range(a, b)), unit, total) for a, b in pairwise(ends)]


def in_turn(total, parts):
    """Runs of rows for each of some processes, which take them in turn, a unit each."""
    unit = unit_rows(total, parts)
    units = range(-(-total // unit))
    return [runs_of(list(units[k::parts]), unit, total) for k in range(parts)]


class Exchange:
    """All threads bring a value and get those of all; they must bring them under the same label."""

    def __init__(self, size):
        self.barrier = threading.Barrier(size, timeout=60)
        self.values, self.labels = {}, {}
        self.passes = self.bytes = 0

    def gather(self, rank, label, value):
        self.barrier.wait()
        self.labels[rank], self.values[rank] = label, pickle.dumps(value)
        self.barrier.wait()
        assert len(set(self.labels.values())) == 1, self.labels
        if rank == 0:
            self.passes += 1
            self.bytes += sum(map(len, self.values.values()))
        return [pickle.loads(self.values[k]) for k in sorted(self.values)]


def fit_in_shards(model, table, *roles, runs):
    """Copies of the model that threads have fitted to their runs of rows, and the exchange."""
    exchange, found, errors = Exchange(len(runs)), {}, []

    def work(rank):
        here = Shard(runs[rank], table.num_rows, 1, partial(exchange.gather, rank))
        rows = pa.concat_tables(table.slice(first, last - first) for first, last in runs[rank])
        own = copy.deepcopy(model)
        try:
            with within(here):
                own._learn(from_table(rows), *roles)
            found[rank] = own
        except BaseException as error:
            errors.append(error)
            exchange.barrier.abort()

    threads = [
        threading.Thread(target=copy_context().run, args=(work, rank)) for rank in range(len(runs))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in sorted(errors, key=lambda e: isinstance(e, threading.BrokenBarrierError)):
        raise error
    return [found[rank] for rank in sorted(found)], exchange
