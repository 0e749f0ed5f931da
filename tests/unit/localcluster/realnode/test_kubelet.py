from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from localcluster.realnode.kubelet import configuration, node_ready
from shared.kube.client import NotFound, Unreachable

UNREADY = {"type": "Ready", "status": "False", "message": "the network is not there"}
READY = {"type": "Ready", "status": "True", "message": "it is"}


def test_nothing_is_configured_for_the_whole_machine() -> None:
    settings = configuration("198.18.0.2", Path("/c/kubelet"), "awnode0-1-2")
    # It checks the kernel's settings and never writes them.
    assert settings["protectKernelDefaults"] is True
    assert settings["cgroupRoot"] == "/awnode0-1-2"
    assert settings["cgroupDriver"] == "cgroupfs"
    assert settings["enforceNodeAllocatable"] == []
    assert settings["resolvConf"] == "/c/kubelet/resolv.conf"
    assert settings["volumePluginDir"] == "/c/kubelet/volume-plugins"


def test_only_the_cluster_reaches_it() -> None:
    settings = configuration("198.18.0.2", Path("/c/kubelet"), "awnode0-1-2")
    assert (settings["address"], settings["healthzBindAddress"]) == ("198.18.0.2", "198.18.0.2")
    assert settings["readOnlyPort"] == 0
    assert settings["authorization"] == {"mode": "Webhook"}


def test_no_pod_is_evicted_and_no_image_thrown_away_because_the_disk_is_full() -> None:
    settings = configuration("198.18.0.2", Path("/c/kubelet"), "awnode0-1-2")
    assert set(settings["evictionHard"].values()) == {"0%"}
    assert settings["imageGCHighThresholdPercent"] == 100


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            NotFound(404, "NotFound", 'nodes "real-node" not found'),
            "node real-node has not made itself known; a firewall of this machine may keep"
            " 198.18.0.0/16 from it",
        ),
        (Unreachable("refused"), "node real-node cannot be read: refused"),
        ([], "node real-node is not Ready: it says nothing yet"),
        ([UNREADY], "node real-node is not Ready: the network is not there"),
        ([READY], None),
    ],
)
async def test_missing_parts_of_a_node_are_reported(answer: Any, message: str | None) -> None:
    async def get(*_: object) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return {"spec": {}, "status": {"conditions": answer}}

    client: Any = SimpleNamespace(get=get)
    assert await node_ready(client)() == message
