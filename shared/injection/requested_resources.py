"""Which resources a pod asks for."""

from collections.abc import Collection
from typing import Final

from shared.api.json import JsonObject, JsonValue
from shared.injection.fields import array_at, element, object_at
from shared.quantities import QuantityError, parse_quantity

_CONTAINERS: Final = ("containers", "initContainers")
_AMOUNTS: Final = ("requests", "limits")


def requested_resources(pod_spec: JsonObject, names: Collection[str], path: str) -> list[str]:
    """Those of `names`, in their order, of which some container wants more or less than 0.

    Raises InjectionConflict for a field of another type than it must be. `path` is the spec's.
    """
    found: set[str] = set()
    for field in _CONTAINERS:
        for index, each in enumerate(array_at(pod_spec, field, path)):
            here = f"{path}.{field}[{index}]"
            resources = object_at(element(each, here), "resources", here)
            for kind in _AMOUNTS:
                amounts = object_at(resources, kind, f"{here}.resources")
                found.update(
                    name
                    for name in names
                    if name in amounts and name not in found and _is_some(amounts[name])
                )
    return [name for name in names if name in found]


def _is_some(amount: JsonValue) -> bool:
    """An amount that cannot be read counts: staying off bad nodes does no harm.

    The webhook refuses such an amount, and the API server does.
    """
    if amount is None:
        return False
    try:
        return parse_quantity(amount) != 0
    except QuantityError:
        return True
