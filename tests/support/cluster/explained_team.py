"""A team whose AppWrappers are in every situation that `appwrapper explain` knows, all at once."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from localcluster.access.running import RunningCluster
from shared.api.objects import APPWRAPPERS, NODES, PODS, JsonObject, Resource
from shared.kube.client import KubeClient, NotFound, PatchType, Propagation
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, phase
from tests.support.builders.autopilot import HEALTH
from tests.support.builders.jobs import job
from tests.support.builders.pods import pod
from tests.support.cluster.another_team import another_team, team_documents
from tests.support.cluster.gpu_nodes import gpu_job
from tests.support.cluster.life import listed
from tests.support.cluster.lives import requesting
from tests.support.cluster.resources import JOBS, WORKLOADS
from tests.support.patience import comes_to, until_found
from tests.support.team import FLAVOR, own

TEAM: Final = own("explained")
ELSEWHERE: Final = "default"  # a namespace of no team: Kueue does not manage it
UNMANAGED: Final = own("unmanaged")
NOT_HERE: Final = own("no-such-flavor")
OTHER_FLAVOR: Final = own("h100")
CHECK: Final = own("budget")
NO_IMAGE: Final[JsonObject] = {
    "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}
}
CRASHES: Final[JsonObject] = {
    "restartCount": 5,
    "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 2m40s"}},
    "lastState": {
        "terminated": {
            "exitCode": 137,
            "reason": "OOMKilled",
            "startedAt": "2026-01-01T00:00:00Z",
            "finishedAt": "2026-01-01T00:00:09Z",
        }
    },
}
BOB: Final = own("bob")  # may only read AppWrappers
HOLD: Final = "example.com/hold"
_KUEUE: Final = "kueue.x-k8s.io"
_ADMISSION_CHECKS: Final = Resource(
    _KUEUE, "v1beta2", "admissionchecks", "AdmissionCheck", namespaced=False
)
# These periods outlast the test.
LONG: Final = {
    "admissionGracePeriodDuration": "1h",
    "warmupGracePeriodDuration": "1h",
    "failureGracePeriodDuration": "1h",
    "retryPausePeriodDuration": "1h",
}


def queue(name: str, *, flavor: str = FLAVOR, cpu: int = 1, **spec: Any) -> list[JsonObject]:
    """Builds a ClusterQueue that lends to no other, and its LocalQueue."""
    amounts = [{"name": "cpu", "nominalQuota": cpu}]
    flavors = [{"name": flavor, "resources": amounts}]
    return [
        {
            "apiVersion": f"{_KUEUE}/v1beta2",
            "kind": "ClusterQueue",
            "metadata": {"name": f"{TEAM}-{name}"},
            "spec": {
                "namespaceSelector": {},
                "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
                **spec,
            },
        },
        local_queue(name, f"{TEAM}-{name}"),
    ]


def _reader() -> list[JsonObject]:
    """Builds BOB's rights."""
    group = "rbac.authorization.k8s.io"
    metadata = {"name": "reader", "namespace": TEAM}
    rule = {
        "apiGroups": [APPWRAPPERS.group],
        "resources": ["appwrappers"],
        "verbs": ["get", "list"],
    }
    return [
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": BOB}],
        },
    ]


def local_queue(name: str, cluster_queue: str, **spec: Any) -> JsonObject:
    return {
        "apiVersion": f"{_KUEUE}/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {"clusterQueue": cluster_queue, **spec},
    }


