"""The webhook as a process: how it starts, what it serves, and how it ends."""

import asyncio
import re
import signal
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import yaml

from localcluster.access.probes import unverified
from localcluster.access.running import RunningCluster
from localcluster.product import NAMESPACE
from tests.support.builders.admission import POD, SERVICE, appwrapper, component, review
from tests.support.cluster.webhook_process import (
    ALONE,
    WebhookProcess,
    answer_to,
    client,
    started,
    webhook_process,
    write_pair,
)
from tests.support.patience import PATIENCE_SECONDS, comes_to

QUEUE: dict[str, Any] = {"appwrapper": {"defaultQueueName": "default-queue"}}
GOOD = review(appwrapper(labels={"kueue.x-k8s.io/queue-name": "default-queue"}))


@pytest.fixture
async def kubeconfig(cluster: RunningCluster) -> Path:
    """The webhook's own identity."""
    return await cluster.service_account_kubeconfig(NAMESPACE, "appwrapper-webhook")


async def test_it_serves_reloads_and_ends(tmp_path: Path, kubeconfig: Path) -> None:
    first = write_pair(tmp_path, 1)
    flags = ("--cert-dir", str(tmp_path))
    at_once = {"settlePeriod": "0s"}
    async with webhook_process(
        tmp_path, kubeconfig, *flags, certManagement=at_once, **QUEUE
    ) as webhook:
        port = await webhook.ready_port()
        async with client(port, first) as http:
            assert (await http.get("/readyz")).text == "ok\n"
            answered = (await answer_to(http, "/mutate", GOOD)).json()
            assert (answered["response"]["uid"], answered["response"]["allowed"]) == ("7", True)

            second = write_pair(tmp_path, 2)
            async with asyncio.timeout(PATIENCE_SECONDS):
                await _until_served(second, port)
            # The connection of before goes on undisturbed.
            assert (await http.post("/validate", json=GOOD)).status_code == 200

        webhook.ask_to_end()
        assert await webhook.ended() == 0
        steps = ["SIGTERM: ending", "draining: serving on for 0 s", "stopped"]
        assert webhook.messages_among(*steps) == steps
        assert webhook.messages[-1] == "stopped"


async def _until_served(certificate: bytes, port: int) -> None:
    while True:
        async with client(port, certificate) as http:
            try:
                await http.get("/healthz")
            except httpx.ConnectError:
                await asyncio.sleep(0.2)
            else:
                return


async def test_it_stays_small(tmp_path: Path, kubeconfig: Path) -> None:
    """How soon it is ready, `python -m bench --only large` shows."""
    write_pair(tmp_path, 1)
    flags = ("--cert-dir", str(tmp_path))
    async with webhook_process(tmp_path, kubeconfig, *flags, **ALONE) as webhook:
        async with client(await webhook.ready_port()) as http:
            before = len(webhook.messages)
            for _ in range(500):
                await http.post("/mutate", json=GOOD)
                await http.post("/validate", json=GOOD)
        assert resident_megabytes(webhook.process.pid) < 120
        # The reads of its start log a few lines, reviews that are allowed none.
        assert len(webhook.messages) - before < 100


