"""Pods, and parts of pods, that Kueue does not count. Pure.

There are two counters. The AppWrapper library counts wrapped objects, on reduced copies of their
pod templates. Kueue's own integration of a Kind counts objects that users create directly, on whole
templates. The record of each Kind lists what each counter misses.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from itertools import chain
from typing import Final

from shared.api.amounts import ZERO, largest
from shared.api.findings import FieldErrorKind
from shared.api.objects import JsonObject, JsonValue
from shared.api.pod_requests import containers_of, containers_requests, is_sidecar, own_requests


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

_SOME: Final = Decimal(1)  # an unreadable amount


def is_extended(resource: str) -> bool:
    """True for the name of a device plugin's resource, such as nvidia.com/gpu."""
    return "/" in resource and "kubernetes.io/" not in resource


def resources_asked(holder: JsonObject) -> frozenset[str]:
    """Return the names of the resources that the `resources` of a container or a pod request."""
    return frozenset(own_requests(holder, _SOME))


# Stands among the names of resources for all devices that resource claims give to a pod.
RESOURCE_CLAIMS: Final = "resourceClaims"


def resources_used(pod_template: JsonValue) -> frozenset[str]:
    """Return the names of the resources that a pod of this template uses, and RESOURCE_CLAIMS if
    it has claims.
    """
    spec = pod_template.get("spec") if isinstance(pod_template, dict) else None
    if not isinstance(spec, dict):
        return frozenset()
    containers = chain(containers_of(spec, "containers"), containers_of(spec, "initContainers"))
    claims = {RESOURCE_CLAIMS} if spec.get("resourceClaims") else ()
    return frozenset(claims).union(*map(resources_asked, (spec, *containers)))


# Parts of a pod template that the AppWrapper library's copy omits.


def beyond_the_copy(spec: JsonObject) -> Iterator[Uncounted]:
    """Yield sidecars and pod-level resources that raise a pod's use above Kueue's count.

    In the copy a restartable init container is an ordinary one, which ends before the pod's
    containers start. The copy has no resources of the pod itself.
    """
    starting = containers_of(spec, "initContainers")
    own = own_requests(spec, _SOME)
    if not own and not any(map(is_sidecar, starting)):
        return  # both counts are the same
    used = largest([containers_requests(spec, unreadable=_SOME), own])
    counted = containers_requests(spec, unreadable=_SOME, sidecars=False)
    excess = {name for name, amount in used.items() if amount > counted.get(name, ZERO)}
    if uses := excess & own.keys():
        yield Uncounted(
            path="resources",
            what="Kueue only sees what each container requests: request it there",
            uses=frozenset(uses),
        )
    for index, container in enumerate(starting):
        if is_sidecar(container) and (uses := excess & resources_asked(container)):
            yield Uncounted(
                path=f"initContainers[{index}].resources",
                what="Kueue counts this sidecar as an init container that ends before the pod's "
                "containers start",
                instead="make it one of spec.containers",
                uses=frozenset(uses),
            )
