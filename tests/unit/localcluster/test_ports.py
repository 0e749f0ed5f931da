import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from localcluster.errors import NoFreePort
from localcluster.locks import FileLock
from localcluster.ports import Ports, default_range


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
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def test_busy_port_is_skipped(listener: socket.socket, free_port: int, tmp_path: Path) -> None:
    busy = listener.getsockname()[1]
    ports = Ports([busy, free_port], tmp_path)
    assert ports.reserve() == free_port
    # Nothing is kept of the port that could not be had.
    assert [entry.name for entry in tmp_path.iterdir()] == [str(free_port)]


def test_another_clusters_port_is_skipped(free_port: int, tmp_path: Path) -> None:
    other = FileLock.try_take(tmp_path / "1")
    assert other is not None
    assert Ports([1, free_port], tmp_path).reserve() == free_port


def test_no_free_port_names_the_range(listener: socket.socket, tmp_path: Path) -> None:
    busy = listener.getsockname()[1]
    with pytest.raises(NoFreePort) as caught:
        Ports([busy], tmp_path).reserve()
    assert str(caught.value) == (
        f"No port from {busy} to {busy} is free on 127.0.0.1."
        " Stop something that listens there; `ss -ltnp` lists what does."
    )


def test_released_ports_leave_nothing(free_port: int, tmp_path: Path) -> None:
    folder = tmp_path / "ports"
    ports = Ports([free_port], folder)
    ports.reserve()
    ports.release_all()
    assert not folder.exists()
    assert Ports([free_port], folder).reserve() == free_port
