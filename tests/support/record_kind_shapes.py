"""Records what the real operators make of each shape: `python -m tests.support.record_kind_shapes`.

Starts a local cluster, creates every object in a namespace of its own, and counts pods until no new
one has come for a while. Kueue's webhooks are removed first: they protect only clusters in which
Kueue knows the Kind. Takes some minutes.
"""

import asyncio
import sys
from collections import Counter
from functools import partial
from typing import Final

from localcluster.cluster import ClusterOptions, LocalCluster
from shared.api.objects import PODS, GroupVersionKind, JsonObject, Resource
from shared.kinds.table import BY_GROUP_KIND
from shared.kube.client import ApiError, KubeClient, Propagation
from tests.support.builders.kind_shapes import GPU, SHAPES, beside, shaped
from tests.support.cluster.life import listed
from tests.support.cluster.resources import RESOURCE_QUOTAS
from tests.support.kind_shapes_table import Answer, Made, write_table
from tests.support.patience import comes_to

OPERATORS: Final = frozenset(
    {"jobset", "kuberay", "leaderworkerset", "mpi-operator", "trainer", "training-operator"}
)
# An operator that reads a huge count makes no more pods than this.
_MOST_PODS: Final = "150"
_QUIET: Final = 45.0  # seconds without a new pod, after which no more are expected
_LONGEST: Final = 900.0
_SHOWN: Final = 160  # characters of a refusal


async def _remove_webhooks_of_kueue(client: KubeClient) -> None:
    for plural, kind in (
        ("mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
        ("validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
    ):
        resource = Resource("admissionregistration.k8s.io", "v1", plural, kind, namespaced=False)
        for each in await listed(client, resource, None):
            if (name := each["metadata"]["name"]).startswith("kueue"):
                await client.delete(
                    resource, None, name, uid=None, propagation=Propagation.BACKGROUND
                )


async def _prepare(client: KubeClient, cluster: LocalCluster, namespaces: list[str]) -> None:
    limits = {"pods": _MOST_PODS, "count/jobs.batch": _MOST_PODS}
    for name in namespaces:
        await cluster.apply(
            [
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
                {
                    "apiVersion": "v1",
                    "kind": "ResourceQuota",
                    "metadata": {"name": "limit", "namespace": name},
                    "spec": {"hard": limits},
                },
            ]
        )
    for name in namespaces:
        await comes_to(partial(_limits, client, name), True)


async def _limits(client: KubeClient, namespace: str) -> bool:
    """Until its quota is computed, a namespace takes no pod."""
    quota = await client.get(RESOURCE_QUOTAS, namespace, "limit")
    return bool((quota.get("status") or {}).get("used"))


async def _created(client: KubeClient, kind: str, namespace: str, body: JsonObject) -> str:
    """Why it was refused; empty if it was created."""
    group, slash, version = body["apiVersion"].rpartition("/")
    root = f"/apis/{group}/{version}" if slash else f"/api/{version}"
    plural = BY_GROUP_KIND[kind].resource.plural
    try:
        await client.post(f"{root}/namespaces/{namespace}/{plural}", body, retry=False)
    except ApiError as error:
        text = str(error).replace(namespace, "NAMESPACE")
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
    return ""


async def _created_after(client: KubeClient, namespace: str, body: JsonObject) -> str:
    """Why it was refused, other than by a webhook that does not know the object before it yet."""
    kind = GroupVersionKind.of(body["apiVersion"], body["kind"]).group_kind
    refusal = ""

    async def is_known() -> bool:
        nonlocal refusal
        refusal = await _created(client, kind, namespace, body)
        return "not found" not in refusal

    await comes_to(is_known, True)
    return refusal


def _without_gpus(body: JsonObject) -> JsonObject:
    """No simulated node has enough, and only the number of pods matters."""

    def walk(value: object) -> object:
        if isinstance(value, dict):
            return {key: walk(each) for key, each in value.items() if key != GPU}
        return [walk(each) for each in value] if isinstance(value, list) else value

    cleaned = walk(body)
    assert isinstance(cleaned, dict)
    return cleaned


async def _most_pods(client: KubeClient) -> Counter[str]:
    """By namespace, once no new pod has come for a while."""
    most: Counter[str] = Counter()
    clock = asyncio.get_running_loop().time
    began = changed = clock()
    while clock() < min(changed + _QUIET, began + _LONGEST):
        now: Counter[str] = Counter()
        async for page in client.pages(PODS, None):
            for each in page.items:
                if "deletionTimestamp" not in each["metadata"]:
                    now[each["metadata"]["namespace"]] += 1
        if now | most != most:
            most, changed = now | most, clock()
        await asyncio.sleep(1)
    return most


async def record() -> None:
    names = [(kind, name) for kind, shapes in SHAPES.items() for name in shapes]
    namespaces = {each: f"shape-{index}" for index, each in enumerate(names)}
    options = ClusterOptions(components=OPERATORS, nodes=12, product=False)
    async with LocalCluster(options) as cluster:
        client = cluster.client
        await _remove_webhooks_of_kueue(client)
        await _prepare(client, cluster, list(namespaces.values()))
        refusals = {}
        for (kind, name), namespace in namespaces.items():
            body = _without_gpus(shaped(kind, name))
            refusals[kind, name] = await _created(client, kind, namespace, body)
            for each in beside(body) if not refusals[kind, name] else ():
                refusals[kind, name] = await _created_after(client, namespace, each)
        pods = await _most_pods(client)
    write_table(
        {
            kind: {
                name: (
                    Made(pods[namespaces[kind, name]], refusals[kind, name]),
                    Answer.to(shaped(kind, name)),
                )
                for name in shapes
            }
            for kind, shapes in SHAPES.items()
        }
    )


def main() -> int:
    asyncio.run(record())
    return 0


if __name__ == "__main__":
    sys.exit(main())
