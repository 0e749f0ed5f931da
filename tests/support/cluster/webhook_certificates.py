"""Reads the certificates of a cluster's webhook, and runs clients that must not notice changes."""

import asyncio
import base64
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress

from cryptography.x509 import Certificate, load_der_x509_certificate

from localcluster.access.probes import unverified
from localcluster.cluster import LocalCluster
from localcluster.machine.ports import HOST
from localcluster.product import NAMESPACE
from localcluster.webhook_wait import wait_for_webhook
from shared.api.names import ANNOTATION_ROTATE
from shared.api.objects import (
    APPWRAPPERS,
    MUTATING_WEBHOOK_CONFIGURATIONS,
    SECRETS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    JsonObject,
    Resource,
)
from shared.config.configuration import CertManagement
from shared.kube.client import KubeError, PatchType
from tests.support.builders.admission import POD
from tests.support.builders.appwrappers import manifest
from tests.support.ca_bundles import Reading, surely
from tests.support.cluster.changes import changes
from tests.support.cluster.senders import send_steadily
from tests.support.patience import PATIENCE_SECONDS
from tests.support.team import NAMESPACE as TEAM
from webhook.tls.certificate_secret import Contents, parse

NAMES = CertManagement()
SECRET = NAMES.webhook_secret_name
MUTATING, VALIDATING = MUTATING_WEBHOOK_CONFIGURATIONS, VALIDATING_WEBHOOK_CONFIGURATIONS
BOTH = {
    MUTATING: NAMES.mutating_webhook_config_name,
    VALIDATING: NAMES.validating_webhook_config_name,
}
# As short as a busy machine can distinguish; the defaults are 30 s and 10 min.
QUICK = {"settlePeriod": "6s", "revocationPeriod": "7s"}
# Only a watch is so quick: polling happens once in ten minutes.
LATE = 1.5  # seconds; less than the settle period


async def secret(cluster: LocalCluster) -> JsonObject:
    return await cluster.client.get(SECRETS, NAMESPACE, SECRET)


async def contents(cluster: LocalCluster) -> Contents:
    return parse((await secret(cluster)).get("data") or {})


@asynccontextmanager
async def history(cluster: LocalCluster) -> AsyncIterator[list[Contents]]:
    """Returns the Secret's contents since then, by version: a busy machine would miss some."""
    version = (await secret(cluster))["metadata"]["resourceVersion"]
    versions: list[Contents] = []

    async def follow() -> None:
        watch = changes(cluster.client, SECRETS, NAMESPACE, resource_version=version)
        async with aclosing(watch) as events:
            async for event in events:
                if event.object["metadata"]["name"] != SECRET:
                    continue
                versions.append(parse(event.object.get("data") or {}))

    following = asyncio.create_task(follow())
    try:
        yield versions
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


async def configuration(cluster: LocalCluster, resource: Resource) -> JsonObject:
    return await cluster.client.get(resource, None, BOTH[resource])


async def bundles(cluster: LocalCluster, resource: Resource) -> set[bytes]:
    """Returns the caBundles of all entries."""
    found = await configuration(cluster, resource)
    configs = (entry["clientConfig"] for entry in found["webhooks"])
    return {base64.b64decode(one.get("caBundle", "")) for one in configs}


async def all_carry(cluster: LocalCluster, bundle: bytes) -> bool:
    return all([await bundles(cluster, resource) == {bundle} for resource in BOTH])


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Fails if the condition never becomes true."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not await condition():
        assert time.monotonic() < deadline, f"not within {PATIENCE_SECONDS} s"
        await asyncio.sleep(0.1)


async def annotate(cluster: LocalCluster, request: str) -> None:
    changes = {"metadata": {"annotations": {ANNOTATION_ROTATE: request}}}
    await cluster.client.patch(SECRETS, NAMESPACE, SECRET, changes, PatchType.MERGE)


async def answered(cluster: LocalCluster) -> bool:
    """True if a request for a rotation has been removed."""
    annotations = (await secret(cluster))["metadata"].get("annotations") or {}
    return ANNOTATION_ROTATE not in annotations


