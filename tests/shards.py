"""Fits by several processes that share the rows, played by threads: what a cluster does, without one."""

import copy
import pickle
import threading
from functools import partial

from pellucid.data.sources.in_memory import from_table
from pellucid.parallel.shard import Shard, within


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


def fit_in_shards(model, table, *roles, ends):
    """Copies of the model that threads have fitted to the rows between `ends`, and the exchange."""
    exchange, found, errors = Exchange(len(ends) - 1), {}, []

    def work(rank):
        first, last = ends[rank], ends[rank + 1]
        here = Shard(first, last, ends[-1], 1, partial(exchange.gather, rank))
        own = copy.deepcopy(model)
        try:
            with within(here):
                own._learn(from_table(table.slice(first, last - first)), *roles)
            found[rank] = own
        except BaseException as error:
            errors.append(error)
            exchange.barrier.abort()

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(len(ends) - 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in sorted(errors, key=lambda e: isinstance(e, threading.BrokenBarrierError)):
        raise error
    return [found[rank] for rank in sorted(found)], exchange
