import itertools
from ipaddress import IPv4Network
from typing import Any

import pytest

from localcluster.realnode.subnets import SLOTS, Subnets, conflicting


def test_the_first_slot() -> None:
    first = Subnets.of(0)
    assert (first.interface, first.host_address, first.node_address) == (
        "awnode0",
        "198.18.0.1",
        "198.18.0.2",
    )
    assert first == Subnets(
        0,
        whole=IPv4Network("198.18.0.0/22"),
        link=IPv4Network("198.18.0.0/30"),
        pods=IPv4Network("198.18.1.0/24"),
        services=IPv4Network("198.18.2.0/24"),
    )


def test_the_last_slot() -> None:
    last = Subnets.of(63)
    assert (last.interface, last.host_address) == ("awnode63", "198.18.252.1")
    assert str(last.services) == "198.18.254.0/24"


def test_slots_share_no_address() -> None:
    for one, other in itertools.combinations(map(Subnets.of, SLOTS), 2):
        assert not one.whole.overlaps(other.whole)


def test_the_parts_of_a_slot_share_no_address() -> None:
    subnets = Subnets.of(7)
    parts = (subnets.link, subnets.pods, subnets.services)
    assert all(part.subnet_of(subnets.whole) for part in parts)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(parts, 2))


@pytest.mark.parametrize(
    "destination",
    [
        pytest.param("198.18.5.0/24", id="a part of it"),
        pytest.param("198.18.6.7", id="one address of it"),
        pytest.param("198.18.0.0/15", id="all of the range"),
    ],
)
def test_a_range_that_the_machine_routes_elsewhere_is_not_taken(destination: str) -> None:
    route = {"dst": destination, "dev": "tun0"}
    assert conflicting(Subnets.of(1), [{"dst": "default"}, route]) == route


@pytest.mark.parametrize(
    "routes",
    [
        pytest.param([], id="no route"),
        pytest.param([{"dst": "default", "dev": "eth0"}], id="the default route"),
        pytest.param([{"dst": "0.0.0.0/0", "dev": "eth0"}], id="the default route in figures"),
        pytest.param([{"dst": "198.18.0.0/22", "dev": "awnode0"}], id="the slot below"),
        pytest.param([{"dst": "198.18.8.0/22", "dev": "awnode2"}], id="the slot above"),
        pytest.param([{"type": "local", "dst": "127.0.0.0/8"}], id="the loopback interface"),
    ],
)
def test_other_routes_do_not_matter(routes: list[dict[str, Any]]) -> None:
    assert conflicting(Subnets.of(1), routes) is None
