"""When the TLS context is made anew, and that the next request is sent with it."""

import os
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web

from shared.kube import credentials
from shared.kube.client import CannotConnect, Unauthorized, Unreachable
from shared.kube.credentials import (
    REREAD_SECONDS,
    ClientCertificates,
    FixedCredential,
    RenewedCredential,
    TlsFiles,
)
from shared.kube.http_client import HttpKubeClient
from shared.kube.kubeconfig import Credentials
from tests.support.builders.certificates import self_signed
from tests.support.fakes.fake_clock import FakeClock, ImpatientClock

ALWAYS = datetime(2020, 1, 1, tzinfo=UTC), datetime(2120, 1, 1, tzinfo=UTC)
SERVER, FIRST, SECOND = (
    self_signed(serial, *ALWAYS, name=f"test {serial}") for serial in (1, 2, 3)
)


class Pair:
    """The files of the client's certificate, which somebody rotates, and of the authority."""

    def __init__(self, folder: Path) -> None:
        self.authority, self.certificate, self.key = (
            folder / name for name in ("ca.crt", "client.crt", "client.key")
        )
        self.put(self.authority, SERVER[0])
        self.rotate(FIRST)

    def rotate(self, pair: tuple[bytes, bytes]) -> None:
        self.put(self.certificate, pair[0])
        self.put(self.key, pair[1])

    @staticmethod
    def put(file: Path, text: bytes) -> None:
        """Replaced as a whole, as who rotates credentials does."""
        new = file.with_suffix(".new")
        new.write_bytes(text)
        os.replace(new, file)

    def source(self) -> TlsFiles:
        return TlsFiles(
            ClientCertificates(
                authority=str(self.authority),
                certificate=str(self.certificate),
                key=str(self.key),
                origin="a test",
            )
        )


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


class TestRenewal:
    async def test_replaced_files_make_a_new_context_after_ten_seconds(self, pair: Pair) -> None:
        clock = FakeClock()
        tls = RenewedCredential(pair.source(), clock)
        first = await tls.current()
        pair.rotate(SECOND)
        clock.pass_by(REREAD_SECONDS - 0.1)
        assert await tls.current() is first
        clock.pass_by(0.1)
        second = await tls.current()
        assert isinstance(second, ssl.SSLContext)
        assert second is not first

    async def test_a_replaced_authority_does_too(self, pair: Pair) -> None:
        tls = RenewedCredential(pair.source(), FakeClock())
        first = await tls.current()
        pair.put(pair.authority, SERVER[0])
        assert await tls.after_rejection(first) is not first

    async def test_unchanged_files_keep_their_context(self, pair: Pair) -> None:
        clock = FakeClock()
        tls = RenewedCredential(pair.source(), clock)
        first = await tls.current()
        clock.pass_by(REREAD_SECONDS)
        assert await tls.current() is first
        assert await tls.after_rejection(first) is first

    async def test_after_a_rejection_the_files_are_read_at_once_and_once(self, pair: Pair) -> None:
        tls = RenewedCredential(pair.source(), FakeClock())
        first = await tls.current()
        pair.rotate(SECOND)
        second = await tls.after_rejection(first)
        assert second is not first
        assert await tls.after_rejection(first) is second

    async def test_between_a_certificate_and_its_key_the_last_pair_stays_in_use(
        self, pair: Pair, caplog: pytest.LogCaptureFixture
    ) -> None:
        tls = RenewedCredential(pair.source(), FakeClock())
        first = await tls.current()
        pair.put(pair.certificate, SECOND[0])
        assert await tls.after_rejection(first) is first
        # Only of this module: a task that an earlier test left behind may log its end here.
        [logged] = [
            each.getMessage() for each in caplog.records if each.name == credentials.__name__
        ]
        assert logged.startswith("the certificates of a test cannot be used: ")
        assert logged.endswith("; the last ones stay in use")
        pair.put(pair.key, SECOND[1])
        assert await tls.after_rejection(first) is not first

    async def test_a_file_that_vanishes_leaves_the_last_pair_in_use(self, pair: Pair) -> None:
        tls = RenewedCredential(pair.source(), FakeClock())
        first = await tls.current()
        pair.key.unlink()
        assert await tls.after_rejection(first) is first

    def test_files_that_were_never_there_cannot_connect(self, tmp_path: Path) -> None:
        pair = Pair(tmp_path)
        pair.authority.unlink()
        with pytest.raises(CannotConnect, match="the certificates of a test cannot be used: "):
            pair.source()

    async def test_credentials_inside_the_kubeconfig_never_change(self) -> None:
        context = ssl.create_default_context()
        tls = RenewedCredential(FixedCredential(context), FakeClock())
        assert await tls.after_rejection(await tls.current()) is context

    def test_an_authority_in_the_kubeconfig_beside_files_is_trusted_alone(self) -> None:
        certificates = ClientCertificates(authority_text=SERVER[0].decode(), origin="a test")
        context = certificates.context()
        assert [found["serialNumber"] for found in context.get_ca_certs()] == ["01"]


class DemandingServer:
    """Answers over TLS, and remembers which certificate each request came with."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.refused: set[str] = set()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        self.seen.append(request.transport.get_extra_info("peercert")["serialNumber"])
        return web.json_response({}, status=401 if self.seen[-1] in self.refused else 200)

    @asynccontextmanager
    async def client(self, pair: Pair, clock: FakeClock) -> AsyncIterator[HttpKubeClient]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*_files(pair.authority.parent, SERVER))
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=(FIRST[0] + SECOND[0]).decode())
        runner = web.ServerRunner(web.Server(self.handle), shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
            url = f"https://127.0.0.1:{runner.addresses[0][1]}"
            credentials = Credentials(url, pair.source(), FixedCredential(None))
            client = HttpKubeClient(credentials, clock, user_agent="test/1")
            try:
                yield client
            finally:
                await client.close()
        finally:
            await runner.cleanup()


def _files(folder: Path, pair: tuple[bytes, bytes]) -> tuple[Path, Path]:
    files = (folder / "server.crt", folder / "server.key")
    for file, text in zip(files, pair, strict=True):
        file.write_bytes(text)
    return files


async def test_requests_are_sent_under_the_new_certificate_though_old_connections_are_open(
    pair: Pair,
) -> None:
    clock, server = ImpatientClock(), DemandingServer()
    async with server.client(pair, clock) as client:
        await client.get_path("/version")
        pair.rotate(SECOND)
        await client.get_path("/version")
        clock.pass_by(REREAD_SECONDS)
        await client.get_path("/version")
    assert server.seen == ["02", "02", "03"]


async def test_a_rejected_certificate_is_read_again_once(pair: Pair) -> None:
    server = DemandingServer()
    async with server.client(pair, ImpatientClock()) as client:
        await client.get_path("/version")
        server.refused = {"02"}
        pair.rotate(SECOND)
        await client.get_path("/version")
        assert server.seen == ["02", "02", "03"]
        server.refused = {"02", "03"}
        with pytest.raises(Unauthorized):
            await client.get_path("/version")
        assert server.seen == ["02", "02", "03", "03"]


async def test_a_server_of_another_authority_is_not_trusted(pair: Pair) -> None:
    pair.put(pair.authority, FIRST[0])
    async with DemandingServer().client(pair, ImpatientClock()) as client:
        with pytest.raises(Unreachable) as raised:
            await client.get_path("/version")
    assert re.fullmatch(
        r"GET /version: cannot connect to 127\.0\.0\.1:[0-9]+: .*certificate verify failed.*",
        str(raised.value),
    )
