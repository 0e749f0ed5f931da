"""The webhook as a process: it serves over TLS, takes up a new certificate, ends at SIGTERM."""

import asyncio
import os
import re
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from tests.builders.admission import appwrapper, review
from tests.builders.certificates import self_signed


def write_pair(folder: Path, serial: int) -> bytes:
    start = datetime.now(UTC) - timedelta(hours=1)  # noqa: TID251  what a TLS client checks
    certificate, key = self_signed(serial, start, start + timedelta(days=1))
    for name, content in {"tls.key": key, "tls.crt": certificate}.items():
        (folder / "new").write_bytes(content)
        os.replace(folder / "new", folder / name)
    return certificate


@asynccontextmanager
async def running(folder: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    """The process, and the port that its log names."""
    (folder / "config.yaml").write_text("appwrapper: {defaultQueueName: default-queue}\n")
    process = await asyncio.create_subprocess_exec(
        *[sys.executable, "-m", "webhook", "--config", str(folder / "config.yaml")],
        *["--cert-dir", str(folder), "--host", "127.0.0.1", "--port", "0"],
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        async for line in process.stderr:
            if found := re.search(rb"serving on 127.0.0.1 port ([0-9]+)", line):
                yield process, int(found[1])
                break
        else:
            pytest.fail("the webhook ended without serving")
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def client(certificate: bytes, port: int) -> httpx.AsyncClient:
    context = ssl.create_default_context(cadata=certificate.decode())
    return httpx.AsyncClient(
        base_url=f"https://127.0.0.1:{port}",
        verify=context,
        limits=httpx.Limits(keepalive_expiry=60),  # like the API server, longer than this test
    )


async def test_it_serves_reloads_and_ends(tmp_path: Path) -> None:
    first = write_pair(tmp_path, 1)
    async with running(tmp_path) as (process, port):
        async with client(first, port) as http:
            assert (await http.get("/readyz")).text == "ok\n"
            answered = (await http.post("/mutate", json=review(appwrapper()))).json()
            assert (answered["response"]["uid"], answered["response"]["allowed"]) == ("7", True)

            second = write_pair(tmp_path, 2)
            async with asyncio.timeout(30):
                await _until_served(second, port)
            # The connection of before goes on undisturbed.
            assert (await http.post("/validate", json=review(appwrapper()))).status_code == 200

        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(15):
            assert await process.wait() == 0


async def _until_served(certificate: bytes, port: int) -> None:
    while True:
        async with client(certificate, port) as http:
            try:
                await http.get("/healthz")
            except httpx.ConnectError:
                await asyncio.sleep(0.2)
            else:
                return
