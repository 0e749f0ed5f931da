"""What the fleet's safety shows of itself. All of it is read when somebody asks."""

from collections.abc import Callable
from functools import partial
from typing import Final

from prometheus_client import CollectorRegistry, Gauge

from controller.fleet.breaker_keeper import BreakerKeeper
from controller.fleet.permits import ResetPermits
from controller.nodes.node_index import NodeIndex
from controller.phases.snapshot import HoldReason

_OPEN: Final = "1 while evacuations wait because too many nodes turned NoExecute at once."
_NO_EXECUTE: Final = "Nodes that have the resource and a label that drives its users off."
_UNSCHEDULABLE: Final = (
    "How much of the resource no new pod can have: cordoned nodes, nodes out of reach, and labels "
    "with effect NoSchedule or NoExecute."
)


def show_permits(registry: CollectorRegistry, permits: ResetPermits) -> None:
    """Who waits, and whether an admin paused everything."""
    text = "1 while pauseResets holds all resets and evacuations."
    paused = Gauge("appwrapper_resets_paused", text, registry=registry)
    paused.set_function(lambda: permits.paused)
    text = "AppWrappers whose reset was decided and must wait, by what for."
    waiting = Gauge("appwrapper_resets_waiting", text, ("reason",), registry=registry)
    for reason in HoldReason:
        waiting.labels(reason.value).set_function(partial(_waiting, permits, reason))


def show_nodes(registry: CollectorRegistry, nodes: NodeIndex, breakers: BreakerKeeper) -> None:
    """Per resource with taints: its nodes, and the breaker."""
    gauges: dict[str, tuple[str, Callable[[str], float]]] = {
        "appwrapper_evacuation_breaker_open": (_OPEN, breakers.is_open),
        "appwrapper_nodes": ("Nodes that have the resource.", nodes.population),
        "appwrapper_nodes_no_execute": (_NO_EXECUTE, lambda name: len(nodes.tagged(name))),
        "appwrapper_unschedulable_capacity": (
            _UNSCHEDULABLE,
            lambda name: float(nodes.unschedulable(name)),
        ),
    }
    for name, (text, value) in gauges.items():
        gauge = Gauge(name, text, ("resource",), registry=registry)
        for resource in nodes.resources:
            gauge.labels(resource).set_function(partial(value, resource))


def _waiting(permits: ResetPermits, reason: HoldReason) -> float:
    return len(permits.held(reason))