def documents() -> list[JsonObject]:
    """Builds the team, and queues in every state."""
    found = team_documents(TEAM)
    for each in found:
        if each["kind"] == "ClusterQueue":
            del each["spec"]["cohortName"]  # so that it has exactly its quota
    return [
        *found,
        {
            "apiVersion": f"{_KUEUE}/v1beta2",
            "kind": "ResourceFlavor",
            "metadata": {"name": OTHER_FLAVOR},
            "spec": {"nodeLabels": {"gpu-kind": "h100"}},
        },
        {
            "apiVersion": f"{_KUEUE}/v1beta2",
            "kind": "AdmissionCheck",
            "metadata": {"name": CHECK},
            "spec": {"controllerName": "example.com/budget"},
        },
        *queue("tight", cpu=120),
        *queue("contested", preemption={"withinClusterQueue": "LowerPriority"}),
        *queue("closed", stopPolicy="Hold"),
        *queue("broken", flavor=NOT_HERE),
        *queue("private", namespaceSelector={"matchLabels": {"team": "another"}}),
        *queue("picky", flavor=OTHER_FLAVOR),
        *queue("checked", admissionChecksStrategy={"admissionChecks": [{"name": CHECK}]}),
        local_queue("held", f"{TEAM}-cluster-queue", stopPolicy="Hold"),
    ]


def wraps(name: str, template: JsonObject, /, queue: str = "default-queue", **ours: str) -> Any:
    """Builds an AppWrapper in this queue, whose periods outlast the test."""
    labels = {f"{_KUEUE}/queue-name": queue}
    return appwrapper(name, template, annotations={**LONG, **ours}, labels=labels)


def hangs(
    name: str, how: str = "running", /, cpu: str = "1", priority: str = "", **spec: Any
) -> Any:
    """Builds a Pod that stays as it is."""
    body = requesting(cpu, pod(name, hang=how), priority)
    body["spec"] |= spec
    return body


def ends(name: str, code: int) -> JsonObject:
    """Builds a Pod that ends at once with this exit code."""
    return pod(name, run_for="100ms", exit_code=str(code))


def waiting() -> list[JsonObject]:
    """Builds AppWrappers that wait from the start, in a queue or in none."""
    of_another = wraps("of-another", hangs("of-another"))
    of_another["spec"]["managedBy"] = f"{_KUEUE}/multikueue"
    return [
        of_another,
        wraps("too-big", hangs("too-big", cpu="1000")),
        wraps("astray", hangs("astray"), "nowhere"),
        wraps("held", hangs("held"), "held"),
        wraps("closed", hangs("closed"), "closed"),
        wraps("broken", hangs("broken"), "broken"),
        wraps("private", hangs("private"), "private"),
        wraps("picky", hangs("picky", nodeSelector={"gpu-kind": "a100"}), "picky"),
        wraps("checked", hangs("checked"), "checked"),
    ]


def admitted() -> list[JsonObject]:
    """Builds AppWrappers that get their quota at once and reach their situation by themselves."""
    nowhere: Any = {"nodeSelector": {"kubernetes.io/hostname": "nowhere"}}
    prepares: Any = {"initContainers": [{"name": "prepare", "image": "prepare:3"}]}
    gated: Any = {"schedulingGates": [{"name": "example.com/licence"}]}
    no_room = wraps("no-room", hangs("no-room"))
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}
    no_room["spec"]["components"].insert(0, {"template": secret})
    refused = job("refused", 2, hang="running")
    refused["spec"]["template"]["spec"]["priorityClassName"] = "high-priority"
    insecure = job("insecure", 2, hang="running")
    [container] = insecure["spec"]["template"]["spec"]["containers"]
    container["securityContext"] = {"capabilities": {"add": ["IPC_LOCK", "SYS_ADMIN"]}}
    now = {**AT_ONCE, "retryLimit": "1"}
    return [
        wraps("runs", job("runs", 2, hang="running")),
        wraps("unschedulable", hangs("unschedulable", **nowhere)),
        wraps("giant-pod", hangs("giant-pod", cpu="100")),
        wraps("gated", hangs("gated", **gated)),
        wraps("prepares", hangs("prepares", "init", **prepares)),
        wraps("misconfigured", pod("misconfigured", run_for="soon")),
        wraps("warms-up", hangs("warms-up", "pending")),
        wraps("grace", ends("grace", 1)),
        wraps("pauses", ends("pauses", 1), failureGracePeriodDuration="0s", retryLimit="3"),
        wraps("exhausted", ends("exhausted", 1), **now),
        wraps(
            "terminal",
            ends("terminal", 42),
            failureGracePeriodDuration="0s",
            terminalExitCodes="42",
        ),
        wraps(
            "kept",
            ends("kept", 1),
            retryLimit="0",
            failureGracePeriodDuration="0s",
            deletionOnFailureGracePeriodDuration="1h",
        ),
        wraps("done", ends("done", 0), successTTLDuration="1h"),
        wraps("refused", refused),
        wraps("insecure", insecure),
        wraps("on-the-host", hangs("on-the-host", hostNetwork=True)),
        no_room,
    ]


