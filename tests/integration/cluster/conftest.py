"""Clusters of processes on this machine, as dask makes them."""

from __future__ import annotations

from collections.abc import Iterator

import dask
import pytest
from distributed import Client, LocalCluster

from tests.command import ensure_running

WORKERS = 4


@pytest.fixture(scope="module")
def _cluster() -> Iterator[LocalCluster]:
    # Workers are forked from the process that commands are forked from, which has all loaded.
    ensure_running()
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as made,
    ):
        yield made


@pytest.fixture
def cluster(_cluster: LocalCluster) -> LocalCluster:
    """Return four worker processes; those that died are started again."""
    with Client(_cluster, set_as_default=False) as client:
        client.wait_for_workers(WORKERS)
    return _cluster
