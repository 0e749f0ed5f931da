"""New TLS connections to the webhook's pods, verified as API servers verify them.

An API server keeps its connections, so it would not notice most mistakes of a renewal.
"""

import asyncio
import base64
import ssl
import time
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

from cryptography.x509 import Certificate, load_der_x509_certificate

from localcluster.cluster import LocalCluster
from localcluster.machine.slowness import stretched
from shared.api.objects import (
    MUTATING_WEBHOOK_CONFIGURATIONS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
    JsonObject,
)
from shared.config.configuration import CertManagement
from tests.e2e.product_pods import is_ready, pods_of
from tests.support.ca_bundles import Reading, surely
from webhook.tls.key_pair import certificates_in

_NAMES = CertManagement()
_SERVER = f"{_NAMES.webhook_service_name}.{_NAMES.namespace}.svc"
_PORT = 9443
_EVERY = 0.5
# An API server learns of a change of the caBundle from its watch. This one learns of it later.
_LATE = 1.5
# How often the caBundle is read. Between two different answers it is unknown.
_READ_EVERY = 0.2
# A handshake that takes longer fails. On two cores beside four other clusters one took 12 s.
_TIME_LIMIT = stretched(60.0)


@dataclass(slots=True)
class Handshakes:
    """`served` is the certificates that each pod showed, by the pod's name, in order."""

    cluster: LocalCluster
    served: dict[str, list[Certificate]] = field(default_factory=lambda: defaultdict(list))
    refused: list[str] = field(default_factory=list)
    count: int = 0
    _readings: list[Reading] = field(default_factory=list)

    @property
    def serials(self) -> set[int]:
        """The serial numbers of all certificates that any pod showed."""
        return {one.serial_number for shown in self.served.values() for one in shown}

    async def current(self) -> set[Certificate | None]:
        """The certificate that each ready pod showed last; None for a pod without a handshake."""
        ready = [pod for pod in await pods_of(self.cluster, "webhook") if is_ready(pod)]
        shown = [self.served.get(pod["metadata"]["name"]) for pod in ready]
        return {each[-1] if each else None for each in shown}

    async def run(self) -> None:
        """Connect to every ready pod, again and again, until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read())
            group.create_task(self._shake())

    async def _read(self) -> None:
        while True:
            asked = time.monotonic()
            bundle = await ca_bundle(self.cluster)
            self._readings.append(Reading(asked, time.monotonic(), bundle))
            await asyncio.sleep(_READ_EVERY)

    async def _shake(self) -> None:
        while True:
            for pod in await pods_of(self.cluster, "webhook"):
                now = time.monotonic()
                bundle = surely(self._readings, now - _LATE, now - _LATE)
                if bundle is not None and is_ready(pod):
                    await self._connect(pod, bundle)
            await asyncio.sleep(_EVERY)

    async def _connect(self, pod: JsonObject, bundle: bytes) -> None:
        name, address = pod["metadata"]["name"], pod["status"]["podIP"]
        context = ssl.create_default_context(cadata=bundle.decode())
        began = time.monotonic()
        try:
            found = await shown_by(address, context)
        except OSError as error:
            # A timeout is an OSError, too, and so is whatever TLS refuses. A pod that is
            # terminating may close its port.
            if await self._counts(pod, bundle, began):
                shown = [hex(one.serial_number) for one in self.served[name]]
                trusted = [each.subject.rfc4514_string() for each in certificates_in(bundle)]
                self.refused.append(f"{name}, which has shown {shown}: {error!r}; {trusted=}")
            return
        self.count += 1
        if not self.served[name] or self.served[name][-1] != found:
            self.served[name].append(found)

    async def _counts(self, pod: JsonObject, bundle: bytes, began: float) -> bool:
        """True if an API server that is late would have had this caBundle, and the pod is ready.

        On a busy machine a handshake, or the way to it, takes seconds. If the caBundle changed
        meanwhile, an API server would know the new one.
        """
        late = time.monotonic() - _LATE
        return surely(self._readings, began - _LATE, late) == bundle and await self._is_ready(pod)

    async def _is_ready(self, pod: JsonObject) -> bool:
        """True if the API server still has the pod as ready and not terminating."""
        return any(
            each["metadata"]["uid"] == pod["metadata"]["uid"] and is_ready(each)
            for each in await pods_of(self.cluster, "webhook")
        )


async def shown_by(address: str, context: ssl.SSLContext) -> Certificate:
    """The certificate of the server at `address`.

    Raises ssl.SSLError if `context` rejects it, another OSError if the server does not answer.
    """
    async with asyncio.timeout(_TIME_LIMIT):
        _, writer = await asyncio.open_connection(
            address, _PORT, ssl=context, server_hostname=_SERVER
        )
    der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return load_der_x509_certificate(der)


async def ca_bundle(cluster: LocalCluster) -> bytes:
    """The CAs that every entry of both webhook configurations contains."""
    names = {
        MUTATING_WEBHOOK_CONFIGURATIONS: _NAMES.mutating_webhook_config_name,
        VALIDATING_WEBHOOK_CONFIGURATIONS: _NAMES.validating_webhook_config_name,
    }
    found = [await cluster.client.get(resource, None, name) for resource, name in names.items()]
    entries = [entry["clientConfig"] for each in found for entry in each["webhooks"]]
    bundles = [base64.b64decode(each.get("caBundle", "")) for each in entries]
    first, *others = (dict.fromkeys(_pem_blocks(each)) for each in bundles)
    return b"".join(one for one in first if all(one in other for other in others))


def _pem_blocks(bundle: bytes) -> list[bytes]:
    end = b"-----END CERTIFICATE-----"
    return [each.strip() + b"\n" + end + b"\n" for each in bundle.split(end)[:-1]]


@asynccontextmanager
async def shaking_hands(cluster: LocalCluster) -> AsyncGenerator[Handshakes, None]:
    """New connections all the time. Fails if this itself does not work."""
    found = Handshakes(cluster)
    running = asyncio.create_task(found.run())
    try:
        yield found
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
