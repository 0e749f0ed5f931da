"""The simulated API server answers as the real one does: the same scripts run against both.

The answers and the events of all watches are compared in the form of `differential.normal`.
"""

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Final

import pytest

from localcluster.access.running import RunningCluster
from shared.api.objects import CONFIGMAPS, NAMESPACES, JsonObject
from shared.kube.client import AlreadyExists, ApiError, KubeClient, NotFound, PatchType, Propagation
from tests.simulation.api.kinds import CRDS, PROBES, SERVICE_ACCOUNTS
from tests.simulation.differential.run import RESOURCES, Run, differences
from tests.simulation.differential.script import script
from tests.simulation.differential.simulated import simulated
from tests.support.patience import PATIENCE_SECONDS

_ANYTHING: Final[JsonObject] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_CONDITIONS: Final[JsonObject] = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["type"],
    "items": {**_ANYTHING, "properties": {"type": {"type": "string"}}, "required": ["type"]},
}
_STATUS: Final[JsonObject] = {**_ANYTHING, "properties": {"conditions": _CONDITIONS}}
_CRD: Final[JsonObject] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{PROBES.plural}.{PROBES.group}"},
    "spec": {
        "group": PROBES.group,
        "scope": "Namespaced",
        "names": {"plural": PROBES.plural, "singular": "probe", "kind": PROBES.kind},
        "versions": [
            {
                "name": PROBES.version,
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": _ANYTHING, "status": _STATUS},
                    }
                },
            }
        ],
    },
}


@pytest.fixture
async def namespace(cluster: RunningCluster) -> AsyncIterator[str]:
    """A namespace of its own, in a cluster that serves the test's Kind."""
    client, name = cluster.client, f"differential-{uuid.uuid4().hex[:6]}"
    with suppress(AlreadyExists):  # an earlier script made it
        await client.create(CRDS, None, _CRD)
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    await client.create(NAMESPACES, None, body)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await _until_usable(client, name)
    yield name
    await _empty(client, name)
    await client.delete(NAMESPACES, None, name, uid=None, propagation=Propagation.BACKGROUND)


@pytest.mark.parametrize("seed", range(3))
async def test_both_servers_give_the_same_answers_and_events(
    seed: int, cluster: RunningCluster, namespace: str
) -> None:
    steps = script(seed)
    real = await Run(cluster.client, namespace).result(steps)
    # In a thread: the simulation runs a loop of its own.
    model = await asyncio.to_thread(simulated, steps)
    found = differences(steps, model, real)
    assert not found, "\n".join(["simulated, then real:", *found])


async def _until_usable(client: KubeClient, namespace: str) -> None:
    """Wait for the test's Kind, for the account without which no pod may be created, and for the
    ConfigMap that each namespace gets: one of the watches would see it come.
    """
    while True:
        try:
            await client.get(SERVICE_ACCOUNTS, namespace, "default")
            await client.get(CONFIGMAPS, namespace, "kube-root-ca.crt")
            async for _ in client.pages(PROBES, namespace):
                return
        except ApiError:
            await asyncio.sleep(0.1)


async def _empty(client: KubeClient, namespace: str) -> None:
    """Delete all objects of the script: their finalizers would hold the namespace."""
    for resource in RESOURCES:
        items = [item async for page in client.pages(resource, namespace) for item in page.items]
        for item in items:
            name = item["metadata"]["name"]
            unheld = {"metadata": {"finalizers": None}}
            try:
                await client.patch(resource, namespace, name, unheld, PatchType.MERGE)
                await client.delete(
                    resource,
                    namespace,
                    name,
                    uid=None,
                    propagation=Propagation.BACKGROUND,
                    grace_period_seconds=0,
                )
            except NotFound:
                continue
