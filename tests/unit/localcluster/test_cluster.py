"""The end of a cluster: each part is ended, whatever becomes of the others."""

from types import SimpleNamespace
from typing import Any

import pytest

from localcluster.cluster import ClusterOptions, LocalCluster

IN_ORDER = ["node", "network", "processes", "ports", "folder"]


def cluster_of(ended: list[str], failing: str) -> Any:
    """A cluster that has everything. Each part tells when it is ended; one then fails."""

    def ending(part: str) -> Any:
        def end() -> None:
            ended.append(part)
            if part == failing:
                raise OSError(f"{part} is stuck")

        return end

    cluster: Any = LocalCluster(ClusterOptions())
    cluster.node = SimpleNamespace(close_now=ending("node"))
    cluster._network = SimpleNamespace(release=ending("network"))
    cluster.processes = SimpleNamespace(kill_all_now=ending("processes"))
    cluster.ports = SimpleNamespace(release_all=ending("ports"))
    cluster._folder = SimpleNamespace(remove=ending("folder"))
    return cluster


def test_the_node_goes_first_and_the_folder_last() -> None:
    ended: list[str] = []
    cluster_of(ended, failing="")._last_resort()
    assert ended == IN_ORDER


@pytest.mark.parametrize("failing", IN_ORDER)
def test_a_process_that_cannot_be_ended_stops_no_other_cleanup(failing: str) -> None:
    ended: list[str] = []
    with pytest.raises(OSError, match=rf"^{failing} is stuck$"):
        cluster_of(ended, failing)._last_resort()
    assert ended == IN_ORDER


def test_without_a_folder_there_is_nothing_to_end() -> None:
    LocalCluster(ClusterOptions())._last_resort()
