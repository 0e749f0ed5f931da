import os
import socket

from localcluster.machine.claims import claim


def test_one_name_is_claimed_by_one_process_at_a_time() -> None:
    name = f"test-{os.getpid()}"  # none that a cluster or another run of this test has
    held = claim(name)
    assert isinstance(held, socket.socket)
    assert claim(name) is None
    held.close()
    again = claim(name)
    assert again is not None
    again.close()