async def called_port(cluster: LocalCluster) -> int:
    """Returns the port at which the API server calls the webhook."""
    entry, *_ = (await configuration(cluster, VALIDATING))["webhooks"]
    port: int = entry["clientConfig"]["service"]["port"]
    return port


async def shown(port: int) -> Certificate:
    """Returns the certificate that the port serves now."""
    return await shaken_hands(port, unverified())


async def shaken_hands(port: int, context: ssl.SSLContext) -> Certificate:
    """Returns the certificate that `context` accepted, on a connection of its own."""
    host = f"{NAMES.webhook_service_name}.{NAMESPACE}.svc"
    _, writer = await asyncio.open_connection(HOST, port, ssl=context, server_hostname=host)
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await writer.wait_closed()
    return load_der_x509_certificate(der)


async def is_served(cluster: LocalCluster, times: int = 1) -> bool:
    """True if the answering replicas serve the Secret's certificate."""
    leaf = (await contents(cluster)).leaf
    port = await called_port(cluster)
    seen = [await shown(port) for _ in range(times)]
    return leaf is not None and set(seen) == {leaf.certificate}


async def create(cluster: LocalCluster) -> None:
    """Sends a dry run, which passes both webhooks like any create."""
    body = manifest(POD, name="job", namespace=TEAM)
    await cluster.client.create(APPWRAPPERS, TEAM, body, dry_run=True)


async def create_often(cluster: LocalCluster, refused: list[Exception]) -> None:
    """Sends ten a second, fewer where answers are slow."""

    async def one(_number: int) -> None:
        try:
            await create(cluster)
        except KubeError as error:
            refused.append(error)

    await send_steadily(one, rate=10.0, senders=4, goes_on=lambda _number: True)


async def connect_often(cluster: LocalCluster, refused: list[Exception]) -> None:
    """Connects as an API server does that learns of every change late.

    The real one is quick, and keeps connections: it would not notice most mistakes.
    """
    port = await called_port(cluster)
    readings: dict[Resource, list[Reading]] = {resource: [] for resource in BOTH}

    async def read() -> None:
        while True:
            for resource, known in readings.items():
                asked = time.monotonic()
                bundle = b"".join(sorted(await bundles(cluster, resource)))
                known.append(Reading(asked, time.monotonic(), bundle))
            await asyncio.sleep(0.1)

    async def shake(known: list[Reading]) -> None:
        while True:
            began = time.monotonic()
            if (bundle := _late(known, began, began)) is not None:
                try:
                    context = ssl.create_default_context(cadata=bundle.decode())
                    await shaken_hands(port, context)
                except ssl.SSLError as error:
                    # On a busy machine a handshake, or the way to it, takes seconds.
                    if _late(known, began, time.monotonic()) == bundle:
                        refused.append(error)
            await asyncio.sleep(0.1)

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read())
        for known in readings.values():
            tasks.create_task(shake(known))


def _late(readings: list[Reading], begin: float, end: float) -> bytes | None:
    """The caBundle that an API server has from `begin` to `end` that learns of it LATE.

    It begins with the first reading. None if the caBundle changed, or is not certain.
    """
    if not readings:
        return None
    first = readings[0].answered
    return surely(readings, max(begin - LATE, first), max(end - LATE, first))


async def until_judged(cluster: LocalCluster) -> None:
    """Waits until the API server calls the webhook by both configurations, and trusts it."""

    async def nothing_more() -> str:
        return ""

    await wait_for_webhook(cluster.client, nothing_more)


@asynccontextmanager
async def creates_going_on(cluster: LocalCluster) -> AsyncIterator[None]:
    """Runs both; asserts that no create and no connection was refused."""
    refused: list[Exception] = []
    going_on = [
        asyncio.create_task(often(cluster, refused)) for often in (create_often, connect_often)
    ]
    try:
        yield
    finally:
        for task in going_on:
            task.cancel()
        ended = await asyncio.gather(*going_on, return_exceptions=True)
    assert [type(error) for error in ended] == [asyncio.CancelledError] * 2
    assert refused == []
