"""The caBundle of a webhook configuration: what it says, and the patch that changes only that.

Pure. An entry is ours when its clientConfig leads to our Service; others may share the object.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

from shared.api.json import JsonObject


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

    An entry's place in the list may have changed since it was read: then a `test` fails, and the
    API server refuses the whole patch.
    """
    encoded = base64.b64encode(bundle).decode()
    operations: list[JsonObject] = []
    for index, entry in _ours(configuration, service):
        if entry["clientConfig"].get("caBundle") == encoded:
            continue
        place = f"/webhooks/{index}"
        found = entry["clientConfig"]["service"]
        operations += [
            {"op": "test", "path": f"{place}/name", "value": entry["name"]},
            {"op": "test", "path": f"{place}/clientConfig/service", "value": found},
            {"op": "add", "path": f"{place}/clientConfig/caBundle", "value": encoded},
        ]
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
