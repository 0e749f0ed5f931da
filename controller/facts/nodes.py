"""Nodes as facts: what their labels and taints mean for pods."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from sys import intern
from typing import Final

from shared.api.conditions import condition
from shared.api.objects import JsonObject, JsonValue
from shared.api.quantities import QuantityError, parse_quantity
from shared.api.times import time_or_none
from shared.config.fault_tolerance import Taint

# A node as the controller remembers it: only fields that decisions read.
#
# A node's status also changes with heartbeats every few minutes, and with each pulled image. These
# fields are left out, so the controller sees no change.

# The node controller adds these when the kubelet reports trouble, or nothing at all.
_OUT_OF_REACH = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
# Names the nodes that do not answer, whatever their resources: for the evacuation breaker.
UNREACHABLE: Final = "unreachable"
# An admin's annotation on a Node: it clears latches of labels that came before this time.
ANNOTATION_LATCH_CLEARED: Final = "workload.codeflare.dev/latch-cleared"
# Effects that keep pods off a node.
KEEPS_OFF = frozenset({"NoSchedule", "NoExecute"})

NodeTaint = tuple[str, str, str]  # key, value and effect of a taint of the node itself
Offer = tuple[tuple[str, Decimal], ...]  # amounts by resource, sorted by name
CORDON: Final[NodeTaint] = ("node.kubernetes.io/unschedulable", "", "NoSchedule")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node. `labels` are those of interest, sorted by key.

    `taints` keep off pods without a toleration; cordons and out-of-reach taints have own fields.
    `allocatable` and `resources` list only resources of interest: the amounts that pods may have
    now, and all names. A resource whose devices have all failed remains in `resources`.
    `capacity` lists all resources, and `offers` all that pods may have. `latch_cleared`: the text
    of an admin's annotation, or empty. `silent_since`: since when its condition Ready is Unknown;
    None while the node answers.
    """

    name: str
    uid: str
    labels: tuple[tuple[str, str], ...]
    cordoned: bool
    out_of_reach: bool  # NotReady or unreachable
    allocatable: tuple[tuple[str, Decimal], ...]
    resources: frozenset[str]
    latch_cleared: str = ""
    taints: tuple[NodeTaint, ...] = ()
    capacity: Offer = ()
    offers: Offer = ()
    silent_since: datetime | None = None


class NodeProjection:
    """Projects Nodes with these label keys and resources only. None: all of them."""

    def __init__(
        self, label_keys: Iterable[str] | None = None, resources: Iterable[str] | None = None
    ) -> None:
        self._label_keys = None if label_keys is None else sorted(set(label_keys))
        self._resources = None if resources is None else sorted(set(resources))

    def project(self, item: JsonObject) -> Node:
        """Project the API server's object; the Node holds no reference to it."""
        metadata = item["metadata"]
        spec = item.get("spec") or {}
        status = item.get("status") or {}
        labels = metadata.get("labels") or {}
        allocatable = self._amounts(given := status.get("allocatable"))
        written = status.get("capacity")
        capacity = _amounts(written, sorted(written or ()))
        resources = self._amounts(written)
        taints = spec.get("taints") or ()
        keys = sorted(labels) if self._label_keys is None else self._label_keys
        return Node(
            name=metadata["name"],
            uid=metadata["uid"],
            labels=tuple(_pair(key, labels[key]) for key in keys if key in labels),
            cordoned=bool(spec.get("unschedulable")),
            out_of_reach=any(each.get("key") in _OUT_OF_REACH for each in taints),
            allocatable=tuple(allocatable.items()),
            resources=frozenset(allocatable) | frozenset(resources),
            latch_cleared=(metadata.get("annotations") or {}).get(ANNOTATION_LATCH_CLEARED, ""),
            taints=tuple(_own_taints(taints)),
            silent_since=silent_since(status),
            capacity=_shared(tuple(capacity.items())),
            offers=_shared(tuple(_amounts(given, sorted(given or ())).items())),
        )

    def _amounts(self, written: JsonValue) -> dict[str, Decimal]:
        return _amounts(
            written, sorted(written or ()) if self._resources is None else self._resources
        )


def silent_since(status: JsonObject) -> datetime | None:
    """Return since when the node does not answer; None if it does, whether Ready or not."""
    ready = condition(status.get("conditions") or (), "Ready") or {}
    if ready.get("status") != "Unknown":
        return None
    return time_or_none(ready.get("lastTransitionTime") or "")


def _amounts(written: JsonValue, names: Iterable[str]) -> dict[str, Decimal]:
    """Return the amounts above 0, by name."""
    amounts = written if isinstance(written, dict) else {}
    read = {intern(name): _amount(str(amounts.get(name, ""))) for name in names}
    return {name: amount for name, amount in read.items() if amount > 0}


def _own_taints(taints: Iterable[JsonObject]) -> Iterator[NodeTaint]:
    for each in taints:
        key, effect = each.get("key") or "", each.get("effect") or ""
        if effect in KEEPS_OFF and key not in _OUT_OF_REACH and key != CORDON[0]:
            yield key, each.get("value") or "", effect


