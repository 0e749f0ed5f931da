"""Short lives on a real cluster, each recorded write by write (tests/simulation replays them)."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Final

from localcluster.access.running import RunningCluster
from shared.api.conditions import conditions_of, true_types
from shared.api.objects import APPWRAPPERS, NAMESPACES, PODS, JsonObject, Resource, is_being_deleted
from shared.kube.client import KubeClient, PatchType, Propagation
from tests.support.builders.appwrappers import AT_ONCE, appwrapper, phase
from tests.support.builders.jobs import job, restarted_job
from tests.support.cluster.life import exists, listed
from tests.support.cluster.removed import removed
from tests.support.cluster.resources import JOBS
from tests.support.cluster.simulated_pods import service_account_exists
from tests.support.observer.recording import Recording
from tests.support.patience import comes_to

Recorded = dict[str, Any]


class Scene:
    """One namespace whose objects are recorded."""

    def __init__(self, client: KubeClient, namespace: str, recording: Recording) -> None:
        self.client = client
        self.namespace = namespace
        self._recording = recording

    async def create(self, resource: Resource, body: JsonObject) -> JsonObject:
        return await self.client.create(resource, self.namespace, body)

    async def delete(
        self,
        resource: Resource,
        item: JsonObject,
        propagation: Propagation = Propagation.BACKGROUND,
        grace: int | None = None,
    ) -> None:
        self._recording.act(item)
        metadata = item["metadata"]
        await self.client.delete(
            resource,
            self.namespace,
            metadata["name"],
            uid=metadata["uid"],
            propagation=propagation,
            grace_period_seconds=grace,
        )

    async def suspend_job(self, name: str, *, suspended: bool) -> None:
        body = {"spec": {"suspend": suspended}}
        await self.client.patch(JOBS, self.namespace, name, body, PatchType.MERGE)

    async def pods(self) -> list[JsonObject]:
        return await listed(self.client, PODS, self.namespace)

    async def until_pods(self, *phases: str) -> list[JsonObject]:
        """Wait until exactly these pods exist, apart from pods that are being deleted."""

        async def seen() -> list[str]:
            there = [each for each in await self.pods() if not is_being_deleted(each)]
            return sorted(each["status"]["phase"] for each in there)

        await comes_to(seen, sorted(phases))
        return [each for each in await self.pods() if not is_being_deleted(each)]

    async def until_job(self, kind: str, name: str = "train") -> None:
        """Wait until this condition of the Job is True."""

        async def seen() -> bool:
            item = await self.client.get(JOBS, self.namespace, name)
            return kind in true_types(conditions_of(item.get("status") or {}))

        await comes_to(seen, True)

    async def until_gone(self, resource: Resource, name: str = "train") -> None:
        await comes_to(lambda: exists(self.client, resource, self.namespace, name), False)

    async def until_phase(self, wanted: str, name: str = "train") -> None:
        """Wait until the AppWrapper is in this phase."""

        async def seen() -> str:
            return phase(await self.client.get(APPWRAPPERS, self.namespace, name))

        await comes_to(seen, wanted)


# Jobs


async def job_succeeds(scene: Scene) -> None:
    await scene.create(JOBS, job("train", run_for="2s"))
    await scene.until_job("Complete")


async def job_fails(scene: Scene) -> None:
    """One pod fails, and the Job deletes the other."""
    body = job("train", hang="running")
    body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 5
    await scene.create(JOBS, body)
    first, _ = await scene.until_pods("Running", "Running")
    await scene.client.patch(
        PODS,
        scene.namespace,
        first["metadata"]["name"],
        {"status": {"phase": "Failed"}},
        PatchType.MERGE,
        subresource="status",
    )
    await scene.until_job("Failed")


async def job_retries(scene: Scene) -> None:
    """Its pod fails twice: the Job makes a second pod after its back-off, then fails."""
    body = job("train", 1, run_for="1s", exit_code="3")
    body["spec"]["backoffLimit"] = 1
    await scene.create(JOBS, body)
    await scene.until_job("Failed")


async def job_crash_loops(scene: Scene) -> None:
    """A container restarts twice in its pod, then succeeds."""
    await scene.create(JOBS, restarted_job("train", 1, run_for="1s", fail_restarts="2"))
    await scene.until_job("Complete")


async def indexed_job_succeeds(scene: Scene) -> None:
    body = job("train", 3, run_for="1s")
    body["spec"] |= {"completionMode": "Indexed", "parallelism": 2}
    await scene.create(JOBS, body)
    await scene.until_job("Complete")


async def job_is_suspended(scene: Scene) -> None:
    body = job("train", hang="running")
    await scene.create(JOBS, body)
    await scene.until_pods("Running", "Running")
    await scene.suspend_job("train", suspended=True)
    await scene.until_job("Suspended")
    await scene.until_pods()
    await scene.suspend_job("train", suspended=False)
    await scene.until_pods("Running", "Running")


async def _job_is_deleted(scene: Scene, propagation: Propagation) -> None:
    body = job("train", hang="running", ignore_deletion_for="1s")
    body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 5
    await scene.create(JOBS, body)
    await scene.until_pods("Running", "Running")
    await scene.delete(JOBS, await scene.client.get(JOBS, scene.namespace, "train"), propagation)
    await scene.until_gone(JOBS)
    await comes_to(scene.pods, [])


async def job_is_deleted(scene: Scene) -> None:
    await _job_is_deleted(scene, Propagation.BACKGROUND)


async def job_is_deleted_in_the_foreground(scene: Scene) -> None:
    await _job_is_deleted(scene, Propagation.FOREGROUND)


async def _pod_is_deleted(scene: Scene, policy: str) -> None:
    body = job("train", hang="running", ignore_deletion_for="3s")
    body["spec"] |= {"backoffLimit": 3, "podReplacementPolicy": policy}
    body["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 10
    await scene.create(JOBS, body)
    first, _ = await scene.until_pods("Running", "Running")
    await scene.delete(PODS, first)
    await scene.until_pods("Running", "Running")
    await scene.until_gone(PODS, first["metadata"]["name"])


async def pod_is_deleted(scene: Scene) -> None:
    """The Job replaces a pod as soon as its deletion begins."""
    await _pod_is_deleted(scene, "TerminatingOrFailed")


async def pod_is_deleted_and_replaced_after_its_end(scene: Scene) -> None:
    await _pod_is_deleted(scene, "Failed")


async def pod_is_evicted(scene: Scene) -> None:
    await scene.create(JOBS, job("train", 1, evict_after="1s"))
    await scene.until_job("Failed")


async def pod_finds_no_room(scene: Scene) -> None:
    """No node has so many GPUs; a user deletes the Job."""
    body = job("train", 1)
    limits = {"nvidia.com/gpu": "1000"}
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": limits}
    await scene.create(JOBS, body)

    async def rejected() -> bool:
        found = [conditions_of(each["status"]) for each in await scene.pods()]
        return any(each.get("reason") == "Unschedulable" for all_ in found for each in all_)

    await comes_to(rejected, True)
    await scene.delete(JOBS, await scene.client.get(JOBS, scene.namespace, "train"))
    await comes_to(scene.pods, [])


JOB_LIVES: Final[Mapping[str, Callable[[Scene], Awaitable[None]]]] = {
    each.__name__: each
    for each in (
        job_succeeds,
        job_fails,
        job_retries,
        job_crash_loops,
        indexed_job_succeeds,
        job_is_suspended,
        job_is_deleted,
        job_is_deleted_in_the_foreground,
        pod_is_deleted,
        pod_is_deleted_and_replaced_after_its_end,
        pod_is_evicted,
        pod_finds_no_room,
    )
}

# AppWrappers, with Kueue and the controller under test


async def appwrapper_succeeds(scene: Scene) -> None:
    await scene.create(APPWRAPPERS, appwrapper("train", job("train", run_for="2s")))
    await scene.until_phase("Succeeded")


async def appwrapper_retries(scene: Scene) -> None:
    """Its first attempt fails, its second succeeds."""
    body = job("train", run_for="1s", fail_attempts="1")
    await scene.create(APPWRAPPERS, appwrapper("train", body, annotations=AT_ONCE))
    await scene.until_phase("Succeeded")


async def appwrapper_is_deleted(scene: Scene) -> None:
    await scene.create(APPWRAPPERS, appwrapper("train", job("train", hang="running")))
    await scene.until_phase("Running")
    item = await scene.client.get(APPWRAPPERS, scene.namespace, "train")
    await scene.delete(APPWRAPPERS, item)
    await scene.until_gone(APPWRAPPERS)


async def component_is_deleted_by_a_user(scene: Scene) -> None:
    """The AppWrapper fails: a component may not vanish."""
    await scene.create(APPWRAPPERS, appwrapper("train", job("train", hang="running")))
    await scene.until_pods("Running", "Running")
    await scene.delete(JOBS, await scene.client.get(JOBS, scene.namespace, "train"))
    await scene.until_phase("Failed")
    await comes_to(scene.pods, [])


APPWRAPPER_LIVES: Final[Mapping[str, Callable[[Scene], Awaitable[None]]]] = {
    each.__name__: each
    for each in (
        appwrapper_succeeds,
        appwrapper_retries,
        appwrapper_is_deleted,
        component_is_deleted_by_a_user,
    )
}


async def record(
    cluster: RunningCluster, namespace: str, life: Callable[[Scene], Awaitable[None]]
) -> Recorded:
    """Play the life in a namespace that exists, and return all writes there."""
    async with Recording(Path(cluster.kubeconfig), namespace) as recording:
        await life(Scene(cluster.client, namespace, recording))
        return await recording.life(life.__name__.replace("_", " "))


async def record_appwrapper(
    cluster: RunningCluster, namespace: str, life: Callable[[Scene], Awaitable[None]]
) -> Recorded:
    """Play an AppWrapper's life in a team's namespace, and delete it afterwards."""
    try:
        return await record(cluster, namespace, life)
    finally:
        await removed(cluster.client, APPWRAPPERS, namespace, "train")


async def record_job(
    cluster: RunningCluster, namespace: str, life: Callable[[Scene], Awaitable[None]]
) -> Recorded:
    """Play a Job's life in a namespace of its own, which no team owns."""
    client = cluster.client
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    await client.create(NAMESPACES, None, body)
    try:
        await service_account_exists(client, namespace)
        return await record(cluster, namespace, life)
    finally:
        await removed(client, NAMESPACES, None, namespace)
