"""A closed client leaves no connection to the event loop, which may end at once."""

import asyncio
import gc
import socket
import ssl
import threading
import warnings
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from localcluster.access.probes import unverified
from shared.api.objects import PODS
from shared.kube.credentials import FixedCredential
from shared.kube.http_client import HttpKubeClient
from shared.kube.kubeconfig import Credentials
from tests.support.fakes.fake_clock import FakeClock
from tests.support.fakes.tls import START, authority, leaf

EVENT = b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}}\n'
HEAD = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, ssl.SSLContext]]:
    """Answers one watch with an event, and then reads nothing: not even that the client ends."""
    issuer = authority(START)
    served = leaf(issuer, START, names=("localhost",))
    pem, key = Encoding.PEM, (Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "tls.crt").write_bytes(served.certificate.public_bytes(pem))
    (tmp_path / "tls.key").write_bytes(served.key.private_bytes(*key))
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    over = threading.Event()

    def answer() -> None:
        connection, _ = listener.accept()
        with serving.wrap_socket(connection, server_side=True) as opened:
            opened.recv(65536)
            opened.sendall(HEAD + b"%x\r\n%s\r\n" % (len(EVENT), EVENT))
            over.wait()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield f"https://localhost:{listener.getsockname()[1]}", unverified()
        finally:
            over.set()
            thread.join()


async def watched_and_closed(url: str, tls: ssl.SSLContext) -> None:
    credentials = Credentials(url, FixedCredential(tls), FixedCredential(None))
    client = HttpKubeClient(credentials, FakeClock(), user_agent="test/1")
    try:
        async with aclosing(client.watch(PODS, "ns", resource_version="5")) as events:
            await anext(events)
    finally:
        await client.close()


def test_a_server_that_does_not_agree_to_the_end_leaves_nothing_open(
    server: tuple[str, ssl.SSLContext],
) -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        asyncio.run(watched_and_closed(*server))
        gc.collect()
    assert [str(each.message) for each in found] == []
