"""A team whose quota one workload can fill, and whole lives of AppWrappers in its namespace."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, Final

from localcluster.access.running import RunningCluster
from shared.api.objects import (
    APPWRAPPERS,
    CONFIGMAPS,
    EVENTS,
    PODS,
    SECRETS,
    JsonObject,
    Resource,
)
from shared.kube.client import Forbidden, KubeClient, NotFound, PatchType, Propagation
from tests.support.builders.annotations import prefixed
from tests.support.builders.appwrappers import true_conditions, version_of
from tests.support.builders.pods import pod
from tests.support.cluster.another_team import team_documents
from tests.support.cluster.life import Life, listed
from tests.support.cluster.resources import RESOURCE_QUOTAS, WORKLOADS
from tests.support.patience import comes_to
from tests.support.team import own

NAMESPACE = own("lives")


def lives_documents() -> list[JsonObject]:
    """Builds the team with two CPUs of quota, which cannot borrow."""
    documents = team_documents(NAMESPACE)
    [queue] = [each["spec"] for each in documents if each["kind"] == "ClusterQueue"]
    del queue["cohortName"]
    for resource in queue["resourceGroups"][0]["flavors"][0]["resources"]:
        if resource["name"] == "cpu":
            resource["nominalQuota"] = 2
    return documents


class Lives:
    """AppWrappers that are deleted in the end, before the objects that block them."""

    def __init__(self, cluster: RunningCluster, stack: AsyncExitStack) -> None:
        self.cluster = cluster
        self.client: KubeClient = cluster.client
        self._stack = stack
        self._uids: dict[str, set[str]] = {}  # of the AppWrappers that began, by name
        self._begun: dict[str, Life] = {}

    async def begin(self, body: JsonObject) -> Life:
        """Creates the AppWrapper; returns its life from the first moment on."""
        name = body["metadata"]["name"]
        life = await self._stack.enter_async_context(Life(self.client, NAMESPACE, name))
        await self.client.create(APPWRAPPERS, NAMESPACE, body)
        self._stack.push_async_callback(self._end, life, name)
        created = await life.until(lambda _: True, "seen from its creation on")
        self._uids.setdefault(name, set()).add(created["metadata"]["uid"])
        self._begun[name] = life
        return life

    async def _end(self, life: Life, name: str) -> None:
        with suppress(NotFound):
            await self.delete(APPWRAPPERS, name)
        await life.until_deleted()
        # After a deletion with --cascade=orphan, Kueue's Workload and its quota remain.
        for each in await listed(self.client, WORKLOADS, NAMESPACE):
            if each["metadata"]["name"].startswith(f"appwrapper-{name}-"):
                with suppress(NotFound):
                    await self.delete(WORKLOADS, each["metadata"]["name"])

    async def delete(self, resource: Resource, name: str) -> None:
        await self.client.delete(
            resource, NAMESPACE, name, uid=None, propagation=Propagation.BACKGROUND
        )

    async def names(self, resource: Resource, life: Life) -> list[str]:
        """Returns the names of the objects and pods with this AppWrapper's UID."""
        uid = life.events[0].object["metadata"]["uid"]
        items = await listed(self.client, resource, NAMESPACE, f"workload.codeflare.dev/uid={uid}")
        return sorted(each["metadata"]["name"] for each in items)

    async def patch_pod(self, name: str, status: dict[str, Any]) -> None:
        """Writes a pod's status as its node would report it."""
        await self.client.patch(
            PODS, NAMESPACE, name, {"status": status}, PatchType.MERGE, subresource="status"
        )

    async def annotate(self, name: str, **annotations: str) -> None:
        """Writes our annotations, given without their prefix; returns when a watch has shown them.

        So the API server has sent them to the controller, too: before any later change of a pod.
        """
        body = {"metadata": {"annotations": prefixed(**annotations)}}
        written = await self.client.patch(APPWRAPPERS, NAMESPACE, name, body, PatchType.MERGE)
        if (life := self._begun.get(name)) is not None:
            await life.until(
                lambda item: version_of(item) >= version_of(written), "its new annotations"
            )

    async def workload(self, life: Life) -> JsonObject:
        """Returns Kueue's Workload, once it exists."""
        uid = life.events[0].object["metadata"]["uid"]
        found: list[JsonObject] = []

        async def is_made() -> bool:
            found[:] = [
                each
                for each in await listed(self.client, WORKLOADS, NAMESPACE)
                if uid in [owner["uid"] for owner in each["metadata"].get("ownerReferences") or ()]
            ]
            return bool(found)

        await comes_to(is_made, True)
        [workload] = found
        return workload

    async def kueue_says(self, life: Life) -> set[str]:
        """Returns the True conditions of its Workload."""
        return true_conditions(await self.workload(life))

    async def set_active(self, life: Life, active: bool) -> None:
        """Makes Kueue evict the AppWrapper, as a preemption does, or admit it again."""
        name = (await self.workload(life))["metadata"]["name"]
        patch = {"spec": {"active": active}}
        await self.client.patch(WORKLOADS, NAMESPACE, name, patch, PatchType.MERGE)

    async def event_messages(
        self, name: str, reason: str, *, kind: str = "Warning", until: str = ""
    ) -> list[str]:
        """Returns the messages of its Events with this reason, once there is one.

        `until` is a message that must be among them: others may precede it.
        """

        async def messages() -> list[str]:
            return sorted(
                each["message"]
                for each in await self.events_about(name, reason)
                if each["type"] == kind
            )

        async def any_found() -> bool:
            found = await messages()
            return until in found if until else bool(found)

        await comes_to(any_found, True)
        return await messages()

    async def events_about(self, name: str, reason: str) -> list[JsonObject]:
        """Returns the Events with this reason about the AppWrapper, or about another object.

        Events about an AppWrapper of the same name that an earlier test began are left out.
        """
        begun = self._uids.get(name)

        def is_of_another_test(regarded: JsonObject) -> bool:
            is_appwrapper = regarded["kind"] == APPWRAPPERS.kind
            return is_appwrapper and begun is not None and regarded["uid"] not in begun

        return [
            each
            for each in await listed(self.client, EVENTS, NAMESPACE)
            if (each["involvedObject"]["name"], each["reason"]) == (name, reason)
            and not is_of_another_test(each["involvedObject"])
        ]

    @asynccontextmanager
    async def forbidden(self, what: str) -> AsyncGenerator[None, None]:
        """Makes the namespace reject more of `what`, a key of _FORBIDDEN, inside the block."""
        name = "no-" + what.replace("/", "-")
        body = {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": name},
            "spec": {"hard": {what: "0"}},
        }
        await self.client.create(RESOURCE_QUOTAS, NAMESPACE, body)

        # Its own watch shows the API server the quota with its status, and the quota's end.
        await comes_to(lambda: self._refusal(what), "exceeded quota")
        try:
            yield
        finally:
            await self.delete(RESOURCE_QUOTAS, name)
            await comes_to(lambda: self._refusal(what), "")

    async def _refusal(self, what: str) -> str:
        """Returns why one more is refused: `exceeded quota`; empty if it would be created."""
        resource, body = _FORBIDDEN[what]
        try:
            await self.client.create(resource, NAMESPACE, body, dry_run=True)
        except Forbidden as error:
            return error.message.partition(" is forbidden: ")[2].partition(":")[0]
        return ""


