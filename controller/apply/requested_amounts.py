"""How much of a resource an AppWrapper's pods ask for, by their templates. Pure."""

from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import Final

from shared.api.appwrapper import AppWrapper
from shared.api.json import JsonObject
from shared.kinds.paths import template_at
from shared.kinds.pod_set import PodSetError
from shared.kinds.table import component_pod_sets
from shared.quantities import QuantityError, parse_quantity

_NOTHING: Final = Decimal(0)
# No cluster has as much: it never ran, and would spoil every sum that it got into.
_ABSURD: Final = Decimal(10) ** 9


def requested_amounts(appwrapper: AppWrapper, resources: Collection[str]) -> dict[str, float]:
    """Of each of `resources` that its pods ask for: the amount of one pod times replicas, summed.

    For a metric: what cannot be read counts as nothing, and is refused elsewhere.
    """
    total = dict.fromkeys(resources, _NOTHING)
    for component in appwrapper.components:
        for template, replicas in _pod_templates(component):
            for name in total:
                total[name] += _of_pod(template, name) * replicas
    return {name: float(amount) for name, amount in total.items() if 0 < amount < _ABSURD}


def _pod_templates(component: JsonObject) -> Iterable[tuple[JsonObject, int]]:
    try:
        for pod_set in component_pod_sets(component):
            yield template_at(component.get("template") or {}, pod_set.path), pod_set.replicas
    except PodSetError:
        return


def _of_pod(template: JsonObject, name: str) -> Decimal:
    """As the scheduler counts: init containers run before the others, unless they stay."""
    spec = template["spec"]
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


def _of_container(container: JsonObject, name: str) -> Decimal:
    """A limit alone is a request too, and of an extended resource both are equal."""
    resources = container.get("resources")
    if not isinstance(resources, dict):
        return _NOTHING
    for kind in ("requests", "limits"):
        amounts = resources.get(kind)
        if isinstance(amounts, dict) and amounts.get(name) is not None:
            try:
                return parse_quantity(amounts[name])
            except QuantityError:
                return _NOTHING
    return _NOTHING


def _objects(value: object) -> list[JsonObject]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
