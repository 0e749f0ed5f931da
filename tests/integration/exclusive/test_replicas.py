"""Two webhook processes behind one Service: users notice neither rotations nor restarts.

Real Services come with the images; here a proxy spreads the API server's connections over the
processes that are ready.
"""

import asyncio
import hashlib
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import httpx
import pytest
import yaml
from cryptography import x509

from localcluster.access.probes import unverified
from localcluster.cluster import LocalCluster
from localcluster.product import NAMESPACE
from shared.api import names
from shared.api.objects import APPWRAPPERS, NAMESPACES, SECRETS, JsonObject
from shared.kube.client import PatchType, Propagation
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.jobs import job
from tests.support.cluster.paced_creates import PacedCreates
from tests.support.cluster.service_proxy import (
    ServiceProxy,
    behind_a_service,
    port_of_webhook,
)
from tests.support.cluster.webhook_certificates import called_port
from tests.support.cluster.webhook_process import WebhookProcess, started
from tests.support.patience import PATIENCE_SECONDS, comes_to, until_found
from tests.support.team import NAMESPACE as TEAM

SECRET = "appwrapper-webhook-server-cert"
RATE = 50.0
# How long a new CA waits until all API servers know it. There is one, on this machine.
HASTY = {"settlePeriod": "3s"}
# Time for the API server to come by on each connection it keeps, and be told to close it. After so
# little as the cluster's own 300 ms a busy machine sends a request just as the process goes.
DRAIN = "5s"
_REQUESTS = re.compile(r"^controller_runtime_webhook_requests_total\{.*\} ([0-9.]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Replica:
    """How to start another webhook, and where its metrics are."""

    kubeconfig: Path
    flags: tuple[str, ...]
    metrics: str

    async def requests(self) -> float:
        """How many reviews it has answered since it started."""
        return await answered_by(self.metrics)


async def answered_by(metrics: str) -> float:
    async with httpx.AsyncClient(timeout=PATIENCE_SECONDS) as http:
        page = (await http.get(f"http://{metrics}/metrics")).text
    return sum(float(found) for found in _REQUESTS.findall(page))


@pytest.fixture
async def hasty(cluster: LocalCluster) -> AsyncIterator[None]:
    """The cluster's own webhook is hasty too, but drains."""
    file = settings_file(cluster)
    before = file.read_text()
    settings = yaml.safe_load(before) | {"certManagement": HASTY}
    settings["controllerManager"]["webhook"]["drainPeriod"] = DRAIN
    file.write_text(yaml.safe_dump(settings))
    await cluster.processes.restart("webhook")
    yield
    # From its next start on: one that begins while a new CA has to wait longer would wait for it.
    file.write_text(before)


@pytest.fixture
async def second(cluster: LocalCluster, tmp_path: Path) -> Replica:
    """Configured and called as the cluster's own, but for its metrics, its drain and its haste."""
    command = list(cluster.processes["webhook"].spec.command)
    at = command.index("--config") + 1
    settings = yaml.safe_load(settings_file(cluster).read_text())
    metrics = f"127.0.0.1:{cluster.ports.reserve()}"
    settings["controllerManager"]["metrics"]["bindAddress"] = metrics
    settings["controllerManager"]["webhook"]["drainPeriod"] = DRAIN
    settings["certManagement"] = HASTY
    command[at] = str(tmp_path / "second.yaml")
    (tmp_path / "second.yaml").write_text(yaml.safe_dump(settings))
    command[command.index("--port") + 1] = "0"
    account = await cluster.service_account_kubeconfig(NAMESPACE, "appwrapper-webhook")
    return Replica(account, tuple(command[command.index("webhook") + 1 :]), metrics)


@pytest.fixture
async def service(cluster: LocalCluster, hasty: None) -> AsyncIterator[ServiceProxy]:
    """Leads to the cluster's own webhook; tests add another."""
    async with behind_a_service(cluster) as proxy:
        await proxy.add(port_of_webhook(cluster))
        yield proxy


@pytest.fixture
async def creates(
    cluster: LocalCluster, request: pytest.FixtureRequest
) -> AsyncIterator[PacedCreates]:
    """In a namespace of their own, which no team has."""
    name = "replicas-" + hashlib.sha256(request.node.name.encode()).hexdigest()[:8]
    namespace: JsonObject = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await cluster.client.create(NAMESPACES, None, namespace)
    yield PacedCreates(cluster.client, name, RATE)
    await cluster.client.delete(
        NAMESPACES, None, name, uid=None, propagation=Propagation.BACKGROUND
    )


@dataclass(frozen=True, slots=True)
class Serving:
    """What clients see of the certificate."""

    issuer_key: bytes
    serial: int


async def served(port: int) -> set[Serving]:
    """By so many connections that both processes are among those who answer."""
    context = unverified()

    async def one() -> Serving:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        found = x509.load_der_x509_certificate(
            writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        )
        writer.close()
        issuer = found.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
        return Serving(issuer.key_identifier or b"", found.serial_number)

    return {await one() for _ in range(20)}


async def rotate(cluster: LocalCluster, what: str, port: int) -> Serving:
    """Asks for a new leaf or CA as an admin would; what both processes serve then."""
    before = await served(port)
    await cluster.client.patch(
        SECRETS,
        NAMESPACE,
        SECRET,
        {"metadata": {"annotations": {names.ANNOTATION_ROTATE: what}}},
        PatchType.MERGE,
    )

    async def everywhere() -> Serving | None:
        now = await served(port)
        return now.pop() if len(now) == 1 and not now & before else None

    return await until_found(everywhere)


def settings_file(cluster: LocalCluster) -> Path:
    return cluster.directory / "product" / "webhook.yaml"


def metrics_of(cluster: LocalCluster) -> str:
    settings = yaml.safe_load(settings_file(cluster).read_text())
    address: str = settings["controllerManager"]["metrics"]["bindAddress"]
    return address


@asynccontextmanager
async def serving(replica: Replica, service: ServiceProxy) -> AsyncIterator[WebhookProcess]:
    """A started process that is ready and gets connections."""
    async with started(replica.kubeconfig, *replica.flags) as process:
        await service.add(await process.port())
        yield process


async def restart_the_first(cluster: LocalCluster, service: ServiceProxy) -> None:
    """SIGTERM, and a new process; returns when that one gets connections."""
    await cluster.processes.stop("webhook", patience=PATIENCE_SECONDS)  # not cut short by SIGKILL
    await cluster.processes.restart("webhook")
    await service.sends_to(port_of_webhook(cluster))


@asynccontextmanager
async def called(
    replica: Replica, cluster: LocalCluster, service: ServiceProxy
) -> AsyncIterator[WebhookProcess]:
    """A started process that has answered: the API server keeps its connections to the other
    process, so those must end first."""
    async with serving(replica, service) as process:

        async def has_answered() -> bool:
            await restart_the_first(cluster, service)
            probe = appwrapper("probe", job("probe"))
            async with asyncio.TaskGroup() as group:
                for _ in range(8):
                    group.create_task(cluster.client.create(APPWRAPPERS, TEAM, probe, dry_run=True))
            return await replica.requests() > 0

        await comes_to(has_answered, True)
        yield process


@pytest.mark.long
async def test_no_request_is_refused_while_certificates_rotate_and_replicas_restart(
    cluster: LocalCluster, second: Replica, service: ServiceProxy, creates: PacedCreates
) -> None:
    port, first_metrics = await called_port(cluster), metrics_of(cluster)
    enough = asyncio.Event()
    async with called(second, cluster, service) as process:
        creating = asyncio.create_task(creates.run(1_000, enough))
        (original,) = await served(port)
        done = [len(creates.done)]
        leaf = await rotate(cluster, "leaf", port)
        done.append(len(creates.done))
        authority = await rotate(cluster, "ca", port)
        done.append(len(creates.done))
        answered_by_second = await second.requests()
        process.ask_to_end()
        assert await process.ended() == 0
        done.append(len(creates.done))
    async with serving(second, service):
        answered_by_first = await answered_by(first_metrics)
        await restart_the_first(cluster, service)
        done.append(len(creates.done))
        enough.set()
        await creating
        answered_by_successor = await second.requests()
        refused = service.refused

    assert (creates.errors, refused) == ([], 0)
    # What is claimed did happen: creates during each step, both rotations, and the work of each
    # process. How many a second there were is the machine's matter.
    assert all(after > before for before, after in pairwise(done)), (done, creates.summary)
    assert len(creates.done) >= 1_000
    assert await stored(cluster, creates.namespace) == len(creates.done)
    assert leaf.serial != original.serial
    assert leaf.issuer_key == original.issuer_key
    assert authority.serial != leaf.serial
    assert authority.issuer_key != leaf.issuer_key
    assert answered_by_second > 0
    assert answered_by_first > 0
    assert answered_by_successor > 0


async def test_a_killed_replica_costs_only_what_was_in_flight(
    cluster: LocalCluster, second: Replica, service: ServiceProxy, creates: PacedCreates
) -> None:
    async with called(second, cluster, service) as process:
        enough = asyncio.Event()
        creating = asyncio.create_task(creates.run(250, enough))

        async def a_hundred_more(than: int = 0) -> bool:
            return len(creates.done) >= than + 100

        await comes_to(a_hundred_more, True)
        answered_by_second = await second.requests()
        connections = connections_of(process.pid, await process.port())
        service.tries_others = True
        killed = time.monotonic()
        await process.kill()
        gone, answered = time.monotonic(), len(creates.done)
        await comes_to(lambda: a_hundred_more(answered), True)
        enough.set()
        await creating

    assert answered_by_second > 0
    assert all(failed.ended > killed for failed in creates.errors), creates.errors
    # Whoever failed was on the way while the process died, or was sent over a connection of which
    # the API server had not heard yet that it is dead. Each such connection fails one request.
    late = [failed for failed in creates.errors if failed.began > gone]
    assert len(late) <= connections, (late, creates.summary)
    last = sorted(creates.done, key=lambda each: each.began)[-50:]
    assert [each for each in last if each.error is not None] == []
    assert len(creates.done) >= 250
    admitted = len(creates.done) - len(creates.errors)
    assert await stored(cluster, creates.namespace) == admitted


def connections_of(pid: int, port: int) -> int:
    """How many TCP connections to that port the process has accepted."""
    sockets = set()
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            sockets.add(str(descriptor.readlink()))
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    established, local = "01", f":{port:04X}"
    return sum(
        row[3] == established and row[1].endswith(local) and f"socket:[{row[9]}]" in sockets
        for row in rows
    )


async def stored(cluster: LocalCluster, namespace: str) -> int:
    pages = cluster.client.pages(APPWRAPPERS, namespace)
    return sum([len(page.items) async for page in pages])
