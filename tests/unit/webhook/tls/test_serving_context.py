import gc
import os
import ssl
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.fakes.handshakes import served_certificate
from tests.support.fakes.tls import authority, leaf
from webhook.tls.serving_context import ServingContext, context_of

CA = authority()
FIRST, SECOND = leaf(CA), leaf(CA)


@pytest.mark.parametrize("name", ["webhook", None])
def test_each_handshake_gets_the_newest_certificate(name: str | None) -> None:
    serving = ServingContext()
    serving.swap(context_of(FIRST))
    assert served_certificate(serving.front, name) == FIRST.certificate
    serving.swap(context_of(SECOND))
    assert served_certificate(serving.front, name) == SECOND.certificate


def test_without_a_certificate_a_handshake_fails() -> None:
    with pytest.raises(ssl.SSLError):
        served_certificate(ServingContext().front)


def test_old_protocols_are_not_spoken() -> None:
    assert ServingContext().front.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context_of(FIRST).minimum_version is ssl.TLSVersion.TLSv1_2


def test_no_file_is_made_and_no_descriptor_stays_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    gc.collect()  # what earlier tests left open is closed now, and not meanwhile
    before = sorted(os.listdir("/proc/self/fd"))
    context_of(FIRST)
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert list(tmp_path.iterdir()) == []


def test_no_client_can_skip_the_newest_certificate_by_resuming_a_session() -> None:
    serving = ServingContext()
    serving.swap(context_of(FIRST))
    clients = ssl.create_default_context()
    clients.check_hostname, clients.verify_mode = False, ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = clients.wrap_bio(to_client, to_server)
    server = serving.front.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server, client, server):
        with suppress(ssl.SSLWantReadError):
            side.do_handshake()
    server.write(b"a ticket would come before this")
    assert client.read()
    assert client.session is not None
    assert not client.session.has_ticket
