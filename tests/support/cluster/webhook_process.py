"""Runs the webhook as a process of its own, beside the cluster's."""

import asyncio
import json
import os
import re
import signal
import ssl
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import yaml

from localcluster.machine.slowness import stretched
from tests.support.builders.certificates import self_signed
from tests.support.cluster.kubectl import TRIES
from tests.support.patience import PATIENCE_SECONDS, comes_to

_ROOT = Path(__file__).resolve().parents[3]
_UNANSWERED = re.compile(r"no answer within \d+ s")
# The webhook alone decides, whatever the user of the review.
ALONE: dict[str, Any] = {"appwrapper": {"userRBACAdmissionCheck": False}}


class WebhookProcess:
    """A running webhook. Its log is kept from the first line on."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []
        self._more = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    @property
    def pid(self) -> int:
        """Returns the program's process id."""
        return self.process.pid

    @property
    def messages(self) -> list[str]:
        """Returns the messages of the log so far; lines that are not JSON as they are."""
        return [json.loads(line)["message"] if line[:1] == "{" else line for line in self.lines]

    def messages_among(self, *wanted: str) -> list[str]:
        """Returns those messages that are among `wanted`, in the order of the log.

        A program's other parts log in between whenever they like.
        """
        return [message for message in self.messages if message in wanted]

    async def logged(self, pattern: str) -> re.Match[str]:
        """Waits for a message that `pattern` matches as a whole. Fails if the process ends."""
        async with asyncio.timeout(PATIENCE_SECONDS), self._more:
            while True:
                for message in self.messages:
                    if found := re.fullmatch(pattern, message):
                        return found
                assert not self._reading.done(), f"it ended without {pattern!r}: {self.lines}"
                await self._more.wait()

    async def port(self) -> int:
        """Returns its port, once it serves, ready or not."""
        return int((await self.logged(r"serving on \S+ port ([0-9]+)"))[1])

    async def ready_port(self) -> int:
        """Returns its port, once it is ready."""
        port = await self.port()
        async with client(port) as http:

            async def readiness() -> int:
                return (await http.get("/readyz")).status_code

            await comes_to(readiness, 200)
        return port

    async def catches(self, number: signal.Signals) -> None:
        """Waits until the process has a handler for this signal."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            # No event reports another process's state.
            while not _handlers(self.pid) >> (number - 1) & 1:  # noqa: ASYNC110
                await asyncio.sleep(0.001)

    def ask_to_end(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    async def ended(self) -> int:
        """Returns its exit code, once its whole output has been read."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._reading
            return await self.process.wait()

    async def kill(self) -> None:
        """Sends SIGKILL if it still runs."""
        if self.process.returncode is None:
            self.process.kill()
        await self.ended()

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            async with self._more:
                self.lines.append(line.decode().rstrip())
                self._more.notify_all()
        async with self._more:
            self._more.notify_all()


@asynccontextmanager
async def webhook_process(
    folder: Path,
    kubeconfig: Path,
    *flags: str,
    webhook: Mapping[str, Any] | None = None,
    metrics: str = "127.0.0.1:0",
    **sections: Any,
) -> AsyncIterator[WebhookProcess]:
    """Starts one under the identity of `kubeconfig`, with a configuration written to `folder`.

    `webhook` and `metrics` are controllerManager's, `sections` the others.
    """
    listeners = {
        "webhook": {"bindAddress": "127.0.0.1:0", "drainPeriod": "0s", **(webhook or {})},
        "metrics": {"bindAddress": metrics},
    }
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump({"controllerManager": listeners, **sections}))
    async with started(kubeconfig, "--config", str(file), *flags) as running:
        yield running


@asynccontextmanager
async def started(kubeconfig: Path, *flags: str) -> AsyncIterator[WebhookProcess]:
    """Starts one with these flags alone."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "webhook", *flags),
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        cwd=_ROOT,
    )
    running = WebhookProcess(process)
    try:
        yield running
    finally:
        await running.kill()


def _handlers(pid: int) -> int:
    """Returns the mask of signals that a process catches."""
    status = Path(f"/proc/{pid}/status").read_text()
    found = re.search(r"^SigCgt:\s*([0-9a-f]+)$", status, re.MULTILINE)
    assert found is not None
    return int(found[1], 16)


def write_pair(folder: Path, serial: int) -> bytes:
    start = datetime.now(UTC) - timedelta(hours=1)  # noqa: TID251  what a TLS client checks
    certificate, key = self_signed(serial, start, start + timedelta(days=1))
    for name, content in {"tls.key": key, "tls.crt": certificate}.items():
        (folder / "new").write_bytes(content)
        os.replace(folder / "new", folder / name)
    return certificate


async def answer_to(
    http: httpx.AsyncClient, path: str, body: Any, **options: Any
) -> httpx.Response:
    """Returns the answer to a review. Asks again, as a user would, if the API server did not report
    in time what the user may do.
    """
    for _ in range(TRIES):
        response = await http.post(path, json=body, **options)
        if not _UNANSWERED.search(response.text):
            break
    return response


def client(port: int, certificate: bytes | None = None) -> httpx.AsyncClient:
    """Returns a client; without `certificate` it trusts any, as the kubelet's probes do."""
    verify: ssl.SSLContext | bool = False
    if certificate is not None:
        verify = ssl.create_default_context(cadata=certificate.decode())
    return httpx.AsyncClient(
        base_url=f"https://127.0.0.1:{port}",
        verify=verify,
        limits=httpx.Limits(keepalive_expiry=60),  # like the API server, longer than these tests
        timeout=stretched(60.0),
    )
