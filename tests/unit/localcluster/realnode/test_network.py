import socket

import pytest

from localcluster.machine.errors import LocalClusterError
from localcluster.realnode import cgroups, network
from localcluster.realnode.network import NodeNetwork


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nothing of this machine is touched; every slot is free, and nothing is routed elsewhere."""
    monkeypatch.setattr(cgroups, "sweep", lambda: None)
    monkeypatch.setattr(network, "_remove_interface", lambda name: None)
    monkeypatch.setattr(network, "_routes", list)
    monkeypatch.setattr(network, "claim", lambda name: socket.socket())
    return monkeypatch


def test_every_slot_taken_is_reported_as_an_error(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(network, "claim", lambda name: None)
    with pytest.raises(LocalClusterError) as caught:
        NodeNetwork.claim()
    assert str(caught.value) == (
        "All 64 address ranges for real nodes are taken by other clusters on this machine."
        " `python -m localcluster down --dir D` ends one."
    )


def test_a_range_that_is_routed_elsewhere_is_an_error_that_names_the_route(
    machine: pytest.MonkeyPatch,
) -> None:
    machine.setattr(network, "_routes", lambda: [{"dst": "198.18.0.0/15", "dev": "tun0"}])
    with pytest.raises(LocalClusterError) as caught:
        NodeNetwork.claim()
    assert str(caught.value) == (
        "There is no free address range for a real node: this machine routes parts of"
        " 198.18.0.0/16 elsewhere: 198.18.0.0/15 (dev tun0). Remove that route (a VPN or a proxy"
        " may have set it) and start again."
    )
