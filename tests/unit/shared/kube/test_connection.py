import socket

from shared.kube.connection import watchful_socket


def test_a_peer_that_vanished_is_noticed_within_45_seconds() -> None:
    address = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", 1))
    with watchful_socket(address) as made:

        def tcp(option: int) -> int:
            return made.getsockopt(socket.IPPROTO_TCP, option)

        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        idle = tcp(socket.TCP_KEEPIDLE)
        probes = tcp(socket.TCP_KEEPINTVL) * tcp(socket.TCP_KEEPCNT)
        unanswered = tcp(socket.TCP_USER_TIMEOUT) / 1000
        assert (idle, probes, unanswered) == (12, 24, 24.0)
        assert idle + max(probes, unanswered) < 45
