"""Find pods that no node can hold: none that exists, and none of the last 24 hours. Pure.

Each doubt counts for the pod:

- Resources count by `allocatable`. Pods that run on a node, and DaemonSets, do not count.
- A node that is gone, has shrunk or got a taint within the last 24 hours counts as it was, and then
  by its resources only. So a device plugin that restarts fails no AppWrapper, and a taint counts
  only if the node has had it for 24 hours.
- If a node lost a label, or its value, within the last 24 hours, requirements of that label count as
  met, on all nodes.
- Cordoned, NotReady and unreachable nodes count.
- Requirements that exclude nodes (NotIn, DoesNotExist, matchFields), and those of labels that show
  the health of nodes, count as met: health changes.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from controller.facts.nodes import Node, NodeTaint, Offer, tolerates
from controller.facts.pods import Pod
from shared.api.amounts import ZERO, resources_text

MEMORY: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class RecentNodes:
    """The nodes that exist, and what the nodes of the last 24 hours offered.

    `lost`: what a node offered before it got worse, with the last time of that. `since`: when the
    controller began to watch nodes; None if it does not. `health`: keys of labels that show health.
    `relabelled`: keys of labels that a node lost or that changed their value, with the last time.
    """

    nodes: Collection[Node]
    lost: Mapping[Offer, datetime]
    since: datetime | None
    health: Collection[str] = ()
    relabelled: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NoNode:
    """Which pod no node can hold, with the largest node, in `text`; empty if there is none.

    `look_again`: when that may change by time alone.
    """

    text: str = ""
    look_again: timedelta | None = None


NoNodeFor = Callable[[Iterable[Pod], datetime], NoNode]


def has_worsened(old: Node, new: Node | None) -> bool:
    """True if some pod that `old` could hold may not fit `new`, whatever their labels."""
    if new is None or not covers(new.offers, old.offers):
        return True
    return bool(set(new.taints) - set(old.taints))


def lost_labels(old: Node, new: Node) -> frozenset[str]:
    """Return the keys of the labels that `new` has with another value, or not at all."""
    return frozenset(key for key, _ in set(old.labels) - set(new.labels))


def covers(offer: Offer, amounts: Offer) -> bool:
    """True if `offer` has at least `amounts`."""
    most = dict(offer)
    return all(amount <= most.get(name, ZERO) for name, amount in amounts)


def no_node_for(pods: Iterable[Pod], known: RecentNodes, now: datetime) -> NoNode:
    """Return the first of the pods, by name, that no node can hold.

    None before the controller has watched the nodes for 24 hours: a larger node may just have gone.
    """
    if not known.nodes or known.since is None:
        return NoNode()
    if now < (certain := known.since + MEMORY):
        return NoNode(look_again=certain - now)
    offered = {name for each in known.nodes for name, _ in each.offers}
    fitting: dict[_Demand, timedelta | None] = {}
    for pod in sorted(pods, key=lambda each: each.name):
        demand = _demand_of(pod, offered)
        if demand in fitting:
            continue
        if not all(_misfit(demand, node, known.health) for node in known.nodes):
            fitting[demand] = None
            continue
        left = max(_last_fits(demand, known), default=now - MEMORY) + MEMORY - now
        if left <= timedelta(0):
            return NoNode(_message(pod.name, demand, known))
        fitting[demand] = left
    return NoNode(look_again=min(filter(None, fitting.values()), default=None))


# The demand of a pod.


@dataclass(frozen=True, slots=True)
class _Demand:
    """`placement`: as in Pod."""

    amounts: Offer
    placement: str


@lru_cache(maxsize=1024)
def _read(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text) if text else {}
    return found


def _demand_of(pod: Pod, offered: Collection[str]) -> _Demand:
    """Return the demand without resources that only a DeviceClass may give: no node shows them.

    A resource that no node offers counts if the scheduler reports it as insufficient.
    """
    amounts = tuple(
        (name, amount)
        for name, amount in pod.requests
        if name in offered or f"Insufficient {name}" in pod.unscheduled
    )
    return _Demand(amounts, pod.placement)


def _required(demand: _Demand) -> set[str]:
    """Return the keys of the labels that the pod requires."""
    required = _read(demand.placement)
    terms = required.get("terms") or ()
    expressions = (each for term in terms for each in term.get("matchExpressions") or ())
    return {*(required.get("selector") or ()), *(each.get("key") or "" for each in expressions)}


def _last_fits(demand: _Demand, known: RecentNodes) -> Iterator[datetime]:
    """Yield when a node could last hold the pod."""
    yield from (last for offer, last in known.lost.items() if covers(offer, demand.amounts))
    relabelled = {key: known.relabelled[key] for key in _required(demand) & known.relabelled.keys()}
    for last in relabelled.values():
        met = {*known.health, *(key for key, time in relabelled.items() if time >= last)}
        if not all(_misfit(demand, node, met) for node in known.nodes):
            yield last


# One node against one demand.


def _misfit(demand: _Demand, node: Node, met: Collection[str]) -> str:
    """Return why the node can never hold the pod, for the text "the largest node …".

    `met`: keys of labels whose requirements count as met.
    """
    if not covers(node.offers, demand.amounts):
        most = dict(node.offers)
        return f"has {resources_text({name: most.get(name, ZERO) for name, _ in demand.amounts})}"
    if not demand.placement and not node.taints:
        return ""
    required = _read(demand.placement)
    labels = dict(node.labels)
    for key, value in (required.get("selector") or {}).items():
        if key not in met and labels.get(key) != value:
            return f"lacks the label {key}={value}, which the pod's nodeSelector requires"
    terms = required.get("terms")
    if terms and not any(_meets(term, labels, met) for term in terms):
        return "does not match the node affinity that the pod requires"
    tolerations = required.get("tolerations") or ()
    for taint in node.taints:
        if not any(tolerates(each, taint) for each in tolerations):
            return f"has the taint {_taint_text(taint)}, which the pod does not tolerate"
    return ""


def _taint_text(taint: NodeTaint) -> str:
    key, value, effect = taint
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"


def _meets(term: Mapping[str, Any], labels: Mapping[str, str], met: Collection[str]) -> bool:
    expressions = term.get("matchExpressions") or ()
    return all(each.get("key") in met or _holds(each, labels) for each in expressions)


def _holds(wanted: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(wanted.get("key", "")), wanted.get("values") or ()
    match wanted.get("operator"):
        case "In":
            return value in values
        case "Exists":
            return value is not None
        case "Gt":
            return _number(value) > _number(next(iter(values), None))
        case "Lt":
            return _number(value) < _number(next(iter(values), None))
    return True


def _number(text: str | None) -> float:
    """Read a number; without one no comparison holds."""
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


# The message.


def _message(name: str, demand: _Demand, known: RecentNodes) -> str:
    largest = _largest(demand, known.nodes)
    asked = resources_text(dict(demand.amounts)) or "no resources"
    why = _misfit(demand, largest, known.health)
    pod = f"no node can hold pod {name}, which requests {asked}"
    return f"{pod}: the largest node, {largest.name}, {why}"


def _largest(demand: _Demand, nodes: Collection[Node]) -> Node:
    """Return the node that lacks least, by devices first."""
    names = sorted((name for name, _ in demand.amounts), key=lambda name: ("/" not in name, name))

    def rank(node: Node) -> tuple[Any, ...]:
        most = dict(node.offers)
        return (*(-most.get(each, ZERO) for each in names), node.name)

    return min(nodes, key=rank)
