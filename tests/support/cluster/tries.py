"""A team whose queue admits nothing, its researcher, and every pod that was ever created there."""

import copy
import json
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from shared.api.objects import APPWRAPPERS, PODS, JsonObject
from shared.kube.client import KubeClient, WatchEventType
from tests.support.builders.appwrappers import appwrapper, phase
from tests.support.builders.jobs import pytorch_job
from tests.support.builders.pods import pod_template
from tests.support.cluster.answers import ApiResponse, created
from tests.support.cluster.changes import changes
from tests.support.cluster.kubectl import Kubectl
from tests.support.cluster.life import listed
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import WORKLOADS
from tests.support.patience import comes_to
from tests.support.team import own

TEAM = own("tries")
QUEUE = "kueue.x-k8s.io/queue-name"
OPEN = "open"  # a second queue of the team, which has quota
# These AppWrappers have quota.
MAY_HAVE_PODS = {"running", "barrier", "left"}
INFOS = [{"labels": {"kueue.x-k8s.io/podset": "tried-0"}}]


def open_queue() -> list[JsonObject]:
    """Builds a ClusterQueue of one CPU, and the team's LocalQueue to it."""
    version = "kueue.x-k8s.io/v1beta2"
    cpu = {"name": "default-flavor", "resources": [{"name": "cpu", "nominalQuota": 1}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [cpu]}]
    return [
        {
            "apiVersion": version,
            "kind": "ClusterQueue",
            "metadata": {"name": f"{TEAM}-open"},
            "spec": {"namespaceSelector": {}, "resourceGroups": groups},
        },
        {
            "apiVersion": version,
            "kind": "LocalQueue",
            "metadata": {"name": OPEN, "namespace": TEAM},
            "spec": {"clusterQueue": f"{TEAM}-open"},
        },
    ]


def training(name: str, **simulation: str) -> JsonObject:
    """Builds one master. A team's role allows its users to create this Kind, so they may wrap
    it.
    """
    return pytorch_job(name, Master=pod_template(container="pytorch", **simulation))


def manifest(name: str = "tried", queue: str | None = None, **spec: Any) -> JsonObject:
    """Builds an AppWrapper that would run until deleted; its queue is the team's by default."""
    labels = {} if queue is None else {QUEUE: queue}
    made = appwrapper(name, training(name, hang="running"), namespace=TEAM, labels=labels)
    made["spec"] |= spec
    return made


def with_infos(body: JsonObject, infos: object = INFOS) -> JsonObject:
    """Returns `body` as Kueue would write it."""
    new = copy.deepcopy(body)
    new["spec"]["components"][0]["podSetInfos"] = infos
    return new


class PodsOfTheTeam:
    """Records every pod that was ever created there, by its AppWrapper's label or its name."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self.created: list[str] = []

    async def watch(self, version: str) -> None:
        async with aclosing(changes(self._client, PODS, TEAM, resource_version=version)) as stream:
            async for event in stream:
                metadata = event.object["metadata"]
                if event.type is WatchEventType.ADDED:
                    label = metadata.get("labels", {}).get("workload.codeflare.dev/appwrapper")
                    self.created.append(label or metadata["name"])

    def since_last_time(self) -> list[str]:
        """Returns and clears the record, so that a failing test does not fail the next one."""
        created, self.created = self.created, []
        return created


@dataclass(frozen=True)
class Team:
    """The objects that the tests read, and the users."""

    client: KubeClient
    researcher: Kubectl
    admin: Kubectl
    kueue: Kubectl
    pods: PodsOfTheTeam

    async def stored(self, name: str = "tried") -> JsonObject:
        return await self.client.get(APPWRAPPERS, TEAM, name)

    async def phase(self, name: str) -> str:
        return phase(await self.stored(name))

    async def delete(self, name: str) -> None:
        await removed(self.client, APPWRAPPERS, TEAM, name)

    async def submit(self, body: JsonObject) -> JsonObject:
        """Creates it as the researcher; returns when the controller has seen it."""
        response = await self.created(body)
        assert response.code == 201, response
        name = body["metadata"]["name"]

        async def looked_at() -> bool:
            return bool(await self.phase(name))

        await comes_to(looked_at, True)
        return await self.stored(name)

    async def created(self, body: JsonObject) -> ApiResponse:
        """Returns the API server's answer to the researcher."""
        return await created(self.researcher, body, TEAM)

    async def patched_by(self, someone: Kubectl, patch: JsonObject) -> tuple[JsonObject, str]:
        """Returns the object as the API server stored it, before Kueue can revert it."""
        done = await someone.run(
            "patch", "appwrapper", "tried", "-n", TEAM, "-o", "json", *merge(patch)
        )
        assert done.code == 0, done.err
        found: JsonObject = json.loads(done.out)
        return found, done.err

    async def workload_of(self, owner: JsonObject) -> str:
        """Returns the name of Kueue's Workload of an AppWrapper."""
        [name] = [
            each["metadata"]["name"]
            for each in await listed(self.client, WORKLOADS, TEAM)
            if each["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
        ]
        return str(name)

    async def barrier(self) -> None:
        """Runs an AppWrapper with quota from its creation to its end.

        By then Kueue, our controller and the Training Operator have processed all earlier changes.
        """
        body = manifest("barrier", OPEN)
        body["spec"]["components"] = [{"template": training("barrier", run_for="100ms")}]
        try:
            await self.client.create(APPWRAPPERS, TEAM, body)
            await comes_to(lambda: self.phase("barrier"), "Succeeded")
        finally:
            await self.delete("barrier")


def owned_by(owner: JsonObject, body: JsonObject) -> JsonObject:
    """Returns `body` under the control of an AppWrapper that Kueue has admitted."""
    new = copy.deepcopy(body)
    new["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "workload.codeflare.dev/v1beta2",
            "kind": "AppWrapper",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
    ]
    return new


def merge(patch: JsonObject) -> list[str]:
    return ["--type=merge", "-p", json.dumps(patch)]


def json_patch(*operations: JsonObject) -> list[str]:
    return ["--type=json", "-p", json.dumps(operations)]


def warned(*warnings: str) -> str:
    return "".join(f"Warning: {text}\n" for text in warnings)


async def no_pod(team: Team) -> None:
    await team.barrier()

    async def has_seen_the_barrier() -> bool:
        return "barrier" in team.pods.created

    await comes_to(has_seen_the_barrier, True)  # the watch sees pods, and all that came before
    created = team.pods.since_last_time()
    assert [owner for owner in created if owner not in MAY_HAVE_PODS] == []
