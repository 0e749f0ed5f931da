"""Pods, and parts of pods, that Kueue does not count. Pure.

There are two counters. The AppWrapper library counts wrapped objects, on reduced copies of their
pod templates. Kueue's own integration of a Kind counts objects that users create directly, on whole
templates. The record of each Kind lists what each counter misses.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Final

from shared.api.findings import FieldErrorKind
from shared.api.objects import JsonObject, JsonValue
from shared.api.quantities import QuantityError, parse_quantity


class Counter(Enum):
    """The code that counts pods for Kueue."""

    WRAPPED = "the AppWrapper library"
    DIRECT = "Kueue's own integration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncounted:
    """Something that Kueue does not count because of the field at `path`.

    `what` is the reason, and `instead` the remedy. `uses` are the resources that it uses.
    `certain`: it exists in any case, and could be counted. `template`: the path of its pod
    template, for which users may declare a pod set. `kind` and `value` are those of the resulting
    error.
    """

    path: str
    what: str
    instead: str = ""
    uses: frozenset[str]
    certain: bool = False
    template: str = ""
    kind: FieldErrorKind = FieldErrorKind.FORBIDDEN
    value: str | None = None


@dataclass(frozen=True, slots=True)
class LeftPods:
    """The field at `path` decides about pods that still run when their object has ended.

    With one of `ends` they are deleted. Without the field they keep running.
    """

    path: str
    ends: tuple[str, ...]


# The Training Operator's and the MPI Operator's. Running keeps ended pods, and their logs.
CLEAN_POD_POLICY: Final = LeftPods("template.spec.runPolicy.cleanPodPolicy", ("Running", "All"))


# Requested resources, read leniently: other rules refuse malformed ones.

_SOME: Final = Decimal(1)
_NONE: Final = Decimal()


def is_extended(resource: str) -> bool:
    """True for the name of a device plugin's resource, such as nvidia.com/gpu."""
    return "/" in resource and "kubernetes.io/" not in resource


def resources_asked(resources: JsonValue) -> frozenset[str]:
    """Return the names of the resources that a container's or a pod's `resources` request."""
    return frozenset(_amounts(resources))


def resources_used(pod_template: JsonValue) -> frozenset[str]:
    """Return the names of the resources that a pod of this template uses."""
    spec = _object(_object(pod_template).get("spec"))
    found = resources_asked(spec.get("resources"))
    for field in ("containers", "initContainers"):
        found = found.union(*(_amounts(each.get("resources")) for each in _objects(spec, field)))
    return found


def _amounts(resources: JsonValue) -> dict[str, Decimal]:
    """Return the requests, and the limits of unrequested resources, without zeros."""
    found = _object(resources)
    asked = {**_object(found.get("limits")), **_object(found.get("requests"))}
    amounts = {name: _amount(value) for name, value in asked.items() if value is not None}
    return {name: amount for name, amount in amounts.items() if amount}


def _amount(value: JsonValue) -> Decimal:
    try:
        return parse_quantity(value)
    except QuantityError:
        return _SOME


def _object(value: JsonValue) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _objects(spec: JsonObject, field: str) -> list[JsonObject]:
    """Return the elements of an array, {} in place of one that is no object: indices stay."""
    found = spec.get(field)
    return [_object(each) for each in found] if isinstance(found, list) else []


# Parts of a pod template that the AppWrapper library's copy omits.


def beyond_the_copy(spec: JsonObject) -> Iterator[Uncounted]:
    """Yield sidecars and pod-level resources that raise a pod's use above Kueue's count.

    In the copy a restartable init container is an ordinary one, which ends before the pod's
    containers start. The copy has no resources of the pod itself.
    """
    starting = _objects(spec, "initContainers")
    sidecars = [index for index, each in enumerate(starting) if _is_sidecar(each)]
    own = _amounts(spec.get("resources")) if spec.get("resources") else {}
    if not sidecars and not own:
        return
    excess = _excess(_objects(spec, "containers"), starting, own)
    if uses := excess & own.keys():
        yield Uncounted(
            path="resources",
            what="Kueue only sees what each container requests: request it there",
            uses=frozenset(uses),
        )
    for index in sidecars:
        if uses := excess & _amounts(starting[index].get("resources")).keys():
            yield Uncounted(
                path=f"initContainers[{index}].resources",
                what="Kueue counts this sidecar as an init container that ends before the pod's "
                "containers start",
                instead="make it one of spec.containers",
                uses=frozenset(uses),
            )


def _is_sidecar(container: JsonObject) -> bool:
    return container.get("restartPolicy") == "Always"


def _excess(
    containers: Iterable[JsonObject], starting: Iterable[JsonObject], own: dict[str, Decimal]
) -> set[str]:
    """Return the resources of which a pod uses more than Kueue counts.

    Sidecars run beside the containers, and beside later init containers. Kueue counts the sum of
    the containers, or the largest init container if that is more.
    """
    together: dict[str, Decimal] = {}
    for container in containers:
        _add(together, _amounts(container.get("resources")))
    beside: dict[str, Decimal] = {}
    counted, used = dict(together), dict(together)
    for container in starting:
        amounts = _amounts(container.get("resources"))
        _raise(counted, amounts)
        if _is_sidecar(container):
            _add(beside, amounts)
        else:
            before = {name: amount + beside.get(name, _NONE) for name, amount in amounts.items()}
            _raise(used, before)
    _raise(used, {name: each + together.get(name, _NONE) for name, each in beside.items()})
    _raise(used, own)
    return {name for name, amount in used.items() if amount > counted.get(name, _NONE)}


def _add(amounts: dict[str, Decimal], more: dict[str, Decimal]) -> None:
    for name, amount in more.items():
        amounts[name] = amounts.get(name, _NONE) + amount


def _raise(amounts: dict[str, Decimal], least: dict[str, Decimal]) -> None:
    for name, amount in least.items():
        amounts[name] = max(amounts.get(name, _NONE), amount)
