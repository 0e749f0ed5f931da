"""What runs of an object although Kueue does not count it: pods, and parts of pods. Pure.

Two count for Kueue. The AppWrapper library counts what is wrapped, on reduced copies of its pod
templates. What users create directly is counted by Kueue's own integration of its Kind, on the
templates as they are. The record of each Kind says what either of them misses.
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
    """Who counts for Kueue."""

    WRAPPED = "the AppWrapper library"
    DIRECT = "Kueue's own integration"


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncounted:
    """Something that Kueue does not count because of the field at `path`.

    `what` says why, and `instead` what to write. `uses` are the resources that it takes. `certain`:
    it comes in any case, and could be counted. `template`: the path of its pod template, for which
    users may declare a pod set. `kind` and `value` are those of the error that it may become.
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
    """The field at `path` says what becomes of pods that still run when their object has ended.

    With any of `ends` they are deleted. Where it is unset they run on.
    """

    path: str
    ends: tuple[str, ...]


# Of the Training and of the MPI Operator. Running spares those that have ended, and their logs.
CLEAN_POD_POLICY: Final = LeftPods("template.spec.runPolicy.cleanPodPolicy", ("Running", "All"))


# Which resources are asked for, read leniently: what is malformed others refuse.

_SOME: Final = Decimal(1)
_NONE: Final = Decimal()


def is_extended(resource: str) -> bool:
    """Whether the name is one that a device plugin made up, such as nvidia.com/gpu."""
    return "/" in resource and "kubernetes.io/" not in resource


def resources_asked(resources: JsonValue) -> frozenset[str]:
    """The names of which the `resources` of a container or a pod ask for some amount."""
    return frozenset(_amounts(resources))


def resources_used(pod_template: JsonValue) -> frozenset[str]:
    """The names of which a pod of this template uses some amount."""
    spec = _object(_object(pod_template).get("spec"))
    found = resources_asked(spec.get("resources"))
    for field in ("containers", "initContainers"):
        found = found.union(*(_amounts(each.get("resources")) for each in _objects(spec, field)))
    return found


def _amounts(resources: JsonValue) -> dict[str, Decimal]:
    """The requests, and the limits where nothing is requested; without zeros."""
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
    """The elements of an array, {} for one that is no object, so that indices stay."""
    found = spec.get(field)
    return [_object(each) for each in found] if isinstance(found, list) else []


# What a pod template holds that the AppWrapper library leaves out of its copy.


def beyond_the_copy(spec: JsonObject) -> Iterator[Uncounted]:
    """Sidecars and pod-level resources, as far as a pod uses more by them than Kueue counts.

    In the copy a restartable init container is an ordinary one, which is done before the pod's
    containers start, and the pod's own resources are missing.
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
                what="Kueue takes this sidecar for an init container, which is done before the "
                "pod's containers start",
                instead="make it one of spec.containers",
                uses=frozenset(uses),
            )


def _is_sidecar(container: JsonObject) -> bool:
    return container.get("restartPolicy") == "Always"


def _excess(
    containers: Iterable[JsonObject], starting: Iterable[JsonObject], own: dict[str, Decimal]
) -> set[str]:
    """The resources of which a pod uses more than Kueue counts.

    Sidecars run beside the containers, and beside the init containers that come after them. Kueue
    counts the containers together, or the largest init container where that is more.
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
