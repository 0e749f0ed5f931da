"""Pods on nodes that do not answer: they count as not running, and are moved after a time. Pure.

A node that sends no heartbeat gets the condition Ready `Unknown`. The time of that change is on the
Node, so a restart of the controller neither prolongs nor shortens any wait.

A cloud removes the Node of a machine that is gone, often seconds later. Its pods stay for up to 90
seconds, until PodGC makes them fail and deletes them. They count as on a silent node until then.
PodsReady names the node with the time, which is read from there again.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final

from controller.facts.deployed import DeployedObject
from controller.facts.nodes import UNREACHABLE
from controller.facts.pod_counts import Membership
from controller.facts.pod_reasons import NODE_REMOVED
from controller.facts.pods import Pod
from controller.phases.silent_nodes import CutOff, Suspect, UnreachablePods
from shared.api.times import format_time, parse_time, time_or_none
from shared.waits.words import listed

# Since when nodes do not answer, by name.
SilentNodes = Mapping[str, datetime]
EVERY_NODE_ANSWERS: Final[SilentNodes] = MappingProxyType({})


def find_unreachable(
    pods: Iterable[Pod],
    membership: Membership,
    silent: SilentNodes,
    known: Collection[str],
    removed: Collection[str] = (),
) -> UnreachablePods | None:
    """Return the awaited pods of the current attempt on silent nodes; None without any.

    `known`: the nodes whose silence moved the AppWrapper within the last 24 hours. `removed`: the
    silent nodes that no longer exist. The period of a pod begins at its creation if its node was
    silent before.
    """
    if not silent:  # as on nearly every pass
        return None
    cut = [
        (pod, max(silent[pod.node], parse_time(pod.created)) if pod.created else silent[pod.node])
        for pod in pods
        if pod.node in silent
        and pod.phase not in ("Succeeded", "Failed")
        and membership.is_awaited(pod)
    ]
    return _unreachable(cut, silent, known, removed)


def find_lost(
    failed: Iterable[Pod], reported: str, known: Collection[str], now: datetime
) -> UnreachablePods | None:
    """Return the failed pods whose node was removed; None without any.

    `reported`: the text of PodsReady, which shows the time of the silence. `known`: as above.
    """
    pods = [pod for pod in failed if pod.cause == NODE_REMOVED and pod.node]
    seen = silent_nodes_in(reported)
    silent = {pod.node: seen.get(pod.node) or time_or_none(pod.failed_at) or now for pod in pods}
    return _unreachable([(pod, silent[pod.node]) for pod in pods], silent, known, silent)


def find_lost_in(
    reported: str, known: Collection[str], silent: Collection[str]
) -> UnreachablePods | None:
    """Return the pods on removed nodes that PodsReady names; None without any.

    They are gone, and only this text is left of them after a restart of the controller. `silent`:
    nodes whose pods are still there, so this text does not count for them.
    """
    placed = {each["node"]: each for each in _PLACED.finditer(reported) if each["removed"]}
    found = [each for node, each in placed.items() if node not in silent]
    times = [time for each in found if (time := time_or_none(each["since"]))]
    if not times:
        return None
    return UnreachablePods(
        message="; ".join(each[0] for each in found),
        since=min(times),
        pods=len(found),
        suspects=tuple(Suspect(each["node"], each["pod"], unreachable=True) for each in found),
        spends_retry=any(each["node"] in known for each in found),
    )


def _unreachable(
    cut: Collection[tuple[Pod, datetime]],
    silent: SilentNodes,
    known: Collection[str],
    removed: Collection[str],
) -> UnreachablePods | None:
    if not cut:
        return None
    cut = sorted(cut, key=lambda each: (each[0].node, each[0].name))
    suspects = {pod.node: Suspect(pod.node, pod.name, unreachable=True) for pod, _ in reversed(cut)}
    return UnreachablePods(
        message="; ".join(_by_node((pod for pod, _ in cut), silent, removed).values()),
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


_REMOVED: Final = "was removed and "
_PLACED: Final = re.compile(
    r"Pods? (?P<pod>[^\s,;]+)(?:[, ][^;]*?)? on node (?P<node>\S+),"
    rf" which (?P<removed>{_REMOVED})?does not answer since (?P<since>[^\s;]+)"
)


def silent_nodes_in(text: str) -> dict[str, datetime]:
    """Return the silent nodes that a condition of the controller names, removed ones too."""
    found = ((each["node"], time_or_none(each["since"])) for each in _PLACED.finditer(text))
    return {node: since for node, since in found if since is not None}


def removed_nodes_in(text: str) -> frozenset[str]:
    """Return those of them that were removed."""
    return frozenset(each["node"] for each in _PLACED.finditer(text) if each["removed"])


def _by_node(
    pods: Iterable[Pod | DeployedObject], silent: SilentNodes, removed: Collection[str] = ()
) -> dict[str, str]:
    """Return `Pod train-0 on node gpu-7, which does not answer since …` for each silent node."""
    found: dict[str, list[str]] = {}
    for pod in pods:
        if pod.node in silent:
            found.setdefault(pod.node, []).append(pod.name)
    return {
        node: _placed(sorted(names), node, silent[node], _REMOVED if node in removed else "")
        for node, names in sorted(found.items())
    }


def _placed(names: list[str], node: str, since: datetime, removed: str) -> str:
    noun, when = "Pods" if len(names) > 1 else "Pod", format_time(since)
    return f"{noun} {listed(names)} on node {node}, which {removed}does not answer since {when}"
