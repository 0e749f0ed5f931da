import random
import socket
from collections.abc import Iterator

import pytest

from localcluster.machine.errors import LocalClusterError
from localcluster.machine.ports import Ports, default_range


@pytest.mark.parametrize(
    ("ephemeral", "expected"),
    [
        pytest.param("32768\t60999\n", range(20_000, 24_000), id="Linux's default"),
        pytest.param("24000\t65535", range(20_000, 24_000), id="begins right above ours"),
        pytest.param("1024\t19999", range(20_000, 24_000), id="ends right below ours"),
        pytest.param("15000\t65000", range(11_000, 15_000), id="over ours: below it"),
        pytest.param("1024\t60999", range(61_000, 65_000), id="no room below it: above it"),
        pytest.param("1024\t64535", range(64_536, 65_536), id="what little is left above it"),
    ],
)
def test_ports_lie_outside_the_ephemeral_range(ephemeral: str, expected: range) -> None:
    assert default_range(ephemeral) == expected


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening


@pytest.fixture
def unused() -> list[int]:
    """Two ports of the clusters' range: the kernel gives none of them to a connection meanwhile."""
    ports = Ports(random.sample(default_range(), 100))
    found = [ports.reserve(), ports.reserve()]
    ports.release_all()
    return found


@pytest.fixture
def free_port(unused: list[int]) -> int:
    return unused[0]


@pytest.fixture
def other_port(unused: list[int]) -> int:
    return unused[1]


def test_busy_port_is_skipped(listener: socket.socket, free_port: int) -> None:
    busy = listener.getsockname()[1]
    ports = Ports([busy, free_port])
    assert ports.reserve() == free_port
    ports.release_all()


def test_another_clusters_port_is_skipped(free_port: int, other_port: int) -> None:
    one, other = Ports([free_port]), Ports([free_port, other_port])
    assert one.reserve() == free_port
    assert other.reserve() == other_port
    one.release_all()
    other.release_all()


def test_no_free_port_names_the_range(listener: socket.socket) -> None:
    busy = listener.getsockname()[1]
    with pytest.raises(LocalClusterError) as caught:
        Ports([busy]).reserve()
    assert str(caught.value) == (
        f"No port from {busy} to {busy} is free on 127.0.0.1."
        " Stop something that listens there; `ss -ltnp` lists what does."
    )


def test_released_port_can_be_reserved_again(free_port: int) -> None:
    one, other = Ports([free_port]), Ports([free_port])
    one.reserve()
    one.release_all()
    assert other.reserve() == free_port
    other.release_all()
