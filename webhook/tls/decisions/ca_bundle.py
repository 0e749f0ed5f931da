"""Read the caBundles of a webhook configuration, and patch only those.

Pure. Only entries count that lead to the given Service; other entries may share the object.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from cryptography.x509 import Certificate

from shared.api.objects import JsonObject
from webhook.tls.decisions.certificates import certificates_in


@dataclass(frozen=True, slots=True)
class ServiceName:
    """The Service that an entry must lead to."""

    namespace: str
    name: str


def published(configuration: JsonObject, service: ServiceName) -> tuple[bytes, ...]:
    """Return the bundle of each entry for `service`, PEM; empty if absent or not base64."""
    return tuple(_bundle(entry) for _, entry in _ours(configuration, service))


def patch(configuration: JsonObject, service: ServiceName, bundle: bytes) -> list[JsonObject]:
    """Return a JSON patch that sets `bundle` in the entries for `service`; [] if all have it.

    The patch requires the resourceVersion of the read: after another write the API server answers
    with a Conflict. A replica that was frozen meanwhile could otherwise remove a CA in use.
    """
    encoded = base64.b64encode(bundle).decode()
    operations: list[JsonObject] = []
    for index, entry in _ours(configuration, service):
        if entry["clientConfig"].get("caBundle") == encoded:
            continue
        path = f"/webhooks/{index}/clientConfig/caBundle"
        operations.append({"op": "add", "path": path, "value": encoded})
    if operations:
        version = configuration["metadata"]["resourceVersion"]
        read = {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
        operations.insert(0, read)
    return operations


def _ours(configuration: JsonObject, service: ServiceName) -> Iterator[tuple[int, JsonObject]]:
    for index, entry in enumerate(configuration.get("webhooks") or []):
        found = entry["clientConfig"].get("service") or {}
        if ServiceName(found.get("namespace", ""), found.get("name", "")) == service:
            yield index, entry


def _bundle(entry: JsonObject) -> bytes:
    try:
        return base64.b64decode(entry["clientConfig"].get("caBundle") or "", validate=True)
    except binascii.Error:
        return b""


@dataclass(frozen=True, slots=True)
class Trust:
    """Since when each CA has been in every caBundle of this webhook, as this process read them.

    `since` lacks a CA that is missing in one of them. `from_start` are the CAs that were in all of
    them at this process's first read. Without any caBundle (both configurations deleted) the API
    server does not call the webhook, and every CA counts as present.
    """

    since: Mapping[Certificate, datetime] = field(default_factory=dict)
    from_start: frozenset[Certificate] = frozenset()


class TrustTracker:
    """Track since when each CA has been in every caBundle, from the reads of one process.

    Call `observe` with every read of the configurations.
    """

    def __init__(self) -> None:
        self._since: dict[Certificate, datetime] = {}
        self._from_start: frozenset[Certificate] | None = None

    def observe(
        self, published: Sequence[bytes], concerned: Iterable[Certificate], now: datetime
    ) -> Trust:
        """Record a read, and return the result. Only the `concerned` CAs are tracked."""
        bundles = [frozenset(certificates_in(one)) for one in published]
        carried = {one for one in concerned if all(one in bundle for bundle in bundles)}
        # After a clock was set back, a CA must not wait longer than from now on.
        self._since = {one: min(self._since.get(one, now), now) for one in carried}
        if self._from_start is None:
            self._from_start = frozenset(carried)
        return Trust(dict(self._since), self._from_start)