def tolerates(toleration: JsonObject, taint: NodeTaint) -> bool:
    """True if the toleration matches the taint, by the scheduler's rules."""
    key, value, effect = taint
    if toleration.get("effect") not in (None, "", effect):
        return False
    if toleration.get("operator") == "Exists":
        return toleration.get("key") in (None, "", key)
    return toleration.get("key") == key and (toleration.get("value") or "") == value


# The nodes of a cluster are much alike. With these caches 2,000 nodes share labels and amounts,
# which saves memory. A heartbeat changes neither, so nothing is parsed again.


@lru_cache(maxsize=1 << 16)
def _pair(key: str, value: str) -> tuple[str, str]:
    return key, value


@lru_cache(maxsize=1 << 10)
def _shared(amounts: Offer) -> Offer:
    return amounts


@lru_cache(maxsize=1 << 12)
def _amount(written: str) -> Decimal:
    try:
        return parse_quantity(written)
    except QuantityError:
        return Decimal(0)  # absent: the API server rejects malformed quantities


# The effect of a node's labels and taints on its resources (`autopilot.resourceTaints`).

ResourceTaints = Mapping[str, Sequence[Taint]]  # by the name of the resource

_TESTING: Final = "testing"


def matching(node: Node, taints: Sequence[Taint]) -> Iterator[Taint]:
    """Yield the `taints` that the node has as a label, in their order."""
    # A scan is cheaper than a dict of a hundred labels.
    return (taint for taint in taints if (taint.key, taint.value) in node.labels)


def _labelled(
    node: Node, resource_taints: ResourceTaints, counts: Callable[[Taint], bool]
) -> dict[str, str]:
    """Return the resources with a label that counts, each with its first one (`key=value`)."""
    found: dict[str, str] = {}
    for resource, taints in resource_taints.items():
        for taint in filter(counts, matching(node, taints)):
            found.setdefault(resource, f"{taint.key}={taint.value}")
    return found


def no_execute(node: Node, resource_taints: ResourceTaints) -> dict[str, str]:
    """Return the resources that running pods must leave, each with its label (`key=value`)."""
    return _labelled(node, resource_taints, lambda taint: taint.effect == "NoExecute")


def flagged(node: Node, resource_taints: ResourceTaints) -> frozenset[str]:
    """Return the resources with a label that keeps pods off and is no test: it marks them bad."""
    return frozenset(
        _labelled(
            node,
            resource_taints,
            lambda taint: taint.effect in KEEPS_OFF and not _is_test(taint),
        )
    )


def under_test(node: Node, resource_taints: ResourceTaints) -> dict[str, str]:
    """Return the resources under test, each with its label (`key=value`).

    A label with effect NoExecute is no test: pods leave the node at once.
    """
    return _labelled(
        node, resource_taints, lambda taint: _is_test(taint) and taint.effect != "NoExecute"
    )


def _is_test(taint: Taint) -> bool:
    """True if its value is TESTING, in any case."""
    return taint.value.casefold() == _TESTING


class WithheldBy(StrEnum):
    """Why no new pod can use a node's resource. The first reason that applies counts."""

    CORDONED = "cordoned"
    OUT_OF_REACH = "out_of_reach"  # NotReady or unreachable
    LABEL = "label"  # with effect NoSchedule or NoExecute for this resource
    LATCH = "latch"  # of a label that is gone
    OVERDUE_TEST = "overdue_test"  # of a label that alone withholds nothing


def unschedulable(
    node: Node, resource_taints: ResourceTaints, withheld: Collection[str] = ()
) -> dict[str, Decimal]:
    """Return how much of each resource the node has but no new pod can use.

    If the node accepts no pods at all: every amount; else the amounts that a label withholds.
    `withheld`: resources that are withheld without such a label, by a latch or an overdue test.
    """
    lost = unschedulable_by_reason(node, resource_taints, withheld)
    return {resource: amount for resource, _, amount in lost}


def unschedulable_by_reason(
    node: Node,
    resource_taints: ResourceTaints,
    latched: Collection[str] = (),
    overdue: Collection[str] = (),
) -> Iterator[tuple[str, WithheldBy, Decimal]]:
    """Yield each amount of `unschedulable` with exactly one reason."""
    for resource, amount in node.allocatable:
        labels = matching(node, resource_taints.get(resource, ()))
        if node.cordoned:
            yield resource, WithheldBy.CORDONED, amount
        elif node.out_of_reach:
            yield resource, WithheldBy.OUT_OF_REACH, amount
        elif any(taint.effect in KEEPS_OFF for taint in labels):
            yield resource, WithheldBy.LABEL, amount
        elif resource in latched:
            yield resource, WithheldBy.LATCH, amount
        elif resource in overdue:
            yield resource, WithheldBy.OVERDUE_TEST, amount


@dataclass(frozen=True, slots=True)
class Tag:
    """A NoExecute `label` (`key=value`) that the controller first saw at `since`.

    `gone`: when the label was removed; since then the node is latched.
    """

    label: str
    since: datetime
    gone: datetime | None = None

    @property
    def words(self) -> str:
        """Return the text for messages, without a time: a condition changes only on events."""
        return self.label if self.gone is None else f"{self.label}, latched"


Tags = Mapping[str, Tag]  # by the name of the resource
