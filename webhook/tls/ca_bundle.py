"""The caBundle of a webhook configuration: what it says, and the patch that changes only that.

Pure. An entry is ours when its clientConfig leads to our Service; others may share the object.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

from shared.api.objects import JsonObject


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
