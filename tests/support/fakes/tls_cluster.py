"""The Secret and both configurations of an installation in memory, with replicas' sources."""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from shared.api.names import ANNOTATION_ROTATE
from shared.api.objects import (
    MUTATING_WEBHOOK_CONFIGURATIONS,
    SECRETS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    JsonObject,
    Resource,
)
from shared.config.configuration import CertManagement
from tests.support.fakes.fake_clock import FakeClock, fake_sources, settle
from tests.support.fakes.handshakes import served_certificate
from tests.support.fakes.object_store import ObjectStore
from tests.support.fakes.tls import START, accepted
from webhook.tls.certificate_secret import Contents, parse
from webhook.tls.key_pair import certificates_in
from webhook.tls.self_managed import ManagedCertificateSource

NAMES = CertManagement()
SECRET = NAMES.webhook_secret_name
BOTH = {
    MUTATING_WEBHOOK_CONFIGURATIONS: NAMES.mutating_webhook_config_name,
    VALIDATING_WEBHOOK_CONFIGURATIONS: NAMES.validating_webhook_config_name,
}
MUTATING, VALIDATING = BOTH
ROUNDS = 300  # of the event loop: more than any pass takes


def entry(name: str = "ours", service: str = NAMES.webhook_service_name) -> JsonObject:
    called = {"namespace": NAMES.namespace, "name": service, "path": "/", "port": 443}
    return {"name": name, "clientConfig": {"service": called}, "failurePolicy": "Fail"}


def empty_secret(**metadata: Any) -> JsonObject:
    return {"metadata": {"name": SECRET, "namespace": NAMES.namespace, **metadata}}


class Cluster(ObjectStore):
    """The objects after an installation: an empty Secret, two configurations without caBundle."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock(START)
        self.put(SECRETS, empty_secret())
        for resource, name in BOTH.items():
            self.configure(resource, name)

    def configure(self, resource: Resource, name: str) -> None:
        self.put(resource, {"metadata": {"name": name}, "webhooks": [entry()]})

    @property
    def contents(self) -> Contents:
        return parse(self.one(SECRETS, SECRET).get("data") or {})

    def bundle(self, resource: Resource) -> bytes:
        (only,) = self.one(resource, BOTH[resource])["webhooks"]
        return base64.b64decode(only["clientConfig"].get("caBundle", ""))

    def annotate(self, request: str) -> None:
        secret = self.one(SECRETS, SECRET)
        secret["metadata"]["annotations"] = {ANNOTATION_ROTATE: request}
        self.put(SECRETS, secret)

    def empty(self) -> None:
        self.put(SECRETS, empty_secret())

    async def passes(self, seconds: float) -> None:
        """Advances time, with all that happens meanwhile."""
        await self.clock.advance(seconds)
        await settle(ROUNDS)

    @asynccontextmanager
    async def replica(self) -> AsyncIterator[ManagedCertificateSource]:
        client: Any = self
        source = ManagedCertificateSource(client, NAMES, fake_sources(self.clock))
        task = asyncio.create_task(source.run())
        await settle(ROUNDS)
        try:
            yield source
            if task.done():
                await task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def writes(self) -> list[tuple[str, str]]:
        return [call for call in self.calls if call[0] in ("update", "patch")]


def is_served(source: ManagedCertificateSource, cluster: Cluster) -> bool:
    """True if a client that trusts both bundles gets the Secret's leaf and accepts it."""
    shown = served_certificate(source.context)
    leaf = cluster.contents.leaf
    trusting = [certificates_in(cluster.bundle(resource)) for resource in BOTH]
    assert all(accepted(shown, bundle, cluster.clock.now() + cluster.ahead) for bundle in trusting)
    return leaf is not None and leaf.certificate == shown
