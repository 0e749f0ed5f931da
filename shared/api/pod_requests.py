"""How much of each resource one pod asks for, as the scheduler and Kueue count it. Pure."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from shared.api.objects import JsonObject
from shared.api.quantities import QuantityError, parse_quantity

_NOTHING: Final = Decimal(0)


def requested_of(spec: JsonObject, name: str) -> Decimal:
    """As the scheduler counts: init containers run before the others, unless they stay.

    `spec` is a pod's. What cannot be read counts as nothing, and is refused elsewhere.
    """
    staying, passing = _NOTHING, _NOTHING
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
    """The same for each resource that the pod asks for some of, its overhead included.

    Where the pod itself says what it asks for (`spec.resources`), its containers do not count.
    """
    overhead = spec.get("overhead")
    extra = overhead if isinstance(overhead, dict) else {}
    itself = [*_names({"containers": [spec]})]
    names = dict.fromkeys([*_names(spec), *itself, *extra])
    amounts = {
        name: (_of_container(spec, name) if name in itself else requested_of(spec, name))
        + _read(extra.get(name))
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
    """A limit alone is a request too, and of an extended resource both are equal."""
    resources = container.get("resources")
    if not isinstance(resources, dict):
        return _NOTHING
    for kind in ("requests", "limits"):
        amounts = resources.get(kind)
        if isinstance(amounts, dict) and amounts.get(name) is not None:
            return _read(amounts[name])
    return _NOTHING


def _read(amount: object) -> Decimal:
    if amount is None:
        return _NOTHING
    try:
        return parse_quantity(amount)
    except QuantityError:
        return _NOTHING


def _objects(value: object) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
