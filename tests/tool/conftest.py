"""What the tests of executors share: one cluster of ipyparallel's, which takes seconds to start."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    import ipyparallel

# Seconds that it may take: its controller is ten processes, and a skip is better than half a minute of each run.
START = 15


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ipyparallel.Client]:
    """Two engines."""
    import ipyparallel

    cluster = ipyparallel.Cluster(n=2, profile_dir=str(tmp_path_factory.mktemp("profile")), log_level=50)
    begun = time.monotonic()
    try:
        client = cluster.start_and_connect_sync(n=2)
        if (took := time.monotonic() - begun) > START:
            pytest.skip(f"ipyparallel's cluster took {took:.0f} s to start, more than the {START} allotted")
        with client:
            yield client
    finally:
        cluster.stop_cluster_sync()
