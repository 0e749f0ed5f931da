"""Pods on nodes that do not answer: they count as not running, and are moved after a time. Pure.

A node that sends no heartbeat gets the condition Ready `Unknown`. The time of that change is on the
Node, so a restart of the controller neither prolongs nor shortens any wait.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

from controller.facts.deployed import DeployedObject
from controller.facts.nodes import UNREACHABLE
from controller.facts.pod_counts import Membership
from controller.facts.pods import Pod
from controller.phases.silent_nodes import CutOff, Suspect, UnreachablePods
from shared.api.times import format_time, parse_time, time_or_none
from shared.waits.words import listed

# Since when nodes do not answer, by name.
SilentNodes = Mapping[str, datetime]
EVERY_NODE_ANSWERS: Final[SilentNodes] = MappingProxyType({})


def find_unreachable(
    pods: Iterable[Pod], membership: Membership, silent: SilentNodes, known: Collection[str]
) -> UnreachablePods | None:
    """Return the awaited pods of the current attempt on silent nodes; None without any.

    `known`: the nodes whose silence moved the AppWrapper within the last 24 hours. The period of a
    pod begins at its creation if its node was silent before.
    """
    if not silent:  # as on nearly every pass
        return None
    cut = [
        (pod, max(silent[pod.node], parse_time(pod.created)) if pod.created else silent[pod.node])
        for pod in sorted(pods, key=lambda each: (each.node, each.name))
        if pod.node in silent
        and pod.phase not in ("Succeeded", "Failed")
        and membership.is_awaited(pod)
    ]
    if not cut:
        return None
    suspects = {pod.node: Suspect(pod.node, pod.name, unreachable=True) for pod, _ in reversed(cut)}
    return UnreachablePods(
        message="; ".join(_by_node((pod for pod, _ in cut), silent).values()),
        since=min(since for _, since in cut),
        pods=len(cut),
        suspects=tuple(suspects[node] for node in sorted(suspects)),
        spends_retry=not suspects.keys().isdisjoint(known),
        resources=frozenset({UNREACHABLE}.union(*(pod.resources for pod, _ in cut))),
    )


def find_cut_off(pods: Iterable[DeployedObject], silent: SilentNodes) -> tuple[CutOff, ...]:
    """Return the pods that are being deleted on silent nodes, by node."""
    if not silent:
        return ()
    leaving = [pod for pod in pods if pod.deleting]
    return tuple(
        CutOff(node, silent[node], text) for node, text in _by_node(leaving, silent).items()
    )


_PLACED: Final = re.compile(r" on node (\S+), which does not answer since ([^\s;]+)")


def silent_nodes_in(text: str) -> dict[str, datetime]:
    """Return the silent nodes that a condition of the controller names."""
    found = ((node, time_or_none(since)) for node, since in _PLACED.findall(text))
    return {node: since for node, since in found if since is not None}


def _by_node(pods: Iterable[Pod | DeployedObject], silent: SilentNodes) -> dict[str, str]:
    """Return `Pod train-0 on node gpu-7, which does not answer since …` for each silent node."""
    found: dict[str, list[str]] = {}
    for pod in pods:
        if pod.node in silent:
            found.setdefault(pod.node, []).append(pod.name)
    return {node: _placed(sorted(names), node, silent) for node, names in sorted(found.items())}


def _placed(names: list[str], node: str, silent: SilentNodes) -> str:
    noun = "Pods" if len(names) > 1 else "Pod"
    since = format_time(silent[node])
    return f"{noun} {listed(names)} on node {node}, which does not answer since {since}"
