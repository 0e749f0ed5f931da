"""The caBundle of a webhook configuration: what it says, and the patch that changes only that.

Pure. An entry is ours when its clientConfig leads to our Service; others may share the object.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from cryptography.x509 import Certificate

from shared.api.objects import JsonObject
from webhook.tls.decisions.certificates import certificates_in
from webhook.tls.decisions.view import Trust


@dataclass(frozen=True, slots=True)
class ServiceName:
    """Which Service an entry must lead to."""

    namespace: str
    name: str


def published(configuration: JsonObject, service: ServiceName) -> tuple[bytes, ...]:
    """The bundle of each entry of ours, PEM; empty where there is none, or none that decodes."""
    return tuple(_bundle(entry) for _, entry in _ours(configuration, service))


def patch(configuration: JsonObject, service: ServiceName, bundle: bytes) -> list[JsonObject]:
    """A JSON patch that gives our entries `bundle`; [] where all have it.

    It holds for the configuration as it was read: the API server answers with a Conflict when
    somebody wrote it since. A replica that was frozen meanwhile would else take a CA out of it
    that is served by now.
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


class TrustTracker:
    """Since when a CA has been in every caBundle, as far as one process saw it.

    Fed with every look at the configurations.
    """

    def __init__(self) -> None:
        self._since: dict[Certificate, datetime] = {}
        self._from_start: frozenset[Certificate] | None = None

    def look(
        self, published: Sequence[bytes], concerned: Iterable[Certificate], now: datetime
    ) -> Trust:
        """`concerned` are the CAs that matter; others are forgotten."""
        bundles = [frozenset(certificates_in(one)) for one in published]
        carried = {one for one in concerned if all(one in bundle for bundle in bundles)}
        # A clock that was set back must not make a CA wait for longer than from now on.
        self._since = {one: min(self._since.get(one, now), now) for one in carried}
        if self._from_start is None:
            self._from_start = frozenset(carried)
        return Trust(dict(self._since), self._from_start)