def resident_megabytes(pid: int) -> float:
    """The most that it ever had."""
    found = re.search(r"^VmHWM:\s*([0-9]+) kB$", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found is not None
    return int(found[1]) / 1000


async def test_it_serves_on_while_it_drains_and_answers_what_is_in_flight(
    tmp_path: Path, kubeconfig: Path
) -> None:
    write_pair(tmp_path, 1)
    flags = ("--cert-dir", str(tmp_path))
    # Longer than any machine needs: a second signal ends it.
    drain = {"drainPeriod": "10m"}
    async with webhook_process(tmp_path, kubeconfig, *flags, webhook=drain, **ALONE) as webhook:
        port = await webhook.ready_port()
        async with client(port) as before, client(port) as late:
            kept = await before.get("/readyz")
            assert (kept.status_code, kept.headers.get("connection")) == (200, None)
            webhook.ask_to_end()
            await webhook.logged("draining: serving on for 600 s")
            for http in (before, late):  # on the connection of before, and on a new one
                readiness = await http.get("/readyz")
                assert (readiness.status_code, readiness.text) == (503, "this replica is ending\n")
                assert readiness.headers["connection"] == "close"
                judged = await http.post("/validate", json=GOOD)
                assert judged.json()["response"] == {"uid": "7", "allowed": True}

            # A request that is on its way when nobody new gets in any more.
            part, rest = _in_two(orjson.dumps(GOOD))
            reader, writer = await _connected(port)
            writer.write(part)
            await writer.drain()
            # Sent later, and answered: the part has arrived.
            assert (await late.get("/readyz")).status_code == 503
            webhook.ask_to_end()
            await comes_to(lambda: _takes_connections(port), False)
            writer.write(rest)
            answer = await reader.read()
            assert b"HTTP/1.1 200 OK" in answer
            assert b"connection: close" in answer
            assert answer.endswith(b'{"uid":"7","allowed":true}}')
            writer.close()
        assert await webhook.ended() == 0


def _in_two(body: bytes) -> tuple[bytes, bytes]:
    head = b"POST /validate HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    return head + body[:100], body[100:]


async def _takes_connections(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return False
    except OSError:  # it was ending just then
        return True
    writer.close()
    return True


async def _connected(port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port, ssl=unverified())


async def test_asked_twice_it_cuts_the_drain_period_short(tmp_path: Path, kubeconfig: Path) -> None:
    write_pair(tmp_path, 1)
    flags = ("--cert-dir", str(tmp_path))
    drain = {"drainPeriod": "10m"}
    async with webhook_process(tmp_path, kubeconfig, *flags, webhook=drain) as webhook:
        await webhook.port()
        webhook.ask_to_end(signal.SIGINT)
        await webhook.logged("draining: serving on for 600 s")
        webhook.ask_to_end()
        assert await webhook.ended() == 0
        steps = ["SIGINT: ending", "SIGTERM: hurrying", "stopped"]
        assert webhook.messages_among(*steps) == steps
        assert webhook.messages[-1] == "stopped"


@pytest.mark.parametrize("moment", ["its imports", "its first words", "its parts"])
async def test_asked_to_end_while_it_starts_it_ends(
    moment: str, tmp_path: Path, kubeconfig: Path
) -> None:
    """The first process of a container hears no signal that it has no handler for."""
    write_pair(tmp_path, 1)
    flags = ("--cert-dir", str(tmp_path))
    async with webhook_process(tmp_path, kubeconfig, *flags) as webhook:
        await webhook.catches(signal.SIGTERM)
        if moment == "its first words":
            await webhook.logged("configuration, as far as .*")
        elif moment == "its parts":
            await webhook.logged("starting server .*")
        webhook.ask_to_end()
        assert await webhook.ended() == 0
    assert not any("Traceback" in line for line in webhook.lines)


@pytest.mark.parametrize("taken", ["webhook", "metrics"])
async def test_a_port_that_a_foreign_program_has_is_named(
    taken: str, tmp_path: Path, kubeconfig: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as foreign:
        address = f"127.0.0.1:{foreign.getsockname()[1]}"
        given: dict[str, Any] = {"webhook": {"bindAddress": address}, "metrics": address}
        async with webhook_process(tmp_path, kubeconfig, **{taken: given[taken]}) as webhook:
            assert await webhook.ended() == 1
    assert webhook.messages[-1] == (
        f"the webhook cannot start: cannot listen on 127.0.0.1 port {address[10:]}: "
        "Address already in use"
    )


async def test_a_configuration_that_cannot_be_read_is_named(
    tmp_path: Path, kubeconfig: Path
) -> None:
    async with started(kubeconfig, "--config", str(tmp_path)) as webhook:
        assert await webhook.ended() == 2
    assert webhook.messages == [
        f"the configuration cannot be used: {tmp_path}: cannot be read: Is a directory"
    ]


@asynccontextmanager
async def door_to(cluster: RunningCluster, door: socket.socket) -> AsyncIterator[None]:
    """A second way to the API server, which is there only inside."""
    host, _, real = cluster.access.server.removeprefix("https://").partition(":")

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while chunk := await reader.read(65536):
                writer.write(chunk)
                await writer.drain()
        writer.close()

    async def passing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner_reader, inner_writer = await asyncio.open_connection(host, int(real))
        await asyncio.gather(copy(reader, inner_writer), copy(inner_reader, writer))

    server = await asyncio.start_server(passing, sock=door)
    try:
        yield
    finally:
        server.close()


@pytest.fixture
def door() -> Iterator[socket.socket]:
    """A port that no other program gets; nothing listens there yet."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held


async def test_without_an_api_server_it_lives_and_becomes_ready_by_itself(
    tmp_path: Path, cluster: RunningCluster, kubeconfig: Path, door: socket.socket
) -> None:
    content = yaml.safe_load(kubeconfig.read_text())
    content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{door.getsockname()[1]}"
    away = tmp_path / "kubeconfig"
    away.write_text(yaml.safe_dump(content))
    write_pair(tmp_path, 1)
    async with webhook_process(tmp_path, away, "--cert-dir", str(tmp_path), **ALONE) as webhook:
        async with client(await webhook.port()) as http:
            assert (await http.get("/healthz")).text == "ok\n"
            answer = await http.get("/readyz")
            assert answer.status_code == 503
            assert "the schema of pods is not known yet: " in answer.text
            for path in ("/mutate", "/validate"):
                judged = (await http.post(path, json=GOOD)).json()["response"]
                assert (judged["uid"], judged["allowed"]) == ("7", False)
                assert judged["status"]["code"] == 500

            async def readiness() -> int:
                return (await http.get("/readyz")).status_code

            async with door_to(cluster, door):
                await comes_to(readiness, 200)
                judged = (await http.post("/validate", json=GOOD)).json()
                assert judged["response"] == {"uid": "7", "allowed": True}
        webhook.ask_to_end()
        assert await webhook.ended() == 0


async def test_probes_are_answered_before_there_is_any_certificate(
    tmp_path: Path, kubeconfig: Path, door: socket.socket
) -> None:
    content = yaml.safe_load(kubeconfig.read_text())
    content["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{door.getsockname()[1]}"
    away = tmp_path / "kubeconfig"
    away.write_text(yaml.safe_dump(content))
    async with webhook_process(tmp_path, away) as webhook:
        async with client(await webhook.port()) as http:
            assert (await http.get("/healthz")).text == "ok\n"
            answer = await http.get("/readyz")
            assert answer.status_code == 503
            assert "there is no certificate to serve yet: " in answer.text
        webhook.ask_to_end()
        assert await webhook.ended() == 0


REVIEWS = {
    "a pod": review(appwrapper()),
    "an update": review(appwrapper(), old=appwrapper(labels={"a": "b"}), operation="UPDATE"),
    "an update that changes much": review(
        appwrapper(component(SERVICE)), old=appwrapper(component(), component()), operation="UPDATE"
    ),
    "many errors": review(
        appwrapper(
            component({**POD, "metadata": {"name": "p", "namespace": "kube-system"}}),
            component({"apiVersion": "v1", "kind": "Node"}),
            component(SERVICE, podSets=[{"path": "template.spec"}]),
            component({**POD, "spec": {"containers": [{"nam": 1, "resources": []}], "x": 1}}),
            7,
        )
    ),
    "warnings": review(
        appwrapper(
            component({**POD, "metadata": {"name": "p", "finalizers": ["a/b"]}}),
            component({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}),
            component({"apiVersion": "v1", "kind": "PersistentVolumeClaim"}),
        )
    ),
    "a generated name": review({**appwrapper(), "metadata": {"generateName": "job-"}}, name=""),
    "a user with an odd name": review(
        appwrapper(labels={"z": "1", "b": "2", "a": "3"}),
        userInfo={"username": "system:serviceaccount:a:b", "groups": ["b", "a", "c"]},
    ),
    "another kind": review(POD, kind={"group": "", "version": "v1", "kind": "Pod"}),
    "a request that makes no sense": review(None),
    "no review": {},
}


async def test_two_replicas_give_the_same_answers_to_the_byte(
    tmp_path: Path, kubeconfig: Path
) -> None:
    write_pair(tmp_path, 1)
    flags = ("--cert-dir", str(tmp_path))
    (tmp_path / "other").mkdir()
    async with (
        webhook_process(tmp_path, kubeconfig, *flags, **QUEUE) as one,
        webhook_process(tmp_path / "other", kubeconfig, *flags, **QUEUE) as other,
        client(await one.ready_port()) as first,
        client(await other.ready_port()) as second,
    ):
        for name, body in REVIEWS.items():
            for path in ("/mutate", "/validate"):
                answers = [await answer_to(http, path, body) for http in (first, second)]
                received = [(each.status_code, each.headers, each.content) for each in answers]
                assert received[0] == received[1], (name, path)
                # What is compared is an answer, and not the same failure twice.
                if answers[0].status_code == 200:
                    status = answers[0].json()["response"].get("status", {})
                    assert status.get("code") != 500, (name, path, status)


COUNTED = {
    'controller_runtime_webhook_requests_total{code="200",webhook="/validate"} 2.0',
    'appwrapper_webhook_denials_total{rule="pod_set_count",webhook="/validate"} 1.0',
}


async def test_metrics_are_served_on_a_port_of_their_own(tmp_path: Path, kubeconfig: Path) -> None:
    write_pair(tmp_path, 1)
    day = datetime.now(UTC).timestamp() + 23 * 3600  # noqa: TID251  what `write_pair` wrote
    flags = ("--cert-dir", str(tmp_path))
    async with webhook_process(tmp_path, kubeconfig, *flags, **ALONE) as webhook:
        async with client(await webhook.ready_port()) as http:
            for body in (GOOD, review(appwrapper(component(SERVICE)))):
                await http.post("/validate", json=body)
            assert (await http.get("/metrics")).status_code == 404
        metrics = await _metrics_port(webhook)
        async with httpx.AsyncClient(timeout=PATIENCE_SECONDS) as plain:
            page: list[str] = []

            async def counted() -> set[str]:
                answer = await plain.get(f"http://127.0.0.1:{metrics}/metrics")
                page[:] = answer.text.splitlines()
                return COUNTED & {*page}

            await comes_to(counted, COUNTED)
    expires = "appwrapper_webhook_certificate_expiration_timestamp_seconds "
    [expiry] = [float(line.removeprefix(expires)) for line in page if line.startswith(expires)]
    assert abs(expiry - day) < 60


async def _metrics_port(webhook: WebhookProcess) -> int:
    return int((await webhook.logged(r"listening on \S+ port ([0-9]+)"))[1])


async def test_metrics_can_be_switched_off(tmp_path: Path, kubeconfig: Path) -> None:
    write_pair(tmp_path, 1)
    flags = ("--cert-dir", str(tmp_path))
    async with webhook_process(tmp_path, kubeconfig, *flags, metrics="0") as webhook:
        await webhook.port()
        assert not [text for text in webhook.messages if text.startswith("listening on")]
