"""Read the nodes that pods are to leave: the watch of nodes may lag behind."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from controller.facts.evacuation import NodeTags
from controller.facts.nodes import Tag, silent_since
from controller.facts.unreachable import SilentNodes
from shared.api.objects import NODES, labels
from shared.kube.client import KubeClient, NotFound


async def confirmed(client: KubeClient, tags: NodeTags, names: Iterable[str]) -> NodeTags:
    """Return the tags of these nodes whose label is there now, and those of latched nodes.

    A label that is gone may begin a latch; the watch will show that. Raises KubeError. `tags` may
    change during a read.
    """
    found = {}
    known = {name: tags[name] for name in names if name in tags}
    for name in sorted(known):
        try:
            there = labels(await client.get(NODES, None, name, metadata_only=True))
        except NotFound:
            continue
        still = {
            resource: tag
            for resource, tag in known[name].items()
            if tag.gone is not None or _is_there(tag, there)
        }
        if still:
            found[name] = still
    return found


async def still_silent(
    client: KubeClient, silent: SilentNodes, names: Iterable[str]
) -> tuple[SilentNodes, frozenset[str]]:
    """Return the silence of those of these nodes that do not answer now, and which of them do not
    exist. Raises KubeError. `silent` may change during a read.
    """
    found: dict[str, datetime] = {}
    removed: set[str] = set()
    known = {name: silent[name] for name in names if name in silent}
    for name in sorted(known):
        try:
            node = await client.get(NODES, None, name)
        except NotFound:
            removed.add(name)
            found[name] = known[name]
            continue
        if (since := silent_since(node.get("status") or {})) is not None:
            found[name] = since
    return found, frozenset(removed)


async def removed_nodes(client: KubeClient, names: Iterable[str]) -> frozenset[str]:
    """Return those of these nodes that do not exist. Raises KubeError."""
    found = set()
    for name in sorted(names):
        try:
            await client.get(NODES, None, name, metadata_only=True)
        except NotFound:
            found.add(name)
    return frozenset(found)


def _is_there(tag: Tag, there: Mapping[str, str]) -> bool:
    key, _, value = tag.label.partition("=")
    return there.get(key) == value
