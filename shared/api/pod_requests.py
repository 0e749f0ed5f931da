"""Compute a pod's requests of each resource, as the scheduler and Kueue do. Pure."""

from decimal import Decimal

from shared.api.amounts import ZERO, added_up, largest, read_amount, read_amounts
from shared.api.objects import JsonObject, JsonValue


def all_requested(spec: JsonObject) -> dict[str, Decimal]:
    """Return the pod's request of each resource, without zeros, including its overhead.

    If the pod itself requests a resource (`spec.resources`), its containers' requests do not count.
    An unreadable amount counts as nothing; validation rejects it elsewhere.
    """
    requested = {**containers_requests(spec), **own_requests(spec)}
    found = added_up([requested, read_amounts(spec.get("overhead"))])
    return {name: amount for name, amount in found.items() if amount}


def containers_requests(
    spec: JsonObject, *, unreadable: Decimal = ZERO, sidecars: bool = True
) -> dict[str, Decimal]:
    """Return the sum of a pod's containers: init containers run before, sidecars beside them.

    Without `sidecars`, a sidecar counts as an ordinary init container.
    """
    staying: dict[str, Decimal] = {}
    passing: dict[str, Decimal] = {}
    for container in containers_of(spec, "initContainers"):
        stays = sidecars and is_sidecar(container)
        for name, amount in own_requests(container, unreadable).items():
            at_once = staying.get(name, ZERO) + amount
            if stays:
                staying[name] = at_once
            else:
                passing[name] = max(passing.get(name, ZERO), at_once)
    running = [own_requests(each, unreadable) for each in containers_of(spec, "containers")]
    return largest([passing, added_up([staying, *running])])


def own_requests(holder: JsonObject, unreadable: Decimal = ZERO) -> dict[str, Decimal]:
    """Return the requests in the `resources` of a container or of a pod's spec, without zeros.

    A limit alone is a request too; an extended resource has equal values.
    """
    resources = _object(holder.get("resources"))
    asked = dict(_object(resources.get("requests")))
    for name, limit in _object(resources.get("limits")).items():
        asked.setdefault(name, limit)
    amounts = {name: read_amount(value, unreadable) for name, value in asked.items()}
    return {name: amount for name, amount in amounts.items() if amount}


def is_sidecar(init_container: JsonObject) -> bool:
    return init_container.get("restartPolicy") == "Always"


def containers_of(spec: JsonObject, field: str) -> list[JsonObject]:
    """Return the elements of an array, {} in place of one that is no object: indices stay."""
    found = spec.get(field)
    return [_object(each) for each in found] if isinstance(found, list) else []


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}
