"""The controller that an object says it belongs to. Pure.

Kueue takes an object whose controller it knows for a part of that controller's workload: it
neither suspends it nor counts its quota, and never evicts it.
"""

from shared.api.json import JsonObject
from webhook.metadata import metadata

_IDENTITY = ("apiVersion", "kind", "name", "uid")


def controller_references(target: JsonObject | None) -> list[JsonObject]:
    """The ownerReferences with controller true, each as apiVersion, kind, name and uid.

    The API server allows one at most.
    """
    owners = metadata(target).get("ownerReferences")
    return [
        {key: owner.get(key) for key in _IDENTITY}
        for owner in (owners if isinstance(owners, list) else [])
        if isinstance(owner, dict) and owner.get("controller") is True
    ]
