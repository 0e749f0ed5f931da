"""Ports of this machine."""

import errno
import os
import socket

import pytest

from shared.config.values import BindAddress
from shared.process.listener import CannotListen, listen


def port_of(bound: socket.socket) -> int:
    port: int = bound.getsockname()[1]
    return port


def test_a_port_that_is_taken_is_an_error_that_names_it() -> None:
    with listen(BindAddress("127.0.0.1", 0)) as first:
        port = port_of(first)
        with pytest.raises(CannotListen) as raised:
            listen(BindAddress("127.0.0.1", port))
        assert str(raised.value) == (
            f"cannot listen on 127.0.0.1 port {port}: Address already in use"
        )


def test_an_address_of_another_machine_is_an_error_that_names_it() -> None:
    with pytest.raises(CannotListen) as raised:
        listen(BindAddress("192.0.2.1", 0))
    assert str(raised.value) == (
        "cannot listen on 192.0.2.1 port 0: Cannot assign requested address"
    )


def test_an_address_of_a_family_that_the_kernel_lacks_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))

    monkeypatch.setattr(socket, "socket", fail)
    with pytest.raises(CannotListen) as raised:
        listen(BindAddress("::1", 9443))
    assert str(raised.value) == (
        "cannot listen on ::1 port 9443: Address family not supported by protocol"
    )


@pytest.mark.skipif(
    not socket.has_dualstack_ipv6(),
    reason="needs IPv6: sysctl net.ipv6.conf.all.disable_ipv6=0",
)
@pytest.mark.parametrize(
    ("host", "reached"),
    [("", ["127.0.0.1", "::1"]), ("127.0.0.1", ["127.0.0.1"]), ("::1", ["::1"])],
)
def test_which_addresses_are_listened_on(host: str, reached: list[str]) -> None:
    with listen(BindAddress(host, 0)) as listening:
        for address in ("127.0.0.1", "::1"):
            family = socket.AF_INET6 if ":" in address else socket.AF_INET
            with socket.socket(family) as client:
                failed = client.connect_ex((address, port_of(listening)))
            assert (failed == 0) is (address in reached), address