def forbidding() -> list[JsonObject]:
    """Builds ResourceQuotas: no Secret, and no pod of high priority."""
    high = {"scopeName": "PriorityClass", "operator": "In", "values": ["high-priority"]}
    return [
        _resource_quota("no-secrets", {"count/secrets": "0"}),
        _resource_quota("no-urgency", {"pods": "0"}, scopeSelector={"matchExpressions": [high]}),
    ]


def _resource_quota(name: str, hard: dict[str, str], **spec: Any) -> JsonObject:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {"hard": hard, **spec},
    }


class Stage:
    """Acts on the AppWrappers that were created. All of them are deleted in the end."""

    def __init__(self, cluster: RunningCluster) -> None:
        self._client: KubeClient = cluster.client
        self._begun: list[tuple[str, str]] = []

    async def act(self) -> None:
        """Creates everything; returns when the other programs have reacted."""
        check = {"type": "Active", "status": "True", "reason": "Active", "message": "ready"}
        check["lastTransitionTime"] = "2026-01-01T00:00:00Z"
        status = {"status": {"conditions": [check]}}
        await self._client.patch(
            _ADMISSION_CHECKS, None, CHECK, status, PatchType.MERGE, subresource="status"
        )
        await asyncio.gather(*(self._begin(each) for each in (*waiting(), *admitted())))
        await asyncio.gather(
            self._begin(wraps(UNMANAGED, hangs(UNMANAGED)), ELSEWHERE),
            self._fill_the_tight_queue(),
            self._preempt(),
            self._deactivate(),
            self._report("no-image", **NO_IMAGE),
            self._report("crashes", **CRASHES),
            self._rob(),
            self._block(),
            self._evacuate(),
        )

    async def _fill_the_tight_queue(self) -> None:
        holder = requesting("60", job("holder", 2, hang="running"))
        await self._runs(wraps("holder", holder, "tight"))
        for name, priority, cpu in (
            ("first", "high-priority", "60"),
            ("second", "", "60"),
            ("giant", "low-priority", "100"),
        ):
            await self._begin(wraps(name, hangs(name, cpu=cpu, priority=priority), "tight"))

    async def _preempt(self) -> None:
        await self._runs(
            wraps("preempted", hangs("preempted", priority="low-priority"), "contested")
        )
        await self._begin(wraps("urgent", hangs("urgent"), "contested"))

    async def _deactivate(self) -> None:
        item = await self._runs(wraps("deactivated", hangs("deactivated")))
        uid = item["metadata"]["uid"]
        for each in await listed(self._client, WORKLOADS, TEAM, f"{_KUEUE}/job-uid={uid}"):
            name, patch = each["metadata"]["name"], {"spec": {"active": False}}
            await self._client.patch(WORKLOADS, TEAM, name, patch, PatchType.MERGE)

    async def _report(self, name: str, **container: Any) -> None:
        """Begins an AppWrapper and writes its only container's status, which simulated nodes
        omit.
        """
        await self._begin(wraps(name, hangs(name, "pending")))
        await comes_to(lambda: self._has_containers(name), True)
        main = {"name": "main", "image": "quay.io/team/train:1", "imageID": "", "ready": False}
        status: JsonObject = {"containerStatuses": [{**main, "restartCount": 0, **container}]}
        if container.get("restartCount"):
            status |= {"phase": "Running"}
        await self._client.patch(
            PODS, TEAM, name, {"status": status}, PatchType.MERGE, subresource="status"
        )

    async def _has_containers(self, name: str) -> bool:
        """True once its simulated node has reported everything that it reports by itself."""
        with suppress(NotFound):
            item = await self._client.get(PODS, TEAM, name)
            return bool(item["status"].get("containerStatuses"))
        return False

    async def _rob(self) -> None:
        await self._runs(wraps("robbed", job("robbed", 1, hang="running")))
        await self._delete(JOBS, TEAM, "robbed")

    async def _block(self) -> None:
        soon = {"forcefulDeletionGracePeriodDuration": "1s"}
        await self._runs(wraps("blocked", job("blocked", 1, hang="running"), **soon))
        await self.hold(HOLD)
        await self._delete(APPWRAPPERS, TEAM, "blocked")

    async def hold(self, *finalizers: str) -> None:
        """Adds foreign finalizers to the Job of `blocked`."""
        patch = {"metadata": {"finalizers": list(finalizers) or None}}
        with suppress(NotFound):
            await self._client.patch(JOBS, TEAM, "blocked", patch, PatchType.MERGE)

    async def _evacuate(self) -> None:
        """Marks its GPU as broken, as Autopilot does, and as healthy once its pods have left."""
        await self._runs(wraps("evacuated", gpu_job("evacuated")))
        [found] = await listed(
            self._client, PODS, TEAM, "workload.codeflare.dev/appwrapper=evacuated"
        )
        node = found["spec"]["nodeName"]
        await self._label(node, "EVICT")
        try:
            await comes_to(lambda: self._phase("evacuated"), "Resetting")
        finally:
            await self._label(node, None)

    async def _label(self, node: str, value: str | None) -> None:
        patch = {"metadata": {"labels": {HEALTH: value}}}
        await self._client.patch(NODES, None, node, patch, PatchType.MERGE)

    async def _begin(self, body: JsonObject, namespace: str = TEAM) -> None:
        self._begun.append((namespace, body["metadata"]["name"]))
        await self._client.create(APPWRAPPERS, namespace, body)

    async def _runs(self, body: JsonObject) -> JsonObject:
        """Begins it; returns it once its pods run."""
        name = body["metadata"]["name"]
        await self._begin(body)
        return await until_found(lambda: self._ready(name))

    async def _ready(self, name: str) -> JsonObject | None:
        item = await self._client.get(APPWRAPPERS, TEAM, name)
        conditions = (item.get("status") or {}).get("conditions") or ()
        ready = any(each["type"] == "PodsReady" and each["status"] == "True" for each in conditions)
        return item if ready else None

    async def _phase(self, name: str) -> str:
        return phase(await self._client.get(APPWRAPPERS, TEAM, name))

    async def _delete(self, resource: Resource, namespace: str, name: str) -> None:
        with suppress(NotFound):
            await self._client.delete(
                resource, namespace, name, uid=None, propagation=Propagation.BACKGROUND
            )

    async def clear(self) -> None:
        """Deletes all of them, and returns when they and their pods have gone.

        The namespace controller retries a namespace with remaining objects much later.
        """
        await self.hold()
        await asyncio.gather(*(self._delete(APPWRAPPERS, *each) for each in self._begun))
        for resource in (APPWRAPPERS, PODS):
            await comes_to(lambda resource=resource: self._names(resource), [])  # type: ignore[misc]

    async def _names(self, resource: Resource) -> list[str]:
        return [each["metadata"]["name"] for each in await listed(self._client, resource, TEAM)]


@asynccontextmanager
async def explained_team(cluster: RunningCluster) -> AsyncGenerator[None, None]:
    """Runs every situation."""
    async with another_team(cluster, TEAM, [*documents(), *forbidding()]):
        await cluster.apply(_reader())
        stage = Stage(cluster)
        try:
            await stage.act()
            yield
        finally:
            await stage.clear()
