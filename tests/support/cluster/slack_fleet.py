"""Makes a test's own nodes, flavors, queues and cohort, with a slack queue that lends in it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

from controller.rbac import SLACK_QUEUE_NAME
from localcluster.access.probes import node_is_ready
from localcluster.cluster import LocalCluster
from localcluster.installers import kwok
from shared.api.objects import EVENTS, NODES, JsonObject
from shared.kube.client import KubeClient, PatchType
from tests.support.builders.appwrappers import appwrapper
from tests.support.builders.autopilot import GPU
from tests.support.cluster.another_team import another_team, team_documents
from tests.support.cluster.gpu_nodes import gpu_job
from tests.support.cluster.life import listed
from tests.support.cluster.reconfigured import reconfigured
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import (
    CLUSTER_QUEUES,
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    RESOURCE_FLAVORS,
)
from tests.support.manifests import MANIFESTS, documents
from tests.support.observer.controller_words import ControllerWords
from tests.support.patience import comes_to, until_found

SLACK: Final = SLACK_QUEUE_NAME
COHORT: Final = "slack-cohort"
TEAM: Final = "borrows"
LABEL: Final = "tests.localcluster.dev/slack"
_FIRST: Final = 50  # numbers that no other nodes have
_KUEUE: Final = "kueue.x-k8s.io/v1beta2"


class SlackFleet:
    """Three nodes of 8 GPUs in flavor `gold`; the team has 8 GPUs there, another queue has 8."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self.client: KubeClient = cluster.client
        self.nodes = [f"gpu-node-{_FIRST + number + 1}" for number in range(3)]
        self._words = ControllerWords(
            cluster.directory / "product" / "controller.yaml", cluster.processes["controller"].log
        )

    async def make_nodes(self) -> None:
        """Creates the nodes in their first state, including nodes that a test has deleted.

        Returns when they are ready: the capacity is to have no steps before.
        """
        await self.cluster.apply([_node(number) for number in range(3)])

        async def ready() -> int:
            stored = [await self.client.get(NODES, None, name) for name in self.nodes]
            return sum(map(node_is_ready, stored))

        await comes_to(ready, len(self.nodes))

    async def patch_node(self, number: int, patch: JsonObject, subresource: str = "") -> None:
        await self.client.patch(
            NODES, None, self.nodes[number], patch, PatchType.MERGE, subresource=subresource
        )

    async def cordon(self, number: int, cordoned: bool = True) -> None:
        await self.patch_node(number, {"spec": {"unschedulable": cordoned or None}})

    async def label(self, number: int, key: str, value: str | None) -> None:
        await self.patch_node(number, {"metadata": {"labels": {key: value}}})

    async def have_gpus(self, number: int, amount: int) -> None:
        """Sets the number of usable GPUs, as the device plugin reports it."""
        await self.patch_node(number, {"status": {"allocatable": {GPU: str(amount)}}}, "status")

    async def delete_node(self, number: int) -> None:
        await removed(self.client, NODES, None, self.nodes[number])

    async def queue(self) -> JsonObject:
        return await self.client.get(CLUSTER_QUEUES, None, SLACK)

    async def limits(self) -> dict[str, str | None]:
        """Returns resource → lendingLimit in the slack queue; None: it is unset."""
        return limits_of(await self.queue())

    async def limit(self) -> str | None:
        return (await self.limits())[GPU]

    async def comes_to_lend(self, limit: str | None) -> None:
        await comes_to(self.limit, limit)

    async def generation(self) -> int:
        """Returns a number that grows with every write to the spec of the slack queue."""
        return int((await self.queue())["metadata"]["generation"])

    async def edit(self, limit: str) -> None:
        """Sets that limit of GPUs, as an admin would."""
        queue = await self.queue()
        for each in entries(queue):
            if each["name"] == GPU:
                each["lendingLimit"] = limit
        body = {"spec": {"resourceGroups": queue["spec"]["resourceGroups"]}}
        await self.client.patch(
            CLUSTER_QUEUES, None, SLACK, body, PatchType.MERGE, field_manager="kubectl-edit"
        )

    async def events(self) -> list[tuple[str, str]]:
        """Returns reason and message of the Events about this test's slack queue, oldest first."""
        uid = (await self.queue())["metadata"]["uid"]
        found = [
            each
            for each in await listed(self.client, EVENTS, "default")
            if each["involvedObject"].get("uid") == uid and each["reason"].startswith(_OURS)
        ]
        found.sort(key=lambda each: str(each["metadata"]["creationTimestamp"]))
        return [(each["reason"], each["message"]) for each in found]

    async def says(self, reason: str) -> str:
        """Returns the message of an Event of this reason, once there is one."""

        async def message() -> str | None:
            found = [text for each, text in await self.events() if each == reason]
            return found[0] if found else None

        return await until_found(message)

    async def shows(self, name: str, value: float, resource: str = GPU) -> None:
        """Waits until the controller's /metrics show that value."""

        async def shown() -> float:
            try:
                return self._words.sample(name, {"flavor": "gold", "resource": resource})
            except OSError:  # it is being started
                return -1.0

        await comes_to(shown, value)


