"""Prints what real operators report: `python -m tests.simulation.record_operators`.

Starts a local cluster with all of them, and runs every life of operator_lives in a namespace of its
own. The exit code is 1 if the reports differ from the table there. Takes some minutes.
"""

import asyncio
import sys
from contextlib import aclosing
from typing import Final

from localcluster.cluster import ClusterOptions, LocalCluster
from shared.api.objects import NAMESPACES, JsonObject, Resource
from shared.kube.client import ApiError, KubeClient, PatchType, WatchEventType
from tests.simulation.api.kinds import resource_of
from tests.simulation.operator_lives import LIVES, REAL, OperatorLife, reported

_OPERATORS: Final = frozenset({"jobset", "kuberay", "leaderworkerset", "training-operator"})
_SLOWER: Final = 2.0  # than virtual time
_PATIENCE: Final = 120.0
_CHANGES: Final = (WatchEventType.ADDED, WatchEventType.MODIFIED)


async def _create(client: KubeClient, namespace: str, body: JsonObject) -> JsonObject:
    """Create the namespace and the object, as soon as the operator's webhook answers."""
    await client.create(
        NAMESPACES,
        None,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
    )
    async with asyncio.timeout(_PATIENCE):
        while True:
            try:
                return await client.create(resource_of(body), namespace, body)
            except ApiError:
                await asyncio.sleep(1.0)


async def _follow(
    client: KubeClient, resource: Resource, namespace: str, items: list[JsonObject]
) -> None:
    version = items[0]["metadata"]["resourceVersion"]
    async with aclosing(client.watch(resource, namespace, resource_version=version)) as stream:
        async for event in stream:
            if event.type in _CHANGES:
                items.append(event.object)  # noqa: PERF401  it is read while it grows


async def _live(client: KubeClient, namespace: str, life: OperatorLife) -> list[str]:
    resource = resource_of(life.body)
    items = [await _create(client, namespace, life.body)]
    following = asyncio.create_task(_follow(client, resource, namespace, items))
    await asyncio.sleep(_SLOWER * life.after)
    if life.patch:
        await client.patch(resource, namespace, "life", life.patch, PatchType.MERGE)
    await asyncio.sleep(_SLOWER * (life.seconds - life.after))
    following.cancel()
    return reported(items)


async def _record() -> int:
    options = ClusterOptions(components=_OPERATORS, nodes=2, product=False)
    async with LocalCluster(options) as cluster:
        lives = [
            _live(cluster.client, f"life-{number}", life)
            for number, life in enumerate(LIVES.values())
        ]
        found = dict(zip(LIVES, await asyncio.gather(*lives), strict=True))
    for name, version in found.items():
        sys.stdout.write(f"{name}: {version}\n")
    return int(found != REAL)


if __name__ == "__main__":
    sys.exit(asyncio.run(_record()))
