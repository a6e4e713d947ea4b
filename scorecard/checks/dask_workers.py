"""Workers of Dask on this machine, as processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from logging import CRITICAL
from typing import Any

PRELOADED = ["distributed", "dask.dataframe", "scorecard.checks.partitions"]


@contextmanager
def cluster(workers: int) -> Iterator[tuple[Any, Any]]:
    """(cluster, client) of worker processes of one thread each, silent about lost connections."""
    import dask
    import distributed

    given = {
        "distributed.worker.multiprocessing-method": "forkserver",
        "distributed.deploy.lost-worker-timeout": "5 minutes",
        "distributed.admin.large-graph-warning-threshold": "1 GB",
        "logging.distributed": "critical",
    }
    with dask.config.set(given):
        # Workers are forked from a process that has imported what fits need: they start at once.
        distributed.utils.get_mp_context().set_forkserver_preload(PRELOADED)
    with (
        dask.config.set(given),
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None,
            silence_logs=CRITICAL,
        ) as found,
        distributed.Client(found) as client,
    ):  # fmt: skip
        client.wait_for_workers(workers)
        yield found, client