_OURS: Final = ("Slack", "QuotaExceedsCapacity")


def entries(queue: JsonObject) -> list[JsonObject]:
    """Returns the quotas in the flavor `gold`."""
    return [
        each
        for group in queue["spec"]["resourceGroups"]
        for flavor in group["flavors"]
        for each in flavor["resources"]
    ]


def limits_of(queue: JsonObject) -> dict[str, str | None]:
    """Returns resource → lendingLimit."""
    return {each["name"]: each.get("lendingLimit") for each in entries(queue)}


def borrower(name: str, pods: int) -> JsonObject:
    """Builds an AppWrapper of pods of 8 GPUs each, which run until they are deleted."""
    job = gpu_job(name, pods)
    tolerated = {"key": LABEL, "operator": "Exists", "effect": "NoSchedule"}
    job["spec"]["template"]["spec"]["tolerations"] = [tolerated]
    return appwrapper(name, job, namespace=TEAM)


def queue(name: str, quotas: Mapping[str, Any], cohort: str = COHORT) -> JsonObject:
    """Builds a ClusterQueue of the flavor `gold`."""
    resources = [{"name": each, "nominalQuota": amount} for each, amount in quotas.items()]
    group = {
        "coveredResources": list(quotas),
        "flavors": [{"name": "gold", "resources": resources}],
    }
    spec: JsonObject = {"namespaceSelector": {}, "resourceGroups": [group]}
    if cohort:
        spec["cohortName"] = cohort
    return {"apiVersion": _KUEUE, "kind": "ClusterQueue", "metadata": {"name": name}, "spec": spec}


def _node(number: int) -> JsonObject:
    made = kwok.node(_FIRST + number, 8)
    made["metadata"]["labels"][LABEL] = "gold"
    made["spec"] = {"taints": [{"key": LABEL, "value": "gold", "effect": "NoSchedule"}]}
    return made


def _flavor() -> JsonObject:
    return {
        "apiVersion": _KUEUE,
        "kind": "ResourceFlavor",
        "metadata": {"name": "gold"},
        "spec": {"nodeLabels": {LABEL: "gold"}},
    }


def _team() -> list[JsonObject]:
    """Builds a team with 8 GPUs, 80 CPUs, and enough of all else."""
    made, amounts = team_documents(TEAM), {GPU: 8, "cpu": 80}
    for each in made:
        if each["kind"] == "ClusterQueue":
            each["spec"]["cohortName"] = COHORT
            [group] = each["spec"]["resourceGroups"]
            group["flavors"][0]["name"] = "gold"
            for quota in group["flavors"][0]["resources"]:
                quota["nominalQuota"] = amounts.get(quota["name"], quota["nominalQuota"])
    return made


@asynccontextmanager
async def slack_fleet(
    cluster: LocalCluster, *queues: JsonObject, **settings: Any
) -> AsyncGenerator[SlackFleet, None]:
    """Makes the controller adjust the slack queue, with the rights of overlay mlbatch.

    `queues` exist beside the team's and `code`. `settings` are those of slackQueue.
    """
    fleet = SlackFleet(cluster)
    other = queue("code", {GPU: 8})
    async with AsyncExitStack() as stack:
        for resource, name in (
            (RESOURCE_FLAVORS, "gold"),
            (CLUSTER_QUEUES, "code"),
            (CLUSTER_QUEUES, SLACK),
            (CLUSTER_ROLES, "appwrapper-controller-slack-queue"),
            (CLUSTER_ROLE_BINDINGS, "appwrapper-controller-slack-queue"),
            *((NODES, name) for name in fleet.nodes),
        ):
            stack.push_async_callback(removed, cluster.client, resource, None, name)
        await fleet.make_nodes()
        rights = documents(MANIFESTS / "slack-queue" / "roles.yaml")
        await cluster.apply([_flavor(), *rights, other, *queues])
        await stack.enter_async_context(another_team(cluster, TEAM, _team()))
        changes = {"slackQueue": {"name": SLACK} | settings}
        await stack.enter_async_context(reconfigured(cluster, "controller", **changes))
        yield fleet
