import os
import socket

import pytest

from localcluster.machine.errors import NoFreeSubnet
from localcluster.realnode import cgroups, network
from localcluster.realnode.network import NodeNetwork


def test_one_slot_is_reserved_by_one_process_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    slot = 1_000_000 + os.getpid()  # none that a cluster or another run of this test has
    held = network._reserve(slot)
    assert isinstance(held, socket.socket)
    assert network._reserve(slot) is None
    held.close()
    again = network._reserve(slot)
    assert again is not None
    again.close()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nothing of this machine is touched; every slot is free, and nothing is routed elsewhere."""
    monkeypatch.setattr(cgroups, "sweep", lambda: None)
    monkeypatch.setattr(network, "_remove_interface", lambda name: None)
    monkeypatch.setattr(network, "_routes", list)
    monkeypatch.setattr(network, "_reserve", lambda slot: socket.socket())
    return monkeypatch


def test_every_slot_taken_is_reported_as_an_error(machine: pytest.MonkeyPatch) -> None:
    machine.setattr(network, "_reserve", lambda slot: None)
    with pytest.raises(NoFreeSubnet) as caught:
        NodeNetwork.claim()
    assert str(caught.value) == (
        "All 64 address ranges for real nodes are taken by other clusters on this machine."
        " `python -m localcluster down --dir D` ends one."
    )


def test_a_range_that_is_routed_elsewhere_is_an_error_that_names_the_route(
    machine: pytest.MonkeyPatch,
) -> None:
    machine.setattr(network, "_routes", lambda: [{"dst": "198.18.0.0/15", "dev": "tun0"}])
    with pytest.raises(NoFreeSubnet) as caught:
        NodeNetwork.claim()
    assert str(caught.value) == (
        "There is no free address range for a real node: this machine routes parts of"
        " 198.18.0.0/16 elsewhere: 198.18.0.0/15 (dev tun0). Remove that route (a VPN or a proxy"
        " may have set it) and start again."
    )
