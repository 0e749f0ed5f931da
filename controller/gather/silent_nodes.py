"""Nodes that cannot end their pods: gone, or without word for a while.

Read live, by name: this is asked only where a deletion has run out of patience.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from shared.api.json import JsonObject
from shared.api.resource import NODES
from shared.kube.client import KubeClient
from shared.kube.errors import Forbidden, NotFound

MOST_NODES: Final = 20
_TAINTS: Final = {
    "node.kubernetes.io/unreachable": "does not answer",
    "node.kubernetes.io/not-ready": "is not ready",
}


async def silent_nodes(client: KubeClient, names: Iterable[str]) -> Mapping[str, str]:
    """What is wrong with those of the nodes that are silent, as the end of a sentence.

    Looks at MOST_NODES of them at most. Raises KubeError, save where reading is forbidden.
    """
    states: dict[str, str] = {}
    for name in sorted(filter(None, set(names)))[:MOST_NODES]:
        try:
            state = silence_of(await client.get(NODES, None, name))
        except NotFound:
            state = "is no more"
        except Forbidden:
            state = "may not be read"
        if state:
            states[name] = state
    return states


def silence_of(node: JsonObject) -> str:
    """`does not answer since …`; empty for a node that speaks."""
    for taint in (node.get("spec") or {}).get("taints") or ():
        if said := _TAINTS.get(taint.get("key") or ""):
            return _since(said, taint.get("timeAdded"))
    for condition in (node.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") != "True":
            silent = condition.get("status") == "Unknown"
            said = "does not answer" if silent else "is not ready"
            return _since(said, condition.get("lastTransitionTime"))
    return ""


def _since(said: str, time: object) -> str:
    return f"{said} since {time}" if isinstance(time, str) and time else said