async def force_off(lives: Lives, name: str) -> None:
    """Deletes a pod with grace period 0, as a person may."""
    with suppress(NotFound):
        await lives.client.delete(
            PODS,
            NAMESPACE,
            name,
            uid=None,
            propagation=Propagation.BACKGROUND,
            grace_period_seconds=0,
        )


def requesting(cpu: str, body: JsonObject, priority: str = "") -> JsonObject:
    """Adds this request to each pod of `body`, a Pod or an object with a template; and a class."""
    spec = body["spec"]["template"]["spec"] if "template" in body["spec"] else body["spec"]
    for container in spec["containers"]:
        container["resources"] = {"requests": {"cpu": cpu}}
    if priority:
        spec["priorityClassName"] = priority
    return body


def slow_to_go(body: JsonObject) -> JsonObject:
    """Sets a termination grace period in `body`, a Pod or an object with a pod template.

    Without one the API server removes pods at once, whatever their simulation.
    """
    spec = body["spec"]["template"]["spec"] if "template" in body["spec"] else body["spec"]
    spec["terminationGracePeriodSeconds"] = 30
    return body


def config_map(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}


_PROBE = "over-quota"
_FORBIDDEN: Final[dict[str, tuple[Resource, JsonObject]]] = {
    "pods": (PODS, pod(_PROBE)),
    "count/configmaps": (CONFIGMAPS, config_map(_PROBE)),
    "count/secrets": (
        SECRETS,
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": _PROBE}},
    ),
}
