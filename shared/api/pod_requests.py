"""Compute a pod's requests of each resource, as the scheduler and Kueue do. Pure."""

from collections.abc import Iterator
from decimal import Decimal

from shared.api.amounts import ZERO, read_amount
from shared.api.objects import JsonObject


def requested_of(spec: JsonObject, name: str) -> Decimal:
    """Return the pod's request: init containers run before the others, sidecars beside them.

    `spec` is a pod's. An unreadable amount counts as nothing; validation rejects it elsewhere.
    """
    staying, passing = ZERO, ZERO
    for container in _objects(spec.get("initContainers")):
        amount = _of_container(container, name)
        if container.get("restartPolicy") == "Always":
            staying += amount
        else:
            passing = max(passing, staying + amount)
    together = sum(
        (_of_container(each, name) for each in _objects(spec.get("containers"))), staying
    )
    return max(together, passing)


def all_requested(spec: JsonObject) -> dict[str, Decimal]:
    """Return the pod's request of each resource, without zeros, including its overhead.

    If the pod itself requests a resource (`spec.resources`), its containers' requests do not count.
    """
    overhead = spec.get("overhead")
    extra = overhead if isinstance(overhead, dict) else {}
    itself = [*_names({"containers": [spec]})]
    names = dict.fromkeys([*_names(spec), *itself, *extra])
    amounts = {
        name: (_of_container(spec, name) if name in itself else requested_of(spec, name))
        + read_amount(extra.get(name))
        for name in names
    }
    return {name: amount for name, amount in amounts.items() if amount}


def _names(spec: JsonObject) -> Iterator[str]:
    for field in ("initContainers", "containers"):
        for container in _objects(spec.get(field)):
            resources = container.get("resources")
            if isinstance(resources, dict):
                for kind in ("requests", "limits"):
                    amounts = resources.get(kind)
                    yield from amounts if isinstance(amounts, dict) else ()


def _of_container(container: JsonObject, name: str) -> Decimal:
    """Return the request. A limit alone is a request too; an extended resource has equal values."""
    resources = container.get("resources")
    if not isinstance(resources, dict):
        return ZERO
    for kind in ("requests", "limits"):
        amounts = resources.get(kind)
        if isinstance(amounts, dict) and amounts.get(name) is not None:
            return read_amount(amounts[name])
    return ZERO


def _objects(value: object) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
